//! Wrong lists of each kind in each form, made from the right list of a workload's first batch.

use alloy_eip7928::{AccountChanges, BalanceChange, BlockAccessIndex};
use alloy_primitives::{Address, Bytes, U256};
use generator::reference;
use variant::ListForm;
use workload::{
    AccountState, Workload,
    list::{self, FullList, ListBounds, ListIndex},
};

/// The fault of a list, and the list in the form that was asked for.
#[derive(Debug)]
pub(crate) struct Hostile {
    pub(crate) what: &'static str,
    pub(crate) bytes: Bytes,
}

/// An account that no workload has; it sorts behind all others.
const NOBODY: Address = Address::repeat_byte(0xff);
/// Reads that no block can pay for.
const PHANTOM_COUNT: u64 = 10_000_000;

/// The right list of the first batch, and a way to encode others in its form.
struct Right {
    form: ListForm,
    bounds: ListBounds,
    changes: Vec<AccountChanges>,
    values: FullList,
}

/// Every wrong list in `form`. Panics where the workload's list has no reads and no changes.
pub(crate) fn lists(workload: &Workload, form: ListForm) -> Vec<Hostile> {
    let batch = &workload.batches[0];
    let bounds = ListBounds::new(batch, &workload.rules);
    let full = reference::full_lists(workload, || ()).unwrap().remove(0);
    let all = ListIndex::decode(&batch.list, &bounds).unwrap().to_changes();
    let changes = if form == ListForm::ParallelIo { list::parallel_io_form(&all) } else { all };
    let values = FullList::decode(&full, &bounds).unwrap();
    let right = Right { form, bounds, changes, values };
    let mut lists = vec![
        right.with("a wrong change", |changes| {
            let changed = first(changes, |account| !account.balance_changes.is_empty());
            changed.balance_changes[0].post_balance += U256::from(1);
        }),
        right.missing(),
        right.surplus(),
        right.with("wrong order", |changes| changes.swap(0, 1)),
        right.with("an index out of range", |changes| {
            let index = BlockAccessIndex::new(u64::from(bounds.last_index) + 1);
            let change = BalanceChange::new(index, U256::from(1));
            first(changes, |_| true).balance_changes.push(change);
        }),
        Hostile { what: "a truncated encoding", bytes: right.cut() },
        right.phantoms("10M phantom reads", PHANTOM_COUNT),
        right.phantoms("phantom reads up to the bound", right.room()),
    ];
    if form == ListForm::Full {
        lists.insert(0, right.wrong_value());
    }
    lists
}

fn first(
    changes: &mut [AccountChanges],
    which: impl Fn(&AccountChanges) -> bool,
) -> &mut AccountChanges {
    changes.iter_mut().find(|account| which(account)).unwrap()
}

impl Right {
    fn encode(&self, changes: &[AccountChanges], slot: impl Fn(&Address, &U256) -> U256) -> Bytes {
        if self.form == ListForm::Full {
            return list::full_encode(changes, |address| self.account(address), slot);
        }
        list::encode(changes)
    }

    fn account(&self, address: &Address) -> Option<AccountState> {
        self.values.index().account_id(address).and_then(|id| self.values.account(id))
    }

    /// The slot before the batch; zero where the right list has not got it.
    fn slot(&self, address: &Address, key: &U256) -> U256 {
        let index = self.values.index();
        let id = index.account_id(address).and_then(|account| index.slot_id(account, key));
        id.map_or(U256::ZERO, |id| self.values.slot(id))
    }

    fn with(&self, what: &'static str, change: impl FnOnce(&mut Vec<AccountChanges>)) -> Hostile {
        let mut changes = self.changes.clone();
        change(&mut changes);
        Hostile { what, bytes: self.encode(&changes, |address, key| self.slot(address, key)) }
    }

    /// One slot's value is another than the state's; no step writes that slot.
    fn wrong_value(&self) -> Hostile {
        let read = |account: &&AccountChanges| !account.storage_reads.is_empty();
        let account = self.changes.iter().rev().find(read).unwrap();
        let wrong = *account.storage_reads.last().unwrap();
        let bytes = self.encode(&self.changes, |address, key| {
            let value = self.slot(address, key);
            let is_it = *address == account.address && *key == wrong;
            if is_it { value ^ U256::from(1) } else { value }
        });
        Hostile { what: "a wrong value", bytes }
    }

    /// Without a key that is read; where no reads are listed, without a change.
    fn missing(&self) -> Hostile {
        self.with("a missing key", |changes| match self.form {
            ListForm::ParallelIo => {
                first(changes, |account| !account.nonce_changes.is_empty()).nonce_changes.clear();
            }
            _ => {
                let reads = |account: &AccountChanges| !account.storage_reads.is_empty();
                first(changes, reads).storage_reads.pop();
            }
        })
    }

    /// With a key that no step meets; where no reads are listed, with a change of it.
    fn surplus(&self) -> Hostile {
        self.with("a surplus key", |changes| {
            let nobody = AccountChanges::new(NOBODY);
            changes.push(match self.form {
                ListForm::ParallelIo => nobody.with_balance_change(BalanceChange::new(
                    BlockAccessIndex::new(1),
                    U256::from(1),
                )),
                _ => nobody,
            });
        })
    }

    fn cut(&self) -> Bytes {
        let bytes = self.encode(&self.changes, |address, key| self.slot(address, key));
        bytes.slice(..bytes.len() / 2)
    }

    /// Accounts and slots that the bound leaves room for, but for the account that has them.
    fn room(&self) -> u64 {
        let slots = self.changes.iter().map(|account| account.storage_slots().count() as u64);
        let items = self.changes.len() as u64 + slots.sum::<u64>();
        self.bounds.max_item_count() - items - 1
    }

    fn phantoms(&self, what: &'static str, count: u64) -> Hostile {
        self.with(what, |changes| {
            let reads = (0..count).map(U256::from);
            changes.push(AccountChanges::new(NOBODY).extend_storage_reads(reads));
        })
    }
}
