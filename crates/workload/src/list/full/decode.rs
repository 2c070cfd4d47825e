//! Decodes the `full` form of a list. The EIP-7928 part goes through the decoder of the other forms
//! into the same index. The values before the batch go into arrays by dense id (the position of an
//! account or slot in the list). `docs/designs.md` has the rules.
//!
//! Safe on any bytes, as the decoder of the other forms is. Besides the index it takes 32 bytes a
//! slot and 80 an account.

use std::cmp::Ordering;

use alloy_primitives::{Address, Bytes, U256};

use super::{
    super::{
        bounds::ListBounds,
        decode::{self, Decoder, Form},
        error::ListError,
        index::{AccountId, ListIndex, SlotId},
        radix::compare,
        rlp::Cursor,
    },
    full_encode,
};
use crate::genesis::AccountState;

/// A list in its `full` form, checked and indexed: the EIP-7928 part, and the value that every key
/// in it holds before the batch. Made by [`Self::decode`] alone.
///
/// Methods that take an id panic on one that is not from this list.
#[derive(Clone, Debug)]
pub struct FullList {
    index: ListIndex,
    values: Values,
}

/// Values before the batch, by dense id.
#[derive(Clone, Debug, Default)]
struct Values {
    accounts: Vec<Option<AccountState>>,
    slots: Vec<U256>,
}

impl FullList {
    /// Decodes, checks and indexes a list in its `full` form.
    ///
    /// # Errors
    /// A [`ListError`] with the first rule that the bytes break.
    pub fn decode(bytes: &[u8], bounds: &ListBounds) -> Result<Self, ListError> {
        let mut values = Values::default();
        let index = decode::decode(bytes, bounds, bounds.max_full_bytes(), &mut values)?;
        Ok(Self { index, values })
    }

    /// The EIP-7928 part of the list.
    pub const fn index(&self) -> &ListIndex {
        &self.index
    }

    /// The account before the batch, as the list states it; `None` where the account does not
    /// exist.
    #[inline]
    pub fn account(&self, id: AccountId) -> Option<AccountState> {
        self.values.accounts[id.get()]
    }

    /// The slot's value before the batch, as the list states it.
    #[inline]
    pub fn slot(&self, id: SlotId) -> U256 {
        self.values.slots[id.get()]
    }

    /// Splits the list into its index, and the accounts and slots before the batch by dense id.
    pub fn into_parts(self) -> (ListIndex, Vec<Option<AccountState>>, Vec<U256>) {
        (self.index, self.values.accounts, self.values.slots)
    }

    /// The bytes that the list was decoded from: no two encodings decode to the same list.
    pub fn encode(&self) -> Bytes {
        full_encode(
            &self.index.to_changes(),
            |address| self.account(self.own_id(address)),
            |address, key| {
                let slot = self.index.slot_id(self.own_id(address), key);
                let slot =
                    slot.unwrap_or_else(|| panic!("slot {key} of {address} is from this list"));
                self.slot(slot)
            },
        )
    }

    fn own_id(&self, address: &Address) -> AccountId {
        let id = self.index.account_id(address);
        id.unwrap_or_else(|| panic!("{address} is from this list"))
    }
}

impl Form for Values {
    fn account(&mut self, fields: &mut Cursor<'_>) -> Result<(), ListError> {
        let mut before = fields.list()?;
        if before.is_empty() {
            self.accounts.push(None);
            return Ok(());
        }
        let account = AccountState {
            nonce: before.u64()?,
            balance: before.u256()?,
            code_hash: before.hash()?,
        };
        before.finish()?;
        self.accounts.push(Some(account));
        Ok(())
    }

    /// Takes `[[slot, value]…]`: every changed slot and, besides them, those that are read.
    fn slots(
        &mut self,
        decoder: &mut Decoder,
        address: Address,
        mut slots: Cursor<'_>,
    ) -> Result<(), ListError> {
        let mut next_changed = 0;
        let first = decoder.list.keys.len();
        while !slots.is_empty() {
            let mut entry = slots.list()?;
            let slot = entry.u256()?;
            if let Some(previous) = decoder.list.keys[first..].last() {
                match compare(previous, &slot) {
                    Ordering::Less => {}
                    Ordering::Equal => return Err(ListError::DuplicateValue { address, slot }),
                    Ordering::Greater => return Err(ListError::ValueOrder { address, slot }),
                }
            }
            match decoder.changed.get(next_changed).map(|next| (*next, compare(next, &slot))) {
                Some((missing, Ordering::Less)) => {
                    return Err(ListError::MissingValue { address, slot: missing });
                }
                Some((_, Ordering::Equal)) => {
                    decoder.list.slots.set_id(decoder.list.keys.len() as u32);
                    next_changed += 1;
                }
                // The slot is not changed, so it is an item of its own.
                Some((_, Ordering::Greater)) | None => decoder.take_item_room()?,
            }
            decoder.list.keys.push(slot);
            self.slots.push(entry.u256()?);
            entry.finish()?;
        }
        match decoder.changed.get(next_changed) {
            Some(slot) => Err(ListError::MissingValue { address, slot: *slot }),
            None => Ok(()),
        }
    }
}
