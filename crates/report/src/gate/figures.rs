//! The judged figures of a gate as a table: verdict, change, bounds, the allowed change, and
//! how much A differs from itself. On a page that is too narrow each figure is a paragraph.

use unicode_width::UnicodeWidthStr;

use result::gate::{CountShift, Judged, Shift};

use crate::{
    page::{Page, Tone, pad_left, pad_right},
    units::UNKNOWN,
};

/// Space before a column.
const GAP: usize = 2;
/// Space at the left of a paragraph below its name.
const INDENT: usize = 4;
/// The heads of columns; all but the verdicts are per cent.
const HEADS: [&str; COLUMN_COUNT] =
    ["verdict", "change %", "bounds %", "allowed %", "A to itself %"];
const COLUMN_COUNT: usize = 5;
/// The column of verdicts: text, and no numbers.
const VERDICT: usize = 0;

/// A figure.
pub(super) struct Line {
    /// Its name: of a metric, or of a variant and a metric.
    pub(super) name: String,
    /// In the order of [`HEADS`]; empty where the figure has none.
    values: [String; COLUMN_COUNT],
}

impl Line {
    /// A figure of octets; `None` before the first look.
    pub(super) fn judged(figure: &Judged) -> Option<Self> {
        let look = figure.looks.last()?;
        let values = [
            figure.verdict.to_string(),
            signed(look.change),
            range([Some(look.lower), Some(look.upper)]),
            format!("{:.1}", figure.delta * 100.0),
            range(look.null.map(Some)),
        ];
        Some(Self { name: figure.metric.to_string(), values })
    }

    /// A figure of stored results, of which a change up to `delta` is none.
    pub(super) fn shifted(what: &str, shift: &Shift, delta: f64) -> Self {
        let values = [
            shift.verdict.to_string(),
            shift.change.map_or_else(|| UNKNOWN.to_owned(), signed),
            range([shift.lower, shift.upper]),
            format!("{:.1}", delta * 100.0),
            String::new(),
        ];
        Self { name: format!("{} {what}", shift.variant), values }
    }

    /// The same of a count.
    pub(super) fn counted(CountShift { metric, shift }: &CountShift, delta: f64) -> Self {
        Self::shifted(metric.name(), shift, delta)
    }
}

/// A share in per cent.
fn signed(share: f64) -> String {
    format!("{:+.1}", share * 100.0)
}

/// `-0.4 to +0.6`.
fn range(ends: [Option<f64>; 2]) -> String {
    if ends == [None, None] {
        return UNKNOWN.to_owned();
    }
    let [low, high] = ends.map(|end| end.map_or_else(|| UNKNOWN.to_owned(), signed));
    format!("{low} to {high}")
}

/// The figures, one a line; nothing where there are none.
pub(super) fn table(page: &mut Page, lines: &[Line]) {
    if lines.is_empty() {
        return;
    }
    let has_values = |at: &usize| lines.iter().any(|line| !line.values[*at].is_empty());
    let columns: Vec<usize> = (0..COLUMN_COUNT).filter(has_values).collect();
    let width = |at: usize| {
        let texts = lines.iter().map(|line| line.values[at].as_str()).chain([HEADS[at]]);
        texts.map(UnicodeWidthStr::width).max().unwrap_or(0)
    };
    let name_width = lines.iter().map(|line| line.name.width()).max().unwrap_or(0);
    let all = name_width + columns.iter().map(|at| width(*at) + GAP).sum::<usize>();
    if all > page.width() {
        return paragraphs(page, lines);
    }
    let line = |name: &str, texts: &[&str; COLUMN_COUNT]| {
        let mut text = pad_right(name, name_width);
        for at in &columns {
            let (value, width) = (texts[*at], width(*at));
            let value =
                if *at == VERDICT { pad_right(value, width) } else { pad_left(value, width) };
            text.push_str(&format!("{}{value}", " ".repeat(GAP)));
        }
        text
    };
    page.line(Tone::Faint, &line("", &HEADS));
    for figure in lines {
        page.line(Tone::Plain, &line(&figure.name, &figure.values.each_ref().map(String::as_str)));
    }
}

fn paragraphs(page: &mut Page, lines: &[Line]) {
    for Line { name, values } in lines {
        let named =
            values.iter().zip(HEADS).skip(VERDICT + 1).filter(|(value, _)| !value.is_empty());
        let named = named.map(|(value, head)| match head.strip_suffix(" %") {
            Some(head) => format!("{head} {value} %"),
            None => format!("{head} {value}"),
        });
        let text: Vec<String> = [values[VERDICT].clone()].into_iter().chain(named).collect();
        page.indented(Tone::Plain, 0, name);
        page.indented(Tone::Plain, INDENT, &text.join(", "));
    }
}
