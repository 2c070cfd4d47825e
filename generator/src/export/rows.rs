//! Writes the state before block 1 as sorted rows, for programs that fill a client's database, such
//! as `tools/geth-fill`. Three files have plain records without header or padding. Numbers are
//! big-endian, except the length of a code.

use std::io::Write;

use alloy_primitives::B256;
use workload::{AccountState, Layout, PartBuffers, RowSettings, RowStream, Table};

use super::{
    chain::{Chain, Settings},
    error::ExportError,
    root::{Changes, HashedRows, each_account},
};

/// The files of rows. Each record is a sequence of fields; a number after a field is its length in
/// bytes.
#[derive(Debug)]
pub struct RowFiles<W> {
    /// Account: keccak(address) 32, nonce 8, balance 32, storage root 32, code hash 32; by
    /// ascending hash.
    pub accounts: W,
    /// Slot: keccak(address) 32, keccak(slot) 32, value 32; ascending.
    pub slots: W,
    /// Code: hash 32, length 4 (little-endian), code; by ascending hash.
    pub codes: W,
}

/// Writes the rows.
///
/// # Errors
/// Where the rows cannot be made, or writing fails.
pub fn rows<W: Write>(
    chain: &Chain,
    settings: &Settings<'_>,
    files: &mut RowFiles<W>,
) -> Result<(), ExportError> {
    let row_settings = settings.rows();
    let rows = HashedRows::new(&chain.genesis, &row_settings)?;
    each_account(&rows, &Changes::default(), |hash, account, storage_root| {
        Ok::<_, ExportError>(files.accounts.write_all(&record(hash, account, &storage_root))?)
    })?;
    drop(rows);
    table(chain, Table::Slots, &row_settings, |key, value| {
        files.slots.write_all(key)?;
        Ok(files.slots.write_all(value)?)
    })?;
    table(chain, Table::Codes, &row_settings, |hash, code| {
        // A code has 64 KiB at most.
        let length = (code.len() as u32).to_le_bytes();
        Ok(files.codes.write_all(&[hash, &length, code].concat())?)
    })
}

fn record(hash: &B256, account: &AccountState, storage_root: &B256) -> [u8; 136] {
    let mut out = [0; 136];
    out[..32].copy_from_slice(hash.as_slice());
    out[32..40].copy_from_slice(&account.nonce.to_be_bytes());
    out[40..72].copy_from_slice(&account.balance.to_be_bytes::<32>());
    out[72..104].copy_from_slice(storage_root.as_slice());
    out[104..].copy_from_slice(account.code_hash.as_slice());
    out
}

fn table(
    chain: &Chain,
    table: Table,
    settings: &RowSettings<'_>,
    mut sink: impl FnMut(&[u8], &[u8]) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    let stream = RowStream::new(&chain.genesis, Layout::Hashed, table, settings, &|_| {})?;
    let mut buffers = PartBuffers::default();
    (0..stream.part_count()).try_for_each(|part| stream.emit(part, &mut buffers, &mut sink))
}
