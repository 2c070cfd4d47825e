//! Every way to compute a root gives the same root, for every design, list and format. It counts
//! the nodes that it used, read and had in memory.

use std::num::NonZeroUsize;

use executor::{
    root::RootWork,
    sample::Measurement,
    store::{Store, memory::MemoryStore},
};
use random_blocks::RandomBlocks;
use variant::{Design, Phase, RootCache, RootReads, RootTime, RootWay, TrieForm, Variant};
use workload::Workload;

use super::{forms, in_memory, meeting, roots, take};

const SHARD_COUNTS: [u8; 4] = [1, 2, 3, 16];

/// All ways.
pub(super) fn all() -> Vec<RootWay> {
    let mut ways = Vec::new();
    for time in RootTime::ALL.iter().copied().filter(|time| *time != RootTime::Nothing) {
        for shard_count in SHARD_COUNTS {
            for reads in RootReads::ALL.iter().copied() {
                let way = |cache: &_| RootWay { time, shard_count, reads, cache: *cache };
                ways.extend(RootCache::ALL.iter().map(way));
            }
        }
    }
    ways
}

/// The design in a way; `None` for a root from the list in a design without one.
pub(super) fn variant(design: Design, root: RootWay) -> Option<Variant> {
    let two = NonZeroUsize::new(2).unwrap();
    let variant = Variant { root, ..Variant::of(design, two, two) };
    (root.time != RootTime::FromList || variant.list.is_some()).then_some(variant)
}

/// Ways that differ from the default in one axis, and one that differs in all.
pub(super) fn one_of_each_value() -> Vec<Variant> {
    let after = RootWay::at(RootTime::After);
    let mut ways = vec![after, RootWay::at(RootTime::FromList), RootWay::at(RootTime::Pipelined)];
    ways.extend([3, 16].map(|shard_count| RootWay { shard_count, ..after }));
    ways.extend([RootReads::OnDemand, RootReads::AtOnce].map(|reads| RootWay { reads, ..after }));
    ways.extend([RootCache::UpperLevels, RootCache::Warm].map(|cache| RootWay { cache, ..after }));
    ways.push(RootWay {
        time: RootTime::Pipelined,
        shard_count: 16,
        reads: RootReads::AtOnce,
        cache: RootCache::UpperLevels,
    });
    ways.into_iter().filter_map(|way| variant(Design::BatchedIo, way)).collect()
}

/// Checks the laws of the counts of one sample.
fn assert_counts(taken: &Measurement, way: &RootWay, name: &str) {
    let work = taken.executed.root_work.unwrap();
    let RootWork { used_node_count, node_count, cached_node_count, .. } = work;
    let had = node_count + cached_node_count;
    let reads_ahead = way.time == RootTime::Pipelined || way.reads == RootReads::AtOnce;
    match reads_ahead {
        true => assert!(used_node_count <= had, "{name}: {work:?}"),
        false => assert_eq!(used_node_count, had, "{name}: {work:?}"),
    }
    if way.cache == RootCache::Cold {
        assert_eq!(cached_node_count, 0, "{name}");
    }
    let spans = &taken.executed.spans;
    let join_count = spans.iter().filter(|span| span.phase == Phase::RootJoin).count();
    let batch_count = taken.executed.batches.len();
    // One join for the tries of slots, and one for the trie of accounts.
    let expected = if way.shard_count > 1 { 2 * batch_count } else { 0 };
    assert_eq!(join_count, expected, "{name}");
    assert!(work.hash_count > 0 && work.trie_count >= batch_count as u64, "{name}: {work:?}");
}

/// Takes a sample of each way; `design` gives the design for the way's number. All samples have the
/// same root. With the same number of shards they use, hash and write the same. A root from a list
/// is left out: lists also name keys that do not change.
fn assert_one_root(
    store: &MemoryStore,
    workload: &Workload,
    name: &str,
    design: impl Fn(usize) -> Design,
) {
    let mut known_roots = None;
    let mut counts = [None; SHARD_COUNTS.len()];
    for (number, way) in all().into_iter().enumerate() {
        let Some(variant) = variant(design(number), way) else { continue };
        let name = format!("{name}, {variant}");
        let taken = take(store, workload, variant, &name);
        assert_eq!(*known_roots.get_or_insert_with(|| roots(&taken)), roots(&taken), "{name}");
        assert_counts(&taken, &way, &name);
        if way.time == RootTime::FromList {
            continue;
        }
        let work = taken.executed.root_work.unwrap();
        let RootWork { trie_count, used_node_count, row_count, .. } = work;
        let RootWork { written_node_count, deleted_node_count, hash_count, .. } = work;
        let own = [
            trie_count,
            used_node_count,
            row_count,
            written_node_count,
            deleted_node_count,
            hash_count,
        ];
        let place = SHARD_COUNTS.iter().position(|count| *count == way.shard_count).unwrap();
        assert_eq!(*counts[place].get_or_insert(own), own, "{name}");
    }
}

#[test]
fn every_way_and_design_comes_to_one_root_on_random_blocks() {
    let designs = Design::ALL;
    // As many rounds as designs, so that each way meets each design.
    for round in 0..designs.len() {
        let built = RandomBlocks::draw(100 + round as u64, 4).build().unwrap();
        for form in forms() {
            let store = in_memory(&built.workload, form);
            let name = format!("random blocks of round {round}, {form}");
            assert_one_root(&store, &built.workload, &name, |number| {
                designs[(number + round) % designs.len()]
            });
        }
    }
}

