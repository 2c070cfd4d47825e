//! Estimates the time of a run's samples. A run prints the estimate before the first sample, or
//! after the first round if only the number of samples is given.

use std::time::Duration;

use report::units;
use result::{Device, HOST_CACHE_RATIO};

use crate::run::plan::{CellProgress, Rounds};

/// Minimal estimated time of a run that prints its estimate.
const LONG: Duration = Duration::from_secs(20);

/// Returns the estimate from the budget for `cell_count` variants. `None` if it is short, or if the
/// user gives the number of samples.
pub fn before(rounds: Rounds, cell_count: usize) -> Option<String> {
    let Rounds { sample_count, budget } = rounds;
    let longest = rounds.longest();
    (sample_count.is_none() && longest >= LONG).then(|| {
        format!(
            "samples of {} take about {}, and up to {} more for intervals of the fastest (--budget)",
            units::things(cell_count as u64, "variant"),
            units::rough_time(budget),
            units::rough_time(longest.saturating_sub(budget))
        )
    })
}

/// Estimates a first round that exceeds the budget on a slow device, by the estimated times of its
/// cells.
pub fn on_slow_device(
    rounds: Rounds,
    device: &Device,
    times: &[Option<Duration>],
) -> Option<String> {
    let (iops, alone_ns) = (device.ceiling_iops?, device.depth1_p50_ns?);
    let time: Duration = times.iter().flatten().sum();
    let is_cached = device.host_cache_ratio.is_some_and(|ratio| ratio > HOST_CACHE_RATIO);
    let unless =
        if is_cached { ", or less where a cache below this machine has its blocks" } else { "" };
    let intervals = rounds.longest_with(time).saturating_sub(time);
    let more = match rounds.sample_count {
        None => format!(", intervals of the fastest up to {} more", units::rough_time(intervals)),
        Some(1) => String::new(),
        Some(count) => format!(", each of {} as long", units::things(count.into(), "round")),
    };
    (time > rounds.budget.max(LONG)).then(|| {
        format!(
            "as the device was measured, at {} reads/s and {} for one alone, the first round takes about {}{unless}{more}: \
             less gas (--gas) or fewer designs (--design) make it shorter",
            units::number(iops),
            units::time_ns(alone_ns as f64),
            units::rough_time(time)
        )
    })
}

/// Returns the estimate after the first round, which took `spent`. `None` if the remaining time is
/// short, or if a budget ends the run.
pub fn after_first(rounds: Rounds, spent: Duration, taken: &[CellProgress]) -> Option<String> {
    let count = rounds.sample_count?;
    let left = rounds.time_left(spent, &[], taken).filter(|left| *left >= LONG)?;
    let more = units::things(u64::from(count.saturating_sub(1)), "more sample");
    let variants = units::things(taken.len() as u64, "variant");
    Some(format!("{more} of {variants}: about {} left", units::rough_time(left)))
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use variant::{Design, StoreKind, Variant};

    use super::*;
    use crate::run::plan::PlannedCell;

    fn rounds(sample_count: Option<u32>, seconds: u64) -> Rounds {
        Rounds { sample_count, budget: Duration::from_secs(seconds) }
    }

    fn taken(seconds: u64) -> CellProgress {
        let one = NonZeroUsize::MIN;
        let variant = Variant::of(Design::Sequential, one, one);
        let cell = PlannedCell { store: StoreKind::Memory, variant };
        CellProgress::alike(cell, 1, Duration::from_secs(seconds))
    }

    #[test]
    fn a_long_budget_is_told_before_and_a_short_one_is_not() {
        let words = before(rounds(None, 60), 12).expect("long");
        assert!(words.starts_with("samples of 12 variants take about 60 s, and up to 105 s more"));
        assert_eq!(before(rounds(None, 2), 12), None);
        assert_eq!(before(rounds(Some(6), 60), 12), None, "it is not known yet");
    }

    #[test]
    fn a_first_round_that_the_device_makes_longer_than_the_budget_is_told() {
        let device = Device {
            ceiling_iops: Some(1_872.0),
            depth1_p50_ns: Some(628_735),
            host_cache_ratio: Some(1.1),
            ..result::example::typical().device.expect("on a disk")
        };
        let times = [Some(Duration::from_secs(185)), None, Some(Duration::from_secs(157))];
        let words = on_slow_device(rounds(None, 60), &device, &times).expect("slow");
        for part in ["about 6 min", "1.87k reads/s", "629 µs", "up to 30 s more", "--gas"] {
            assert!(words.contains(part), "{words} has no {part}");
        }
        assert!(!words.contains("cache"), "{words}");
        let words = on_slow_device(rounds(Some(6), 60), &device, &times).expect("slow");
        assert!(words.contains("about 6 min, each of 6 rounds as long"), "{words}");
        let cached = Device { host_cache_ratio: Some(8.0), ..device.clone() };
        let words = on_slow_device(rounds(None, 60), &cached, &times).expect("slow");
        assert!(words.contains("about 6 min, or less where a cache"), "{words}");
        assert_eq!(on_slow_device(rounds(None, 342), &device, &times), None, "it fits the budget");
        assert_eq!(on_slow_device(rounds(None, 60), &device, &[None, None]), None, "in memory");
        let unmeasured = Device { ceiling_iops: None, ..device };
        assert_eq!(on_slow_device(rounds(None, 60), &unmeasured, &times), None);
    }

    #[test]
    fn a_number_of_samples_is_told_in_time_after_the_first_round() {
        let cells = [taken(4), taken(2)];
        let spent = Duration::from_secs(6);
        let words = after_first(rounds(Some(6), 60), spent, &cells).expect("long");
        assert_eq!(words, "5 more samples of 2 variants: about 30 s left");
        assert_eq!(after_first(rounds(Some(2), 60), spent, &cells), None);
        assert_eq!(after_first(rounds(None, 60), spent, &cells), None, "told before");
    }
}
