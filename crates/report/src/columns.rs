//! Columns of the tables in the terminal: their widths, the choice of those that fit a page, and
//! the lines of text. [`table`] is for one result, [`results`] for several beside each other.

use std::borrow::Cow;

use unicode_width::UnicodeWidthStr;

use super::{
    page::{INDENT, Page, Tone, clip, pad_left, pad_right},
    units::{self, UNKNOWN},
};

/// Columns of this rank or above are shown only where all columns have room for gaps of 2.
const EXTRA_RANK: u8 = 10;
/// Maximal width of a label in a [`headed_table`].
const MAX_LABEL_WIDTH: usize = 28;
/// Head of a column of intervals.
const INTERVAL: &str = "95 %";
/// Width of the space before each column in a [`line()`].
pub(crate) const GAP: usize = 2;

/// A column, its values in the order of the lines.
pub(crate) struct Column {
    /// Head of the column in two lines. The first line is empty where one line is enough.
    pub(crate) head: [Cow<'static, str>; 2],
    /// Rank of the column. Rank 0 is always shown; of the others the highest are left out first.
    pub(crate) rank: u8,
    pub(crate) values: Vec<String>,
}

impl Column {
    /// A column that is always shown, with a head of one line.
    pub(crate) fn new(
        head: impl Into<Cow<'static, str>>,
        values: impl Iterator<Item = String>,
    ) -> Self {
        Self { head: [Cow::Borrowed(""), head.into()], rank: 0, values: values.collect() }
    }

    pub(crate) fn interval(values: impl Iterator<Item = String>) -> Self {
        Self::new(INTERVAL, values)
    }

