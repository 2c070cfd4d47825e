//! Reads of one thread from flat files: one block for each key. A call for many slots has several
//! reads in flight. This file also implements [`Sample`] for [`FlatSample`].

#[cfg(feature = "io-uring")]
use std::sync::{Arc, Mutex};
use std::{fmt, fs::File, io, os::unix::fs::FileExt};

use alloy_primitives::{Address, B256, Bytes, U256};
use workload::{
    AccountState, Layout, NetChanges, Table,
    layout::{RowKey, decode_account, decode_slot},
};

use super::{
    block::{BLOCK_BYTES, Block},
    files::{CodePosition, Files, RowFile},
    sample::FlatSample,
    settings::{NAME, failed},
    tries::FlatTries,
};
#[cfg(feature = "io-uring")]
use super::{
    ring::{BlockAt, BlockRing, Queue},
    sample::{QUEUED_ACCOUNTS, QUEUED_SLOTS},
};
use crate::{
    error::StoreError,
    place::{self, BlockPlace, Places, RequestedRow},
    store::{
        Background, CallSizes, ReadCounters, Reader, Sample,
        lookup::{CheckedCodes, RowName, SortedParts},
    },
    tries::Tries,
};

/// One thread's reads of a sample.
pub(super) struct FlatReader<'a> {
    sample: &'a FlatSample<'a>,
    layout: Layout,
    #[cfg(feature = "io-uring")]
    ring: Option<Box<BlockRing>>,
    /// The queue of the thread's fibers, and this fiber's slot in it. `None` outside of fibers.
    #[cfg(feature = "io-uring")]
    queue: Option<(Arc<Mutex<Queue>>, usize)>,
    block: Box<Block>,
    /// The last account, its key, and its number among the accounts with slots. Consecutive slots
    /// are mostly of one account.
    last_account: Option<(Address, RowKey, Option<usize>)>,
    buffers: CallBuffers,
    checked_codes: CheckedCodes,
    counters: ReadCounters,
}

/// Memory for the keys of one call, reused by the next call.
#[derive(Default)]
struct CallBuffers {
    sorted: SortedParts,
    /// Keys to read from the files: those that no batch of the sample has committed.
    keys: Vec<U256>,
    /// The caller's indices of `keys`.
    indices: Vec<u32>,
    /// Blocks to read, each with its range of the sorted parts.
    blocks: Vec<RequestedBlock>,
}

/// A block to read, and the range of the call's sorted parts whose rows it may hold.
#[derive(Clone, Copy, Debug)]
struct RequestedBlock {
    block: usize,
    first_part: u32,
    end_part: u32,
}

impl fmt::Debug for FlatReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlatReader").field("counters", &self.counters).finish_non_exhaustive()
    }
}

impl<'a> FlatReader<'a> {
    fn new(sample: &'a FlatSample<'a>) -> Self {
        Self {
            sample,
            layout: sample.layout,
            #[cfg(feature = "io-uring")]
            ring: None,
            #[cfg(feature = "io-uring")]
            queue: None,
            block: Box::new(Block::ZERO),
            last_account: None,
            buffers: CallBuffers::default(),
            checked_codes: CheckedCodes::default(),
            counters: ReadCounters::default(),
        }
    }

    /// Returns the key of an account, and the account's number among the accounts with slots.
    fn account_key(&mut self, address: &Address) -> (RowKey, Option<usize>) {
        match self.last_account {
            Some((last, key, number)) if last == *address => (key, number),
            _ => {
                let key = self.layout.account_key(address);
                let number = self.sample.files.slots.index.account(key.as_slice());
                self.last_account = Some((*address, key, number));
                (key, number)
            }
        }
    }

    /// Passes the value of the row with `key` in `file` to `decode`. `account` is the account's
    /// number in the index, or 0 in the file of accounts.
    fn get<T>(
        &mut self,
        file: &RowFile,
        account: usize,
        key: &[u8],
        decode: impl FnOnce(&[u8]) -> Option<T>,
    ) -> io::Result<Option<T>> {
        // The last 32 bytes of a slot's key, or the whole key of an account.
        let rest = &key[key.len().saturating_sub(32)..];
        let Some(found) = file.index.locate(account, rest, 0) else { return Ok(None) };
        let (mut first, mut last) = (found.first, found.last);
        // The row can only be in the last candidate whose first key is not above `key`. Mostly
        // there is one candidate.
        let mut number = last;
        loop {
            self.counters.block_count += 1;
            self.counters.block_bytes += BLOCK_BYTES as u64;
            self.read_block(file, number)?;
            let rows = file.rows(&self.block, number as u64)?;
            if rows.first_key() <= key {
                first = number;
            } else if number == first {
                return Ok(None);
            } else {
                last = number - 1;
            }
            if first == last && first == number {
                let Some(value) = rows.find(key) else { return Ok(None) };
                return decode(value).map(Some).ok_or_else(|| wrong_value(number));
            }
            number = last - (last - first) / 2;
        }
    }

