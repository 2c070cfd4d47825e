//! Reads a list that may break rules, so that `stress bal` can show and compare it. Each broken
//! rule becomes a [`Fault`], and the reading goes on. [`super::ListIndex::decode`] accepts exactly
//! the lists without a fault; its error is the first fault.

use std::{collections::HashSet, fmt};

use alloy_eip7928::{
    AccountChanges, BalanceChange, BlockAccessIndex, CodeChange, NonceChange, SlotChanges,
    StorageChange,
};
use alloy_primitives::{Address, Bytes, U256};
use serde::Serialize;

use super::{
    bounds::ListBounds,
    decode::account_entries,
    error::{Field, ListError},
    index::Code,
    rlp::Cursor,
};

/// Maximum number of accounts, slots and changes, together, of a list that is read: 8 Ggas of
/// accesses.
pub const MAX_ENTRIES: u64 = 1 << 22;

/// A list, with its entries in the order of its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LenientList {
    /// The accounts whose address can be read.
    pub accounts: Vec<LenientAccount>,
    /// Broken rules, in the order of the bytes.
    pub faults: Vec<Fault>,
    /// The bytes that were read.
    pub encoded: Bytes,
}

/// An account of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LenientAccount {
    /// The account as far as it can be read.
    pub changes: AccountChanges,
    /// The part of the account that can be read.
    pub extent: Extent,
}

/// The part of an account that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The whole account.
    Whole,
    /// The part before a fault of the account's RLP.
    Partial,
}

/// A rule that a list breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The account that has the fault; `None` where its address cannot be read.
    pub address: Option<Address>,
    /// Offset of the entry or field that has the fault, in bytes from the start of the list.
    pub offset: usize,
    /// The broken rule.
    pub error: ListError,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offset, error, .. } = self;
        // The message of an RLP error has its own offset.
        if error.offset().is_some() {
            error.fmt(f)
        } else {
            write!(f, "{error}, at offset {offset}")
        }
    }
}

/// Number of entries of a list, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ListCounts {
    /// Number of accounts.
    pub accounts: u64,
    /// Number of slots with changes.
    pub written_slots: u64,
    /// Number of slots that are only read.
    pub read_slots: u64,
    /// Number of changes of slots, balances, nonces and codes.
    pub changes: u64,
}

impl ListCounts {
    /// Counts the entries of one account.
    pub fn of(account: &AccountChanges) -> Self {
        let of_slots = account.storage_changes.iter().map(|slot| slot.changes.len());
        let of_account = account.balance_changes.len()
            + account.nonce_changes.len()
            + account.code_changes.len();
        Self {
            accounts: 1,
            written_slots: account.storage_changes.len() as u64,
            read_slots: account.storage_reads.len() as u64,
            changes: (of_slots.sum::<usize>() + of_account) as u64,
        }
    }
}

impl LenientList {
    /// Reads a list. `bounds` are those of its block, or [`ListBounds::UNKNOWN`].
    ///
    /// # Errors
    /// The bytes are not an RLP list of lists, or have more than [`MAX_ENTRIES`] entries.
    pub fn read(encoded: Bytes, bounds: &ListBounds) -> Result<Self, ListError> {
        let mut entries = account_entries(&encoded)?;
        let mut reader = Reader {
            bounds,
            faults: Vec::new(),
            previous: None,
            address: None,
            item_count: 0,
            entry_count: 0,
        };
        let mut accounts = Vec::new();
        while !entries.is_empty() {
            reader.address = None;
            let before = entries;
            match entries.list() {
                Ok(fields) => accounts.extend(reader.account(before.offset(), fields)?),
                Err(error @ ListError::NotAList { .. }) => {
                    entries.string()?;
                    reader.fault(before.offset(), error);
                }
                Err(error) => return Err(error),
            }
        }
        let faults = reader.faults;
        Ok(Self { accounts, faults, encoded })
    }

    /// Counts the entries of the list.
    pub fn counts(&self) -> ListCounts {
        self.accounts.iter().map(|account| ListCounts::of(&account.changes)).fold(
            ListCounts::default(),
            |sum, account| ListCounts {
                accounts: sum.accounts + account.accounts,
                written_slots: sum.written_slots + account.written_slots,
                read_slots: sum.read_slots + account.read_slots,
                changes: sum.changes + account.changes,
            },
        )
    }
}

