//! The growing state, for `grow.rs`: the accounts that blocks touch, and the tries of the whole
//! state, which each block updates. The values of growing slots are in the tries alone, as no block
//! reads them.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{Address, B256, U256, keccak256};
use trie::EMPTY_ROOT;
use workload::{AccountState, Fork, Genesis, GenesisAccount, NetChanges, Workload};

use super::super::{
    chain::Settings,
    error::ExportError,
    root::{Changes, HashedRows, each_account},
};
use crate::tries::{HashedTrie, account_leaf, hashed_key, slot_leaf};

/// The growing state.
pub(super) struct Ledger {
    /// The accounts that blocks touch, with their slots that do not grow.
    accounts: BTreeMap<Address, GenesisAccount>,
    /// Contracts whose slots grow.
    growing: BTreeSet<Address>,
    /// Tries of the touched accounts' slots.
    storage: BTreeMap<Address, HashedTrie>,
    /// The trie of all accounts.
    all: HashedTrie,
}

impl Ledger {
    /// The state of `genesis`. Blocks touch the accounts at `touched`, and write slots of the
    /// contracts at `growing`.
    pub(super) fn new(
        genesis: &Genesis,
        touched: &BTreeSet<Address>,
        growing: BTreeSet<Address>,
        settings: &Settings<'_>,
    ) -> Result<Self, ExportError> {
        let accounts = genesis.accounts.iter().filter(|account| touched.contains(&account.address));
        let accounts: BTreeMap<_, _> =
            accounts.map(|account| (account.address, account.clone())).collect();
        let mut storage = BTreeMap::new();
        for (address, account) in accounts.iter().filter(|(_, of)| !of.storage.is_empty()) {
            let rows =
                account.storage.iter().map(|(key, value)| (hashed_key(key), slot_leaf(value)));
            storage.insert(*address, HashedTrie::build(rows.collect())?);
        }
        let rows = HashedRows::new(genesis, &settings.rows())?;
        let mut all = BTreeMap::new();
        each_account(&rows, &Changes::default(), |hash, account, storage_root| {
            all.insert(*hash, account_leaf(account, storage_root));
            Ok::<_, ExportError>(())
        })?;
        Ok(Self { accounts, growing, storage, all: HashedTrie::build(all)? })
    }

    /// Root of the state.
    pub(super) const fn root(&self) -> B256 {
        self.all.root
    }

    /// The touched accounts as a workload without blocks, on which a block can be run.
    pub(super) fn workload(&self, fork: Fork, chain_id: u64) -> Workload {
        let accounts = self.accounts.values().cloned().collect();
        let genesis = Genesis { accounts, ..Genesis::default() };
        Workload { rules: fork.into(), chain_id, genesis, ..Workload::default() }
    }

    /// Applies the changes of a block to the state.
    pub(super) fn add(&mut self, changes: &NetChanges) -> Result<(), ExportError> {
        let mut slots: BTreeMap<Address, Vec<(B256, Vec<u8>)>> = BTreeMap::new();
        for (address, key, value) in &changes.slots {
            slots.entry(*address).or_default().push((hashed_key(key), slot_leaf(value)));
            if !self.growing.contains(address) {
                self.set_slot(*address, *key, *value);
            }
        }
        let accounts = changes.accounts.iter().map(|(address, _)| *address);
        let touched: BTreeSet<Address> = accounts.chain(slots.keys().copied()).collect();
        for (address, writes) in slots {
            self.storage.entry(address).or_default().write(writes)?;
        }
        for (address, state) in &changes.accounts {
            self.set_account(*address, *state, changes);
        }
        let rows = touched.iter().map(|address| (keccak256(address), self.leaf(address)));
        let rows = rows.collect();
        Ok(self.all.write(rows)?)
    }

    /// Sets a slot that does not grow. The value zero removes it.
    fn set_slot(&mut self, address: Address, key: U256, value: U256) {
        let Some(account) = self.accounts.get_mut(&address) else { return };
        let index = account.storage.binary_search_by(|(at, _)| at.cmp(&key));
        match (index, value.is_zero()) {
            (Ok(index), true) => drop(account.storage.remove(index)),
            (Ok(index), false) => account.storage[index].1 = value,
            (Err(_), true) => {}
            (Err(index), false) => account.storage.insert(index, (key, value)),
        }
    }