    /// A column of a rank, with the text of each of `rows`; `None` where the value is not known.
    pub(crate) fn ranked<R, S: Into<Option<String>>>(
        rank: u8,
        head: [&'static str; 2],
        rows: &[R],
        text: impl Fn(&R) -> S,
    ) -> Self {
        let values = rows.iter().map(|row| units::or_unknown(text(row).into()));
        Self { head: head.map(Cow::Borrowed), rank, values: values.collect() }
    }

    /// Aligns the texts of the column at the left.
    pub(crate) fn left(mut self) -> Self {
        let width = self.width();
        self.head = self.head.map(|head| pad_right(&head, width).into());
        self.values = self.values.iter().map(|value| pad_right(value, width)).collect();
        self
    }

    /// The width of its widest text.
    pub(crate) fn width(&self) -> usize {
        let texts = self.values.iter().map(String::as_str).chain(self.head.iter().map(|h| &**h));
        texts.map(UnicodeWidthStr::width).max().unwrap_or(0)
    }

    fn is_empty(&self) -> bool {
        self.values.iter().all(|value| value == UNKNOWN)
    }
}

/// Lines of a table with two kinds of lines. All lines of the first kind stand above all of the
/// second.
pub(super) struct Lines<'a, A, B> {
    pub(super) first: &'a [A],
    pub(super) second: &'a [B],
}

impl<A, B> Lines<'_, A, B> {
    /// A column that the first kind alone has.
    pub(super) fn first(
        &self,
        rank: u8,
        head: [&'static str; 2],
        of_first: impl Fn(&A) -> Option<String>,
    ) -> Column {
        self.both(rank, head, of_first, |_| None)
    }

    /// A column that the second kind alone has.
    pub(super) fn second(
        &self,
        rank: u8,
        head: [&'static str; 2],
        of_second: impl Fn(&B) -> Option<String>,
    ) -> Column {
        self.both(rank, head, |_| None, of_second)
    }

    /// A column that both kinds have.
    pub(super) fn both(
        &self,
        rank: u8,
        head: [&'static str; 2],
        of_first: impl Fn(&A) -> Option<String>,
        of_second: impl Fn(&B) -> Option<String>,
    ) -> Column {
        let mut column = Column::ranked(rank, head, self.first, of_first);
        column.values.extend(self.second.iter().map(|of| units::or_unknown(of_second(of))));
        column
    }
}

/// The lines of a table: `None` for the heads, then the index of each line of values, each with its
/// tone.
pub(crate) fn lines(count: usize) -> impl Iterator<Item = (Tone, Option<usize>)> {
    let values = (0..count).map(|index| (Tone::Plain, Some(index)));
    [(Tone::Faint, None)].into_iter().chain(values)
}

/// The text of the line at `index`, with a gap before each column; for `None` that of the heads.
pub(crate) fn line(columns: &[Column], index: Option<usize>) -> String {
    columns
        .iter()
        .map(|column| {
            let text = index.map_or(&*column.head[1], |index| &column.values[index]);
            pad_left(text, column.width() + GAP)
        })
        .collect()
}

/// The width of a [`line()`].
pub(crate) fn width(columns: &[Column]) -> usize {
    columns.iter().map(|column| column.width() + GAP).sum()
}

/// Writes a table with the figures of several results, which have these labels. `head` names the
/// figure. A line has its name, and for each result two texts with those of their intervals: the
/// value, and its ratio to the first result. Where there is no room for all columns, only ratios
/// keep their intervals. Where a name and its figures do not fit on one line, the name has its own.
pub(crate) fn results(
    page: &mut Page,
    head: &str,
    labels: &[&String],
    lines_of: &[(String, Vec<[[String; 2]; 2]>)],
) {
    let pair = |head: String, result: usize, which: usize| {
        let texts =
            |part: usize| lines_of.iter().map(move |(_, of)| of[result][which][part].clone());
        [Column::new(head, texts(0)), Column::interval(texts(1))]
    };
    let each = labels.iter().enumerate();
    let values = each.clone().flat_map(|(result, label)| pair((*label).clone(), result, 0));
    let mut columns: Vec<Column> = values.collect();
    let ratios = each.skip(1).map(|(result, label)| (result, format!("{label}/{}", labels[0])));
    let ratios: Vec<Column> = ratios.flat_map(|(result, label)| pair(label, result, 1)).collect();
    if width(&columns) + width(&ratios) > page.width() {
        columns.retain(|column| column.head[1] != INTERVAL);
    }
    columns.extend(ratios);
    let longest = lines_of.iter().map(|(name, _)| name.width()).max().unwrap_or(0);
    let is_beside = longest <= page.width().saturating_sub(width(&columns));
    for (tone, index) in lines(lines_of.len()) {
        let name = index.map_or(head, |index| &lines_of[index].0);
        let figures = line(&columns, index);
        if is_beside {
            page.line(tone, &(pad_right(name, longest) + &figures));
        } else {
            page.line(tone, name);
            page.line(tone, &format!("  {figures}"));
        }
    }
    page.gap();
}

/// Columns that fit a width.
pub(super) struct Fitted {
    pub(super) columns: Vec<Column>,
    gaps: Vec<usize>,
    /// Columns that there is no room for.
    left_out: Vec<Column>,
    /// Width that all columns would need.
    whole_room: usize,
}

impl Fitted {
    /// `13 more columns: COLUMNS=207`: the number of columns left out, and the width of a terminal
    /// that shows them. `label_width` is the width before the first column. `None` where no column
    /// is left out.
    pub(super) fn left_out(&self, label_width: usize) -> Option<String> {
        let count = self.left_out.len() as u64;
        let columns = units::things(count, "more column");
        (count > 0).then(|| format!("{columns}: COLUMNS={}", label_width + self.whole_room))
    }

    /// Writes the heads, above values whose labels have `label_width` columns. A line whose heads
    /// are all empty is left out.
    pub(super) fn heads(&self, page: &mut Page, label_width: usize) {
        for line in 0..2 {
            let texts = self.columns.iter().map(|column| &*column.head[line]);
            if texts.clone().any(|text| !text.is_empty()) {
                page.line(Tone::Faint, &self.row(&" ".repeat(INDENT + label_width), texts));
            }
        }
    }

    /// Writes the line of the values at `index`; `label` begins with the mark.
    pub(super) fn line(&self, page: &mut Page, tone: Tone, label: &str, index: usize) {
        let texts = self.columns.iter().map(|column| column.values[index].as_str());
        page.line(tone, &self.row(label, texts));
    }

    fn row<'a>(&self, label: &str, texts: impl Iterator<Item = &'a str>) -> String {
        let mut line = label.to_owned();
        for ((text, column), gap) in texts.zip(&self.columns).zip(&self.gaps) {
            line.push_str(&pad_left(text, column.width() + gap));
        }
        line
    }

    /// Writes the line below the table that counts the columns left out.
    pub(super) fn say_left_out(&self, page: &mut Page, label_width: usize) {
        if let Some(words) = self.left_out(INDENT + label_width) {
            page.indented(Tone::Faint, INDENT, &words);
        }
    }
}

/// Divides columns into those that fit `room` and those that do not. A column without a value is
/// dropped, unless its rank is 0. Spare room widens gaps to at most 3.
pub(super) fn fitted(mut columns: Vec<Column>, room: usize) -> Fitted {
    columns.retain(|column| column.rank == 0 || !column.is_empty());
    let mut limit = columns.iter().map(|column| column.rank).max().unwrap_or(0);
    let (mut gap, mut used) = needed(&columns, limit);
    let whole_room = used;
    while used > room && limit > 0 {
        limit -= 1;
        (gap, used) = needed(&columns, limit);
    }
    let (columns, left_out): (Vec<_>, Vec<_>) =
        columns.into_iter().partition(|column| column.rank <= limit);
    let mut gaps = vec![gap; columns.len()];
    let slack = room.saturating_sub(used);
    let wider = columns.len().max(1);
    let share = (slack / wider).min(3 - gap);
    let rest = if share < 3 - gap { slack - share * wider } else { 0 };
    for (index, gap) in gaps.iter_mut().enumerate() {
        *gap += share + usize::from(index < rest);
    }
    Fitted { columns, gaps, left_out, whole_room }
}

/// Writes a table with a line for each label: heads, values, and the number of columns left out.
pub(super) fn table(page: &mut Page, labels: &[(Tone, &str)], columns: Vec<Column>) {
    let label_width = labels.iter().map(|(_, label)| label.width()).max().unwrap_or(0);
    let fitted = fitted(columns, page.width().saturating_sub(INDENT + label_width));
    fitted.heads(page, label_width);
    for (index, (tone, label)) in labels.iter().enumerate() {
        fitted.line(page, *tone, &format!("  {}", pad_right(label, label_width)), index);
    }
    fitted.say_left_out(page, label_width);
}

/// The label of a line of a [`headed_table`].
pub(super) struct Label {
    /// Heading above the line, where one begins.
    pub(super) heading: Option<&'static str>,
    /// Whether the line is marked by `*`.
    pub(super) is_best: bool,
    pub(super) text: String,
}

/// Writes a table like [`table`], with headings between its lines. Long labels are cut.
pub(super) fn headed_table(page: &mut Page, labels: &[Label], columns: Vec<Column>) {
    let widths = labels.iter().map(|label| label.text.width());
    let longest = widths.max().unwrap_or(0).min(MAX_LABEL_WIDTH);
    let label_width = longest.min(page.width() / 3);
    let fitted = fitted(columns, page.width() - INDENT - label_width);
    fitted.heads(page, label_width);
    for (index, Label { heading, is_best, text }) in labels.iter().enumerate() {
        if let Some(heading) = heading {
            page.line(Tone::Faint, heading);
        }
        let (mark, tone) = if *is_best { ("* ", Tone::Strong) } else { ("  ", Tone::Plain) };
        let text = pad_right(&clip(text, label_width), label_width);
        fitted.line(page, tone, &format!("{mark}{text}"), index);
    }
    fitted.say_left_out(page, longest);
}

/// Labels in the plain tone.
pub(super) fn plain(labels: &[impl AsRef<str>]) -> Vec<(Tone, &str)> {
    labels.iter().map(|label| (Tone::Plain, label.as_ref())).collect()
}

/// The smallest gap before each column up to this rank, and the width of these columns with their
/// gaps.
fn needed(columns: &[Column], limit: u8) -> (usize, usize) {
    let kept = columns.iter().filter(|column| column.rank <= limit);
    let most = kept.clone().map(|column| column.rank).max().unwrap_or(0);
    let gap = if most >= EXTRA_RANK { 2 } else { 1 };
    (gap, kept.map(|column| column.width() + gap).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<Column> {
        let row = [()];
        vec![
            Column::ranked(0, ["ms per", "block"], &row, |()| "12".to_owned()),
            Column::ranked(3, ["times", "1 thread"], &row, |()| "1.5".to_owned()),
            Column::ranked(1, ["times", "in order"], &row, |()| "2.0".to_owned()),
            Column::ranked(2, ["", "keys"], &row, |()| "13k".to_owned()),
            Column::ranked(1, ["", "nothing"], &row, |()| None),
        ]
    }

    /// Names of the shown columns, and the note on the others.
    fn at(room: usize) -> (Vec<String>, Option<String>) {
        let fitted = fitted(columns(), room);
        let names = fitted.columns.iter().map(|column| column.head.join(" ").trim().to_owned());
        (names.collect(), fitted.left_out(10))
    }

    #[test]
    fn the_highest_ranks_go_first_and_are_counted_with_the_width_that_shows_them() {
        // Each of 6, 8, 8 and 4 with a gap of 1.
        let (shown, left_out) = at(30);
        assert_eq!(shown, ["ms per block", "times 1 thread", "times in order", "keys"]);
        assert_eq!(left_out, None, "a column without a value is not missed");
        let (shown, left_out) = at(29);
        assert_eq!(shown, ["ms per block", "times in order", "keys"]);
        assert_eq!(left_out.as_deref(), Some("1 more column: COLUMNS=40"));
        let (shown, left_out) = at(16);
        assert_eq!(shown, ["ms per block", "times in order"]);
        assert_eq!(left_out.as_deref(), Some("2 more columns: COLUMNS=40"));
        assert_eq!(at(15).0, ["ms per block"]);
        assert_eq!(at(0).0, ["ms per block"]);
    }
}
