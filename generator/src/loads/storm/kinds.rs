//! Makes the planner of each kind of storm, for `loads.rs`: its [`Parts`] (contract, families,
//! words of calldata), measured prices, and a [`Storm`] of them.

use std::ops::Range;

use alloy_primitives::{B256, U256};
use workload::SlotFamily;

use super::{
    parts::{FirstWord, MemberKind, NibbleSlots, Parts, RowOrder, Target},
    place,
    transactions::Storm,
};
use crate::{
    artifact::Contract,
    error::GeneratorError,
    meter::{Meter, ProbeInputs},
    probe::Absent,
    random::Stream,
    state::{LoadGenesis, State},
};
use spec::{
    AccountOp, AccountStorm, AccountTarget, ContractChase, KeyOrder, PrefetchMiss, Scenario,
    SloadStorm, SlotOrder, SstoreStorm, WriteOp,
};

/// The scenario, the state, and a load's part of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StormEnv<'g, 's> {
    pub(crate) scenario: &'s Scenario,
    pub(crate) state: &'g State,
    /// The load's part of the state.
    pub(crate) placed: &'g LoadGenesis,
    /// Index of the load.
    pub(crate) load: usize,
    /// The load's stream.
    pub(crate) stream: &'s Stream,
}

impl<'g> StormEnv<'g, '_> {
    /// The load's slot families with their indices in the genesis.
    fn families(&self) -> impl Iterator<Item = (u32, &'g SlotFamily)> + use<'g> {
        let state = self.state;
        let families = self.placed.families.clone();
        families
            .map(move |family_index| (family_index, &state.genesis.slots[family_index as usize]))
    }

    /// The load's slot families as targets: each family's contract, which accesses the family's
    /// slots. The first word of its calldata is the family's seed.
    fn slots(&self, tail: &[B256]) -> Vec<Target<'g>> {
        self.families()
            .map(|(family_index, family)| Target {
                to: family.address,
                member_kind: MemberKind::Slots,
                family: family_index,
                held_count: family.count,
                first: FirstWord::Word(family.seed),
                tail: tail.to_vec(),
                start: None,
            })
            .collect()
    }

    fn meter(&self, contract: Contract, inputs: &ProbeInputs) -> Result<Meter, GeneratorError> {
        Meter::measure(contract, inputs, self.scenario.fork)
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
pub(crate) fn sload<'g>(
    env: StormEnv<'g, '_>,
    storm: &SloadStorm,
) -> Result<Storm<'g>, GeneratorError> {
    let contract = place::sload_contract(storm);
    let mut targets = env.slots(&[]);
    if storm.keys == KeyOrder::Chase {
        for (target, (_, family)) in targets.iter_mut().zip(env.families()) {
            target.first = FirstWord::KeyOf(family);
        }
    }
    let sorted = RowOrder {
        layout: env.scenario.state.layout,
        order: storm.order,
        families: env.families().map(|(_, family)| family).collect(),
    };
    let parts = Parts {
        present_share: env.scenario.state.present_share,
        overlap: storm.overlap,
        sorted: (storm.order != SlotOrder::Index).then_some(sorted),
        calldata_share: storm.calldata_share,
        calldata_byte: storm.calldata_byte,
        ..Parts::new(contract, env.meter(contract, &ProbeInputs::default())?, targets)
    };
    Ok(Storm::new(parts, env.stream))
}

/// A storm that follows a chain through contracts.
pub(crate) fn contract_chase<'g>(
    env: StormEnv<'g, '_>,
    chase: &ContractChase,
) -> Result<Storm<'g>, GeneratorError> {
    let contract = Contract::HopStorm;
    let inputs = ProbeInputs { elsewhere: Contract::HopTarget.code()?, ..ProbeInputs::default() };
    let meter = env.meter(contract, &inputs)?;
    let Range { start, end } = env.placed.families.clone();
    let families = &env.state.genesis.slots[start as usize..end as usize];
    let tx_gas =
        env.scenario.loads[env.load].sizes.map_or(env.scenario.block.tx_gas, |of| of.most_gas);
    let (contract_count, needed_count) = (chase.contract_count, meter.count_at_most(tx_gas));
    if contract_count < needed_count {
        let load = env.load;
        return Err(GeneratorError::TooFewContracts { load, contract_count, needed_count, tx_gas });
    }
    let target = Target {
        to: env.placed.contract,
        member_kind: MemberKind::Hops { contract_count },
        family: start,
        held_count: families.iter().map(|family| family.count).sum(),
        first: FirstWord::KeyOfHop(families),
        tail: Vec::new(),
        start: None,
    };
    Ok(Storm::new(Parts::new(contract, meter, vec![target]), env.stream))
}

