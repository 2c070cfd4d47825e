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

fn slots<S: Serializer>(all: &&[SlotFamily], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Item<'a>(#[serde(with = "Slots")] &'a SlotFamily);
    serializer.collect_seq(all.iter().map(Item))
}

#[derive(Serialize)]
#[serde(remote = "SlotFamily")]
struct Slots {
    address: Address,
    count: u64,
    keys: KeyRule,
    #[serde(with = "Values")]
    values: ValueRule,
    seed: B256,
}

/// A value rule as JSON: its name, then its parameters.
#[derive(Serialize)]
#[serde(remote = "ValueRule", tag = "rule", rename_all = "kebab-case")]
enum Values {
    Random,
    NextKey,
    KeyElsewhere { address: Address, ahead: u64 },
    AfterKey,
}

fn account_families<S: Serializer>(
    all: &&[AccountFamily],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Item<'a>(#[serde(with = "Accounts")] &'a AccountFamily);
    serializer.collect_seq(all.iter().map(Item))
}

#[derive(Serialize)]
#[serde(remote = "AccountFamily")]
struct Accounts {
    seed: B256,
    count: u64,
    #[serde(with = "Codes")]
    code: CodeRule,
}

/// A code rule as JSON: its name, then its parameters.
#[derive(Serialize)]
#[serde(remote = "CodeRule", tag = "rule", rename_all = "kebab-case")]
enum Codes {
    Nothing,
    Jumpdests { bytes: u32, distinct_count: u64 },
}
