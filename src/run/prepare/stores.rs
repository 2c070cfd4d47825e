//! Opens the stores of a run: from the keys of `[run]` to formats, settings and open stores. A
//! missing state is built first.

use std::{env, path::Path, thread, time::Duration};

use anyhow::anyhow;
use executor::{
    state::{BuiltState, StateError, StateFormat, StateSpec, Watch},
    store::{
        Store,
        flat::{FlatFormat, FlatSettings, FlatStore},
        mdbx::{MdbxFormat, MdbxSettings, MdbxStore},
        memory::MemoryStore,
        redis::{Credentials, RedisError, RedisInput, RedisStore},
        rocksdb::{self, Filter, PPM, RocksFormat, RocksSettings, RocksStore},
    },
    tries,
};
use spec::RunSpec;
use variant::{StoreKind, TrieForm};
use workload::{Genesis, Layout};

use super::data_dir::data_dir;
use crate::{
    machine::environment,
    run::plan::Machine,
    terminal::{Code, Failure, Progress, WithExitCode, exit::fail, interrupt},
};

/// Polling interval for the end of another process's use of a state.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// The environment variable with the user of a Redis Cluster.
const REDIS_USER: &str = "STRESS_REDIS_USER";
/// The environment variable with the password of a Redis Cluster.
const REDIS_PASSWORD: &str = "STRESS_REDIS_PASSWORD";

/// A store in memory may take the free memory of the machine divided by this number.
const MEMORY_SHARE: u64 = 2;

/// Reaction to a state that another process uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InUse {
    /// End with an error that names the process.
    Refuse,
    /// Print a note, and wait until the state is free.
    Wait,
}

/// The directory of states, and the reaction to states in use.
#[derive(Clone, Copy, Debug)]
pub struct Databases<'a> {
    /// The directory, if the user names one.
    pub dir: Option<&'a Path>,
    /// Reaction to a state that another process uses.
    pub in_use: InUse,
}

/// The settings by which a run builds and opens a store: all keys of the run that affect the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreSettings {
    /// A store in memory.
    Memory {
        /// Form of the stored nodes of tries.
        trie: TrieForm,
    },
    Rocksdb {
        /// Format of the files.
        format: RocksFormat,
        /// Settings for opening and reading the files.
        settings: RocksSettings,
    },
    Mdbx {
        /// Format of the file.
        format: MdbxFormat,
        /// Settings for commits.
        settings: MdbxSettings,
    },
    /// A flat file.
    Flat {
        /// Format of the files.
        format: FlatFormat,
        /// Settings for reads and commits.
        settings: FlatSettings,
    },
    /// A Redis Cluster.
    Redis {
        /// Addresses of the cluster's nodes. Empty: the nodes are started on this host.
        addresses: Vec<String>,
    },
}

impl StoreSettings {
    /// Returns the settings of `store` for `run` on `machine`.
    pub fn of(store: StoreKind, run: &RunSpec, machine: &Machine) -> Self {
        let (durability, tries) = (run.commit, tries::trie_format(run.trie));
        match store {
            StoreKind::Memory => Self::Memory { trie: run.trie },
            StoreKind::Rocksdb => {
                Self::Rocksdb { format: rocks_format(run), settings: rocks_settings(run, machine) }
            }
            StoreKind::Mdbx => Self::Mdbx {
                format: MdbxFormat { slots: run.mdbx.storage, tries },
                settings: MdbxSettings { durability },
            },
            StoreKind::Redis => Self::Redis { addresses: run.redis_addresses.clone() },
            StoreKind::Flat => {
                let settings = FlatSettings { durability, ..FlatSettings::default() };
                Self::Flat { format: FlatFormat { tries }, settings }
            }
        }
    }
}

/// Opens stores over a state.
#[derive(Clone, Copy, Debug)]
pub struct StoreOpener<'a> {
    /// The directory of states.
    pub databases: Databases<'a>,
    /// The recipe of the state.
    pub genesis: &'a Genesis,
    /// Layout of the rows' keys.
    pub layout: Layout,
    /// The scenario that needs the state, for the list of databases.
    pub scenario: &'a str,
    pub machine: &'a Machine,
    /// Shows the progress of long steps.
    pub progress: &'a Progress,
}

