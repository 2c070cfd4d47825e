//! The import of a chain, which `chain.rs` and `payloads.rs` feed block by block. Blocks before
//! Paris, and blocks before the wanted ones, are run at once and change the carried state. The
//! wanted blocks become the workload on that state.

use std::ops::{ControlFlow, RangeInclusive};

use alloy_consensus::Header;
use alloy_primitives::{Address, B256, U256};
use evm::{BlockGas, EarlyRules, Runner, StepError, deposit_request};
use revm::DatabaseCommit;
use workload::{Batch, Block, ChainRules, Fork, Genesis, StepKind, Workload};

use super::{
    ImportError, Imported, ImportedBlock, Source,
    complete::Comparison,
    early::{self, EarlyBlock},
    genesis::{ChainConfig, ChainGenesis},
    header::RlpBlock,
    json::Json,
    read, rules,
    state::{ChainState, UnknownValue},
};
use crate::{
    receipts::Receipts,
    reference::{BatchReference, ReferenceError},
};

/// Maximal number of bytes of the signed transactions, lists and facts of the wanted blocks. It
/// bounds memory.
const MAX_KEPT_BYTES: usize = 1 << 30;

/// Function that is called after each transaction that is run, and may stop the import.
pub(super) type OnTx<'a> = &'a mut dyn FnMut() -> ControlFlow<()>;

/// The import of a chain up to its last block so far.
pub(super) struct ChainImport<'a> {
    config: ChainConfig,
    wanted: RangeInclusive<u64>,
    /// Header of the last block so far.
    last: Header,
    /// Sum of the difficulties of all blocks so far.
    total_difficulty: U256,
    stage: Stage,
    comparison: Comparison,
    /// Number of the last block before Paris so far, if any.
    last_early: Option<u64>,
    on_tx: OnTx<'a>,
}

/// Stage of an import, which decides the use of the next block.
enum Stage {
    /// No wanted block so far: the block is run on the carried state.
    Carried(Box<Runner<ChainState>>),
    /// The block is kept for the workload.
    Kept(KeptBlocks),
}

/// The wanted blocks so far, and the state and the block hashes before them.
#[derive(Default)]
struct KeptBlocks {
    genesis: Genesis,
    first_hash_number: u64,
    block_hashes: Vec<B256>,
    batches: Vec<Batch>,
    blocks: Vec<ImportedBlock>,
    /// Length of the blocks' transactions, lists and facts.
    bytes: usize,
}

impl<'a> ChainImport<'a> {
    /// Begins an import on `genesis`. Blocks with the numbers `wanted` become the workload.
    pub(super) fn new(genesis: ChainGenesis, wanted: RangeInclusive<u64>, on_tx: OnTx<'a>) -> Self {
        let ChainGenesis { header, mut state, config } = genesis;
        state.add_hash(header.number, header.hash_slow());
        let (rules, chain_id) = (config.rules.clone(), config.chain_id);
        let runner = Runner::new(&Workload { rules, chain_id, ..Workload::default() }, state);
        Self {
            config,
            wanted,
            total_difficulty: header.difficulty,
            last: header,
            stage: Stage::Carried(Box::new(runner)),
            comparison: Comparison {
                block: 0,
                source: Source::Files,
                // Block 1 names block 0 as its parent.
                compared: vec!["genesis hash"],
            },
            last_early: None,
            on_tx,
        }
    }

    pub(super) const fn chain_id(&self) -> u64 {
        self.config.chain_id
    }

    /// Returns the header of the last block so far.
    pub(super) const fn last(&self) -> &Header {
        &self.last
    }

    /// Whether the last wanted block is imported.
    pub(super) const fn is_done(&self) -> bool {
        self.last.number >= *self.wanted.end()
    }

    /// Returns the rules of the next block, which has this timestamp and is of Paris or later.
    pub(super) fn rules(&self, timestamp: u64) -> Result<&ChainRules, ImportError> {
        self.config.check_known(self.last.number + 1, timestamp)?;
        Ok(self.config.rules.at(timestamp))
    }

