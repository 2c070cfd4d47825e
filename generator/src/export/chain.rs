//! Makes a chain from a workload: runs the blocks once more, one at a time, each on the headers of
//! the blocks before it.

use std::{collections::HashSet, path::PathBuf, sync::atomic::AtomicBool};

use alloy_consensus::Header;
use alloy_primitives::{Address, B256, U256};
use workload::{
    ChainRules, Fork, ForkSchedule, Genesis, RowSettings, TxOutcome, Workload, file::MAX_BLOCK_GAS,
    signing::Signer,
};

use super::{
    block::{self, BlockOutcome, ChainBlock, Parent, check_length, signed},
    delegation::{delegate, delegation_gas},
    error::ExportError,
    grown::{Grown, GrownFacts},
    root::{Changes, HashedRows, state_root},
};
use crate::{
    receipts::Receipts,
    reference::{BatchReference, ChainRun, StopAnswer},
};

/// The largest chain id that fits into the v of a signature, which is twice the id plus 35 or 36
/// (EIP-155).
const MAX_CHAIN_ID: u64 = u64::MAX / 2 - 36;

/// Settings of an export.
#[derive(Clone, Debug)]
pub struct Settings<'a> {
    /// Chain id; `None` for the workload's own.
    pub chain_id: Option<u64>,
    /// Number of threads that make and hash the state's rows. Blocks are signed on all threads of
    /// rayon.
    pub thread_count: usize,
    /// Directory of scratch files.
    pub scratch: PathBuf,
    /// Secrets of senders that are in no sender family.
    pub secrets: Vec<B256>,
    /// Stops the export when it is set.
    pub cancel: &'a AtomicBool,
}

impl<'a> Settings<'a> {
    pub(super) fn rows(&self) -> RowSettings<'a> {
        let settings = RowSettings::new(&self.scratch);
        RowSettings { threads: self.thread_count.max(1), cancel: self.cancel, ..settings }
    }

    /// The chain id for `workload`.
    pub(super) fn chain_id_of(&self, workload: &Workload) -> Result<u64, ExportError> {
        let chain_id = self.chain_id.unwrap_or(workload.chain_id);
        match chain_id > MAX_CHAIN_ID {
            true => Err(ExportError::ChainId(chain_id)),
            false => Ok(chain_id),
        }
    }
}

/// A chain of a workload's blocks on a genesis block, number 0. Between them there may be blocks
/// that grow the state by the slots of families.
#[derive(Clone, Debug)]
pub struct Chain {
    /// Name of the workload's scenario.
    pub scenario: String,
    /// Digest of the workload.
    pub workload: B256,
    /// Rules of all blocks.
    pub rules: ChainRules,
    /// Chain id.
    pub chain_id: u64,
    /// The state in the genesis block.
    pub genesis: Genesis,
    /// Header of the genesis block.
    pub genesis_header: Header,
    /// Hash of the genesis block.
    pub genesis_hash: B256,
    /// The blocks between the genesis block and the blocks of the workload, if any.
    pub grown: Option<GrownFacts>,
    /// The blocks of the workload.
    pub blocks: Vec<ChainBlock>,
    /// Number of transactions whose status, gas, logs or output differ from the workload's. The
    /// cause is that block numbers, hashes and fees differ.
    pub differing_tx_count: u64,
}

