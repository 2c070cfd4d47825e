//! Every way of being wrong is one error with its place, its rule and its remedy.

use super::{MINIMAL_SCENARIO, assert_error, parse, with};
use crate::{ScenarioError, Scope, load};

#[test]
fn an_error_is_shown_with_its_place_its_line_its_rule_and_its_remedy() {
    let text = format!("# one\n# two\n# three\n# four\n# five\n{MINIMAL_SCENARIO}");
    let error = parse(&text.replace("64M", "640MB")).expect_err("bytes are no gas");
    let expected = r#"error: block.gas: 640MB is bytes; gas wants 640M
  --> my.toml:11:7
   |
11 | gas = "640MB"
   |       ^^^^^^^
   = help: write gas = "640M""#;
    assert_eq!(error.to_string(), expected);
    let ScenarioError::Invalid(diagnostic) = error else { panic!("a rule is broken") };
    assert_eq!((diagnostic.key(), diagnostic.position()), ("block.gas", Some((11, 7))));
}

#[test]
fn a_unit_that_is_not_the_keys_is_rejected() {
    let gas = |value: &str| with("gas = \"64M\"", &format!("gas = \"{value}\""));
    assert_error(gas("10GiB"), &["10GiB is bytes; gas wants 10G", "write gas = \"10G\""]);
    assert_error(gas("640m"), &["suffix of a million is M", "write gas = \"640M\""]);
    assert_error(gas("640Mgas"), &["640Mgas: gas is a count, without", "write gas = \"640M\""]);
    assert_error(gas("60x"), &["x is no suffix of a count", "such as 640M"]);
    assert_error(gas("lots"), &["lots is not a count", "such as 640M"]);
    assert_error(gas("1.0001k"), &["not whole", "fewer decimals"]);
    let size = |value: &str| with("slots = \"2M\"", &format!("size = {value}"));
    assert_error(size("\"10GB\""), &["my.toml:4:8", "decimal units", "write size = \"10GiB\""]);
    assert_error(size("\"10G\""), &["is a count", "write size = \"10GiB\""]);
    assert_error(size("\"10\""), &["no unit", "write size = \"10GiB\""]);
    assert_error(size("\"10 parsecs\""), &["parsecs is no unit of size", "512MiB"]);
    assert_error(size("\"10B\""), &["10 bytes hold 0 slots", "write size = \"10GiB\""]);
}

#[test]
fn a_bare_number_where_a_unit_is_due_is_rejected() {
    assert_error(
        with("slots = \"2M\"", "size = 10"),
        &["state.size: 10 has no unit", "my.toml:4:8", "size = \"10GiB\""],
    );
    assert_error(
        parse(&format!("{MINIMAL_SCENARIO}[run]\nbudget = 60\n")),
        &["run.budget: 60 has no unit", "my.toml:10:10", "budget = \"60s\""],
    );
    assert_error(
        parse(&format!("{MINIMAL_SCENARIO}[run]\nbudget = \"5min\"\n")),
        &["run.budget: 5min", "ms, s, m or h", "write budget = \"5m\""],
    );
    assert_error(
        parse(&format!("{MINIMAL_SCENARIO}[run]\nbudget = \"0s\"\n")),
        &["from 1ms to 24h"],
    );
}

