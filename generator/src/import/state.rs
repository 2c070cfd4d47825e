//! A whole state in memory, which blocks change, and its root. The cost of a root follows from the
//! number of changes since the last root. Imports of chains run blocks on it, and `complete.rs`
//! applies the reference's changes to it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use alloy_primitives::{Address, B256, Bytes, U256, keccak256, map::B256Map};
use evm::account_info;
use revm::{
    Database, DatabaseCommit,
    bytecode::Bytecode,
    database_interface::DBErrorMarker,
    state::{Account as Touched, AccountInfo, EvmState},
};
use trie::EMPTY_ROOT;
use workload::{AccountState, Genesis, GenesisAccount, NetChanges};

use crate::{
    environment::ANCESTOR_COUNT,
    tries::{HashedTrie, account_leaf, hashed_key, slot_leaf},
};

/// Message of panics that cannot happen: rows are sorted when they are written, and no value is
/// empty when a trie is built.
const SORTED: &str = "rows of a trie in memory";

/// Returns the root of a state that has exactly `accounts`.
pub(super) fn state_root(accounts: &[GenesisAccount]) -> B256 {
    ChainState::new(accounts.iter().cloned()).root()
}

/// Returns the accounts after `changes` on `genesis`, in ascending order of addresses. The genesis
/// must have explicit accounts alone, as families are ignored.
pub fn state_after(genesis: &Genesis, changes: &[NetChanges]) -> Vec<GenesisAccount> {
    let mut state = ChainState::new(genesis.accounts.iter().cloned());
    changes.iter().for_each(|changes| state.apply(changes));
    state.into_accounts()
}

/// A value that execution asks for, and that the state does not have.
#[derive(Debug, thiserror::Error)]
pub(super) enum UnknownValue {
    #[error("code {0} begins with 0xef01 and is no delegation (EIP-7702)")]
    Code(B256),
    #[error("the hash of block {0} is asked for, and is not known")]
    Hash(u64),
}

impl DBErrorMarker for UnknownValue {}

/// A state, and the hashes of the last blocks before the next one.
#[derive(Debug, Default)]
pub(super) struct ChainState {
    accounts: BTreeMap<Address, Account>,
    codes: B256Map<Code>,
    hashes: VecDeque<B256>,
    /// Number of the block with the last hash of `hashes`.
    last_number: u64,
    /// Accounts that changed since the last root, and their slots that changed.
    changed: BTreeMap<Address, BTreeSet<U256>>,
    /// The trie of all accounts; `None` before the first root.
    trie: Option<HashedTrie>,
}

#[derive(Debug)]
struct Account {
    state: AccountState,
    storage: BTreeMap<U256, U256>,
    storage_root: B256,
    /// The trie of the storage. `None` until slots change after the state's first root: most
    /// accounts never need it.
    trie: Option<HashedTrie>,
}

/// A code, and its executable form, which is made on the first read.
#[derive(Debug)]
struct Code {
    bytes: Bytes,
    bytecode: Option<Bytecode>,
}

impl Account {
    fn new(state: AccountState, storage: BTreeMap<U256, U256>) -> Self {
        Self { state, storage, storage_root: EMPTY_ROOT, trie: None }
    }

    /// Sets a slot. The value zero removes it.
    fn set(&mut self, key: U256, value: U256) {
        match value.is_zero() {
            true => self.storage.remove(&key),
            false => self.storage.insert(key, value),
        };
    }

    /// Updates the storage root after changes of the slots at `keys`.
    fn update_root(&mut self, keys: &BTreeSet<U256>) {
        match &mut self.trie {
            Some(trie) => {
                let writes = keys.iter().map(|key| {
                    (hashed_key(key), self.storage.get(key).map_or(Vec::new(), slot_leaf))
                });
                trie.write(writes.collect()).expect(SORTED);
                self.storage_root = trie.root;
            }
            trie @ None if !keys.is_empty() => {
                self.storage_root = trie.insert(storage_trie(&self.storage)).root;
            }
            None => {}
        }
    }

    fn leaf(&self) -> Vec<u8> {
        account_leaf(&self.state, self.storage_root)
    }
}

fn storage_trie(storage: &BTreeMap<U256, U256>) -> HashedTrie {
    let rows = storage.iter().map(|(key, value)| (hashed_key(key), slot_leaf(value)));
    HashedTrie::build(rows.collect()).expect(SORTED)
}

impl ChainState {
    /// Makes a state of exactly `accounts`.
    pub(super) fn new(accounts: impl IntoIterator<Item = GenesisAccount>) -> Self {
        let mut out = Self::default();
        for account in accounts {
            let state = account.state();
            out.add_code(state.code_hash, &account.code);
            let storage = account.storage.into_iter().filter(|(_, value)| !value.is_zero());
            out.accounts.insert(account.address, Account::new(state, storage.collect()));
        }
        out
    }

