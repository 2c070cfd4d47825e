//! Messages of optimistic execution on shards, where no list gives the writes of each step. They
//! carry keys with their versions, writes of other shards' steps, and results with their reads.

use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes, U256};
use evm::TxResult;
use workload::{BlockAccessIndex, genesis::AccountState};

/// Number of results that a shard sends without waiting for one another, after an [`Order::Hurry`].
/// It is that of the transactions of some blocks. So a shared value at each block's end does not
/// split all results of a batch.
pub const HURRIED_RESULT_COUNT: usize = 512;

/// An account as a step of the batch left it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccountVersion {
    /// `None` where it does not exist; never an empty account (EIP-161).
    pub state: Option<AccountState>,
    /// Created in this batch: slots that no step wrote are zero, whatever the store returns.
    pub is_born: bool,
}

/// Keys that a shard requests. From then on the shard gets each write of another shard's step to
/// these accounts and slots.
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

/// A key, its value before the batch, and the writes by steps of other shards so far, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyValue<K, B, V> {
    /// The key.
    pub key: K,
    /// The value before the batch.
    pub base: B,
    /// Writes; of the committed steps only the last one.
    pub versions: Vec<Version<V>>,
}

/// An account that a shard requested.
pub type AccountValue = KeyValue<Address, Option<AccountState>, AccountVersion>;
/// A slot that a shard requested.
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
    /// Codes; `None` where neither the state nor a step has the code.
    pub codes: Vec<(B256, Option<Bytes>)>,
}

/// Writes of a run of another shard's step that differ from those of its last run. `None`: the step
/// no longer writes the key.
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

/// A message to a shard. Its content holds once all earlier messages are applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Requested keys with their values.
    Values(KeyValues),
    /// A step of another shard ran.
    Writes(RemoteWrites),
    /// All steps below this one are committed.
    Committed {
        /// The lowest step that is not committed.
        to: BlockAccessIndex,
        /// Fees in wei that the last committed steps owe to their beneficiaries, one per step.
        fees: Vec<u128>,
    },
    /// Another shard received a value that a step of this shard wrote. The next
    /// [`HURRIED_RESULT_COUNT`] results do not wait for one another.
    Hurry,
}

/// Values that a run read, as [`AccountVersion`]s for accounts. `None` where no lower step had
/// written the key.
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
    /// Number of the run, from 1 on. A run replaces those before it.
    pub incarnation: u32,
    /// Whether the shard knew at the start that all lower steps are committed.
    pub is_final: bool,
    /// Result of the step; `None` for a system step.
    pub result: Option<TxResult>,
    /// Fee in wei that it owes the block's beneficiary.
    pub fee: u128,
    /// Reads of the step.
    pub reads: Reads,
    /// Writes of the step.
    pub writes: VersionWrites,
    /// Duration of the run on the shard, with reads.
    pub latency: Duration,
}
