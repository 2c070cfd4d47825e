//! The loads of a scenario. Each kind of load is a struct that owns its parameters; their keys and
//! rules are declared beside it. [`LoadKind`] lists the kinds. `generator/src/loads/` makes their
//! transactions.

mod chains;
mod dapps;
mod hash_chain;
mod simple;
mod sload_storm;
mod sstore_storm;
mod storms;
mod tokens;

pub use chains::{Chains, GroupOrder, Groups, Shape, Through, Touch};
pub use dapps::{Dapps, Outside, PerUser};
pub use hash_chain::{Density, Deployed, HashChain};
pub use simple::{Compute, Delegate, Deploy, Logs, NonConflicting, OneSlot, Transfers};
pub use sload_storm::{CalldataByte, SloadStorm, SlotOrder};
pub use sstore_storm::{SstoreStorm, WriteKeys};
pub use storms::{AccountStorm, BalanceStorm, Bloated, BloatedOp, ContractChase, PrefetchMiss};
pub use tokens::{Airdrop, Amm, Erc20, Erc721, NftMint};

use std::sync::LazyLock;

use crate::fault::{Fault, Remedy, Violation, listed, nearest, shown};
use crate::fields::{Fields, NO_SUCH_KEY};
use crate::keys::{self, Entry, Keys, LoadEnv};
use crate::sizes::{self, SizedLoad, Sizes};
use crate::tree::{Node, Table, Value};

/// A load: transactions of one kind, with their share of every block.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// Share above 0 of the block's gas, or of its transactions where the block counts these. The
    /// shares of all loads sum to 1.
    pub share: f64,
    /// Name of the load. Random streams are derived from this name, or from the index of a load
    /// without a name. So a named load stays the same at any index.
    pub name: Option<String>,
    /// Sizes of the transactions; `None`: as large as `block.tx_gas` allows.
    pub sizes: Option<Sizes>,
    /// Seed of this load's stream, in place of the derived seed.
    pub seed: Option<u64>,
    /// Kind of the load.
    pub kind: LoadKind,
}

/// A kind of load, as the reader of scenarios looks it up.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// Keys of the kind beside the keys of every load.
    pub(crate) keys: Vec<&'static str>,
    read: fn(&Fields<'_>, &LoadEnv<'_>) -> Result<LoadKind, Fault>,
}

/// Makes [`LoadKind`] and [`KINDS`] from one list. It has each kind with its name in a scenario and
/// the struct of its parameters.
macro_rules! load_kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal,)*) => {
        /// A kind of load with its parameters.
        #[derive(Debug, Clone, PartialEq)]
        pub enum LoadKind {
            $($(#[$doc])* $kind($kind),)*
        }

        impl LoadKind {
            /// The name of the kind in a scenario.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$kind(_) => $name,)*
                }
            }

            /// The kind's own keys with their values as TOML.
            pub(crate) fn entries(&self) -> Vec<Entry> {
                match self {
                    $(Self::$kind(kind) => Keys::entries(kind),)*
                }
            }
        }

        /// Every kind of load.
        pub(crate) static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| vec![$(Kind {
            name: $name,
            keys: Keys::names::<$kind>(),
            read: |fields, env| Keys::read(fields, Some(env)).map(LoadKind::$kind),
        },)*]);
    };
}

load_kinds! {
    /// Cold storage reads, nothing else.
    SloadStorm = "sload-storm",
    /// Cold storage writes, nothing else.
    SstoreStorm = "sstore-storm",
    /// Cold storage reads at keys that the transaction before decides.
    PrefetchMiss = "prefetch-miss",
    /// Cold reads of accounts and codes, or calls.
    AccountStorm = "account-storm",
    /// Cold reads of balances of a token.
    BalanceStorm = "balance-storm",
    /// A chain of reads through contracts.
    ContractChase = "contract-chase",
    /// Reads or writes of slots of one account that delegates its code.
    Bloated = "bloated",
    /// Transfers of ether, nothing else.
    Transfers = "transfers",
    /// Transfers of an ERC-20 token.
    Erc20 = "erc20",
    /// One slot that all transactions read and write, before or after some work.
    OneSlot = "one-slot",
    /// Users of many DApps with shared resources.
    Dapps = "dapps",
    /// Transactions that depend on each other, by a given rate and shape.
    Chains = "chains",
    /// Groups of transactions that hash and share a slot, as in the official benchmarks.
    HashChain = "hash-chain",
    /// Transactions whose accounts are distinct.
    NonConflicting = "non-conflicting",
    /// Swaps of tokens at pairs.
    Amm = "amm",
    /// Transfers of ERC-721 tokens.
    Erc721 = "erc721",
    /// Mints of tokens that share a counter.
    NftMint = "nft-mint",
    /// Transfers of a token to many recipients at once.
    Airdrop = "airdrop",
    /// Deployments of contracts.
    Deploy = "deploy",
    /// Delegations of code.
    Delegate = "delegate",
    /// Work that reads and writes no state.
    Compute = "compute",
    /// Transactions that write logs.
    Logs = "logs",
}

