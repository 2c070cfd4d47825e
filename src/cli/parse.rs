//! Parses the command line for `main`. Errors get a remedy for options of earlier versions, and a
//! usage line that shows only the words that were typed.

use std::{ffi::OsString, path::Path};

use clap::{
    Command, CommandFactory, Error, Parser,
    builder::StyledStr,
    error::{ContextKind, ContextValue, ErrorKind},
};

use super::{args::print_help, short, verbs::Cli};

/// The verb that writes reports. The ending of the report's file names the format.
const REPORT: &str = "report";

/// Options that a user may type for the format of a report, though `stress report` has none of
/// them. Each has the ending of the format's file, and the words to write before `--out`.
const FORMATS: [(&str, &str, &str); 6] = [
    ("--html", "html", ""),
    ("--htm", "html", ""),
    ("--markdown", "md", ""),
    ("--md", "md", ""),
    ("--csv", "csv", ""),
    ("--json", "json", "--format bigger-is-better "),
];

const WRITE_FILES: &str =
    "write the files alone: `stress import alloc.json env.json txs.json --fork FORK --out FILE`";

/// Options of earlier versions, each with its remedy.
const CHANGED: [(&str, &str); 22] = [
    ("--alloc", WRITE_FILES),
    ("--candidate", "write `--program BINARY`"),
    ("--coin", "leave it out: each gate draws the order of builds anew"),
    ("--coordinator-cores", "leave it out: the coordinator has a core for each thread of a shard"),
    ("--datadir", "write `--client-data DIR`"),
    ("--env", WRITE_FILES),
    ("--form", "write `--format LIST`"),
    ("--key-layout", "write `--set state.layout=plain`"),
    ("--kind", "write the kinds behind the name: `stress generate new NAME erc20 amm`"),
    ("--no-whole", "write `--whole none`"),
    ("--partial-alloc", "take the state root out of the result"),
    ("--pid", "leave it out: only clients that `--client` starts are counted"),
    ("--present", "write `--set state.present=0.5`"),
    ("--profile-time", "write `?seconds=30` behind the URL of `--profile`"),
    ("--profile-url", "write `--profile URL`; the file goes to the directory of `--out`"),
    ("--root", "write `--set run.root=after`"),
    ("--seconds", "write `--budget 15s`, which all points share"),
    ("--slot", "write `--slot-time 200ms`"),
    ("--test", "write `--case NAME`"),
    ("--trace-variant", "run one variant: `--design`, `--threads` and `--io-threads` choose it"),
    ("--txs", WRITE_FILES),
    ("--without-tracer", "leave it out: a node without a tracer is asked key by key"),
];

/// Parses `words`. If they ask for help or the version, prints it and returns `None`. An error ends
/// the process, as in `clap`.
pub fn parse(words: &[OsString]) -> Option<Cli> {
    if words.iter().any(short::is_asked)
        && let Err(help) = short::with_short_help(Cli::command()).try_get_matches_from(words)
        && help.kind() == ErrorKind::DisplayHelp
    {
        print_help(&help.render());
        return None;
    }
    match Cli::try_parse_from(words) {
        Ok(cli) => Some(cli),
        Err(error) if error.use_stderr() => {
            with_remedy(words, with_typed_usage(Cli::command(), words, error)).exit()
        }
        Err(help) => {
            print_help(&help.render());
            None
        }
    }
}

/// Adds to `error` the remedy for an option of an earlier version, or for a report's format.
fn with_remedy(words: &[OsString], mut error: Error) -> Error {
    let unknown = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(arg)) if error.kind() == ErrorKind::UnknownArgument => arg,
        _ => return error,
    };
    let option = unknown.split('=').next().unwrap_or_default();
    let changed = CHANGED.iter().find(|(old, _)| *old == option);
    let tip = changed.map(|(_, remedy)| (*remedy).to_owned());
    let Some(tip) = tip.or_else(|| format_tip(words, option)) else { return error };
    error.remove(ContextKind::SuggestedArg);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    error
}

/// Returns the remedy for a report's format that was typed as an option.
fn format_tip(words: &[OsString], option: &str) -> Option<String> {
    words.get(1).filter(|verb| *verb == REPORT)?;
    let (name, ending, before) = FORMATS.into_iter().find(|(name, _, _)| *name == option)?;
    let rule = match before.is_empty() {
        true => "the ending of --out says the format",
        false => "results are JSON already; as JSON for other tools",
    };
    Some(format!("{rule}: {before}--out {}", file_of(words, name, ending)))
}

/// Returns the file that was typed as the value of `option`, with this ending. Without a value the
/// file's name is `report`.
fn file_of(words: &[OsString], option: &str, ending: &str) -> String {
    let mut words = words.iter().map(|word| word.to_string_lossy().into_owned());
    let word = words.find(|word| word.split('=').next() == Some(option)).unwrap_or_default();
    let typed = match word.split_once('=') {
        Some((_, file)) => Some(file.to_owned()),
        None => words.next().filter(|word| !word.starts_with('-')),
    };
    let file = typed.unwrap_or_else(|| REPORT.to_owned());
    match Path::new(&file).extension().is_some_and(|own| own == ending) {
        true => file,
        false => format!("{file}.{ending}"),
    }
}

/// Returns `error` with a usage line for `words` alone. `clap` treats a variable of the environment
/// as a typed argument, and shows it as required: `stress compare --data-dir <DIR> <RESULT>`.
fn with_typed_usage(line: Command, words: &[OsString], error: Error) -> Error {
    if error.get(ContextKind::Usage).is_none() {
        return error;
    }
    match without_environment(line).try_get_matches_from(words) {
        Err(typed) if differ_only_in_usage(&error, &typed) => typed,
        // The environment's value causes the error, or hides another error.
        _ => error,
    }
}

/// Returns the command line and its verbs without environment variables.
fn without_environment(line: Command) -> Command {
    line.mut_args(|arg| arg.env(None::<&str>)).mut_subcommands(without_environment)
}

/// Whether two errors are equal but for their usage lines.
fn differ_only_in_usage(a: &Error, b: &Error) -> bool {
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
            with_remedy(&words, error).to_string()
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

    /// All options of a verb and of its own verbs.
    fn options(line: &Command) -> Vec<String> {
        let own = line.get_arguments().filter_map(|arg| arg.get_long().map(str::to_owned));
        own.chain(line.get_subcommands().flat_map(options)).collect()
    }

    #[test]
    fn an_option_of_an_earlier_version_is_told_what_to_write_which_exists() {
        let known = options(&Cli::command());
        let is_known = |option: &str| known.iter().any(|known| known == option);
        for (old, remedy) in CHANGED {
            assert!(!is_known(&old[2..]), "{old}");
            for quoted in remedy.split('`').skip(1).step_by(2) {
                let option = quoted.strip_prefix("--").and_then(|option| option.split(' ').next());
                assert!(option.is_none_or(is_known), "{old}: {remedy}");
            }
            let words = ["stress", "gate", &format!("{old}=1")].map(OsString::from);
            let error = Cli::try_parse_from(&words).expect_err("a wrong line");
            let text = with_remedy(&words, error).to_string();
            assert!(text.contains(&format!("tip: {remedy}\n")), "{text}");
            assert_eq!(text.matches("tip: ").count(), 1, "{text}");
        }
    }
}
