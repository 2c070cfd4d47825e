//! The files that a run writes, while it goes on and at its end.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use report::Out;
use result::{HistogramLog, RunResult};

/// Least time between two results of a run that goes on: each is written whole.
const WRITE_INTERVAL: Duration = Duration::from_secs(5);

/// The files of a run.
#[derive(Debug)]
pub struct Files {
    out: Option<Out>,
    /// The result and its logs.
    written: Vec<PathBuf>,
    /// Those of extra samples.
    more: Vec<PathBuf>,
    /// When a result was last written.
    last: Option<Instant>,
}

impl Files {
    /// None yet; results go to `out`.
    pub const fn new(out: Option<Out>) -> Self {
        Self { out, written: Vec::new(), more: Vec::new(), last: None }
    }

    /// Whether results are written at all.
    pub const fn are_wanted(&self) -> bool {
        self.out.is_some()
    }

    /// Writes a result in place of the one before.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&mut self, result: &RunResult, logs: &[HistogramLog]) -> anyhow::Result<()> {
        if let Some(out) = &mut self.out {
            self.written = out.write(result, logs)?;
            self.last = Some(Instant::now());
        }
        Ok(())
    }

    /// Adds the files of extra samples.
    pub fn add(&mut self, more: Vec<PathBuf>) {
        self.more.extend(more);
    }

    /// Whether a result of what is finished so far is to be written now.
    pub fn is_due(&self) -> bool {
        self.are_wanted() && is_due(self.last.map(|last| last.elapsed()))
    }

    /// Paths of all files, the result first.
    pub fn into_paths(mut self) -> Vec<PathBuf> {
        self.written.append(&mut self.more);
        self.written
    }
}

/// Whether a result is to be written when the last one, if any, is so old.
fn is_due(age: Option<Duration>) -> bool {
    age.is_none_or(|age| age >= WRITE_INTERVAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_round_is_written_at_once_and_then_one_every_few_seconds() {
        assert!(is_due(None) && is_due(Some(WRITE_INTERVAL)));
        assert!(!is_due(Some(Duration::ZERO)) && !is_due(Some(WRITE_INTERVAL / 2)));
    }
}
