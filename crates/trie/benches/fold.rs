//! Compares the CPU time of hashing a trie with that of its Keccak permutations alone. Builds a
//! trie from sorted rows, beside `alloy_trie::HashBuilder`, and updates a stored trie. Prints the
//! thread's CPU time, the shortest of several rounds, and the resulting root. Full size under
//! `cargo bench`; a small size otherwise, so that `cargo test` keeps it alive.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::{collections::HashMap, hint::black_box};

use alloy_primitives::{B256, U256, keccak256};
use alloy_trie::{HashBuilder, Nibbles};
use rustix::time::{ClockId, clock_gettime};
use trie::{
    Builder, Format, Found, NodeKey, Nodes, Plan, Reading, RowRange, Rows, SlotValue, Source,
    StoreError, Update, Work,
};
use workload::keccak::{Messages, keccak256_many_isa};

/// Sorted rows of slots, and the nodes of their trie.
struct Slots {
    rows: Rows,
    nodes: HashMap<NodeKey, Vec<u8>>,
}

impl Source for Slots {
    fn nodes(&self, keys: &[NodeKey], found: &mut Found) -> Result<(), StoreError> {
        keys.iter().for_each(|key| found.push_node(self.nodes.get(key).map(Vec::as_slice)));
        Ok(())
    }

    fn rows(&self, ranges: &[RowRange], found: &mut Found) -> Result<(), StoreError> {
        let keys = self.rows.keys();
        for RowRange { first, last } in ranges {
            let start = keys.partition_point(|key| key < first);
            let inside = keys[start..].iter().take_while(|key| *key <= last);
            for (index, key) in (start..).zip(inside) {
                found.push_row(*key, self.rows.value(index));
            }
        }
        Ok(())
    }
}

fn main() {
    let is_full = std::env::args().any(|argument| argument == "--bench");
    let (row_count, rounds) = if is_full { (2_000_000, 3) } else { (20_000, 1) };
    let limit = permutations_per_s(if is_full { 2_000 } else { 20 });
    println!(
        "{row_count} rows, best of {rounds} rounds; {} lanes: {:.2}M permutations/s",
        keccak256_many_isa(),
        limit / 1e6
    );
    let mut rows = slots(row_count);
    build(&rows, rounds, limit);
    let formats = [
        ("cut at 8 rows", Format::cut(8)),
        ("cut at 16 rows", Format::cut(16)),
        ("like reth", Ok(Format::RethLike)),
        ("branches", Ok(Format::Branches)),
        ("all nodes", Ok(Format::All)),
    ];
    for (name, format) in formats {
        let format = format.unwrap_or_else(|error| panic!("{error}"));
        let slots = stored(format, rows);
        let bytes: usize = slots.nodes.values().map(Vec::len).sum();
        let per_row = bytes as f64 / row_count as f64;
        println!("{name}: {} nodes, {per_row:.1} B a row without keys", slots.nodes.len());
        for write_count in [1_000, 13_000, 60_000].map(|count: u64| count.min(row_count / 4)) {
            update(&slots, format, write_count, rounds, limit);
        }
        rows = slots.rows;
    }
}

/// Returns the number of Keccak permutations a second: hashes messages of one block in SIMD lanes.
fn permutations_per_s(times: u32) -> f64 {
    let mut messages = Messages::default();
    (0..2_048_u64).for_each(|index| messages.push(&[index as u8; 70]));
    let mut out = Vec::new();
    let seconds = best_s(5, || {
        for _ in 0..times {
            messages.hash_all(&mut out);
            black_box(&out);
        }
    });
    f64::from(times) * messages.block_count() as f64 / seconds
}

fn slots(count: u64) -> Rows {
    let mut all: Vec<(B256, U256)> = (0..count)
        .map(|slot| {
            let key = keccak256(U256::from(slot).to_be_bytes::<32>());
            (key, U256::from_be_bytes(key.0) | U256::from(1))
        })
        .collect();
    all.sort_unstable();
    let mut rows = Rows::default();
    for (key, value) in all {
        let value = SlotValue::new(&value).expect("not zero");
        rows.push(key, value.as_slice());
    }
    rows
}

