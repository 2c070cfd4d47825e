//! Drives two clients, or one client with two settings, on one exported block. `judge` starts them;
//! `cell` takes their samples through [`Sampler`]. Each arm has its own database, made anew for
//! every generation of processes. Each sample is a sibling that the client has not seen.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, anyhow};
use generator::GENERATOR_VERSION;
use result::{Counters, Program, gate::Binary};

use super::{
    Arm, Metric,
    sampler::{Sample, Sampler, SlotSettings},
};
use crate::{
    client::{ClientTask, SampledClient, StartFile, copy_dir},
    machine::{child, environment::Watch, scratch::Scratch},
    terminal::{Code, Failure, WithExitCode, exit::fail, interrupt},
};

/// The input for a comparison of two clients.
#[derive(Clone, Debug)]
pub struct ClientPair {
    /// The directory of the export.
    pub dir: PathBuf,
    /// The start files of A, the client to compare with, and of B, the client that is judged.
    pub starts: [StartFile; 2],
    /// Cache state at the start of a sample.
    pub cache: variant::CacheMode,
    /// The judged metrics.
    pub metrics: Vec<Metric>,
    /// Maximal number of attempts if nothing is decided.
    pub attempt_count: usize,
    /// Slots, timeout and seed.
    pub slots: SlotSettings,
}

/// The running clients of A, B and N.
pub struct ClientTrio<'a> {
    starts: [StartFile; 2],
    task: ClientTask<'a>,
    /// Clients, by arm.
    clients: [SampledClient<'a>; 3],
    /// Versions of A and B, once a client has reported its version.
    versions: [Option<String>; 2],
    start_took: Duration,
    /// Whether the clients have taken no sample yet.
    are_new: bool,
    watch: Watch,
    /// The clients keep their databases in this directory, so it is dropped last.
    dir: Scratch,
}

impl<'a> ClientTrio<'a> {
    /// Makes a database for each of the two clients, and a copy for each arm, in `dir`. `shown`
    /// gets the progress of each database, in percent.
    ///
    /// # Errors
    /// A client cannot make its database.
    pub fn start(
        starts: [StartFile; 2],
        task: ClientTask<'a>,
        dir: Scratch,
        shown: &dyn Fn(u64),
    ) -> Result<Self, Failure> {
        for (side, start) in starts.iter().enumerate() {
            // Makes the client's database, which its first start puts in order. Each arm then gets
            // a copy.
            SampledClient::started(start, &first_dir(dir.path(), side), task, shown)?;
        }
        let begun = Instant::now();
        let [base, new, null] =
            Arm::ALL.map(|arm| sampled(&starts[arm.side()], dir.path(), arm, task));
        let clients = [base?, new?, null?];
        let start_took = begun.elapsed();
        let watch = Watch::default();
        let versions = [None, None];
        Ok(Self { starts, task, dir, clients, versions, start_took, are_new: true, watch })
    }

    /// Returns the programs of A and B.
    pub fn binaries(&self) -> Vec<Binary> {
        [Arm::Base, Arm::New].map(|arm| self.binary(arm)).into()
    }

    fn binary(&self, arm: Arm) -> Binary {
        let start = &self.starts[arm.side()];
        let other = &self.starts[1 - arm.side()];
        let version = self.versions[arm.side()].as_deref();
        let own = start.start.iter().filter(|argument| !other.start.contains(argument));
        let env = start.env.iter().filter(|(name, value)| other.env.get(*name) != Some(*value));
        let env = env.map(|(name, value)| format!("{name}={value}"));
        Binary {
            arm: arm.letter(),
            path: start.program.display().to_string(),
            program: Program {
                version: version.unwrap_or("unknown").to_owned(),
                commit: None,
                features: None,
                binary_hash: hash(&start.program),
                build_profile: None,
                patched: Vec::new(),
                generator_version: GENERATOR_VERSION,
            },
            client: Some([&start.name, version.unwrap_or_default()].join(": ")),
            settings: own.cloned().chain(env).collect(),
            effective_settings: Vec::new(),
            slow_read_ns: 0,
            reads_one_twice: false,
        }
    }

