//! How long a gate may take, for the user: before the first octet from the start of the processes,
//! after it from the octet itself, which has all that a sample costs beside its time.

use std::time::{Duration, Instant};

use super::{
    decide::{OCTET_COUNT_MAX, OCTET_COUNT_MIN},
    taker::Plan,
};

/// A gate that may take as long says so.
const LONG: Duration = Duration::from_secs(120);
/// An estimate that is off by more is printed again.
const OFF_BY: u32 = 2;

/// The estimate, and when it was made.
#[derive(Debug, Default)]
pub struct Pace {
    first_began: Option<Instant>,
    said: Option<Duration>,
    is_measured: bool,
}

impl Pace {
    /// The estimate where starting the processes took `start`; `None` where it is short.
    pub fn before(&mut self, plan: &Plan, start: Duration) -> Option<String> {
        let at_most = plan.longest(start);
        (at_most >= LONG).then(|| {
            self.said = Some(at_most);
            format!(
                "starting the processes took {:.1} s; each octet starts them anew: up to {:.0} min, \
                 less where a state was built now",
                start.as_secs_f64(),
                minutes(at_most)
            )
        })
    }

    /// The estimate when `octet`, counted from 0, begins at `now`: once, after the first; `None`
    /// where it is short or was said.
    pub fn at(&mut self, octet: usize, now: Instant) -> Option<String> {
        if octet == 0 {
            self.first_began.get_or_insert(now);
        }
        if octet != 1 || self.is_measured {
            return None;
        }
        self.is_measured = true;
        let took = now.duration_since(self.first_began?);
        let at_most = took.saturating_mul(OCTET_COUNT_MAX as u32);
        let is_said =
            self.said.is_some_and(|said| at_most <= said * OFF_BY && said <= at_most * OFF_BY);
        (at_most >= LONG && !is_said).then(|| {
            format!(
                "an octet takes {:.0} s: the first figures after {OCTET_COUNT_MIN}, in about {:.0} min, \
                 the verdict after {OCTET_COUNT_MAX} at most, in up to {:.0} min",
                took.as_secs_f64(),
                minutes(took.saturating_mul(OCTET_COUNT_MIN as u32)),
                minutes(at_most)
            )
        })
    }
}

fn minutes(time: Duration) -> f64 {
    (time.as_secs_f64() / 60.0).ceil()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_first_octet_gives_the_estimate_once() {
        let begun = Instant::now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        let mut pace = Pace::default();
        assert_eq!(pace.at(0, begun), None);
        let words = pace.at(1, after(42)).expect("long");
        assert!(words.contains("first figures after 6, in about 5 min"), "{words}");
        assert!(words.contains("takes 42 s") && words.ends_with("in up to 9 min"), "{words}");
        assert_eq!((pace.at(2, after(84)), pace.at(0, after(90))), (None, None));
        // Of a second try.
        assert_eq!(pace.at(1, after(132)), None);
    }

    #[test]
    fn a_short_gate_and_a_true_estimate_are_not_told() {
        let begun = Instant::now();
        let second = begun + Duration::from_secs(20);
        for (said, is_told) in
            [(None, true), (Some(200), false), (Some(60), true), (Some(900), true)]
        {
            let said = said.map(Duration::from_secs);
            let mut pace = Pace { said, ..Pace::default() };
            assert_eq!(pace.at(0, begun), None);
            assert_eq!(pace.at(1, second).is_some(), is_told, "{said:?}");
        }
        let mut short = Pace::default();
        assert_eq!(short.at(0, begun), None);
        assert_eq!(short.at(1, begun + Duration::from_secs(9)), None);
    }
}
