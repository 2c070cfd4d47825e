//! The errors of reading a scenario. Their text is complete and plain: place, source line with a
//! mark, key, value, rule, remedy. The text has no colours, and no character that a terminal acts
//! on. `src/cli/` prints it.

use std::fmt;

use crate::fault::{Fault, Origin, Remedy, last_segment, plain, printable, shown};

/// Reason that a scenario cannot be used. The message has all that a user needs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// The text, or a value given from outside, breaks a rule.
    #[error("{0}")]
    Invalid(Box<Diagnostic>),
    /// Several rules are broken.
    #[error("{0}")]
    Several(Mistakes),
    /// No shipped scenario has this name, and the name is not a path.
    #[error("error: no shipped scenario is called {}\n   = help: {help}", shown(.name))]
    UnknownName {
        /// The name given.
        name: String,
        /// The nearest name and all names.
        help: String,
    },
    /// No shipped scenario has this name, but the current directory has a file of the name with
    /// `.toml`.
    #[error(
        "error: {} names no shipped scenario, and a file is named by its path\n   \
         = help: write {}",
        shown(.name), plain(.path)
    )]
    FileWithoutPath {
        /// The name given.
        name: String,
        /// The path of the file.
        path: String,
    },
    /// The file cannot be read.
    #[error("error: cannot read the scenario: {reason}\n  --> {path}\n   = help: {help}")]
    Unreadable {
        /// The path given.
        path: String,
        /// The operating system's error.
        reason: String,
        /// The remedy.
        help: String,
    },
    /// The file is not UTF-8, which TOML must be.
    #[error(
        "error: the scenario is not UTF-8 text\n  --> {path}:{line}:{column}\n   \
         = help: save the file as UTF-8"
    )]
    NotUtf8 {
        /// The path given.
        path: String,
        /// 1-based line of the first byte that is not UTF-8.
        line: usize,
        /// 1-based column, in characters, of that byte.
        column: usize,
    },
    /// The file is a workload.
    #[error(
        "error: this is a workload file, and no scenario\n  --> {path}\n   = help: write --workload {path}"
    )]
    IsWorkload {
        /// The path given.
        path: String,
    },
    /// The file is JSON.
    #[error(
        "error: this is JSON, and a scenario is TOML\n  --> {path}\n   = help: `stress report {path}` shows a \
         result, `stress import` reads blocks"
    )]
    IsJson {
        /// The path given.
        path: String,
    },
    /// The file is larger than a scenario may be.
    #[error(
        "error: the scenario is larger than {limit_bytes} bytes\n  --> {path}\n   \
         = help: a scenario is a page of TOML; is this the right file?"
    )]
    TooLarge {
        /// The path given.
        path: String,
        /// Maximum size of a scenario file in bytes.
        limit_bytes: u64,
    },
}

/// Several broken rules of one scenario, in the order of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistakes {
    source_name: String,
    diagnostics: Vec<Diagnostic>,
    /// Whether the scenario has more mistakes than these diagnostics.
    has_more: bool,
}

impl Mistakes {
    /// The broken rules.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for diagnostic in &self.diagnostics {
            writeln!(f, "{diagnostic}\n")?;
        }
        let (source_name, count) = (&self.source_name, self.diagnostics.len());
        match self.has_more {
            false => write!(f, "error: {source_name} has {count} mistakes"),
            true => {
                write!(f, "error: {source_name} has more mistakes; the first {count} are shown")
            }
        }
    }
}

impl ScenarioError {
    /// The broken rules; empty if the text could not be read.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match self {
            Self::Invalid(diagnostic) => std::slice::from_ref(diagnostic),
            Self::Several(mistakes) => mistakes.diagnostics(),
            Self::UnknownName { .. }
            | Self::FileWithoutPath { .. }
            | Self::Unreadable { .. }
            | Self::NotUtf8 { .. }
            | Self::IsWorkload { .. }
            | Self::IsJson { .. }
            | Self::TooLarge { .. } => &[],
        }
    }

    /// Makes the error of these faults, of which the first `shown_max` are shown. `text` is the
    /// scenario's, for the marked lines.
    pub(crate) fn new(faults: Vec<Fault>, shown_max: usize, source_name: &str, text: &str) -> Self {
        let has_more = faults.len() > shown_max;
        let shown = faults.into_iter().take(shown_max);
        let mut diagnostics: Vec<_> =
            shown.map(|fault| Diagnostic::new(fault, source_name, text)).collect();
        match (diagnostics.pop(), diagnostics.is_empty()) {
            (Some(only), true) => Self::Invalid(Box::new(only)),
            (last, _) => {
                diagnostics.extend(last);
                Self::Several(Mistakes { source_name: plain(source_name), diagnostics, has_more })
            }
        }
    }
}

/// One broken rule: key, place, reason, and remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    key: String,
    rule: String,
    place: Place,
    help: String,
}

/// The place of a mistake: on a line of the file, the file as a whole, or a value from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Mark(Mark),
    WholeFile { source_name: String },
    Outside { origin: String },
}

/// A marked part of one source line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mark {
    source_name: String,
    line: usize,
    column: usize,
    excerpt: String,
    indent_chars: usize,
    caret_count: usize,
}

