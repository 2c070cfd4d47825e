//! Codes that are delegations (EIP-7702), and the price of a transaction to an account with such a
//! code. Grown states (`grow.rs`) have these accounts.

use alloy_primitives::{Address, Bytes};
use revm::context_interface::cfg::GasParams;
use workload::Fork;

/// First bytes of a code that is a delegation (EIP-7702).
const MARK: [u8; 3] = [0xef, 0x01, 0x00];

/// The code of an account that delegates to `address`.
pub(super) fn delegation(address: Address) -> Bytes {
    [&MARK[..], address.as_slice()].concat().into()
}

/// The account to which a code delegates; `None` where the code is no delegation.
pub(super) fn delegate(code: &[u8]) -> Option<Address> {
    let address = code.strip_prefix(&MARK)?;
    Address::try_from(address).ok()
}

/// Gas that a transaction to a delegating account takes beyond one to an account that itself has the
/// delegate's code. From Amsterdam on it is the price of the access to the delegate (EIP-2780); before, it is 0.
pub fn delegation_gas(fork: Fork) -> u64 {
    if !fork.is_from(Fork::Amsterdam) {
        return 0;
    }
    let prices = GasParams::new_spec(evm::env::spec(fork));
    prices.warm_storage_read_cost() + prices.cold_account_additional_cost()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delegation_names_its_delegate_and_other_codes_name_none() {
        let address = Address::repeat_byte(7);
        assert_eq!(delegate(&delegation(address)), Some(address));
        for code in [&[][..], &[0xef, 1, 0], &[0xef, 1, 0, 7], &[0x60; 23]] {
            assert_eq!(delegate(code), None, "{code:?}");
        }
        assert_eq!(Fork::GENERATED.map(delegation_gas), [0, 0, 0, 3_000]);
    }
}
