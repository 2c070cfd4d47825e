//! The page of `stress show --bal`: a block-level access list, or the differences of two.

use super::{
    Paint,
    page::{Page, Tone, clean, wrap},
};

/// Indent of an entry of an account.
const INDENT: usize = 2;
/// Indent of the further lines of an entry that does not fit on one line.
const DEEPER: usize = 4;

/// A paragraph of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListLine {
    /// A list as a whole, above its accounts.
    Head(String),
    /// A rule that a list breaks, or the number of differences between two lists.
    Fault(String),
    /// An account, above its entries.
    Account(String),
    /// An entry of an account.
    Entry(String),
    /// A note to the reader.
    Note(String),
}

/// The page of `width` columns (at least 24), each line ended by a newline.
pub fn list_page(lines: impl IntoIterator<Item = ListLine>, width: usize, paint: Paint) -> String {
    let mut page = Page::new(width);
    for line in lines {
        match line {
            ListLine::Head(text) | ListLine::Account(text) => {
                page.indented(Tone::Strong, 0, &text);
            }
            ListLine::Fault(text) => page.indented(Tone::Alarm, 0, &text),
            ListLine::Note(text) => page.indented(Tone::Faint, 0, &text),
            ListLine::Entry(text) => {
                for (nth, line) in wrap(&clean(&text), page.width() - DEEPER).iter().enumerate() {
                    let indent = " ".repeat(if nth == 0 { INDENT } else { DEEPER });
                    page.line(Tone::Plain, &format!("{indent}{line}"));
                }
            }
        }
    }
    page.render(paint)
}
