//! The page of text that every table in the terminal is written to. Its lines have a maximal width:
//! they are wrapped or clipped, cleaned of control characters, and painted.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use variant::steers_terminal;

use super::Paint;

/// Width of the labels at the left. All widths here are in columns of the terminal.
pub(super) const LABEL_WIDTH: usize = 9;
/// Width of the mark (`* ` or two spaces) before a label of a table.
pub(super) const INDENT: usize = 2;
/// Minimal width of a page: narrower text is not readable.
const MIN_WIDTH: usize = 24;
/// Units that stay on the line of the number before them.
const UNITS: [&str; 16] = [
    "%", "ns", "µs", "ms", "s", "h", "B", "kB", "MB", "GB", "TB", "io", "KiB", "MiB", "GiB", "gas",
];

/// Emphasis of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Strong,
    Faint,
    Warning,
    Alarm,
}

impl Tone {
    const fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Strong => Some("1"),
            Self::Faint => Some("2"),
            Self::Warning => Some("33"),
            Self::Alarm => Some("1;31"),
        }
    }
}

/// A text under construction; no line is wider than the page.
#[derive(Debug)]
pub(super) struct Page {
    width: usize,
    lines: Vec<(Tone, String)>,
}

impl Page {
    pub(super) fn new(width: usize) -> Self {
        Self { width: width.max(MIN_WIDTH), lines: Vec::new() }
    }

    pub(super) const fn width(&self) -> usize {
        self.width
    }

    /// Adds one line, clipped.
    pub(super) fn line(&mut self, tone: Tone, text: &str) {
        self.lines.push((tone, clip(&clean(text), self.width)));
    }

    /// Adds an empty line, unless the page is empty or its last line is empty already.
    pub(super) fn gap(&mut self) {
        if self.lines.last().is_some_and(|(_, text)| !text.is_empty()) {
            self.lines.push((Tone::Plain, String::new()));
        }
    }

    /// Adds a paragraph with a label at the left, wrapped beside it.
    pub(super) fn labelled(&mut self, tone: Tone, label: &str, text: &str) {
        let lines = wrap(&clean(text), self.width - LABEL_WIDTH);
        for (index, line) in lines.iter().enumerate() {
            let label =
                if index == 0 { clip(&clean(label), LABEL_WIDTH - 1) } else { String::new() };
            self.line(tone, &format!("{}{line}", pad_right(&label, LABEL_WIDTH)));
        }
    }

    /// Adds paragraphs, each with the label.
    pub(super) fn each(
        &mut self,
        tone: Tone,
        label: &str,
        texts: impl IntoIterator<Item = impl AsRef<str>>,
    ) {
        texts.into_iter().for_each(|text| self.labelled(tone, label, text.as_ref()));
    }

    /// Adds paragraphs, of which only the first has the label.
    pub(super) fn listed(
        &mut self,
        tone: Tone,
        label: &str,
        texts: impl IntoIterator<Item = impl AsRef<str>>,
    ) {
        for (index, text) in texts.into_iter().enumerate() {
            self.labelled(tone, if index == 0 { label } else { "" }, text.as_ref());
        }
    }

    /// Adds a paragraph with `indent` spaces at the left of each line.
    pub(super) fn indented(&mut self, tone: Tone, indent: usize, text: &str) {
        for line in wrap(&clean(text), self.width - indent) {
            self.line(tone, &format!("{}{line}", " ".repeat(indent)));
        }
    }

    /// The text, with a newline at the end of each line.
    pub(super) fn render(self, paint: Paint) -> String {
        let mut text = String::new();
        let end = self.lines.iter().rposition(|(_, text)| !text.is_empty()).map_or(0, |at| at + 1);
        for (tone, line) in self.lines.into_iter().take(end) {
            let line = line.trim_end();
            match tone.code().filter(|_| paint == Paint::Ansi && !line.is_empty()) {
                Some(code) => text.push_str(&format!("\u{1b}[{code}m{line}\u{1b}[0m\n")),
                None => text.push_str(&format!("{line}\n")),
            }
        }
        text
    }
}

/// `text` with spaces at its left up to `width`.
pub(super) fn pad_left(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(text.width())))
}

/// `text` with spaces at its right up to `width`.
pub(super) fn pad_right(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

/// `text` cut to `width`, with `…` in the place of the rest.
pub(super) fn clip(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = head_of(text, width.saturating_sub(1)).to_owned();
    kept.push('…');
    kept
}

/// Replaces characters that steer a terminal by spaces, since names and messages may be hostile.
pub(super) fn clean(text: &str) -> String {
    text.chars().map(|c| if steers_terminal(c) { ' ' } else { c }).collect()
}

/// The longest beginning that is at most `width` wide.
fn head_of(text: &str, width: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > width {
            return &text[..at];
        }
    }
    text
}

/// Wraps a text into lines of at most `width` columns. A number stays beside its unit, and a word
/// wider than a line is cut.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in glued_words(text) {
        let mut rest = word.as_str();
        let last = lines.last_mut().unwrap_or_else(|| panic!("begins with one line"));
        if last.is_empty() || last.width() + 1 + rest.width() > width {
            if !last.is_empty() {
                lines.push(String::new());
            }
            while rest.width() > width {
                let piece = head_of(rest, width);
                rest = &rest[piece.len()..];
                lines.pop();
                lines.extend([piece.to_owned(), String::new()]);
            }
            lines.pop();
            lines.push(rest.to_owned());
        } else {
            last.push(' ');
            last.push_str(rest);
        }
    }
    lines
}

/// The words of a text. A number and its unit are one word.
fn glued_words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let bare = word.trim_end_matches([',', ';', ':', '.', ')']);
        match words.last_mut() {
            Some(last)
                if UNITS.contains(&bare) && last.starts_with(|c: char| c.is_ascii_digit()) =>
            {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paragraph_is_wrapped_beside_its_label_and_a_number_stays_with_its_unit() {
        let mut page = Page::new(24);
        page.labelled(Tone::Plain, "found", "batched in 4.90 s, at last");
        assert_eq!(page.render(Paint::Plain), "found    batched in\n         4.90 s, at last\n");
    }

    #[test]
    fn a_word_wider_than_the_page_is_broken() {
        assert_eq!(wrap("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrap("漢字漢字", 5), ["漢字", "漢字"]);
        assert_eq!(wrap("", 5), [""]);
    }

    #[test]
    fn a_name_cannot_steer_the_terminal() {
        let mut page = Page::new(40);
        page.line(Tone::Plain, "a\u{1b}[31mb\n\u{202e}c");
        assert_eq!(page.render(Paint::Plain), "a [31mb  c\n");
    }

    #[test]
    fn a_clipped_text_is_marked_and_never_too_wide() {
        assert_eq!(clip("abcdef", 4), "abc…");
        assert_eq!(clip("漢字漢字", 4), "漢…");
        assert_eq!(clip("abc", 3), "abc");
    }
}
