//! The look of bars and texts on a terminal.

use indicatif::ProgressStyle;
use variant::steers_terminal;

/// Returns the style of a bar of `length`. Without a length there is no bar.
pub(super) fn style(length: Option<u64>) -> ProgressStyle {
    let template = match length {
        Some(length) if length > 0 => "{prefix} [{bar:24}] {msg}",
        _ => "{prefix} {msg}",
    };
    styled(template)
}

/// Returns the style of a run's lines, with a second line for `figures` unless they are empty. One
/// bar has this style to its end, as its figures are either always or never empty.
pub(super) fn live_style(figures: &str) -> ProgressStyle {
    styled(match figures.is_empty() {
        true => "{prefix} [{bar:24}]",
        false => "{prefix} [{bar:24}]\n  {wide_msg}",
    })
}

fn styled(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template);
    style.unwrap_or_else(|e| panic!("the template is constant: {e}")).progress_chars("=> ")
}

/// Escapes characters of `text` that control a terminal, as it may have names of files and words of
/// other programs.
pub fn visible(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match steers_terminal(c) && !matches!(c, '\n' | '\t') {
            true => safe.extend(c.escape_default()),
            false => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_and_what_steers_a_terminal_is_escaped() {
        let text = "a\u{1b}[2J\u{9b}m\r\n\tb é 漢\u{202e}";
        assert_eq!(visible(text), "a\\u{1b}[2J\\u{9b}m\\r\n\tb é 漢\\u{202e}");
    }
}
