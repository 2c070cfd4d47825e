//! The worker: answers what a driver asks, one line at a time, until it is told to end or its
//! standard input does. It has no opinion about what its samples mean.

use std::{
    io::{self, BufRead},
    mem,
    path::PathBuf,
    time::Duration,
};

use anyhow::{Context, Result, anyhow};
use executor::{
    engine::EngineError,
    sample::Measurement,
    store::{
        handicap::{Handicap, Handicapped},
        memory::MemoryStore,
    },
};
use generator::GENERATOR_VERSION;
use serde_json::Value;
use spec::{Override, RunSpec};
use variant::{CacheMode, Design, Schedule, StoreKind, Variant};
use workload::file;

use super::message::{Answer, ErrorKind, Load, Loaded, PROTOCOL, Request, Sampled, Who};

use crate::{
    cells::{self, CellInput, CellSamples},
    claims::{self, Grounds},
    cmd, counters, environment,
    exit::{Code, Failure, OrExit},
    facts::{self, DeclaredKeys},
    interrupt,
    open::{InUse, Place},
    plan::{self, Machine, PlannedCell},
    progress::{Look, Progress},
    session::{How, OpenStore, Session},
    terminal,
};

/// Nanoseconds that each read of the memory store takes longer: to judge a gate, not to measure.
const SLOW_READ: &str = "STRESS_SLOW_READ_NS";
/// `1`: each sample reads one key twice; as above.
const READ_TWICE: &str = "STRESS_READ_ONE_TWICE";

/// Answers on standard output what is asked on standard input.
pub fn serve() -> Result<Code, Failure> {
    let handicap = handicap().or_exit(Code::Usage)?;
    answer(&Answer::Hello(Who {
        protocol: PROTOCOL,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        commit: environment::build().commit,
        generator: GENERATOR_VERSION,
        slow_read_ns: u64::try_from(handicap.read_delay.as_nanos()).unwrap_or(u64::MAX),
        reads_one_twice: handicap.reads_one_twice,
    }));
    let mut worker = None;
    for line in io::stdin().lock().lines() {
        let line = line.context("cannot read what the driver asks").or_exit(Code::Io)?;
        let answered = match serde_json::from_str(&line) {
            Ok(Request::Load(load)) => Worker::load(&load, handicap).map(|loaded| {
                let answer = Answer::Loaded(loaded.loaded());
                worker = Some(loaded);
                answer
            }),
            Ok(Request::Sample { variant }) => {
                loaded(&mut worker).and_then(|worker| worker.sample(&variant))
            }
            Ok(Request::Judge { expects }) => {
                loaded(&mut worker).and_then(|worker| worker.judge(&expects))
            }
            Ok(Request::Exit) => {
                answer(&Answer::Bye);
                return Ok(Code::Fine);
            }
            Err(error) => Err(anyhow!("no message of worker protocol {PROTOCOL}: {error}"))
                .or_exit(Code::Usage),
        };
        answer(&answered.unwrap_or_else(|failure| Answer::Error {
            error: ErrorKind::from(failure.code),
            message: failure.to_string(),
        }));
    }
    Ok(Code::Fine)
}

fn answer(answer: &Answer) {
    let text = serde_json::to_string(answer);
    let text = text.unwrap_or_else(|e| panic!("answers have text keys only: {e}"));
    terminal::out(&(text + "\n"));
}

fn loaded(worker: &mut Option<Worker>) -> Result<&mut Worker, Failure> {
    worker.as_mut().context("nothing is loaded: ask `load` first").or_exit(Code::Usage)
}

/// What the environment asks to be made worse.
fn handicap() -> Result<Handicap> {
    let delay_ns = match std::env::var(SLOW_READ) {
        Ok(text) => text.parse().map_err(|_| {
            anyhow!("{SLOW_READ}={text}: a whole number of nanoseconds is wanted, as in 50")
        })?,
        Err(_) => 0,
    };
    let reads_one_twice = match std::env::var(READ_TWICE).as_deref() {
        Ok("1") => true,
        Ok(other) => anyhow::bail!("{READ_TWICE}={other}: it is 1, or not set"),
        Err(_) => false,
    };
    Ok(Handicap { read_delay: Duration::from_nanos(delay_ns), reads_one_twice })
}

