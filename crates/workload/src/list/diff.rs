//! Compares two lists of one block, for `stress bal`, and takes the left list as correct. Each
//! difference has its place in the lists, and the kind of error that the right list has by
//! EIP-7928.

use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    iter::zip,
};

use alloy_eip7928::AccountChanges;
use alloy_primitives::{Address, Bytes, U256, keccak256};
use serde::Serialize;

use super::{
    error::{Field, ListError},
    lenient::{Extent, Fault, LenientAccount, LenientList, ListCounts},
};

/// The kind of a difference: the error of the right list, or of whichever list has a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DifferenceKind {
    /// The right list lacks an account.
    MissingAccount,
    /// The right list has an account that the block does not touch.
    SurplusAccount,
    /// The right list lacks a slot that is read.
    MissingRead,
    /// The right list has a slot that is not read.
    SurplusRead,
    /// The right list lacks a change.
    MissingWrite,
    /// The right list has a change that no step makes.
    SurplusWrite,
    /// A change has another value.
    WrongValue,
    /// A change has the same value at another index.
    WrongIndex,
    /// A slot that is written stands among the reads.
    ReadForWrite,
    /// A slot that is only read stands among the changes.
    WriteForRead,
    /// Entries do not ascend.
    Order,
    /// An entry occurs twice.
    Duplicate,
    /// An entry is not RLP of the list's form, or a code that no block can set.
    Malformed,
    /// The list exceeds a bound of its block.
    Limit,
}

impl DifferenceKind {
    /// Name of the kind, in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MissingAccount => "missing account",
            Self::SurplusAccount => "surplus account",
            Self::MissingRead => "missing read",
            Self::SurplusRead => "surplus read",
            Self::MissingWrite => "missing write",
            Self::SurplusWrite => "surplus write",
            Self::WrongValue => "wrong value",
            Self::WrongIndex => "wrong index",
            Self::ReadForWrite => "read instead of write",
            Self::WriteForRead => "write instead of read",
            Self::Order => "order",
            Self::Duplicate => "duplicate",
            Self::Malformed => "malformed",
            Self::Limit => "limit",
        }
    }
}

/// A difference of two lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The account; `None` where its address cannot be read.
    pub address: Option<Address>,
    /// The field; `None` for the account as a whole.
    pub field: Option<Field>,
    /// Block access index of the change in the left list, or in the right list where the left has
    /// no such change. `None` where the difference is not about a change.
    pub index: Option<u64>,
    /// Kind of the difference.
    pub kind: DifferenceKind,
    /// Content of the left list at this place, in words.
    pub left: Option<String>,
    /// Content of the right list at this place, in words.
    pub right: Option<String>,
}

/// Returns the differences, sorted by address, field (slots by their keys) and index. There are
/// none if and only if the bytes of the lists are equal. A fault that both lists have is not a
/// difference.
pub fn diff(left: &LenientList, right: &LenientList) -> Vec<Difference> {
    if left.encoded == right.encoded {
        return Vec::new();
    }
    let mut out = fault_differences(left, right);
    let [left_accounts, right_accounts] = [left, right].map(|list| {
        let all = list.accounts.iter().map(|account| (account.changes.address, account));
        first_of_each(all)
    });
    for (address, left) in &left_accounts {
        let mut differ = Differ { address: *address, out: &mut out };
        match right_accounts.get(address) {
            Some(right) => differ.accounts(left, right),
            None => {
                let sides = [Some(account_words(left)), None];
                differ.push(None, None, DifferenceKind::MissingAccount, sides);
            }
        }
    }
    for (address, right) in &right_accounts {
        if !left_accounts.contains_key(address) {
            let mut differ = Differ { address: *address, out: &mut out };
            let sides = [None, Some(account_words(right))];
            differ.push(None, None, DifferenceKind::SurplusAccount, sides);
        }
    }
    if out.is_empty() {
        // The lists have the same entries and faults, but other bytes.
        let same = zip(&left.encoded, &right.encoded).take_while(|(left, right)| left == right);
        let words = format!("entries in another order, from offset {}", same.count());
        out.push(Difference {
            address: None,
            field: None,
            index: None,
            kind: DifferenceKind::Order,
            left: None,
            right: Some(words),
        });
    }
    out.sort_by_key(|difference| (difference.address, difference.field, difference.index));
    out
}

