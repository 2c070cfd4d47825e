//! The laws of the simulation, over random small batches, and small batches whose time is known.

use partition::{
    Access,
    simulate::{
        BatchWork, Costs, Hosts, KeyKind, Knowledge, Setting, Simulated, StepWork, simulate,
    },
};
use proptest::prelude::*;

const ACCOUNT_COUNT: u32 = 4;
const KEY_COUNT: u32 = 10;

/// A setting of shards on hosts of their own, without any cost beside the steps.
fn apart(shard_count: u32, thread_count: u32, delay_ns: u64) -> Setting {
    Setting {
        shard_count,
        thread_count,
        hosts: Hosts::Apart { coordinator_core_count: 64 },
        delay_ns,
        micro_batch_key_count: 2,
        knowledge: Knowledge::List,
        costs: Costs::default(),
    }
}

fn without_list(setting: Setting) -> Setting {
    Setting { knowledge: Knowledge::NoList, ..setting }
}

/// Kinds of the keys: accounts, then slots of the first account.
fn keys() -> Vec<KeyKind> {
    let slot = |_| KeyKind::Slot { account: 0 };
    let accounts = (0..ACCOUNT_COUNT).map(|_| KeyKind::Account);
    accounts.chain((ACCOUNT_COUNT..KEY_COUNT).map(slot)).collect()
}

fn step(time_ns: u64, accesses: &[(u32, bool)]) -> StepWork {
    let accesses = accesses.iter().map(|(key, writes)| Access { key: *key, writes: *writes });
    StepWork { time_ns, accesses: accesses.collect(), ..StepWork::default() }
}

fn batch(steps: Vec<StepWork>) -> BatchWork {
    BatchWork { keys: keys(), steps }
}

/// Random batches, with the shard of each step: one of three.
fn batches() -> impl Strategy<Value = (BatchWork, Vec<u32>)> {
    let accesses = proptest::collection::btree_map(0..KEY_COUNT, any::<bool>(), 0..4);
    let senders = proptest::option::of(0..ACCOUNT_COUNT);
    let one = (1..1_000_u64, accesses, senders).prop_map(|(time_ns, accesses, sender)| {
        let accesses: Vec<_> = accesses.into_iter().collect();
        StepWork { sender, callee: sender, ..step(time_ns, &accesses) }
    });
    proptest::collection::vec((one, 0..3_u32), 0..24).prop_map(|steps| {
        let (steps, shards) = steps.into_iter().unzip();
        (batch(steps), shards)
    })
}

/// Random costs of messages and their contents on both sides.
fn costs_of_messages() -> impl Strategy<Value = Costs> {
    proptest::array::uniform6(0..50_u64).prop_map(|costs| {
        let [message_ns, value_ns, result_ns, shard_message_ns, shard_value_ns, shard_result_ns] =
            costs;
        let at_coordinator = Costs { message_ns, value_ns, result_ns, ..Costs::default() };
        Costs { shard_message_ns, shard_value_ns, shard_result_ns, ..at_coordinator }
    })
}

fn total(work: &BatchWork) -> u64 {
    work.steps.iter().map(|step| step.time_ns).sum()
}

fn longest(work: &BatchWork) -> u64 {
    work.steps.iter().map(|step| step.time_ns).max().unwrap_or(0)
}

/// Computes the time of the longest chain of dependent steps from the definition: a step depends on
/// each lower step that wrote one of its keys.
fn chain(work: &BatchWork) -> u64 {
    let mut ends: Vec<u64> = Vec::new();
    for (index, step) in work.steps.iter().enumerate() {
        let depends = |lower: &StepWork| {
            let mut written = lower.accesses.iter().filter(|access| access.writes);
            written.any(|write| step.accesses.iter().any(|own| own.key == write.key))
        };
        let lower = (0..index).filter(|lower| depends(&work.steps[*lower]));
        let begin = lower.map(|lower| ends[lower]).max().unwrap_or(0);
        ends.push(begin + step.time_ns);
    }
    ends.into_iter().max().unwrap_or(0)
}

