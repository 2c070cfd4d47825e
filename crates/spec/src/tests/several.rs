//! A scenario with several mistakes tells each as if it were alone.

use proptest::prelude::*;

use super::{MINIMAL_SCENARIO, given, parse};
use crate::{Scenario, ScenarioError, shipped};

/// A scenario with a line for each mistake of [`MISTAKES`].
const SOUND: &str = r#"schema = 1
name = "sound"
fork = "osaka"
seed = 3
[state]
slots = "2M"
accounts = 1_000
present = 0.5
[block]
gas = "64M"
blocks = 2
batch = 1
tx_gas = "16M"
[[load]]
kind = "sload-storm"
share = 0.5
keys = "weyl"
[[load]]
kind = "transfers"
share = 0.5
[run]
designs = ["sequential", "batched-io"]
threads = [1, 2]
budget = "60s"
cache = "cold"
[run.rocksdb]
block = "8KiB"
[[expect]]
metric = "mgas_per_s(sequential)"
min = 1
"#;

/// Lines, and each with a mistake.
const MISTAKES: [(&str, &str); 20] = [
    ("name = \"sound\"", "name = \"No Name\""),
    ("fork = \"osaka\"", "fork = \"london\""),
    ("seed = 3", "seed = -3"),
    ("slots = \"2M\"", "slot = \"2M\""),
    ("accounts = 1_000", "accounts = \"1GiB\""),
    ("present = 0.5", "present = 50"),
    ("gas = \"64M\"", "gas = 64M"),
    ("blocks = 2", "blocks = 0"),
    ("tx_gas = \"16M\"", "tx_gas = \"1k\""),
    ("kind = \"sload-storm\"", "kind = \"sload-strom\""),
    ("share = 0.5\nkeys", "share = 5\nkeys"),
    ("keys = \"weyl\"", "keys = \"none-such\""),
    ("kind = \"transfers\"", "knd = \"transfers\""),
    ("designs = [\"sequential\", \"batched-io\"]", "designs = [\"sequentail\", \"batched-io\"]"),
    ("threads = [1, 2]", "threads = [1, 1]"),
    ("budget = \"60s\"", "budget = 60"),
    ("cache = \"cold\"", "cache = cold"),
    ("block = \"8KiB\"", "blok = \"8KiB\""),
    ("metric = \"mgas_per_s(sequential)\"", "metric = \"mgas(sequential)\""),
    ("min = 1", "mni = 1"),
];

fn with(mistakes: &[usize]) -> String {
    mistakes.iter().fold(SOUND.to_owned(), |text, index| {
        let (line, wrong) = MISTAKES[*index];
        assert!(text.contains(line), "{line}");
        text.replacen(line, wrong, 1)
    })
}

fn told(text: &str) -> Vec<String> {
    let error = parse(text).expect_err("the scenario is wrong");
    error.diagnostics().iter().map(ToString::to_string).collect()
}

/// The error on the mistake when it is alone.
fn alone(index: usize) -> String {
    match told(&with(&[index])).as_slice() {
        [one] => one.clone(),
        several => panic!("{:?} is one mistake: {several:#?}", MISTAKES[index]),
    }
}

#[test]
fn each_mistake_alone_is_one_error_and_the_sound_scenario_has_none() {
    assert!(parse(SOUND).is_ok());
    for index in 0..MISTAKES.len() {
        alone(index);
    }
}

#[test]
fn several_mistakes_are_told_in_the_order_of_the_file_with_their_number() {
    let text =
        MINIMAL_SCENARIO.replace("64M", "640MB").replace("slots", "slot").replace("least", "L");
    let error = parse(&text).expect_err("three are wrong").to_string();
    let expected = r#"error: name: L is no name; a name is 1 to 64 lower-case letters, digits and hyphens
 --> my.toml:2:8
  |
2 | name = "L"
  |        ^^^
  = help: write name = "l"

error: state.slot: no such key
 --> my.toml:4:1
  |
4 | slot = "2M"
  | ^^^^
  = help: did you mean slots?

error: block.gas: 640MB is bytes; gas wants 640M
 --> my.toml:6:7
  |
6 | gas = "640MB"
  |       ^^^^^^^
  = help: write gas = "640M"

error: my.toml has 3 mistakes"#;
    assert_eq!(error, expected);
}