impl Diagnostic {
    /// Key path of the error, such as `block.gas`; empty for a TOML syntax error.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Whether the file itself breaks the rule, not a value from outside.
    pub fn is_of_file(&self) -> bool {
        !matches!(self.place, Place::Outside { .. })
    }

    /// 1-based line and column (in characters) in the file, if the error has a place there.
    pub fn position(&self) -> Option<(usize, usize)> {
        match &self.place {
            Place::Mark(mark) => Some((mark.line, mark.column)),
            Place::WholeFile { .. } | Place::Outside { .. } => None,
        }
    }

    pub(crate) fn new(fault: Fault, source_name: &str, text: &str) -> Self {
        let help = plain(&help(&fault));
        let place = match fault.origin {
            Origin::File(span) => Place::Mark(Mark::new(source_name, text, span.start, span.end)),
            Origin::WholeFile => Place::WholeFile { source_name: plain(source_name) },
            Origin::Outside { origin, .. } => Place::Outside { origin: plain(&origin) },
        };
        Self { key: plain(&fault.key), rule: plain(&fault.violation.rule), place, help }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("error: ")?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        writeln!(f, "{}", self.rule)?;
        match &self.place {
            Place::Mark(mark) => write!(f, "{mark}")?,
            Place::WholeFile { source_name } => writeln!(f, "  --> {source_name}:1:1")?,
            Place::Outside { origin } => writeln!(f, "  --> {origin}")?,
        }
        let gutter_chars = match &self.place {
            Place::Mark(mark) => mark.line.to_string().len(),
            Place::WholeFile { .. } | Place::Outside { .. } => 2,
        };
        let indent_chars = gutter_chars + HELP_MARK.len();
        write!(f, "{:gutter_chars$}{HELP_MARK}{}", "", folded(&self.help, indent_chars))
    }
}

/// Mark before a remedy.
const HELP_MARK: &str = " = help: ";
/// Maximum length of a line, in characters. A remedy that lists names may take many lines.
const LINE_CHARS_MAX: usize = 80;

/// Wraps `text` at spaces, for an output after `indent_chars` characters. All lines except the
/// first begin with that number of spaces.
fn folded(text: &str, indent_chars: usize) -> String {
    let mut lines = String::new();
    let mut line_chars = indent_chars;
    for word in text.split(' ') {
        let word_chars = word.chars().count();
        if lines.is_empty() {
            line_chars += word_chars;
        } else if line_chars + 1 + word_chars <= LINE_CHARS_MAX {
            lines.push(' ');
            line_chars += 1 + word_chars;
        } else {
            lines.push('\n');
            lines.extend(std::iter::repeat_n(' ', indent_chars));
            line_chars = indent_chars + word_chars;
        }
        lines.push_str(word);
    }
    lines
}

/// The longest excerpt of a source line, in characters.
const EXCERPT_CHARS_MAX: usize = 100;
/// Number of characters that are kept before the mark if a line is too long.
const LEAD_CHARS: usize = 30;

impl Mark {
    fn new(source_name: &str, text: &str, start: usize, end: usize) -> Self {
        let start = text.floor_char_boundary(start);
        let end = text.floor_char_boundary(end).max(start);
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
        let line = text[line_start..line_end].trim_end_matches('\r');
        let lead_chars = text[line_start..start].chars().count();
        let marked_chars = text[start..end.min(line_end)].trim_end().chars().count();
        let skipped_chars = match line.chars().count() {
            0..=EXCERPT_CHARS_MAX => 0,
            _ => lead_chars.saturating_sub(LEAD_CHARS),
        };
        let excerpt: String =
            line.chars().skip(skipped_chars).take(EXCERPT_CHARS_MAX).map(printable).collect();
        let indent_chars = lead_chars - skipped_chars;
        let room_chars = excerpt.chars().count().saturating_sub(indent_chars);
        Self {
            source_name: plain(source_name),
            line: text[..line_start].matches('\n').count() + 1,
            column: lead_chars + 1,
            indent_chars,
            caret_count: marked_chars.min(room_chars).max(1),
            excerpt,
        }
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let gutter = " ".repeat(number.len());
        writeln!(f, "{gutter}--> {}:{}:{}", self.source_name, self.line, self.column)?;
        writeln!(f, "{gutter} |")?;
        writeln!(f, "{number} | {}", self.excerpt)?;
        let (indent, carets) = (" ".repeat(self.indent_chars), "^".repeat(self.caret_count));
        writeln!(f, "{gutter} | {indent}{carets}")
    }
}

/// Returns the remedy of a fault: the value to write, then the advice.
fn help(fault: &Fault) -> String {
    let Remedy { write, advice } = &fault.violation.remedy;
    let write = write.as_ref().map(|literal| match &fault.origin {
        Origin::Outside { origin, value } => {
            let option = origin.strip_suffix(value.as_str()).filter(|_| !value.is_empty());
            format!("write {}{}", option.unwrap_or_default(), literal.on_command_line())
        }
        _ => format!("write {} = {}", last_segment(&fault.key), literal.in_file()),
    });
    match (write, advice.as_str()) {
        (Some(write), "") => write,
        (Some(write), advice) if advice.starts_with("or ") => format!("{write}, {advice}"),
        (Some(write), advice) => format!("{write}; {advice}"),
        (None, advice) => advice.to_owned(),
    }
}