fn build(rows: &Rows, rounds: usize, limit: f64) {
    let mut ours = None;
    let seconds = best_s(rounds, || {
        let mut builder = Builder::root_only();
        for (key, value) in rows.iter() {
            builder.push(key.as_slice(), value).unwrap_or_else(|error| panic!("{error}"));
        }
        ours = Some(builder.finish().unwrap_or_else(|error| panic!("{error}")));
    });
    let ours = ours.expect("a round");
    let mut reference = B256::ZERO;
    let reference_seconds = best_s(rounds, || {
        let mut builder = HashBuilder::default();
        rows.iter().for_each(|(key, value)| builder.add_leaf(Nibbles::unpack(key), value));
        reference = builder.root();
    });
    assert_eq!(ours.root, reference);
    let row_count = rows.len() as f64;
    let Work { hash_count, permutation_count } = ours.work;
    println!(
        "build: {:.3} us a row (HashBuilder {:.3}, {:.2} times), {:.2} permutations a row, {:.2}M \
         hashes/s, {:.0} % of the permutations' limit; root {reference}",
        seconds * 1e6 / row_count,
        reference_seconds * 1e6 / row_count,
        reference_seconds / seconds,
        permutation_count as f64 / row_count,
        hash_count as f64 / seconds / 1e6,
        permutation_count as f64 / seconds / limit * 100.0,
    );
}

fn stored(format: Format, rows: Rows) -> Slots {
    let mut builder = Builder::new(format, Nodes::default());
    for (key, value) in rows.iter() {
        builder.push(key.as_slice(), value).unwrap_or_else(|error| panic!("{error}"));
    }
    let built = builder.finish().unwrap_or_else(|error| panic!("{error}"));
    let nodes = built.sink.iter().map(|(key, node)| (*key, node.to_vec())).collect();
    Slots { rows, nodes }
}

/// Makes writes: of 20 writes, 18 change a row, one deletes a row, and one adds a row.
fn writes(rows: &Rows, count: u64) -> Rows {
    let mut all: Vec<(B256, Vec<u8>)> = (0..count)
        .map(|index| {
            let value = keccak256(index.to_le_bytes()).to_vec();
            let row = (index * rows.len() as u64 / count) as usize;
            match index % 20 {
                0 => (rows.keys()[row], Vec::new()),
                1 => (keccak256(index.to_le_bytes()), value),
                _ => (rows.keys()[row], value),
            }
        })
        .collect();
    all.sort_unstable();
    let mut writes = Rows::default();
    all.iter().for_each(|(key, value)| writes.push(*key, value));
    writes
}

fn update(slots: &Slots, format: Format, count: u64, rounds: usize, limit: f64) {
    let writes = writes(&slots.rows, count);
    let mut read_s = f64::INFINITY;
    let mut fold_s = f64::INFINITY;
    let mut done = None;
    for _ in 0..rounds {
        let start = thread_s();
        let plan = Plan::new(format, writes.keys().to_vec());
        let mut plan = plan.unwrap_or_else(|error| panic!("{error}"));
        plan.read(slots).unwrap_or_else(|error| panic!("{error}"));
        read_s = read_s.min(thread_s() - start);
        let start = thread_s();
        let update = Update::new(plan, writes.clone());
        let mut update = update.unwrap_or_else(|error| panic!("{error}"));
        update.read(slots).unwrap_or_else(|error| panic!("{error}"));
        done = Some(update.fold().unwrap_or_else(|error| panic!("{error}")));
        fold_s = fold_s.min(thread_s() - start);
    }
    let folded = done.expect("a round");
    let per_write = |value: f64| value / count as f64;
    let permutation_count = folded.work.permutation_count as f64;
    println!(
        "  {count} writes: plan and read {:.2}, fold {:.2} us a write, {:.1} permutations a write, {:.0} \
         % of their limit while folding; {} nodes; root {}",
        per_write(read_s * 1e6),
        per_write(fold_s * 1e6),
        per_write(permutation_count),
        permutation_count / fold_s / limit * 100.0,
        folded.nodes.len(),
        folded.root,
    );
}

/// Shortest time of a round in seconds.
fn best_s(rounds: usize, mut run: impl FnMut()) -> f64 {
    let time = |_| {
        let start = thread_s();
        run();
        thread_s() - start
    };
    (0..rounds).map(time).fold(f64::INFINITY, f64::min)
}

/// Returns the CPU time of this thread in seconds.
fn thread_s() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
