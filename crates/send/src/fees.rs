//! The fees that transactions of a load and of its setup offer. Offers are far above the base fee,
//! which rises by at most an eighth a block (EIP-1559). Only the base fee and the tip are paid.

/// Number of wei in a gwei.
const GWEI: u128 = 1_000_000_000;
/// Priority fee (tip) before any refusal, in wei per gas.
const TIP: u128 = GWEI;
/// Highest priority fee after refusals, in wei per gas: unlike the maximum fee, the whole tip is
/// paid.
const TIP_MAX: u128 = 100 * GWEI;
/// Multiple of the base fee that transactions offer.
const BASE_FEE_MULTIPLE: u128 = 10;
/// Minimum offer without the tip, in wei per gas: ten times the base fee of a new chain.
const OFFER_MIN: u128 = 10 * GWEI;

/// Fees that the next transaction offers, in wei per gas. During a load they only rise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fees {
    pub(crate) max: u128,
    pub(crate) tip: u128,
}

impl Fees {
    /// The fees that transactions offer at `base_fee`.
    pub(crate) fn above(base_fee: u64) -> Self {
        let max = (u128::from(base_fee) * BASE_FEE_MULTIPLE).max(OFFER_MIN) + TIP;
        Self { max, tip: TIP }
    }

    /// Returns these fees with a maximum fee of at most `most` wei per gas, which the sender can
    /// pay for all its transactions.
    pub(crate) fn within(self, most: u128) -> Self {
        let max = self.max.min(most);
        Self { max, tip: self.tip.min(max) }
    }

    /// Raises the fees if the base fee has risen far.
    pub(crate) fn follow(&mut self, base_fee: u64) {
        // The fees rise only once a new offer would be more than twice the present offer, not with
        // every block.
        let risen = Self::above(base_fee);
        if risen.max > self.max.saturating_mul(2) {
            *self = Self { tip: self.tip, ..risen };
        }
    }

    /// Doubles the fees after a refusal of the maximum fee `refused_max`, unless they have risen
    /// since. The tip, which is paid, rises to at most [`TIP_MAX`].
    pub(crate) const fn raise_above(&mut self, refused_max: u128) {
        if self.max <= refused_max {
            self.max = self.max.saturating_mul(2);
            self.tip = if self.tip < TIP_MAX / 2 { 2 * self.tip } else { TIP_MAX };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offers_stay_above_a_base_fee_that_rises_and_never_fall() {
        let (mut fees, mut base_fee) = (Fees::above(GWEI as u64), GWEI as u64);
        for _ in 0..200 {
            base_fee += base_fee / 8;
            let before = fees;
            fees.follow(base_fee);
            assert!(fees.max >= before.max);
            assert!(fees.max >= u128::from(base_fee) * 4, "{fees:?} {base_fee}");
        }
        let high = fees;
        fees.follow(7);
        assert_eq!(fees, high);
        fees.raise_above(high.max);
        fees.raise_above(high.max);
        assert_eq!(fees.max, 2 * high.max, "once for all that were refused");
    }

    #[test]
    fn an_offer_stays_within_the_funds_and_the_tip_within_its_cap_and_the_offer() {
        let mut fees = Fees::above(GWEI as u64);
        for _ in 0..300 {
            fees.raise_above(fees.max);
            assert!(fees.tip <= TIP_MAX && fees.tip <= fees.max, "{fees:?}");
        }
        assert_eq!(fees.tip, TIP_MAX);
        assert_eq!(fees.within(7 * GWEI), Fees { max: 7 * GWEI, tip: 7 * GWEI });
        let low = Fees::above(GWEI as u64);
        assert_eq!(low.within(u128::MAX), low);
    }
}
