//! Reads of blocks through `io_uring`, many in flight at once.
//!
//! **Invariant**: the kernel writes only into blocks that [`Ring`] owns, and these live until
//! the last read in flight has come back.

use std::{fs::File, io, mem, os::fd::AsRawFd};

use io_uring::{IoUring, opcode, squeue, types};

use super::block::{BLOCK_BYTES, Block};

/// A ring over one file, with the memory that it reads into.
pub(super) struct Ring {
    ring: IoUring,
    /// One for each slot; never moved while reads are in flight.
    blocks: Box<[Block]>,
    /// Slots without a read in flight.
    free: Vec<usize>,
    /// Slot and result of what came back last.
    landed: Vec<(usize, i32)>,
}

impl Ring {
    /// A ring of `depth` reads over `file`.
    pub(super) fn new(file: &File, depth: usize) -> io::Result<Self> {
        let entry_count = u32::try_from(depth).map_err(io::Error::other)?;
        // Completions are handled when we wait, not in interrupts of our own thread: Linux 6.1.
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .build(entry_count)
            .or_else(|_| IoUring::new(entry_count))?;
        ring.submitter().register_files(&[file.as_raw_fd()])?;
        Ok(Self {
            ring,
            blocks: vec![Block::ZERO; depth].into_boxed_slice(),
            free: (0..depth).collect(),
            landed: Vec::with_capacity(2 * depth),
        })
    }

    /// Reads blocks, as many in flight as the ring has slots. `next` names a block's number and
    /// whatever goes with it, until it has no more; `land` gets the latter with what was read. After
    /// the first error nothing is begun; it returns when all that was has come back.
    pub(super) fn read<T>(
        &mut self,
        mut next: impl FnMut() -> Option<(u64, T)>,
        mut land: impl FnMut(T, &Block) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut flights: Vec<Option<(u64, T)>> = (0..self.blocks.len()).map(|_| None).collect();
        let mut outcome = Ok(());
        loop {
            while outcome.is_ok()
                && let Some(slot) = self.free.pop()
            {
                let Some((number, with)) = next() else {
                    self.free.push(slot);
                    break;
                };
                self.start(slot, number);
                flights[slot] = Some((number, with));
            }
            if self.free.len() == self.blocks.len() {
                return outcome;
            }
            self.wait()?;
            for (slot, result) in self.landed.drain(..) {
                self.free.push(slot);
                let Some((number, with)) = flights[slot].take() else { continue };
                let read = match usize::try_from(result) {
                    Ok(BLOCK_BYTES) => land(with, &self.blocks[slot]),
                    Ok(short) => Err(short_read(number, short)),
                    Err(_) => Err(io::Error::from_raw_os_error(-result)),
                };
                outcome = outcome.and(read);
            }
        }
    }

    /// Starts a read into the block of `slot`, which is free. Each is submitted at once: to
    /// gather them leaves the device idle meanwhile.
    #[expect(unsafe_code, reason = "the kernel writes into the slot's block")]
    fn start(&mut self, slot: usize, number: u64) {
        let into = self.blocks[slot].0.as_mut_ptr();
        let entry: squeue::Entry = opcode::Read::new(types::Fixed(0), into, BLOCK_BYTES as u32)
            .offset(number * BLOCK_BYTES as u64)
            .build()
            .user_data(slot as u64);
        // SAFETY: `into` points to BLOCK_BYTES writable bytes that nobody else uses: the slot
        // was free, and `drop` frees the blocks only when no read is in flight.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.unwrap_or_else(|_| panic!("the queue has an entry for each of the slots"));
        // What fails here is met again by the next wait, which submits what is left.
        drop(self.ring.submit());
    }

    /// Submits what is left and waits until at least one read has come back.
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

pub(super) fn short_read(number: u64, byte_count: usize) -> io::Error {
    let reason = format!("{byte_count} of {BLOCK_BYTES} bytes of block {number}: the file was cut");
    io::Error::new(io::ErrorKind::UnexpectedEof, reason)
}

impl Drop for Ring {
    /// Waits for what is in flight; where that fails, the memory is leaked: the kernel may
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
