//! The recipe of a state as JSON.

use alloy_primitives::{Address, B256};
use serde::{Serialize, Serializer};

use crate::genesis::{
    AccountFamily, CodeRule, Genesis, GenesisAccount, KeyRule, SenderFamily, SlotFamily, ValueRule,
};

#[derive(Serialize)]
pub(super) struct Recipe<'a> {
    digest: B256,
    accounts: &'a [GenesisAccount],
    senders: &'a [SenderFamily],
    #[serde(serialize_with = "slots")]
    slots: &'a [SlotFamily],
    #[serde(serialize_with = "account_families")]
    account_families: &'a [AccountFamily],
}

impl<'a> Recipe<'a> {
    pub(super) fn new(genesis: &'a Genesis) -> Self {
        let Genesis { accounts, senders, slots, account_families } = genesis;
        Self { digest: genesis.digest(), accounts, senders, slots, account_families }
    }
}

/// A rule of values by its name, with its parameters.
#[derive(Serialize)]
#[serde(tag = "rule", rename_all = "kebab-case")]
enum Values {
    Random,
    NextKey,
    KeyElsewhere { address: Address, ahead: u64 },
    AfterKey,
}

fn slots<S: Serializer>(all: &&[SlotFamily], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Item<'a> {
        address: &'a Address,
        count: u64,
        keys: &'static str,
        values: Values,
        seed: &'a B256,
    }
    serializer.collect_seq(all.iter().map(|family| {
        let SlotFamily { address, count, keys, values, seed } = family;
        let keys = match keys {
            KeyRule::Keccak => "keccak",
            KeyRule::Weyl => "weyl",
            KeyRule::Balance => "balance",
            KeyRule::Addressed => "addressed",
            KeyRule::Index => "index",
            KeyRule::Deep => "deep",
        };
        let values = match *values {
            ValueRule::Random => Values::Random,
            ValueRule::NextKey => Values::NextKey,
            ValueRule::KeyElsewhere { address, ahead } => Values::KeyElsewhere { address, ahead },
            ValueRule::AfterKey => Values::AfterKey,
        };
        Item { address, count: *count, keys, values, seed }
    }))
}

/// A rule of codes by its name, with its parameters.
#[derive(Serialize)]
#[serde(tag = "rule", rename_all = "kebab-case")]
enum Codes {
    Nothing,
    Jumpdests { bytes: u32, distinct_count: u64 },
}

fn account_families<S: Serializer>(
    all: &&[AccountFamily],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Item<'a> {
        seed: &'a B256,
        count: u64,
        code: Codes,
    }
    serializer.collect_seq(all.iter().map(|family| {
        let AccountFamily { seed, count, code } = family;
        let code = match *code {
            CodeRule::Nothing => Codes::Nothing,
            CodeRule::Jumpdests { bytes, distinct_count } => {
                Codes::Jumpdests { bytes, distinct_count }
            }
        };
        Item { seed, count: *count, code }
    }))
}
