//! The files that a run writes, while it goes on and at its end.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use report::Out;
use result::{HistogramLog, RunResult};

use crate::terminal::interrupt;

/// Least time between two results of a run that goes on: each is written whole.
const WRITE_INTERVAL: Duration = Duration::from_secs(5);

/// Times that keeping a result takes until the next one is kept.
const KEEP_INTERVAL_FACTOR: u32 = 50;

/// The files of a run.
#[derive(Debug)]
pub struct Files {
    out: Option<Out>,
    /// The result and its logs.
    written: Vec<PathBuf>,
    /// Files of extra samples.
    more: Vec<PathBuf>,
    /// When a result was last written.
    last: Option<Instant>,
    /// When one was last kept for a run that cannot stop in time, and how long that took.
    kept: Option<(Instant, Duration)>,
}

impl Files {
    /// None yet; results go to `out`.
    pub const fn new(out: Option<Out>) -> Self {
        Self { out, written: Vec::new(), more: Vec::new(), last: None, kept: None }
    }

    /// Writes a result in place of the one before, if results are written.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&mut self, result: &RunResult, logs: &[HistogramLog]) -> anyhow::Result<()> {
        if let Some(out) = &mut self.out {
            self.written = out.write(result, logs)?;
        }
        self.last = Some(Instant::now());
        Ok(())
    }

    /// Adds the files of extra samples.
    pub fn add(&mut self, more: Vec<PathBuf>) {
        self.more.extend(more);
    }

    /// Keeps a result, which was begun at `begun`, for an interrupt that ends the run at once: `show` prints it.
    pub fn keep(&mut self, begun: Instant, result: RunResult, show: fn(&RunResult)) {
        interrupt::keep(move || show(&result));
        self.note_kept(begun);
    }

    fn note_kept(&mut self, begun: Instant) {
        self.kept = Some((Instant::now(), begun.elapsed()));
    }

    /// Whether the finished part is to be kept now: after every sample that takes long, and
    /// after short ones so seldom that it costs nothing.
    pub fn keeps_now(&self) -> bool {
        self.kept.is_none_or(|(at, cost)| keeps(at.elapsed(), cost))
    }

    /// Whether a result of the finished part is to be written now, if results are.
    pub fn is_due(&self) -> bool {
        is_due(self.last.map(|last| last.elapsed()))
    }

    /// Paths of all files, the result first.
    pub fn into_paths(mut self) -> Vec<PathBuf> {
        self.written.append(&mut self.more);
        self.written
    }
}

/// Whether a result is to be kept when the last one is so old, and keeping it took so long.
fn keeps(age: Duration, cost: Duration) -> bool {
    age >= cost * KEEP_INTERVAL_FACTOR
}

/// Whether a result is to be written when the last one, if any, is so old.
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
