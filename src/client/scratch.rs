//! Where clients' databases are kept for as long as a run lasts.

use std::path::Path;

use anyhow::Result;

use super::leftover;
use crate::machine::scratch::Scratch;

const PREFIX: &str = ".stress-client-";

/// A new directory beside `path`. Those of killed runs go, after the clients that still use them have ended.
///
/// # Errors
/// It cannot be made.
pub fn scratch_beside(path: &Path) -> Result<Scratch> {
    let path = std::path::absolute(path)?;
    Scratch::below(path.parent().unwrap_or(Path::new("/")), PREFIX, leftover::end_all)
}
