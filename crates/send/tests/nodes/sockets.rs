//! Laws of a WebSocket. After a cut it is opened again, and nothing is lost or counted twice. A
//! node that does not come back is named.

use std::{sync::atomic::AtomicBool, time::Duration};

use send::{End, ErrorKind, Pace, Settings};

use super::{
    SEND, TRANSACTIONS, assert_all_once, count, driven, driven_by,
    fake::{Fake, Fault},
    on_send, settings,
};

#[test]
fn a_websocket_that_is_cut_before_or_after_a_transaction_is_opened_again_and_each_counts_once() {
    let fake = Fake::start_socket(on_send(|index| match index {
        40 | 130 => Some(Fault::HangUp),
        90 | 170 => Some(Fault::HangUpAfter),
        _ => None,
    }));
    let measured = driven(&fake, Pace::Rate(400.0), &AtomicBool::new(false));
    assert_all_once(&fake, &measured);
    assert_eq!(measured.tally.included, TRANSACTIONS);
    assert_eq!(fake.world().connection_count, 5, "one, and one after each cut");
    assert!(count(&measured, ErrorKind::Connection) >= 4, "{:?}", measured.errors);
}

#[test]
fn a_node_that_restarts_without_its_pool_gets_the_load_whole() {
    let fake = Fake::start_socket(|world, asked| {
        if asked.method == SEND && matches!(asked.index, 60 | 150) {
            world.restart(Duration::from_millis(900));
        }
        None
    });
    let measured = driven(&fake, Pace::Rate(400.0), &AtomicBool::new(false));
    assert_all_once(&fake, &measured);
    assert!(count(&measured, ErrorKind::Connection) > 0, "{:?}", measured.errors);
    assert_eq!(measured.end, End::Settled);
}

#[test]
fn calls_that_were_given_up_are_not_made_when_the_websocket_is_open_again() {
    // Calls wait for the connection for three time-outs.
    let fake = Fake::start_socket(|world, asked| {
        if asked.method == SEND && asked.index == 60 {
            world.cut(Duration::from_millis(1_300));
        }
        None
    });
    let measured = driven(&fake, Pace::InFlight(200), &AtomicBool::new(false));
    assert_all_once(&fake, &measured);
    // Only calls that were under way at the cut may come twice. Calls that were given up do not
    // come.
    let calls = fake.world().call_count(SEND);
    let most = TRANSACTIONS + settings(&fake).connection_count as u64;
    assert!(calls <= most, "{calls} calls of {TRANSACTIONS}");
    assert!(measured.attempts.calls > calls, "{:?}", measured.attempts);
}

#[test]
fn a_node_that_does_not_come_back_ends_the_load_with_the_reason() {
    let fake = Fake::start_socket(|world, asked| {
        if asked.method == SEND && asked.index == 100 {
            world.cut(Duration::from_secs(600));
        }
        None
    });
    let hasty = Settings { patience: Duration::from_secs(1), ..settings(&fake) };
    let measured = driven_by(hasty, Pace::Rate(400.0), &AtomicBool::new(false));
    assert_eq!(measured.end, End::Silent);
    assert!(measured.tally.pending > 0 && measured.tally.failed == 0, "{:?}", measured.tally);
    let failure = measured.last_failure.unwrap();
    assert_eq!(failure.kind, ErrorKind::Connection);
    assert!(failure.message.starts_with("no connection to the node for "), "{failure}");
    let in_chain = fake.world().in_chain().len() as u64;
    assert!(measured.tally.included <= in_chain, "{:?}", measured.tally);
}