proptest! {
    #[test]
    fn one_shard_of_one_thread_without_delay_takes_the_sum_of_all_costs(
        (work, _) in batches(), before_ns in 0..500_u64, start_ns in 0..500_u64, after_ns in 0..500_u64,
    ) {
        let shards = vec![0; work.steps.len()];
        for setting in [apart(1, 1, 0), without_list(apart(1, 1, 0))] {
            let costs = Costs { before_ns, start_ns, after_ns, ..Costs::default() };
            let simulated = simulate(&work, &shards, &Setting { costs, ..setting });
            let sum = before_ns + start_ns + total(&work) + after_ns;
            prop_assert_eq!(simulated.time_ns, sum as f64);
        }
    }

    #[test]
    fn all_work_on_one_core_takes_its_sum_however_many_shards_and_threads(
        (work, shards) in batches(), costs in costs_of_messages(),
    ) {
        let setting = Setting { hosts: Hosts::One { core_count: 1 }, costs, ..apart(3, 2, 0) };
        let result = simulate(&work, &shards, &setting);
        let Costs { message_ns, value_ns, result_ns, .. } = costs;
        let Costs { shard_message_ns, shard_value_ns, shard_result_ns, .. } = costs;
        let count = work.steps.len() as u64;
        let values = result.ahead_key_count + result.demand_request_count;
        let messages =
            result.ahead_request_count + result.demand_request_count + result.result_message_count;
        let at_coordinator = result_ns * count + value_ns * values + message_ns * messages;
        let at_shards =
            shard_result_ns * count + shard_value_ns * values + shard_message_ns * messages;
        let sum = total(&work) + at_coordinator + at_shards;
        prop_assert!((result.time_ns - sum as f64).abs() < 1e-3, "{} {sum}", result.time_ns);
        prop_assert_eq!(result.coordinator_work_ns, at_coordinator as f64);
        prop_assert_eq!(result.shard_message_work_ns, at_shards as f64);
    }

    #[test]
    fn no_time_on_one_host_is_below_its_work_over_its_cores(
        (work, shards) in batches(), costs in costs_of_messages(), core_count in 1..8_u32,
    ) {
        let setting = Setting { hosts: Hosts::One { core_count }, costs, ..apart(3, 2, 0) };
        let result = simulate(&work, &shards, &setting);
        let all = result.step_work_ns + result.coordinator_work_ns + result.shard_message_work_ns;
        prop_assert!(result.time_ns * f64::from(core_count) >= all - 1e-3, "{} {all}", result.time_ns);
        prop_assert!(result.time_ns >= longest(&work) as f64);
    }

    #[test]
    fn with_a_list_a_time_lies_between_the_bounds_of_list_scheduling(
        (work, _) in batches(), thread_count in 1..6_u32,
    ) {
        let shards = vec![0; work.steps.len()];
        let result = simulate(&work, &shards, &apart(1, thread_count, 0));
        let (total, longest, threads) = (total(&work), longest(&work), u64::from(thread_count));
        // In whole numbers: times of threads, against Graham's (T + (m − 1) L) / m.
        let threads_time = result.time_ns * threads as f64;
        prop_assert!(threads_time >= total as f64 && result.time_ns >= longest as f64);
        prop_assert!(threads_time <= (total + (threads - 1) * longest) as f64);
        let more = simulate(&work, &shards, &apart(1, thread_count + 1, 0));
        prop_assert!(more.time_ns <= result.time_ns, "{} threads: {}", thread_count + 1, more.time_ns);
    }

    #[test]
    fn without_a_list_no_time_is_below_the_chain_or_the_work(
        (work, shards) in batches(), thread_count in 1..4_u32, delay_ns in 0..300_u64,
    ) {
        let result = simulate(&work, &shards, &without_list(apart(3, thread_count, delay_ns)));
        let ways = 2.0 * delay_ns as f64;
        prop_assert!(result.chain_ns >= chain(&work) as f64);
        prop_assert!(result.time_ns >= result.chain_ns + ways, "{} {}", result.time_ns, result.chain_ns);
        let work_bound = result.fullest_work_ns / f64::from(thread_count);
        prop_assert!(result.time_ns >= work_bound + ways);
        // One shard has no others to wait for, and Graham's bound holds with the chain in the place
        // of the longest step.
        let alone = vec![0; work.steps.len()];
        let result = simulate(&work, &alone, &without_list(apart(1, thread_count, 0)));
        prop_assert_eq!(result.chain_ns, chain(&work) as f64);
        let threads = f64::from(thread_count);
        prop_assert!(threads * result.time_ns <= total(&work) as f64 + (threads - 1.0) * result.chain_ns);
    }

    #[test]
    fn a_block_whose_steps_need_values_that_are_all_foreseen_pays_four_ways(
        times in proptest::collection::vec((1..1_000_u64, 0..3_u32), 1..24), delay_ns in 0..5_000_u64,
    ) {
        // Each step writes an account of its own, so that all are foreseen and none is there
        // before.
        let keys = vec![KeyKind::Account; times.len()];
        let one_write = |(key, (time_ns, _)): (usize, &(u64, u32))| step(*time_ns, &[(key as u32, true)]);
        let work = BatchWork { keys, steps: times.iter().enumerate().map(one_write).collect() };
        let shards: Vec<u32> = times.iter().map(|(_, shard)| *shard).collect();
        for knowledge in [Knowledge::List, Knowledge::NoList] {
            let at = |delay_ns| {
                simulate(&work, &shards, &Setting { knowledge, ..apart(3, 2, delay_ns) })
            };
            let (near, far) = (at(0), at(delay_ns));
            prop_assert_eq!(far.time_ns, near.time_ns + 4.0 * delay_ns as f64);
            prop_assert_eq!((far.demand_request_count, far.shard_message_count), (0, 0));
            prop_assert_eq!(far.ahead_key_count, times.len() as u64);
        }
    }

    #[test]
    fn a_value_is_asked_for_once_by_each_shard(
        (work, shards) in batches(), delay_ns in 0..300_u64,
    ) {
        let result = simulate(&work, &shards, &apart(3, 2, delay_ns));
        let mut needed = std::collections::BTreeSet::new();
        for (index, (step, shard)) in work.steps.iter().zip(&shards).enumerate() {
            for Access { key, .. } in &step.accesses {
                let lower = &work.steps[..index];
                let write = Access { key: *key, writes: true };
                let is_in_list = *key >= ACCOUNT_COUNT
                    && lower.iter().any(|step| step.accesses.contains(&write));
                if !is_in_list {
                    needed.insert((*shard, *key));
                }
            }
        }
        let asked = result.ahead_key_count + result.demand_request_count;
        prop_assert!(asked >= needed.len() as u64, "{asked} {}", needed.len());
        prop_assert!(result.demand_request_count <= needed.len() as u64);
        prop_assert!(result.ahead_request_count <= result.ahead_key_count);
    }
}