    /// Returns reasons why figures of the started processes may not be those of the clients.
    pub fn doubts(&self) -> Vec<String> {
        let mut doubts: Vec<_> = self.clients.iter().filter_map(SampledClient::doubt).collect();
        doubts.sort_unstable();
        doubts.dedup();
        doubts.into_iter().map(str::to_owned).collect()
    }

    /// Stops all clients.
    ///
    /// # Errors
    /// A client does not stop.
    pub fn end(&mut self) -> Result<(), Failure> {
        self.clients.iter_mut().try_for_each(SampledClient::stop)
    }

    /// Gives an arm a new database, which has seen no block.
    fn restart_arm(&mut self, arm: Arm) -> Result<(), Failure> {
        self.clients[arm as usize].stop()?;
        let start = &self.starts[arm.side()];
        self.clients[arm as usize] = sampled(start, self.dir.path(), arm, self.task)?;
        Ok(())
    }
}

impl Sampler for ClientTrio<'_> {
    fn sample(&mut self, arm: Arm, _variant: &str) -> Result<Sample, Failure> {
        interrupt::check()?;
        self.are_new = false;
        if !self.clients[arm as usize].has_next() {
            self.restart_arm(arm)?;
        }
        let name = format!("{} ({})", arm.letter(), self.starts[arm.side()].name);
        let client = &mut self.clients[arm as usize];
        client.sample().map_err(|failure| match interrupt::happened() {
            true => Failure { code: Code::Interrupted, error: anyhow!("interrupted") },
            false => failure.context(name),
        })?;
        let version = &mut self.versions[arm.side()];
        if version.is_none() {
            *version = client.version().map(str::to_owned);
        }
        let Some(sample) = client.last() else {
            fail!(Code::Io, "a client gave no sample");
        };
        // Only gas is compared: a client that finds the block valid has computed its state and its
        // receipts.
        let counters = Counters { gas: sample.gas, ..Counters::default() };
        Ok(Sample {
            wall_ns: sample.wall_ns,
            cpu_ns: sample.cpu_ns,
            bytes: sample.device_read_bytes,
            requests: sample.read_syscalls,
            counters,
            ..Sample::default()
        })
    }

    fn restart(&mut self) -> Result<Duration, Failure> {
        if self.are_new {
            return Ok(self.start_took);
        }
        let begun = Instant::now();
        Arm::ALL.into_iter().try_for_each(|arm| self.restart_arm(arm))?;
        self.are_new = true;
        Ok(begun.elapsed())
    }

    fn confine(&mut self, _variant: &str, _number: usize) -> Option<Vec<usize>> {
        // A client counts its CPUs at its start, before this call, to choose its number of threads.
        None
    }

    fn watch(&mut self) {
        self.watch.resume(std::thread::available_parallelism().map_or(1, usize::from));
    }

    fn pause_watch(&mut self) {
        self.watch.pause();
    }

    fn disturbances(&mut self) -> Vec<String> {
        std::mem::take(&mut self.watch).disturbances()
    }
}

/// Returns the directory of a side's first database.
fn first_dir(dir: &Path, side: usize) -> PathBuf {
    dir.join(["first-a", "first-b"][side])
}

/// Makes the client of an arm, on a new copy of its side's first database.
fn sampled<'a>(
    start: &StartFile,
    dir: &Path,
    arm: Arm,
    task: ClientTask<'a>,
) -> Result<SampledClient<'a>, Failure> {
    let own = dir.join(arm.letter().to_string());
    let (from, to) = (first_dir(dir, arm.side()).join(&start.name), own.join(&start.name));
    let removed = if to.exists() { fs::remove_dir_all(&to) } else { Ok(()) };
    let copied = removed.and_then(|()| copy_dir(&from, &to));
    copied.with_context(|| to.display().to_string()).with_exit_code(Code::Io)?;
    SampledClient::started(start, &own, task, &|_| ())
}

/// Returns the BLAKE3 hash of a program's file, by its path or its name on PATH; `None` if no file
/// is found.
fn hash(program: &Path) -> Option<String> {
    Some(blake3::hash(&fs::read(child::find_program(program)?).ok()?).to_string())
}
