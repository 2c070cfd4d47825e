//! Counts stolen time, in which the hypervisor withholds CPUs from this machine, until a result is
//! written. `src/machine/` starts the clock.

use std::time::{Duration, Instant};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Counts the time that the hypervisor withholds from all CPUs of the machine. Written to a file,
/// it gives the time up to the moment of writing. Read from a file, it keeps the time that it had
/// there.
#[derive(Clone, Copy, Debug)]
pub struct StealClock(Reading);

/// Reads the time stolen since the machine was started; `None` where the kernel does not report it.
type ReadStolen = fn() -> Option<Duration>;

/// A clock that runs, or the time at which it stopped.
#[derive(Clone, Copy, Debug)]
enum Reading {
    /// `stolen_before` is the stolen time at `start`.
    Running { start: Instant, stolen_before: Option<Duration>, read: ReadStolen },
    /// Stolen time in nanoseconds; `None` if it is unknown.
    Stopped(Option<u64>),
}

impl StealClock {
    /// Starts to count from the time that `read` returns at this moment.
    pub fn start(read: ReadStolen) -> Self {
        Self(Reading::Running { start: Instant::now(), stolen_before: read(), read })
    }

    /// Makes a clock that is stopped at `stolen_ns`; `None` if the time is unknown.
    pub const fn stopped(stolen_ns: Option<u64>) -> Self {
        Self(Reading::Stopped(stolen_ns))
    }

    /// Time stolen since the start, summed over all CPUs. The kernel counts it in steps of 10 ms.
    pub fn stolen_ns(&self) -> Option<u64> {
        match self.0 {
            Reading::Running { stolen_before, read, .. } => {
                let stolen = read()?.saturating_sub(stolen_before?);
                u64::try_from(stolen.as_nanos()).ok()
            }
            Reading::Stopped(stolen_ns) => stolen_ns,
        }
    }

    /// Time that the clock has run; zero for a stopped clock.
    pub fn elapsed(&self) -> Duration {
        match self.0 {
            Reading::Running { start, .. } => start.elapsed(),
            Reading::Stopped(_) => Duration::ZERO,
        }
    }
}

impl PartialEq for StealClock {
    fn eq(&self, other: &Self) -> bool {
        self.stolen_ns() == other.stolen_ns()
    }
}

impl Serialize for StealClock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.stolen_ns().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for StealClock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::deserialize(deserializer).map(Self::stopped)
    }
}
