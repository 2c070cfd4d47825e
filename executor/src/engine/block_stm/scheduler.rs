//! Gives each worker its next task: a state machine of plain data. One lock guards it
//! (`shared_scheduler.rs`), so its transitions are exactly those that threads can interleave, and
//! `model.rs` tries all of them.
//!
//! ```text
//!            ┌──── given up ────┐
//!            ▼                  │
//! new     ─▶ Ready ──claim──▶ Executing ──finish──▶ Executed ──all lower committed──▶ committed
//!            ▲                                      │  ▲        and not dirty
//!            │                                claim │  │ nothing changed
//!            └────── a read value changed ────── Validating
//! ```
//!
//! A step is *dirty* if a lower step wrote a key after the step may have read it. The writing step
//! finds dirty steps, because each cell keeps the highest step that read it. A step that is not
//! dirty is committed without validation. A run of a step is *final* if all lower steps were
//! committed when the run began. No later write can make it dirty.
//!
//! The workers never all wait at once: a run may wait only while at least one other worker does not
//! wait. Otherwise the run is given up.
//!
//! On a shard of execution the steps of other shards are *remote*: they do not run here. Messages
//! with their writes make other steps dirty. A step is committed here only after the coordinator
//! has committed it, and only if it is executed and not dirty. So a run that differs from the run
//! that the coordinator committed is replaced first.

use workload::BlockAccessIndex;

use super::{
    task::{Answer, Attempt, Finality, Report, Task, Until},
    window::{RunEnd, Window},
};
use crate::shards::Speculation;

/// Link of a step that waits for no other step.
pub(super) const NO_STEP: BlockAccessIndex = BlockAccessIndex::MAX;
/// Largest number of steps that are examined in search of a step that can run.
const SEARCH_LIMIT: usize = 32;
/// On a shard, the window is larger by this factor, and by the number of shards as a second one. So
/// the shard has steps to run while a commit is under way to it.
const SHARD_STRETCH: u32 = 16;
/// Number of reads and writes in the logs of all uncommitted steps, above which only the lowest
/// uncommitted step may run. It limits the memory of the logs.
const MOST_LOGGED: u64 = 1 << 20;

/// The phase of a step, as in the header's figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// The step can run after this event.
    Ready(Until),
    Executing,
    Executed,
    Validating,
    /// Another shard runs the step.
    Remote {
        /// True once a message with the step's writes has come.
        has_run: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct StepState {
    phase: Phase,
    is_dirty: bool,
    /// Number of runs of the step so far.
    incarnation: u32,
    /// Number of reads and writes in the step's log.
    logged: u32,
}

/// The state machine that gives workers the steps of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Scheduler {
    steps: Vec<StepState>,
    worker_count: usize,
    /// Number of workers whose runs wait.
    waiting_count: usize,
    /// The lowest uncommitted step.
    committed: BlockAccessIndex,
    /// The steps that this process runs, ascending; `None` if it runs all steps.
    own: Option<Vec<BlockAccessIndex>>,
    /// The lowest step that must not be committed yet, because the coordinator has not committed
    /// it. Without shards, no step.
    finalized: BlockAccessIndex,
    /// Factor of the window's size; their product is the number of steps that may run ahead of the
    /// commit.
    stretch: u32,
    /// The lowest step that the search for tasks has not reached. No step from this one on was ever
    /// claimed.
    next: BlockAccessIndex,
    /// Position of the first step from `next` on among the steps that this process runs.
    next_own: usize,
    /// Steps before `next` that are ready to run or wait for an event, ascending.
    redo: Vec<BlockAccessIndex>,
    /// Steps that are executed and dirty, ascending.
    dirty: Vec<BlockAccessIndex>,
    /// Number of reads and writes in the logs of all uncommitted steps.
    logged: u64,
    window: Window,
    speculation: Speculation,
}

impl Scheduler {
    /// Makes a scheduler for `worker_count` workers. `links` has one element for each step: the
    /// step that must have executed before, or [`NO_STEP`].
    pub(super) fn new(links: &[BlockAccessIndex], worker_count: usize) -> Self {
        let steps = links.iter().map(|link| StepState {
            phase: Phase::Ready(if *link == NO_STEP { Until::Now } else { Until::Executed(*link) }),
            is_dirty: false,
            incarnation: 0,
            logged: 0,
        });
        Self {
            steps: steps.collect(),
            worker_count,
            waiting_count: 0,
            committed: 0,
            own: None,
            finalized: BlockAccessIndex::MAX,
            stretch: 1,
            next: 0,
            next_own: 0,
            redo: Vec::new(),
            dirty: Vec::new(),
            logged: 0,
            window: Window::new(worker_count),
            speculation: Speculation::default(),
        }
    }

