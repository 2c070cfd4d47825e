//! Makes blocks that grow a workload's state inside a client (`stress export --grow`). The genesis
//! block lacks the slots of families. Each transaction brings the keys and values of some of these
//! slots as calldata. These blocks are of Osaka, whose prices are lower than Amsterdam's. Their gas
//! limit is the scenario's, or else a large one. The workload's fork begins after them, or with the
//! last of them, which create the codes too long for Osaka. Accounts, and slots of no family, are
//! in the genesis block.

mod contracts;
mod ledger;

use std::collections::BTreeSet;

use alloy_consensus::Header;
use alloy_primitives::{Address, B256, Bytes, U256};
use evm::system;
use workload::{
    Block, BlockEnv, Fork, Genesis, GenesisAccount, SenderFamily, SlotFamily, Transaction,
    TxStatus, TxType, Workload, signing::Signer,
};

use super::{
    block::{self, BlockOutcome, ChainBlock, Parent, check_length, signed},
    chain::{Settings, delegations_gas, gas_limit, has_own_limit},
    delegation::{delegate, delegation},
    error::ExportError,
    genesis::{ALLOC_ROW_COUNT_MAX, CODE_BYTES_OF_ROW, code_row_count},
    grown::{Grown, GrownFacts},
};
use crate::{
    environment::{ANCESTOR_COUNT, BLOCK_SECONDS},
    receipts::Receipts,
    reference::ChainRun,
};
use ledger::Ledger;

/// Fork of the blocks that write slots.
const FORK: Fork = Fork::Osaka;
/// Maximum number of slots that a transaction of 2^24 gas (EIP-7825) writes. That gas pays for 650
/// × 22,100, calldata and the loader, although a call keeps back a 64th of it (EIP-150).
const SLOTS_PER_TX_MAX: u64 = 650;
/// The most transactions of a block. Their 4 MB are valid (EIP-7934).
const TXS_PER_BLOCK_MAX: u64 = 96;
/// Gas limit of the chain, unless the scenario sets one: twice the most gas of a block.
const GAS_LIMIT: u64 = 2 * TXS_PER_BLOCK_MAX * FORK.tx_gas_cap();
/// The smallest gas limit. The creation of the longest code fits in it, and a loader with slots
/// fits in half of it.
const GAS_LIMIT_MIN: u64 = 8_000_000;
/// Number of empty blocks after the blocks that write slots. Clients keep the changes of this
/// number of blocks in memory, where they would find the slots.
const SETTLING_BLOCK_COUNT: u64 = 128;

/// Counts and gas limits of the blocks that grow a state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GrowthPlan {
    /// Number of blocks.
    pub block_count: u64,
    /// Number of transactions.
    pub tx_count: u64,
    /// Number of slots that the transactions write.
    pub slot_count: u64,
    /// Gas limit of the chain.
    pub gas_limit: u64,
    /// Number of codes that only the workload's fork can create. Each has a block of its own after
    /// the empty blocks.
    long_code_count: u64,
    /// Maximum number of transactions of a block. Together they get at most half of its gas limit,
    /// so that the base fee does not rise.
    txs_per_block: u64,
    /// Gas limit of a transaction that writes slots.
    tx_gas: u64,
}

impl GrowthPlan {
    /// A plan without blocks, for a chain of this gas limit.
    fn empty(gas_limit: u64) -> Self {
        let half = gas_limit / 2;
        let txs_per_block = half.div_ceil(FORK.tx_gas_cap()).clamp(1, TXS_PER_BLOCK_MAX);
        let tx_gas = (half / txs_per_block).min(FORK.tx_gas_cap());
        Self { gas_limit, txs_per_block, tx_gas, ..Self::default() }
    }

    /// Maximum number of slots that a transaction writes.
    const fn slots_per_tx(&self) -> u64 {
        SLOTS_PER_TX_MAX * self.tx_gas / FORK.tx_gas_cap()
    }

    /// The gas limit of a transaction under `fork`.
    fn tx_gas_limit(&self, step: Step, fork: Fork) -> u64 {
        match step {
            Step::Write { .. } => self.tx_gas,
            Step::Place { .. } => self.gas_limit.min(fork.max_tx_gas()),
        }
    }
}

/// A transaction that grows the state.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Writes `count` slots of the family at index `family`, from slot `start` on.
    Write { family: usize, start: u64, count: u64 },
    /// Creates a code at its address.
    Place { code: usize },
}