#[test]
fn gas_outside_of_what_blocks_and_transactions_may_have_is_rejected() {
    let gas = |value: &str| with("gas = \"64M\"", value);
    assert_error(gas("gas = 0"), &["block.gas: 0 is below 30,000", "my.toml:6:7", "gas = 30_000"]);
    assert_error(gas("gas = \"1k\""), &["block.gas: 1k is below 30,000", "one transaction"]);
    assert_error(gas("gas = -1"), &["-1 is negative", "my.toml:6:7"]);
    assert_error(gas("gas = \"1e6\""), &["1e6", "e6 is no suffix"]);
    assert_error(gas("gas = 1e6"), &["1e6 is a float", "write gas = 1000000"]);
    assert_error(gas("gas = true"), &["true is a boolean"]);
    assert_error(gas("gas = \"9999999G\""), &["9999999G is above 1,000,000,000,000"]);
    assert_error(gas("gas = 999999999999999999999999999999999999999999"), &["is above"]);
    let tx_gas = |fork: &str, tx_gas: &str| {
        let fork = format!("schema = 1\nfork = \"{fork}\"");
        let text = MINIMAL_SCENARIO.replace("schema = 1", &fork);
        parse(&text.replace("gas = \"64M\"", &format!("gas = \"64M\"\ntx_gas = \"{tx_gas}\"")))
    };
    assert_error(
        tx_gas("osaka", "20M"),
        &["block.tx_gas: 20M is above 16,777,216", "EIP-7825", "tx_gas = 16_777_216, or less"],
    );
    assert_error(
        tx_gas("amsterdam", "5G"),
        &["block.tx_gas: 5G is above 4,294,967,295", "under amsterdam", "EIP-8037"],
    );
    assert_eq!(tx_gas("amsterdam", "4G").unwrap().block.tx_gas, 4_000_000_000);
    assert_error(gas("gas = \"64M\"\ntx_gas = \"1k\""), &["block.tx_gas: 1k is below 30,000"]);
}

#[test]
fn an_unknown_key_is_rejected_with_the_one_that_was_meant() {
    assert_error(
        with("slots = \"2M\"", "slot = \"2M\""),
        &["state.slot: no such key", "my.toml:4:1", "did you mean slots?"],
    );
    assert_error(
        with("gas = \"64M\"", "gass = \"64M\""),
        &["block.gass: no such key", "did you mean gas?"],
    );
    assert_error(
        with("kind = ", "accounts = 3\nkind = "),
        &["load[0].accounts: no such key", "my.toml:8:1", "did you mean state.accounts?"],
    );
    // Elsewhere it is a whole name; here it begins one.
    assert_error(
        with("[[load]]", "[run]\nstore = \"memory\"\n[[load]]"),
        &["run.store: no such key", "did you mean stores?"],
    );
    assert_error(
        with("schema = 1", "schema = 1\nfrobnicate = true"),
        &["frobnicate: no such key", "my.toml:2:1", "keys here are schema, name"],
    );
}

#[test]
fn a_wrong_name_is_rejected_with_the_one_that_was_meant() {
    assert_error(
        with("schema = 1", "schema = 1\nfork = \"amsterdm\""),
        &["fork: amsterdm is no fork", "my.toml:2:8", "did you mean amsterdam?"],
    );
    assert_error(
        with("\"sload-storm\"", "\"sload-strom\""),
        &["load[0].kind: sload-strom is no kind of load", "did you mean sload-storm?"],
    );
    let run = |line: &str| parse(&format!("{MINIMAL_SCENARIO}[run]\n{line}\n"));
    assert_error(
        run("designs = [\"sequential\", \"batched_io\"]"),
        &["run.designs: batched_io is no design", "my.toml:10:26", "did you mean batched-io?"],
    );
    assert_error(run("cache = \"hot\""), &["hot is no cache state", "use cold or warm"]);
    assert_error(
        with("kind = ", "keys = \"sequential\"\nkind = "),
        &["load[0].keys: sequential is no key order", "use keccak, weyl or chase"],
    );
}

