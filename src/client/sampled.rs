//! Samples a client: one that runs already, or one that this program starts, restarts and stops.
//! `run` and the gate decide how often and in which turn.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use executor::process::BlockDevice;
use result::{ClientCell, ClientSample, Estimate};
use variant::CacheMode;

use super::{
    engine::Engine,
    export::{Calls, Export, SiblingId},
    home::Home,
    measured::{self, Counters, MeasuredBlock},
    process::Running,
    refusal::Refusal,
    start_file::StartFile,
    token::Secret,
};
use crate::terminal::{Code, Failure, WithExitCode, exit::fail, interrupt};

/// Name in results of a client that runs already.
const ATTACHED: &str = "attached";

/// The work that a client's time includes.
const TIME_INCLUDES: &str = "from the request of engine_newPayload to the answer VALID of \
    engine_forkchoiceUpdated, over HTTP on one machine: JSON, the block's hash, signatures of all \
    transactions, execution, receipts, the list's check, the state's hashing and its root; later writes to \
    disk are not in it";

/// A client that runs already.
#[derive(Clone, Debug)]
pub struct Attached {
    /// URL of the client's Engine API.
    pub url: String,
    /// The file with the secret of the Engine API.
    pub jwt: PathBuf,
}

/// The work of a client, and how it is sampled.
#[derive(Clone, Copy, Debug)]
pub struct ClientTask<'a> {
    /// The blocks with their siblings.
    pub export: &'a Export,
    /// Gas that the blocks use: the sum of their receipts.
    pub gas: u64,
    /// Number of batches in which our designs run the blocks.
    pub batch_count: u64,
    /// Cache state at the start of a sample.
    pub cache: CacheMode,
    /// Maximal time until the answer to a request.
    pub timeout: Duration,
}

pub struct SampledClient<'a> {
    name: String,
    task: ClientTask<'a>,
    connection: Connection,
    /// Index of the next sibling that may be sent.
    next_index: usize,
    /// The client's name and version; empty if it reports none, `None` if it was not asked yet.
    version: Option<String>,
    /// The command that started the client; empty for a client that runs already.
    start: Vec<String>,
    /// Reason for which figures of the process may not be the client's; `None` without doubt.
    doubt: Option<String>,
    samples: Vec<ClientSample>,
    /// Number of first samples that no figure counts.
    warm_up_count: u64,
}

/// The connection to a client. `running` is `None` between the processes of a started client.
enum Connection {
    Attached { engine: Engine },
    Started { start: Box<StartFile>, home: Box<Home>, running: Option<Running> },
}

/// Sends the blocks that grow the state to a client on a new database, and stops the client.
/// `on_percent` gets the share of the sent blocks, in percent.
fn grow(
    start: &StartFile,
    home: &Home,
    task: ClientTask<'_>,
    on_percent: &dyn Fn(u64),
) -> Result<(), Failure> {
    let running = Running::start(start, home, task.timeout)?;
    let count = task.export.growth_count();
    for index in 0..count {
        let calls = task.export.growth(index).with_exit_code(Code::Io)?;
        if let Err(refusal) = running.engine().execute(&calls) {
            let failure = Failure::from(running.cause_of(refusal));
            return Err(
                failure.context(format!("block {} of {count} that grow the state", index + 1))
            );
        }
        on_percent(100 * (index as u64 + 1) / count as u64);
        interrupt::check()?;
    }
    running.stop()
}

impl<'a> SampledClient<'a> {
    /// Prepares a client that runs already.
    ///
    /// # Errors
    /// The file of the secret cannot be read, or the URL is not valid.
    pub fn attached(attached: &Attached, task: ClientTask<'a>) -> Result<Self, Failure> {
        let secret = Secret::read(&attached.jwt).with_exit_code(Code::Usage)?;
        let engine = Engine::new(&attached.url, secret, task.timeout);
        let engine = engine.with_exit_code(Code::Usage)?;
        Ok(Self::new(ATTACHED, task, Connection::Attached { engine }))
    }

