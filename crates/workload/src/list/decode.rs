//! Decodes the RLP of a list in one pass into the flat arrays of a [`ListIndex`]. The decoder
//! checks every rule of form (EIP-7928: canonical RLP, orders, uniqueness, ranges, bounds). A
//! [`Form`] decodes the fields in which a form of a list differs from the EIP's.
//!
//! Safe on any bytes: it never panics, and its work is linear in the input. Besides the input it
//! holds 32 bytes a slot, 48 a change, and 4 a step up to `last_index`.

use std::cmp::Ordering;

use alloy_primitives::{Address, Bytes, KECCAK256_EMPTY, U256, keccak256};

use super::{
    bounds::ListBounds,
    error::{Field, ListError},
    index::{Code, ListIndex, Span, address_key},
    radix::{Ends, Window, compare},
    rlp::Cursor,
    writes::{EndIdResult, Writes},
};
use crate::step::BlockAccessIndex;

/// Typical length of a slot key in RLP, in bytes, where the keys of a contract count up from 0. A
/// random key has 33 bytes.
const TYPICAL_SHORT_KEY_BYTES: usize = 3;

impl ListIndex {
    /// Decodes, checks and indexes a list in its `batched-io` or `parallel-io` form.
    ///
    /// # Errors
    /// A [`ListError`] with the first rule that the bytes break.
    pub fn decode(bytes: &[u8], bounds: &ListBounds) -> Result<Self, ListError> {
        decode(bytes, bounds, bounds.max_bytes(), &mut Eip)
    }
}

/// Decodes the fields in which a form of a list differs from EIP-7928. They stand between an
/// account's address and its changes, and in the place of the EIP's read keys.
pub(super) trait Form {
    /// Takes the fields between an account's address and its changes.
    fn account(&mut self, fields: &mut Cursor<'_>) -> Result<(), ListError>;

    /// Takes the third field of an account's EIP-7928 entry, after its changed slots.
    fn slots(
        &mut self,
        decoder: &mut Decoder,
        address: Address,
        slots: Cursor<'_>,
    ) -> Result<(), ListError>;
}

/// The form of EIP-7928: read keys, and no field before an account's changes.
struct Eip;

impl Form for Eip {
    fn account(&mut self, _fields: &mut Cursor<'_>) -> Result<(), ListError> {
        Ok(())
    }

    fn slots(
        &mut self,
        decoder: &mut Decoder,
        address: Address,
        slots: Cursor<'_>,
    ) -> Result<(), ListError> {
        decoder.slot_reads(address, slots)
    }
}

/// Refuses a list that is longer than `max_bytes`: [`ListBounds::max_bytes`], or
/// [`ListBounds::max_full_bytes`] in the `full` form. The check costs nothing, so it comes before
/// the list is hashed.
///
/// # Errors
/// [`ListError::TooLong`].
pub fn check_length(list: &[u8], max_bytes: u64) -> Result<(), ListError> {
    let got_bytes = list.len() as u64;
    if got_bytes > max_bytes { Err(ListError::TooLong { got_bytes, max_bytes }) } else { Ok(()) }
}

/// Decodes, checks and indexes a list of at most `max_bytes` in `form`.
pub(super) fn decode(
    bytes: &[u8],
    bounds: &ListBounds,
    max_bytes: u64,
    form: &mut impl Form,
) -> Result<ListIndex, ListError> {
    check_length(bytes, max_bytes)?;
    let mut accounts = account_entries(bytes)?;
    let mut decoder = Decoder::new(bounds, bytes.len());
    while !accounts.is_empty() {
        decoder.account(accounts.list()?, form)?;
    }
    Ok(decoder.finish())
}

/// Returns a cursor over the account entries of a list.
pub(super) fn account_entries(bytes: &[u8]) -> Result<Cursor<'_>, ListError> {
    let mut outer = Cursor::new(bytes);
    let accounts = outer.list().map_err(|error| match error {
        ListError::Overrun { .. } | ListError::MissingItem { .. } => {
            ListError::Truncated { got_bytes: bytes.len() as u64 }
        }
        error => error,
    })?;
    if !outer.is_empty() {
        return Err(ListError::TrailingBytes { offset: outer.offset() });
    }
    Ok(accounts)
}

/// A list that is being decoded.
pub(super) struct Decoder {
    pub(super) list: ListIndex,
    /// Keys of the changed slots of the current account, ascending.
    pub(super) changed: Vec<U256>,
    change_counts: ChangeCounts,
    max_code_bytes: usize,
    /// Number of accounts and slots that may still follow.
    item_room: usize,
    /// The bound that `item_room` began with, for the error.
    max_item_count: u64,
}

