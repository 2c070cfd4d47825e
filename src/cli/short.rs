//! The short help (`-h`): two examples, and then the most used options, on a screen of 80 columns
//! and 40 lines. `--help` shows all options.

use std::ffi::OsString;

use clap::{Arg, Command};

/// Verbs, each with the options that its short help shows. The first is the program without a verb.
/// A verb that is not here shows all its options.
const SHOWN: [(&str, &str); 17] = [
    ("", "quick gas"),
    ("run", "quick gas slots set design store threads io-threads samples budget out format"),
    ("show", "workload json bal block address gas slots set quick"),
    ("validate", "gas slots set design store"),
    ("describe", "workload table json out gas slots set shards"),
    ("generate", "out gas slots blocks set force"),
    ("gate", "against b-set baseline delta gas design store samples out"),
    ("gate calibrate", "calibration gas slots set design store threads"),
    ("sweep", "out list cell merge gas slots design store samples"),
    ("limit", "deadline target limits slots design store samples out format"),
    ("import rpc", "url block blocks batch out force"),
    ("export", "scenario out format siblings grow gas slots fork"),
    ("client", "client url jwt client-data cache samples design deadline out"),
    ("client rank", "out gas slots samples cache design"),
    ("send", "url rate in-flight pool-depth accounts transactions seed out"),
    ("shard simulate", "workload transactions shards threads one-host check"),
    ("doctor io", "store read depth slots budget set out"),
];

/// Whether a word may ask for the short help: `-h`, alone or with other short options (`-qh`). A
/// value such as `-oh` may too, so `clap` decides.
pub fn is_asked(word: &OsString) -> bool {
    let word = word.to_string_lossy();
    word.starts_with('-') && !word.starts_with("--") && word.contains('h')
}

/// Returns the command line with the short help of each of its verbs.
pub fn with_short_help(line: Command) -> Command {
    let examples_of_run = two_examples(&after_help(&line));
    with_help_of(line, "", &examples_of_run)
}

/// Returns `line` with the short help of the verb at `path`, such as `gate calibrate`, and of the
/// verbs below it. A verb without examples shows those of a run.
fn with_help_of(line: Command, path: &str, examples_of_run: &str) -> Command {
    let shown = SHOWN.iter().find(|(verb, _)| *verb == path).map(|(_, shown)| *shown);
    let own = two_examples(&after_help(&line));
    let examples = if own.is_empty() { examples_of_run } else { &own };
    let space = if path.is_empty() { "" } else { " " };
    line.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{examples}\n{{all-args}}{{after-help}}"
    ))
    .after_help(format!("`stress {path}{space}--help` shows all options and examples."))
    .mut_args(|arg| with_visibility(arg, shown))
    .mut_subcommands(|verb| {
        let path = format!("{path}{space}{}", verb.get_name());
        with_help_of(verb, &path, examples_of_run)
    })
}

fn after_help(line: &Command) -> String {
    line.get_after_help().map(ToString::to_string).unwrap_or_default()
}

/// Returns an option in the form of the short help: hidden, unless it is listed or required.
fn with_visibility(arg: Arg, shown: Option<&str>) -> Arg {
    let is_shown = match (arg.get_long(), shown) {
        (Some(name), Some(shown)) => {
            shown.split(' ').any(|own| own == name) || arg.is_required_set()
        }
        (_, None) | (None, _) => true,
    };
    if is_shown { arg.help_heading(None) } else { arg.hide(true) }
}

/// Returns the heading and the first two examples at the start of `text`.
fn two_examples(text: &str) -> String {
    let Some(examples) = text.strip_prefix("Examples:\n") else { return String::new() };
    let mut count = 0;
    let lines = examples.lines().take_while(|line| {
        // A line with a deeper indent continues an example.
        count += usize::from(line.starts_with("  ") && !line.starts_with("   "));
        !line.is_empty() && count <= 2
    });
    ["Examples:"].into_iter().chain(lines).map(|line| format!("{line}\n")).collect()
}
