//! Laws of tasks that panic: a load ends at once with one error that names the task.

use std::{
    future::pending,
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

use alloy_primitives::{Address, B256, U256};
use tokio::{sync::mpsc::unbounded_channel, task::JoinSet};
use workload::{
    Batch, Block, Genesis, SenderFamily, Transaction, Workload,
    block::{IndexRange, Plan as Touched},
};

use super::{DriveInput, Watch, run, state::Drive};
use crate::{
    error::SendError,
    fees::Fees,
    measured::Measured,
    node::Node,
    pace::Pace,
    plan::Plan,
    settings::Settings,
    setup::{Ready, SetupFacts},
    url::NodeUrl,
};

/// A time in which no test ends by patience.
const LONG: Duration = Duration::from_secs(600);

/// A payment of one sender.
fn plan() -> Plan {
    let family = SenderFamily { first_secret: B256::repeat_byte(3), count: 1, balance: U256::ONE };
    let payment = Transaction {
        sender: family.address(0).unwrap(),
        to: Some(Address::repeat_byte(9)),
        gas_limit: 21_000,
        ..Transaction::default()
    };
    let block = Block { transactions: vec![payment], ..Block::default() };
    let touched = vec![IndexRange { family: 0, start: 0, count: 1 }];
    let plan = Touched { senders: touched, ..Touched::default() };
    let batches = vec![Batch { blocks: vec![block], plan, ..Batch::default() }];
    let genesis = Genesis { senders: vec![family], ..Genesis::default() };
    Plan::new(&Workload { genesis, batches, ..Workload::default() }).unwrap()
}

/// Drives a load on a port where no node listens. `panics` adds a task that panics to it.
async fn driven(
    panics: impl FnOnce(&mut Drive<'_>, &mut JoinSet<()>),
) -> Result<Measured, SendError> {
    let (plan, stop) = (plan(), AtomicBool::new(false));
    let settings = Settings {
        url: NodeUrl::new("http://127.0.0.1:9"),
        chain_id: None,
        timeout: LONG,
        connection_count: 4,
        patience: LONG,
        forgotten_after: LONG,
        temporary_refusal_count_max: 32,
        confirmation_count: 0,
    };
    let node = Node::connect(&settings.url, LONG).await.unwrap();
    let ready = Ready {
        contracts: Vec::new(),
        nonces: vec![0],
        offers_max: vec![u128::MAX],
        fees: Fees::above(7),
        facts: SetupFacts::default(),
    };
    let pace = Pace::InFlight(1);
    let input = DriveInput { node, chain_id: 1_337, settings, pace, stop: &stop };
    let mut drive = Drive::new(input, &plan, ready, Instant::now());
    let mut tasks = JoinSet::new();
    tasks.spawn(pending());
    panics(&mut drive, &mut tasks);
    let (_out, seen) = unbounded_channel();
    run(drive, Watch { tasks, seen }, &|_| ()).await
}

#[tokio::test]
async fn a_call_that_panics_ends_the_load_with_its_name() {
    let ended = driven(|drive, _| {
        drive.call_count += 1;
        drive.calls.spawn(async { panic!("planted in a call") });
    });
    let error = ended.await.unwrap_err().to_string();
    assert!(error.contains("a call of the node ended in a panic"), "{error}");
    assert!(error.contains("planted in a call"), "{error}");
}

#[tokio::test]
async fn a_reader_that_panics_ends_the_load_with_its_name() {
    let ended = driven(|_, tasks| {
        tasks.spawn(async { panic!("planted in a reader") });
    });
    let error = ended.await.unwrap_err().to_string();
    assert!(error.contains("a task that reads blocks and the pool ended in a panic"), "{error}");
    assert!(error.contains("planted in a reader"), "{error}");
}