impl Decoder {
    fn new(bounds: &ListBounds, list_bytes: usize) -> Self {
        let item_room = usize::try_from(bounds.max_item_count()).unwrap_or(usize::MAX);
        // Reserves memory for all keys at once, as far as both bounds allow: growing would copy the
        // keys.
        let keys = Vec::with_capacity(item_room.min(list_bytes / TYPICAL_SHORT_KEY_BYTES));
        Self {
            list: ListIndex { keys, ..ListIndex::default() },
            changed: Vec::new(),
            change_counts: ChangeCounts { last_index: bounds.last_index, counts: Vec::new() },
            max_code_bytes: bounds.max_code_bytes,
            item_room,
            max_item_count: bounds.max_item_count(),
        }
    }

    /// Completes the lookups of the list.
    fn finish(self) -> ListIndex {
        let Self { mut list, change_counts, .. } = self;
        if let [first, .., last] = &list.addresses[..] {
            let ends = Ends { first: 0, low: address_key(first), high: address_key(last) };
            list.account_window = list.radix.add(list.addresses.iter().map(address_key), ends);
        }
        list.slots.finish();
        list.balances.finish();
        list.nonces.finish();
        list.codes.finish();
        list.change_counts = change_counts.counts;
        list
    }

    fn account(&mut self, mut fields: Cursor<'_>, form: &mut impl Form) -> Result<(), ListError> {
        let address = fields.address()?;
        self.push_address(address)?;
        form.account(&mut fields)?;
        let first_slot = self.list.keys.len();
        self.slot_changes(address, fields.list()?)?;
        form.slots(self, address, fields.list()?)?;
        self.index_slots(first_slot);

        let id = self.list.addresses.len() as u32 - 1;
        let location = ChangeLocation { address, field: Field::Balance };
        self.change_counts.read(location, fields.list()?, &mut self.list.balances, Cursor::u256)?;
        self.list.balances.end_id_as(id);
        let location = ChangeLocation { address, field: Field::Nonce };
        self.change_counts.read(location, fields.list()?, &mut self.list.nonces, Cursor::u64)?;
        self.list.nonces.end_id_as(id);
        let location = ChangeLocation { address, field: Field::Code };
        let max_bytes = self.max_code_bytes;
        self.change_counts.read(location, fields.list()?, &mut self.list.codes, |cursor| {
            read_code(cursor, address, max_bytes)
        })?;
        self.list.codes.end_id_as(id);
        fields.finish()
    }

    fn push_address(&mut self, address: Address) -> Result<(), ListError> {
        match self.list.addresses.last() {
            Some(previous) if *previous == address => {
                return Err(ListError::DuplicateAccount { address });
            }
            Some(previous) if *previous > address => {
                return Err(ListError::AccountOrder { previous: *previous, address });
            }
            _ => {}
        }
        self.take_item_room()?;
        self.list.addresses.push(address);
        Ok(())
    }

    /// Decodes the changed slots of an account, and their writes in the same order.
    fn slot_changes(&mut self, address: Address, mut slots: Cursor<'_>) -> Result<(), ListError> {
        self.changed.clear();
        while !slots.is_empty() {
            let mut entry = slots.list()?;
            let slot = entry.u256()?;
            match self.changed.last() {
                Some(previous) if *previous == slot => {
                    return Err(ListError::DuplicateChangedSlot { address, slot });
                }
                Some(previous) if *previous > slot => {
                    return Err(ListError::ChangedSlotOrder { address, slot });
                }
                _ => {}
            }
            self.take_item_room()?;
            self.changed.push(slot);
            let location = ChangeLocation { address, field: Field::Slot(slot) };
            self.change_counts.read(location, entry.list()?, &mut self.list.slots, Cursor::u256)?;
            entry.finish()?;
            if self.list.slots.end_id() == EndIdResult::Empty {
                return Err(ListError::NoSlotChanges { address, slot });
            }
        }
        Ok(())
    }

    /// Decodes the read keys of an account, and merges them with its changed keys.
    fn slot_reads(&mut self, address: Address, mut reads: Cursor<'_>) -> Result<(), ListError> {
        let mut next_changed = 0;
        let mut previous = None;
        loop {
            // Without changed keys left, read keys need no merge.
            if next_changed == self.changed.len() {
                self.full_reads(&mut previous, &mut reads);
            }
            if reads.is_empty() {
                break;
            }
            let slot = reads.u256()?;
            match previous.as_ref().map_or(Ordering::Less, |previous| compare(previous, &slot)) {
                Ordering::Less => previous = Some(slot),
                Ordering::Equal => return Err(ListError::DuplicateRead { address, slot }),
                Ordering::Greater => return Err(ListError::ReadOrder { address, slot }),
            }
            while let Some(key) = self.changed.get(next_changed) {
                match compare(key, &slot) {
                    Ordering::Less => {}
                    Ordering::Equal => return Err(ListError::ReadAndChanged { address, slot }),
                    Ordering::Greater => break,
                }
                self.list.slots.set_id(self.list.keys.len() as u32);
                self.list.keys.push(*key);
                next_changed += 1;
            }
            self.take_item_room()?;
            self.list.keys.push(slot);
        }
        for key in &self.changed[next_changed..] {
            self.list.slots.set_id(self.list.keys.len() as u32);
            self.list.keys.push(*key);
        }
        Ok(())
    }