/// Runs the blocks of `workload` as a chain above its genesis. `on_tx` is called after each
/// transaction and may stop the run.
///
/// # Errors
/// [`ExportError`].
pub fn chain<A: StopAnswer>(
    workload: &Workload,
    settings: &Settings<'_>,
    mut on_tx: impl FnMut() -> A,
) -> Result<Chain, ExportError> {
    let rules = rules(workload)?;
    let chain_id = settings.chain_id_of(workload)?;
    let least_gas_limit = steady_gas_limit(workload);
    let on_chain = numbered(workload, ChainNumbers { chain_id, below_count: 0, least_gas_limit });
    let first = on_chain.blocks().next().ok_or(ExportError::NoBlocks)?;
    let signer = signer(&on_chain, settings)?;
    let rows = HashedRows::new(&on_chain.genesis, &settings.rows())?;
    let root = state_root(&rows, &Changes::default())?;
    let genesis_header = block::genesis_header(&first.env, rules.fork, root);
    let parent = Parent::new(genesis_header.clone());
    let genesis_hash = parent.hash;
    let run = ChainRun::new(&on_chain, 0, genesis_hash)?;
    let changes = Changes::default();
    let builder = Builder { settings, signer, rows, changes, parent, run, workload: &on_chain };
    let (blocks, outcomes) = builder.build(&mut on_tx)?;
    Ok(Chain {
        scenario: workload.scenario.clone(),
        workload: workload.digest(),
        rules,
        chain_id,
        genesis_header,
        genesis_hash,
        grown: None,
        blocks,
        differing_tx_count: differing_count(workload, &outcomes),
        genesis: on_chain.genesis,
    })
}

/// Runs the blocks of `workload` above the blocks that have grown its state, as [`chain`] does.
///
/// # Errors
/// [`ExportError`]; [`ExportError::CannotGrow`] where a transaction ends with another status than
/// in the workload.
pub fn chain_above<A: StopAnswer>(
    workload: &Workload,
    grown: Grown,
    settings: &Settings<'_>,
    mut on_tx: impl FnMut() -> A,
) -> Result<Chain, ExportError> {
    let (rules, chain_id) = (rules(workload)?, settings.chain_id_of(workload)?);
    let GrownFacts { block_count, gas_limit, state_root: expected, .. } = grown.facts;
    let numbers = ChainNumbers { chain_id, below_count: block_count, least_gas_limit: gas_limit };
    let mut on_chain = Workload { genesis: grown.state, ..numbered(workload, numbers) };
    pay_for_delegations(workload, &mut on_chain);
    let signer = signer(&on_chain, settings)?;
    let rows = HashedRows::new(&on_chain.genesis, &settings.rows())?;
    let root = state_root(&rows, &Changes::default())?;
    if root != expected {
        return Err(ExportError::CannotGrow(format!(
            "the root of the grown state is {expected}, that of the workload's state is {root}"
        )));
    }
    let oldest_number = block_count - (grown.hashes.len() as u64 - 1);
    let mut run = ChainRun::new(&on_chain, oldest_number, grown.hashes[0])?;
    grown.hashes[1..].iter().for_each(|hash| run.seal(*hash));
    let changes = Changes::default();
    let builder =
        Builder { settings, signer, rows, changes, parent: grown.parent, run, workload: &on_chain };
    let (blocks, outcomes) = builder.build(&mut on_tx)?;
    check_statuses(workload, &outcomes)?;
    Ok(Chain {
        scenario: workload.scenario.clone(),
        workload: workload.digest(),
        rules,
        chain_id,
        genesis_header: grown.genesis_header,
        genesis_hash: grown.genesis_hash,
        grown: Some(grown.facts),
        blocks,
        differing_tx_count: differing_count(workload, &outcomes),
        genesis: grown.genesis,
    })
}

/// The rules of all blocks of an export.
fn rules(workload: &Workload) -> Result<ChainRules, ExportError> {
    let ForkSchedule { first, changes } = &workload.rules;
    match changes.is_empty() && Fork::GENERATED.contains(&first.fork) {
        true => Ok(*first),
        false => Err(ExportError::Fork(workload.rules.clone())),
    }
}

/// Raises the gas limits of transactions to contracts that delegate only in `grown`, by the price
/// of a delegation. So the contracts' code gets as much gas as in `workload`. A limit up to the cap
/// of EIP-7825 does not rise above the cap.
fn pay_for_delegations(workload: &Workload, grown: &mut Workload) {
    let fork = grown.rules.first.fork;
    let contracts = delegating_contracts(workload);
    let blocks = grown.batches.iter_mut().flat_map(|batch| &mut batch.blocks);
    for tx in blocks.flat_map(|block| &mut block.transactions) {
        if tx.to.is_some_and(|to| contracts.contains(&to)) {
            let raised = tx.gas_limit.saturating_add(delegation_gas(fork));
            // Gas above the cap pays for state alone (EIP-8037), so a limit up to the cap stays
            // within it.
            let has_room = raised <= fork.tx_gas_cap() || tx.gas_limit > fork.tx_gas_cap();
            let most = if has_room { fork.max_tx_gas() } else { fork.tx_gas_cap() };
            tx.gas_limit = raised.min(most);
        }
    }
}

