//! Keys of other kinds of load, and beginnings of names.

use super::{MINIMAL_SCENARIO, assert_error, given, parse};
use crate::{Scenario, nearest};

/// The least scenario with a load of this kind, and this line in it.
fn of_kind(kind: &str, line: &str) -> String {
    let least = MINIMAL_SCENARIO.replace("slots = \"2M\"\n", "").replace("sload-storm", kind);
    format!("{least}{line}\n")
}

#[test]
fn a_key_of_other_kinds_of_load_is_answered_with_them_and_the_keys_of_this_one() {
    for (kind, line, help) in [
        (
            "amm",
            "holders = 10",
            "help: holders is a key of erc20, erc721 and airdrop; this load is amm, whose keys are pairs, \
             hot, pair_zipf and traders",
        ),
        (
            "erc721",
            "pairs = 10",
            "pairs is a key of amm; this load is erc721, whose key is holders",
        ),
        ("balance-storm", "pairs = 10", "this load is balance-storm, which has no keys of its own"),
    ] {
        let key = format!("load[0].{}: no such key", line.split(' ').next().expect("a key"));
        assert_error(parse(&of_kind(kind, line)), &[&key, "my.toml:8:1", help]);
    }
    let outside = given("load.holders", "10");
    let outside = Scenario::parse("my.toml", &of_kind("amm", ""), &[outside]);
    assert_error(outside, &["load[0].holders: no such key", "this load is amm, whose keys are "]);
    // A key that the state has is more likely to be meant there.
    assert_error(parse(&of_kind("amm", "accounts = 10")), &["did you mean state.accounts?"]);
}

#[test]
fn the_key_of_another_kind_is_one_mistake_beside_others() {
    let text = of_kind("amm", "holders = 10").replace("64M", "640MB");
    let error = parse(&text).expect_err("two are wrong");
    assert_eq!(error.diagnostics().len(), 2, "{error}");
}

#[test]
fn the_beginning_of_a_name_is_near_to_it() {
    let names = ["sload-storm", "sload-storm-weyl", "erc20", "state.size", "official/abcdefgh"];
    for (given, meant) in [
        ("sload", Some("sload-storm")),
        ("SLOAD_S", Some("sload-storm")),
        ("erc", Some("erc20")),
        ("state.s", Some("state.size")),
        // Too short; a table; a folder.
        ("sl", None),
        ("state", None),
        ("state.", None),
        ("official", None),
    ] {
        assert_eq!(nearest(given, names), meant, "{given}");
    }
}
