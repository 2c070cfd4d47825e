//! The order of work: a state machine of plain values. One lock guards it (`board.rs`), so its
//! transitions are exactly those that threads can interleave, and `model.rs` tries all of them.
//!
//! ```text
//!            ┌────────────── given up ──────────────┐
//!            ▼                                      │
//! not met ─▶ Ready ──claim──▶ Executing ──finish──▶ Executed ──all lower committed──▶ committed
//!            ▲                                      │  ▲        and not dirty
//!            │                                claim │  │ nothing changed
//!            └────── what it read changed ────── Validating
//! ```
//! A step is *dirty* when a lower step wrote a key that it may have read before. Whoever writes
//! knows, because a cell remembers the highest step that read it; so a step that nobody disturbed
//! is committed without being validated. When the lowest step that is not committed runs from its
//! start, nobody can disturb it: its run is *final*.
//!
//! Nobody waits when nobody can run: a step may wait only while another worker does not.

use workload::BlockAccessIndex;

use super::window::{LARGEST, Ran, Window};

/// The step that nothing is linked to.
pub(super) const NO_STEP: BlockAccessIndex = BlockAccessIndex::MAX;
/// Number of steps that cannot run yet and are passed over in search of one that can.
const LOOK: usize = 32;
/// Reads and writes of steps that are executed and not committed, above which only the lowest
/// step may run.
const MOST_LOGGED: u64 = 1 << 20;

/// The event that a ready step waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Until {
    /// Nothing.
    Now,
    /// This lower step has executed.
    Executed(BlockAccessIndex),
    /// All lower steps are committed.
    Lowest,
}

/// The certainty of the values that a run reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Finality {
    /// All lower steps are committed: its reads are final.
    Final,
    /// Lower steps may still write keys that it reads.
    Speculative,
}

/// The next task of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Task {
    /// Run this step.
    Execute {
        /// The step.
        index: BlockAccessIndex,
        /// Number of its runs, this one included.
        incarnation: u32,
        /// The certainty of the values that it reads.
        finality: Finality,
    },
    /// Validate: compare the step's reads with the present values.
    Validate {
        /// The step.
        index: BlockAccessIndex,
    },
    /// Nothing, until something changes.
    Idle,
    /// Nothing any more.
    Done,
}

/// The report of a worker that is done with a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Report {
    /// A step ran to its end and its writes can be read.
    Finished {
        /// The step.
        index: BlockAccessIndex,
        /// The highest step that may have read a key that this one has now written.
        readers_to: Option<BlockAccessIndex>,
        /// Reads and writes that are kept for it.
        logged: u32,
    },
    /// A run was given up.
    GivenUp {
        /// The step.
        index: BlockAccessIndex,
        /// The condition under which it may run again.
        until: Until,
    },
    /// The step would still read the values that it has read.
    Valid {
        /// The step.
        index: BlockAccessIndex,
    },
    /// It is not; the step's writes are marked as estimates.
    Invalid {
        /// The step.
        index: BlockAccessIndex,
    },
}

/// The answer to a run that cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Answer {
    /// Go on: the awaited value is there.
    GoOn,
    /// Ask again when something has changed.
    Wait,
    /// Give the run up.
    GiveUp,
}

/// The state of a run that asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Asking {
    /// It asks for the first time.
    First,
    /// It was told to wait, and has.
    Again,
}

/// Counts of the work that was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Counts {
    pub(super) executions: u64,
    pub(super) validations: u64,
    pub(super) aborts: u64,
    pub(super) waits: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Ready(Until),
    Executing,
    Executed,
    Validating,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct StepState {
    phase: Phase,
    is_dirty: bool,
    incarnation: u32,
    logged: u32,
}

/// The state machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Scheduler {
    steps: Vec<StepState>,
    worker_count: usize,
    /// Workers whose run waits.
    waiting_count: usize,
    /// All steps below are committed.
    committed: BlockAccessIndex,
    /// All steps from here on were never looked at.
    next: BlockAccessIndex,
    /// Steps below `next` that are ready, ascending.
    redo: Vec<BlockAccessIndex>,
    /// Steps that are executed and dirty, ascending.
    dirty: Vec<BlockAccessIndex>,
    logged: u64,
    window: Window,
    counts: Counts,
}

impl Scheduler {
    /// For `worker_count` workers and as many steps as `links` has; `links` says of each the
    /// step that must have executed before it begins, or [`NO_STEP`].
    pub(super) fn new(links: &[BlockAccessIndex], worker_count: usize) -> Self {
        let ready = |link: &BlockAccessIndex| StepState {
            phase: Phase::Ready(if *link == NO_STEP { Until::Now } else { Until::Executed(*link) }),
            is_dirty: false,
            incarnation: 0,
            logged: 0,
        };
        Self {
            steps: links.iter().map(ready).collect(),
            worker_count,
            waiting_count: 0,
            committed: 0,
            next: 0,
            redo: Vec::new(),
            dirty: Vec::new(),
            logged: 0,
            window: Window::new(worker_count),
            counts: Counts::default(),
        }
    }

