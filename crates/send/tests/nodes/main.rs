//! Loads on a fake node that fails: nothing is counted twice, nothing is lost, and each error has
//! its kind.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use alloy_primitives::{Address, B256, U256};
use send::{End, ErrorKind, Funder, Measured, NodeUrl, Pace, Plan, Session, Settings};
use workload::{
    Batch, Block, Genesis, SenderFamily, Transaction, Workload,
    block::{IndexRange, Plan as Touched},
};

use self::fake::{Fake, Fault, Loss};

mod fake;
mod funds;
mod known;
mod limits;
mod policy;
mod reorganised;
mod sockets;

const SENDERS: u64 = 20;
const TRANSACTIONS: u64 = 200;
const SEND: &str = "eth_sendRawTransaction";

fn family() -> SenderFamily {
    SenderFamily { first_secret: B256::repeat_byte(3), count: SENDERS, balance: U256::ONE }
}

/// A plan of payments, ten for each sender.
fn plan() -> Plan {
    let senders = family().addresses(0..SENDERS).unwrap();
    let tx = |index: u64| Transaction {
        sender: senders[(index % SENDERS) as usize],
        to: Some(Address::repeat_byte(9)),
        value: U256::from(index),
        gas_limit: 21_000,
        ..Transaction::default()
    };
    let block = Block { transactions: (0..TRANSACTIONS).map(tx).collect(), ..Block::default() };
    let touched = vec![IndexRange { family: 0, start: 0, count: SENDERS }];
    let plan = Touched { senders: touched, ..Touched::default() };
    let batches = vec![Batch { blocks: vec![block], plan, ..Batch::default() }];
    let genesis = Genesis { senders: vec![family()], ..Genesis::default() };
    Plan::new(&Workload { genesis, batches, ..Workload::default() }).unwrap()
}

fn settings(fake: &Fake) -> Settings {
    Settings {
        url: NodeUrl::new(&fake.url),
        chain_id: None,
        timeout: Duration::from_millis(400),
        connection_count: 16,
        patience: Duration::from_secs(4),
        forgotten_after: Duration::from_millis(500),
        temporary_refusal_count_max: 32,
        confirmation_count: 0,
    }
}

fn driven(fake: &Fake, pace: Pace, stop: &AtomicBool) -> Measured {
    driven_by(settings(fake), pace, stop)
}

fn driven_by(settings: Settings, pace: Pace, stop: &AtomicBool) -> Measured {
    let mut plan = plan();
    let session = Session::connect(settings, stop).unwrap();
    let ready = session.setup(&mut plan, &Funder::Node, stop, &|_, _| ()).unwrap();
    let measured = session.drive(&plan, ready, pace, stop, &|_| ()).unwrap();
    let tally = measured.tally;
    assert_eq!(tally.planned, TRANSACTIONS);
    assert_eq!(tally.planned, tally.sent + tally.unsent, "{tally:?}");
    let settled = tally.included + tally.reverted + tally.failed;
    assert_eq!(tally.sent, settled + tally.pending, "{tally:?}");
    measured
}

/// Sends 1,000 transactions a second.
fn sent(fake: &Fake) -> Measured {
    driven(fake, Pace::Rate(1_000.0), &AtomicBool::new(false))
}

/// Asserts that each transaction of the load is in the chain once, also by the load's figures.
fn assert_all_once(fake: &Fake, measured: &Measured) {
    let in_chain = fake.world().in_chain();
    let distinct: BTreeSet<B256> = in_chain.iter().copied().collect();
    assert_eq!(in_chain.len() as u64, TRANSACTIONS, "{measured:?}");
    assert_eq!(distinct.len(), in_chain.len());
    assert_eq!(measured.tally.included + measured.tally.reverted, TRANSACTIONS);
    assert_eq!(measured.attempts.double_inclusions, 0);
    let own: u64 = measured.blocks.iter().map(|block| block.own_tx_count).sum();
    assert_eq!(own, TRANSACTIONS, "the blocks of the books have them");
}

fn count(measured: &Measured, kind: ErrorKind) -> u64 {
    measured.errors.iter().find(|of_kind| of_kind.kind == kind).map_or(0, |of_kind| of_kind.count)
}

/// A script with faults only of calls that send a transaction, by the index of the call.
fn on_send(
    fault: impl Fn(u64) -> Option<Fault> + Send + Sync + 'static,
) -> impl Fn(&mut fake::World, &fake::Asked) -> Option<Fault> + Send + Sync + 'static {
    move |_, asked| if asked.method == SEND { fault(asked.index) } else { None }
}

