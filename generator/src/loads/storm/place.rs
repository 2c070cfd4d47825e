//! Adds a storm's part to the genesis, for `loads.rs`: contracts with families of slots, and
//! contracts that call them. Also maps a storm's keys in the scenario to its contract.

use alloy_primitives::{Address, B256, U256};
use workload::{
    AccountFamily, CodeRule, Genesis, GenesisAccount, KeyRule, SlotFamily, ValueRule,
    stream::stream_seed,
};

use crate::{
    artifact::Contract,
    error::GeneratorError,
    state::{LoadGenesis, add_contract, contract_address, numbered_contract},
};
use spec::{
    AccountStorm, AccountTarget, ContractChase, KeyOrder, PrefetchMiss, SloadStorm, SlotOrder,
    SstoreStorm, WriteKeys, WriteOp,
};

/// Index of the slot that a pointer contract names in the genesis: where the first transaction
/// reads.
pub(crate) const POINTER_START: u64 = 0;

/// The contract that reads slots by `keys`.
pub(crate) const fn read_contract(keys: KeyOrder) -> Contract {
    match keys {
        KeyOrder::Keccak => Contract::KeccakStorm,
        KeyOrder::Weyl => Contract::WeylStorm,
        KeyOrder::Chase => Contract::ChaseStorm,
    }
}

/// The contract of a load of plain reads.
pub(crate) const fn sload_contract(storm: &SloadStorm) -> Contract {
    match storm.order {
        SlotOrder::Ascending | SlotOrder::Descending => Contract::IndexStorm,
        SlotOrder::Index if storm.calldata_share > 0.0 => Contract::PaddedStorm,
        SlotOrder::Index => read_contract(storm.keys),
    }
}

/// The contract with a pointer to the first key of a transaction. It calls the reader of `keys`
/// from there, and moves the pointer for the next transaction.
pub(crate) const fn pointer_contract(keys: KeyOrder) -> Contract {
    match keys {
        KeyOrder::Keccak | KeyOrder::Weyl => Contract::RangePointer,
        KeyOrder::Chase => Contract::ChainPointer,
    }
}

/// The contract that writes its own slots.
pub(crate) const fn sstore_contract(storm: &SstoreStorm) -> Contract {
    match storm.op {
        WriteOp::Nothing => Contract::RewriteStorm,
        WriteOp::Create | WriteOp::Update | WriteOp::Clear if storm.nibble.is_some() => {
            Contract::IndexWriteStorm
        }
        WriteOp::Create | WriteOp::Update | WriteOp::Clear => Contract::WriteStorm,
    }
}

/// Seed of the addresses of contracts that a transaction calls one after another to write.
pub(crate) fn spread_seed(state_seed: u64, tag: &str) -> B256 {
    stream_seed(state_seed, &format!("state/load[{tag}]/contracts"))
}

/// Rules of the slots of a storm.
#[derive(Clone, Copy, Debug)]
struct Rules {
    keys: KeyRule,
    values: ValueRule,
}

/// Rules of the slots that are read by `keys`.
const fn rules(keys: KeyOrder) -> Rules {
    match keys {
        KeyOrder::Keccak => Rules { keys: KeyRule::Keccak, values: ValueRule::Random },
        KeyOrder::Weyl => Rules { keys: KeyRule::Weyl, values: ValueRule::Random },
        KeyOrder::Chase => Rules { keys: KeyRule::Keccak, values: ValueRule::NextKey },
    }
}

/// A storm's index among the loads, and the facts that its part of the state follows from.
#[derive(Debug)]
pub(crate) struct StormInput<'a> {
    pub(crate) index: usize,
    /// Name of the load in names of contracts and streams.
    pub(crate) tag: &'a str,
    /// The state's seed.
    pub(crate) seed: u64,
    /// Number of slots that the storm gets.
    pub(crate) slot_count: u64,
    /// Number of slots of the state.
    pub(crate) state_slot_count: u64,
}

