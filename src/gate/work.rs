//! The work of a gate of builds: the workload in the forms that the processes read, each build's
//! settings, and the builds' common variants. `judge` and `stress gate calibrate` prepare it;
//! `builds` passes it to the processes.

use std::{
    cell::RefCell,
    fs::{self, File},
    num::NonZeroUsize,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use anyhow::Context;
use spec::{Override, RunSpec, Scenario};
use variant::{CacheMode, WholeRows};
use workload::file;

use super::{
    Metric,
    sampler::{Rule, Subject},
    settings::{BothSettings, BuildSettings, both_settings, equal_settings, shortened},
};
use result::{Counters, WorkloadFacts};

use crate::{
    figures::{counters, facts},
    machine::scratch::Scratch,
    run::{
        plan::{self, Machine, PlannedCell},
        prepare::{self, FilledWork, Request, Source, require_one_database},
    },
    terminal::{Code, Failure, Progress, WithExitCode, exit::fail},
    worker::Loaded,
};

/// The input for the work of a gate.
#[derive(Clone, Debug)]
pub struct GateWorkInput {
    /// The source of the workload.
    pub source: Source,
    /// Overrides of keys of the run, for both builds.
    pub run_overrides: Vec<Override>,
    /// Further overrides for A alone, and for B alone.
    pub settings: [Vec<Override>; 2],
    /// The directory of state databases, if the user names one.
    pub data_dir: Option<PathBuf>,
}

/// A variant that both sides sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedVariant {
    pub name: String,
    /// Number of threads that the variant keeps busy; `None` if its executor does not report it.
    pub busy_count: Option<usize>,
    /// Whether the variant reads a cold state on a disk.
    pub is_cold: bool,
}

impl SharedVariant {
    /// Returns the variant with its judged metrics: `metrics` if the user names some. Otherwise it
    /// is the wall time alone or, on a cold disk, all metrics: noise may leave times open there.
    fn subject(&self, metrics: Option<&[Metric]>) -> Subject {
        let (metrics, rule) = match (metrics, self.is_cold) {
            (Some(metrics), _) => (metrics.to_vec(), Rule::All),
            (None, true) => (Metric::ALL.to_vec(), Rule::Counts),
            (None, false) => (vec![Metric::Wall], Rule::All),
        };
        Subject { variant: self.name.clone(), metrics, rule }
    }
}

/// Returns each variant with its judged metrics.
pub fn subjects(variants: &[SharedVariant], metrics: Option<&[Metric]>) -> Vec<Subject> {
    variants.iter().map(|variant| variant.subject(metrics)).collect()
}

/// The prepared work of all builds.
pub struct GateWork {
    /// The workload file.
    pub file: PathBuf,
    /// Scratch directories, kept until drop: of the workload file or of a link to the user's file,
    /// and of a link to `data_dir`.
    _dirs: [Option<Scratch>; 2],
    /// The path of the workload's JSON form, once a process has asked for it.
    json: RefCell<Option<(Scratch, PathBuf)>>,
    /// The directory of state databases, if the user names one.
    pub data_dir: Option<PathBuf>,
    pub facts: WorkloadFacts,
    /// Gas and digests of a correct sample.
    pub expected: Counters,
    /// Settings of the run, without those that the user gave for A or B alone.
    pub run: RunSpec,
    /// Rows of whole blocks that claims on whole blocks need, beside the rows of the run. It is
    /// [`WholeRows::Nothing`] if the run itself names its whole rows, or if the work has no whole
    /// blocks.
    pub whole_rows: WholeRows,
    /// The settings of A, and of B.
    pub builds: [BuildSettings; 2],
    /// The settings that the user gave for A or B alone, if they change nothing.
    without_effect: Option<String>,
    /// The scenario of the work; `None` for a workload file.
    pub scenario: Option<Scenario>,
    /// The variants of the run.
    pub variants: Vec<SharedVariant>,
    /// The first variant of several threads, if this machine has only one CPU.
    crowded_variant: Option<String>,
}

