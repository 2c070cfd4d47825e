//! Laws of a node that claims to know a transaction already. The transaction counts as accepted
//! once the node shows it or a block has it. Otherwise the answer is an error.

use std::{sync::atomic::AtomicBool, time::Duration};

use send::{ErrorKind, Measured, Pace, Settings};

use super::{
    SEND, SENDERS, TRANSACTIONS, assert_all_once, count, driven_by,
    fake::{Fake, Fault},
    on_send, settings,
};

const LOOK: &str = "eth_getTransactionByHash";

/// Sends a load that never asks the node for forgotten transactions.
fn sent(fake: &Fake) -> Measured {
    let (timeout, forgotten_after) = (Duration::from_secs(3), Duration::from_secs(600));
    let calm = Settings { timeout, forgotten_after, ..settings(fake) };
    driven_by(calm, Pace::Rate(1_000.0), &AtomicBool::new(false))
}

#[test]
fn a_claim_to_know_what_the_node_does_not_have_is_counted_and_the_bytes_are_repeated() {
    for words in ["already known", "known transaction: 0x07", "AlreadyKnown"] {
        // Four claims for each sender, one after the other.
        const CLAIMS: u64 = 4 * SENDERS;
        let claim = move |index| (index < CLAIMS).then_some(Fault::Refuse(words));
        let fake = Fake::start(on_send(claim));
        let measured = sent(&fake);
        assert_all_once(&fake, &measured);
        assert_eq!(count(&measured, ErrorKind::ClaimedKnown), CLAIMS, "{:?}", measured.errors);
        assert_eq!((measured.tally.failed, measured.attempts.known), (0, 0));
        assert_eq!(measured.attempts.calls, TRANSACTIONS + CLAIMS);
        assert_eq!(fake.world().call_count(LOOK), CLAIMS, "one question for each claim alone");
    }
}

#[test]
fn a_node_that_only_claims_to_know_has_accepted_nothing() {
    const TRIES: u32 = 2;
    let fake = Fake::start(on_send(|_| Some(Fault::Refuse("already known"))));
    let hasty = Settings { temporary_refusal_count_max: TRIES, ..settings(&fake) };
    let measured = driven_by(hasty, Pace::Rate(1_000.0), &AtomicBool::new(false));
    assert_eq!((measured.tally.failed, measured.tally.pending), (TRANSACTIONS, 0));
    assert_eq!(measured.latencies.acceptance.ended.len(), 0);
    let claims = u64::from(TRIES) * TRANSACTIONS;
    assert_eq!(count(&measured, ErrorKind::ClaimedKnown), claims, "{:?}", measured.errors);
    assert!(fake.world().in_chain().is_empty());
}

#[test]
fn a_true_claim_is_an_earlier_success_and_no_error() {
    // The transactions taken before the hang-ups stay in the pool until nearly all are sent.
    let fake = Fake::start(|world, asked| {
        if asked.method == SEND && asked.index == TRANSACTIONS - SENDERS {
            world.block_tx_count = 1_000;
        }
        (asked.method == SEND && asked.index < SENDERS).then_some(Fault::HangUpAfter)
    });
    fake.world().block_tx_count = 0;
    let measured = sent(&fake);
    assert_all_once(&fake, &measured);
    assert!(measured.attempts.known > 0, "{:?} {:?}", measured.attempts, measured.errors);
    let kinds: Vec<ErrorKind> = measured.errors.iter().map(|of_kind| of_kind.kind).collect();
    assert_eq!(kinds, [ErrorKind::Connection], "{:?}", measured.errors);
    assert_eq!(fake.world().call_count(LOOK), measured.attempts.known, "one question for each");
    assert_eq!(measured.latencies.acceptance.ended.len(), TRANSACTIONS);
}

#[test]
fn a_nonce_that_the_transaction_itself_has_used_is_no_error() {
    // The transactions taken before the hang-ups are in a block when their bytes come again.
    let fake = Fake::start(|world, asked| {
        if asked.method == SEND && asked.index >= SENDERS && world.in_chain().is_empty() {
            world.mine();
        }
        (asked.method == SEND && asked.index < SENDERS).then_some(Fault::HangUpAfter)
    });
    let measured = sent(&fake);
    assert_all_once(&fake, &measured);
    assert!(measured.attempts.known > 0, "{:?} {:?}", measured.attempts, measured.errors);
    assert_eq!(count(&measured, ErrorKind::Nonce), 0, "{:?}", measured.errors);
}

#[test]
fn a_question_without_an_answer_accepts_nothing_and_the_bytes_are_repeated() {
    let fake = Fake::start(|_, asked| match (asked.method.as_str(), asked.index) {
        (SEND, ..SENDERS) => Some(Fault::Refuse("already known")),
        (LOOK, ..SENDERS) => Some(Fault::Status(500)),
        _ => None,
    });
    let measured = sent(&fake);
    assert_all_once(&fake, &measured);
    assert_eq!(count(&measured, ErrorKind::HttpStatus), SENDERS, "{:?}", measured.errors);
    assert_eq!(measured.attempts.known, 0);
}

#[test]
fn a_forgotten_transaction_that_the_node_claims_to_know_is_asked_for_again() {
    const CLAIMS: u64 = 10;
    // All are sent once before the first is sent again.
    let again = TRANSACTIONS..TRANSACTIONS + CLAIMS;
    let claim = move |index| again.contains(&index).then_some(Fault::Refuse("already known"));
    let fake = Fake::start(on_send(claim));
    fake.world().forgets = true;
    let measured = driven_by(settings(&fake), Pace::Rate(1_000.0), &AtomicBool::new(false));
    assert_all_once(&fake, &measured);
    assert!(measured.attempts.resent > 0, "{:?}", measured.attempts);
    assert_eq!(count(&measured, ErrorKind::ClaimedKnown), CLAIMS, "{:?}", measured.errors);
}
