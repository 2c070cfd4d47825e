//! Drives three processes of two builds on one workload file: A, B, and N, a second process of A.
//! `judge` and `stress gate calibrate` start them; `cell` takes their samples through [`Sampler`].

use std::{
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use super::{
    Arm,
    sampler::{Sample, Sampler},
    work::{GateWork, SharedVariant, in_both},
};
use anyhow::{Context, anyhow, bail};
use result::{Program, gate::Binary};
use serde_json::Value;
use spec::Expect;
use variant::WholeRows;

use crate::{
    figures::counters,
    machine::environment::Watch,
    terminal::{Code, Failure, Progress, WithExitCode, exit::fail},
    worker::{Driver, Load, Loaded, Sampled, Timeouts, WorkloadForm, confine, expect_lines},
};

/// Maximal time of loading the work over that of a sample: a state may be built while loading.
const LOAD_FACTOR: u32 = 20;
/// Number of samples of each variant by which claims are judged.
const JUDGED_SAMPLE_COUNT: usize = 24;

/// The processes of A, B and N.
pub struct BuildTrio<'a> {
    work: &'a GateWork,
    binaries: [PathBuf; 3],
    timeouts: Timeouts,
    /// Drivers, by arm.
    drivers: [Driver; 3],
    /// Variants that all three processes sample.
    variants: Vec<SharedVariant>,
    /// Number of times that all three processes were started.
    start_count: usize,
    /// Duration of the first start of all three processes.
    start_took: Duration,
    /// Whether the processes have taken no sample yet.
    are_new: bool,
    /// Stamps of the files that the user named, at the first start.
    stamps: [Stamp; 3],
    /// Hashes that the programs reported at the first start. A named file may be a script: its
    /// stamp stays if the program that it starts is replaced.
    hashes: [Option<String>; 3],
    watch: Watch,
    /// The CPUs that the processes may be confined to.
    cpus: Vec<usize>,
    /// Number of CPUs that the processes may use now.
    cpu_count: usize,
    /// Reason for which the processes cannot be confined to the same CPUs.
    unconfined: Option<String>,
}

/// Device, inode, time of modification and length of a file: they change if the file is replaced.
type Stamp = Option<(u64, u64, SystemTime, u64)>;

fn stamp(path: &Path) -> Stamp {
    let facts = path.metadata().ok()?;
    Some((facts.dev(), facts.ino(), facts.modified().ok()?, facts.len()))
}

