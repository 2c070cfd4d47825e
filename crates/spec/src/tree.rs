//! Parses a scenario's TOML into a tree. Every key and value has its origin, so that a value from
//! the command line can replace a file's value before anything is checked. `mistakes.rs` and
//! `schema.rs` parse; all readers take the tree.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::fault::{Fault, Origin, Remedy, Violation, shown};

/// Tables that a file may have several times.
const TABLE_LISTS: [&str; 2] = ["load", "expect"];

/// Part of the parser's message on a key that is given twice.
const DUPLICATE: &str = "duplicate key";

/// A value and its place.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) origin: Origin,
    /// The value as the user wrote it, cut to fit into an error.
    pub(crate) given: String,
}

/// The values that a key takes. The reader notes them when it asks for the key, so that the schema
/// and other texts on the format follow the reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Text in quotes.
    Text,
    /// A count, from the least to the most.
    Count(u64, u64),
    /// A list of counts.
    Counts(u64, u64),
    /// A seed.
    Seed,
    /// A number from 0 to 1.
    Share,
    /// A finite number.
    Number,
    /// `true` or `false`.
    Flag,
    /// Bytes, in text with a unit.
    Size,
    /// A time, in text with a unit.
    Duration,
    /// One of these names.
    Name(Vec<&'static str>),
    /// A list of these names.
    Names(Vec<&'static str>),
    /// One of these names, or a list of these names.
    NameOrNames(Vec<&'static str>),
}

/// The form of a value, before a key gives it a meaning.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Text(String),
    /// `None` for an integer of more than 128 bits.
    Integer(Option<i128>),
    Float(f64),
    Flag(bool),
    /// A date, which no key takes; the text names it in an error.
    Other(&'static str),
    List(Vec<Node>),
    Table(Table),
    /// A value from outside. Its key decides whether it is text, a number or a list.
    Outside(String),
}

impl Value {
    /// Name of the form in an error.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) | Self::Outside(_) => "text",
            Self::Integer(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Flag(_) => "a boolean",
            Self::Other(kind) => kind,
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

/// Keys and values in the order of the file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    pub(crate) entries: Vec<Entry>,
    /// Keys that the reader has asked for, present or not. Each key is listed once, with its
    /// values.
    pub(crate) asked: RefCell<Vec<(String, Shape)>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_origin: Origin,
    pub(crate) node: Node,
}

impl Table {
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.node)
    }

    /// Notes that the reader asks for a key, with the values that the key takes.
    pub(crate) fn ask(&self, key: &str, shape: impl FnOnce() -> Shape) {
        let mut asked = self.asked.borrow_mut();
        if !asked.iter().any(|(known, _)| known == key) {
            asked.push((key.to_owned(), shape()));
        }
    }

    /// Sets the value of the key, and replaces an earlier value.
    pub(crate) fn set(&mut self, key: &str, node: Node) {
        match self.get_mut(key) {
            Some(old) => *old = node,
            None => {
                let key_origin = node.origin.clone();
                self.entries.push(Entry { key: key.to_owned(), key_origin, node });
            }
        }
    }

    pub(crate) fn remove(&mut self, key: &str) {
        self.entries.retain(|entry| entry.key != key);
    }
}

/// A text as a tree, as far as it is valid TOML.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) table: Table,
    /// Syntax errors, at most one a line, because one mistake may confuse the parser several times.
    pub(crate) faults: Vec<Fault>,
    /// Whether the tree has all keys of the text. Then it can be read in spite of the faults.
    pub(crate) is_whole: bool,
}

/// Parses TOML. Text without quotes is a fault, but its value is still in the tree.
pub(crate) fn parse(text: &str) -> Parsed {
    let (root, errors) = DeTable::parse_recoverable(text);
    let mut parsed =
        Parsed { table: table(root.get_ref(), text), faults: Vec::new(), is_whole: true };
    let mut lines = BTreeSet::new();
    for error in &errors {
        let span = error.span().unwrap_or(0..0);
        let line = line_start(text, span.start);
        if !lines.insert(line) {
            continue;
        }
        parsed.faults.push(syntax_fault(error, text));
        let is_twice = error.message().contains(DUPLICATE);
        match bare_value(text, &span).filter(|(_, value)| !is_twice && !value.is_empty()) {
            Some((_, value)) => {
                let end = line + text[line..].find('\n').unwrap_or(text.len() - line);
                parsed.is_whole &= quote(&mut parsed.table, &(line..end), value);
            }
            // The first of the two lines with the key is in the tree.
            None if is_twice && !text[line..].trim_start().starts_with('[') => {}
            // This error alone may cause later errors.
            None => {
                parsed.is_whole = false;
                break;
            }
        }
    }
    parsed
}

