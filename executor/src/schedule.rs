//! Decides the order in which the threads of the `bal` engine take a batch's steps, and computes
//! the quality of an order for results. Every order gives the same result, because each step has a
//! state of its own. The order decides how long threads are idle until the last step ends. For list
//! scheduling and its bound see Graham, "Bounds on multiprocessing timing anomalies", 1969.

use std::{cmp::Reverse, collections::BinaryHeap, time::Duration};

use variant::Schedule;
use workload::{Batch, BlockAccessIndex, Step, StepKind, Steps, list::ListIndex};

/// Returns the order of a batch's steps, computed from the batch and its list. `None` for the order
/// of the steps' indices, and for an order by known times ([`by_known_cost`]). Steps with equal gas
/// limits, or equal numbers of list entries, stay in the order of their indices.
pub(crate) fn order(
    schedule: Schedule,
    batch: &Batch,
    steps: &Steps,
    list: &ListIndex,
) -> Option<Vec<BlockAccessIndex>> {
    let gas_limit = |index| {
        let Step { block, kind } = steps.at(index);
        match kind {
            StepKind::Transaction(tx_index) => batch.blocks[block].transactions[tx_index].gas_limit,
            StepKind::BeforeTransactions | StepKind::AfterTransactions => 0,
        }
    };
    match schedule {
        Schedule::BlockOrder | Schedule::KnownCost => None,
        Schedule::GasLimit => Some(largest_first(steps.count(), gas_limit)),
        Schedule::ListEntries => {
            Some(largest_first(steps.count(), |index| list.change_count_at(index)))
        }
    }
}

/// Returns the order of the steps by their known times, longest first. `costs` has one time for
/// each step.
pub(crate) fn by_known_cost(costs: &[Duration]) -> Vec<BlockAccessIndex> {
    // A batch has fewer than 2^32 steps.
    largest_first(costs.len() as u32, |index| costs[index as usize])
}

fn largest_first<K: Ord>(
    count: u32,
    mut size: impl FnMut(BlockAccessIndex) -> K,
) -> Vec<BlockAccessIndex> {
    let mut order: Vec<BlockAccessIndex> = (0..count).collect();
    order.sort_by_cached_key(|index| Reverse(size(*index)));
    order
}

/// Returns the time that `thread_count` threads take for steps of these times. Each idle thread
/// takes the next step (list scheduling). Taking a step costs no time.
pub fn makespan(times: impl IntoIterator<Item = Duration>, thread_count: usize) -> Duration {
    let mut free_at: BinaryHeap<_> =
        (0..thread_count.max(1)).map(|_| Reverse(Duration::ZERO)).collect();
    let mut last = Duration::ZERO;
    for time in times {
        let Some(mut earliest) = free_at.peek_mut() else { break };
        earliest.0 += time;
        last = last.max(earliest.0);
    }
    last
}

/// Returns the [`makespan`] of the steps in the order of their times, longest first. It is at most
/// 4/3 of the shortest possible makespan.
pub fn makespan_longest_first(times: &[Duration], thread_count: usize) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable_by_key(|time| Reverse(*time));
    makespan(sorted, thread_count)
}

/// Returns the scheduling quality (T − A) / (T − L). T, `total`, is the sum of the transactions'
/// times, L, `longest`, is the longest of them, and A is `makespan`. The quality is 0 if the
/// schedule takes as long as one thread, and negative if it takes longer. `None` if T = L, so that
/// no order could save time.
pub fn quality(total: Duration, longest: Duration, makespan: Duration) -> Option<f64> {
    let gain = total.as_secs_f64() - makespan.as_secs_f64();
    let most = total.as_secs_f64() - longest.as_secs_f64();
    (total > longest).then(|| gain / most)
}

#[cfg(test)]
mod tests {
    use workload::{Block, Fork, Transaction, list::ListBounds};

    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn batch(gas_limits: &[&[u64]]) -> Batch {
        let tx = |gas_limit: &u64| Transaction { gas_limit: *gas_limit, ..Transaction::default() };
        let block = |limits: &&[u64]| Block {
            transactions: limits.iter().map(tx).collect(),
            ..Block::default()
        };
        Batch { blocks: gas_limits.iter().map(block).collect(), ..Batch::default() }
    }

    #[test]
    fn the_largest_gas_limit_comes_first_through_all_blocks_and_system_steps_last() {
        let batch = batch(&[&[5, 9], &[9, 7]]);
        let steps = Steps::of(&batch);
        let list = ListIndex::default();
        let by_gas = order(Schedule::GasLimit, &batch, &steps, &list);
        // 9 at 2 and 5, 7 at 6, 5 at 1; the blocks' first and last steps are 0, 3, 4, 7.
        assert_eq!(by_gas, Some(vec![2, 5, 6, 1, 0, 3, 4, 7]));
        assert_eq!(order(Schedule::BlockOrder, &batch, &steps, &list), None);
        assert_eq!(by_known_cost(&[ms(1), ms(3), ms(1), ms(4)]), [3, 1, 0, 2]);
    }

    #[test]
    fn the_most_changes_of_the_list_come_first() {
        let batch = batch(&[&[1, 1, 1]]);
        // One account: balances at the steps 2 and 3, a nonce at 3.
        let encoded = alloy_primitives::hex!(
            "e4e3940202020202020202020202020202020202020202c0c0c6c20205c20306c3c20301c0"
        );
        // Blocks of no gas have no room for an account.
        let bounds = ListBounds {
            surplus_item_count: 1,
            ..ListBounds::new(&batch, &Fork::Amsterdam.into())
        };
        let list = ListIndex::decode(&encoded, &bounds).unwrap();
        let by_list = order(Schedule::ListEntries, &batch, &Steps::of(&batch), &list);
        assert_eq!(by_list, Some(vec![3, 2, 0, 1, 4]));
    }

    #[test]
    fn a_makespan_lies_between_its_bounds_and_longest_first_is_no_worse_here() {
        let times = [ms(1), ms(1), ms(1), ms(1), ms(4)];
        assert_eq!(makespan(times, 1), ms(8));
        assert_eq!(makespan(times, 2), ms(6));
        assert_eq!(makespan_longest_first(&times, 2), ms(4));
        assert_eq!(makespan(times, 50), ms(4));
        assert_eq!(makespan([], 4), Duration::ZERO);
    }

    #[test]
    fn quality_is_one_at_the_longest_step_zero_in_order_and_nothing_for_a_single_step() {
        assert_eq!(quality(ms(8), ms(4), ms(4)), Some(1.0));
        assert_eq!(quality(ms(8), ms(4), ms(8)), Some(0.0));
        assert_eq!(quality(ms(8), ms(4), ms(6)), Some(0.5));
        assert_eq!(quality(ms(8), ms(4), ms(10)), Some(-0.5));
        assert_eq!(quality(ms(4), ms(4), ms(5)), None);
    }
}
