//! Plans reads and writes of slots 1, 2, 3, … of one account that delegates its code. A transaction
//! reads from the key in slot 0 on, which the transaction before has written. With jumps, that key
//! is far from the keys that the transaction before has read.

use std::collections::HashMap;

use alloy_primitives::{Address, Bytes, U256};
use workload::{Genesis, SlotFamily, block::IndexRange};

use super::calls::ScriptEnv;
use crate::{
    artifact::Contract,
    error::GeneratorError,
    meter::nonzero_count,
    planner::{PlannedTx, Planner, Room, TX_EXECUTION_GAS, Touched, useful_limit},
    probe::{Absent, Cost, Probe, cost_by, most_within},
    senders::Senders,
    state::LoadGenesis,
};
use spec::{BloatedOp, BlockTarget};

/// The key that slot 0 holds in the state.
const FIRST_KEY: u64 = 1;
/// Number of slots of the smallest useful transaction.
const USEFUL_COUNT: u64 = 8;

/// The bloated account: one account with all slots of the load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account<'g> {
    /// The load's part of the genesis.
    pub(crate) placed: &'g LoadGenesis,
    /// The account's slots: the slot at index i has the key i.
    pub(crate) family: &'g SlotFamily,
    /// The account's code, which is a delegation (EIP-7702).
    pub(crate) code: &'g Bytes,
}

impl<'g> Account<'g> {
    /// The account of a load that has `placed` of `genesis`.
    pub(crate) fn new(placed: &'g LoadGenesis, genesis: &'g Genesis) -> Self {
        let family = &genesis.slots[placed.families.start as usize];
        let account = genesis.accounts.iter().find(|account| account.address == family.address);
        let account = account.unwrap_or_else(|| panic!("{}: slots of no account", family.address));
        Self { placed, family, code: &account.code }
    }
}

/// The slots of a transaction and the operation on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Work {
    /// The operation's number in the contract.
    op: u64,
    /// The word `where` of the contract's calldata: the key at which the next transaction reads
    /// after a jump, or the first key to write.
    index: u64,
    count: u64,
}

impl Work {
    fn input(self) -> Bytes {
        let words = [self.op, self.index, self.count];
        let words = words.map(|word| U256::from(word).to_be_bytes::<32>());
        words.as_flattened().to_vec().into()
    }
}

/// Plans calls of a bloated account.
#[derive(Debug)]
pub(crate) struct BloatedCalls {
    op: BloatedOp,
    address: Address,
    family: u32,
    /// Number of slots of the account.
    held_count: u64,
    probe: Probe,
    /// Costs by number of slots and of nonzero bytes of calldata.
    prices: HashMap<(u64, u64), Cost>,
    /// Gas of one slot more in a transaction.
    slot_gas: u64,
    /// Gas limit of the smallest useful transaction.
    useful_gas: u64,
    /// Number of slots of the largest transaction, which is also the distance between the targets
    /// of jumps.
    stride: u64,
    /// The key at which the next transaction begins. Where transactions read, it is the value of
    /// slot 0.
    at: u64,
    /// Target of the next jump.
    jump_to: u64,
    /// Whether the block has no transaction yet.
    is_first: bool,
    /// One past the last slot that transactions have asked for.
    end: u64,
    /// The load's first turn. Its account sends every transaction, unless transactions jump.
    first_turn: Option<u64>,
}

impl BloatedCalls {
    /// Calls of `account`.
    pub(crate) fn new(
        op: BloatedOp,
        account: Account<'_>,
        env: ScriptEnv<'_>,
        senders: &mut Senders<'_>,
    ) -> Result<Self, GeneratorError> {
        let probe = Probe {
            name: Contract::Bloated.name(),
            fork: env.fork,
            sender: senders.address(0)?,
            to: account.family.address,
            code: account.code.clone(),
            value: U256::ZERO,
            absent: Absent::Nothing,
        };
        let mut new = Self {
            op,
            address: account.family.address,
            family: account.placed.families.start,
            held_count: account.family.count,
            probe,
            prices: HashMap::new(),
            slot_gas: 1,
            useful_gas: 0,
            stride: 0,
            at: FIRST_KEY,
            jump_to: 0,
            is_first: true,
            end: 0,
            first_turn: None,
        };
        let few = new.price_of(new.work(256))?;
        new.slot_gas = ((new.price_of(new.work(1_024))?.gas - few.gas) / (1_024 - 256)).max(1);
        new.useful_gas = new.price_of(new.work(USEFUL_COUNT))?.limit();
        new.stride = new.most_within(env.tx_gas)?.map_or(0, |(work, _)| work.count);
        new.jump_to = FIRST_KEY + new.stride;
        Ok(new)
    }

