//! A request for a run: a workload and its settings, from a scenario or from a workload file.

use std::path::PathBuf;

use spec::{BlockTarget, Override, RunSpec, Scenario};
use variant::{Compaction, SampleKeys};

use super::{stores::rocksdb_options, work::FilledWork};
use crate::{
    run::minimal,
    terminal::{Code, Failure, Progress, WithExitCode, exit::fail},
};

/// Default overrides of `--quick`. The number of accounts stays: loads need certain numbers of
/// accounts, and 100k accounts are built in a second. The budget is enough for a round, and for
/// intervals of the fastest cells.
const QUICK: [(&str, &str); 4] =
    [(SLOTS_KEY, "1M"), (GAS_KEY, "64M"), ("run.budget", "2s"), ("run.execution_alone", "false")];

/// Further overrides of a scenario with more than [`QUICK_BLOCK_COUNT`] blocks: the number of
/// blocks, and the gas of each.
const QUICK_BLOCKS: [(&str, &str); 2] = [("block.blocks", "100"), (GAS_KEY, "3M")];

/// Further overrides of a scenario whose files are compacted: write buffers so small that
/// compactions happen.
const QUICK_WRITES: [(&str, &str); 1] = [("run.rocksdb.write_buffer", "1MiB")];

/// Maximal number of blocks of a quick workload.
const QUICK_BLOCK_COUNT: u64 = 100;

/// The key of a block's gas.
const GAS_KEY: &str = "block.gas";

/// The key of the number of slots.
const SLOTS_KEY: &str = "state.slots";

/// The key of the run's designs.
const DESIGNS: &str = "run.designs";

/// The source of a workload.
#[derive(Clone, Debug)]
pub enum Source {
    Scenario {
        /// Name of the scenario, or path of its file.
        name: String,
        work: Vec<Override>,
        /// The size of the work.
        size: Size,
    },
    /// A workload file, whose work is fixed.
    File(PathBuf),
}

/// The size of a scenario's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// The scenario's own size.
    Stated,
    /// The small size of `--quick`.
    Quick,
}

/// A workload, the settings of its run, and its scenario.
#[derive(Debug)]
pub struct Request {
    /// The workload.
    pub work: FilledWork,
    /// The settings of the run.
    pub run: RunSpec,
    /// The scenario; `None` for a workload file.
    pub scenario: Option<Scenario>,
}

impl Request {
    /// Returns the settings of the run of `source`, without generating or reading its work.
    ///
    /// # Errors
    /// A scenario or an override is not valid.
    pub fn run_of(source: &Source, run_overrides: &[Override]) -> Result<RunSpec, Failure> {
        match source {
            Source::Scenario { name, work, size } => {
                let overrides = work.iter().chain(run_overrides).cloned().collect();
                Ok(scenario(name, overrides, *size)?.run)
            }
            Source::File(_) => minimal::default_run(run_overrides).with_exit_code(Code::Usage),
        }
    }

    /// Generates or reads the work of `source`. `run_overrides` are overrides of the run.
    ///
    /// # Errors
    /// A scenario, an override or a file is not valid.
    pub fn generate_or_read(
        source: &Source,
        run_overrides: &[Override],
        progress: &Progress,
    ) -> Result<Self, Failure> {
        match source {
            Source::Scenario { name, work, size } => {
                let overrides = work.iter().chain(run_overrides).cloned().collect();
                let scenario = scenario(name, overrides, *size)?;
                // A claim on a design that does not run would never be judged, and the run would
                // pass. A sweep over designs has all its overrides in `work`, and reports such
                // claims in its cells.
                let varies_designs =
                    run_overrides.is_empty() && work.iter().any(|given| given.key == DESIGNS);
                if let Some(error) = claim_not_run(&scenario).filter(|_| !varies_designs) {
                    fail!(Code::Usage, "{error}");
                }
                let work = FilledWork::generate(&scenario, progress)?;
                Ok(Self { work, run: scenario.run.clone(), scenario: Some(scenario) })
            }
            Source::File(path) => {
                let run = minimal::default_run(run_overrides).with_exit_code(Code::Usage)?;
                require_one_database(&run, "a workload file is of one seed, and is run")?;
                require_same_keys(&run, "a workload file has the keys that it has")?;
                Ok(Self { work: FilledWork::read(path, progress)?, run, scenario: None })
            }
        }
    }
}

