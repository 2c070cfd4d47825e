//! Scenarios: the work to generate and its run, read from strict TOML (`docs/scenario.md`). Owns
//! the format, its defaults and its errors; generates nothing.
//!
//! A text goes through `tree` (values with their places in the text), `overrides`, `read` (defaults
//! and rules), [`Scenario`] and `write`. After each mistake, `mistakes` repairs the tree and reads
//! it again.

mod durations;
mod error;
mod fault;
mod fields;
mod guide;
mod keys;
mod load;
mod mdbx;
mod metric;
mod mistakes;
mod names;
mod nearby;
mod overrides;
mod paths;
mod prefetch;
mod quantity;
mod read;
mod redis;
mod rocksdb;
mod root;
mod scenario;
mod schema;
mod sharding;
pub mod shipped;
mod sizes;
mod starter;
mod state;
#[cfg(test)]
mod tests;
mod tree;
mod whole;
mod write;

pub use durations::{duration, fine_duration, gas};
pub use error::{Diagnostic, Mistakes, ScenarioError};
pub use fault::nearest;
pub use load::*;
pub use mdbx::MdbxSpec;
pub use metric::{Bound, Expect, Metric, Scope, When};
pub use names::{
    AccountOp, AccountTarget, Creation, KeyOrder, LoadOrder, Overlap, Pattern, Recipients,
    SizeDistribution, Work, WriteOp,
};
pub use overrides::Override;
pub use paths::all_paths;
pub use rocksdb::RocksdbSpec;
pub use scenario::{
    BlockSpec, BlockTarget, PrefetchSpec, RootSpec, RunSpec, Scenario, ShardSpec, WholeSpec,
};
pub use schema::json_schema;
pub use sizes::{Sizes, TX_GAS_MIN};
pub use starter::starter;
pub use state::{ROW_BYTES, StateSpec};

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Maximum size of a scenario file in bytes: a scenario is a page of text.
pub const FILE_BYTES_MAX: u64 = 1 << 20;

impl Scenario {
    /// Reads a scenario's text. Errors give `source_name` as its name. Overrides replace the text's
    /// own values before anything is checked.
    pub fn parse(
        source_name: &str,
        text: &str,
        overrides: &[Override],
    ) -> Result<Self, ScenarioError> {
        mistakes::read(text, overrides)
            .map_err(|faults| ScenarioError::new(faults, mistakes::MISTAKES_MAX, source_name, text))
    }
}

/// Reads the shipped scenario of that name, or else the file. A path ends with `.toml`, or contains
/// `/` and does not begin with `official/`.
pub fn load(name_or_path: &str, overrides: &[Override]) -> Result<Scenario, ScenarioError> {
    if let Some(text) = shipped::find(name_or_path) {
        let source_name = format!("scenarios/{name_or_path}.toml");
        return Scenario::parse(&source_name, text, overrides);
    }
    let is_name = !name_or_path.contains('/') || name_or_path.starts_with(shipped::OFFICIAL);
    if is_name && !name_or_path.ends_with(".toml") {
        return Err(unknown_name(name_or_path));
    }
    let text = read_file(name_or_path)?;
    Scenario::parse(name_or_path, &text, overrides)
}

fn unknown_name(name: &str) -> ScenarioError {
    let path = format!("{name}.toml");
    if Path::new(&path).is_file() {
        return ScenarioError::FileWithoutPath { name: name.to_owned(), path };
    }
    let question = nearby::question(name);
    let count = shipped::all().len();
    let help = format!("{question}`stress list` shows all {count}; a file is given as ./my.toml");
    ScenarioError::UnknownName { name: name.to_owned(), help }
}

fn read_file(path: &str) -> Result<String, ScenarioError> {
    let unreadable = |error: io::Error| ScenarioError::Unreadable {
        path: fault::plain(path),
        help: match error.kind() {
            io::ErrorKind::NotFound => {
                format!(
                    "{}check the path; `/` and `.toml` mark a file's name",
                    nearby::question(path)
                )
            }
            io::ErrorKind::PermissionDenied => "make the file readable".to_owned(),
            _ => "give the path of a readable TOML file".to_owned(),
        },
        reason: error.to_string(),
    };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.starts_with(&workload::file::MAGIC) {
        return Err(ScenarioError::IsWorkload { path: fault::plain(path) });
    }
    if bytes.trim_ascii_start().starts_with(b"{") {
        return Err(ScenarioError::IsJson { path: fault::plain(path) });
    }
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let path = fault::plain(path);
        return Err(ScenarioError::TooLarge { path, limit_bytes: FILE_BYTES_MAX });
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&error.as_bytes()[..valid]);
        ScenarioError::NotUtf8 {
            path: fault::plain(path),
            line: before.matches('\n').count() + 1,
            column: before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1,
        }
    })
}