impl<'a> BuildTrio<'a> {
    /// Starts the three processes, which load `work` one after the other. The first process builds
    /// the states that do not exist.
    pub fn start(
        base: &Path,
        new: &Path,
        timeout: Duration,
        work: &'a GateWork,
        progress: &Progress,
    ) -> Result<Self, Failure> {
        let timeouts = Timeouts { load: timeout * LOAD_FACTOR, sample: timeout };
        let binaries = [base, new, base].map(Path::to_path_buf);
        let stamps = binaries.each_ref().map(|path| stamp(path));
        let stage = progress.stage("starting the builds", 0);
        let begun = Instant::now();
        let started = start_all(&binaries, timeouts, work, 0)?;
        let start_took = begun.elapsed();
        stage.finish();
        let profiles = [Arm::Base, Arm::New]
            .map(|arm| started[arm as usize].driver.facts().build_profile.as_deref());
        same_profile(profiles).with_exit_code(Code::Usage)?;
        let variants = variants(work, &binaries, &started)?;
        let drivers = started.map(|started| started.driver);
        let hashes = drivers.each_ref().map(|driver| driver.facts().binary_hash.clone());
        if hashes[Arm::Base as usize] != hashes[Arm::Null as usize] {
            return Err(replaced(base));
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
            variants,
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

    /// Returns the variants that all three processes sample.
    pub fn variants(&self) -> &[SharedVariant] {
        &self.variants
    }

    /// Returns the name of B as an executor; `None` if B is of this project.
    pub fn executor(&self) -> Option<&str> {
        self.drivers[Arm::New as usize].facts().executor.as_deref()
    }

    /// Returns a warning if the processes could not be confined, and so use all CPUs.
    pub fn warning(&self) -> Option<String> {
        let why = self.unconfined.as_ref()?;
        Some(format!(
            "the processes could not be confined to the same CPUs ({why}): where the CPUs are not \
             equally fast, expect `untrusted`"
        ))
    }

    /// Returns the programs of A and B.
    pub fn binaries(&self) -> Vec<Binary> {
        [Arm::Base, Arm::New].map(|arm| self.binary(arm)).into()
    }

    fn binary(&self, arm: Arm) -> Binary {
        let driver = &self.drivers[arm as usize];
        let facts = driver.facts();
        let settings = &self.work.builds[arm.side()];
        Binary {
            arm: arm.letter(),
            path: driver.name().to_owned(),
            program: Program {
                version: facts.program.clone(),
                commit: facts.commit.clone(),
                features: facts.features.clone(),
                binary_hash: facts.binary_hash.clone(),
                build_profile: facts.build_profile.clone(),
                patched: facts.patched.clone(),
                generator_version: facts.generator,
            },
            client: facts.executor.clone(),
            settings: settings.own.clone(),
            effective_settings: settings.effective.clone(),
            slow_read_ns: facts.slow_read_ns,
            reads_one_twice: facts.reads_one_twice,
        }
    }

    fn confine_all(&self, cpus: &[usize]) -> io::Result<()> {
        self.drivers.iter().try_for_each(|driver| driver.confine(cpus))
    }

    /// Ends the three processes. A new process of B then samples each variant in turn, and judges
    /// the claims. It also samples whole blocks if a claim is on them. Returns the judged claims,
    /// and the disturbances meanwhile.
    pub fn judge(mut self, expects: &[Expect]) -> Result<(Value, Vec<String>), Failure> {
        self.end()?;
        let binary = &self.binaries[Arm::New as usize];
        let is_on_whole = expects.iter().any(Expect::is_on_whole_blocks);
        let rows = if is_on_whole { self.work.whole_rows } else { WholeRows::Nothing };
        let Started { driver: mut new, loaded } =
            start_process(binary, self.timeouts, self.work, Arm::New, rows)?;
        self.check_program(Arm::New, &new)?;
        self.watch.resume(self.cpus.len().max(1));
        for _ in 0..JUDGED_SAMPLE_COUNT {
            for variant in &loaded.variants {
                checked_sample(&mut new, variant, self.work)?;
            }
        }
        self.watch.pause();
        let judged = new.judge(expects.iter().map(expect_lines).collect())?;
        new.end()?;
        Ok((judged, self.watch.disturbances()))
    }

    /// Ends the three processes.
    pub fn end(&mut self) -> Result<(), Failure> {
        self.drivers.iter_mut().try_for_each(Driver::end)
    }

    /// Checks that the files are the same as at the first start.
    fn check_files(&self) -> Result<(), Failure> {
        let mut files = self.binaries.iter().zip(&self.stamps);
        match files.find(|(path, first)| stamp(path) != **first) {
            Some((path, _)) => Err(replaced(path)),
            None => Ok(()),
        }
    }

    /// Checks that a process runs the same program as at the first start.
    fn check_program(&self, arm: Arm, driver: &Driver) -> Result<(), Failure> {
        match driver.facts().binary_hash == self.hashes[arm as usize] {
            true => Ok(()),
            false => Err(replaced(&self.binaries[arm as usize])),
        }
    }
}

/// Makes the failure for a build whose file has changed.
fn replaced(path: &Path) -> Failure {
    let error = anyhow!(
        "{} was replaced while it was measured, so its samples are of two builds; build \
         elsewhere, or compare copies",
        path.display()
    );
    Failure { code: Code::Io, error }
}

/// A process that has loaded the work.
struct Started {
    driver: Driver,
    loaded: Loaded,
}

/// Starts a process of each arm. `first` rotates the order of the starts, as the process that
/// starts first may get better memory. Returns the processes by arm.
fn start_all(
    binaries: &[PathBuf; 3],
    timeouts: Timeouts,
    work: &GateWork,
    first: usize,
) -> Result<[Started; 3], Failure> {
    let mut all = Vec::with_capacity(binaries.len());
    for index in 0..binaries.len() {
        let arm = Arm::ALL[(first + index) % binaries.len()];
        all.push(start_process(&binaries[arm as usize], timeouts, work, arm, WholeRows::Nothing)?);
    }
    all.rotate_right(first % binaries.len());
    Ok(all.try_into().unwrap_or_else(|_| panic!("as many as there are binaries")))
}

/// Starts a process of an arm, which loads the work. `rows`: rows of whole blocks beside the rows
/// of the run.
fn start_process(
    binary: &Path,
    timeouts: Timeouts,
    work: &GateWork,
    arm: Arm,
    rows: WholeRows,
) -> Result<Started, Failure> {
    let mut driver = Driver::start(binary, timeouts)?;
    let facts = driver.facts();
    let settings = &work.builds[arm.side()];
    let mut run = if facts.executor.is_some() { &settings.given } else { &settings.run }.clone();
    if rows != WholeRows::Nothing {
        run.push(("run.whole".to_owned(), rows.name().to_owned()));
    }
    let load = Load {
        protocol: facts.protocol,
        workload: work.file.clone(),
        workload_json: match facts.reads {
            WorkloadForm::File => None,
            WorkloadForm::Json => Some(work.json()?),
        },
        data_dir: work.data_dir.clone(),
        run,
    };
    let loaded = driver.load(load)?;
    if loaded.digest != work.facts.digest {
        fail!(
            Code::Disagree,
            "{} reads the workload as {}, and it is {}: it would do other work; take a build that \
             reads this file",
            binary.display(),
            loaded.digest,
            work.facts.digest
        );
    }
    Ok(Started { driver, loaded })
}

/// Refuses two builds with different profiles: their difference would come from the compiler.
///
/// # Errors
/// Both profiles are known, and they differ.
pub(super) fn same_profile(profiles: [Option<&str>; 2]) -> anyhow::Result<()> {
    if let [Some(base), Some(new)] = profiles
        && base != new
    {
        bail!(
            "A is built with: {base}; B with: {new}. A gate compares builds of one profile: build \
             both by `cargo build --release`, or both with `--config .cargo/measured.toml`"
        );
    }
    Ok(())
}

/// Returns the variants that all three processes sample. They are those of the run, or those that
/// both sides name if a build is not of this project.
fn variants(
    work: &GateWork,
    binaries: &[PathBuf; 3],
    started: &[Started; 3],
) -> Result<Vec<SharedVariant>, Failure> {
    if started.iter().any(|started| started.driver.facts().executor.is_some()) {
        let [base, new] = [Arm::Base, Arm::New].map(|arm| &started[arm as usize].loaded);
        return in_both(base, new);
    }
    for (binary, started) in binaries.iter().zip(started) {
        work.check_variants(binary, &started.loaded)?;
    }
    Ok(work.variants.clone())
}

/// Takes a sample, and compares its gas and digests with those of the workload. A process of this
/// project has compared them itself, but another executor may not have.
fn checked_sample(driver: &mut Driver, variant: &str, work: &GateWork) -> Result<Sampled, Failure> {
    let sampled = driver.sample(variant)?;
    let wrong = counters::wrong(&work.expected, &sampled.counters);
    if !wrong.is_empty() {
        fail!(
            Code::Disagree,
            "{}: its sample of {variant} is wrong; expected → got: {}",
            driver.name(),
            wrong.join("; ")
        );
    }
    Ok(sampled)
}

impl Sampler for BuildTrio<'_> {
    fn sample(&mut self, arm: Arm, variant: &str) -> Result<Sample, Failure> {
        self.are_new = false;
        let driver = &mut self.drivers[arm as usize];
        let Sampled { wall_ns, cpu_ns, counters, facts, .. } =
            checked_sample(driver, variant, self.work)?;
        Ok(Sample {
            wall_ns,
            cpu_ns,
            // The keys are those of a sample in a result. An older build may lack one.
            blocks: facts["blocks_read"].as_u64(),
            bytes: facts["device_read_bytes"].as_u64(),
            requests: facts["read_syscalls"].as_u64(),
            allocations: facts["allocations"].as_u64(),
            instructions: facts["instructions"].as_u64(),
            counters,
        })
    }

    fn restart(&mut self) -> Result<Duration, Failure> {
        if self.are_new {
            return Ok(self.start_took);
        }
        let begun = Instant::now();
        // The old processes end before the new processes start. A state on disk is used by one
        // process at a time, and both generations may not fit in memory.
        self.end()?;
        self.check_files()?;
        let started = start_all(&self.binaries, self.timeouts, self.work, self.start_count)?;
        self.drivers = started.map(|started| started.driver);
        Arm::ALL
            .into_iter()
            .zip(&self.drivers)
            .try_for_each(|(arm, driver)| self.check_program(arm, driver))?;
        self.start_count += 1;
        self.are_new = true;
        Ok(begun.elapsed())
    }

    fn confine(&mut self, variant: &str, number: usize) -> Option<Vec<usize>> {
        if self.unconfined.is_some() {
            return None;
        }
        let shared = self.variants.iter().find(|shared| shared.name == variant);
        let busy_count = shared.and_then(|shared| shared.busy_count);
        let busy_count = busy_count.unwrap_or(self.cpus.len());
        let turn = confine::turn(&self.cpus, busy_count, number);
        let cpus = turn.as_ref().unwrap_or(&self.cpus);
        match self.confine_all(cpus) {
            Ok(()) => {
                self.cpu_count = cpus.len();
                turn
            }
            Err(error) => {
                // All processes must use the same CPUs, so those that were confined get all back.
                drop(self.confine_all(&self.cpus));
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

/// Returns the path of this program's file.
///
/// # Errors
/// The system does not give the path.
pub fn this_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().context("cannot tell where this program is").with_exit_code(Code::Io)
}
