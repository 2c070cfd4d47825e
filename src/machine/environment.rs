//! Describes the machine of a result: facts (`null` if unknown), and warnings. A warning is a
//! reason to doubt the figures of a run, with the remedy. All verbs that measure use it.
//!
//! All facts of the machine are read from `/proc`, `/sys` and `/etc`, or tried on a small file
//! (`ground`). No program is started. Each subject has a file: `cpu`, `cgroup`, `memory`, `disk`,
//! `host`. `warning` judges the facts, and `check` has a verdict for each subject. `watch` counts
//! lost time, and `tree` reads the files.

use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use executor::process;
use result::environment::{Build, Environment, StealClock};

mod cgroup;
mod check;
mod cpu;
mod disk;
mod ground;
mod host;
mod memory;
mod tree;
mod warning;
mod watch;

pub use check::all as checks;
pub use warning::all as warnings;
pub use watch::Watch;

use tree::Tree;

/// Reads the facts of this machine. `data_dir` need not exist yet.
pub fn probe(data_dir: &Path) -> Environment {
    let tree = Tree::of_this_machine();
    let dir = nearest_existing(data_dir);
    Environment {
        cpu: cpu::probe(&tree),
        cgroup: cgroup::probe(&tree),
        memory: memory::probe(&tree),
        host: host::probe(&tree),
        data_dir: disk::probe(&tree, &dir),
        ground: ground::probe(&dir),
        build: build(),
        steal: StealClock::start(process::steal),
    }
}

/// Returns the memory that is available without swapping, in bytes.
pub fn memory_available_bytes() -> Option<u64> {
    memory::probe(&Tree::of_this_machine()).available_bytes
}

/// The file of this process, even if its path has another file by now.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// Returns the facts of this binary that `build.rs` recorded, with the hash of its file. The first
/// call reads the file, so it must not be inside a clock.
pub fn build() -> Build {
    // Cargo does not pass these settings on to the program that it builds, so
    // `.cargo/measured.toml` or cargo's own variables set them. Without these variables a release
    // has cargo's defaults.
    let lto = option_env!("CARGO_PROFILE_RELEASE_LTO").or(option_env!("STRESS_LTO"));
    let codegen_units =
        option_env!("CARGO_PROFILE_RELEASE_CODEGEN_UNITS").or(option_env!("STRESS_CODEGEN_UNITS"));
    Build {
        commit: option_env!("STRESS_COMMIT").map(str::to_owned),
        features: Some(
            cfg!(feature = "io-uring").then(|| "io-uring".to_owned()).into_iter().collect(),
        ),
        binary_hash: binary_hash(),
        rustc: option_env!("STRESS_RUSTC").map(str::to_owned),
        profile: env!("STRESS_PROFILE").to_owned(),
        opt_level: env!("STRESS_OPT_LEVEL").to_owned(),
        lto: Some(lto.unwrap_or("thin-local").to_owned()),
        codegen_units: codegen_units.unwrap_or("16").parse().ok(),
        has_debug_assertions: cfg!(debug_assertions),
    }
}

/// Returns the libraries in this program that are not those of its lockfile, with their sources.
pub fn patched() -> Vec<String> {
    let names = option_env!("STRESS_PATCHED").unwrap_or_default();
    names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Returns the BLAKE3 hash of this program's file; `None` if the file cannot be read. The file is
/// read once.
fn binary_hash() -> Option<String> {
    static HASH: OnceLock<Option<String>> = OnceLock::new();
    let hash = HASH.get_or_init(|| {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(File::open(THIS_PROGRAM).ok()?).ok()?;
        Some(hasher.finalize().to_string())
    });
    hash.clone()
}

/// Returns `path` or its nearest existing ancestor, without links.
fn nearest_existing(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.into());
    let existing = absolute.ancestors().find_map(|ancestor| ancestor.canonicalize().ok());
    existing.unwrap_or(absolute)
}

#[cfg(test)]
mod tests {
    use result::environment::Limit;

    use super::*;

    #[test]
    fn the_fingerprint_of_this_machine_can_be_written_and_has_nulls_for_the_unknown() {
        let environment = probe(Path::new("/nonexistent/data/dir"));
        let value = serde_json::to_value(&environment).expect("serialises");
        for key in ["cpu", "cgroup", "memory", "host", "data_dir", "build"] {
            assert!(value[key].is_object(), "{key}: {value:#}");
        }
        let steal = value.get("steal_ns").expect("written");
        assert!(steal.is_null() || steal.is_u64(), "{steal}");
    }

    #[test]
    fn a_build_is_told_by_the_hash_of_the_file_that_runs() {
        let file = std::fs::read(std::env::current_exe().expect("known")).expect("readable");
        let hash = blake3::hash(&file).to_string();
        assert_eq!(build().binary_hash, Some(hash));
        assert_eq!(build(), build());
    }

    #[test]
    fn a_path_that_does_not_exist_lies_where_its_nearest_parent_does() {
        assert_eq!(nearest_existing(Path::new("/nonexistent/a/b")), Path::new("/"));
    }

    #[test]
    fn a_quota_below_the_cpus_is_what_can_be_used() {
        let mut environment = probe(Path::new("/"));
        environment.cpu.allowed_count = Some(8);
        environment.cgroup.cpu_limit_millicpus = Some(Limit::At(2_500));
        assert_eq!(environment.usable_cpu_count(), Some(3));
        environment.cgroup.cpu_limit_millicpus = Some(Limit::Unlimited);
        assert_eq!(environment.usable_cpu_count(), Some(8));
        environment.cpu.allowed_count = None;
        environment.cpu.logical_count = None;
        assert_eq!(environment.usable_cpu_count(), None);
    }
}
