//! Merkle Patricia tries over the rows of flat state: built from sorted rows, updated by sorted
//! writes, hashed many nodes at a time. The generator and the executor's stores and state roots
//! call it. The crate knows no store: it requests nodes and rows, and its caller reads them.
//!
//! A [`Builder`] builds a trie from rows. A [`Plan`] lists the nodes and rows that writes to a
//! stored trie need. An [`Update`] computes the new root. [`join`] joins the shards of a trie.

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
