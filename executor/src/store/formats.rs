//! Formats of state databases, by kind of store.

use variant::StoreKind;

use super::{flat::FlatFormat, mdbx::MdbxFormat, rocksdb::RocksFormat};
use crate::state::StateFormat;

/// Returns a format of the states of `kind`, whose functions scan states of every shape. `None` for
/// a store without files.
pub fn format_of(kind: StoreKind) -> Option<Box<dyn StateFormat>> {
    match kind {
        StoreKind::Rocksdb => Some(Box::new(RocksFormat::default())),
        StoreKind::Mdbx => Some(Box::new(MdbxFormat::default())),
        StoreKind::Flat => Some(Box::new(FlatFormat::default())),
        StoreKind::Redis | StoreKind::Memory => None,
    }
}
