//! Converts options of a run into the scenario keys that they set, for the axes of a sweep and the
//! settings of compared results.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};
use clap::{CommandFactory, Parser};
use spec::Override;

use super::overrides::{HowArgs, WorkArgs};

/// The option that sets any key.
const SET: &str = "set";

/// A command line that has only options of a run, and no verb.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Options {
    #[command(flatten)]
    work: WorkArgs,
    #[command(flatten)]
    how: HowArgs,
}

/// Returns the override of the option `name` with this value. `None` if the option does not exist,
/// takes no value, or sets no key.
///
/// # Errors
/// No input of the caller causes an error, as values are not checked here.
pub fn option_override(name: &str, value: &str) -> Result<Option<Override>> {
    let name = name.replace('_', "-");
    let command = Options::command();
    let mut options = command.get_arguments().filter(|option| option.get_action().takes_values());
    if name == SET || !options.any(|option| option.get_long() == Some(name.as_str())) {
        return Ok(None);
    }
    let given = Options::try_parse_from([format!("--{name}={value}")]);
    let given = given.map_err(|error| anyhow!("--{name}={value}: {error}"))?;
    let mut overrides = given.work.overrides()?;
    overrides.extend(given.how.overrides());
    Ok(overrides.pop())
}

/// Returns the keys of a scenario that a command line sets by `--set` or by an option with a value.
/// Each key has its last value.
pub fn keys_set_by(command: &[String]) -> BTreeMap<String, String> {
    let mut keys = BTreeMap::new();
    let mut words = command.iter().peekable();
    while let Some(word) = words.next() {
        let Some(option) = word.strip_prefix("--") else { continue };
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, words.peek().map(|word| word.as_str())),
        };
        if let Some((key, value)) = value.and_then(|value| key_set_by(name, value)) {
            keys.insert(key, value);
            if !option.contains('=') {
                words.next();
            }
        }
    }
    keys
}

/// Returns the key that an option sets, with its value.
fn key_set_by(name: &str, value: &str) -> Option<(String, String)> {
    if name == SET {
        let (key, value) = value.split_once('=')?;
        return Some((key.to_owned(), value.to_owned()));
    }
    let given = option_override(name, value).ok()??;
    Some((given.key, given.value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Option<String> {
        option_override(name, "7").unwrap().map(|given| format!("{}={}", given.key, given.value))
    }

    #[test]
    fn an_option_is_the_key_that_it_sets_and_nothing_else_is_one() {
        assert_eq!(key("threads").as_deref(), Some("run.threads=7"));
        assert_eq!(key("io_threads").as_deref(), Some("run.io_threads=7"));
        assert_eq!(key("io-threads").as_deref(), Some("run.io_threads=7"));
        assert_eq!(key("gas").as_deref(), Some("block.gas=7"));
        for none in ["set", "state.slots", "quick", "help", "scenario", "", "-"] {
            assert_eq!(key(none), None, "{none}");
        }
    }

    #[test]
    fn a_command_line_sets_the_keys_of_its_options_and_of_set() {
        let words = "stress own.toml --quick --out a --set run.read=get --set=run.commit=synced \
                     --io-threads 2,8 --threads=1 --threads 4 --quick --samples";
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let keys: Vec<String> =
            keys_set_by(&words).iter().map(|(key, value)| format!("{key}={value}")).collect();
        let expected = ["run.commit=synced", "run.io_threads=2,8", "run.read=get", "run.threads=4"];
        assert_eq!(keys, expected);
        assert!(keys_set_by(&[]).is_empty());
    }

    #[test]
    fn every_option_with_a_value_has_a_key() {
        let command = Options::command();
        let options = command.get_arguments().filter(|option| option.get_action().takes_values());
        let names = options.filter_map(|option| option.get_long()).filter(|name| *name != "set");
        let names: Vec<_> = names.collect();
        assert!(names.len() > 12, "{names:?}");
        assert!(names.iter().all(|name| key(name).is_some()), "{names:?}");
    }
}
