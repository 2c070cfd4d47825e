//! The state of a batch that runs in order, as revm's database. Each key has its value before the
//! batch beside its current value, so one pass over the keys gives the net changes. The `State` of
//! revm also keeps transitions and a bundle with reverts, which are not needed here.
//!
//! Accounts are in the order of their first use. An account's index is its id in revm. revm passes
//! the id with each read of a slot. So a slot costs one look-up and not two.

use alloy_primitives::{
    Address, B256, U256,
    map::{AddressMap, B256Map, Entry, HashMap},
};
use evm::account_state;
use revm::{
    Database,
    database_interface::bal::BalState,
    state::{Account, AccountId, AccountInfo, Bytecode, EvmState, bal::Bal},
};
use variant::ListDuty;
use workload::{NetChanges, genesis::AccountState};

/// Values of a slot before the batch and now.
#[derive(Clone, Copy, Debug)]
struct Slot {
    before: U256,
    now: U256,
}

/// An account before the batch and now, with its slots.
#[derive(Debug)]
struct TrackedAccount {
    address: Address,
    /// State before the batch.
    before: Option<AccountState>,
    now: Option<AccountInfo>,
    /// True if the account's slots in the store do not count, because it did not exist, or the
    /// batch created or removed it.
    is_bare: bool,
    /// True if a step wrote to the account.
    is_touched: bool,
    slots: HashMap<U256, Slot>,
}

/// The state of one batch, over the state before the batch.
#[derive(Debug)]
pub(super) struct BatchState<'d, D> {
    database: &'d mut D,
    indices: AddressMap<u32>,
    accounts: Vec<TrackedAccount>,
    codes: B256Map<Bytecode>,
    /// Builds the list, if that is a duty of the engine.
    list: BalState,
}

impl<'d, D: Database> BatchState<'d, D> {
    pub(super) fn new(database: &'d mut D, list_duty: ListDuty) -> Self {
        let (indices, codes) = (AddressMap::default(), B256Map::default());
        let list = match list_duty {
            ListDuty::Nothing => BalState::new(),
            ListDuty::Build => BalState::new().with_bal_builder(),
        };
        Self { database, indices, accounts: Vec::new(), codes, list }
    }

    /// Returns the database of the state before the batch.
    pub(super) const fn database(&mut self) -> &mut D {
        self.database
    }

    /// Begins the next step.
    pub(super) const fn next_step(&mut self) {
        self.list.bump_bal_index();
    }

    /// Applies the changes of a part of a step.
    pub(super) fn commit(&mut self, changes: EvmState) {
        self.list.commit(&changes);
        for (address, account) in changes {
            if account.is_touched() {
                self.commit_account(address, account);
            }
        }
    }

    fn commit_account(&mut self, address: Address, account: Account) {
        let index = match self.indices.entry(address) {
            Entry::Occupied(entry) => *entry.get() as usize,
            // No step has read the account, so its value before the batch is the value that this
            // step found.
            Entry::Vacant(entry) => {
                let info = (!account.is_loaded_as_not_existing()).then(|| account.original_info());
                entry.insert(self.accounts.len() as u32);
                self.accounts.push(TrackedAccount::new(address, info));
                self.accounts.len() - 1
            }
        };
        let tracked = &mut self.accounts[index];
        tracked.is_touched = true;
        // A contract that destroys itself in the transaction that created it leaves no storage
        // (EIP-6780). An empty account does not exist (EIP-161).
        let is_gone = account.is_selfdestructed() || account.is_empty();
        let is_born = account.is_created();
        if is_gone || is_born {
            tracked.is_bare = true;
            tracked.slots.values_mut().for_each(|slot| slot.now = U256::ZERO);
        }
        if is_gone {
            tracked.now = None;
            return;
        }
        if let (true, Some(code)) = (is_born, &account.info.code) {
            self.codes.insert(account.info.code_hash, code.clone());
        }
        tracked.now = Some(account.info);
        for (key, slot) in account.storage {
            if slot.is_changed() {
                let before = slot.original_value();
                tracked.slots.entry(key).or_insert(Slot { before, now: before }).now =
                    slot.present_value();
            }
        }
    }

    /// Returns the index of the account at `address`. Reads the account if no step has read it.
    fn index_of(&mut self, address: Address) -> Result<usize, D::Error> {
        match self.indices.entry(address) {
            Entry::Occupied(entry) => Ok(*entry.get() as usize),
            Entry::Vacant(entry) => {
                let info = self.database.basic(address)?;
                let index = self.accounts.len();
                entry.insert(index as u32);
                self.accounts.push(TrackedAccount::new(address, info));
                Ok(index)
            }
        }
    }

    fn slot(&mut self, index: usize, key: U256) -> Result<U256, D::Error> {
        let tracked = &mut self.accounts[index];
        match tracked.slots.entry(key) {
            Entry::Occupied(entry) => Ok(entry.get().now),
            Entry::Vacant(_) if tracked.is_bare => Ok(U256::ZERO),
            Entry::Vacant(entry) => {
                let value = self.database.storage(tracked.address, key)?;
                entry.insert(Slot { before: value, now: value });
                Ok(value)
            }
        }
    }

