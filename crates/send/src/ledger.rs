//! Records the fate of each transaction of a load: unsent, pending, in a block or refused. Each
//! transaction has one fate and counts once, however often it was sent. So the counts of all fates
//! add up to the number of transactions. `drive/records.rs` reports the events. The ledger has no
//! clock and no network, so tests can check these laws.

use std::{collections::HashMap, time::Duration};

use alloy_primitives::B256;

use crate::{error::ErrorKind, node::Header, watch::SeenBlock};

/// The fate of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The transaction was never sent to the node.
    Unsent,
    /// The transaction was sent, and is neither in a block nor refused for good.
    Pending,
    /// The transaction is in a block and succeeded.
    Included,
    /// The transaction is in a block and reverted.
    Reverted,
    /// The node refused the transaction for good.
    Failed,
}

/// Number of transactions of each fate: `planned` = `unsent` + `sent`, and `sent` = `included` +
/// `reverted` + `pending` + `failed`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of all transactions of the load.
    pub planned: u64,
    /// Number of transactions that were never sent to the node.
    pub unsent: u64,
    /// Number of transactions that were sent to the node at least once.
    pub sent: u64,
    /// Number of transactions that are in a block and succeeded.
    pub included: u64,
    /// Number of transactions that are in a block and reverted.
    pub reverted: u64,
    /// Number of sent transactions that are neither in a block nor refused for good.
    pub pending: u64,
    /// Number of transactions that the node refused for good.
    pub failed: u64,
}

impl Tally {
    const fn count_of(&mut self, fate: Fate) -> &mut u64 {
        match fate {
            Fate::Unsent => &mut self.unsent,
            Fate::Pending => &mut self.pending,
            Fate::Included => &mut self.included,
            Fate::Reverted => &mut self.reverted,
            Fate::Failed => &mut self.failed,
        }
    }

    /// Counts one transaction under the fate `after`, and no longer under `before`.
    fn change(&mut self, before: Fate, after: Fate) {
        *self.count_of(before) -= 1;
        *self.count_of(after) += 1;
        self.sent = self.planned - self.unsent;
    }

    /// Number of transactions in blocks or refused for good.
    pub(crate) const fn settled(&self) -> u64 {
        self.included + self.reverted + self.failed
    }

    /// Whether every transaction of the load is in a block and succeeded.
    pub const fn is_all_included(&self) -> bool {
        self.included == self.planned
    }
}

/// A transaction in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inclusion {
    pub(crate) hash: B256,
    /// Time at which the block was first seen, since the start of the load.
    pub(crate) at: Duration,
    pub(crate) has_succeeded: bool,
}

/// A transaction's times and inclusion. Times are since the start of the load.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    /// Time at which the transaction was due.
    pub(crate) due: Option<Duration>,
    /// Time of the first call that sent the transaction.
    pub(crate) sent: Option<Duration>,
    /// Time at which the node took the transaction.
    pub(crate) taken: Option<Duration>,
    pub(crate) inclusion: Option<Inclusion>,
    /// Reason of the final refusal.
    pub(crate) failure: Option<ErrorKind>,
}

impl Entry {
    /// Time at which a block with the transaction was first seen.
    pub(crate) fn included_at(&self) -> Option<Duration> {
        Some(self.inclusion.as_ref()?.at)
    }

    pub(crate) fn fate(&self) -> Fate {
        match (&self.inclusion, self.sent, self.failure) {
            // A block decides, whatever the node answered.
            (Some(inclusion), ..) if inclusion.has_succeeded => Fate::Included,
            (Some(_), ..) => Fate::Reverted,
            (None, None, _) => Fate::Unsent,
            (None, Some(_), None) => Fate::Pending,
            (None, Some(_), Some(_)) => Fate::Failed,
        }
    }
}

/// A block of the chain since the start of the load. Only the load's own transactions are kept.
#[derive(Clone, Debug)]
pub(crate) struct CountedBlock {
    /// The block's header, without the hashes of its transactions.
    pub(crate) header: Header,
    /// Time at which the block was first seen, since the start of the load.
    pub(crate) at: Duration,
    /// Number of all transactions of the block.
    pub(crate) tx_count: u64,
    /// The load's transactions in the block.
    pub(crate) own: Vec<usize>,
    /// Gas of the load's transactions in the block.
    pub(crate) own_gas: u64,
}