#[test]
fn a_policy_of_reading_ahead_that_could_make_no_difference_is_rejected() {
    let run = |lines: &str| parse(&format!("{MINIMAL_SCENARIO}[run]\n{lines}\n"));
    assert_error(
        run("prefetch_order = \"first-write\""),
        &["run.prefetch_order: first-write orders", "my.toml:10:18", "add prefetch = \"while\""],
    );
    assert_error(
        run("prefetch = \"before\"\nprefetch_stop = \"all-read\""),
        &["run.prefetch_stop: it says when to stop", "my.toml:11:17", "add prefetch = \"while\""],
    );
    assert_error(
        run("prefetch_accounts = \"on-demand\"\nprefetch_codes = \"with-state\""),
        &["run.prefetch_codes: a code is known by", "write prefetch_codes = \"on-demand\""],
    );
    assert_error(
        run("prefetch_chunk = [0]"),
        &["run.prefetch_chunk: 0 is below 1", "prefetch_chunk = [8, 16]"],
    );
    assert_error(
        run("prefetch = [\"while\", \"meanwhile\"]"),
        &["meanwhile is no time to prefetch"],
    );
}

#[test]
fn thread_counts_are_1_to_1024_each_once() {
    let run = |line: &str| parse(&format!("{MINIMAL_SCENARIO}[run]\n{line}\n"));
    assert_error(
        run("threads = [4, 0]"),
        &["run.threads: 0 is below 1", "my.toml:10:15", "threads = [8, 16]"],
    );
    let fibers = |designs: &str, store: &str| {
        run(&format!("designs = [{designs:?}]\nstores = [{store:?}]\nfibers = [1, 32]"))
    };
    for (design, store) in [("parallel-io", "rocksdb"), ("batched-io", "flat")] {
        assert_error(
            fibers(design, store),
            &["run.fibers: transactions yield", "parallel-io", "flat"],
        );
    }
    assert_error(run("fibers = []"), &["run.fibers: the list is empty"]);
    assert_error(run("io_threads = [2000]"), &["run.io_threads: 2000 is above 1,024"]);
    assert_error(run("threads = [4, 4]"), &["4 is listed twice", "keep it once"]);
    assert_error(run("threads = 4"), &["threads is a list", "threads = [8, 16]"]);
    assert_error(run("designs = []"), &["run.designs: the list is empty", "leave designs out"]);
}

#[test]
fn shares_sum_to_one() {
    let shares = |first: &str, second: &str| {
        let second = format!("[[load]]\nkind = \"sload-storm\"\n{second}\n");
        parse(&format!("{MINIMAL_SCENARIO}{first}\n{second}"))
    };
    assert_error(
        shares("share = 0.5", "share = 0.4"),
        &["the shares sum to 0.9, not to 1 (0.5 + 0.4)", "my.toml:12:9", "write share = 0.5"],
    );
    assert_error(shares("share = 0.5", ""), &["load[1].share: missing", "write share = 0.5"]);
    assert_error(shares("share = 1.5", ""), &["1.5 is no share", "write 0.015 for 1.5 %"]);
    assert_error(shares("share = 10", ""), &["10 is no share", "write 0.1 for 10 %"]);
    assert_error(shares("share = -1", ""), &["-1 is no share", "write 0.25 for a quarter"]);
    assert_error(shares("share = 0", "share = 1"), &["load[0].share: 0 is no load"]);
    assert_error(shares("share = \"50%\"", ""), &["50% is no share", "without quotes"]);
    assert_error(
        parse(&format!("{MINIMAL_SCENARIO}share = 0.5\n")),
        &["0.5 is the share of the only load", "write share = 1"],
    );
    assert_error(
        shares("share = 0.9999", "share = 0.0001"),
        &["load[1] with a share of 0.0001 gets 6400 gas a block", "raise gas"],
    );
    assert!(shares("share = 0.3", "share = 0.7").is_ok());
}

#[test]
fn an_exponent_of_pairs_is_a_number_from_0_to_10() {
    let amm = MINIMAL_SCENARIO.replace("sload-storm", "amm").replace("slots = \"2M\"\n", "");
    for exponent in ["-0.5", "11", "1e300"] {
        assert_error(
            parse(&format!("{amm}pair_zipf = {exponent}\n")),
            &["load[0].pair_zipf: ", "is no exponent of Zipf's law here", "at most 10"],
        );
    }
    assert_error(parse(&format!("{amm}pair_zipf = nan\n")), &["no finite number"]);
}

