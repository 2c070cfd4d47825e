//! `stress doctor io`: measures raw random reads of the stores, beside the device's rate. It
//! measures points one after the other: a point is a depth and a number of threads.

use anyhow::{Result, bail};
use clap::Args;
use spec::Override;
use variant::StoreKind;

use result::io::{IoResult, IoState, ORDER, SCHEMA};

use crate::{
    cli::args::{DataDirArgs, ResultArgs, flag_overrides, key_value, name_list, typed_words},
    figures::facts,
    io::{measuring::Measuring, plan::IoPlan},
    machine::{self, environment},
    terminal::{self, Code, Failure, Progress, WithExitCode, interrupt},
};

fn store_help() -> String {
    let stores = name_list::<StoreKind>();
    format!("Stores to read, separated by commas: {stores} [default: {}]", StoreKind::Rocksdb)
}

const EXAMPLES: &str = "\
Examples:
  stress doctor io --store rocksdb,mdbx --depth 1,16,64
  stress doctor io --read multi-get --threads 1,2 --set state.present=0";

/// Arguments of `stress doctor io`.
#[derive(Debug, Default, Args)]
#[command(after_help = EXAMPLES)]
pub struct IoArgs {
    /// Stores to read.
    #[arg(long, value_name = "LIST", help = store_help())]
    pub store: Option<String>,
    /// get: a thread asks for one key after the other; multi-get: for many in a call [default: get]
    #[arg(long, value_name = "METHOD")]
    pub read: Option<String>,
    /// Reads under way: with get as many threads, with multi-get keys in a call
    /// [default: 1,4,16,64,256]
    #[arg(long, value_name = "LIST")]
    pub depth: Option<String>,
    /// Threads; with get the same as --depth, with multi-get [default: 1]
    #[arg(long, value_name = "LIST")]
    pub threads: Option<String>,
    /// Slots of the state
    #[arg(long, value_name = "COUNT", default_value = "32M")]
    pub slots: String,
    /// Time for all points, which share it: 60s [default: 3s a point]
    #[arg(long, value_name = "TIME")]
    pub budget: Option<String>,
    /// Seed of the draw, of keys and of the device's blocks; the state stays the same
    /// [default: another each time]
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<String>,
    /// A key of the state or the store: state.present=0.5 (share of keys that exist),
    /// state.layout=plain, run.rocksdb.block=8KiB, run.mdbx.storage=dupsort
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Where state databases and baselines are
    #[command(flatten)]
    pub data_dir: DataDirArgs,
    /// Where the result goes
    #[command(flatten)]
    pub result: ResultArgs,
}

/// Prefixes of keys that affect raw reads.
const SETTINGS: [&str; 4] = ["run.rocksdb.", "run.mdbx.", "state.present", "state.layout"];

impl IoArgs {
    /// Returns the plan of the options.
    ///
    /// # Errors
    /// An option is not valid.
    pub fn plan(&self) -> Result<IoPlan> {
        IoPlan::new(self.overrides()?, self.depth.as_deref(), self.budget.as_deref())
    }

    /// Returns the overrides of the scenario's keys that the options set.
    ///
    /// # Errors
    /// A `--set` names a key that raw reads do not have.
    fn overrides(&self) -> Result<Vec<Override>> {
        let mut all = flag_overrides(&[
            ("store", "run.stores", &self.store),
            ("read", "run.read", &self.read),
            ("threads", "run.threads", &self.threads),
            ("seed", "seed", &self.seed),
            ("slots", "state.slots", &Some(self.slots.clone())),
        ]);
        for set in &self.set {
            let given = key_value("--set", set, "run.rocksdb.block=8KiB")?;
            if !SETTINGS.iter().any(|table| given.key.starts_with(table)) {
                bail!(
                    "--set {set}: raw reads have no such key; they have run.rocksdb.*, run.mdbx.*, \
                     state.present and state.layout"
                );
            }
            all.push(given);
        }
        Ok(all)
    }
}

/// Measures the points of the options.
pub fn io(args: &IoArgs) -> Result<Code, Failure> {
    let started_unix_s = machine::unix_s();
    let plan = args.plan().with_exit_code(Code::Usage)?;
    let progress = Progress::new(terminal::progress_form());
    // The environment is probed before the state is built, so that no warning of load is about the
    // load of this program.
    let environment = args.data_dir.environment();
    let out = args.result.json_file("io")?;
    let warnings = environment::warnings(&environment).iter().map(ToString::to_string).collect();
    let result = IoResult {
        schema: SCHEMA,
        tool: facts::tool(&environment.build),
        command: typed_words(),
        started_unix_s,
        environment,
        state: IoState {
            rows: plan.family().count,
            key_layout: plan.layout.name().to_owned(),
            key_bytes: plan.layout.slot_key_bytes() as u64,
            value_bytes: 32,
            present_share: plan.present_share,
        },
        read: plan.read,
        seed: plan.seed,
        seconds: plan.time.as_secs_f64(),
        order: ORDER.to_owned(),
        stores: Vec::new(),
        interrupted: false,
        warnings,
    };
    let data_dir = args.data_dir.asked();
    let mut measuring = Measuring { plan: &plan, data_dir, progress: &progress, out, result };
    let measured = measuring.measure();
    progress.clear();
    let result = &mut measuring.result;
    result.interrupted = interrupt::happened() || measured.is_err();
    result.environment = result.environment.at_end();
    let is_interrupted = result.interrupted;
    let has_points = result.stores.iter().any(|store| !store.points.is_empty());
    if has_points || measured.is_ok() {
        args.result.format.print(result, report::io_table)?;
        if let Some(path) = measuring.save()? {
            terminal::note(&format!("wrote {}", path.display()));
        }
    }
    // After an interrupt, the points so far are the result.
    match measured {
        Err(failure) if failure.code != Code::Interrupted || !has_points => Err(failure),
        _ if is_interrupted => Ok(Code::Interrupted),
        _ => Ok(Code::Fine),
    }
}
