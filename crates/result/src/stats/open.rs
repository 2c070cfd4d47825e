//! Percentiles of times of which some had not ended when the measurement did: each of those is known to be at
//! least so long. Their distribution is estimated as Kaplan and Meier do (1958): a time that had not ended counts
//! among those at risk for as long as it was seen, and as an end never.

use hdrhistogram::Histogram;

use super::percentile::{BEYOND_COUNT_MIN, each, percentiles};
use crate::figures::Percentiles;

/// Rounding errors of a product of shares.
const ROUNDING: f64 = 1e-9;

/// Percentiles of the times in `ended` and of those that were longer than in `open`. A percentile is `None`
/// where too few values lie beyond it, or where it lies beyond the times that ended; so is the maximum where
/// one that had not ended was longer. Counts all of them.
pub fn percentiles_with_open(ended: &Histogram<u64>, open: &Histogram<u64>) -> Percentiles {
    if open.is_empty() {
        return percentiles(ended);
    }
    let count = ended.len() + open.len();
    let steps = steps(ended, open);
    let has_longest = !ended.is_empty() && open.max() < ended.max();
    each(count, has_longest.then(|| ended.max()), |percentile| {
        let share = percentile.per_10k() as f64 / 10_000.0;
        let step = steps.iter().find(|step| step.ended_share >= share - ROUNDING)?;
        let is_valid = percentile.is_valid(count) && step.beyond_count >= BEYOND_COUNT_MIN;
        is_valid.then_some(step.value)
    })
}

/// A time that some ended at.
struct Step {
    value: u64,
    /// Estimated share of all that are at most so long.
    ended_share: f64,
    /// Values that are known to be longer.
    beyond_count: u64,
}

fn steps(ended: &Histogram<u64>, open: &Histogram<u64>) -> Vec<Step> {
    let mut gone =
        open.iter_recorded().map(|at| (at.value_iterated_to(), at.count_at_value())).peekable();
    let (mut at_risk, mut left_share) = (ended.len() + open.len(), 1.0);
    let mut steps = Vec::new();
    for (value, count) in
        ended.iter_recorded().map(|at| (at.value_iterated_to(), at.count_at_value()))
    {
        // Those that were seen for less than this time say nothing of it.
        while let Some((_, gone_count)) = gone.next_if(|(until, _)| *until < value) {
            at_risk -= gone_count;
        }
        left_share *= 1.0 - count as f64 / at_risk as f64;
        at_risk -= count;
        steps.push(Step { value, ended_share: 1.0 - left_share, beyond_count: at_risk });
    }
    steps
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::histogram;
    use super::*;

    #[test]
    fn times_that_did_not_end_move_the_percentiles_of_those_that_did() {
        // A node that stalls after a tenth of its work.
        let of = percentiles_with_open(&histogram(1..=100), &histogram([1_000; 900]));
        assert_eq!((of.p50, of.p99, of.max, of.count), (None, None, None, 1_000));
        // It stalls after 60 %: the median is that of all, the 500th value.
        let of = percentiles_with_open(&histogram(1..=600), &histogram([1_000; 400]));
        assert_eq!((of.p50, of.p75, of.max), (Some(500), None, None));
        // Those that were seen for a short time only say nothing of longer ones.
        let of = percentiles_with_open(&histogram(1_001..=1_100), &histogram([5; 900]));
        assert_eq!((of.p50, of.max, of.count), (Some(1_050), Some(1_100), 1_000));
    }

    #[test]
    fn the_textbook_has_the_same_shares() {
        // Six at risk; ends at 6 (three), open at 6, ends at 7, open at 9: S = 1/2, 1/2 · 1/2.
        let (ended, open) = (histogram([6, 6, 6, 7]), histogram([6, 9]));
        let shares: Vec<f64> = steps(&ended, &open).iter().map(|step| step.ended_share).collect();
        assert!((shares[0] - 0.5).abs() < 1e-12 && (shares[1] - 0.75).abs() < 1e-12, "{shares:?}");
    }

    proptest! {
        #[test]
        fn with_open_times_beyond_all_others_a_percentile_is_a_value_or_unknown(
            ended in prop::collection::vec(1_u64..2_000, 1..400),
            open_count in 1_usize..400,
        ) {
            let open = histogram(vec![1_000_000; open_count]);
            let of = percentiles_with_open(&histogram(ended.iter().copied()), &open);
            // Nearest rank of all values, the open ones as the longest.
            let mut sorted = ended.clone();
            sorted.sort_unstable();
            let count = sorted.len() + open_count;
            for (found, share, least) in [(of.p50, 50, 20), (of.p90, 90, 100), (of.p99, 99, 1_000)] {
                let rank = (count * share).div_ceil(100);
                if let Some(found) = found {
                    prop_assert!(rank <= sorted.len());
                    prop_assert!(found.abs_diff(sorted[rank - 1]) <= 1, "{} {}", found, sorted[rank - 1]);
                } else {
                    prop_assert!(rank > sorted.len() || count < least || open_count < 10);
                }
            }
        }
    }
}
