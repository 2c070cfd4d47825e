//! Finds scenarios that a wrong name or path may mean, for the error: files in its directory, and
//! shipped scenarios.

use std::fs;
use std::path::Path;

use crate::fault;
use crate::shipped;

/// Maximum number of suggested names.
const NEAREST_COUNT: usize = 3;
/// Maximum number of compared entries of a directory.
const ENTRY_COUNT_MAX: usize = 10_000;
/// Ending of a scenario's file.
const ENDING: &str = "toml";

/// Returns `did you mean … or …? ` with near files, then near shipped scenarios; empty if no name
/// is near.
pub(crate) fn question(given: &str) -> String {
    let path = Path::new(given);
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let is_name = given.starts_with(shipped::OFFICIAL) || !given.contains('/');
    let shipped_name = if is_name { given.trim_end_matches(".toml") } else { stem };
    let mut near = files(path, stem);
    let shipped = shipped::nearest(shipped_name, NEAREST_COUNT);
    near.extend(shipped.into_iter().map(str::to_owned));
    near.truncate(NEAREST_COUNT);
    let near: Vec<&str> = near.iter().map(String::as_str).collect();
    match near.as_slice() {
        [] => String::new(),
        near => format!("did you mean {}? ", fault::listed(near, "or")),
    }
}

/// Returns paths of TOML files in the directory of `path` whose names are near to `stem`, the
/// nearest first.
fn files(path: &Path, stem: &str) -> Vec<String> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    let Ok(entries) = fs::read_dir(dir.unwrap_or(Path::new("."))) else { return Vec::new() };
    let names = entries.take(ENTRY_COUNT_MAX).filter_map(|entry| {
        let name = entry.ok()?.file_name().into_string().ok()?;
        Some(name.strip_suffix(ENDING)?.strip_suffix('.')?.to_owned())
    });
    let mut names: Vec<String> = names.collect();
    // Sorted, because the order of a directory depends on the system.
    names.sort();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let near = fault::nearest_few(stem, &names, NEAREST_COUNT).into_iter();
    let dir = dir.map(|dir| format!("{}/", dir.display())).unwrap_or_default();
    near.map(|name| fault::plain(&format!("{dir}{name}.{ENDING}"))).collect()
}