/// Loads the scenario of this name or path, with its overrides and its size.
///
/// # Errors
/// There is no such scenario, or an override is not valid.
pub fn scenario(name: &str, mut overrides: Vec<Override>, size: Size) -> Result<Scenario, Failure> {
    if size == Size::Quick {
        // The second load below reports an error of the scenario.
        let stated = spec::load(name, &overrides);
        let size_key = stated.as_ref().map_or(GAS_KEY, |scenario| size_key(scenario.block.target));
        let sets_size = overrides.iter().any(|given| {
            given.key == size_key || QUICK_BLOCKS.iter().any(|(key, _)| given.key == *key)
        });
        // A scenario that states less keeps its own.
        let smaller = |quick: &[(&'static str, &'static str)]| {
            let mut smaller = quick.to_vec();
            let stated = stated.as_ref();
            smaller
                .retain(|(key, value)| !stated.is_ok_and(|stated| is_as_small(stated, key, value)));
            smaller
        };
        let has_many = |scenario: &Scenario| scenario.block.block_count > QUICK_BLOCK_COUNT;
        if !sets_size && stated.as_ref().is_ok_and(has_many) {
            add_quick(&mut overrides, &smaller(&QUICK_BLOCKS), size_key);
        }
        if stated.as_ref().is_ok_and(|stated| stated.run.rocksdb.compaction == Compaction::On) {
            add_quick(&mut overrides, &QUICK_WRITES, size_key);
        }
        add_quick(&mut overrides, &smaller(&QUICK), size_key);
    }
    let scenario = spec::load(name, &overrides).with_exit_code(Code::Usage)?;
    rocksdb_options(&scenario.run)?;
    Ok(scenario)
}

/// Whether the scenario states a value of `key` that is at most that of `--quick`, in millions.
fn is_as_small(stated: &Scenario, key: &str, quick: &str) -> bool {
    let stated = match (key, stated.block.target) {
        (GAS_KEY, BlockTarget::Transactions(_)) => return false,
        (GAS_KEY, target) => target.count(),
        (SLOTS_KEY, _) => stated.state.slot_count,
        _ => return false,
    };
    let millions = quick.strip_suffix('M').and_then(|millions| millions.parse::<u64>().ok());
    millions.is_some_and(|millions| stated <= millions * 1_000_000)
}

/// Whether `--quick` would make the block of `source` smaller. It would not if the block is already
/// as small, if the user sets its size, or if `--quick` is given.
pub fn is_smaller_if_quick(source: &Source) -> bool {
    let Source::Scenario { name, work, size: Size::Stated } = source else { return false };
    let targets = [Size::Quick, Size::Stated]
        .map(|size| scenario(name, work.clone(), size).map(|scenario| scenario.block.target));
    let [Ok(quick), Ok(stated)] = targets else { return false };
    let is_of_gas = !matches!(stated, BlockTarget::Transactions(_));
    is_of_gas && quick.key() == stated.key() && quick.count() < stated.count()
}

/// Returns the error of a claim on a design that the run lacks; `None` without such a claim.
pub fn claim_not_run(scenario: &Scenario) -> Option<String> {
    let (metric, design) = scenario.claims_not_run().into_iter().next()?;
    let designs: Vec<_> = scenario.run.designs.iter().map(|design| design.name()).collect();
    Some(format!(
        "the claim on {metric} ([[expect]]) cannot be judged: the run has no {design}, only {}; \
         add {design} to run.designs (--design {},{design}), or remove the claim",
        designs.join(", "),
        designs.join(",")
    ))
}

