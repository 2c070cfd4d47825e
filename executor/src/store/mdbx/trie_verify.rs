//! Verifies the stored nodes of a state against its rows. The stored nodes must equal the nodes
//! that are built again from the rows. The root must also equal the root of
//! `alloy_trie::HashBuilder`.

use std::borrow::Cow;

use signet_libmdbx::{Cursor, Ro, tx::Tx};
use trie::Format;

use super::{
    environment::{NAME, failed, failed_read},
    tables::Tables,
};
use crate::{
    error::StoreError,
    state::{BuiltTries, ScanInput, StateError, Watch},
    store::trie_stream::{self, NodeRow, SameNodes, StoredNodes},
};

const READING: &str = "read the nodes of tries";

/// Returns facts of the tries if all nodes are correct.
///
/// # Errors
/// [`StateError::Untrusted`] naming the first wrong node.
pub(super) fn verify(
    input: &ScanInput<'_>,
    watch: &Watch<'_>,
    tables: &Tables,
    tx: &Tx<Ro>,
    format: Format,
) -> Result<BuiltTries, StateError> {
    let cursor = tables.nodes_table().and_then(|nodes| tx.cursor(nodes).map_err(failed(READING)));
    let cursor = cursor.map_err(|error| StateError::from(error).of_check(input.name))?;
    let nodes = SameNodes(Stored { cursor, is_begun: false });
    trie_stream::verify(input, watch, format, nodes, |table, sink| tables.each_row(tx, table, sink))
}

/// Reads the nodes of the table in order.
struct Stored<'tx> {
    cursor: Cursor<'tx, Ro>,
    /// True after the first node.
    is_begun: bool,
}

impl StoredNodes for Stored<'_> {
    const STORE: &'static str = NAME;

    fn next(&mut self) -> Result<Option<NodeRow>, StoreError> {
        // The library reuses cursors, so a new cursor may be at any row, not before the first.
        let next = match std::mem::replace(&mut self.is_begun, true) {
            true => self.cursor.next::<Cow<'_, [u8]>, Cow<'_, [u8]>>(),
            false => self.cursor.first(),
        };
        let next = next.map_err(failed_read(READING))?;
        Ok(next.map(|(key, node)| (key.into_owned(), node.into_owned())))
    }
}
