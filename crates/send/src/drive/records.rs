//! Keeps the records of a running load for the driving task: the ledger, counts and times of calls,
//! and samples of the pool. At the end they become the figures of the load.

use std::time::Duration;

use alloy_primitives::B256;
use hdrhistogram::Histogram;

use crate::{
    account::Signed,
    error::{CallError, ErrorKind},
    ledger::{Fate, Ledger},
    measured::{
        Attempts, Confirmations, End, ErrorLog, Latencies, Measured, PoolDepth, Reorgs, blocks,
        histogram, record,
    },
    node::PoolStatus,
    settings::Snapshot,
    watch::SeenBlock,
};

/// Records of a running load.
#[derive(Debug)]
pub(crate) struct LoadRecords {
    ledger: Ledger,
    /// Signed bytes of each transaction, once it is signed.
    tracked_txs: Vec<Option<TrackedTx>>,
    /// Transaction at which the next search for forgotten transactions begins.
    cursor: usize,
    pub(crate) attempts: Attempts,
    errors: ErrorLog,
    read_errors: ErrorLog,
    last_failure: Option<CallError>,
    /// Durations of answered calls that sent a transaction, in nanoseconds.
    call_times: Histogram<u64>,
    pool: Vec<PoolDepth>,
    /// Time at which new bytes were last sent. This and the next times are since the load's start.
    sent_at: Duration,
    /// Time at which a block last came or was removed.
    chain_changed_at: Duration,
    /// Time of the node's last answer, also of a refusal of a transaction.
    pub(crate) answered_at: Duration,
    /// Time of the last progress: new bytes were sent, the node took a transaction, a block had
    /// one, or a block was removed.
    pub(crate) progressed_at: Duration,
}

/// A load stops waiting for confirmations after a time without a new block: the longer of this
/// minimum and this number of block intervals. Several intervals, since a chain may skip slots of
/// time. The wait must end, since some nodes make blocks only for transactions.
const CONFIRMATION_WAIT_MIN: Duration = Duration::from_secs(5);
const CONFIRMATION_WAIT_BLOCKS: u32 = 4;

/// Signed bytes of a transaction.
#[derive(Clone, Debug)]
struct TrackedTx {
    signed: Signed,
    /// Time at which the node took the bytes, or last answered about them.
    answered_at: Duration,
    /// Whether a call asks the node for the bytes, or will soon.
    is_asked: bool,
}

impl LoadRecords {
    pub(crate) fn new(count: usize) -> Self {
        Self {
            ledger: Ledger::new(count),
            tracked_txs: vec![None; count],
            cursor: 0,
            attempts: Attempts::default(),
            errors: ErrorLog::default(),
            read_errors: ErrorLog::default(),
            last_failure: None,
            call_times: histogram(),
            pool: Vec::new(),
            sent_at: Duration::ZERO,
            chain_changed_at: Duration::ZERO,
            answered_at: Duration::ZERO,
            progressed_at: Duration::ZERO,
        }
    }

    pub(crate) fn due(&mut self, tx: usize, at: Duration) {
        self.ledger.due(tx, at);
    }

    pub(crate) fn signed(&mut self, tx: usize, signed: &Signed) {
        self.ledger.signed(tx, signed.hash);
        let tracked_tx =
            TrackedTx { signed: signed.clone(), answered_at: Duration::ZERO, is_asked: false };
        self.tracked_txs[tx] = Some(tracked_tx);
    }

    /// Notes that a transaction is sent. `earlier_count` calls sent it before.
    pub(crate) fn sent(&mut self, tx: usize, at: Duration, earlier_count: u32) {
        self.ledger.sent(tx, at);
        self.attempts.calls += 1;
        self.attempts.retries += u64::from(earlier_count > 0);
        if earlier_count == 0 {
            (self.sent_at, self.progressed_at) = (at, at);
        }
    }