fn on(work: &BatchWork, shards: &[u32], setting: Setting) -> Simulated {
    simulate(work, shards, &setting)
}

#[test]
fn a_key_on_demand_costs_two_ways_more() {
    // The second step reads an account that the first one writes, on another shard: nothing
    // foresees it.
    let work = batch(vec![step(10, &[(1, true)]), step(10, &[(1, false)])]);
    let result = on(&work, &[0, 1], apart(2, 1, 100));
    // Part, value, step and result.
    assert_eq!(result.time_ns, 100.0 + 200.0 + 10.0 + 100.0);
    assert_eq!((result.ahead_key_count, result.demand_request_count), (1, 1));
    assert_eq!(result.value_wait_ns, 400.0);
    // Two of them are asked for one after the other.
    let reads = [(1, false), (2, false)];
    let work = batch(vec![step(10, &[(1, true), (2, true)]), step(10, &reads)]);
    assert_eq!(on(&work, &[0, 1], apart(2, 1, 100)).time_ns, 100.0 + 400.0 + 10.0 + 100.0);
}

#[test]
fn with_a_list_no_step_waits_for_another_and_without_one_its_value_takes_one_way() {
    // A slot that the first step writes and the second reads, and writes again.
    let work = batch(vec![step(10, &[(5, true)]), step(20, &[(5, true)])]);
    let setting = apart(2, 1, 100);
    // The first reads it from the state before: 200 until the value is there.
    assert_eq!(on(&work, &[0, 1], setting).time_ns, 100.0 + 200.0 + 10.0 + 100.0);
    let result = on(&work, &[0, 1], without_list(setting));
    assert_eq!(result.time_ns, 100.0 + 200.0 + 10.0 + 100.0 + 20.0 + 100.0);
    assert_eq!((result.chain_ns, result.shard_message_count), (130.0, 1));
    // On one shard it takes no way, and two threads are no faster than one.
    let result = on(&work, &[0, 0], without_list(apart(1, 2, 100)));
    assert_eq!((result.time_ns, result.shard_message_count), (100.0 + 200.0 + 30.0 + 100.0, 0));
}

