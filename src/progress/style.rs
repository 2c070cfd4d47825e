//! The look of bars on a terminal.

use indicatif::ProgressStyle;

/// The style of a bar of `length`; without one there is no bar.
pub(super) fn style(length: Option<u64>) -> ProgressStyle {
    let template = match length {
        Some(length) if length > 0 => "{prefix} [{bar:24}] {msg}, {elapsed} ({eta} left)",
        _ => "{prefix} {msg}",
    };
    styled(template)
}

/// The style of a run's lines: a second one for figures, if there are any. Those of one terminal always
/// or never have them.
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
