//! Three processes of two builds on one workload file, for the gate and for calibrating it.

use std::{
    num::NonZeroUsize,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context, anyhow};
use serde_json::Value;
use spec::{Override, RunSpec, Scenario};
use tempfile::TempDir;
use variant::{CacheMode, StoreKind};
use workload::file;

use super::{
    Arm, Metric,
    settings::{Words, own_words},
    taker::{Rule, Subject, Taken, Taker},
};
use result::{Program, WorkloadFacts, gate::Binary};

use crate::{
    environment::Watch,
    exit::{Code, Failure, OrExit},
    facts,
    plan::{self, Machine, PlannedCell},
    prepare::{Request, Source, on_one_database},
    progress::Progress,
    worker::{self, Driver, Load, Timeouts, confine},
};

/// How much longer than for a sample a build may take to load: its state may have to be built.
const LOAD_FACTOR: u32 = 20;
/// Samples of each variant on which claims are judged.
const JUDGED_SAMPLE_COUNT: usize = 24;

/// The work of all builds.
#[derive(Clone, Debug)]
pub struct WorkInput {
    /// Where the work comes from.
    pub source: Source,
    /// Overrides of how it is run.
    pub how: Vec<Override>,
    /// Overrides beside them of how A runs it, and of how B does.
    pub settings: [Vec<Override>; 2],
    /// Where state databases are kept, if the user said so.
    pub data_dir: Option<PathBuf>,
}

/// How builds are driven.
#[derive(Clone, Copy, Debug)]
pub struct Driving {
    /// Wall time of a slot's samples in an octet at least.
    pub slot_ns: u64,
    /// How long a build may take for a sample before it is stopped.
    pub timeout: Duration,
    /// Seed of the coin that says which build begins; the workload's seed where there is none.
    pub coin_seed: Option<u64>,
}

/// The work of all builds.
pub struct Work {
    file: PathBuf,
    /// Where the file is, unless it is the user's.
    _dir: Option<TempDir>,
    data_dir: Option<PathBuf>,
    /// Known facts of it.
    pub facts: WorkloadFacts,
    /// How it is run, but for the settings of one build.
    pub run: RunSpec,
    /// How A is told to run it, and B, as keys and values.
    words: [Words; 2],
    /// Settings of A alone, and of B: `run.read=get`.
    settings: [Vec<String>; 2],
    /// The scenario that it is of, if any.
    pub scenario: Option<Scenario>,
    /// Names of the variants.
    pub variants: Vec<String>,
    /// By variant: threads that it keeps busy.
    busy_counts: Vec<usize>,
    /// By variant: whether it reads a state that is cold on a disk.
    are_cold: Vec<bool>,
}