/// Fates of all transactions of a load, and the blocks since its start.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    entries: Vec<Entry>,
    /// Transactions by the hashes of their bytes. A transaction that was signed anew has several
    /// hashes.
    by_hash: HashMap<B256, usize>,
    chain: Vec<CountedBlock>,
    /// Number of transactions of each fate.
    tally: Tally,
    /// Number of inclusions of a transaction that was already in a block with another signature.
    pub(crate) twice_count: u64,
    /// Number of inclusions that a reorganisation undid.
    pub(crate) undone_count: u64,
    pub(crate) removed_block_count: u64,
    pub(crate) reorg_count: u64,
    is_last_removed: bool,
}

impl Ledger {
    /// Makes the ledger of `count` transactions that are all unsent.
    pub(crate) fn new(count: usize) -> Self {
        let (planned, unsent) = (count as u64, count as u64);
        Self {
            entries: vec![Entry::default(); count],
            by_hash: HashMap::with_capacity(count),
            tally: Tally { planned, unsent, ..Tally::default() },
            ..Self::default()
        }
    }

    fn change(&mut self, tx: usize, edit: impl FnOnce(&mut Entry)) {
        let before = self.entries[tx].fate();
        edit(&mut self.entries[tx]);
        self.tally.change(before, self.entries[tx].fate());
    }

    /// Notes that a transaction is due.
    pub(crate) fn due(&mut self, tx: usize, at: Duration) {
        self.change(tx, |entry| entry.due = Some(at));
    }

    /// Notes the hash of a transaction's bytes.
    pub(crate) fn signed(&mut self, tx: usize, hash: B256) {
        self.by_hash.insert(hash, tx);
    }

    /// Notes that a transaction is sent to the node.
    pub(crate) fn sent(&mut self, tx: usize, at: Duration) {
        self.change(tx, |entry| {
            entry.sent.get_or_insert(at);
        });
    }

    /// Notes that the node took a transaction.
    pub(crate) fn taken(&mut self, tx: usize, at: Duration) {
        self.change(tx, |entry| {
            entry.taken.get_or_insert(at);
        });
    }

    /// Notes that the node no longer has a transaction. Returns whether this is a loss: the node
    /// had taken the transaction, and no block has it. After a loss it no longer counts as taken,
    /// so a second report of the loss returns false.
    pub(crate) fn lost(&mut self, tx: usize) -> bool {
        let entry = &self.entries[tx];
        let is_lost = entry.fate() == Fate::Pending && entry.taken.is_some();
        if is_lost {
            self.change(tx, |entry| entry.taken = None);
        }
        is_lost
    }

    /// Notes that the node refused a transaction for good.
    pub(crate) fn failed(&mut self, tx: usize, kind: ErrorKind) {
        self.change(tx, |entry| entry.failure = Some(kind));
    }

    /// Whether a block has the bytes with this hash.
    pub(crate) fn is_in_block(&self, hash: B256) -> bool {
        let tx = self.by_hash.get(&hash).map(|tx| &self.entries[*tx]);
        tx.and_then(|entry| entry.inclusion.as_ref()).is_some_and(|included| included.hash == hash)
    }

    /// Extends the chain by a block. Returns the number of the load's transactions in the block.
    pub(crate) fn extend(&mut self, block: SeenBlock) -> u64 {
        let SeenBlock { mut header, at, receipts } = block;
        let (mut own, mut own_gas) = (Vec::new(), 0_u64);
        for receipt in &receipts {
            let Some(tx) = self.by_hash.get(&receipt.transaction_hash).copied() else { continue };
            if self.entries[tx].inclusion.is_some() {
                self.twice_count += 1;
                continue;
            }
            let (hash, has_succeeded) = (receipt.transaction_hash, receipt.succeeded());
            own.push(tx);
            own_gas = own_gas.saturating_add(receipt.gas_used.to());
            self.change(tx, |entry| {
                entry.inclusion = Some(Inclusion { hash, at, has_succeeded });
            });
        }
        let (own_count, tx_count) = (own.len() as u64, receipts.len() as u64);
        header.transactions = Vec::new();
        self.chain.push(CountedBlock { header, at, tx_count, own, own_gas });
        self.is_last_removed = false;
        own_count
    }

