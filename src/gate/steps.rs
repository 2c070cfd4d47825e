//! The progress of an attempt, and a sampler that reports it: each sample before it is taken.
//! `measure` wraps the sampler of a gate in it, which changes neither samples nor times. `pace` and
//! `stage` turn the progress into words.

use std::{
    iter::Sum,
    time::{Duration, Instant},
};

use super::{
    octet::Arm,
    sampler::{Sample, Sampler},
};
use crate::terminal::Failure;

/// The progress of an attempt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// The variants warm up, before the first octet.
    WarmUp {
        /// Number of variants that are warm.
        done_count: usize,
        /// Number of samples so far of the variant that warms up.
        sample_count: u64,
    },
    /// All variants are warm.
    Warm(OctetWork),
    /// An octet is under way.
    Octet(InOctet),
}

/// The progress within an octet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InOctet {
    /// Number of octets that have ended.
    pub done_count: usize,
    /// Share of the octet's counted samples that are taken, 0 to 1.
    pub share: f64,
    /// The work of the processes.
    pub activity: Activity,
}

/// The work of the processes at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// The processes start.
    Starting,
    /// The processes take samples that do not count.
    WarmingUp,
    /// The processes take samples that count.
    Sampling,
}

/// The times of which an octet consists, of one variant or of all variants, as the warm-ups
/// estimate them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OctetWork {
    /// Time to start the processes; `None` if they were not started during the warm-up.
    pub start: Option<Duration>,
    /// Time of the samples with the requested slot.
    pub requested: SampleTime,
    /// Time of the samples with a slot of [`shorter_slot_ns`].
    pub shorter: SampleTime,
    /// The passes of the variant whose samples take the most time.
    pub passes: Passes,
}

/// Time of the samples of an octet, including the time outside their clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleTime {
    /// Time of the samples that do not count.
    pub warm_up: Duration,
    /// Time of the samples that count.
    pub counted: Duration,
}

/// The passes of an octet, which together fill its slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passes {
    /// Number of passes.
    pub count: u64,
    /// Wall time of a slot in one pass.
    pub time: Duration,
}

/// Returns `time` multiplied by `count`.
pub fn multiplied(time: Duration, count: u64) -> Duration {
    time.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Returns the shorter slot that is compared with the requested slot: a quarter of it, in whole
/// milliseconds.
pub const fn shorter_slot_ns(slot_ns: u64) -> u64 {
    slot_ns / 4_000_000 * 1_000_000
}

impl OctetWork {
    /// Adds up the work of all variants.
    pub fn of_all(variants: &[Self]) -> Self {
        let longest = variants.iter().max_by_key(|variant| variant.requested.counted);
        Self {
            start: variants.iter().filter_map(|variant| variant.start).min(),
            requested: variants.iter().map(|variant| variant.requested).sum(),
            shorter: variants.iter().map(|variant| variant.shorter).sum(),
            passes: longest.map(|variant| variant.passes).unwrap_or_default(),
        }
    }

    /// Returns the time of an octet with `samples`. Processes are replaced once their counted
    /// samples have taken as long as their start and warm-up. So starts and warm-ups take about as
    /// long as all counted samples, and at least the time of one start and warm-up.
    pub fn time(&self, samples: SampleTime) -> Duration {
        let SampleTime { warm_up, counted } = samples;
        let idle = self.start.unwrap_or_default().saturating_add(warm_up);
        counted.saturating_add(idle.max(counted))
    }
}

impl Sum for SampleTime {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            warm_up: sum.warm_up.saturating_add(one.warm_up),
            counted: sum.counted.saturating_add(one.counted),
        })
    }
}

/// A sampler that reports its progress.
pub struct TrackedSampler<'a> {
    sampler: &'a mut dyn Sampler,
    show: &'a mut dyn FnMut(Step),
    /// Number of variants or octets that are done.
    done_count: usize,
    /// Number of counted samples of the octet; `None` in the warm-up before the octets.
    octet_sample_count: Option<u64>,
    /// Whether samples count: disturbances are watched for.
    is_watched: bool,
    /// Number of samples so far.
    taken_count: u64,
    /// Number of samples so far that count.
    counted_count: u64,
    /// Time of all samples so far, including the time outside their clocks.
    took: Duration,
    /// Time of the last start of the processes.
    start: Option<Duration>,
}

impl<'a> TrackedSampler<'a> {
    /// Tracks `sampler` during an octet with `octet_sample_count` counted samples. `None`: during
    /// the first warm-up of a variant. `done_count`: number of octets or variants that are done.
    pub fn new(
        sampler: &'a mut dyn Sampler,
        show: &'a mut dyn FnMut(Step),
        done_count: usize,
        octet_sample_count: Option<u64>,
    ) -> Self {
        Self {
            sampler,
            show,
            done_count,
            octet_sample_count,
            is_watched: false,
            taken_count: 0,
            counted_count: 0,
            took: Duration::ZERO,
            start: None,
        }
    }

    fn report(&mut self, activity: Activity) {
        let done_count = self.done_count;
        let step = match self.octet_sample_count {
            None => Step::WarmUp { done_count, sample_count: self.taken_count },
            Some(sample_count) => {
                let share = self.counted_count as f64 / sample_count.max(1) as f64;
                Step::Octet(InOctet { done_count, share: share.min(1.0), activity })
            }
        };
        (self.show)(step);
    }

    /// Returns the time to start the processes; `None` if they were not started.
    pub const fn start(&self) -> Option<Duration> {
        self.start
    }

    /// Returns the mean time of a sample, including the time outside its clock.
    pub fn mean_sample_time(&self) -> Duration {
        let count = u32::try_from(self.taken_count).unwrap_or(u32::MAX);
        self.took.checked_div(count).unwrap_or_default()
    }
}

impl Sampler for TrackedSampler<'_> {
    fn sample(&mut self, arm: Arm, variant: &str) -> Result<Sample, Failure> {
        self.report(if self.is_watched { Activity::Sampling } else { Activity::WarmingUp });
        let begun = Instant::now();
        let taken = self.sampler.sample(arm, variant)?;
        self.took += begun.elapsed();
        self.taken_count += 1;
        self.counted_count += u64::from(self.is_watched);
        Ok(taken)
    }

    fn restart(&mut self) -> Result<Duration, Failure> {
        self.report(Activity::Starting);
        let took = self.sampler.restart()?;
        self.start = Some(took);
        Ok(took)
    }

    fn confine(&mut self, variant: &str, number: usize) -> Option<Vec<usize>> {
        self.sampler.confine(variant, number)
    }

    fn watch(&mut self) {
        self.is_watched = true;
        self.sampler.watch();
    }

    fn pause_watch(&mut self) {
        self.is_watched = false;
        self.sampler.pause_watch();
    }

    fn disturbances(&mut self) -> Vec<String> {
        self.sampler.disturbances()
    }
}
