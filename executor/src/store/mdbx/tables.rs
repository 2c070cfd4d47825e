//! The MDBX tables of a state, with reads and writes of rows. MDBX aborts the process for some keys
//! of a wrong size, so this module checks the length of each key first.

use std::borrow::Cow;

use alloy_primitives::U256;
use signet_libmdbx::{
    Cursor, Database, DatabaseFlags, Environment, MdbxError, Rw, TransactionKind, WriteFlags,
    tx::Tx,
};
use trie::Format;
use variant::SlotTable;
use workload::{
    Layout, Table,
    layout::{RowKey, encode_slot},
};

use super::{
    environment::{NAME, failed, failed_read},
    slots::{self, Duplicate},
};
use crate::{error::StoreError, store::lookup::RowName};

/// A row's table and key.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableKey<'k> {
    pub(super) table: Table,
    pub(super) key: &'k [u8],
}

/// The tables of a state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tables {
    accounts: Database,
    slots: Database,
    codes: Database,
    /// Table of the nodes of tries; `None` if the state has no tries.
    nodes: Option<Database>,
    form: Form,
}

/// Layout of row keys, form of the table of slots, and format of the tries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    pub(super) layout: Layout,
    pub(super) slots: SlotTable,
    pub(super) tries: Option<Format>,
}

/// Name of the table of the nodes of tries.
pub(super) const NODES: &str = "tries";

/// Name of the MDBX table that holds the rows of `table`.
pub(super) const fn table_name(table: Table) -> &'static str {
    match table {
        Table::Accounts => "accounts",
        Table::Slots => "storage",
        Table::Codes => "code",
    }
}

impl Tables {
    /// Creates the tables in a new environment.
    pub(super) fn create(environment: &Environment, form: Form) -> Result<Self, StoreError> {
        Self::try_create(environment, form).map_err(failed("make the tables"))
    }

    fn try_create(environment: &Environment, form: Form) -> Result<Self, MdbxError> {
        let tx = environment.begin_rw_unsync()?;
        let slot_flags = match form.slots {
            SlotTable::DupSort => DatabaseFlags::DUP_SORT,
            SlotTable::Rows => DatabaseFlags::empty(),
        };
        let tables = Self {
            accounts: tx.create_db(Some(table_name(Table::Accounts)), DatabaseFlags::empty())?,
            slots: tx.create_db(Some(table_name(Table::Slots)), slot_flags)?,
            codes: tx.create_db(Some(table_name(Table::Codes)), DatabaseFlags::empty())?,
            nodes: (form.tries)
                .map(|_| tx.create_db(Some(NODES), DatabaseFlags::empty()))
                .transpose()?,
            form,
        };
        tx.commit()?;
        Ok(tables)
    }

    /// Opens the tables of an environment.
    pub(super) fn open(environment: &Environment, form: Form) -> Result<Self, StoreError> {
        Self::try_open(environment, form).map_err(failed("open the tables"))
    }

    fn try_open(environment: &Environment, form: Form) -> Result<Self, MdbxError> {
        let tx = environment.begin_ro_unsync()?;
        let [accounts, slots, codes] = Table::ALL.map(|table| tx.open_db(Some(table_name(table))));
        let nodes = form.tries.map(|_| tx.open_db(Some(NODES))).transpose()?;
        let tables = Self { accounts: accounts?, slots: slots?, codes: codes?, nodes, form };
        // Handles outlive a transaction only if it is committed.
        tx.commit()?;
        Ok(tables)
    }

    /// Layout of row keys, form of the table of slots, and format of the tries.
    pub(super) const fn form(&self) -> Form {
        self.form
    }

    /// Handle of `table`.
    pub(super) const fn handle(&self, table: Table) -> Database {
        match table {
            Table::Accounts => self.accounts,
            Table::Slots => self.slots,
            Table::Codes => self.codes,
        }
    }

    /// Handle of the table of nodes; `None` if the state has no tries.
    pub(super) const fn nodes(&self) -> Option<Database> {
        self.nodes
    }

