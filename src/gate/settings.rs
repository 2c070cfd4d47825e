//! Settings of one build alone: how A and B are told to run the same work differently.

use anyhow::anyhow;
use spec::{Override, RunSpec};

use crate::{
    exit::{Code, Failure, OrExit},
    minimal,
    plan::{self, Machine, PlannedCell},
    worker,
};

/// Keys of a run and their values.
pub type Words = Vec<(String, String)>;

/// The run of a build with settings of its own, in words. Settings may say how variants are run, not
/// which there are.
///
/// # Errors
/// A key that is not of the run, a value that is not valid, or other variants.
pub fn own_words(
    run: &RunSpec,
    settings: &[Override],
    variants: &[String],
    machine: &Machine,
) -> Result<Words, Failure> {
    if let Some(set) = settings.iter().find(|set| !set.key.starts_with("run.")) {
        let error = anyhow!(
            "{}: only keys of run may differ between A and B, which do the same work; --set is for \
             both",
            set.origin
        );
        return Err(error).or_exit(Code::Usage);
    }
    let common = worker::of_run(run).or_exit(Code::Usage)?;
    let given = |(key, value): &(String, String)| Override {
        key: key.clone(),
        value: value.clone(),
        origin: format!("{key} = {value}"),
    };
    let is_kept = |word: &&(String, String)| settings.iter().all(|set| set.key != word.0);
    let all: Vec<_> =
        common.iter().filter(is_kept).map(given).chain(settings.iter().cloned()).collect();
    let own = minimal::default_run(&all).or_exit(Code::Usage)?;
    let own_variants: Vec<_> = plan::cells(&own, machine).iter().map(PlannedCell::name).collect();
    if own_variants != variants {
        let origins: Vec<_> = settings.iter().map(|set| set.origin.as_str()).collect();
        let error = anyhow!(
            "{}: that gives the variants {}, and both are to have {}; what says which variants there \
             are is for both",
            origins.join(" "),
            own_variants.join(", "),
            variants.join(", ")
        );
        return Err(error).or_exit(Code::Usage);
    }
    worker::of_run(&own).or_exit(Code::Usage)
}
