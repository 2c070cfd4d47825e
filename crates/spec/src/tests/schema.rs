//! The schema for editors and the scenario to start from: both know the reader's rules.

use serde_json::{Value, json};

use super::{MINIMAL_SCENARIO, parse, parsed};
use crate::{ScenarioError, all_paths, json_schema, keys, kinds, quantity, shipped, starter};
use crate::{keys::Keys, load::KINDS};

fn schema() -> Value {
    serde_json::from_str(&json_schema()).expect("JSON")
}

/// TOML as JSON.
fn json(text: &str) -> Value {
    let value: toml::Value = toml::from_str(text).expect("TOML");
    serde_json::to_value(value).expect("JSON")
}

/// The parts of `value` that the schema refuses: a validator of the keywords that the schema uses.
fn problems(schema: &Value, value: &Value, path: &str) -> Vec<String> {
    let mut out = Vec::new();
    let fault = |rule: &str| format!("{path}: {value} breaks {rule} of {schema}");
    for (keyword, rule) in schema.as_object().expect("a schema is an object") {
        let holds = match keyword.as_str() {
            "$schema" | "title" | "description" => true,
            "properties" => {
                for (key, of) in rule.as_object().into_iter().flatten() {
                    if let Some(value) = value.get(key) {
                        out.extend(problems(of, value, &format!("{path}.{key}")));
                    }
                }
                true
            }
            "additionalProperties" => {
                let known = schema["properties"].as_object().expect("properties");
                value.as_object().is_none_or(|of| of.keys().all(|key| known.contains_key(key)))
            }
            "required" => names(rule).all(|name| value.get(name).is_some()),
            "items" => {
                for (place, item) in value.as_array().into_iter().flatten().enumerate() {
                    out.extend(problems(rule, item, &format!("{path}[{place}]")));
                }
                true
            }
            "oneOf" => fitting(rule, value, path) == 1,
            "anyOf" => fitting(rule, value, path) > 0,
            "not" => !problems(rule, value, path).is_empty(),
            "const" => value == rule,
            "enum" => rule.as_array().expect("a list").contains(value),
            "minItems" => value.as_array().is_none_or(|of| of.len() as u64 >= number(rule) as u64),
            "uniqueItems" => value
                .as_array()
                .is_none_or(|of| of.iter().enumerate().all(|(at, item)| !of[..at].contains(item))),
            "minimum" => value.as_f64().is_none_or(|of| of >= number(rule)),
            "maximum" => value.as_f64().is_none_or(|of| of <= number(rule)),
            "pattern" => value.as_str().is_none_or(|of| fits(rule.as_str().expect("text"), of)),
            "type" => match rule.as_str().expect("text") {
                "object" => value.is_object(),
                "array" => value.is_array(),
                "string" => value.is_string(),
                "integer" => value.is_i64() || value.is_u64(),
                "number" => value.is_number(),
                "boolean" => value.is_boolean(),
                other => panic!("unknown type {other}"),
            },
            other => panic!("unknown keyword {other}"),
        };
        if !holds {
            out.push(fault(keyword));
        }
    }
    out
}

