//! `chains`: transactions that depend on each other, by rate and by shape. They form chains,
//! hotspots and connected groups, beside independent transactions.

use variant::named;

use super::tokens::check_two_accounts;
use crate::fault::{Fault, Remedy};
use crate::fields::{Fields, Range};
use crate::keys::{Checked, Keyed, Keys, LEFT_OUT, list};
use crate::quantity::underscored;

named! {
    /// Dependencies within a group.
    #[derive(Default)]
    pub enum Shape: "shape of a group" {
        /// Each transaction depends on all transactions before it: all read and write one shared
        /// key.
        #[default]
        Shared = "shared",
        /// Each transaction depends on the transaction before it: it reads that transaction's key
        /// and writes its own key.
        Relay = "relay",
        /// Each transaction depends on a random transaction before it.
        Tree = "tree",
        /// Each transaction depends on the first transaction.
        Star = "star",
    }
}

named! {
    /// Order of a group's transactions in a block.
    #[derive(Default)]
    pub enum GroupOrder: "order of groups" {
        /// Random order.
        #[default]
        Shuffled = "shuffled",
        /// Groups take turns, so that transactions of a group are as far apart as possible.
        Interleaved = "interleaved",
        /// Transactions of a group are next to each other.
        Together = "together",
    }
}

named! {
    /// The kind of state through which transactions depend on each other.
    #[derive(Default)]
    pub enum Through: "kind of dependency" {
        /// A storage slot.
        #[default]
        Slot = "slot",
        /// The balance of an account.
        Account = "account",
    }
}

named! {
    /// Time at which a transaction touches the shared state.
    #[derive(Default)]
    pub enum Touch: "time of the shared access" {
        /// Before its work, which then depends on the state.
        First = "first",
        /// After its work, which can be done ahead.
        #[default]
        Last = "last",
    }
}

/// Groups of the conflicting transactions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Groups {
    /// Groups with these numbers of transactions, in turn. Each group has its own key.
    Lengths(Vec<u64>),
    /// This number of groups of equal length, at the same keys in every block.
    Hotspots(u64),
}

impl Default for Groups {
    fn default() -> Self {
        Self::Lengths(vec![DEFAULT_LENGTH])
    }
}

/// Transactions in groups whose members depend on each other.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chains {
    /// Share of the transactions that are in groups. The others are independent.
    pub conflict_share: f64,
    /// The groups.
    pub groups: Groups,
    /// Dependencies within a group.
    pub shape: Shape,
    /// Order of a group's transactions in a block.
    pub order: GroupOrder,
    /// The kind of state through which transactions depend on each other.
    pub through: Through,
    /// Time at which a transaction touches that state.
    pub touch: Touch,
    /// Number of hashes that a transaction computes; 0 to 50,000.
    pub work: u64,
}

const LENGTHS: Range = Range::supported(1, 100_000_000, "the shortest group");
/// Shared keys are explicit slots in the state's recipe: their number bounds the recipe's memory.
const SHARED_KEY_COUNT_MAX: u64 = 1_000_000;
const WORK: Range = Range::supported(0, 50_000, "");
const DEFAULT_LENGTH: u64 = 5;
/// With this work, a transaction uses about 74,000 gas, like a transaction of `dapps`.
const DEFAULT_WORK: u64 = 250;

impl Keyed for Chains {
    fn keys(&mut self, keys: &mut Keys<'_>) -> Checked {
        check_two_accounts(keys)?;
        keys.share("conflict", &mut self.conflict_share, 1.0)?;
        match (keys.fields(), keys.load_env(), &self.groups) {
            (Some(fields), Some(env), _) => {
                let account_count = env.state.account_count;
                self.groups = groups(fields, account_count, self.conflict_share)?;
            }
            (_, _, Groups::Lengths(lengths)) => {
                let lengths: Vec<_> = lengths.iter().map(|length| underscored(*length)).collect();
                keys.write("lengths", Ok(list(&lengths)));
                keys.write("hotspots", Err(LEFT_OUT));
            }
            (_, _, Groups::Hotspots(count)) => {
                keys.write("lengths", Err(LEFT_OUT));
                keys.write("hotspots", Ok(underscored(*count)));
            }
        }
        keys.named("shape", &mut self.shape)?;
        keys.named("order", &mut self.order)?;
        keys.named("through", &mut self.through)?;
        keys.named("touch", &mut self.touch)?;
        keys.count("work", &mut self.work, &WORK, DEFAULT_WORK)
    }
}

/// Reads `lengths` or `hotspots`, which are alternatives.
fn groups(fields: &Fields<'_>, account_count: u64, conflict_share: f64) -> Result<Groups, Fault> {
    let lengths = fields.count_list("lengths", &LENGTHS)?;
    // Each hotspot takes the place of an account, which then does not send.
    let hotspots = Range {
        least: 1,
        most: account_count.min(SHARED_KEY_COUNT_MAX).saturating_sub(1).max(1),
        below: "the fewest",
        above: "the accounts, at most 1,000,000, without one that sends",
    };
    match (lengths, fields.count("hotspots", &hotspots)?) {
        (None, None) => Ok(Groups::default()),
        (Some(lengths), None) => checked(fields, lengths, conflict_share).map(Groups::Lengths),
        (None, Some(count)) => Ok(Groups::Hotspots(count)),
        _ => Err(fields.exactly_one(&["lengths", "hotspots"], Remedy::text("5"))),
    }
}

/// Checks that some transactions share a group, if any are to conflict.
fn checked(fields: &Fields<'_>, lengths: Vec<u64>, conflict_share: f64) -> Result<Vec<u64>, Fault> {
    let example = Remedy::list(&["5"]).and("or several, such as 1, 2 and 5, for a mix");
    if lengths.is_empty() {
        return Err(fields.refusal("lengths", "the list is empty", example));
    }
    if conflict_share > 0.0 && lengths.iter().all(|length| *length == 1) {
        let rule = format!("a group of 1 meets nobody, and conflict = {conflict_share} is asked");
        let remedy = example.and("or conflict = 0.0");
        return Err(fields.refusal("lengths", rule, remedy));
    }
    Ok(lengths)
}
