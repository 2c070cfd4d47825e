//! Joins the parts of a step for revm's builder of lists. A system step commits several parts (all
//! withdrawals, then each system call) at one block access index (EIP-7928). The builder takes an
//! account's original value in a commit for its value before the step. So a second part with an
//! unchanged value would remove the first part's change from the list. Each later part therefore
//! gets the original value of the first.

use alloy_primitives::map::AddressMap;
use revm::state::{AccountInfo, EvmState};

/// Values before the running step of the accounts that its parts have changed so far.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    before: AddressMap<AccountInfo>,
}

impl Parts {
    /// Sets the original values in `changes`, the output of the step's next part, to the values
    /// before the step. Slots stay as they are: no part writes the slots of another part.
    pub fn join(&mut self, changes: &mut EvmState) {
        for (address, account) in changes.iter_mut().filter(|(_, account)| account.is_touched()) {
            match self.before.get(address) {
                Some(before) => *account.original_info_mut() = before.clone(),
                None => {
                    self.before.insert(*address, account.original_info());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, U256};
    use revm::state::{Account, TransactionId};

    use super::*;

    fn part(before: u64, after: u64) -> EvmState {
        let info = |balance| AccountInfo { balance: U256::from(balance), ..AccountInfo::default() };
        let mut account = Account::new_not_existing(TransactionId::ZERO)
            .with_info(info(after))
            .with_touched_mark();
        *account.original_info_mut() = info(before);
        EvmState::from_iter([(Address::ZERO, account)])
    }

    #[test]
    fn a_later_part_counts_from_before_the_step() {
        let (mut first, mut second) = (part(5, 7), part(7, 7));
        let mut parts = Parts::default();
        parts.join(&mut first);
        parts.join(&mut second);
        assert_eq!(first, part(5, 7));
        assert_eq!(second, part(5, 7));
    }
}
