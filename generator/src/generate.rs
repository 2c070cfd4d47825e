//! Generates a workload from a scenario, for every command that runs or exports one. Makes the
//! genesis and the blocks. Then the reference run gives the outcome that every execution must
//! reach.

use std::collections::BTreeSet;

use evm::TxGas;
use workload::{
    Batch, Block, Genesis, ListBounds, ListIndex, Transaction, TxStatus, Workload,
    block::{IndexRange, Plan},
    list::ITEM_COST_GAS,
    senders::SenderError,
};

use crate::{
    environment::{self, Environments, FRESH_WITHDRAWAL_COUNT, WITHDRAWAL_COUNT},
    error::GeneratorError,
    fill::{Filler, PlannedBlock},
    genesis, loads,
    planner::{PlannedTx, Touched},
    probe::Cost,
    reference::{self, StopAnswer},
    senders::Senders,
    state::State,
};
use spec::{BlockTarget, LoadKind, Scenario, SstoreStorm};

/// Version of the generator. Raise it with any change of a workload's bytes.
pub const GENERATOR_VERSION: u32 = 3;

/// Progress of the generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Number of transactions that the reference has run.
    pub tx_count: u64,
    /// Number of all transactions.
    pub total_tx_count: u64,
}

/// A workload, and facts that it does not carry.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The workload.
    pub workload: Workload,
    /// Index in the scenario of each transaction's load, through all blocks.
    pub loads: Vec<u32>,
    /// Gas of each transaction through all blocks, as the reference counted it.
    pub gas: Vec<TxGas>,
}

/// Generates the workload of `scenario`: a pure function of its work keys, its seed and
/// [`GENERATOR_VERSION`]. `progress` is called after each transaction of the reference run. It may
/// return a [`ControlFlow`](std::ops::ControlFlow) to stop the run.
///
/// # Errors
/// [`GeneratorError`] when the scenario asks for the impossible, with the key to change;
/// [`GeneratorError::Cancelled`] when `progress` asks to stop.
pub fn generate<A: StopAnswer>(
    scenario: &Scenario,
    progress: impl FnMut(Progress) -> A,
) -> Result<Workload, GeneratorError> {
    generate_by_load(scenario, progress).map(|generated| generated.workload)
}

/// Generates the workload of `scenario`, as [`generate`] does, and returns each transaction's load,
/// too. A workload does not carry the loads.
///
/// # Errors
/// The errors of [`generate`].
pub fn generate_by_load<A: StopAnswer>(
    scenario: &Scenario,
    mut progress: impl FnMut(Progress) -> A,
) -> Result<Generated, GeneratorError> {
    let state = genesis::build(scenario)?;
    let family = state.genesis.senders[0].clone();
    let mut senders = Senders::new(&family);
    let planned = plan_blocks(scenario, &state, &mut senders)?;
    let costs: Vec<Vec<Cost>> =
        planned.iter().map(|block| block.transactions.iter().map(|tx| tx.cost).collect()).collect();
    let loads = planned.iter().flat_map(|block| &block.loads).copied().collect();
    let mut workload = assemble(scenario, state.genesis, planned, &mut senders)?;
    let total_tx_count = workload.tx_count();
    // A raised gas limit changes the block, so the reference runs again.
    let gas = loop {
        let mut tx_count = 0;
        let gas = reference::complete(&mut workload, || {
            tx_count += 1;
            progress(Progress { tx_count, total_tx_count }).flow()
        })?;
        let raised = raise_gas_limits(&mut workload);
        match (raised, scenario.block.target) {
            (None, _) => break gas,
            (Some(gas_limit), BlockTarget::Limit(limit)) => {
                return Err(GeneratorError::TooLittleForList { limit, gas_limit });
            }
            (Some(_), BlockTarget::Gas(_) | BlockTarget::Transactions(_)) => {}
        }
    };
    check(&workload, &costs, &gas)?;
    Ok(Generated { workload, loads, gas })
}

/// Raises the gas limit of a batch's last block where its list has more accounts and slots than gas
/// limits allow (EIP-7928). A block of less than 1M gas can have such a list. Returns the highest
/// raised limit, if any.
fn raise_gas_limits(workload: &mut Workload) -> Option<u64> {
    let mut raised = None;
    for batch in &mut workload.batches {
        let bounds = ListBounds::new(batch, &workload.rules);
        let any_count = ListBounds { surplus_item_count: u64::MAX, ..bounds };
        let Ok(list) = ListIndex::decode(&batch.list, &any_count) else { continue };
        let item_count = u64::from(list.account_count()) + u64::from(list.slot_count());
        let missing_count = item_count.saturating_sub(bounds.max_item_count());
        if let Some(block) = batch.blocks.last_mut().filter(|_| missing_count > 0) {
            block.env.gas_limit += missing_count * ITEM_COST_GAS;
            raised = raised.max(Some(block.env.gas_limit));
        }
    }
    raised
}

