//! Parsing the command line, with usage lines of the words as they were typed.

use std::ffi::OsString;

use clap::{Command, CommandFactory, Error, Parser, error::ContextKind};

use super::Cli;

/// Parses `words`. Help, the version and errors end the process, as `clap` has it.
pub fn parse(words: &[OsString]) -> Cli {
    Cli::try_parse_from(words)
        .unwrap_or_else(|error| with_typed_usage(Cli::command(), words, error).exit())
}

/// `error` with a usage line of `words` alone. For `clap` a variable of the environment is an argument
/// that was typed, and its usage lines show those as required: `stress compare --data-dir <DIR> <RESULT>`.
fn with_typed_usage(line: Command, words: &[OsString], error: Error) -> Error {
    if error.get(ContextKind::Usage).is_none() {
        return error;
    }
    match without_environment(line).try_get_matches_from(words) {
        Err(typed) if is_same(&error, &typed) => typed,
        // The value that the environment has is the error, or all that hides another one.
        _ => error,
    }
}

/// The line and its verbs without variables.
fn without_environment(line: Command) -> Command {
    line.mut_args(|arg| arg.env(None::<&str>)).mut_subcommands(without_environment)
}

/// Whether two errors differ in their usage lines alone.
fn is_same(a: &Error, b: &Error) -> bool {
    let facts = |error: &Error| {
        let all = error.context().filter(|(kind, _)| *kind != ContextKind::Usage);
        all.map(|(kind, value)| (kind.as_str(), value.to_string())).collect::<Vec<_>>()
    };
    a.kind() == b.kind() && facts(a) == facts(b)
}

#[cfg(test)]
mod tests {
    use clap::{Arg, error::ErrorKind};

    use super::*;

    /// A line with a verb whose option `--at` has its value from a variable that is always set.
    fn line() -> Command {
        let at = Arg::new("at").long("at").env("PATH");
        let file = Arg::new("file").value_name("FILE").required(true);
        let other = Arg::new("other").long("other").conflicts_with("at");
        Command::new("tool").subcommand(Command::new("verb").args([at, file, other]))
    }

    fn told(words: &[&str]) -> (Error, String) {
        let words: Vec<_> = words.iter().map(OsString::from).collect();
        let error = line().try_get_matches_from(&words).expect_err("a wrong line");
        let before = error.to_string();
        (with_typed_usage(line(), &words, error), before)
    }

    #[test]
    fn a_usage_line_has_no_option_that_only_the_environment_gives() {
        let (error, before) = told(&["tool", "verb"]);
        assert!(before.contains("--at <at>"), "clap itself shows it: {before}");
        let text = error.to_string();
        assert!(text.contains("Usage: tool verb <FILE>") && !text.contains("--at"), "{text}");
        assert_eq!(error.kind(), ErrorKind::MissingRequiredArgument);
    }

    #[test]
    fn an_option_that_is_typed_stays_in_the_usage_line() {
        let (error, _) = told(&["tool", "verb", "--at", "x"]);
        assert!(error.to_string().contains("--at <at>"), "{error}");
    }

    #[test]
    fn an_error_that_the_environment_makes_is_told_as_it_is() {
        let (error, before) = told(&["tool", "verb", "x", "--other", "y"]);
        assert_eq!(error.to_string(), before);
        assert_eq!(error.kind(), ErrorKind::ArgumentConflict);
    }
}
