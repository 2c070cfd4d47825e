//! Reading with threads that each wait for their own `pread`: what every kernel can do.

use std::time::Instant;

use super::{
    error::Unmeasured,
    files::{Block, Draw},
    workers::{Part, Shared},
};
use crate::{latency::Latencies, process::thread_cpu_time};

/// One thread's reads.
pub(super) fn read(shared: &Shared<'_>, mut draw: Draw<'_>) -> Result<Part, Unmeasured> {
    let cpu_before = thread_cpu_time();
    let mut block = Box::new(Block::ZERO);
    let mut latencies = Latencies::default();
    let mut read_count = 0;
    let start = Instant::now();
    let mut now = start;
    while !shared.is_over(start, now)?
        && let Some(number) = draw.next()
    {
        shared.files.read(number, &mut block)?;
        let done = Instant::now();
        latencies.record(done - now);
        read_count += 1;
        now = done;
    }
    let cpu = thread_cpu_time().zip(cpu_before).map(|(now, before)| now - before);
    Ok(Part { read_count, start, end: now, latencies, cpu })
}
