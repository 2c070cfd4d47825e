//! The input of every partitioner: the transactions of a batch in block order, each with its gas,
//! its sender and the keys that it touches.

use crate::rows::Rows;

/// A key that a transaction touches, by its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Number of the key. Numbers count from 0 without gaps, as memory grows with the largest
    /// number.
    pub key: u32,
    /// Whether the transaction changes the key's value. Otherwise it only reads the key.
    pub writes: bool,
}

/// One transaction.
#[derive(Clone, Debug, Default)]
pub struct Tx {
    /// Gas of the transaction, which stands for its time.
    pub gas: u64,
    /// Number of the sender. Numbers count from 0 without gaps, in the order of the senders' first
    /// transactions.
    pub sender: u32,
    /// The keys that the transaction touches, in any order.
    pub accesses: Vec<Access>,
}

/// The transactions of a batch, in block order.
#[derive(Clone, Debug, Default)]
pub struct Transactions {
    gas: Vec<u64>,
    senders: Vec<u32>,
    accesses: Rows<Access>,
    key_count: usize,
}

impl Transactions {
    /// Adds the next transaction. Several accesses of one key become one access, which writes if
    /// one of them writes.
    pub fn push(&mut self, tx: Tx) {
        let Tx { gas, sender, mut accesses } = tx;
        accesses.sort_unstable_by_key(|access| (access.key, !access.writes));
        accesses.dedup_by_key(|access| access.key);
        let key_count = accesses.last().map_or(0, |access| access.key as usize + 1);
        self.key_count = self.key_count.max(key_count);
        self.gas.push(gas);
        self.senders.push(sender);
        self.accesses.push(accesses);
    }

    /// Number of transactions.
    pub const fn count(&self) -> usize {
        self.gas.len()
    }

    /// Gas of each transaction.
    pub fn gas(&self) -> &[u64] {
        &self.gas
    }

    /// Number of each transaction's sender.
    pub(crate) fn senders(&self) -> &[u32] {
        &self.senders
    }

    /// One more than the largest number of a key.
    pub(crate) const fn key_count(&self) -> usize {
        self.key_count
    }

    /// The keys that a transaction touches, each once.
    pub(crate) fn accesses(&self, tx: usize) -> &[Access] {
        self.accesses.row(tx)
    }

    /// The accesses of all transactions.
    pub(crate) fn all_accesses(&self) -> &[Access] {
        self.accesses.values()
    }
}
