//! Makes a sample of a client from its blocks. Times and counts are sums over the blocks, so they
//! exclude the time between two blocks.

use std::time::Duration;

use executor::process::{BlockDevice, DiskReads, IoCounters, cpu_time_of};
use result::{CacheFacts, ClientBlock, ClientSample};
use variant::CacheMode;

use crate::figures::cells::ns;

use super::{engine::Times, home::Pages, start_file::OwnTimes};

/// Maximal share of a database that may be in the page cache just before the request of a cold
/// sample.
const RESIDENT_MAX: f64 = 0.05;

/// Counts of a process since its start, and of the device with its database since the device's
/// start.
#[derive(Clone, Copy, Debug)]
pub struct Counters {
    cpu: Option<Duration>,
    io: Option<IoCounters>,
    disk: Option<DiskReads>,
}

impl Counters {
    /// Reads the present counts.
    pub fn now(pid: Option<u32>, device: Option<BlockDevice>) -> Self {
        Self {
            cpu: pid.and_then(cpu_time_of),
            io: pid.and_then(IoCounters::of_process),
            disk: device.and_then(BlockDevice::reads),
        }
    }
}

/// A block that the client found valid, with its figures.
#[derive(Clone, Debug)]
pub struct MeasuredBlock {
    pub hash: String,
    pub times: Times,
    /// The client's own times of the block.
    pub own: Option<OwnTimes>,
    /// Counts just before the block.
    pub before: Counters,
    /// Counts just after the block.
    pub after: Counters,
}

pub fn new_sample(gas: u64, pages: Option<Pages>) -> ClientSample {
    ClientSample {
        wall_ns: 0,
        gas,
        cpu_ns: Some(0),
        device_read_bytes: Some(0),
        read_syscalls: Some(0),
        disk_requests: Some(0),
        disk_bytes: Some(0),
        data_bytes: pages.map(|pages| pages.byte_count),
        resident_data_bytes: pages.map(|pages| pages.resident_byte_count),
        blocks: Vec::new(),
    }
}

pub fn add_block(sample: &mut ClientSample, block: MeasuredBlock) {
    let MeasuredBlock { hash, times, own, before, after } = block;
    let cpu = after.cpu.zip(before.cpu).map(|(after, before)| after.saturating_sub(before));
    let io = after.io.zip(before.io).map(|(after, before)| after.since(&before));
    let disk = after.disk.zip(before.disk).map(|(after, before)| after.since(&before));
    let block = ClientBlock {
        block_hash: hash,
        new_payload_ns: ns(times.new_payload),
        forkchoice_ns: ns(times.forkchoice),
        own_ns: own.map(|own| own.total_ns),
        own_root_ns: own.and_then(|own| own.root_ns),
    };
    sample.wall_ns += block.wall_ns();
    sample.cpu_ns = plus(sample.cpu_ns, cpu.map(ns));
    sample.device_read_bytes = plus(sample.device_read_bytes, io.map(|io| io.device_read_bytes));
    sample.read_syscalls = plus(sample.read_syscalls, io.map(|io| io.read_call_count));
    sample.disk_requests = plus(sample.disk_requests, disk.map(|disk| disk.request_count));
    sample.disk_bytes = plus(sample.disk_bytes, disk.map(|disk| disk.byte_count));
    sample.blocks.push(block);
}

/// Returns a sum, or `None` if one of the numbers is unknown.
fn plus(sum: Option<u64>, more: Option<u64>) -> Option<u64> {
    Some(sum? + more?)
}

/// Decides whether samples were as cold as requested. A cold sample has a new process, and hardly
/// any page of its database in the page cache.
pub fn cache(want: CacheMode, samples: &[ClientSample]) -> CacheFacts {
    let is_chain = samples.iter().any(|sample| sample.blocks.len() > 1);
    let shares: Option<Vec<f64>> = samples.iter().map(resident_share).collect();
    let most = shares.and_then(|all| all.into_iter().max_by(f64::total_cmp));
    let (proved, reason) = match (want, is_chain, most) {
        (CacheMode::Warm, true, _) => (
            None,
            "a sibling of each block ran just before it, which counts for no figure".to_owned(),
        ),
        (CacheMode::Warm, false, _) => (
            None,
            "the client ran before, and its caches keep the reads of earlier blocks; the first \
             block counts for no figure"
                .to_owned(),
        ),
        (CacheMode::Cold, _, None) => (
            None,
            "the kernel does not tell which of the database's pages are in memory".to_owned(),
        ),
        (CacheMode::Cold, _, Some(most)) => {
            let of_chain = if is_chain {
                " of the first block; the others find its reads in caches"
            } else {
                ""
            };
            let reason = format!(
                "restarted for each sample; at most {:.1} % of the database was in the page cache just \
                 before the request{of_chain}",
                100.0 * most
            );
            (Some(most <= RESIDENT_MAX), reason)
        }
    };
    CacheFacts { want: Some(want), proved, reason }
}

/// Returns the share of the database in the page cache; `None` if it is unknown.
fn resident_share(sample: &ClientSample) -> Option<f64> {
    let (resident, all) = (sample.resident_data_bytes?, sample.data_bytes?);
    (all > 0).then(|| resident as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use result::example;

    use super::*;

    #[test]
    fn cold_is_proved_by_an_empty_page_cache_in_every_sample_and_unknown_where_nobody_tells() {
        let mut samples = example::client::timed(&[100, 100]).samples;
        assert_eq!(cache(CacheMode::Cold, &samples).proved, Some(true));
        assert_eq!(cache(CacheMode::Warm, &samples).proved, None);
        let all = samples[1].data_bytes.unwrap();
        samples[1].resident_data_bytes = Some(all / 10);
        let facts = cache(CacheMode::Cold, &samples);
        assert_eq!(facts.proved, Some(false));
        assert!(facts.reason.contains("10.0 %"), "{}", facts.reason);
        samples[1].resident_data_bytes = None;
        assert_eq!(cache(CacheMode::Cold, &samples).proved, None);
    }

    #[test]
    fn a_sample_is_the_sum_of_its_blocks_and_unknown_where_one_block_is() {
        let counted = |cpu| Counters { cpu, io: None, disk: None };
        let block = |after| MeasuredBlock {
            hash: "0x1".to_owned(),
            times: Times {
                new_payload: Duration::from_millis(3),
                forkchoice: Duration::from_millis(1),
            },
            own: Some(OwnTimes { total_ns: 2_000_000, root_ns: None }),
            before: counted(Some(Duration::from_millis(10))),
            after: counted(after),
        };
        let mut sample = new_sample(7, None);
        add_block(&mut sample, block(Some(Duration::from_millis(15))));
        add_block(&mut sample, block(Some(Duration::from_millis(16))));
        assert_eq!((sample.wall_ns, sample.cpu_ns), (8_000_000, Some(11_000_000)));
        assert_eq!((sample.own_ns(), sample.own_root_ns()), (Some(4_000_000), None));
        assert_eq!(sample.device_read_bytes, None);
        add_block(&mut sample, block(None));
        assert_eq!((sample.blocks.len(), sample.cpu_ns), (3, None));
    }
}
