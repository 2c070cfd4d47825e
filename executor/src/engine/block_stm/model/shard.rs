//! A test that tries all interleavings of a shard with its coordinator. The shard's steps use the
//! real scheduler and cells. The steps of another shard run in one transition each. In each
//! direction, any number of messages may be under way, and they arrive in order. The coordinator
//! commits as `hub.rs` does: in order, a run whose reads are the values that committed steps left.
//!
//! The laws are those of `model.rs`, for the coordinator's outcome.

use std::collections::{BTreeMap, VecDeque};

use super::{Activity, CELLS, ModelState, Op, Program, Report, explore, in_order, mix};
use crate::engine::block_stm::{cell::Retained, scheduler::NO_STEP};

/// A message of the coordinator to the shard.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Order {
    /// The last run of another shard's step wrote other values than the run before to these cells;
    /// `None` if it wrote none.
    Writes {
        index: u32,
        incarnation: u32,
        values: Vec<(usize, Option<u64>)>,
    },
    Committed(u32),
}

/// A run of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct StepRun {
    incarnation: u32,
    reads: Vec<(usize, Option<u64>)>,
    writes: BTreeMap<usize, u64>,
}

/// The state of the shard, of the coordinator and of the messages between them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Both {
    shard: ModelState,
    /// Runs of the shard that are under way to the coordinator, with their steps.
    runs: VecDeque<(u32, StepRun)>,
    /// Orders of the coordinator that are under way to the shard.
    orders: VecDeque<Order>,
    /// The last run of each step, at the coordinator.
    last: Vec<Option<StepRun>>,
    /// The lowest uncommitted step, at the coordinator.
    committed: u32,
}

impl Both {
    fn new(own: &[u32], programs: &[Program], workers: usize) -> Self {
        let links = vec![NO_STEP; programs.len()];
        let mut shard = ModelState::new(&links, workers);
        shard.is_shard = true;
        shard.scheduler = shard.scheduler.on_shard(own);
        let last = vec![None; programs.len()];
        Self { shard, runs: VecDeque::new(), orders: VecDeque::new(), last, committed: 0 }
    }

    /// Returns the value that the step `index` would read at the coordinator; `None` if no lower
    /// step wrote the cell.
    fn seen(&self, index: u32, cell: usize) -> Option<u64> {
        let below = self.last[..index as usize].iter().rev().flatten();
        below.filter_map(|ran| ran.writes.get(&cell)).next().copied()
    }

    fn is_right(&self, index: u32, ran: &StepRun) -> bool {
        ran.reads.iter().all(|(cell, seen)| self.seen(index, *cell) == *seen)
    }

    /// Records a run, and commits the steps that can be committed.
    fn add_run(&mut self, index: u32, ran: StepRun) {
        if index >= self.committed {
            self.last[index as usize] = Some(ran);
        }
        let before = self.committed;
        while let Some(Some(ran)) = self.last.get(self.committed as usize)
            && self.is_right(self.committed, ran)
        {
            self.committed += 1;
        }
        if self.committed > before {
            self.orders.push_back(Order::Committed(self.committed));
        }
    }

    /// Returns all states after one transition.
    fn all_next(&self, own: &[u32], programs: &[Program]) -> Vec<Self> {
        let mut all = Vec::new();
        for worker in 0..self.shard.workers.len() {
            let Some(shard) = self.shard.after(worker, programs) else { continue };
            let mut next = Self { shard, ..self.clone() };
            if let Activity::Asking(Some(Report::Finished { index, .. })) =
                next.shard.workers[worker]
            {
                let ran = next.ran_here(index);
                next.runs.push_back((index, ran));
            }
            all.push(next);
        }
        if let Some((index, ran)) = self.runs.front() {
            let mut next = self.clone();
            next.runs.pop_front();
            next.add_run(*index, ran.clone());
            all.push(next);
        }
        if let Some(order) = self.orders.front() {
            let mut next = self.clone();
            next.orders.pop_front();
            next.receive(order);
            all.push(next);
        }
        for index in (self.committed..programs.len() as u32).filter(|index| !own.contains(index)) {
            all.extend(self.after_remote_run(index, &programs[index as usize]));
        }
        all
    }

    /// Returns the last run of a step of the shard.
    fn ran_here(&self, index: u32) -> StepRun {
        let reads = self.shard.logs[index as usize].reads.clone();
        let incarnation = self.shard.scheduler.incarnations().nth(index as usize).unwrap();
        let written =
            |cell: usize| self.shard.cells[cell].written_by(index).map(|value| (cell, *value));
        StepRun { incarnation, reads, writes: (0..CELLS).filter_map(written).collect() }
    }

