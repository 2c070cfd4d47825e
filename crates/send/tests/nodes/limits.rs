//! Laws of loads on nodes that are slow, busy or behind gateways. Temporary refusals are not final.
//! The time of a block does not depend on the reading of receipts. The number of calls under way
//! keeps its limit.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use send::{End, ErrorKind, Pace, Settings};

use super::{
    SEND, SENDERS, TRANSACTIONS, assert_all_once, count, driven, driven_by,
    fake::{BLOCK_INTERVAL, Fake, Fault, Loss},
    family, on_send, sent, settings,
};

const RECEIPTS: &str = "eth_getBlockReceipts";

#[test]
fn errors_of_a_gateway_with_a_body_of_json_rpc_are_not_final() {
    // Four errors for each sender, one after the other.
    for (status, code, kind) in [
        (503, -32603, ErrorKind::Internal),
        (502, 502, ErrorKind::Internal),
        (429, 429, ErrorKind::RateLimit),
    ] {
        let fault = move |index| (index < 4 * SENDERS).then_some(Fault::Gateway(status, code));
        let fake = Fake::start(on_send(fault));
        let measured = sent(&fake);
        assert_all_once(&fake, &measured);
        assert_eq!(measured.tally.failed, 0);
        assert_eq!(count(&measured, kind), 4 * SENDERS, "{:?}", measured.errors);
    }
}

#[test]
fn waits_for_a_full_pool_do_not_count_as_refusals() {
    let fake = Fake::start(on_send(|index| match index {
        ..80 => Some(Fault::Refuse("txpool is full")),
        80..90 => Some(Fault::Refuse("not now")),
        _ => None,
    }));
    let measured = sent(&fake);
    assert_all_once(&fake, &measured);
    assert_eq!((measured.tally.failed, count(&measured, ErrorKind::Rejected)), (0, 10));
}

#[test]
fn a_block_is_seen_when_it_is_there_and_not_when_receipts_of_others_were_told() {
    const LAG: Duration = Duration::from_millis(300);
    let fake = Fake::start(|_, asked| (asked.method == RECEIPTS).then_some(Fault::Lag(LAG)));
    let calm = Settings { timeout: Duration::from_secs(5), ..settings(&fake) };
    let measured = driven_by(calm, Pace::Rate(100.0), &AtomicBool::new(false));
    assert_all_once(&fake, &measured);
    let own: Vec<_> = measured.blocks.iter().filter(|block| block.own_tx_count > 0).collect();
    let near = |pair: &&[&send::Block]| pair[1].seen - pair[0].seen < LAG;
    let near_count = own.windows(2).filter(near).count();
    // Blocks come every 120 ms, and receipts of one take 300 ms.
    assert!(BLOCK_INTERVAL < LAG && near_count * 2 > own.len(), "{near_count} of {own:?}");
}

#[test]
fn a_node_that_asks_for_fewer_calls_is_not_asked_for_each_receipt() {
    let limit = |index| (index < 5).then_some(Fault::Status(429));
    let fake = Fake::start(
        move |_, asked| if asked.method == RECEIPTS { limit(asked.index) } else { None },
    );
    let measured = sent(&fake);
    assert_all_once(&fake, &measured);
    assert_eq!(fake.world().call_count("eth_getTransactionReceipt"), 0);
    let limited = measured.read_errors.iter().find(|of| of.kind == ErrorKind::RateLimit);
    assert_eq!(limited.map(|of_kind| of_kind.count), Some(5));
}

#[test]
fn reminders_are_among_the_calls_that_may_be_under_way() {
    const CONNECTIONS: usize = 4;
    let lag = Fault::Lag(Duration::from_millis(20));
    let fake = Fake::start(move |_, asked| {
        (asked.method == "eth_getTransactionByHash").then(|| lag.clone())
    });
    // Blocks are small, so most transactions wait long enough to be asked for.
    (fake.world().forgets, fake.world().block_tx_count) = (true, 5);
    let few = Settings {
        connection_count: CONNECTIONS,
        forgotten_after: Duration::from_millis(200),
        patience: Duration::from_secs(20),
        ..settings(&fake)
    };
    let measured = driven_by(few, Pace::Rate(1_000.0), &AtomicBool::new(false));
    assert_all_once(&fake, &measured);
    assert!(measured.attempts.resent > 0, "{:?}", measured.attempts);
    let most = fake.world().busy_count_max;
    assert!(most <= CONNECTIONS, "{most} calls at a time");
}

#[test]
fn a_reorganisation_below_the_start_of_the_load_is_followed_to_its_root() {
    let fake = Fake::start(|world, asked| {
        if asked.method == SEND && asked.index == 30 {
            world.reorganise(6, Loss::None);
        }
        None
    });
    (0..10).for_each(|_| fake.world().mine());
    // The first block of the new branch has the transactions of the pool, five blocks below the
    // start.
    let measured = sent(&fake);
    assert_all_once(&fake, &measured);
}

#[test]
fn a_taken_transaction_whose_nonce_is_used_by_another_is_signed_anew() {
    let sender = family().address(4).unwrap();
    let fake = Fake::start(move |world, asked| {
        if asked.method == SEND && asked.index == 50 {
            world.forget(sender);
            world.use_nonce(sender);
        }
        None
    });
    let measured = driven(&fake, Pace::Rate(400.0), &AtomicBool::new(false));
    assert_all_once(&fake, &measured);
    assert!(measured.attempts.signed_anew > 0, "{:?} {:?}", measured.attempts, measured.errors);
}

#[test]
fn a_node_that_answers_and_makes_no_block_without_work_is_not_silent() {
    let no_pool = Fault::Refuse("the method txpool_status does not exist");
    let fake =
        Fake::start(move |_, asked| (asked.method == "txpool_status").then(|| no_pool.clone()));
    fake.world().is_lazy = true;
    let stop = AtomicBool::new(false);
    let patient = Settings { patience: Duration::from_millis(600), ..settings(&fake) };
    let measured = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(1_800));
            stop.store(true, Ordering::Relaxed);
        });
        // The second transaction is due only after two seconds.
        driven_by(patient, Pace::Rate(0.5), &stop)
    });
    assert_eq!(measured.end, End::Interrupted, "{:?}", measured.tally);
    assert_eq!((measured.tally.included, measured.tally.unsent), (1, TRANSACTIONS - 1));
}
