//! Reads nodes and rows for roots. The reads that all plans need next are divided into pieces. Each
//! reading thread takes the next piece that is left. The leading thread only waits: a store may
//! count reads by thread, and an engine's counts must not include these reads. A node that was read
//! before a plan needs it is *known*.

use std::{
    mem,
    ops::Range,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use alloy_primitives::{B256, map::HashMap};
use trie::{Format, NodeKey, RowRange, Rows};
use variant::RootReads;
use workload::AccountState;

use super::{
    error::RootError, node_cache::CachedNodeReader, settings::RootSettings, work::RootWork,
};
use crate::{
    error::StoreError,
    leaves,
    lock::lock,
    pool::WorkerPool,
    read_counters::ReadCounters,
    tries::{TrieId, TrieReader},
};

/// Number of pieces for each thread, so that a slower thread takes fewer pieces.
const PIECES_PER_THREAD: usize = 4;
/// Bounds of the number of nodes in a piece. A piece's nodes are read in one call.
const NODES: [usize; 2] = [16, 256];
/// Smallest number of ranges in a piece. The largest number is [`RootSettings::ranges_per_call`],
/// which suits a call of the store.
const RANGES_MIN: usize = 1;
/// Bounds of the number of accounts in a piece.
const ACCOUNTS: [usize; 2] = [8, 64];

/// Reads that can be done at once.
#[derive(Debug, Default)]
pub(super) struct ReadRequests {
    /// Nodes.
    pub(super) nodes: Vec<(TrieId, NodeKey)>,
    /// Ranges of rows.
    pub(super) ranges: Vec<(TrieId, RowRange)>,
    /// Accounts by the hashes of their addresses.
    pub(super) accounts: Vec<B256>,
}

impl ReadRequests {
    pub(super) const fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.ranges.is_empty() && self.accounts.is_empty()
    }
}

/// Division of the reads of one kind (nodes, ranges or accounts) into pieces: the number of reads
/// in a piece, and the number of pieces.
#[derive(Clone, Copy, Debug)]
struct PieceSplit {
    size: usize,
    count: usize,
}

impl PieceSplit {
    fn new(count: usize, bounds: [usize; 2], thread_count: usize) -> Self {
        let even = count.div_ceil(PIECES_PER_THREAD * thread_count.max(1));
        let size = even.clamp(bounds[0], bounds[1]);
        Self { size, count: count.div_ceil(size) }
    }

    /// Makes each read a piece of its own.
    const fn single(count: usize) -> Self {
        Self { size: 1, count }
    }

    fn range(&self, piece: usize, len: usize) -> Range<usize> {
        let start = piece * self.size;
        start..len.min(start + self.size)
    }
}

/// The results of the reads of a piece.
#[derive(Debug, Default)]
struct Piece {
    /// Bytes of all nodes; `nodes` has the range of each node in them.
    bytes: Vec<u8>,
    nodes: Vec<Option<Range<usize>>>,
    /// Rows of all ranges; `row_ends` has the end of each range's rows.
    rows: Rows,
    row_ends: Vec<usize>,
    accounts: Vec<Option<AccountState>>,
    /// Number of nodes that were read for the storage roots in leaves of accounts.
    leaf_node_count: u64,
}

/// Reads that all threads make together.
#[derive(Debug)]
pub(crate) struct ReadJob {
    requests: ReadRequests,
    /// Divisions of the reads of nodes, of ranges and of accounts.
    splits: [PieceSplit; 3],
    next: AtomicUsize,
    /// Largest number of threads that read for this job.
    thread_count_max: usize,
    /// Number of threads that have begun this job.
    joined_thread_count: AtomicUsize,
    done: Mutex<Done>,
}

#[derive(Debug, Default)]
struct Done {
    pieces: Vec<(usize, Piece)>,
    counters: ReadCounters,
    node_count: u64,
    cached_node_count: u64,
    error: Option<StoreError>,
}

