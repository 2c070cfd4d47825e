//! What the transactions of a scenario do. One kind of load is one struct in its own file, which
//! owns its parameters, their rules and how they are written; [`KINDS`] lists them.

mod account_storm;
mod balance_storm;
mod erc20;
mod one_slot;
mod prefetch_miss;
mod sload_storm;
mod sstore_storm;
mod transfers;

pub use account_storm::AccountStorm;
pub use balance_storm::BalanceStorm;
pub use erc20::Erc20;
pub use one_slot::OneSlot;
pub use prefetch_miss::PrefetchMiss;
pub use sload_storm::SloadStorm;
pub use sstore_storm::SstoreStorm;
pub use transfers::Transfers;

use workload::Fork;

use super::fault::{Fault, Misfit, Remedy, listed, nearest, shown};
use super::fields::Fields;
use super::keys;
use super::spec::StateSpec;
use super::tree::{Node, Table, Value};

/// A share of the gas of every block.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// Share of the gas, above 0; the shares of all loads sum to 1.
    pub share: f64,
    /// Seed of this load's stream, in place of the derived one.
    pub seed: Option<u64>,
    /// What it does.
    pub kind: LoadKind,
}

/// What a load does, with the parameters of its kind.
#[derive(Debug, Clone, PartialEq)]
pub enum LoadKind {
    /// Cold storage reads, nothing else.
    SloadStorm(SloadStorm),
    /// Cold storage writes, nothing else.
    SstoreStorm(SstoreStorm),
    /// Cold storage reads of what the transaction before has decided.
    PrefetchMiss(PrefetchMiss),
    /// Cold reads of accounts and codes, or calls.
    AccountStorm(AccountStorm),
    /// Cold balances of a token.
    BalanceStorm(BalanceStorm),
    /// Transfers of ether, nothing else.
    Transfers(Transfers),
    /// Transfers of an ERC-20 token.
    Erc20(Erc20),
    /// Some work, then one slot that all read and write.
    OneSlot(OneSlot),
}

impl LoadKind {
    /// The name of the kind in a scenario.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::SloadStorm(_) => sload_storm::KIND.name,
            Self::SstoreStorm(_) => sstore_storm::KIND.name,
            Self::PrefetchMiss(_) => prefetch_miss::KIND.name,
            Self::AccountStorm(_) => account_storm::KIND.name,
            Self::BalanceStorm(_) => balance_storm::KIND.name,
            Self::Transfers(_) => transfers::KIND.name,
            Self::Erc20(_) => erc20::KIND.name,
            Self::OneSlot(_) => one_slot::KIND.name,
        }
    }

    /// The kind's own keys with their values as TOML.
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::SloadStorm(storm) => storm.entries(),
            Self::SstoreStorm(storm) => storm.entries(),
            Self::PrefetchMiss(storm) => storm.entries(),
            Self::AccountStorm(storm) => storm.entries(),
            Self::BalanceStorm(BalanceStorm) => Vec::new(),
            Self::Transfers(transfers) => transfers.entries(),
            Self::Erc20(erc20) => erc20.entries(),
            Self::OneSlot(one_slot) => one_slot.entries(),
        }
    }
}

/// How the reader finds a kind.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// Its keys beside those of every load.
    pub(super) keys: &'static [&'static str],
    read: fn(&Fields<'_>, &Around<'_, '_>) -> Result<LoadKind, Fault>,
}

/// Every kind of load.
pub(super) const KINDS: &[Kind] = &[
    sload_storm::KIND,
    sstore_storm::KIND,
    prefetch_miss::KIND,
    account_storm::KIND,
    balance_storm::KIND,
    transfers::KIND,
    erc20::KIND,
    one_slot::KIND,
];

/// What a load's rules may depend on.
pub(super) struct Around<'fields, 'tree> {
    pub(super) fork: Fork,
    pub(super) state: &'fields StateSpec,
    pub(super) state_fields: &'fields Fields<'tree>,
}

/// The shares of all loads sum to 1 within this.
const SHARE_TOLERANCE: f64 = 1e-9;

