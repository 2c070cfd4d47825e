//! A store of any kind, chosen when the program runs. One match finds the kind; what is called on
//! it then is generic, and compiled in this crate for each kind.

use variant::StoreKind;

use super::{
    Store,
    flat::{FlatFormat, FlatStore},
    handicap::Handicapped,
    mdbx::{MdbxFormat, MdbxStore},
    memory::MemoryStore,
    redis::RedisStore,
    rocksdb::{RocksFormat, RocksStore},
};
use crate::state::{BuiltState, StateFormat};

/// The format of the states of `kind`, whatever their shape; `None` where there are no files.
pub fn format_of(kind: StoreKind) -> Option<Box<dyn StateFormat>> {
    match kind {
        StoreKind::Rocksdb => Some(Box::new(RocksFormat::default())),
        StoreKind::Mdbx => Some(Box::new(MdbxFormat::default())),
        StoreKind::Flat => Some(Box::new(FlatFormat::default())),
        StoreKind::Redis | StoreKind::Memory => None,
    }
}

/// An open store.
#[derive(Debug)]
pub enum AnyStore {
    /// State in `RocksDB`.
    Rocks(Box<RocksStore>),
    /// State in MDBX.
    Mdbx(Box<MdbxStore>),
    /// State in flat files.
    Flat(Box<FlatStore>),
    /// State in a Redis Cluster.
    Redis(Box<RedisStore>),
    /// State in memory.
    Memory(MemoryStore),
    /// State in memory, made worse on purpose. A kind of its own: a check for a handicap in each
    /// read would be a part of every measurement in memory.
    Handicapped(Handicapped<MemoryStore>),
}

/// Evaluates an expression on the store, by its own type, in an [`AnyStore`].
macro_rules! on_store {
    ($any:expr, $store:ident => $call:expr) => {
        match $any {
            $crate::store::any::AnyStore::Rocks(boxed) => {
                let $store = boxed.as_ref();
                $call
            }
            $crate::store::any::AnyStore::Mdbx(boxed) => {
                let $store = boxed.as_ref();
                $call
            }
            $crate::store::any::AnyStore::Flat(boxed) => {
                let $store = boxed.as_ref();
                $call
            }
            $crate::store::any::AnyStore::Redis(boxed) => {
                let $store = boxed.as_ref();
                $call
            }
            $crate::store::any::AnyStore::Memory($store) => $call,
            $crate::store::any::AnyStore::Handicapped($store) => $call,
        }
    };
}
pub(crate) use on_store;

impl AnyStore {
    /// Which store it is; a handicapped one is the memory store.
    pub const fn kind(&self) -> StoreKind {
        match self {
            Self::Rocks(_) => StoreKind::Rocksdb,
            Self::Mdbx(_) => StoreKind::Mdbx,
            Self::Flat(_) => StoreKind::Flat,
            Self::Redis(_) => StoreKind::Redis,
            Self::Memory(_) | Self::Handicapped(_) => StoreKind::Memory,
        }
    }

    /// Name as in a variant.
    pub fn name(&self) -> &'static str {
        on_store!(self, store => store.name())
    }

    /// Its facts: names and values.
    pub fn facts(&self) -> Vec<(String, String)> {
        on_store!(self, store => store.facts())
    }

    /// Why it cannot be cold, if so.
    pub fn never_cold(&self) -> Option<&'static str> {
        on_store!(self, store => store.never_cold())
    }

    /// About how many slots lie in a block of its files.
    pub fn slots_per_block(&self) -> Option<f64> {
        on_store!(self, store => store.slots_per_block())
    }

    /// The files below, where there are any.
    pub fn state(&self) -> Option<&BuiltState> {
        on_store!(self, store => store.built_state())
    }
}