    /// Notes the answer to a call that sent a transaction.
    pub(crate) fn answered(&mut self, took: Duration, now: Duration) {
        record(&mut self.call_times, took);
        self.answered_at = now;
    }

    pub(crate) fn taken(&mut self, tx: usize, now: Duration) {
        self.ledger.taken(tx, now);
        if let Some(tracked_tx) = &mut self.tracked_txs[tx] {
            tracked_tx.answered_at = now;
        }
        (self.answered_at, self.progressed_at) = (now, now);
    }

    pub(crate) fn failed(&mut self, tx: usize, kind: ErrorKind) {
        self.ledger.failed(tx, kind);
    }

    /// Notes that the node has lost the signed transaction `hash`, which it had taken, and that another
    /// one has used its nonce. Returns whether transaction `tx` must be signed anew. It
    /// need not if it is in a block, or was signed anew since.
    pub(crate) fn lost(&mut self, tx: usize, hash: B256) -> bool {
        let is_current =
            self.tracked_txs[tx].as_ref().is_some_and(|tracked_tx| tracked_tx.signed.hash == hash);
        let is_open = is_current && self.ledger.lost(tx);
        self.attempts.nonces_corrected += u64::from(is_open);
        self.attempts.signed_anew += u64::from(is_open);
        is_open
    }

    pub(crate) fn send_failed(&mut self, error: &CallError) {
        self.errors.count(error);
        self.last_failure = Some(error.clone());
    }

    pub(crate) fn read_failed(&mut self, error: &CallError) {
        self.read_errors.count(error);
        self.last_failure = Some(error.clone());
    }

    pub(crate) fn extend(&mut self, block: SeenBlock, now: Duration) {
        if self.ledger.extend(block) > 0 {
            self.progressed_at = now;
        }
        (self.answered_at, self.chain_changed_at) = (now, now);
    }

    pub(crate) fn remove(&mut self, number: u64, now: Duration) {
        self.ledger.remove(number);
        (self.answered_at, self.progressed_at, self.chain_changed_at) = (now, now, now);
    }

    pub(crate) fn pool(&mut self, at: Duration, status: PoolStatus, now: Duration) {
        let (pending, queued) = (status.pending.to(), status.queued.to());
        self.pool.push(PoolDepth { at, pending, queued });
        self.answered_at = now;
    }

    /// Number of transactions in blocks or refused for good.
    pub(crate) const fn settled_count(&self) -> u64 {
        self.ledger.tally().settled()
    }

    pub(crate) const fn is_settled(&self) -> bool {
        self.settled_count() == self.ledger.tally().planned
    }

    /// Whether the load need not wait for confirmations: its last block has `wanted` blocks above it,
    /// or no block has its transactions. After some block intervals without a new block, at most
    /// `patience`, it does not wait either.
    pub(crate) fn is_confirmed(&self, now: Duration, wanted: u64, patience: Duration) -> bool {
        if self.ledger.confirmations().is_none_or(|seen| seen >= wanted) {
            return true;
        }
        let interval = self.ledger.block_interval();
        let wait = interval.map_or(patience, |interval| {
            let wait = interval.saturating_mul(CONFIRMATION_WAIT_BLOCKS);
            wait.max(CONFIRMATION_WAIT_MIN).min(patience)
        });
        now > self.chain_changed_at.saturating_add(wait)
    }

    /// Whether the node has taken the transaction, and no block has it.
    pub(crate) fn is_pooled(&self, tx: usize) -> bool {
        let entry = &self.ledger.entries()[tx];
        entry.taken.is_some() && entry.fate() == Fate::Pending
    }

    /// Whether a block has the bytes with this hash.
    pub(crate) fn is_in_block(&self, hash: B256) -> bool {
        self.ledger.is_in_block(hash)
    }

