//! The state over which the reference runs a batch: a map of the keys that the batch's plan names.
//! Its size follows from the batch, not from the state. A read outside the plan fails, so that it
//! does not pass for an absent row.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap},
};

use alloy_primitives::{
    Address, B256, U256, keccak256,
    map::{AddressMap, B256Map, HashSet},
};
use evm::account_info;
use rayon::prelude::*;
use revm::{Database, bytecode::Bytecode, database_interface::DBErrorMarker, state::AccountInfo};
use workload::{
    AccountFamily, AccountState, Batch, GenesisAccount, GenesisError, NetChanges, Workload,
    WorkloadError, block::IndexRange, list::ListBounds, senders::SenderError,
};

/// Number of indices whose keys and values are made at a time.
const CHUNK: u64 = 4096;

/// A read that the plan does not cover, or a plan that does not fit the genesis.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// An account outside the plan was read.
    #[error("account {0} is read, and is not in the batch's plan")]
    Account(Address),
    /// A slot outside the plan was read.
    #[error("slot {key:#x} of {address} is read, and is not in the batch's plan")]
    Slot {
        /// The contract.
        address: Address,
        /// The slot.
        key: U256,
    },
    /// A code was read that no account has.
    #[error("code {0} is read, and no account has it")]
    Code(B256),
    /// A code begins like a delegation and is no valid one (EIP-7702).
    #[error("code {0} begins with 0xef01 and is no delegation")]
    InvalidCode(B256),
    /// BLOCKHASH of a block that the workload does not know.
    #[error("the hash of block {0} is read, and the workload does not have it")]
    BlockHash(u64),
    /// The plan names a family that the genesis does not have.
    #[error("the plan names family {family} of {what}, and the genesis has {count}")]
    Family {
        /// Slots, senders or accounts.
        what: &'static str,
        /// Index of the family.
        family: u32,
        /// Number of families.
        count: usize,
    },
    /// The plan names senders beyond a family's end.
    #[error("the plan names sender {last} of family {family}, which has {count}")]
    BeyondSenders {
        /// The family.
        family: u32,
        /// The last index named.
        last: u64,
        /// Number of senders.
        count: u64,
    },
    /// The plan has more keys than the transactions' gas can touch. Such a plan is wrong, and would
    /// take memory without bound.
    #[error("the plan has {planned_count} {what}; the batch can touch {most_count} at most")]
    TooLarge {
        /// Slots, senders or accounts.
        what: &'static str,
        /// Number of keys in the plan.
        planned_count: u64,
        /// Maximum number of accounts and slots together that the batch can touch.
        most_count: u64,
    },
    /// A sender family is invalid.
    #[error(transparent)]
    Sender(#[from] SenderError),
}

impl DBErrorMarker for PlanError {}

/// State before a batch: the planned part of the genesis, with the changes of earlier batches.
#[derive(Debug)]
pub struct PlannedState<'w> {
    workload: &'w Workload,
    first_hash_number: u64,
    /// Hashes of consecutive blocks, from `first_hash_number` on.
    block_hashes: Cow<'w, [B256]>,
    /// Accounts that the genesis writes out.
    explicit: AddressMap<&'w GenesisAccount>,
    /// Contracts whose slots are in a family.
    families: HashSet<Address>,
    /// Accounts with storage and without code and nonce, at which a contract could be created.
    storage_only: HashSet<Address>,
    codes: B256Map<Bytecode>,
    /// Codes of planned accounts that follow from a family's rule, by hash: the family and the
    /// code's index. A code is made when it is read.
    made_codes: B256Map<(&'w AccountFamily, u64)>,
    /// Hashes of these codes, by family and by the code's index.
    made_hashes: HashMap<(u32, u64), B256>,
    /// Accounts of families in the plan, and absent accounts, as the genesis has them.
    planned_accounts: AddressMap<Option<AccountState>>,
    /// Slots of families in the plan, as the genesis has them.
    planned_slots: AddressMap<HashMap<U256, U256, SlotHasher>>,
    /// Accounts and slots that earlier batches have written.
    written_accounts: AddressMap<Option<AccountState>>,
    written_slots: HashMap<(Address, U256), U256>,
}

/// A fast hasher of slot keys.
type SlotHasher = alloy_primitives::map::DefaultHashBuilder;

