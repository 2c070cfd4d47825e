//! `stress doctor io`: raw random reads of the stores, point after point, beside the device's rate.

use anyhow::{Result, bail};
use clap::Args;
use spec::Override;
use variant::StoreKind;

use result::io::{IoResult, IoState, ORDER, SCHEMA};

use crate::{
    cli::args::{DataDirArgs, ResultArgs, names, of_flags, pair, typed_words},
    figures::facts,
    io::{measuring::Measuring, plan::IoPlan},
    machine::{self, environment},
    terminal::{self, Code, Failure, Progress, WithExitCode, interrupt},
};

fn store_help() -> String {
    let stores = names::<StoreKind>();
    format!("Stores to read, separated by commas: {stores} [default: {}]", StoreKind::Rocksdb)
}

/// Arguments of `stress doctor io`.
#[derive(Debug, Default, Args)]
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
    /// Share of the requested keys that exist, 0 to 1
    #[arg(long, value_name = "SHARE", default_value = "1")]
    pub present: String,
    /// Slots of the state: 32M
    #[arg(long, value_name = "COUNT", default_value = "32M")]
    pub slots: String,
    /// Keys of rows: hashed (64 bytes) or plain (52 bytes) [default: hashed]
    #[arg(long, value_name = "LAYOUT")]
    pub key_layout: Option<String>,
    /// Seconds of each point
    #[arg(long, value_name = "SECONDS", default_value = "3")]
    pub seconds: String,
    /// Seed of the draw, of keys and of the device's blocks; the state stays the same
    /// [default: another each time]
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<String>,
    /// A setting of the store: --set run.rocksdb.block=8KiB, --set run.mdbx.storage=dupsort
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Where state databases and baselines are
    #[command(flatten)]
    pub data_dir: DataDirArgs,
    /// Where the result goes
    #[command(flatten)]
    pub result: ResultArgs,
}

/// The tables of a store's settings.
const SETTINGS: [&str; 2] = ["run.rocksdb.", "run.mdbx."];

impl IoArgs {
    /// The plan that they ask for.
    ///
    /// # Errors
    /// One that is not valid.
    pub fn plan(&self) -> Result<IoPlan> {
        IoPlan::new(self.overrides()?, self.depth.as_deref(), &self.seconds)
    }

    /// The options that are keys of a scenario.
    ///
    /// # Errors
    /// A `--set` that is no setting of a store.
    fn overrides(&self) -> Result<Vec<Override>> {
        let mut all = of_flags(&[
            ("store", "run.stores", &self.store),
            ("read", "run.read", &self.read),
            ("threads", "run.threads", &self.threads),
            ("key-layout", "state.layout", &self.key_layout),
            ("seed", "seed", &self.seed),
            ("present", "state.present", &Some(self.present.clone())),
            ("slots", "state.slots", &Some(self.slots.clone())),
        ]);
        for set in &self.set {
            let given = pair("--set", set, "run.rocksdb.block=8KiB")?;
            if !SETTINGS.iter().any(|table| given.key.starts_with(table)) {
                bail!(
                    "--set {set}: only a store's settings matter to raw reads, such as \
                     --set run.rocksdb.block=8KiB"
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
    let progress = Progress::new(terminal::look());
    // Before the state is built: the load that is warned of must not be our own.
    let environment = args.data_dir.environment();
    let out = args.result.json_out("io")?;
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
    let measured = measuring.all_stores();
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
    match measured {
        Err(failure) if failure.code != Code::Interrupted || !has_points => Err(failure),
        _ if is_interrupted => Ok(Code::Interrupted),
        _ => Ok(Code::Fine),
    }
}
