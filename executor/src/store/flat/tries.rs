//! Reads and commits of tries in flat files, for the computation of roots. Blocks of nodes and rows
//! are read with up to [`FlatSettings::depth`](super::FlatSettings::depth) reads in flight.

use std::{io, ops::Range, os::unix::fs::FileExt};

use alloy_primitives::{B256, U256};
use trie::{Format, NodeKey, RowRange};
use workload::{
    AccountState, NetChanges,
    layout::{decode_account, decode_slot},
};

#[cfg(feature = "io-uring")]
use super::ring::{BlockAt, BlockRing};
use super::{
    block::{BLOCK_BYTES, Block},
    dual_file::DualFile,
    nodes::{NODES, NodeFile, each_node},
    sample::FlatSample,
    settings::failed,
};
use crate::{
    error::StoreError,
    read_counters::ReadCounters,
    store::hashed_overlay::HashedOverlay,
    tries::{NodeChanges, NodeSink, TrieId, TrieReader, Tries},
};

/// The tries of a sample.
#[derive(Clone, Copy)]
pub(super) struct FlatTries<'a> {
    pub(super) sample: &'a FlatSample<'a>,
    pub(super) nodes: &'a NodeFile,
    pub(super) committed: &'a HashedOverlay,
}

/// A file of blocks.
#[derive(Clone, Copy, Debug)]
enum BlockFile {
    Slots,
    Accounts,
    Nodes,
}

#[cfg(feature = "io-uring")]
impl BlockFile {
    /// All files, by their index in a ring.
    const ALL: [Self; 3] = [Self::Slots, Self::Accounts, Self::Nodes];
}

impl<'a> FlatTries<'a> {
    fn file(&self, kind: BlockFile) -> &'a DualFile {
        match kind {
            BlockFile::Slots => &self.sample.files.slots.file,
            BlockFile::Accounts => &self.sample.files.accounts.file,
            BlockFile::Nodes => &self.nodes.file,
        }
    }
}

impl Tries for FlatTries<'_> {
    fn format(&self) -> Format {
        self.nodes.format
    }

    fn reader(&self) -> Result<Box<dyn TrieReader + '_>, StoreError> {
        Ok(Box::new(Reader {
            tries: *self,
            #[cfg(feature = "io-uring")]
            ring: {
                let files = BlockFile::ALL.map(|kind| self.file(kind).for_cache(self.sample.cache));
                self.sample.ring_over(&files)
            },
            block: Box::new(Block::ZERO),
            counters: ReadCounters::default(),
        }))
    }

    fn ranges_per_call(&self) -> usize {
        self.sample.settings.depth.max(1)
    }

    fn commit(&self, changes: &NetChanges, nodes: &[NodeChanges]) -> Result<(), StoreError> {
        self.sample.write(changes, nodes)
    }
}

/// Reads of one thread.
struct Reader<'a> {
    tries: FlatTries<'a>,
    #[cfg(feature = "io-uring")]
    ring: Option<Box<BlockRing>>,
    block: Box<Block>,
    counters: ReadCounters,
}

/// A function that takes a block, with its index among the requested blocks.
type BlockSink<'s> = dyn FnMut(usize, &Block) -> io::Result<()> + 's;

impl Reader<'_> {
    /// Reads blocks of a file, in any order.
    fn read(
        &mut self,
        kind: BlockFile,
        numbers: &[usize],
        land: &mut BlockSink<'_>,
    ) -> io::Result<()> {
        self.counters.block_count += numbers.len() as u64;
        self.counters.block_bytes += (numbers.len() * BLOCK_BYTES) as u64;
        #[cfg(feature = "io-uring")]
        if let Some(ring) = &mut self.ring {
            let mut next = numbers.iter().enumerate();
            return ring.read(
                || {
                    let (index, number) = next.next()?;
                    Some((BlockAt { file: kind as u32, number: *number as u64 }, index))
                },
                land,
            );
        }
        let file = self.tries.file(kind).for_cache(self.tries.sample.cache);
        for (index, number) in numbers.iter().enumerate() {
            file.read_exact_at(&mut self.block.0, (*number * BLOCK_BYTES) as u64)?;
            land(index, &self.block)?;
        }
        Ok(())
    }
}

/// A block to read, and the range of the sorted keys to look up in it.
struct Lookup {
    block: usize,
    rows: Range<usize>,
}

/// Returns the blocks that may hold the nodes with the sorted keys of `rows`. Calls `absent` with
/// the caller's index of each key that is before all blocks.
fn lookups(
    nodes: &NodeFile,
    rows: &[(Vec<u8>, usize)],
    absent: &mut dyn FnMut(usize),
) -> Vec<Lookup> {
    let mut lookups: Vec<Lookup> = Vec::new();
    for (row, (key, index)) in rows.iter().enumerate() {
        match (nodes.index.locate(key), lookups.last_mut()) {
            (None, _) => absent(*index),
            (Some(block), Some(last)) if last.block == block => last.rows.end = row + 1,
            (Some(block), _) => lookups.push(Lookup { block, rows: row..row + 1 }),
        }
    }
    lookups
}

