//! The command line, which `main` carries out: verbs, their arguments and their output. Before
//! `clap` parses the words, this file refuses misspelt verbs and moves `--quiet`, as `clap` would
//! misread both.

pub mod args;
pub mod cmd;
mod parse;
mod short;
mod verbs;

use std::{ffi::OsString, path::Path};

use clap::CommandFactory;
use spec::shipped;

use crate::terminal::{Code, Failure, exit::fail};

pub use parse::parse;
pub use verbs::Cli;
#[cfg(test)]
pub use verbs::Command;

/// Verbs of earlier versions, each with the command that replaces it.
const RENAMED: [(&str, &str); 10] = [
    ("baseline", "state baseline"),
    ("calibrate", "gate calibrate"),
    ("calibrate-against", "client rank"),
    ("completions", "help completions"),
    ("history", "report --history"),
    ("io", "doctor io"),
    ("man", "help man"),
    ("new", "generate new"),
    ("schema", "show schema"),
    ("simulate", "shard simulate"),
];

/// Moves leading `--quiet` words to the end of the line, or to the place before `--`. In front of a
/// verb, `clap` takes `--quiet` for an option of a run, and refuses the verb.
pub fn move_quiet_to_end(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.collect();
    let quiet_count = words.iter().skip(1).take_while(|word| is_quiet(word)).count();
    let Some(first) = words.get(1 + quiet_count) else { return words };
    if !first.to_string_lossy().starts_with('-') {
        let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
        words[1..end].rotate_left(quiet_count);
    }
    words
}

fn is_quiet(word: &OsString) -> bool {
    word == "-q" || word == "--quiet"
}

/// Refuses a command line that begins with a renamed verb, a misspelt verb or a misspelt scenario.
/// It runs before `clap`, which would report errors of later words first.
///
/// # Errors
/// The first word is a renamed verb. Or it is similar to a verb or a scenario, but is neither.
pub fn check_first_word(mut words: impl Iterator<Item = OsString>) -> Result<(), Failure> {
    let first = words.find(|word| !is_quiet(word)).and_then(|word| word.into_string().ok());
    match first.as_deref().and_then(first_word_error) {
        Some(error) => fail!(Code::Usage, "{error}"),
        None => Ok(()),
    }
}

/// Returns the error for a renamed or misspelt word. `None` if `clap` may parse it: an option, a
/// path, a verb, a scenario, or a word that is similar to none.
fn first_word_error(word: &str) -> Option<String> {
    if let Some((_, verb)) = RENAMED.iter().find(|(old, _)| *old == word) {
        return Some(format!("{word}: this verb is `stress {verb}`"));
    }
    let line = Cli::command();
    let is_path = word.contains('/') || Path::new(word).extension().is_some();
    let is_scenario = shipped::find(word).is_some();
    if word.starts_with('-') || is_path || is_verb(&line, word) || is_scenario {
        return None;
    }
    let verbs = line.get_subcommands().map(clap::Command::get_name);
    let scenarios = shipped::all().iter().map(|(name, _)| *name);
    let nearest = spec::nearest(word, verbs.chain(scenarios))?;
    let (meant, more) = match is_verb(&line, nearest) {
        true => (format!("`stress {nearest}`"), "`stress --help` shows all verbs"),
        false => (format!("the scenario {nearest}"), "`stress list` shows all of them"),
    };
    Some(format!("{word}: this is no verb and no scenario; did you mean {meant}? {more}"))
}

fn is_verb(line: &clap::Command, word: &str) -> bool {
    line.find_subcommand(word).is_some()
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
            (&["clint", "storm/"], "`stress client`"),
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
            (&["stress", "-q", "help", "list"], &["stress", "help", "list", "-q"]),
            (&["stress", "-q", "gate", "calibrate"], &["stress", "gate", "calibrate", "-q"]),
            (&["stress", "-q", "run", "--", "x"], &["stress", "run", "-q", "--", "x"]),
            (&["stress", "-q", "--scenario", "x"], &["stress", "-q", "--scenario", "x"]),
            (&["stress", "list", "-q"], &["stress", "list", "-q"]),
            (&["stress", "-q"], &["stress", "-q"]),
            (&["stress"], &["stress"]),
        ] {
            let words = move_quiet_to_end(given.iter().map(OsString::from));
            assert_eq!(words, expected.iter().map(OsString::from).collect::<Vec<_>>());
        }
        for line in [&["stress", "--quiet", "list"][..], &["stress", "-q", "sload-storm"]] {
            let words = move_quiet_to_end(line.iter().map(OsString::from));
            assert!(Cli::try_parse_from(words).is_ok_and(|cli| cli.quiet), "{line:?}");
        }
    }

    #[test]
    fn a_renamed_verb_is_told_its_new_form_which_is_one() {
        for (old, new) in RENAMED {
            let error = refused(&[old, "x"]).unwrap_or_else(|| panic!("{old} is refused"));
            assert!(error.ends_with(&format!("`stress {new}`")), "{error}");
            let mut line = Cli::command();
            assert!(line.find_subcommand(old).is_none(), "{old}");
            for word in new.split(' ') {
                line = match word.strip_prefix("--") {
                    Some(option) => {
                        let mut options = line.get_arguments();
                        assert!(options.any(|own| own.get_long() == Some(option)), "{new}");
                        break;
                    }
                    None => line.find_subcommand(word).unwrap_or_else(|| panic!("{new}")).clone(),
                };
            }
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
