//! Reads rows of MDBX tables in the order of their keys: the rows of a range of keys, for roots, or
//! all rows, for scans. Callers need not know the form of the table of slots.

use std::borrow::Cow;

use alloy_primitives::{B256, U256, hex};
use signet_libmdbx::{Cursor, ReadError, TransactionKind, tx::Tx};
use trie::RowRange;
use variant::SlotTable;
use workload::{
    AccountState, Table,
    layout::{decode_account, encode_slot},
};

use super::{
    environment::{NAME, failed, failed_read},
    slots,
    tables::Tables,
};
use crate::{
    error::StoreError,
    state::{RowSink, StateError},
};

/// Key and value of a row, as the table stores them.
type Pair<'tx> = (Cow<'tx, [u8]>, Cow<'tx, [u8]>);

const READING: &str = "read rows of a trie";

fn read<T>(result: Result<T, ReadError>) -> Result<T, StoreError> {
    result.map_err(|error| failed_read(READING)(error))
}

fn wrong(key: &[u8]) -> StoreError {
    let reason = "its key or its value has another length";
    StoreError::damaged(NAME, hex::encode_prefixed(key), reason)
}

impl Tables {
    fn rows_cursor<'tx, K: TransactionKind>(
        &self,
        tx: &'tx Tx<K>,
        table: Table,
    ) -> Result<Cursor<'tx, K>, StoreError> {
        tx.cursor(self.handle(table)).map_err(failed(READING))
    }

    /// Passes the slots of an account in a range of hashed keys to `sink`. `account` is the hash of
    /// the address. Returns the number of slots.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn slots_in<K: TransactionKind>(
        &self,
        tx: &Tx<K>,
        account: &B256,
        range: &RowRange,
        sink: &mut dyn FnMut(B256, U256),
    ) -> Result<u64, StoreError> {
        let mut cursor = self.rows_cursor(tx, Table::Slots)?;
        let mut count = 0;
        let mut take = |key: B256, value: &[u8], form| {
            let value = slots::decode(form, value).ok_or_else(|| wrong(key.as_slice()))?;
            count += 1;
            sink(key, value);
            Ok::<_, StoreError>(())
        };
        match self.form().slots {
            form @ SlotTable::Rows => {
                let [first, last] =
                    [range.first, range.last].map(|key| [account.as_slice(), &key[..]].concat());
                let mut next = read(cursor.set_range::<Cow<'_, [u8]>, Cow<'_, [u8]>>(&first))?;
                while let Some((key, value)) = next.filter(|(key, _)| **key <= last[..]) {
                    let (_, part) = slots::split(&key);
                    take(B256::try_from(part).map_err(|_| wrong(&key))?, &value, form)?;
                    // A read after the last key could fetch another leaf.
                    next = if *key == last { None } else { read(cursor.next())? };
                }
            }
            form @ SlotTable::DupSort => {
                let found = cursor.get_both_range::<Cow<'_, [u8]>>(&account[..], &range.first[..]);
                let mut next = read(found)?;
                while let Some(duplicate) = next {
                    let (part, value) =
                        slots::parts(&duplicate).ok_or_else(|| wrong(&duplicate))?;
                    let part = B256::from_slice(part);
                    if part > range.last {
                        break;
                    }
                    take(part, value, form)?;
                    let following: Option<Pair<'_>> =
                        if part == range.last { None } else { read(cursor.next_dup())? };
                    next = following.map(|(_, duplicate)| duplicate);
                }
            }
        }
        Ok(count)
    }

    /// Passes the accounts in a range of hashed addresses to `sink`. Returns the number of
    /// accounts.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn accounts_in<K: TransactionKind>(
        &self,
        tx: &Tx<K>,
        range: &RowRange,
        sink: &mut dyn FnMut(B256, AccountState),
    ) -> Result<u64, StoreError> {
        let mut cursor = self.rows_cursor(tx, Table::Accounts)?;
        let mut count = 0;
        let mut next = read(cursor.set_range::<Cow<'_, [u8]>, Cow<'_, [u8]>>(&range.first[..]))?;
        while let Some((key, value)) = next.filter(|(key, _)| **key <= range.last[..]) {
            let state = decode_account(&value).ok_or_else(|| wrong(&key))?;
            let account = B256::try_from(&key[..]).map_err(|_| wrong(&key))?;
            count += 1;
            sink(account, state);
            next = if account == range.last { None } else { read(cursor.next())? };
        }
        Ok(count)
    }

    /// Passes all rows of a table to `sink`. A slot's key is the account's key and the slot's key;
    /// its value has 32 bytes.
    ///
    /// # Errors
    /// [`StoreError`] with the table's name, and the errors of `sink`.
    pub(super) fn each_row<K: TransactionKind>(
        &self,
        tx: &Tx<K>,
        table: Table,
        sink: &mut RowSink<'_>,
    ) -> Result<(), StateError> {
        let name = format!("table {table:?}");
        let mut cursor = tx.cursor(self.handle(table)).map_err(failed(name.as_str()))?;
        let mut next: Option<Pair<'_>> = cursor.first().map_err(failed_read(name.as_str()))?;
        while let Some((key, value)) = next {
            match (table, self.form().slots) {
                (Table::Slots, form @ SlotTable::DupSort) => {
                    let row = slots::parts(&value).and_then(|(subkey, value)| {
                        Some((subkey, encode_slot(&slots::decode(form, value)?)))
                    });
                    let (subkey, value) = row.ok_or_else(|| no_slot(&key, &value))?;
                    sink(&[&key[..], subkey].concat(), &value)?;
                }
                _ => sink(&key, &value)?,
            }
            next = cursor.next().map_err(|error| failed_read(name.as_str())(error))?;
        }
        Ok(())
    }
}

fn no_slot(account: &[u8], duplicate: &[u8]) -> StoreError {
    let what = format!("a slot of account {}", hex::encode_prefixed(account));
    StoreError::damaged(NAME, what, format!("{} is no slot", hex::encode_prefixed(duplicate)))
}