/// Looks up the sorted keys of `rows` in a block. Passes each node to `sink` with the caller's
/// index; `None` if the block does not hold the node.
fn find(
    block: &Block,
    number: usize,
    rows: &[(Vec<u8>, usize)],
    sink: &mut NodeSink<'_>,
) -> io::Result<()> {
    let mut rows = rows.iter().peekable();
    each_node(block, number as u64, &mut |key, node| {
        while let Some((row, index)) = rows.next_if(|(row, _)| row.as_slice() <= key) {
            sink(*index, (row.as_slice() == key).then_some(node));
        }
    })?;
    rows.for_each(|(_, index)| sink(*index, None));
    Ok(())
}

impl TrieReader for Reader<'_> {
    fn nodes(
        &mut self,
        keys: &[(TrieId, NodeKey)],
        sink: &mut NodeSink<'_>,
    ) -> Result<(), StoreError> {
        self.counters.key_count += keys.len() as u64;
        let mut rows = Vec::with_capacity(keys.len());
        let committed = self.tries.committed.committed();
        for (index, (trie, key)) in keys.iter().enumerate() {
            match committed.node(*trie, *key) {
                Some(node) => sink(index, node),
                None => rows.push((trie.slots_first_key(key), index)),
            }
        }
        drop(committed);
        rows.sort_unstable();
        let lookups = lookups(self.tries.nodes, &rows, &mut |index| sink(index, None));
        let numbers: Vec<_> = lookups.iter().map(|lookup| lookup.block).collect();
        let read = self.read(BlockFile::Nodes, &numbers, &mut |index, block| {
            find(block, numbers[index], &rows[lookups[index].rows.clone()], sink)
        });
        read.map_err(|error| failed(error, || format!("nodes in {NODES}")))
    }

    fn slot_ranges(
        &mut self,
        ranges: &[(B256, RowRange)],
        sink: &mut dyn FnMut(usize, B256, U256),
    ) -> Result<(), StoreError> {
        let file = &self.tries.sample.files.slots;
        // Pairs of a block and the index of a range that needs the block.
        let mut wanted: Vec<(usize, usize)> = Vec::new();
        for (index, (account, range)) in ranges.iter().enumerate() {
            if let Some(number) = file.index.account(account.as_slice()) {
                wanted.extend(file.blocks_in(number, range).map(|block| (block, index)));
            }
        }
        wanted.sort_unstable();
        let by_block: Vec<_> = wanted.chunk_by(|a, b| a.0 == b.0).collect();
        let numbers: Vec<_> = by_block.iter().map(|wanted| wanted[0].0).collect();
        let mut found = vec![Vec::new(); ranges.len()];
        let read = self.read(BlockFile::Slots, &numbers, &mut |index, block| {
            let rows = file.rows(block, numbers[index] as u64)?;
            for (_, range) in by_block[index] {
                let (account, bounds) = &ranges[*range];
                let slots = rows.iter().filter(|(key, _)| key.starts_with(account.as_slice()));
                for (key, value) in slots {
                    let key = B256::from_slice(&key[32..]);
                    if (bounds.first..=bounds.last).contains(&key) {
                        found[*range].push((key, decode_slot(value).ok_or_else(wrong_value)?));
                    }
                }
            }
            Ok(())
        });
        read.map_err(|error| failed(error, || "slots of a trie".to_owned()))?;
        let committed = self.tries.committed.committed();
        for (index, (mut rows, (account, range))) in found.into_iter().zip(ranges).enumerate() {
            // The blocks were read in any order.
            rows.sort_unstable_by_key(|(key, _)| *key);
            committed.merge_slots(account, range, &rows, &mut |key, value| {
                self.counters.key_count += 1;
                sink(index, key, value);
            });
        }
        Ok(())
    }

    fn accounts(
        &mut self,
        range: &RowRange,
        sink: &mut dyn FnMut(B256, AccountState),
    ) -> Result<(), StoreError> {
        let file = &self.tries.sample.files.accounts;
        let numbers: Vec<_> = file.blocks_in(0, range).collect();
        let mut found = Vec::new();
        let read = self.read(BlockFile::Accounts, &numbers, &mut |index, block| {
            for (key, value) in file.rows(block, numbers[index] as u64)?.iter() {
                let key = B256::from_slice(key);
                if (range.first..=range.last).contains(&key) {
                    found.push((key, decode_account(value).ok_or_else(wrong_value)?));
                }
            }
            Ok(())
        });
        read.map_err(|error| failed(error, || "accounts of a trie".to_owned()))?;
        found.sort_unstable_by_key(|(key, _)| *key);
        self.tries.committed.committed().merge_accounts(range, &found, &mut |key, state| {
            self.counters.key_count += 1;
            sink(key, state);
        });
        Ok(())
    }

    fn counters(&self) -> ReadCounters {
        self.counters
    }
}

fn wrong_value() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a value has another length than its table's")
}