    /// Makes this the scheduler of a shard that runs the steps `own`, ascending. No step is
    /// committed before [`Self::finalize`].
    pub(super) fn on_shard(mut self, own: &[BlockAccessIndex]) -> Self {
        let mut next_own = 0;
        for (step, index) in self.steps.iter_mut().zip(0..) {
            if own.get(next_own) == Some(&index) {
                next_own += 1;
            } else {
                step.phase = Phase::Remote { has_run: false };
            }
        }
        let shards = self.steps.len().div_ceil(own.len().max(1)) as u32;
        self.own = Some(own.to_vec());
        self.finalized = 0;
        self.stretch = shards.saturating_mul(SHARD_STRETCH);
        // A single worker must not get a window of 1, because other shards have workers, too.
        self.window = Window::new(self.worker_count.max(2));
        self
    }

    /// Lets all steps lower than `to` be committed.
    pub(super) fn finalize(&mut self, to: BlockAccessIndex) {
        self.finalized = self.finalized.max(to);
        self.commit();
    }

    /// Records that the step `index` of another shard has written keys. `last_reader` is the last
    /// step that may have read one of these keys.
    pub(super) fn apply_remote(
        &mut self,
        index: BlockAccessIndex,
        last_reader: Option<BlockAccessIndex>,
    ) {
        if let Phase::Remote { has_run } = &mut self.step_mut(index).phase {
            *has_run = true;
        }
        self.mark_dirty(index, last_reader);
    }

    /// Returns the lowest uncommitted step.
    pub(super) const fn committed(&self) -> BlockAccessIndex {
        self.committed
    }

    /// Returns the number of runs of each step.
    pub(super) fn incarnations(&self) -> impl Iterator<Item = u32> {
        self.steps.iter().map(|step| step.incarnation)
    }

    /// Returns the counts of the runs so far. The number of steps stays 0, and the engine sets it,
    /// because on a shard the steps here include those of other shards.
    pub(super) fn speculation(&self) -> Speculation {
        let mut speculation = self.speculation;
        for incarnation in self.incarnations() {
            let aborts = incarnation.saturating_sub(1);
            speculation.aborted_step_count += u64::from(aborts > 0);
            speculation.most_aborts_of_a_step =
                speculation.most_aborts_of_a_step.max(u64::from(aborts));
        }
        speculation
    }

    /// Returns whether a worker would get a task.
    pub(super) fn has_task(&self) -> bool {
        self.is_done() || self.choose().is_some()
    }