/// Replaces the value of the key on a line by `value`, as if it had quotes. `line` has the line's
/// bytes in the text. Returns whether there is a value to replace.
fn quote(table: &mut Table, line: &Range<usize>, value: &str) -> bool {
    table.entries.iter_mut().any(|entry| {
        let is_here = matches!(&entry.key_origin, Origin::File(span) if line.contains(&span.start));
        match &mut entry.node.value {
            Value::Table(inner) if !is_here => quote(inner, line, value),
            Value::List(items) if !is_here => items.iter_mut().any(|item| match &mut item.value {
                Value::Table(inner) => quote(inner, line, value),
                _ => false,
            }),
            of_line if is_here => {
                *of_line = Value::Outside(value.to_owned());
                entry.node.given = shown(value);
                true
            }
            _ => false,
        }
    })
}

fn table(entries: &DeTable<'_>, text: &str) -> Table {
    let mut entries: Vec<Entry> = entries
        .iter()
        .map(|(key, value)| Entry {
            key: key.get_ref().to_string(),
            key_origin: Origin::File(key.span()),
            node: node(value, text),
        })
        .collect();
    entries.sort_by_key(|entry| match &entry.key_origin {
        Origin::File(span) => span.start,
        Origin::WholeFile | Origin::Outside { .. } => usize::MAX,
    });
    Table { entries, asked: RefCell::default() }
}

fn node(spanned: &Spanned<DeValue<'_>>, text: &str) -> Node {
    let value = match spanned.get_ref() {
        DeValue::String(string) => Value::Text(string.to_string()),
        DeValue::Integer(integer) => {
            let digits = integer.as_str().replace('_', "");
            Value::Integer(i128::from_str_radix(&digits, integer.radix()).ok())
        }
        // The parser has checked the form. A text that Rust cannot read is no finite number.
        DeValue::Float(float) => {
            Value::Float(float.as_str().replace('_', "").parse().unwrap_or(f64::NAN))
        }
        DeValue::Boolean(flag) => Value::Flag(*flag),
        DeValue::Datetime(_) => Value::Other("a date"),
        DeValue::Array(items) => Value::List(items.iter().map(|item| node(item, text)).collect()),
        DeValue::Table(entries) => Value::Table(table(entries, text)),
    };
    let given = match &value {
        Value::Text(string) => shown(string),
        _ => shown(text.get(spanned.span()).unwrap_or_default()),
    };
    Node { value, origin: Origin::File(spanned.span()), given }
}

fn syntax_fault(error: &toml::de::Error, text: &str) -> Fault {
    let span = error.span().unwrap_or(0..0);
    let (message, advice) = match bare_value(text, &span) {
        _ if error.message().contains(DUPLICATE) => twice(text, &span),
        Some((key, "")) => (format!("{} has no value", shown(key)), "write it after the =".into()),
        Some((key, value)) => (
            one_line(error.message()),
            format!("text is written in quotes: {} = \"{}\"", shown(key), shown(value)),
        ),
        None => (
            one_line(error.message()),
            "correct the TOML at the mark; docs/scenario.md shows every key".into(),
        ),
    };
    Violation::new(format!("not valid TOML: {message}"), Remedy::advice(&advice))
        .at("", &Origin::File(span))
}

/// Returns a message on the key or table that is given twice, and the remedy.
fn twice(text: &str, span: &Range<usize>) -> (String, String) {
    let line_start = line_start(text, span.start);
    let line = text[line_start..].lines().next().unwrap_or_default().trim();
    let name = text.get(span.clone()).unwrap_or_default();
    let named = shown(name);
    if line.starts_with('[') {
        let advice = match TABLE_LISTS.contains(&name) {
            true => format!("write each as [[{named}]], in double brackets"),
            false => format!("put all its keys below one [{named}]"),
        };
        return (format!("[{named}] is given twice"), advice);
    }
    let before: Vec<&str> = text[..line_start].lines().collect();
    let mut keys = before.into_iter().map(|line| line.split_once('=').map(|(key, _)| key.trim()));
    let first = keys.rposition(|key| key == Some(name));
    let where_first = first.map(|index| format!(", first in line {}", index + 1));
    let message = format!("{named} is given twice{}", where_first.unwrap_or_default());
    (message, "keep one of both lines".to_owned())
}

/// Index of the first byte of the line that has the byte at `at`.
fn line_start(text: &str, at: usize) -> usize {
    let at = text.floor_char_boundary(at);
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Joins the lines of the parser's message.
fn one_line(message: &str) -> String {
    message.lines().collect::<Vec<_>>().join("; ")
}

/// Returns key and value of the line at `span`, if the value is a bare word, as in `gas = 640M`, or
/// empty.
fn bare_value<'text>(text: &'text str, span: &Range<usize>) -> Option<(&'text str, &'text str)> {
    let line_start = line_start(text, span.start);
    let line = text[line_start..].lines().next()?;
    let (key, value) = line.split_once('=')?;
    let (key, value) = (key.trim(), value.split('#').next()?.trim());
    let is_bare = value.is_empty()
        || value.starts_with(|c: char| c.is_ascii_alphanumeric())
            && !value.contains(['"', '\'', '[', ']', '{', '}', '=', '\\']);
    let is_key = !key.is_empty()
        && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    (is_bare && is_key).then_some((key, value))
}