#[test]
fn payments_to_the_recipient_keep_no_steps_apart() {
    let mut work = batch(vec![step(10, &[(1, true)]), step(20, &[(1, true)])]);
    let setting = without_list(apart(2, 1, 0));
    assert_eq!(on(&work, &[0, 1], setting).time_ns, 30.0);
    work.keys[1] = KeyKind::Recipient;
    assert_eq!(on(&work, &[0, 1], setting).time_ns, 20.0);
}

#[test]
fn the_coordinators_work_is_done_by_one_thread_for_each_shard_on_its_cores() {
    // Four messages of one result on each of two shards, at 100 ms each. The threads end one after
    // the other, and each result but the last waits half a millisecond for the next.
    let times = [1, 2, 3, 4, 1, 2, 3, 4].map(|ms| step(ms * 1_000_000, &[]));
    let work = batch(times.to_vec());
    let shards = [0, 0, 0, 0, 1, 1, 1, 1];
    let costs = Costs { message_ns: 100_000_000, ..Costs::default() };
    let at = |coordinator_core_count| {
        let hosts = Hosts::Apart { coordinator_core_count };
        on(&work, &shards, Setting { hosts, costs, ..apart(2, 4, 0) })
    };
    let ms = 1e6;
    assert_eq!(at(1).time_ns, 801.5 * ms);
    assert_eq!(at(2).time_ns, 401.5 * ms);
    assert_eq!(at(8).time_ns, 401.5 * ms);
    let works = (at(8).coordinator_work_ns, at(8).busiest_thread_work_ns);
    assert_eq!(works, (800.0 * ms, 400.0 * ms));
}

#[test]
fn an_idle_core_hides_the_cost_of_messages_from_one_shard_and_two_shards_pay_for_it() {
    // So the time of one shard cannot tell this cost.
    let work = batch(vec![step(1_000_000, &[]); 64]);
    let at = |shards: &[u32], costs: Costs| {
        let shard_count = shards[shards.len() - 1] + 1;
        let hosts = Hosts::One { core_count: 2 };
        on(&work, shards, Setting { hosts, costs, ..apart(shard_count, 1, 0) })
    };
    let messages = Costs { message_ns: 200_000, shard_message_ns: 200_000, ..Costs::default() };
    let (one, two) = ([0; 64], [[0; 32], [1; 32]].concat());
    let free = at(&one, Costs::default());
    assert_eq!(free.time_ns, 64e6);
    // A result each millisecond; only the last message is waited for.
    assert_eq!(at(&one, messages).time_ns, free.time_ns + 400_000.0);
    let free = at(&two, Costs::default());
    assert_eq!(free.time_ns, 32e6);
    let paid = at(&two, messages);
    let message_work = paid.coordinator_work_ns + paid.shard_message_work_ns;
    assert_eq!(message_work, 400_000.0 * paid.result_message_count as f64);
    assert!(paid.time_ns >= free.time_ns + message_work / 2.0 - 1e-3, "{paid:?}");
    assert!(paid.time_ns < at(&one, messages).time_ns, "{paid:?}");
}

