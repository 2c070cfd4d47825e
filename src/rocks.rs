//! RocksDB as a scenario asks for it: from the words of `[run]` and `[run.rocksdb]` to the store's
//! format and settings, and to an open store.

use executor::{
    state::{DataDir, StateError, StateSpec},
    store::rocksdb::{
        DirectReads, Durability, Filter, IndexShape, PPM, ReadMethod, RocksFormat, RocksSettings,
        RocksStore,
    },
};
use generator::scenario::{
    AccessName, CommitName, FilterName, IndexName, ReadName, RocksdbSpec, RunSpec,
};

use crate::{
    exit::{Code, Failure, OrExit},
    interrupt,
    progress::Progress,
};

/// What shapes the files.
pub fn format(spec: &RocksdbSpec) -> RocksFormat {
    let bits = spec.filter_bits;
    RocksFormat {
        file_bytes: spec.file_bytes,
        // At most a mebibyte, as the scenario's reader sees to.
        block_bytes: u32::try_from(spec.block_bytes).unwrap_or(u32::MAX),
        filter: match spec.filter {
            FilterName::Nothing => Filter::Nothing,
            FilterName::Bloom => Filter::Bloom { bits },
            FilterName::Ribbon => Filter::Ribbon { bits },
        },
        index: match spec.index {
            IndexName::Whole => IndexShape::Whole,
            IndexName::Partitioned => IndexShape::Partitioned,
        },
        aged_ppm: (spec.aged_share * f64::from(PPM)).round() as u32,
    }
}

/// How the files are opened and read.
pub fn settings(run: &RunSpec) -> RocksSettings {
    let spec = &run.rocksdb;
    let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    RocksSettings {
        direct_reads: match spec.access {
            AccessName::Direct => DirectReads::WherePossible,
            AccessName::Buffered => DirectReads::Never,
        },
        block_cache_bytes: bytes(spec.block_cache_bytes),
        warm_cache_bytes: bytes(spec.warm_cache_bytes),
        read_method: match run.read {
            ReadName::Get => ReadMethod::Get,
            ReadName::MultiGet => ReadMethod::MultiGet { batch: spec.multi_get_key_count as usize },
        },
        open_file_count: spec.open_file_count,
        durability: match run.commit {
            CommitName::Logged => Durability::Logged,
            CommitName::Synced => Durability::Synced,
            CommitName::Unlogged => Durability::Unlogged,
        },
    }
}

/// Opens the state that `spec` names, built first where there is none.
pub fn open(
    dir: &DataDir,
    spec: &StateSpec<'_>,
    settings: RocksSettings,
    progress: &Progress,
) -> Result<RocksStore, Failure> {
    let built = dir.open_or_build(spec, progress, interrupt::flag());
    progress.clear();
    let built = built.map_err(|error| match error {
        StateError::Cancelled => Failure { code: Code::Interrupted, error: error.into() },
        error => Failure { code: Code::Io, error: error.into() },
    })?;
    RocksStore::open(built, settings).or_exit(Code::Io)
}

#[cfg(test)]
mod tests {
    use generator::scenario::RocksdbSpec;

    use super::*;

    #[test]
    fn the_defaults_of_a_scenario_are_those_of_the_store() {
        let run = crate::facts::default_run(&[]).unwrap();
        assert_eq!(format(&RocksdbSpec::default()), RocksFormat::default());
        assert_eq!(settings(&run), RocksSettings::default());
    }

    #[test]
    fn every_word_of_a_scenario_reaches_the_store() {
        let spec = RocksdbSpec {
            block_bytes: 3_900,
            filter: FilterName::Ribbon,
            filter_bits: 12,
            index: IndexName::Partitioned,
            file_bytes: 1 << 40,
            aged_share: 0.3,
            block_cache_bytes: 1 << 20,
            warm_cache_bytes: 2 << 20,
            access: AccessName::Buffered,
            multi_get_key_count: 64,
            open_file_count: Some(20),
        };
        let expected = RocksFormat {
            file_bytes: 1 << 40,
            block_bytes: 3_900,
            filter: Filter::Ribbon { bits: 12 },
            index: IndexShape::Partitioned,
            aged_ppm: 300_000,
        };
        assert_eq!(format(&spec), expected);
        let mut run = crate::facts::default_run(&[]).unwrap();
        (run.rocksdb, run.read) = (spec, ReadName::MultiGet);
        let settings = settings(&run);
        assert_eq!(settings.direct_reads, DirectReads::Never);
        assert_eq!((settings.block_cache_bytes, settings.warm_cache_bytes), (1 << 20, 2 << 20));
        assert_eq!(settings.read_method, ReadMethod::MultiGet { batch: 64 });
        assert_eq!(settings.open_file_count, Some(20));
    }
}