/// The contracts of `workload` that delegate only in its grown state: those with slots by a rule.
fn delegating_contracts(workload: &Workload) -> HashSet<Address> {
    let genesis = &workload.genesis;
    let contracts = genesis.slots.iter().map(|family| family.address).filter(|address| {
        genesis.account(address).is_some_and(|account| delegate(&account.code).is_none())
    });
    contracts.collect()
}

/// Returns the most gas that a block's transactions pay for delegations where the state of
/// `workload` has grown.
pub fn delegations_gas(workload: &Workload) -> u64 {
    let contracts = delegating_contracts(workload);
    let counts = workload.blocks().map(|block| {
        let callees = block.transactions.iter().filter_map(|tx| tx.to);
        callees.filter(|to| contracts.contains(to)).count() as u64
    });
    counts.max().unwrap_or(0) * delegation_gas(workload.rules.first.fork)
}

/// The expected outcomes of `workload`.
fn expected_outcomes(workload: &Workload) -> impl Iterator<Item = &TxOutcome> {
    workload.batches.iter().flat_map(|batch| &batch.expected.transactions)
}

/// Counts the transactions whose outcomes differ from the expected ones of `workload`.
fn differing_count(workload: &Workload, outcomes: &[TxOutcome]) -> u64 {
    expected_outcomes(workload).zip(outcomes).filter(|(expected, made)| expected != made).count()
        as u64
}

/// Refuses a chain on a grown state where a transaction ends with another status. A call from
/// contract to contract can cause this: its gas may not pay for a delegation.
fn check_statuses(workload: &Workload, outcomes: &[TxOutcome]) -> Result<(), ExportError> {
    let pairs = expected_outcomes(workload).zip(outcomes);
    let differing = pairs.filter(|(expected, made)| expected.status != made.status).count();
    if differing == 0 {
        return Ok(());
    }
    Err(ExportError::CannotGrow(format!(
        "{differing} of {} transactions end with another status: calls to contracts of a grown \
         state also pay for a delegation (EIP-7702); lower block.tx_gas, to 16M where it is 2^24",
        outcomes.len()
    )))
}

/// The signer of the blocks of `workload`. Refuses a block with an unknown secret.
fn signer(workload: &Workload, settings: &Settings<'_>) -> Result<Signer, ExportError> {
    let mut signer = Signer::new(workload)?;
    for secret in &settings.secrets {
        signer.add_secret(*secret)?;
    }
    check_secrets(workload, &signer)?;
    Ok(signer)
}

/// Refuses blocks that cannot be signed, before they are run.
fn check_secrets(workload: &Workload, signer: &Signer) -> Result<(), ExportError> {
    for block in workload.blocks() {
        for (tx_index, tx) in block.transactions.iter().enumerate() {
            if let Some(account) = signer.unknown_signer(tx) {
                let block = block.env.number;
                return Err(ExportError::UnknownSecret { block, tx_index, account });
            }
        }
    }
    Ok(())
}

/// Builds the chain block by block.
struct Builder<'a> {
    settings: &'a Settings<'a>,
    signer: Signer,
    rows: HashedRows<'a>,
    changes: Changes,
    parent: Parent,
    run: ChainRun<'a>,
    workload: &'a Workload,
}