#[test]
fn what_must_be_there_is_asked_for() {
    assert_error(with("schema = 1\n", ""), &["schema: missing", "my.toml:1:1", "write schema = 1"]);
    assert_error(with("schema = 1", "schema = 2"), &["schema: 2 is no schema", "my.toml:1:10"]);
    assert_error(with("name = \"least\"\n", ""), &["name: missing", "write name = "]);
    assert_error(with("\"least\"", "\"My Test\""), &["My Test is no name", "name = \"my-test\""]);
    assert_error(parse("schema = 1\nname = \"a\"\n"), &["state: missing", "add [state]"]);
    let without_load = MINIMAL_SCENARIO.replace("[[load]]\nkind = \"sload-storm\"\n", "");
    assert_error(parse(&without_load), &["load: no load is given", "add [[load]]"]);
    assert_error(with("[[load]]", "[load]"), &["load is a list of tables", "write [[load]]"]);
    assert_error(with("kind = \"sload-storm\"", ""), &["load[0].kind: missing", "my.toml:7:1"]);
    assert_error(
        with("schema = 1", "schema = 1\nseed = -3"),
        &["seed: -3 is no seed", "0 to 2^64"],
    );
}

#[test]
fn expectations_name_what_exists_and_one_finite_bound() {
    let expect = |lines: &str| parse(&format!("{MINIMAL_SCENARIO}[[expect]]\n{lines}\n"));
    let metric = |metric: &str| expect(&format!("metric = \"{metric}\"\nmin = 1"));
    assert_error(
        metric("speedupp(batched-io, parallel-io)"),
        &[
            "expect[0].metric: speedupp is no metric",
            "my.toml:10:10",
            "did you mean speedup?",
            "execution(",
        ],
    );
    assert_error(metric("mgas_per_s(batchd-io)"), &["batchd-io is no design", "batched-io?"]);
    assert_error(metric("bal_bytes(sequential)"), &["sequential is no list", "batched-io or full"]);
    assert_error(metric("speedup(batched-io)"), &["the form speedup(design, design)"]);
    assert_error(metric("speedup"), &["the form speedup(design, design)"]);
    assert_error(metric("speedup(batched-io, batched-io)"), &["compares a design with itself"]);
    assert_error(metric("execution(speedup)"), &["the form speedup(design, design)"]);
    assert_error(metric("execution(bal_bytes(full))"), &["bal_bytes(full) has no scope"]);
    for (text, scope) in [("whole(", Scope::Whole), ("execution(", Scope::Execution)] {
        let text = format!("{text}ms_per_block(full))");
        assert_eq!(metric(&text).unwrap().expects[0].scope, scope);
    }
    assert!(metric("ms_per_block(full)").unwrap().claims_whole_blocks());
    let bound = |bound: &str| expect(&format!("metric = \"mgas_per_s(batched-io)\"\n{bound}"));
    assert_error(bound(""), &["expect[0]: neither min nor max", "my.toml:9:1"]);
    assert_error(bound("min = 1\nmax = 2"), &["expect[0].max: min is given too", "keep one"]);
    assert_error(bound("min = inf"), &["inf is no finite number", "my.toml:11:7"]);
    assert_error(bound("min = nan"), &["nan is no finite number"]);
    assert_error(
        bound("min = 1\nwhen = { store = \"rocksb\" }"),
        &["expect[0].when.store: rocksb is no store", "did you mean rocksdb?"],
    );
    assert_error(bound("min = 1\nwhen = { stor = \"rocksdb\" }"), &["did you mean store?"]);
}