impl ReadJob {
    fn new(requests: ReadRequests, settings: &RootSettings, thread_count: usize) -> Self {
        let counts = [requests.nodes.len(), requests.ranges.len(), requests.accounts.len()];
        let (splits, thread_count_max) = match settings.reads {
            // Reads like a client that walks from node to node. Each read is a call of its own, and
            // at most one thread for each shard reads.
            RootReads::OnDemand => {
                (counts.map(PieceSplit::single), usize::from(settings.shards.get()))
            }
            RootReads::ByLevel | RootReads::AtOnce => {
                let [nodes, ranges, accounts] = counts;
                let splits = [
                    PieceSplit::new(nodes, NODES, thread_count),
                    PieceSplit::new(ranges, [RANGES_MIN, settings.ranges_per_call], thread_count),
                    PieceSplit::new(accounts, ACCOUNTS, thread_count),
                ];
                (splits, thread_count)
            }
        };
        let (next, joined_thread_count) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self {
            requests,
            splits,
            next,
            thread_count_max,
            joined_thread_count,
            done: Mutex::default(),
        }
    }

    /// Reads pieces until no piece is left.
    pub(super) fn work(&self, reader: &mut CachedNodeReader<'_>, format: Format) {
        if self.joined_thread_count.fetch_add(1, Ordering::Relaxed) >= self.thread_count_max {
            return;
        }
        let before = reader.counters();
        let mut pieces = Vec::new();
        let mut error = None;
        let piece_count: usize = self.splits.iter().map(|split| split.count).sum();
        while error.is_none() {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= piece_count {
                break;
            }
            match self.read_piece(index, reader, format) {
                Ok(piece) => pieces.push((index, piece)),
                Err(failure) => {
                    self.next.store(piece_count, Ordering::Relaxed);
                    error = Some(failure);
                }
            }
        }
        let counters = reader.counters().since(&before);
        let counts = mem::take(&mut reader.counts);
        let mut done = lock(&self.done);
        done.pieces.extend(pieces);
        done.counters.add(&counters);
        done.node_count += counts.read_count;
        done.cached_node_count += counts.cached_count;
        done.error = done.error.take().or(error);
    }

    fn read_piece(
        &self,
        index: usize,
        reader: &mut dyn TrieReader,
        format: Format,
    ) -> Result<Piece, StoreError> {
        let [nodes, ranges, accounts] = self.splits;
        let mut found = Piece::default();
        if index < nodes.count {
            let keys = &self.requests.nodes[nodes.range(index, self.requests.nodes.len())];
            found.nodes = vec![None; keys.len()];
            let Piece { bytes, nodes, .. } = &mut found;
            reader.nodes(keys, &mut |index, node| {
                let start = bytes.len();
                bytes.extend_from_slice(node.unwrap_or_default());
                nodes[index] = node.map(|_| start..bytes.len());
            })?;
            return Ok(found);
        }
        let index = index - nodes.count;
        if index < ranges.count {
            let ranges = &self.requests.ranges[ranges.range(index, self.requests.ranges.len())];
            for of_kind in
                ranges.chunk_by(|a, b| a.0 != TrieId::Accounts && b.0 != TrieId::Accounts)
            {
                let first = found.rows.len();
                leaves::add_ranges(reader, format, of_kind, &mut found.rows, &mut found.row_ends)?;
                if of_kind.first().is_some_and(|(trie, _)| *trie == TrieId::Accounts) {
                    found.leaf_node_count += (found.rows.len() - first) as u64;
                }
            }
            return Ok(found);
        }
        let range = accounts.range(index - ranges.count, self.requests.accounts.len());
        for account in &self.requests.accounts[range] {
            found.accounts.push(reader.account(account)?);
        }
        Ok(found)
    }
}

/// The threads that read.
#[derive(Clone, Copy)]
pub(crate) struct Readers<'a> {
    pub(super) settings: RootSettings,
    pub(super) pool: &'a WorkerPool<'a, ReadJob>,
    pub(super) thread_count: usize,
    pub(super) stop: &'a AtomicBool,
}

