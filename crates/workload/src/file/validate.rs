//! Checks that the parts of a workload agree with each other: when its file is read or written, and
//! before the reference runs it. A list is checked when it is decoded, and an outcome when the
//! workload runs.

use std::fmt;

use alloy_primitives::{Address, B256};

use crate::{
    block::{Batch, IndexRange, Plan, Workload},
    fork::{BlobSchedule, Fork, ForkSchedule},
    genesis::Genesis,
    recipe::GenesisError,
    rules::BlockFault,
};

/// Maximum gas limit of a block from Osaka on. No scenario can ask for more, and sums over blocks
/// stay far from overflow.
pub const MAX_BLOCK_GAS: u64 = 1_000_000_000_000;

/// Maximum gas limit of a block in clients, 2^63 - 1. Test blocks of forks before Osaka have such
/// limits; the gas of their transactions bounds their size.
const MAX_CLIENT_GAS: u64 = u64::MAX >> 1;

/// Maximum gas limit of a block of `fork`.
pub const fn max_block_gas(fork: Fork) -> u64 {
    if fork.is_from(Fork::Osaka) { MAX_BLOCK_GAS } else { MAX_CLIENT_GAS }
}

/// A contradiction in a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant says what it and its fields are")]
pub enum WorkloadError {
    #[error(transparent)]
    Genesis(#[from] GenesisError),
    #[error("there are {tx_count} transactions, and {signed_count} signed ones")]
    SignedCount { tx_count: u64, signed_count: usize },
    #[error("there is no batch, and so nothing to run")]
    NoBatches,
    #[error("batch {batch} has no blocks, and so nothing to run")]
    NoBlocks { batch: usize },
    #[error("block {number} has a gas limit of {gas_limit}, the bound of {fork} is {}", max_block_gas(*fork))]
    BlockGas { number: u64, gas_limit: u64, fork: Fork },
    #[error("the rules change from {first} to {next}, which is no later fork")]
    ForkOrder { first: Fork, next: Fork },
    #[error("the rules change to {next} at time {timestamp}, before an earlier fork at {before}")]
    ForkTime { next: Fork, timestamp: u64, before: u64 },
    #[error(
        "block {number} has {excess} excess blob gas, the bound of its blob schedule is {most}"
    )]
    ExcessBlobGas { number: u64, excess: u64, most: u64 },
    #[error("the blob schedule is {blobs}; allowed is {}", BlobSchedule::BOUNDS)]
    BlobSchedule { blobs: BlobSchedule },
    #[error("block {number}: {source}")]
    Rule { number: u64, source: BlockFault },
    #[error("batch {batch} has 2^32 steps or more")]
    TooManySteps { batch: usize },
    #[error("batch {batch} has {tx_count} transactions and {outcome_count} outcomes")]
    OutcomeCount { batch: usize, tx_count: usize, outcome_count: usize },
    #[error("batch {batch} has {block_count} blocks and {header_gas_count} gas values for them")]
    HeaderGasCount { batch: usize, block_count: usize, header_gas_count: usize },
    #[error("batch {batch} has a list of {got_bytes} bytes and says {said_bytes}")]
    ListBytes { batch: usize, got_bytes: u64, said_bytes: u64 },
    #[error("batch {batch} plans {} indices from {} of {kind} family {}, which genesis does not have",
        range.count, range.start, range.family)]
    PlannedRange { batch: usize, kind: FamilyKind, range: IndexRange },
    #[error("batch {batch}: planned absent account {address} does not stand after the one before")]
    PlannedAbsentOrder { batch: usize, address: Address },
    #[error("block {number} follows block {previous}")]
    BlockNumber { previous: u64, number: u64 },
    #[error("block {number} has parent {parent}, the list of block hashes says {listed}")]
    ParentHash { number: u64, parent: B256, listed: B256 },
    #[error("the block hashes run beyond the last number of 64 bits")]
    HashNumbers,
    #[error("the transactions use more gas than 64 bits count")]
    TooMuchGas,
}

/// A kind of family of a genesis; part of a [`WorkloadError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FamilyKind {
    /// [`Genesis::slots`].
    Slot,
    /// [`Genesis::senders`].
    Sender,
    /// [`Genesis::account_families`].
    Account,
}

impl fmt::Display for FamilyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Slot => "slot",
            Self::Sender => "sender",
            Self::Account => "account",
        })
    }
}

