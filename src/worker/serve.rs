//! The worker (`stress --worker`): answers a driver's requests, one line at a time, until a request
//! or the end of its standard input ends it. It compares no builds. It judges claims on request.

use std::{
    io::{self, BufRead},
    path::PathBuf,
    time::Duration,
};

use anyhow::{Context, Result, anyhow};
use executor::{
    engine::EngineError,
    process::{allocations, instructions},
    sample::{Measurement, SampleRecords},
    store::handicap::Handicap,
};
use generator::GENERATOR_VERSION;
use serde_json::Value;
use spec::RunSpec;
use variant::{StoreKind, Variant};
use workload::file;

use super::message::{
    Answer, ErrorKind, Load, Loaded, PROTOCOL, ProgramFacts, Request, Sampled, WorkloadForm,
};
use crate::{
    figures::{
        cells::{self, CellSamples, ns},
        claims::{self, ClaimInputs},
        counters,
        facts::{self, AskedKeys},
    },
    machine::environment,
    run::{
        measure::{KnownCosts, Measured, Measuring, Unmeasured},
        minimal,
        plan::{self, Machine, PlannedCell},
        prepare::{self, Databases, InUse, StoreOpener},
        session::Session,
    },
    terminal::{self, Code, Failure, Progress, ProgressForm, WithExitCode, exit::fail},
};

/// Environment variable with the nanoseconds that are added to each read of the memory store. It is
/// for tests of a gate, and not for measurements.
const SLOW_READ: &str = "STRESS_SLOW_READ_NS";
/// Environment variable that makes each sample read one key twice, if it is `1`. It is for tests of
/// a gate, too.
const READ_TWICE: &str = "STRESS_READ_ONE_TWICE";

/// Answers the requests of standard input on standard output.
pub fn serve() -> Result<Code, Failure> {
    // Counting begins before other threads start: those that run already would not be counted.
    allocations::begin();
    instructions::begin();
    let handicap = handicap().with_exit_code(Code::Usage)?;
    let build = environment::build();
    send(&Answer::Hello(ProgramFacts {
        protocol: PROTOCOL,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        build_profile: Some(build.profile_in_words()),
        commit: build.commit,
        features: build.features,
        binary_hash: build.binary_hash,
        patched: environment::patched(),
        generator: GENERATOR_VERSION,
        executor: None,
        reads: WorkloadForm::File,
        slow_read_ns: ns(handicap.read_delay),
        reads_one_twice: handicap.reads_one_twice,
    }));
    let mut worker: Option<Worker> = None;
    for line in io::stdin().lock().lines() {
        let line =
            line.context("cannot read the request of the driver").with_exit_code(Code::Io)?;
        let answered = match serde_json::from_str(&line) {
            Ok(Request::Load(load)) => Worker::load(&load, handicap)
                .map(|loaded| Answer::Loaded(worker.insert(loaded).facts())),
            Ok(Request::Sample { variant }) => {
                loaded_worker(&mut worker).and_then(|worker| worker.sample(&variant))
            }
            Ok(Request::Judge { expects }) => {
                loaded_worker(&mut worker).and_then(|worker| worker.judge(&expects))
            }
            Ok(Request::Exit) => {
                send(&Answer::Bye);
                return Ok(Code::Fine);
            }
            Err(error) => Err(anyhow!("no message of worker protocol {PROTOCOL}: {error}"))
                .with_exit_code(Code::Usage),
        };
        send(&answered.unwrap_or_else(|failure| Answer::Error {
            error: ErrorKind::from(failure.code),
            message: failure.to_string(),
        }));
    }
    Ok(Code::Fine)
}

fn send(answer: &Answer) {
    let text = serde_json::to_string(answer);
    let text = text.unwrap_or_else(|e| panic!("answers have text keys only: {e}"));
    terminal::out(&(text + "\n"));
}