impl GateWork {
    /// Generates or reads the work of `input`, and writes one workload file for all builds.
    ///
    /// # Errors
    /// The work or a setting is not valid, or a file cannot be written.
    pub fn prepare(input: &GateWorkInput, progress: &Progress) -> Result<Self, Failure> {
        let machine = Machine::this();
        // Settings are checked first, as making the work may take long.
        let run = Request::run_of(&input.source, &input.run_overrides)?;
        let cells = plan::cells(&run, &machine);
        let BothSettings { builds, without_effect } =
            both_settings(&run, &input.run_overrides, &input.settings, &cells, &machine)?;
        let Request { work, run, scenario } =
            Request::generate_or_read(&input.source, &input.run_overrides, progress)?;
        let FilledWork { workload, fill } = work;
        require_one_database(&run, "builds are compared")?;
        let (whole, _) = prepare::with_whole(run.clone(), WholeRows::One, &workload);
        let whole_rows = match run.lets_verb_choose_whole() {
            true => whole.whole.rows.unwrap_or(WholeRows::Nothing),
            false => WholeRows::Nothing,
        };
        let overridden = scenario.as_ref().map(|scenario| scenario.overridden.clone());
        let facts = facts::workload(&workload, overridden.unwrap_or_default());
        let facts = WorkloadFacts { fill: Some(fill), ..facts };
        let (file, dir) = match &input.source {
            Source::File(file) => as_text(file)?,
            Source::Scenario { .. } => {
                let dir = temporary()?;
                let file = dir.path().join("gate.workload");
                let bytes = file::encode(&workload).with_exit_code(Code::Io)?;
                let written = fs::write(&file, bytes).context("cannot write the workload");
                written.with_exit_code(Code::Io)?;
                (file, Some(dir))
            }
        };
        let data_dir = input.data_dir.as_deref().map(as_text).transpose()?;
        let (data_dir, link_dir) = data_dir.unzip();
        let parallel = cells.iter().find(|cell| cell.variant.thread_count > 1);
        let parallel = parallel.filter(|_| machine.core_count == NonZeroUsize::MIN);
        let variants = cells.iter().map(|cell| SharedVariant {
            name: cell.name(),
            busy_count: Some(cell.busy_count()),
            is_cold: run.cache == CacheMode::Cold && cell.store.has_device(),
        });
        Ok(Self {
            file,
            _dirs: [dir, link_dir.flatten()],
            json: RefCell::default(),
            data_dir,
            facts,
            expected: counters::expected(&workload),
            variants: variants.collect(),
            crowded_variant: parallel.map(PlannedCell::name),
            run,
            whole_rows,
            builds,
            without_effect,
            scenario,
        })
    }

    /// Returns the path of the workload's JSON form. The first call writes it.
    ///
    /// # Errors
    /// The JSON form cannot be written.
    pub fn json(&self) -> Result<PathBuf, Failure> {
        if let Some((_, path)) = &*self.json.borrow() {
            return Ok(path.clone());
        }
        let dir = temporary()?;
        let path = dir.path().join("gate.json");
        // No reference run checks the file here: it was checked when the work was prepared.
        let workload = file::read(&self.file).with_exit_code(Code::Io)?;
        let written = File::create(&path).and_then(|out| prepare::write_json(&workload, out));
        written
            .with_context(|| format!("cannot write the workload as JSON to {}", path.display()))
            .with_exit_code(Code::Io)?;
        *self.json.borrow_mut() = Some((dir, path.clone()));
        Ok(path)
    }

    /// Checks that the gate compares different things: `base` and `new` are two programs, or the
    /// settings of A or B alone have an effect.
    ///
    /// # Errors
    /// `base` and `new` are one program, and the given settings change nothing.
    pub fn check_difference(&self, base: &Path, new: &Path) -> Result<(), Failure> {
        let is_one = base == new || fs::canonicalize(base).ok() == fs::canonicalize(new).ok();
        let Some(settings) = self.without_effect.as_ref().filter(|_| is_one) else { return Ok(()) };
        let why = equal_settings(&self.builds).unwrap_or_else(|| {
            format!(
                "that changes nothing for {}\n   = help: A and B would be one run; name a store, a \
                 design or a cache that\n           it is about, or compare two builds (--against \
                 BINARY)",
                shortened(self.variants.iter().map(|variant| &variant.name))
            )
        });
        fail!(Code::Usage, "{settings}: {why}")
    }

    /// Returns the cache state at the start of a sample. `None` if no store has a device, or if a
    /// setting of A or B alone names it.
    pub fn cache(&self) -> Option<CacheMode> {
        let mut settings = self.builds.iter().flat_map(|build| &build.effective);
        let is_own = settings.any(|set| set.key == "run.cache");
        let has_device = self.run.stores.iter().any(|store| store.has_device());
        (has_device && !is_own).then_some(self.run.cache)
    }

