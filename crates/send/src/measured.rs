//! The figures of a load that has ended: fates, latencies, blocks, errors. The program makes its
//! result and its report from them.

use std::{collections::BTreeMap, time::Duration};

use hdrhistogram::Histogram;

use crate::{
    error::{CallError, ErrorKind},
    ledger::{Entry, Ledger, Tally},
};

/// Number of significant decimal digits of the values in histograms.
const DIGITS: u8 = 3;

/// A load that has ended.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Number of transactions of each fate.
    pub tally: Tally,
    /// Time from the start of the load to its end.
    pub elapsed: Duration,
    /// Time from the start of the load until new bytes were last sent: a new transaction, or one
    /// that was signed anew.
    pub sending: Duration,
    /// Latencies of transactions and calls.
    pub latencies: Latencies,
    /// Counts of calls that sent transactions, and of signatures.
    pub attempts: Attempts,
    /// Failed calls that sent transactions or asked for them, by kind.
    pub errors: Vec<ErrorCount>,
    /// Failed calls that read blocks or the depth of the pool, by kind.
    pub read_errors: Vec<ErrorCount>,
    /// Blocks of the chain since the start, in order.
    pub blocks: Vec<Block>,
    /// Depth of the pool over time; empty if the node does not report it.
    pub pool: Vec<PoolDepth>,
    /// Reorganisations.
    pub reorgs: Reorgs,
    /// Blocks above the last block with a transaction of the load.
    pub confirmations: Confirmations,
    /// How the load ended.
    pub end: End,
    /// The last failed call.
    pub last_failure: Option<CallError>,
}

/// End of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All transactions are in blocks or refused for good.
    Settled,
    /// The node gave no answer for the time of the user's patience.
    Silent,
    /// The load made no progress for the time of the user's patience, and no planned due time lay
    /// ahead. Progress means that new bytes were sent, the node took a transaction, a block had
    /// one, or a block was removed.
    Stuck,
    /// The user interrupted the load.
    Interrupted,
}

/// Blocks above the last block with a transaction of the load. A reorganisation that removes at
/// most `seen` blocks leaves the load's blocks in the chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Confirmations {
    /// Number of these blocks that the load waits for.
    pub wanted: u64,
    /// Number of these blocks that were seen.
    pub seen: u64,
}

/// Nanoseconds from the due time of transactions to an event, such as their inclusion. A
/// transaction without the event waits at least until the end of the load. Without such open waits,
/// a node that stalls would look as fast as before the stall.
#[derive(Clone, Debug)]
pub struct Waits {
    /// Waits of transactions that had the event.
    pub ended: Histogram<u64>,
    /// Waits of transactions without the event, until the end of the load.
    pub open: Histogram<u64>,
}

/// Latencies in nanoseconds.
#[derive(Clone, Debug)]
pub struct Latencies {
    /// From the due time of a transaction to its first call.
    pub delay: Waits,
    /// From the due time of a transaction until the node had taken it, or a block had it.
    pub acceptance: Waits,
    /// From the due time of a transaction to the first sight of its block.
    pub inclusion: Waits,
    /// Durations of answered calls that sent a transaction.
    pub call: Histogram<u64>,
}

/// Counts of calls that sent transactions, and of signatures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attempts {
    /// Number of calls that sent a transaction.
    pub calls: u64,
    /// Number of these calls that repeated the same bytes.
    pub retries: u64,
    /// Number of answers such as "already known" or "nonce too low" about transactions that an
    /// earlier call had brought to the node.
    pub known: u64,
    /// Number of times that a transaction was sent again because the node had taken and forgotten
    /// it.
    pub resent: u64,
    /// Number of times that a transaction was signed anew, with another nonce or fee.
    pub signed_anew: u64,
    /// Number of times that a transaction got another nonce, because another transaction has used
    /// its nonce.
    pub nonces_corrected: u64,
    /// Number of inclusions of a transaction that was already in a block with another signature.
    pub double_inclusions: u64,
}

/// Number of failed calls of one kind, and a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorCount {
    /// Kind of the failure.
    pub kind: ErrorKind,
    /// Number of failed calls.
    pub count: u64,
    /// Message of the first failure.
    pub first: String,
}

/// A block of the chain since the start of the load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Number of the block.
    pub number: u64,
    /// Hash of the block.
    pub hash: String,
    /// Unix time in seconds.
    pub timestamp: u64,
    /// Time at which the block was first seen, since the start of the load.
    pub seen: Duration,
    /// Number of all transactions of the block.
    pub tx_count: u64,
    /// Number of the load's transactions in the block.
    pub own_tx_count: u64,
    /// Gas that all transactions of the block used.
    pub gas: u64,
    /// Gas that the load's transactions in the block used.
    pub own_gas: u64,
    /// Gas limit of the block.
    pub gas_limit: u64,
    /// Base fee in wei per gas.
    pub base_fee: Option<u64>,
}

/// Depth of the node's pool at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolDepth {
    /// Time since the start of the load.
    pub at: Duration,
    /// Number of transactions that may go into the next block.
    pub pending: u64,
    /// Number of transactions that wait for earlier transactions of their senders.
    pub queued: u64,
}