    fn add_code(&mut self, hash: B256, bytes: &Bytes) {
        self.codes.entry(hash).or_insert_with(|| Code { bytes: bytes.clone(), bytecode: None });
    }

    /// Adds the hash of the next block, which has the number `number`.
    pub(super) fn add_hash(&mut self, number: u64, hash: B256) {
        if self.hashes.len() == ANCESTOR_COUNT as usize {
            self.hashes.pop_front();
        }
        self.hashes.push_back(hash);
        self.last_number = number;
    }

    /// Returns the hashes of the last blocks, in ascending order of block numbers.
    pub(super) fn hashes(&self) -> impl ExactSizeIterator<Item = B256> {
        self.hashes.iter().copied()
    }

    /// Returns the root of the state.
    pub(super) fn root(&mut self) -> B256 {
        let changed = std::mem::take(&mut self.changed);
        let Some(trie) = &mut self.trie else {
            for account in self.accounts.values_mut() {
                account.storage_root = storage_trie(&account.storage).root;
            }
            let rows = self.accounts.iter().map(|(at, account)| (keccak256(at), account.leaf()));
            return self.trie.insert(HashedTrie::build(rows.collect()).expect(SORTED)).root;
        };
        let mut writes = Vec::with_capacity(changed.len());
        for (address, keys) in changed {
            let account = self.accounts.get_mut(&address).map(|account| {
                account.update_root(&keys);
                account.leaf()
            });
            writes.push((keccak256(address), account.unwrap_or_default()));
        }
        trie.write(writes).expect(SORTED);
        trie.root
    }

    /// Applies the net changes of blocks to the state.
    pub(super) fn apply(&mut self, changes: &NetChanges) {
        for (hash, code) in &changes.codes {
            self.add_code(*hash, code);
        }
        for (address, state) in &changes.accounts {
            self.changed.entry(*address).or_default();
            match state {
                Some(state) => self.account(*address).state = *state,
                None => drop(self.accounts.remove(address)),
            }
        }
        for (address, key, value) in &changes.slots {
            if let Some(account) = self.accounts.get_mut(address) {
                account.set(*key, *value);
                self.changed.entry(*address).or_default().insert(*key);
            }
        }
    }

    /// Returns the account at `address`, which is added if it does not exist.
    fn account(&mut self, address: Address) -> &mut Account {
        self.accounts
            .entry(address)
            .or_insert_with(|| Account::new(AccountState::default(), BTreeMap::new()))
    }

    /// Sets an account to its state after a transaction or a system call.
    fn commit_account(&mut self, address: Address, touched: Touched) {
        let keys = self.changed.entry(address).or_default();
        // An empty account that was touched is removed (EIP-161). Before EIP-161 it stays, and revm
        // marks it as created.
        let is_gone = touched.is_empty() && !touched.is_created();
        if is_gone || touched.is_selfdestructed() {
            self.accounts.remove(&address);
            return;
        }
        if touched.is_created() {
            self.accounts.remove(&address);
        }
        let slots = touched.storage.iter().filter(|(_, slot)| slot.is_changed());
        keys.extend(slots.clone().map(|(key, _)| *key));
        let account = self.account(address);
        let AccountInfo { balance, nonce, code_hash, code, .. } = touched.info;
        account.state = AccountState { nonce, balance, code_hash };
        slots.for_each(|(key, slot)| account.set(*key, slot.present_value()));
        if let Some(code) = code {
            self.add_code(code_hash, &code.original_bytes());
        }
    }

    /// Returns all accounts, in ascending order of addresses.
    pub(super) fn into_accounts(self) -> Vec<GenesisAccount> {
        let codes = self.codes;
        let accounts = self.accounts.into_iter().map(|(address, account)| {
            let AccountState { nonce, balance, code_hash } = account.state;
            let code = codes.get(&code_hash).map_or_else(Bytes::new, |code| code.bytes.clone());
            let storage = account.storage.into_iter().collect();
            GenesisAccount { address, nonce, balance, code, storage }
        });
        accounts.collect()
    }
}

impl DatabaseCommit for ChainState {
    fn commit(&mut self, changes: EvmState) {
        for (address, account) in changes.into_iter().filter(|(_, account)| account.is_touched()) {
            self.commit_account(address, account);
        }
    }
}

