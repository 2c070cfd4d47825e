//! Readers of a store: how they read, and how many there are where the scenario does not say.

use std::{num::NonZeroUsize, thread};

use executor::store::rocksdb::{IoUring, READS_AT_ONCE, io_uring_state};
use spec::RunSpec;
use variant::{Io, ReadMethod, StoreKind, Waiting};

/// Threads that are tried where nothing is said: enough to keep a disk busy with one read each.
pub(super) const MANY_THREADS: usize = 64;
/// Reading threads that are tried for batched I/O where nothing is said and each waits for one
/// read.
const IO_THREADS: [usize; 2] = [16, MANY_THREADS];
/// Reading threads per core where each has [`READS_AT_ONCE`] reads under way: while some wait,
/// others work. On 2 cores 4, 8 and 16 threads were alike.
const READERS_PER_CORE: usize = 4;

/// Facts beside the scenario that decide which cells there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Cores that may be used.
    pub core_count: NonZeroUsize,
    /// Whether `MultiGet` reads through `io_uring`.
    pub io_uring: IoUring,
}

/// Numbers of reading threads that are tried, and the reads that each has under way.
struct Readers {
    counts: Vec<usize>,
    under_way: UnderWay,
}

enum UnderWay {
    One,
    /// [`READS_AT_ONCE`].
    Several,
    Hundreds,
}

impl Machine {
    /// This one.
    pub fn this() -> Self {
        let core_count = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self { core_count, io_uring: io_uring_state() }
    }

    /// Whether the kernel takes reads through `io_uring`.
    pub(super) fn has_io_uring(&self) -> bool {
        self.io_uring == IoUring::Available
    }

    /// How a reader of RocksDB asks for many keys: together where `io_uring` makes that worth it,
    /// unless the scenario says otherwise.
    pub fn read_method(&self, run: &RunSpec) -> ReadMethod {
        match self.has_io_uring() {
            true => run.read.unwrap_or(ReadMethod::MultiGet),
            false => run.read.unwrap_or(ReadMethod::Get),
        }
    }

    /// Whether a reader of RocksDB has several reads under way.
    fn reads_together(&self, run: &RunSpec) -> bool {
        self.has_io_uring() && self.read_method(run) == ReadMethod::MultiGet
    }

    /// Reading threads where the scenario does not say how many.
    pub(super) fn io_threads(&self, run: &RunSpec, store: StoreKind) -> Vec<usize> {
        self.readers(run, store).counts
    }

    fn readers(&self, run: &RunSpec, store: StoreKind) -> Readers {
        let cores = self.core_count.get();
        let (counts, under_way) = match store.waiting() {
            Waiting::Never => (vec![1], UnderWay::One),
            // Several a core, so that one computes while others wait.
            Waiting::ManyAtOnce => (
                vec![cores, READERS_PER_CORE * cores],
                match !store.has_device() || self.has_io_uring() {
                    true => UnderWay::Hundreds,
                    false => UnderWay::One,
                },
            ),
            // At most as many reads as that many executing threads have; the true number is
            // measured.
            Waiting::ByMethod if self.reads_together(run) => (
                vec![MANY_THREADS / READS_AT_ONCE, MANY_THREADS.min(READERS_PER_CORE * cores)],
                UnderWay::Several,
            ),
            Waiting::ByMethod | Waiting::OneByOne => (IO_THREADS.to_vec(), UnderWay::One),
        };
        Readers { counts, under_way }
    }

    /// The choices for batched reads where the scenario has none, with reasons: one sentence
    /// each.
    pub fn choices(&self, run: &RunSpec) -> Vec<String> {
        let mut choices = Vec::new();
        if !self.has_io_uring() && run.fiber_counts.iter().any(|count| *count > 1) {
            choices.push("fibers = 1, as there is no io_uring".to_owned());
        }
        if !run.designs.iter().any(|design| matches!(design.preset().io, Io::Batched(_))) {
            return choices;
        }
        for store in run.stores.iter().filter(|store| store.waiting() != Waiting::Never) {
            if store.waiting() == Waiting::ByMethod && run.read.is_none() {
                choices.push(match self.has_io_uring() {
                    true => format!("{store}: read = multi-get, as the kernel has io_uring"),
                    false => format!("{store}: read = get, as there is no io_uring"),
                });
            }
            if run.io_thread_counts.is_empty() {
                choices.push(self.reader_choice(run, *store));
            }
        }
        choices
    }

    /// The sentence on the number of readers.
    fn reader_choice(&self, run: &RunSpec, store: StoreKind) -> String {
        let (Readers { counts, under_way }, cores) = (self.readers(run, store), self.core_count);
        let reason = match under_way {
            UnderWay::Several => format!(
                "{READERS_PER_CORE} a core on {cores} cores, each with {READS_AT_ONCE} reads under \
                 way, and as many as have {MANY_THREADS} together"
            ),
            UnderWay::Hundreds => format!(
                "1 and {READERS_PER_CORE} a core on {cores} cores, each with hundreds of reads \
                 under way"
            ),
            UnderWay::One => "each waits for one read, so their number is the depth".to_owned(),
        };
        format!("{store}: io_threads = {counts:?}: {reason}")
    }
}
