//! Writes results, and comparisons of results, as JSON.

use serde::Serialize;

use crate::{error::Error, finite};

/// Returns a result or a comparison as indented JSON with a final newline.
///
/// # Errors
/// [`Error::NotFinite`] if a number is not finite, as it could not be read back.
pub fn json(reported: &impl Serialize) -> Result<String, Error> {
    finite::check(reported)?;
    let mut text = serde_json::to_string_pretty(reported).map_err(Error::no_json)?;
    text.push('\n');
    Ok(text)
}

#[cfg(test)]
mod tests;
