//! `[run.mdbx]`: the file layout of the MDBX store. The keys of this TOML table are no work keys: a
//! state has the same rows in files of every form.

use crate::fault::{Fault, Remedy, listed};
use crate::fields::Fields;
use crate::keys::{Entry, quoted};
use variant::{SlotTable, StoreKind};

/// The path of the table.
pub(crate) const PATH: &str = "run.mdbx";
/// Keys of the table.
pub(crate) const KEYS: &[&str] = &["storage"];

/// File layout of the MDBX store.
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

/// Reads the table, with the default of each missing key. A form that is not the default is an
/// error if `stores` lacks MDBX.
pub(crate) fn read(fields: &Fields<'_>, stores: &[StoreKind]) -> Result<MdbxSpec, Fault> {
    let storage = fields.named("storage")?.unwrap_or_default();
    if storage != SlotTable::default() && !stores.contains(&StoreKind::Mdbx) {
        let names: Vec<&str> = stores.iter().map(|store| store.name()).collect();
        let rule = format!(
            "{storage} is a form of the mdbx store, and the stores of the run are {}",
            listed(&names, "and")
        );
        let remedy = Remedy::advice("add mdbx to run.stores (--store mdbx), or leave storage out");
        return Err(fields.refusal("storage", rule, remedy));
    }
    Ok(MdbxSpec { storage })
}
