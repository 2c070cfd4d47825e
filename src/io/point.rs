//! From a raw measurement to its point in the result.

use executor::raw::RawPoint;
use variant::{CacheMode, StoreKind};

use result::{
    CacheFacts,
    io::{IoPoint, IoStore},
    stats,
};

use super::plan::PlannedPoint;

use crate::figures::cells::COLD_SHARE;

/// Facts beside the measurement.
#[derive(Clone, Copy, Debug)]
pub struct PointInput {
    /// The store.
    pub store: StoreKind,
    /// The plan.
    pub planned: PlannedPoint,
    /// Why the store cannot be cold, if so.
    pub never_cold: Option<&'static str>,
    /// How often all keys had been asked for before.
    pub earlier_passes: u64,
}

/// The figures of a point; the ratio to the ceiling comes later ([`ratio_to_ceiling`]).
pub fn figures(input: &PointInput, measured: &RawPoint) -> IoPoint {
    let on_disk = input.never_cold.is_none();
    let gets = measured.get_count();
    let seconds = measured.elapsed.as_secs_f64();
    let blocks = Some(measured.counters.block_count as f64).filter(|_| on_disk);
    let of_gets = |value: f64| ratio(value, gets as f64);
    let io = measured.process.io;
    IoPoint {
        threads: input.planned.threads.get() as u64,
        keys_per_call: input.planned.keys_per_call() as u64,
        depth: input.planned.depth() as u64,
        gets,
        present_gets: measured.present_count,
        elapsed_ns: u64::try_from(measured.elapsed.as_nanos()).unwrap_or(u64::MAX),
        gets_per_s: gets as f64 / seconds,
        blocks_per_s: blocks.map(|blocks| blocks / seconds),
        blocks_per_get: blocks.and_then(of_gets),
        bytes_per_block: blocks
            .and_then(|blocks| ratio(measured.counters.block_bytes as f64, blocks)),
        device_bytes_per_get: io.and_then(|io| of_gets(io.device_read_bytes as f64)),
        read_syscalls_per_get: io.and_then(|io| of_gets(io.read_call_count as f64)),
        cpu_ns_per_get: measured.cpu.and_then(|cpu| of_gets(cpu.as_nanos() as f64)),
        present_latency_ns: stats::percentiles(measured.present.histogram()),
        absent_latency_ns: stats::percentiles(measured.absent.histogram()),
        latency_of_calls: input.planned.keys_per_call() > 1,
        ceiling_ratio: None,
        keys_exhausted: measured.is_exhausted,
        earlier_passes: input.earlier_passes,
        cache: cache(input, measured),
    }
}

/// Fills in each point's ratio to the ceiling as far as it is known.
pub fn ratio_to_ceiling(store: &mut IoStore) {
    let ceiling = store.device.as_ref().and_then(|device| device.ceiling_iops);
    for point in &mut store.points {
        point.ceiling_ratio =
            point.blocks_per_s.zip(ceiling).and_then(|(rate, most)| ratio(rate, most));
    }
}

fn cache(input: &PointInput, measured: &RawPoint) -> CacheFacts {
    let want = input.store.cache_state(CacheMode::Cold);
    let facts = |proved, reason: String| CacheFacts { want, proved, reason };
    if let Some(reason) = input.never_cold {
        return facts(None, reason.to_owned());
    }
    let asked = measured.counters.block_bytes;
    if asked == 0 {
        return facts(None, "no block was read: the filters answered".to_owned());
    }
    let Some(io) = measured.process.io else {
        return facts(None, "the kernel does not count bytes from devices".to_owned());
    };
    let share = io.device_read_bytes as f64 / asked as f64;
    let reason = format!(
        "{share:.2} of the bytes asked of the files came from a device; the store's cache was empty \
         at the start"
    );
    facts(Some(share >= COLD_SHARE), reason)
}

/// `a / b`, where that is a number.
fn ratio(a: f64, b: f64) -> Option<f64> {
    (b > 0.0).then(|| a / b).filter(|ratio| ratio.is_finite())
}