impl StormInput<'_> {
    /// Adds the contracts that read their own slots.
    pub(crate) fn sload(
        &self,
        storm: &SloadStorm,
        genesis: &mut Genesis,
    ) -> Result<LoadGenesis, GeneratorError> {
        let contract = sload_contract(storm);
        self.families(contract, storm.contract_count, rules(storm.keys), genesis)
    }

    /// Adds contracts whose slots are one chain, which visits the contracts in turn, and the
    /// contract that follows the chain. All contracts have equally many slots; the remainder is
    /// left out.
    pub(crate) fn contract_chase(
        &self,
        chase: &ContractChase,
        genesis: &mut Genesis,
    ) -> Result<LoadGenesis, GeneratorError> {
        let rules = Rules { keys: KeyRule::Addressed, values: ValueRule::Random };
        let placed = self.families(Contract::HopTarget, chase.contract_count, rules, genesis)?;
        let families = &mut genesis.slots[placed.families.start as usize..];
        let (seed, first) = (families[0].seed, families[0].address);
        let next = families.iter().skip(1).map(|family| (family.address, 0));
        let next: Vec<(Address, u64)> = next.chain([(first, 1)]).collect();
        for (family, (address, ahead)) in families.iter_mut().zip(next) {
            family.count = self.slot_count / chase.contract_count;
            family.seed = seed;
            family.values = ValueRule::KeyElsewhere { address, ahead };
        }
        let contract = self.contract(Contract::HopStorm, Vec::new(), genesis)?;
        Ok(LoadGenesis { contract, ..placed })
    }

    /// Adds the contracts that write their own slots, or one slot in each of many contracts.
    pub(crate) fn sstore(
        &self,
        storm: &SstoreStorm,
        genesis: &mut Genesis,
    ) -> Result<LoadGenesis, GeneratorError> {
        if storm.keys.has_one_slot_per_contract() {
            return self.spread(storm, genesis);
        }
        let contract = sstore_contract(storm);
        self.families(contract, storm.contract_count, rules(KeyOrder::Keccak), genesis)
    }

    /// Adds contracts in each of which one slot is written, and the contract that calls them. The
    /// addresses are hashes of an index, which code can compute. All contracts have equally many
    /// slots; the remainder is left out.
    fn spread(
        &self,
        storm: &SstoreStorm,
        genesis: &mut Genesis,
    ) -> Result<LoadGenesis, GeneratorError> {
        let (contract_count, slots_per_contract) =
            (storm.contract_count, storm.keys.slots_a_contract());
        self.check_slots(contract_count * slots_per_contract, contract_count)?;
        let (keys, count) = match storm.keys {
            WriteKeys::Deep => (KeyRule::Deep, slots_per_contract),
            WriteKeys::Keccak | WriteKeys::First => {
                (KeyRule::Index, self.slot_count / contract_count)
            }
        };
        let seed = spread_seed(self.seed, self.tag);
        let addresses = AccountFamily { seed, count: contract_count, code: CodeRule::Nothing };
        let code = Contract::SpreadTarget.code()?;
        let first = genesis.slots.len() as u32;
        for contract_index in 0..contract_count {
            let address = addresses.address(contract_index);
            let account =
                GenesisAccount { address, nonce: 1, code: code.clone(), ..Default::default() };
            genesis.accounts.push(account);
            let seed =
                stream_seed(self.seed, &format!("state/load[{}]/slots/{contract_index}", self.tag));
            genesis.slots.push(SlotFamily {
                address,
                count,
                keys,
                values: ValueRule::Random,
                seed,
            });
        }
        let contract = self.contract(Contract::SpreadStorm, Vec::new(), genesis)?;
        Ok(LoadGenesis {
            contract,
            families: first..genesis.slots.len() as u32,
            ..LoadGenesis::default()
        })
    }

    /// Adds a contract that reads its own slots, and the pointer contract that calls it.
    pub(crate) fn prefetch_miss(
        &self,
        storm: &PrefetchMiss,
        genesis: &mut Genesis,
    ) -> Result<LoadGenesis, GeneratorError> {
        let reader = read_contract(storm.keys);
        let placed = self.families(reader, 1, rules(storm.keys), genesis)?;
        let family = &genesis.slots[placed.families.start as usize];
        let pointer = match pointer_contract(storm.keys) {
            Contract::ChainPointer => family.key(POINTER_START),
            // One more than the index: a slot of zero would not exist.
            _ => U256::from(POINTER_START + 1),
        };
        let slot = vec![(U256::ZERO, pointer)];
        let contract = self.contract(pointer_contract(storm.keys), slot, genesis)?;
        Ok(LoadGenesis { contract, ..placed })
    }

    /// Adds the contract that accesses accounts, and their family.
    pub(crate) fn accounts(
        &self,
        storm: &AccountStorm,
        genesis: &mut Genesis,
    ) -> Result<LoadGenesis, GeneratorError> {
        let contract = self.contract(Contract::AccountStorm, Vec::new(), genesis)?;
        let code = match storm.target {
            AccountTarget::Plain | AccountTarget::Absent => CodeRule::Nothing,
            AccountTarget::Contracts => {
                CodeRule::Jumpdests { bytes: storm.code_bytes, distinct_count: storm.code_count }
            }
        };
        let name = format!("state/load[{}]/accounts", self.tag);
        let seed = stream_seed(self.seed, &name);
        let account_family = genesis.account_families.len() as u32;
        genesis.account_families.push(AccountFamily { seed, count: storm.account_count, code });
        Ok(LoadGenesis { contract, account_family, ..LoadGenesis::default() })
    }

    /// Adds an account with all slots of the load, at consecutive keys, which delegates its code
    /// (EIP-7702).
    pub(crate) fn bloated(&self, genesis: &mut Genesis) -> Result<LoadGenesis, GeneratorError> {
        let delegated_to = self.contract(Contract::Bloated, Vec::new(), genesis)?;
        let name = "bloated account";
        let address = contract_address(self.tag, name);
        // 0xef0100 marks a delegation.
        let code = [&[0xef, 0x01, 0x00], delegated_to.as_slice()].concat().into();
        genesis.accounts.push(GenesisAccount { address, nonce: 1, code, ..Default::default() });
        let first = genesis.slots.len() as u32;
        genesis.slots.push(SlotFamily {
            address,
            count: self.slot_count,
            keys: KeyRule::Index,
            values: ValueRule::AfterKey,
            seed: stream_seed(self.seed, &format!("state/load[{}]/{name}", self.tag)),
        });
        Ok(LoadGenesis { contract: address, families: first..first + 1, ..LoadGenesis::default() })
    }

    /// Adds the account of a contract of the load, with the slots `storage`.
    fn contract(
        &self,
        contract: Contract,
        storage: Vec<(U256, U256)>,
        genesis: &mut Genesis,
    ) -> Result<Address, GeneratorError> {
        let address = contract_address(self.tag, contract.name());
        add_contract(address, contract, storage, genesis)?;
        Ok(address)
    }

    /// Adds a token whose balances are the storm's slots, and the contract that reads the balances.
    pub(crate) fn balances(&self, genesis: &mut Genesis) -> Result<LoadGenesis, GeneratorError> {
        let rules = Rules { keys: KeyRule::Balance, values: ValueRule::Random };
        let placed = self.families(Contract::Token, 1, rules, genesis)?;
        let contract = self.contract(Contract::BalanceStorm, Vec::new(), genesis)?;
        Ok(LoadGenesis { contract, ..placed })
    }

    /// Checks that the load has at least `needed_count` slots for its contracts.
    const fn check_slots(
        &self,
        needed_count: u64,
        contract_count: u64,
    ) -> Result<(), GeneratorError> {
        let Self { index, slot_count, state_slot_count, .. } = *self;
        if slot_count >= needed_count {
            return Ok(());
        }
        Err(GeneratorError::TooFewSlotsPerContract {
            load: index,
            slot_count,
            state_slot_count,
            contract_count,
            needed_count,
        })
    }

    /// Adds contracts with the storm's slots spread over them.
    fn families(
        &self,
        contract: Contract,
        contract_count: u64,
        Rules { keys, values }: Rules,
        genesis: &mut Genesis,
    ) -> Result<LoadGenesis, GeneratorError> {
        let Self { tag, seed, slot_count, .. } = *self;
        self.check_slots(contract_count, contract_count)?;
        let first = genesis.slots.len() as u32;
        let code = contract.code()?;
        for contract_index in 0..contract_count {
            let address = numbered_contract(tag, contract, contract_index);
            let account =
                GenesisAccount { address, nonce: 1, code: code.clone(), ..Default::default() };
            genesis.accounts.push(account);
            let extra = u64::from(contract_index < slot_count % contract_count);
            genesis.slots.push(SlotFamily {
                address,
                count: slot_count / contract_count + extra,
                keys,
                values,
                seed: stream_seed(
                    seed,
                    &format!("state/load[{tag}]/{}/{contract_index}", contract.name()),
                ),
            });
        }
        Ok(LoadGenesis { families: first..genesis.slots.len() as u32, ..LoadGenesis::default() })
    }
}