impl StoreOpener<'_> {
    /// Opens the store of this kind with the settings of `run`.
    pub fn open(&self, kind: StoreKind, run: &RunSpec) -> Result<Box<dyn Store>, Failure> {
        if run.trie != TrieForm::Nothing && self.layout == Layout::Plain {
            fail!(
                Code::Usage,
                "run.trie = {}: rows of this workload have the plain layout, which has no trie; take \
                 a workload with state.layout = hashed",
                run.trie
            );
        }
        Ok(match StoreSettings::of(kind, run, self.machine) {
            StoreSettings::Memory { .. } => Box::new(self.memory(run)?),
            StoreSettings::Rocksdb { format, settings } => {
                rocksdb_options(run)?;
                let store = RocksStore::open(self.state(&format)?, settings);
                Box::new(store.with_exit_code(Code::Io)?)
            }
            StoreSettings::Mdbx { format, settings } => {
                let store = MdbxStore::open(self.state(&format)?, settings);
                Box::new(store.with_exit_code(Code::Io)?)
            }
            StoreSettings::Flat { format, settings } => {
                let store = FlatStore::open(self.state(&format)?, settings);
                Box::new(store.with_exit_code(Code::Io)?)
            }
            StoreSettings::Redis { addresses } => Box::new(self.redis(&addresses)?),
        })
    }

    /// Builds the store in memory with the settings of `run`.
    pub fn memory(&self, run: &RunSpec) -> Result<MemoryStore, Failure> {
        let stage = self.progress.stage("building the state in memory", 0);
        let limit_bytes = memory_limit_bytes();
        let store = MemoryStore::build(self.genesis, tries::trie_format(run.trie), limit_bytes);
        stage.finish();
        store.with_exit_code(Code::Usage)
    }

    /// Opens the store in the Redis Cluster at `addresses`, or in a cluster that is started on this
    /// host.
    fn redis(&self, addresses: &[String]) -> Result<RedisStore, Failure> {
        let var = |name| env::var(name).ok().filter(|value: &String| !value.is_empty());
        let credentials = Credentials { user: var(REDIS_USER), password: var(REDIS_PASSWORD) };
        let dir = data_dir(self.databases.dir)?;
        let input = RedisInput {
            genesis: self.genesis,
            layout: self.layout,
            addresses,
            credentials: &credentials,
            data_dir: dir.path(),
            limit_bytes: memory_limit_bytes(),
            threads: self.machine.core_count.get(),
        };
        let watch = Watch { progress: self.progress, cancel: interrupt::flag() };
        // The started servers end with this process, in an orderly way if possible.
        let _hold = interrupt::hold();
        let opened = RedisStore::open(&input, &watch);
        self.progress.clear();
        opened.map_err(|error| match error {
            RedisError::State(StateError::Cancelled) => {
                Failure { code: Code::Interrupted, error: error.into() }
            }
            RedisError::TooLarge { .. } => Failure { code: Code::Usage, error: error.into() },
            error => Failure { code: Code::Io, error: error.into() },
        })
    }

    /// Opens the state of the store of this kind, if it exists and no process uses it. No state is
    /// built.
    pub fn existing(&self, kind: StoreKind, run: &RunSpec) -> Option<BuiltState> {
        let open = |format: &dyn StateFormat| {
            let dir = data_dir(self.databases.dir).ok()?;
            dir.open_complete(&self.spec(format).name(), &[format]).ok()
        };
        match StoreSettings::of(kind, run, self.machine) {
            StoreSettings::Memory { .. } | StoreSettings::Redis { .. } => None,
            StoreSettings::Rocksdb { format, .. } => open(&format),
            StoreSettings::Mdbx { format, .. } => open(&format),
            StoreSettings::Flat { format, .. } => open(&format),
        }
    }

    fn spec<'s>(&'s self, format: &'s dyn StateFormat) -> StateSpec<'s> {
        StateSpec {
            genesis: self.genesis,
            layout: self.layout,
            format,
            scenario: self.scenario,
            threads: self.machine.core_count.get(),
        }
    }

    /// Opens the state in `format`, and builds it first if it does not exist.
    fn state(&self, format: &dyn StateFormat) -> Result<BuiltState, Failure> {
        let spec = self.spec(format);
        let dir = data_dir(self.databases.dir)?;
        let mut is_told = false;
        let built = loop {
            let built = dir.open_or_build(&spec, self.progress, interrupt::flag());
            let (Err(StateError::InUse { name, holder }), InUse::Wait) =
                (&built, self.databases.in_use)
            else {
                break built;
            };
            if interrupt::happened() {
                break Err(StateError::Cancelled);
            }
            if !is_told {
                self.progress.note(&format!("waiting for state {name}: {holder} uses it"));
            }
            is_told = true;
            thread::sleep(POLL_INTERVAL);
        };
        self.progress.clear();
        built.map_err(|error| match error {
            StateError::Cancelled => Failure { code: Code::Interrupted, error: error.into() },
            error => Failure { code: Code::Io, error: error.into() },
        })
    }
}

/// Returns the maximal number of bytes of a store in memory.
fn memory_limit_bytes() -> u64 {
    environment::memory_available_bytes().map_or(u64::MAX, |free| free / MEMORY_SHARE)
}

