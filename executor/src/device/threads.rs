//! Reading with threads that each wait for their own `pread`, as every kernel can.

use std::time::Instant;

use super::{
    error::Unmeasured,
    files::{BLOCK_BYTES, Block, Draw},
    workers::{Part, Shared},
};
use crate::{latency::Latencies, process::thread_cpu_time};

/// One thread's reads.
pub(super) fn read(shared: &Shared<'_>, mut draw: Draw<'_>) -> Result<Part, Unmeasured> {
    let cpu_before = thread_cpu_time();
    let mut blocks = vec![Block::ZERO; shared.read_block_count];
    let mut latencies = Latencies::ready();
    let (mut read_count, mut read_bytes, mut block_count) = (0, 0, 0);
    let start = Instant::now();
    let mut now = start;
    while !shared.is_over(start, now)?
        && let Some(span) = draw.next()
    {
        let room = (span.byte_count as usize).div_ceil(BLOCK_BYTES);
        shared.files.read(&span, &mut blocks[..room])?;
        let done = Instant::now();
        latencies.record(done - now);
        read_count += 1;
        read_bytes += u64::from(span.byte_count);
        block_count += u64::from(span.block_count);
        now = done;
    }
    let cpu = thread_cpu_time().zip(cpu_before).map(|(now, before)| now - before);
    Ok(Part { read_count, read_bytes, block_count, start, end: now, latencies, cpu })
}
