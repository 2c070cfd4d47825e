//! `run.rocksdb.compaction`: the states that it does not go with, and the options that would contradict it.

use variant::Compaction;

use super::{MINIMAL_SCENARIO, assert_error, parse, parsed};

fn text(keys: &str) -> String {
    format!("{MINIMAL_SCENARIO}[run.rocksdb]\n{keys}\n")
}

#[test]
fn a_fresh_state_is_compacted_and_an_aged_one_is_refused_with_the_remedy() {
    for keys in ["compaction = \"on\"", "aged = 0.0\ncompaction = \"on\""] {
        let scenario = parsed(&text(keys));
        assert_eq!(scenario.run.rocksdb.compaction, Compaction::On);
        assert_eq!(parsed(&scenario.to_toml()), scenario, "{keys}");
    }
    assert_eq!(parsed(&text("aged = 0.1")).run.rocksdb.compaction, Compaction::Off);
    assert!(parse(&text("aged = 0.1\ncompaction = \"off\"")).is_ok());
    for keys in ["aged = 0.1\ncompaction = \"on\"", "compaction = \"on\"\naged = 0.000001"] {
        let parts = [
            "run.rocksdb.compaction: files of an aged state (aged = 0.",
            "are due for compaction before the first block",
            "leave aged out, or compaction",
        ];
        assert_error(parse(&text(keys)), &parts);
    }
}

#[test]
fn options_that_set_threads_of_flushes_and_compactions_apart_are_refused() {
    for option in ["max_background_flushes", "max_background_compactions"] {
        let options = format!("options = \"ttl=77; {option} = 3\"");
        let refused = format!("{option} is not set here");
        assert_error(parse(&text(&options)), &[&refused, "max_background_jobs sets the threads"]);
    }
    assert!(parse(&text("options = \"max_background_jobs=3\"")).is_ok());
}
