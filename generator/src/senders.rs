//! The accounts of a sender family, by index: their addresses and nonces. Loads draw senders and
//! recipients from them. Addresses are derived on request, so that memory follows from the number
//! of used accounts, not from the family's size.

use std::{collections::HashMap, ops::Range};

use alloy_primitives::Address;
use workload::{SenderFamily, senders::SenderError};

use crate::error::GeneratorError;

/// Number of accounts whose addresses are derived together. Each after the first costs only a point
/// addition.
const CHUNK: u64 = 1_024;

/// The accounts of a sender family, with the nonces that planned transactions leave.
#[derive(Debug)]
pub(crate) struct Senders<'g> {
    family: &'g SenderFamily,
    /// Derived addresses, by index of the chunk.
    chunks: HashMap<u64, Vec<Address>>,
    /// Next nonce of each account that has sent.
    nonces: HashMap<u64, u64>,
}

impl<'g> Senders<'g> {
    /// The accounts of `family`, which has at least one.
    pub(crate) fn new(family: &'g SenderFamily) -> Self {
        Self { family, chunks: HashMap::new(), nonces: HashMap::new() }
    }

    /// Number of accounts.
    pub(crate) const fn count(&self) -> u64 {
        self.family.count
    }

    /// Index of the account at `turn`, if all accounts take turns.
    pub(crate) const fn in_turn(&self, turn: u64) -> u64 {
        turn % self.family.count
    }

    /// Nonce of the next transaction that account `index` sends.
    pub(crate) fn nonce(&self, index: u64) -> u64 {
        self.nonces.get(&index).copied().unwrap_or_default()
    }

    /// Counts a transaction that account `index` sends, and returns its nonce.
    pub(crate) fn count_sent(&mut self, index: u64) -> u64 {
        let next = self.nonces.entry(index).or_default();
        *next += 1;
        *next - 1
    }

    /// Address of account `index`.
    pub(crate) fn address(&mut self, index: u64) -> Result<Address, SenderError> {
        let (chunk, index_in_chunk) = (index / CHUNK, (index % CHUNK) as usize);
        if let Some(chunk) = self.chunks.get(&chunk) {
            return Ok(chunk[index_in_chunk]);
        }
        let first = chunk * CHUNK;
        let addresses = self.family.addresses(first..self.family.count.min(first + CHUNK))?;
        let address = addresses[index_in_chunk];
        self.chunks.insert(chunk, addresses);
        Ok(address)
    }
}

/// The senders that a load uses one after another, from the last account down to the first. Senders
/// of loads that take turns go up from account 0, at the other end.
#[derive(Clone, Debug)]
pub(crate) struct Members {
    load: usize,
    accounts: Range<u64>,
    batch_block_count: u64,
}

impl Members {
    /// The `accounts`, at least one, of the load at index `load`. A batch has `batch_block_count`
    /// blocks.
    pub(crate) const fn new(load: usize, accounts: Range<u64>, batch_block_count: u64) -> Self {
        Self { load, accounts, batch_block_count }
    }

    /// Index of the load.
    pub(crate) const fn load(&self) -> usize {
        self.load
    }

    /// The account at `index`, counted down from the last account. After the first account, the
    /// last one follows again.
    pub(crate) fn at(&self, index: u64) -> u64 {
        let Range { start, end } = self.accounts;
        end - 1 - index % (end - start)
    }

    /// Checks that the blocks of a batch, each with `count` accounts, use no account twice.
    pub(crate) fn check(&self, count: u64) -> Result<(), GeneratorError> {
        let Range { start, end } = self.accounts;
        let needed_count = count.saturating_mul(self.batch_block_count).saturating_add(start);
        if needed_count <= end {
            return Ok(());
        }
        Err(GeneratorError::TooFewSenders { load: self.load, needed_count, held_count: end })
    }
}