/// Reorganisations of the chain during the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reorgs {
    /// Number of reorganisations.
    pub count: u64,
    /// Number of removed blocks.
    pub removed_block_count: u64,
    /// Number of inclusions that the reorganisations undid.
    pub undone_inclusions: u64,
}

/// Failed calls, counted by kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct ErrorLog(BTreeMap<ErrorKind, ErrorCount>);

impl ErrorLog {
    pub(crate) fn count(&mut self, error: &CallError) {
        let CallError { kind, message } = error;
        let error_count = self.0.entry(*kind).or_insert_with(|| ErrorCount {
            kind: *kind,
            count: 0,
            first: message.clone(),
        });
        error_count.count += 1;
    }

    pub(crate) fn total(&self) -> u64 {
        self.0.values().map(|kind| kind.count).sum()
    }

    pub(crate) fn into_counts(self) -> Vec<ErrorCount> {
        self.0.into_values().collect()
    }
}

pub(crate) fn histogram() -> Histogram<u64> {
    // Never fails: a number of digits up to 5 is valid.
    Histogram::new(DIGITS).unwrap_or_else(|e| panic!("{DIGITS} digits: {e}"))
}

pub(crate) fn record(histogram: &mut Histogram<u64>, time: Duration) {
    let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    // Never fails: the histogram grows.
    histogram.record(ns).unwrap_or_else(|e| panic!("{ns} ns: {e}"));
}

impl Latencies {
    /// Computes the latencies of the entries of a load that ended at `end`. `call` has the
    /// durations of calls.
    pub(crate) fn of(entries: &[Entry], end: Duration, call: Histogram<u64>) -> Self {
        Self {
            delay: Waits::until(entries, end, |entry| entry.sent),
            acceptance: Waits::until(entries, end, |entry| {
                entry.taken.or_else(|| entry.included_at())
            }),
            inclusion: Waits::until(entries, end, Entry::included_at),
            call,
        }
    }
}

impl Waits {
    /// Records the time of each entry from its due time until an event, or until the `end` of the
    /// load.
    fn until(entries: &[Entry], end: Duration, event: fn(&Entry) -> Option<Duration>) -> Self {
        let mut waits = Self { ended: histogram(), open: histogram() };
        for entry in entries {
            match (entry.due, event(entry)) {
                (None, _) => {}
                (Some(due), Some(at)) => record(&mut waits.ended, at.saturating_sub(due)),
                (Some(due), None) => record(&mut waits.open, end.saturating_sub(due)),
            }
        }
        waits
    }
}

/// Returns the blocks of the ledger with their figures.
pub(crate) fn blocks(ledger: &Ledger) -> Vec<Block> {
    let blocks = ledger.chain().iter().map(|counted| {
        let header = &counted.header;
        Block {
            number: header.number.to(),
            hash: header.hash.to_string(),
            timestamp: header.timestamp.to(),
            seen: counted.at,
            tx_count: counted.tx_count,
            own_tx_count: counted.own.len() as u64,
            gas: header.gas_used.to(),
            own_gas: counted.own_gas,
            gas_limit: header.gas_limit.to(),
            base_fee: header.base_fee_per_gas.map(|fee| fee.to()),
        }
    });
    blocks.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_without_a_block_count_with_the_wait_that_they_had() {
        let at = Duration::from_secs;
        let due = |due| Entry { due: Some(at(due)), sent: Some(at(due)), ..Entry::default() };
        let inclusion = crate::ledger::Inclusion {
            hash: alloy_primitives::B256::ZERO,
            at: at(3),
            has_succeeded: true,
        };
        let entries = [
            Entry { inclusion: Some(inclusion), ..due(1) },
            due(4),
            Entry { failure: Some(ErrorKind::Rejected), taken: Some(at(6)), ..due(5) },
            Entry { due: Some(at(7)), ..Entry::default() },
            Entry::default(),
        ];
        let latencies = Latencies::of(&entries, at(10), histogram());
        let count = |waits: &Waits| (waits.ended.len(), waits.open.len());
        assert_eq!(count(&latencies.delay), (3, 1));
        assert_eq!(count(&latencies.acceptance), (2, 2));
        assert_eq!(count(&latencies.inclusion), (1, 3));
        let seconds = |ns: u64| ns.div_ceil(1_010_000_000);
        assert_eq!(seconds(latencies.inclusion.ended.max()), 2);
        assert_eq!(
            (seconds(latencies.inclusion.open.min()), seconds(latencies.inclusion.open.max())),
            (3, 6)
        );
    }

    #[test]
    fn a_time_of_any_length_is_recorded_as_it_is() {
        let mut times = histogram();
        for seconds in [0, 1, 3_600] {
            record(&mut times, Duration::from_secs(seconds));
        }
        assert!(times.max().abs_diff(3_600_000_000_000) < 3_600_000_000_000 / 1_000);
        assert_eq!(times.len(), 3);
    }
}