    fn receive(&mut self, order: &Order) {
        match order {
            Order::Committed(to) => {
                self.shard.scheduler.finalize(*to);
                // If the shard requests a key late, the write of a committed step arrives now, and
                // makes all steps above it dirty. The model does so after every commit.
                if *to > 0 {
                    let last = self.shard.logs.len() as u32;
                    self.shard.scheduler.apply_remote(*to - 1, Some(last));
                }
            }
            Order::Writes { index, incarnation, values } => {
                let retained = Retained::From(self.shard.scheduler.committed());
                let mut last_reader = None;
                for (cell, value) in values {
                    let cell = &mut self.shard.cells[*cell];
                    last_reader = last_reader.max(match value {
                        Some(value) => cell.write(*index, *incarnation, *value, retained),
                        None => cell.remove_older(*index, *incarnation),
                    });
                }
                self.shard.scheduler.apply_remote(*index, last_reader);
            }
        }
    }

    /// Returns the state after a run of another shard's step on the coordinator's values. `None` if
    /// its last run read the same values.
    fn after_remote_run(&self, index: u32, program: &Program) -> Option<Self> {
        let before = self.last[index as usize].clone();
        if before.as_ref().is_some_and(|ran| self.is_right(index, ran)) {
            return None;
        }
        let before = before.unwrap_or_default();
        let mut ran = StepRun { incarnation: before.incarnation + 1, ..StepRun::default() };
        let mut value = 0;
        for op in program {
            match *op {
                Op::Read(cell) => {
                    let seen = self.seen(index, cell);
                    ran.reads.push((cell, seen));
                    value = mix(value, seen.unwrap_or(0));
                }
                Op::Write(cell) => drop(ran.writes.insert(cell, value + 1)),
                Op::WriteIfEven(cell) if value % 2 == 0 => drop(ran.writes.insert(cell, value + 1)),
                Op::WriteIfEven(_) | Op::NeedLowest => {}
                Op::NeedNonZero(_) => unreachable!("no program of another shard needs one"),
            }
        }
        let mut next = self.clone();
        let changed = |cell: &usize| before.writes.get(cell) != ran.writes.get(cell);
        let values = (0..CELLS).filter(changed).map(|cell| (cell, ran.writes.get(&cell).copied()));
        let values = values.collect();
        let incarnation = ran.incarnation;
        next.orders.push_back(Order::Writes { index, incarnation, values });
        next.add_run(index, ran);
        Some(next)
    }

    /// Returns the content of the cells after all steps.
    fn outcome(&self) -> Vec<u64> {
        let count = self.last.len() as u32;
        (0..CELLS).map(|cell| self.seen(count, cell).unwrap_or(0)).collect()
    }

    fn is_over(&self) -> bool {
        self.committed as usize == self.last.len()
            && self.shard.workers.iter().all(|activity| *activity == Activity::Gone)
    }
}

/// Tries all interleavings of a shard that runs the steps `own`. Returns the number of states.
fn try_all(own: &[u32], programs: &[Program], workers: usize) -> usize {
    let expected = in_order(programs);
    let own: Vec<u32> = own.iter().copied().filter(|i| (*i as usize) < programs.len()).collect();
    let own = &own[..];
    let first = Both::new(own, programs, workers);
    let next = |both: &Both| both.all_next(own, programs);
    explore(first, next, |both| {
        assert!(both.is_over(), "nobody can go on: {both:#?}");
        assert_eq!(both.outcome(), expected, "{programs:?}: {both:#?}");
    })
}

#[test]
fn a_chain_that_alternates_between_shards_comes_out_as_in_order() {
    let step = vec![Op::Read(0), Op::Write(0)];
    for own in [&[0, 2][..], &[1], &[1, 2], &[0], &[2]] {
        let states = try_all(own, &vec![step.clone(); 3], 1);
        assert!(states > 20, "{own:?}: {states}");
    }
    try_all(&[1, 2], &vec![step; 3], 2);
}

#[test]
fn steps_of_shards_that_write_elsewhere_when_they_run_again_come_out_as_in_order() {
    let programs = [
        vec![Op::Write(0)],
        vec![Op::Read(0), Op::WriteIfEven(1), Op::Write(0)],
        vec![Op::Read(1), Op::WriteIfEven(0)],
        vec![Op::Read(0), Op::Read(1), Op::Write(1)],
    ];
    for own in [&[0, 2][..], &[1, 3], &[2, 3], &[1, 2]] {
        try_all(own, &programs[..3], 1);
        try_all(own, &programs, 1);
    }
    try_all(&[1, 2], &programs[..3], 2);
}

/// A value is written and then removed again: the coordinator may commit a run while the shard runs
/// the step once more.
#[test]
fn a_run_that_the_coordinator_committed_is_put_right_on_the_shard() {
    let programs = [
        vec![Op::Read(1), Op::Write(1)],
        vec![Op::Read(1), Op::WriteIfEven(0)],
        vec![Op::Read(0), Op::Write(0), Op::Write(1)],
        vec![Op::NeedLowest, Op::Read(0), Op::Read(1), Op::Write(0)],
    ];
    for own in [&[2][..], &[2, 3], &[1, 3], &[3]] {
        try_all(own, &programs, 1);
    }
}
