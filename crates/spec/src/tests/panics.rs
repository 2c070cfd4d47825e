//! Reading any text answers: it never panics. Proptest prints its seed on failure.

use proptest::prelude::*;

use super::{Override, Scenario};
use crate::shipped;

/// Reads; a scenario that is accepted must survive its own resolved file.
fn read(text: &str, overrides: &[Override]) {
    match Scenario::parse("any.toml", text, overrides) {
        Ok(scenario) if overrides.is_empty() => {
            let again = Scenario::parse("again.toml", &scenario.to_toml(), &[]);
            assert_eq!(again.as_ref(), Ok(&scenario));
        }
        Ok(scenario) => assert!(!scenario.work_identity().is_empty()),
        Err(error) => {
            let error = error.to_string();
            assert!(error.starts_with("error: ") && error.contains("= help: "), "{error}");
        }
    }
}

/// Pieces that a hand slips into a scenario.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,8}",
        "[-0-9a-zA-Z_.\"'\\[\\]{}=#, \n\r\t]{0,12}",
        proptest::sample::select(vec![
            "\"",
            "[[",
            "]]",
            "= ",
            "inf",
            "nan",
            "-1",
            "0",
            "1e400",
            "\"9G\"",
            "\u{0}",
            "\u{feff}",
            "18446744073709551616",
            "\u{202e}",
            "é\u{301}",
            "\r",
            "[[load]]",
            "[load]",
            "\"\"\"",
            "0.000000000000000000000000000001",
            "1979-05-27",
            "true",
            "{}",
            "[[[[[[[[",
            "\u{1f980}",
        ])
        .prop_map(str::to_owned),
    ]
}

fn cut(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at % (text.len() + 1))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_answered(text in any::<String>()) {
        read(&text, &[]);
    }

    #[test]
    fn a_shipped_scenario_with_pieces_replaced_is_answered(
        which in any::<proptest::sample::Index>(),
        edits in prop::collection::vec((any::<usize>(), 0_usize..12, piece()), 1..4),
    ) {
        let mut text = which.get(shipped::all()).1.to_owned();
        for (at, removed, piece) in edits {
            let start = cut(&text, at);
            let end = text.floor_char_boundary((start + removed).min(text.len())).max(start);
            text.replace_range(start..end, &piece);
        }
        read(&text, &[]);
    }

    #[test]
    fn any_value_of_any_key_is_answered(
        key in prop::sample::select(crate::all_paths()),
        value in prop_oneof![piece(), "[0-9]{1,40}(\\.[0-9]{1,40})?[kMGTiBsmh]{0,3}"],
    ) {
        let given = Override { key, origin: format!("--set {value}"), value: value.clone() };
        read(super::MINIMAL_SCENARIO, &[given]);
        for line in ["slots = \"2M\"", "gas = \"64M\"", "kind = \"sload-storm\""] {
            let key = line.split(' ').next().unwrap_or_default();
            read(&super::MINIMAL_SCENARIO.replace(line, &format!("{key} = {value}")), &[]);
            read(&super::MINIMAL_SCENARIO.replace(line, &format!("{key} = \"{value}\"")), &[]);
        }
    }

    #[test]
    fn any_override_is_answered(key in piece(), value in any::<String>(), origin in piece()) {
        read(super::MINIMAL_SCENARIO, &[Override { key, value, origin }]);
    }
}
