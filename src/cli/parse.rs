//! Parsing the command line, with usage lines of the words as they were typed.

use std::{ffi::OsString, path::Path};

use clap::{
    Command, CommandFactory, Error, Parser,
    builder::StyledStr,
    error::{ContextKind, ContextValue, ErrorKind},
};

use super::{args::print_help, verbs::Cli};

/// The verb that writes reports, whose format follows from the ending of a file.
const REPORT: &str = "report";

/// Formats that are no options of it, each with its ending and the options that say the format before
/// `--out`.
const FORMATS: [(&str, &str, &str); 6] = [
    ("--html", "html", ""),
    ("--htm", "html", ""),
    ("--markdown", "md", ""),
    ("--md", "md", ""),
    ("--csv", "csv", ""),
    ("--json", "json", "--format bigger-is-better "),
];

/// Parses `words`. Prints help or the version where these are asked for, and returns `None`. An error
/// ends the process, as `clap` has it.
pub fn parse(words: &[OsString]) -> Option<Cli> {
    match Cli::try_parse_from(words) {
        Ok(cli) => Some(cli),
        Err(error) if error.use_stderr() => {
            with_format(words, with_typed_usage(Cli::command(), words, error)).exit()
        }
        Err(help) => {
            print_help(&help.render());
            None
        }
    }
}

/// `error`, with what to write where it is of a report's format that was typed as an option.
fn with_format(words: &[OsString], mut error: Error) -> Error {
    let is_of_report = words.get(1).is_some_and(|verb| verb == REPORT);
    let unknown = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(arg)) if error.kind() == ErrorKind::UnknownArgument => arg,
        _ => return error,
    };
    let option = unknown.split('=').next().unwrap_or_default();
    let format = FORMATS.into_iter().find(|(name, _, _)| is_of_report && *name == option);
    let Some((name, ending, before)) = format else { return error };
    let rule = match before.is_empty() {
        true => "the ending of --out says the format",
        false => "results are JSON already; as JSON for other tools",
    };
    let tip = format!("{rule}: {before}--out {}", file_of(words, name, ending));
    error.remove(ContextKind::SuggestedArg);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    error
}

/// The file that was typed as the value of `option`, with this ending; `report` where none was.
fn file_of(words: &[OsString], option: &str, ending: &str) -> String {
    let mut words = words.iter().map(|word| word.to_string_lossy());
    let typed = words.find_map(|word| match word.strip_prefix(option)? {
        "" => Some(None),
        rest => Some(Some(rest.strip_prefix('=')?.to_owned())),
    });
    let typed = typed
        .flatten()
        .or_else(|| Some(words.next()?.into_owned()).filter(|word| !word.starts_with('-')));
    let file = typed.unwrap_or_else(|| REPORT.to_owned());
    match Path::new(&file).extension().is_some_and(|own| own == ending) {
        true => file,
        false => format!("{file}.{ending}"),
    }
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
    let [of_a, of_b] = [a, b].map(|error| {
        let all = error.context().filter(|(kind, _)| *kind != ContextKind::Usage);
        all.map(|(kind, value)| (kind.as_str(), value.to_string())).collect::<Vec<_>>()
    });
    a.kind() == b.kind() && of_a == of_b
}

#[cfg(test)]
mod tests {
    use clap::Arg;

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

    #[test]
    fn a_format_of_a_report_is_told_the_option_that_says_it() {
        let told = |words: &[&str]| {
            let words: Vec<_> = ["stress"].iter().chain(words).map(OsString::from).collect();
            let error = Cli::try_parse_from(&words).expect_err("a wrong line");
            with_format(&words, error).to_string()
        };
        for (words, tip) in [
            (&["report", "sw", "--html", "a.html"][..], "says the format: --out a.html\n"),
            (&["report", "sw", "--html=b"], "says the format: --out b.html\n"),
            (&["report", "sw", "--csv", "-q"], "says the format: --out report.csv\n"),
            (&["report", "--md", "sw"], "says the format: --out sw.md\n"),
            (&["report", "sw", "--json"], ": --format bigger-is-better --out report.json\n"),
        ] {
            let text = told(words);
            assert!(text.contains(tip) && !text.contains("as a value"), "{text}");
            assert_eq!(text.matches("tip: ").count(), 1, "{text}");
        }
        for words in [&["report", "sw", "--xml"][..], &["compare", "sw", "--html"]] {
            assert!(!told(words).contains("--out"), "{words:?}");
        }
    }
}
