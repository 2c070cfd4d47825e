//! Small random blocks for tests: a seed gives a chain of blocks in which a few accounts do to each
//! other all that transactions can do. Every part is drawn, none is meant to be realistic: their
//! aim is that a wrong execution cannot reach the right result.
//!
//! Drafts are drawn, whose nonces are not fixed. [`RandomBlocks::build`] makes valid
//! blocks of them, so that a chain stays one when transactions are taken out: a failing test can
//! look for the smallest chain that fails.

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
use workload::{Batch, Fork, Workload, block::Block, stream::stream_seed};

use chance::Chance;
use generator::{
    GENERATOR_VERSION, GeneratorError,
    environment::{self, ANCESTOR_COUNT, Environments, FIRST_BLOCK_NUMBER},
    reference::{self, ReferenceError},
};
use replay::Replay;
use world::World;

/// Gas limit of every block: more than the transactions of one can ask for.
const BLOCK_GAS: u64 = 60_000_000;

/// Secrets of all accounts that send or delegate in random blocks, for signing.
pub fn secrets() -> Vec<B256> {
    world::secrets()
}

/// A chain of drafts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RandomBlocks {
    /// Rules of all blocks.
    pub fork: Fork,
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
    /// Draws `block_count` blocks from `seed`. The fork and the length of batches follow from it
    /// too.
    pub fn draw(seed: u64, block_count: usize) -> Self {
        let word = stream_seed(seed, "random blocks");
        let [a, b, c, d, e, f, g, h, ..] = word.0;
        let mut chance = Chance::new(u64::from_be_bytes([a, b, c, d, e, f, g, h]));
        let fork = if chance.once_in(3) { Fork::Osaka } else { Fork::Amsterdam };
        let batch_block_count = chance.one_of(&[1, 1, 2, 3, 5]);
        let world = World::new(fork);
        let drafts = (0..block_count).map(|_| draw::block(&world, fork, &mut chance)).collect();
        Self { fork, seed, batch_block_count, drafts }
    }

    /// Makes blocks of the drafts: nonces put right, transactions that are invalid where they
    /// stand left out, and expectations filled in by the reference.
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
            rules: self.fork.into(),
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
