//! Reads blocks through `io_uring`, with many reads in flight. [`BlockRing`] serves one call of a
//! reader at a time, and [`Queue`] serves the fibers of one thread.

use std::{fs::File, io, os::fd::AsRawFd, sync::Mutex};

use super::block::{BLOCK_BYTES, Block};
use crate::{
    device::{Extent, Ring},
    fiber::{Awaited, Wait, WaitAction},
    lock::lock,
};

/// Position of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockAt {
    /// Index of the block's file among the files of the ring.
    pub(super) file: u32,
    /// Number of the block in the file.
    pub(super) number: u64,
}

impl BlockAt {
    const fn extent(self) -> Extent {
        let (offset, byte_count) = (self.number * BLOCK_BYTES as u64, BLOCK_BYTES as u32);
        Extent { file: self.file, offset, byte_count, block_count: 1 }
    }
}

/// Makes a ring for `depth` reads in flight from `files`. A read names its file by its index in
/// `files`.
fn ring_over(files: &[&File], depth: usize) -> io::Result<Ring> {
    let descriptors: Vec<_> = files.iter().map(|file| file.as_raw_fd()).collect();
    Ring::new(&descriptors, depth, 1)
}

/// A ring that serves the reads of one call at a time.
pub(super) struct BlockRing {
    ring: Ring,
    /// Slots without a read in flight.
    free: Vec<usize>,
    depth: usize,
}

impl BlockRing {
    /// Makes a ring for `depth` reads in flight from `files`. A read names its file by its index in
    /// `files`.
    pub(super) fn new(files: &[&File], depth: usize) -> io::Result<Self> {
        Ok(Self { ring: ring_over(files, depth)?, free: (0..depth).collect(), depth })
    }

    /// Reads blocks, with as many reads in flight as the ring has slots. `next` returns the
    /// position of the next block and a value, or `None` at the end. `land` takes that value and
    /// the block when the read has completed, in any order. After an error, no new read begins.
    /// Returns when all reads in flight have completed.
    pub(super) fn read<T>(
        &mut self,
        mut next: impl FnMut() -> Option<(BlockAt, T)>,
        mut land: impl FnMut(T, &Block) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut flights: Vec<Option<(u64, T)>> = (0..self.depth).map(|_| None).collect();
        let mut outcome = Ok(());
        loop {
            while outcome.is_ok()
                && let Some(slot) = self.free.pop()
            {
                let Some((at, value)) = next() else {
                    self.free.push(slot);
                    break;
                };
                self.ring.start(slot, &at.extent());
                flights[slot] = Some((at.number, value));
            }
            if self.free.len() == self.depth {
                return outcome;
            }
            self.ring.wait()?;
            for &(slot, result) in self.ring.completed() {
                self.free.push(slot);
                let Some((number, value)) = flights[slot].take() else { continue };
                let read =
                    check_whole(number, result).and_then(|()| land(value, self.ring.block(slot)));
                outcome = outcome.and(read);
            }
        }
    }
}

/// Queue of the reads of one thread's fibers. Each fiber has at most one read in flight, in the
/// slot with the fiber's number.
pub(super) struct Queue {
    ring: Ring,
    /// Result of the read of each slot; `None` until the read completes.
    results: Vec<Option<i32>>,
}

impl Queue {
    /// Makes a queue for `fiber_count` fibers that read blocks of `files`.
    pub(super) fn new(files: &[&File], fiber_count: usize) -> io::Result<Self> {
        Ok(Self { ring: ring_over(files, fiber_count)?, results: vec![None; fiber_count] })
    }

    /// Reads the block at `at` for the fiber with number `slot`. The fiber yields the thread until
    /// the read completes. Outside of fibers the thread waits.
    pub(super) fn read(
        queue: &Mutex<Self>,
        slot: usize,
        at: BlockAt,
        into: &mut Block,
    ) -> io::Result<()> {
        lock(queue).begin(slot, at)?;
        let mut wait = Wait::new(Awaited::Read);
        loop {
            let action = wait.next_action();
            let mut queue = lock(queue);
            if action == WaitAction::Block && queue.results[slot].is_none() {
                queue.reap()?;
            }
            if let Some(result) = queue.results[slot].take() {
                check_whole(at.number, result)?;
                into.0.copy_from_slice(&queue.ring.block(slot).0);
                return Ok(());
            }
        }
    }

    fn begin(&mut self, slot: usize, at: BlockAt) -> io::Result<()> {
        // If the wait for an earlier read failed, the kernel may still write into the slot's block.
        if self.ring.is_busy(slot) {
            return Err(io::Error::other("a read of the same fiber is under way"));
        }
        self.ring.start(slot, &at.extent());
        Ok(())
    }

    /// Waits until a read completes, and takes the results of all completed reads.
    fn reap(&mut self) -> io::Result<()> {
        self.ring.wait()?;
        for &(slot, result) in self.ring.completed() {
            self.results[slot] = Some(result);
        }
        Ok(())
    }
}

/// Checks that a read of block `number` with this result got a whole block.
fn check_whole(number: u64, result: i32) -> io::Result<()> {
    match usize::try_from(result) {
        Ok(BLOCK_BYTES) => Ok(()),
        Ok(short) => Err(short_read(number, short)),
        Err(_) => Err(io::Error::from_raw_os_error(-result)),
    }
}

fn short_read(number: u64, byte_count: usize) -> io::Error {
    let reason =
        format!("{byte_count} of {BLOCK_BYTES} bytes of block {number}: the file was truncated");
    io::Error::new(io::ErrorKind::UnexpectedEof, reason)
}