impl Readers<'_> {
    /// Makes the reads in `requests`.
    ///
    /// # Errors
    /// The store fails, or `stop` is set.
    pub(super) fn read(
        &self,
        requests: ReadRequests,
        work: &mut RootWork,
    ) -> Result<Answers, RootError> {
        let job = ReadJob::new(requests, &self.settings, self.thread_count);
        let splits = job.splits;
        self.pool.post(Arc::new(job));
        let job = self.pool.finish().ok_or(RootError::Cancelled)?;
        let done = mem::take(&mut *lock(&job.done));
        work.counters.add(&done.counters);
        work.node_count += done.node_count;
        work.cached_node_count += done.cached_node_count;
        if let Some(error) = done.error {
            return Err(error.into());
        }
        if self.stop.load(Ordering::Relaxed) {
            return Err(RootError::Cancelled);
        }
        let mut pieces = done.pieces;
        pieces.sort_unstable_by_key(|(index, _)| *index);
        let pieces: Vec<_> = pieces.into_iter().map(|(_, piece)| piece).collect();
        work.row_count += pieces.iter().map(|piece| piece.rows.len() as u64).sum::<u64>();
        work.used_node_count += pieces.iter().map(|piece| piece.leaf_node_count).sum::<u64>();
        Ok(Answers { splits, pieces })
    }
}

/// The answers to [`ReadRequests`]. Each answer has the index of its request.
#[derive(Debug)]
pub(super) struct Answers {
    splits: [PieceSplit; 3],
    /// Pieces of nodes, then of ranges, then of accounts.
    pieces: Vec<Piece>,
}

impl Answers {
    /// Returns the node at this index of the requested nodes.
    pub(super) fn node(&self, index: usize) -> Option<&[u8]> {
        let size = self.splits[0].size;
        let piece = &self.pieces[index / size];
        piece.nodes[index % size].clone().map(|range| &piece.bytes[range])
    }

    /// Returns the rows of the range at this index of the requested ranges.
    pub(super) fn rows(&self, index: usize) -> impl Iterator<Item = (B256, &[u8])> {
        let size = self.splits[1].size;
        let piece = &self.pieces[self.splits[0].count + index / size];
        let range = index % size;
        let first = range.checked_sub(1).map_or(0, |before| piece.row_ends[before]);
        let rows = first..piece.row_ends[range];
        rows.map(|row| (piece.rows.keys()[row], piece.rows.value(row)))
    }

    /// Returns the account at this index of the requested accounts.
    pub(super) fn account(&self, index: usize) -> Option<AccountState> {
        let size = self.splits[2].size;
        let piece = &self.pieces[self.splits[0].count + self.splits[1].count + index / size];
        piece.accounts[index % size]
    }
}

/// Nodes that were read ahead.
#[derive(Debug, Default)]
pub(super) struct KnownNodes {
    answers: Vec<Answers>,
    /// Position of each node: the index of its answers, and its index within them.
    positions: HashMap<(TrieId, NodeKey), [usize; 2]>,
}

impl KnownNodes {
    /// Adds the answers to the nodes with these keys.
    pub(super) fn add(&mut self, keys: &[(TrieId, NodeKey)], answers: Answers) {
        let number = self.answers.len();
        let positions = keys.iter().enumerate().map(|(index, id)| (*id, [number, index]));
        self.positions.extend(positions);
        self.answers.push(answers);
    }

    /// Returns whether a node was read, present or not.
    pub(super) fn has(&self, trie: TrieId, key: NodeKey) -> bool {
        self.positions.contains_key(&(trie, key))
    }

    /// Returns a node that was read; `Some(None)` if the store does not have it.
    pub(super) fn node(&self, trie: TrieId, key: NodeKey) -> Option<Option<&[u8]>> {
        let [number, index] = self.positions.get(&(trie, key))?;
        Some(self.answers[*number].node(*index))
    }
}
