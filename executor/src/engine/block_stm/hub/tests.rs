//! Word to shards; that the outcome is right is a law of `tests/execution/sharded/`.

use std::sync::mpsc::{Receiver, channel};

use workload::{Batch, Block, Steps};

use super::*;

/// The run of a step that leaves accounts with this balance.
fn run(incarnation: u32, addresses: &[Address], balance: u64) -> OptimisticStep {
    let state = workload::genesis::AccountState {
        balance: U256::from(balance),
        ..workload::genesis::AccountState::default()
    };
    let version = AccountVersion { state: Some(state), is_born: false };
    let accounts = addresses.iter().map(|address| (*address, version)).collect();
    let writes = VersionWrites { accounts, ..VersionWrites::default() };
    OptimisticStep { index: 1, incarnation, writes, ..OptimisticStep::default() }
}

fn told(inbox: &Receiver<Option<Order>>) -> Vec<Order> {
    inbox.try_iter().flatten().collect()
}

/// Step 0 is of shard 1, step 1 of shard 0. Nothing is committed.
#[test]
fn a_shard_is_told_that_another_one_reads_what_it_writes_and_again_in_time() {
    let batch = Batch { blocks: vec![Block::default()], ..Batch::default() };
    let memory = Memory::new(2);
    let fees = BatchFees::new(&batch, &Steps::of(&batch), &memory);
    let ledger = Ledger { memory: &memory, fees: &fees };
    let (outboxes, inboxes): (Vec<_>, Vec<_>) = (0..2).map(|_| channel()).unzip();
    let mut hub = Hub::new(vec![1, 0], outboxes);
    let (own, common, late) =
        (Address::repeat_byte(1), Address::repeat_byte(2), Address::repeat_byte(3));
    let wants = |hub: &mut Hub, shard, address| {
        let keys = Keys { accounts: vec![address], ..Keys::default() };
        hub.answer(ledger, shard, &keys, KeyValues::default());
    };
    wants(&mut hub, 0, own);
    wants(&mut hub, 1, common);
    assert_eq!((told(&inboxes[0]).len(), told(&inboxes[1]).len()), (1, 1), "the answers");
    hub.take(ledger, 0, run(1, &[own], 5), None).unwrap();
    assert!(told(&inboxes[0]).is_empty(), "nobody reads it");
    hub.take(ledger, 0, run(2, &[own, common, late], 6), None).unwrap();
    assert!(matches!(&told(&inboxes[1])[..], [Order::Writes(writes)] if writes.len() == 1));
    assert_eq!(told(&inboxes[0]), [Order::Hurry]);
    hub.take(ledger, 0, run(3, &[own, common, late], 7), None).unwrap();
    wants(&mut hub, 1, late);
    assert!(told(&inboxes[0]).is_empty(), "it knows");
    assert_eq!(told(&inboxes[1]).len(), 2);
    let half = HURRIED_RESULT_COUNT as u32 / 2;
    for incarnation in 4..half + 2 {
        hub.take(ledger, 0, run(incarnation, &[common], incarnation.into()), None).unwrap();
        assert!(told(&inboxes[0]).is_empty(), "run {incarnation}");
    }
    for incarnation in half + 2..2 * half {
        hub.take(ledger, 0, run(incarnation, &[common], incarnation.into()), None).unwrap();
    }
    assert_eq!(told(&inboxes[0]), [Order::Hurry], "before its results wait again");
}

#[test]
fn a_shard_whose_values_go_out_in_an_answer_is_told_so() {
    let batch = Batch { blocks: vec![Block::default()], ..Batch::default() };
    let memory = Memory::new(2);
    let fees = BatchFees::new(&batch, &Steps::of(&batch), &memory);
    let ledger = Ledger { memory: &memory, fees: &fees };
    let (outboxes, inboxes): (Vec<_>, Vec<_>) = (0..2).map(|_| channel()).unzip();
    let mut hub = Hub::new(vec![1, 0], outboxes);
    let late = Address::repeat_byte(3);
    hub.take(ledger, 0, run(1, &[late], 5), None).unwrap();
    assert!(told(&inboxes[0]).is_empty());
    let keys = Keys { accounts: vec![late], ..Keys::default() };
    hub.answer(ledger, 1, &keys, KeyValues::default());
    assert_eq!(told(&inboxes[0]), [Order::Hurry]);
    assert!(matches!(&told(&inboxes[1])[..], [Order::Values(_)]));
}
