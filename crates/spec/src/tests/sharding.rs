//! Shards: all combinations of the given values, defaults of the others, and values without effect.

use variant::{PartitionTime, Partitioner, Sharding};

use super::{assert_error, parse, run, with_run};
use crate::ScenarioError;

#[test]
fn a_run_without_shards_has_no_way_and_one_with_them_the_default_of_each_key() {
    assert_eq!(run("").shards.ways(), []);
    assert_eq!(run("shards = [2, 4]").shards.ways(), [Sharding::on(2), Sharding::on(4)]);
}

#[test]
fn all_that_is_said_is_combined() {
    let shards = run("shards = [1, 3]\nshard_addresses = \"10.0.0.1:7001, host:7002,[::1]:7003\"\n\
        partitioner = [\"fanout\", \"round-robin\"]\npartition = \"before\"\nshard_batch = [1, 64]\n\
        shard_delay_us = [0, 500]")
    .shards;
    assert_eq!(shards.addresses, ["10.0.0.1:7001", "host:7002", "[::1]:7003"]);
    let ways = shards.ways();
    assert_eq!(ways.len(), 2 * 2 * 2 * 2);
    let last = Sharding {
        partitioner: Partitioner::RoundRobin,
        partition_time: PartitionTime::Before,
        micro_batch_key_count: 64,
        delay_us: 500,
        ..Sharding::on(3)
    };
    assert_eq!(ways.last(), Some(&last));
    assert!(ways.iter().all(|way| ways.iter().filter(|other| *other == way).count() == 1));
}

#[test]
fn shards_that_could_make_no_difference_are_refused() {
    let run = |keys: &str| -> Result<_, ScenarioError> { parse(&with_run(keys)) };
    assert_error(run("shards = [0]"), &["run.shards: 0 is below 1"]);
    assert_error(run("shards = [65]"), &["run.shards: 65 is above 64"]);
    assert_error(
        run("shards = [2]\ndesigns = [\"sequential\", \"full\"]"),
        &[
            "run.shards: shards execute the designs batched-io and block-stm alone",
            "leave shards out",
        ],
    );
    assert_error(
        run("shards = [2]\nshard_addresses = \"10.0.0.1\""),
        &["run.shard_addresses: ", "10.0.0.1", "HOST:PORT"],
    );
    assert_error(run("shards = [2]\npartitioner = \"metis\""), &["metis is no partitioner"]);
    assert_error(
        run("shards = [2]\npartition = \"after\""),
        &["after is no time of the partition"],
    );
    for keys in [
        "shard_addresses = \"10.0.0.1:7001\"",
        "partitioner = \"fanout\"",
        "partition = \"before\"",
        "shard_batch = [8]",
        "shard_delay_us = [500]",
    ] {
        let key = keys.split_once(' ').map_or(keys, |(key, _)| key);
        assert_error(
            run(keys),
            &[&format!("run.{key}: it says how shards execute"), &format!("leave {key} out")],
        );
    }
}
