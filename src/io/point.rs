//! Turns a raw measurement into a point of the result.

use executor::{raw::RawResult, store::Store};
use variant::CacheMode;

use result::{
    CacheFacts,
    io::{IoPoint, IoStore},
    stats,
};

use super::plan::PlannedPoint;

use crate::figures::cells::{COLD_SHARE, ns, ratio};

/// Computes the figures of a point. `earlier_passes` is the number of whole passes over the keys
/// before the point. [`ratio_to_ceiling`] fills in the ratio to the ceiling later.
pub fn figures(
    store: &dyn Store,
    planned: &PlannedPoint,
    earlier_passes: u64,
    measured: &RawResult,
) -> IoPoint {
    let on_disk = store.never_cold_reason().is_none();
    let gets = measured.read_count();
    let get_count = gets as f64;
    let seconds = measured.elapsed.as_secs_f64();
    let blocks = Some(measured.counters.block_count as f64).filter(|_| on_disk);
    let io = measured.process.io;
    IoPoint {
        threads: planned.threads.get() as u64,
        keys_per_call: planned.keys_per_call() as u64,
        depth: planned.depth() as u64,
        gets,
        present_gets: measured.present_count,
        elapsed_ns: ns(measured.elapsed),
        gets_per_s: gets as f64 / seconds,
        blocks_per_s: blocks.map(|blocks| blocks / seconds),
        blocks_per_get: blocks.and_then(|blocks| ratio(blocks, get_count)),
        bytes_per_block: blocks
            .and_then(|blocks| ratio(measured.counters.block_bytes as f64, blocks)),
        device_bytes_per_get: io.and_then(|io| ratio(io.device_read_bytes as f64, get_count)),
        read_syscalls_per_get: io.and_then(|io| ratio(io.read_call_count as f64, get_count)),
        cpu_ns_per_get: measured.cpu.and_then(|cpu| ratio(cpu.as_nanos() as f64, get_count)),
        present_latency_ns: stats::percentiles(measured.present.histogram()),
        absent_latency_ns: stats::percentiles(measured.absent.histogram()),
        latency_of_calls: planned.keys_per_call() > 1,
        ceiling_ratio: None,
        keys_exhausted: measured.is_exhausted,
        earlier_passes,
        cache: cache(store, measured),
    }
}

/// Fills in each point's ratio to the ceiling, if the ceiling is known.
pub fn ratio_to_ceiling(store: &mut IoStore) {
    let ceiling = store.device.as_ref().and_then(|device| device.ceiling_iops);
    for point in &mut store.points {
        point.ceiling_ratio =
            point.blocks_per_s.zip(ceiling).and_then(|(rate, most)| ratio(rate, most));
    }
}

fn cache(store: &dyn Store, measured: &RawResult) -> CacheFacts {
    let (proved, reason) = match (
        store.never_cold_reason(),
        measured.counters.block_bytes,
        measured.process.io,
    ) {
        (Some(reason), _, _) => (None, reason.to_owned()),
        (None, 0, _) => (None, "no block was read: the filters answered".to_owned()),
        (None, _, None) => (None, "the kernel does not count bytes from devices".to_owned()),
        (None, asked, Some(io)) => {
            let share = io.device_read_bytes as f64 / asked as f64;
            let reason = format!(
                "{share:.2} of the bytes asked of the files came from a device; the store's cache \
                     was empty at the start"
            );
            (Some(share >= COLD_SHARE), reason)
        }
    };
    CacheFacts { want: store.kind().cache_state(CacheMode::Cold), proved, reason }
}
