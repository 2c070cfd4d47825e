//! The device under a state: its ceiling, its latency, and whether a host answers from a cache.

use std::{
    sync::atomic::AtomicBool,
    time::{SystemTime, UNIX_EPOCH},
};

use executor::{
    device::{self, DirectFiles, Unmeasured},
    state::BuiltState,
};
use result::{Device, stats};

/// Seed of the random reads that measure the device.
const DEVICE_SEED: u64 = 1;

/// Measures the device under `state`. What cannot be measured says why.
pub fn measure(state: &BuiltState, cancel: &AtomicBool) -> Device {
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs());
    let mut facts = Device {
        ceiling_iops: None,
        method: None,
        depth1_p50_ns: None,
        host_cache_ratio: None,
        state_age_s: now_s.map(|now_s| now_s.saturating_sub(state.manifest().created_unix_s)),
        reason: None,
    };
    if let Err(reason) = fill(state, cancel, &mut facts) {
        // Beside why the host's cache was not probed, if it was not.
        let reasons = facts.reason.into_iter().chain([reason.to_string()]);
        facts.reason = Some(reasons.collect::<Vec<_>>().join("; "));
    }
    facts
}

fn fill(state: &BuiltState, cancel: &AtomicBool, facts: &mut Device) -> Result<(), Unmeasured> {
    let files = DirectFiles::open(&state.table_files())?;
    let settings = device::Settings { seed: DEVICE_SEED, ..device::Settings::default() };
    // The probe comes first: what the ceiling reads would be in a host's cache already.
    match device::probe_host_cache(&files, DEVICE_SEED, cancel) {
        Ok(probe) => facts.host_cache_ratio = Some(probe.ratio()),
        Err(reason) => facts.reason = Some(format!("host cache not probed: {reason}")),
    }
    let ceiling = device::ceiling(&files, &settings, cancel)?;
    facts.ceiling_iops = Some(ceiling.best.iops);
    facts.method = Some(ceiling.best.method.to_string());
    let serial = device::serial_latency(&files, &settings, cancel)?;
    facts.depth1_p50_ns = stats::percentiles(serial.latencies.histogram()).p50;
    Ok(())
}
