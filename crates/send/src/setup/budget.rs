//! The money of the senders, for the setup. It has the highest cost of each sender's transactions,
//! the senders that cannot pay it, and the maximum fee that each can offer.

use alloy_primitives::{Address, U256};

use crate::{fees::Fees, plan::Plan};

/// Gas and value of a sender's transactions, and the sender's balance in wei.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Budget {
    sender: Address,
    /// Sum of the gas limits of the sender's transactions.
    gas: U256,
    /// Wei that the sender's transactions transfer.
    value: U256,
    balance: U256,
}

impl Budget {
    /// Computes the budgets of all senders of `plan`. `balances` are theirs, in the same order.
    pub(super) fn all(plan: &Plan, balances: &[U256]) -> Vec<Self> {
        let all = plan.senders.iter().zip(balances).map(|(sender, balance)| Self {
            sender: *sender,
            gas: U256::ZERO,
            value: U256::ZERO,
            balance: *balance,
        });
        let mut all: Vec<Self> = all.collect();
        for call in &plan.calls {
            let budget = &mut all[call.sender];
            budget.gas = budget.gas.saturating_add(U256::from(call.gas_limit));
            budget.value = budget.value.saturating_add(call.value);
        }
        all
    }

    /// The highest cost of the sender's transactions, in wei.
    fn cost(&self, fees: Fees) -> U256 {
        self.gas.saturating_mul(U256::from(fees.max)).saturating_add(self.value)
    }

    /// Whether the sender cannot pay for its transactions.
    fn is_poor(&self, fees: Fees) -> bool {
        self.balance < self.cost(fees)
    }

    /// Maximum fee in wei per gas that the sender can pay for all its transactions.
    pub(super) fn offer_max(&self) -> u128 {
        let left = self.balance.saturating_sub(self.value);
        left.checked_div(self.gas).unwrap_or_default().saturating_to()
    }
}

/// Sum of the highest costs of the senders that cannot pay for their transactions.
pub(super) fn cost_of_poor(budgets: &[Budget], fees: Fees) -> U256 {
    let poor = budgets.iter().filter(|budget| budget.is_poor(fees));
    poor.fold(U256::ZERO, |sum, budget| sum.saturating_add(budget.cost(fees)))
}

/// Raises the recorded balance of each sender that cannot pay for its transactions: to `times`
/// their highest cost. Returns these senders and the amounts to pay them.
pub(super) fn fund(budgets: &mut [Budget], fees: Fees, times: U256) -> Vec<(Address, U256)> {
    let poor = budgets.iter_mut().filter(|budget| budget.is_poor(fees));
    let amounts = poor.map(|budget| {
        let funds = budget.cost(fees).saturating_mul(times);
        let before = std::mem::replace(&mut budget.balance, funds);
        (budget.sender, funds.saturating_sub(before))
    });
    amounts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_offers_more_than_all_its_transactions_can_pay_together() {
        let fees = Fees { max: 10, tip: 1 };
        let budget = |balance: u64| Budget {
            sender: Address::repeat_byte(balance as u8),
            gas: U256::from(100),
            value: U256::from(7),
            balance: U256::from(balance),
        };
        let mut all = [budget(0), budget(1_006), budget(1_007), budget(2_500)];
        assert_eq!(cost_of_poor(&all, fees), U256::from(2 * 1_007));
        let paid = fund(&mut all, fees, U256::from(3));
        let amounts: Vec<_> = paid.iter().map(|(_, amount)| amount.to::<u64>()).collect();
        assert_eq!(amounts, [3_021, 2_015], "the others have enough");
        assert_eq!(all.each_ref().map(Budget::offer_max), [30, 30, 10, 24]);
        for budget in &all {
            let most = Fees { max: budget.offer_max(), tip: 0 };
            assert!(budget.cost(most) <= budget.balance && budget.offer_max() >= fees.max);
        }
        let unpaid = Budget { balance: U256::ZERO, ..budget(0) };
        assert_eq!(unpaid.offer_max(), 0);
    }
}
