//! Writes of an execution: the space of the sample's files from batch to batch, and the store's counts at
//! the end.

use crate::{store::Sample, write_counters::WriteCounters};

/// Bytes of a sample's files, those that it shares with the state below it included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Space {
    /// Before the clock.
    pub before_bytes: u64,
    /// The most after any batch; a file that came and went within one is not seen.
    pub peak_bytes: u64,
    /// After the clock.
    pub after_bytes: u64,
}

/// The writes of an execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Writes {
    /// Bytes of the keys and values of all commits: rows, and nodes of tries.
    pub committed_bytes: u64,
    /// Counts of the store once the clock has stopped; `None` if it counts none.
    pub counters: Option<WriteCounters>,
    /// Compaction that was due when the last batch was committed, as the store estimates it.
    pub due_bytes: Option<u64>,
    /// Space of the files; `None` without files.
    pub space: Option<Space>,
}

impl Writes {
    /// Of a sample whose clock is about to start.
    pub(crate) fn begin<S: Sample>(sample: &S) -> Self {
        let space = sample.file_bytes().map(|bytes| Space {
            before_bytes: bytes,
            peak_bytes: bytes,
            after_bytes: bytes,
        });
        Self { space, ..Self::default() }
    }

    /// Looks at the space of the files.
    pub(crate) fn look<S: Sample>(&mut self, sample: &S) {
        if let (Some(space), Some(bytes)) = (&mut self.space, sample.file_bytes()) {
            space.after_bytes = bytes;
            space.peak_bytes = space.peak_bytes.max(bytes);
        }
    }

    /// Takes in the counts once the clock has stopped.
    pub(crate) fn end<S: Sample>(&mut self, sample: &S) {
        self.look(sample);
        self.counters = sample.write_counters();
    }
}
