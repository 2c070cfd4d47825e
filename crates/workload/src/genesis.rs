//! The state before the first block, as a recipe: explicit accounts, and families of accounts and
//! slots by rules. A recipe of a few hundred bytes stands for any number of rows. It is independent
//! of the blocks that run on it, and its digest names the state database. `rows.rs` makes the rows.

use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256, keccak256};
use serde::{Deserialize, Serialize};

/// The content of an account row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountState {
    /// Number of transactions that the account has sent, or of contracts that it has created.
    pub nonce: u64,
    /// Balance in wei.
    pub balance: U256,
    /// Keccak-256 of the code; without code, of the empty string.
    pub code_hash: B256,
}

impl Default for AccountState {
    fn default() -> Self {
        Self { nonce: 0, balance: U256::ZERO, code_hash: KECCAK256_EMPTY }
    }
}

/// An explicit account: the recipe has all its fields and slots.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GenesisAccount {
    /// Address of the account.
    pub address: Address,
    /// Nonce of the account.
    pub nonce: u64,
    /// Balance of the account, in wei.
    pub balance: U256,
    /// Code of the account; empty without code.
    pub code: Bytes,
    /// Slots of the account that are not zero, by ascending key. Empty where a [`SlotFamily`] has
    /// the account's slots.
    pub storage: Vec<(U256, U256)>,
}

impl GenesisAccount {
    /// The account's row.
    pub fn state(&self) -> AccountState {
        let code_hash = if self.code.is_empty() { KECCAK256_EMPTY } else { keccak256(&self.code) };
        AccountState { nonce: self.nonce, balance: self.balance, code_hash }
    }
}

/// Funded accounts without code whose secrets are consecutive: k0, k0 + 1, …
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SenderFamily {
    /// Secret key k0 of sender 0.
    pub first_secret: B256,
    /// Number of senders.
    pub count: u64,
    /// Balance of each sender in wei; the nonce is 0.
    pub balance: U256,
}

/// Rule that gives the key of a slot from its index in the family. A rule's meaning never changes:
/// a new meaning gets a new rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyRule {
    /// key(i) = keccak(seed ‖ i), both as 32-byte big-endian words.
    Keccak,
    /// key(i) = seed + i·W mod 2^256, a Weyl sequence; W = [`WEYL_STEP`].
    Weyl,
    /// The key of holder i's balance in a Solidity token whose mapping is at slot 0. key(i) =
    /// keccak(address(i) ‖ 0). The holder's address(i) = the low 20 bytes of keccak(seed ‖ i), as
    /// in [`AccountFamily`].
    Balance,
    /// key(i) = the first 12 bytes of keccak(seed ‖ i) ‖ the 20 bytes of the contract's address. So
    /// the key contains the address of the contract that has the value.
    Addressed,
    /// key(i) = i.
    Index,
    /// key(i) = the i-th of [`DEEP_KEYS`](crate::deep::DEEP_KEYS), whose hashes share nibbles with
    /// the hash of key(0). Beyond these keys, key(i) = 2^64 + i.
    Deep,
}

/// Step of [`KeyRule::Weyl`]: ⌊2^256/φ⌋, odd, so the sequence has the full period.
pub const WEYL_STEP: U256 = U256::from_be_bytes(alloy_primitives::hex!(
    "9e3779b97f4a7c15f39cc0605cedc8341082276bf3a27251f86c6a11d0c18e95"
));

/// Rule for the values of a slot family. A value is never zero: a slot of zero does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ValueRule {
    /// 32 pseudo-random bytes from seed and index.
    Random,
    /// value(i) = key((i + 1) mod count): following values visits all keys (pointer chase).
    NextKey,
    /// value(i) = key((i + `ahead`) mod count) of the contract at `address` by
    /// [`KeyRule::Addressed`]. That contract has a family with the same number of slots and the
    /// same seed.
    KeyElsewhere {
        /// The contract; not the zero address.
        address: Address,
        /// Distance from i to the index of that contract's slot.
        ahead: u64,
    },
    /// value(i) = key(i) + 1, so that a key of 0 has a value.
    AfterKey,
}

/// Slots of one contract, key(i) and value(i) for i in 0..count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotFamily {
    /// The contract; one of the explicit accounts.
    pub address: Address,
    /// Number of slots that exist. Keys of indices from `count` on are absent.
    pub count: u64,
    /// Rule of the keys.
    pub keys: KeyRule,
    /// Rule of the values.
    pub values: ValueRule,
    /// Seed of the keys and values.
    pub seed: B256,
}

/// Rule for the codes of an account family. A rule's meaning never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CodeRule {
    /// No account has code.
    Nothing,
    /// Account i has code i mod `distinct_count`: PUSH8 of that number, POP, JUMPDEST to the end.
    Jumpdests {
        /// Length of every code in bytes, 10 to 65,536.
        bytes: u32,
        /// Number of different codes, 1 to 2^20.
        distinct_count: u64,
    },
}

/// Accounts whose addresses code can compute: address(i) = the low 20 bytes of keccak(seed ‖ i),
/// both as 32-byte big-endian words, for i in 0..count. Account i has i + 1 wei; nonce 1 if it has
/// code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountFamily {
    /// Seed of the addresses.
    pub seed: B256,
    /// Number of accounts that exist. Addresses of indices from `count` on are absent.
    pub count: u64,
    /// Rule of the accounts' codes.
    pub code: CodeRule,
}

/// The content of a state before the first block.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Genesis {
    /// Explicit accounts, by ascending address.
    pub accounts: Vec<GenesisAccount>,
    /// Families of funded accounts.
    pub senders: Vec<SenderFamily>,
    /// Families of slots, each of a different account.
    pub slots: Vec<SlotFamily>,
    /// Families of accounts with computable addresses.
    pub account_families: Vec<AccountFamily>,
}

impl Genesis {
    /// Name of the recipe: BLAKE3 of its encoding.
    pub fn digest(&self) -> B256 {
        let bytes = postcard::to_allocvec(self).unwrap_or_else(|e| panic!("recipe encodes: {e}"));
        B256::from(*blake3::hash(&bytes).as_bytes())
    }

    /// Number of slot rows.
    pub fn slot_count(&self) -> u64 {
        let explicit: usize = self.accounts.iter().map(|a| a.storage.len()).sum();
        explicit as u64 + self.slots.iter().map(|family| family.count).sum::<u64>()
    }

    /// Number of account rows.
    pub fn account_count(&self) -> u64 {
        let senders = self.senders.iter().map(|family| family.count);
        let families = self.account_families.iter().map(|family| family.count);
        self.accounts.len() as u64 + senders.chain(families).sum::<u64>()
    }

    /// The explicit account at `address`.
    pub fn account(&self, address: &Address) -> Option<&GenesisAccount> {
        let index = self.accounts.binary_search_by(|a| a.address.cmp(address)).ok()?;
        Some(&self.accounts[index])
    }
}
