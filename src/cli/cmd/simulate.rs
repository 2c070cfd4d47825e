//! `stress shard simulate`: predicts times of a workload on more shards of execution than this host
//! has.

use std::path::PathBuf;

use clap::Args;
use generator::describe::Detail;
use partition::simulate::Hosts;
use result::simulation::{SCHEMA, SimulatedRow, Simulation};
use spec::{RunSpec, ShardSpec};
use variant::Design;
use workload::Workload;

use crate::{
    cli::args::{Format, NamedWork, ScenarioArgs},
    describe,
    figures::facts,
    machine::environment,
    run::{
        minimal,
        plan::Machine,
        prepare::{self, Databases, DeviceFigures, InUse, Preparation},
        session::Session,
    },
    simulate::{self, MEASURED_STORE, Predictions},
    terminal::{Code, Failure, Progress, WithExitCode, exit::fail},
};

const SIMULATE_EXAMPLES: &str = "\
Examples:
  stress shard simulate dapps --transactions 50k
  stress shard simulate dapps --shards 1,2,4 --threads 2 --one-host 2
  stress shard simulate dapps --shards 1,2,4 --threads 8 --set run.shard_delay_us=0,500
  stress shard simulate transfers --tx-time 1.6ms --set run.partitioner=fanout
  stress shard simulate dapps --check results/        beside measured rows of the same workload

Costs are measured here: CPU times of transactions and messages on one shard. docs/shards.md has the model
and its error.";

/// Default numbers of shards, up to that of Aptos' Shardines article.
const SHARDS: &str = "1,2,4,8,16,30";

/// Default number of threads of a shard, as in that article.
const THREADS: &str = "60";

/// Default number of samples of each measurement.
const SAMPLE_COUNT: u32 = 3;

/// Arguments of `stress shard simulate`.
#[derive(Debug, Args)]
#[command(after_help = SIMULATE_EXAMPLES)]
pub struct SimulateArgs {
    /// The scenario; its shards, threads, partitioners and delays are simulated [default: 1 to 30
    /// shards of 60 threads]
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// A workload file that `stress generate` or `stress import` wrote
    #[arg(long, value_name = "FILE")]
    pub workload: Option<PathBuf>,
    /// Time of each transaction, instead of measured times: 1.6ms, 250us
    #[arg(long, value_name = "TIME")]
    pub tx_time: Option<String>,
    /// Simulate all processes on one host of so many cores, instead of a host for each process
    /// with a core for each thread
    #[arg(long, value_name = "CORES")]
    pub one_host: Option<u32>,
    /// Also predict the rows of a result of the same workload that shards on this host executed,
    /// and show the error
    #[arg(long, value_name = "RESULT")]
    pub check: Option<PathBuf>,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

/// Simulates the workload of the arguments.
pub fn simulate(args: SimulateArgs) -> Result<Code, Failure> {
    let args = args.with_defaults();
    if args.one_host == Some(0) {
        fail!(Code::Usage, "--one-host 0: there must be a core; give 1 or more");
    }
    let tx_time = args.tx_time.as_deref();
    let tx_time = tx_time.map(|text| spec::fine_duration("--tx-time", text)).transpose();
    let tx_time = tx_time.with_exit_code(Code::Usage)?;
    let progress = Progress::new(args.format.progress_form());
    let (workload, run) = args.work(&progress)?;
    let description = describe::touched_keys(&workload, Detail::Accesses, &progress)?;
    let core_count = Machine::this().core_count;
    let (ways, thread_counts) = (run.shards.ways(), run.thread_counts.clone());
    let session = session(workload, &run, &progress)?;
    let sample_count = run.sample_count.unwrap_or(SAMPLE_COUNT);
    let costs = simulate::measure(&session, sample_count, &progress)?;
    let workload = session.workload();
    let stage = progress.stage("simulating", 0);
    let mut predictions = Predictions::new(workload, &description, &costs)?;
    let checks = match &args.check {
        Some(path) => {
            let digest = facts::workload(workload, Vec::new()).digest;
            simulate::checked(path, &digest, &predictions, core_count)?
        }
        None => Vec::new(),
    };
    if let Some(time) = tx_time {
        predictions =
            Predictions::new(workload, &description, &costs.with_tx_time(time, workload))?;
    }
    let mut rows = Vec::new();
    for thread_count in &thread_counts {
        for way in &ways {
            rows.extend(predictions.rows(way, *thread_count, args.hosts(*thread_count))?);
        }
    }
    stage.finish();
    progress.clear();
    let hosts = args.hosts(rows.first().map_or(1, |row| row.thread_count as u32));
    let (coordinator_core_count, host_core_count) = match hosts {
        Hosts::Apart { coordinator_core_count } => (Some(coordinator_core_count), None),
        Hosts::One { core_count } => (None, Some(core_count)),
    };
    let simulation = Simulation {
        schema: SCHEMA,
        tool: facts::tool(&environment::build()),
        workload: facts::workload(workload, Vec::new()),
        core_count: core_count.get() as u64,
        coordinator_core_count: coordinator_core_count.map(u64::from),
        host_core_count: host_core_count.map(u64::from),
        costs: predictions.costs().clone(),
        assumptions: simulate::assumptions(hosts),
        rows: with_speedups(rows),
        checks,
    };
    args.format.print(&simulation, report::simulation)?;
    Ok(Code::Fine)
}

/// Adds to each row its speed-up over one shard with the same settings.
fn with_speedups(mut rows: Vec<SimulatedRow>) -> Vec<SimulatedRow> {
    let rates: Vec<_> = rows.iter().map(|row| one_shard_rate(&rows, row)).collect();
    for (row, rate) in rows.iter_mut().zip(rates) {
        row.speedup = rate.filter(|rate| *rate > 0.0).map(|rate| row.tx_per_s / rate);
    }
    rows
}

/// Returns the transactions a second of one shard with the settings of a row.
fn one_shard_rate(rows: &[SimulatedRow], row: &SimulatedRow) -> Option<f64> {
    let settings = |row: &SimulatedRow| (row.thread_count, row.sharding, row.has_list);
    let is_base =
        |other: &&SimulatedRow| other.shard_count == 1 && settings(other) == settings(row);
    rows.iter().find(is_base).map(|base| base.tx_per_s)
}

impl SimulateArgs {
    /// Fills in the default numbers of shards and threads, and the design `batched-io`, if the user
    /// gives none.
    fn with_defaults(mut self) -> Self {
        let ScenarioArgs { work, how, .. } = &mut self.scenario;
        for (key, value, default) in
            [("run.shards=", &mut how.shards, SHARDS), ("run.threads=", &mut how.threads, THREADS)]
        {
            if !work.set.iter().any(|set| set.trim_start().starts_with(key)) {
                value.get_or_insert_with(|| default.to_owned());
            }
        }
        how.design.get_or_insert_with(|| Design::BatchedIo.name().to_owned());
        self
    }

