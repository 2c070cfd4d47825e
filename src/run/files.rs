//! Writes the files of a run, during the run and at its end. Keeps the result so far for an
//! interrupt that ends the process at once.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use report::RunDirectory;
use result::{HistogramLog, RunResult};

use crate::terminal::interrupt;

/// Minimal time between two written results of a run that goes on: each result is written as a
/// whole.
const WRITE_INTERVAL: Duration = Duration::from_secs(5);

/// Minimal time between two kept results, as a multiple of the time to keep one: keeping takes at
/// most 2 % of the time.
const KEEP_INTERVAL_FACTOR: u32 = 50;

/// The files of a run.
#[derive(Debug)]
pub struct Files {
    out: Option<RunDirectory>,
    /// The result and its logs.
    written: Vec<PathBuf>,
    /// Files of extra samples.
    extra: Vec<PathBuf>,
    /// Time of the last written result.
    last_written: Option<Instant>,
    /// Time of the last result that was kept for an interrupt, and the time to keep it.
    kept: Option<(Instant, Duration)>,
}

impl Files {
    /// Begins without files. Results go to `out`.
    pub const fn new(out: Option<RunDirectory>) -> Self {
        Self { out, written: Vec::new(), extra: Vec::new(), last_written: None, kept: None }
    }

    /// Writes a result in place of the earlier result, if the user wants files.
    ///
    /// # Errors
    /// The result cannot be written.
    pub fn write(&mut self, result: &RunResult, logs: &[HistogramLog]) -> anyhow::Result<()> {
        if let Some(out) = &mut self.out {
            self.written = out.write(result, logs)?;
        }
        self.last_written = Some(Instant::now());
        Ok(())
    }

    /// Adds the files of extra samples.
    pub fn add_extra(&mut self, files: Vec<PathBuf>) {
        self.extra.extend(files);
    }

    /// Keeps a result for an interrupt that ends the run at once: `show` then prints the result.
    /// `begun`: time at which the work on the result began.
    pub fn keep(&mut self, begun: Instant, result: RunResult, show: fn(&RunResult)) {
        interrupt::keep(move || show(&result));
        self.note_kept(begun);
    }

    /// Records that a result was kept just now, by work that began at `begun`.
    fn note_kept(&mut self, begun: Instant) {
        self.kept = Some((Instant::now(), begun.elapsed()));
    }

    /// Whether the result so far is to be kept now. To bound the cost, it is kept after each long
    /// sample, but only after a few of the short ones.
    pub fn keeps_now(&self) -> bool {
        self.kept.is_none_or(|(at, cost)| keeps(at.elapsed(), cost))
    }

    /// Whether the result so far is to be written now.
    pub fn is_due(&self) -> bool {
        is_due(self.last_written.map(|written| written.elapsed()))
    }

    /// Returns the paths of all files, the result first.
    pub fn into_paths(mut self) -> Vec<PathBuf> {
        self.written.append(&mut self.extra);
        self.written
    }
}

/// Whether a result is to be kept. `age`: age of the last kept result. `cost`: time to keep it.
fn keeps(age: Duration, cost: Duration) -> bool {
    age >= cost * KEEP_INTERVAL_FACTOR
}

/// Whether a result is to be written. `age`: age of the last written result, if any.
fn is_due(age: Option<Duration>) -> bool {
    age.is_none_or(|age| age >= WRITE_INTERVAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sample_and_every_long_one_is_kept_and_short_ones_at_no_cost() {
        let mut files = Files::new(None);
        assert!(files.keeps_now());
        files.note_kept(Instant::now());
        assert!(files.kept.is_some());
        let ms = Duration::from_millis;
        assert!(keeps(ms(600), ms(2)) && keeps(ms(100), ms(2)));
        assert!(!keeps(ms(99), ms(2)) && !keeps(ms(1), ms(2)));
    }

    #[test]
    fn the_first_sample_is_written_at_once_and_then_one_every_few_seconds() {
        assert!(is_due(None) && is_due(Some(WRITE_INTERVAL)));
        assert!(!is_due(Some(Duration::ZERO)) && !is_due(Some(WRITE_INTERVAL / 2)));
    }
}