/// The entries by their keys. Where a key occurs twice, its first entry is taken.
fn first_of_each<K: Ord, V>(entries: impl Iterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut all = BTreeMap::new();
    for (key, value) in entries {
        all.entry(key).or_insert(value);
    }
    all
}

/// A difference for each fault that only one of the lists has.
fn fault_differences(left: &LenientList, right: &LenientList) -> Vec<Difference> {
    let [left_errors, right_errors] = [left, right]
        .map(|list| list.faults.iter().map(|fault| fault.error).collect::<HashSet<ListError>>());
    let only_left = left.faults.iter().filter(|fault| !right_errors.contains(&fault.error));
    let only_right = right.faults.iter().filter(|fault| !left_errors.contains(&fault.error));
    let difference = |fault: &Fault| Difference {
        address: fault.address,
        field: fault.error.field(),
        index: None,
        kind: fault.kind(),
        left: None,
        right: None,
    };
    let only_left =
        only_left.map(|fault| Difference { left: Some(fault.to_string()), ..difference(fault) });
    let only_right =
        only_right.map(|fault| Difference { right: Some(fault.to_string()), ..difference(fault) });
    only_left.chain(only_right).collect()
}

impl Fault {
    /// The kind of difference that this fault makes.
    pub const fn kind(&self) -> DifferenceKind {
        match self.error {
            ListError::AccountOrder { .. }
            | ListError::ChangedSlotOrder { .. }
            | ListError::ReadOrder { .. }
            | ListError::ValueOrder { .. }
            | ListError::IndexOrder { .. } => DifferenceKind::Order,
            ListError::DuplicateAccount { .. }
            | ListError::DuplicateChangedSlot { .. }
            | ListError::DuplicateRead { .. }
            | ListError::DuplicateIndex { .. }
            | ListError::DuplicateValue { .. }
            | ListError::ReadAndChanged { .. } => DifferenceKind::Duplicate,
            ListError::TooLong { .. }
            | ListError::TooManyItems { .. }
            | ListError::IndexTooHigh { .. }
            | ListError::CodeTooLong { .. } => DifferenceKind::Limit,
            _ => DifferenceKind::Malformed,
        }
    }
}

/// An account in words.
fn account_words(account: &LenientAccount) -> String {
    let ListCounts { written_slots, read_slots, changes, .. } = ListCounts::of(&account.changes);
    format!("slots written: {written_slots}, slots read: {read_slots}, changes: {changes}")
}

/// The values that steps give a slot or another field of an account, by block access index.
type Changes<'v, V> = BTreeMap<u64, &'v V>;

/// The slots of an account with their changes; a slot that is only read has none.
fn slots(account: &AccountChanges) -> BTreeMap<U256, Changes<'_, U256>> {
    // A slot that is listed as changed, without a change, is already a fault.
    let written = account.storage_changes.iter().filter(|slot| !slot.is_empty());
    let written = written.map(|slot| {
        let changes = slot.changes.iter();
        let changes = changes.map(|c| (c.block_access_index.get(), &c.new_value));
        (slot.slot, first_of_each(changes))
    });
    let read = account.storage_reads.iter().map(|slot| (*slot, BTreeMap::new()));
    first_of_each(written.chain(read))
}

/// Collects the differences of one account.
struct Differ<'o> {
    address: Address,
    out: &'o mut Vec<Difference>,
}