/// Large tries of slots are divided. Slots are created, updated and cleared, once nearly all of a
/// trie.
#[test]
fn every_way_comes_to_one_root_on_large_tries_of_slots() {
    for (slots, load) in [
        ("4_000", "kind = \"sstore-storm\"\nop = \"clear\""),
        ("4_000", "kind = \"sstore-storm\"\nop = \"update\"\ncontracts = 2"),
        ("4_000", "kind = \"sstore-storm\"\nop = \"create\""),
        ("400", "kind = \"sstore-storm\"\nop = \"clear\""),
    ] {
        let head = format!(
            "[state]\naccounts = 30\nslots = {slots}\n[block]\ngas = \"1M\"\ntx_gas = \"500k\"\n\
             blocks = 2\n"
        );
        let workload = meeting(&head, load);
        for (shift, form) in forms().enumerate() {
            let store = in_memory(&workload, form);
            let name = format!("{load}, {slots} slots, {form}");
            assert_one_root(&store, &workload, &name, |number| {
                Design::ALL[(number + shift) % Design::ALL.len()]
            });
        }
    }
}

fn work(store: &dyn Store, workload: &Workload, root: RootWay) -> RootWork {
    let variant = variant(Design::BatchedIo, root).unwrap();
    take(store, workload, variant, "work").executed.root_work.unwrap()
}

fn storm() -> Workload {
    let head = "[state]\naccounts = 300\nslots = 20_000\n[block]\ngas = \"2M\"\ntx_gas = \"1M\"\n";
    meeting(head, "kind = \"sstore-storm\"\nop = \"clear\"")
}

#[test]
fn nodes_in_memory_are_not_read_and_those_of_warm_samples_all_are() {
    let workload = storm();
    assert_eq!(workload.batches.len(), 1);
    for form in forms() {
        let store = in_memory(&workload, form);
        for time in [RootTime::After, RootTime::FromList] {
            for shard_count in SHARD_COUNTS {
                for reads in RootReads::ALL.iter().copied() {
                    let with = |cache| {
                        work(&store, &workload, RootWay { time, shard_count, reads, cache })
                    };
                    let name = format!("{form}, {time}, {shard_count} shards, {reads}");
                    let (cold, warm) = (with(RootCache::Cold), with(RootCache::Warm));
                    assert_eq!(warm.node_count, 0, "{name}: {warm:?}");
                    assert_eq!(warm.cached_node_count, cold.node_count, "{name}");
                    let upper = with(RootCache::UpperLevels);
                    assert!(upper.cached_node_count > 0, "{name}: {upper:?}");
                    let both = upper.cached_node_count + upper.node_count;
                    assert_eq!(both, cold.node_count, "{name}");
                    assert_eq!([warm.row_count, upper.row_count], [cold.row_count; 2], "{name}");
                }
            }
        }
    }
}

/// The nodes that a batch writes are in memory for the next batch.
#[test]
fn nodes_of_a_batch_are_kept_for_the_next() {
    let head = "[state]\naccounts = 30\nslots = 4_000\n[block]\ngas = \"1M\"\ntx_gas = \"500k\"\n\
                blocks = 6\n";
    for load in ["kind = \"sstore-storm\"\nop = \"create\"", "kind = \"transfers\""] {
        let workload = meeting(head, load);
        for form in forms() {
            let store = in_memory(&workload, form);
            let after = RootWay::at(RootTime::After);
            let cold = work(&store, &workload, after);
            let warm = work(&store, &workload, RootWay { cache: RootCache::Warm, ..after });
            assert_eq!(warm.used_node_count, cold.used_node_count, "{load}, {form}");
            assert_eq!(warm.node_count, 0, "{load}, {form}: {warm:?}");
        }
    }
}

#[test]
fn reads_at_once_are_more_nodes_and_no_more_rows() {
    let workload = storm();
    for form in forms() {
        let store = in_memory(&workload, form);
        for shard_count in SHARD_COUNTS {
            let with = |reads| {
                let after = RootWay::at(RootTime::After);
                work(&store, &workload, RootWay { shard_count, reads, ..after })
            };
            let [walk, level, once] =
                [RootReads::OnDemand, RootReads::ByLevel, RootReads::AtOnce].map(with);
            assert_eq!(walk.node_count, level.node_count, "{form}");
            // Some of the nodes that may lie above the writes do not exist.
            assert!(once.node_count > level.node_count, "{form}: {once:?}, {level:?}");
            assert_eq!([walk.row_count, once.row_count], [level.row_count; 2], "{form}");
        }
    }
}

/// First reads are made while steps run. A machine may be slow to wake the thread, so one success
/// of 50 is enough.
#[test]
fn nodes_are_read_while_steps_of_every_design_run() {
    let head =
        "[state]\naccounts = 300\nslots = 20_000\n[block]\ngas = \"4M\"\ntx_gas = \"200k\"\n";
    let workload = meeting(head, "kind = \"sstore-storm\"");
    let store = in_memory(&workload, TrieForm::Branches);
    let ahead_count = |design, time| {
        let variant = variant(design, RootWay::at(time)).unwrap();
        take(&store, &workload, variant, "pipelined").executed.root_work.unwrap().ahead_node_count
    };
    for design in Design::ALL.iter().copied() {
        assert_eq!(ahead_count(design, RootTime::After), 0, "{design}");
        let is_ahead = (0..50).any(|_| ahead_count(design, RootTime::Pipelined) > 0);
        assert!(is_ahead, "{design}: no node is read while steps run");
    }
}
