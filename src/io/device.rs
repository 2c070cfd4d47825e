//! Measures the device: its ceiling before and after the points, and the rate of one thread's
//! `io_uring` at each depth. A depth is a number of reads under way. Where the kernel refuses
//! `io_uring`, threads read instead, one for each read under way.

use std::{sync::atomic::AtomicBool, time::Duration};

use executor::{
    device::{self, Disk, MeasureError, Method, ReadRate},
    state::BuiltState,
};

use result::{
    io::{DevicePoint, IoDevice},
    stats,
};

/// Maximal time for each way to read.
const TIME_MAX: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct MeasuredDevice {
    disk: Disk,
    time: Duration,
}

impl MeasuredDevice {
    /// Opens the device below `state` for reads in the random order that `seed` gives. Each way to
    /// read gets `time`, the time of a point, but at most a second.
    ///
    /// # Errors
    /// [`MeasureError`]: the state's files cannot be read past the kernel's cache.
    pub fn open(state: &BuiltState, time: Duration, seed: u64) -> Result<Self, MeasureError> {
        Ok(Self { disk: Disk::open(&state.table_files(), seed)?, time: time.min(TIME_MAX) })
    }

    /// Measures the device before the points: the host's cache, the ceiling, the rate at each
    /// depth.
    ///
    /// # Errors
    /// [`MeasureError`]. `facts` keeps the measurements before the error.
    pub fn begin(
        &self,
        depths: &[usize],
        facts: &mut IoDevice,
        cancel: &AtomicBool,
    ) -> Result<(), MeasureError> {
        match device::probe_host_cache(&self.disk, cancel) {
            Ok(probe) => facts.host_cache_ratio = Some(probe.ratio()),
            Err(reason) => facts.reason = Some(format!("host cache not probed: {reason}")),
        }
        let ceiling = device::ceiling(&self.disk, self.time, cancel)?;
        facts.ceiling_start_iops = Some(ceiling.best.iops);
        raise(facts, &ceiling.best);
        for depth in depths {
            let ring = Method::Ring { depth: *depth, threads: 1 };
            let rate = match device::measure_random(&self.disk, ring, self.time, cancel) {
                Err(MeasureError::RingRefused { .. }) => {
                    let threads = Method::Threads { count: *depth };
                    device::measure_random(&self.disk, threads, self.time, cancel)?
                }
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

    /// Measures the ceiling again, after the points.
    ///
    /// # Errors
    /// [`MeasureError`].
    pub fn end(&self, facts: &mut IoDevice, cancel: &AtomicBool) -> Result<(), MeasureError> {
        let ceiling = device::ceiling(&self.disk, self.time, cancel)?;
        facts.ceiling_end_iops = Some(ceiling.best.iops);
        facts.ceiling_drift = facts.ceiling_start_iops.map(|start| ceiling.best.iops / start);
        raise(facts, &ceiling.best);
        facts.repeated_read_count = self.disk.repeated_count();
        Ok(())
    }
}

/// Raises the ceiling in `facts` to `rate` if `rate` is higher. Ratios to a lower ceiling would be
/// too high.
fn raise(facts: &mut IoDevice, rate: &ReadRate) {
    if facts.ceiling_iops.is_none_or(|before| rate.iops > before) {
        facts.ceiling_iops = Some(rate.iops);
        facts.ceiling_method = Some(rate.method.to_string());
    }
}

/// Adds a reason for an unknown figure.
pub fn note_reason(facts: &mut IoDevice, reason: impl ToString) {
    let reasons = facts.reason.take().into_iter().chain([reason.to_string()]);
    facts.reason = Some(reasons.collect::<Vec<_>>().join("; "));
}