    /// Returns the workload, and the settings of its run.
    fn work(&self, progress: &Progress) -> Result<(Workload, RunSpec), Failure> {
        match self.scenario.work(self.workload.as_deref())? {
            Some(NamedWork::File(path, run)) => {
                Ok((prepare::read_workload(&path, progress)?, *run))
            }
            Some(NamedWork::Scenario(scenario)) => {
                Ok((prepare::generate(&scenario, progress)?, scenario.run))
            }
            None => fail!(
                Code::Usage,
                "nothing to simulate: name a scenario, as in `stress shard simulate dapps`, or a file \
                 (--workload FILE); `stress list` shows the scenarios"
            ),
        }
    }

    fn hosts(&self, thread_count: u32) -> Hosts {
        match self.one_host {
            Some(core_count) => Hosts::One { core_count },
            None => Hosts::Apart { coordinator_core_count: thread_count },
        }
    }
}

/// Makes a session of the workload in memory, with one shard.
fn session(workload: Workload, run: &RunSpec, progress: &Progress) -> Result<Session, Failure> {
    let minimal = minimal::default_run(&[]).with_exit_code(Code::Usage)?;
    let addresses = run.shards.addresses.clone();
    let run = RunSpec {
        designs: vec![Design::BatchedIo],
        stores: vec![MEASURED_STORE],
        shards: ShardSpec { counts: vec![1], addresses, ..ShardSpec::default() },
        ..minimal
    };
    let preparation = Preparation {
        run: &run,
        scenario: None,
        draw_seed: 0,
        databases: Databases { dir: None, in_use: InUse::Refuse },
        device: &DeviceFigures::Unmeasured,
        machine: &Machine::this(),
        progress,
    };
    Ok(preparation.prepare(workload)?.session)
}