    /// Adds the next block, which is decoded from the RLP at `node`.
    pub(super) fn add_rlp(
        &mut self,
        node: &Json<'_>,
        decoded: RlpBlock,
    ) -> Result<(), ImportError> {
        if !decoded.header.difficulty.is_zero() {
            return self.add_early(node, decoded);
        }
        let rules = self.rules(decoded.header.timestamp)?;
        let (block, said) = decoded.under(node, rules)?;
        self.add(block, said)
    }

    /// Adds the next block, which is of Paris or later.
    pub(super) fn add(&mut self, block: Block, said: ImportedBlock) -> Result<(), ImportError> {
        let header = said.header.clone().unwrap_or_default();
        self.check_first(&header)?;
        let rules = *self.config.rules.at(header.timestamp);
        rules::check(&header, &self.last, &rules)?;
        if let Some(terminal) = self.config.terminal_difficulty
            && self.total_difficulty < terminal
        {
            let reason = format!(
                "its difficulty is 0; that of all blocks before is {}, and Paris begins at {terminal}",
                self.total_difficulty
            );
            return Err(ImportError::Block { block: header.number, reason });
        }
        match header.number < *self.wanted.start() {
            true => {
                // Without the list: only the reference makes lists, and it runs wanted blocks
                // alone.
                let said = ImportedBlock { list_hash: None, lists: Vec::new(), ..said };
                self.carry(&block, &said, None)?;
            }
            false => self.keep(block, said, &rules)?,
        }
        self.last = header;
        Ok(())
    }

    /// Checks that the parent of the first block is block 0.
    fn check_first(&self, header: &Header) -> Result<(), ImportError> {
        let (said, made) = (header.parent_hash, self.last.hash_slow());
        if self.last.number > 0 || said == made {
            return Ok(());
        }
        let reason = format!(
            "its parent is {said}, and block 0 is {made} by the genesis; the first block is block 1 of the \
             same chain"
        );
        Err(ImportError::Block { block: header.number, reason })
    }

    /// Adds the next block, which is before Paris.
    fn add_early(&mut self, node: &Json<'_>, decoded: RlpBlock) -> Result<(), ImportError> {
        let (number, config) = (decoded.header.number, &self.config);
        let refusal = if config.terminal_difficulty.is_some_and(|end| self.total_difficulty >= end)
        {
            Some("it has a difficulty; Paris begins before it, by terminalTotalDifficulty")
        } else if matches!(self.stage, Stage::Kept(_)) {
            Some("it has a difficulty, and the block before it is of Paris")
        } else if config.is_clique {
            Some("blocks that authorities sign (clique) are not run")
        } else if config.dao_block == Some(number) {
            Some("the block that empties accounts (daoForkBlock) is not run")
        } else {
            None
        };
        if let Some(reason) = refusal {
            return Err(ImportError::Block { block: number, reason: reason.to_owned() });
        }
        self.check_first(&decoded.header)?;
        let early = EarlyBlock::new(node, decoded, &self.last, config)?;
        self.carry(&early.block, &early.said, Some((early.rules, &early.rewards)))?;
        self.last_early = Some(number);
        if let Some(header) = early.said.header {
            self.total_difficulty = self.total_difficulty.saturating_add(header.difficulty);
            self.last = header;
        }
        Ok(())
    }

    /// Runs a block on the carried state, and compares its outcome with `said`. `early` has the
    /// rules and rewards of a block before Paris.
    fn carry(
        &mut self,
        block: &Block,
        said: &ImportedBlock,
        early: Option<(EarlyRules, &Rewards)>,
    ) -> Result<(), ImportError> {
        let Stage::Carried(runner) = &mut self.stage else { return Ok(()) };
        let (rules, on_tx) = (&self.config.rules, &mut *self.on_tx);
        let (made, receipts) = match early {
            Some((early, rewards)) => {
                BlockRun { runner, block, rules: &rules.first }.run_early(early, rewards, on_tx)?
            }
            None => BlockRun { runner, block, rules: rules.at(block.env.timestamp) }.run(on_tx)?,
        };
        let number = block.env.number;
        self.comparison.block = number;
        self.comparison.compare(block, said, &made, &receipts)?;
        let root = runner.db().root();
        self.comparison.equal("state root", said.state_root, Some(root))?;
        let hash = said.header.as_ref().map(Header::hash_slow);
        self.comparison.equal("block hash", said.hash, hash)?;
        runner.db().add_hash(number, hash.unwrap_or_default());
        Ok(())
    }

