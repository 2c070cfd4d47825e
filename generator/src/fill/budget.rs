//! Divides a block into the loads' budgets by their shares, for `fill.rs`. A budget is of the
//! block's gas, of its transactions, or of the dimension of gas that bounds the load (EIP-8037).

use workload::Fork;

use crate::probe::Cost;
use spec::Load;

/// The part of a block that a load may use, in gas or in transactions, and the unused rest of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Budget {
    pub(super) total: u64,
    pub(super) left: u64,
}

impl Budget {
    const fn whole(total: u64) -> Self {
        Self { total, left: total }
    }
}

/// Divides `total` by the loads' shares, rounded so that the sum is `total`.
pub(super) fn share_budgets(total: u64, loads: &[Load]) -> Vec<Budget> {
    let mut share = 0.0;
    let mut given = 0;
    let mut out = Vec::with_capacity(loads.len());
    for (index, load) in loads.iter().enumerate() {
        share += load.share;
        let until =
            if index + 1 == loads.len() { total } else { (total as f64 * share).round() as u64 };
        let part = until.clamp(given, total) - given;
        given += part;
        out.push(Budget::whole(part));
    }
    out
}

/// The load that has the largest part of its own budget left; the first of equal loads. `None` when
/// all budgets are used.
pub(super) fn least_used(budgets: &[Budget]) -> Option<usize> {
    let open = budgets.iter().enumerate().filter(|(_, budget)| budget.left > 0);
    // Compares fractions exactly: a/b > c/d where a·d > c·b.
    open.reduce(|best, next| {
        let (a, b) = (u128::from(next.1.left), u128::from(next.1.total));
        let (c, d) = (u128::from(best.1.left), u128::from(best.1.total));
        if a * d > c * b { next } else { best }
    })
    .map(|(index, _)| index)
}

/// Execution gas and state gas. A fork with one dimension has all gas in the first.
pub(super) type Dimensions = [u64; 2];

/// The gas of a transaction by dimensions, as it counts against a block.
pub(super) const fn dimensions(cost: Cost, fork: Fork) -> Dimensions {
    match fork.is_from(Fork::Amsterdam) {
        true => [cost.regular_gas, cost.state_gas],
        false => [cost.gas, 0],
    }
}

/// The division of a load's gas over the dimensions, by the cost of one of its transactions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mix {
    share: f64,
    cost: Cost,
    /// Gas of the transaction.
    of_tx: Dimensions,
    /// The dimension that the load fills first: 0 for execution gas, 1 for state gas.
    pub(super) bound: usize,
}

impl Mix {
    pub(super) const fn new(share: f64, cost: Cost, fork: Fork) -> Self {
        let of_tx = dimensions(cost, fork);
        Self { share, cost, of_tx, bound: if of_tx[1] > of_tx[0] { 1 } else { 0 } }
    }

    /// Scales `per_tx`, a figure of one transaction, to as many transactions as have `gas` in the
    /// load's dimension.
    fn scaled(&self, gas: u64, per_tx: u64) -> u64 {
        let bound = u128::from(self.of_tx[self.bound].max(1));
        u64::try_from(u128::from(gas) * u128::from(per_tx) / bound).unwrap_or(u64::MAX)
    }

    /// Receipt gas of the transactions that use `gas` of the load's dimension.
    pub(super) fn receipt_gas(&self, gas: u64) -> u64 {
        self.scaled(gas, self.cost.gas)
    }

    /// Gas limits of the transactions that use `gas` of the load's dimension.
    pub(super) fn limit_gas(&self, gas: u64) -> u64 {
        self.scaled(gas, self.cost.limit())
    }

    /// Gas of `dimension` for each gas of the load's own dimension.
    fn rate(&self, dimension: usize) -> f64 {
        self.of_tx[dimension] as f64 / self.of_tx[self.bound].max(1) as f64
    }
}

/// Budgets of loads that fill the gas `left` in both dimensions. Each budget is in the dimension
/// that bounds its load. All budgets grow by the loads' shares until a dimension is full. Then the
/// budgets of loads that need no gas of that dimension grow on. A load whose mix is `None` has no
/// budget.
pub(super) fn filling_budgets(left: Dimensions, mixes: &[Option<Mix>]) -> Vec<Budget> {
    let mut left = left.map(|gas| gas as f64);
    let mut totals = vec![0.0; mixes.len()];
    let mut growing: Vec<(usize, Mix)> =
        mixes.iter().enumerate().filter_map(|(index, mix)| Some((index, (*mix)?))).collect();
    while !growing.is_empty() {
        let rates = [0, 1].map(|dimension| {
            growing.iter().map(|(_, mix)| mix.share * mix.rate(dimension)).sum::<f64>()
        });
        // How much the budgets can grow before each dimension is full.
        let times = [0, 1].map(|dimension| match rates[dimension] > 0.0 {
            true => left[dimension].max(0.0) / rates[dimension],
            false => f64::INFINITY,
        });
        let full = if times[1] < times[0] { 1 } else { 0 };
        for (index, mix) in &growing {
            totals[*index] += mix.share * times[full];
        }
        for dimension in [0, 1] {
            left[dimension] -= rates[dimension] * times[full];
        }
        growing.retain(|(_, mix)| mix.of_tx[full] == 0);
    }
    totals.into_iter().map(|total| Budget::whole(total.round() as u64)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mix(share: f64, regular_gas: u64, state_gas: u64) -> Option<Mix> {
        let cost = Cost { gas: regular_gas + state_gas, refund: 0, regular_gas, state_gas };
        Some(Mix::new(share, cost, Fork::Amsterdam))
    }

    fn totals(mixes: &[Option<Mix>]) -> Vec<u64> {
        filling_budgets([60_000_000, 60_000_000], mixes).iter().map(|budget| budget.total).collect()
    }

    #[test]
    fn loads_of_one_dimension_have_their_shares_of_it() {
        assert_eq!(totals(&[mix(0.25, 10, 0), mix(0.75, 7, 0)]), [15_000_000, 45_000_000]);
        assert_eq!(totals(&[mix(1.0, 10, 90)]), [60_000_000]);
        assert_eq!(totals(&[None, mix(0.5, 1, 0)]), [0, 60_000_000]);
    }

    #[test]
    fn a_load_of_one_dimension_goes_on_where_the_other_one_is_full() {
        for share in [0.1, 0.438] {
            let budgets = totals(&[mix(share, 2_100, 0), mix(1.0 - share, 12_000, 96_000)]);
            assert_eq!(budgets, [52_500_000, 60_000_000], "{share}");
        }
    }

    #[test]
    fn execution_gas_that_is_full_ends_all_loads() {
        let budgets = totals(&[mix(0.9, 2_100, 0), mix(0.1, 12_000, 96_000)]);
        let [reads, creates] = budgets[..] else { panic!("{budgets:?}") };
        assert!((reads + creates / 8).abs_diff(60_000_000) <= 1, "{budgets:?}");
        assert!(reads.abs_diff(9 * creates) <= 9, "{budgets:?}");
    }

    #[test]
    fn before_amsterdam_gas_has_one_dimension() {
        let cost = Cost { gas: 80, refund: 20, regular_gas: 100, state_gas: 0 };
        assert_eq!(dimensions(cost, Fork::Osaka), [80, 0]);
        assert_eq!(dimensions(cost, Fork::Amsterdam), [100, 0]);
    }
}