/// Returns the worker, or the error that nothing is loaded.
fn loaded_worker(worker: &mut Option<Worker>) -> Result<&mut Worker, Failure> {
    worker.as_mut().context("nothing is loaded: ask `load` first").with_exit_code(Code::Usage)
}

/// Returns the known slowdowns that environment variables ask for.
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

/// A loaded workload with its samples.
struct Worker {
    run: LoadedRun,
    cells: Vec<WorkerCell>,
}

/// A cell with its samples so far.
struct WorkerCell {
    planned: PlannedCell,
    samples: CellSamples,
    known_costs: KnownCosts,
}

/// The facts that all cells share, and the open stores.
struct LoadedRun {
    session: Session,
    settings: RunSpec,
    machine: Machine,
    data_dir: Option<PathBuf>,
    handicap: Handicap,
    keys: AskedKeys,
    progress: Progress,
}

impl Worker {
    fn load(load: &Load, handicap: Handicap) -> Result<Self, Failure> {
        if load.protocol != PROTOCOL {
            fail!(
                Code::Usage,
                "the driver speaks worker protocol {}, this stress {PROTOCOL}",
                load.protocol
            );
        }
        let settings = minimal::run_of_pairs(&load.run).with_exit_code(Code::Usage)?;
        let is_memory = settings.stores.iter().all(|store| *store == StoreKind::Memory);
        if !handicap.is_none() && !is_memory {
            fail!(Code::Usage, "{SLOW_READ} and {READ_TWICE} are for the memory store only");
        }
        // The driver has checked the file by the reference, so only samples are compared with its
        // expected outcome.
        let workload = file::read(&load.workload).with_exit_code(Code::Io)?;
        let progress = Progress::new(ProgressForm::Lines);
        let session = prepare::session(workload, &settings, &progress)?;
        let machine = Machine::this();
        let cells = plan::cells(&settings, &machine).into_iter().map(|planned| WorkerCell {
            planned,
            samples: CellSamples::default(),
            known_costs: KnownCosts::new(),
        });
        let cells = cells.collect();
        let mut run = LoadedRun {
            keys: AskedKeys::of(session.workload()),
            data_dir: load.data_dir.clone(),
            session,
            settings,
            machine,
            handicap,
            progress,
        };
        // States are built now, however long it takes, and not in the first sample.
        for store in run.settings.stores.clone() {
            run.open(store)?;
            run.session.close_files();
        }
        Ok(Self { run, cells })
    }

    fn facts(&self) -> Loaded {
        let cells = self.cells.iter();
        Loaded {
            digest: self.run.session.workload().digest().to_string(),
            variants: cells.clone().map(|cell| cell.planned.name()).collect(),
            thread_counts: cells.map(|cell| cell.planned.busy_count()).collect(),
        }
    }

    fn index(&self, variant: &str) -> Result<usize, Failure> {
        let index = self.cells.iter().position(|cell| cell.planned.name() == variant);
        let index = index.with_context(|| {
            let names: Vec<_> = self.cells.iter().map(|cell| cell.planned.name()).collect();
            format!("no variant {variant}: there are {}", names.join(", "))
        });
        index.with_exit_code(Code::Usage)
    }

    /// Takes one sample, and closes its store after it. Only one process at a time uses a state on
    /// disk, and another worker may be next.
    fn sample(&mut self, variant: &str) -> Result<Answer, Failure> {
        let index = self.index(variant)?;
        let (run, WorkerCell { planned, samples, known_costs }) =
            (&mut self.run, &mut self.cells[index]);
        let store_index = run.open(planned.store)?;
        let measuring = run.measuring(planned, store_index);
        let measurement = correct(&planned.variant, measuring.measure(known_costs))?;
        samples.add(&measuring.input(run.keys, None), &measurement);
        let facts = samples.last().map(serde_json::to_value);
        let facts = facts.transpose().with_exit_code(Code::Io)?.unwrap_or(Value::Null);
        let (workload, unique_keys) = (run.session.workload(), run.keys.declared.count());
        let counters = counters::of(workload, &planned.variant, unique_keys, &measurement);
        run.session.close_files();
        Ok(Answer::Sample(Box::new(Sampled {
            variant: variant.to_owned(),
            wall_ns: ns(measurement.executed.wall),
            cpu_ns: measurement.process.usage.map(|usage| ns(usage.user + usage.system)),
            counters,
            facts,
        })))
    }

