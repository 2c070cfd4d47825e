//! Reads of blocks through `io_uring`, many in flight at once: of one call, or of the fibers of one
//! thread.
//!
//! **Invariant**: the kernel writes only into blocks that [`Ring`] owns, and these live until
//! the last read in flight has come back.

use std::{fs::File, io, mem, os::fd::AsRawFd, sync::Mutex};

use io_uring::{IoUring, opcode, squeue, types};

use super::block::{BLOCK_BYTES, Block};
use crate::{
    fiber::{Awaited, Turn, Wait},
    lock::lock,
};

/// The place of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockAt {
    /// Place of its file among those of the ring.
    pub(super) file: u32,
    /// Its number there.
    pub(super) number: u64,
}

/// A ring over a few files, with the memory that it reads into.
pub(super) struct Ring {
    ring: IoUring,
    /// One for each slot; never moved while reads are in flight.
    blocks: Box<[Block]>,
    /// Slots without a read in flight.
    free: Vec<usize>,
    /// Slot and result of the read that came back last.
    landed: Vec<(usize, i32)>,
}

impl Ring {
    /// A ring of `depth` reads over `files`, which are named by their places.
    pub(super) fn new(files: &[&File], depth: usize) -> io::Result<Self> {
        let entry_count = u32::try_from(depth).map_err(io::Error::other)?;
        // Completions are handled when we wait, not in interrupts of our own thread: Linux 6.1.
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .build(entry_count)
            .or_else(|_| IoUring::new(entry_count))?;
        let descriptors: Vec<_> = files.iter().map(|file| file.as_raw_fd()).collect();
        ring.submitter().register_files(&descriptors)?;
        Ok(Self {
            ring,
            blocks: vec![Block::ZERO; depth].into_boxed_slice(),
            free: (0..depth).collect(),
            landed: Vec::with_capacity(2 * depth),
        })
    }

    /// Reads blocks, as many in flight as the ring has slots. `next` names a block's place
    /// and whatever goes with it, until it has no more; `land` gets the latter with the block.
    /// After the first error nothing is begun; it returns when all that was has come back.
    pub(super) fn read<T>(
        &mut self,
        mut next: impl FnMut() -> Option<(BlockAt, T)>,
        mut land: impl FnMut(T, &Block) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut flights: Vec<Option<(u64, T)>> = (0..self.blocks.len()).map(|_| None).collect();
        let mut outcome = Ok(());
        loop {
            while outcome.is_ok()
                && let Some(slot) = self.free.pop()
            {
                let Some((at, with)) = next() else {
                    self.free.push(slot);
                    break;
                };
                self.start(slot, at);
                flights[slot] = Some((at.number, with));
            }
            if self.free.len() == self.blocks.len() {
                return outcome;
            }
            self.wait()?;
            for (slot, result) in self.landed.drain(..) {
                self.free.push(slot);
                let Some((number, with)) = flights[slot].take() else { continue };
                let read = whole(number, result).and_then(|()| land(with, &self.blocks[slot]));
                outcome = outcome.and(read);
            }
        }
    }

    /// Starts a read into the block of `slot`, which is free. Each is submitted at once: to
    /// gather them leaves the device idle meanwhile.
    #[expect(unsafe_code, reason = "the kernel writes into the slot's block")]
    fn start(&mut self, slot: usize, at: BlockAt) {
        let into = self.blocks[slot].0.as_mut_ptr();
        let entry: squeue::Entry =
            opcode::Read::new(types::Fixed(at.file), into, BLOCK_BYTES as u32)
                .offset(at.number * BLOCK_BYTES as u64)
                .build()
                .user_data(slot as u64);
        // SAFETY: `into` points to BLOCK_BYTES writable bytes that nobody else uses: the slot
        // was free, and `drop` frees the blocks only when no read is in flight.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.unwrap_or_else(|_| panic!("the queue has an entry for each of the slots"));
        // A failure here is met again by the next wait, which submits the rest.
        drop(self.ring.submit());
    }

