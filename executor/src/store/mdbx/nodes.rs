//! Reads and writes of the table of the nodes of tries. Nodes of slot tries, by hashed address and
//! path, come before the nodes of the account trie.

use std::borrow::Cow;

use signet_libmdbx::{Database, Rw, TransactionKind, WriteFlags, tx::Tx};

use super::{
    environment::{NAME, failed, failed_read},
    tables::{NODES, Tables},
};
use crate::error::StoreError;

/// Number of bytes of the longest key: a byte for the table, a hashed address, a path of 64 nibbles
/// and an end byte.
const KEY_BYTES_MAX: usize = 1 + 32 + 64 + 1;

impl Tables {
    /// Returns the handle of the table of nodes.
    ///
    /// # Errors
    /// [`StoreError::Failed`]: the state has no tries.
    pub(super) fn nodes_table(&self) -> Result<Database, StoreError> {
        self.nodes().ok_or_else(|| {
            let action = format!("look into the table {NODES}");
            StoreError::failed(NAME, action, "the state has no tries")
        })
    }

    /// Passes the node with `key`, as `tx` sees it, to `take`; `None` if it does not exist. Returns
    /// the result of `take`.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn node<K: TransactionKind, T>(
        &self,
        tx: &Tx<K>,
        key: &[u8],
        take: impl FnOnce(Option<&[u8]>) -> T,
    ) -> Result<T, StoreError> {
        check_key(key)?;
        let found = tx.get::<Cow<'_, [u8]>>(self.nodes_table()?.dbi(), key);
        let node = found.map_err(|error| failed_read("read a node of a trie")(error))?;
        Ok(take(node.as_deref()))
    }

    /// Appends a node; its key must be the greatest so far.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn append_node(
        &self,
        tx: &Tx<Rw>,
        key: &[u8],
        node: &[u8],
    ) -> Result<(), StoreError> {
        check_key(key)?;
        tx.append(self.nodes_table()?, key, node).map_err(failed("append a node of a trie"))
    }

    /// Writes a node; `None` removes it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn write_node(
        &self,
        tx: &Tx<Rw>,
        key: &[u8],
        node: Option<&[u8]>,
    ) -> Result<(), StoreError> {
        check_key(key)?;
        let table = self.nodes_table()?;
        let written = match node {
            Some(node) => tx.put(table, key, node, WriteFlags::UPSERT),
            None => tx.del(table, key, None).map(drop),
        };
        written.map_err(failed("write a node of a trie"))
    }
}

/// Checks that a node's key can have this length.
fn check_key(key: &[u8]) -> Result<(), StoreError> {
    if (1..=KEY_BYTES_MAX).contains(&key.len()) {
        return Ok(());
    }
    let action = format!("use a key of {} bytes for {NODES}", key.len());
    Err(StoreError::failed(NAME, action, format!("its keys have 1 to {KEY_BYTES_MAX} bytes")))
}
