//! The device under the states of a sweep. `running` calls it around each cell, if one process runs
//! the cells one after the other. The first cell with a state on disk measures the device. The
//! sweep measures again at the end, and between cells if the last measurement is old.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Result;
use report::units;
use result::sweep::{Ceiling, SweepDevice, drift};

use super::dir::SweepDir;
use crate::{
    machine,
    run::prepare::shared::{self, MeasureTime},
    terminal::{self, Progress},
};

/// End of the note if only this process has measured the device for the sweep.
const ONCE: &str = "measured once, for all cells";
/// End of the note if earlier processes have measured the device for the sweep.
const AGAIN: &str = "measured again, as the sweep goes on; finished cells keep their figures";
/// The device is measured again before a cell if the last measurement is at least this old.
const REMEASURE_AGE: Duration = Duration::from_secs(1_800);

/// The device during a sweep.
#[derive(Debug)]
pub struct WatchedDevice<'a> {
    /// The file in which the cells share the device's figures.
    path: PathBuf,
    /// The directory of states, if the user names one.
    data_dir: Option<&'a Path>,
    /// Whether an earlier process of this sweep has measured the device.
    was_measured: bool,
    /// Whether a note about the first measurement was printed.
    is_noted: bool,
}

impl<'a> WatchedDevice<'a> {
    /// Begins with a device that this process has not measured, for the sweep in `dir`.
    ///
    /// # Errors
    /// The figures of earlier processes cannot be read.
    pub fn new(dir: &SweepDir, data_dir: Option<&'a Path>) -> Result<Self> {
        let was_measured = !dir.devices()?.is_empty();
        let path = dir.device_path(machine::unix_s());
        Ok(Self { path, data_dir, was_measured, is_noted: false })
    }

    /// Returns the file in which the cells share the device's figures.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Measures the device again, if the last measurement is old.
    ///
    /// # Errors
    /// The figures cannot be read or written.
    pub fn before_cell(&self) -> Result<()> {
        match shared::read(&self.path)? {
            Some(known) if is_due(&known, machine::unix_s()) => {
                self.measure(known, MeasureTime::Between)
            }
            _ => Ok(()),
        }
    }

    /// Prints a note with the device's figures, once: after the cell that measured them.
    ///
    /// # Errors
    /// The figures cannot be read.
    pub fn after_cell(&mut self) -> Result<()> {
        if self.is_noted {
            return Ok(());
        }
        if let Some(known) = shared::read(&self.path)? {
            terminal::note(&note(&known, if self.was_measured { AGAIN } else { ONCE }));
            self.is_noted = true;
        }
        Ok(())
    }

    /// Returns the duration of the measurement that follows the last cell.
    ///
    /// # Errors
    /// The figures cannot be read.
    pub fn end_time(&self) -> Result<Duration> {
        let known = shared::read(&self.path)?;
        Ok(known.as_ref().map_or(Duration::ZERO, shared::time_again))
    }

    /// Measures the device again, after the last cell.
    ///
    /// # Errors
    /// The figures cannot be read or written.
    pub fn end(&self) -> Result<()> {
        match shared::read(&self.path)? {
            Some(known) => self.measure(known, MeasureTime::End),
            None => Ok(()),
        }
    }

    fn measure(&self, mut known: SweepDevice, time: MeasureTime) -> Result<()> {
        let progress = Progress::new(terminal::progress_form());
        shared::measure_again(&mut known, time, self.data_dir, &progress);
        progress.clear();
        shared::write(&self.path, &known)?;
        // At the end, the joined results report a drift.
        if let (MeasureTime::Between, Some(doubt)) = (time, drift([&known])) {
            terminal::note(&format!("warning: {doubt}"));
        }
        Ok(())
    }
}

/// Formats the note on the device's first figures. `repetition`: [`ONCE`] or [`AGAIN`].
fn note(known: &SweepDevice, repetition: &str) -> String {
    let figure = match (known.ceilings.first(), &known.device.reason) {
        (Some(ceiling), _) => {
            format!("{} random reads/s of 4 KiB at most", units::number(ceiling.ceiling_iops))
        }
        (None, Some(reason)) => format!("not measured ({reason})"),
        (None, None) => "not measured".to_owned(),
    };
    format!("device: {figure}; {repetition}")
}

/// Whether the last measurement is so old that another one is due.
fn is_due(known: &SweepDevice, now_unix_s: u64) -> bool {
    known.ceilings.last().is_some_and(|Ceiling { measured_unix_s, .. }| {
        now_unix_s.saturating_sub(*measured_unix_s) >= REMEASURE_AGE.as_secs()
    })
}

#[cfg(test)]
mod tests {
    use result::sweep::DEVICE_SCHEMA;

    use super::*;

    fn measured(ceilings: &[(u64, f64)]) -> SweepDevice {
        let ceiling = |&(measured_unix_s, ceiling_iops): &(u64, f64)| Ceiling {
            measured_unix_s,
            ceiling_iops,
        };
        SweepDevice {
            schema: DEVICE_SCHEMA,
            measured_unix_s: 100,
            state: "rocksdb-0123456789abcdef".to_owned(),
            draw_seed: 9,
            read_count: 40_000,
            device: result::example::typical().device.unwrap(),
            ceilings: ceilings.iter().map(ceiling).collect(),
        }
    }

    #[test]
    fn half_an_hour_later_the_device_is_measured_again_and_never_where_it_cannot_be() {
        let known = measured(&[(100, 100.0), (1_000, 100.0)]);
        assert!(!is_due(&known, 2_799) && is_due(&known, 2_800));
        assert!(!is_due(&known, 0), "a clock that was set back");
        assert!(!is_due(&measured(&[]), u64::MAX));
    }

    #[test]
    fn the_user_is_told_once_what_was_measured_or_why_not_and_that_it_is_done_again() {
        let known = measured(&[(100, 70_512.0)]);
        let once = note(&known, ONCE);
        assert!(once.contains("70.5k random reads/s") && once.contains("measured once"), "{once}");
        assert!(note(&known, AGAIN).contains("measured again, as the sweep goes on"));
        let mut unknown = measured(&[]);
        unknown.device.reason = Some("/x lies in memory".to_owned());
        assert!(note(&unknown, ONCE).contains("not measured (/x lies in memory)"));
    }
}
