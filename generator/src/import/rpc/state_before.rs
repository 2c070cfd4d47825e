//! The part of the state before the first imported block that is known so far. Its values come from
//! a tracer, or from a node or a witness key by key. Execution (`replay.rs`) reads all of them in
//! the same way, and a value that is not known yet is read from the source then.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{
    Address, B256, Bytes, U256, keccak256,
    map::{B256Map, HashSet},
};
use evm::{account_info, system};
use revm::{Database, bytecode::Bytecode, database_interface::DBErrorMarker, state::AccountInfo};
use serde_json::json;
use workload::{AccountState, ForkSchedule, GenesisAccount, Workload};

use super::{
    super::{ImportError, read},
    Call,
    client::{Need, RpcClient},
    quantity,
    trace::TxTrace,
};

/// The error if a value of the state cannot be read.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(super) struct ReadFailed(pub(super) ImportError);

impl DBErrorMarker for ReadFailed {}

/// Remedy if a witness lacks a part of the state.
pub(super) const REMEDY: &str = "import the block from the node (stress import rpc)";

/// A source of the state before the first block.
pub(super) trait StateSource {
    /// Returns the source's name for errors.
    fn name(&self) -> &str;

    /// Reads the accounts at `addresses`, in order.
    fn accounts(&mut self, addresses: &[Address]) -> Result<Vec<AccountFields>, ImportError>;

    /// Reads the values of `slots`, in order.
    fn slots(&mut self, slots: &[(Address, U256)]) -> Result<Vec<U256>, ImportError>;
}

/// The state of a node after block `number`.
pub(super) struct NodeState<'a> {
    pub(super) client: RpcClient<'a>,
    pub(super) number: u64,
}

impl StateSource for NodeState<'_> {
    fn name(&self) -> &str {
        self.client.name()
    }

    fn accounts(&mut self, addresses: &[Address]) -> Result<Vec<AccountFields>, ImportError> {
        let methods = ["eth_getTransactionCount", "eth_getBalance", "eth_getCode"];
        let at = quantity(self.number);
        let calls = addresses.iter().flat_map(|address| {
            methods.map(|method| Call { method, params: json!([address, at]) })
        });
        let replies = self.client.all(calls.collect(), Need::State(self.number))?;
        let accounts = replies.chunks(methods.len()).map(|replies| {
            let (nonce, balance) = (replies[0].json().u64()?, replies[1].json().u256()?);
            Ok(AccountFields::new(nonce, balance, replies[2].json().bytes()?))
        });
        accounts.collect()
    }

    fn slots(&mut self, slots: &[(Address, U256)]) -> Result<Vec<U256>, ImportError> {
        let at = quantity(self.number);
        let calls = slots.iter().map(|(address, key)| Call {
            method: "eth_getStorageAt",
            params: json!([address, B256::from(*key), at]),
        });
        let replies = self.client.all(calls.collect(), Need::State(self.number))?;
        replies.iter().map(|reply| reply.json().u256()).collect()
    }
}

/// The known values of an account. Its other values have not been read yet.
#[derive(Clone, Debug, Default)]
struct KnownAccount {
    fields: Option<AccountFields>,
    /// Known slots, also those of value zero.
    slots: BTreeMap<U256, U256>,
}

/// The fields of an account; zero and empty if the account does not exist.
#[derive(Clone, Debug)]
pub(super) struct AccountFields {
    pub(super) state: AccountState,
    /// The code; `None` if the source lacks it.
    pub(super) code: Option<Bytes>,
}

/// The state before the first block, as far as it is known.
pub(super) struct StateBefore<'a> {
    source: &'a mut dyn StateSource,
    /// Number of the first block.
    number: u64,
    accounts: BTreeMap<Address, KnownAccount>,
    codes: B256Map<Bytecode>,
    first_hash_number: u64,
    block_hashes: Vec<B256>,
    /// Accounts that traced transactions have changed. Later traces of these accounts do not show
    /// the values before the first block.
    written: HashSet<Address>,
    /// Slots that traced transactions have changed.
    written_slots: HashSet<(Address, U256)>,
}

impl<'a> StateBefore<'a> {
    /// Makes the state before the blocks of `workload`, of which nothing is known yet.
    pub(super) fn new(source: &'a mut dyn StateSource, workload: &Workload) -> Self {
        Self {
            source,
            number: workload.blocks().next().map_or(1, |block| block.env.number),
            accounts: BTreeMap::new(),
            codes: B256Map::default(),
            first_hash_number: workload.first_hash_number,
            block_hashes: workload.block_hashes.clone(),
            written: HashSet::default(),
            written_slots: HashSet::default(),
        }
    }