#[test]
fn toml_that_is_none_is_shown_like_any_other_error() {
    assert_error(
        with("gas = \"64M\"", "gas = 640M"),
        &["error: not valid TOML: ", "my.toml:6:", "gas = 640M\n", "gas = \"640M\""],
    );
    assert_error(with("\"64M\"", ""), &["gas has no value", "my.toml:6:", "after the ="]);
    assert_error(
        with("gas = \"64M\"", "tx_gas = 100\ngas = \"64M\"\ntx_gas = 10"),
        &["tx_gas is given twice, first in line 6", "my.toml:8:1", "keep one of both lines"],
    );
    let second = |header: &str| parse(&format!("{MINIMAL_SCENARIO}{header}\n"));
    assert_error(second("[state]"), &["[state] is given twice", "below one [state]"]);
    let loads = MINIMAL_SCENARIO.replace("[[load]]", "[load]");
    let loads = parse(&format!("{loads}[load]\nkind = \"sload-storm\"\n"));
    assert_error(loads, &["[load] is given twice", "write each as [[load]]"]);
    assert_error(parse("= 3"), &["not valid TOML", "my.toml:1:1", "correct the TOML"]);
    assert_error(with("[block]", "[block"), &["not valid TOML", "my.toml:5:", "[block"]);
    assert_error(
        with("gas = \"64M\"", "gas = \"64M\"\ngas = \"64M\""),
        &["gas is given twice, first in line 6", "my.toml:7:1"],
    );
}

#[test]
fn text_that_a_terminal_would_act_on_is_not_repeated() {
    let error = with("\"least\"", "\"\\u001b[31mred\"").expect_err("no name").to_string();
    assert!(!error.contains('\u{1b}'), "{error:?}");
    let long = format!("\"{}\"", "x".repeat(10_000));
    let error = with("\"least\"", &long).expect_err("no name").to_string();
    assert!(error.len() < 600, "{}", error.len());
}

#[test]
fn a_file_that_cannot_be_a_scenario_is_named_with_the_reason() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    assert_error(load(&path("none.toml"), &[]), &["No such file", "none.toml", "check the path"]);
    std::fs::write(path("latin.toml"), b"schema = 1\nname = \"caf\xe9\"\n").expect("written");
    assert_error(load(&path("latin.toml"), &[]), &["not UTF-8", "latin.toml:2:12", "as UTF-8"]);
    std::fs::write(path("large.toml"), vec![b'#'; (1 << 20) + 1]).expect("written");
    assert_error(load(&path("large.toml"), &[]), &["larger than 1048576 bytes", "large.toml"]);
    std::fs::write(path("good.toml"), MINIMAL_SCENARIO).expect("written");
    assert_eq!(load(&path("good.toml"), &[]).expect("a good file").name, "least");
}

