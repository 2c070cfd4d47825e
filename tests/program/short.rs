//! The short help (`-h`) of every verb: one law over all of them.

use std::{collections::BTreeSet, path::Path};

use crate::tool::printed;

/// Lines of a screen.
const SCREEN_LINES: usize = 40;

/// The paths of all verbs, the program's own first, which is empty.
fn verbs(dir: &Path) -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    let mut next = 0;
    while next < all.len() {
        let path: Vec<String> = all[next].clone();
        let help = help(&path, "-h", dir);
        let commands = help.split("\nCommands:\n").nth(1).unwrap_or_default();
        let named = commands.lines().take_while(|line| !line.is_empty());
        // The lines of a description that is wrapped are deeper.
        let names = named.filter(|line| !line.starts_with("    "));
        let names = names.filter_map(|line| line.split_whitespace().next());
        all.extend(names.map(|name| [&path[..], &[name.to_owned()]].concat()));
        next += 1;
    }
    all
}

fn help(path: &[String], option: &str, dir: &Path) -> String {
    let words: Vec<&str> = path.iter().map(String::as_str).chain([option]).collect();
    printed(&words, dir)
}

fn options(help: &str) -> BTreeSet<&str> {
    let words = help.split(|c: char| c.is_whitespace() || c == ',');
    let words = words.map(|word| word.trim_end_matches(['`', '.', ':', ';']));
    words.filter(|word| word.starts_with("--") && word.len() > 2).collect()
}

#[test]
fn every_short_help_fits_a_screen_and_has_two_examples_before_the_options_most_used() {
    let dir = tempfile::tempdir().unwrap();
    let verbs = verbs(dir.path());
    assert!(verbs.len() > 30, "{verbs:?}");
    for path in verbs {
        let short = help(&path, "-h", dir.path());
        let verb = path.join(" ");
        assert!(short.lines().count() <= SCREEN_LINES, "{verb}: {short}");
        assert!(short.lines().all(|line| line.chars().count() <= 80), "{verb}: {short}");
        let (_, rest) = short.split_once("\nExamples:\n").unwrap_or_else(|| panic!("{short}"));
        let (examples, rest) = rest.split_once("\n\n").unwrap();
        assert!(rest.contains("Options:\n"), "{verb}: the options come after: {short}");
        // A run has its verb left out.
        let command = format!("stress {}", if verb == "run" { "" } else { &verb });
        let starts = examples.lines().filter(|line| !line.starts_with("   "));
        let starts: Vec<_> = starts.collect();
        assert_eq!(starts.len(), 2, "{verb}: {short}");
        assert!(starts.iter().all(|line| line.contains(command.trim_end())), "{verb}: {short}");
        let long = help(&path, "--help", dir.path());
        let missing: Vec<_> = options(rest).difference(&options(&long)).copied().collect();
        assert!(missing.is_empty(), "{verb}: --help has no {missing:?}");
        assert!(short.ends_with("--help` shows all options and examples.\n"), "{verb}: {short}");
    }
}
