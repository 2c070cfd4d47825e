//! `run.root` and `run.trie`: each needs the other, and hashed rows. The other
//! keys of roots need a root. And the keys of storms that are made for roots.

use variant::{RootCache, RootReads, RootTime, RootWay, TrieForm};

use super::{MINIMAL_SCENARIO, assert_error, parse, parsed};

fn run(keys: &str) -> String {
    format!("{MINIMAL_SCENARIO}[run]\n{keys}\n")
}

#[test]
fn without_a_word_there_are_no_tries_and_no_root() {
    let run = parsed(MINIMAL_SCENARIO).run;
    assert_eq!((run.root.ways(), run.trie), (vec![RootWay::NONE], TrieForm::Nothing));
}

#[test]
fn tries_and_roots_are_no_part_of_the_work() {
    let tried = parsed(&run("root = \"after\"\ntrie = \"reth-like\""));
    let ways = vec![RootWay::at(RootTime::After)];
    assert_eq!((tried.run.root.ways(), tried.run.trie), (ways, TrieForm::RethLike));
    assert_eq!(tried.work_identity(), parsed(MINIMAL_SCENARIO).work_identity());
    assert_eq!(parsed(&tried.to_toml()), tried);
}

#[test]
fn a_combination_that_is_not_built_is_refused_with_its_remedy() {
    assert_error(
        parse(&run("root = \"after\"")),
        &["run.root", "my.toml:10:8", "so it has no root", "run.trie = \"cut\""],
    );
    let stores =
        parsed(&run("trie = \"cut\"\nstores = [\"rocksdb\", \"mdbx\", \"flat\", \"memory\"]"));
    assert_eq!((stores.run.trie, stores.run.stores.len()), (TrieForm::Cut, 4));
    let plain =
        run("trie = \"all\"").replace("slots = \"2M\"", "slots = \"2M\"\nlayout = \"plain\"");
    assert_error(parse(&plain), &["run.trie", "the plain layout", "state.layout = \"hashed\""]);
    assert_error(
        parse(&run("root = \"from-list\"\ntrie = \"cut\"\ndesigns = [\"full\", \"block-stm\"]")),
        &["run.root", "the design block-stm takes no list", "run.root = \"after\""],
    );
    assert_error(
        parse(&run("root = \"before\"\ntrie = \"cut\"")),
        &["run.root", "before is no time of the root", "pipelined"],
    );
}

#[test]
fn the_ways_of_a_root_are_all_values_with_all_others() {
    let text = run("root = \"pipelined\"\ntrie = \"all\"\nroot_shards = [1, 16]\n\
         root_reads = [\"on-demand\", \"at-once\"]\nroot_cache = \"upper-levels\"");
    let scenario = parsed(&text);
    let way = |shard_count, reads| {
        let (time, cache) = (RootTime::Pipelined, RootCache::UpperLevels);
        RootWay { time, shard_count, reads, cache }
    };
    let (walk, guess) = (RootReads::OnDemand, RootReads::AtOnce);
    let ways = [way(1, walk), way(1, guess), way(16, walk), way(16, guess)];
    assert_eq!(scenario.run.root.ways(), ways);
    assert_eq!(parsed(&scenario.to_toml()), scenario);
    assert_eq!(scenario.work_identity(), parsed(MINIMAL_SCENARIO).work_identity());
}

#[test]
fn a_way_of_roots_without_a_root_is_refused_with_its_remedy() {
    for (key, value) in
        [("root_shards", "[2]"), ("root_reads", "\"at-once\""), ("root_cache", "[\"warm\"]")]
    {
        for trie in ["none", "cut"] {
            assert_error(
                parse(&run(&format!("trie = \"{trie}\"\n{key} = {value}"))),
                &[&format!("run.{key}"), "computes none", "run.root = \"after\""],
            );
        }
    }
    let with = |line: &str| run(&format!("trie = \"cut\"\nroot = \"after\"\n{line}"));
    assert_error(parse(&with("root_shards = [17]")), &["run.root_shards", "above 16"]);
    assert_error(parse(&with("root_shards = [0]")), &["run.root_shards", "below 1"]);
    assert_error(
        parse(&with("root_reads = \"batched\"")),
        &["run.root_reads", "batched is no order of reading nodes", "by-level"],
    );
}

/// The least scenario with writes, whose load has further keys.
fn writes(keys: &str) -> String {
    MINIMAL_SCENARIO.replace("sload-storm\"\n", &format!("sstore-storm\"\n{keys}\n"))
}

#[test]
fn keys_of_writes_that_say_nothing_leave_the_work_as_it_was() {
    let work = |keys: &str| parsed(&writes(keys)).work_identity();
    assert_eq!(work("keys = \"keccak\""), work(""));
    assert!(!work("").contains("nibble") && !work("").contains("keys"), "{}", work(""));
    for keys in ["nibble = 0", "nibble = 15", "keys = \"first\"", "keys = \"deep\""] {
        assert_ne!(work(keys), work(""), "{keys}");
        let scenario = parsed(&writes(keys));
        assert_eq!(parsed(&scenario.to_toml()), scenario);
    }
    assert_ne!(work("nibble = 0"), work("nibble = 1"));
    let deep = parsed(&writes("keys = \"deep\"").replace("2M", "110")).to_toml();
    assert!(deep.contains("contracts = 10\n"), "{deep}");
}

#[test]
fn keys_of_writes_that_do_not_go_together_are_refused_with_their_remedy() {
    for (keys, parts) in [
        ("nibble = 16", &["load[0].nibble: 16 is above 15"][..]),
        ("nibble = 3\nop = \"create\"", &["load[0].nibble: 3 with op = \"create\"", "\"clear\""]),
        ("nibble = 3\nkeys = \"deep\"", &["load[0].nibble: 3 with keys = \"deep\"", "out"]),
        ("keys = \"weyl\"", &["load[0].keys: weyl is no kind of keys"]),
        ("keys = \"first\"\nop = \"no-op\"", &["load[0].op: no-op", "op = \"update\""]),
        ("keys = \"deep\"\nop = \"create\"", &["load[0].op: create", "all mined slots exist"]),
        (
            "keys = \"deep\"\ncontracts = \"200k\"",
            &["load[0].contracts: 200,000 contracts", "11 slots each", "contracts = 181818"],
        ),
    ] {
        assert_error(parse(&writes(keys)), parts);
    }
    for (keys, key) in [("nibble = 3", "nibble"), ("keys = \"deep\"", "keys")] {
        let plain = writes(keys).replace("\"2M\"", "\"2M\"\nlayout = \"plain\"");
        let key = format!("load[0].{key}: slots are chosen by their hashes");
        assert_error(parse(&plain), &[&key, "state.layout = \"hashed\""]);
    }
    let few = writes("keys = \"deep\"").replace("\"2M\"", "10");
    assert_error(parse(&few), &["11 slots each", "raise state.slots"]);
    let huge = writes("nibble = 3").replace("2M", "5G");
    assert_error(parse(&huge), &["4,294,967,296 slots", "lower state.slots"]);
}