/// A workload with what was sampled of it.
struct Worker {
    session: Session,
    run: RunSpec,
    machine: Machine,
    data_dir: Option<PathBuf>,
    handicap: Handicap,
    cells: Vec<PlannedCell>,
    samples: Vec<CellSamples>,
    /// By cell: times of steps for a schedule that goes by them.
    known_costs: Vec<Vec<Vec<Duration>>>,
    declared: DeclaredKeys,
    progress: Progress,
}

impl Worker {
    fn load(load: &Load, handicap: Handicap) -> Result<Self, Failure> {
        if load.protocol != PROTOCOL {
            let error = anyhow!(
                "the driver speaks worker protocol {}, this stress {PROTOCOL}",
                load.protocol
            );
            return Err(error).or_exit(Code::Usage);
        }
        let overrides = load.run.iter().map(|(key, value)| Override {
            key: key.clone(),
            value: value.clone(),
            origin: format!("{key} = {value}"),
        });
        let run = facts::default_run(&overrides.collect::<Vec<_>>()).or_exit(Code::Usage)?;
        let is_memory = run.stores.iter().all(|store| *store == StoreKind::Memory);
        if !handicap.is_none() && !is_memory {
            let error = anyhow!("{SLOW_READ} and {READ_TWICE} are for the memory store only");
            return Err(error).or_exit(Code::Usage);
        }
        // The driver has run the reference on the file; each sample is compared with it again.
        let workload = file::read(&load.workload).or_exit(Code::Io)?;
        let progress = Progress::new(Look::Lines);
        let mut session = Session::new(workload).or_exit(Code::Disagree)?;
        if run.designs.contains(&Design::Full) {
            let lists = cmd::run::full_lists(session.workload(), &progress)?;
            session.add_full_lists(lists);
        }
        let machine = Machine::this();
        let cells = plan::cells(&run, &machine);
        let mut worker = Self {
            declared: facts::declared_keys(session.workload()),
            samples: vec![CellSamples::default(); cells.len()],
            known_costs: vec![Vec::new(); cells.len()],
            data_dir: load.data_dir.clone(),
            session,
            run,
            machine,
            handicap,
            cells,
            progress,
        };
        // States are built now, however long that takes, and not in the first sample.
        for store in worker.run.stores.clone() {
            worker.open(store)?;
            worker.session.close_files();
        }
        Ok(worker)
    }

    fn loaded(&self) -> Loaded {
        Loaded {
            digest: self.session.workload().digest().to_string(),
            variants: self.cells.iter().map(PlannedCell::name).collect(),
        }
    }

    /// Opens the store unless it is, and says which it is among the open ones.
    fn open(&mut self, store: StoreKind) -> Result<usize, Failure> {
        let is_wanted = |open: &OpenStore| open.name() == store.name();
        if let Some(place) = self.session.stores().iter().position(is_wanted) {
            return Ok(place);
        }
        let opened = if self.handicap.is_none() {
            let workload = self.session.workload();
            let place = Place {
                data_dir: self.data_dir.as_ref(),
                in_use: InUse::Refuse,
                genesis: &workload.genesis,
                layout: workload.layout,
                scenario: &workload.scenario,
                machine: &self.machine,
                progress: &self.progress,
            };
            place.open(store, &self.run)?
        } else {
            let genesis = &self.session.workload().genesis;
            let memory = MemoryStore::build(genesis, facts::memory_limit_bytes());
            let memory = memory.or_exit(Code::Usage)?;
            OpenStore::Handicapped(Handicapped::new(memory, self.handicap))
        };
        self.session.add(opened);
        Ok(self.session.stores().len() - 1)
    }

    fn place(&self, variant: &str) -> Result<usize, Failure> {
        let place = self.cells.iter().position(|cell| cell.name() == variant);
        let names = || self.cells.iter().map(PlannedCell::name).collect::<Vec<_>>().join(", ");
        place
            .with_context(|| format!("no variant {variant}: there are {}", names()))
            .or_exit(Code::Usage)
    }

