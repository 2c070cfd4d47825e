//! The block-level access list (EIP-7928) in its forms: built (alloy's `AccountChanges`), encoded
//! (RLP), and decoded, checked and indexed for executors ([`ListIndex`]).
//!
//! A list has the accounts and slots that a batch touches, and each change: its step and the new
//! value. The `batched-io` form is the EIP's own; `parallel-io` has only the changes; `full` adds
//! values from before the batch ([`full_encode`]). A list is checked here for form and bounds only.
//! Executing the batch checks whether it is true.

mod bounds;
mod decode;
mod diff;
mod error;
mod full;
mod index;
mod lenient;
mod radix;
mod rlp;
mod writes;

pub use bounds::{ITEM_COST_GAS, ListBounds, SYSTEM_ITEM_COUNT, SYSTEM_READ_COUNT};
pub use decode::check_length;
pub use diff::{Difference, DifferenceKind, diff};
pub use error::{Field, ListError};
pub use full::{FullList, full_encode};
pub use index::{AccountId, Code, ListIndex, SlotId};
pub use lenient::{Extent, Fault, LenientAccount, LenientList, ListCounts, MAX_ENTRIES};

use alloy_eip7928::AccountChanges;
use alloy_primitives::Bytes;

/// RLP of a list as EIP-7928 has it.
pub fn encode(list: &[AccountChanges]) -> Bytes {
    let mut out = Vec::with_capacity(alloy_rlp::list_length(list));
    alloy_rlp::encode_list(list, &mut out);
    out.into()
}

/// The `parallel-io` form of a list: its changes only. Read keys, and accounts without a
/// change, are left out.
pub fn parallel_io_form(list: &[AccountChanges]) -> Vec<AccountChanges> {
    let changed = list.iter().filter(|account| account.has_changes());
    changed
        .map(|account| AccountChanges {
            address: account.address,
            storage_changes: account.storage_changes.clone(),
            storage_reads: Vec::new(),
            balance_changes: account.balance_changes.clone(),
            nonce_changes: account.nonce_changes.clone(),
            code_changes: account.code_changes.clone(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use alloy_eip7928::{BalanceChange, BlockAccessIndex};
    use alloy_primitives::{Address, U256};

    use super::*;

    #[test]
    fn the_parallel_io_form_keeps_changes_and_nothing_else() {
        let read = AccountChanges::new(Address::repeat_byte(1)).with_storage_read(U256::from(1));
        let change = BalanceChange::new(BlockAccessIndex::new(1), U256::from(5));
        let paid = AccountChanges::new(Address::repeat_byte(2)).with_balance_change(change);
        let both = paid.clone().with_storage_read(U256::from(1));
        assert_eq!(parallel_io_form(&[read, both]), vec![paid]);
    }

    #[test]
    fn an_empty_list_is_one_byte() {
        assert_eq!(encode(&[])[..], [0xc0]);
    }
}
