//! The device under the states of a sweep whose cells run one after the other. Its first cell on disk measures
//! it. It is measured again between cells, if that was long ago, and at the end.

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
    run::prepare::shared::{self, Moment},
    terminal::{self, Progress},
};

/// The figures are of this process.
const ONCE: &str = "measured once, for all cells";
/// Earlier processes have measured the device for this sweep.
const AGAIN: &str = "measured again, as the sweep goes on; finished cells keep their figures";
/// Age of the last measurement from which on the device is measured again before the next cell.
const AGE_MAX: Duration = Duration::from_secs(1_800);

/// The device while a sweep runs.
#[derive(Debug)]
pub struct WatchedDevice<'a> {
    /// The file by which the cells share its figures.
    path: PathBuf,
    /// Where the states are, if the user said so.
    data_dir: Option<&'a Path>,
    /// Whether it was measured by an earlier process, of this sweep too.
    was_measured: bool,
    /// Whether the user was told of the first measurement.
    is_told: bool,
}

impl<'a> WatchedDevice<'a> {
    /// The device under the states of the sweep in `dir`, not yet measured by this process.
    ///
    /// # Errors
    /// The figures of earlier processes cannot be read.
    pub fn new(dir: &SweepDir, data_dir: Option<&'a Path>) -> Result<Self> {
        let was_measured = !dir.devices()?.is_empty();
        let path = dir.device_path(machine::unix_s());
        Ok(Self { path, data_dir, was_measured, is_told: false })
    }

    /// The file by which the cells share its figures.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Measures it again if the last time is long ago.
    ///
    /// # Errors
    /// The figures cannot be read or written.
    pub fn before_cell(&self) -> Result<()> {
        match shared::read(&self.path)? {
            Some(known) if is_due(&known, machine::unix_s()) => {
                self.measure(known, Moment::Between)
            }
            _ => Ok(()),
        }
    }

    /// Tells the user the figures that the first cell on disk measured.
    ///
    /// # Errors
    /// The figures cannot be read.
    pub fn after_cell(&mut self) -> Result<()> {
        if self.is_told {
            return Ok(());
        }
        if let Some(known) = shared::read(&self.path)? {
            terminal::note(&told(&known, if self.was_measured { AGAIN } else { ONCE }));
            self.is_told = true;
        }
        Ok(())
    }

    /// The time that its last measurement takes, after the last cell.
    ///
    /// # Errors
    /// The figures cannot be read.
    pub fn end_time(&self) -> Result<Duration> {
        let known = shared::read(&self.path)?;
        Ok(known.as_ref().map_or(Duration::ZERO, shared::time_again))
    }

    /// Measures it again, after the last cell.
    ///
    /// # Errors
    /// The figures cannot be read or written.
    pub fn end(&self) -> Result<()> {
        match shared::read(&self.path)? {
            Some(known) => self.measure(known, Moment::End),
            None => Ok(()),
        }
    }

    fn measure(&self, mut known: SweepDevice, at: Moment) -> Result<()> {
        let progress = Progress::new(terminal::look());
        shared::measure_again(&mut known, at, self.data_dir, &progress);
        progress.clear();
        shared::write(&self.path, &known)?;
        // At the end the joined results say so.
        if let (Moment::Between, Some(doubt)) = (at, drift([&known])) {
            terminal::note(&format!("warning: {doubt}"));
        }
        Ok(())
    }
}

/// The figures of the first cell on disk, for the user.
fn told(known: &SweepDevice, times: &str) -> String {
    let figure = match (known.ceilings.first(), &known.device.reason) {
        (Some(ceiling), _) => {
            format!("{} random reads/s of 4 KiB at most", units::number(ceiling.ceiling_iops))
        }
        (None, Some(reason)) => format!("not measured ({reason})"),
        (None, None) => "not measured".to_owned(),
    };
    format!("device: {figure}; {times}")
}

/// Whether the last measurement is so old that there is to be another.
fn is_due(known: &SweepDevice, now_unix_s: u64) -> bool {
    known.ceilings.last().is_some_and(|Ceiling { measured_unix_s, .. }| {
        now_unix_s.saturating_sub(*measured_unix_s) >= AGE_MAX.as_secs()
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
        let once = told(&known, ONCE);
        assert!(once.contains("70.5k random reads/s") && once.contains("measured once"), "{once}");
        assert!(told(&known, AGAIN).contains("measured again, as the sweep goes on"));
        let mut unknown = measured(&[]);
        unknown.device.reason = Some("/x lies in memory".to_owned());
        assert!(told(&unknown, ONCE).contains("not measured (/x lies in memory)"));
    }
}
