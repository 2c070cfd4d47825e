//! The plan of a simulation, made before its clock starts. It has the keys that each shard requests
//! ahead. For each step, it has the needed values, and the steps that it depends on.

use super::input::{BatchWork, KeyKind, Knowledge, Setting, StepWork};
use crate::rows::Rows;

/// No step.
const NO_STEP: u32 = u32::MAX;
/// No shard.
const NO_SHARD: u32 = u32::MAX;

/// The part of one shard in the batch.
#[derive(Clone, Debug, Default)]
pub(super) struct ShardPlan {
    /// Steps of the shard, ascending.
    pub(super) steps: Vec<u32>,
    /// Keys that the shard requests ahead of its steps, one list for each request (micro-batch).
    pub(super) ahead: Vec<Vec<u32>>,
}

/// The parts of all shards.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub(super) shards: Vec<ShardPlan>,
    /// The shard of each step.
    pub(super) shard_of: Vec<u32>,
    /// For each step, the keys whose values it needs from the coordinator, in the order of its
    /// requests.
    pub(super) values: Rows<u32>,
    /// For each step, the steps that it depends on: of each key that it touches, the last lower
    /// step that wrote the key. Recipients of fees do not count. Empty with a list.
    pub(super) dependencies: Rows<u32>,
    /// For each step, the steps that depend on it.
    pub(super) dependents: Rows<u32>,
}

impl Plan {
    /// Makes the plan of a batch. `shard_of` has the shard of each step.
    pub(super) fn new(work: &BatchWork, shard_of: &[u32], setting: &Setting) -> Self {
        let Setting { shard_count, knowledge, micro_batch_key_count, .. } = *setting;
        let mut shards = vec![ShardPlan::default(); shard_count as usize];
        for (step, shard) in shard_of.iter().enumerate() {
            shards[*shard as usize].steps.push(step as u32);
        }
        let first_writers = first_writers(work);
        let (values, dependencies) = match knowledge {
            Knowledge::List => (values_beside_list(work, &first_writers), no_rows(work)),
            Knowledge::NoList => values_and_dependencies(work),
        };
        let slots_of = unwritten_slots(work, &first_writers);
        let mut asked_last_by = vec![NO_SHARD; work.keys.len()];
        for (number, shard) in shards.iter_mut().enumerate() {
            let mut keys = match knowledge {
                Knowledge::List => foreseen(work, &shard.steps, &first_writers, &slots_of),
                Knowledge::NoList => shard
                    .steps
                    .iter()
                    .flat_map(|step| values.row(*step as usize))
                    .copied()
                    .collect(),
            };
            let number = number as u32;
            // A shard requests each key once at most: `asked_last_by` has the shard that last asked.
            keys.retain(|key| {
                std::mem::replace(&mut asked_last_by[*key as usize], number) != number
            });
            shard.ahead = micro_batches(work, keys, micro_batch_key_count);
        }
        let dependents = dependencies.transposed(work.steps.len());
        Self { shards, shard_of: shard_of.to_vec(), values, dependencies, dependents }
    }
}

fn no_rows(work: &BatchWork) -> Rows<u32> {
    let mut rows = Rows::default();
    work.steps.iter().for_each(|_| rows.push([]));
    rows
}

/// Returns for each key the first step that writes it, or `NO_STEP`.
fn first_writers(work: &BatchWork) -> Vec<u32> {
    let mut first = vec![NO_STEP; work.keys.len()];
    for (step, StepWork { accesses, .. }) in work.steps.iter().enumerate().rev() {
        for access in accesses.iter().filter(|access| access.writes) {
            first[access.key as usize] = step as u32;
        }
    }
    first
}

/// Returns for each step the keys whose values it needs from the coordinator, if shards have the
/// list. These are all its keys except slots that a lower step writes: the list has their values.
fn values_beside_list(work: &BatchWork, first_writers: &[u32]) -> Rows<u32> {
    let mut rows = Rows::default();
    for (step, StepWork { accesses, .. }) in work.steps.iter().enumerate() {
        let keys = accesses.iter().map(|access| access.key);
        rows.push(keys.filter(|key| match work.keys[*key as usize] {
            KeyKind::Slot { .. } => first_writers[*key as usize] >= step as u32,
            KeyKind::Account | KeyKind::Recipient | KeyKind::Code => true,
        }));
    }
    rows
}