/// Plans all blocks of `scenario`.
fn plan_blocks(
    scenario: &Scenario,
    state: &State,
    senders: &mut Senders<'_>,
) -> Result<Vec<PlannedBlock>, GeneratorError> {
    let planners = (0..scenario.loads.len())
        .map(|index| loads::planner(scenario, index, state, senders))
        .collect::<Result<_, _>>()?;
    let mut filler = Filler::new(scenario, planners);
    let blocks = (0..scenario.block.block_count)
        .map(|_| filler.block(senders))
        .collect::<Result<Vec<_>, _>>()?;
    for (index, shortfall) in filler.shortfalls().enumerate() {
        if let Some((wanted_count, held_count)) = shortfall {
            return Err(too_few(scenario, index, state, wanted_count, held_count));
        }
    }
    Ok(blocks)
}

/// The error for a load whose transactions need `wanted_count` keys of a family that holds
/// `held_count`.
fn too_few(
    scenario: &Scenario,
    load: usize,
    state: &State,
    wanted_count: u64,
    held_count: u64,
) -> GeneratorError {
    // A thousandth more than wanted: with another count the calldata is another, and a transaction
    // may have room for one slot more.
    let enough_count = wanted_count + wanted_count / 1_000 + 2;
    if let LoadKind::AccountStorm(_) = scenario.loads[load].kind {
        return GeneratorError::TooFewAccounts { load, wanted_count, held_count, enough_count };
    }
    if let LoadKind::SstoreStorm(storm) = &scenario.loads[load].kind
        && storm.keys.has_one_slot_per_contract()
    {
        let of_load = (enough_count * storm.keys.slots_a_contract()) as f64;
        let slot_count = (of_load / genesis::slot_share(scenario, load)).ceil() as u64;
        let slot_count = slot_count.max(scenario.state.slot_count);
        return GeneratorError::TooFewTries {
            load,
            wanted_count,
            held_count,
            enough_count,
            slot_count,
        };
    }
    let families = &state.loads[load].families;
    let contract_count = u64::from(families.end - families.start);
    if let LoadKind::SstoreStorm(SstoreStorm { nibble: Some(nibble), .. }) =
        scenario.loads[load].kind
    {
        // About a 16th of the slots lies below a nibble. An eighth more is a margin for chance.
        let of_load = (18 * wanted_count + 1_000) * contract_count;
        let enough_count = (of_load as f64 / genesis::slot_share(scenario, load)).ceil() as u64;
        return GeneratorError::TooFewSlotsBelow {
            load,
            nibble,
            wanted_count,
            contract_count,
            held_count,
            enough_count,
        };
    }
    let (wanted_count, held_count, of_load) = match scenario.loads[load].kind {
        // One chain goes through all contracts, which have equally many slots.
        LoadKind::ContractChase(_) => {
            let [wanted_count, held_count, enough_count] = [wanted_count, held_count, enough_count]
                .map(|count| count.div_ceil(contract_count));
            (wanted_count, held_count, enough_count * contract_count)
        }
        _ => (wanted_count, held_count, enough_count * contract_count),
    };
    let enough_count = (of_load as f64 / genesis::slot_share(scenario, load)).ceil() as u64;
    GeneratorError::TooFewSlots { load, wanted_count, contract_count, held_count, enough_count }
}

/// Makes the workload of `planned` blocks, still without lists and expected outcomes.
fn assemble(
    scenario: &Scenario,
    genesis: Genesis,
    planned: Vec<PlannedBlock>,
    senders: &mut Senders<'_>,
) -> Result<Workload, GeneratorError> {
    let environments = Environments { seed: scenario.block.seed.unwrap_or(scenario.seed) };
    let batch_len = usize::try_from(scenario.block.batch_block_count).unwrap_or(usize::MAX).max(1);
    let block_count = planned.len() as u64;
    let mut batches = Vec::with_capacity(planned.len().div_ceil(batch_len));
    for (batch_index, blocks) in planned.chunks(batch_len).enumerate() {
        let mut batch = BatchBuilder::default();
        for (block_index, block) in blocks.iter().enumerate() {
            let block_index = (batch_index * batch_len + block_index) as u64;
            batch.add(environments, block_index, block, senders)?;
        }
        batches.push(batch.finish());
    }
    Ok(Workload {
        scenario: scenario.name.clone(),
        work: scenario.work_identity(),
        seed: scenario.seed,
        generator_version: GENERATOR_VERSION,
        rules: scenario.fork.into(),
        layout: scenario.state.layout,
        chain_id: environment::CHAIN_ID,
        first_hash_number: environment::FIRST_BLOCK_NUMBER - environment::ANCESTOR_COUNT,
        block_hashes: environments.block_hashes(block_count),
        genesis,
        batches,
        ..Workload::default()
    })
}

