//! Records the time that a sweep's cell spends on work that later cells share: a built state stays,
//! and the device's figures are shared. The cell reports the time in a file beside these figures.
//! After the cell, the sweep reads and removes this file. The time only serves an estimate, so no
//! error here ends a run.

use std::{fs, path::Path, time::Duration};

/// Ending of the file's name, in place of the ending of the device's figures.
const ENDING: &str = "once";

/// Time of one cell for work that later cells share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedTime {
    /// Time to build states on disk.
    pub building: Duration,
    /// Time to measure the device.
    pub measuring: Duration,
}

/// Adds to the reported time beside the device's figures at `device_path`. A run on several
/// databases prepares each of them.
pub fn add(device_path: &Path, more: SharedTime) {
    let before = read(device_path).unwrap_or_default();
    let building = before.building + more.building;
    let measuring = before.measuring + more.measuring;
    let text = format!("{} {}", building.as_nanos(), measuring.as_nanos());
    drop(fs::write(device_path.with_extension(ENDING), text));
}

/// Removes and returns the time that a cell has reported; zero if there is no report.
pub fn take(device_path: &Path) -> SharedTime {
    let once = read(device_path).unwrap_or_default();
    drop(fs::remove_file(device_path.with_extension(ENDING)));
    once
}

fn read(device_path: &Path) -> Option<SharedTime> {
    let text = fs::read_to_string(device_path.with_extension(ENDING)).ok()?;
    let (building, measuring) = text.split_once(' ')?;
    let [building, measuring] =
        [building, measuring].map(|ns| ns.parse().map(Duration::from_nanos));
    Some(SharedTime { building: building.ok()?, measuring: measuring.ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_all_databases_of_a_cell_are_told_together_and_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("device-1-2.json");
        assert_eq!(take(&path), SharedTime::default());
        let seconds = Duration::from_secs;
        add(&path, SharedTime { building: seconds(1), measuring: seconds(4) });
        add(&path, SharedTime { building: seconds(2), measuring: Duration::ZERO });
        assert_eq!(take(&path), SharedTime { building: seconds(3), measuring: seconds(4) });
        assert_eq!(take(&path), SharedTime::default());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