/// Reads every `[[load]]`; a single one needs no share.
pub(super) fn read(loads: &[Node], around: &Around<'_, '_>) -> Result<Vec<Load>, Fault> {
    let mut out = Vec::with_capacity(loads.len());
    let mut last = None;
    for (index, node) in loads.iter().enumerate() {
        let path = format!("load[{index}]");
        let Value::Table(table) = &node.value else {
            let rule = format!("{} is {}; a load is a table", node.given, node.value.kind());
            let remedy = Remedy::advice("write each load under [[load]]");
            return Err(Misfit::new(rule, remedy).at(&path, &node.origin));
        };
        let (kind, fields) = kind(&path, table, node)?;
        let share = match (fields.share("share")?, loads.len()) {
            (Some(0.0), _) => {
                let misfit = Misfit::new("0 is no load", Remedy::advice("remove it, or raise it"));
                return Err(fields.fault("share", misfit));
            }
            (Some(share), _) => share,
            (None, 1) => 1.0,
            (None, load_count) => {
                let equal = Remedy::bare(1.0 / load_count as f64);
                return Err(fields.missing("share", equal.and("the shares of all loads sum to 1")));
            }
        };
        let seed = fields.seed()?;
        out.push(Load { share, seed, kind: (kind.read)(&fields, around)? });
        last = Some(fields);
    }
    let sum: f64 = out.iter().map(|load| load.share).sum();
    match last {
        Some(last) if (sum - 1.0).abs() > SHARE_TOLERANCE => Err(wrong_sum(&last, &out, sum)),
        _ => Ok(out),
    }
}

/// Who gives and who takes are two.
fn check_two_accounts(around: &Around<'_, '_>) -> Result<(), Fault> {
    if around.state.account_count >= 2 {
        return Ok(());
    }
    let rule = format!("{} is less than a giver and a taker", around.state.account_count);
    Err(around.state_fields.fault("accounts", Misfit::new(rule, Remedy::text("100k"))))
}

fn kind<'tree>(
    path: &str,
    table: &'tree Table,
    node: &'tree Node,
) -> Result<(&'static Kind, Fields<'tree>), Fault> {
    let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
    let all = listed(&names, "or");
    // Which keys are known depends on the kind: the first look takes any.
    let any: Vec<&str> = table.entries.iter().map(|entry| entry.key.as_str()).collect();
    let fields = Fields::new(path, table, &node.origin, &any)?;
    let Some(given) = fields.text("kind")? else {
        let advice = format!("kinds are {all}");
        let remedy = Remedy::text(names.first().copied().unwrap_or_default()).and(&advice);
        return Err(fields.missing("kind", remedy));
    };
    let Some(kind) = KINDS.iter().find(|kind| kind.name == given) else {
        let advice = match nearest(given, names.iter().copied()) {
            Some(meant) => format!("did you mean {meant}?"),
            None => format!("use {all}"),
        };
        let rule = format!("{} is no kind of load", shown(given));
        return Err(fields.fault("kind", Misfit::new(rule, Remedy::advice(&advice))));
    };
    let known = [keys::LOAD, kind.keys].concat();
    Ok((kind, Fields::new(path, table, &node.origin, &known)?))
}

fn wrong_sum(last: &Fields<'_>, loads: &[Load], sum: f64) -> Fault {
    let shares: Vec<String> = loads.iter().map(|load| load.share.to_string()).collect();
    let rest: f64 = loads.iter().rev().skip(1).map(|load| load.share).sum();
    let misfit = if let [only] = loads {
        let rule = format!("{} is the share of the only load; it must be 1", only.share);
        Misfit::new(rule, Remedy::bare(1.0).and("or leave it out"))
    } else {
        let terms = shown(&shares.join(" + "));
        let rule = format!("the shares sum to {sum}, not to 1 ({terms})");
        let remedy = if rest < 1.0 {
            // Rounded to the tolerance: 0.3, not 0.30000000000000004.
            let last_share = ((1.0 - rest) / SHARE_TOLERANCE).round() * SHARE_TOLERANCE;
            Remedy::bare(format!("{last_share:.9}").trim_end_matches('0')).and("or change another")
        } else {
            Remedy::advice("lower the shares until they sum to 1")
        };
        Misfit::new(rule, remedy)
    };
    last.fault("share", misfit)
}