    /// Adds a block to the workload.
    fn keep(
        &mut self,
        block: Block,
        said: ImportedBlock,
        rules: &ChainRules,
    ) -> Result<(), ImportError> {
        let number = block.env.number;
        if let Stage::Carried(_) = &self.stage {
            self.begin(number, rules)?;
        }
        let Stage::Kept(kept) = &mut self.stage else { return Ok(()) };
        let signed = said.signed.iter().flatten().chain(&said.lists);
        kept.bytes += signed.map(|bytes| bytes.len()).sum::<usize>() + size_of_val(&said);
        if kept.bytes > MAX_KEPT_BYTES {
            let count = kept.batches.len();
            let reason = format!(
                "it and the {count} wanted blocks before have more than {MAX_KEPT_BYTES} bytes; import fewer"
            );
            return Err(ImportError::Block { block: number, reason });
        }
        kept.block_hashes.extend(said.header.as_ref().map(Header::hash_slow));
        kept.blocks.push(said);
        kept.batches.push(Batch { blocks: vec![block], ..Batch::default() });
        Ok(())
    }

    /// Ends the carried state: it becomes the genesis of the workload, whose first block has this
    /// `number` and these `rules`.
    fn begin(&mut self, number: u64, rules: &ChainRules) -> Result<(), ImportError> {
        let Stage::Carried(runner) =
            std::mem::replace(&mut self.stage, Stage::Kept(KeptBlocks::default()))
        else {
            return Ok(());
        };
        let state = runner.into_db();
        let block_hashes: Vec<B256> = state.hashes().collect();
        let genesis = Genesis { accounts: state.into_accounts(), ..Genesis::default() };
        if let Some(reason) = read::missing_system_contracts(&genesis.accounts, rules.fork) {
            return Err(ImportError::Block { block: number, reason });
        }
        let first_hash_number = number - block_hashes.len() as u64;
        self.stage = Stage::Kept(KeptBlocks {
            genesis,
            first_hash_number,
            block_hashes,
            ..KeptBlocks::default()
        });
        Ok(())
    }

    /// Ends the import, and returns the kept blocks as a workload. `file` is the name that errors
    /// use.
    pub(super) fn finish(self, file: &str) -> Result<Imported, ImportError> {
        let (last, wanted) = (self.last.number, self.wanted);
        let is_short = *wanted.end() < u64::MAX && last < *wanted.end();
        let fault = |reason| Err(ImportError::State { file: file.to_owned(), missing: reason });
        let kept = match self.stage {
            Stage::Kept(kept) if !is_short => kept,
            _ if last == 0 => return fault("it has no block after block 0".to_owned()),
            _ if is_short || last < *wanted.start() => {
                let end = match *wanted.end() {
                    u64::MAX => String::new(),
                    end => format!(", to {end}"),
                };
                let first = wanted.start();
                return fault(format!("it ends with block {last}; wanted is block {first}{end}"));
            }
            _ => {
                return fault(format!(
                    "blocks 1 to {last} are before Paris, and are never measured"
                ));
            }
        };
        let first = &kept.batches[0].blocks[0].env;
        let mut notes = Vec::new();
        if first.number > 1 {
            notes.push(format!(
                "blocks 1 to {} were run to carry the state on, and compared but for lists",
                first.number - 1
            ));
        }
        if let Some(early) = self.last_early {
            notes.push(format!("blocks 1 to {early} are before Paris, and are never measured"));
            notes.push(early::NOT_CHECKED.to_owned());
        }
        notes.extend(self.config.constantinople_note(self.last_early.unwrap_or(0)));
        let name = match first.number == last {
            true => format!("block-{last}"),
            false => format!("blocks-{}-{last}", first.number),
        };
        let workload = Workload {
            scenario: name,
            rules: self.config.rules_between(first.timestamp, self.last.timestamp),
            chain_id: self.config.chain_id,
            first_hash_number: kept.first_hash_number,
            block_hashes: kept.block_hashes,
            genesis: kept.genesis,
            batches: kept.batches,
            ..Workload::default()
        };
        let compared = self.comparison.compared;
        Ok(Imported { compared, notes, ..Imported::new(workload, kept.blocks) })
    }
}

