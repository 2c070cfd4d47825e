//! The `full` form of a list, which is our own and not the EIP's. It is the EIP-7928 list with the
//! value that each account and slot has before the batch. So an executor need not read the state.
//! RLP:
//!
//! ```text
//! [ [ address,
//!     [nonce, balance, code_hash] before the batch, or [] where the account does not exist,
//!     storage_changes,                    as in EIP-7928
//!     [ [slot, value before]… ],          every slot read or written, ascending
//!     balance_changes, nonce_changes, code_changes ]… ]
//! ```
//!
//! `docs/designs.md` has the rules of the form; `full/decode.rs` checks them.

mod decode;

pub use decode::FullList;

use alloy_eip7928::{AccountChanges, BalanceChange, CodeChange, NonceChange, SlotChanges};
use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_rlp::{BufMut, Encodable, RlpEncodable};

use crate::genesis::AccountState;

/// The encoded `full` form of `list`. `account_before` and `slot_before` give the state before
/// the batch.
pub fn full_encode(
    list: &[AccountChanges],
    account_before: impl Fn(&Address) -> Option<AccountState>,
    slot_before: impl Fn(&Address, &U256) -> U256,
) -> Bytes {
    let full = list.iter().map(|account| {
        let mut slots: Vec<SlotBefore> = account
            .storage_slots()
            .map(|slot| SlotBefore { slot, value: slot_before(&account.address, &slot) })
            .collect();
        slots.sort_unstable_by_key(|slot| slot.slot);
        FullAccount {
            address: account.address,
            before: account_before(&account.address).into(),
            storage_changes: account.storage_changes.clone(),
            slots,
            balance_changes: account.balance_changes.clone(),
            nonce_changes: account.nonce_changes.clone(),
            code_changes: account.code_changes.clone(),
        }
    });
    let full: Vec<FullAccount> = full.collect();
    let mut out = Vec::with_capacity(alloy_rlp::list_length(&full));
    alloy_rlp::encode_list(&full, &mut out);
    out.into()
}

#[derive(RlpEncodable)]
struct FullAccount {
    address: Address,
    before: AccountBefore,
    storage_changes: Vec<SlotChanges>,
    slots: Vec<SlotBefore>,
    balance_changes: Vec<BalanceChange>,
    nonce_changes: Vec<NonceChange>,
    code_changes: Vec<CodeChange>,
}

#[derive(RlpEncodable)]
struct SlotBefore {
    slot: U256,
    value: U256,
}

#[derive(RlpEncodable)]
struct Existing {
    nonce: u64,
    balance: U256,
    code_hash: B256,
}

enum AccountBefore {
    Absent,
    Existing(Existing),
}

impl From<Option<AccountState>> for AccountBefore {
    fn from(account: Option<AccountState>) -> Self {
        account.map_or(Self::Absent, |AccountState { nonce, balance, code_hash }| {
            Self::Existing(Existing { nonce, balance, code_hash })
        })
    }
}

impl Encodable for AccountBefore {
    fn encode(&self, out: &mut dyn BufMut) {
        match self {
            Self::Absent => out.put_u8(alloy_rlp::EMPTY_LIST_CODE),
            Self::Existing(account) => account.encode(out),
        }
    }

    fn length(&self) -> usize {
        match self {
            Self::Absent => 1,
            Self::Existing(account) => account.length(),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloy_eip7928::{BlockAccessIndex, StorageChange};

    use super::*;

    #[test]
    fn the_full_form_has_every_slot_and_account_with_its_value_before() {
        let change = StorageChange::new(BlockAccessIndex::new(1), U256::from(9));
        let account = AccountChanges::new(Address::repeat_byte(0x11))
            .with_storage_change(SlotChanges::new(U256::from(2), vec![change]))
            .with_storage_read(U256::from(1));
        let absent = AccountChanges::new(Address::repeat_byte(0x22));
        let state = AccountState { nonce: 5, ..AccountState::default() };
        let account_before = |address: &Address| (address.0[0] == 0x11).then_some(state);
        let slot_before = |_: &Address, key: &U256| *key + U256::from(0x20);
        let list = [account, absent];
        let bytes = full_encode(&list, account_before, slot_before);

        let mut expected = vec![0xf8, 0, 0xf8, 0, 0x94];
        expected.extend([0x11; 20]);
        expected.extend([0xe3, 5, 0x80, 0xa0]);
        expected.extend(state.code_hash);
        expected.extend([0xc6, 0xc5, 2, 0xc3, 0xc2, 1, 9]);
        expected.extend([0xc6, 0xc2, 1, 0x21, 0xc2, 2, 0x22]);
        expected.extend([0xc0, 0xc0, 0xc0]);
        expected.extend([0xdb, 0x94]);
        expected.extend([0x22; 20]);
        expected.extend([0xc0; 6]);
        expected[1] = (expected.len() - 2) as u8;
        expected[3] = (expected.len() - 2 - 2 - 28) as u8;
        assert_eq!(bytes[..], expected);
    }
}