    /// Returns a worker's next task: the task of the lowest step that has one.
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
                self.speculation.validation_count += 1;
                Task::Validate { index }
            }
            Choice::Again(position) => {
                let index = self.redo.remove(position);
                self.execute(index)
            }
            Choice::New(index) => {
                while let Some(met) = self.own_at(self.next_own) {
                    self.next_own += 1;
                    if met == index {
                        break;
                    }
                    self.redo.push(met);
                }
                self.next = index + 1;
                self.execute(index)
            }
        }
    }

    /// Applies a worker's report.
    pub(super) fn apply(&mut self, report: Report) {
        match report {
            Report::Finished { index, last_reader, logged } => {
                self.finish(index, last_reader, logged);
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

    /// Answers the run of `index`, which read an estimate of the lower step `of`.
    pub(super) fn ask_for_step(
        &mut self,
        index: BlockAccessIndex,
        of: BlockAccessIndex,
        attempt: Attempt,
    ) -> Answer {
        debug_assert!(of < index, "step {index} asks for {of}");
        let wanted = match self.step(of).phase {
            _ if of < self.committed => Answer::GoOn,
            Phase::Executed | Phase::Remote { .. } => Answer::GoOn,
            Phase::Executing | Phase::Validating => Answer::Wait,
            Phase::Ready(_) => Answer::GiveUp,
        };
        self.answer(wanted, attempt)
    }

    /// Answers the run of `index`, which needs all lower steps committed.
    pub(super) fn ask_for_lowest(&mut self, index: BlockAccessIndex, attempt: Attempt) -> Answer {
        // With more uncommitted steps than this below it, the run is given up, and its thread takes
        // other tasks meanwhile.
        let near = self.worker_count as u64 * 2;
        let wanted = match u64::from(index - self.committed) {
            0 => Answer::GoOn,
            distance if attempt == Attempt::Again || distance <= near => Answer::Wait,
            _ => Answer::GiveUp,
        };
        self.answer(wanted, attempt)
    }

    fn answer(&mut self, wanted: Answer, attempt: Attempt) -> Answer {
        match (wanted, attempt) {
            (Answer::Wait, Attempt::First) if self.waiting_count + 1 >= self.worker_count => {
                Answer::GiveUp
            }
            (Answer::Wait, Attempt::First) => {
                self.waiting_count += 1;
                self.speculation.wait_count += 1;
                Answer::Wait
            }
            (Answer::GoOn | Answer::GiveUp, Attempt::Again) => {
                self.waiting_count -= 1;
                wanted
            }
            (Answer::Wait, Attempt::Again) | (_, Attempt::First) => wanted,
        }
    }

    fn is_done(&self) -> bool {
        let count = self.steps.len();
        // On a shard, remaining tasks are useless once the coordinator has committed all steps.
        self.committed as usize == count || self.finalized as usize == count
    }

    fn step(&self, index: BlockAccessIndex) -> &StepState {
        &self.steps[index as usize]
    }

    fn step_mut(&mut self, index: BlockAccessIndex) -> &mut StepState {
        &mut self.steps[index as usize]
    }

    /// Returns the task of the lowest step that has one.
    fn choose(&self) -> Option<Choice> {
        let again = self.redo.iter().take(SEARCH_LIMIT).position(|index| self.can_run(*index));
        let validate = self.dirty.first().copied();
        let again_index = again.map(|position| self.redo[position]);
        if let Some(index) = validate
            && again_index.is_none_or(|again| index < again)
        {
            return Some(Choice::Validate(index));
        }
        again.map(Choice::Again).or_else(|| self.new_step().map(Choice::New))
    }

    /// Returns the first step that can run among the steps from `next` on.
    fn new_step(&self) -> Option<BlockAccessIndex> {
        let room = SEARCH_LIMIT.saturating_sub(self.redo.len());
        let end = self.committed.saturating_add(self.distance());
        let positions = self.next_own..self.next_own.saturating_add(room);
        positions
            .map_while(|position| self.own_at(position))
            .take_while(|index| *index < end)
            .find(|index| self.can_run(*index))
    }

    /// Returns the step at this position among the steps that this process runs.
    fn own_at(&self, position: usize) -> Option<BlockAccessIndex> {
        match &self.own {
            None => (position < self.steps.len()).then_some(position as BlockAccessIndex),
            Some(own) => own.get(position).copied(),
        }
    }

    /// Returns the number of steps, from the lowest uncommitted one on, that may run. A window of 1
    /// is not stretched, so that all shards together run one step at a time.
    const fn distance(&self) -> u32 {
        match self.window.size() {
            1 => 1,
            size => size.saturating_mul(self.stretch),
        }
    }

    fn can_run(&self, index: BlockAccessIndex) -> bool {
        if index == self.committed {
            return true;
        }
        if self.logged > MOST_LOGGED {
            return false;
        }
        match self.step(index).phase {
            Phase::Ready(Until::Now) => index - self.committed < self.distance(),
            Phase::Ready(Until::Executed(lower)) => {
                lower < self.committed
                    || matches!(
                        self.step(lower).phase,
                        Phase::Executed | Phase::Validating | Phase::Remote { has_run: true }
                    )
            }
            _ => false,
        }
    }

    fn execute(&mut self, index: BlockAccessIndex) -> Task {
        let is_lowest = index == self.committed;
        let finality = if is_lowest { Finality::Final } else { Finality::Speculative };
        self.speculation.execution_count += 1;
        let step = self.step_mut(index);
        (step.phase, step.is_dirty) = (Phase::Executing, false);
        step.incarnation += 1;
        Task::Execute { index, incarnation: step.incarnation, finality }
    }

    fn finish(
        &mut self,
        index: BlockAccessIndex,
        last_reader: Option<BlockAccessIndex>,
        logged: u32,
    ) {
        debug_assert_eq!(self.step(index).phase, Phase::Executing);
        self.window.note(RunEnd::Completed);
        self.step_mut(index).logged = logged;
        self.logged += u64::from(logged);
        self.mark_dirty(index, last_reader);
        self.executed(index);
    }

    /// Marks the steps after `index` as dirty, up to `last_reader`: the last step that may have
    /// read a key that the step `index` wrote.
    fn mark_dirty(&mut self, index: BlockAccessIndex, last_reader: Option<BlockAccessIndex>) {
        let end = last_reader.map_or(0, |last| last.saturating_add(1)).min(self.next);
        // Committed steps are not marked: a late write from another shard does not concern them.
        for reader in (index + 1).max(self.committed)..end {
            let step = self.step_mut(reader);
            let was_dirty = std::mem::replace(&mut step.is_dirty, true);
            if step.phase == Phase::Executed && !was_dirty {
                insert(&mut self.dirty, reader);
            }
        }
    }

    fn executed(&mut self, index: BlockAccessIndex) {
        let step = self.step_mut(index);
        step.phase = Phase::Executed;
        if step.is_dirty {
            insert(&mut self.dirty, index);
        }
    }

    fn ready_again(&mut self, index: BlockAccessIndex, until: Until) {
        self.speculation.abort_count += 1;
        self.window.note(RunEnd::Aborted);
        self.step_mut(index).phase = Phase::Ready(until);
        insert(&mut self.redo, index);
    }

    fn commit(&mut self) {
        while let Some(step) = self.steps.get(self.committed as usize)
            && self.committed < self.finalized
            && (matches!(step.phase, Phase::Remote { .. })
                || step.phase == Phase::Executed && !step.is_dirty)
        {
            self.logged -= u64::from(step.logged);
            self.committed += 1;
        }
    }
}

/// The next task of a worker, before it is claimed.
enum Choice {
    /// Validate this step.
    Validate(BlockAccessIndex),
    /// Run the step at this position of `redo`.
    Again(usize),
    /// Run this step from `next` on.
    New(BlockAccessIndex),
}

fn insert(sorted: &mut Vec<BlockAccessIndex>, index: BlockAccessIndex) {
    if let Err(position) = sorted.binary_search(&index) {
        sorted.insert(position, index);
    }
}

#[cfg(test)]
mod tests;
