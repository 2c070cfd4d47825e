//! The stored nodes of a state against its rows: each is the one that the rows make, there is no
//! other, and the root is that of `alloy_trie::HashBuilder` too.

use std::borrow::Cow;

use signet_libmdbx::{Cursor, Ro, tx::Tx};
use trie::Format;
use workload::Table;

use super::{
    environment::{failed, failed_read},
    settings::NAME,
    tables::Tables,
};
use crate::{
    error::StoreError,
    state::{BuildPhase, BuiltTries, ScanInput, StateError, Watch},
    store::trie_stream::{Hashing, NodeRow, SameNodes, StoredNodes, StreamOf, TrieStream},
};

/// Rows between two looks at the cancel flag.
const REPORT_ROWS: u64 = 1 << 16;

/// The tries, if all nodes are right.
///
/// # Errors
/// [`StateError::Untrusted`] naming the first wrong node.
pub(super) fn verify(
    input: &ScanInput<'_>,
    tables: &Tables,
    tx: &Tx<Ro>,
    format: Format,
    watch: &Watch<'_>,
) -> Result<BuiltTries, StateError> {
    let rows = &input.manifest.rows;
    watch.progress.begin(BuildPhase::Tries, rows.accounts + rows.slots);
    compare(tables, tx, format, watch).map_err(|error| error.of_check(input.name))
}

fn compare(
    tables: &Tables,
    tx: &Tx<Ro>,
    format: Format,
    watch: &Watch<'_>,
) -> Result<BuiltTries, StateError> {
    let cursor = tx.cursor(tables.nodes_table()?).map_err(failed("read the nodes of tries"))?;
    let stored = SameNodes { store: NAME, stored: Stored { cursor, is_begun: false } };
    let of = StreamOf { store: NAME, format, hashing: Hashing::Twice };
    let mut tries = TrieStream::new(of, stored);
    for table in [Table::Slots, Table::Accounts] {
        let mut count = 0_u64;
        tables.each_row(tx, table, &mut |key, value| {
            count += 1;
            if count.is_multiple_of(REPORT_ROWS) {
                watch.progress.advance(REPORT_ROWS);
                watch.check()?;
            }
            match table {
                Table::Slots => tries.slot(key, value),
                Table::Accounts | Table::Codes => tries.account(key, value),
            }
        })?;
        watch.progress.advance(count % REPORT_ROWS);
    }
    let (built, stored) = tries.finish()?;
    stored.end()?;
    Ok(built)
}

/// The nodes of a table.
struct Stored<'tx> {
    cursor: Cursor<'tx, Ro>,
    is_begun: bool,
}

impl StoredNodes for Stored<'_> {
    fn next(&mut self) -> Result<Option<NodeRow>, StoreError> {
        // A cursor of before may have left this one at another place.
        let next = match std::mem::replace(&mut self.is_begun, true) {
            true => self.cursor.next::<Cow<'_, [u8]>, Cow<'_, [u8]>>(),
            false => self.cursor.first(),
        };
        let next = next.map_err(|error| failed_read("read the nodes of tries")(error))?;
        Ok(next.map(|(key, node)| (key.into_owned(), node.into_owned())))
    }
}
