//! Which of several figures tells a verdict: wall time first, then CPU time, then counters, and of like
//! figures the one that changed most. A count of few things changes by thousands of percent where
//! the time changes by ten, and the time is the question.

use std::cmp::Ordering;

use super::Metric;

/// A figure that may tell a verdict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Telling {
    /// Its metric.
    pub metric: Metric,
    /// Its change, as a share or as a logarithm: only the order counts.
    pub change: f64,
}

impl Telling {
    /// The one that tells is the greatest.
    pub fn order(&self, other: &Self) -> Ordering {
        let (own, its) = (precedence(self.metric), precedence(other.metric));
        own.cmp(&its).then(self.change.total_cmp(&other.change))
    }
}

/// The text of the figure that tells, with its [`Telling`].
pub fn telling(all: impl IntoIterator<Item = (Telling, String)>) -> Option<(Telling, String)> {
    all.into_iter().max_by(|a, b| a.0.order(&b.0))
}

const fn precedence(metric: Metric) -> u8 {
    match metric {
        Metric::Wall => 2,
        Metric::Cpu => 1,
        Metric::Blocks
        | Metric::Bytes
        | Metric::Requests
        | Metric::Allocations
        | Metric::Instructions => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(all: &[(Metric, f64)]) -> String {
        let all = all.iter().map(|(metric, change)| {
            let telling = Telling { metric: *metric, change: *change };
            (telling, format!("{metric} {change}"))
        });
        telling(all).expect("there are some").1
    }

    #[test]
    fn a_time_tells_before_any_counter_however_much_that_changed() {
        let (wall, requests) = ((Metric::Wall, 0.04), (Metric::Requests, 519.328));
        for all in [[wall, requests], [requests, wall]] {
            assert_eq!(told(&all), "wall 0.04");
        }
        let cpu = (Metric::Cpu, 0.5);
        assert_eq!(told(&[requests, cpu, wall]), "wall 0.04");
        assert_eq!(told(&[requests, cpu]), "cpu 0.5");
    }

    #[test]
    fn of_like_figures_the_one_that_changed_most_tells() {
        assert_eq!(told(&[(Metric::Wall, -0.1), (Metric::Wall, 0.2)]), "wall 0.2");
        let counters = [(Metric::Bytes, 0.3), (Metric::Blocks, 0.2), (Metric::Requests, 0.1)];
        assert_eq!(told(&counters), "bytes 0.3");
        assert_eq!(telling([]), None);
    }
}
