//! Messages of optimistic execution on shards, where no list says which step writes what: keys with all that
//! is known of them, writes of steps of other shards, and results with the reads that they rest on.

use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes, U256};
use evm::TxResult;
use workload::{BlockAccessIndex, genesis::AccountState};

/// Results of a shard that do not wait for one another after it was told that others read its values: as many
/// transactions as some blocks have, so that one value at the end of each block does not part all results of a batch.
pub const HURRIED_RESULT_COUNT: usize = 512;

/// An account as a step of the batch left it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccountVersion {
    /// `None` where it does not exist; never an empty account (EIP-161).
    pub state: Option<AccountState>,
    /// Created in this batch: slots that no step wrote are zero whatever the store says.
    pub is_born: bool,
}

/// Keys that a shard asks for. From then on it is sent each write of another shard's step to an account or
/// slot among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    /// Accounts.
    pub accounts: Vec<Address>,
    /// Slots.
    pub slots: Vec<(Address, U256)>,
    /// Codes, by their hashes.
    pub codes: Vec<B256>,
}

/// The write of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version<V> {
    /// The step.
    pub index: BlockAccessIndex,
    /// The number of its run.
    pub incarnation: u32,
    /// The value.
    pub value: V,
}

/// A key: its value before the batch, and what steps of other shards wrote by now, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyValue<K, B, V> {
    /// The key.
    pub key: K,
    /// The value before the batch.
    pub base: B,
    /// Writes; of committed steps the last one only.
    pub versions: Vec<Version<V>>,
}

/// An account that a shard asked for.
pub type AccountValue = KeyValue<Address, Option<AccountState>, AccountVersion>;
/// A slot that a shard asked for.
pub type SlotValue = KeyValue<(Address, U256), U256, U256>;

/// The answer to a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyValues {
    /// The number of the request.
    pub request: u64,
    /// Accounts.
    pub accounts: Vec<AccountValue>,
    /// Slots.
    pub slots: Vec<SlotValue>,
    /// Codes; `None` where neither the state nor a step has it.
    pub codes: Vec<(B256, Option<Bytes>)>,
}

/// Writes of a run of another shard's step that differ from those of its last run; `None`: it no longer
/// writes the key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteWrites {
    /// The step.
    pub index: BlockAccessIndex,
    /// The number of its run.
    pub incarnation: u32,
    /// Accounts.
    pub accounts: Vec<(Address, Option<AccountVersion>)>,
    /// Slots.
    pub slots: Vec<(Address, U256, Option<U256>)>,
}

impl RemoteWrites {
    /// Number of keys.
    pub const fn len(&self) -> usize {
        self.accounts.len() + self.slots.len()
    }

    /// Returns whether it has no keys.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A message to a shard. Each is true after all that were sent before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Keys that it asked for.
    Values(KeyValues),
    /// A step of another shard ran.
    Writes(RemoteWrites),
    /// All steps below this one are committed.
    Committed {
        /// The lowest step that is not.
        to: BlockAccessIndex,
        /// Fees in wei that the last of them owe to their beneficiaries: of as many steps as there are fees.
        fees: Vec<u128>,
    },
    /// Another shard was sent what a step of this one wrote: none of its next results, of which there are
    /// [`HURRIED_RESULT_COUNT`], waits for another.
    Hurry,
}

/// The values that a run read, in the words of [`AccountVersion`]; `None` where no lower step had written
/// the key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Accounts.
    pub accounts: Vec<(Address, Option<AccountVersion>)>,
    /// Slots.
    pub slots: Vec<(Address, U256, Option<U256>)>,
    /// Beneficiaries, with all fees that lower steps owe to them.
    pub paid: Vec<(Address, AccountVersion)>,
}

/// The keys that a run wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionWrites {
    /// Accounts.
    pub accounts: Vec<(Address, AccountVersion)>,
    /// Slots.
    pub slots: Vec<(Address, U256, U256)>,
    /// Codes that an account has since this run, by their hashes.
    pub codes: Vec<(B256, Bytes)>,
}

/// A run of a step on a shard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptimisticStep {
    /// The step.
    pub index: BlockAccessIndex,
    /// The number of its run, from 1 on; a run takes the place of those before it.
    pub incarnation: u32,
    /// The shard knew when it began that all lower steps are committed.
    pub is_final: bool,
    /// Its result; `None` for a system step.
    pub result: Option<TxResult>,
    /// Fee in wei that it owes the block's beneficiary.
    pub fee: u128,
    /// What it read.
    pub reads: Reads,
    /// What it wrote.
    pub writes: VersionWrites,
    /// Its time on the shard, with reads.
    pub latency: Duration,
}