    /// Reads block `number` of `file`.
    fn read_block(&mut self, file: &RowFile, number: usize) -> io::Result<()> {
        #[cfg(feature = "io-uring")]
        if let Some((queue, slot)) = &self.queue {
            let queued = match file.table {
                Table::Accounts => QUEUED_ACCOUNTS,
                Table::Slots | Table::Codes => QUEUED_SLOTS,
            };
            let at = BlockAt { file: queued, number: number as u64 };
            return Queue::read(queue, *slot, at, &mut self.block);
        }
        let offset = number as u64 * BLOCK_BYTES as u64;
        file.file.for_cache(self.sample.cache).read_exact_at(&mut self.block.0, offset)
    }

    fn base_slot(&mut self, account: Option<usize>, row: &RowKey) -> Result<U256, StoreError> {
        let Some(account) = account else { return Ok(U256::ZERO) };
        let sample = self.sample;
        let (key, file) = (row.as_slice(), &sample.files.slots);
        let value = self.get(file, account, key, decode_slot);
        let value = value.map_err(|error| failed(error, || RowName::SlotRow(key).to_string()))?;
        Ok(value.unwrap_or_default())
    }

    /// Passes to `sink` the values of the keys that a batch of the sample has committed. Puts all
    /// other keys into `buffers.keys`.
    fn pass_committed(
        &mut self,
        address: &Address,
        keys: &[U256],
        sink: &mut dyn FnMut(usize, U256),
    ) {
        let CallBuffers { keys: uncommitted, indices, .. } = &mut self.buffers;
        uncommitted.clear();
        indices.clear();
        for (index, key) in keys.iter().enumerate() {
            match self.sample.overlay.find(|changed| changed.slot(address, key)) {
                Some(value) => sink(index, value),
                None => {
                    uncommitted.push(*key);
                    indices.push(index as u32);
                }
            }
        }
    }

    /// Sorts the slots' parts of the row keys of `buffers.keys`. Fills `buffers.blocks` with the
    /// blocks to read.
    fn plan(&mut self, account: usize) {
        let CallBuffers { sorted, keys, indices, blocks } = &mut self.buffers;
        sorted.fill(self.layout, keys, indices.iter().copied());
        blocks.clear();
        let index = &self.sample.files.slots.index;
        let mut from = 0;
        for (at, (part, _)) in (0..).zip(&sorted.parts) {
            let found = index.locate(account, part, from);
            from = found.map_or(from, |found| found.first);
            // A key before all rows does not exist. The search in the first block then finds
            // nothing.
            let block = found.map_or(0, |found| found.last);
            match blocks.last_mut() {
                Some(last) if last.block == block => last.end_part = at + 1,
                _ => blocks.push(RequestedBlock { block, first_part: at, end_part: at + 1 }),
            }
        }
    }

    /// Reads `buffers.blocks`, through the ring if there is one. Returns the rows whose key is
    /// below the first key of their block, with the caller's indices: an earlier block may hold
    /// them.
    fn read_blocks(
        &mut self,
        account: &RowKey,
        sink: &mut dyn FnMut(usize, U256),
    ) -> Result<Vec<(RowKey, u32)>, StoreError> {
        let CallBuffers { sorted, blocks, .. } = &self.buffers;
        let parts = &sorted.parts;
        self.counters.block_count += blocks.len() as u64;
        self.counters.block_bytes += (blocks.len() * BLOCK_BYTES) as u64;
        let (file, layout) = (&self.sample.files.slots, self.layout);
        let mut extractor =
            SlotExtractor { file, account, layout, parts, before: Vec::new(), sink };
        #[cfg(feature = "io-uring")]
        if let Some(ring) = &mut self.ring {
            let mut next = blocks.iter();
            let read = ring.read(
                || {
                    let requested = next.next()?;
                    let number = requested.block as u64;
                    Some((BlockAt { file: QUEUED_SLOTS, number }, requested))
                },
                |requested, block| extractor.extract(requested, block),
            );
            read.map_err(|error| failed(error, || "slots".to_owned()))?;
            return Ok(extractor.before);
        }
        let descriptor = file.file.for_cache(self.sample.cache);
        for requested in blocks {
            let offset = requested.block as u64 * BLOCK_BYTES as u64;
            let read = descriptor.read_exact_at(&mut self.block.0, offset);
            let extracted = read.and_then(|()| extractor.extract(requested, &self.block));
            extracted.map_err(|error| failed(error, || "slots".to_owned()))?;
        }
        Ok(extractor.before)
    }

