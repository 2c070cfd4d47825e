//! `[run.mdbx]`: how the MDBX store lays out its file. No key is work: a state of another shape has
//! the same rows.

use crate::fault::{Fault, Misfit, Remedy, listed};
use crate::fields::Fields;
use crate::keys::{Entry, quoted};
use variant::{SlotTable, StoreKind};

/// The path of the table.
pub(crate) const PATH: &str = "run.mdbx";
/// Its keys.
pub(crate) const KEYS: &[&str] = &["storage"];

/// How the MDBX store lays out its file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MdbxSpec {
    /// Form of the table of slots.
    pub storage: SlotTable,
}

impl MdbxSpec {
    /// The table's keys with their values as TOML.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        vec![("storage", Ok(quoted(self.storage.name())))]
    }
}

/// The table's keys, each at its default where it is left out. A form that is asked for is an error
/// where none of `stores` has it.
pub(crate) fn read(fields: &Fields<'_>, stores: &[StoreKind]) -> Result<MdbxSpec, Fault> {
    let storage = fields.named("storage")?.unwrap_or_default();
    if storage != SlotTable::default() && !stores.contains(&StoreKind::Mdbx) {
        let names: Vec<&str> = stores.iter().map(|store| store.name()).collect();
        let rule = format!(
            "{storage} is a form of the mdbx store, and the stores of the run are {}",
            listed(&names, "and")
        );
        let remedy = Remedy::advice("add mdbx to run.stores (--store mdbx), or leave storage out");
        return Err(fields.fault("storage", Misfit::new(rule, remedy)));
    }
    Ok(MdbxSpec { storage })
}