/// Miners of a block and of its ommers, each with its reward in wei.
type Rewards = [(Address, U256)];

/// The run of a block on the carried state.
struct BlockRun<'a> {
    runner: &'a mut Runner<ChainState>,
    block: &'a Block,
    rules: &'a ChainRules,
}

impl BlockRun<'_> {
    /// Runs a block of Paris or later, with its system calls and withdrawals.
    fn run(&mut self, on_tx: OnTx<'_>) -> Result<(BatchReference, Receipts), ImportError> {
        self.block.check(self.rules).map_err(|rule| self.block_error(rule.to_string()))?;
        self.runner.set_block(self.block);
        self.step(StepKind::BeforeTransactions)?;
        let (mut made, receipts) = self.transactions(on_tx)?;
        self.step(StepKind::AfterTransactions)?;
        let mut requests = Vec::new();
        if self.rules.fork.is_from(Fork::Prague) {
            let deposits = deposit_request(receipts.logs(), self.rules.deposit_contract);
            let deposits =
                deposits.map_err(|error| self.block_error(format!("invalid deposit: {error}")));
            requests.extend(deposits?);
        }
        requests.extend(self.runner.requests().iter().cloned());
        made.requests.push(requests);
        Ok((made, receipts))
    }

    /// Runs a block before Paris, and pays the rewards.
    fn run_early(
        &mut self,
        rules: EarlyRules,
        rewards: &Rewards,
        on_tx: OnTx<'_>,
    ) -> Result<(BatchReference, Receipts), ImportError> {
        self.runner.set_early_block(self.block, rules);
        let made = self.transactions(on_tx)?;
        let paid = self.runner.pay(rewards.iter().copied(), ChainState::commit);
        paid.map_err(|error| self.step_error(StepKind::AfterTransactions, &error))?;
        Ok(made)
    }

    /// Runs the transactions of the block, in order.
    fn transactions(&mut self, on_tx: OnTx<'_>) -> Result<(BatchReference, Receipts), ImportError> {
        let (mut made, mut receipts) = (BatchReference::default(), Receipts::default());
        let mut gas = BlockGas::default();
        let (limit, fork) = (self.block.env.gas_limit, self.rules.fork);
        for (tx_index, tx) in self.block.transactions.iter().enumerate() {
            let kind = StepKind::Transaction(tx_index);
            if !gas.has_room_for(tx.gas_limit, limit, fork) {
                let room = gas.tx_gas_limit_max(limit, fork);
                let reason = format!("it may burn {} gas; the block has {room} left", tx.gas_limit);
                return Err(ImportError::step(self.block, kind, reason));
            }
            let output = self.step(kind)?;
            if let Some(result) = output.result {
                gas.add(&result.gas);
                let outcome = result.outcome();
                receipts.add(tx.tx_type, &outcome, &result.logs);
                made.expected.transactions.push(outcome);
            }
            if on_tx().is_break() {
                return Err(ReferenceError::Cancelled.into());
            }
        }
        made.expected.header_gas.push(gas.header_gas(fork));
        Ok((made, receipts))
    }

    fn step(&mut self, kind: StepKind) -> Result<evm::StepOutput, ImportError> {
        let ran = self.runner.run(self.block, kind, ChainState::commit);
        ran.map_err(|error| self.step_error(kind, &error))
    }

    const fn block_error(&self, reason: String) -> ImportError {
        ImportError::Block { block: self.block.env.number, reason }
    }

    fn step_error(&self, kind: StepKind, error: &StepError<UnknownValue>) -> ImportError {
        ImportError::step(self.block, kind, error.to_string())
    }
}
