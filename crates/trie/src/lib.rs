//! Merkle Patricia tries over flat rows: built from sorted rows, updated by sorted writes, hashed
//! many nodes at a time. Knows no store: it asks for nodes and rows, and takes the answers.
//!
//! A [`Builder`] makes a trie of rows. A [`Plan`] lists the reads for writes to a stored trie,
//! an [`Update`] computes the new root, and [`join`] joins the shards of a trie.

mod builder;
mod error;
mod floating;
mod fold;
mod format;
mod memory;
mod node;
mod parts;
mod path;
mod plan;
mod record;
mod reference;
mod rlp;
mod rows;
mod sink;
mod size;
mod tree;
mod update;
mod value;

pub use builder::{Builder, Built};
pub use error::{Error, NodeError};
pub use floating::Floating;
pub use fold::Work;
pub use format::{Cut, Format};
pub use memory::MemoryTrie;
pub use node::StoredNode;
pub use parts::{Part, stored_root};
pub use path::{NIBBLES_MAX, Path};
pub use plan::{Plan, ShardCount, guess_nodes};
pub use reference::Reference;
pub use rows::{Found, Reading, Reads, RowRange, Rows, Source};
pub use sink::{NodeKey, NodeSink, Nodes, StoreError};
pub use size::ExpectedNodes;
pub use update::{Folded, Shard, Update, join, update};
pub use value::{AccountValue, EMPTY_ROOT, SlotValue};
