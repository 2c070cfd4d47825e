//! Checks a recipe before any row is made, so that an error names the mistake in the recipe.

use std::collections::HashSet;

use alloy_primitives::{Address, U256};

use crate::{
    genesis::Genesis,
    layout::Layout,
    rows::{
        error::{AccountOrigin, RowError},
        source::{SlotRule, SlotSource},
    },
};

/// Maximum number of rows of a source: an index has 32 bits.
const ROW_COUNT_MAX: u64 = 1 << 32;

/// Checks that explicit accounts ascend, that sender families have valid secrets and share none,
/// and that code rules are valid. Also checks the number of all accounts.
pub(super) fn check_accounts(genesis: &Genesis) -> Result<(), RowError> {
    for pair in genesis.accounts.windows(2) {
        let address = pair[1].address;
        match pair[0].address.cmp(&address) {
            std::cmp::Ordering::Less => {}
            std::cmp::Ordering::Greater => return Err(RowError::UnsortedAccounts { address }),
            std::cmp::Ordering::Equal => {
                let (first, second) = (AccountOrigin::Explicit, AccountOrigin::Explicit);
                return Err(RowError::DuplicateAccount { address, first, second });
            }
        }
    }
    let mut total = genesis.accounts.len() as u64;
    let mut ranges = Vec::with_capacity(genesis.senders.len());
    for (family, senders) in genesis.senders.iter().enumerate() {
        total = total.saturating_add(senders.count);
        let Some(last) = senders.count.checked_sub(1) else { continue };
        let secret =
            |index| senders.secret(index).map_err(|source| RowError::Sender { family, source });
        ranges.push((secret(0)?, secret(last)?, family));
    }
    for (family, accounts) in genesis.account_families.iter().enumerate() {
        total = total.saturating_add(accounts.count);
        accounts.code.check().map_err(|source| RowError::Codes { family, source })?;
    }
    check_count("accounts", total)?;
    ranges.sort_unstable();
    for pair in ranges.windows(2) {
        let ((_, last, first), (secret, _, second)) = (pair[0], pair[1]);
        if secret <= last {
            return Err(RowError::OverlappingSenders { first, second, secret });
        }
    }
    Ok(())
}

/// Checks all slots, and returns their sources by ascending account key.
pub(super) fn slot_sources(
    genesis: &Genesis,
    layout: Layout,
) -> Result<Vec<SlotSource<'_>>, RowError> {
    let mut seen: HashSet<Address> = HashSet::with_capacity(genesis.slots.len());
    let mut sources = Vec::new();
    for family in &genesis.slots {
        let address = family.address;
        let Some(account) = genesis.account(&address) else {
            return Err(RowError::UnknownContract { address });
        };
        if !account.storage.is_empty() {
            return Err(RowError::StorageTwice { address });
        }
        if !seen.insert(address) {
            return Err(RowError::FamilyTwice { address });
        }
        check_count(&format!("slots of {address}"), family.count)?;
        if family.count > 0 {
            sources.push(SlotSource::new(layout, address, SlotRule::Family(family)));
        }
    }
    for account in genesis.accounts.iter().filter(|account| !account.storage.is_empty()) {
        let (address, storage) = (account.address, account.storage.as_slice());
        let zero = storage.iter().find(|(_, value)| *value == U256::ZERO);
        if let Some((slot, _)) = zero {
            return Err(RowError::ZeroValue { address, slot: *slot });
        }
        check_count(&format!("storage of {address}"), storage.len() as u64)?;
        sources.push(SlotSource::new(layout, address, SlotRule::Explicit(storage)));
    }
    sources.sort_unstable_by_key(|source| source.account_key);
    Ok(sources)
}

/// Refuses more rows than an index can name. `what` describes the rows, for the error.
fn check_count(what: &str, count: u64) -> Result<(), RowError> {
    if count > ROW_COUNT_MAX {
        return Err(RowError::TooManyRows { what: what.to_owned(), count });
    }
    Ok(())
}
