//! Makes the rows of a recipe for stores: table by table, each in strictly ascending order of its
//! keys, in bounded memory. The rows come from sources: all accounts, or the slots of one account.
//! They are cut into parts, which threads emit in any order.
//!
//! Pass 1 (in [`RowStream::new`]) hashes the rows of any source too large to sort at once. It
//! scatters their indices into buckets by leading key bits. Pass 2 ([`RowStream::emit`]) hashes a
//! bucket again, sorts it and emits it. Weyl keys in the plain layout need neither pass: their
//! order is known. The module knows no store.

mod check;
mod digest;
mod emit;
mod error;
mod plan;
mod scatter;
mod settings;
mod sort;
mod source;
mod weyl;

use alloy_primitives::B256;

pub use digest::ContentDigest;
pub use emit::PartBuffers;
pub use error::{AccountOrigin, RowError};
pub use settings::{RowProgress, RowSettings};

use crate::{
    accounts::CodeHashes,
    genesis::Genesis,
    layout::{Layout, Table},
};
use plan::{RecipeCode, TablePlan};
use source::{AccountSource, SlotSource};

/// The rows of one table of a recipe, in parts that follow each other.
#[derive(Debug)]
pub struct RowStream<'a> {
    settings: RowSettings<'a>,
    rows: Rows<'a>,
}

/// The rows of a table: planned, or for codes complete.
#[derive(Debug)]
enum Rows<'a> {
    Accounts(TablePlan<AccountSource<'a>>),
    Slots(TablePlan<SlotSource<'a>>),
    Codes(Vec<(B256, RecipeCode<'a>)>),
}

impl<'a> RowStream<'a> {
    /// Checks the recipe and runs pass 1 where it is needed.
    ///
    /// # Errors
    /// When the recipe contradicts itself, the scratch file fails or `settings.cancel` is set.
    /// Only [`Self::emit`] finds an address that two parts of the recipe have.
    pub fn new(
        genesis: &'a Genesis,
        layout: Layout,
        table: Table,
        settings: &RowSettings<'a>,
        progress: &(dyn Fn(RowProgress) + Sync),
    ) -> Result<Self, RowError> {
        check::check_accounts(genesis)?;
        let rows = match table {
            Table::Accounts => {
                let source = AccountSource::new(layout, genesis, code_hashes(genesis, settings)?);
                Rows::Accounts(TablePlan::new(vec![source], settings, progress)?)
            }
            Table::Slots => {
                let sources = check::slot_sources(genesis, layout)?;
                Rows::Slots(TablePlan::new(sources, settings, progress)?)
            }
            Table::Codes => Rows::Codes(plan::codes(genesis, &code_hashes(genesis, settings)?)),
        };
        Ok(Self { settings: settings.clone(), rows })
    }

    /// Number of parts.
    pub fn part_count(&self) -> usize {
        match &self.rows {
            Rows::Accounts(plan) => plan.parts.len(),
            Rows::Slots(plan) => plan.parts.len(),
            Rows::Codes(_) => 1,
        }
    }

    /// Number of rows of `part`.
    ///
    /// # Panics
    /// When `part` is not below [`Self::part_count`].
    pub fn part_row_count(&self, part: usize) -> u64 {
        assert!(part < self.part_count(), "part {part} of {}", self.part_count());
        match &self.rows {
            Rows::Accounts(plan) => plan.parts[part].row_count,
            Rows::Slots(plan) => plan.parts[part].row_count,
            Rows::Codes(codes) => codes.len() as u64,
        }
    }

    /// A lower bound of the keys of `part`, above all keys of earlier parts. A source that is cut
    /// into buckets has a multiple of 16 parts of equal ranges. So each of these parts has hashed
    /// keys of one first nibble only.
    ///
    /// # Errors
    /// When the first row of the part cannot be made.
    ///
    /// # Panics
    /// When `part` is not below [`Self::part_count`].
    pub fn part_start(&self, part: usize) -> Result<Vec<u8>, RowError> {
        assert!(part < self.part_count(), "part {part} of {}", self.part_count());
        match &self.rows {
            Rows::Accounts(plan) => plan.part_start(part),
            Rows::Slots(plan) => plan.part_start(part),
            Rows::Codes(_) => Ok(Vec::new()),
        }
    }

    /// Number of rows of all parts.
    pub fn row_count(&self) -> u64 {
        (0..self.part_count()).map(|part| self.part_row_count(part)).sum()
    }

    /// Passes the key and value of each row of `part` to `sink`, in order. All keys of a part are
    /// below the keys of later parts. Any thread may emit any part, at any time and several times.
    ///
    /// # Errors
    /// The errors of `sink`, and [`RowError`] where two rows have one key, the scratch file cannot
    /// be read or the settings' `cancel` is set.
    ///
    /// # Panics
    /// When `part` is not below [`Self::part_count`].
    pub fn emit<E: From<RowError>>(
        &self,
        part: usize,
        buffers: &mut PartBuffers,
        sink: &mut impl FnMut(&[u8], &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        assert!(part < self.part_count(), "part {part} of {}", self.part_count());
        match &self.rows {
            Rows::Accounts(plan) => buffers.accounts.emit(plan, part, &self.settings, sink),
            Rows::Slots(plan) => buffers.slots.emit(plan, part, &self.settings, sink),
            Rows::Codes(codes) => {
                for (hash, code) in codes {
                    self.settings.check_cancel()?;
                    sink(hash.as_slice(), &code.bytes())?;
                }
                Ok(())
            }
        }
    }
}

fn code_hashes(genesis: &Genesis, settings: &RowSettings<'_>) -> Result<CodeHashes, RowError> {
    CodeHashes::new(genesis, settings.threads, settings.cancel).ok_or(RowError::Cancelled)
}

#[cfg(test)]
mod tests;
