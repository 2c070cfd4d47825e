//! Reads the text format of Prometheus as strictly as its description: text that a scraper might take
//! amiss is an error. Shares nothing with the code that writes it.
#![allow(dead_code, reason = "each test binary uses a part")]

use std::collections::BTreeMap;

/// A sample: its labels and its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) value: f64,
}

/// All samples of one name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Family {
    pub(crate) help: String,
    pub(crate) kind: String,
    pub(crate) samples: Vec<Sample>,
}

/// The families of a text, by their names.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Exposed(pub(crate) BTreeMap<String, Family>);

impl Exposed {
    /// The only sample of this name with these labels, whatever others it has.
    pub(crate) fn value(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let family = self.0.get(name).unwrap_or_else(|| panic!("no {name}"));
        let has = |sample: &&Sample| {
            let value = |label: &str| sample.labels.get(label).map(String::as_str);
            labels.iter().all(|(label, wanted)| value(label) == Some(*wanted))
        };
        let found: Vec<_> = family.samples.iter().filter(has).collect();
        assert_eq!(found.len(), 1, "{name} {labels:?}: {:?}", family.samples);
        found[0].value
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

/// Reads a whole text.
pub(crate) fn parsed(text: &str) -> Result<Exposed, String> {
    let mut exposed = Exposed::default();
    let mut open: Option<String> = None;
    if !text.is_empty() && !text.ends_with('\n') {
        return Err("the last line has no end".to_owned());
    }
    for line in text.lines() {
        let wrong = |what: &str| Err(format!("{what}: {line}"));
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let Some((name, help)) = rest.split_once(' ') else { return wrong("no help") };
            if !is_metric_name(name) || exposed.has(name) || help.is_empty() {
                return wrong("a name, once, with its help");
            }
            let help = unescaped(help, false).map_err(|what| format!("{what}: {line}"))?;
            exposed.0.insert(name.to_owned(), Family { help, ..Family::default() });
            open = Some(name.to_owned());
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let Some((name, kind)) = rest.split_once(' ') else { return wrong("no type") };
            let family = exposed.0.get_mut(name).filter(|_| open.as_deref() == Some(name));
            let Some(family) = family else { return wrong("a type without its help before it") };
            if !family.kind.is_empty() || !family.samples.is_empty() {
                return wrong("a second type, or one behind samples");
            }
            if !["gauge", "counter"].contains(&kind) {
                return wrong("no such type");
            }
            if (kind == "counter") != name.ends_with("_total") {
                return wrong("_total is of counters, and of all of them");
            }
            family.kind = kind.to_owned();
        } else {
            let (name, sample) = sample(line).map_err(|what| format!("{what}: {line}"))?;
            let family = exposed.0.get_mut(&name).filter(|_| open.as_ref() == Some(&name));
            let Some(family) = family.filter(|family| !family.kind.is_empty()) else {
                return wrong("a sample apart from its type");
            };
            if family.kind == "counter" && sample.value < 0.0 {
                return wrong("a counter below zero");
            }
            if family.samples.iter().any(|other| other.labels == sample.labels) {
                return wrong("the same labels twice");
            }
            family.samples.push(sample);
        }
    }
    match exposed.0.iter().find(|(_, family)| family.samples.is_empty()) {
        Some((name, _)) => Err(format!("{name} has no sample")),
        None => Ok(exposed),
    }
}

fn is_metric_name(name: &str) -> bool {
    is_name(name) && name == name.to_lowercase()
}

/// `[a-z_][a-z0-9_]*`, in either case; a colon is for rules.
fn is_name(name: &str) -> bool {
    let is_of = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(is_of)
}

/// `name{label="value",…} value`, without a time.
fn sample(line: &str) -> Result<(String, Sample), &'static str> {
    let end = line.find(['{', ' ']).ok_or("neither labels nor a value")?;
    let (name, rest) = line.split_at(end);
    if !is_metric_name(name) {
        return Err("no name of a metric");
    }
    let mut labels = BTreeMap::new();
    let value = match rest.strip_prefix('{') {
        None => rest,
        Some(mut rest) => loop {
            let (label, behind) = rest.split_once("=\"").ok_or("a label without a value")?;
            if !is_name(label) || label.starts_with("__") {
                return Err("no name of a label");
            }
            let end = closing(behind).ok_or("quotes that nobody closes")?;
            let value = unescaped(&behind[..end], true)?;
            if labels.insert(label.to_owned(), value).is_some() {
                return Err("a label twice");
            }
            let behind = &behind[end + 1..];
            match (behind.strip_prefix(','), behind.strip_prefix('}')) {
                (Some(more), _) => rest = more,
                (None, Some(value)) => break value,
                (None, None) => return Err("neither a comma nor a brace behind a label"),
            }
        },
    };
    let value = value.strip_prefix(' ').ok_or("no space before the value")?;
    let is_plain = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    if value.is_empty() || !value.chars().all(is_plain) {
        return Err("no finite number");
    }
    let value = value.parse::<f64>().map_err(|_| "no number")?;
    Ok((name.to_owned(), Sample { labels, value }))
}

/// Index of the quote that closes a label's value.
fn closing(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return Some(at),
            _ => {}
        }
    }
    None
}

/// A text with its escapes undone. Only in a label's value are quotes escaped.
fn unescaped(text: &str, is_label: bool) -> Result<String, &'static str> {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('\\') => out.push('\\'),
                Some('n') => out.push('\n'),
                Some('"') if is_label => out.push('"'),
                _ => return Err("no such escape"),
            },
            '"' if is_label => return Err("a quote inside quotes"),
            c => out.push(c),
        }
    }
    Ok(out)
}
