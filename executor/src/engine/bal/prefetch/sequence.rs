//! The order in which the keys of a list are read ahead, if it is not the list's own order.
//!
//! [`ReadOrder::OnDisk`] sorts by the keys of rows. In the hashed layout, up to one thread per core
//! hashes the declared keys, eight at a time, and sorts them. In the plain layout, the list is in
//! this order already. [`ReadOrder::FirstWrite`] sorts by the step of a key's first write, in
//! position of its first read: EIP-7928 gives reads no index.

use std::{cmp::Ordering, num::NonZeroUsize, thread};

use workload::{
    BlockAccessIndex, Layout,
    list::{AccountId, ListIndex, SlotId},
};

use crate::store::SlotRow;
use variant::ReadOrder;

/// Smallest number of slots for each thread. For fewer slots, the start of another thread takes
/// longer than it saves.
const SLOTS_PER_THREAD_MIN: usize = 8_192;

/// A slot with its sort key.
#[derive(Clone, Copy, Debug, Default)]
struct SortedSlot {
    /// First 8 bytes of the slot's hash, or the step of its first write.
    prefix: u64,
    /// Position of the slot's account in the order of accounts.
    account_position: u32,
    slot: u32,
}

/// An order of all accounts of a list, and of all its slots.
#[derive(Debug)]
pub(crate) struct Sequence {
    accounts: Vec<AccountId>,
    slots: Vec<SortedSlot>,
    rows: Option<HashedRows>,
}

/// The hashes of which the keys of rows consist, by id.
#[derive(Debug)]
struct HashedRows {
    accounts: Vec<[u8; 32]>,
    slots: Vec<[u8; 32]>,
}

impl Sequence {
    /// Sorts the keys of `list` by `order`, for a store whose rows are in the order of `layout`.
    /// Returns `None` if that is the list's own order.
    pub(super) fn new(order: ReadOrder, list: &ListIndex, layout: Option<Layout>) -> Option<Self> {
        match (order, layout) {
            (ReadOrder::FirstWrite, _) => Some(Self::by_first_write(list)),
            (ReadOrder::OnDisk, Some(Layout::Hashed)) => Some(Self::by_hash(list)),
            (ReadOrder::OnDisk, Some(Layout::Plain) | None) | (ReadOrder::Listed, _) => None,
        }
    }

    fn by_hash(list: &ListIndex) -> Self {
        let mut parts = vec![[0; 32]; list.account_count() as usize];
        Layout::Hashed.account_key_parts(list.addresses(), &mut parts);
        let mut accounts: Vec<_> = list.accounts().collect();
        accounts.sort_unstable_by_key(|account| parts[account.get()]);
        let positions = positions(&accounts);
        let (slots, slot_parts) = slots_by_hash(list, &positions);
        Self { accounts, slots, rows: Some(HashedRows { accounts: parts, slots: slot_parts }) }
    }

    fn by_first_write(list: &ListIndex) -> Self {
        const NEVER: BlockAccessIndex = BlockAccessIndex::MAX;
        let of_slot = |slot| list.first_slot_change(slot).unwrap_or(NEVER);
        let of_account = |account: &AccountId| {
            let slots = list.slots_of(*account).map(|slot| of_slot(SlotId(slot)));
            slots.chain(list.first_account_change(*account)).min().unwrap_or(NEVER)
        };
        let mut accounts: Vec<_> = list.accounts().collect();
        accounts.sort_by_cached_key(of_account);
        let positions = positions(&accounts);
        let mut slots = Vec::with_capacity(list.slot_count() as usize);
        for account in list.accounts() {
            slots.extend(list.slots_of(account).map(|slot| SortedSlot {
                prefix: of_slot(SlotId(slot)).into(),
                account_position: positions[account.get()],
                slot,
            }));
        }
        slots.sort_by_key(|sorted_slot| sorted_slot.prefix);
        Self { accounts, slots, rows: None }
    }

    /// Returns the account at a position.
    pub(super) fn account(&self, position: usize) -> AccountId {
        self.accounts[position]
    }

    /// Returns the slot at a position, and its row to read.
    pub(super) fn slot<'a>(&self, list: &'a ListIndex, position: usize) -> (SlotId, SlotRow<'a>) {
        let SortedSlot { account_position, slot, .. } = self.slots[position];
        let (account, slot) = (self.accounts[account_position as usize], SlotId(slot));
        let row = self.rows.as_ref().map(|rows| {
            let account = Layout::Hashed.account_key_of_part(&rows.accounts[account.get()]);
            Layout::Hashed.slot_key_of_part(&account, &rows.slots[slot.get()])
        });
        (slot, SlotRow { address: list.address(account), key: list.slot_key(slot), row })
    }
}

/// Returns the position of each account in `accounts`, by id.
fn positions(accounts: &[AccountId]) -> Vec<u32> {
    let mut positions = vec![0; accounts.len()];
    for (position, account) in (0..).zip(accounts) {
        positions[account.get()] = position;
    }
    positions
}

/// Returns all slots in the order of their rows, and the hashes of their keys by id.
fn slots_by_hash(list: &ListIndex, account_positions: &[u32]) -> (Vec<SortedSlot>, Vec<[u8; 32]>) {
    let count = list.slot_count() as usize;
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = cores.min(count / SLOTS_PER_THREAD_MIN).max(1);
    let share = count.div_ceil(threads).max(1);
    let mut parts = vec![[0; 32]; count];
    let mut slots = vec![SortedSlot::default(); count];
    let shares = slots.chunks_mut(share).zip(parts.chunks_mut(share)).zip((0..).step_by(share));
    // New threads, not rayon's pool, which may be busy with earlier work.
    thread::scope(|scope| {
        let mut last = None;
        for ((slots, parts), first) in shares {
            let sort = move || sort_share(list, account_positions, first, slots, parts);
            // Each share but the last gets a thread; this thread sorts the last.
            if let Some(earlier) = last.replace(sort) {
                scope.spawn(earlier);
            }
        }
        if let Some(mut sort) = last {
            sort();
        }
    });
    if threads > 1 {
        // The stable sort merges the shares, which are sorted already.
        slots.sort_by(|a, b| compare(a, b, |slot| &parts[slot as usize]));
    }
    (slots, parts)
}

/// Hashes and sorts one share of the slots, which begins at slot `first`.
fn sort_share(
    list: &ListIndex,
    account_positions: &[u32],
    first: u32,
    slots: &mut [SortedSlot],
    parts: &mut [[u8; 32]],
) {
    let keys = &list.slot_keys()[first as usize..][..slots.len()];
    Layout::Hashed.slot_key_parts(keys, parts);
    let mut account = list.account_of(SlotId(first));
    let mut end = list.slots_of(account).end;
    for ((sorted_slot, part), slot) in slots.iter_mut().zip(parts.iter()).zip(first..) {
        if slot >= end {
            account = list.account_of(SlotId(slot));
            end = list.slots_of(account).end;
        }
        let prefix = part.first_chunk().copied().map_or(0, u64::from_be_bytes);
        *sorted_slot =
            SortedSlot { prefix, account_position: account_positions[account.get()], slot };
    }
    slots.sort_unstable_by(|a, b| compare(a, b, |slot| &parts[(slot - first) as usize]));
}

fn compare<'p>(a: &SortedSlot, b: &SortedSlot, part: impl Fn(u32) -> &'p [u8; 32]) -> Ordering {
    let begin = |sorted_slot: &SortedSlot| (sorted_slot.account_position, sorted_slot.prefix);
    begin(a).cmp(&begin(b)).then_with(|| part(a.slot).cmp(part(b.slot)))
}
