//! Extra samples of a run after its rounds, on request. They count for no figure, and are traced or
//! profiled. Their files are checked before the run.

use std::path::{Path, PathBuf};

use anyhow::Result;
use executor::trace::Trace;

use report::{Existing, WholeFile};
use result::WorkloadFacts;

use crate::{
    run::{
        plan::PlannedCell,
        profile::{self, Profile, ProfileTarget},
        sampling::{Sampled, Sampling},
    },
    terminal::{Code, Failure, WithExitCode, interrupt},
};

/// The extra samples that the user asks for.
#[derive(Clone, Debug, Default)]
pub struct ExtraSamples {
    /// The file of a trace of the fastest variant.
    pub trace: Option<PathBuf>,
    /// The variant or design to profile.
    pub profile: Option<String>,
    /// Treatment of an existing file.
    pub existing: Existing,
}

/// The requested extra samples, after checks of the named cell and of the files.
#[derive(Debug)]
pub struct CheckedExtras {
    trace: Option<WholeFile>,
    profile: Option<Profiling>,
}

/// A requested profile.
#[derive(Debug)]
struct Profiling {
    file: WholeFile,
    target: ProfileTarget,
}

impl CheckedExtras {
    /// Checks the request `wanted` against the cells of the run. The flame graph goes to `out`,
    /// with the run's start `started_unix_s` in its name.
    ///
    /// # Errors
    /// `wanted` names a cell that the run does not have, or a file cannot be written.
    pub fn new(
        wanted: &ExtraSamples,
        out: Option<&Path>,
        cells: &[PlannedCell],
        started_unix_s: u64,
    ) -> Result<Self, Failure> {
        let names: Vec<String> = cells.iter().map(PlannedCell::name).collect();
        let designs: Vec<&str> = cells.iter().map(|cell| cell.variant.design.name()).collect();
        let mut extras = Self { trace: None, profile: None };
        if let Some(path) = &wanted.trace {
            extras.trace = Some(WholeFile::at(path, "--trace", wanted.existing)?);
        }
        if let Some(name) = &wanted.profile {
            let target = profile::target(&names, &designs, name).with_exit_code(Code::Usage)?;
            let file_name = format!("flame-graph-{started_unix_s}.svg");
            let path = out.unwrap_or(Path::new("")).join(file_name);
            let file = WholeFile::at(&path, "--profile", wanted.existing)?;
            extras.profile = Some(Profiling { file, target });
        }
        Ok(extras)
    }

    /// Whether no extra sample is requested.
    pub const fn is_empty(&self) -> bool {
        self.trace.is_none() && self.profile.is_none()
    }

    /// Takes the extra samples, unless the run ended early or with a wrong result. Returns the
    /// written files. Failures and the profile's figures go to `sampled`.
    pub fn take(
        self,
        sampling: &Sampling<'_>,
        sampled: &mut Sampled,
        work: &WorkloadFacts,
    ) -> Vec<PathBuf> {
        let mut written = Vec::new();
        if let Some(file) = self.trace {
            let done = trace(file, sampling, sampled, work);
            written.extend(keep_failure(done, sampled));
        }
        if let Some(profiling) = self.profile {
            let done = profiling.take(sampling, sampled);
            written.extend(keep_failure(done, sampled));
        }
        written
    }
}

/// Returns the written file, if any. Moves a failure to `sampled`.
fn keep_failure(done: Result<Option<PathBuf>>, sampled: &mut Sampled) -> Option<PathBuf> {
    done.unwrap_or_else(|error| {
        sampled.failure.get_or_insert(Failure { code: Code::Io, error });
        None
    })
}

/// Whether an extra sample may follow: all samples are right, and nothing ends the run.
fn is_sound(sampled: &Sampled) -> bool {
    sampled.agree() == Some(true) && sampled.failure.is_none() && !interrupt::happened()
}

/// Traces the fastest variant.
fn trace(
    file: WholeFile,
    sampling: &Sampling<'_>,
    sampled: &mut Sampled,
    work: &WorkloadFacts,
) -> Result<Option<PathBuf>> {
    let index = sampling.fastest(sampled, &sampling.indices());
    let Some(index) = index.filter(|_| is_sound(sampled)) else { return Ok(None) };
    let name = sampling.name(index);
    let facts = [
        ("variant", name.clone()),
        ("workload_digest", work.digest.clone()),
        ("scenario", work.scenario.clone()),
    ];
    let trace = Trace::default();
    if !sampling.extra(index, Some(&trace), sampled)? {
        return Ok(None);
    }
    Ok(Some(file.write(|mut out| trace.write(&mut out, &name, &facts))?))
}

impl Profiling {
    fn take(self, sampling: &Sampling<'_>, sampled: &mut Sampled) -> Result<Option<PathBuf>> {
        let index = match &self.target {
            ProfileTarget::Cell(index) => Some(*index),
            ProfileTarget::FastestOf(indices) => sampling.fastest(sampled, indices),
        };
        let Some(index) = index.filter(|_| is_sound(sampled)) else { return Ok(None) };
        let Some(profile) = Profile::record(sampling, index, sampled)? else { return Ok(None) };
        let path = self.file.write(|out| profile.write_flame_graph(out))?;
        let name = path.file_name().unwrap_or(path.as_os_str());
        sampled.profile = Some(profile.facts(name.to_string_lossy().into_owned()));
        Ok(Some(path))
    }
}
