//! The outcome of an execution: per transaction, and as net changes of the state. The reference
//! states the expected outcome; executors compare theirs with it.

use alloy_primitives::{Address, B256, Bytes, Log, U256};
use serde::{Deserialize, Serialize};

use crate::genesis::AccountState;

/// Status of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TxStatus {
    /// Receipt status 1.
    Success,
    /// Receipt status 0 by REVERT.
    Revert,
    /// Receipt status 0 by an exceptional halt, such as out of gas.
    Halt,
}

/// The expected outcome of one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TxOutcome {
    /// Status of the transaction.
    pub status: TxStatus,
    /// Gas in the receipt's sense, after refunds.
    pub gas_used: u64,
    /// BLAKE3 of the transaction's logs: address, topic count, topics, data length and data of each
    /// log.
    pub logs: B256,
    /// BLAKE3 of the transaction's output, which receipts do not have. For a storm that only reads,
    /// this digest is the only proof that the values were right.
    pub output: B256,
}

impl TxOutcome {
    /// Makes an outcome from what an EVM returns, and hashes logs and output.
    pub fn new(status: TxStatus, gas_used: u64, logs: &[Log], output: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new();
        for log in logs {
            hasher.update(log.address.as_slice());
            hasher.update(&[log.topics().len() as u8]);
            for topic in log.topics() {
                hasher.update(topic.as_slice());
            }
            hasher.update(&(log.data.data.len() as u64).to_le_bytes());
            hasher.update(&log.data.data);
        }
        let output = B256::from(*blake3::hash(output).as_bytes());
        Self { status, gas_used, logs: B256::from(*hasher.finalize().as_bytes()), output }
    }
}

/// The difference between the state after a batch and before it. A key that ends with the value
/// that it had before the batch is not a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetChanges {
    /// Accounts by ascending address; `None` where the account no longer exists.
    pub accounts: Vec<(Address, Option<AccountState>)>,
    /// Slots by ascending address and key; zero where the slot no longer exists.
    pub slots: Vec<(Address, U256, U256)>,
    /// New codes by ascending hash. Not part of the digest: accounts name their hashes.
    pub codes: Vec<(B256, Bytes)>,
}

impl NetChanges {
    /// Number of changed accounts and slots.
    pub fn count(&self) -> usize {
        self.accounts.len() + self.slots.len()
    }

    /// BLAKE3 over accounts, then slots. All parts must be sorted ([`Self::sort`]).
    pub fn digest(&self) -> B256 {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&(self.accounts.len() as u64).to_le_bytes());
        for (address, account) in &self.accounts {
            hasher.update(address.as_slice());
            match account {
                None => hasher.update(&[0]),
                Some(account) => {
                    hasher.update(&[1]).update(&crate::layout::encode_account(account))
                }
            };
        }
        for (address, key, value) in &self.slots {
            hasher.update(address.as_slice());
            hasher.update(&key.to_be_bytes::<32>());
            hasher.update(&value.to_be_bytes::<32>());
        }
        B256::from(*hasher.finalize().as_bytes())
    }

    /// Sorts all parts into their orders, and removes codes that occur twice.
    pub fn sort(&mut self) {
        self.accounts.sort_unstable_by_key(|(address, _)| *address);
        self.slots.sort_unstable_by_key(|(address, key, _)| (*address, *key));
        self.codes.sort_unstable_by_key(|(hash, _)| *hash);
        self.codes.dedup_by_key(|(hash, _)| *hash);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_sees_every_part_of_a_change() {
        let base = NetChanges {
            accounts: vec![(Address::repeat_byte(1), Some(AccountState::default()))],
            slots: vec![(Address::repeat_byte(1), U256::from(1), U256::from(2))],
            codes: Vec::new(),
        };
        let mut gone = base.clone();
        gone.accounts[0].1 = None;
        let mut other_slot = base.clone();
        other_slot.slots[0].2 = U256::from(3);
        let digests = [base.digest(), gone.digest(), other_slot.digest()];
        assert!(digests[0] != digests[1] && digests[0] != digests[2] && digests[1] != digests[2]);
    }
}
