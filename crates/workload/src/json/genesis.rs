//! The recipe of a state, and the plan of a batch, as JSON.

use alloy_primitives::{Address, B256, Bytes, U256};
use serde::{Serialize, Serializer};

use crate::{
    block::{IndexRange, Plan},
    genesis::{
        AccountFamily, CodeRule, Genesis, GenesisAccount, KeyRule, SenderFamily, SlotFamily,
        ValueRule,
    },
};

#[derive(Serialize)]
pub(super) struct Recipe<'a> {
    digest: B256,
    #[serde(serialize_with = "accounts")]
    accounts: &'a [GenesisAccount],
    #[serde(serialize_with = "senders")]
    senders: &'a [SenderFamily],
    #[serde(serialize_with = "slots")]
    slots: &'a [SlotFamily],
    #[serde(serialize_with = "account_families")]
    account_families: &'a [AccountFamily],
}

impl<'a> Recipe<'a> {
    pub(super) fn of(genesis: &'a Genesis) -> Self {
        let Genesis { accounts, senders, slots, account_families } = genesis;
        Self { digest: genesis.digest(), accounts, senders, slots, account_families }
    }
}

fn accounts<S: Serializer>(all: &&[GenesisAccount], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Item<'a> {
        address: &'a Address,
        nonce: u64,
        balance: U256,
        code: &'a Bytes,
        storage: &'a [(U256, U256)],
    }
    fn of(account: &GenesisAccount) -> Item<'_> {
        let GenesisAccount { address, nonce, balance, code, storage } = account;
        Item { address, nonce: *nonce, balance: *balance, code, storage }
    }
    serializer.collect_seq(all.iter().map(of))
}

fn senders<S: Serializer>(all: &&[SenderFamily], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Item<'a> {
        first_secret: &'a B256,
        count: u64,
        balance: U256,
    }
    fn of(family: &SenderFamily) -> Item<'_> {
        let SenderFamily { first_secret, count, balance } = family;
        Item { first_secret, count: *count, balance: *balance }
    }
    serializer.collect_seq(all.iter().map(of))
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
    fn of(family: &SlotFamily) -> Item<'_> {
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
    }
    serializer.collect_seq(all.iter().map(of))
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
    fn of(family: &AccountFamily) -> Item<'_> {
        let AccountFamily { seed, count, code } = family;
        let code = match *code {
            CodeRule::Nothing => Codes::Nothing,
            CodeRule::Jumpdests { bytes, distinct_count } => {
                Codes::Jumpdests { bytes, distinct_count }
            }
        };
        Item { seed, count: *count, code }
    }
    serializer.collect_seq(all.iter().map(of))
}

#[derive(Serialize)]
pub(super) struct PlanJson<'a> {
    #[serde(serialize_with = "ranges")]
    slots: &'a [IndexRange],
    #[serde(serialize_with = "ranges")]
    senders: &'a [IndexRange],
    #[serde(serialize_with = "ranges")]
    accounts: &'a [IndexRange],
    absent_accounts: &'a [Address],
}

impl<'a> PlanJson<'a> {
    pub(super) fn of(plan: &'a Plan) -> Self {
        let Plan { slots, senders, accounts, absent_accounts } = plan;
        Self { slots, senders, accounts, absent_accounts }
    }
}

fn ranges<S: Serializer>(all: &&[IndexRange], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Item {
        family: u32,
        start: u64,
        count: u64,
    }
    let of =
        |range: &IndexRange| Item { family: range.family, start: range.start, count: range.count };
    serializer.collect_seq(all.iter().map(of))
}