#[test]
fn a_node_without_faults_takes_all_at_once_by_every_pace() {
    for pace in [Pace::Rate(500.0), Pace::InFlight(40), Pace::PoolDepth(50)] {
        let fake = Fake::start(|_, _| None);
        let measured = driven(&fake, pace, &AtomicBool::new(false));
        assert_all_once(&fake, &measured);
        assert_eq!(measured.tally.included, TRANSACTIONS);
        assert_eq!((measured.errors.len(), measured.attempts.calls), (0, TRANSACTIONS), "{pace:?}");
        let inclusion = &measured.latencies.inclusion;
        assert_eq!((inclusion.ended.len(), inclusion.open.len()), (TRANSACTIONS, 0));
        // Blocks come every 120 ms, and no load takes a minute.
        let (shortest, longest) = (Duration::from_micros(100), Duration::from_secs(60));
        let times = shortest.as_nanos()..longest.as_nanos();
        assert!(times.contains(&u128::from(inclusion.ended.max())), "{pace:?}");
        assert!(!measured.pool.is_empty());
    }
}

#[test]
fn answers_that_are_errors_of_http_are_repeated_and_counted() {
    let fake = Fake::start(on_send(|index| (index % 3 == 0).then_some(Fault::Status(500))));
    let measured = sent(&fake);
    assert_all_once(&fake, &measured);
    assert!(count(&measured, ErrorKind::HttpStatus) >= TRANSACTIONS / 3, "{:?}", measured.errors);
    assert_eq!(measured.attempts.retries, count(&measured, ErrorKind::HttpStatus));
    assert!(measured.errors[0].first.contains("500"), "{:?}", measured.errors);
}

#[test]
fn a_node_that_hangs_up_before_or_after_it_took_a_transaction_gets_it_once() {
    let fake = Fake::start(on_send(|index| match index % 4 {
        0 => Some(Fault::HangUp),
        2 => Some(Fault::HangUpAfter),
        _ => None,
    }));
    let measured = sent(&fake);
    assert_all_once(&fake, &measured);
    assert!(count(&measured, ErrorKind::Connection) > 0, "{:?}", measured.errors);
}

#[test]
fn a_late_answer_is_a_timeout_and_the_transaction_is_taken_once() {
    let lag = Duration::from_millis(700);
    let fake = Fake::start(on_send(move |index| (index % 10 == 0).then_some(Fault::Lag(lag))));
    let measured = sent(&fake);
    assert_all_once(&fake, &measured);
    assert!(count(&measured, ErrorKind::Timeout) > 0, "{:?}", measured.errors);
    assert_eq!(count(&measured, ErrorKind::Connection), 0, "{:?}", measured.errors);
}

#[test]
fn a_full_pool_is_waited_for() {
    let fake = Fake::start(|_, _| None);
    (fake.world().pool_size, fake.world().block_tx_count) = (25, 20);
    let measured = sent(&fake);
    assert_all_once(&fake, &measured);
    assert!(count(&measured, ErrorKind::PoolFull) > 0, "{:?}", measured.errors);
}

#[test]
fn transactions_that_the_node_forgets_are_sent_again() {
    let fake = Fake::start(|_, _| None);
    fake.world().forgets = true;
    let measured = sent(&fake);
    assert_all_once(&fake, &measured);
    assert!(measured.attempts.resent > 0, "{:?}", measured.attempts);
}

#[test]
fn reverted_transactions_are_in_blocks_and_no_success() {
    let fake = Fake::start(|_, _| None);
    fake.world().has_reverts = true;
    let measured = sent(&fake);
    assert_all_once(&fake, &measured);
    let reverted = fake.world().reverted_count();
    assert!(reverted > 0);
    assert_eq!(measured.tally.reverted, reverted);
    assert!(!measured.tally.is_all_included());
}

#[test]
fn reorganisations_undo_inclusions_and_lose_nothing() {
    for loss in [Loss::None, Loss::All] {
        let fake = Fake::start(move |world, asked| {
            if asked.method == SEND && matches!(asked.index, 90 | 150) {
                world.reorganise(2, loss);
            }
            None
        });
        let measured = driven(&fake, Pace::Rate(300.0), &AtomicBool::new(false));
        assert_all_once(&fake, &measured);
        assert!(measured.reorgs.count >= 1, "{loss:?}: {:?}", measured.reorgs);
        if loss == Loss::All {
            assert!(measured.attempts.resent > 0, "{:?}", measured.attempts);
        }
    }
}

