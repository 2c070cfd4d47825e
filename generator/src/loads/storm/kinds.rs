//! Makes the [`Parts`] of each storm that a scenario can name: contract, families, and words of
//! calldata.

use std::ops::Range;

use alloy_primitives::{B256, U256};
use workload::SlotFamily;

use super::{
    parts::{Asked, Below, First, Parts, Sorted, Target},
    place,
    transactions::Storm,
};
use crate::{
    artifact::Contract,
    error::GeneratorError,
    meter::{Ground, Meter},
    probe::Absent,
    random::Stream,
    state::{Placed, State},
};
use spec::{
    AccountOp, AccountStorm, AccountTarget, ContractChase, KeyOrder, PrefetchMiss, Scenario,
    SloadStorm, SlotOrder, SstoreStorm, WriteOp,
};

/// Environment of a load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At<'g, 's> {
    pub(crate) scenario: &'s Scenario,
    pub(crate) state: &'g State,
    /// The load's part of the state.
    pub(crate) placed: &'g Placed,
    /// Index of the load.
    pub(crate) load: usize,
    /// The load's stream.
    pub(crate) stream: &'s Stream,
}

impl<'g> At<'g, '_> {
    /// The load's slot families with their indices in the genesis.
    fn families(&self) -> impl Iterator<Item = (u32, &'g SlotFamily)> + use<'g> {
        let state = self.state;
        let families = self.placed.families.clone();
        families
            .map(move |family_index| (family_index, &state.genesis.slots[family_index as usize]))
    }

    /// The load's slot families as targets: each family's contract, which accesses the slots of its
    /// family and gets the family's seed as the first word of calldata.
    fn slots(&self, tail: &[B256]) -> Vec<Target<'g>> {
        self.families()
            .map(|(family_index, family)| Target {
                to: family.address,
                asked: Asked::Slots,
                family: family_index,
                held_count: family.count,
                first: First::Word(family.seed),
                tail: tail.to_vec(),
                start: None,
            })
            .collect()
    }

    fn meter(&self, contract: Contract, ground: &Ground) -> Result<Meter, GeneratorError> {
        Meter::measure(contract, ground, self.scenario.fork)
    }

    /// The value that a write stores.
    fn written(&self, op: WriteOp) -> B256 {
        match op {
            WriteOp::Create | WriteOp::Update => self.word("value"),
            WriteOp::Clear | WriteOp::Nothing => B256::ZERO,
        }
    }

    /// A word that the load's stream gives for `name`, never zero.
    fn word(&self, name: &str) -> B256 {
        let word = self.stream.word(name);
        if word.is_zero() { B256::with_last_byte(1) } else { word }
    }
}

/// A storm of cold reads.
pub(crate) fn sload<'g>(at: At<'g, '_>, storm: &SloadStorm) -> Result<Storm<'g>, GeneratorError> {
    let contract = place::sload_contract(storm);
    let mut targets = at.slots(&[]);
    if storm.keys == KeyOrder::Chase {
        for (target, (_, family)) in targets.iter_mut().zip(at.families()) {
            target.first = First::KeyOf(family);
        }
    }
    let sorted = Sorted {
        layout: at.scenario.state.layout,
        order: storm.order,
        families: at.families().map(|(_, family)| family).collect(),
    };
    let parts = Parts {
        present_share: at.scenario.state.present_share,
        overlap: storm.overlap,
        sorted: (storm.order != SlotOrder::Index).then_some(sorted),
        calldata_share: storm.calldata_share,
        calldata_byte: storm.calldata_byte,
        ..Parts::new(contract, at.meter(contract, &Ground::default())?, targets)
    };
    Ok(Storm::new(parts, at.stream))
}

/// A storm that follows a chain through contracts.
pub(crate) fn contract_chase<'g>(
    at: At<'g, '_>,
    chase: &ContractChase,
) -> Result<Storm<'g>, GeneratorError> {
    let contract = Contract::HopStorm;
    let ground = Ground { elsewhere: Contract::HopTarget.code()?, ..Ground::default() };
    let meter = at.meter(contract, &ground)?;
    let Range { start, end } = at.placed.families.clone();
    let links = &at.state.genesis.slots[start as usize..end as usize];
    let tx_gas =
        at.scenario.loads[at.load].sizes.map_or(at.scenario.block.tx_gas, |of| of.most_gas);
    let (contract_count, needed_count) = (chase.contract_count, meter.count_at_most(tx_gas));
    if contract_count < needed_count {
        let load = at.load;
        return Err(GeneratorError::TooFewContracts { load, contract_count, needed_count, tx_gas });
    }
    let target = Target {
        to: at.placed.contract,
        asked: Asked::Hops { contract_count },
        family: start,
        held_count: links.iter().map(|family| family.count).sum(),
        first: First::KeyOfHop(links),
        tail: Vec::new(),
        start: None,
    };
    Ok(Storm::new(Parts::new(contract, meter, vec![target]), at.stream))
}

