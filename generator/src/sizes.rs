//! Draws the sizes of a load's transactions, which are their gas limits, for `fill.rs`. A size
//! depends only on the load's stream and the transaction's number in the load.

use alloy_primitives::U256;
use workload::stream::stream_seed;

use crate::random::Zipf;
use spec::{SizeDistribution, Sizes};

/// Draws gas limits.
#[derive(Clone, Debug)]
pub(crate) struct SizeDraw {
    sizes: Sizes,
    seed: u64,
    stream: String,
    /// Zipf's law over multiples of the least gas.
    zipf: Zipf,
}

impl SizeDraw {
    /// Draws by `sizes`, from the stream of this seed and name.
    pub(crate) fn new(sizes: Sizes, seed: u64, stream: String) -> Self {
        let rank_count = match sizes.shape {
            SizeDistribution::Zipf => sizes.most_gas / sizes.least_gas,
            SizeDistribution::Fixed | SizeDistribution::Range => 1,
        };
        Self { sizes, seed, stream, zipf: Zipf::new(rank_count, sizes.exponent) }
    }

    /// The smallest gas limit of a transaction.
    pub(crate) const fn least_gas(&self) -> u64 {
        self.sizes.least_gas
    }

    /// The scenario's key that sets the smallest gas limit.
    pub(crate) const fn least_key(&self) -> &'static str {
        match self.sizes.shape {
            SizeDistribution::Fixed => "load.tx_gas",
            SizeDistribution::Range | SizeDistribution::Zipf => "load.tx_gas_least",
        }
    }

    /// The gas limit of the load's transaction number `turn`.
    pub(crate) fn at(&self, turn: u64) -> u64 {
        let Sizes { shape, least_gas, most_gas, .. } = self.sizes;
        if shape == SizeDistribution::Fixed {
            return most_gas;
        }
        let word = stream_seed(self.seed, &format!("{}/size/{turn}", self.stream));
        let [word, ..] = *U256::from_be_bytes(word.0).as_limbs();
        if shape == SizeDistribution::Range {
            return least_gas + word % (most_gas - least_gas + 1);
        }
        (least_gas * self.zipf.rank(word)).min(most_gas)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(shape: SizeDistribution, exponent: f64, count: u64) -> Vec<u64> {
        let sizes = Sizes { shape, least_gas: 100_000, most_gas: 1_600_000, exponent };
        let draw = SizeDraw::new(sizes, 7, "load[0]".to_owned());
        (0..count).map(|turn| draw.at(turn)).collect()
    }

    #[test]
    fn fixed_sizes_are_the_most_and_ranges_fill_their_range_evenly() {
        assert!(drawn(SizeDistribution::Fixed, 1.0, 10).iter().all(|gas| *gas == 1_600_000));
        let range = drawn(SizeDistribution::Range, 1.0, 4_000);
        assert!(range.iter().all(|gas| (100_000..=1_600_000).contains(gas)));
        let mean = range.iter().sum::<u64>() as f64 / 4_000.0;
        // Five standard errors of an even draw: (b - a) / sqrt(12 n).
        let error = 5.0 * 1_500_000.0 / (12.0_f64 * 4_000.0).sqrt();
        assert!((mean - 850_000.0).abs() < error, "{mean}");
    }

    #[test]
    fn sizes_of_zipf_are_multiples_of_the_least_by_its_law() {
        for exponent in [0.5, 1.0, 2.0] {
            let count = 8_000;
            let zipf = drawn(SizeDistribution::Zipf, exponent, count);
            let norm: f64 = (1..=16).map(|rank| f64::from(rank).powf(-exponent)).sum();
            for rank in 1..=16_u64 {
                let found = zipf.iter().filter(|gas| **gas == rank * 100_000).count() as f64;
                let share = (rank as f64).powf(-exponent) / norm;
                let expected = share * count as f64;
                let error = 5.0 * (expected * (1.0 - share)).sqrt();
                assert!((found - expected).abs() < error, "{exponent} {rank}: {found} {expected}");
            }
            assert!(zipf.iter().all(|gas| gas.is_multiple_of(100_000)));
        }
    }

    #[test]
    fn a_size_depends_on_its_number_its_stream_and_nothing_else() {
        assert_eq!(
            drawn(SizeDistribution::Zipf, 1.0, 50),
            drawn(SizeDistribution::Zipf, 1.0, 80)[..50]
        );
    }
}
