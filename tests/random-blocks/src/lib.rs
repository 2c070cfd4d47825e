//! Small random blocks for tests. A seed gives a chain of blocks in which a few accounts use all
//! features of transactions with each other. Blocks are drawn to make a wrong execution visible in
//! the result, not to be realistic.
//!
//! Drafts are drawn, with nonces that are not fixed. [`RandomBlocks::build`] makes valid blocks of
//! them. So a chain stays valid without some transactions, and a failing test can look for the
//! smallest chain that fails.

mod assembler;
mod chance;
mod coverage;
mod draft;
mod draw;
mod interpreter;
mod program;
mod replay;
mod witness;
mod world;

pub use coverage::{Coverage, Feature};
pub use draft::Draft;

use alloy_primitives::B256;
use workload::{
    Batch, Fork, ForkChange, ForkSchedule, Workload, block::Block, stream::stream_seed,
};

use chance::Chance;
use generator::{
    GENERATOR_VERSION, GeneratorError,
    environment::{self, ANCESTOR_COUNT, Environments, FIRST_BLOCK_NUMBER},
    reference::{self, ReferenceError},
};
use replay::Replay;
use world::World;

/// Gas limit of every block: more than its transactions can need.
const BLOCK_GAS: u64 = 60_000_000;

/// Secrets of all accounts that send or delegate in random blocks, for signing.
pub fn secrets() -> Vec<B256> {
    world::secrets()
}

/// A chain of drafts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RandomBlocks {
    /// Rules of the blocks.
    pub fork: Fork,
    /// An earlier fork, and the number of first blocks that it has.
    pub earlier: Option<(Fork, usize)>,
    /// The seed of drafts and environments.
    pub seed: u64,
    /// Blocks of a batch; the last batch may have fewer.
    pub batch_block_count: usize,
    /// The blocks.
    pub drafts: Vec<Draft>,
}

/// Blocks, and the events in them.
#[derive(Clone, Debug)]
pub struct Built {
    /// The blocks over their genesis, with the reference's outcome.
    pub workload: Workload,
    /// The events.
    pub coverage: Coverage,
}

impl RandomBlocks {
    /// Draws `block_count` blocks from `seed`, which also gives the fork and the length of batches.
    pub fn draw(seed: u64, block_count: usize) -> Self {
        let word = stream_seed(seed, "random blocks");
        let [a, b, c, d, e, f, g, h, ..] = word.0;
        let mut chance = Chance::new(u64::from_be_bytes([a, b, c, d, e, f, g, h]));
        let fork = if chance.once_in(3) { Fork::Osaka } else { Fork::Amsterdam };
        let batch_block_count = chance.one_of(&[1, 1, 2, 3, 5]);
        let world = World::new(fork);
        let drafts = (0..block_count).map(|_| draw::block(&world, fork, &mut chance)).collect();
        Self { fork, earlier: None, seed, batch_block_count, drafts }
    }

    /// Makes blocks of the drafts. Sets valid nonces, leaves out transactions that are invalid at
    /// their position, and adds the reference's outcome.
    ///
    /// # Errors
    /// [`GeneratorError`] when the reference refuses the blocks: a fault of this module.
    pub fn build(&self) -> Result<Built, GeneratorError> {
        let world = World::new(self.fork);
        let environments = Environments { seed: self.seed };
        let mut workload = Workload {
            scenario: format!("random blocks {}", self.seed),
            seed: self.seed,
            generator_version: GENERATOR_VERSION,
            rules: self.rules(environments),
            chain_id: environment::CHAIN_ID,
            first_hash_number: FIRST_BLOCK_NUMBER - ANCESTOR_COUNT,
            block_hashes: environments.block_hashes(self.drafts.len() as u64),
            genesis: world.genesis(self.fork),
            ..Workload::default()
        };
        let (blocks, coverage) = self.replay(&workload, &world, environments)?;
        let batch = |blocks: &[Block]| Batch { blocks: blocks.to_vec(), ..Batch::default() };
        workload.batches = blocks.chunks(self.batch_block_count.max(1)).map(batch).collect();
        reference::complete(&mut workload, || ())?;
        Ok(Built { workload, coverage })
    }

    fn rules(&self, environments: Environments) -> ForkSchedule {
        let Some((fork, block_count)) = self.earlier else { return self.fork.into() };
        let timestamp = environments.env(block_count as u64, BLOCK_GAS).timestamp;
        let changes = vec![ForkChange { timestamp, rules: self.fork.into() }];
        ForkSchedule { first: fork.into(), changes }
    }

    fn replay(
        &self,
        workload: &Workload,
        world: &World,
        environments: Environments,
    ) -> Result<(Vec<Block>, Coverage), GeneratorError> {
        let mut replay = Replay::new(workload, world).map_err(ReferenceError::Inconsistent)?;
        let mut block = |index: usize, draft: &Draft| {
            let mut env = environments.env(index as u64, BLOCK_GAS);
            env.beneficiary = draft.beneficiary;
            replay.block(env, draft)
        };
        let blocks =
            self.drafts.iter().enumerate().map(|(index, draft)| block(index, draft)).collect();
        Ok((blocks, replay.coverage().clone()))
    }
}
