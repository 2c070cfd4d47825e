//! Records the keys that samples have asked for, as index ranges of the state's recipe. A cache
//! below this machine may have the blocks of recorded keys.

use std::collections::BTreeMap;

use workload::{Workload, block::IndexRange};

/// The kinds of families in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Slots,
    Senders,
    Accounts,
}

/// Start of a range in one family: kind, index of the family, index of the key.
type Start = (Kind, u32, u64);

/// The keys that samples have asked for, as disjoint ranges.
#[derive(Clone, Debug, Default)]
pub struct RequestedKeys {
    ends: BTreeMap<Start, u64>,
}

impl RequestedKeys {
    /// Adds the plan of `workload`. Returns the share of the plan that was asked for before; `None`
    /// for an empty plan.
    pub fn add_plan(&mut self, workload: &Workload) -> Option<f64> {
        let (mut count, mut before_count) = (0, 0);
        for batch in &workload.batches {
            let plan = &batch.plan;
            for (kind, ranges) in [
                (Kind::Slots, &plan.slots),
                (Kind::Senders, &plan.senders),
                (Kind::Accounts, &plan.accounts),
            ] {
                count += ranges.iter().map(|range| range.count).sum::<u64>();
                before_count += ranges.iter().map(|range| self.add(kind, range)).sum::<u64>();
            }
        }
        (count > 0).then(|| before_count as f64 / count as f64)
    }

    /// Adds a range. Returns its overlap with earlier ranges.
    fn add(&mut self, kind: Kind, range: &IndexRange) -> u64 {
        let (mut start, mut end) = (range.start, range.start + range.count);
        let (first, last) = ((kind, range.family, 0), (kind, range.family, end));
        let mut before_count = 0;
        // The search goes from the last range that begins before the end, down to the first that
        // ends before the start.
        let near = self.ends.range(first..=last).rev();
        let joined: Vec<(Start, u64)> = near
            .map(|(key, old_end)| (*key, *old_end))
            .take_while(|(_, old_end)| *old_end >= range.start)
            .collect();
        for (key, old_end) in joined {
            let (_, _, old_start) = key;
            let until = old_end.min(range.start + range.count);
            before_count += until.saturating_sub(old_start.max(range.start));
            (start, end) = (start.min(old_start), end.max(old_end));
            self.ends.remove(&key);
        }
        self.ends.insert((kind, range.family, start), end);
        before_count
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;
    use workload::{Batch, block::Plan};

    use super::*;

    fn planning(slots: Vec<IndexRange>) -> Workload {
        let plan = Plan { slots, ..Plan::default() };
        Workload { batches: vec![Batch { plan, ..Batch::default() }], ..Workload::default() }
    }

    #[test]
    fn the_same_work_again_was_asked_for_before_and_another_was_not() {
        let range = |start| IndexRange { family: 0, start, count: 10 };
        let mut requested = RequestedKeys::default();
        assert_eq!(requested.add_plan(&planning(Vec::new())), None);
        assert_eq!(requested.add_plan(&planning(vec![range(5)])), Some(0.0));
        assert_eq!(requested.add_plan(&planning(vec![range(5)])), Some(1.0));
        assert_eq!(requested.add_plan(&planning(vec![range(10)])), Some(0.5));
        assert_eq!(requested.add_plan(&planning(vec![range(100), range(0)])), Some(0.25));
        let other = IndexRange { family: 1, start: 5, count: 10 };
        assert_eq!(requested.add_plan(&planning(vec![other])), Some(0.0));
    }

    proptest! {
        #[test]
        fn ranges_count_as_their_indices_do(
            ranges in proptest::collection::vec((0..3_u32, 0..60_u64, 1..20_u64), 1..40)
        ) {
            let (mut requested, mut indices) = (RequestedKeys::default(), HashSet::new());
            for (family, start, count) in ranges {
                let got = requested.add(Kind::Slots, &IndexRange { family, start, count });
                let all = start..start + count;
                let known = all.filter(|index| !indices.insert((family, *index))).count();
                prop_assert_eq!(got, known as u64);
            }
        }
    }
}