/// A list that is being read.
struct Reader<'b> {
    bounds: &'b ListBounds,
    faults: Vec<Fault>,
    /// Address of the account before the current one.
    previous: Option<Address>,
    /// Address of the current account.
    address: Option<Address>,
    /// Number of accounts and slots read so far.
    item_count: u64,
    /// Number of accounts, slots and changes read so far.
    entry_count: u64,
}

impl Reader<'_> {
    /// Notes a fault of the current account, at `offset` unless the error has its own.
    fn fault(&mut self, offset: usize, error: ListError) {
        let offset = error.offset().unwrap_or(offset);
        self.faults.push(Fault { address: self.address, offset, error });
    }

    /// Counts an account, slot or change before it is kept; fails beyond [`MAX_ENTRIES`].
    fn count_entry(&mut self) -> Result<(), ListError> {
        self.entry_count += 1;
        if self.entry_count > MAX_ENTRIES {
            return Err(ListError::TooManyItems { max_count: MAX_ENTRIES });
        }
        Ok(())
    }

    /// Counts an account or a slot, and notes a fault where they exceed the block's bound.
    fn count_item(&mut self, offset: usize) -> Result<(), ListError> {
        self.count_entry()?;
        self.item_count += 1;
        let max_count = self.bounds.max_item_count();
        // Only the first one beyond the bound is a fault.
        if max_count.checked_add(1) == Some(self.item_count) {
            self.fault(offset, ListError::TooManyItems { max_count });
        }
        Ok(())
    }

    /// Reads an account; `None` where its address cannot be read. An error ends the reading of the
    /// list.
    fn account(
        &mut self,
        offset: usize,
        mut fields: Cursor<'_>,
    ) -> Result<Option<LenientAccount>, ListError> {
        let address = match fields.address() {
            Ok(address) => address,
            Err(error) => {
                self.fault(offset, error);
                return Ok(None);
            }
        };
        self.address = Some(address);
        match self.previous.replace(address) {
            Some(previous) if previous == address => {
                self.fault(offset, ListError::DuplicateAccount { address });
            }
            Some(previous) if previous > address => {
                self.fault(offset, ListError::AccountOrder { previous, address });
            }
            _ => {}
        }
        self.count_item(offset)?;
        let mut changes = AccountChanges::new(address);
        let extent = match self.fields(fields, &mut changes) {
            Ok(()) => Extent::Whole,
            Err(error @ ListError::TooManyItems { .. }) => return Err(error),
            Err(error) => {
                self.fault(offset, error);
                Extent::Partial
            }
        };
        Ok(Some(LenientAccount { changes, extent }))
    }

    /// Reads the fields after the address into `out`.
    fn fields(
        &mut self,
        mut fields: Cursor<'_>,
        out: &mut AccountChanges,
    ) -> Result<(), ListError> {
        let address = out.address;
        self.slot_changes(fields.list()?, out)?;
        self.slot_reads(fields.list()?, out)?;
        self.changes(Field::Balance, fields.list()?, |reader, at, cursor| {
            out.balance_changes.push(BalanceChange::new(at, reader.integer(cursor, 32)?));
            Ok(())
        })?;
        self.changes(Field::Nonce, fields.list()?, |reader, at, cursor| {
            let nonce = reader.integer(cursor, 8)?;
            out.nonce_changes.push(NonceChange::new(at, nonce.to()));
            Ok(())
        })?;
        self.changes(Field::Code, fields.list()?, |reader, at, cursor| {
            let code = reader.code(address, cursor)?;
            out.code_changes.push(CodeChange::new(at, code));
            Ok(())
        })?;
        fields.finish()
    }

    fn slot_changes(
        &mut self,
        mut slots: Cursor<'_>,
        out: &mut AccountChanges,
    ) -> Result<(), ListError> {
        let address = out.address;
        while !slots.is_empty() {
            let offset = slots.offset();
            let mut entry = slots.list()?;
            let slot = self.integer(&mut entry, 32)?;
            match out.storage_changes.last() {
                Some(previous) if previous.slot == slot => {
                    self.fault(offset, ListError::DuplicateChangedSlot { address, slot });
                }
                Some(previous) if previous.slot > slot => {
                    self.fault(offset, ListError::ChangedSlotOrder { address, slot });
                }
                _ => {}
            }
            self.count_item(offset)?;
            out.storage_changes.push(SlotChanges::new(slot, Vec::new()));
            let at_slot = out.storage_changes.len() - 1;
            self.changes(Field::Slot(slot), entry.list()?, |reader, at, cursor| {
                let change = StorageChange::new(at, reader.integer(cursor, 32)?);
                out.storage_changes[at_slot].changes.push(change);
                Ok(())
            })?;
            entry.finish()?;
            if out.storage_changes[at_slot].changes.is_empty() {
                self.fault(offset, ListError::NoSlotChanges { address, slot });
            }
        }
        Ok(())
    }

    fn slot_reads(
        &mut self,
        mut reads: Cursor<'_>,
        out: &mut AccountChanges,
    ) -> Result<(), ListError> {
        let address = out.address;
        let changed: HashSet<U256> = out.storage_changes.iter().map(|slot| slot.slot).collect();
        while !reads.is_empty() {
            let offset = reads.offset();
            let slot = self.integer(&mut reads, 32)?;
            match out.storage_reads.last() {
                Some(previous) if *previous == slot => {
                    self.fault(offset, ListError::DuplicateRead { address, slot });
                }
                Some(previous) if *previous > slot => {
                    self.fault(offset, ListError::ReadOrder { address, slot });
                }
                _ => {}
            }
            if changed.contains(&slot) {
                self.fault(offset, ListError::ReadAndChanged { address, slot });
            }
            self.count_item(offset)?;
            out.storage_reads.push(slot);
        }
        Ok(())
    }

    /// Reads the changes of one field; `push` reads and keeps the value of each.
    fn changes<'a>(
        &mut self,
        field: Field,
        mut changes: Cursor<'a>,
        mut push: impl FnMut(&mut Self, BlockAccessIndex, &mut Cursor<'a>) -> Result<(), ListError>,
    ) -> Result<(), ListError> {
        let address = self.address.unwrap_or_default();
        let last_index = self.bounds.last_index;
        let mut previous = None;
        while !changes.is_empty() {
            let offset = changes.offset();
            let mut change = changes.list()?;
            let index: u32 = self.integer(&mut change, 4)?.to();
            match previous.replace(index) {
                Some(previous) if previous == index => {
                    self.fault(offset, ListError::DuplicateIndex { address, field, index });
                }
                Some(previous) if previous > index => {
                    self.fault(offset, ListError::IndexOrder { address, field, previous, index });
                }
                _ => {}
            }
            if index > last_index {
                let error = ListError::IndexTooHigh { address, field, index, last_index };
                self.fault(offset, error);
            }
            self.count_entry()?;
            push(self, BlockAccessIndex::new(index.into()), &mut change)?;
            change.finish()?;
        }
        Ok(())
    }

    /// Reads an integer of at most `max_bytes`. Leading zero bytes are a fault, and are left out.
    fn integer(&mut self, cursor: &mut Cursor<'_>, max_bytes: usize) -> Result<U256, ListError> {
        let offset = cursor.offset();
        let bytes = cursor.string()?;
        let zero_count = bytes.iter().take_while(|byte| **byte == 0).count();
        if zero_count > 0 {
            self.fault(offset, ListError::LeadingZero { offset });
        }
        let digits = &bytes[zero_count..];
        if digits.len() > max_bytes {
            return Err(ListError::WideInteger { offset, max_bytes });
        }
        Ok(U256::from_be_slice(digits))
    }

    fn code(&mut self, address: Address, cursor: &mut Cursor<'_>) -> Result<Bytes, ListError> {
        let offset = cursor.offset();
        let code = cursor.string()?;
        let (got_bytes, max_bytes) = (code.len(), self.bounds.max_code_bytes);
        if got_bytes > max_bytes {
            self.fault(offset, ListError::CodeTooLong { address, got_bytes, max_bytes });
        } else if !Code::can_be_set(code) {
            self.fault(offset, ListError::InvalidCode { address, offset });
        }
        Ok(Bytes::copy_from_slice(code))
    }
}
