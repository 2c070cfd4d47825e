//! A sampler for tests of the gate: it draws times and counts of builds and machines with known
//! properties. It uses no clock and no process, and gives the same samples for a seed everywhere.

use result::Counters;
use std::time::Duration;

use super::{
    octet::{Arm, Coin},
    sampler::{Sample, Sampler},
};
use crate::terminal::Failure;

/// Builds with a known time, and with the noise of a shared machine.
pub struct Drawn {
    /// Source of all draws.
    pub coin: Coin,
    /// Time of B over the time of A.
    pub factor: f64,
    /// Factor on the time of a variant in an arm.
    pub factor_of: fn(&str, Arm) -> f64,
    /// Standard deviation of a sample's time, as a share.
    pub noise: f64,
    /// Share by which the machine becomes slower with each sample.
    pub drift: f64,
    /// Number of samples so far.
    pub taken_count: u64,
    /// Reads of a sample of B above those of a sample of A.
    pub more_reads: u64,
    /// Number of first samples in which B does the same as A.
    pub same_until: u64,
    /// Reported causes of lost time.
    pub disturbances: Vec<String>,
    /// Number of times that the disturbances are reported.
    pub disturbed_count: usize,
    /// Standard deviation of the time between processes of one build, as a share.
    pub process_noise: f64,
    /// Factor on the time of each process.
    pub process_factors: [f64; 3],
    /// Factor on the time of the process that starts first. The processes start first in turn.
    pub first_factor: f64,
    /// Number of times that the processes were started.
    pub start_count: usize,
    /// Time of a start.
    pub start: Duration,
    /// Whether lost time is watched for.
    pub is_watched: bool,
    /// Samples that were taken while lost time was not watched for.
    pub unwatched_count: u64,
    /// The reads of a sample from a disk; `None` without a disk.
    pub disk: Option<Disk>,
}

/// A disk under the state.
#[derive(Clone, Copy)]
pub struct Disk {
    /// Blocks that the store asks for.
    pub blocks: u64,
    /// Standard deviation of the number of blocks, as a share.
    pub spread: f64,
    /// Number of times that each block is read, in A and in B.
    pub times_read: [u64; 2],
}

impl Drawn {
    /// Makes builds in which B takes `factor` times as long as A, and each sample varies by
    /// `noise`.
    pub fn new(seed: u64, factor: f64, noise: f64) -> Self {
        Self {
            coin: Coin::new(seed),
            factor,
            factor_of: |_, _| 1.0,
            noise,
            drift: 0.0,
            taken_count: 0,
            more_reads: 0,
            same_until: 0,
            disturbances: Vec::new(),
            disturbed_count: usize::MAX,
            process_noise: 0.0,
            process_factors: [1.0; 3],
            first_factor: 1.0,
            start_count: 0,
            start: Duration::from_millis(1_200),
            is_watched: false,
            unwatched_count: 0,
            disk: None,
        }
    }

    /// Draws a number that is about standard normal, and one of 64 times a large positive one.
    pub fn draw(&mut self) -> f64 {
        let tosses = (0..64).filter(|_| self.coin.toss()).count() as f64;
        let is_stray = (0..6).all(|_| self.coin.toss());
        let normal = (tosses - 32.0) / 4.0;
        if is_stray { normal.abs() * 8.0 } else { normal }
    }
}

impl Sampler for Drawn {
    fn sample(&mut self, arm: Arm, variant: &str) -> Result<Sample, Failure> {
        self.taken_count += 1;
        self.unwatched_count += u64::from(!self.is_watched);
        let factor = if arm == Arm::New { self.factor } else { 1.0 };
        let drift = (self.drift * self.taken_count as f64).exp();
        let factor = factor * self.process_factors[arm as usize] * (self.factor_of)(variant, arm);
        let wall_ns = (5e7 * factor * drift * (self.noise * self.draw()).exp()) as u64;
        let is_new = arm == Arm::New && self.taken_count > self.same_until;
        let store_reads = Some(1_000 + if is_new { self.more_reads } else { 0 });
        let counters = Counters { gas: 1_000_000, store_reads, ..Counters::default() };
        let taken = Sample { wall_ns, cpu_ns: Some(wall_ns), counters, ..Sample::default() };
        let Some(Disk { blocks, spread, times_read }) = self.disk else { return Ok(taken) };
        let blocks = (blocks as f64 * (spread * self.draw()).exp()) as u64;
        let requests = blocks * times_read[usize::from(is_new)];
        let (blocks, bytes, requests) = (Some(blocks), Some(requests * 4096), Some(requests));
        Ok(Sample { blocks, bytes, requests, ..taken })
    }

    fn restart(&mut self) -> Result<Duration, Failure> {
        self.process_factors = [(); 3].map(|()| (self.process_noise * self.draw()).exp());
        self.process_factors[self.start_count % 3] *= self.first_factor;
        self.start_count += 1;
        Ok(self.start)
    }

    fn watch(&mut self) {
        self.is_watched = true;
    }

    fn pause_watch(&mut self) {
        self.is_watched = false;
    }

    fn confine(&mut self, _variant: &str, number: usize) -> Option<Vec<usize>> {
        Some(vec![number % 2])
    }

    fn disturbances(&mut self) -> Vec<String> {
        let is_told = self.disturbed_count > 0;
        self.disturbed_count = self.disturbed_count.saturating_sub(1);
        if is_told { self.disturbances.clone() } else { Vec::new() }
    }
}