    /// Sets an account without its slots; `None` removes it. `changes` has new codes.
    fn set_account(&mut self, address: Address, state: Option<AccountState>, changes: &NetChanges) {
        let Some(AccountState { nonce, balance, code_hash }) = state else {
            self.accounts.remove(&address);
            return;
        };
        let new = || GenesisAccount { address, ..GenesisAccount::default() };
        let account = self.accounts.entry(address).or_insert_with(new);
        (account.nonce, account.balance) = (nonce, balance);
        if let Some((_, code)) = changes.codes.iter().find(|(hash, _)| *hash == code_hash) {
            account.code = code.clone();
        }
    }

    /// The account as its leaf has it; empty where there is none.
    fn leaf(&self, address: &Address) -> Vec<u8> {
        let root = self.storage.get(address).map_or(EMPTY_ROOT, |storage| storage.root);
        self.accounts
            .get(address)
            .map_or(Vec::new(), |account| account_leaf(&account.state(), root))
    }

    /// Returns `genesis` with the accounts of the grown state.
    pub(super) fn state(self, genesis: &Genesis) -> Genesis {
        let before = genesis.accounts.iter().map(|account| (account.address, account.clone()));
        let mut accounts: BTreeMap<Address, GenesisAccount> = before.collect();
        accounts.extend(self.accounts);
        Genesis { accounts: accounts.into_values().collect(), ..genesis.clone() }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::export::root::state_root;

    static GO: AtomicBool = AtomicBool::new(false);

    fn account(index: u8, storage: Vec<(U256, U256)>) -> GenesisAccount {
        let address = Address::with_last_byte(index);
        GenesisAccount { address, nonce: 1, storage, ..GenesisAccount::default() }
    }

    #[test]
    fn the_root_after_each_block_is_that_of_all_rows_under_its_changes() {
        let dir = tempfile::tempdir().unwrap();
        let settings = Settings {
            chain_id: None,
            thread_count: 1,
            scratch: dir.path().to_owned(),
            secrets: Vec::new(),
            cancel: &GO,
        };
        let word = |number: u64| U256::from(number);
        let own = vec![(word(1), word(7)), (word(5), word(9))];
        let genesis = Genesis {
            accounts: vec![account(1, Vec::new()), account(2, own), account(3, Vec::new())],
            ..Genesis::default()
        };
        let [grows, keeps, other] = [1, 2, 4].map(Address::with_last_byte);
        let mut ledger =
            Ledger::new(&genesis, &[grows, keeps].into(), [grows].into(), &settings).unwrap();
        let rows = HashedRows::new(&genesis, &settings.rows()).unwrap();
        let mut all = Changes::default();
        assert_eq!(ledger.root(), state_root(&rows, &all).unwrap());
        for block in 0..3_u64 {
            let slots = (0..50).map(|slot| (grows, word(block * 50 + slot + 1), word(slot + 1)));
            let state = AccountState { nonce: block + 2, ..AccountState::default() };
            let mut changes = NetChanges {
                accounts: vec![(keeps, Some(state)), (other, Some(state))],
                slots: slots
                    .chain([(keeps, word(1), word(0)), (keeps, word(8), word(block))])
                    .collect(),
                codes: Vec::new(),
            };
            changes.sort();
            ledger.add(&changes).unwrap();
            all.add(&changes);
            assert_eq!(ledger.root(), state_root(&rows, &all).unwrap(), "block {block}");
        }
        let state = ledger.state(&genesis);
        let kept = |address: &Address| state.account(address).unwrap().clone();
        assert_eq!(kept(&keeps).storage, [(word(5), word(9)), (word(8), word(2))]);
        assert!(kept(&grows).storage.is_empty(), "they are in the recipe");
        assert_eq!((kept(&other).nonce, state.accounts.len()), (4, 4));
    }
}
