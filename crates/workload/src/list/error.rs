//! Reasons to reject a list for its form, one for each rule. Offsets are bytes from the start of
//! the encoded list.

use std::fmt;

use alloy_primitives::{Address, U256};
use serde::Serialize;

use crate::step::BlockAccessIndex;

/// A field of an account that a step can change; part of a [`ListError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Field {
    /// The slot with this key.
    Slot(U256),
    /// The balance.
    Balance,
    /// The nonce.
    Nonce,
    /// The code.
    Code,
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slot(key) => write!(f, "slot {key:#x}"),
            Self::Balance => f.write_str("balance"),
            Self::Nonce => f.write_str("nonce"),
            Self::Code => f.write_str("code"),
        }
    }
}

/// Reason to reject the bytes of a list: a form other than EIP-7928's or `full`, or a list that
/// this batch cannot have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant says what it and its fields are")]
pub enum ListError {
    #[error("the list has {got_bytes} bytes; its batch allows {max_bytes}")]
    TooLong { got_bytes: u64, max_bytes: u64 },
    #[error("the list has more than the {max_count} accounts and slots its batch can pay for")]
    TooManyItems { max_count: u64 },
    #[error("the list is cut off: it has {got_bytes} bytes, its header asks for more")]
    Truncated { got_bytes: u64 },
    #[error("bytes follow the end of the list at offset {offset}")]
    TrailingBytes { offset: usize },
    #[error("an item is missing at offset {offset}")]
    MissingItem { offset: usize },
    #[error("an entry has a surplus field at offset {offset}")]
    SurplusField { offset: usize },
    #[error("the item at offset {offset} reaches beyond the list that it is in")]
    Overrun { offset: usize },
    #[error("a list must stand at offset {offset}, a string does")]
    NotAList { offset: usize },
    #[error("a string must stand at offset {offset}, a list does")]
    NotAString { offset: usize },
    #[error("the length at offset {offset} is not in its shortest form")]
    LongLength { offset: usize },
    #[error("the byte at offset {offset} needs no header of its own, but has one")]
    HeadedByte { offset: usize },
    #[error("the integer at offset {offset} has a leading zero byte")]
    LeadingZero { offset: usize },
    #[error("the integer at offset {offset} has more than {max_bytes} bytes")]
    WideInteger { offset: usize, max_bytes: usize },
    #[error("the address at offset {offset} has {got_bytes} bytes instead of 20")]
    AddressLength { offset: usize, got_bytes: usize },
    #[error("account {address} occurs twice")]
    DuplicateAccount { address: Address },
    #[error("account {address} stands after {previous}")]
    AccountOrder { previous: Address, address: Address },
    #[error("slot {slot:#x} of {address} occurs twice among the changes")]
    DuplicateChangedSlot { address: Address, slot: U256 },
    #[error("changed slot {slot:#x} of {address} stands after a greater one")]
    ChangedSlotOrder { address: Address, slot: U256 },
    #[error("slot {slot:#x} of {address} is listed as changed, without a change")]
    NoSlotChanges { address: Address, slot: U256 },
    #[error("slot {slot:#x} of {address} occurs twice among the reads")]
    DuplicateRead { address: Address, slot: U256 },
    #[error("read slot {slot:#x} of {address} stands after a greater one")]
    ReadOrder { address: Address, slot: U256 },
    #[error("slot {slot:#x} of {address} is both changed and read")]
    ReadAndChanged { address: Address, slot: U256 },
    #[error("slot {slot:#x} of {address} stands twice among the values before the batch")]
    DuplicateValue { address: Address, slot: U256 },
    #[error("slot {slot:#x} of {address} stands after a greater one among the values before")]
    ValueOrder { address: Address, slot: U256 },
    #[error("slot {slot:#x} of {address} is changed, and its value before the batch is missing")]
    MissingValue { address: Address, slot: U256 },
    #[error("the code hash at offset {offset} has {got_bytes} bytes instead of 32")]
    HashLength { offset: usize, got_bytes: usize },
    #[error("{field} of {address} changes twice at index {index}")]
    DuplicateIndex { address: Address, field: Field, index: BlockAccessIndex },
    #[error("{field} of {address}: index {index} stands after {previous}")]
    IndexOrder {
        address: Address,
        field: Field,
        previous: BlockAccessIndex,
        index: BlockAccessIndex,
    },
    #[error("{field} of {address} changes at index {index}; the last step is {last_index}")]
    IndexTooHigh {
        address: Address,
        field: Field,
        index: BlockAccessIndex,
        last_index: BlockAccessIndex,
    },
    #[error("a code of {address} has {got_bytes} bytes; the fork allows {max_bytes}")]
    CodeTooLong { address: Address, got_bytes: usize, max_bytes: usize },
    #[error(
        "the code of {address} at offset {offset} begins with 0xef and is no delegation (0xef0100 \
         and 20 bytes, EIP-7702); no block can set such a code (EIP-3541)"
    )]
    InvalidCode { address: Address, offset: usize },
}

impl ListError {
    /// The offset in the error's message, if it has one.
    pub const fn offset(&self) -> Option<usize> {
        match self {
            Self::TrailingBytes { offset }
            | Self::MissingItem { offset }
            | Self::SurplusField { offset }
            | Self::Overrun { offset }
            | Self::NotAList { offset }
            | Self::NotAString { offset }
            | Self::LongLength { offset }
            | Self::HeadedByte { offset }
            | Self::LeadingZero { offset }
            | Self::WideInteger { offset, .. }
            | Self::AddressLength { offset, .. }
            | Self::HashLength { offset, .. }
            | Self::InvalidCode { offset, .. } => Some(*offset),
            _ => None,
        }
    }

    /// The field that the error is about; `None` where it is about an account or a list as a whole.
    pub const fn field(&self) -> Option<Field> {
        match self {
            Self::DuplicateChangedSlot { slot, .. }
            | Self::ChangedSlotOrder { slot, .. }
            | Self::NoSlotChanges { slot, .. }
            | Self::DuplicateRead { slot, .. }
            | Self::ReadOrder { slot, .. }
            | Self::ReadAndChanged { slot, .. }
            | Self::DuplicateValue { slot, .. }
            | Self::ValueOrder { slot, .. }
            | Self::MissingValue { slot, .. } => Some(Field::Slot(*slot)),
            Self::DuplicateIndex { field, .. }
            | Self::IndexOrder { field, .. }
            | Self::IndexTooHigh { field, .. } => Some(*field),
            Self::CodeTooLong { .. } | Self::InvalidCode { .. } => Some(Field::Code),
            _ => None,
        }
    }
}