    /// All steps below are committed.
    pub(super) const fn committed(&self) -> BlockAccessIndex {
        self.committed
    }

    /// Counts of the work so far.
    pub(super) const fn counts(&self) -> Counts {
        self.counts
    }

    /// Number of runs of each step.
    pub(super) fn incarnations(&self) -> impl Iterator<Item = u32> {
        self.steps.iter().map(|step| step.incarnation)
    }

    /// Returns whether a worker would get a task.
    pub(super) fn has_task(&self) -> bool {
        self.is_done() || self.choose().is_some()
    }

    /// Gives a worker the lowest thing to do.
    pub(super) fn claim(&mut self) -> Task {
        if self.is_done() {
            return Task::Done;
        }
        let Some(choice) = self.choose() else { return Task::Idle };
        match choice {
            Choice::Validate(index) => {
                self.dirty.remove(0);
                let step = self.step_mut(index);
                (step.phase, step.is_dirty) = (Phase::Validating, false);
                self.counts.validations += 1;
                Task::Validate { index }
            }
            Choice::Again(place) => {
                let index = self.redo.remove(place);
                self.execute(index)
            }
            Choice::New(index) => {
                self.redo.extend(self.next..index);
                self.next = index + 1;
                self.execute(index)
            }
        }
    }

    /// Takes in a worker's result.
    pub(super) fn take(&mut self, report: Report) {
        match report {
            Report::Finished { index, readers_to, logged } => {
                self.finish(index, readers_to, logged);
            }
            Report::GivenUp { index, until } => self.ready_again(index, until),
            Report::Valid { index } => self.executed(index),
            Report::Invalid { index } => {
                self.logged -= u64::from(self.step(index).logged);
                self.ready_again(index, Until::Now);
            }
        }
        self.commit();
    }

    /// Answers the run of `index`, which met an estimate of the lower step `of`.
    pub(super) fn ask_for_step(
        &mut self,
        index: BlockAccessIndex,
        of: BlockAccessIndex,
        asking: Asking,
    ) -> Answer {
        debug_assert!(of < index, "step {index} asks for {of}");
        let wanted = match self.step(of).phase {
            _ if of < self.committed => Answer::GoOn,
            Phase::Executed => Answer::GoOn,
            Phase::Executing | Phase::Validating => Answer::Wait,
            Phase::Ready(_) => Answer::GiveUp,
        };
        self.answer(wanted, asking)
    }

    /// Answers the run of `index`, which needs all lower steps committed.
    pub(super) fn ask_for_lowest(&mut self, index: BlockAccessIndex, asking: Asking) -> Answer {
        let near = self.worker_count as u64 * 2;
        let wanted = match u64::from(index - self.committed) {
            0 => Answer::GoOn,
            distance if asking == Asking::Again || distance <= near => Answer::Wait,
            _ => Answer::GiveUp,
        };
        self.answer(wanted, asking)
    }

    fn answer(&mut self, wanted: Answer, asking: Asking) -> Answer {
        let waits = asking == Asking::Again;
        match (wanted, asking) {
            (Answer::Wait, Asking::First) if self.waiting_count + 1 >= self.worker_count => {
                Answer::GiveUp
            }
            (Answer::Wait, Asking::First) => {
                self.waiting_count += 1;
                self.counts.waits += 1;
                Answer::Wait
            }
            (Answer::Wait, Asking::Again) => Answer::Wait,
            (answer, _) => {
                self.waiting_count -= usize::from(waits);
                answer
            }
        }
    }

    fn is_done(&self) -> bool {
        self.committed as usize == self.steps.len()
    }

    fn step(&self, index: BlockAccessIndex) -> &StepState {
        &self.steps[index as usize]
    }

    fn step_mut(&mut self, index: BlockAccessIndex) -> &mut StepState {
        &mut self.steps[index as usize]
    }

    /// The lowest possible task.
    fn choose(&self) -> Option<Choice> {
        let again = self.redo.iter().take(LOOK).position(|index| self.can_run(*index));
        let validate = self.dirty.first().copied();
        let again_index = again.map(|place| self.redo[place]);
        if let Some(index) = validate
            && again_index.is_none_or(|again| index < again)
        {
            return Some(Choice::Validate(index));
        }
        again.map(Choice::Again).or_else(|| self.new_step().map(Choice::New))
    }

    /// The first step that was never looked at and can run.
    fn new_step(&self) -> Option<BlockAccessIndex> {
        let room = LOOK.saturating_sub(self.redo.len()) as u32;
        let end = (self.committed.saturating_add(self.window.size()))
            .min(self.next.saturating_add(room))
            .min(self.steps.len() as u32);
        (self.next..end).find(|index| self.can_run(*index))
    }

    fn can_run(&self, index: BlockAccessIndex) -> bool {
        if index == self.committed {
            return true;
        }
        if self.logged > MOST_LOGGED {
            return false;
        }
        match self.step(index).phase {
            Phase::Ready(Until::Now) => index - self.committed < self.window.size(),
            Phase::Ready(Until::Executed(lower)) => {
                lower < self.committed
                    || matches!(self.step(lower).phase, Phase::Executed | Phase::Validating)
            }
            _ => false,
        }
    }