    /// Checks that the variants of the run can be compared, and that the build `name` has all of
    /// them.
    ///
    /// # Errors
    /// The build lacks a variant, or threads would take turns on one CPU.
    pub fn check_variants(&self, name: &Path, loaded: &Loaded) -> Result<(), Failure> {
        if let Some(variant) = &self.crowded_variant {
            fail!(
                Code::Usage,
                "{variant}: there is one CPU, on which its threads take turns; take --threads 1, \
                 or allow more CPUs (taskset, cpuset)"
            );
        }
        let mut variants = self.variants.iter().map(|variant| &variant.name);
        if let Some(missing) = variants.find(|variant| !loaded.variants.contains(variant)) {
            fail!(
                Code::Usage,
                "{} has no variant {missing}\n  --> it has {}\n   = help: name designs and threads \
                 that both builds have",
                name.display(),
                shortened(&loaded.variants)
            );
        }
        Ok(())
    }
}

/// Returns the variants that A and B both name, in the order of A, for executors that are not of
/// this project.
///
/// # Errors
/// A and B have no variant in common.
pub fn in_both(base: &Loaded, new: &Loaded) -> Result<Vec<SharedVariant>, Failure> {
    let both = base.variants.iter().enumerate().filter(|(_, name)| new.variants.contains(name));
    let shared: Vec<_> = both
        .map(|(index, name)| SharedVariant {
            name: name.clone(),
            busy_count: base.thread_counts.get(index).copied(),
            is_cold: false,
        })
        .collect();
    if shared.is_empty() {
        fail!(
            Code::Usage,
            "A has the variants {}, and B has {}; compare an executor with one that names a \
             variant alike, such as another build of it",
            base.variants.join(", "),
            new.variants.join(", ")
        );
    }
    Ok(shared)
}

/// Returns `path` as an absolute path that a message to a process can hold. If `path` is not valid
/// UTF-8, returns a link to it in a scratch directory.
fn as_text(path: &Path) -> Result<(PathBuf, Option<Scratch>), Failure> {
    let path = std::path::absolute(path).with_exit_code(Code::Io)?;
    if path.to_str().is_some() {
        return Ok((path, None));
    }
    let dir = temporary()?;
    let link = dir.path().join("link");
    if !path.exists() {
        // Only a data directory may not exist yet: a workload file was read before. A process could
        // not create the directory through the link.
        fs::create_dir_all(&path)
            .context("cannot make the data directory")
            .with_exit_code(Code::Io)?;
    }
    symlink(&path, &link).context("cannot make a link").with_exit_code(Code::Io)?;
    Ok((link, Some(dir)))
}

/// Makes a directory that is removed after the gate.
///
/// # Errors
/// The directory cannot be made.
pub fn temporary() -> Result<Scratch, Failure> {
    Scratch::below(&std::env::temp_dir(), ".stress-gate-", |_| ()).with_exit_code(Code::Io)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::ProgressForm;

    fn loaded(variants: &[&str], thread_counts: &[usize]) -> Loaded {
        let variants = variants.iter().map(|name| (*name).to_owned()).collect();
        Loaded { digest: String::new(), variants, thread_counts: thread_counts.to_vec() }
    }

    #[test]
    fn a_setting_that_is_not_valid_is_refused_before_the_work_is_made() {
        let set =
            |value: &str| Override::new("run.read", value, format!("--b-set run.read={value}"));
        let input = |value: &str| GateWorkInput {
            source: Source::File("no/such.workload".into()),
            run_overrides: Vec::new(),
            settings: [Vec::new(), vec![set(value)]],
            data_dir: None,
        };
        let refused = |value: &str| {
            let made = GateWork::prepare(&input(value), &Progress::new(ProgressForm::Nothing));
            made.err().map(|failure| failure.to_string()).unwrap_or_default()
        };
        let error = refused("gte");
        assert!(error.contains("--b-set run.read=gte") && error.contains("get"), "{error}");
        assert!(refused("get").contains("no/such.workload"), "then the work is looked for");
    }

    #[test]
    fn executors_share_the_variants_that_both_name_with_the_threads_that_a_tells() {
        let shared = |name: &str, busy_count| SharedVariant {
            name: name.to_owned(),
            busy_count,
            is_cold: false,
        };
        let base = loaded(&["x@1", "y@2", "z@3"], &[1, 2]);
        let both = in_both(&base, &loaded(&["z@3", "w", "y@2"], &[])).unwrap();
        assert_eq!(both, [shared("y@2", Some(2)), shared("z@3", None)]);
        let error = in_both(&base, &loaded(&["w"], &[])).unwrap_err().to_string();
        assert!(error.contains("x@1, y@2, z@3") && error.contains("B has w"), "{error}");
    }
}