/// Builds a batch block by block.
#[derive(Default)]
struct BatchBuilder {
    batch: Batch,
    /// Touched accounts of the first sender family, by index.
    senders: BTreeSet<u64>,
    /// Touched accounts of the other sender families.
    others: BTreeSet<IndexRange>,
    slots: Vec<IndexRange>,
    accounts: Vec<IndexRange>,
}

impl BatchBuilder {
    /// Adds a planned block, with its environment and withdrawals.
    fn add(
        &mut self,
        environments: Environments,
        block_index: u64,
        planned: &PlannedBlock,
        senders: &mut Senders<'_>,
    ) -> Result<(), SenderError> {
        let mut transactions = Vec::with_capacity(planned.transactions.len());
        for tx in &planned.transactions {
            self.touch(tx);
            transactions.push(Transaction {
                max_fee_per_gas: environment::MAX_FEE,
                max_priority_fee_per_gas: environment::PRIORITY_FEE,
                ..tx.to_tx(senders)?
            });
        }
        let fresh = environments.fresh_addresses(block_index);
        // Other withdrawals go to the accounts of the next turns.
        let known = (0..(WITHDRAWAL_COUNT - FRESH_WITHDRAWAL_COUNT) as u64)
            .map(|ahead| senders.in_turn(planned.end_tx_count + ahead));
        let known: Vec<u64> = known.collect();
        self.senders.extend(&known);
        let known = known.into_iter().map(|index| senders.address(index));
        let known = known.collect::<Result<Vec<_>, _>>()?;
        let recipients = known.into_iter().chain(fresh.iter().copied());
        let withdrawals = environments.withdrawals(block_index, recipients);
        self.batch.plan.absent_accounts.extend(fresh);
        let env = environments.env(block_index, planned.gas_limit);
        self.batch.blocks.push(Block { env, transactions, withdrawals });
        Ok(())
    }

    /// Adds the keys that a transaction touches to the plan.
    fn touch(&mut self, tx: &PlannedTx) {
        let Touched { slots, senders, others, accounts, absent } = &tx.touched;
        self.accounts.extend(accounts);
        self.slots.extend(slots);
        self.senders.insert(tx.sender);
        self.senders.extend(senders);
        self.others.extend(others);
        self.batch.plan.absent_accounts.extend(absent);
    }

    /// Returns the batch with its plan.
    fn finish(mut self) -> Batch {
        let first_family =
            self.senders.into_iter().map(|start| IndexRange { family: 0, start, count: 1 });
        let Plan { slots, senders, accounts, absent_accounts } = &mut self.batch.plan;
        *accounts = join_ranges(self.accounts);
        *senders = join_ranges(first_family.chain(self.others).collect());
        *slots = join_ranges(self.slots);
        absent_accounts.sort_unstable();
        // An account that one transaction creates is touched again by transactions that call it.
        absent_accounts.dedup();
        self.batch
    }
}

/// Sorts the ranges, and joins adjacent ones.
fn join_ranges(mut ranges: Vec<IndexRange>) -> Vec<IndexRange> {
    ranges.sort_unstable();
    let mut out: Vec<IndexRange> = Vec::new();
    for range in ranges {
        match out.last_mut() {
            Some(last) if last.family == range.family && last.start + last.count == range.start => {
                last.count += range.count;
            }
            _ => out.push(range),
        }
    }
    out
}

/// Checks the outcome against the plan: every transaction succeeds with exactly its planned gas, of
/// execution and of state.
fn check(workload: &Workload, costs: &[Vec<Cost>], used: &[TxGas]) -> Result<(), GeneratorError> {
    let outcomes = workload.batches.iter().flat_map(|batch| &batch.expected.transactions);
    let mut made = outcomes.map(|outcome| outcome.status).zip(used);
    for (block, costs) in costs.iter().enumerate() {
        for (tx_index, (cost, (status, used))) in costs.iter().zip(&mut made).enumerate() {
            let planned = cost.tx_gas();
            if status != TxStatus::Success || *used != planned {
                let used = *used;
                return Err(GeneratorError::Missed { block, tx_index, planned, status, used });
            }
        }
    }
    Ok(())
}
