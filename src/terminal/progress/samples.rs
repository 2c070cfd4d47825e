//! The lines of a log on samples: one every few seconds, of the sample that has just ended, and one of
//! the last sample. A run of thousands of short samples has a short log.

use std::{
    mem,
    time::{Duration, Instant},
};

use report::units;

/// Samples that ended, and those that a log has no line of.
#[derive(Debug)]
pub(super) struct SampleLog {
    /// Shortest time between two lines.
    interval: Duration,
    written_at: Option<Instant>,
    /// The line of the last sample, as long as it is not written.
    unwritten: Option<String>,
    /// Samples before that one, after the last line.
    skipped_count: u64,
}

impl SampleLog {
    pub(super) const fn new(interval: Duration) -> Self {
        Self { interval, written_at: None, unwritten: None, skipped_count: 0 }
    }

    /// Takes in the end of a sample. Returns its line where one is due.
    pub(super) fn ended(&mut self, line: String) -> Option<String> {
        self.skipped_count += u64::from(self.unwritten.replace(line).is_some());
        let is_due = self.written_at.is_none_or(|at| at.elapsed() >= self.interval);
        if is_due { self.last_line() } else { None }
    }

    /// The line of the last sample, unless it is written.
    pub(super) fn last_line(&mut self) -> Option<String> {
        let line = self.unwritten.take()?;
        self.written_at = Some(Instant::now());
        match mem::take(&mut self.skipped_count) {
            0 => Some(line),
            count => {
                let samples = units::things(count, "sample");
                Some(format!("{line}; {samples} before it without a line"))
            }
        }
    }
}