impl Database for ChainState {
    type Error = UnknownValue;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, UnknownValue> {
        Ok(self.accounts.get(&address).map(|account| account_info(account.state)))
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, UnknownValue> {
        let code = self.codes.get_mut(&hash).ok_or(UnknownValue::Code(hash))?;
        if code.bytecode.is_none() {
            let made = Bytecode::new_raw_checked(code.bytes.clone());
            code.bytecode = Some(made.map_err(|_| UnknownValue::Code(hash))?);
        }
        code.bytecode.clone().ok_or(UnknownValue::Code(hash))
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, UnknownValue> {
        let account = self.accounts.get(&address);
        Ok(account.and_then(|account| account.storage.get(&key)).copied().unwrap_or_default())
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, UnknownValue> {
        let back = self.last_number.checked_sub(number).and_then(|back| usize::try_from(back).ok());
        let index = back.and_then(|back| self.hashes.len().checked_sub(back + 1));
        index.map(|index| self.hashes[index]).ok_or(UnknownValue::Hash(number))
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, Bytes, U256};
    use alloy_trie::{EMPTY_ROOT_HASH, HashBuilder, Nibbles, TrieAccount};
    use proptest::prelude::*;

    use super::*;

    /// The root by the reference, which encodes accounts by its own code.
    fn reference(rows: &BTreeMap<B256, Vec<u8>>) -> B256 {
        let mut builder = HashBuilder::default();
        rows.iter().for_each(|(key, value)| builder.add_leaf(Nibbles::unpack(key), value));
        builder.root()
    }

    fn reference_state(accounts: &[GenesisAccount]) -> B256 {
        let item = |account: &GenesisAccount| {
            let slot = |(key, value): &(U256, U256)| {
                (keccak256(key.to_be_bytes::<32>()), alloy_rlp::encode(value))
            };
            let value = TrieAccount {
                nonce: account.nonce,
                balance: account.balance,
                storage_root: reference(&account.storage.iter().map(slot).collect()),
                code_hash: keccak256(&account.code),
            };
            (keccak256(account.address), alloy_rlp::encode(value))
        };
        reference(&accounts.iter().map(item).collect())
    }

    fn accounts() -> impl Strategy<Value = Vec<GenesisAccount>> {
        let slots = prop::collection::btree_map(0_u64..500, 1_u128.., 0..40);
        let account = (any::<u64>(), any::<u128>(), 0_usize..40, slots);
        prop::collection::btree_map(0_u8..20, account, 0..12).prop_map(|all| {
            let account =
                |(address, (nonce, balance, code, slots)): (_, (_, u128, _, BTreeMap<_, u128>))| {
                    let slots = slots.into_iter();
                    GenesisAccount {
                        address: Address::repeat_byte(address),
                        nonce,
                        balance: U256::from(balance),
                        code: Bytes::from(vec![0x5b; code]),
                        storage: slots
                            .map(|(key, value)| (U256::from::<u64>(key), U256::from(value)))
                            .collect(),
                    }
                };
            all.into_iter().map(account).collect()
        })
    }

    /// The changes that make the one state the other.
    fn changes(before: &[GenesisAccount], after: &[GenesisAccount]) -> NetChanges {
        let mut out = NetChanges::default();
        for account in before {
            out.accounts.push((account.address, None));
        }
        for account in after {
            out.accounts.retain(|(address, _)| *address != account.address);
            out.accounts.push((account.address, Some(account.state())));
            out.codes.push((account.state().code_hash, account.code.clone()));
            let old = before.iter().find(|of| of.address == account.address);
            let gone = old.iter().flat_map(|of| &of.storage).map(|(key, _)| (*key, U256::ZERO));
            let slots: BTreeMap<_, _> = gone.chain(account.storage.iter().copied()).collect();
            out.slots.extend(slots.into_iter().map(|(key, value)| (account.address, key, value)));
        }
        out
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn roots_are_those_of_the_reference(accounts in accounts()) {
            prop_assert_eq!(state_root(&accounts), reference_state(&accounts));
        }

        #[test]
        fn a_root_after_changes_is_that_of_the_state_after_them(
            before in accounts(),
            after in prop::collection::vec(accounts(), 1..4),
        ) {
            let mut state = ChainState::new(before.clone());
            prop_assert_eq!(state.root(), reference_state(&before));
            for (before, after) in std::iter::once(&before).chain(&after).zip(&after) {
                state.apply(&changes(before, after));
                prop_assert_eq!(state.root(), reference_state(after));
            }
            prop_assert_eq!(&state.into_accounts(), &after[after.len() - 1]);
        }
    }

    #[test]
    fn an_empty_state_has_the_empty_root() {
        assert_eq!(state_root(&[]), EMPTY_ROOT_HASH);
    }
}
