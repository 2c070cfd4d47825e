//! Reads through `io_uring`: [`Ring`], which the flat store uses, too, and the reads of one thread
//! of a measurement, which keeps `depth` reads in flight.
//!
//! **Invariant**: the kernel writes only into blocks that [`Ring`] owns. The blocks are freed only
//! after the last read in flight has completed.

use std::{io, mem, os::fd::RawFd, time::Instant};

use io_uring::{IoUring, opcode, squeue, types};

use super::{
    error::MeasureError,
    files::{Block, Extent},
    workers::{Part, Shared},
};
use crate::{latency::Latencies, process::thread_cpu_time};

/// A ring over a few files, with the memory for its reads.
pub(crate) struct Ring {
    ring: IoUring,
    /// Memory of all slots: each slot has enough blocks for the largest read. It is never moved
    /// while reads are in flight.
    blocks: Box<[Block]>,
    blocks_per_slot: usize,
    /// Whether each slot has a read in flight.
    busy: Vec<bool>,
    in_flight_count: usize,
    /// Slot and result of each read that completed in the last wait.
    completed: Vec<(usize, i32)>,
}

/// A read in flight.
#[derive(Clone, Copy)]
struct InFlightRead {
    extent: Extent,
    start: Instant,
}

/// Reads on the calling thread, with `depth` reads in flight.
pub(super) fn read(shared: &Shared<'_>, depth: usize) -> Result<Part, MeasureError> {
    let files = shared.files;
    let mut ring = Ring::new(&files.descriptors(), depth, shared.read_block_count)
        .map_err(|source| MeasureError::RingRefused { reason: source.to_string() })?;
    let mut flights: Vec<Option<InFlightRead>> = vec![None; depth];
    let mut latencies = Latencies::ready();
    let (mut read_count, mut read_bytes, mut block_count) = (0, 0, 0);
    let cpu_before = thread_cpu_time();
    let start = Instant::now();
    let mut now = start;
    for (slot, flight) in flights.iter_mut().enumerate() {
        if let Some(extent) = shared.next() {
            ring.start(slot, &extent);
            *flight = Some(InFlightRead { extent, start: now });
        }
    }
    while ring.in_flight_count > 0 {
        ring.wait().map_err(|source| files.failed(source))?;
        now = Instant::now();
        let is_over = shared.is_over(start, now)?;
        for index in 0..ring.completed().len() {
            let (slot, result) = ring.completed()[index];
            let flight = flights[slot]
                .take()
                .unwrap_or_else(|| panic!("slot {slot} came back without being in flight"));
            let read = usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result));
            files.check_read(&flight.extent, read)?;
            latencies.record(now - flight.start);
            read_count += 1;
            read_bytes += u64::from(flight.extent.byte_count);
            block_count += u64::from(flight.extent.block_count);
            if !is_over && let Some(extent) = shared.next() {
                ring.start(slot, &extent);
                flights[slot] = Some(InFlightRead { extent, start: now });
            }
        }
        if is_over {
            break;
        }
    }
    let cpu = thread_cpu_time().zip(cpu_before).map(|(now, before)| now - before);
    Ok(Part { read_count, read_bytes, block_count, start, end: now, latencies, cpu })
}

impl Ring {
    /// Makes a ring for `depth` reads in flight from `files`. Each read is of at most
    /// `blocks_per_slot` blocks.
    pub(crate) fn new(files: &[RawFd], depth: usize, blocks_per_slot: usize) -> io::Result<Self> {
        let entry_count = u32::try_from(depth).map_err(io::Error::other)?;
        // With these flags the kernel handles completions during a wait, and does not interrupt the
        // thread for them. A kernel before Linux 6.1 refuses them.
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .build(entry_count)
            .or_else(|_| IoUring::new(entry_count))?;
        ring.submitter().register_files(files)?;
        Ok(Self {
            ring,
            blocks: vec![Block::ZERO; depth * blocks_per_slot].into_boxed_slice(),
            blocks_per_slot,
            busy: vec![false; depth],
            in_flight_count: 0,
            completed: Vec::with_capacity(2 * depth),
        })
    }

    /// Starts a read into the blocks of `slot`, which must be free.
    ///
    /// Each read is submitted at once. In a trial, all reads after a wait were submitted together.
    /// This lost 8 % of the device's rate at depth 64, and saved 15 % of the CPU time for each
    /// read.
    ///
    /// # Panics
    /// The slot is not free.
    #[expect(unsafe_code, reason = "the kernel writes into the slot's block")]
    pub(crate) fn start(&mut self, slot: usize, extent: &Extent) {
        assert!(!self.busy[slot], "slot {slot} is in flight");
        let Extent { file, offset, byte_count, .. } = *extent;
        let memory = &mut self.blocks[slot * self.blocks_per_slot..][..self.blocks_per_slot];
        assert!(byte_count as usize <= size_of_val(memory), "{byte_count} bytes have no room");
        let into = memory.as_mut_ptr().cast::<u8>();
        let entry: squeue::Entry = opcode::Read::new(types::Fixed(file), into, byte_count)
            .offset(offset)
            .build()
            .user_data(slot as u64);
        // SAFETY: `into` points to `byte_count` writable bytes that nobody else uses. The slot was
        // free, and `drop` frees the blocks only when no read is in flight.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.unwrap_or_else(|_| panic!("the queue has an entry for each of the slots"));
        self.busy[slot] = true;
        self.in_flight_count += 1;
        // If this fails, the next wait submits the read again or reports the failure.
        drop(self.ring.submit());
    }

    /// Submits reads that are not submitted yet, and waits until at least one read has completed.
    pub(crate) fn wait(&mut self) -> io::Result<()> {
        self.completed.clear();
        loop {
            match self.ring.submit_and_wait(1) {
                Ok(_) => break,
                Err(e) if matches!(e.raw_os_error(), Some(libc::EINTR)) => {}
                // The queue is full of completions, which are taken below.
                Err(e) if matches!(e.raw_os_error(), Some(libc::EBUSY | libc::EAGAIN)) => break,
                Err(e) => return Err(e),
            }
        }
        for entry in self.ring.completion() {
            let slot = usize::try_from(entry.user_data()).unwrap_or(usize::MAX);
            self.completed.push((slot, entry.result()));
            self.busy[slot] = false;
        }
        self.in_flight_count -= self.completed.len();
        Ok(())
    }

    /// Returns slot and result of each read that completed in the last wait.
    pub(crate) fn completed(&self) -> &[(usize, i32)] {
        &self.completed
    }

    /// Returns whether a read into the blocks of `slot` is in flight.
    pub(crate) fn is_busy(&self, slot: usize) -> bool {
        self.busy[slot]
    }

    /// Returns the first block of a slot.
    ///
    /// # Panics
    /// A read into the slot is in flight.
    pub(crate) fn block(&self, slot: usize) -> &Block {
        assert!(!self.busy[slot], "slot {slot} is in flight");
        &self.blocks[slot * self.blocks_per_slot]
    }
}

impl Drop for Ring {
    /// Waits for reads in flight. If the wait fails, leaks the blocks, since the kernel may still
    /// write into them.
    fn drop(&mut self) {
        while self.in_flight_count > 0 {
            if self.wait().is_err() {
                mem::forget(mem::take(&mut self.blocks));
                return;
            }
        }
    }
}
