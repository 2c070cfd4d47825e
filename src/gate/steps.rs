//! How far a try is, for the user: a source of samples that tells each of them before it is taken. It
//! changes neither which are taken, nor when.

use std::time::{Duration, Instant};

use super::{
    octet::Arm,
    taker::{Taken, Taker},
};
use crate::terminal::exit::Failure;

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

/// The time of an octet of all variants, by their warm-ups.
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
    /// That time.
    pub most: Duration,
}

/// Time of the samples of an octet, with the time outside their clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleTime {
    /// Of those that do not count.
    pub warm_up: Duration,
    /// Of those that count.
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
    /// Adds a variant, which was warmed up by `followed` and takes so many samples.
    pub fn add(&mut self, followed: &Followed<'_>, counts: SampleCounts) {
        let of_each = followed.mean_take();
        let asked = self.asked.add(of_each, counts.asked);
        self.shorter.add(of_each, counts.shorter);
        if asked >= self.most {
            (self.most, self.passes) = (asked, counts.passes);
        }
        self.start = [self.start, followed.start].into_iter().flatten().min();
    }

    /// Time of an octet, if its samples take this time. Processes are replaced once they have worked as
    /// long as their start and warm-up took.
    pub fn time(&self, samples: SampleTime) -> Duration {
        let SampleTime { warm_up, counted } = samples;
        let idle = self.start.unwrap_or_default().saturating_add(warm_up);
        counted.saturating_add(idle.max(counted))
    }
}

impl SampleTime {
    /// Adds samples of `of_each`: so many that do not count, and that count. Gives the time of these.
    fn add(&mut self, of_each: Duration, [warm_up, counted]: [u64; 2]) -> Duration {
        let [warm_up, counted] = [warm_up, counted].map(|count| times(of_each, count));
        self.warm_up = self.warm_up.saturating_add(warm_up);
        self.counted = self.counted.saturating_add(counted);
        counted
    }
}

/// Samples of a variant in an octet: those of new processes, which do not count, and those that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleCounts {
    /// With slots as they were asked for.
    pub asked: [u64; 2],
    /// With slots of [`shorter_slot_ns`].
    pub shorter: [u64; 2],
    /// How they fill a slot.
    pub passes: Passes,
}

/// The purpose of samples.
#[derive(Clone, Copy, Debug)]
enum Purpose {
    /// Warming up a variant before the octets.
    WarmUp { done_count: usize },
    /// An octet, which has so many that count.
    Octet { done_count: usize, sample_count: u64 },
}

/// A source of samples that tells how far it is.
pub struct Followed<'a> {
    taker: &'a mut dyn Taker,
    shown: &'a mut dyn FnMut(Step),
    purpose: Purpose,
    is_watched: bool,
    taken_count: u64,
    counted_count: u64,
    took: Duration,
    start: Option<Duration>,
}

impl<'a> Followed<'a> {
    /// Of the warm-up of a variant, after `done_count` others.
    pub fn warming_up(
        taker: &'a mut dyn Taker,
        shown: &'a mut dyn FnMut(Step),
        done_count: usize,
    ) -> Self {
        Self::new(taker, shown, Purpose::WarmUp { done_count })
    }

    /// Of an octet after `done_count` others, in which `sample_count` samples count.
    pub fn octet(
        taker: &'a mut dyn Taker,
        shown: &'a mut dyn FnMut(Step),
        done_count: usize,
        sample_count: u64,
    ) -> Self {
        Self::new(taker, shown, Purpose::Octet { done_count, sample_count })
    }

    fn new(taker: &'a mut dyn Taker, shown: &'a mut dyn FnMut(Step), purpose: Purpose) -> Self {
        Self {
            taker,
            shown,
            purpose,
            is_watched: false,
            taken_count: 0,
            counted_count: 0,
            took: Duration::ZERO,
            start: None,
        }
    }

    fn tell(&mut self, doing: Doing) {
        let step = match self.purpose {
            Purpose::WarmUp { done_count } => {
                Step::WarmUp { done_count, sample_count: self.taken_count }
            }
            Purpose::Octet { done_count, sample_count } => {
                let share = self.counted_count as f64 / sample_count.max(1) as f64;
                Step::Octet(InOctet { done_count, share: share.min(1.0), doing })
            }
        };
        (self.shown)(step);
    }

    /// Mean time of a sample, with the time outside its clock.
    fn mean_take(&self) -> Duration {
        let count = u32::try_from(self.taken_count).unwrap_or(u32::MAX);
        self.took.checked_div(count).unwrap_or_default()
    }
}

impl Taker for Followed<'_> {
    fn take(&mut self, arm: Arm, variant: &str) -> Result<Taken, Failure> {
        self.tell(if self.is_watched { Doing::Sampling } else { Doing::WarmingUp });
        let begun = Instant::now();
        let taken = self.taker.take(arm, variant)?;
        self.took += begun.elapsed();
        self.taken_count += 1;
        self.counted_count += u64::from(self.is_watched);
        Ok(taken)
    }

    fn renew(&mut self) -> Result<Duration, Failure> {
        self.tell(Doing::Starting);
        let took = self.taker.renew()?;
        self.start = Some(took);
        Ok(took)
    }

    fn confine(&mut self, variant: &str, number: usize) -> Option<Vec<usize>> {
        self.taker.confine(variant, number)
    }

    fn watch(&mut self) {
        self.is_watched = true;
        self.taker.watch();
    }

    fn pause_watch(&mut self) {
        self.is_watched = false;
        self.taker.pause_watch();
    }

    fn disturbances(&mut self) -> Vec<String> {
        self.taker.disturbances()
    }
}
