//! Percentiles of many values, each where enough values lie beyond it.

use hdrhistogram::Histogram;

use crate::figures::Percentiles;

/// A percentile needs this many values beyond it (`docs/methodology.md`).
pub(super) const BEYOND_COUNT_MIN: u64 = 10;

/// A percentile that is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Percentile {
    /// Half of all values are at most this.
    P50,
    /// 75 %.
    P75,
    /// 90 %.
    P90,
    /// 95 %.
    P95,
    /// 99 %.
    P99,
    /// 99.9 %.
    P999,
    /// 99.99 %.
    P9999,
}

impl Percentile {
    /// In hundredths of a per cent.
    pub(super) const fn per_10k(self) -> u64 {
        match self {
            Self::P50 => 5_000,
            Self::P75 => 7_500,
            Self::P90 => 9_000,
            Self::P95 => 9_500,
            Self::P99 => 9_900,
            Self::P999 => 9_990,
            Self::P9999 => 9_999,
        }
    }

    /// Whether ten of `count` values lie beyond it.
    pub const fn is_valid(self, count: u64) -> bool {
        count as u128 * (10_000 - self.per_10k()) as u128 >= BEYOND_COUNT_MIN as u128 * 10_000
    }

    /// Its value in `histogram`, within the histogram's precision.
    pub fn of(self, histogram: &Histogram<u64>) -> Option<u64> {
        self.is_valid(histogram.len())
            .then(|| histogram.value_at_quantile(self.per_10k() as f64 / 10_000.0))
    }
}

/// A histogram in a few numbers of its unit; each is `None` where too few values lie beyond it.
pub fn percentiles(histogram: &Histogram<u64>) -> Percentiles {
    let max = (!histogram.is_empty()).then(|| histogram.max());
    each(histogram.len(), max, |percentile| percentile.of(histogram))
}

/// Each percentile as `of` has it, over `count` values.
pub(super) fn each(
    count: u64,
    max: Option<u64>,
    of: impl Fn(Percentile) -> Option<u64>,
) -> Percentiles {
    Percentiles {
        p50: of(Percentile::P50),
        p75: of(Percentile::P75),
        p90: of(Percentile::P90),
        p95: of(Percentile::P95),
        p99: of(Percentile::P99),
        p999: of(Percentile::P999),
        p9999: of(Percentile::P9999),
        max,
        count,
    }
}

/// The same of values that are all there: each percentile is one of them, by nearest rank.
pub fn percentiles_of(values: impl IntoIterator<Item = u64>) -> Percentiles {
    let mut sorted: Vec<u64> = values.into_iter().collect();
    sorted.sort_unstable();
    let count = sorted.len() as u64;
    each(count, sorted.last().copied(), |percentile| {
        let rank = (u128::from(count) * u128::from(percentile.per_10k())).div_ceil(10_000);
        let index = usize::try_from(rank.checked_sub(1)?).ok()?;
        sorted.get(index).copied().filter(|_| percentile.is_valid(count))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(values: impl IntoIterator<Item = u64>) -> Histogram<u64> {
        let mut histogram = Histogram::new(3).expect("three digits");
        for value in values {
            histogram.record(value).expect("grows");
        }
        histogram
    }

    #[test]
    fn percentiles_of_values_are_values_with_their_share_at_or_below() {
        let values = (1..=1_000_u64).rev().map(|value| value * 7);
        let of = percentiles_of(values);
        assert_eq!((of.p50, of.p90, of.p99), (Some(3_500), Some(6_300), Some(6_930)));
        assert_eq!((of.p999, of.max, of.count), (None, Some(7_000), 1_000));
        let few = percentiles_of([5; 19]);
        assert_eq!((few.p50, few.max, few.count), (None, Some(5), 19));
        assert_eq!(percentiles_of([]), Percentiles::default());
    }

    #[test]
    fn a_percentile_needs_ten_values_beyond_it() {
        let cases = [
            (Percentile::P50, 20),
            (Percentile::P75, 40),
            (Percentile::P90, 100),
            (Percentile::P95, 200),
            (Percentile::P99, 1_000),
            (Percentile::P999, 10_000),
            (Percentile::P9999, 100_000),
        ];
        for (percentile, count) in cases {
            assert!(percentile.is_valid(count), "{percentile:?}");
            assert!(!percentile.is_valid(count - 1), "{percentile:?}");
        }
        assert!(Percentile::P50.is_valid(u64::MAX));
        assert!(!Percentile::P50.is_valid(0));
    }

    #[test]
    fn a_summary_of_nothing_knows_only_the_count() {
        let json = serde_json::to_string(&percentiles(&histogram([]))).expect("serialises");
        let names = ["p50", "p75", "p90", "p95", "p99", "p999", "p9999", "max"];
        let nulls = names.map(|name| format!(r#""{name}":null"#)).join(",");
        assert_eq!(json, format!(r#"{{{nulls},"count":0}}"#));
    }

    #[test]
    fn a_summary_shows_what_its_count_permits() {
        let some = percentiles(&histogram(1..=100));
        assert_eq!((some.p50, some.p90, some.p99), (Some(50), Some(90), None));
        assert_eq!((some.max, some.count), (Some(100), 100));
        assert_eq!(percentiles(&histogram(1..=1_000)).p99, Some(990));
        let many = percentiles(&histogram(1..=100_000));
        // Three digits of precision.
        let near = |found: Option<u64>, wanted: u64| {
            assert!(found.is_some_and(|found| found.abs_diff(wanted) <= wanted / 500), "{many:?}");
        };
        near(many.p75, 75_000);
        near(many.p95, 95_000);
        near(many.p999, 99_900);
        near(many.p9999, 99_990);
    }
}
