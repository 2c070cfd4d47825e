//! The grouping of results into messages changes nothing. Each result counts once, whichever
//! results share a message. A fault is named wherever in a message it is.

use std::sync::Mutex;

use alloy_primitives::U256;
use executor::{
    engine::EngineError,
    shards::{OptimisticReport, Report, ShardStep, Shards},
};
use variant::{Partitioner, Sharding};

use super::{
    faults::{Faulty, Wrong},
    generated, optimistic_faults, running, sample, sample_optimistic,
};

/// Results that are held back until the end of the batch.
static WAITING: Mutex<Vec<ShardStep>> = Mutex::new(Vec::new());

/// Sends each result in its own message.
fn alone(report: Report) -> Vec<Report> {
    let Report::Steps(steps) = report else { return vec![report] };
    steps.into_iter().map(|step| Report::Steps(vec![step])).collect()
}

/// Sends all results of the batch in its last message.
fn together(report: Report) -> Vec<Report> {
    let mut waiting = WAITING.lock().unwrap();
    match report {
        Report::Steps(steps) => {
            waiting.extend(steps);
            Vec::new()
        }
        Report::Done(_) => vec![Report::Steps(std::mem::take(&mut *waiting)), report],
        other => vec![other],
    }
}

/// Sends all results in the last message, out of order.
fn out_of_order(report: Report) -> Vec<Report> {
    let mut reports = together(report);
    if let [Report::Steps(steps), _] = &mut reports[..] {
        let half = steps.len() / 2;
        steps[half..].reverse();
        steps.rotate_left(half / 2);
    }
    reports
}

/// Sends all results in the last message, with a wrong slot in the middle.
fn wrong_in_the_middle(report: Report) -> Vec<Report> {
    let mut reports = together(report);
    if let [Report::Steps(steps), _] = &mut reports[..] {
        let middle = steps.len() / 2;
        assert!(middle > 3, "there are {} results", steps.len());
        let mut writes = steps[middle..].iter_mut().map(|step| &mut step.writes.slots);
        let slots = writes.find(|slots| !slots.is_empty()).unwrap();
        slots[0].2 += U256::ONE;
    }
    reports
}

/// Sends all results in the last message, one of them twice.
fn twice_in_the_middle(report: Report) -> Vec<Report> {
    let mut reports = together(report);
    if let [Report::Steps(steps), _] = &mut reports[..] {
        let middle = steps.len() / 2;
        steps.insert(middle, steps[1].clone());
    }
    reports
}

#[test]
fn results_count_once_in_messages_of_any_size_and_a_fault_within_one_is_named() {
    let running = running(2);
    let cluster = &running.cluster;
    let workload = generated("kind = \"erc20\"", "gas = \"3M\"");
    for threads in [1, 2] {
        for way in [alone as Wrong, together, out_of_order] {
            let shards = Faulty::new(cluster, way);
            let taken = sample(&workload, &shards, Sharding::on(2), threads).unwrap();
            assert_eq!(taken.disagreement, None, "{threads} threads");
        }
        let faults: [(&str, Wrong); 2] = [
            ("runs this step without a fault", wrong_in_the_middle),
            ("or twice", twice_in_the_middle),
        ];
        for (words, way) in faults {
            let shards = Faulty::new(cluster, way);
            match sample(&workload, &shards, Sharding::on(2), threads) {
                Err(EngineError::Shard { shard, reason, .. }) => {
                    assert_eq!(shard, cluster.name(0), "{reason}");
                    assert!(reason.contains(words), "{words:?} is not in {reason:?}");
                }
                other => panic!("{words}: {:?}", other.map(|taken| taken.disagreement)),
            }
        }
    }
}

#[test]
fn runs_without_a_list_count_once_in_messages_of_any_size_and_a_fault_within_one_is_named() {
    let running = running(2);
    let cluster = &running.cluster;
    let workload = generated("kind = \"erc20\"\nholders = 30", "gas = \"3M\"");
    let sharding = Sharding { partitioner: Partitioner::RoundRobin, ..Sharding::on(2) };
    let sampled = |wrong: optimistic_faults::Wrong, threads| {
        let shards = optimistic_faults::Faulty { inner: cluster, wrong };
        sample_optimistic(&workload, &shards, sharding, threads)
    };
    for threads in [1, 2] {
        let alone = sampled(
            |report| {
                let OptimisticReport::Steps(steps) = report else { return vec![report] };
                steps.into_iter().map(|step| OptimisticReport::Steps(vec![step])).collect()
            },
            threads,
        );
        assert_eq!(alone.unwrap().disagreement, None, "{threads} threads");
        let twice = sampled(
            |report| {
                let OptimisticReport::Steps(mut steps) = report else { return vec![report] };
                steps.insert(1, steps[0].clone());
                vec![OptimisticReport::Steps(steps)]
            },
            threads,
        );
        match twice {
            Err(EngineError::Shard { shard, reason, .. }) => {
                assert_eq!(shard, cluster.name(0), "{reason}");
                assert!(reason.contains("after run"), "{reason}");
            }
            other => panic!("{:?}", other.map(|taken| taken.disagreement)),
        }
    }
}
