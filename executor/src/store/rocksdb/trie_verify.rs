//! Verifies the stored nodes of a state against its rows. The stored nodes must equal the nodes
//! that are built again from the rows. The root must also equal the root of
//! `alloy_trie::HashBuilder`, which shares no code with the crate `trie`.

use ::rocksdb::DB;
use alloy_primitives::hex;
use trie::{Format, StoreError as SinkError};

use super::{
    options,
    rows::Rows,
    sample::family,
    settings::{NAME, failed},
};
use crate::{
    state::{BuiltTries, ScanInput, StateError, Watch},
    store::trie_stream::{self, NodeRows},
};

const READING: &str = "read the nodes of tries";

/// Returns facts of the tries if all nodes are correct.
///
/// # Errors
/// [`StateError::Untrusted`] naming the first wrong node.
pub(super) fn verify(
    input: &ScanInput<'_>,
    watch: &Watch<'_>,
    db: &DB,
    format: Format,
) -> Result<BuiltTries, StateError> {
    let [accounts, slots] = [[0], [1]].map(|first| -> Result<_, StateError> {
        let mut reads = options::scan_reads();
        reads.set_iterate_lower_bound(first);
        reads.set_iterate_upper_bound([first[0] + 1]);
        Ok(Rows::new(db, family(db, options::TRIES)?, reads))
    });
    let stored = Stored { name: input.name, nodes: [accounts?, slots?] };
    trie_stream::verify(input, watch, format, stored, |table, sink| {
        let mut rows = Rows::new(db, family(db, options::family_of(table))?, options::scan_reads());
        while let Some((key, value)) = rows.next().map_err(failed("read the rows of tries"))? {
            sink(key, value)?;
        }
        Ok(())
    })
}

/// Compares the nodes that are built from the rows with the stored nodes.
struct Stored<'a> {
    /// Name of the state.
    name: &'a str,
    /// Stored nodes of accounts, and stored nodes of slots. Their keys begin with 0 and 1.
    nodes: [Rows<'a>; 2],
}

impl NodeRows for Stored<'_> {
    const STORE: &'static str = NAME;

    fn node(&mut self, key: &[u8], node: &[u8]) -> Result<(), SinkError> {
        // Keys from the stream begin with 0 for slots and 1 for accounts, since slots come first.
        // The stored keys have it the other way round.
        let [table, rest @ ..] = key else { return Err("it has no key".into()) };
        let stored = self.nodes[usize::from(1 - table)].next();
        match stored.map_err(failed(READING))? {
            Some((key, stored)) if key[1..] == *rest && stored == node => Ok(()),
            Some((key, _)) if key[1..] == *rest => Err("it is stored otherwise".into()),
            _ => Err("it is not stored".into()),
        }
    }

    fn end(mut self) -> Result<(), StateError> {
        for nodes in &mut self.nodes {
            if let Some((key, _)) = nodes.next().map_err(failed(READING))? {
                let row = hex::encode_prefixed(key);
                let reason = format!("the rows make no node that is stored as row {row}");
                return Err(StateError::untrusted(self.name, reason));
            }
        }
        Ok(())
    }
}