    fn has_ring(&self) -> bool {
        #[cfg(feature = "io-uring")]
        return self.ring.is_some();
        #[cfg(not(feature = "io-uring"))]
        return false;
    }
}

/// Extracts the slots of a call from the blocks that were read.
struct SlotExtractor<'b, 's> {
    file: &'b RowFile,
    account: &'b RowKey,
    layout: Layout,
    parts: &'b [([u8; 32], u32)],
    /// Rows whose key is below the first key of the block that was read.
    before: Vec<(RowKey, u32)>,
    sink: &'b mut (dyn FnMut(usize, U256) + 's),
}

impl SlotExtractor<'_, '_> {
    /// Passes the slots that `block` was read for to the sink.
    fn extract(&mut self, requested: &RequestedBlock, block: &Block) -> io::Result<()> {
        let rows = self.file.rows(block, requested.block as u64)?;
        for (part, index) in &self.parts[requested.first_part as usize..requested.end_part as usize]
        {
            let row = self.layout.slot_key_of_part(self.account, part);
            let key = row.as_slice();
            if key < rows.first_key() {
                self.before.push((row, *index));
                continue;
            }
            let value = rows.find(key).and_then(decode_slot);
            (self.sink)(*index as usize, value.unwrap_or_default());
        }
        Ok(())
    }
}

impl Sample for FlatSample<'_> {
    fn reader(&self) -> Result<Box<dyn Reader + '_>, StoreError> {
        #[cfg(feature = "io-uring")]
        return Ok(Box::new(FlatReader { ring: self.ring(), ..FlatReader::new(self) }));
        #[cfg(not(feature = "io-uring"))]
        Ok(Box::new(FlatReader::new(self)))
    }

    /// Each key is one read of one block. All fibers of the thread share a queue.
    #[cfg(feature = "io-uring")]
    fn fiber_readers(&self, count: usize) -> Result<Vec<Box<dyn Reader + '_>>, StoreError> {
        let queue = self.queue(count);
        let readers = (0..count).map(|slot| -> Box<dyn Reader + '_> {
            let queue = queue.clone().map(|queue| (queue, slot));
            Box::new(FlatReader { queue, ..FlatReader::new(self) })
        });
        Ok(readers.collect())
    }

    fn row_layout(&self) -> Option<Layout> {
        Some(self.layout)
    }

    fn commit(&self, changes: &NetChanges) -> Result<(), StoreError> {
        self.write(changes, &[])
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.sync_commits()
    }

    fn tries(&self) -> Option<Box<dyn Tries + '_>> {
        let (nodes, committed) = (self.files.nodes.as_ref()?, self.tries.as_ref()?);
        Some(Box::new(FlatTries { sample: self, nodes, committed }))
    }

    fn background(&self) -> Option<&dyn Background> {
        None
    }

    fn file_bytes(&self) -> Option<u64> {
        None
    }

    /// Returns each row's block. If the index gives several blocks for a key, returns the block
    /// that is read first.
    fn locate(&self, rows: &[RequestedRow]) -> Result<Places, String> {
        let keys = place::keys(rows, self.layout).into_iter();
        let blocks = keys.map(|(table, key)| block_of(self.files, table, key.as_slice())).collect();
        let files = self.files.paths().map(std::path::Path::to_path_buf).to_vec();
        Ok(Places { files, blocks, ..Places::default() })
    }

    fn close(self: Box<Self>) -> Result<(), StoreError> {
        (*self).close()
    }
}

/// Returns the block that is read first for a row; `None` if the index shows that the row does not
/// exist.
fn block_of(files: &Files, table: Table, key: &[u8]) -> Option<BlockPlace> {
    let (file, found) = match table {
        Table::Accounts => (0, files.accounts.index.locate(0, key, 0)?),
        Table::Slots => {
            let (account, rest) = key.split_at(key.len() - 32);
            let account = files.slots.index.account(account)?;
            (1, files.slots.index.locate(account, rest, 0)?)
        }
        Table::Codes => {
            let position = files.code_positions.get(&B256::from_slice(key))?;
            let block_count = u32::try_from(position.byte_count.div_ceil(BLOCK_BYTES)).ok()?;
            let byte_count = block_count * BLOCK_BYTES as u32;
            let offset = position.offset;
            return Some(BlockPlace { file: 2, offset, byte_count, block_count });
        }
    };
    let offset = found.last as u64 * BLOCK_BYTES as u64;
    Some(BlockPlace { file, offset, byte_count: BLOCK_BYTES as u32, block_count: 1 })
}