    /// Removes the last block from the chain, if its number is `number`. Its transactions are
    /// pending again.
    pub(crate) fn remove(&mut self, number: u64) {
        let Some(counted) = self.chain.pop_if(|last| last.header.number.to::<u64>() == number)
        else {
            return;
        };
        for tx in counted.own {
            self.undone_count += 1;
            self.change(tx, |entry| entry.inclusion = None);
        }
        self.removed_block_count += 1;
        self.reorg_count += u64::from(!self.is_last_removed);
        self.is_last_removed = true;
    }

    /// Number of blocks above the last block with a transaction of the load; `None` if there is no
    /// such block.
    pub(crate) fn confirmations(&self) -> Option<u64> {
        let above = self.chain.iter().rev().position(|counted| !counted.own.is_empty());
        above.map(|count| count as u64)
    }

    /// The shortest time between two successive blocks, by their timestamps.
    pub(crate) fn block_interval(&self) -> Option<Duration> {
        let times_s = self.chain.iter().map(|counted| counted.header.timestamp.to::<u64>());
        let intervals_s = times_s.clone().skip(1).zip(times_s);
        intervals_s
            .map(|(time_s, before_s)| time_s.saturating_sub(before_s))
            .min()
            .map(Duration::from_secs)
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(crate) fn chain(&self) -> &[CountedBlock] {
        &self.chain
    }

    /// Number of transactions of each fate.
    pub(crate) const fn tally(&self) -> Tally {
        self.tally
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::U64;
    use proptest::prelude::*;

    use super::*;
    use crate::node::Receipt;

    /// Transactions of the tests, and signatures of each.
    const COUNT: usize = 5;
    const SIGNATURES: u8 = 2;

    fn hash(tx: usize, signature: u8) -> B256 {
        let mut hash = B256::ZERO;
        (hash[0], hash[1]) = (tx as u8 + 1, signature);
        hash
    }

    fn block(number: u64, hashes: Vec<B256>) -> SeenBlock {
        let receipts = hashes.iter().map(|hash| Receipt {
            transaction_hash: *hash,
            status: Some(U64::from(hash[0] % 2)),
            gas_used: U64::from(21_000),
            contract_address: None,
        });
        let header = Header {
            number: U64::from(number),
            hash: B256::ZERO,
            parent_hash: B256::ZERO,
            timestamp: U64::from(12 * number),
            gas_used: U64::ZERO,
            gas_limit: U64::ZERO,
            base_fee_per_gas: None,
            transactions: hashes.clone(),
            block_access_list_hash: None,
        };
        SeenBlock { header, at: Duration::from_secs(number), receipts: receipts.collect() }
    }

    #[derive(Clone, Debug)]
    enum Event {
        Signed(usize, u8),
        Sent(usize),
        Taken(usize),
        Failed(usize),
        Lost(usize),
        Block(Vec<(usize, u8)>),
        Removed,
    }

    fn event() -> impl Strategy<Value = Event> {
        let signature = || (0..COUNT, 0..SIGNATURES);
        prop_oneof![
            signature().prop_map(|(tx, signature)| Event::Signed(tx, signature)),
            (0..COUNT).prop_map(Event::Sent),
            (0..COUNT).prop_map(Event::Taken),
            (0..COUNT).prop_map(Event::Failed),
            (0..COUNT).prop_map(Event::Lost),
            prop::collection::vec(signature(), 0..4).prop_map(Event::Block),
            Just(Event::Removed),
        ]
    }

    proptest! {
        #[test]
        fn all_fates_add_up_and_a_transaction_counts_once(events in prop::collection::vec(event(), 0..60)) {
            let mut ledger = Ledger::new(COUNT);
            let mut number = 0;
            for event in events {
                match event {
                    Event::Signed(tx, signature) => ledger.signed(tx, hash(tx, signature)),
                    Event::Sent(tx) => ledger.sent(tx, Duration::ZERO),
                    Event::Taken(tx) => ledger.taken(tx, Duration::ZERO),
                    Event::Failed(tx) => ledger.failed(tx, ErrorKind::Rejected),
                    Event::Lost(tx) => {
                        let is_taken = ledger.entries()[tx].taken.is_some();
                        let is_open = ledger.entries()[tx].fate() == Fate::Pending;
                        prop_assert_eq!(ledger.lost(tx), is_taken && is_open);
                        prop_assert!(!ledger.lost(tx), "a second loss of the same bytes is none");
                    }
                    Event::Block(txs) => {
                        number += 1;
                        ledger.extend(block(number, txs.iter().map(|(tx, s)| hash(*tx, *s)).collect()));
                    }
                    Event::Removed => {
                        ledger.remove(number);
                        number = ledger.chain().last().map_or(0, |last| last.header.number.to());
                    }
                }
                let tally = ledger.tally();
                prop_assert_eq!(tally.planned, COUNT as u64);
                prop_assert_eq!(tally.planned, tally.sent + tally.unsent);
                let settled = tally.included + tally.reverted + tally.failed;
                prop_assert_eq!(tally.sent, settled + tally.pending);
                prop_assert_eq!(tally.settled(), settled);
                let with = |fate| ledger.entries().iter().filter(|entry| entry.fate() == fate).count();
                let counted = [Fate::Unsent, Fate::Pending, Fate::Included, Fate::Reverted, Fate::Failed].map(with);
                let in_tally = [tally.unsent, tally.pending, tally.included, tally.reverted, tally.failed];
                prop_assert_eq!(counted.map(|count| count as u64), in_tally);
                // The blocks have each included transaction once, however often its bytes are in
                // them.
                let on_chain: usize = ledger.chain().iter().map(|counted| counted.own.len()).sum();
                prop_assert_eq!(on_chain as u64, tally.included + tally.reverted);
            }
        }
    }

    #[test]
    fn a_removed_block_makes_its_transactions_pending_and_another_block_settles_them() {
        let mut ledger = Ledger::new(2);
        for tx in 0..2 {
            ledger.signed(tx, hash(tx, 0));
            ledger.sent(tx, Duration::ZERO);
        }
        ledger.extend(block(1, vec![hash(0, 0)]));
        ledger.extend(block(2, vec![hash(1, 0)]));
        assert_eq!(ledger.tally().settled(), 2);
        ledger.remove(2);
        ledger.remove(1);
        let tally = ledger.tally();
        assert_eq!((tally.pending, tally.included), (2, 0));
        assert_eq!(
            (ledger.reorg_count, ledger.removed_block_count, ledger.undone_count),
            (1, 2, 2)
        );
        ledger.extend(block(1, vec![hash(1, 0), hash(0, 0)]));
        let tally = ledger.tally();
        assert_eq!((tally.included, tally.reverted, tally.pending), (1, 1, 0));
        ledger.remove(1);
        assert_eq!(ledger.reorg_count, 2);
    }

    #[test]
    fn confirmations_are_blocks_above_the_last_one_with_a_transaction_of_the_load() {
        let mut ledger = Ledger::new(1);
        ledger.signed(0, hash(0, 0));
        ledger.sent(0, Duration::ZERO);
        ledger.extend(block(1, Vec::new()));
        assert_eq!((ledger.confirmations(), ledger.block_interval()), (None, None));
        ledger.extend(block(2, vec![hash(0, 0)]));
        assert_eq!(ledger.confirmations(), Some(0));
        for number in 3..=4 {
            ledger.extend(block(number, Vec::new()));
        }
        assert_eq!(ledger.confirmations(), Some(2));
        assert_eq!(ledger.block_interval(), Some(Duration::from_secs(12)));
        (2..=4).rev().for_each(|number| ledger.remove(number));
        assert_eq!((ledger.confirmations(), ledger.tally().pending), (None, 1));
    }

    #[test]
    fn a_block_decides_whatever_the_node_answered() {
        let mut ledger = Ledger::new(1);
        ledger.signed(0, hash(0, 0));
        ledger.sent(0, Duration::ZERO);
        ledger.failed(0, ErrorKind::Rejected);
        assert_eq!(ledger.tally().failed, 1);
        ledger.extend(block(1, vec![hash(0, 0)]));
        assert_eq!((ledger.tally().failed, ledger.tally().included), (0, 1));
    }

    #[test]
    fn two_signatures_of_a_transaction_in_blocks_count_once_and_are_told() {
        let mut ledger = Ledger::new(1);
        ledger.sent(0, Duration::ZERO);
        for signature in 0..2 {
            ledger.signed(0, hash(0, signature));
        }
        ledger.extend(block(1, vec![hash(0, 0), hash(0, 1)]));
        assert_eq!((ledger.tally().included, ledger.twice_count), (1, 1));
        assert!(ledger.is_in_block(hash(0, 0)) && !ledger.is_in_block(hash(1, 0)));
        ledger.remove(1);
        assert!(!ledger.is_in_block(hash(0, 0)));
    }
}