impl<'w> PlannedState<'w> {
    /// The state before the first batch; [`Self::plan`] must follow.
    pub fn new(workload: &'w Workload) -> Result<Self, WorkloadError> {
        let genesis = &workload.genesis;
        let codes = genesis.accounts.iter().map(|account| {
            let code = Bytecode::new_raw_checked(account.code.clone())
                .map_err(|_| GenesisError::Code { address: account.address })?;
            Ok::<_, GenesisError>((keccak256(&account.code), code))
        });
        let families: HashSet<Address> =
            genesis.slots.iter().map(|family| family.address).collect();
        let storage_only = genesis.accounts.iter().filter(|account| {
            let is_free = account.nonce == 0 && account.code.is_empty();
            is_free && (!account.storage.is_empty() || families.contains(&account.address))
        });
        Ok(Self {
            storage_only: storage_only.map(|account| account.address).collect(),
            workload,
            first_hash_number: workload.first_hash_number,
            block_hashes: Cow::Borrowed(&workload.block_hashes),
            explicit: genesis.accounts.iter().map(|account| (account.address, account)).collect(),
            families,
            codes: codes.collect::<Result<_, _>>()?,
            made_codes: B256Map::default(),
            made_hashes: HashMap::new(),
            planned_accounts: AddressMap::default(),
            planned_slots: AddressMap::default(),
            written_accounts: AddressMap::default(),
            written_slots: HashMap::new(),
        })
    }

    /// The same state on another chain, which begins with the block `number` of hash `hash`.
    pub(super) fn on_chain(self, number: u64, hash: B256) -> Self {
        Self { first_hash_number: number, block_hashes: Cow::Owned(vec![hash]), ..self }
    }

    /// Adds the hash of the chain's next block.
    pub(super) fn add_block_hash(&mut self, hash: B256) {
        self.block_hashes.to_mut().push(hash);
    }

    /// Sets the plan of `batch`: only planned keys may be read.
    pub(super) fn plan(&mut self, batch: &Batch) -> Result<(), PlanError> {
        let plan = &batch.plan;
        let most_count = ListBounds::max_touched_count(batch, &self.workload.rules);
        let all =
            [("slots", &plan.slots), ("senders", &plan.senders), ("accounts", &plan.accounts)];
        for (what, ranges) in all {
            let planned_count = ranges.iter().map(|range| range.count).fold(0, u64::saturating_add);
            if planned_count > most_count {
                return Err(PlanError::TooLarge { what, planned_count, most_count });
            }
        }
        self.planned_accounts.clear();
        self.planned_slots.clear();
        for range in &plan.senders {
            self.plan_senders(range)?;
        }
        for range in &plan.accounts {
            self.plan_accounts(range)?;
        }
        let absent = plan.absent_accounts.iter().map(|address| (*address, None));
        self.planned_accounts.extend(absent);
        for range in &plan.slots {
            self.plan_slots(range)?;
        }
        Ok(())
    }

    fn plan_senders(&mut self, range: &IndexRange) -> Result<(), PlanError> {
        let family = family_of(range, &self.workload.genesis.senders, "senders")?;
        let end = range.start.saturating_add(range.count);
        if end > family.count {
            return Err(PlanError::BeyondSenders {
                family: range.family,
                last: end - 1,
                count: family.count,
            });
        }
        let state = AccountState { balance: family.balance, ..AccountState::default() };
        let addresses = family.addresses(range.start..end)?;
        self.planned_accounts.extend(addresses.into_iter().map(|address| (address, Some(state))));
        Ok(())
    }

    fn plan_accounts(&mut self, range: &IndexRange) -> Result<(), PlanError> {
        let family = family_of(range, &self.workload.genesis.account_families, "accounts")?;
        let mut addresses = Vec::new();
        for indices in chunks(range) {
            family.addresses(&indices, &mut addresses);
            let present = indices.iter().filter(|index| **index < family.count);
            let codes = present.filter_map(|index| family.code_index(*index));
            self.make_codes(range.family, family, codes);
            for (index, address) in indices.iter().zip(&addresses) {
                let state = (*index < family.count).then(|| {
                    let code = family.code_index(*index);
                    let code_hash = code.map(|code| self.made_hashes[&(range.family, code)]);
                    family.state(*index, code_hash)
                });
                self.planned_accounts.insert(*address, state);
            }
        }
        Ok(())
    }

    /// Hashes the `codes` of the family at `family_index` that are not hashed yet.
    fn make_codes(
        &mut self,
        family_index: u32,
        family: &'w AccountFamily,
        codes: impl Iterator<Item = u64>,
    ) {
        let missing = codes.filter(|code| !self.made_hashes.contains_key(&(family_index, *code)));
        let missing: BTreeSet<u64> = missing.collect();
        let hashes: Vec<(u64, B256)> =
            missing.into_par_iter().map(|code| (code, keccak256(family.code(code)))).collect();
        for (code, hash) in hashes {
            self.made_hashes.insert((family_index, code), hash);
            self.made_codes.insert(hash, (family, code));
        }
    }