    fn execute(&mut self, index: BlockAccessIndex) -> Task {
        let is_lowest = index == self.committed;
        let finality = if is_lowest { Finality::Final } else { Finality::Speculative };
        self.counts.executions += 1;
        let step = self.step_mut(index);
        (step.phase, step.is_dirty) = (Phase::Executing, false);
        step.incarnation += 1;
        Task::Execute { index, incarnation: step.incarnation, finality }
    }

    fn finish(
        &mut self,
        index: BlockAccessIndex,
        readers_to: Option<BlockAccessIndex>,
        logged: u32,
    ) {
        debug_assert_eq!(self.step(index).phase, Phase::Executing);
        self.window.note(Ran::ToItsEnd);
        self.step_mut(index).logged = logged;
        self.logged += u64::from(logged);
        let end = readers_to.map_or(0, |last| last.saturating_add(1)).min(self.next);
        for reader in index + 1..end {
            let step = self.step_mut(reader);
            let was_dirty = std::mem::replace(&mut step.is_dirty, true);
            if step.phase == Phase::Executed && !was_dirty {
                insert(&mut self.dirty, reader);
            }
        }
        self.executed(index);
    }

    fn executed(&mut self, index: BlockAccessIndex) {
        let step = self.step_mut(index);
        step.phase = Phase::Executed;
        if step.is_dirty {
            insert(&mut self.dirty, index);
        }
    }

    fn ready_again(&mut self, index: BlockAccessIndex, until: Until) {
        self.counts.aborts += 1;
        self.window.note(Ran::Aborted);
        self.step_mut(index).phase = Phase::Ready(until);
        insert(&mut self.redo, index);
    }

    fn commit(&mut self) {
        while let Some(step) = self.steps.get(self.committed as usize)
            && step.phase == Phase::Executed
            && !step.is_dirty
        {
            self.logged -= u64::from(step.logged);
            self.committed += 1;
        }
    }
}

enum Choice {
    Validate(BlockAccessIndex),
    /// The place in `redo`.
    Again(usize),
    New(BlockAccessIndex),
}

fn insert(sorted: &mut Vec<BlockAccessIndex>, index: BlockAccessIndex) {
    if let Err(place) = sorted.binary_search(&index) {
        sorted.insert(place, index);
    }
}

/// Steps that are met and not committed never are more than this.
pub(super) const MOST_UNCOMMITTED: u32 = LARGEST;

#[cfg(test)]
mod tests {
    use super::*;

    fn claim_all(scheduler: &mut Scheduler) -> Vec<BlockAccessIndex> {
        let mut claimed = Vec::new();
        while let Task::Execute { index, .. } = scheduler.claim() {
            claimed.push(index);
        }
        claimed
    }

    fn finish(scheduler: &mut Scheduler, index: BlockAccessIndex, logged: u32) {
        scheduler.take(Report::Finished { index, readers_to: None, logged });
    }

    #[test]
    fn no_step_runs_further_ahead_of_the_commit_than_the_window() {
        let mut scheduler = Scheduler::new(&[NO_STEP; 2000], 64);
        let mut claimed = claim_all(&mut scheduler);
        for commit in 0..2000 {
            assert!(claimed.iter().all(|index| *index < scheduler.committed() + MOST_UNCOMMITTED));
            // Lowest last, so that many are executed and not committed.
            for index in claimed.drain(1..).rev() {
                finish(&mut scheduler, index, 1);
            }
            assert_eq!(claimed, [scheduler.committed()], "{commit}");
            finish(&mut scheduler, claimed[0], 1);
            claimed = claim_all(&mut scheduler);
            if claimed.is_empty() {
                break;
            }
        }
        assert_eq!((scheduler.claim(), scheduler.committed()), (Task::Done, 2000));
    }

    #[test]
    fn while_too_much_is_logged_only_the_lowest_step_runs() {
        let mut scheduler = Scheduler::new(&[NO_STEP; 100], 2);
        assert_eq!(claim_all(&mut scheduler).len(), 16);
        for index in (1..16).rev() {
            finish(&mut scheduler, index, 1 << 18);
        }
        assert_eq!(scheduler.claim(), Task::Idle);
        finish(&mut scheduler, 0, 1);
        assert_eq!((scheduler.committed(), scheduler.logged), (16, 0));
        assert_eq!(claim_all(&mut scheduler).len(), 16);
    }

    #[test]
    fn the_last_worker_that_does_not_wait_may_not() {
        let mut scheduler = Scheduler::new(&[NO_STEP; 3], 2);
        assert_eq!(claim_all(&mut scheduler), [0, 1, 2]);
        assert_eq!(scheduler.ask_for_step(2, 1, Asking::First), Answer::Wait);
        assert_eq!(scheduler.ask_for_lowest(1, Asking::First), Answer::GiveUp);
        finish(&mut scheduler, 1, 1);
        assert_eq!(scheduler.ask_for_step(2, 1, Asking::Again), Answer::GoOn);
        assert_eq!(scheduler.ask_for_lowest(2, Asking::First), Answer::Wait);
    }
}
