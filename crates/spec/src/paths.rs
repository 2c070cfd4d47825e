//! The path of every key that a scenario may have. Overrides, an error's "did you mean" and the
//! test of `docs/scenario.md` use it.

use crate::keys::{BLOCK, EXPECT, Keys, LOAD, RUN_TABLES, STATE, WHEN};
use crate::load::KINDS;
use crate::scenario::RunSpec;
use crate::{mdbx, rocksdb};

/// Every key path that may be given from outside, such as `block.gas` and `load.keys`.
pub(crate) fn override_paths() -> Vec<String> {
    let plain = ["name", "description", "fork", "seed"].map(str::to_owned);
    let mut load_keys = LOAD.to_vec();
    for key in KINDS.iter().flat_map(|kind| &kind.keys) {
        if !load_keys.contains(key) {
            load_keys.push(key);
        }
    }
    [
        plain.to_vec(),
        within("state", STATE),
        within("block", BLOCK),
        within("load", &load_keys),
        within("run", &Keys::names::<RunSpec>())
            .into_iter()
            .filter(|path| !is_run_table(path))
            .collect(),
        within(rocksdb::PATH, &rocksdb::keys()),
        within(mdbx::PATH, mdbx::KEYS),
    ]
    .concat()
}

fn within(table: &str, keys: &[&str]) -> Vec<String> {
    keys.iter().map(|key| format!("{table}.{key}")).collect()
}

fn is_run_table(path: &str) -> bool {
    path.strip_prefix("run.").is_some_and(|key| RUN_TABLES.contains(&key))
}

/// Every key path of a file, as the documentation names them.
pub fn all_paths() -> Vec<String> {
    let mut paths = vec!["schema".to_owned()];
    paths.extend(override_paths());
    paths.extend(EXPECT.iter().map(|key| format!("expect.{key}")));
    paths.extend(WHEN.iter().map(|key| format!("expect.when.{key}")));
    paths
}
