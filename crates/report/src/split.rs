//! Splits the difference between the times of two rows by part of a sample, such as reads or
//! execution. A part's share is its time on the slow row's critical path minus that on the fast
//! row's. The printed parts and a rest add up to the difference. Answers and comparisons show it.

use result::{Cell, PathNs};
use variant::StoreKind;

use super::{facts, units};

/// Smallest share of the difference of a part with its own name. Smaller parts are in the rest.
const NAMED_SHARE: f64 = 0.01;

/// A part's name, and its time on a sample's critical path.
type Part = (&'static str, fn(&PathNs) -> u64);

/// Parts of a row whose store's reads are timed.
const PARTS: [Part; 6] = [
    ("reads", |path| path.reads),
    ("execution", |path| path.execution),
    ("recovery", |path| path.recovery),
    ("root", |path| path.root),
    ("list", |path| path.list),
    ("commit", |path| path.commit),
];

/// Part of a row in memory: reads on demand are not timed there, and lie within execution.
const EXECUTION_IN_MEMORY: Part = ("execution", |path| path.reads + path.execution);

/// The parts of a row's time, in milliseconds a batch: medians. Empty where the result has none.
pub(super) fn parts_ms(cell: &Cell) -> Vec<(&'static str, f64)> {
    let batches = cell.samples.first().map_or(1, |sample| sample.batch_ns.len().max(1));
    let parts: Vec<&Part> = match cell.store {
        StoreKind::Memory => [&EXECUTION_IN_MEMORY].into_iter().chain(&PARTS[2..]).collect(),
        _ => PARTS.iter().collect(),
    };
    let parts = parts.into_iter().filter_map(|(name, of)| {
        let ns = facts::median(cell, |sample| sample.path_ns.as_ref().map(of))?;
        Some((*name, ns / batches as f64 / 1e6))
    });
    parts.collect()
}

/// The time that `fast` takes less than `slow`, by part: `1266 ms: reads 1231, root 21, recovery 9,
/// execution 5`. `None` where one of the two has no time.
pub(crate) fn difference(slow: &Cell, fast: &Cell) -> Option<String> {
    let total_ms = facts::time_ms(slow)? - facts::time_ms(fast)?;
    let (unit, unit_ms) = match total_ms.abs() {
        ms if ms >= 9_999.5 => ("s", 1e3),
        ms if ms >= 1.0 => ("ms", 1.0),
        _ => ("µs", 1e-3),
    };
    let digits = match total_ms.abs() / unit_ms {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        _ => 2,
    };
    // Whole steps of the last digit, so that the printed parts add up.
    let steps = |ms: f64| (ms / unit_ms * f64::from(10_u32.pow(digits))).round() as i64;
    let text = |steps: i64| {
        let size = steps.unsigned_abs() as f64 / f64::from(10_u32.pow(digits));
        format!("{}{size:.*}", if steps < 0 { "−" } else { "" }, digits as usize)
    };
    let total = steps(total_ms);
    let (slow, fast) = (parts_ms(slow), parts_ms(fast));
    if slow.is_empty() || fast.is_empty() {
        return Some(format!("{} {unit}; an older result, without its parts", text(total)));
    }
    let least = (NAMED_SHARE * total.unsigned_abs() as f64).max(1.0);
    let parts = slow.iter().zip(&fast).map(|((name, slow), (_, fast))| (*name, steps(slow - fast)));
    let mut parts: Vec<_> =
        parts.filter(|(_, steps)| steps.unsigned_abs() as f64 >= least).collect();
    parts.sort_by_key(|(_, steps)| std::cmp::Reverse(*steps));
    let rest = parts.iter().fold(total, |rest, (_, steps)| rest.saturating_sub(*steps));
    parts.extend((rest != 0 || parts.is_empty()).then_some(("rest", rest)));
    let parts = parts.into_iter().map(|(name, steps)| format!("{name} {}", text(steps)));
    Some(format!("{} {unit}: {}", text(total), units::joined(parts, ", ")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use result::example::{self, Threads};
    use variant::Design;

    use super::*;

    /// A row with a path of these milliseconds, which also has `rest`.
    fn row(path: [u64; 6], rest: u64) -> Cell {
        let wall = path.iter().sum::<u64>() + rest;
        let mut cell =
            example::cell(Design::BatchedIo, Threads { executing: 2, reading: 2 }, wall as f64);
        let [reads, execution, recovery, root, list, commit] = path.map(|ms| ms * 1_000_000);
        let rest = rest * 1_000_000;
        cell.samples[0].path_ns =
            Some(PathNs { reads, execution, recovery, root, list, commit, rest });
        cell
    }

    #[test]
    fn a_part_is_credited_with_what_it_took_in_order_and_no_longer_takes() {
        // Recovery on two threads and a root beside: the reads gain nothing.
        let in_order = row([3, 50, 240, 260, 0, 10], 40);
        let design = row([2, 60, 125, 180, 12, 10], 31);
        let words = difference(&in_order, &design).expect("times");
        assert_eq!(words, "183 ms: recovery 115, root 80, execution −10, list −12, rest 10");
        let words = difference(&design, &in_order).expect("times");
        assert!(words.starts_with("−183 ms: list 12, execution 10, root −80"), "{words}");
        assert_eq!(difference(&design, &design).expect("times"), "0.00 µs: rest 0.00");
    }

    #[test]
    fn in_memory_reads_are_a_part_of_execution() {
        let [mut in_order, mut design] =
            [row([0, 50, 0, 0, 0, 0], 0), row([30, 10, 0, 0, 0, 0], 0)];
        (in_order.store, design.store) = (StoreKind::Memory, StoreKind::Memory);
        assert_eq!(difference(&in_order, &design).expect("times"), "10.0 ms: execution 10.0");
    }

    #[test]
    fn a_result_without_parts_has_none() {
        let mut old = row([9; 6], 1);
        old.samples[0].path_ns = None;
        let words = difference(&row([90; 6], 1), &old).expect("times");
        assert!(words.starts_with("486 ms; ") && !words.contains("reads"), "{words}");
        old.ms_per_batch.median = None;
        assert_eq!(difference(&row([90; 6], 1), &old), None);
    }

    proptest! {
        #[test]
        fn printed_parts_and_rest_add_up_to_the_printed_difference(
            slow in any::<[u16; 6]>(), fast in any::<[u16; 6]>(), rest in any::<[u8; 2]>(),
        ) {
            let [slow, fast] = [(slow, rest[0]), (fast, rest[1])]
                .map(|(path, rest)| row(path.map(u64::from), u64::from(rest) + 1));
            let words = difference(&slow, &fast).unwrap_or_default().replace('−', "-");
            let (total, parts) = words.split_once(": ").expect("parts");
            let number = |text: &str| {
                text.split(' ').find_map(|word| word.parse::<f64>().ok()).expect("a number")
            };
            let sum: f64 = parts.split(", ").map(number).sum();
            prop_assert!((sum - number(total)).abs() < 1e-6, "{}", words);
        }
    }
}
