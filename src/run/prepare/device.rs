//! Measures the device under a state: its ceiling before and after the samples, its latency, and
//! the effect of a host's cache.

use std::{env, fmt::Display, sync::atomic::AtomicBool, time::Duration};

use anyhow::{Result, anyhow};

use executor::{
    device::{self, Disk, MeasureError, TIME_PER_METHOD},
    state::BuiltState,
};
use result::{Device, stats};

use crate::{
    machine,
    terminal::{Progress, interrupt},
};

/// Variable with the milliseconds for each way to read the device, in place of [`TIME_PER_METHOD`].
/// It is for tests that do not depend on the device's rates.
const SHORT_MS: &str = "STRESS_DEVICE_MS";

/// Returns the time for each way to read the device, if the environment sets it.
///
/// # Errors
/// The variable is no number of milliseconds.
pub fn short_time() -> Result<Option<Duration>> {
    let Ok(text) = env::var(SHORT_MS) else { return Ok(None) };
    let ms = text.parse().ok().filter(|ms| (1..=1000).contains(ms));
    let ms = ms.ok_or_else(|| anyhow!("{SHORT_MS}={text}: give 1 to 1000 milliseconds"))?;
    Ok(Some(Duration::from_millis(ms)))
}

/// Reads a second of a fast device. A way to read lasts as long as such a device needs for its part
/// of a state's blocks.
const FAST_IOPS: u64 = 100_000;
/// Each way to read may take a state's blocks divided by this number, so that few are read twice.
const BLOCKS_DIVISOR: u64 = 8;
/// Minimal time of a way to read.
const TIME_MIN: Duration = Duration::from_millis(100);

/// Returns the maximal time for each way to read the device.
pub fn time_per_method() -> Duration {
    short_time().ok().flatten().unwrap_or(TIME_PER_METHOD)
}

/// Returns the time for each way to read `disk`. It is shorter for a small state.
pub fn time_per_method_of(disk: &Disk) -> Duration {
    let block_count = disk.block_count() / BLOCKS_DIVISOR;
    let time = Duration::from_nanos(block_count.saturating_mul(1_000_000_000 / FAST_IOPS));
    time.max(TIME_MIN).min(time_per_method())
}

/// Measures the device under `state`, by blocks in the random order that `draw_seed` gives. A
/// figure that cannot be measured has a reason.
pub(super) fn measure(
    state: &BuiltState,
    draw_seed: u64,
    cancel: &AtomicBool,
) -> (Device, Option<Disk>) {
    let mut facts = Device {
        ceiling_iops: None,
        ceiling_end_iops: None,
        ceiling_drift: None,
        method: None,
        depth1_p50_ns: None,
        host_cache_ratio: None,
        probed_block_share: None,
        repeated_read_count: 0,
        state_age_s: Some(state_age_s(state)),
        reason: None,
        shared: None,
    };
    let disk = match Disk::open(&state.table_files(), draw_seed) {
        Ok(disk) => Some(disk),
        Err(reason) => {
            add_reason(&mut facts, &reason);
            None
        }
    };
    if let Ok(Some(time)) = short_time() {
        let ms = time.as_millis();
        add_reason(&mut facts, &format!("{SHORT_MS}={ms}: a test's device, no ceiling"));
    }
    if let Some(disk) = &disk {
        if let Err(reason) = measure_figures(disk, cancel, &mut facts) {
            add_reason(&mut facts, &reason);
        }
        facts.probed_block_share = Some(disk.read_share());
        facts.repeated_read_count = disk.repeated_count();
    }
    (facts, disk)
}

/// Returns the seconds since `state` was built.
pub(super) fn state_age_s(state: &BuiltState) -> u64 {
    machine::unix_s().saturating_sub(state.manifest().created_unix_s)
}

/// Measures the ceiling again after all samples, and computes the device's drift. `before` has the
/// facts from before the samples.
pub fn measure_again(before: &Device, disk: &Disk, progress: &Progress) -> Device {
    let mut facts = before.clone();
    let Some(start_iops) = facts.ceiling_iops else { return facts };
    let stage = progress.stage("measuring the device again", 0);
    match device::ceiling(disk, time_per_method_of(disk), interrupt::flag()) {
        Ok(ceiling) => {
            facts.ceiling_end_iops = Some(ceiling.best.iops);
            facts.ceiling_drift = Some(ceiling.best.iops / start_iops);
        }
        Err(reason) => add_reason(&mut facts, &reason),
    }
    stage.finish();
    facts.repeated_read_count = disk.repeated_count();
    facts
}

/// Adds a reason for unknown figures to the earlier reasons.
pub(super) fn add_reason(facts: &mut Device, reason: &impl Display) {
    let reasons = facts.reason.take().into_iter().chain([reason.to_string()]);
    facts.reason = Some(reasons.collect::<Vec<_>>().join("; "));
}

fn measure_figures(
    disk: &Disk,
    cancel: &AtomicBool,
    facts: &mut Device,
) -> Result<(), MeasureError> {
    match device::probe_host_cache(disk, cancel) {
        Ok(probe) => facts.host_cache_ratio = Some(probe.ratio()),
        Err(reason) => add_reason(facts, &format!("host cache not probed: {reason}")),
    }
    let time = time_per_method_of(disk);
    let ceiling = device::ceiling(disk, time, cancel)?;
    facts.ceiling_iops = Some(ceiling.best.iops);
    facts.method = Some(ceiling.best.method.to_string());
    let serial = device::serial_latency(disk, time, cancel)?;
    facts.depth1_p50_ns = stats::percentiles(serial.latencies.histogram()).p50;
    Ok(())
}
