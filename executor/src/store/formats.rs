//! The formats of state databases by kind of store, for commands that open or verify states without
//! a scenario.

use variant::StoreKind;

use super::{flat::FlatFormat, mdbx::MdbxFormat, rocksdb::RocksFormat};
use crate::state::StateFormat;

/// Returns the default format of `kind`; `None` for a store without files. Its `scan` takes states
/// of every shape, since it reads the shape from the manifest.
pub fn format_of(kind: StoreKind) -> Option<Box<dyn StateFormat>> {
    match kind {
        StoreKind::Rocksdb => Some(Box::new(RocksFormat::default())),
        StoreKind::Mdbx => Some(Box::new(MdbxFormat::default())),
        StoreKind::Flat => Some(Box::new(FlatFormat::default())),
        StoreKind::Redis | StoreKind::Memory => None,
    }
}
