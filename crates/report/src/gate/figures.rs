//! The table of a gate's judged figures: verdict, change, bounds, allowed change, and the change of
//! A's second process against A. On a page that is too narrow each figure is a paragraph.

use result::gate::{Judged, Shift, Verdict};

use crate::{
    columns::{Column, GAP, line, lines, width},
    page::{Page, Tone},
    units::{self, UNKNOWN},
};

/// Width of the space at the left of a paragraph below its name.
const INDENT: usize = 4;
/// Heads of the columns after the name. All values but the verdicts are in per cent.
const HEADS: [&str; COLUMN_COUNT] =
    ["verdict", "change %", "bounds %", "allowed %", "A to itself %"];
const COLUMN_COUNT: usize = 5;
/// Index of the column of verdicts, the only one with words.
const VERDICT: usize = 0;

/// A line of the table: one judged figure.
pub(super) struct Line {
    /// Name of the figure: a metric, or a variant and a metric.
    pub(super) name: String,
    /// Texts in the order of [`HEADS`]; empty where the figure has no such value.
    values: [String; COLUMN_COUNT],
}

impl Line {
    /// Makes the line of a figure that octets decide; `None` before the first look.
    pub(super) fn judged(figure: &Judged) -> Option<Self> {
        let look = figure.looks.last()?;
        let change = [look.change, look.lower, look.upper].map(Some);
        let null = range(look.null.map(Some));
        let values = values(figure.verdict, change, figure.delta, null);
        Some(Self { name: figure.metric.to_string(), values })
    }

    /// Makes the line of a figure that stored results decide. A change of up to `delta` counts as
    /// none.
    pub(super) fn shifted(what: &str, shift: &Shift, delta: f64) -> Self {
        let change = [shift.change, shift.lower, shift.upper];
        let values = values(shift.verdict, change, delta, String::new());
        Self { name: format!("{} {what}", shift.variant), values }
    }
}

/// The texts of a change with its bounds, of the allowed change, and of that of A to itself.
fn values(
    verdict: Verdict,
    [change, lower, upper]: [Option<f64>; 3],
    delta: f64,
    null: String,
) -> [String; COLUMN_COUNT] {
    let change = units::or_unknown(change.map(signed));
    let allowed = format!("{:.1}", delta * 100.0);
    [verdict.to_string(), change, range([lower, upper]), allowed, null]
}

/// A share in per cent, with its sign.
fn signed(share: f64) -> String {
    format!("{:+.1}", share * 100.0)
}

/// Both ends of a range in per cent: `-0.4 to +0.6`.
fn range(ends: [Option<f64>; 2]) -> String {
    if ends == [None, None] {
        return UNKNOWN.to_owned();
    }
    let [low, high] = ends.map(|end| units::or_unknown(end.map(signed)));
    format!("{low} to {high}")
}

/// Writes one line for each figure; nothing without figures.
pub(super) fn table(page: &mut Page, figures: &[Line]) {
    if figures.is_empty() {
        return;
    }
    let mut columns =
        vec![Column::new("", figures.iter().map(|figure| figure.name.clone())).left()];
    for (index, head) in HEADS.into_iter().enumerate() {
        let column = Column::new(head, figures.iter().map(|figure| figure.values[index].clone()));
        if column.values.iter().any(|value| !value.is_empty()) {
            columns.push(if index == VERDICT { column.left() } else { column });
        }
    }
    if width(&columns) - GAP > page.width() {
        return paragraphs(page, figures);
    }
    for (tone, index) in lines(figures.len()) {
        page.line(tone, &line(&columns, index)[GAP..]);
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
