//! Chooses the readers of a store: their method of reading, and their default number.

use std::{num::NonZeroUsize, thread};

use executor::store::rocksdb::{IoUring, READS_AT_ONCE, io_uring_state};
use spec::RunSpec;
use variant::{Io, ReadMethod, StoreKind, Waiting};

/// A default number of threads: with one read each, enough to keep a disk busy.
pub(super) const MANY_THREADS: usize = 64;
/// Default numbers of reading threads for batched I/O, if each thread has one read under way.
const IO_THREADS: [usize; 2] = [16, MANY_THREADS];
/// Default number of reading threads per core, if each thread has several reads under way. While
/// some threads wait, others work. On 2 cores, 4, 8 and 16 threads were equally fast.
const READERS_PER_CORE: usize = 4;

/// Facts of the machine on which the cells of a run depend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Number of cores that the process may use.
    pub core_count: NonZeroUsize,
    /// Whether `MultiGet` reads through `io_uring`.
    pub io_uring: IoUring,
}

/// Default numbers of reading threads, and the reads that each thread has under way.
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
    /// Returns the facts of this machine.
    pub fn this() -> Self {
        let core_count = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self { core_count, io_uring: io_uring_state() }
    }

    /// Whether the kernel takes reads through `io_uring`.
    pub(super) fn has_io_uring(&self) -> bool {
        self.io_uring == IoUring::Available
    }

    /// Returns how a reader of RocksDB reads several keys. By default it reads them together if the
    /// kernel has `io_uring`.
    pub fn read_method(&self, run: &RunSpec) -> ReadMethod {
        let default = if self.has_io_uring() { ReadMethod::MultiGet } else { ReadMethod::Get };
        run.read.unwrap_or(default)
    }

    /// Returns the default numbers of reading threads.
    pub(super) fn io_threads(&self, run: &RunSpec, store: StoreKind) -> Vec<usize> {
        self.readers(run, store).counts
    }

    fn readers(&self, run: &RunSpec, store: StoreKind) -> Readers {
        let cores = self.core_count.get();
        let reads_together = self.has_io_uring() && self.read_method(run) == ReadMethod::MultiGet;
        let (counts, under_way) = match store.waiting() {
            Waiting::Never => (vec![1], UnderWay::One),
            // There are several threads per core, so that one thread computes while others wait.
            Waiting::ManyAtOnce => (
                vec![cores, READERS_PER_CORE * cores],
                match !store.has_device() || self.has_io_uring() {
                    true => UnderWay::Hundreds,
                    false => UnderWay::One,
                },
            ),
            // The first number of threads has [`MANY_THREADS`] reads under way together, as many as
            // [`MANY_THREADS`] executing threads. The second number is per core. A run tries both.
            Waiting::ByMethod if reads_together => (
                vec![MANY_THREADS / READS_AT_ONCE, MANY_THREADS.min(READERS_PER_CORE * cores)],
                UnderWay::Several,
            ),
            Waiting::ByMethod | Waiting::OneByOne => (IO_THREADS.to_vec(), UnderWay::One),
        };
        Readers { counts, under_way }
    }

    /// Returns the defaults that were chosen for batched reads, with reasons: one sentence each.
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

    /// Returns the sentence on the default number of readers.
    fn reader_choice(&self, run: &RunSpec, store: StoreKind) -> String {
        let (Readers { counts, under_way }, cores) = (self.readers(run, store), self.core_count);
        let reason = match under_way {
            UnderWay::Several => format!(
                "as many as have {MANY_THREADS} reads under way together, and {READERS_PER_CORE} a \
                 core on {cores} cores, each with {READS_AT_ONCE} reads under way"
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
