//! Any fault of a shard without a list ends the sample with the shard's name. The coordinator finds
//! a run that rests on wrong reads, before any comparison with the reference.

use std::{
    collections::HashSet,
    sync::{Mutex, atomic::AtomicBool},
    time::Duration,
};

use alloy_primitives::{Address, U256};
use executor::{
    engine::EngineError,
    shards::{
        Assignment, Channel, Conversation, OptimisticFinished, OptimisticReport, Receiver,
        ShardError, Shards,
        versions::{AccountVersion, OptimisticStep, RequestedKeys},
    },
};
use shard::{Cluster, ClusterInput};
use variant::{Partitioner, Sharding};
use workload::{Workload, genesis::AccountState};

use super::{generated, reach, running, sample_optimistic};

/// Replaces a shard's report by wrong ones.
pub(super) type Wrong = fn(OptimisticReport) -> Vec<OptimisticReport>;

/// Shards of which the first sends wrong reports.
#[derive(Debug)]
pub(super) struct Faulty<'c> {
    pub(super) inner: &'c Cluster,
    pub(super) wrong: Wrong,
}

struct FaultyReceiver<'c> {
    inner: Box<dyn Receiver + 'c>,
    wrong: Wrong,
    held: Vec<OptimisticReport>,
}

impl Shards for Faulty<'_> {
    fn count(&self) -> usize {
        self.inner.count()
    }

    fn name(&self, shard: usize) -> String {
        self.inner.name(shard)
    }

    fn load(&self, shard: usize, workload: &Workload, stop: &AtomicBool) -> Result<(), ShardError> {
        self.inner.load(shard, workload, stop)
    }

    fn begin<'a>(
        &'a self,
        shard: usize,
        assignment: &Assignment,
        stop: &'a AtomicBool,
    ) -> Result<Box<dyn Conversation + 'a>, ShardError> {
        self.inner.begin(shard, assignment, stop)
    }

    fn begin_optimistic<'a>(
        &'a self,
        shard: usize,
        of: &Assignment,
        stop: &'a AtomicBool,
    ) -> Result<Channel<'a>, ShardError> {
        let Channel { sender, receiver } = self.inner.begin_optimistic(shard, of, stop)?;
        if shard > 0 {
            return Ok(Channel { sender, receiver });
        }
        let faulty = FaultyReceiver { inner: receiver, wrong: self.wrong, held: Vec::new() };
        Ok(Channel { sender, receiver: Box::new(faulty) })
    }
}

impl Receiver for FaultyReceiver<'_> {
    fn receive(
        &mut self,
        stop: &AtomicBool,
        owes: &dyn Fn() -> bool,
    ) -> Result<OptimisticReport, ShardError> {
        while self.held.is_empty() {
            self.held = (self.wrong)(self.inner.receive(stop, owes)?);
        }
        Ok(self.held.remove(0))
    }
}

/// The report, with all its runs changed.
fn each(report: OptimisticReport, change: impl Fn(&mut OptimisticStep)) -> Vec<OptimisticReport> {
    let OptimisticReport::Steps(mut steps) = report else { return vec![report] };
    steps.iter_mut().for_each(change);
    vec![OptimisticReport::Steps(steps)]
}

/// Reports for each slot another value than the one that was read.
fn other_reads(step: &mut OptimisticStep) {
    for (_, _, seen) in &mut step.reads.slots {
        *seen = Some(seen.map_or(U256::from(77), |seen| seen.wrapping_add(U256::ONE)));
    }
}

fn erc20() -> Workload {
    generated("kind = \"erc20\"", "gas = \"3M\"")
}

fn sharding() -> Sharding {
    Sharding { partitioner: Partitioner::RoundRobin, ..Sharding::on(2) }
}

/// Reason with which a sample ends; the first shard must be blamed.
fn blamed(workload: &Workload, cluster: &Cluster, wrong: Wrong, what: &str) -> String {
    let faulty = Faulty { inner: cluster, wrong };
    match sample_optimistic(workload, &faulty, sharding(), 1) {
        Err(EngineError::Shard { shard, reason, .. }) => {
            assert_eq!(shard, cluster.name(0), "{what}: {reason}");
            reason
        }
        other => panic!("{what}: {:?}", other.map(|taken| taken.disagreement)),
    }
}