/// A storm of cold writes.
pub(crate) fn sstore<'g>(
    env: StormEnv<'g, '_>,
    storm: &SstoreStorm,
) -> Result<Storm<'g>, GeneratorError> {
    if storm.keys.has_one_slot_per_contract() {
        return spread(env, storm);
    }
    let contract = place::sstore_contract(storm);
    let (present_share, absent) = match storm.op {
        WriteOp::Create => (0.0, Absent::Slots),
        WriteOp::Update | WriteOp::Clear => (1.0, Absent::Nothing),
        // Present and absent slots cost the same.
        WriteOp::Nothing => (env.scenario.state.present_share, Absent::Nothing),
    };
    let inputs =
        ProbeInputs { tail: vec![env.written(storm.op)], absent, ..ProbeInputs::default() };
    let targets = env.slots(&inputs.tail);
    let below = storm.nibble.map(|nibble| NibbleSlots {
        nibble,
        families: env.families().map(|(_, family)| family).collect(),
    });
    let meter = env.meter(contract, &inputs)?;
    let parts = Parts { present_share, below, ..Parts::new(contract, meter, targets) };
    Ok(Storm::new(parts, env.stream))
}

/// A storm of cold writes of one slot in each of many contracts, whose addresses are hashes of an
/// index.
fn spread<'g>(env: StormEnv<'g, '_>, storm: &SstoreStorm) -> Result<Storm<'g>, GeneratorError> {
    let contract = Contract::SpreadStorm;
    let first = env.placed.families.start;
    let family = &env.state.genesis.slots[first as usize];
    // The first slot, or the first that does not exist.
    let (slot, absent) = match storm.op {
        WriteOp::Create => (family.count, Absent::Slots),
        WriteOp::Update | WriteOp::Clear | WriteOp::Nothing => (0, Absent::Nothing),
    };
    // The rules of these families take no seed: the key is the same in all contracts.
    let key = B256::from(family.key(slot));
    let tail = vec![key, env.written(storm.op)];
    let inputs =
        ProbeInputs { tail: tail.clone(), absent, elsewhere: Contract::SpreadTarget.code()? };
    let state_seed = env.scenario.state.seed.unwrap_or(env.scenario.seed);
    let tag = env.scenario.loads[env.load].tag(env.load);
    let target = Target {
        to: env.placed.contract,
        member_kind: MemberKind::Each { slot },
        family: first,
        held_count: storm.contract_count,
        first: FirstWord::Word(place::spread_seed(state_seed, &tag)),
        tail,
        start: None,
    };
    Ok(Storm::new(Parts::new(contract, env.meter(contract, &inputs)?, vec![target]), env.stream))
}

/// A storm of cold reads at keys that the transaction before decides.
pub(crate) fn prefetch_miss<'g>(
    env: StormEnv<'g, '_>,
    storm: &PrefetchMiss,
) -> Result<Storm<'g>, GeneratorError> {
    let contract = place::pointer_contract(storm.keys);
    let mut targets = env.slots(&[]);
    let mut inputs = ProbeInputs {
        elsewhere: place::read_contract(storm.keys).code()?,
        ..ProbeInputs::default()
    };
    for target in &mut targets {
        let reader = target.to.into_word();
        match contract {
            Contract::ChainPointer => target.first = FirstWord::Word(reader),
            _ => target.tail = vec![reader],
        }
        target.to = env.placed.contract;
        target.start = Some(place::POINTER_START);
        inputs.tail.clone_from(&target.tail);
    }
    let parts = Parts::new(contract, env.meter(contract, &inputs)?, targets);
    Ok(Storm::new(parts, env.stream))
}

/// A storm that accesses cold accounts.
pub(crate) fn account<'g>(
    env: StormEnv<'g, '_>,
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
    let family = &env.state.genesis.account_families[env.placed.account_family as usize];
    let is_absent = storm.target == AccountTarget::Absent;
    let inputs = ProbeInputs {
        tail: [op, storm.code_bytes].map(|number| B256::from(U256::from(number))).to_vec(),
        absent: if is_absent { Absent::Accounts } else { Absent::Nothing },
        elsewhere: family.code(0),
    };
    let target = Target {
        to: env.placed.contract,
        member_kind: MemberKind::Accounts,
        family: env.placed.account_family,
        held_count: family.count,
        first: FirstWord::Word(family.seed),
        tail: inputs.tail.clone(),
        start: None,
    };
    let parts = Parts {
        present_share: if is_absent { 0.0 } else { 1.0 },
        ..Parts::new(contract, env.meter(contract, &inputs)?, vec![target])
    };
    Ok(Storm::new(parts, env.stream))
}

/// A storm that reads balances of a token.
pub(crate) fn balance<'g>(env: StormEnv<'g, '_>) -> Result<Storm<'g>, GeneratorError> {
    let contract = Contract::BalanceStorm;
    let mut targets = env.slots(&[]);
    let mut inputs = ProbeInputs { elsewhere: Contract::Token.code()?, ..ProbeInputs::default() };
    for target in &mut targets {
        target.tail = vec![target.to.into_word()];
        target.to = env.placed.contract;
        inputs.tail.clone_from(&target.tail);
    }
    let parts = Parts {
        present_share: env.scenario.state.present_share,
        ..Parts::new(contract, env.meter(contract, &inputs)?, targets)
    };
    Ok(Storm::new(parts, env.stream))
}