impl Differ<'_> {
    fn push(
        &mut self,
        field: Option<Field>,
        index: Option<u64>,
        kind: DifferenceKind,
        [left, right]: [Option<String>; 2],
    ) {
        let address = Some(self.address);
        self.out.push(Difference { address, field, index, kind, left, right });
    }

    /// Compares an account of both lists. An account that cannot be read to its end has a fault,
    /// and is not compared.
    fn accounts(&mut self, left: &LenientAccount, right: &LenientAccount) {
        if [left, right].iter().any(|account| account.extent == Extent::Partial) {
            return;
        }
        let both = [&left.changes, &right.changes];
        let [left_slots, right_slots] = both.map(slots);
        for (slot, left) in &left_slots {
            self.slot(*slot, Some(left), right_slots.get(slot));
        }
        for (slot, right) in &right_slots {
            if !left_slots.contains_key(slot) {
                self.slot(*slot, None, Some(right));
            }
        }
        let balances = both.map(|account| {
            let changes = account.balance_changes.iter();
            first_of_each(changes.map(|c| (c.block_access_index.get(), &c.post_balance)))
        });
        self.changes(Field::Balance, balances, U256::to_string);
        let nonces = both.map(|account| {
            let changes = account.nonce_changes.iter();
            first_of_each(changes.map(|c| (c.block_access_index.get(), &c.new_nonce)))
        });
        self.changes(Field::Nonce, nonces, u64::to_string);
        let codes = both.map(|account| {
            let changes = account.code_changes.iter();
            first_of_each(changes.map(|c| (c.block_access_index.get(), &c.new_code)))
        });
        self.changes(Field::Code, codes, code_words);
    }

    /// Compares a slot that at least one of the lists has.
    fn slot(
        &mut self,
        slot: U256,
        left: Option<&Changes<'_, U256>>,
        right: Option<&Changes<'_, U256>>,
    ) {
        let field = Field::Slot(slot);
        // A slot without changes is only read.
        let changes = [left, right].map(|side| side.filter(|changes| !changes.is_empty()));
        let kind = match (left, right, changes) {
            (Some(_), None, [None, _]) => DifferenceKind::MissingRead,
            (None, Some(_), [_, None]) => DifferenceKind::SurplusRead,
            (Some(_), Some(_), [None, Some(_)]) => DifferenceKind::WriteForRead,
            (Some(_), Some(_), [Some(_), None]) => DifferenceKind::ReadForWrite,
            _ => {
                let both = changes.map(|side| side.cloned().unwrap_or_default());
                return self.changes(field, both, slot_words);
            }
        };
        let index = changes.iter().flatten().find_map(|side| side.keys().next().copied());
        let sides = changes.map(|side| Some(slot_words(side?.values().next()?)));
        self.push(Some(field), index, kind, sides);
    }

    /// Compares the changes of one field.
    fn changes<V: Ord>(
        &mut self,
        field: Field,
        [left, right]: [Changes<'_, V>; 2],
        shown: fn(&V) -> String,
    ) {
        let moved = |from: u64, to: u64, value: &V| {
            let [left, right] = [from, to].map(|index| format!("{} at {index}", shown(value)));
            [Some(left), Some(right)]
        };
        let field = Some(field);
        // The same values in the same order: only indices differ.
        if left.len() == right.len() && left.values().eq(right.values()) {
            for ((from, value), to) in zip(&left, right.keys()).filter(|((from, _), to)| from != to)
            {
                let sides = moved(*from, *to, value);
                self.push(field, Some(*from), DifferenceKind::WrongIndex, sides);
            }
            return;
        }
        // A value that only the left list has at its index may be at another index in the right.
        let mut only_left: BTreeMap<&V, VecDeque<u64>> = BTreeMap::new();
        for (index, value) in &left {
            match right.get(index) {
                Some(other) if other == value => {}
                Some(other) => {
                    let sides = [Some(shown(value)), Some(shown(other))];
                    self.push(field, Some(*index), DifferenceKind::WrongValue, sides);
                }
                None => only_left.entry(value).or_default().push_back(*index),
            }
        }
        for (index, value) in right.iter().filter(|(index, _)| !left.contains_key(index)) {
            match only_left.get_mut(value).and_then(VecDeque::pop_front) {
                Some(from) => {
                    let sides = moved(from, *index, value);
                    self.push(field, Some(from), DifferenceKind::WrongIndex, sides);
                }
                None => {
                    let sides = [None, Some(shown(value))];
                    self.push(field, Some(*index), DifferenceKind::SurplusWrite, sides);
                }
            }
        }
        for (value, indices) in only_left {
            for index in indices {
                let sides = [Some(shown(value)), None];
                self.push(field, Some(index), DifferenceKind::MissingWrite, sides);
            }
        }
    }
}

fn slot_words(value: &U256) -> String {
    format!("{value:#x}")
}

/// A code as its hash and length.
fn code_words(code: &Bytes) -> String {
    format!("{} ({} bytes)", keccak256(code), code.len())
}