impl Work {
    /// Generates or reads the work of `input`, and writes one file for all.
    ///
    /// # Errors
    /// The work is not valid, or threads would take turns on one CPU.
    pub fn of(input: &WorkInput, progress: &Progress) -> Result<Self, Failure> {
        let Request { workload, run, scenario } = Request::of(&input.source, &input.how, progress)?;
        on_one_database(&run, "builds are compared")?;
        let overridden = scenario.as_ref().map(|scenario| scenario.overridden.clone());
        let facts = facts::workload(&workload, overridden.unwrap_or_default());
        let (file, dir) = match &input.source {
            Source::File(file) => (std::path::absolute(file).or_exit(Code::Io)?, None),
            Source::Scenario { .. } => {
                let dir =
                    tempfile::tempdir().context("cannot make a directory").or_exit(Code::Io)?;
                let file = dir.path().join("gate.workload");
                file::write(&file, &workload).or_exit(Code::Io)?;
                (file, Some(dir))
            }
        };
        let data_dir = input.data_dir.as_ref().map(std::path::absolute);
        let data_dir = data_dir.transpose().or_exit(Code::Io)?;
        let machine = Machine::this();
        let cells = plan::cells(&run, &machine);
        let parallel = cells.iter().find(|cell| cell.variant.thread_count > 1);
        if let Some(cell) = parallel.filter(|_| machine.core_count == NonZeroUsize::MIN) {
            let error = anyhow!(
                "{}: there is one CPU, and threads that take turns on it say nothing of a parallel \
                 run; --threads 1, or allow more CPUs",
                cell.name()
            );
            return Err(error).or_exit(Code::Usage);
        }
        let variants: Vec<_> = cells.iter().map(PlannedCell::name).collect();
        let words_of = |settings: &[Override]| own_words(&run, settings, &variants, &machine);
        let [of_base, of_new] = &input.settings;
        let words = [words_of(of_base)?, words_of(of_new)?];
        let said = |set: &Override| format!("{}={}", set.key, set.value);
        let settings = input.settings.each_ref().map(|all| all.iter().map(said).collect());
        let busy = |cell: &PlannedCell| cell.variant.thread_count + cell.variant.io_thread_count;
        let busy_counts = cells.iter().map(busy).collect();
        let is_cold =
            |cell: &PlannedCell| run.cache == CacheMode::Cold && cell.store != StoreKind::Memory;
        let are_cold = cells.iter().map(is_cold).collect();
        Ok(Self {
            file,
            _dir: dir,
            data_dir,
            facts,
            run,
            words,
            settings,
            scenario,
            variants,
            busy_counts,
            are_cold,
        })
    }

    /// The judged metrics of each variant: `metrics`, or, where the user named none, its time; on a
    /// cold disk, whose noise may leave that open, its reads too.
    pub fn subjects(&self, metrics: Option<&[Metric]>) -> Vec<Subject> {
        let subject = |(variant, is_cold): (&String, &bool)| {
            let (metrics, rule) = match (metrics, is_cold) {
                (Some(metrics), _) => (metrics.to_vec(), Rule::All),
                (None, true) => (Metric::ALL.to_vec(), Rule::Counters),
                (None, false) => (vec![Metric::Wall], Rule::All),
            };
            Subject { variant: variant.clone(), metrics, rule }
        };
        self.variants.iter().zip(&self.are_cold).map(subject).collect()
    }
}

/// Processes of A, B and again A.
pub struct Trio<'a> {
    work: &'a Work,
    binaries: [PathBuf; 3],
    timeouts: Timeouts,
    /// By arm.
    drivers: [Driver; 3],
    /// How often all three were started.
    start_count: usize,
    /// How long it took at first.
    start_took: Duration,
    /// Whether nothing was asked of them.
    are_new: bool,
    /// The named files as they were at first: scripts may start another.
    stamps: [Stamp; 3],
    /// Hashes of the programs that answered at first, where they tell.
    hashes: [Option<String>; 3],
    watch: Watch,
    /// The CPUs to share out.
    cpus: Vec<usize>,
    /// How many of them the processes may use now.
    cpu_count: usize,
    /// Why processes are not confined to the same CPUs.
    unconfined: Option<String>,
}

/// The mark by which a file is still the same one.
type Stamp = Option<(u64, u64, SystemTime, u64)>;

fn stamp(path: &Path) -> Stamp {
    let facts = path.metadata().ok()?;
    Some((facts.dev(), facts.ino(), facts.modified().ok()?, facts.len()))
}