/// Returns the settings that shape the files of `RocksDB`.
fn rocks_format(run: &RunSpec) -> RocksFormat {
    let spec = &run.rocksdb;
    RocksFormat {
        file_bytes: spec.file_bytes,
        // The reader of scenarios allows at most a mebibyte.
        block_bytes: u32::try_from(spec.block_bytes).unwrap_or(u32::MAX),
        filter: Filter::new(spec.filter, spec.filter_bits),
        index: spec.index,
        aged_ppm: (spec.aged_share * f64::from(PPM)).round() as u32,
        tries: tries::trie_format(run.trie),
    }
}

/// Returns the settings for opening and reading the files of `RocksDB`.
fn rocks_settings(run: &RunSpec, machine: &Machine) -> RocksSettings {
    let spec = &run.rocksdb;
    let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    RocksSettings {
        access: spec.access,
        block_cache_bytes: bytes(spec.block_cache_bytes),
        warm_cache_bytes: bytes(spec.warm_cache_bytes),
        read_method: machine.read_method(run),
        multi_get_key_count: spec.multi_get_key_count as usize,
        open_file_count: spec.open_file_count,
        durability: run.commit,
        checksums: run.checksums,
        cache_fill: run.cache_fill,
        compaction: spec.compaction,
        write_buffer_bytes: bytes(spec.write_buffer_bytes()),
        options: spec.options.clone(),
    }
}

/// Refuses options that `RocksDB` does not know, or whose values it does not take.
///
/// # Errors
/// An option is not valid. The error names the option.
pub fn rocksdb_options(run: &RunSpec) -> Result<(), Failure> {
    rocksdb::check_options(&run.rocksdb.options).map_err(|reason| {
        let error = anyhow!(
            "run.rocksdb.options: RocksDB does not take \"{}\": {reason}; its names and values are those of \
             its file OPTIONS",
            run.rocksdb.options
        );
        Failure { code: Code::Usage, error }
    })
}

#[cfg(test)]
mod tests {
    use spec::RocksdbSpec;
    use variant::{Compaction, FileAccess, FilterKind, IndexShape, ReadMethod};

    use super::*;

    #[test]
    fn the_defaults_of_a_scenario_are_those_of_the_store() {
        let run = crate::run::minimal::default_run(&[]).unwrap();
        assert_eq!(rocks_format(&run), RocksFormat::default());
        // How many keys are asked for at once is chosen for the machine.
        let machine = Machine::this();
        let read_method = machine.read_method(&run);
        let multi_get_key_count = run.rocksdb.multi_get_key_count as usize;
        let expected =
            RocksSettings { read_method, multi_get_key_count, ..RocksSettings::default() };
        assert_eq!(rocks_settings(&run, &machine), expected);
    }

    #[test]
    fn every_word_of_a_scenario_reaches_the_store() {
        let spec = RocksdbSpec {
            block_bytes: 3_900,
            filter: FilterKind::Ribbon,
            filter_bits: 12,
            index: IndexShape::Partitioned,
            file_bytes: 1 << 40,
            aged_share: 0.3,
            block_cache_bytes: 1 << 20,
            warm_cache_bytes: 2 << 20,
            access: FileAccess::Buffered,
            multi_get_key_count: 64,
            open_file_count: Some(20),
            compaction: Compaction::On,
            write_buffer: Some(1 << 20),
            options: "max_background_jobs=1".to_owned(),
        };
        let expected = RocksFormat {
            file_bytes: 1 << 40,
            block_bytes: 3_900,
            filter: Filter::new(FilterKind::Ribbon, 12),
            index: IndexShape::Partitioned,
            aged_ppm: 300_000,
            tries: tries::trie_format(TrieForm::RethLike),
        };
        let mut run = crate::run::minimal::default_run(&[]).unwrap();
        (run.rocksdb, run.read) = (spec, Some(ReadMethod::MultiGet));
        run.trie = TrieForm::RethLike;
        assert_eq!(rocks_format(&run), expected);
        let settings = rocks_settings(&run, &Machine::this());
        assert_eq!(settings.access, FileAccess::Buffered);
        assert_eq!((settings.block_cache_bytes, settings.warm_cache_bytes), (1 << 20, 2 << 20));
        assert_eq!(settings.read_method, ReadMethod::MultiGet);
        assert_eq!(settings.multi_get_key_count, 64);
        assert_eq!(settings.open_file_count, Some(20));
        assert_eq!((settings.compaction, settings.write_buffer_bytes), (Compaction::On, 1 << 20));
        assert_eq!(settings.options, "max_background_jobs=1");
    }
}