/// Returns two rows for each step, if shards have no list. The first has the keys that no lower
/// step has written, the second the last writers of the other keys. A recipient of fees counts as
/// never written.
fn values_and_dependencies(work: &BatchWork) -> (Rows<u32>, Rows<u32>) {
    let mut last_writers = vec![NO_STEP; work.keys.len()];
    let (mut values, mut dependencies) = (Rows::default(), Rows::default());
    for (step, StepWork { accesses, .. }) in work.steps.iter().enumerate() {
        let writers = accesses.iter().map(|access| match work.keys[access.key as usize] {
            KeyKind::Recipient => (access.key, NO_STEP),
            _ => (access.key, last_writers[access.key as usize]),
        });
        values.push(writers.clone().filter(|(_, writer)| *writer == NO_STEP).map(|(key, _)| key));
        let lower = writers.map(|(_, writer)| writer).filter(|writer| *writer != NO_STEP);
        let mut lower: Vec<u32> = lower.collect();
        lower.sort_unstable();
        lower.dedup();
        dependencies.push(lower);
        for access in accesses.iter().filter(|access| access.writes) {
            last_writers[access.key as usize] = step as u32;
        }
    }
    (values, dependencies)
}

/// Returns the slots that no step writes. Row n has the slots of the account whose key has number
/// n.
fn unwritten_slots(work: &BatchWork, first_writers: &[u32]) -> Rows<u32> {
    // The account of each slot, or none. Transposed, these are the slots of each account.
    let mut accounts = Rows::default();
    for (key, kind) in work.keys.iter().enumerate() {
        match kind {
            KeyKind::Slot { account } if first_writers[key] == NO_STEP => accounts.push([*account]),
            _ => accounts.push([]),
        }
    }
    accounts.transposed(work.keys.len())
}

/// Returns the keys that a shard with the list requests ahead of its steps, with repetitions. These
/// are the accounts of senders, callees and the recipient of fees, the codes, and the keys of
/// system calls. Further ones are the keys that one of its steps is the first to write, and the
/// slots of its callees that no step writes.
fn foreseen(
    work: &BatchWork,
    steps: &[u32],
    first_writers: &[u32],
    slots_of: &Rows<u32>,
) -> Vec<u32> {
    let (mut keys, mut callees) = (Vec::new(), Vec::new());
    for step in steps {
        let StepWork { is_system, sender, callee, accesses, .. } = &work.steps[*step as usize];
        keys.extend(sender.iter().chain(callee));
        callees.extend(*callee);
        let accessed = accesses.iter().map(|access| access.key);
        keys.extend(accessed.filter(|key| match work.keys[*key as usize] {
            KeyKind::Recipient | KeyKind::Code => true,
            KeyKind::Account | KeyKind::Slot { .. } => {
                *is_system || first_writers[*key as usize] == *step
            }
        }));
    }
    callees.sort_unstable();
    callees.dedup();
    keys.extend(callees.iter().flat_map(|account| slots_of.row(*account as usize)));
    keys
}

/// Splits keys into micro-batches of at most `key_count` keys. A micro-batch has keys of one kind:
/// first come accounts, then slots, then codes.
fn micro_batches(work: &BatchWork, mut keys: Vec<u32>, key_count: u32) -> Vec<Vec<u32>> {
    let mut kinds = [Vec::new(), Vec::new(), Vec::new()];
    keys.sort_unstable();
    for key in keys {
        kinds[match work.keys[key as usize] {
            KeyKind::Account | KeyKind::Recipient => 0,
            KeyKind::Slot { .. } => 1,
            KeyKind::Code => 2,
        }]
        .push(key);
    }
    let size = key_count.max(1) as usize;
    kinds.iter().flat_map(|keys| keys.chunks(size)).map(<[u32]>::to_vec).collect()
}

/// Returns the time of the longest chain of dependent steps, with a delay between steps of
/// different shards.
pub(super) fn chain_ns(work: &BatchWork, plan: &Plan, delay_ns: u64) -> u64 {
    let mut ends: Vec<u64> = Vec::with_capacity(work.steps.len());
    for (step, step_work) in work.steps.iter().enumerate() {
        let shard = plan.shard_of[step];
        let begin = plan.dependencies.row(step).iter().map(|lower| {
            let delay_ns = if plan.shard_of[*lower as usize] == shard { 0 } else { delay_ns };
            ends[*lower as usize].saturating_add(delay_ns)
        });
        ends.push(begin.max().unwrap_or(0).saturating_add(step_work.time_ns));
    }
    ends.into_iter().max().unwrap_or(0)
}
