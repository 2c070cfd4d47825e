//! Loads of tokens and their holders, and the rules of accounts in them.

use crate::fault::{Fault, Remedy};
use crate::fields::{Fields, Range};
use crate::keys::{Checked, Keyed, Keys, LEFT_OUT, float};
use crate::names::{Pattern, Recipients};
use crate::quantity::underscored;
use crate::sizes::{EXPONENT_MAX, exponent_fault};

/// Transfers of a token between its holders.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Erc20 {
    /// Pattern of senders and recipients.
    pub pattern: Pattern,
    /// Number of senders, which have a balance in the genesis; 2 to 1 million, at most the number
    /// of accounts.
    pub holder_count: u64,
}

/// Balances are explicit slots in the state's recipe: their number bounds the recipe's memory.
const HOLDERS_MAX: u64 = 1_000_000;

impl Keyed for Erc20 {
    fn keys(&mut self, keys: &mut Keys<'_>) -> Checked {
        check_two_accounts(keys)?;
        keys.named("pattern", &mut self.pattern)?;
        let (most, above) = match keys.load_env().map_or(0, |env| env.state.account_count) {
            count if count < HOLDERS_MAX => (count, "the number of accounts: every holder is one"),
            _ => (HOLDERS_MAX, "the most that is supported"),
        };
        let holders = Range { least: 2, most, below: "a giver and a taker", above };
        keys.count("holders", &mut self.holder_count, &holders, most)
    }
}

/// Transfers of tokens of an ERC-721 contract, between pairs that share no account.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Erc721 {
    /// Number of senders, each with a token in the genesis; 2 to 1 million, at most the number of
    /// accounts.
    pub holder_count: u64,
}

impl Keyed for Erc721 {
    fn keys(&mut self, keys: &mut Keys<'_>) -> Checked {
        check_two_accounts(keys)?;
        people(keys, &mut self.holder_count, &Crowd { key: "holders", least: 2, usual: 100_000 })
    }
}

/// Mints of an ERC-721 token.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NftMint {
    /// Number of accounts that mint, in turn; 1 to 1 million, at most the number of accounts.
    pub minter_count: u64,
}

impl Keyed for NftMint {
    fn keys(&mut self, keys: &mut Keys<'_>) -> Checked {
        people(keys, &mut self.minter_count, &Crowd { key: "minters", least: 1, usual: 100_000 })
    }
}

/// Transfers of a token to many recipients at once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Airdrop {
    /// Accounts that receive.
    pub recipients: Recipients,
    /// Number of recipients of a transaction; 1 to 10,000.
    pub recipient_count: u64,
    /// Number of senders, which hold the token in the genesis; 2 to 1 million, at most the number
    /// of accounts.
    pub holder_count: u64,
}

const RECIPIENTS: Range = Range::supported(1, 10_000, "a recipient");

impl Keyed for Airdrop {
    fn keys(&mut self, keys: &mut Keys<'_>) -> Checked {
        check_two_accounts(keys)?;
        keys.named("to", &mut self.recipients)?;
        keys.count("recipients", &mut self.recipient_count, &RECIPIENTS, 100)?;
        people(keys, &mut self.holder_count, &Crowd { key: "holders", least: 2, usual: 20_000 })?;
        let Self { recipients, recipient_count, holder_count } = *self;
        match keys.fields() {
            Some(fields)
                if recipients == Recipients::Holders && recipient_count >= holder_count =>
            {
                let rule = format!(
                    "{recipient_count} recipients are not among holders = {holder_count} beside \
                     the giver"
                );
                let remedy = Remedy::bare(underscored(holder_count - 1));
                let remedy = remedy.and("or less, or raise holders");
                Err(fields.refusal("recipients", rule, remedy))
            }
            _ => Ok(()),
        }
    }
}

/// Swaps of tokens at pairs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Amm {
    /// Number of pairs of tokens; 1 to 1,000.
    pub pair_count: u64,
    /// Share of the traders that trade at the hot pair. The others trade at the other pairs.
    pub hot_share: f64,
    /// Zipf's exponent of the other pairs: the k-th pair has the weight k to the power of minus the
    /// exponent. 0 spreads evenly.
    pub pair_exponent: f64,
    /// Number of accounts that trade, each at one pair; 1 to 1 million, at most the number of
    /// accounts.
    pub trader_count: u64,
}

/// Each pair is two explicit contracts in the state's recipe: their number bounds the recipe's
/// memory.
const PAIRS: Range = Range::supported(1, 1_000, "the hot pair");

impl Keyed for Amm {
    fn keys(&mut self, keys: &mut Keys<'_>) -> Checked {
        keys.count("pairs", &mut self.pair_count, &PAIRS, 100)?;
        keys.share("hot", &mut self.hot_share, 0.25)?;
        keys.reserve("pair_zipf");
        people(keys, &mut self.trader_count, &Crowd { key: "traders", least: 1, usual: 20_000 })?;
        match keys.fields() {
            Some(fields) => self.pair_exponent = pair_exponent(fields)?,
            // The default is not written: the work has the same identity as before the key existed.
            None if self.pair_exponent == 0.0 => keys.write("pair_zipf", Err(LEFT_OUT)),
            None => keys.write("pair_zipf", Ok(float(self.pair_exponent))),
        }
        Ok(())
    }
}

fn pair_exponent(fields: &Fields<'_>) -> Result<f64, Fault> {
    let exponent = fields.number("pair_zipf")?.unwrap_or(0.0);
    if (0.0..=EXPONENT_MAX).contains(&exponent) {
        return Ok(exponent);
    }
    Err(exponent_fault(fields, "pair_zipf", exponent, "at least 0, which is evenly"))
}

/// Maximum number of accounts of a load. Each account has slots in the state's recipe, so their
/// number bounds the recipe's memory.
const PEOPLE_MAX: u64 = 1_000_000;

/// Key and bounds of the number of accounts that take part in a load, such as its holders.
pub(super) struct Crowd {
    /// The key with their count.
    pub(super) key: &'static str,
    /// Minimum number of accounts.
    pub(super) least: u64,
    /// Default number, if the state has at least so many accounts.
    pub(super) usual: u64,
}

/// Reads or writes the number of accounts that take part in a load.
pub(super) fn people(keys: &mut Keys<'_>, count: &mut u64, crowd: &Crowd) -> Checked {
    let least = crowd.least;
    let account_count = keys.load_env().map_or(0, |env| env.state.account_count);
    let (most, above) = match account_count.max(least) {
        count if count < PEOPLE_MAX => (count, "the number of accounts: each of these is one"),
        _ => (PEOPLE_MAX, "the most that is supported"),
    };
    let range = Range { least, most, below: "the fewest that can take part", above };
    keys.count(crowd.key, count, &range, crowd.usual.min(most))
}

/// Checks that sender and recipient can be two accounts.
pub(super) fn check_two_accounts(keys: &Keys<'_>) -> Checked {
    match keys.load_env() {
        Some(env) if env.state.account_count < 2 => {
            let rule = format!("{} is less than a giver and a taker", env.state.account_count);
            Err(env.state_fields.refusal("accounts", rule, Remedy::text("100k")))
        }
        _ => Ok(()),
    }
}