#[test]
fn settings_of_rocksdb_have_bounds_with_reasons() {
    let rocksdb = |line: &str| parse(&format!("{MINIMAL_SCENARIO}[run.rocksdb]\n{line}\n"));
    for (line, parts) in [
        (
            "block = \"512B\"",
            ["run.rocksdb.block: 512 bytes are not from 1,024", "write block = \"4KiB\""],
        ),
        ("block = 4096", ["4096 has no unit", "block = \"10GiB\""]),
        ("file = \"2TiB\"", ["run.rocksdb.file", "the default"]),
        ("block_cache = \"0B\"", ["0 bytes are not from 1,048,576", "256MiB"]),
        ("filter_bits = 0", ["0 is below 1, the smallest filter", "or more"]),
        (
            "filter = \"none\"\nfilter_bits = 8",
            ["no bits without a filter", "leave filter_bits out"],
        ),
        ("filter = \"blom\"", ["blom is no filter", "did you mean bloom?"]),
        ("aged = 1.5", ["1.5 is no share", "write 0.015 for 1.5 %"]),
        ("aged = 0.0000001", ["finer than a millionth", "six decimals"]),
        ("multi_get_keys = 1", ["below 2", "run.read = \"get\""]),
        ("open_files = 1", ["below 20", "or more"]),
        ("options = 7", ["run.rocksdb.options: 7 is an integer", "text in quotes"]),
        ("options = \"a=1;b\"", ["run.rocksdb.options: b has no value", "max_background_jobs=1"]),
        (
            "options = \"a={x=1};block_based_table_factory={block_size=1}\"",
            ["block_based_table_factory is not set here", "shaped by block, filter and index"],
        ),
        ("options = \"max_open_files=9\"", ["max_open_files is not set here", "open_files"]),
        (
            "options = \"disable_auto_compactions=false\"",
            ["disable_auto_compactions is not set here", "it has a key: compaction"],
        ),
        (
            "options = \"write_buffer_size=9\"",
            ["write_buffer_size is not set here", "write_buffer"],
        ),
        ("compaction = \"no\"", ["\"no\" is no compaction mode", "did you mean off?"]),
        ("write_buffer = \"1KiB\"", ["1,024 bytes are not from 65,536", "64MiB"]),
        ("options = \"wal_dir=/tmp\"", ["wal_dir is not set here", "directory of its own"]),
        ("bloom = 10", ["run.rocksdb.bloom: no such key", "keys here are block"]),
    ] {
        assert_error(rocksdb(line), &parts);
    }
    let run = parse(&format!("{MINIMAL_SCENARIO}[run]\nrocksdb = 1\n"));
    assert_error(run, &["run.rocksdb: 1 is an integer", "[run.rocksdb]"]);
}

#[test]
fn the_form_of_a_table_is_one_of_mdbx_and_has_a_name() {
    let mdbx = |stores: &str, line: &str| {
        parse(&format!("{MINIMAL_SCENARIO}[run]\nstores = [{stores}]\n[run.mdbx]\n{line}\n"))
    };
    assert!(mdbx("\"mdbx\", \"flat\"", "storage = \"dupsort\"").is_ok());
    assert!(mdbx("\"rocksdb\"", "storage = \"rows\"").is_ok());
    for (stores, line, parts) in [
        (
            "\"mdbx\"",
            "storage = \"dubsort\"",
            ["run.mdbx.storage: dubsort is no form of the table", "did you mean dupsort?"],
        ),
        ("\"mdbx\"", "storage = 1", ["run.mdbx.storage: 1 is an integer", "text in quotes"]),
        (
            "\"rocksdb\", \"flat\"",
            "storage = \"dupsort\"",
            ["dupsort is a form of the mdbx store, and the stores of the run are", "--store mdbx"],
        ),
        (
            "\"mdbx\"",
            "slots = \"rows\"",
            ["run.mdbx.slots: no such key", "did you mean state.slots?"],
        ),
    ] {
        assert_error(mdbx(stores, line), &parts);
    }
    let run = parse(&format!("{MINIMAL_SCENARIO}[run.rocksdb]\nstorage = \"dupsort\"\n"));
    assert_error(run, &["run.rocksdb.storage: no such key", "did you mean run.mdbx.storage?"]);
}

#[test]
fn code_longer_than_its_fork_allows_is_rejected_with_the_bound_of_the_fork() {
    for (kind, unit) in [("deploy", ""), ("account-storm", " bytes")] {
        let coded = |fork: &str, bytes: u64| {
            let code = match unit {
                "" => bytes.to_string(),
                _ => format!("\"{bytes}B\""),
            };
            let text = MINIMAL_SCENARIO.replace("sload-storm", kind);
            parse(&format!("fork = \"{fork}\"\n{text}code = {code}\n"))
        };
        assert!(coded("amsterdam", 65_536).is_ok() && coded("osaka", 24_576).is_ok(), "{kind}");
        assert_error(coded("amsterdam", 65_537), &["load[0].code", "65,536", "under amsterdam"]);
        assert_error(coded("bpo2", 24_577), &["load[0].code", "24,576"]);
    }
}
