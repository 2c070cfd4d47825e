//! Maps items on rayon's threads by a function that may fail, outside any clock: to sign
//! transactions, and to build and check states. After a failure, no item with a higher index
//! begins. The reported failure does not depend on the number of threads.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

/// Returns the results of `each` for all items, in their order. `init` makes a state for each part
/// of the work.
///
/// # Errors
/// The error of the failing item with the lowest index. All items with lower indices were
/// processed.
pub(crate) fn try_map<T: Sync, S, R: Send, E: Send>(
    items: &[T],
    init: impl Fn() -> S + Send + Sync,
    each: impl Fn(&mut S, usize, &T) -> Result<R, E> + Send + Sync,
) -> Result<Vec<R>, E> {
    let lowest_failed = AtomicUsize::new(usize::MAX);
    let items = items.par_iter().enumerate();
    let done: Vec<Option<Result<R, E>>> = items
        .map_init(init, |state, (index, item)| {
            if index > lowest_failed.load(Ordering::Relaxed) {
                return None;
            }
            let done = each(state, index, item);
            if done.is_err() {
                lowest_failed.fetch_min(index, Ordering::Relaxed);
            }
            Some(done)
        })
        .collect();
    done.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use rayon::ThreadPoolBuilder;

    use super::*;

    /// Returns the outcome and the number of items begun, if the items at these indices fail.
    fn run(thread_count: usize, failing: &[usize]) -> (Result<Vec<usize>, usize>, usize) {
        let pool = ThreadPoolBuilder::new().num_threads(thread_count).build().unwrap();
        let items: Vec<usize> = (0..1_000).collect();
        let begun = AtomicUsize::new(0);
        let each = |_: &mut (), index, item: &usize| {
            begun.fetch_add(1, Ordering::Relaxed);
            if failing.contains(&index) { Err(index) } else { Ok(item * 2) }
        };
        let outcome = pool.install(|| try_map(&items, || (), each));
        (outcome, begun.into_inner())
    }

    #[test]
    fn the_lowest_failure_is_reported_on_any_number_of_threads() {
        for thread_count in [1, 2, 3, 8] {
            for _ in 0..50 {
                assert_eq!(run(thread_count, &[999, 37, 500, 38]).0, Err(37));
                assert_eq!(run(thread_count, &[999]).0, Err(999));
            }
        }
    }

    #[test]
    fn nothing_above_a_failure_begins_after_it() {
        assert_eq!(run(1, &[37, 500]).1, 38);
        assert_eq!(run(1, &[0]).1, 1);
    }

    #[test]
    fn without_a_failure_everything_is_done_in_order() {
        for thread_count in [1, 4] {
            let (outcome, begun) = run(thread_count, &[]);
            assert_eq!(outcome, Ok((0..1_000).map(|item| item * 2).collect()));
            assert_eq!(begun, 1_000);
        }
    }
}
