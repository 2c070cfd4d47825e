//! The command line: words that `clap` would misread come first here, then verbs and their arguments.

pub mod args;
pub mod cmd;
mod parse;
mod verbs;

use std::{ffi::OsString, path::Path};

use clap::CommandFactory;
use spec::shipped;

use crate::terminal::{Code, Failure, exit::fail};

pub use parse::parse;
pub use verbs::Cli;
#[cfg(test)]
pub use verbs::Command;

/// The verb that clap adds.
const HELP: &str = "help";

/// The command line with `--quiet` behind the first word: before a verb it would be an option of a run,
/// which no verb goes with.
pub fn quiet_behind_verb(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.collect();
    let quiet_count = words.iter().skip(1).take_while(|word| is_quiet(word)).count();
    let Some(first) = words.get(1 + quiet_count) else { return words };
    if first == HELP {
        words.drain(1..=quiet_count);
    } else if !first.to_string_lossy().starts_with('-') {
        words[1..quiet_count + 2].rotate_right(1);
    }
    words
}

fn is_quiet(word: &OsString) -> bool {
    word == "-q" || word == "--quiet"
}

/// Refuses arguments that begin with a misspelt verb or scenario. The others are not read: they
/// would make another error.
///
/// # Errors
/// The first word is neither, and near to one.
pub fn check_first_word(mut words: impl Iterator<Item = OsString>) -> Result<(), Failure> {
    let first = words.find(|word| !is_quiet(word)).and_then(|word| word.into_string().ok());
    match first.as_deref().and_then(meant) {
        Some(tip) => fail!(Code::Usage, "{tip}"),
        None => Ok(()),
    }
}

/// The error for a word that is near to a verb or a scenario and none of them.
fn meant(word: &str) -> Option<String> {
    let line = Cli::command();
    let is_path = word.contains('/') || Path::new(word).extension().is_some();
    let is_scenario = shipped::find(word).is_some();
    if word.starts_with('-') || is_path || is_verb(&line, word) || is_scenario {
        return None;
    }
    let verbs = line.get_subcommands().map(clap::Command::get_name).chain([HELP]);
    let scenarios = shipped::all().iter().map(|(name, _)| *name);
    let nearest = spec::nearest(word, verbs.chain(scenarios))?;
    let none = format!("{word}: this is no verb and no scenario");
    Some(match is_verb(&line, nearest) {
        true => format!("{none}; did you mean `stress {nearest}`? `stress --help` shows all verbs"),
        false => {
            format!("{none}; did you mean the scenario {nearest}? `stress list` shows all of them")
        }
    })
}

fn is_verb(line: &clap::Command, word: &str) -> bool {
    word == HELP || line.find_subcommand(word).is_some()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn refused(words: &[&str]) -> Option<String> {
        let checked = check_first_word(words.iter().map(OsString::from));
        checked.err().map(|failure| {
            assert_eq!(failure.code, Code::Usage);
            failure.to_string()
        })
    }

    #[test]
    fn a_misspelt_verb_or_scenario_is_told_the_nearest_whatever_follows() {
        for (words, meant) in [
            (&["lst"][..], "`stress list`"),
            (&["sweeep", "--scenario", "x", "threads=1,2", "--merge"], "`stress sweep`"),
            (&["-q", "gaet", "--against", "x"], "`stress gate`"),
            (&["hepl"], "`stress help`"),
            (&["calib"], "`stress calibrate`"),
            (&["calibrate_against", "geth"], "`stress calibrate-against`"),
            (&["sload-strom", "--gas", "64M"], "the scenario sload-storm"),
            (&["test_sload_bloated"], "the scenario official/test_sload_bloated"),
        ] {
            let error = refused(words).unwrap_or_else(|| panic!("{words:?} is refused"));
            assert!(error.contains(meant), "{words:?}: {error}");
        }
    }

    #[test]
    fn quiet_before_a_verb_is_an_option_of_the_verb() {
        for (given, expected) in [
            (&["stress", "--quiet", "list"][..], &["stress", "list", "--quiet"][..]),
            (&["stress", "-q", "-q", "doctor", "-q"], &["stress", "doctor", "-q", "-q", "-q"]),
            (&["stress", "-q", "help", "list"], &["stress", "help", "list"]),
            (&["stress", "-q", "--scenario", "x"], &["stress", "-q", "--scenario", "x"]),
            (&["stress", "list", "-q"], &["stress", "list", "-q"]),
            (&["stress", "-q"], &["stress", "-q"]),
            (&["stress"], &["stress"]),
        ] {
            let words = quiet_behind_verb(given.iter().map(OsString::from));
            assert_eq!(words, expected.iter().map(OsString::from).collect::<Vec<_>>());
        }
        for line in [&["stress", "--quiet", "list"][..], &["stress", "-q", "sload-storm"]] {
            let words = quiet_behind_verb(line.iter().map(OsString::from));
            assert!(Cli::try_parse_from(words).is_ok_and(|cli| cli.quiet), "{line:?}");
        }
    }

    #[test]
    fn all_other_first_words_are_left_to_the_command_line() {
        for words in [
            &[][..],
            &["list"],
            &["ls"],
            &["help", "sweep"],
            &["sload-storm"],
            &["official/test_sload_bloated"],
            &["sweeep.toml"],
            &["./lst"],
            &["sweeep.workload"],
            &["--scenario", "lst"],
            &["--sweeep"],
            &["nothing-like-it"],
            &["mdbx"],
        ] {
            assert_eq!(refused(words), None, "{words:?}");
        }
    }
}
