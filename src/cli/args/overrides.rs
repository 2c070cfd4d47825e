//! Options that override keys of a scenario: keys of the work, and keys of the run.

use clap::{Arg, Args};
use spec::Override;
use variant::{CacheMode, Design, Named, StoreKind};

const REDIS_HELP: &str =
    "redis starts its servers on this host unless `run.redis_addresses` says where they are";

/// Returns the names of all values of an axis, for its help.
pub fn name_list<T: Named>() -> String {
    T::names().join(", ")
}

/// Lets an option take a negative number as its value, so that the error names the option's key.
fn takes_negative(option: Arg) -> Arg {
    let has_value = option.get_action().takes_values();
    option.allow_negative_numbers(has_value)
}

/// Overrides of keys of the work.
#[derive(Debug, Default, Args)]
#[command(
    next_help_heading = "The work (overrides keys of the scenario)",
    mut_args(takes_negative)
)]
pub struct WorkArgs {
    /// Gas per block: 640M, 2.2G
    #[arg(long, value_name = "GAS")]
    pub gas: Option<String>,
    /// Gas limit of a block's header, instead of gas: execution gas and state gas each fill it
    #[arg(long, value_name = "GAS", conflicts_with = "gas")]
    pub limit: Option<String>,
    /// Transactions per block, instead of gas
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["gas", "limit"])]
    pub transactions: Option<String>,
    /// Number of blocks
    #[arg(long, value_name = "COUNT")]
    pub blocks: Option<String>,
    /// Consecutive blocks that are run as one
    #[arg(long, value_name = "COUNT")]
    pub batch: Option<String>,
    /// Slots of the state: 128M
    #[arg(long, value_name = "COUNT")]
    pub slots: Option<String>,
    /// amsterdam, bpo2, bpo1 or osaka
    #[arg(long, value_name = "FORK")]
    pub fork: Option<String>,
    /// The seed
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<String>,
    /// Override any key: --set state.slots=50M
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// Overrides of keys of the run.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "The run (lists are separated by commas)", mut_args(takes_negative))]
pub struct HowArgs {
    /// Designs.
    #[arg(long, value_name = "LIST", help = name_list::<Design>())]
    pub design: Option<String>,
    /// Stores.
    #[arg(long, value_name = "LIST", help = format!("{}; {REDIS_HELP}", name_list::<StoreKind>()))]
    pub store: Option<String>,
    /// Threads that execute; more than cores too [default: a few are tried]
    #[arg(long, value_name = "LIST")]
    pub threads: Option<String>,
    /// Shards that execute batched-io and block-stm, each a process of its own; started on this
    /// host unless `run.shard_addresses` says where they are. For `describe`: the number of shards
    /// to partition for
    #[arg(long, value_name = "LIST")]
    pub shards: Option<String>,
    /// Threads that only read: for batched-io, and to verify for full [default: a few are tried]
    #[arg(long, value_name = "LIST")]
    pub io_threads: Option<String>,
    /// Rows that also run as whole blocks, from bytes to a durable commit: all, one of each design,
    /// or none [default: one; of a gate and a sweep none]
    #[arg(long, value_name = "ROWS")]
    pub whole: Option<String>,
    /// Content of memory when a sample starts.
    #[arg(long, value_name = "MODE", help = name_list::<CacheMode>().replace(", ", " or "))]
    pub cache: Option<String>,
    /// Keys of the samples: fresh (other keys in each sample, so that a cache below this machine
    /// has few of them) or same (the scenario's in every sample) [default: fresh for cold samples
    /// on disks]
    #[arg(long, value_name = "KEYS")]
    pub keys: Option<String>,
    /// Number of databases to run on, each built from a seed of its own. Each gives one value; six
    /// or more give an interval [default: 1]
    #[arg(long, value_name = "COUNT")]
    pub databases: Option<String>,
    /// Samples of each cell (on each database), instead of a budget
    #[arg(long, value_name = "COUNT")]
    pub samples: Option<String>,
    /// Time for samples of all variants, such as 60s; the fastest get up to 1.75 times as much
    /// again, for intervals
    #[arg(long, value_name = "TIME")]
    pub budget: Option<String>,
}

impl WorkArgs {
    /// Returns the overrides, as if each were given by `--set`.
    ///
    /// # Errors
    /// A `--set` has no `=`.
    pub fn overrides(&self) -> Result<Vec<Override>, anyhow::Error> {
        let flags = [
            ("gas", "block.gas", &self.gas),
            ("limit", "block.limit", &self.limit),
            ("transactions", "block.transactions", &self.transactions),
            ("blocks", "block.blocks", &self.blocks),
            ("batch", "block.batch", &self.batch),
            ("slots", "state.slots", &self.slots),
            ("fork", "fork", &self.fork),
            ("seed", "seed", &self.seed),
        ];
        let mut all = flag_overrides(&flags);
        for set in &self.set {
            all.push(key_value("--set", set, "state.slots=50M")?);
        }
        Ok(all)
    }

    /// Returns the overrides for the run of a workload file. The work of the file is fixed, so they
    /// may set only keys of the run.
    ///
    /// # Errors
    /// An override sets a key of the work.
    pub fn beside_file(&self) -> Result<Vec<Override>, anyhow::Error> {
        let all = self.overrides()?;
        match all.iter().find(|given| !given.key.starts_with("run.")) {
            Some(given) => anyhow::bail!(
                "{}: the work of a workload file is fixed; generate another",
                given.origin
            ),
            None => Ok(all),
        }
    }
}

/// Returns the override that `option` gives as a key and its value. The error shows `example`.
///
/// # Errors
/// `text` has no `=`.
pub fn key_value(option: &str, text: &str, example: &str) -> Result<Override, anyhow::Error> {
    let Some((key, value)) = text.split_once('=') else {
        anyhow::bail!("{option} {text}: a key and a value are wanted, as in {option} {example}");
    };
    // The value may be in quotes, as in a scenario file.
    let quoted = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    Ok(Override::new(key, quoted.unwrap_or(value), format!("{option} {text}")))
}

impl HowArgs {
    /// Returns the overrides, as if each were given by `--set`.
    pub fn overrides(&self) -> Vec<Override> {
        flag_overrides(&[
            ("design", "run.designs", &self.design),
            ("store", "run.stores", &self.store),
            ("threads", "run.threads", &self.threads),
            ("shards", "run.shards", &self.shards),
            ("io-threads", "run.io_threads", &self.io_threads),
            ("cache", "run.cache", &self.cache),
            ("keys", "run.keys", &self.keys),
            ("databases", "run.databases", &self.databases),
            ("samples", "run.samples", &self.samples),
            ("budget", "run.budget", &self.budget),
            ("whole", "run.whole", &self.whole),
        ])
    }
}

/// Returns the overrides of those `flags` that have a value. A flag is its option's name, its key
/// and its value.
pub fn flag_overrides(flags: &[(&str, &str, &Option<String>)]) -> Vec<Override> {
    let given = flags.iter().filter_map(|(flag, key, value)| {
        let value = value.as_deref()?;
        Some(Override::new(*key, value, format!("--{flag} {value}")))
    });
    given.collect()
}
