//! Columns of figures of several results beside names: values, their intervals, then ratios and theirs.

use unicode_width::UnicodeWidthStr;

use super::page::{Page, Tone, pad_left, pad_right};

/// Head of a column of intervals.
const INTERVAL: &str = "95 %";
/// Space before a column.
const GAP: usize = 2;

/// A column, its values in the order of the names.
pub(crate) struct Column {
    head: String,
    values: Vec<String>,
}

impl Column {
    pub(crate) fn new(head: String, values: impl Iterator<Item = String>) -> Self {
        Self { head, values: values.collect() }
    }

    /// A column of intervals.
    pub(crate) fn interval(values: impl Iterator<Item = String>) -> Self {
        Self::new(INTERVAL.to_owned(), values)
    }

    /// Its width with the space before it.
    fn width(&self) -> usize {
        let texts = self.values.iter().chain([&self.head]);
        texts.map(|text| text.width()).max().unwrap_or(0) + GAP
    }
}

/// Columns beside names.
pub(crate) struct Columns {
    /// Head of the names: the figure of columns that are called by a result alone.
    pub(crate) head: &'static str,
    pub(crate) names: Vec<String>,
    pub(crate) columns: Vec<Column>,
    /// Columns of values and their intervals, before those of ratios.
    pub(crate) value_count: usize,
}

impl Columns {
    /// A line for each name. Where there is no room for all columns, ratios keep their intervals and values do
    /// not; where a name and its figures do not fit on a line, the name has a line of its own.
    pub(crate) fn show(mut self, page: &mut Page) {
        if self.columns.iter().map(Column::width).sum::<usize>() > page.width() {
            let mut index = 0..;
            let value_count = self.value_count;
            self.columns
                .retain(|column| index.next() >= Some(value_count) || column.head != INTERVAL);
        }
        let widths: Vec<_> = self.columns.iter().map(Column::width).collect();
        let longest = self.names.iter().map(|name| name.width()).max().unwrap_or(0);
        let room = page.width().saturating_sub(widths.iter().sum());
        let beside = longest <= room;
        if !beside {
            page.line(Tone::Faint, self.head);
        }
        let line = |name: &str, texts: Vec<&str>| {
            let mut line =
                pad_right(if beside { name } else { "" }, if beside { longest } else { 2 });
            for (text, width) in texts.iter().zip(&widths) {
                line.push_str(&pad_left(text, *width));
            }
            line
        };
        let heads = self.columns.iter().map(|column| column.head.as_str()).collect();
        page.line(Tone::Faint, &line(self.head, heads));
        for (index, name) in self.names.iter().enumerate() {
            if !beside {
                page.line(Tone::Plain, name);
            }
            let texts = self.columns.iter().map(|column| column.values[index].as_str()).collect();
            page.line(Tone::Plain, &line(name, texts));
        }
        page.gap();
    }
}
