//! Laws of reorganisations after the last block of a load: transactions whose inclusion they undo
//! are pending again, and do not count as included.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use send::{Confirmations, End, Measured, Pace, Settings};

use super::{
    SEND, TRANSACTIONS, assert_all_once, driven_by,
    fake::{Fake, Fault, Loss},
    settings,
};

/// Number of calls for a block, once all of the load is in blocks, before the reorganisation. The
/// load has then read the last block.
const LOOKS: u64 = 4;

/// A node that reorganises its last blocks once, some time after all of the load is in blocks. From
/// then on it refuses transactions with the message `refusal`, if there is one.
fn reorganising(refusal: Option<&'static str>) -> Fake {
    let (looks, is_done) = (AtomicU64::new(0), AtomicBool::new(false));
    Fake::start(move |world, asked| {
        let is_whole = world.in_chain().len() as u64 == TRANSACTIONS;
        let is_look = asked.method == "eth_getBlockByNumber";
        if is_whole && is_look && looks.fetch_add(1, Ordering::Relaxed) == LOOKS {
            let depth = world.confirmations() + 1;
            world.reorganise(depth, Loss::All);
            is_done.store(true, Ordering::Relaxed);
        }
        let is_refused = asked.method == SEND && is_done.load(Ordering::Relaxed);
        refusal.filter(|_| is_refused).map(Fault::Refuse)
    })
}

fn confirmed(fake: &Fake, confirmation_count: u64) -> Measured {
    let patience = Duration::from_secs(2);
    let settings = Settings { confirmation_count, patience, ..settings(fake) };
    driven_by(settings, Pace::Rate(1_000.0), &AtomicBool::new(false))
}

#[test]
fn transactions_that_fall_out_after_the_last_block_are_sent_again() {
    let fake = reorganising(None);
    let measured = confirmed(&fake, 12);
    assert_all_once(&fake, &measured);
    assert_eq!(measured.reorgs.count, 1, "{:?}", measured.reorgs);
    assert!(measured.reorgs.undone_inclusions > 0, "{:?}", measured.reorgs);
    assert!(measured.attempts.resent > 0, "{:?}", measured.attempts);
    let Confirmations { wanted, seen } = measured.confirmations;
    assert!(wanted == 12 && seen >= wanted, "{seen}");
}

#[test]
fn transactions_that_fall_out_and_get_into_no_other_block_are_not_included() {
    let fake = reorganising(Some("txpool is full"));
    let measured = confirmed(&fake, 12);
    let (tally, on_chain) = (measured.tally, fake.world().in_chain().len() as u64);
    assert!(on_chain < TRANSACTIONS, "some fell out");
    assert_eq!((tally.included, tally.pending), (on_chain, TRANSACTIONS - on_chain));
    assert_eq!(measured.end, End::Stuck);
    assert!(!tally.is_all_included());
}

#[test]
fn a_node_that_makes_no_block_without_work_is_not_waited_for_beyond_patience() {
    let fake = Fake::start(|_, _| None);
    fake.world().is_lazy = true;
    let measured = confirmed(&fake, 2);
    assert_all_once(&fake, &measured);
    assert_eq!(measured.confirmations, Confirmations { wanted: 2, seen: 0 });
    assert_eq!(measured.end, End::Settled);
}
