//! The counts that a key takes, and those of them that an error names.

use crate::quantity::underscored;

/// The counts a key takes, and why no others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Range {
    pub(crate) least: u64,
    pub(crate) most: u64,
    /// Meaning of `least`; completes "is below 30,000, …".
    pub(crate) below: &'static str,
    /// Meaning of `most`; completes "is above 16,777,216, …".
    pub(crate) above: &'static str,
}

/// Most numbers of a range that a remedy writes out.
const ALL_OF_RANGE_MAX: u64 = 8;

impl Range {
    /// A count that it has, as a user writes it.
    pub(crate) fn example(&self) -> String {
        let usual = [(640_000_000, "640M"), (100_000, "100k"), (8, "8")];
        let is_usual = |count: u64| (self.least..=self.most / 10).contains(&count);
        let fitting = usual.into_iter().find(|(count, _)| is_usual(*count));
        fitting.map_or_else(|| underscored(self.least), |(_, text)| text.to_owned())
    }

    /// Its counts from `first` to `last`: all, or of many each twice the one before.
    pub(crate) fn between(&self, first: u64, last: u64) -> Vec<String> {
        let is_short = last.saturating_sub(first) < ALL_OF_RANGE_MAX;
        let next = |count: &u64| if is_short { count.checked_add(1) } else { count.checked_mul(2) };
        let start = if is_short { first } else { first.max(1) };
        let before_last = std::iter::successors(Some(start), next).take_while(|n| *n < last);
        let allowed = |count: &u64| (self.least..=self.most).contains(count);
        before_last.chain([last]).filter(allowed).map(|count| count.to_string()).collect()
    }
}