    /// Finds at most `most` transactions that the node took, that no block has, and about which the
    /// node last answered `after` ago or earlier. Begins where the last search ended. The found
    /// transactions count as asked for until [`Self::reminded`].
    pub(crate) fn forgotten(&mut self, now: Duration, after: Duration, most: usize) -> Vec<usize> {
        let count = self.tracked_txs.len();
        let mut found = Vec::new();
        for step in 0..count {
            if found.len() == most {
                break;
            }
            let tx = (self.cursor + step) % count;
            let is_open = self.is_pooled(tx);
            let Some(tracked_tx) = self.tracked_txs[tx].as_mut().filter(|_| is_open) else {
                continue;
            };
            if !tracked_tx.is_asked && tracked_tx.answered_at + after <= now {
                tracked_tx.is_asked = true;
                found.push(tx);
            }
        }
        if let Some(last) = found.last() {
            self.cursor = last + 1;
        }
        found
    }

    /// Returns the signed bytes of a transaction to ask the node for, unless it is settled or lost
    /// by now.
    pub(crate) fn reminder(&mut self, tx: usize) -> Option<Signed> {
        let is_open = self.is_pooled(tx);
        let tracked_tx = self.tracked_txs[tx].as_mut()?;
        tracked_tx.is_asked = is_open;
        is_open.then(|| tracked_tx.signed.clone())
    }

    /// Notes that the node has answered whether it has a transaction, or that this call failed.
    pub(crate) fn reminded(&mut self, tx: usize, now: Duration) {
        if let Some(tracked_tx) = &mut self.tracked_txs[tx] {
            (tracked_tx.is_asked, tracked_tx.answered_at) = (false, now);
        }
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

    /// Computes the figures of a load that waited for `wanted` confirmations.
    pub(crate) fn measured(self, elapsed: Duration, end: End, wanted: u64) -> Measured {
        let Self { ledger, mut attempts, .. } = self;
        attempts.double_inclusions = ledger.twice_count;
        Measured {
            tally: ledger.tally(),
            elapsed,
            sending: self.sent_at,
            latencies: Latencies::of(ledger.entries(), elapsed, self.call_times),
            attempts,
            errors: self.errors.into_counts(),
            read_errors: self.read_errors.into_counts(),
            blocks: blocks(&ledger),
            pool: self.pool,
            reorgs: Reorgs {
                count: ledger.reorg_count,
                removed_block_count: ledger.removed_block_count,
                undone_inclusions: ledger.undone_count,
            },
            confirmations: Confirmations {
                wanted,
                seen: ledger.confirmations().unwrap_or_default(),
            },
            end,
            last_failure: self.last_failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::Bytes;

    use super::*;

    #[test]
    fn every_forgotten_transaction_has_its_turn_and_none_is_asked_for_twice_at_once() {
        const COUNT: usize = 1_000;
        const MOST: usize = 32;
        let mut records = LoadRecords::new(COUNT);
        for tx in 0..COUNT {
            let hash = B256::from(alloy_primitives::U256::from(tx));
            records.signed(tx, &Signed { raw: Bytes::new(), hash, nonce: 0 });
            records.sent(tx, Duration::ZERO, 0);
            records.taken(tx, Duration::ZERO);
        }
        // A search each second, in which a transaction is found again after two seconds at the
        // earliest. The first transactions must not hide the last.
        let after = Duration::from_secs(2);
        let mut asked = vec![0; COUNT];
        for second in 2..34 {
            let now = Duration::from_secs(second);
            let found = records.forgotten(now, after, MOST);
            assert_eq!(found.len(), MOST);
            for tx in &found {
                asked[*tx] += 1;
                assert!(records.reminder(*tx).is_some());
            }
            for tx in found {
                records.reminded(tx, now);
            }
        }
        assert!(asked.iter().all(|count| (1..=2).contains(count)), "{asked:?}");
        let late = Duration::from_secs(100);
        assert_eq!(records.forgotten(late, after, COUNT).len(), COUNT);
        assert_eq!(records.forgotten(late, after, COUNT), [0; 0], "all are being asked for");
        records.failed(7, ErrorKind::Rejected);
        assert!(records.reminder(7).is_none(), "it is settled by now");
    }
}
