//! Random numbers for planners, equal on every machine: `rand`'s ChaCha12 from a named seed, and
//! distributions computed with `libm`, since logarithms differ between platforms.
//! `docs/architecture.md` says why the distributions are our own; only the numbers of
//! [`Random::unit`] are sampled by `rand`.

use std::{f64::consts::TAU, fmt::Display};

use alloy_primitives::B256;
use rand::{Rng, RngExt, SeedableRng, rngs::ChaCha12Rng};
use workload::stream::stream_seed;

/// The source of randomness: a seed and the name of a stream.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    seed: u64,
    name: String,
}

impl Stream {
    /// The stream called `name` under `seed`.
    pub(crate) const fn new(seed: u64, name: String) -> Self {
        Self { seed, name }
    }

    /// The inner stream called `name`.
    pub(crate) fn within(&self, name: impl Display) -> Self {
        Self { seed: self.seed, name: format!("{}/{name}", self.name) }
    }

    /// The random word of the inner stream called `name`.
    pub(crate) fn word(&self, name: impl Display) -> B256 {
        stream_seed(self.seed, &self.within(name).name)
    }

    /// The random numbers of the stream.
    pub(crate) fn random(&self) -> Random {
        Random::new(self.seed, &self.name)
    }
}

/// The random numbers of a stream.
#[derive(Debug)]
pub(crate) struct Random {
    stream: ChaCha12Rng,
}

impl Random {
    /// The numbers of the stream called `name` under `seed`.
    pub(crate) fn new(seed: u64, name: &str) -> Self {
        Self { stream: ChaCha12Rng::from_seed(stream_seed(seed, name).0) }
    }

    /// Draws a number below `count`, or 0 where `count` is 0. The numbers are equally likely, with
    /// a relative error of at most `count` / 2^64.
    pub(crate) fn below(&mut self, count: u64) -> u64 {
        ((u128::from(self.stream.next_u64()) * u128::from(count)) >> 64) as u64
    }

    /// A number from 0 to 1, without 1: a multiple of 2^-53.
    fn unit(&mut self) -> f64 {
        self.stream.random()
    }

    /// Draws whether an event of probability `share` happens.
    pub(crate) fn chance(&mut self, share: f64) -> bool {
        self.unit() < share
    }

    /// A number of the standard normal distribution (Box and Muller 1958).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        radius * libm::cos(TAU * self.unit())
    }

    /// Puts `items` into a random order. All orders are equally likely (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

/// Zipf's law over ranks: rank k, counted from 1, has the weight 1/k^exponent.
#[derive(Clone, Debug)]
pub(crate) struct Zipf {
    /// Per rank, the probability of all ranks up to it.
    cumulative: Vec<f64>,
}

impl Zipf {
    /// The law of this exponent over `rank_count` ranks, at least one.
    pub(crate) fn new(rank_count: u64, exponent: f64) -> Self {
        let mut cumulative = Vec::new();
        let mut sum = 0.0;
        for rank in 1..=rank_count.max(1) {
            // Not the platform's power, which differs between machines.
            sum += libm::pow(rank as f64, -exponent);
            cumulative.push(sum);
        }
        for share in &mut cumulative {
            *share /= sum;
        }
        Self { cumulative }
    }

    /// The rank that a random word draws, counted from 1.
    pub(crate) fn rank(&self, word: u64) -> u64 {
        let share = (word >> 11) as f64 / (1_u64 << 53) as f64;
        self.cumulative.partition_point(|until| *until <= share) as u64 + 1
    }
}

#[cfg(test)]
mod tests {
    use rand::distr::Distribution;
    use rand_distr::StandardNormal;

    use super::*;

    #[test]
    fn what_a_stream_gives_never_changes() {
        let mut random = Random::new(1, "test");
        let numbers = [random.below(1_000_000), random.below(7), random.below(1)];
        assert_eq!(numbers, [27_263, 2, 0]);
    }

    #[test]
    fn a_normal_number_has_mean_0_deviation_1_and_two_thirds_within_it() {
        let mut random = Random::new(2, "test");
        let count = 100_000;
        let numbers: Vec<f64> = (0..count).map(|_| random.normal()).collect();
        let mean = numbers.iter().sum::<f64>() / f64::from(count);
        let variance = numbers.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
        let deviation = (variance / f64::from(count)).sqrt();
        let within = numbers.iter().filter(|x| x.abs() < 1.0).count() as f64 / f64::from(count);
        assert!(mean.abs() < 0.02, "{mean}");
        assert!((deviation - 1.0).abs() < 0.02, "{deviation}");
        assert!((within - 0.6827).abs() < 0.01, "{within}");
    }

    #[test]
    fn distributions_are_those_of_rand_distr() {
        let count = 100_000;
        let mut random = Random::new(4, "test");
        let mut ours: Vec<f64> = (0..count).map(|_| random.normal()).collect();
        let mut theirs: Vec<f64> =
            StandardNormal.sample_iter(&mut random.stream).take(count).collect();
        ours.sort_unstable_by(f64::total_cmp);
        theirs.sort_unstable_by(f64::total_cmp);
        for decile in (1..10).map(|tenth| tenth * count / 10) {
            let (ours, theirs) = (ours[decile], theirs[decile]);
            assert!((ours - theirs).abs() < 0.03, "{decile}: {ours}, {theirs}");
        }
        let (zipf, law) = (Zipf::new(50, 1.2), rand_distr::Zipf::new(50.0, 1.2).unwrap());
        let mut counts = [[0_u32; 2]; 51];
        for _ in 0..count {
            counts[zipf.rank(random.stream.next_u64()) as usize][0] += 1;
            counts[random.stream.sample(law) as usize][1] += 1;
        }
        for (rank, [ours, theirs]) in counts.iter().enumerate() {
            assert!(ours.abs_diff(*theirs) < 1_000, "{rank}: {ours}, {theirs}");
        }
    }

    #[test]
    fn every_order_and_every_number_is_as_likely() {
        let mut random = Random::new(3, "test");
        let mut orders = std::collections::BTreeMap::new();
        for _ in 0..6_000 {
            let mut items = [0, 1, 2];
            random.shuffle(&mut items);
            *orders.entry(items).or_insert(0) += 1;
        }
        assert_eq!(orders.len(), 6);
        assert!(orders.values().all(|count| (850..1_150).contains(count)), "{orders:?}");
        let share = (0..100_000).filter(|_| random.chance(0.3)).count();
        assert!((29_000..31_000).contains(&share), "{share}");
    }
}