    /// The work of the next transaction, if it has `count` slots.
    fn work(&self, count: u64) -> Work {
        match self.op {
            BloatedOp::Read => Work { op: 0, index: 0, count },
            BloatedOp::Jump => Work { op: 1, index: self.jump_to, count },
            BloatedOp::Write => Work { op: 2, index: self.at, count },
        }
    }

    fn price_of(&mut self, work: Work) -> Result<Cost, GeneratorError> {
        let input = work.input();
        let key = (work.count, nonzero_count(&input));
        if let Some(cost) = self.prices.get(&key) {
            return Ok(*cost);
        }
        let code = Contract::Bloated.code()?;
        let probe = &self.probe;
        let cost = cost_by(probe.fork, |gas_limit| probe.spent(&input, gas_limit, &code))?;
        self.prices.insert(key, cost);
        Ok(cost)
    }

    /// The transaction with the most slots within `gas_limit`; `None` where no useful one fits.
    fn most_within(&mut self, gas_limit: u64) -> Result<Option<(Work, Cost)>, GeneratorError> {
        // No slot that the contract writes is new, so no gas is state gas.
        let gas_limit = gas_limit.min(TX_EXECUTION_GAS);
        let Some(room) = gas_limit.checked_sub(self.useful_gas) else { return Ok(None) };
        // Bytes of calldata that are not zero make the guess a little too large.
        let guess = USEFUL_COUNT + room / self.slot_gas;
        let most = most_within(guess, gas_limit, |count| self.price_of(self.work(count)))?;
        Ok(most.map(|(count, cost)| (self.work(count), cost)))
    }

    /// Returns the slots that the next transaction touches, and moves on to the transaction after
    /// it.
    fn take(&mut self, count: u64) -> Vec<IndexRange> {
        let slots = IndexRange { family: self.family, start: self.at, count };
        let pointer = IndexRange { family: self.family, start: 0, count: 1 };
        self.end = self.end.max(self.at + count);
        match self.op {
            BloatedOp::Write => {
                self.at += count;
                vec![slots]
            }
            BloatedOp::Read => {
                self.at += count;
                vec![pointer, slots]
            }
            BloatedOp::Jump => {
                self.at = self.jump_to;
                self.jump_to += self.stride;
                vec![pointer, slots]
            }
        }
    }
}

impl Planner for BloatedCalls {
    fn begin(&mut self, _: BlockTarget) -> Result<(), GeneratorError> {
        self.is_first = true;
        Ok(())
    }

    fn next(
        &mut self,
        Room { gas_limit, turn }: Room,
        senders: &mut Senders<'_>,
    ) -> Result<Option<PlannedTx>, GeneratorError> {
        if gas_limit < self.useful_gas {
            return Ok(None);
        }
        // In a block with jumps the first transaction only writes the key from which the second
        // reads. So no prefetch on the state before the block finds a slot that the block reads.
        let is_setup = self.op == BloatedOp::Jump && self.is_first;
        let most = match is_setup {
            true => {
                let work = self.work(0);
                Some((work, self.price_of(work)?))
            }
            false => self.most_within(gas_limit)?,
        };
        let Some((work, cost)) = most else { return Ok(None) };
        self.is_first = false;
        let turn = match self.op {
            BloatedOp::Jump => turn,
            BloatedOp::Read | BloatedOp::Write => *self.first_turn.get_or_insert(turn),
        };
        let slots = self.take(work.count);
        let slots = slots.into_iter().filter(|range| range.count > 0).collect();
        Ok(Some(PlannedTx {
            gas_limit: if is_setup { cost.limit() } else { useful_limit(gas_limit, cost.limit()) },
            sender: senders.in_turn(turn),
            to: Some(self.address),
            input: work.input(),
            touched: Touched { slots, ..Touched::default() },
            ..PlannedTx::priced(cost)
        }))
    }

    fn useful_gas(&self) -> u64 {
        self.useful_gas
    }

    fn shortfall(&self) -> Option<(u64, u64)> {
        (self.end > self.held_count).then_some((self.end, self.held_count))
    }
}
