//! Shares the device's figures among the cells of a sweep. The first cell on disk measures the
//! device and writes the figures into a file. Later cells read them from the file. Between cells
//! and at the end of the sweep, the ceiling is measured again, on blocks that were not read yet.

use std::{fs, io, path::Path, time::Duration};

use anyhow::{Context, Result};
use executor::{
    device::{self, Disk},
    state::BuiltState,
    store,
};
use result::{
    Device, SharedDevice,
    sweep::{Ceiling, DEVICE_SCHEMA, SweepDevice},
};
use variant::StoreKind;

use super::{
    data_dir::data_dir,
    device::{add_reason, state_age_s, time_per_method, time_per_method_of},
};
use crate::{
    machine,
    terminal::{Progress, interrupt},
};

/// Beginning of the reason for a ceiling that was not measured again.
const NOT_AGAIN: &str = "ceiling not measured again";

/// Time of a measurement in a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasureTime {
    /// Between two cells.
    Between,
    /// After the last cell.
    End,
}

/// Reads the figures in the file at `path`; `None` before a cell has measured the device.
///
/// # Errors
/// The file cannot be read, or is damaged.
pub fn read(path: &Path) -> Result<Option<SweepDevice>> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => text.with_context(|| format!("cannot read {}", path.display()))?,
    };
    let known = serde_json::from_str(&text);
    known.map(Some).with_context(|| format!("{} is damaged: move it away", path.display()))
}

/// Writes the figures in place of earlier figures.
///
/// # Errors
/// The figures cannot be written.
pub fn write(path: &Path, known: &SweepDevice) -> Result<()> {
    report::replace(path, report::json(known)?.as_bytes())?;
    Ok(())
}

/// Makes the figures of a sweep from its first measurement, on `state`. `disk` read its blocks in
/// the order of `draw_seed`.
pub(super) fn first(
    facts: Device,
    disk: Option<&Disk>,
    state: &BuiltState,
    draw_seed: u64,
) -> SweepDevice {
    let measured_unix_s = machine::unix_s();
    let ceiling = facts.ceiling_iops.map(|iops| Ceiling { measured_unix_s, ceiling_iops: iops });
    SweepDevice {
        schema: DEVICE_SCHEMA,
        measured_unix_s,
        state: state.name().to_owned(),
        draw_seed,
        read_count: disk.map_or(0, Disk::read_count),
        ceilings: ceiling.into_iter().collect(),
        device: facts,
    }
}

/// Returns the device's figures for a cell on `state`.
pub(super) fn for_cell(known: &SweepDevice, state: &BuiltState) -> Device {
    for_state(known, state.name(), Some(state_age_s(state)))
}

/// Returns the device's figures for a cell on the state `name`. Ceiling and latency hold for every
/// state. On another state than the measured one no block was probed, so the share is 0 and the
/// host's cache is unknown.
fn for_state(known: &SweepDevice, name: &str, state_age_s: Option<u64>) -> Device {
    let last = known.ceilings.last();
    let mut facts = Device {
        ceiling_iops: last.map(|ceiling| ceiling.ceiling_iops),
        ceiling_end_iops: None,
        ceiling_drift: None,
        state_age_s,
        shared: Some(SharedDevice {
            measured_unix_s: last.map_or(known.measured_unix_s, |ceiling| ceiling.measured_unix_s),
            state: known.state.clone(),
            draw_seed: known.draw_seed,
        }),
        ..known.device.clone()
    };
    if known.state != name {
        facts.probed_block_share = facts.probed_block_share.map(|_| 0.0);
        if facts.host_cache_ratio.take().is_some() {
            let state = &known.state;
            let reason = format!("host cache not probed: the sweep probed it on state {state}");
            add_reason(&mut facts, &reason);
        }
    }
    facts
}

/// Measures the ceiling of the device again. `data_dir`: the data directory that the user gave for
/// the cells.
pub fn measure_again(
    known: &mut SweepDevice,
    time: MeasureTime,
    data_dir: Option<&Path>,
    progress: &Progress,
) {
    let Some(first) = known.ceilings.first().map(|ceiling| ceiling.ceiling_iops) else { return };
    let stage = progress.stage("measuring the device again", 0);
    match ceiling_again(known, data_dir) {
        Ok(ceiling_iops) => {
            known.ceilings.push(Ceiling { measured_unix_s: machine::unix_s(), ceiling_iops });
            if time == MeasureTime::End {
                known.device.ceiling_end_iops = Some(ceiling_iops);
                known.device.ceiling_drift = Some(ceiling_iops / first);
            }
        }
        // One reason is enough, even if every measurement between cells fails.
        Err(error) => {
            let is_known =
                known.device.reason.as_ref().is_some_and(|reason| reason.contains(NOT_AGAIN));
            if !is_known && !interrupt::happened() {
                add_reason(&mut known.device, &format!("{NOT_AGAIN}: {error:#}"));
            }
        }
    }
    stage.finish();
}

/// Returns the maximal time of another measurement; zero if the first measurement failed.
pub fn time_again(known: &SweepDevice) -> Duration {
    match known.ceilings.is_empty() {
        true => Duration::ZERO,
        false => device::ceiling_time(time_per_method()),
    }
}

