//! Checks a recipe before any row is made, so that an error names the mistake in the recipe.

use crate::{
    genesis::Genesis,
    layout::Layout,
    rows::{
        error::RowError,
        source::{SlotRule, SlotSource},
    },
};

/// Maximum number of rows of a source: an index has 32 bits.
const ROW_COUNT_MAX: u64 = 1 << 32;

/// Checks the recipe and the number of its accounts, and that sender families have valid secrets and
/// share none.
pub(super) fn check_accounts(genesis: &Genesis) -> Result<(), RowError> {
    genesis.validate().map_err(RowError::Recipe)?;
    check_count("accounts", genesis.account_count())?;
    let mut ranges = Vec::with_capacity(genesis.senders.len());
    for (family, senders) in genesis.senders.iter().enumerate() {
        let Some(last) = senders.count.checked_sub(1) else { continue };
        let secret =
            |index| senders.secret(index).map_err(|source| RowError::Sender { family, source });
        ranges.push((secret(0)?, secret(last)?, family));
    }
    ranges.sort_unstable();
    for pair in ranges.windows(2) {
        let ((_, last, first), (secret, _, second)) = (pair[0], pair[1]);
        if secret <= last {
            return Err(RowError::OverlappingSenders { first, second, secret });
        }
    }
    Ok(())
}

/// Checks the numbers of slots, and returns their sources by ascending account key.
pub(super) fn slot_sources(
    genesis: &Genesis,
    layout: Layout,
) -> Result<Vec<SlotSource<'_>>, RowError> {
    let mut sources = Vec::new();
    for family in &genesis.slots {
        let address = family.address;
        check_count(&format!("slots of {address}"), family.count)?;
        if family.count > 0 {
            sources.push(SlotSource::new(layout, address, SlotRule::Family(family)));
        }
    }
    for account in genesis.accounts.iter().filter(|account| !account.storage.is_empty()) {
        let (address, storage) = (account.address, account.storage.as_slice());
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
