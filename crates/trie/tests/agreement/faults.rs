//! Faults planted in stored tries: each leads to another root or an error, never to a panic.

use alloy_primitives::B256;
use trie::{Error, Format, MemoryTrie, NodeKey, Path, Rows, update};

use crate::oracle::{State, formats, hashed, root, update_by};

/// Returns the root after writes for several numbers of shards; `None` for an error.
fn roots(format: Format, trie: &MemoryTrie, writes: &Rows) -> Vec<Option<B256>> {
    let counts = [None, Some(1), Some(2), Some(3), Some(16)];
    let folded = counts.map(|count| update_by(format, count, writes, trie));
    folded.into_iter().map(|folded| folded.ok().map(|folded| folded.root)).collect()
}

fn write(key: B256, value: &[u8]) -> Rows {
    let mut rows = Rows::default();
    rows.push(key, value);
    rows
}

fn built(format: Format, rows: &State) -> MemoryTrie {
    MemoryTrie::build(format, rows.clone()).expect("rows").0
}

/// The node is above a written row, and was made of an older value of a row that no write touches.
#[test]
fn a_stale_node_makes_another_root() {
    let rows = hashed(20_000);
    let first = *rows.keys().next().expect("a row");
    let above = Path::of_key(&first).prefix(1);
    let last = *rows.range(..=above.last_key()).next_back().expect("a row").0;
    assert_ne!(Path::of_key(&first).prefix(2), Path::of_key(&last).prefix(2));
    let mut stale = rows.clone();
    stale.insert(last, b"an older value".to_vec());
    let writes = write(first, b"new");
    for format in formats() {
        let mut trie = built(format, &rows);
        let mut after = rows.clone();
        after.insert(first, b"new".to_vec());
        let expected = root(&after);
        assert!(roots(format, &trie, &writes).into_iter().all(|root| root == Some(expected)));
        let node = built(format, &stale).nodes[&NodeKey::Node(above)].clone();
        assert!(trie.nodes.insert(NodeKey::Node(above), node.clone()) != Some(node));
        assert!(roots(format, &trie, &writes).into_iter().all(|root| root != Some(expected)));
    }
}

/// Rows of which two are the only children of a deep branch: the row to delete, and its sibling.
fn siblings() -> (State, B256, B256) {
    let mut rows = hashed(3_000);
    let gone = *rows.keys().nth(1_234).expect("a row");
    let mut left = gone;
    left[31] ^= 1;
    rows.insert(left, b"the value of the row that stays".to_vec());
    assert_eq!(Path::of_key(&gone).common(&Path::of_key(&left)), 63);
    (rows, gone, left)
}

#[test]
fn a_wrong_sibling_makes_another_root() {
    let (rows, gone, left) = siblings();
    let mut after = rows.clone();
    after.remove(&gone);
    let expected = root(&after);
    let mut wrong = rows.clone();
    wrong.insert(left, b"the value of some other row....".to_vec());
    for format in formats() {
        let mut trie = built(format, &rows);
        assert!(
            roots(format, &trie, &write(gone, b"")).into_iter().all(|root| root == Some(expected))
        );
        let other = built(format, &wrong);
        // The sibling's row; in the format of all nodes, which reads no row, its leaf.
        trie.rows = other.rows;
        let leaf = NodeKey::Node(Path::of_key(&left));
        if let Some(node) = other.nodes.get(&leaf) {
            trie.nodes.insert(leaf, node.clone());
        }
        assert!(
            roots(format, &trie, &write(gone, b"")).into_iter().all(|root| root != Some(expected))
        );
    }
}

#[test]
fn a_lost_delete_makes_another_root() {
    let (rows, gone, _) = siblings();
    let other = *rows.keys().next().expect("a row");
    let mut after = rows.clone();
    after.remove(&gone);
    after.insert(other, b"new".to_vec());
    let expected = root(&after);
    let mut both = write(other, b"new");
    both.push(gone, b"");
    for format in formats() {
        let trie = built(format, &rows);
        assert!(roots(format, &trie, &both).into_iter().all(|root| root == Some(expected)));
        let lost = roots(format, &trie, &write(other, b"new"));
        assert!(lost.into_iter().all(|root| root.is_some_and(|root| root != expected)));
    }
}

#[test]
fn lost_rows_and_nodes_are_named() {
    let (rows, gone, left) = siblings();
    for format in formats() {
        let trie = built(format, &rows);
        let mut lost = trie.clone();
        lost.rows.remove(&left);
        let result = update(format, write(gone, b""), &lost);
        assert_eq!(
            matches!(result, Err(Error::RowCount { .. })),
            format != Format::All,
            "{format:?}"
        );
        let mut lost = trie;
        lost.nodes.remove(&NodeKey::Node(Path::ROOT));
        let result = update(format, write(gone, b""), &lost);
        if format == Format::All {
            // A trie without a root has no row.
            assert!(result.is_ok_and(|folded| folded.root == trie::EMPTY_ROOT));
        } else {
            assert!(matches!(result, Err(Error::MissingNode { path }) if path.is_empty()));
        }
    }
}

/// Any one bit of the nodes that an update reads: an error, another root, or a hash that the
/// update replaces. Never a panic.
#[test]
fn a_flipped_bit_never_panics() {
    let (rows, gone, _) = siblings();
    let keys = [gone, *rows.keys().nth(99).expect("a row")];
    for format in formats() {
        let trie = built(format, &rows);
        let mut writes = write(keys[1], b"new");
        writes.push(keys[0], b"");
        let above: Vec<NodeKey> = trie
            .nodes
            .keys()
            .filter(|key| keys.iter().any(|row| Path::of_key(row).starts_with(&key.path())))
            .copied()
            .collect();
        let mut flipped = trie.clone();
        for key in above {
            let bits = trie.nodes[&key].len() * 8;
            for bit in (0..bits).step_by(13) {
                let flip = |trie: &mut MemoryTrie| {
                    trie.nodes.get_mut(&key).expect("a node")[bit / 8] ^= 1 << (bit % 8);
                };
                flip(&mut flipped);
                drop(update(format, writes.clone(), &flipped));
                flip(&mut flipped);
            }
        }
    }
}
