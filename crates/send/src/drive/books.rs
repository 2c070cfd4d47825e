//! The ledger, and beside it the counts, times and samples of a load under way.

use std::time::Duration;

use alloy_primitives::B256;
use hdrhistogram::Histogram;

use crate::{
    account::Signed,
    error::{CallError, ErrorKind},
    ledger::{Fate, Ledger},
    measured::{
        Attempts, ErrorLog, Latencies, Measured, PoolDepth, Reorgs, blocks, histogram, record,
    },
    node::PoolStatus,
    settings::Snapshot,
    watch::SeenBlock,
};

/// The books of a load under way.
#[derive(Debug)]
pub(crate) struct Books {
    ledger: Ledger,
    /// Bytes of each transaction that was signed, and when the node was last asked about it.
    signed: Vec<Option<(Signed, Duration)>>,
    pub(crate) attempts: Attempts,
    errors: ErrorLog,
    read_errors: ErrorLog,
    call: Histogram<u64>,
    pool: Vec<PoolDepth>,
    sent_at: Duration,
    /// Last time that the node answered well.
    pub(crate) answered_at: Duration,
    /// Last time that a transaction was taken, or a block had one.
    pub(crate) progressed_at: Duration,
}

/// How a load ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// By itself.
    Over,
    /// By the user.
    Interrupted,
}

/// A transaction that the node may have forgotten.
#[derive(Debug)]
pub(crate) struct Forgotten {
    pub(crate) tx: usize,
    pub(crate) signed: Signed,
}

impl Books {
    pub(crate) fn new(count: usize) -> Self {
        Self {
            ledger: Ledger::new(count),
            signed: vec![None; count],
            attempts: Attempts::default(),
            errors: ErrorLog::default(),
            read_errors: ErrorLog::default(),
            call: histogram(),
            pool: Vec::new(),
            sent_at: Duration::ZERO,
            answered_at: Duration::ZERO,
            progressed_at: Duration::ZERO,
        }
    }

    pub(crate) fn due(&mut self, tx: usize, at: Duration) {
        self.ledger.due(tx, at);
    }

    pub(crate) fn signed(&mut self, tx: usize, signed: &Signed) {
        self.ledger.signed(tx, signed.hash);
        self.signed[tx] = Some((signed.clone(), Duration::ZERO));
    }

    /// It is handed over, after so many calls that did the same.
    pub(crate) fn sent(&mut self, tx: usize, at: Duration, earlier_count: u32) {
        self.ledger.sent(tx, at);
        self.attempts.calls += 1;
        self.attempts.retries += u64::from(earlier_count > 0);
        if earlier_count == 0 {
            (self.sent_at, self.progressed_at) = (at, at);
        }
    }

    /// A call that sent was answered.
    pub(crate) fn answered(&mut self, took: Duration, now: Duration) {
        record(&mut self.call, took);
        self.answered_at = now;
    }

    pub(crate) fn taken(&mut self, tx: usize, now: Duration) {
        self.ledger.taken(tx, now);
        if let Some((_, asked)) = &mut self.signed[tx] {
            *asked = now;
        }
        (self.answered_at, self.progressed_at) = (now, now);
    }

    pub(crate) fn failed(&mut self, tx: usize, kind: ErrorKind) {
        self.ledger.failed(tx, kind);
    }

    /// The node has lost the bytes with this hash, which it had taken, and their nonce. Returns whether the
    /// transaction has to be signed anew: not once a block has it, nor where other bytes are under way.
    pub(crate) fn lost(&mut self, tx: usize, hash: B256) -> bool {
        let is_last = self.signed[tx].as_ref().is_some_and(|(signed, _)| signed.hash == hash);
        let is_open = is_last && self.ledger.lost(tx);
        self.attempts.nonces_corrected += u64::from(is_open);
        self.attempts.signed_anew += u64::from(is_open);
        is_open
    }

    pub(crate) fn send_failed(&mut self, error: &CallError) {
        self.errors.count(error);
    }

    pub(crate) fn read_failed(&mut self, error: &CallError) {
        self.read_errors.count(error);
    }

    pub(crate) fn extend(&mut self, block: SeenBlock, now: Duration) {
        if self.ledger.extend(block) > 0 {
            self.progressed_at = now;
        }
        self.answered_at = now;
    }

    pub(crate) fn remove(&mut self, number: u64, now: Duration) {
        self.ledger.remove(number);
        (self.answered_at, self.progressed_at) = (now, now);
    }

    pub(crate) fn pool(&mut self, at: Duration, status: PoolStatus, now: Duration) {
        let (pending, queued) = (status.pending.to(), status.queued.to());
        self.pool.push(PoolDepth { at, pending, queued });
        self.answered_at = now;
    }

    /// Transactions in blocks or refused for good.
    pub(crate) const fn settled_count(&self) -> u64 {
        self.ledger.settled_count()
    }

    pub(crate) const fn is_settled(&self) -> bool {
        self.ledger.is_settled()
    }

    /// Transactions that were taken, are in no block, and of which the node was not asked for so long: at
    /// most so many.
    pub(crate) fn forgotten(
        &mut self,
        now: Duration,
        after: Duration,
        most: usize,
    ) -> Vec<Forgotten> {
        let entries = self.ledger.entries().iter().zip(&mut self.signed).enumerate();
        let open = entries.filter_map(|(tx, (entry, signed))| {
            let (signed, asked) = signed.as_mut()?;
            let is_pending = entry.taken.is_some() && entry.fate() == Fate::Pending;
            (is_pending && *asked + after <= now).then(|| {
                *asked = now;
                Forgotten { tx, signed: signed.clone() }
            })
        });
        open.take(most).collect()
    }

    pub(crate) fn snapshot(&self, elapsed: Duration) -> Snapshot {
        Snapshot {
            elapsed,
            tally: self.ledger.tally(),
            pool_depth: self.pool.last().map(|at| at.pending.saturating_add(at.queued)),
            error_count: self.errors.total() + self.read_errors.total(),
            block_count: self.ledger.chain().len() as u64,
        }
    }

    pub(crate) fn measured(self, elapsed: Duration, end: End) -> Measured {
        let Self { ledger, mut attempts, .. } = self;
        attempts.twice = ledger.twice_count;
        Measured {
            tally: ledger.tally(),
            elapsed,
            sending: self.sent_at,
            latencies: Latencies::of(ledger.entries(), self.call),
            attempts,
            errors: self.errors.into_counts(),
            read_errors: self.read_errors.into_counts(),
            blocks: blocks(&ledger),
            pool: self.pool,
            reorgs: Reorgs {
                count: ledger.reorg_count,
                removed_blocks: ledger.removed_block_count,
                undone_inclusions: ledger.undone_count,
            },
            is_interrupted: end == End::Interrupted,
        }
    }
}
