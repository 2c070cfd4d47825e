//! A client that is sampled: one that runs already, or one that is started, restarted and stopped.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::anyhow;
use executor::process::{BlockDevice, DiskReads, IoCounters, cpu_time_of};
use result::{CacheFacts, ClientCell, ClientSample, Estimate};
use variant::CacheMode;

use super::{
    engine::{Engine, Times},
    export::{Calls, Export},
    home::{Home, Pages},
    process::Running,
    refusal::Refusal,
    start_file::StartFile,
    token::Secret,
};
use crate::exit::{Code, Failure, OrExit};

/// Name in results of a client that ran already.
const ATTACHED: &str = "attached";

/// Largest share of a cold database in the page cache just before the request.
const RESIDENT_MAX: f64 = 0.05;

/// What a client's time includes.
const TIME_INCLUDES: &str = "from the request of engine_newPayload to the answer VALID of \
    engine_forkchoiceUpdated, over HTTP on one machine: JSON, the block's hash, signatures of all \
    transactions, execution, receipts, the list's check, the state's hashing and its root; what the client \
    writes to disk later is not in it";

/// Where a client comes from.
#[derive(Clone, Debug)]
pub enum Source {
    /// It runs.
    Attached {
        /// Its Engine API.
        url: String,
        /// The file with the secret.
        jwt: PathBuf,
        /// Its process on this machine, where its CPU time and reads are to be counted.
        pid: Option<u32>,
    },
    /// It is started.
    Started {
        /// How.
        start: Box<StartFile>,
        /// The directory with the clients' databases.
        dir: PathBuf,
    },
}

/// What a client is to do.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The block with its siblings.
    pub export: &'a Export,
    /// Gas that it uses: the sum of its receipts.
    pub gas: u64,
    /// What is in memory when a sample starts.
    pub cache: CacheMode,
    /// How long an answer may take.
    pub timeout: Duration,
}

/// A client that is sampled.
pub struct Subject<'a> {
    name: String,
    task: Task<'a>,
    kind: Kind,
    /// Index of the next sibling that may be sent.
    next: usize,
    version: Option<String>,
    start: Vec<String>,
    samples: Vec<ClientSample>,
    warm_up_count: u64,
}

enum Kind {
    Attached { engine: Engine, pid: Option<u32> },
    Started { start: Box<StartFile>, home: Home, running: Option<Running> },
}

/// What a process and the device below its database have done so far.
#[derive(Clone, Copy, Debug)]
struct Counted {
    cpu: Option<Duration>,
    io: Option<IoCounters>,
    disk: Option<DiskReads>,
}

impl Counted {
    fn now(pid: Option<u32>, device: Option<BlockDevice>) -> Self {
        Self {
            cpu: pid.and_then(cpu_time_of),
            io: pid.and_then(IoCounters::of_process),
            disk: device.and_then(BlockDevice::reads),
        }
    }
}

impl<'a> Subject<'a> {
    /// The client of `source`, which is to do `task`; its database is made where it has none.
    ///
    /// # Errors
    /// A file is missing, or the client cannot begin a database.
    pub fn new(source: &Source, task: Task<'a>) -> Result<Self, Failure> {
        let timeout = task.timeout;
        let (name, kind) = match source {
            Source::Attached { url, jwt, pid } => {
                let secret = Secret::read(jwt).or_exit(Code::Usage)?;
                let engine = Engine::new(url, secret, timeout).or_exit(Code::Usage)?;
                (ATTACHED.to_owned(), Kind::Attached { engine, pid: *pid })
            }
            Source::Started { start, dir } => {
                let home = Home::new(dir, &start.name).or_exit(Code::Io)?;
                let genesis = task.export.genesis_path();
                if home.init(start, genesis.as_deref()).or_exit(Code::Io)? {
                    // A new database is put in order at its first start.
                    Running::start(start, &home, timeout)?.stop()?;
                }
                let kind = Kind::Started { start: start.clone(), home, running: None };
                (start.name.clone(), kind)
            }
        };
        Ok(Self {
            name,
            task,
            kind,
            next: 0,
            version: None,
            start: Vec::new(),
            samples: Vec::new(),
            warm_up_count: 0,
        })
    }

    /// Its name in results.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it has no sample that counts.
    pub const fn is_empty(&self) -> bool {
        self.samples.len() as u64 <= self.warm_up_count
    }