/// Refuses a run on several databases. `who` is the subject of the error's sentence.
///
/// # Errors
/// The run has several databases.
pub fn require_one_database(run: &RunSpec, who: &str) -> Result<(), Failure> {
    match run.database_count {
        1 => Ok(()),
        count => fail!(Code::Usage, "run.databases = {count}: {who} on one database; leave it out"),
    }
}

/// Refuses fresh keys for each sample. `who` is the reason in the error.
///
/// # Errors
/// The run asks for fresh keys.
pub fn require_same_keys(run: &RunSpec, who: &str) -> Result<(), Failure> {
    if run.keys == Some(SampleKeys::Fresh) {
        fail!(Code::Usage, "run.keys = \"fresh\": {who}; leave it out");
    }
    Ok(())
}

/// Returns the key that sets the gas of a block, for a scenario with this target.
pub const fn size_key(target: BlockTarget) -> &'static str {
    match target {
        BlockTarget::Limit(_) => "block.limit",
        BlockTarget::Gas(_) | BlockTarget::Transactions(_) => GAS_KEY,
    }
}

/// Adds overrides of `--quick`, unless the user sets their quantity. `size_key` is the key of a
/// block's size.
fn add_quick(overrides: &mut Vec<Override>, quick: &[(&str, &str)], size_key: &str) {
    for (key, value) in quick {
        let others: &[&str] = match *key {
            GAS_KEY => &[GAS_KEY, "block.limit", "block.transactions"],
            SLOTS_KEY => &["state.size"],
            "run.budget" => &["run.samples"],
            _ => &[],
        };
        let key = if *key == GAS_KEY { size_key } else { *key };
        add_default(overrides, others, Override::new(key, *value, "--quick"));
    }
}

/// Adds a default, unless `overrides` has its key or one of `others`, which set the same quantity.
pub fn add_default(overrides: &mut Vec<Override>, others: &[&str], default: Override) {
    let mut given = overrides.iter().map(|given| given.key.as_str());
    if !given.any(|key| key == default.key || others.contains(&key)) {
        overrides.push(default);
    }
}

#[cfg(test)]
mod tests {
    use spec::shipped;

    use super::*;
    use crate::terminal::ProgressForm;

    #[test]
    fn quick_is_smaller_only_than_a_large_block_whose_size_is_not_said() {
        let is_smaller = |gas: Option<&str>, size| {
            let work = gas.map(|gas| Override::new("block.gas", gas, format!("--gas {gas}")));
            let work = work.into_iter().collect();
            is_smaller_if_quick(&Source::Scenario { name: "sload-storm".to_owned(), work, size })
        };
        assert!(is_smaller(None, Size::Stated));
        assert!(!is_smaller(None, Size::Quick));
        assert!(!is_smaller(Some("12M"), Size::Stated));
        assert!(!is_smaller(Some("640M"), Size::Stated), "it does not change a size that is said");
        assert!(!is_smaller_if_quick(&Source::File("storm.workload".into())));
        let kept = scenario("limit-60m", Vec::new(), Size::Quick).unwrap();
        assert_eq!(kept.block.target, BlockTarget::Limit(60_000_000), "it makes no block larger");
    }

    #[test]
    fn every_shipped_scenario_generates_a_quick_block() {
        let progress = Progress::new(ProgressForm::Nothing);
        for (name, _) in shipped::all() {
            let source =
                Source::Scenario { name: (*name).to_owned(), work: Vec::new(), size: Size::Quick };
            let request = Request::generate_or_read(&source, &[], &progress);
            let workload =
                request.unwrap_or_else(|failure| panic!("{name}: {failure:?}")).work.workload;
            assert!(workload.batches.iter().any(|batch| !batch.blocks.is_empty()), "{name}");
            assert!(workload.batches.len() <= 100 && workload.gas_used() < 700_000_000, "{name}");
        }
    }
}
