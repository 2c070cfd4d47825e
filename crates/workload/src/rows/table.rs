//! The tables of flat state.

/// A table of flat state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Table {
    /// Account key → nonce, balance, code hash ([`crate::layout::encode_account`]).
    Accounts,
    /// Account key ‖ slot part → value ([`crate::layout::encode_slot`]).
    Slots,
    /// Code hash → code, in every layout. Empty code has no row.
    Codes,
}

impl Table {
    /// All tables.
    pub const ALL: [Self; 3] = [Self::Accounts, Self::Slots, Self::Codes];
}
