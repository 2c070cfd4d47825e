//! The interface of a store to the tries of a state: reads of nodes by key, and of rows by range
//! ([`Tries`], [`TrieReader`]). Roots are computed over it; the store itself computes none. Also
//! has the names of formats of tries, and estimates of their sizes, for the build of states.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, U256};
use trie::{ExpectedNodes, Format, NodeKey, Nodes, RowRange};
use variant::TrieForm;
use workload::{
    AccountState, NetChanges,
    genesis::{Genesis, KeyRule},
};

use crate::{error::StoreError, read_counters::ReadCounters};

/// Maximal number of rows of a subtree whose nodes are left out, in the form [`TrieForm::Cut`].
const CUT_ROWS: u8 = 16;

/// Returns the format in which a state with tries of this form stores nodes; `None` for a state
/// without tries.
///
/// # Panics
/// Never, since the format allows this number of rows.
pub fn trie_format(form: TrieForm) -> Option<Format> {
    match form {
        TrieForm::Nothing => None,
        TrieForm::Cut => {
            let cut = Format::cut(CUT_ROWS);
            Some(cut.unwrap_or_else(|error| panic!("{CUT_ROWS} rows: {error}")))
        }
        TrieForm::RethLike => Some(Format::RethLike),
        TrieForm::Branches => Some(Format::Branches),
        TrieForm::All => Some(Format::All),
    }
}

/// Returns the name of the format. The name is a part of a state's name, so existing names never
/// change.
pub(crate) fn format_name(format: Format) -> String {
    match format {
        Format::Cut(cut) => format!("cut at {} rows", cut.rows()),
        Format::RethLike => TrieForm::RethLike.name().to_owned(),
        Format::Branches => TrieForm::Branches.name().to_owned(),
        Format::All => TrieForm::All.name().to_owned(),
    }
}

/// Returns the format with this name; `None` if no format has it.
pub(crate) fn format_by_name(name: &str) -> Option<Format> {
    all_formats().flatten().find(|format| format_name(*format) == name)
}

/// Text before the name of the tries' format in a shape, which is the text of the settings with
/// which a state was built.
const IN_SHAPE: &str = "tries ";

/// Returns the end of the shape of a state with tries in `format`; an empty text for a state
/// without tries.
pub(crate) fn shape_part(format: Option<Format>) -> String {
    format.map_or(String::new(), |format| format!(";{IN_SHAPE}{}", format_name(format)))
}

/// Returns the name of the tries' format in a state of this shape; `None` for a state without
/// tries.
pub fn name_in_shape(shape: &str) -> Option<&str> {
    shape.split(';').find_map(|part| part.strip_prefix(IN_SHAPE))
}

/// Returns all formats in which states are built, and `None` for states without tries.
pub(crate) fn all_formats() -> impl Iterator<Item = Option<Format>> {
    TrieForm::ALL.iter().map(|form| trie_format(*form))
}

/// Approximate maximal bytes of an account's value in its leaf.
const ACCOUNT_BYTES: u64 = 90;
/// Maximal bytes of a slot's value in its leaf.
const SLOT_BYTES: u64 = 33;
/// Maximal number of branches above the deepest slot of a contract with mined slots, and their
/// bytes.
const DEEP_NODES: ExpectedNodes = ExpectedNodes { count: 10.0, bytes: 1_000.0 };

/// Returns the expected count and bytes of the nodes of a state's tries in a format.
pub(crate) fn expected_nodes(format: Format, genesis: &Genesis) -> ExpectedNodes {
    let accounts = format.expected_nodes(genesis.account_count(), ACCOUNT_BYTES);
    // Many contracts have the same number of slots, so each number is computed once.
    let mut tries_by_rows = BTreeMap::<u64, u64>::new();
    for rows in slot_counts(genesis) {
        *tries_by_rows.entry(rows).or_default() += 1;
    }
    let slots = tries_by_rows.into_iter().fold(accounts, |nodes, (rows, tries)| {
        nodes.plus(tries as f64, format.expected_nodes(rows, SLOT_BYTES))
    });
    let deep = genesis.slots.iter().filter(|family| family.keys == KeyRule::Deep).count();
    slots.plus(deep as f64, DEEP_NODES)
}

