//! Types of the messages for optimistic execution on shards, where no list gives the writes of each
//! step. The messages carry keys with the values that steps wrote, writes of other shards' steps,
//! and results of executions with their reads and writes.

use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes, U256};
use evm::TxResult;
use workload::{BlockAccessIndex, genesis::AccountState};

/// Number of results that a shard sends at once after an [`Order::Hurry`], without gathering more
/// results into the same message. It is about the number of transactions in a few blocks. Without a
/// limit, one value between shards would put all later results into small messages.
pub const HURRIED_RESULT_COUNT: usize = 512;

/// An account after a step of the batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccountVersion {
    /// State of the account; `None` if it does not exist. It is never an empty account (EIP-161).
    pub state: Option<AccountState>,
    /// True if a step of this batch created the account. Its slots that no step wrote are then
    /// zero, whatever the store returns.
    pub is_born: bool,
}

/// Keys that a shard requests. After the request, the shard gets each write of another shard's step
/// to these accounts and slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestedKeys {
    /// Accounts, each with its address.
    pub accounts: Vec<Address>,
    /// Slots, each with its account's address and its key.
    pub slots: Vec<(Address, U256)>,
    /// Codes, by their hashes.
    pub codes: Vec<B256>,
}

/// A value that a step wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version<V> {
    /// The step.
    pub index: BlockAccessIndex,
    /// Number of the step's execution, from 1 on.
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
    /// Values that steps of other shards wrote. Of the writes by committed steps, only the last one
    /// is included.
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
    /// Accounts, each with its address.
    pub accounts: Vec<AccountValue>,
    /// Slots, each with its account's address and its key.
    pub slots: Vec<SlotValue>,
    /// Codes; `None` if neither the state nor a step has the code.
    pub codes: Vec<(B256, Option<Bytes>)>,
}

/// Writes of another shard's step to requested keys, where they differ from the writes of the
/// step's execution before. The value `None` means that the step no longer writes the key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteWrites {
    /// The step.
    pub index: BlockAccessIndex,
    /// Number of the step's execution, from 1 on.
    pub incarnation: u32,
    /// Accounts, each with its address.
    pub accounts: Vec<(Address, Option<AccountVersion>)>,
    /// Slots, each with its account's address and its key.
    pub slots: Vec<(Address, U256, Option<U256>)>,
}

impl RemoteWrites {
    /// Returns the number of written keys.
    pub const fn len(&self) -> usize {
        self.accounts.len() + self.slots.len()
    }

    /// Returns whether there are no written keys.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A message to a shard. The shard must apply messages in the order in which they were sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Values of requested keys.
    Values(KeyValues),
    /// Writes of an execution of another shard's step.
    Writes(RemoteWrites),
    /// All steps lower than `to` are committed.
    Committed {
        /// The lowest step that is not committed.
        to: BlockAccessIndex,
        /// Fees in wei that the newly committed steps owe to their beneficiaries, one for each
        /// step.
        fees: Vec<u128>,
    },
    /// Another shard received a value that a step of this shard wrote. The shard sends its next
    /// [`HURRIED_RESULT_COUNT`] results at once, without gathering more results into the same
    /// message.
    Hurry,
}

/// Values that an execution read. The value is `None` if no lower step had written the key, so that
/// the execution read the value before the batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Accounts, each with its address.
    pub accounts: Vec<(Address, Option<AccountVersion>)>,
    /// Slots, each with its account's address and its key.
    pub slots: Vec<(Address, U256, Option<U256>)>,
    /// Beneficiaries whose accounts the execution read. The balances include all fees that lower
    /// steps owe to them.
    pub beneficiaries: Vec<(Address, AccountVersion)>,
}

/// Values that an execution wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionWrites {
    /// Accounts, each with its address.
    pub accounts: Vec<(Address, AccountVersion)>,
    /// Slots, each with its account's address and its key.
    pub slots: Vec<(Address, U256, U256)>,
    /// New codes of accounts, with their hashes.
    pub codes: Vec<(B256, Bytes)>,
}

/// Result of an execution of a step on a shard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptimisticStep {
    /// The step.
    pub index: BlockAccessIndex,
    /// Number of this execution of the step, from 1 on. It replaces the results of earlier
    /// executions.
    pub incarnation: u32,
    /// True if the shard knew, when the execution began, that all lower steps were committed.
    pub is_final: bool,
    /// Result of the transaction; `None` for a step of system calls and withdrawals.
    pub result: Option<TxResult>,
    /// Fee in wei that the step owes to the block's beneficiary.
    pub fee: u128,
    /// Reads of the execution.
    pub reads: Reads,
    /// Writes of the execution.
    pub writes: VersionWrites,
    /// Duration of the execution on the shard, with reads.
    pub latency: Duration,
}