fn names(rule: &Value) -> impl Iterator<Item = &str> {
    rule.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn number(rule: &Value) -> f64 {
    rule.as_f64().expect("a number")
}

fn fitting(rule: &Value, value: &Value, path: &str) -> usize {
    let schemas = rule.as_array().into_iter().flatten();
    schemas.filter(|schema| problems(schema, value, path).is_empty()).count()
}

/// The meaning of the patterns, by the reader's own functions.
fn fits(pattern: &str, text: &str) -> bool {
    match pattern.strip_suffix("\\s*$").map(|rest| rest.rsplit("\\s*").next()) {
        Some(Some("[kMG]?")) => quantity::count(text, "", "").is_ok(),
        Some(Some("(B|KiB|MiB|GiB|TiB)")) => quantity::bytes(text).is_ok(),
        Some(Some("(ms|s|m|h)")) => quantity::duration(text).is_ok(),
        _ if pattern == "^[a-z0-9-]{1,64}$" => {
            (1..=64).contains(&text.len())
                && text.chars().all(|c| c == '-' || c.is_ascii_lowercase() || c.is_ascii_digit())
        }
        _ => panic!("unknown pattern {pattern}"),
    }
}

#[test]
fn every_scenario_that_is_shipped_shown_or_started_from_fits_the_schema() {
    let schema = schema();
    let started = kinds().map(|kind| starter("mine", &[kind]).expect("a starter"));
    let shown: Vec<_> = shipped::all().iter().map(|(_, text)| parsed(text).to_toml()).collect();
    let texts = shipped::all().iter().map(|(_, text)| (*text).to_owned());
    for text in texts.chain(started).chain(shown).chain([MINIMAL_SCENARIO.to_owned()]) {
        assert_eq!(problems(&schema, &json(&text), ""), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn what_the_reader_refuses_by_itself_the_schema_refuses() {
    let schema = schema();
    for (from, to) in [
        ("schema = 1", "schema = 2"),
        ("\"least\"", "\"Least\""),
        ("slots = \"2M\"", "slots = \"2M\"\nsize = \"1GiB\""),
        ("slots = \"2M\"", "slotz = \"2M\""),
        ("slots = \"2M\"", "slots = 0"),
        ("\"64M\"", "\"64MB\""),
        ("\"64M\"", "64.5"),
        ("\"sload-storm\"", "\"sload-strom\""),
        ("[[load]]", "[[load]]\npattern = \"a-to-b\""),
        ("[[load]]", "[[load]]\nkeys = \"random\""),
        ("[[load]]", "[[load]]\nshare = 1.5"),
        ("[[load]]", "[run]\nthreads = [0]\n[[load]]"),
        ("[[load]]", "[run]\nthreads = [2, 2]\n[[load]]"),
        ("[[load]]", "[run]\nbudget = \"60\"\n[[load]]"),
        ("[[load]]", "[run.rocksdb]\nblock = \"4k\"\n[[load]]"),
        ("[[load]]", "[[expect]]\nmin = 1\n[[load]]"),
    ] {
        let text = MINIMAL_SCENARIO.replacen(from, to, 1);
        assert!(parse(&text).is_err(), "{text}");
        assert!(!problems(&schema, &json(&text), "").is_empty(), "{text}");
    }
}

/// A key that is known is in the schema, with its values and the page's text.
#[test]
fn every_key_is_in_the_schema_with_its_values_and_its_meaning() {
    let schema = schema();
    for path in all_paths() {
        let mut at = vec![&schema];
        for name in path.split('.') {
            at = at
                .iter()
                .flat_map(|of| {
                    let items = of.get("items").unwrap_or(of);
                    let one_of = items.get("oneOf").and_then(Value::as_array);
                    one_of.map_or_else(|| vec![items], |all| all.iter().collect())
                })
                .filter_map(|of| of.get("properties")?.get(name))
                .collect();
        }
        assert!(!at.is_empty(), "{path} is not in the schema");
        for of in at {
            assert!(of["description"].is_string(), "{path}: {of}");
            let takes = ["type", "const", "enum", "anyOf"].iter().any(|key| of.get(key).is_some());
            assert!(takes, "{path}: the reader has not asked for it: {of}");
        }
    }
    let loads = schema["properties"]["load"]["items"]["oneOf"].as_array().expect("kinds");
    assert_eq!(loads.len(), KINDS.len());
    let holders = loads.iter().find_map(|load| load["properties"].get("holders")).expect("erc20");
    assert_eq!(holders["anyOf"][0]["maximum"], json!(1_000_000));
}

#[test]
fn a_scenario_to_start_from_is_valid_says_every_key_of_its_load_and_runs_small() {
    for kind in KINDS.iter() {
        let text = starter("mine", &[kind.name]).expect("a starter");
        let scenario = parsed(&text);
        assert_eq!((scenario.name.as_str(), scenario.loads.len()), ("mine", 1));
        assert_eq!(scenario.loads[0].kind.name(), kind.name);
        let after = |header: &str| text.split_once(&format!("\n{header}\n")).expect(header).1;
        let until = |part: &'static str, header: &str| {
            let part = after(part);
            part.split_once(&format!("\n{header}\n")).expect(header).0
        };
        let (state, block) = (until("[state]", "[block]"), until("[block]", "[[load]]"));
        let (load, run) = (until("[[load]]", "[run]"), after("[run]"));
        for (part, keys) in
            [(state, keys::STATE), (block, keys::BLOCK), (load, keys::LOAD), (load, &kind.keys)]
        {
            for key in keys {
                let lines = [format!("{key} = "), format!("# {key} = ")];
                let is_there = part.lines().any(|line| lines.iter().any(|at| line.starts_with(at)));
                assert!(is_there, "{key} is not in {part}");
            }
        }
        let words: Vec<&str> = run.split([' ', ',', '.', '\n']).collect();
        assert!(Keys::names::<crate::RunSpec>().iter().all(|key| words.contains(key)), "{run}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        assert!(
            text.contains("# share of what fills the block"),
            "what the page says is there: {text}"
        );
    }
}

#[test]
fn a_scenario_of_several_kinds_has_a_load_of_each() {
    for kinds in [&["transfers", "erc20"][..], &["sload-storm", "amm", "transfers"], &["erc20"; 7]]
    {
        let text = starter("mine", kinds).expect("a starter");
        let loads = parsed(&text).loads;
        assert!(loads.iter().map(|load| load.kind.name()).eq(kinds.iter().copied()), "{text}");
        let shares = loads.iter().map(|load| load.share);
        assert!(shares.clone().fold(0.0, f64::max) < 2.0 * shares.fold(1.0, f64::min), "{text}");
    }
    let error = starter("mine", &["erc20", "erc2O"]).expect_err("no kind").to_string();
    assert!(error.contains("KIND erc2O") && error.contains("did you mean erc20?"), "{error}");
}

#[test]
fn a_wrong_name_or_kind_is_one_error_that_names_the_remedy() {
    let fault = |name: &str, kind: &str| match starter(name, &[kind]) {
        Err(ScenarioError::Invalid(fault)) => fault.to_string(),
        other => panic!("{other:?}"),
    };
    let error = fault("mine", "erc2O");
    assert!(error.contains("KIND erc2O") && error.contains("did you mean erc20?"), "{error}");
    let error = fault("mine", "sload");
    assert!(error.contains("KIND sload") && error.contains("did you mean sload-storm?"), "{error}");
    let error = fault("../mine", "erc20");
    assert!(error.contains("../mine is no name") && error.contains("lower-case"), "{error}");
    assert!(error.contains("write NAME mine"), "a name that is no option: {error}");
    assert!(fault("../", "erc20").contains("write NAME my-scenario"));
}
