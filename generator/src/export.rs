//! Exports a workload as a chain that any client can import, for `stress export` and for gates of
//! clients. The chain has a genesis block, number 0, and signed blocks after it, with headers,
//! roots and lists.
//!
//! A workload has no headers, and headers change the state: the parent's hash is in the state
//! (EIP-2935), and fees follow from the parent's header. So the reference runs the blocks once
//! more, one at a time, each on the headers before it. The workload itself does not change.

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
pub use chain::{Chain, Settings, chain, chain_above, delegations_gas};
pub use delegation::delegation_gas;
pub use eest::{TestFormat, eest};
pub use engine::{payload, payloads};
pub use error::ExportError;
pub use genesis::{AccountsPlace, check_size, fits, genesis};
pub use grow::{GrowthPlan, grow, growth_plan};
pub use grown::{Grown, GrownFacts};
pub use manifest::{Manifest, manifest};
pub use received::received_blocks;
pub use rlp::{Lists, rlp, rlp_of};
pub use rows::{RowFiles, rows};