    /// Returns the net changes, and the list if it was built.
    pub(super) fn finish(mut self) -> (NetChanges, Option<Bal>) {
        let mut changes = NetChanges::default();
        for tracked in self.accounts.iter().filter(|tracked| tracked.is_touched) {
            tracked.add_changes(&mut changes);
        }
        changes.sort();
        (changes, self.list.take_built_bal())
    }
}

impl TrackedAccount {
    fn new(address: Address, now: Option<AccountInfo>) -> Self {
        let before = now.as_ref().map(account_state);
        let is_bare = now.is_none();
        Self { address, before, now, is_bare, is_touched: false, slots: HashMap::default() }
    }

    fn add_changes(&self, changes: &mut NetChanges) {
        let after = self.now.as_ref().map(account_state);
        if self.before != after {
            changes.accounts.push((self.address, after));
        }
        let had = self.before.map(|before| before.code_hash);
        if let Some(AccountInfo { code_hash, code: Some(code), .. }) = &self.now
            && had != Some(*code_hash)
            && !code.is_empty()
        {
            changes.codes.push((*code_hash, code.original_bytes()));
        }
        let slots = self.slots.iter().filter(|(_, slot)| slot.before != slot.now);
        changes.slots.extend(slots.map(|(key, slot)| (self.address, *key, slot.now)));
    }
}

impl<D: Database> Database for BatchState<'_, D> {
    type Error = D::Error;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, D::Error> {
        let index = self.index_of(address)?;
        let account_id = AccountId::new(index);
        Ok(self.accounts[index].now.as_ref().map(|info| AccountInfo { account_id, ..info.clone() }))
    }

    fn code_by_hash(&mut self, code_hash: B256) -> Result<Bytecode, D::Error> {
        match self.codes.entry(code_hash) {
            Entry::Occupied(entry) => Ok(entry.get().clone()),
            Entry::Vacant(entry) => {
                Ok(entry.insert(self.database.code_by_hash(code_hash)?).clone())
            }
        }
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, D::Error> {
        let index = self.index_of(address)?;
        self.slot(index, key)
    }

    fn storage_by_account_id(
        &mut self,
        _address: Address,
        account_id: AccountId,
        key: U256,
    ) -> Result<U256, D::Error> {
        self.slot(account_id.get(), key)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, D::Error> {
        self.database.block_hash(number)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use revm::{DatabaseCommit, database::State};

    use super::*;

    const ADDRESS: Address = Address::repeat_byte(7);
    const KEY: U256 = U256::from_limbs([5, 0, 0, 0]);

    /// A state in which every account is empty and has slots. EIP-7523 forbids such accounts; an
    /// imported genesis may have them all the same.
    struct EmptyWithSlot;

    impl Database for EmptyWithSlot {
        type Error = Infallible;

        fn basic(&mut self, _: Address) -> Result<Option<AccountInfo>, Infallible> {
            Ok(Some(AccountInfo::default()))
        }

        fn code_by_hash(&mut self, _: B256) -> Result<Bytecode, Infallible> {
            Ok(Bytecode::default())
        }

        fn storage(&mut self, _: Address, _: U256) -> Result<U256, Infallible> {
            Ok(U256::from(77))
        }

        fn block_hash(&mut self, _: u64) -> Result<B256, Infallible> {
            Ok(B256::ZERO)
        }
    }

    /// A step that touches the account and leaves it with `balance`.
    fn touched(balance: u64) -> EvmState {
        let info = AccountInfo { balance: U256::from(balance), ..AccountInfo::default() };
        let mut account = Account::from(info);
        account.mark_touch();
        EvmState::from_iter([(ADDRESS, account)])
    }

    #[test]
    fn an_account_that_a_step_leaves_empty_loses_its_slots_as_in_the_state_of_revm() {
        let mut below = EmptyWithSlot;
        let mut ours = BatchState::new(&mut below, ListDuty::Nothing);
        let mut theirs = State::builder().with_database(EmptyWithSlot).build();
        let read = [ours.storage(ADDRESS, KEY).unwrap(), theirs.storage(ADDRESS, KEY).unwrap()];
        assert_eq!(read, [U256::from(77); 2], "before any step");
        // Touched and empty, it is removed; paid afterwards, it is another account.
        for (balance, is_there) in [(0, false), (3, true)] {
            ours.commit(touched(balance));
            theirs.commit(touched(balance));
            assert_eq!(ours.basic(ADDRESS).unwrap().is_some(), is_there);
            assert_eq!(theirs.basic(ADDRESS).unwrap().is_some(), is_there);
            for key in [KEY, KEY + U256::from(1)] {
                let read =
                    [ours.storage(ADDRESS, key).unwrap(), theirs.storage(ADDRESS, key).unwrap()];
                assert_eq!(read, [U256::ZERO; 2], "balance {balance}");
            }
        }
    }
}
