//! The axes along which executions differ: design, list form, engine, I/O, prefetch policy,
//! schedule, shards, store, cache, durability and state root. Scenarios, results and the executor
//! share these enums and their names, so that no name is mapped twice. Also has
//! [`steers_terminal`], which finds characters that no name may send to a terminal.

mod block;
mod design;
mod named;
mod phase;
mod prefetch;
mod root;
mod sharding;
mod store;
mod variant;

pub use block::{BlockDuties, BlockDuty, WholeRows};
pub use design::{Design, Engine, Io, ListDuty, ListForm, Preset, Schedule, WarmCache, Warming};
pub use named::{Named, steers_terminal};
pub use phase::Phase;
pub use prefetch::{AccountReads, CodeReads, Prefetch, ReadOrder, ReadTime, ReaderShare, StopRule};
pub use root::{RootCache, RootReads, RootTime, RootWay, TrieForm};
pub use sharding::{PartitionTime, Partitioner, Sharding};
pub use store::{
    CacheFill, CacheMode, Checksums, Compaction, Durability, FileAccess, FilterKind, IndexShape,
    ReadMethod, SampleKeys, SlotTable, StoreKind, Waiting,
};
pub use variant::Variant;