fn ceiling_again(known: &mut SweepDevice, asked_dir: Option<&Path>) -> Result<f64> {
    let formats: Vec<_> =
        StoreKind::ALL.iter().copied().filter_map(store::formats::format_of).collect();
    let formats: Vec<_> = formats.iter().map(|format| &**format).collect();
    let dir = data_dir(asked_dir).map_err(|failure| failure.error)?;
    let state = dir.open_complete(&known.state, &formats)?;
    let disk = Disk::open_after(known.read_count, &state.table_files(), known.draw_seed)?;
    let ceiling = device::ceiling(&disk, time_per_method_of(&disk), interrupt::flag());
    // `known` is updated before an error returns. A host's cache may have these blocks after a
    // failure too, so they must not be read again.
    known.read_count = disk.read_count();
    known.device.probed_block_share = Some(disk.read_share());
    known.device.repeated_read_count = disk.repeated_count();
    Ok(ceiling?.best.iops)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATE: &str = "rocksdb-0123456789abcdef";

    fn known() -> SweepDevice {
        let device = result::example::typical().device.unwrap();
        let device = Device { ceiling_end_iops: None, ceiling_drift: None, ..device };
        let ceiling = |measured_unix_s, ceiling_iops| Ceiling { measured_unix_s, ceiling_iops };
        SweepDevice {
            schema: DEVICE_SCHEMA,
            measured_unix_s: 100,
            state: STATE.to_owned(),
            draw_seed: 9,
            read_count: 40_000,
            ceilings: vec![ceiling(100, 70_512.0), ceiling(2_000, 69_000.0)],
            device,
        }
    }

    #[test]
    fn a_cell_takes_the_last_ceiling_with_its_time_and_no_end_that_is_not_its_own() {
        let known = SweepDevice { device: result::example::typical().device.unwrap(), ..known() };
        let facts = for_state(&known, STATE, Some(5));
        assert_eq!(facts.ceiling_iops, Some(69_000.0));
        assert_eq!((facts.ceiling_end_iops, facts.ceiling_drift), (None, None));
        assert_eq!((facts.state_age_s, facts.depth1_p50_ns), (Some(5), Some(109_800)));
        let shared = facts.shared.expect("they are shared");
        assert_eq!((shared.measured_unix_s, shared.state.as_str()), (2_000, STATE));
        assert_eq!(shared.draw_seed, 9);
    }

    #[test]
    fn the_probe_of_a_hosts_cache_is_of_the_state_that_was_probed() {
        let same = for_state(&known(), STATE, None);
        assert_eq!((same.host_cache_ratio, same.probed_block_share), (Some(1.02), Some(0.02)));
        assert_eq!(same.reason, None);
        let other = for_state(&known(), "flat-0123456789abcdef", None);
        assert_eq!((other.host_cache_ratio, other.probed_block_share), (None, Some(0.0)));
        assert_eq!(other.ceiling_iops, same.ceiling_iops);
        let reason = other.reason.expect("there is a reason");
        assert!(reason.contains("host cache not probed") && reason.contains(STATE), "{reason}");
    }

    #[test]
    fn a_device_that_cannot_be_measured_is_not_tried_again_in_each_cell() {
        let reason = Some("/x lies in memory (tmpfs): no device to measure".to_owned());
        let device = Device {
            ceiling_iops: None,
            host_cache_ratio: None,
            probed_block_share: None,
            reason,
            ..known().device
        };
        let mut unmeasured = SweepDevice { ceilings: Vec::new(), device, ..known() };
        let facts = for_state(&unmeasured, "flat-0123456789abcdef", None);
        assert_eq!((facts.ceiling_iops, &facts.reason), (None, &unmeasured.device.reason));
        assert_eq!(facts.shared.expect("by the first cell").measured_unix_s, 100);
        let before = unmeasured.clone();
        let progress = Progress::new(crate::terminal::progress::ProgressForm::Nothing);
        assert_eq!(time_again(&unmeasured), Duration::ZERO);
        assert!(time_again(&known()) >= time_per_method());
        measure_again(&mut unmeasured, MeasureTime::End, None, &progress);
        assert_eq!(unmeasured, before);
    }

    #[test]
    fn figures_are_read_back_as_they_were_and_a_state_that_is_gone_is_a_reason() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("device-1-2.json");
        assert_eq!(read(&path).unwrap(), None);
        let mut known = known();
        write(&path, &known).unwrap();
        assert_eq!(read(&path).unwrap().as_ref(), Some(&known));
        let progress = Progress::new(crate::terminal::progress::ProgressForm::Nothing);
        measure_again(&mut known, MeasureTime::End, Some(dir.path()), &progress);
        assert_eq!((known.ceilings.len(), known.device.ceiling_end_iops), (2, None));
        let reason = known.device.reason.expect("there is a reason");
        assert!(reason.contains("not measured again: no state rocksdb-0123"), "{reason}");
        fs::write(&path, "{").unwrap();
        let error = format!("{:#}", read(&path).unwrap_err());
        assert!(error.contains("device-1-2.json is damaged"), "{error}");
    }
}