    /// Prepares the client of `start`, whose database is in `dir`. Makes the database if there is
    /// none, and reports the progress to `on_percent`, in percent.
    ///
    /// # Errors
    /// A file is missing, or the client cannot begin a database.
    pub fn started(
        start: &StartFile,
        dir: &Path,
        task: ClientTask<'a>,
        on_percent: &dyn Fn(u64),
    ) -> Result<Self, Failure> {
        let state = task.export.state_files().with_exit_code(Code::Io)?;
        let home = Home::new(dir, &start.name, state).with_exit_code(Code::Io)?;
        let grows = task.export.growth_count() > 0;
        let is_made = home.make(start, on_percent, |new| {
            if grows { grow(start, new, task, on_percent) } else { Ok(()) }
        })?;
        if is_made && !grows {
            // A client puts a new database in order at its first start. No sample may pay for that.
            // Growing the state includes such a start.
            Running::start(start, &home, task.timeout)?.stop()?;
        }
        // A block of a chain has children, so a client executes it only once.
        let home = Box::new(if task.export.is_chain() { home.on_copy() } else { home });
        let connection =
            Connection::Started { start: Box::new(start.clone()), home, running: None };
        Ok(Self::new(&start.name, task, connection))
    }

    fn new(name: &str, task: ClientTask<'a>, connection: Connection) -> Self {
        Self {
            name: name.to_owned(),
            task,
            connection,
            next_index: 0,
            version: None,
            start: Vec::new(),
            doubt: None,
            samples: Vec::new(),
            warm_up_count: 0,
        }
    }

    /// Returns the client's name in results.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the client has no counted sample.
    pub const fn is_empty(&self) -> bool {
        self.samples.len() as u64 <= self.warm_up_count
    }

    /// Takes a sample. On a single block, a warm client takes an uncounted sample before its first
    /// counted one.
    ///
    /// # Errors
    /// The client gives no sample, or cannot be started.
    pub fn sample(&mut self) -> Result<(), Failure> {
        self.make_ready()?;
        if self.task.export.is_chain() {
            self.take_chain()?;
        } else {
            if self.task.cache == CacheMode::Warm && self.samples.is_empty() {
                self.take_block()?;
                self.warm_up_count = 1;
            }
            self.take_block()?;
        }
        // No process of this client may run beside the sample of another client.
        if self.restarts() { self.stop() } else { Ok(()) }
    }

    /// Whether each sample has a new process.
    fn restarts(&self) -> bool {
        self.task.cache == CacheMode::Cold || self.task.export.is_chain()
    }

    /// Whether another sample can be taken on this database.
    pub fn has_next(&self) -> bool {
        self.task.export.is_chain() || self.next_index < self.task.export.sibling_count()
    }

    pub fn last(&self) -> Option<&ClientSample> {
        self.samples.last()
    }

