//! How far a try is, for the user: a source of samples that tells each of them before it is taken. It
//! changes neither which are taken, nor when.

use std::{
    iter::Sum,
    time::{Duration, Instant},
};

use super::{
    octet::Arm,
    sampler::{Sample, Sampler},
};
use crate::terminal::Failure;

/// How far a try is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// The variants are warmed up, before any octet.
    WarmUp {
        /// Variants that are warm.
        done_count: usize,
        /// Samples of the next one so far.
        sample_count: u64,
    },
    /// All variants are warm.
    Warm(OctetWork),
    /// An octet is under way.
    Octet(InOctet),
}

/// A place within an octet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InOctet {
    /// Octets before it.
    pub done_count: usize,
    /// Share of its samples that are taken, 0 to 1.
    pub share: f64,
    /// The work of the processes.
    pub doing: Doing,
}

/// The work of the processes at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// They are started.
    Starting,
    /// They take samples that do not count.
    WarmingUp,
    /// They take samples that do.
    Sampling,
}

/// The time of an octet of a variant, or of all of them, by the warm-ups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OctetWork {
    /// Starting the processes; `None` where they were not started since.
    pub start: Option<Duration>,
    /// Samples of slots as they were asked for.
    pub asked: SampleTime,
    /// Samples of slots of [`shorter_slot_ns`].
    pub shorter: SampleTime,
    /// How the variant with the most time of samples fills a slot.
    pub passes: Passes,
}

/// Time of the samples of an octet, with the time outside their clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleTime {
    /// Samples that do not count.
    pub warm_up: Duration,
    /// Samples that count.
    pub counted: Duration,
}

/// Passes that fill the slots of an octet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passes {
    /// How many.
    pub count: u64,
    /// Wall time of a slot in each of them.
    pub time: Duration,
}

/// `time`, `count` times.
pub fn times(time: Duration, count: u64) -> Duration {
    time.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX))
}

/// The shorter slot that is compared with the one that was asked for: a quarter, in milliseconds.
pub const fn shorter_slot_ns(slot_ns: u64) -> u64 {
    slot_ns / 4_000_000 * 1_000_000
}

impl OctetWork {
    /// The work of all variants.
    pub fn of_all(variants: &[Self]) -> Self {
        let longest = variants.iter().max_by_key(|variant| variant.asked.counted);
        Self {
            start: variants.iter().filter_map(|variant| variant.start).min(),
            asked: variants.iter().map(|variant| variant.asked).sum(),
            shorter: variants.iter().map(|variant| variant.shorter).sum(),
            passes: longest.map(|variant| variant.passes).unwrap_or_default(),
        }
    }

    /// Time of an octet, if its samples take this time. Processes are replaced once they have worked as
    /// long as their start and warm-up took.
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

/// A source of samples that tells how far it is.
pub struct TrackedSampler<'a> {
    sampler: &'a mut dyn Sampler,
    show: &'a mut dyn FnMut(Step),
    /// Variants or octets before.
    done_count: usize,
    /// Samples of the octet that count; `None` of a warm-up before the octets.
    octet_sample_count: Option<u64>,
    is_watched: bool,
    taken_count: u64,
    counted_count: u64,
    took: Duration,
    start: Option<Duration>,
}

impl<'a> TrackedSampler<'a> {
    /// Tracks `sampler` while it warms up a variant, or takes an octet in which so many samples count, after
    /// `done_count` others.
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

    fn tell(&mut self, doing: Doing) {
        let done_count = self.done_count;
        let step = match self.octet_sample_count {
            None => Step::WarmUp { done_count, sample_count: self.taken_count },
            Some(sample_count) => {
                let share = self.counted_count as f64 / sample_count.max(1) as f64;
                Step::Octet(InOctet { done_count, share: share.min(1.0), doing })
            }
        };
        (self.show)(step);
    }

    /// Time of starting the processes; `None` where they were not started.
    pub const fn start(&self) -> Option<Duration> {
        self.start
    }

    /// Mean time of a sample, with the time outside its clock.
    pub fn mean_sample_time(&self) -> Duration {
        let count = u32::try_from(self.taken_count).unwrap_or(u32::MAX);
        self.took.checked_div(count).unwrap_or_default()
    }
}

impl Sampler for TrackedSampler<'_> {
    fn sample(&mut self, arm: Arm, variant: &str) -> Result<Sample, Failure> {
        self.tell(if self.is_watched { Doing::Sampling } else { Doing::WarmingUp });
        let begun = Instant::now();
        let taken = self.sampler.sample(arm, variant)?;
        self.took += begun.elapsed();
        self.taken_count += 1;
        self.counted_count += u64::from(self.is_watched);
        Ok(taken)
    }

    fn restart(&mut self) -> Result<Duration, Failure> {
        self.tell(Doing::Starting);
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