/// The distinct codes of contracts with slots, and the index of each family's code.
struct Codes {
    distinct: Vec<Bytes>,
    of_family: Vec<usize>,
}

impl Codes {
    fn new(workload: &Workload) -> Result<Self, ExportError> {
        let (genesis, fork) = (&workload.genesis, workload.rules.first.fork);
        let most = fork.max_code_bytes();
        let mut codes = Self { distinct: Vec::new(), of_family: Vec::new() };
        for family in &genesis.slots {
            let code = code_of(genesis, &family.address);
            if code.is_empty() || code.len() > most as usize {
                return Err(ExportError::CannotGrow(format!(
                    "the contract {} has slots and a code of {} bytes, and a transaction creates \
                     1 to {most} under {fork} (EIP-170, EIP-7954)",
                    family.address,
                    code.len()
                )));
            }
            let known = codes.distinct.iter().position(|of| *of == code);
            codes.of_family.push(known.unwrap_or(codes.distinct.len()));
            if known.is_none() {
                codes.distinct.push(code);
            }
        }
        Ok(codes)
    }

    /// Whether the code at an index of `distinct` is too long for Osaka.
    fn is_long(&self, code: usize) -> bool {
        self.distinct[code].len() > FORK.max_code_bytes() as usize
    }
}

/// The code that a call of the contract at `address` executes: its own, or that of the account to
/// which it delegates.
fn code_of(genesis: &Genesis, address: &Address) -> Bytes {
    let own_code =
        |address: &Address| genesis.account(address).map_or(Bytes::new(), |of| of.code.clone());
    let code = own_code(address);
    delegate(&code).map_or(code, |delegate| own_code(&delegate))
}

/// Plans the blocks that grow the state of `workload`.
///
/// # Errors
/// [`ExportError::CannotGrow`].
pub fn growth_plan(workload: &Workload) -> Result<GrowthPlan, ExportError> {
    let genesis = &workload.genesis;
    let slot_count = genesis.slots.iter().map(|family| family.count).sum();
    if slot_count == 0 {
        return Err(ExportError::CannotGrow(
            "no contract has slots by a rule (sload-storm and sstore-storm have some), so that \
             genesis.json has all of the state"
                .to_owned(),
        ));
    }
    let written: u64 = genesis.accounts.iter().map(|of| of.storage.len() as u64).sum();
    let row_count = genesis.account_count() + written;
    if row_count.saturating_add(code_row_count(genesis)) > ALLOC_ROW_COUNT_MAX {
        return Err(ExportError::CannotGrow(format!(
            "{row_count} accounts and slots stay in genesis.json, since only slots by a rule \
             grow, and it takes {ALLOC_ROW_COUNT_MAX} (or {CODE_BYTES_OF_ROW} bytes of code for \
             one); lower state.accounts"
        )));
    }
    let plan = GrowthPlan::empty(match has_own_limit(workload) {
        true => gas_limit(workload, 0).saturating_add(delegations_gas(workload)),
        false => gas_limit(workload, GAS_LIMIT),
    });
    if plan.gas_limit < GAS_LIMIT_MIN {
        return Err(ExportError::CannotGrow(format!(
            "block.limit is {}, and blocks that grow the state need {GAS_LIMIT_MIN}",
            plan.gas_limit
        )));
    }
    let writes: u64 = genesis.slots.iter().map(|of| of.count.div_ceil(plan.slots_per_tx())).sum();
    let codes = Codes::new(workload)?;
    let code_count = codes.distinct.len();
    let long_code_count = (0..code_count).filter(|code| codes.is_long(*code)).count() as u64;
    let tx_count = writes + code_count as u64;
    let block_count = (tx_count - long_code_count).div_ceil(plan.txs_per_block)
        + SETTLING_BLOCK_COUNT
        + long_code_count;
    Ok(GrowthPlan { block_count, tx_count, slot_count, long_code_count, ..plan })
}

/// Makes the blocks that grow the state of `workload`, and hands them to `on_block` one by one.
///
/// # Errors
/// [`ExportError`], and those of `on_block`.
pub fn grow(
    workload: &Workload,
    settings: &Settings<'_>,
    mut on_block: impl FnMut(&ChainBlock) -> Result<(), ExportError>,
) -> Result<Grown, ExportError> {
    let plan = growth_plan(workload)?;
    let first = workload.blocks().next().ok_or(ExportError::NoBlocks)?.env.clone();
    let mut growth = Growth::new(workload, plan, first, settings)?;
    let (long, steps): (Vec<_>, Vec<_>) =
        growth.steps().into_iter().partition(|step| growth.is_long(*step));
    for steps in steps.chunks(plan.txs_per_block as usize) {
        on_block(&growth.next(steps, FORK)?)?;
    }
    for _ in 0..SETTLING_BLOCK_COUNT {
        on_block(&growth.next(&[], FORK)?)?;
    }
    for step in long {
        on_block(&growth.next(&[step], workload.rules.first.fork)?)?;
    }
    Ok(growth.finish())
}