impl Workload {
    /// Checks that the parts of the workload agree, so that its users need not: orders, counts,
    /// consecutive numbers, and sums within their types.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn validate(&self) -> Result<(), WorkloadError> {
        self.genesis.validate()?;
        let hash_count = self.block_hashes.len() as u64;
        self.first_hash_number.checked_add(hash_count).ok_or(WorkloadError::HashNumbers)?;
        if let Some(rules) = self.rules.all().find(|rules| !rules.is_bounded()) {
            return Err(WorkloadError::BlobSchedule { blobs: rules.blobs });
        }
        validate_changes(&self.rules)?;
        if self.batches.is_empty() {
            return Err(WorkloadError::NoBatches);
        }
        let (tx_count, signed_count) = (self.tx_count(), self.signed_transactions.len());
        if signed_count > 0 && signed_count as u64 != tx_count {
            return Err(WorkloadError::SignedCount { tx_count, signed_count });
        }
        for (index, batch) in self.batches.iter().enumerate() {
            validate_batch(index, batch)?;
            validate_plan(index, &batch.plan, &self.genesis)?;
        }
        self.validate_blocks()?;
        let outcomes = self.batches.iter().flat_map(|batch| &batch.expected.transactions);
        let mut gas = outcomes.map(|outcome| outcome.gas_used);
        let sum = gas.try_fold(0_u64, u64::checked_add);
        sum.map(drop).ok_or(WorkloadError::TooMuchGas)
    }

    fn validate_blocks(&self) -> Result<(), WorkloadError> {
        let mut previous: Option<u64> = None;
        for block in self.blocks() {
            let (env, rules) = (&block.env, self.rules_of(block));
            let (number, fork) = (env.number, rules.fork);
            block.check(rules).map_err(|source| WorkloadError::Rule { number, source })?;
            if let Some(previous) = previous.filter(|p| p.checked_add(1) != Some(number)) {
                return Err(WorkloadError::BlockNumber { previous, number });
            }
            previous = Some(number);
            if env.gas_limit > max_block_gas(fork) {
                let gas_limit = env.gas_limit;
                return Err(WorkloadError::BlockGas { number, gas_limit, fork });
            }
            let (excess, most) = (env.excess_blob_gas, rules.blobs.max_excess_blob_gas());
            if excess > most {
                return Err(WorkloadError::ExcessBlobGas { number, excess, most });
            }
            let parent = env.parent_hash;
            let listed = number.checked_sub(1).and_then(|parent| self.block_hash(parent));
            if let Some(listed) = listed.filter(|listed| *listed != parent) {
                return Err(WorkloadError::ParentHash { number, parent, listed });
            }
        }
        Ok(())
    }
}

/// Checks the order of the changes: each is to a later fork, at the same or a later time. So there
/// is at most one change to each fork.
fn validate_changes(rules: &ForkSchedule) -> Result<(), WorkloadError> {
    let (mut first, mut before) = (rules.first.fork, 0);
    for change in &rules.changes {
        let (next, timestamp) = (change.rules.fork, change.timestamp);
        if first.is_from(next) {
            return Err(WorkloadError::ForkOrder { first, next });
        }
        if timestamp < before {
            return Err(WorkloadError::ForkTime { next, timestamp, before });
        }
        (first, before) = (next, timestamp);
    }
    Ok(())
}

fn validate_batch(index: usize, batch: &Batch) -> Result<(), WorkloadError> {
    let tx_count: usize = batch.blocks.iter().map(|block| block.transactions.len()).sum();
    let block_count = batch.blocks.len();
    if block_count == 0 {
        return Err(WorkloadError::NoBlocks { batch: index });
    }
    let step_count = tx_count as u64 + 2 * block_count as u64;
    if step_count > u64::from(u32::MAX) {
        return Err(WorkloadError::TooManySteps { batch: index });
    }
    let outcome_count = batch.expected.transactions.len();
    if outcome_count != tx_count {
        return Err(WorkloadError::OutcomeCount { batch: index, tx_count, outcome_count });
    }
    let header_gas_count = batch.expected.header_gas.len();
    if header_gas_count != block_count {
        return Err(WorkloadError::HeaderGasCount { batch: index, block_count, header_gas_count });
    }
    let (got_bytes, said_bytes) = (batch.list.len() as u64, batch.list_sizes.batched_io_bytes);
    if got_bytes != said_bytes {
        return Err(WorkloadError::ListBytes { batch: index, got_bytes, said_bytes });
    }
    Ok(())
}

/// Checks the plan's indices, and the order of its absent accounts. Indices of slots and accounts
/// may exceed their family's count: these keys are absent. Indices of senders may not.
fn validate_plan(batch: usize, plan: &Plan, genesis: &Genesis) -> Result<(), WorkloadError> {
    let senders: Vec<u64> = genesis.senders.iter().map(|family| family.count).collect();
    for (kind, ranges, ends) in [
        (FamilyKind::Slot, &plan.slots, vec![u64::MAX; genesis.slots.len()]),
        (FamilyKind::Account, &plan.accounts, vec![u64::MAX; genesis.account_families.len()]),
        (FamilyKind::Sender, &plan.senders, senders),
    ] {
        for range in ranges {
            let end = range.start.checked_add(range.count);
            let allowed = ends.get(range.family as usize);
            if end.zip(allowed).is_none_or(|(end, allowed)| end > *allowed) {
                return Err(WorkloadError::PlannedRange { batch, kind, range: *range });
            }
        }
    }
    match plan.absent_accounts.windows(2).find(|pair| pair[0] >= pair[1]) {
        Some(pair) => Err(WorkloadError::PlannedAbsentOrder { batch, address: pair[1] }),
        None => Ok(()),
    }
}