    /// Takes read keys of 32 bytes while each has a greater top limb than the key before, and the
    /// bound of items leaves room. Almost all keys of a storm are such keys. They break no rule;
    /// [`Self::slot_reads`] checks each of the others.
    fn full_reads(&mut self, previous: &mut Option<U256>, reads: &mut Cursor<'_>) {
        let keys = &mut self.list.keys;
        let room = self.item_room;
        let mut top = previous.map_or(0, |previous| previous.as_limbs()[3]);
        let before = keys.len();
        let mut ahead = *reads;
        while keys.len() - before < room
            && let Some(slot) = ahead.full_u256()
            && slot.as_limbs()[3] > top
        {
            top = slot.as_limbs()[3];
            keys.push(slot);
            *reads = ahead;
        }
        if keys.len() > before {
            *previous = keys.last().copied();
        }
        self.item_room -= keys.len() - before;
    }

    /// Indexes the slots of the newest account, which begin at `first_slot`.
    fn index_slots(&mut self, first_slot: usize) {
        let first = first_slot as u32;
        let window = match &self.list.keys[first_slot..] {
            [low, .., high] => {
                let ends = Ends { first, low: *low, high: *high };
                self.list.radix.add(self.list.keys[first_slot..].iter(), ends)
            }
            _ => Window::default(),
        };
        self.list.spans.push(Span { first_slot: first, window });
    }

    /// Counts one account or slot against the bound of the list.
    pub(super) fn take_item_room(&mut self) -> Result<(), ListError> {
        let error = ListError::TooManyItems { max_count: self.max_item_count };
        self.item_room = self.item_room.checked_sub(1).ok_or(error)?;
        Ok(())
    }
}

fn read_code(
    cursor: &mut Cursor<'_>,
    address: Address,
    max_bytes: usize,
) -> Result<Code, ListError> {
    let offset = cursor.offset();
    let code = cursor.string()?;
    if code.len() > max_bytes {
        return Err(ListError::CodeTooLong { address, got_bytes: code.len(), max_bytes });
    }
    if !Code::can_be_set(code) {
        return Err(ListError::InvalidCode { address, offset });
    }
    let hash = if code.is_empty() { KECCAK256_EMPTY } else { keccak256(code) };
    Ok(Code { hash, bytes: Bytes::copy_from_slice(code) })
}

/// The account and the field of the changes being read, for errors.
#[derive(Clone, Copy)]
struct ChangeLocation {
    address: Address,
    field: Field,
}

impl ChangeLocation {
    /// The error of an `index` that may not follow `previous`.
    #[cold]
    const fn disorder(self, previous: BlockAccessIndex, index: BlockAccessIndex) -> ListError {
        let Self { address, field } = self;
        if previous == index {
            ListError::DuplicateIndex { address, field, index }
        } else {
            ListError::IndexOrder { address, field, previous, index }
        }
    }
}

/// Number of changes of each step.
struct ChangeCounts {
    last_index: BlockAccessIndex,
    /// Number of changes by block access index, up to the last step that has a change.
    counts: Vec<u32>,
}

impl ChangeCounts {
    /// Reads the changes of one field, `[[index, value]…]`, and appends them to `writes`.
    fn read<'a, V>(
        &mut self,
        location: ChangeLocation,
        mut changes: Cursor<'a>,
        writes: &mut Writes<V>,
        value: impl Fn(&mut Cursor<'a>) -> Result<V, ListError>,
    ) -> Result<(), ListError> {
        let mut previous = None;
        while !changes.is_empty() {
            let mut change = changes.list()?;
            let index = change.u32()?;
            if let Some(previous) = previous.filter(|previous| *previous >= index) {
                return Err(location.disorder(previous, index));
            }
            previous = Some(index);
            self.count(location, index)?;
            writes.push(index, value(&mut change)?);
            change.finish()?;
        }
        Ok(())
    }

    /// Counts a change of the step at `index`, which must not be above the last step's.
    fn count(
        &mut self,
        location: ChangeLocation,
        index: BlockAccessIndex,
    ) -> Result<(), ListError> {
        let last_index = self.last_index;
        if index > last_index {
            let ChangeLocation { address, field } = location;
            return Err(ListError::IndexTooHigh { address, field, index, last_index });
        }
        let at = index as usize;
        if self.counts.len() <= at {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] += 1;
        Ok(())
    }
}