#[test]
fn whatever_a_shard_says_without_a_list_ends_the_sample_with_its_name() {
    let running = running(2);
    let cluster = &running.cluster;
    let workload = erc20();
    let wrongs: [(&str, Wrong); 14] = [
        ("had all to go by, and read slot", |report| each(report, other_reads)),
        ("which it was not to run", |report| each(report, |step| step.index += 1_000_000)),
        ("which it was not to run", |report| {
            each(report, |step| step.index += u32::from(step.result.is_some()))
        }),
        ("after run", |report| match report {
            OptimisticReport::Steps(_) => vec![report.clone(), report],
            other => vec![other],
        }),
        ("of another kind of step", |report| each(report, |step| step.result = None)),
        ("that all steps below", |report| {
            let OptimisticReport::Steps(mut steps) = report else { return vec![report] };
            steps.retain(|step| step.index > 0);
            each(OptimisticReport::Steps(steps), |step| step.is_final = true)
        }),
        ("slot 0x", |report| {
            each(report, |step| {
                let again = step.writes.slots.first().copied();
                step.writes.slots.extend(again);
            })
        }),
        ("twice", |report| {
            each(report, |step| {
                let again = step.writes.accounts.first().copied();
                step.writes.accounts.extend(again);
            })
        }),
        ("empty and existing", |report| {
            each(report, |step| {
                let empty = AccountVersion {
                    state: Some(AccountState::default()),
                    ..AccountVersion::default()
                };
                step.writes.accounts.push((Address::repeat_byte(9), empty));
            })
        }),
        ("has a gas limit of", |report| {
            each(report, |step| {
                step.result.iter_mut().for_each(|of| of.gas.block_regular_gas = u64::MAX);
            })
        }),
        ("twice that it is ready", |report| match report {
            OptimisticReport::Ready => vec![OptimisticReport::Ready, OptimisticReport::Ready],
            other => vec![other],
        }),
        ("is not committed", |report| match report {
            OptimisticReport::Steps(_) => {
                vec![OptimisticReport::Done(OptimisticFinished::default())]
            }
            other => vec![other],
        }),
        ("are the most", |_| {
            let accounts = vec![Address::ZERO; (1 << 16) + 1];
            let keys = RequestedKeys { accounts, ..RequestedKeys::default() };
            vec![OptimisticReport::Request { request: 1, keys }]
        }),
        ("it cannot go on: it is tired", |report| match report {
            OptimisticReport::Steps(_) => {
                vec![OptimisticReport::Failed { index: None, reason: "it is tired".to_owned() }]
            }
            other => vec![other],
        }),
    ];
    for (what, wrong) in wrongs {
        let reason = blamed(&workload, cluster, wrong, what);
        assert!(reason.contains(what), "{what:?} is not in {reason:?}");
        let right = sample_optimistic(&workload, cluster, sharding(), 1).unwrap();
        assert_eq!(right.disagreement, None, "after {what}");
    }
    let deploys = generated("kind = \"deploy\"", "gas = \"20M\"");
    let wrong: Wrong = |report| {
        each(report, |step| step.writes.codes.iter_mut().for_each(|code| code.1 = vec![0].into()))
    };
    let reason = blamed(&deploys, cluster, wrong, "code");
    assert!(reason.contains("has not the hash"), "{reason}");
}

/// The shard treats a wrong run as valid: it never runs the step again, or reports other reads.
#[test]
fn stale_reads_that_a_shard_holds_for_valid_are_found_by_the_coordinator() {
    static DROPPED: Mutex<Option<HashSet<u32>>> = Mutex::new(None);
    let running = running(2);
    let addresses: Vec<_> = running.servers.iter().map(|server| server.address).collect();
    let hasty = ClusterInput { deadline: Duration::from_millis(500), ..reach(&addresses) };
    let cluster = Cluster::connect(&hasty).unwrap();
    let workload = generated("kind = \"one-slot\"\nwork = 2", "transactions = 200");
    let wrongs: [(&str, Wrong); 2] = [
        // Only the first run of each step arrives.
        ("read slot", |report| {
            let OptimisticReport::Steps(mut steps) = report else { return vec![report] };
            let mut dropped = DROPPED.lock().unwrap();
            let again = steps.iter().filter(|step| step.incarnation > 1);
            dropped.get_or_insert_default().extend(again.map(|step| step.index));
            steps.retain(|step| step.incarnation == 1);
            vec![OptimisticReport::Steps(steps)]
        }),
        // Runs that began before their turn report other reads.
        ("read slot", |report| {
            each(report, |step| {
                if !step.is_final {
                    other_reads(step);
                }
            })
        }),
    ];
    for (what, wrong) in wrongs {
        let sharding = Sharding { delay_us: 3_000, ..sharding() };
        let faulty = Faulty { inner: &cluster, wrong };
        match sample_optimistic(&workload, &faulty, sharding, 1) {
            Err(EngineError::Shard { shard, reason, .. }) => {
                assert_eq!(shard, cluster.name(0), "{reason}");
                assert!(reason.contains("says nothing for 0.5 s"), "{reason}");
                for words in [what, "and it has not run it again"] {
                    assert!(reason.contains(words), "{words:?} is not in {reason:?}");
                }
            }
            other => panic!("{:?}", other.map(|taken| taken.disagreement)),
        }
    }
    assert!(DROPPED.lock().unwrap().is_some(), "a run was dropped");
    let sharding = Sharding { delay_us: 3_000, ..sharding() };
    let right = sample_optimistic(&workload, &cluster, sharding, 1).unwrap();
    assert_eq!(right.disagreement, None);
}

/// No check inside the clock can find these faults: the comparison after it does.
#[test]
fn a_wrong_outcome_on_right_reads_is_no_number() {
    let running = running(2);
    let cluster = &running.cluster;
    let workload = erc20();
    let receipt: Wrong = |report| {
        each(report, |step| step.result.iter_mut().for_each(|of| of.output = vec![7].into()))
    };
    let faulty = Faulty { inner: cluster, wrong: receipt };
    let taken = sample_optimistic(&workload, &faulty, sharding(), 1).unwrap();
    let told = taken.disagreement.unwrap().to_string();
    assert!(told.contains(&format!("run by {}", cluster.name(0))), "{told}");
    let fee: Wrong = |report| each(report, |step| step.fee += 1);
    let faulty = Faulty { inner: cluster, wrong: fee };
    let taken = sample_optimistic(&workload, &faulty, sharding(), 1).unwrap();
    assert!(taken.disagreement.is_some());
}