/// Returns `genesis` without the slots of families, and with the accounts of `helpers`. The
/// families' contracts delegate to the addresses at which their codes will be created.
fn without_slots(genesis: &Genesis, codes: &Codes, helpers: Vec<GenesisAccount>) -> Genesis {
    let mut accounts = genesis.accounts.clone();
    for (family, code) in genesis.slots.iter().zip(&codes.of_family) {
        if let Some(account) = accounts.iter_mut().find(|of| of.address == family.address) {
            account.code = delegation(contracts::code_address(*code));
        }
    }
    accounts.extend(helpers);
    accounts.sort_unstable_by_key(|account| account.address);
    Genesis { accounts, slots: Vec::new(), ..genesis.clone() }
}

/// Unix time of block `number`, where `end` is the time of the workload's first block.
fn timestamp(end: u64, plan: GrowthPlan, number: u64) -> u64 {
    end.saturating_sub((plan.block_count + 1 - number) * BLOCK_SECONDS)
}

/// Makes the blocks that grow a state, one after the other.
struct Growth<'a> {
    workload: &'a Workload,
    settings: &'a Settings<'a>,
    codes: Codes,
    chain_id: u64,
    signer: Signer,
    sender: Address,
    /// The environment of all blocks, without number and timestamp.
    env: BlockEnv,
    /// Unix time of the workload's first block.
    end_timestamp: u64,
    plan: GrowthPlan,
    genesis: Genesis,
    genesis_header: Header,
    genesis_hash: B256,
    ledger: Ledger,
    parent: Parent,
    /// Hashes of all blocks so far, the genesis block's first.
    hashes: Vec<B256>,
    /// The sender's next nonce.
    nonce: u64,
    /// Number of blocks, transactions and gas so far.
    block_count: u64,
    tx_count: u64,
    gas_used: u64,
}

impl<'a> Growth<'a> {
    fn new(
        workload: &'a Workload,
        plan: GrowthPlan,
        first: BlockEnv,
        settings: &'a Settings<'a>,
    ) -> Result<Self, ExportError> {
        let chain_id = settings.chain_id_of(workload)?;
        let codes = Codes::new(workload)?;
        let secret = contracts::sender_secret();
        let sender = SenderFamily { first_secret: secret, count: 1, balance: U256::ZERO };
        let sender = sender.address(0)?;
        let growing: BTreeSet<Address> =
            workload.genesis.slots.iter().map(|family| family.address).collect();
        let helpers = contracts::accounts(&codes.distinct, sender);
        let systems = system::contracts(workload.rules.first.fork);
        let touched = helpers.iter().chain(&systems).map(|account| account.address);
        let touched = touched.chain(growing.iter().copied()).chain([first.beneficiary]).collect();
        let genesis = without_slots(&workload.genesis, &codes, helpers);
        let ledger = Ledger::new(&genesis, &touched, growing, settings)?;
        let end_timestamp = first.timestamp;
        let env = BlockEnv {
            beneficiary: first.beneficiary,
            gas_limit: plan.gas_limit,
            base_fee: first.base_fee,
            slot_number: first.slot_number.saturating_sub(1),
            ..BlockEnv::default()
        };
        let first = BlockEnv { timestamp: timestamp(end_timestamp, plan, 1), ..env.clone() };
        let genesis_header = block::genesis_header(&first, FORK, ledger.root());
        let parent = Parent::new(genesis_header.clone());
        let mut signer = Signer::new(&Workload::default())?;
        signer.add_secret(secret)?;
        let genesis_hash = parent.hash;
        Ok(Self {
            workload,
            settings,
            codes,
            chain_id,
            signer,
            sender,
            env,
            end_timestamp,
            plan,
            genesis,
            genesis_header,
            genesis_hash,
            ledger,
            parent,
            hashes: vec![genesis_hash],
            nonce: 0,
            block_count: 0,
            tx_count: 0,
            gas_used: 0,
        })
    }

