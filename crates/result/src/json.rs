//! How everything is written.

use serde::Serialize;

use crate::{error::Error, finite};

/// A result, or a comparison, as JSON, indented, with a newline at its end.
///
/// # Errors
/// [`Error::NotFinite`] where a number in it is not finite: it could not be read back.
pub fn json(reported: &impl Serialize) -> Result<String, Error> {
    finite::check(reported)?;
    let mut text = serde_json::to_string_pretty(reported).map_err(Error::no_json)?;
    text.push('\n');
    Ok(text)
}

#[cfg(test)]
mod tests;
