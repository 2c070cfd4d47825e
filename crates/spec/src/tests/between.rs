//! Every rule between keys is one error with its place and its remedy.

use super::{MINIMAL_SCENARIO, assert_error, parse, with};

#[test]
fn exactly_one_of_two_alternatives_is_given() {
    assert_error(
        with("slots = \"2M\"", "slots = \"2M\"\nsize = \"1GiB\""),
        &["state.size: slots is given too", "my.toml:5:8", "remove slots or size"],
    );
    assert_error(
        with("slots = \"2M\"", ""),
        &[
            "state.slots: missing; exactly one of slots and size",
            "my.toml:3:1",
            "slots = \"1M\"; 76 MB on disk",
        ],
    );
    assert_error(
        with("gas = \"64M\"", "gas = \"64M\"\ntransactions = 10"),
        &["block.transactions: gas is given too", "my.toml:7:16"],
    );
    assert_error(
        with("gas = \"64M\"", "gas = \"64M\"\nlimit = \"60M\""),
        &["block.limit: gas is given too", "my.toml:7:9", "remove gas or limit"],
    );
    assert_error(with("gas = \"64M\"", ""), &["block.gas: missing", "write gas = \"640M\""]);
}

#[test]
fn rules_between_keys_are_explained() {
    assert_error(
        parse(
            &MINIMAL_SCENARIO
                .replace("[block]", "present = 0.5\n[block]")
                .replace("[[load]]", "[[load]]\nkeys = \"chase\""),
        ),
        &[
            "state.present: 0.5 with keys = \"chase\"",
            "an absent slot ends the chain",
            "my.toml:5:11",
        ],
    );
    assert_error(
        with("gas = \"64M\"", "gas = \"64M\"\nblocks = 10\nbatch = 3"),
        &["block.batch: 3 does not divide blocks = 10", "my.toml:8:9", "blocks = 12"],
    );
    let few_slots = MINIMAL_SCENARIO.replace("\"2M\"", "\"2k\"");
    assert_error(
        parse(&few_slots.replace("kind = ", "contracts = \"3k\"\nkind = ")),
        &["load[0].contracts: 3k is above 2,000, the number of slots", "my.toml:8:13"],
    );
    assert_error(with("kind = ", "contracts = \"2M\"\nkind = "), &["2M is above 1,000,000"]);
    assert_error(with("kind = ", "contracts = 0\nkind = "), &["0 is below 1", "contracts = 1"]);
}

#[test]
fn an_order_and_calldata_need_what_they_are_made_of() {
    let load =
        |lines: &str| with("kind = \"sload-storm\"", &format!("kind = \"sload-storm\"\n{lines}"));
    assert_error(
        load("order = \"descnding\""),
        &[
            "load[0].order: descnding is no order of keys",
            "did you mean descending?",
            "my.toml:9:9",
        ],
    );
    assert_error(
        load("order = \"ascending\"\nkeys = \"weyl\""),
        &["load[0].order: ascending is an order of keys that are hashes", "keys = \"keccak\""],
    );
    let absent = MINIMAL_SCENARIO.replace("[block]", "present = 0.5\n[block]");
    assert_error(
        parse(&format!("{absent}order = \"descending\"\n")),
        &["state.present: 0.5 with order = \"descending\"", "leave load.order out", "my.toml:5:11"],
    );
    assert_error(
        parse(
            &MINIMAL_SCENARIO
                .replace("\"2M\"", "\"5G\"")
                .replace("kind =", "order = \"descending\"\nkind ="),
        ),
        &["load[0].order: descending is for at most 4,294,967,296 slots", "lower state.slots"],
    );
    assert_error(
        load("calldata = 0.5"),
        &["load[0].calldata: 0.5 with keys = \"keccak\"", "calldata = 0", "keys = \"weyl\""],
    );
    assert_error(
        load("calldata_byte = \"zero\"\nkeys = \"weyl\""),
        &[
            "load[0].calldata_byte: zero bytes of no calldata",
            "write calldata = 1.0",
            "my.toml:9:17",
        ],
    );
    assert_error(
        load("calldata_byte = \"zeros\"\ncalldata = 1.0\nkeys = \"weyl\""),
        &["zeros is no byte of calldata", "did you mean zero?"],
    );
    assert_error(load("calldata = 1.5\nkeys = \"weyl\""), &["1.5 is no share"]);
    assert_error(load("calldata = \"64KiB\"\nkeys = \"weyl\""), &["64KiB is no share"]);
}

#[test]
fn a_chain_through_contracts_needs_slots_that_exist_in_each() {
    let chase = MINIMAL_SCENARIO.replace("\"sload-storm\"", "\"contract-chase\"");
    assert_error(
        parse(&chase.replace("[block]", "present = 0.5\n[block]")),
        &["state.present: 0.5 with a contract-chase load", "ends the chain", "my.toml:5:11"],
    );
    assert_error(
        parse(&format!("{chase}contracts = \"3M\"\n")),
        &["load[0].contracts: 3M is above 1,000,000", "my.toml:9:13"],
    );
    assert_error(parse(&format!("{chase}keys = \"chase\"\n")), &["load[0].keys: no such key"]);
    let without = chase.replace("slots = \"2M\"", "accounts = 9");
    assert_error(parse(&without), &["state.slots: missing", "slots = \"1M\"; 76 MB on disk"]);
}