    /// Whether a transaction creates a code too long for Osaka.
    fn is_long(&self, step: Step) -> bool {
        matches!(step, Step::Place { code } if self.codes.is_long(code))
    }

    /// All steps, in order.
    fn steps(&self) -> Vec<Step> {
        let families = self.workload.genesis.slots.iter().enumerate();
        let slots_per_tx = self.plan.slots_per_tx();
        let writes = families.flat_map(|(index, family)| {
            let starts = (0..family.count).step_by(slots_per_tx as usize);
            starts.map(move |start| {
                let count = slots_per_tx.min(family.count - start);
                Step::Write { family: index, start, count }
            })
        });
        let placements = (0..self.codes.distinct.len()).map(|code| Step::Place { code });
        writes.chain(placements).collect()
    }

    /// Makes the next block, of the transactions for `steps` under `fork`.
    fn next(&mut self, steps: &[Step], fork: Fork) -> Result<ChainBlock, ExportError> {
        self.block_count += 1;
        let number = self.block_count;
        let timestamp = timestamp(self.end_timestamp, self.plan, number);
        let env = BlockEnv { number, timestamp, ..self.env.clone() };
        let transactions = steps.iter().map(|step| self.transaction(*step, fork)).collect();
        let block = Block { env, transactions, ..Block::default() };
        let block = self.parent.next(&block, &fork.into());
        let state = self.ledger.workload(fork, self.chain_id);
        let mut run = ChainRun::new(&state, number - 1, self.parent.hash)?;
        let mut receipts = Receipts::default();
        let made = run.run(block.clone(), |outcome, logs| {
            receipts.add(TxType::DynamicFee, &outcome, logs);
        })?;
        let outcomes = &made.expected.transactions;
        if let Some(index) = outcomes.iter().position(|of| of.status != TxStatus::Success) {
            return Err(ExportError::CannotGrow(format!(
                "transaction {index} of block {number}, which writes slots, ends with {:?} after {} gas",
                outcomes[index].status, outcomes[index].gas_used
            )));
        }
        self.tx_count += outcomes.len() as u64;
        self.gas_used += outcomes.iter().map(|outcome| outcome.gas_used).sum::<u64>();
        self.ledger.add(&made.changes)?;
        let state_root = self.ledger.root();
        let signed = signed(&block, self.chain_id, &self.signer, self.settings.cancel)?;
        let outcome = BlockOutcome { fork, made, receipts, state_root };
        let sealed = self.parent.seal(&block, signed, outcome);
        check_length(&sealed)?;
        self.hashes.push(sealed.hash);
        Ok(sealed)
    }

    /// The next transaction of the sender, for `step`.
    fn transaction(&mut self, step: Step, fork: Fork) -> Transaction {
        let input = match step {
            Step::Place { code } => contracts::placement(code),
            Step::Write { family: index, start, count } => {
                let family: &SlotFamily = &self.workload.genesis.slots[index];
                let indices: Vec<u64> = (start..start + count).collect();
                let (mut keys, mut values) = (Vec::new(), Vec::new());
                family.keys(&indices, &mut keys);
                family.values(&indices, &mut values);
                contracts::writes(self.codes.of_family[index], family.address, &keys, &values)
            }
        };
        let nonce = self.nonce;
        self.nonce += 1;
        Transaction {
            tx_type: TxType::DynamicFee,
            sender: self.sender,
            nonce,
            gas_limit: self.plan.tx_gas_limit(step, fork),
            to: Some(contracts::factory_address()),
            input,
            ..Transaction::default()
        }
    }

    /// Returns the grown state, and the chain up to it.
    fn finish(self) -> Grown {
        let facts = GrownFacts {
            block_count: self.block_count,
            tx_count: self.tx_count,
            slot_count: self.plan.slot_count,
            gas_used: self.gas_used,
            gas_limit: self.env.gas_limit,
            fork_timestamp: timestamp(
                self.end_timestamp,
                self.plan,
                self.block_count + 1 - self.plan.long_code_count,
            ),
            hash: self.parent.hash,
            state_root: self.ledger.root(),
        };
        let state = self.ledger.state(&self.genesis);
        let oldest = self.hashes.len().saturating_sub(ANCESTOR_COUNT as usize);
        Grown {
            facts,
            state: Genesis { slots: self.workload.genesis.slots.clone(), ..state },
            genesis: self.genesis,
            genesis_header: self.genesis_header,
            genesis_hash: self.genesis_hash,
            parent: self.parent,
            hashes: self.hashes[oldest..].to_vec(),
        }
    }
}