/// Returns the number of tries of slots with at least one row.
pub(crate) fn slot_trie_count(genesis: &Genesis) -> u64 {
    slot_counts(genesis).filter(|rows| *rows > 0).count() as u64
}

/// Returns the number of slots of each account that may have slots.
fn slot_counts(genesis: &Genesis) -> impl Iterator<Item = u64> {
    let explicit = genesis.accounts.iter().map(|account| account.storage.len() as u64);
    explicit.chain(genesis.slots.iter().map(|family| family.count))
}

/// Estimates the bytes of files with the expected nodes. Each node has `header_bytes` of key and
/// header, and blocks are filled to the share `fill`. Adds a tenth, since there may be more nodes
/// than expected.
pub(crate) fn byte_estimate(nodes: ExpectedNodes, header_bytes: u64, fill: f64) -> u64 {
    let bytes = nodes.bytes + nodes.count * header_bytes as f64;
    (bytes / fill * 1.1) as u64
}

/// A trie of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TrieId {
    /// The trie of all accounts.
    Accounts,
    /// The trie of the slots of the account whose address has this hash.
    Slots(B256),
}

impl TrieId {
    /// Returns the key of the row that holds a node. Keys of one trie's nodes are adjacent. Keys of
    /// account nodes are before those of slot nodes.
    pub fn row_key(&self, key: &NodeKey) -> Vec<u8> {
        let key = key.to_bytes();
        match self {
            Self::Accounts => [&[0][..], &key].concat(),
            Self::Slots(account) => [&[1][..], account.as_slice(), &key].concat(),
        }
    }

    /// Returns the key of the row that holds a node in a store that is built in one pass. Keys of
    /// slot nodes are before those of account nodes, since an account's leaf contains the root of
    /// its slots.
    pub fn slots_first_key(&self, key: &NodeKey) -> Vec<u8> {
        let key = key.to_bytes();
        match self {
            Self::Slots(account) => [&[0][..], account.as_slice(), &key].concat(),
            Self::Accounts => [&[1][..], &key].concat(),
        }
    }
}

/// Facts of the tries of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateTries {
    /// Format that decides which nodes are stored.
    pub format: Format,
    /// State root when the state was built.
    pub root: B256,
}

impl StateTries {
    /// Returns format and root as a fact of a store: name and value.
    pub(crate) fn fact(&self) -> (String, String) {
        ("tries".to_owned(), format!("{}, state root {}", format_name(self.format), self.root))
    }
}

/// Changes of the stored nodes of one trie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeChanges {
    /// The trie.
    pub trie: TrieId,
    /// Nodes to store.
    pub put: Nodes,
    /// Nodes to delete.
    pub deleted: Vec<NodeKey>,
}

/// The tries of a state that is open for a sample.
pub trait Tries: Sync {
    /// Returns the format, which decides which nodes are stored.
    fn format(&self) -> Format;

    /// Makes a reader for the calling thread.
    ///
    /// # Errors
    /// [`StoreError`].
    fn reader(&self) -> Result<Box<dyn TrieReader + '_>, StoreError>;

    /// Returns a suitable number of ranges for one call of [`TrieReader::slot_ranges`].
    fn ranges_per_call(&self) -> usize {
        16
    }

    /// Writes the changes of a batch to flat state, together with the changes of stored nodes.
    ///
    /// # Errors
    /// [`StoreError`].
    fn commit(&self, changes: &NetChanges, nodes: &[NodeChanges]) -> Result<(), StoreError>;
}