    /// Returns the number of branch pages of all tables.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn branch_count(&self, environment: &Environment) -> Result<u64, StoreError> {
        let tx = environment.begin_ro_unsync().map_err(failed("look at the tables"))?;
        let tables = Table::ALL.map(|table| self.handle(table)).into_iter().chain(self.nodes);
        let pages = tables.map(|table| Ok(tx.db_stat(&table)?.branch_pages() as u64));
        pages.sum::<Result<_, _>>().map_err(failed("look at the tables"))
    }

    /// Checks that a key has the length of the table's keys.
    #[inline]
    fn check_key(&self, table: Table, key: &[u8]) -> Result<(), StoreError> {
        let wanted = match (table, self.form.layout) {
            (Table::Accounts, Layout::Plain) => 20,
            (Table::Accounts, Layout::Hashed) | (Table::Codes, _) => 32,
            (Table::Slots, layout) => layout.slot_key_bytes(),
        };
        if key.len() == wanted {
            return Ok(());
        }
        let action = format!("use a key of {} bytes for {}", key.len(), table_name(table));
        Err(StoreError::failed(NAME, action, format!("its keys have {wanted} bytes")))
    }

    /// Passes the stored bytes of `row`'s value, as `tx` sees them, to `decode`. Returns `None` if
    /// the row does not exist.
    ///
    /// # Errors
    /// The errors of `decode`, and [`StoreError::Damaged`] with the row named by `name`.
    #[inline]
    pub(super) fn get<K: TransactionKind, T>(
        &self,
        tx: &Tx<K>,
        row: TableKey<'_>,
        name: RowName<'_>,
        decode: impl FnOnce(&[u8]) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        self.check_key(row.table, row.key)?;
        if (row.table, self.form.slots) == (Table::Slots, SlotTable::DupSort) {
            let (account, subkey) = slots::split(row.key);
            let mut cursor =
                tx.cursor(self.slots).map_err(|error| failed(name.to_string())(error))?;
            let found = seek(&mut cursor, account, subkey);
            let found = found.map_err(|error| failed_read(name.to_string())(error))?;
            let value = found.as_deref().and_then(|found| slots::value_of(found, subkey));
            return value.map(decode).transpose();
        }
        let found = tx.get::<Cow<'_, [u8]>>(self.handle(row.table).dbi(), row.key);
        match found.map_err(|error| failed_read(name.to_string())(error))? {
            Some(value) => decode(&value).map(Some),
            None => Ok(None),
        }
    }

    /// Appends a row of `table`; its key must be the greatest so far.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn append(
        &self,
        tx: &Tx<Rw>,
        row: TableKey<'_>,
        value: &[u8],
    ) -> Result<(), StoreError> {
        self.check_key(row.table, row.key)?;
        let handle = self.handle(row.table);
        let appended = if (row.table, self.form.slots) == (Table::Slots, SlotTable::DupSort) {
            let (account, subkey) = slots::split(row.key);
            let duplicate = duplicate(subkey, value)?;
            // The row is the last of the table, and the last of the account's duplicates.
            let flags = WriteFlags::APPEND | WriteFlags::APPEND_DUP;
            tx.put(handle, account, duplicate.as_slice(), flags)
        } else {
            tx.append(handle, row.key, value)
        };
        appended.map_err(failed("append a row"))
    }

    /// Writes a row of accounts or codes; `None` removes it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn write(
        &self,
        tx: &Tx<Rw>,
        row: TableKey<'_>,
        value: Option<&[u8]>,
    ) -> Result<(), StoreError> {
        self.check_key(row.table, row.key)?;
        let handle = self.handle(row.table);
        let written = match value {
            Some(value) => tx.put(handle, row.key, value, WriteFlags::UPSERT),
            None => tx.del(handle, row.key, None).map(drop),
        };
        written.map_err(failed("write a row"))
    }

    /// Writes slots; a value of zero removes the slot.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn write_slots(
        &self,
        tx: &Tx<Rw>,
        rows: &[(RowKey, &U256)],
    ) -> Result<(), StoreError> {
        if self.form.slots == SlotTable::Rows {
            return rows.iter().try_for_each(|(key, value)| {
                let row = TableKey { table: Table::Slots, key: key.as_slice() };
                self.write(tx, row, present(value).as_ref().map(<[u8; 32]>::as_slice))
            });
        }
        let mut cursor = tx.cursor(self.slots).map_err(failed("write a row"))?;
        for (key, value) in rows {
            self.check_key(Table::Slots, key.as_slice())?;
            let (account, subkey) = slots::split(key.as_slice());
            let found = seek(&mut cursor, account, subkey).map_err(failed_read("write a row"))?;
            // The new duplicate would be added beside the old one, so the old duplicate is deleted
            // first.
            if found.is_some_and(|found| slots::value_of(&found, subkey).is_some()) {
                cursor.del().map_err(failed("write a row"))?;
            }
            if let Some(value) = present(value) {
                let duplicate = duplicate(subkey, &value)?;
                let written = cursor.put(account, duplicate.as_slice(), WriteFlags::UPSERT);
                written.map_err(failed("write a row"))?;
            }
        }
        Ok(())
    }
}

/// Encodes a slot's value; `None` for zero, which is not stored.
fn present(value: &U256) -> Option<[u8; 32]> {
    (!value.is_zero()).then(|| encode_slot(value))
}

/// Returns the first duplicate of `account` that is not below `subkey`.
#[inline]
fn seek<'tx, K: TransactionKind>(
    cursor: &mut Cursor<'tx, K>,
    account: &[u8],
    subkey: &[u8],
) -> Result<Option<Cow<'tx, [u8]>>, signet_libmdbx::ReadError> {
    cursor.get_both_range(account, subkey)
}

fn duplicate(subkey: &[u8], value: &[u8]) -> Result<Duplicate, StoreError> {
    Duplicate::new(subkey, value).ok_or_else(|| {
        let action = format!("write a value of {} bytes for a slot", value.len());
        StoreError::failed(NAME, action, "its values have 32 bytes")
    })
}