#[test]
fn two_wrong_values_of_one_list_are_two_mistakes() {
    let text = format!("{MINIMAL_SCENARIO}[run]\ndesigns = [\"sequentail\", \"batchd-io\"]\n");
    let told = told(&text);
    assert!(told.len() == 2 && told[0].contains("sequentail"), "{told:#?}");
    assert!(told[1].contains("batchd-io is no"), "{told:#?}");
}

#[test]
fn a_mistake_in_one_of_two_alternatives_is_one_mistake() {
    for (line, wrong) in [
        ("slots = \"2M\"", "size = \"10MB\""),
        ("slots = \"2M\"", "size = 10"),
        ("slots = \"2M\"", "size = \"10 parsecs\""),
        ("slots = \"2M\"", "slots = \"2M\"\nsize = \"1GiB\""),
        ("gas = \"64M\"", "transactions = \"lots\""),
        ("gas = \"64M\"", "gas = \"64M\"\ntransactions = 10"),
        ("min = 1", "min = \"much\""),
        ("min = 1", "max = \"much\""),
        ("min = 1", "min = 1\nmax = 2"),
    ] {
        let sound =
            format!("{MINIMAL_SCENARIO}[[expect]]\nmetric = \"bal_bytes(full)\"\nmin = 1\n");
        assert!(sound.contains(line) && parse(&sound).is_ok(), "{line}");
        let told = told(&sound.replace(line, wrong));
        assert_eq!(told.len(), 1, "{wrong}: {told:#?}");
    }
}

#[test]
fn mistakes_on_the_command_line_are_told_beside_those_of_the_file() {
    let text = MINIMAL_SCENARIO.replace("2M", "2MB");
    let overrides = [given("block.gas", "lots"), given("run.thread", "2")];
    let error = Scenario::parse("my.toml", &text, &overrides).expect_err("three are wrong");
    let told: Vec<String> = error.diagnostics().iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 3, "{error}");
    for words in ["run.thread: no such key", "--set block.gas=lots", "state.slots: 2MB is bytes"] {
        assert!(told.iter().any(|one| one.contains(words)), "{words}: {error}");
    }
}

#[test]
fn above_ten_mistakes_the_first_ten_are_shown_and_there_are_more() {
    let all: Vec<usize> = (0..MISTAKES.len()).collect();
    let error = parse(&with(&all)).expect_err("twenty are wrong");
    assert_eq!(error.diagnostics().len(), 10);
    assert!(
        error.to_string().ends_with("error: my.toml has more mistakes; the first 10 are shown")
    );
}

#[test]
fn text_that_is_no_toml_tells_its_syntax_alone() {
    let text = MINIMAL_SCENARIO.replace("[block]", "[block").replace("2M", "2MB");
    let told = told(&text);
    assert!(told.len() == 1 && told[0].contains("not valid TOML"), "{told:#?}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_of_several_mistakes_is_told_as_it_is_alone(
        mistakes in proptest::sample::subsequence((0..MISTAKES.len()).collect::<Vec<_>>(), 2..9)
    ) {
        let mut told = told(&with(&mistakes));
        let mut expected: Vec<String> = mistakes.into_iter().map(alone).collect();
        told.sort();
        expected.sort();
        prop_assert_eq!(told, expected);
    }

    #[test]
    fn a_shipped_scenario_with_one_key_misspelled_has_one_mistake(
        which in any::<proptest::sample::Index>(),
        line in any::<proptest::sample::Index>(),
    ) {
        let text = which.get(shipped::all()).1;
        // Without its version, which is looked at first, a text may have any keys.
        let is_key = |line: &&str| {
            line.contains(" = ") && !line.starts_with(['#', ' ']) && !line.starts_with("schema")
        };
        let keys: Vec<&str> = text.lines().filter(is_key).collect();
        let line = line.get(&keys);
        let error = parse(&text.replacen(line, &format!("x{line}"), 1));
        match error.expect_err("a key is misspelled") {
            ScenarioError::Invalid(_) => {}
            error => prop_assert!(false, "{}: {}", line, error),
        }
    }
}
