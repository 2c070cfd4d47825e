//! Errors of generating a workload from a scenario.

use evm::TxGas;
use workload::senders::SenderError;

use crate::{holders::HOLDERS_MAX, reference::ReferenceError};

/// A reason why a workload cannot be generated. The message names each key that a user can change.
#[derive(Debug, thiserror::Error)]
pub enum GeneratorError {
    /// The blocks access more distinct slots than the load's contracts hold.
    #[error(
        "load[{load}] asks for {wanted_count} distinct slots of a contract, which holds \
         {held_count} ({contract_count} contracts); raise state.slots to {enough_count}, or lower \
         block.gas, block.transactions or block.blocks"
    )]
    TooFewSlots {
        /// Index of the load.
        load: usize,
        /// Number of distinct slots that the blocks access in one contract, the one that lacks the
        /// most slots.
        wanted_count: u64,
        /// Number of contracts of the load.
        contract_count: u64,
        /// Number of slots that this contract holds.
        held_count: u64,
        /// Number of slots of the state that would be enough.
        enough_count: u64,
    },
    /// The blocks access more distinct accounts than the state holds for the load.
    #[error(
        "load[{load}] asks for {wanted_count} distinct accounts, and {held_count} are held; raise \
         load[{load}].accounts to {enough_count}, or lower block.gas, block.transactions or \
         block.blocks"
    )]
    TooFewAccounts {
        /// Index of the load.
        load: usize,
        /// Number of distinct accounts that the blocks access.
        wanted_count: u64,
        /// Number of accounts that the state holds for the load.
        held_count: u64,
        /// Number of accounts that would be enough.
        enough_count: u64,
    },
    /// A load's share of the slots is less than the minimum of its contracts.
    #[error(
        "load[{load}] gets {slot_count} of state.slots = {state_slot_count}, less than the \
         {needed_count} that its {contract_count} contracts have at least; raise state.slots, or \
         lower load[{load}].contracts"
    )]
    TooFewSlotsPerContract {
        /// Index of the load.
        load: usize,
        /// Number of slots that the load gets.
        slot_count: u64,
        /// Number of slots of the state.
        state_slot_count: u64,
        /// Number of contracts of the load.
        contract_count: u64,
        /// Minimum number of slots that these contracts have together.
        needed_count: u64,
    },
    /// The blocks write more distinct slots below one nibble of a contract's storage trie than the
    /// contract has there. The hashed keys of these slots begin with that nibble.
    #[error(
        "load[{load}] writes {wanted_count} distinct slots of a contract below nibble {nibble}, \
         which has {held_count} there ({contract_count} contracts); raise state.slots to \
         {enough_count}, or lower block.gas, block.transactions or block.blocks"
    )]
    TooFewSlotsBelow {
        /// Index of the load.
        load: usize,
        /// The nibble, 0 to 15.
        nibble: u8,
        /// Number of distinct slots that the blocks write in one contract, the one that lacks the
        /// most slots.
        wanted_count: u64,
        /// Number of contracts of the load.
        contract_count: u64,
        /// Number of slots of this contract that lie below the nibble.
        held_count: u64,
        /// Number of slots of the state that would be enough.
        enough_count: u64,
    },
    /// The blocks write one slot in each contract, and the load has too few contracts.
    #[error(
        "load[{load}] writes a slot in each of {wanted_count} contracts and has {held_count}; \
         raise load[{load}].contracts to {enough_count} and state.slots to {slot_count} at least, \
         or lower block.gas, block.transactions or block.blocks"
    )]
    TooFewTries {
        /// Index of the load.
        load: usize,
        /// Number of contracts to be written.
        wanted_count: u64,
        /// Number of contracts of the load.
        held_count: u64,
        /// Number of contracts that would be enough.
        enough_count: u64,
        /// Number of slots of the state that would be enough.
        slot_count: u64,
    },
    /// A chain through contracts returns to a contract within one transaction, where that contract
    /// is warm.
    #[error(
        "load[{load}].contracts = {contract_count}, and a transaction of {tx_gas} gas hops \
         through {needed_count} cold contracts; raise load[{load}].contracts to {needed_count}, \
         or lower block.tx_gas"
    )]
    TooFewContracts {
        /// Index of the load.
        load: usize,
        /// Number of contracts of the load.
        contract_count: u64,
        /// Maximum number of hops of a transaction.
        needed_count: u64,
        /// Gas of a transaction.
        tx_gas: u64,
    },
    /// Transactions of a batch would share accounts that must be distinct.
    #[error(
        "load[{load}] needs {needed_count} accounts for a batch, and has {held_count} of \
         state.accounts (at most {HOLDERS_MAX} with a slot each); raise state.accounts, or lower \
         block.gas, block.transactions or block.batch"
    )]
    TooFewSenders {
        /// Index of the load.
        load: usize,
        /// Number of accounts that the load needs.
        needed_count: u64,
        /// Number of accounts that the load can use.
        held_count: u64,
    },
    /// A block has too few conflicting transactions for the scenario's conflicts.
    #[error(
        "load[{load}].{key} needs {needed_count} conflicting transactions in a block, and has \
         {conflict_count} of {tx_count}; lower load[{load}].{key}, or raise \
         load[{load}].conflict, block.gas or block.transactions"
    )]
    TooFewToConflict {
        /// Index of the load.
        load: usize,
        /// The key that sets how the transactions conflict.
        key: &'static str,
        /// Number of conflicting transactions that the key needs.
        needed_count: u64,
        /// Number of conflicting transactions of the load in a block.
        conflict_count: u64,
        /// Number of the load's transactions in a block.
        tx_count: u64,
    },
    /// A block has fewer transactions than a group.
    #[error(
        "load[{load}].group = {length} is more than the {tx_count} transactions of a block; lower \
         load[{load}].group, raise block.gas, or write load[{load}].density = \"max\""
    )]
    NoWholeGroup {
        /// Index of the load.
        load: usize,
        /// Number of transactions of a group.
        length: u64,
        /// Number of transactions of a block.
        tx_count: u64,
    },
    /// A block has more groups than the state has contracts for them.
    #[error(
        "a block has {needed_count} groups of load[{load}], each with its own contract, and \
         load[{load}].contracts = {held_count}; raise load[{load}].contracts to {needed_count}, \
         or lower block.gas"
    )]
    TooFewGroupContracts {
        /// Index of the load.
        load: usize,
        /// Number of groups of a block.
        needed_count: u64,
        /// Number of contracts that the state has for the load.
        held_count: u64,
    },
    /// There is not enough gas for one useful transaction.
    #[error(
        "{key} leaves load[{load}] {gas} gas for a transaction, and the smallest useful one needs \
         {needed_gas}; raise {key}"
    )]
    TooLittleGas {
        /// The key that sets the gas.
        key: &'static str,
        /// Index of the load.
        load: usize,
        /// Gas for a transaction.
        gas: u64,
        /// Gas that the smallest useful transaction needs.
        needed_gas: u64,
    },
    /// `block.limit` leaves a load too little gas for a transaction.
    #[error(
        "block.limit = {limit} leaves load[{load}] {gas} gas for a transaction, and the smallest useful \
         one needs {needed_gas}; raise block.limit to {least_limit} or more, or the load's share"
    )]
    TooLittleLimit {
        /// Index of the load.
        load: usize,
        /// The limit.
        limit: u64,
        /// Gas that the limit leaves the load.
        gas: u64,
        /// Gas that the smallest useful transaction needs.
        needed_gas: u64,
        /// A limit that leaves the load enough gas.
        least_limit: u64,
    },
    /// The list of a block has more accounts and slots than its gas limit allows (EIP-7928). System
    /// calls and withdrawals add to the list too.
    #[error(
        "block.limit = {limit} allows fewer accounts and slots in the block-level access list than a \
         block has, those of system calls included (EIP-7928); raise block.limit to {gas_limit} or \
         more"
    )]
    TooLittleForList {
        /// The limit.
        limit: u64,
        /// The limit that these accounts and slots need.
        gas_limit: u64,
    },
    /// A transaction as large as the scenario asks for does not fit in its gas.
    #[error(
        "load[{load}].{key} = {count} does not fit in a transaction of {tx_gas} gas, which holds \
         {most_count}; lower load[{load}].{key}, or raise block.tx_gas"
    )]
    TooLarge {
        /// Index of the load.
        load: usize,
        /// The key that sets the size.
        key: &'static str,
        /// Value of the key.
        count: u64,
        /// The largest value that fits.
        most_count: u64,
        /// Gas of a transaction.
        tx_gas: u64,
    },
    /// A transaction's gas could not be measured.
    #[error(transparent)]
    Meter(#[from] MeterError),
    /// A sender family has no valid secrets.
    #[error(transparent)]
    Sender(#[from] SenderError),
    /// A committed contract artifact cannot be read: a fault of this build.
    #[error("the artifact of contract {contract} is unreadable: {reason}")]
    Artifact {
        /// Name of the contract.
        contract: &'static str,
        /// The fault.
        reason: String,
    },
    /// The callback stopped the generation.
    #[error("the generation was stopped before its end")]
    Cancelled,
    /// The reference run failed: a fault of the generator.
    #[error("the reference run of the generated work failed: {0}")]
    Reference(#[source] ReferenceError),
    /// A transaction used another amount of gas than planned, or failed: a fault of the
    /// generator.
    #[error(
        "block {block}, transaction {tx_index}: planned to succeed with {planned:?}, and came to \
         {status:?} with {used:?}"
    )]
    Missed {
        /// The block, 0-based.
        block: usize,
        /// The transaction in the block, 0-based.
        tx_index: usize,
        /// Planned gas.
        planned: TxGas,
        /// Status of the transaction.
        status: workload::TxStatus,
        /// Used gas.
        used: TxGas,
    },
}

/// A reason why a transaction cannot be measured: a fault of its contract, or of revm's rules in
/// this build.
#[derive(Debug, thiserror::Error)]
pub enum MeterError {
    /// A probe did not run: revm returned an error.
    #[error("a probe of {contract} did not run: {reason}")]
    Probe {
        /// The contract.
        contract: &'static str,
        /// revm's error.
        reason: String,
    },
    /// A probe used another amount of gas than the sum of its parts.
    #[error("a probe of {contract} used {used_gas} gas, and its parts cost {planned_gas}")]
    NotLinear {
        /// The contract.
        contract: &'static str,
        /// Gas that the probe used.
        used_gas: u64,
        /// Sum of the gas of its parts.
        planned_gas: u64,
    },
}

impl From<ReferenceError> for GeneratorError {
    fn from(error: ReferenceError) -> Self {
        match error {
            ReferenceError::Cancelled => Self::Cancelled,
            error => Self::Reference(error),
        }
    }
}
