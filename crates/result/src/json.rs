//! How everything is written.

use serde::Serialize;

/// A result, or a comparison, as JSON, indented, with a newline at its end. What is not a finite
/// number is `null`.
///
/// # Panics
/// In no case: what is reported has text keys only.
pub fn json(reported: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(reported);
    let mut text = text.unwrap_or_else(|e| panic!("what is reported has text keys only: {e}"));
    text.push('\n');
    text
}
