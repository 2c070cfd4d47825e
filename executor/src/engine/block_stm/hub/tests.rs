//! Tests of the orders that the hub sends to shards. `tests/execution/sharded/` tests the outcome.

use std::sync::mpsc::{Receiver, channel};

use workload::{Batch, Block, Steps};

use super::*;

/// A run of step 1 that leaves accounts with this balance.
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

/// A hub of two shards: step 0 is of shard 1, step 1 of shard 0. Nothing is committed.
struct TwoShards {
    memory: Memory,
    fees: BatchFees,
    hub: Hub,
    inboxes: Vec<Receiver<Option<Order>>>,
}

impl TwoShards {
    fn new() -> Self {
        let batch = Batch { blocks: vec![Block::default()], ..Batch::default() };
        let memory = Memory::new(2);
        let fees = BatchFees::new(&batch, &Steps::of(&batch), &memory);
        let (outboxes, inboxes): (Vec<_>, Vec<_>) = (0..2).map(|_| channel()).unzip();
        Self { memory, fees, hub: Hub::new(vec![1, 0], outboxes), inboxes }
    }

    /// Shard 0 sends a run of step 1.
    fn sends(&mut self, run: OptimisticStep) {
        let ledger = Ledger { memory: &self.memory, fees: &self.fees };
        self.hub.add_run(ledger, 0, run, None).unwrap();
    }

    /// A shard asks for an account.
    fn asks(&mut self, shard: u32, address: Address) {
        let ledger = Ledger { memory: &self.memory, fees: &self.fees };
        let keys = RequestedKeys { accounts: vec![address], ..RequestedKeys::default() };
        self.hub.answer(ledger, shard, &keys, KeyValues::default());
    }

    /// Returns the orders to a shard since the last call.
    fn told(&self, shard: usize) -> Vec<Order> {
        self.inboxes[shard].try_iter().flatten().collect()
    }
}

#[test]
fn a_shard_is_told_that_another_one_reads_what_it_writes_and_again_in_time() {
    let mut two = TwoShards::new();
    let (own, common, late) =
        (Address::repeat_byte(1), Address::repeat_byte(2), Address::repeat_byte(3));
    two.asks(0, own);
    two.asks(1, common);
    assert_eq!((two.told(0).len(), two.told(1).len()), (1, 1), "the answers");
    two.sends(run(1, &[own], 5));
    assert!(two.told(0).is_empty(), "nobody reads it");
    two.sends(run(2, &[own, common, late], 6));
    assert!(matches!(&two.told(1)[..], [Order::Writes(writes)] if writes.len() == 1));
    assert_eq!(two.told(0), [Order::Hurry]);
    two.sends(run(3, &[own, common, late], 7));
    two.asks(1, late);
    assert!(two.told(0).is_empty(), "it knows");
    assert_eq!(two.told(1).len(), 2);
    let half = HURRIED_RESULT_COUNT as u32 / 2;
    for incarnation in 4..half + 2 {
        two.sends(run(incarnation, &[common], incarnation.into()));
        assert!(two.told(0).is_empty(), "run {incarnation}");
    }
    for incarnation in half + 2..2 * half {
        two.sends(run(incarnation, &[common], incarnation.into()));
    }
    assert_eq!(two.told(0), [Order::Hurry], "before its results wait again");
}

#[test]
fn a_shard_whose_values_go_out_in_an_answer_is_told_so() {
    let mut two = TwoShards::new();
    let late = Address::repeat_byte(3);
    two.sends(run(1, &[late], 5));
    assert!(two.told(0).is_empty());
    two.asks(1, late);
    assert_eq!(two.told(0), [Order::Hurry]);
    assert!(matches!(&two.told(1)[..], [Order::Values(_)]));
}