#[test]
fn a_shard_takes_one_answer_in_after_the_other() {
    // Four accounts in two micro-batches; the step begins once all of them are there.
    let work = batch(vec![step(10, &[0, 1, 2, 3].map(|key| (key, true)))]);
    let costs =
        Costs { shard_message_ns: 10, shard_value_ns: 1, shard_result_ns: 3, ..Costs::default() };
    let result = on(&work, &[0], Setting { costs, ..apart(1, 1, 100) });
    assert_eq!(result.ahead_request_count, 2);
    assert_eq!(result.time_ns, 100.0 + 200.0 + 2.0 * 12.0 + 10.0 + 13.0 + 100.0);
    assert_eq!((result.value_wait_ns, result.shard_message_work_ns), (224.0, 37.0));
}

#[test]
fn results_that_end_soon_one_after_the_other_share_a_message() {
    let work = batch([1, 2, 3, 4].map(|time_ns| step(time_ns, &[])).to_vec());
    let costs = Costs { message_ns: 100, ..Costs::default() };
    let result = on(&work, &[0; 4], Setting { costs, ..apart(1, 4, 0) });
    assert_eq!((result.time_ns, result.result_message_count), (4.0 + 100.0, 1));
    // 128 of them do not wait for the last.
    let result =
        on(&batch(vec![step(1, &[]); 129]), &[0; 129], Setting { costs, ..apart(1, 1, 0) });
    assert_eq!((result.time_ns, result.result_message_count), (128.0 + 200.0, 2));
}

#[test]
fn shards_on_one_host_share_its_cores() {
    let work = batch(vec![step(100, &[]); 4]);
    let at = |core_count| {
        on(&work, &[0, 0, 1, 1], Setting { hosts: Hosts::One { core_count }, ..apart(2, 2, 0) })
    };
    assert_eq!(at(4).time_ns, 100.0);
    assert_eq!(at(2).time_ns, 200.0);
    assert_eq!(at(1).time_ns, 400.0);
}

#[test]
fn a_code_and_all_unwritten_slots_of_a_callee_are_asked_for_ahead() {
    let mut work = batch(vec![StepWork {
        callee: Some(0),
        ..step(10, &[(0, false), (1, false), (4, false)])
    }]);
    work.keys[1] = KeyKind::Code;
    let result = on(&work, &[0], apart(1, 1, 100));
    // The account, its code, and the six slots of the callee.
    assert_eq!((result.ahead_key_count, result.demand_request_count), (8, 0));
    assert_eq!(result.time_ns, 100.0 + 200.0 + 10.0 + 100.0);
    // Nobody foresees another account that a transaction reads, but for system calls.
    let read = batch(vec![step(10, &[(2, false)])]);
    let system = batch(vec![StepWork { is_system: true, ..read.steps[0].clone() }]);
    let demands = [read, system].map(|work| on(&work, &[0], apart(1, 1, 0)).demand_request_count);
    assert_eq!(demands, [1, 0]);
}

#[test]
fn a_batch_without_steps_takes_its_fixed_costs_and_two_ways() {
    let costs = Costs { before_ns: 5, start_ns: 7, after_ns: 9, ..Costs::default() };
    let result = on(&batch(Vec::new()), &[], Setting { costs, ..apart(2, 3, 100) });
    assert_eq!(result.time_ns, 5.0 + 100.0 + 7.0 + 100.0 + 9.0);
}