impl Load {
    /// Tag of the load in the names of its random streams: its name, or its index.
    pub fn tag(&self, index: usize) -> String {
        self.name.clone().unwrap_or_else(|| index.to_string())
    }

    /// The keys of the load's sizes with their values as TOML, or with the meaning of leaving them
    /// out.
    pub(crate) fn size_entries(&self) -> Vec<Entry> {
        match &self.sizes {
            Some(sizes) => sizes.entries(),
            None if self.kind.fills_room() => vec![("tx_gas", Err(sizes::IF_ABSENT))],
            None => vec![("tx_gas", Err(sizes::NEEDED))],
        }
    }
}

impl LoadKind {
    /// Whether transactions of the load touch as many cold keys as fit, and do little else.
    pub const fn is_storm(&self) -> bool {
        matches!(
            self,
            Self::SloadStorm(_)
                | Self::SstoreStorm(_)
                | Self::PrefetchMiss(_)
                | Self::AccountStorm(_)
                | Self::BalanceStorm(_)
                | Self::ContractChase(_)
                | Self::Bloated(_)
        )
    }

    /// Whether a transaction of the load can use all gas that it is given, however much. Transactions
    /// of other loads need a fixed amount of gas.
    pub const fn fills_room(&self) -> bool {
        match self {
            Self::Compute(compute) => compute.round_count.is_none(),
            Self::Logs(logs) => logs.log_count.is_none(),
            _ => self.is_storm(),
        }
    }
}

/// The name of every kind of load.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|kind| kind.name)
}

/// Maximum length of the name of a scenario or load, in characters.
pub(crate) const NAME_CHARS_MAX: usize = 64;

/// Tolerance within which the shares of all loads sum to 1.
const SHARE_TOLERANCE: f64 = 1e-9;

/// Reads every `[[load]]`; a single load needs no share.
pub(crate) fn read_all(loads: &[Node], env: &LoadEnv<'_>) -> Result<Vec<Load>, Fault> {
    let mut out = Vec::with_capacity(loads.len());
    let mut last = None;
    for (index, node) in loads.iter().enumerate() {
        let path = format!("load[{index}]");
        let Value::Table(table) = &node.value else {
            let rule = format!("{} is {}; a load is a table", node.given, node.value.kind());
            let remedy = Remedy::advice("write each load under [[load]]");
            return Err(Violation::new(rule, remedy).at(&path, &node.origin));
        };
        let (kind, fields) = kind(&path, table, node, env)?;
        let share = match (fields.share("share")?, loads.len()) {
            (Some(0.0), _) => {
                let remedy = Remedy::advice("remove it, or raise it");
                return Err(fields.refusal("share", "0 is no load", remedy));
            }
            (Some(share), _) => share,
            (None, 1) => 1.0,
            (None, load_count) => {
                let equal = Remedy::bare(1.0 / load_count as f64);
                return Err(fields.missing("share", equal.and("the shares of all loads sum to 1")));
            }
        };
        let seed = fields.seed()?;
        let name = name(&fields, &out)?;
        let kind = (kind.read)(&fields, env)?;
        let load = SizedLoad {
            kind: kind.name(),
            fills_room: kind.fills_room(),
            block_tx_gas: env.tx_gas,
        };
        let sizes = sizes::read(&fields, &load)?;
        out.push(Load { share, name, sizes, seed, kind });
        last = Some(fields);
    }
    let sum: f64 = out.iter().map(|load| load.share).sum();
    match last {
        Some(last) if (sum - 1.0).abs() > SHARE_TOLERANCE => Err(wrong_sum(&last, &out, sum)),
        _ => Ok(out),
    }
}