impl Reader for FlatReader<'_> {
    fn is_timed(&self) -> bool {
        true
    }

    fn account(&mut self, address: &Address) -> Result<Option<AccountState>, StoreError> {
        self.counters.key_count += 1;
        if let Some(found) = self.sample.overlay.find(|changed| changed.account(address)) {
            return Ok(found);
        }
        let sample = self.sample;
        let key = self.layout.account_key(address);
        let key = key.as_slice();
        let found = self.get(&sample.files.accounts, 0, key, decode_account);
        found.map_err(|error| failed(error, || RowName::Account(address).to_string()))
    }

    fn slot(&mut self, address: &Address, key: &U256) -> Result<U256, StoreError> {
        self.counters.key_count += 1;
        if let Some(value) = self.sample.overlay.find(|changed| changed.slot(address, key)) {
            return Ok(value);
        }
        let (account, number) = self.account_key(address);
        let row = self.layout.slot_key(&account, key);
        self.base_slot(number, &row)
    }

    fn slots(
        &mut self,
        address: &Address,
        keys: &[U256],
        sink: &mut dyn FnMut(usize, U256),
    ) -> Result<(), StoreError> {
        self.counters.key_count += keys.len() as u64;
        self.pass_committed(address, keys, sink);
        let (account, number) = self.account_key(address);
        let Some(number) = number else {
            self.buffers.indices.iter().for_each(|index| sink(*index as usize, U256::ZERO));
            return Ok(());
        };
        self.plan(number);
        let before = self.read_blocks(&account, sink)?;
        // The index has several candidates for these rows, which is rare if keys are hashes.
        for (row, index) in before {
            sink(index as usize, self.base_slot(Some(number), &row)?);
        }
        Ok(())
    }

    fn call_sizes(&self) -> CallSizes {
        if !self.has_ring() {
            return CallSizes::ONE_BY_ONE;
        }
        let settings = &self.sample.settings;
        CallSizes {
            // A call with fewer keys than the ring has slots would leave a part of the ring empty.
            slots_per_call: settings.keys_per_call,
            rows_per_call: settings.keys_per_call,
            reads_accounts_together: false,
            reads_at_once: Some(settings.depth),
        }
    }

    /// The next read begins as soon as one completes, so the ring stays full until the last reads.
    fn reads_in_flight(&self, _key_count: usize, block_count: u64) -> f64 {
        block_count.min(self.sample.settings.depth as u64) as f64
    }

    fn code(&mut self, hash: &B256) -> Result<Option<Bytes>, StoreError> {
        self.counters.key_count += 1;
        let code = match self.sample.overlay.find(|changed| changed.code(hash)) {
            Some(code) => code,
            None => {
                let position = self.sample.files.code_positions.get(hash);
                let Some(position) = position else { return Ok(None) };
                let file = self.sample.files.codes.for_cache(self.sample.cache);
                let code = read_code(file, *position)
                    .map_err(|error| failed(error, || RowName::Code(hash).to_string()))?;
                let block_count = position.byte_count.div_ceil(BLOCK_BYTES);
                self.counters.block_count += block_count as u64;
                self.counters.block_bytes += (block_count * BLOCK_BYTES) as u64;
                code
            }
        };
        // A code's hash is its only checksum.
        self.checked_codes.check(NAME, hash, &code)?;
        Ok(Some(code))
    }

    fn counters(&self) -> ReadCounters {
        self.counters
    }
}

/// Reads a code by one system call, into memory that is aligned for `O_DIRECT`.
fn read_code(file: &File, position: CodePosition) -> io::Result<Bytes> {
    let mut blocks = vec![Block::ZERO; position.byte_count.div_ceil(BLOCK_BYTES)];
    let mut code = Vec::with_capacity(blocks.len() * BLOCK_BYTES);
    let mut into: Vec<_> =
        blocks.iter_mut().map(|block| io::IoSliceMut::new(&mut block.0)).collect();
    let read = rustix::io::preadv(file, &mut into, position.offset)?;
    drop(into);
    blocks.iter().for_each(|block| code.extend_from_slice(&block.0));
    code.truncate(read.min(position.byte_count));
    Ok(code.into())
}

fn wrong_value(block: usize) -> io::Error {
    let reason = format!("a value in block {block} has another length than its table's");
    io::Error::new(io::ErrorKind::InvalidData, reason)
}
