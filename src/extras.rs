//! What a run does after its rounds where it was asked to: samples that count for no figure, to
//! be traced or profiled. Their files are tried before the run.

use std::path::{Path, PathBuf};

use anyhow::Result;
use executor::trace::Trace;

use report::WholeFile;
use result::WorkloadFacts;

use crate::{
    cli::RunArgs,
    exit::{Code, Failure, OrExit},
    interrupt,
    plan::PlannedCell,
    profile::{self, Profile, Wanted},
    progress::Progress,
    sampling::{Sampled, Sampling},
    trace,
};

/// What is to be done, and where it goes.
#[derive(Debug)]
pub struct Extras {
    trace: Option<(WholeFile, Option<usize>)>,
    profile: Option<(WholeFile, Wanted)>,
}

impl Extras {
    /// What the arguments ask for of the cells of a run that began at `started_unix_s`.
    ///
    /// # Errors
    /// They name a cell that the run does not have, or a file that cannot be written.
    pub fn new(
        args: &RunArgs,
        cells: &[PlannedCell],
        started_unix_s: u64,
    ) -> Result<Self, Failure> {
        let names: Vec<String> = cells.iter().map(PlannedCell::name).collect();
        let to_trace = trace::wanted(&names, args.trace_variant.as_deref()).or_exit(Code::Usage)?;
        let designs: Vec<&str> = cells.iter().map(|cell| cell.variant.design.name()).collect();
        let wanted = |wanted: &String| profile::wanted(&names, &designs, wanted);
        let to_profile = args.profile.as_ref().map(wanted).transpose().or_exit(Code::Usage)?;
        let at = |path: &Path| WholeFile::at(path, "--trace");
        let trace = args.trace.as_deref().map(at).transpose().or_exit(Code::Io)?;
        let file = |wanted| {
            let path = args.flame_graph.clone().unwrap_or_else(|| {
                let dir = args.out.as_deref().unwrap_or(Path::new(""));
                dir.join(format!("flame-graph-{started_unix_s}.svg"))
            });
            Ok::<_, anyhow::Error>((WholeFile::at(&path, "--flame-graph")?, wanted))
        };
        let profile = to_profile.map(file).transpose().or_exit(Code::Io)?;
        Ok(Self { trace: trace.map(|file| (file, to_trace)), profile })
    }

    /// Whether there is nothing to do.
    pub const fn is_empty(&self) -> bool {
        self.trace.is_none() && self.profile.is_none()
    }

    /// Does it, unless the run ended before its plan or with a wrong result. Returns the files;
    /// what went wrong, and the profile's figures, are in `sampled`.
    pub fn take(
        self,
        sampling: &Sampling<'_>,
        sampled: &mut Sampled,
        work: &WorkloadFacts,
        progress: &Progress,
    ) -> Vec<PathBuf> {
        let mut written = Vec::new();
        if let Some((file, place)) = self.trace {
            let done = trace_one(sampling, place, sampled, file, work, progress);
            written.extend(kept(done, sampled));
        }
        if let Some((file, wanted)) = self.profile {
            let done = profile_one(sampling, &wanted, sampled, file, progress);
            written.extend(kept(done, sampled));
        }
        written
    }
}

fn kept(done: Result<Option<PathBuf>>, sampled: &mut Sampled) -> Option<PathBuf> {
    done.unwrap_or_else(|error| {
        sampled.failure.get_or_insert(error);
        None
    })
}

fn is_sound(sampled: &Sampled) -> bool {
    sampled.agree() == Some(true) && sampled.failure.is_none() && !interrupt::happened()
}

fn trace_one(
    sampling: &Sampling<'_>,
    place: Option<usize>,
    sampled: &mut Sampled,
    file: WholeFile,
    work: &WorkloadFacts,
    progress: &Progress,
) -> Result<Option<PathBuf>> {
    let place = place.or_else(|| sampling.fastest(sampled, &sampling.places()));
    let Some(place) = place.filter(|_| is_sound(sampled)) else { return Ok(None) };
    let name = sampling.name(place);
    let facts = [
        ("variant", name.clone()),
        ("workload_digest", work.digest.clone()),
        ("scenario", work.scenario.clone()),
    ];
    let trace = Trace::default();
    if !sampling.extra(place, "tracing", Some(&trace), sampled, progress)? {
        return Ok(None);
    }
    file.write(|mut out| trace.write(&mut out, &name, &facts)).map(Some)
}

fn profile_one(
    sampling: &Sampling<'_>,
    wanted: &Wanted,
    sampled: &mut Sampled,
    file: WholeFile,
    progress: &Progress,
) -> Result<Option<PathBuf>> {
    let place = match wanted {
        Wanted::Cell(place) => Some(*place),
        Wanted::FastestOf(places) => sampling.fastest(sampled, places),
    };
    let Some(place) = place.filter(|_| is_sound(sampled)) else { return Ok(None) };
    let Some(profile) = Profile::of(sampling, place, sampled, progress)? else { return Ok(None) };
    let path = file.write(|out| profile.write_flame_graph(out))?;
    let name = path.file_name().unwrap_or(path.as_os_str());
    sampled.profile = Some(profile.facts(name.to_string_lossy().into_owned()));
    Ok(Some(path))
}
