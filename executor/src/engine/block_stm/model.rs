//! A test that tries all interleavings of small batches. Simulated workers run the real scheduler
//! and the real cells, one transition at a time. A transition is the work of a thread under one
//! lock, so these interleavings are exactly those of threads.
//!
//! Checked laws: some worker can always go on. No state occurs twice, so every execution ends.
//! Steps are committed in order, and stay committed. At the end the cells have the values of an
//! execution in order.

use std::{collections::HashSet, fmt::Debug, hash::Hash};

use super::{
    cell::{Cell, Found, Retained},
    scheduler::{NO_STEP, Scheduler},
    task::{Answer, Attempt, Finality, Report, Task, Until},
};

/// The operations of a step of the model, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    /// Reads a cell, and mixes its value into the step's value.
    Read(usize),
    /// Writes the step's value plus 1 to a cell.
    Write(usize),
    /// Does the same as `Write` if the step's value is even. So the next run may not write the
    /// cell.
    WriteIfEven(usize),
    /// Waits until all lower steps are committed, like a read of a beneficiary's account.
    NeedLowest,
    /// Reads a cell. The step is invalid if its value is 0, as it is before lower steps have run.
    NeedNonZero(usize),
}

type Program = Vec<Op>;

/// The next transition of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Activity {
    /// Makes a report, if any, and claims a task.
    Asking(Option<Report>),
    /// Claims a task once the scheduler has one.
    Idle,
    Running(Run),
    /// Publishes one of the writes that are left, or removes one of the last run's.
    Publishing {
        run: Run,
        left: Vec<(usize, u64)>,
        old: Vec<usize>,
        last_reader: Option<u32>,
    },
    Validating {
        index: u32,
        left: Vec<(usize, Option<u64>)>,
    },
    Marking {
        index: u32,
        left: Vec<usize>,
    },
    Gone,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Run {
    index: u32,
    incarnation: u32,
    finality: Finality,
    op: usize,
    value: u64,
    reads: Vec<(usize, Option<u64>)>,
    writes: Vec<(usize, u64)>,
    /// The step that the run waits for; `Some(None)` if it waits for all lower steps.
    waits: Option<Option<u32>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Log {
    reads: Vec<(usize, Option<u64>)>,
    writes: Vec<usize>,
}

impl Run {
    fn is_final(&self) -> bool {
        self.finality == Finality::Final
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ModelState {
    scheduler: Scheduler,
    cells: Vec<Cell<u64, u64>>,
    logs: Vec<Log>,
    workers: Vec<Activity>,
    /// True if the workers are those of a shard, where final runs keep their reads, too.
    is_shard: bool,
}

const CELLS: usize = 2;

mod shard;

/// Returns the content of the cells after the programs ran in order.
fn in_order(programs: &[Program]) -> Vec<u64> {
    let mut cells = vec![0_u64; CELLS];
    for program in programs {
        let mut value = 0;
        for op in program {
            match *op {
                Op::Read(cell) | Op::NeedNonZero(cell) => value = mix(value, cells[cell]),
                Op::Write(cell) => cells[cell] = value + 1,
                Op::WriteIfEven(cell) if value.is_multiple_of(2) => cells[cell] = value + 1,
                Op::WriteIfEven(_) | Op::NeedLowest => {}
            }
        }
    }
    cells
}

/// Mixes a read value into a step's value. The order of reads matters. Values stay below 7, so that
/// there are few states.
const fn mix(value: u64, read: u64) -> u64 {
    (value * 3 + read * 2 + read / 3) % 7
}

impl ModelState {
    fn new(links: &[u32], workers: usize) -> Self {
        let mut cells = vec![Cell::default(); CELLS];
        cells.iter_mut().for_each(|cell: &mut Cell<u64, u64>| cell.set_base(0));
        Self {
            scheduler: Scheduler::new(links, workers),
            cells,
            logs: vec![Log::default(); links.len()],
            workers: vec![Activity::Asking(None); workers],
            is_shard: false,
        }
    }

    /// Returns all states after one transition.
    fn all_next(&self, programs: &[Program]) -> Vec<Self> {
        (0..self.workers.len()).filter_map(|worker| self.after(worker, programs)).collect()
    }

    /// Returns the state after one transition of `worker`; `None` if it can only wait.
    fn after(&self, worker: usize, programs: &[Program]) -> Option<Self> {
        let mut next = self.clone();
        let activity = std::mem::replace(&mut next.workers[worker], Activity::Gone);
        next.workers[worker] = match activity {
            Activity::Gone => return None,
            Activity::Idle if !self.scheduler.has_task() => return None,
            Activity::Idle => next.report_and_claim(None),
            Activity::Asking(report) => next.report_and_claim(report),
            Activity::Running(run) => next.run(run, programs)?,
            Activity::Publishing { run, left, old, last_reader } => {
                next.publish(run, left, old, last_reader)
            }
            Activity::Validating { index, left } => next.validate(index, left),
            Activity::Marking { index, left } => next.mark(index, left),
        };
        Some(next)
    }

    fn report_and_claim(&mut self, report: Option<Report>) -> Activity {
        let committed = self.scheduler.committed();
        if let Some(report) = report {
            self.scheduler.apply(report);
        }
        assert!(self.scheduler.committed() >= committed);
        match self.scheduler.claim() {
            Task::Done => Activity::Gone,
            Task::Idle => Activity::Idle,
            Task::Validate { index } => {
                assert!(index >= self.scheduler.committed());
                let left = self.logs[index as usize].reads.clone();
                Activity::Validating { index, left }
            }
            Task::Execute { index, incarnation, finality } => {
                assert!(index >= self.scheduler.committed(), "{index} runs after its commit");
                let (reads, writes) = (Vec::new(), Vec::new());
                let (op, value, waits) = (0, 0, None);
                let run = Run { index, incarnation, finality, op, value, reads, writes, waits };
                Activity::Running(run)
            }
        }
    }

    fn run(&mut self, mut run: Run, programs: &[Program]) -> Option<Activity> {
        if let Some(need) = run.waits {
            let answer = self.ask(run.index, need, Attempt::Again);
            return match answer {
                Answer::Wait => None,
                Answer::GoOn => {
                    run.waits = None;
                    Some(Activity::Running(run))
                }
                Answer::GiveUp => Some(give_up(&run, need)),
            };
        }
        let Some(op) = programs[run.index as usize].get(run.op).copied() else {
            let left = run.writes.clone();
            let old = std::mem::take(&mut self.logs[run.index as usize].writes);
            return Some(Activity::Publishing { run, left, old, last_reader: None });
        };
        match op {
            Op::Read(cell) | Op::NeedNonZero(cell) => {
                let (seen, value) = match self.cells[cell].read(run.index, run.finality) {
                    Found::Written(_, value) => (Some(value), value),
                    Found::Base(value) => (None, value),
                    Found::Estimate(of) => return Some(self.stuck(run, Some(of))),
                    Found::ToRead | Found::BeingRead => unreachable!("all bases are known"),
                };
                run.reads.push((cell, seen));
                run.value = mix(run.value, value);
                if matches!(op, Op::NeedNonZero(_)) && value == 0 {
                    assert!(!run.is_final(), "{} is invalid in order", run.index);
                    let (index, until) = (run.index, Until::Lowest);
                    return Some(Activity::Asking(Some(Report::GivenUp { index, until })));
                }
            }
            Op::Write(cell) => run.writes.push((cell, run.value + 1)),
            Op::WriteIfEven(cell) if run.value.is_multiple_of(2) => {
                run.writes.push((cell, run.value + 1))
            }
            Op::NeedLowest if !run.is_final() && self.scheduler.committed() < run.index => {
                run.op += 1;
                return Some(self.stuck(run, None));
            }
            Op::WriteIfEven(_) | Op::NeedLowest => {}
        }
        run.op += 1;
        Some(Activity::Running(run))
    }

    fn ask(&mut self, index: u32, need: Option<u32>, attempt: Attempt) -> Answer {
        match need {
            Some(of) => self.scheduler.ask_for_step(index, of, attempt),
            None => self.scheduler.ask_for_lowest(index, attempt),
        }
    }

    fn stuck(&mut self, mut run: Run, need: Option<u32>) -> Activity {
        match self.ask(run.index, need, Attempt::First) {
            Answer::GoOn => Activity::Running(run),
            Answer::GiveUp => give_up(&run, need),
            Answer::Wait => {
                run.waits = Some(need);
                Activity::Running(run)
            }
        }
    }

    fn publish(
        &mut self,
        run: Run,
        mut left: Vec<(usize, u64)>,
        mut old: Vec<usize>,
        mut last_reader: Option<u32>,
    ) -> Activity {
        let is_last = run.is_final() && !self.is_shard;
        let committed = self.scheduler.committed();
        let retained = if is_last { Retained::None } else { Retained::From(committed) };
        if let Some((cell, value)) = left.pop() {
            let reader = self.cells[cell].write(run.index, run.incarnation, value, retained);
            last_reader = last_reader.max(reader);
        } else if let Some(cell) = old.pop() {
            let reader = self.cells[cell].remove_older(run.index, run.incarnation);
            last_reader = last_reader.max(reader);
        } else {
            let index = run.index;
            let writes = run.writes.iter().map(|(cell, _)| *cell).collect();
            let keeps_reads = self.is_shard || !run.is_final();
            let reads = if keeps_reads { run.reads } else { Vec::new() };
            self.logs[index as usize] = Log { reads, writes };
            return Activity::Asking(Some(Report::Finished { index, last_reader, logged: 0 }));
        }
        Activity::Publishing { run, left, old, last_reader }
    }

    fn validate(&mut self, index: u32, mut left: Vec<(usize, Option<u64>)>) -> Activity {
        match left.pop() {
            None => Activity::Asking(Some(Report::Valid { index })),
            Some((cell, seen)) if self.cells[cell].would_read(index, seen) => {
                Activity::Validating { index, left }
            }
            Some(_) => Activity::Marking { index, left: self.logs[index as usize].writes.clone() },
        }
    }

    fn mark(&mut self, index: u32, mut left: Vec<usize>) -> Activity {
        match left.pop() {
            None => Activity::Asking(Some(Report::Invalid { index })),
            Some(cell) => {
                self.cells[cell].mark_estimate(index);
                Activity::Marking { index, left }
            }
        }
    }
}

fn give_up(run: &Run, need: Option<u32>) -> Activity {
    let until = need.map_or(Until::Lowest, Until::Executed);
    Activity::Asking(Some(Report::GivenUp { index: run.index, until }))
}

/// Visits all states that can follow `first`, depth first. `next` returns the successors of a
/// state, and `end` gets each state without successors. Panics where a state can follow itself.
/// Returns the number of states.
fn explore<S: Clone + Debug + Eq + Hash>(
    first: S,
    next: impl Fn(&S) -> Vec<S>,
    mut end: impl FnMut(&S),
) -> usize {
    let (mut seen, mut path) = (HashSet::new(), HashSet::from([first.clone()]));
    let mut stack = vec![(next(&first), first)];
    while let Some((left, state)) = stack.last_mut() {
        match left.pop() {
            Some(after) if seen.contains(&after) => {}
            Some(after) => {
                assert!(path.insert(after.clone()), "a run that never ends: {after:#?}");
                let left = next(&after);
                if left.is_empty() {
                    end(&after);
                }
                stack.push((left, after));
            }
            None => {
                path.remove(state);
                seen.extend(stack.pop().map(|(_, state)| state));
            }
        }
    }
    seen.len()
}

/// Tries all interleavings. Returns the number of states.
fn try_all(programs: &[Program], links: &[u32], workers: usize) -> usize {
    let (expected, mut end_count) = (in_order(programs), 0);
    let next = |state: &ModelState| state.all_next(programs);
    let state_count = explore(ModelState::new(links, workers), next, |state| {
        let is_gone = state.workers.iter().all(|activity| *activity == Activity::Gone);
        assert!(is_gone, "nobody can go on: {state:#?}");
        let last = state.cells.iter().map(|cell| cell.last().map_or(0, |(_, value)| *value));
        assert_eq!(last.collect::<Vec<_>>(), expected, "{programs:?}: {state:#?}");
        end_count += 1;
    });
    assert!(end_count > 0, "{programs:?}: no run ended");
    state_count
}

fn without_links(programs: &[Program], workers: usize) -> usize {
    try_all(programs, &vec![NO_STEP; programs.len()], workers)
}

#[test]
fn a_chain_through_one_key_comes_out_as_in_order() {
    let step = vec![Op::Read(0), Op::Write(0)];
    for (steps, workers) in [(3, 2), (4, 2), (3, 3)] {
        let states = without_links(&vec![step.clone(); steps], workers);
        assert!(states > 100, "{states}");
    }
}

#[test]
fn steps_that_write_elsewhere_when_they_run_again_come_out_as_in_order() {
    let programs = [
        vec![Op::Write(0)],
        vec![Op::Read(0), Op::WriteIfEven(1), Op::Write(0)],
        vec![Op::Read(1), Op::WriteIfEven(0)],
        vec![Op::Read(0), Op::Read(1), Op::Write(1)],
    ];
    without_links(&programs, 2);
    without_links(&programs[..3], 3);
}

#[test]
fn who_needs_all_lower_steps_never_waits_when_nobody_can_run() {
    let programs = [
        vec![Op::Read(0), Op::Write(0)],
        vec![Op::NeedLowest, Op::Read(0), Op::Write(0)],
        vec![Op::Read(0), Op::NeedLowest, Op::Write(1)],
        vec![Op::Read(1), Op::Write(0)],
    ];
    for workers in [1, 2] {
        without_links(&programs, workers);
    }
    without_links(&programs[..3], 3);
}

#[test]
fn an_invalid_run_is_tried_again_after_its_predecessors() {
    let programs = [
        vec![Op::Write(0)],
        vec![Op::NeedNonZero(0), Op::Write(1)],
        vec![Op::NeedNonZero(1), Op::Read(0), Op::Write(0)],
    ];
    for workers in [1, 2, 3] {
        without_links(&programs, workers);
        try_all(&programs, &[NO_STEP, 0, 1], workers);
    }
}

#[test]
fn every_batch_of_three_short_steps_comes_out_as_in_order() {
    let read_write = |from, to| vec![Op::Read(from), Op::Write(to)];
    let shapes = [
        read_write(0, 0),
        read_write(0, 1),
        read_write(1, 0),
        vec![Op::Write(0)],
        vec![Op::Read(0), Op::WriteIfEven(1)],
        vec![Op::NeedLowest, Op::Read(1), Op::Write(0)],
    ];
    for first in &shapes {
        for second in &shapes {
            for third in &shapes {
                without_links(&[first.clone(), second.clone(), third.clone()], 2);
            }
        }
    }
}
