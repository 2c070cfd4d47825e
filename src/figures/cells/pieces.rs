//! Latencies of a cell's samples, in pieces of a few samples each. Pieces of the warm-up are left
//! out, but its end is known only after the run. So one histogram of all samples would not do.
//!
//! To bound the memory, neighbours are joined when there are too many pieces, so a piece holds 1,
//! 2, 4, … samples. The size follows from the number of samples alone, so all cells of a run have
//! the same.

use std::collections::BTreeMap;

use executor::latency::Latencies;
use hdrhistogram::Histogram;

/// Maximum number of pieces. A piece holds each value with its count, 16 bytes a value: mostly some
/// tens of kilobytes, and half a megabyte for a full histogram.
const PIECE_COUNT_MAX: usize = 64;

/// Number of samples in a full piece of a cell with `sample_count` samples.
pub const fn piece_size(sample_count: usize) -> usize {
    sample_count.div_ceil(PIECE_COUNT_MAX).next_power_of_two()
}

/// The recorded values of a histogram, ascending, each with its count.
type Piece = Vec<(u64, u64)>;

/// Latencies of one kind (transactions, or reads) from all samples of a cell.
#[derive(Clone, Debug, Default)]
pub struct Pieces {
    /// The pieces in the order of the samples. All but the last piece are full.
    pieces: Vec<Piece>,
    sample_count: usize,
}

impl Pieces {
    /// Takes in the latencies of the next sample.
    pub fn add(&mut self, sample: &Histogram<u64>) {
        let size = piece_size(self.sample_count + 1);
        if size > piece_size(self.sample_count) {
            let pairs = self.pieces.chunks(2);
            self.pieces = pairs.map(|pair| joined(pair.iter().flatten().copied())).collect();
        }
        if self.sample_count.is_multiple_of(size) {
            self.pieces.push(Piece::new());
        }
        let values = sample.iter_recorded();
        let values = values.map(|at| (at.value_iterated_to(), at.count_at_value()));
        if let Some(last) = self.pieces.last_mut() {
            *last = joined(last.iter().copied().chain(values));
        }
        self.sample_count += 1;
    }

    /// Returns the latencies of all samples after the first `left_out`. A piece that holds a
    /// left-out sample is left out whole: see [`piece_size`].
    pub fn after(&self, left_out: usize) -> Histogram<u64> {
        let mut histogram = Latencies::default().histogram().clone();
        let left_out_pieces = left_out.div_ceil(piece_size(self.sample_count));
        for (value, count) in self.pieces.iter().skip(left_out_pieces).flatten() {
            histogram.saturating_record_n(*value, *count);
        }
        histogram
    }
}

/// Sums the counts of equal values.
fn joined(values: impl Iterator<Item = (u64, u64)>) -> Piece {
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for (value, count) in values {
        *counts.entry(value).or_default() += count;
    }
    counts.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    /// Samples as lists of latencies in nanoseconds, some beyond the range of a histogram.
    fn samples() -> impl Strategy<Value = Vec<Vec<u64>>> {
        let latency = prop_oneof![1..5_000_u64, 1..2_000_000_000_u64, 1..1_u64 << 50];
        proptest::collection::vec(proptest::collection::vec(latency, 0..4), 0..300)
    }

    fn histogram<'a>(samples: impl IntoIterator<Item = &'a Vec<u64>>) -> Histogram<u64> {
        let mut latencies = Latencies::default();
        for ns in samples.into_iter().flatten() {
            latencies.record(Duration::from_nanos(*ns));
        }
        latencies.histogram().clone()
    }

    proptest! {
        // Each case has hundreds of histograms.
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn what_is_left_is_the_histogram_of_the_samples_that_count_and_of_no_others(
            samples in samples(), share in 0.0..1.0_f64
        ) {
            let mut pieces = Pieces::default();
            samples.iter().for_each(|sample| pieces.add(&histogram([sample])));
            prop_assert!(pieces.pieces.len() <= PIECE_COUNT_MAX);
            let size = piece_size(samples.len());
            let cut = ((samples.len() as f64 * share) as usize).next_multiple_of(size);
            let cut = cut.min(samples.len());
            prop_assert_eq!(pieces.after(cut), histogram(&samples[cut..]));
        }
    }

    #[test]
    fn up_to_64_samples_each_can_be_left_out_by_itself_and_then_two_by_two() {
        assert_eq!([0, 1, 64, 65, 128, 129].map(piece_size), [1, 1, 1, 2, 2, 4]);
        // Least of a hundred thousand, the most that a scenario may ask for: one in 64.
        assert_eq!(piece_size(100_000), 2_048);
    }
}
