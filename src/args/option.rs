//! Options of a run as keys that can be varied.

use anyhow::{Result, anyhow};
use clap::{CommandFactory, Parser};
use spec::Override;

use super::overrides::{HowArgs, WorkArgs};

/// The options of a run alone.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Options {
    #[command(flatten)]
    work: WorkArgs,
    #[command(flatten)]
    how: HowArgs,
}

/// The override that the option `name` with this value stands for; `None` where there is no such
/// option, or it has no value or no key of its own.
///
/// # Errors
/// None that the caller can cause: a value is not looked at here.
pub fn as_option(name: &str, value: &str) -> Result<Option<Override>> {
    let name = name.replace('_', "-");
    let command = Options::command();
    let mut options = command.get_arguments().filter(|option| option.get_action().takes_values());
    if name == "set" || !options.any(|option| option.get_long() == Some(name.as_str())) {
        return Ok(None);
    }
    let given = Options::try_parse_from([format!("--{name}={value}")]);
    let given = given.map_err(|error| anyhow!("--{name}={value}: {error}"))?;
    let mut overrides = given.work.overrides()?;
    overrides.extend(given.how.overrides());
    Ok(overrides.pop())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Option<String> {
        as_option(name, "7").unwrap().map(|given| format!("{}={}", given.key, given.value))
    }

    #[test]
    fn an_option_is_the_key_that_it_sets_and_nothing_else_is_one() {
        assert_eq!(key("threads").as_deref(), Some("run.threads=7"));
        assert_eq!(key("io_threads").as_deref(), Some("run.io_threads=7"));
        assert_eq!(key("io-threads").as_deref(), Some("run.io_threads=7"));
        assert_eq!(key("gas").as_deref(), Some("block.gas=7"));
        for none in ["set", "state.slots", "recover_senders", "help", "scenario", "", "-"] {
            assert_eq!(key(none), None, "{none}");
        }
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
