//! Tests of the scheduler's limits; `model.rs` tries all interleavings.

use super::*;
use crate::engine::block_stm::window::MAX_DISTANCE;

fn claim_all(scheduler: &mut Scheduler) -> Vec<BlockAccessIndex> {
    let mut claimed = Vec::new();
    while let Task::Execute { index, .. } = scheduler.claim() {
        claimed.push(index);
    }
    claimed
}

fn finish(scheduler: &mut Scheduler, index: BlockAccessIndex, logged: u32) {
    scheduler.apply(Report::Finished { index, last_reader: None, logged });
}

#[test]
fn no_step_runs_further_ahead_of_the_commit_than_the_window() {
    let mut scheduler = Scheduler::new(&[NO_STEP; 2000], 64);
    let mut claimed = claim_all(&mut scheduler);
    for commit in 0..2000 {
        assert!(claimed.iter().all(|index| *index < scheduler.committed() + MAX_DISTANCE));
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
    assert_eq!(scheduler.ask_for_step(2, 1, Attempt::First), Answer::Wait);
    assert_eq!(scheduler.ask_for_lowest(1, Attempt::First), Answer::GiveUp);
    finish(&mut scheduler, 1, 1);
    assert_eq!(scheduler.ask_for_step(2, 1, Attempt::Again), Answer::GoOn);
    assert_eq!(scheduler.ask_for_lowest(2, Attempt::First), Answer::Wait);
}