impl Builder<'_> {
    /// Makes all blocks, and returns them with the outcomes of their transactions.
    fn build<A: StopAnswer>(
        mut self,
        on_tx: &mut impl FnMut() -> A,
    ) -> Result<(Vec<ChainBlock>, Vec<TxOutcome>), ExportError> {
        let (mut blocks, mut outcomes) = (Vec::new(), Vec::new());
        for (index, batch) in self.workload.batches.iter().enumerate() {
            self.run.plan(index, batch)?;
            for block in &batch.blocks {
                let block = self.parent.next(block, self.workload.rules_of(block));
                let mut receipts = Receipts::default();
                let made = self.run.run(block.clone(), |outcome, logs| {
                    receipts.add(block.transactions[receipts.len()].tx_type, &outcome, logs);
                    on_tx()
                })?;
                outcomes.extend_from_slice(&made.expected.transactions);
                blocks.push(self.seal(&block, made, receipts)?);
            }
        }
        Ok((blocks, outcomes))
    }

    /// Signs and seals a block that has run, and applies its changes.
    fn seal(
        &mut self,
        block: &workload::Block,
        made: BatchReference,
        receipts: Receipts,
    ) -> Result<ChainBlock, ExportError> {
        let fork = self.workload.rules_of(block).fork;
        self.changes.add(&made.changes);
        let state_root = state_root(&self.rows, &self.changes)?;
        let transactions =
            signed(block, self.workload.chain_id, &self.signer, self.settings.cancel)?;
        let outcome = BlockOutcome { fork, made, receipts, state_root };
        let sealed = self.parent.seal(block, transactions, outcome);
        check_length(&sealed)?;
        self.run.seal(sealed.hash);
        Ok(sealed)
    }
}

/// Chain id, block numbers and gas limit of a chain.
#[derive(Clone, Copy, Debug)]
struct ChainNumbers {
    /// Chain id.
    chain_id: u64,
    /// Number of blocks between the genesis block and the workload's first block.
    below_count: u64,
    /// Lower bound of the gas limit of all blocks.
    least_gas_limit: u64,
}

/// The gas limit of all blocks of a chain: the largest limit of the workload, or `least` where that
/// is larger. It is one limit, since a block may change the limit by at most 1/1,024 of its
/// parent's.
pub(super) fn gas_limit(workload: &Workload, least: u64) -> u64 {
    workload.blocks().map(|block| block.env.gas_limit).fold(least, u64::max)
}

/// Whether the scenario sets the gas limit of blocks.
pub(super) fn has_own_limit(workload: &Workload) -> bool {
    workload.work.lines().any(|line| line.starts_with("block.limit = "))
}

/// Lower bound of the gas limit of a chain's blocks, such that the base fee does not rise. Blocks
/// that use more than half of their limit raise the base fee (EIP-1559), full blocks by an eighth.
/// A hundred full blocks raise it 130,000 times, more than senders can pay. So several blocks get
/// twice the largest limit. A single block keeps its own limit. Blocks whose limit the scenario
/// sets keep it too, and their base fee rises.
fn steady_gas_limit(workload: &Workload) -> u64 {
    let largest = gas_limit(workload, 0);
    match workload.blocks().count() {
        0 | 1 => largest,
        _ if has_own_limit(workload) => largest,
        _ => largest.saturating_mul(2).min(MAX_BLOCK_GAS).max(largest),
    }
}

/// Returns `workload` with one gas limit, and with block numbers that follow the blocks below.
fn numbered(workload: &Workload, numbers: ChainNumbers) -> Workload {
    let ChainNumbers { chain_id, below_count, least_gas_limit } = numbers;
    let old_chain_id = U256::from(workload.chain_id);
    let gas_limit = gas_limit(workload, least_gas_limit);
    let mut out = Workload { chain_id, ..workload.clone() };
    let mut number = below_count;
    for block in out.batches.iter_mut().flat_map(|batch| &mut batch.blocks) {
        number += 1;
        (block.env.number, block.env.gas_limit) = (number, gas_limit);
        // Authorizations for the workload's chain (EIP-7702) move to the new one. Others stay.
        let authorizations = block.transactions.iter_mut().flat_map(|tx| &mut tx.authorizations);
        for authorization in authorizations {
            if authorization.chain_id == old_chain_id {
                authorization.chain_id = U256::from(chain_id);
            }
        }
    }
    out
}