/// Whether the name of a scenario or load may have this character.
pub(crate) const fn is_of_name(c: char) -> bool {
    matches!(c, 'a'..='z' | '0'..='9' | '-')
}

/// A load's name. It must not be the name of another load, nor a number, which is an index.
fn name(fields: &Fields<'_>, others: &[Load]) -> Result<Option<String>, Fault> {
    let Some(name) = fields.text("name")? else { return Ok(None) };
    let is_name = name.starts_with(|c: char| c.is_ascii_lowercase());
    if !is_name || name.len() > NAME_CHARS_MAX || !name.chars().all(is_of_name) {
        let rule = format!(
            "{} is no name of a load; it begins with a letter and is 1 to {NAME_CHARS_MAX} \
             lower-case letters, digits and hyphens",
            shown(name)
        );
        return Err(fields.refusal("name", rule, Remedy::text("hot")));
    }
    if others.iter().any(|load| load.name.as_deref() == Some(name)) {
        let rule = format!("{name} is the name of a load before it");
        let remedy = Remedy::advice("choose another; streams are told apart by names");
        return Err(fields.refusal("name", rule, remedy));
    }
    Ok(Some(name.to_owned()))
}

/// Finds the kind of a load, and makes the fields of its table. `path` is the load's, such as
/// `load[0]`.
fn kind<'tree>(
    path: &str,
    table: &'tree Table,
    node: &'tree Node,
    env: &LoadEnv<'_>,
) -> Result<(&'static Kind, Fields<'tree>), Fault> {
    let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
    let all = listed(&names, "or");
    // The known keys depend on the kind, so the first look accepts any key.
    let any: Vec<&str> = table.entries.iter().map(|entry| entry.key.as_str()).collect();
    let fields = env.state_fields.within(path, table, &node.origin, &any)?;
    let Some(given) = fields.text("kind")? else {
        // A misspelt key is an error of its own.
        let all_keys: Vec<&str> = KINDS.iter().flat_map(|kind| &kind.keys).copied().collect();
        let known = [keys::LOAD, &all_keys].concat();
        env.state_fields.within(path, table, &node.origin, &known)?;
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
        return Err(fields.refusal("kind", rule, Remedy::advice(&advice)));
    };
    let known = [keys::LOAD, &kind.keys].concat();
    if let Some(entry) = table.entries.iter().find(|entry| !known.contains(&entry.key.as_str()))
        && let Some(violation) = key_of_other_kinds(&entry.key, kind)
    {
        return Err(violation.at(&format!("{path}.{}", entry.key), &entry.key_origin));
    }
    Ok((kind, env.state_fields.within(path, table, &node.origin, &known)?))
}

/// The violation of a key that `kind` lacks and other kinds have. `None` for a key that no load
/// has, or that the state or the block also has.
fn key_of_other_kinds(key: &str, kind: &Kind) -> Option<Violation> {
    let others = KINDS.iter().filter(|other| other.keys.contains(&key)).map(|other| other.name);
    let others: Vec<&str> = others.collect();
    if others.is_empty() || keys::STATE.contains(&key) || keys::BLOCK.contains(&key) {
        return None;
    }
    let own = match kind.keys.as_slice() {
        [] => "which has no keys of its own".to_owned(),
        [only] => format!("whose key is {only}"),
        several => format!("whose keys are {}", listed(several, "and")),
    };
    let advice =
        format!("{key} is a key of {}; this load is {}, {own}", listed(&others, "and"), kind.name);
    Some(Violation::new(NO_SUCH_KEY, Remedy::advice(&advice)))
}

/// Makes the fault of shares that do not sum to 1, at the last load, whose share the remedy
/// corrects.
fn wrong_sum(last: &Fields<'_>, loads: &[Load], sum: f64) -> Fault {
    let shares: Vec<String> = loads.iter().map(|load| load.share.to_string()).collect();
    let rest: f64 = loads.iter().rev().skip(1).map(|load| load.share).sum();
    let (rule, remedy) = if let [only] = loads {
        let rule = format!("{} is the share of the only load; it must be 1", only.share);
        (rule, Remedy::bare(1.0).and("or leave it out"))
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
        (rule, remedy)
    };
    last.refusal("share", rule, remedy)
}
