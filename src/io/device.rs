//! What the device can do: the ceiling before and after the points, and one thread's `io_uring`
//! at each depth.

use std::{sync::atomic::AtomicBool, time::Duration};

use executor::{
    device::{self, DirectFiles, Method, ReadRate, Settings, Unmeasured},
    state::BuiltState,
};

use result::{
    io::{DevicePoint, IoDevice},
    stats,
};

/// Longest time for each way to read.
const TIME_MAX: Duration = Duration::from_secs(1);
/// Seeds of the blocks that are drawn: another pass reads others.
const SEEDS: [u64; 3] = [1, 2, 3];

/// A device that is being measured.
#[derive(Debug)]
pub struct DeviceUnder {
    files: DirectFiles,
    time: Duration,
}

impl DeviceUnder {
    /// The device below `state`; each way to read gets as long as a point, but a second at most.
    ///
    /// # Errors
    /// [`Unmeasured`]: its files cannot be read past the kernel's cache.
    pub fn of(state: &BuiltState, time: Duration) -> Result<Self, Unmeasured> {
        Ok(Self { files: DirectFiles::open(&state.table_files())?, time: time.min(TIME_MAX) })
    }

    fn settings(&self, seed: u64) -> Settings {
        Settings { seed, time_per_method: self.time }
    }

    /// Before the points: a host's cache, the ceiling, the sweep.
    ///
    /// # Errors
    /// [`Unmeasured`]; what was measured before stands in `facts`.
    pub fn begin(
        &self,
        depths: &[usize],
        facts: &mut IoDevice,
        cancel: &AtomicBool,
    ) -> Result<(), Unmeasured> {
        // The probe comes first: what the ceiling reads would be in a host's cache already.
        match device::probe_host_cache(&self.files, SEEDS[0], cancel) {
            Ok(probe) => facts.host_cache_ratio = Some(probe.ratio()),
            Err(reason) => facts.reason = Some(format!("host cache not probed: {reason}")),
        }
        let ceiling = device::ceiling(&self.files, &self.settings(SEEDS[0]), cancel)?;
        facts.ceiling_start_iops = Some(ceiling.best.iops);
        raise(facts, &ceiling.best);
        for depth in depths {
            let (ring, threads) =
                (Method::Ring { depth: *depth, threads: 1 }, Method::Threads { count: *depth });
            let settings = self.settings(SEEDS[1]);
            let read = |method| device::measure_random(&self.files, method, &settings, cancel);
            let rate = match read(ring) {
                Err(Unmeasured::RingRefused { .. }) => read(threads)?,
                rate => rate?,
            };
            raise(facts, &rate);
            facts.sweep.push(DevicePoint {
                method: rate.method.to_string(),
                depth: *depth as u64,
                iops: rate.iops,
                latency_ns: stats::percentiles(rate.latencies.histogram()),
                cpu_ns_per_read: rate.cpu_ns_per_read,
            });
        }
        Ok(())
    }

    /// After the points: the ceiling again.
    ///
    /// # Errors
    /// [`Unmeasured`].
    pub fn end(&self, facts: &mut IoDevice, cancel: &AtomicBool) -> Result<(), Unmeasured> {
        let ceiling = device::ceiling(&self.files, &self.settings(SEEDS[2]), cancel)?;
        facts.ceiling_end_iops = Some(ceiling.best.iops);
        facts.ceiling_drift = facts.ceiling_start_iops.map(|start| ceiling.best.iops / start);
        raise(facts, &ceiling.best);
        Ok(())
    }
}

/// Fractions are of the highest rate that was seen: a lower one would flatter.
fn raise(facts: &mut IoDevice, rate: &ReadRate) {
    if facts.ceiling_iops.is_none_or(|before| rate.iops > before) {
        facts.ceiling_iops = Some(rate.iops);
        facts.ceiling_method = Some(rate.method.to_string());
    }
}

/// Adds why something is not known.
pub fn note_reason(facts: &mut IoDevice, reason: impl ToString) {
    let reasons = facts.reason.take().into_iter().chain([reason.to_string()]);
    facts.reason = Some(reasons.collect::<Vec<_>>().join("; "));
}
