//! Faults of a scenario, independent of how they are shown. A violation is a fault of one value; a
//! fault is a violation with its key and place. All readers of this crate make them; `error.rs`
//! turns them into text for people. Also finds the names that a misspelt name may mean.

use std::ops::Range;

use variant::steers_terminal;

/// Origin of a value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Origin {
    /// Bytes of the scenario's text.
    File(Range<usize>),
    /// The scenario as a whole: something is missing from it.
    WholeFile,
    /// A value from outside, as the user gave it, such as `--gas 640M`.
    Outside { origin: String, value: String },
}

/// Remedy of a violation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Remedy {
    /// The value to write instead.
    pub(crate) write: Option<Literal>,
    /// Further advice, or the whole remedy; may be empty.
    pub(crate) advice: String,
}

/// A value as a remedy shows it: quoted or in brackets in a file, bare on the command line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Literal {
    Text(String),
    Bare(String),
    /// Numbers, or texts with their quotes.
    List(Vec<String>),
}

impl Literal {
    /// The value as a scenario file writes it.
    pub(crate) fn in_file(&self) -> String {
        match self {
            Self::Text(text) => format!("\"{text}\""),
            Self::Bare(text) => text.clone(),
            Self::List(items) => format!("[{}]", items.join(", ")),
        }
    }

    /// The value as an option takes it.
    pub(crate) fn on_command_line(&self) -> String {
        match self {
            Self::Text(text) | Self::Bare(text) => text.clone(),
            Self::List(items) => items.join(",").replace('"', ""),
        }
    }
}

impl Remedy {
    /// Proposes a text, which a file has in quotes.
    pub(crate) fn text(value: &str) -> Self {
        Self { write: Some(Literal::Text(value.to_owned())), advice: String::new() }
    }

    /// Proposes a value without quotes.
    pub(crate) fn bare(value: impl ToString) -> Self {
        Self { write: Some(Literal::Bare(value.to_string())), advice: String::new() }
    }

    /// Proposes a list.
    pub(crate) fn list(items: &[impl ToString]) -> Self {
        let items = items.iter().map(ToString::to_string).collect();
        Self { write: Some(Literal::List(items)), advice: String::new() }
    }

    /// Gives advice without a value to write.
    pub(crate) fn advice(advice: &str) -> Self {
        Self { write: None, advice: advice.to_owned() }
    }

    /// Adds advice after the value to write.
    pub(crate) fn and(self, advice: &str) -> Self {
        Self { advice: advice.to_owned(), ..self }
    }
}

/// One value that breaks a rule, without its key and place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Violation {
    /// The value and the rule that it breaks.
    pub(crate) rule: String,
    pub(crate) remedy: Remedy,
}

impl Violation {
    pub(crate) fn new(rule: impl Into<String>, remedy: Remedy) -> Self {
        Self { rule: rule.into(), remedy }
    }

    pub(crate) fn at(self, key: &str, origin: &Origin) -> Fault {
        Fault { key: key.to_owned(), origin: origin.clone(), violation: Box::new(self) }
    }
}

/// A violation at its key and place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fault {
    /// Key path, such as `block.gas`; empty for the text as a whole.
    pub(crate) key: String,
    pub(crate) origin: Origin,
    pub(crate) violation: Box<Violation>,
}

/// Path of a key of the table at `path`, which is empty for the whole file.
pub(crate) fn key_path(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// The key of a path, without its table.
pub(crate) fn last_segment(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

/// Length in characters of the longest excerpt of a user's value that an error repeats.
const SHOWN_CHARS_MAX: usize = 60;

/// Minimum length, in characters, of a part of a name from which the whole name is guessed.
const PART_CHARS_MIN: usize = 3;

/// Returns a user's text as an error may repeat it: short, on one line, without control characters.
pub(crate) fn shown(text: &str) -> String {
    let mut out: String = text.chars().take(SHOWN_CHARS_MAX).map(printable).collect();
    if text.chars().nth(SHOWN_CHARS_MAX).is_some() {
        out.push('…');
    }
    if out.is_empty() { "\"\"".to_owned() } else { out }
}

/// Returns a text on one line and without control characters, however long.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(printable).collect()
}

/// Returns the character, or a replacement of one column for a character that a terminal acts on.
pub(crate) fn printable(c: char) -> char {
    match c {
        '\t' => ' ',
        c if steers_terminal(c) => '\u{fffd}',
        c => c,
    }
}

/// Returns the nearest of `candidates`, if it is near enough to be what a misspelt `given` means.
pub fn nearest<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = near(given, candidates);
    near.into_iter().min_by_key(|(distance, _)| *distance).map(|(_, candidate)| candidate)
}

/// Returns at most `count_max` candidates that the user may have meant. Near names come first,
/// nearest first; then names that contain `given`.
pub(crate) fn nearest_few<'a>(
    given: &str,
    candidates: &[&'a str],
    count_max: usize,
) -> Vec<&'a str> {
    let mut near = near(given, candidates.iter().copied());
    near.sort_by_key(|(distance, _)| *distance);
    let mut few: Vec<&str> = near.into_iter().map(|(_, candidate)| candidate).collect();
    let is_part = given.len() >= PART_CHARS_MIN;
    let within = candidates.iter().filter(|candidate| is_part && candidate.contains(given));
    for candidate in within {
        if !few.contains(candidate) {
            few.push(candidate);
        }
    }
    few.truncate(count_max);
    few
}

/// Returns the candidates that are near enough, with their distances: at most a third of the
/// candidate's letters wrong, or `given` is its beginning.
fn near<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<(usize, &'a str)> {
    // The time of a distance is the product of both lengths; a text this long is no misspelt name.
    if given.len() > SHOWN_CHARS_MAX {
        return Vec::new();
    }
    let given = given.to_lowercase().replace('_', "-");
    let measured = candidates.into_iter().filter_map(|candidate| {
        let plain = candidate.replace('_', "-");
        let distance = strsim::damerau_levenshtein(&given, &plain);
        let is_near = distance <= (candidate.len() / 3).max(1) || is_begun(&given, &plain);
        is_near.then_some((distance, candidate))
    });
    measured.collect()
}

/// Whether `given` is the beginning of a name. The table before the `.` of a key does not count,
/// nor the folder before a `/`.
fn is_begun(given: &str, name: &str) -> bool {
    let rest = name.strip_prefix(given).filter(|_| given.len() >= PART_CHARS_MIN);
    rest.is_some_and(|rest| !given.ends_with('.') && !rest.starts_with(['.', '/']))
}

/// `a`, `b` and `c` as "a, b or c".
pub(crate) fn listed(names: &[&str], conjunction: &str) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [init @ .., last] => format!("{} {conjunction} {last}", init.join(", ")),
    }
}