impl<'a> Trio<'a> {
    /// Starts all three and lets them load `work`, one after the other: the first builds the
    /// state where there is none.
    pub fn start(
        base: &Path,
        new: &Path,
        timeout: Duration,
        work: &'a Work,
        progress: &Progress,
    ) -> Result<Self, Failure> {
        let timeouts = Timeouts { load: timeout * LOAD_FACTOR, sample: timeout };
        let binaries = [base, new, base].map(Path::to_path_buf);
        let stamps = binaries.each_ref().map(|path| stamp(path));
        let stage = progress.stage("starting the builds", 0);
        let begun = Instant::now();
        let drivers = all_started(&binaries, timeouts, work, 0)?;
        let start_took = begun.elapsed();
        stage.finish();
        let hashes = drivers.each_ref().map(|driver| driver.who().binary_hash.clone());
        if hashes[Arm::Base as usize] != hashes[Arm::Null as usize] {
            replaced(base)?;
        }
        let (cpus, unconfined) = match confine::allowed() {
            Ok(cpus) => (cpus, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        Ok(Self {
            work,
            binaries,
            timeouts,
            drivers,
            start_count: 1,
            start_took,
            are_new: true,
            stamps,
            hashes,
            watch: Watch::default(),
            cpu_count: cpus.len(),
            cpus,
            unconfined,
        })
    }

    /// How long starting all three took.
    pub const fn start_took(&self) -> Duration {
        self.start_took
    }

    /// The fault.
    pub fn warning(&self) -> Option<String> {
        let why = self.unconfined.as_ref()?;
        Some(format!(
            "the processes could not be confined to the same CPUs ({why}): where the CPUs are not \
             equally fast, expect `untrusted`"
        ))
    }

    /// Who they are, A and B.
    pub fn binaries(&self) -> Vec<Binary> {
        let binary = |arm: Arm| {
            let driver = &self.drivers[arm as usize];
            let who = driver.who();
            Binary {
                arm: arm.letter(),
                path: driver.name().to_owned(),
                program: Program {
                    version: who.program.clone(),
                    commit: who.commit.clone(),
                    features: who.features.clone(),
                    binary_hash: who.binary_hash.clone(),
                    patched: who.patched.clone(),
                    generator_version: who.generator,
                },
                client: None,
                settings: self.work.settings[arm.side()].clone(),
                slow_read_ns: who.slow_read_ns,
                reads_one_twice: who.reads_one_twice,
            }
        };
        [Arm::Base, Arm::New].map(binary).into()
    }

    /// Ends all three, and lets a process of B alone sample each variant, turn by turn, and judge
    /// claims on that. Gives the disturbances too.
    pub fn judge(mut self, expects: Vec<String>) -> Result<(Value, Vec<String>), Failure> {
        self.end()?;
        let binary = &self.binaries[Arm::New as usize];
        let mut new = started(binary, self.timeouts, self.work, Arm::New)?;
        self.is_same(Arm::New, &new)?;
        self.watch.resume(self.cpus.len().max(1));
        for _ in 0..JUDGED_SAMPLE_COUNT {
            for variant in &self.work.variants {
                new.sample(variant)?;
            }
        }
        self.watch.pause();
        let judged = new.judge(expects)?;
        new.end()?;
        Ok((judged, self.watch.disturbances()))
    }

    /// Ends all three.
    pub fn end(&mut self) -> Result<(), Failure> {
        self.drivers.iter_mut().try_for_each(Driver::end)
    }

    /// That the files still are those that were started first.
    fn are_same(&self) -> Result<(), Failure> {
        let mut files = self.binaries.iter().zip(&self.stamps);
        files.find(|(path, was)| stamp(path) != **was).map_or(Ok(()), |(path, _)| replaced(path))
    }

    /// That a process is of the program that was started first: what a script starts may have been
    /// built again.
    fn is_same(&self, arm: Arm, driver: &Driver) -> Result<(), Failure> {
        match driver.who().binary_hash == self.hashes[arm as usize] {
            true => Ok(()),
            false => replaced(&self.binaries[arm as usize]),
        }
    }
}

fn replaced(path: &Path) -> Result<(), Failure> {
    let error = anyhow!(
        "{} was replaced while it was measured: what was measured is of two builds; build \
         elsewhere, or compare copies",
        path.display()
    );
    Err(error).or_exit(Code::Io)
}

/// Starts all three, the one at `first` before the others: what comes first may get better
/// memory.
fn all_started(
    binaries: &[PathBuf; 3],
    timeouts: Timeouts,
    work: &Work,
    first: usize,
) -> Result<[Driver; 3], Failure> {
    let mut drivers = Vec::with_capacity(binaries.len());
    for place in 0..binaries.len() {
        let arm = Arm::ALL[(first + place) % binaries.len()];
        drivers.push(started(&binaries[arm as usize], timeouts, work, arm)?);
    }
    drivers.rotate_right(first % binaries.len());
    Ok(drivers.try_into().unwrap_or_else(|_| panic!("as many as there are binaries")))
}

fn started(binary: &Path, timeouts: Timeouts, work: &Work, arm: Arm) -> Result<Driver, Failure> {
    let mut driver = Driver::start(binary, timeouts)?;
    let loaded = driver.load(Load {
        protocol: driver.who().protocol,
        workload: work.file.clone(),
        data_dir: work.data_dir.clone(),
        run: work.words[arm.side()].clone(),
    })?;
    let name = binary.display();
    if loaded.digest != work.facts.digest {
        let error = anyhow!(
            "{name} reads the workload file as {}, and it is {}: it would do other work",
            loaded.digest,
            work.facts.digest
        );
        return Err(error).or_exit(Code::Disagree);
    }
    if let Some(missing) = work.variants.iter().find(|variant| !loaded.variants.contains(variant)) {
        let error = anyhow!(
            "{name} has no variant {missing}: it has {}; name designs and threads that both have",
            loaded.variants.join(", ")
        );
        return Err(error).or_exit(Code::Usage);
    }
    Ok(driver)
}

impl Taker for Trio<'_> {
    fn take(&mut self, arm: Arm, variant: &str) -> Result<Taken, Failure> {
        self.are_new = false;
        let sampled = self.drivers[arm as usize].sample(variant)?;
        let worker::Sampled { wall_ns, cpu_ns, counters, facts, .. } = sampled;
        // Keys of a sample in a result: a build that does not know one leaves it out.
        let count = |key: &str| facts[key].as_u64();
        let (blocks, requests) = (count("blocks_read"), count("read_syscalls"));
        let bytes = count("device_read_bytes");
        Ok(Taken { wall_ns, cpu_ns, blocks, bytes, requests, counters })
    }

    fn renew(&mut self) -> Result<Duration, Failure> {
        if self.are_new {
            return Ok(self.start_took);
        }
        let begun = Instant::now();
        // One after the other: a state on disk is used by one process at a time, and what two
        // generations have in memory would not always fit.
        self.end()?;
        self.are_same()?;
        self.drivers = all_started(&self.binaries, self.timeouts, self.work, self.start_count)?;
        Arm::ALL.into_iter().zip(&self.drivers).try_for_each(|(arm, it)| self.is_same(arm, it))?;
        self.start_count += 1;
        self.are_new = true;
        Ok(begun.elapsed())
    }

    fn confine(&mut self, variant: &str, number: usize) -> Option<Vec<usize>> {
        if self.unconfined.is_some() {
            return None;
        }
        let place = self.work.variants.iter().position(|name| name == variant);
        let busy_count = place.map_or(self.cpus.len(), |place| self.work.busy_counts[place]);
        let turn = confine::turn(&self.cpus, busy_count, number);
        let to = |cpus: &[usize]| self.drivers.iter().try_for_each(|driver| driver.confine(cpus));
        match to(turn.as_ref().unwrap_or(&self.cpus)) {
            Ok(()) => {
                self.cpu_count = turn.as_ref().unwrap_or(&self.cpus).len();
                turn
            }
            Err(error) => {
                // All or none: confined by halves they would not have the same.
                drop(to(&self.cpus));
                self.unconfined = Some(error.to_string());
                None
            }
        }
    }

    fn watch(&mut self) {
        self.watch.resume(self.cpu_count.max(1));
    }

    fn pause_watch(&mut self) {
        self.watch.pause();
    }

    fn disturbances(&mut self) -> Vec<String> {
        std::mem::take(&mut self.watch).disturbances()
    }
}

/// This program's own file.
///
/// # Errors
/// The system does not tell.
pub fn this_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().context("cannot tell where this program is").or_exit(Code::Io)
}