    /// One sample, its store open for as long as it takes: a state on disk is used by one process
    /// at a time, and another worker may be next.
    fn sample(&mut self, variant: &str) -> Result<Answer, Failure> {
        let place = self.place(variant)?;
        let cell = self.cells[place];
        let store = self.open(cell.store)?;
        let measurement = self.measure(place, store)?;
        let mut samples = mem::take(&mut self.samples[place]);
        samples.add(&self.input(&cell, store), &measurement);
        let facts = samples.last().map(serde_json::to_value);
        let facts = facts.transpose().or_exit(Code::Io)?.unwrap_or(Value::Null);
        self.samples[place] = samples;
        let (workload, unique_keys) = (self.session.workload(), self.declared.count());
        let counters = counters::of(workload, &cell.variant, unique_keys, &measurement);
        self.session.close_files();
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Ok(Answer::Sample(Box::new(Sampled {
            variant: variant.to_owned(),
            wall_ns: ns(measurement.executed.wall),
            cpu_ns: measurement.process.usage.map(|usage| ns(usage.user + usage.system)),
            counters,
            facts,
        })))
    }

    fn measure(&mut self, place: usize, store: usize) -> Result<Measurement, Failure> {
        let variant = self.cells[place].variant;
        if variant.schedule == Schedule::KnownCost && self.known_costs[place].is_empty() {
            let in_order = Variant { schedule: Schedule::BlockOrder, ..variant };
            let first = self.take(store, in_order, &[])?;
            self.known_costs[place] = first.executed.step_times;
        }
        self.take(store, variant, &self.known_costs[place])
    }

    fn take(
        &self,
        store: usize,
        variant: Variant,
        known_costs: &[Vec<Duration>],
    ) -> Result<Measurement, Failure> {
        let how = How { variant, known_costs, trace: None };
        let taken = self.session.take(store, how, self.cache(), interrupt::flag());
        let measurement = taken.map_err(|error| {
            let code = match &error {
                EngineError::Cancelled => Code::Interrupted,
                EngineError::Store(_) => Code::Io,
                EngineError::List { .. } | EngineError::Step { .. } => Code::Disagree,
            };
            Failure { code, error: anyhow::Error::new(error).context(variant.to_string()) }
        })?;
        match measurement.disagreement {
            Some(difference) => Err(anyhow!("{variant}: {difference}")).or_exit(Code::Disagree),
            None => Ok(measurement),
        }
    }

    /// Judges claims on all samples so far.
    fn judge(&mut self, expects: &[String]) -> Result<Answer, Failure> {
        let expects = facts::expects(expects).or_exit(Code::Usage)?;
        let mut cells = Vec::new();
        let warm_up = cells::left_out(self.samples.iter().filter(|samples| !samples.is_empty()));
        for place in 0..self.cells.len() {
            if self.samples[place].is_empty() {
                continue;
            }
            let cell = self.cells[place];
            let store = self.open(cell.store)?;
            cells.push(self.samples[place].cell(&self.input(&cell, store), warm_up));
            self.session.close_files();
        }
        let work = facts::workload(self.session.workload(), Vec::new());
        let grounds =
            Grounds { workload: &work, cells: &cells, databases: &[], cache: self.run.cache };
        let judged = claims::judge(&expects, None, &grounds);
        Ok(Answer::Judged { expects: serde_json::to_value(judged).or_exit(Code::Io)? })
    }

    const fn cache(&self) -> CacheMode {
        match self.run.cache {
            CacheMode::Cold => CacheMode::Cold,
            CacheMode::Warm => CacheMode::Warm,
        }
    }

    fn input(&self, cell: &PlannedCell, store: usize) -> CellInput<'_> {
        let store = &self.session.stores()[store];
        CellInput {
            store: store.name(),
            never_cold: store.never_cold(),
            slots_per_block: store.slots_per_block(),
            variant: cell.variant,
            cache: self.cache(),
            workload: self.session.workload(),
            declared: self.declared,
            present_share: facts::present_share(self.session.workload()),
            // Measured once for all, by whoever wants it: it takes seconds.
            device: None,
            core_count: self.machine.core_count.get(),
        }
    }
}