    /// Adds the values of a transaction's trace that no earlier transaction wrote, as they are
    /// those before the first block. Traces must come in order. Nonce, balance and code of the
    /// accounts in `changed_untraced`, and slots of the accounts in `systems`, may have changed
    /// without a trace. They are left out here, and read from the source later.
    pub(super) fn add_trace(
        &mut self,
        tx: &TxTrace,
        changed_untraced: &BTreeSet<Address>,
        systems: &BTreeSet<Address>,
    ) {
        for (address, traced) in &tx.before {
            let is_unchanged =
                !changed_untraced.contains(address) && !self.written.contains(address);
            let known = self.accounts.entry(*address).or_default();
            if is_unchanged && known.fields.is_none() {
                known.fields = Some(AccountFields::new(
                    traced.nonce.unwrap_or(0),
                    traced.balance.unwrap_or(U256::ZERO),
                    traced.code.clone().unwrap_or_default(),
                ));
            }
            for (key, value) in &traced.slots {
                let is_unchanged =
                    !systems.contains(address) && !self.written_slots.contains(&(*address, *key));
                if is_unchanged {
                    known.slots.entry(*key).or_insert(*value);
                }
            }
        }
        for (address, traced) in tx.changed_before.iter().chain(&tx.changed_after) {
            self.written.insert(*address);
            self.written_slots.extend(traced.slots.keys().map(|key| (*address, *key)));
        }
    }

    /// Reads together the accounts and slots that the blocks name: senders, recipients, delegates,
    /// access lists, and accounts that change without a trace. Few requests are then left for
    /// execution, which reads all other values one by one.
    pub(super) fn fetch_named(&mut self, workload: &Workload) -> Result<(), ImportError> {
        let mut accounts = changed_untraced(workload);
        let mut slots = BTreeSet::new();
        for tx in workload.blocks().flat_map(|block| &block.transactions) {
            accounts.insert(tx.sender);
            accounts.extend(tx.to);
            accounts.extend(tx.authorizations.iter().map(|delegation| delegation.address));
            for (address, keys) in &tx.access_list {
                accounts.insert(*address);
                slots.extend(keys.iter().map(|key| (*address, U256::from_be_bytes(key.0))));
            }
        }
        self.fetch_accounts(accounts)?;
        self.fetch_slots(slots)
    }

    /// Reads those of the accounts that are not known yet.
    fn fetch_accounts(
        &mut self,
        addresses: impl IntoIterator<Item = Address>,
    ) -> Result<(), ImportError> {
        let unknown: Vec<Address> = addresses
            .into_iter()
            .filter(|address| self.accounts.get(address).is_none_or(|known| known.fields.is_none()))
            .collect();
        let found = self.source.accounts(&unknown)?;
        for (address, fields) in unknown.into_iter().zip(found) {
            self.accounts.entry(address).or_default().fields = Some(fields);
        }
        Ok(())
    }

    /// Reads those of the slots that are not known yet.
    fn fetch_slots(
        &mut self,
        slots: impl IntoIterator<Item = (Address, U256)>,
    ) -> Result<(), ImportError> {
        let unknown: Vec<_> = slots
            .into_iter()
            .filter(|(address, key)| {
                self.accounts.get(address).is_none_or(|known| !known.slots.contains_key(key))
            })
            .collect();
        let found = self.source.slots(&unknown)?;
        for ((address, key), value) in unknown.into_iter().zip(found) {
            self.accounts.entry(address).or_default().slots.insert(key, value);
        }
        Ok(())
    }

    pub(super) fn source_name(&self) -> &str {
        self.source.name()
    }

    /// Replaces each code that the source lacks by an empty code. Returns the addresses of the
    /// accounts with such a code.
    pub(super) fn empty_lacking_codes(&mut self) -> BTreeSet<Address> {
        let mut without_code = BTreeSet::new();
        for (address, known) in &mut self.accounts {
            if let Some(fields) = known.fields.as_mut().filter(|fields| fields.code.is_none()) {
                let AccountState { nonce, balance, .. } = fields.state;
                *fields = AccountFields::new(nonce, balance, Bytes::new());
                without_code.insert(*address);
            }
        }
        without_code
    }

