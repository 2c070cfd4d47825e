//! The messages between the scheduler and its workers, as plain data: tasks, reports, and the
//! answers to a run that cannot go on.

use workload::BlockAccessIndex;

/// The event that a step waits for before it can run or go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Until {
    /// No event: the step need not wait.
    Now,
    /// This lower step has executed.
    Executed(BlockAccessIndex),
    /// All lower steps are committed.
    Lowest,
}

/// The certainty of the values that a run reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Finality {
    /// All lower steps are committed, so the run's reads are final.
    Final,
    /// Lower steps may still write keys that the run reads.
    Speculative,
}

/// The next task of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Task {
    /// Run this step.
    Execute {
        /// The step.
        index: BlockAccessIndex,
        /// Number of this run of the step, from 1 on.
        incarnation: u32,
        /// The certainty of the values that the run reads.
        finality: Finality,
    },
    /// Validate: compare the step's reads with the present values.
    Validate {
        /// The step.
        index: BlockAccessIndex,
    },
    /// No task until a report or a message changes the scheduler.
    Idle,
    /// No task is left.
    Done,
}

/// The report of a worker that is done with a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Report {
    /// A step ran to its end and its writes can be read.
    Finished {
        /// The step.
        index: BlockAccessIndex,
        /// The highest step that may have read a key that this step has now written.
        last_reader: Option<BlockAccessIndex>,
        /// Number of reads and writes in the step's log.
        logged: u32,
    },
    /// A run was given up.
    GivenUp {
        /// The step.
        index: BlockAccessIndex,
        /// The event after which the step may run again.
        until: Until,
    },
    /// The step would still read the values that it has read.
    Valid {
        /// The step.
        index: BlockAccessIndex,
    },
    /// The step would now read another value; its writes are marked as estimates.
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

/// Whether a run asks for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Attempt {
    /// The run asks for the first time.
    First,
    /// The run was told to wait, and has waited.
    Again,
}
