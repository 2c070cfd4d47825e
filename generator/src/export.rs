//! Exports a workload as a chain that any client takes: a genesis block number 0 and blocks on top of
//! it, signed, with headers, roots and lists, in the forms that clients read.
//!
//! A workload has no headers. The hash of a block's parent is state (EIP-2935), and so are the fees
//! that follow from the block before: so the blocks are run once more by the reference, one at a time,
//! each on the headers of those before it. The workload itself stays as it is.

mod block;
mod chain;
mod delegation;
mod eest;
mod engine;
mod error;
mod genesis;
mod grow;
mod grown;
mod manifest;
mod received;
mod rlp;
mod root;
mod rows;

pub use block::{ChainBlock, block_bytes};
pub use chain::{Chain, Settings, chain, chain_above};
pub use delegation::delegation_gas;
pub use eest::{TestFormat, eest};
pub use engine::{payload, payloads};
pub use error::ExportError;
pub use genesis::{Accounts, check_size, fits, genesis};
pub use grow::{GrowthPlan, grow, growth_plan};
pub use grown::{Grown, GrownFacts};
pub use manifest::{Manifest, manifest};
pub use received::received_blocks;
pub use rlp::{Lists, rlp, rlp_of};
pub use rows::{RowFiles, rows};