    /// Takes a sample, after one that does not count where it is the first of a warm client.
    ///
    /// # Errors
    /// The client gives none, or cannot be started.
    pub fn sample(&mut self) -> Result<(), Failure> {
        self.make_ready()?;
        if self.task.cache == CacheMode::Warm && self.samples.is_empty() {
            self.take()?;
            self.warm_up_count = 1;
        }
        self.take()?;
        // Nothing of it runs beside the sample of another client.
        if self.task.cache == CacheMode::Cold { self.stop() } else { Ok(()) }
    }

    /// Siblings that were not sent yet.
    pub fn left_count(&self) -> usize {
        self.task.export.hashes().len().saturating_sub(self.next)
    }

    /// The last sample.
    pub fn last(&self) -> Option<&ClientSample> {
        self.samples.last()
    }

    /// Name and version of the client by its own word, once it was asked.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref().filter(|version| !version.is_empty())
    }

    /// Stops the client where it was started.
    ///
    /// # Errors
    /// It does not stop.
    pub fn stop(&mut self) -> Result<(), Failure> {
        match &mut self.kind {
            Kind::Started { running, .. } => running.take().map_or(Ok(()), Running::stop),
            Kind::Attached { .. } => Ok(()),
        }
    }

    /// A client as it must be before a sample: started, and started anew where samples are cold.
    fn make_ready(&mut self) -> Result<(), Failure> {
        let is_cold = self.task.cache == CacheMode::Cold;
        if is_cold {
            self.stop()?;
        }
        match &mut self.kind {
            Kind::Started { start, home, running: running @ None } => {
                if is_cold {
                    home.drop_pages().or_exit(Code::Io)?;
                }
                let started = Running::start(start, home, self.task.timeout)?;
                self.start = started.command().to_vec();
                *running = Some(started);
            }
            Kind::Started { .. } => return Ok(()),
            Kind::Attached { .. } if self.version.is_some() => return Ok(()),
            Kind::Attached { .. } => {}
        }
        let engine = self.engine()?;
        let (found, expected) = (engine.genesis_hash()?, self.task.export.genesis_hash());
        if found != expected {
            return Err(Refusal::OtherGenesis { found, expected: expected.to_owned() }.into());
        }
        if self.version.is_none() {
            self.version = Some(engine.version().unwrap_or_default());
        }
        Ok(())
    }

    fn engine(&self) -> Result<&Engine, Failure> {
        match &self.kind {
            Kind::Attached { engine, .. } => Ok(engine),
            Kind::Started { running: Some(running), .. } => Ok(running.engine()),
            Kind::Started { running: None, .. } => {
                Err(anyhow!("{} is not running", self.name)).or_exit(Code::Io)
            }
        }
    }

    /// The calls of the next sibling that the client does not have.
    fn next_calls(&mut self) -> Result<Calls, Failure> {
        let all = self.task.export.hashes().len();
        let first = self.next;
        while self.next < all {
            let index = self.next;
            self.next += 1;
            let hash = &self.task.export.hashes()[index];
            if !self.explained(self.engine()?.knows(hash))? {
                return self.task.export.calls(index).or_exit(Code::Io);
            }
        }
        Err(Refusal::KnownBlocks { count: all - first }.into())
    }

    fn take(&mut self) -> Result<(), Failure> {
        let calls = self.next_calls()?;
        let pages = match (&self.kind, self.task.cache) {
            (Kind::Started { home, .. }, CacheMode::Cold) => home.pages(),
            _ => None,
        };
        let (pid, device) = (self.pid(), self.device());
        if let Kind::Started { running: Some(running), .. } = &self.kind {
            running.forget_own_time();
        }
        let before = Counted::now(pid, device);
        let times = self.explained(self.engine()?.execute(&calls))?;
        let after = Counted::now(pid, device);
        let own_ns = match &self.kind {
            Kind::Started { running: Some(running), .. } => running.own_ns(),
            _ => None,
        };
        let measured = Measured { times, before, after, own_ns, pages };
        self.samples.push(measured.sample(calls.hash, self.task.gas));
        Ok(())
    }

    /// Adds to a refusal that the client has died, where it has.
    fn explained<T>(&self, answer: Result<T, Refusal>) -> Result<T, Failure> {
        answer.map_err(|refusal| match &self.kind {
            Kind::Started { running: Some(running), .. } => running.explained(refusal).into(),
            _ => refusal.into(),
        })
    }

    fn pid(&self) -> Option<u32> {
        match &self.kind {
            Kind::Attached { pid, .. } => *pid,
            Kind::Started { running, .. } => running.as_ref().map(Running::pid),
        }
    }

    fn device(&self) -> Option<BlockDevice> {
        match &self.kind {
            Kind::Attached { .. } => None,
            Kind::Started { home, .. } => BlockDevice::of(&home.datadir),
        }
    }

    /// What the result says of it.
    pub fn cell(&self) -> ClientCell {
        let mut cell = ClientCell {
            client: self.name.clone(),
            version: self.version().map(str::to_owned),
            start: self.start.clone(),
            time_includes: TIME_INCLUDES.to_owned(),
            warm_up_sample_count: self.warm_up_count,
            samples: self.samples.clone(),
            mgas_per_s: Estimate::default(),
            ms_per_block: Estimate::default(),
            own_ms_per_block: Estimate::default(),
            in_order_ratio: None,
            cache: cache(self.task.cache, &self.samples),
        };
        cell.estimate();
        cell
    }
}