    /// Returns the name and version that the client reported; `None` if it was not asked yet, or
    /// reports none.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref().filter(|version| !version.is_empty())
    }

    /// Returns the reason for which figures of the process may not be the client's; `None` without
    /// doubt.
    pub fn doubt(&self) -> Option<&str> {
        self.doubt.as_deref()
    }

    /// Stops the client, if this program started it.
    ///
    /// # Errors
    /// The client does not stop.
    pub fn stop(&mut self) -> Result<(), Failure> {
        let Connection::Started { running, home, .. } = &mut self.connection else { return Ok(()) };
        running.take().map_or(Ok(()), Running::stop)?;
        home.remove_copy().with_exit_code(Code::Io)
    }

    /// Prepares the client for a sample. Starts it if it does not run. For a cold sample or a
    /// chain, starts it anew.
    fn make_ready(&mut self) -> Result<(), Failure> {
        let is_cold = self.task.cache == CacheMode::Cold;
        if self.restarts() {
            self.stop()?;
        }
        match &mut self.connection {
            Connection::Started { start, home, running: running @ None } => {
                home.renew_copy().with_exit_code(Code::Io)?;
                if is_cold {
                    home.drop_pages().with_exit_code(Code::Io)?;
                }
                let started = Running::start(start, home, self.task.timeout)?;
                self.start = started.command().to_vec();
                self.doubt = started.doubt().map(str::to_owned);
                *running = Some(started);
            }
            Connection::Started { .. } => return Ok(()),
            // An attached client is asked for its genesis and version once.
            Connection::Attached { .. } if self.version.is_some() => return Ok(()),
            Connection::Attached { .. } => {}
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
        match &self.connection {
            Connection::Attached { engine, .. } => Ok(engine),
            Connection::Started { running: Some(running), .. } => Ok(running.engine()),
            Connection::Started { running: None, .. } => {
                fail!(Code::Io, "{} is not running", self.name)
            }
        }
    }

    /// Returns the next sibling of a single block that the client does not have.
    fn next_sibling(&mut self) -> Result<SiblingId, Failure> {
        let sibling_count = self.task.export.sibling_count();
        let first = self.next_index;
        while self.next_index < sibling_count {
            let next = SiblingId { block: 0, sibling: self.next_index };
            self.next_index += 1;
            if !self.with_cause(self.engine()?.knows(self.task.export.hash(next)))? {
                return Ok(next);
            }
        }
        Err(Refusal::KnownBlocks { count: sibling_count - first }.into())
    }

    /// Takes a sample of a single block, by a sibling that the client does not have.
    fn take_block(&mut self) -> Result<(), Failure> {
        let sibling = self.next_sibling()?;
        let calls = self.task.export.calls(sibling).with_exit_code(Code::Io)?;
        let mut sample = self.new_sample();
        measured::add_block(&mut sample, self.execute_block(calls)?);
        self.samples.push(sample);
        Ok(())
    }

    /// Takes a sample of a chain: sends all its blocks, each as the child of the head. To a warm
    /// client, it sends a sibling before each block.
    fn take_chain(&mut self) -> Result<(), Failure> {
        let export = self.task.export;
        if self.with_cause(self.engine()?.knows(export.hash(export.last_sibling(0))))? {
            return Err(Refusal::KnownBlocks { count: export.block_count() }.into());
        }
        let mut sample = None;
        for block in 0..export.block_count() {
            if self.task.cache == CacheMode::Warm && export.sibling_count() > 1 {
                let sibling =
                    export.calls(SiblingId { block, sibling: 0 }).with_exit_code(Code::Io)?;
                self.with_cause(self.engine()?.execute(&sibling))?;
            }
            let calls = export.calls(export.last_sibling(block)).with_exit_code(Code::Io)?;
            let sample = sample.get_or_insert_with(|| self.new_sample());
            measured::add_block(sample, self.execute_block(calls)?);
        }
        self.samples.extend(sample);
        Ok(())
    }

    /// Makes an empty sample, just before its first request. A cold sample records now how much of
    /// the database is in the page cache.
    fn new_sample(&self) -> ClientSample {
        let pages = match (&self.connection, self.task.cache) {
            (Connection::Started { home, .. }, CacheMode::Cold) => home.pages(),
            _ => None,
        };
        measured::new_sample(self.task.gas, pages)
    }

    /// Sends a block, and returns its figures.
    fn execute_block(&self, calls: Calls) -> Result<MeasuredBlock, Failure> {
        let (running, device) = (self.running(), self.device());
        let pid = running.map(Running::pid);
        let before = Counters::now(pid, device);
        let times = self.with_cause(self.engine()?.execute(&calls))?;
        let after = Counters::now(pid, device);
        let own = running.and_then(|running| running.own_times(&calls.hash));
        Ok(MeasuredBlock { hash: calls.hash, times, own, before, after })
    }

    /// Replaces a refusal by [`Refusal::Died`] if the client has ended.
    fn with_cause<T>(&self, answer: Result<T, Refusal>) -> Result<T, Failure> {
        answer.map_err(|refusal| match self.running() {
            Some(running) => running.cause_of(refusal).into(),
            None => refusal.into(),
        })
    }

    /// Returns the client's process; `None` if this program did not start it, or it does not run.
    fn running(&self) -> Option<&Running> {
        match &self.connection {
            Connection::Attached { .. } => None,
            Connection::Started { running, .. } => running.as_ref(),
        }
    }

    fn device(&self) -> Option<BlockDevice> {
        match &self.connection {
            Connection::Attached { .. } => None,
            Connection::Started { home, .. } => BlockDevice::of(&home.datadir),
        }
    }

    /// Returns the client's cell in the result.
    pub fn cell(&self) -> ClientCell {
        let mut cell = ClientCell {
            client: self.name.clone(),
            version: self.version().map(str::to_owned),
            start: self.start.clone(),
            time_includes: TIME_INCLUDES.to_owned(),
            warm_up_sample_count: self.warm_up_count,
            samples: self.samples.clone(),
            mgas_per_s: Estimate::default(),
            ms_per_batch: Estimate::default(),
            own_ms_per_batch: Estimate::default(),
            in_order_ratio: None,
            cache: measured::cache(self.task.cache, &self.samples),
        };
        cell.estimate(self.task.batch_count);
        cell
    }
}