#[test]
fn a_node_that_dies_ends_the_load_and_what_is_known_is_kept() {
    let fake = Fake::start(|world, asked| {
        if asked.method == SEND && asked.index == 120 {
            world.die();
        }
        None
    });
    let measured = sent(&fake);
    let tally = measured.tally;
    assert!(tally.pending > 0 && tally.included <= 120, "{tally:?}");
    assert_eq!(measured.end, End::Silent);
    assert!(count(&measured, ErrorKind::Connection) > 0, "{:?}", measured.errors);
    let seen: u64 = measured.blocks.iter().map(|block| block.own_tx_count).sum();
    assert_eq!(seen, tally.included);
}

#[test]
fn a_nonce_that_somebody_else_used_is_corrected_from_the_node() {
    let sender = family().address(4).unwrap();
    let fake = Fake::start(move |world, asked| {
        if asked.method == SEND && asked.index == 50 {
            world.use_nonce(sender);
        }
        None
    });
    let measured = driven(&fake, Pace::Rate(400.0), &AtomicBool::new(false));
    assert_all_once(&fake, &measured);
    let again = measured.attempts.nonces_corrected + measured.attempts.resent;
    assert!(again > 0, "{:?} {:?}", measured.attempts, measured.errors);
}

#[test]
fn an_offer_that_is_too_low_is_raised_and_a_refusal_without_remedy_is_final() {
    let too_low = |index| (index < 5).then_some(Fault::Refuse("transaction underpriced"));
    let fake = Fake::start(on_send(too_low));
    let measured = sent(&fake);
    assert_all_once(&fake, &measured);
    assert!(measured.attempts.signed_anew >= 5, "{:?}", measured.attempts);

    let refused = |_| Some(Fault::Refuse("intrinsic gas too low"));
    let fake = Fake::start(on_send(refused));
    let measured = sent(&fake);
    assert_eq!((measured.tally.failed, measured.tally.pending), (TRANSACTIONS, 0));
    assert_eq!(count(&measured, ErrorKind::Rejected), 3 * TRANSACTIONS);
    assert!(fake.world().in_chain().is_empty());
}

#[test]
fn a_load_that_is_stopped_ends_at_once_and_keeps_its_books() {
    let fake = Fake::start(|_, _| None);
    let stop = AtomicBool::new(false);
    let measured = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(700));
            stop.store(true, Ordering::Relaxed);
        });
        driven(&fake, Pace::Rate(50.0), &stop)
    });
    assert_eq!(measured.end, End::Interrupted);
    assert!(measured.tally.unsent > 0 && measured.tally.sent > 0, "{:?}", measured.tally);
    let (inclusion, due) = (&measured.latencies.inclusion, measured.tally.sent);
    assert!(inclusion.ended.len() + inclusion.open.len() >= due, "those under way count");
}

#[test]
fn a_chain_that_is_not_meant_and_a_url_without_a_node_are_errors() {
    let stop = AtomicBool::new(false);
    let fake = Fake::start(|_, _| None);
    let other = Settings { chain_id: Some(1), ..settings(&fake) };
    let error = Session::connect(other, &stop).unwrap_err().to_string();
    assert!(error.contains("chain 1337") && error.contains("--chain-id is 1"), "{error}");
    for (id, words) in [(10, "the public chain"), (7_777_778, "may be public")] {
        fake.world().chain_id = id;
        let error = Session::connect(settings(&fake), &stop).unwrap_err().to_string();
        let option = format!("give --chain-id {id} and a --seed");
        assert!(error.contains(words) && error.contains(&option), "{error}");
        let named = Settings { chain_id: Some(id), ..settings(&fake) };
        assert!(!Session::connect(named, &stop).unwrap().facts().is_developers, "{id}");
    }
    for url in ["http://127.0.0.1:9/KEY", "ws://127.0.0.1:9/KEY", "ftp://127.0.0.1/KEY"] {
        let nobody = Settings { url: NodeUrl::new(url), ..settings(&fake) };
        let error = Session::connect(nobody, &stop).unwrap_err().to_string();
        assert!(!error.contains("KEY"), "{error}");
    }
}