    /// Judges claims on all samples so far.
    fn judge(&mut self, expects: &[String]) -> Result<Answer, Failure> {
        let expects = minimal::expects(expects).with_exit_code(Code::Usage)?;
        let run = &mut self.run;
        let sampled = self.cells.iter().filter(|cell| !cell.samples.is_empty());
        let warm_up = cells::left_out_count(sampled.clone().map(|cell| &cell.samples));
        let mut cells = Vec::new();
        for WorkerCell { planned, samples, .. } in sampled {
            let store_index = run.open(planned.store)?;
            // The driver measures the device once for all workers, as that takes seconds.
            let input = run.measuring(planned, store_index).input(run.keys, None);
            cells.push(samples.cell(&input, warm_up));
            run.session.close_files();
        }
        let work = facts::workload(run.session.workload(), Vec::new());
        let cache = run.settings.cache;
        let inputs = ClaimInputs { workload: &work, cells: &cells, databases: &[], cache };
        let judged = claims::judge(&expects, None, &inputs);
        Ok(Answer::Judged { expects: serde_json::to_value(judged).with_exit_code(Code::Io)? })
    }
}

impl LoadedRun {
    /// Opens the store unless it is open, and returns its index among the open stores.
    fn open(&mut self, store: StoreKind) -> Result<usize, Failure> {
        let mut open = self.session.stores().iter();
        if let Some(index) = open.position(|open| open.kind() == store) {
            return Ok(index);
        }
        let workload = self.session.workload();
        let opener = StoreOpener {
            databases: Databases { dir: self.data_dir.as_deref(), in_use: InUse::Refuse },
            genesis: &workload.genesis,
            layout: workload.layout,
            scenario: &workload.scenario,
            machine: &self.machine,
            progress: &self.progress,
        };
        let opened = if self.handicap.is_none() {
            opener.open(store, &self.settings)?
        } else {
            Box::new(opener.memory(&self.settings)?.with_handicap(self.handicap))
        };
        self.session.add(opened);
        Ok(self.session.stores().len() - 1)
    }

    /// Returns the settings of a sample of `cell`. `store_index` is that of its open store.
    fn measuring(&self, cell: &PlannedCell, store_index: usize) -> Measuring<'_> {
        Measuring {
            session: &self.session,
            work: self.session.work(),
            asked_before_share: None,
            store_index,
            variant: cell.variant,
            cache: self.settings.cache,
            signatures: None,
            trace: None,
            records: SampleRecords::None,
            prepare: None,
            core_count: self.machine.core_count,
            progress: &self.progress,
        }
    }
}

/// Returns the measurement of a sample that equals the reference. A wrong sample is an error.
fn correct(
    variant: &Variant,
    measured: Result<Measured, Unmeasured>,
) -> Result<Measurement, Failure> {
    let name = variant.to_string();
    match measured {
        Ok(Measured { measurement: Some(measurement), differences, .. })
            if differences.is_empty() =>
        {
            Ok(measurement)
        }
        Ok(Measured { differences, .. }) => {
            let differences: Vec<_> = differences.iter().map(|d| d.line(&name)).collect();
            fail!(Code::Disagree, "{}", differences.join("; "))
        }
        Err(Unmeasured::Cancelled) => {
            Err(EngineError::Cancelled).context(name).with_exit_code(Code::Interrupted)
        }
        Err(Unmeasured::Failed(error)) => Err(error.context(name)).with_exit_code(Code::Io),
    }
}
