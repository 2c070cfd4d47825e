//! Laws of offers and funds. A sender offers no more than it can pay for all its transactions
//! together. It waits while its pooled transactions use up its funds, and while the base fee is
//! above its offer.

use std::sync::atomic::AtomicBool;

use send::{ErrorKind, Pace, Settings};

use super::{
    SEND, SENDERS, TRANSACTIONS, assert_all_once, count, driven_by,
    fake::{Fake, Fault, World},
    on_send, sent, settings,
};

const GWEI: u128 = 1_000_000_000;
/// First offer on a chain with a very low base fee: ten gwei and the tip.
const FIRST_OFFER: u128 = 11 * GWEI;
/// Highest offer that the funds of each sender allow for all its transactions together.
const FUNDED_OFFER: u128 = 16 * GWEI;

/// Sets the balance of each account so that all its transactions can offer [`FUNDED_OFFER`].
fn fund(world: &mut World) {
    let gas_each = u128::from(TRANSACTIONS / SENDERS) * 21_000;
    let value_each = (0..TRANSACTIONS).map(u128::from).sum::<u128>();
    world.balance = Some(gas_each * FUNDED_OFFER + value_each);
}

/// Settings under which few refusals are final.
fn hasty(fake: &Fake) -> Settings {
    Settings { temporary_refusal_count_max: 2, ..settings(fake) }
}

#[test]
fn an_offer_follows_the_base_fee_up_to_the_funds_and_no_further() {
    let fake = Fake::start(|world, asked| {
        if asked.method == SEND && asked.index == 20 {
            world.base_fee = 50 * GWEI as u64;
        }
        None
    });
    fund(&mut fake.world());
    let measured = driven_by(hasty(&fake), Pace::Rate(200.0), &AtomicBool::new(false));
    assert_all_once(&fake, &measured);
    let offered = fake.world().offer_max;
    assert!((FIRST_OFFER + 1..=FUNDED_OFFER + GWEI / 100).contains(&offered), "{offered}");
    assert_eq!(count(&measured, ErrorKind::Funds), 0, "{:?}", measured.errors);
}

#[test]
fn a_base_fee_above_the_funds_is_waited_for() {
    let fake = Fake::start(|world, asked| {
        if asked.method == SEND {
            let is_high = (40..120).contains(&asked.index);
            world.base_fee = if is_high { 50 * GWEI as u64 } else { 7 };
        }
        None
    });
    fake.world().checks_base_fee = true;
    fund(&mut fake.world());
    let measured = sent(&fake);
    assert_all_once(&fake, &measured);
    assert!(count(&measured, ErrorKind::Underpriced) > 0, "{:?}", measured.errors);
    assert!(fake.world().offer_max <= FUNDED_OFFER + GWEI / 100);
}

#[test]
fn funds_that_pooled_transactions_hold_are_waited_for_however_long() {
    let fake = Fake::start(|_, _| None);
    (fake.world().pays_one, fake.world().block_tx_count) = (true, 10);
    let measured = driven_by(hasty(&fake), Pace::Rate(1_000.0), &AtomicBool::new(false));
    assert_all_once(&fake, &measured);
    assert_eq!(measured.tally.failed, 0);
    let refused = count(&measured, ErrorKind::Funds);
    assert!(refused > 2 * SENDERS, "too few to be final: {:?}", measured.errors);
}

#[test]
fn a_sender_without_funds_and_without_pooled_transactions_fails() {
    let poor = on_send(|_| Some(Fault::Refuse("insufficient funds for transfer")));
    let fake = Fake::start(poor);
    let measured = driven_by(hasty(&fake), Pace::Rate(1_000.0), &AtomicBool::new(false));
    assert_eq!((measured.tally.failed, measured.tally.pending), (TRANSACTIONS, 0));
}
