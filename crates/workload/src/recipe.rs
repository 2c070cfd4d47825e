//! Checks that the parts of a genesis recipe agree with each other: before a workload is read or
//! written, and before rows are made.

use alloy_primitives::{Address, U256};

use crate::{accounts::CodeRuleError, genesis::Genesis, list::Code};

/// A contradiction in a genesis recipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant says what it and its fields are")]
pub enum GenesisError {
    #[error("genesis account {address} does not stand after the one before it")]
    AccountOrder { address: Address },
    #[error("slot {slot:#x} of genesis account {address} does not stand after the one before it")]
    SlotOrder { address: Address, slot: U256 },
    #[error("slot {slot:#x} of genesis account {address} is zero, which no slot of a state is")]
    ZeroSlot { address: Address, slot: U256 },
    #[error(
        "the code of genesis account {address} begins with 0xef01 and is no delegation (0xef0100 \
         and 20 bytes, EIP-7702)"
    )]
    Code { address: Address },
    #[error("slot family of {address}: genesis has no such account")]
    FamilyWithoutAccount { address: Address },
    #[error("slot family of {address}: the account has slots of its own, or another family")]
    FamilyOverlap { address: Address },
    #[error("account family {family}: {source}")]
    AccountFamily { family: usize, source: CodeRuleError },
    #[error("genesis has more rows than 64 bits count")]
    TooManyRows,
}

impl Genesis {
    /// Checks explicit accounts: their order, their delegations, and their slots, of which none is
    /// zero. Also checks that each slot family has an account of its own, that code rules are valid,
    /// and that 64 bits count the rows.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn validate(&self) -> Result<(), GenesisError> {
        for pair in self.accounts.windows(2) {
            if pair[0].address >= pair[1].address {
                return Err(GenesisError::AccountOrder { address: pair[1].address });
            }
        }
        for account in &self.accounts {
            let (address, storage) = (account.address, &account.storage);
            // Other code that begins with 0xef may be older than EIP-3541, so a state may have it.
            if Code::is_broken_delegation(&account.code) {
                return Err(GenesisError::Code { address });
            }
            if let Some(pair) = storage.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
                return Err(GenesisError::SlotOrder { address, slot: pair[1].0 });
            }
            if let Some((slot, _)) = storage.iter().find(|(_, value)| value.is_zero()) {
                return Err(GenesisError::ZeroSlot { address, slot: *slot });
            }
        }
        let mut with_family: Vec<Address> = Vec::new();
        for family in &self.slots {
            let address = family.address;
            let account =
                self.account(&address).ok_or(GenesisError::FamilyWithoutAccount { address })?;
            if !account.storage.is_empty() {
                return Err(GenesisError::FamilyOverlap { address });
            }
            with_family.push(address);
        }
        with_family.sort_unstable();
        if let Some(pair) = with_family.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(GenesisError::FamilyOverlap { address: pair[0] });
        }
        for (family, accounts) in self.account_families.iter().enumerate() {
            let checked = accounts.code.check();
            checked.map_err(|source| GenesisError::AccountFamily { family, source })?;
        }
        let explicit = self.accounts.iter().map(|account| account.storage.len() as u64);
        let slots = explicit.chain(self.slots.iter().map(|family| family.count));
        let families = self.account_families.iter().map(|family| family.count);
        let accounts = self.senders.iter().map(|family| family.count).chain(families);
        let rows = slots.chain(accounts).chain([self.accounts.len() as u64]);
        let sum = rows.into_iter().try_fold(0_u64, u64::checked_add);
        sum.map(drop).ok_or(GenesisError::TooManyRows)
    }
}