/// Receiver of requested nodes. Takes the index of a node in the request, and the node's bytes;
/// `None` if the node is not stored.
pub type NodeSink<'s> = dyn FnMut(usize, Option<&[u8]>) + 's;

/// Reads of tries by one thread.
pub trait TrieReader {
    /// Reads nodes. Calls `sink` once for each of `keys`, in any order.
    ///
    /// # Errors
    /// [`StoreError`].
    fn nodes(
        &mut self,
        keys: &[(TrieId, NodeKey)],
        sink: &mut NodeSink<'_>,
    ) -> Result<(), StoreError>;

    /// Reads the slots of an account in a range of their hashed keys, in order.
    ///
    /// # Errors
    /// [`StoreError`].
    fn slots(
        &mut self,
        account: &B256,
        range: &RowRange,
        sink: &mut dyn FnMut(B256, U256),
    ) -> Result<(), StoreError> {
        self.slot_ranges(&[(*account, *range)], &mut |_, key, value| sink(key, value))
    }

    /// Reads several ranges of slots, together if the store can do so. Calls `sink` for each slot
    /// with the index of its range. The calls are range by range, and in order within a range.
    ///
    /// # Errors
    /// [`StoreError`].
    fn slot_ranges(
        &mut self,
        ranges: &[(B256, RowRange)],
        sink: &mut dyn FnMut(usize, B256, U256),
    ) -> Result<(), StoreError>;

    /// Reads the accounts in a range of hashed addresses, in order.
    ///
    /// # Errors
    /// [`StoreError`].
    fn accounts(
        &mut self,
        range: &RowRange,
        sink: &mut dyn FnMut(B256, AccountState),
    ) -> Result<(), StoreError>;

    /// Reads an account by the hash of its address.
    ///
    /// # Errors
    /// [`StoreError`].
    fn account(&mut self, key: &B256) -> Result<Option<AccountState>, StoreError> {
        let mut found = None;
        let range = RowRange { first: *key, last: *key };
        self.accounts(&range, &mut |_, state| found = Some(state))?;
        Ok(found)
    }

    /// Returns the counts of this reader's reads since it was made. Each row of a range counts as a
    /// key.
    fn counters(&self) -> ReadCounters;
}

/// A changed slot: account, key and value.
pub(crate) type SlotChange = (Address, U256, U256);

/// Groups sorted slots by account. Each group comes with its part of `hashes`, which has one hash
/// per slot.
pub(crate) fn slots_by_account<'c>(
    slots: &'c [SlotChange],
    hashes: &'c [[u8; 32]],
) -> impl Iterator<Item = (&'c [SlotChange], &'c [[u8; 32]])> {
    let mut first = 0;
    slots.chunk_by(|a, b| a.0 == b.0).map(move |slots| {
        let hashes = &hashes[first..first + slots.len()];
        first += slots.len();
        (slots, hashes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_read_from_its_name_and_the_names_stay() {
        let names: Vec<_> = all_formats().flatten().map(format_name).collect();
        assert_eq!(names, ["cut at 16 rows", "reth-like", "branches", "all"]);
        for name in names {
            assert_eq!(format_by_name(&name).map(format_name), Some(name));
        }
        assert_eq!(format_by_name("cut at 17 rows"), None);
    }

    #[test]
    fn nodes_of_a_trie_lie_together_in_their_order() {
        let path = |nibbles: &[u8]| {
            NodeKey::Node(trie::Path::of_nibbles(nibbles.iter().copied()).unwrap())
        };
        let slots = TrieId::Slots(B256::repeat_byte(3));
        let keys = [path(&[1, 2]), path(&[1]), path(&[2]), path(&[]), NodeKey::Top];
        let rows: Vec<_> = [TrieId::Accounts, slots, TrieId::Slots(B256::repeat_byte(4))]
            .iter()
            .flat_map(|trie| keys.map(|key| trie.row_key(&key)))
            .collect();
        assert!(rows.is_sorted_by(|a, b| a < b));
    }
}