/// A storm of cold writes.
pub(crate) fn sstore<'g>(at: At<'g, '_>, storm: &SstoreStorm) -> Result<Storm<'g>, GeneratorError> {
    if storm.keys.is_one_a_contract() {
        return spread(at, storm);
    }
    let contract = place::sstore_contract(storm);
    let (present_share, absent) = match storm.op {
        WriteOp::Create => (0.0, Absent::Slots),
        WriteOp::Update | WriteOp::Clear => (1.0, Absent::Nothing),
        // Present and absent slots cost the same.
        WriteOp::Nothing => (at.scenario.state.present_share, Absent::Nothing),
    };
    let ground = Ground { tail: vec![at.written(storm.op)], absent, ..Ground::default() };
    let targets = at.slots(&ground.tail);
    let below = storm.nibble.map(|nibble| Below {
        nibble,
        families: at.families().map(|(_, family)| family).collect(),
    });
    let meter = at.meter(contract, &ground)?;
    let parts = Parts { present_share, below, ..Parts::new(contract, meter, targets) };
    Ok(Storm::new(parts, at.stream))
}

/// A storm of cold writes of one slot in each of many contracts, whose addresses are hashes of an
/// index.
fn spread<'g>(at: At<'g, '_>, storm: &SstoreStorm) -> Result<Storm<'g>, GeneratorError> {
    let contract = Contract::SpreadStorm;
    let first = at.placed.families.start;
    let family = &at.state.genesis.slots[first as usize];
    let (slot, absent) = match storm.op {
        WriteOp::Create => (family.count, Absent::Slots),
        WriteOp::Update | WriteOp::Clear | WriteOp::Nothing => (0, Absent::Nothing),
    };
    // The rules of these families take no seed: the key is the same in all contracts.
    let key = B256::from(family.key(slot));
    let tail = vec![key, at.written(storm.op)];
    let ground = Ground { tail: tail.clone(), absent, elsewhere: Contract::SpreadTarget.code()? };
    let state_seed = at.scenario.state.seed.unwrap_or(at.scenario.seed);
    let tag = at.scenario.loads[at.load].tag(at.load);
    let target = Target {
        to: at.placed.contract,
        asked: Asked::Each { slot },
        family: first,
        held_count: storm.contract_count,
        first: First::Word(place::spread_seed(state_seed, &tag)),
        tail,
        start: None,
    };
    Ok(Storm::new(Parts::new(contract, at.meter(contract, &ground)?, vec![target]), at.stream))
}

/// A storm of cold reads at keys that the transaction before decides.
pub(crate) fn prefetch_miss<'g>(
    at: At<'g, '_>,
    storm: &PrefetchMiss,
) -> Result<Storm<'g>, GeneratorError> {
    let contract = place::pointer_contract(storm.keys);
    let mut targets = at.slots(&[]);
    let mut ground =
        Ground { elsewhere: place::read_contract(storm.keys).code()?, ..Ground::default() };
    for target in &mut targets {
        let reader = target.to.into_word();
        match contract {
            Contract::ChainPointer => target.first = First::Word(reader),
            _ => target.tail = vec![reader],
        }
        target.to = at.placed.contract;
        target.start = Some(place::POINTER_START);
        ground.tail.clone_from(&target.tail);
    }
    let parts = Parts::new(contract, at.meter(contract, &ground)?, targets);
    Ok(Storm::new(parts, at.stream))
}

/// A storm that accesses cold accounts.
pub(crate) fn account<'g>(
    at: At<'g, '_>,
    storm: &AccountStorm,
) -> Result<Storm<'g>, GeneratorError> {
    let contract = Contract::AccountStorm;
    // Numbers of the operations in the contract.
    let op = match storm.op {
        AccountOp::Balance => 0,
        AccountOp::CodeSize => 1,
        AccountOp::CodeHash => 2,
        AccountOp::CodeCopy => 3,
        AccountOp::Call => 4,
    };
    let family = &at.state.genesis.account_families[at.placed.account_family as usize];
    let is_absent = storm.target == AccountTarget::Absent;
    let ground = Ground {
        tail: [op, storm.code_bytes].map(|number| B256::from(U256::from(number))).to_vec(),
        absent: if is_absent { Absent::Accounts } else { Absent::Nothing },
        elsewhere: family.code(0),
    };
    let target = Target {
        to: at.placed.contract,
        asked: Asked::Accounts,
        family: at.placed.account_family,
        held_count: family.count,
        first: First::Word(family.seed),
        tail: ground.tail.clone(),
        start: None,
    };
    let parts = Parts {
        present_share: if is_absent { 0.0 } else { 1.0 },
        ..Parts::new(contract, at.meter(contract, &ground)?, vec![target])
    };
    Ok(Storm::new(parts, at.stream))
}

/// A storm that reads balances of a token.
pub(crate) fn balance<'g>(at: At<'g, '_>) -> Result<Storm<'g>, GeneratorError> {
    let contract = Contract::BalanceStorm;
    let mut targets = at.slots(&[]);
    let mut ground = Ground { elsewhere: Contract::Token.code()?, ..Ground::default() };
    for target in &mut targets {
        target.tail = vec![target.to.into_word()];
        target.to = at.placed.contract;
        ground.tail.clone_from(&target.tail);
    }
    let parts = Parts {
        present_share: at.scenario.state.present_share,
        ..Parts::new(contract, at.meter(contract, &ground)?, targets)
    };
    Ok(Storm::new(parts, at.stream))
}
