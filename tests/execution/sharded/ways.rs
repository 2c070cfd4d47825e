//! Ways to execute on shards: partitioners, their time, micro-batches, and an added delay. All
//! equal the reference, and each has its intended effect.

use std::time::Duration;

use executor::sample::Measurement;
use random_blocks::RandomBlocks;
use variant::{PartitionTime, Partitioner, Phase, Sharding};

use super::{changing, generated, generated_on, in_three_ways, running, sample};

/// Transfers of a few senders; one sender pays several recipients.
const TRANSFERS: &str = "kind = \"transfers\"";

#[test]
fn every_way_equals_the_reference() {
    let running = running(3);
    let workloads = [
        RandomBlocks::draw(77, 8).build().unwrap().workload,
        changing().build().unwrap().workload,
        generated("kind = \"erc20\"", "gas = \"2M\"\nblocks = 4\nbatch = 2"),
        generated(
            "kind = \"deploy\"\ncode = 65_536\ncalls = 1",
            "gas = \"230M\"\ntx_gas = \"120M\"",
        ),
    ];
    for workload in &workloads {
        for partitioner in Partitioner::ALL {
            for sharding in in_three_ways(*partitioner) {
                let taken = sample(workload, &running.cluster, sharding, 2);
                let taken = taken.unwrap_or_else(|error| panic!("{sharding}: {error}"));
                assert_eq!(taken.disagreement, None, "{sharding}");
                let spans = &taken.executed.spans;
                let count = spans.iter().filter(|span| span.phase == Phase::Partition).count();
                let inside = usize::from(sharding.partition_time == PartitionTime::Inside);
                assert_eq!(count, inside * workload.batches.len(), "{sharding}");
                assert!(taken.executed.partitioning > Duration::ZERO, "{sharding}");
            }
        }
    }
}

/// The shard of each transaction of the first batch.
fn shards(taken: &Measurement) -> &[u32] {
    &taken.executed.batches[0].shard_of_tx
}

#[test]
fn partitioners_keep_together_the_transactions_that_they_are_for() {
    let running = running(3);
    let workload = generated_on("accounts = 40", TRANSFERS, "transactions = 120");
    let taken = |partitioner| {
        let sharding = Sharding { partitioner, ..Sharding::on(3) };
        sample(&workload, &running.cluster, sharding, 1).unwrap()
    };
    let round_robin = taken(Partitioner::RoundRobin);
    let turns: Vec<u32> = (0..120).map(|tx| tx % 3).collect();
    assert_eq!(shards(&round_robin), turns);
    let txs = &workload.batches[0].blocks[0].transactions;
    let apart = |taken: &Measurement| {
        let of = shards(taken);
        let pairs = (0..txs.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
        let same = pairs.filter(|(a, b)| txs[*a].sender == txs[*b].sender);
        same.filter(|(a, b)| of[*a] != of[*b]).count()
    };
    assert!(apart(&round_robin) > 0, "the load has senders of several transactions");
    for partitioner in [Partitioner::BySender, Partitioner::ByComponent] {
        assert_eq!(apart(&taken(partitioner)), 0, "{partitioner}");
    }
}

#[test]
fn micro_batches_share_the_same_keys_out() {
    let running = running(1);
    let workload =
        generated("kind = \"sload-storm\"\noverlap = \"all\"", "gas = \"4M\"\ntx_gas = \"1M\"");
    let times = |micro_batch_key_count| {
        let sharding = Sharding { micro_batch_key_count, delay_us: 2_000, ..Sharding::on(1) };
        let taken = sample(&workload, &running.cluster, sharding, 1).unwrap();
        assert_eq!(taken.disagreement, None);
        taken.executed.shard_times
    };
    let (small, large) = (times(16), times(1 << 16));
    // One request each for accounts, slots and codes.
    assert_eq!(large.ahead_request_count, 3, "{large:?}");
    assert!(small.ahead_request_count > 10, "{small:?}");
    for times in [small, large] {
        let most = times.ahead_request_count * 16;
        assert!(times.ahead_key_count <= most || times == large, "{times:?}");
        assert!(times.ahead_key_count > 400, "keys of a called contract are foreseen: {times:?}");
        assert_eq!(times.demand_request_count, 0, "no step waits for a key of its own: {times:?}");
    }
}

/// All keys of steps with at most one contract each are in the micro-batches, on every shard. That
/// includes codes and the keys of system steps.
#[test]
fn steps_whose_keys_are_foreseen_ask_for_none() {
    let running = running(3);
    for load in ["kind = \"non-conflicting\"", "kind = \"transfers\"", "kind = \"sload-storm\""] {
        let workload = generated(load, "gas = \"4M\"\ntx_gas = \"200k\"\nblocks = 2\nbatch = 2");
        for count in [1, 3] {
            let taken = sample(&workload, &running.cluster, Sharding::on(count), 2).unwrap();
            assert_eq!(taken.disagreement, None);
            let times = taken.executed.shard_times;
            assert_eq!(times.demand_request_count, 0, "{load} on {count}: {times:?}");
            assert!(times.ahead_key_count > 0, "{times:?}");
        }
    }
}

/// A message never arrives early: a batch takes at least four delays.
#[test]
fn a_delay_holds_each_message_back() {
    let running = running(2);
    let workload = generated("kind = \"erc20\"", "gas = \"2M\"\nblocks = 2");
    let delay_us = 4_000;
    let sharding = Sharding { delay_us, ..Sharding::on(2) };
    let taken = sample(&workload, &running.cluster, sharding, 1).unwrap();
    assert_eq!(taken.disagreement, None);
    let (spans, two_ways) = (&taken.executed.spans, 2 * sharding.delay());
    let of = |phase| spans.iter().filter(move |span| span.phase == phase);
    assert_eq!(of(Phase::ShardSend).count(), 4, "a shard and batch each");
    let delay = sharding.delay();
    assert!(of(Phase::ShardSend).all(|span| span.end - span.start >= delay), "{spans:?}");
    let times = taken.executed.shard_times;
    assert!(times.ahead >= 4 * two_ways, "{times:?}");
    assert!(times.executed >= 4 * two_ways, "steps wait for values: {times:?}");
    assert!(taken.executed.wall >= 2 * 2 * two_ways, "{:?}", taken.executed.wall);
}
