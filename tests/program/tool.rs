//! Runs the program in a folder that is its current one and has its state.

use std::{path::Path, process::Output};

use crate::machine;

/// A run of milliseconds, in memory; its designs, threads and samples follow.
pub(crate) const RUN: [&str; 8] =
    ["run", "sload-storm", "--gas", "1M", "--slots", "10k", "--store", "memory"];

/// Runs `stress` with 80 columns.
pub(crate) fn stress(args: &[&str], dir: &Path) -> Output {
    let mut command = machine::program();
    command.args(args).current_dir(dir).env("STRESS_DATA_DIR", dir).env("COLUMNS", "80");
    machine::output(&mut command)
}

/// Output as text.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The standard output of a command that succeeds.
pub(crate) fn printed(args: &[&str], dir: &Path) -> String {
    let output = stress(args, dir);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", text(&output.stderr));
    text(&output.stdout)
}