    fn plan_slots(&mut self, range: &IndexRange) -> Result<(), PlanError> {
        let family = family_of(range, &self.workload.genesis.slots, "slots")?;
        let slots = self.planned_slots.entry(family.address).or_default();
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for indices in chunks(range) {
            family.keys(&indices, &mut keys);
            family.values(&indices, &mut values);
            // Reserves memory for one chunk at a time: the plan's count is not trusted.
            slots.reserve(indices.len());
            for ((index, key), value) in indices.iter().zip(&keys).zip(&values) {
                let exists = *index < family.count;
                let value = if exists { U256::from_be_bytes(*value) } else { U256::ZERO };
                slots.insert(U256::from_be_bytes(*key), value);
            }
        }
        Ok(())
    }

    /// Whether the account has storage, and neither code nor nonce. Only the genesis can have such
    /// an account: only code writes storage, and a delegation raises the nonce.
    pub(super) fn has_storage_only(&self, address: &Address) -> bool {
        self.storage_only.contains(address)
    }

    /// Whether the account has a slot that the genesis writes out or that an earlier batch wrote. A
    /// slot of the genesis counts even if an earlier batch cleared it.
    pub(super) fn has_slots(&self, address: &Address) -> bool {
        self.explicit.get(address).is_some_and(|account| !account.storage.is_empty())
            || self.written_slots.iter().any(|((of, _), value)| of == address && !value.is_zero())
    }

    /// Applies the changes of a batch to the state.
    pub(super) fn commit(&mut self, changes: &NetChanges) -> Result<(), PlanError> {
        self.written_accounts.extend(changes.accounts.iter().copied());
        let slots = changes.slots.iter().map(|(address, key, value)| ((*address, *key), *value));
        self.written_slots.extend(slots);
        for (hash, code) in &changes.codes {
            let code = Bytecode::new_raw_checked(code.clone());
            self.codes.insert(*hash, code.map_err(|_| PlanError::InvalidCode(*hash))?);
        }
        Ok(())
    }

    /// The account before the batch.
    pub(super) fn account(&self, address: &Address) -> Result<Option<AccountState>, PlanError> {
        if let Some(written) = self.written_accounts.get(address) {
            return Ok(*written);
        }
        if let Some(account) = self.explicit.get(address) {
            return Ok(Some(account.state()));
        }
        match self.planned_accounts.get(address) {
            Some(planned) => Ok(*planned),
            None if self.has_no_families() => Ok(None),
            None => Err(PlanError::Account(*address)),
        }
    }

    /// Whether every account is written out, so that all others are absent.
    const fn has_no_families(&self) -> bool {
        let genesis = &self.workload.genesis;
        genesis.senders.is_empty() && genesis.account_families.is_empty()
    }

    /// The slot before the batch; zero where it is absent.
    pub(super) fn slot(&self, address: Address, key: U256) -> Result<U256, PlanError> {
        if let Some(written) = self.written_slots.get(&(address, key)) {
            return Ok(*written);
        }
        if self.families.contains(&address) {
            let planned = self.planned_slots.get(&address).and_then(|slots| slots.get(&key));
            return planned.copied().ok_or(PlanError::Slot { address, key });
        }
        let storage = self.explicit.get(&address).map_or(&[][..], |account| &account.storage);
        let index = storage.binary_search_by(|(at, _)| at.cmp(&key));
        Ok(index.map_or(U256::ZERO, |index| storage[index].1))
    }
}

/// The family of `range` among the `families` that errors call `what`.
fn family_of<'f, F>(
    range: &IndexRange,
    families: &'f [F],
    what: &'static str,
) -> Result<&'f F, PlanError> {
    let (family, count) = (range.family, families.len());
    families.get(family as usize).ok_or(PlanError::Family { what, family, count })
}

/// The indices of `range`, up to [`CHUNK`] at a time.
fn chunks(range: &IndexRange) -> impl Iterator<Item = Vec<u64>> {
    let end = range.start.saturating_add(range.count);
    let starts = (range.start..end).step_by(CHUNK as usize);
    starts.map(move |start| (start..end.min(start.saturating_add(CHUNK))).collect())
}

impl Database for PlannedState<'_> {
    type Error = PlanError;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, PlanError> {
        Ok(self.account(&address)?.map(account_info))
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, PlanError> {
        if let Some(code) = self.codes.get(&hash) {
            return Ok(code.clone());
        }
        let (family, code) = self.made_codes.get(&hash).ok_or(PlanError::Code(hash))?;
        Ok(Bytecode::new_raw(family.code(*code)))
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, PlanError> {
        self.slot(address, key)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, PlanError> {
        let index = number.checked_sub(self.first_hash_number);
        let hash = index.and_then(|index| self.block_hashes.get(usize::try_from(index).ok()?));
        hash.copied().ok_or(PlanError::BlockHash(number))
    }
}