/// A sample as it was taken.
struct Measured {
    times: Times,
    before: Counted,
    after: Counted,
    own_ns: Option<u64>,
    pages: Option<Pages>,
}

impl Measured {
    fn sample(&self, block_hash: String, gas: u64) -> ClientSample {
        let Self { times, before, after, .. } = self;
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let cpu = after.cpu.zip(before.cpu).map(|(after, before)| after.saturating_sub(before));
        let io = after.io.zip(before.io).map(|(after, before)| after.since(&before));
        let disk = after.disk.zip(before.disk).map(|(after, before)| after.since(&before));
        ClientSample {
            block_hash,
            wall_ns: ns(times.new_payload + times.forkchoice),
            new_payload_ns: ns(times.new_payload),
            forkchoice_ns: ns(times.forkchoice),
            own_ns: self.own_ns,
            gas,
            cpu_ns: cpu.map(ns),
            device_read_bytes: io.map(|io| io.device_read_bytes),
            read_syscalls: io.map(|io| io.read_call_count),
            disk_requests: disk.map(|disk| disk.request_count),
            disk_bytes: disk.map(|disk| disk.byte_count),
            data_bytes: self.pages.map(|pages| pages.byte_count),
            resident_data_bytes: self.pages.map(|pages| pages.resident_byte_count),
        }
    }
}

/// Whether samples were as cold as asked: each was the first block of a new process, and hardly any
/// of its database was in the page cache just before it.
fn cache(want: CacheMode, samples: &[ClientSample]) -> CacheFacts {
    let facts = |proved, reason: String| CacheFacts { want, proved, reason };
    if want == CacheMode::Warm {
        let reason = "the client ran before, and keeps what it read for earlier blocks; the first \
             block counts for no figure";
        return facts(None, reason.to_owned());
    }
    let share = |sample: &ClientSample| {
        let (resident, all) = (sample.resident_data_bytes?, sample.data_bytes?);
        (all > 0).then(|| resident as f64 / all as f64)
    };
    let shares: Option<Vec<f64>> = samples.iter().map(share).collect();
    let Some(most) = shares.and_then(|all| all.into_iter().max_by(f64::total_cmp)) else {
        return facts(
            None,
            "the kernel does not tell what of the database is in memory".to_owned(),
        );
    };
    let reason = format!(
        "restarted for each sample; at most {:.1} % of the database was in the page cache just before \
         the request",
        100.0 * most
    );
    facts(Some(most <= RESIDENT_MAX), reason)
}

/// Where the clients' databases are kept for as long as a run lasts: beside `export`.
///
/// # Errors
/// It cannot be made.
pub fn passing_dir(export: &Path) -> anyhow::Result<tempfile::TempDir> {
    let beside = std::path::absolute(export)?;
    let beside = beside.parent().unwrap_or(Path::new("/")).to_owned();
    Ok(tempfile::Builder::new().prefix(".stress-client-").tempdir_in(beside)?)
}

#[cfg(test)]
mod tests {
    use result::example;

    use super::*;

    #[test]
    fn cold_is_proved_by_an_empty_page_cache_in_every_sample_and_unknown_where_nobody_tells() {
        let mut samples = example::client::timed(&[100, 100]).samples;
        assert_eq!(cache(CacheMode::Cold, &samples).proved, Some(true));
        assert_eq!(cache(CacheMode::Warm, &samples).proved, None);
        let all = samples[1].data_bytes.unwrap();
        samples[1].resident_data_bytes = Some(all / 10);
        let facts = cache(CacheMode::Cold, &samples);
        assert_eq!(facts.proved, Some(false));
        assert!(facts.reason.contains("10.0 %"), "{}", facts.reason);
        samples[1].resident_data_bytes = None;
        assert_eq!(cache(CacheMode::Cold, &samples).proved, None);
    }
}