    /// Submits the rest and waits until at least one read has come back.
    fn wait(&mut self) -> io::Result<()> {
        loop {
            match self.ring.submit_and_wait(1) {
                Ok(_) => break,
                Err(e) if matches!(e.raw_os_error(), Some(libc::EINTR)) => {}
                // Completions that were not taken yet stand in the way: take them.
                Err(e) if matches!(e.raw_os_error(), Some(libc::EBUSY | libc::EAGAIN)) => break,
                Err(e) => return Err(e),
            }
        }
        for entry in self.ring.completion() {
            let slot = usize::try_from(entry.user_data()).unwrap_or(usize::MAX);
            self.landed.push((slot, entry.result()));
        }
        Ok(())
    }
}

/// Reads of the fibers of one thread, each with one under way at most, in the slot of its number.
pub(super) struct Queue {
    ring: Ring,
    /// Of each slot; `None` while nothing has come back.
    results: Vec<Option<i32>>,
}

impl Queue {
    /// For `fiber_count` fibers that read blocks of `files`.
    pub(super) fn new(files: &[&File], fiber_count: usize) -> io::Result<Self> {
        Ok(Self { ring: Ring::new(files, fiber_count)?, results: vec![None; fiber_count] })
    }

    /// Reads the block at `at` for the fiber with number `slot`, which yields the thread
    /// until the block is there. Outside of fibers the thread waits.
    pub(super) fn read(
        queue: &Mutex<Self>,
        slot: usize,
        at: BlockAt,
        into: &mut Block,
    ) -> io::Result<()> {
        lock(queue).begin(slot, at)?;
        let mut wait = Wait::new(Awaited::Read);
        loop {
            let turn = wait.turn();
            let mut queue = lock(queue);
            if turn == Turn::Block && queue.results[slot].is_none() {
                queue.reap()?;
            }
            if let Some(result) = queue.results[slot].take() {
                whole(at.number, result)?;
                into.0.copy_from_slice(&queue.ring.blocks[slot].0);
                return Ok(());
            }
        }
    }

    fn begin(&mut self, slot: usize, at: BlockAt) -> io::Result<()> {
        let place = self.ring.free.iter().position(|free| *free == slot);
        // The one before failed to come back: the kernel may still write into the block.
        let place =
            place.ok_or_else(|| io::Error::other("a read of the same fiber is under way"))?;
        self.ring.free.swap_remove(place);
        self.ring.start(slot, at);
        Ok(())
    }

    /// Waits until a read has come back, and takes all that have.
    fn reap(&mut self) -> io::Result<()> {
        self.ring.wait()?;
        for (slot, result) in self.ring.landed.drain(..) {
            self.ring.free.push(slot);
            self.results[slot] = Some(result);
        }
        Ok(())
    }
}

/// The error of a read of block `number` with this result, if it is not a whole block.
fn whole(number: u64, result: i32) -> io::Result<()> {
    match usize::try_from(result) {
        Ok(BLOCK_BYTES) => Ok(()),
        Ok(short) => Err(short_read(number, short)),
        Err(_) => Err(io::Error::from_raw_os_error(-result)),
    }
}

pub(super) fn short_read(number: u64, byte_count: usize) -> io::Error {
    let reason = format!("{byte_count} of {BLOCK_BYTES} bytes of block {number}: the file was cut");
    io::Error::new(io::ErrorKind::UnexpectedEof, reason)
}

impl Drop for Ring {
    /// Waits for reads in flight; where that fails, the memory is leaked: the kernel may
    /// still write into it.
    fn drop(&mut self) {
        while self.free.len() + self.landed.len() < self.blocks.len() {
            if self.wait().is_err() {
                mem::forget(mem::take(&mut self.blocks));
                return;
            }
        }
    }
}