    /// Returns all accounts that are known to exist, in ascending order of addresses.
    pub(super) fn into_accounts(self) -> Vec<GenesisAccount> {
        self.accounts
            .into_iter()
            .map(|(address, known)| {
                let fields = known.fields.unwrap_or_else(AccountFields::absent);
                let AccountState { nonce, balance, .. } = fields.state;
                let code = fields.code.unwrap_or_default();
                let slots = known.slots.into_iter();
                let storage = slots.filter(|(_, value)| !value.is_zero()).collect();
                GenesisAccount { address, nonce, balance, code, storage }
            })
            .filter(read::exists)
            .collect()
    }

    /// Returns the account as execution reads it; `None` if it does not exist.
    fn info(&mut self, address: Address) -> Result<Option<AccountInfo>, ImportError> {
        self.fetch_accounts([address])?;
        let known = self.accounts.get(&address).and_then(|known| known.fields.as_ref());
        let state = known.map(|fields| fields.state);
        // An account with only default values does not exist (EIP-161).
        Ok(state.filter(|state| *state != AccountState::default()).map(account_info))
    }

    /// Returns the code with this hash, of an account that was read before.
    fn code(&mut self, hash: B256) -> Result<Bytecode, ImportError> {
        if let Some(code) = self.codes.get(&hash) {
            return Ok(code.clone());
        }
        let mut fields = self.accounts.values().filter_map(|known| known.fields.as_ref());
        let code = fields
            .find(|fields| fields.state.code_hash == hash)
            .map_or_else(|| Some(Bytes::new()), |fields| fields.code.clone());
        let code = code.ok_or_else(|| ImportError::State {
            file: self.source.name().to_owned(),
            missing: format!(
                "it lacks the code {hash}, which block {} runs; {REMEDY}",
                self.number
            ),
        })?;
        let code = Bytecode::new_raw_checked(code).map_err(|error| ImportError::Block {
            block: self.number,
            reason: format!("code {hash} is none that can be run: {error}"),
        })?;
        self.codes.insert(hash, code.clone());
        Ok(code)
    }
}

impl AccountFields {
    pub(super) fn new(nonce: u64, balance: U256, code: Bytes) -> Self {
        let state = AccountState { nonce, balance, code_hash: keccak256(&code) };
        Self { state, code: Some(code) }
    }

    /// Returns the fields of an account that does not exist.
    fn absent() -> Self {
        Self::new(0, U256::ZERO, Bytes::new())
    }
}

impl Database for StateBefore<'_> {
    type Error = ReadFailed;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, ReadFailed> {
        self.info(address).map_err(ReadFailed)
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, ReadFailed> {
        self.code(hash).map_err(ReadFailed)
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, ReadFailed> {
        self.fetch_slots([(address, key)]).map_err(ReadFailed)?;
        let known = self.accounts.get(&address).and_then(|known| known.slots.get(&key));
        Ok(known.copied().unwrap_or_default())
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, ReadFailed> {
        let index = number.checked_sub(self.first_hash_number);
        let index = index.and_then(|index| usize::try_from(index).ok());
        let hash = index.and_then(|index| self.block_hashes.get(index)).copied();
        // Execution asks only for hashes of existing blocks, and these have been read.
        hash.ok_or_else(|| {
            let reason = format!("the hash of block {number} is asked for, and is not known");
            ReadFailed(ImportError::Block { block: self.number, reason })
        })
    }
}

/// Returns the system contracts, whose slots change before the first transaction, without a trace.
pub(super) fn system_contracts(rules: &ForkSchedule) -> BTreeSet<Address> {
    let contracts = rules.all().flat_map(|rules| system::contracts(rules.fork));
    contracts.map(|account| account.address).collect()
}

/// Returns the accounts that a block may change without a trace: receivers of fees and withdrawals,
/// authorities of delegations, and system contracts.
pub(super) fn changed_untraced(workload: &Workload) -> BTreeSet<Address> {
    let mut all = system_contracts(&workload.rules);
    for block in workload.blocks() {
        all.insert(block.env.beneficiary);
        all.extend(block.withdrawals.iter().map(|withdrawal| withdrawal.address));
        let delegations = block.transactions.iter().flat_map(|tx| &tx.authorizations);
        all.extend(delegations.filter_map(|delegation| delegation.authority));
    }
    all
}
