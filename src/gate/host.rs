//! Detects a cache outside this machine, for `judge`. Such a cache may answer cold samples, as all
//! samples of a gate read the same keys.

use executor::{
    device::{Disk, probe_host_cache},
    state::BuiltState,
};
use result::HOST_CACHE_RATIO;
use variant::CacheMode;
use workload::file;

use super::work::GateWork;
use crate::{
    machine,
    run::{
        minimal,
        plan::Machine,
        prepare::{Databases, InUse, StoreOpener},
    },
    terminal::{Code, Failure, Progress, WithExitCode, interrupt},
};

/// Returns a warning if repeated reads show a cache outside this machine. They read the states that
/// the process of A has built. `None` without cold samples on a disk, or if the device cannot be
/// read. It is also `None` if A is another build and names its states differently.
///
/// # Errors
/// The workload cannot be read.
pub fn warning(work: &GateWork, progress: &Progress) -> Result<Option<String>, Failure> {
    let run = minimal::run_of_pairs(&work.builds[0].run).with_exit_code(Code::Usage)?;
    let mut stores = run.stores.iter().filter(|store| store.has_device()).peekable();
    if run.cache != CacheMode::Cold || stores.peek().is_none() {
        return Ok(None);
    }
    let workload = file::read(&work.file).with_exit_code(Code::Io)?;
    let opener = StoreOpener {
        databases: Databases { dir: work.data_dir.as_deref(), in_use: InUse::Refuse },
        genesis: &workload.genesis,
        layout: workload.layout,
        scenario: &workload.scenario,
        machine: &Machine::this(),
        progress,
    };
    let stage = progress.stage("probing a cache outside this machine", 0);
    let seen = stores.find_map(|store| in_words(ratio(&opener.existing(*store, &run)?)?));
    stage.finish();
    Ok(seen)
}

/// Returns the rate of a second pass over the same blocks of `state`, over the rate of the first
/// pass.
fn ratio(state: &BuiltState) -> Option<f64> {
    let disk = Disk::open(&state.table_files(), machine::fresh_seed()).ok()?;
    Some(probe_host_cache(&disk, interrupt::flag()).ok()?.ratio())
}

fn in_words(ratio: f64) -> Option<String> {
    (ratio > HOST_CACHE_RATIO).then(|| {
        format!(
            "a cache outside this machine answers repeated reads {ratio:.1} times as fast, and all \
             cold samples read the same keys: their times are not of the disk alone, counts stand"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_pass_that_is_faster_than_chance_explains_is_told_with_its_ratio() {
        assert_eq!(in_words(HOST_CACHE_RATIO), None);
        let warning = in_words(1.94).expect("it is above the limit");
        assert!(warning.contains("answers repeated reads 1.9 times as fast"), "{warning}");
    }
}
