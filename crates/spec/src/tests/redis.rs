//! The Redis Cluster of a run: its addresses, and settings that it refuses.

use super::{assert_error, parse, run, with_run};

#[test]
fn addresses_are_read_as_a_list_and_are_none_by_default() {
    let given =
        run("stores = [\"redis\"]\nredis_addresses = \"10.0.0.1:7000, host:7001,[::1]:7002\"");
    assert_eq!(given.redis_addresses, ["10.0.0.1:7000", "host:7001", "[::1]:7002"]);
    assert!(run("stores = [\"redis\"]").redis_addresses.is_empty());
}

#[test]
fn addresses_without_the_store_and_tries_on_it_are_refused() {
    let run = |keys: &str| parse(&with_run(keys));
    assert_error(
        run("stores = [\"memory\"]\nredis_addresses = \"10.0.0.1:7000\""),
        &["run.redis_addresses: it says where the redis store is", "memory", "--store redis"],
    );
    assert_error(
        run("stores = [\"redis\"]\nredis_addresses = \"10.0.0.1\""),
        &["run.redis_addresses: ", "10.0.0.1", "HOST:PORT"],
    );
    assert_error(
        run("stores = [\"redis\"]\ntrie = \"cut\"\nroot = \"after\""),
        &["run.trie: the redis store keeps no tries", "another store"],
    );
    assert_error(
        run("stores = [\"rocksdb\", \"redis\"]\nwhole = \"one\""),
        &["run.stores: the redis store keeps no tries", "--whole none"],
    );
}
