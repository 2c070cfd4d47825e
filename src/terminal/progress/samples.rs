//! Lines of a log about samples: one line every few seconds, about the sample that has just ended,
//! and one about the last sample. So a run of thousands of short samples has a short log.

use std::{
    mem,
    time::{Duration, Instant},
};

use report::units;

/// The line of the sample that ended last, and the number of samples without a line in the log.
#[derive(Debug)]
pub(super) struct SampleLog {
    /// Minimal time between two lines.
    interval: Duration,
    written_at: Option<Instant>,
    /// The line of the last sample, until it is written.
    unwritten: Option<String>,
    /// Number of samples without a line between the last written line and `unwritten`.
    skipped_count: u64,
}

impl SampleLog {
    pub(super) const fn new(interval: Duration) -> Self {
        Self { interval, written_at: None, unwritten: None, skipped_count: 0 }
    }

    /// Records the end of a sample. Returns its line if one is due.
    pub(super) fn ended(&mut self, line: String) -> Option<String> {
        self.skipped_count += u64::from(self.unwritten.replace(line).is_some());
        let is_due = self.written_at.is_none_or(|at| at.elapsed() >= self.interval);
        if is_due { self.last_line() } else { None }
    }

    /// Returns the line of the last sample, unless it is written already.
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
