//! Turns a workload into a plan for a live chain: the transactions, their senders, and the
//! contracts to create first. Contracts have other addresses on that chain, so a plan also has the
//! offsets of their addresses in calldata and codes.

use std::{collections::HashMap, fmt};

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use workload::{
    Genesis, GenesisAccount, Transaction, TxType, Workload, senders::SenderError, signing::Signer,
};

use crate::codes;

/// Maximum gas of a transaction (EIP-7825).
pub(crate) const TX_GAS_MAX: u64 = 1 << 24;
/// Upper bound of the gas of a slot that a creation writes, on Osaka. The storage costs 22,100. The
/// loop and the slot's bytes as calldata cost the rest.
const SLOT_GAS: u64 = 23_400;
/// Upper bound of the gas of a byte of code that a creation stores, on Osaka: 200 for the deposit,
/// and the byte as calldata.
const CODE_BYTE_GAS: u64 = 220;
/// Upper bound of the gas of a creation beside code and slots, on Osaka: 21,000 for the
/// transaction, 32,000 for the creation, and a margin.
const CREATION_GAS: u64 = 60_000;
/// First bytes of the code of an account that delegates (EIP-7702).
const DELEGATION: [u8; 3] = [0xef, 0x01, 0x00];

/// Reason that a workload cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// There is nothing to send.
    #[error("the workload has no transactions; raise --transactions")]
    Empty,
    /// A transaction is of a kind that cannot be sent.
    #[error(
        "transaction {tx_index} is of type {tx_type:?}, and only type 2 can be sent (calls, \
         payments, creations); send a scenario without delegations, access lists and blobs"
    )]
    Type {
        /// Index of the transaction in the workload.
        tx_index: usize,
        /// Type of the transaction.
        tx_type: TxType,
    },
    /// The secret of a sender is not known.
    #[error(
        "the secret of the sender {0} is not known: only generated senders can sign, so imported \
         blocks cannot be sent"
    )]
    UnknownSender(Address),
    /// The state has accounts that transactions cannot make.
    #[error(
        "the state has {count} accounts beside the senders, which only a genesis can have; send a \
         scenario without storms over accounts"
    )]
    AccountFamily {
        /// Number of accounts of the state's first account family.
        count: u64,
    },
    /// The state has a contract that transactions cannot make.
    #[error("the contract {address} {reason}")]
    Contract {
        /// Address of the contract in the workload.
        address: Address,
        /// The reason, with the remedy.
        reason: String,
    },
    /// A secret of the senders is invalid.
    #[error(transparent)]
    Sender(#[from] SenderError),
}

/// Calldata or init code that contains addresses of contracts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template {
    bytes: Bytes,
    /// Offsets of addresses, each with the index of its contract in the plan.
    holes: Vec<(usize, usize)>,
}

impl Template {
    /// Returns the bytes with the addresses that the contracts have on the chain.
    pub(crate) fn filled(&self, addresses: &[Address]) -> Bytes {
        if self.holes.is_empty() {
            return self.bytes.clone();
        }
        let mut bytes = self.bytes.to_vec();
        for (offset, contract) in &self.holes {
            bytes[*offset..offset + 20].copy_from_slice(addresses[*contract].as_slice());
        }
        bytes.into()
    }
}

/// The recipient of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// An account.
    Account(Address),
    /// A contract of the plan, by its index.
    Contract(usize),
    /// No recipient: the transaction creates a contract.
    Creation,
}

/// A transaction without nonce and fee.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// Index of the sender among the plan's senders.
    pub(crate) sender: usize,
    pub(crate) target: Target,
    pub(crate) value: U256,
    pub(crate) input: Template,
    pub(crate) gas_limit: u64,
}

/// A contract that is created before the load.
#[derive(Clone, Debug)]
pub(crate) struct Contract {
    /// Init code.
    pub(crate) init: Template,
    /// Balance of the contract, in wei.
    pub(crate) balance: U256,
    /// Upper bound of the creation's gas on Osaka.
    pub(crate) gas: u64,
}

/// A workload as transactions of a live chain.
pub struct Plan {
    pub(crate) signer: Signer,
    pub(crate) senders: Vec<Address>,
    pub(crate) contracts: Vec<Contract>,
    pub(crate) calls: Vec<Call>,
    /// Account that pays the senders and creates the contracts. Its secret is derived from the
    /// first sender's secret.
    pub(crate) maker: Address,
}

/// Leaves out the signer, which has secrets.
impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("senders", &self.senders)
            .field("contracts", &self.contracts)
            .field("calls", &self.calls)
            .field("maker", &self.maker)
            .finish_non_exhaustive()
    }
}

impl Plan {
    /// Makes the plan of the transactions of `workload`.
    ///
    /// # Errors
    /// [`PlanError`] where a transaction or a part of the state cannot be made on a live chain.
    pub fn new(workload: &Workload) -> Result<Self, PlanError> {
        let genesis = &workload.genesis;
        if let Some(family) = genesis.account_families.first() {
            return Err(PlanError::AccountFamily { count: family.count });
        }
        let mut signer = Signer::new(workload)?;
        let maker = signer.add_secret(maker_secret(genesis))?;
        let mut indices = ContractIndices::of(genesis);
        let (mut senders, mut calls) = (Vec::new(), Vec::new());
        let mut sender_indices = HashMap::new();
        let transactions = workload.blocks().flat_map(|block| &block.transactions);
        for (tx_index, tx) in transactions.enumerate() {
            check_type(tx_index, tx)?;
            if let Some(account) = signer.unknown_signer(tx) {
                return Err(PlanError::UnknownSender(account));
            }
            let sender = *sender_indices.entry(tx.sender).or_insert_with(|| {
                senders.push(tx.sender);
                senders.len() - 1
            });
            calls.push(indices.call(sender, tx));
        }
        if calls.is_empty() {
            return Err(PlanError::Empty);
        }
        let contracts = indices.contracts(genesis)?;
        Ok(Self { signer, senders, contracts, calls, maker })
    }

    /// Adds `secret` to the signer. Returns the address of its account.
    ///
    /// # Errors
    /// `secret` is not a valid secret key of secp256k1.
    pub fn add_secret(&mut self, secret: B256) -> Result<Address, SenderError> {
        self.signer.add_secret(secret)
    }

    /// Number of transactions of the load.
    pub const fn tx_count(&self) -> u64 {
        self.calls.len() as u64
    }

    /// Number of accounts that send.
    pub const fn sender_count(&self) -> u64 {
        self.senders.len() as u64
    }

    /// Number of contracts that are created before the load.
    pub const fn contract_count(&self) -> u64 {
        self.contracts.len() as u64
    }
}

/// Derives the secret of the maker, which pays the senders and creates the contracts of a state.
/// Equal senders give the same secret.
fn maker_secret(genesis: &Genesis) -> B256 {
    let first = genesis.senders.first().map(|family| family.first_secret).unwrap_or_default();
    let mut secret = keccak256([b"stress send/maker".as_slice(), first.as_slice()].concat());
    // The secret is then far below the order of the curve, so it is valid.
    secret[0] &= 0x0f;
    secret
}

fn check_type(tx_index: usize, tx: &Transaction) -> Result<(), PlanError> {
    let is_plain = tx.tx_type == TxType::DynamicFee && tx.access_list.is_empty();
    if is_plain { Ok(()) } else { Err(PlanError::Type { tx_index, tx_type: tx.tx_type }) }
}

/// Gives each reached contract its index in the plan. A contract is reached if a transaction, or
/// the code or a slot of a reached contract, has its address.
struct ContractIndices<'g> {
    /// All accounts of the state with code.
    with_code: HashMap<Address, &'g GenesisAccount>,
    /// Index of each reached account.
    indices: HashMap<Address, usize>,
    /// Reached accounts in the order of their indices.
    reached: Vec<&'g GenesisAccount>,
}

impl<'g> ContractIndices<'g> {
    fn of(genesis: &'g Genesis) -> Self {
        let with_code = genesis.accounts.iter().filter(|account| !account.code.is_empty());
        let with_code = with_code.map(|account| (account.address, account)).collect();
        Self { with_code, indices: HashMap::new(), reached: Vec::new() }
    }

    fn index(&mut self, address: &Address) -> Option<usize> {
        if let Some(index) = self.indices.get(address) {
            return Some(*index);
        }
        let account = *self.with_code.get(address)?;
        self.indices.insert(*address, self.reached.len());
        self.reached.push(account);
        Some(self.reached.len() - 1)
    }

    fn template(&mut self, bytes: Bytes) -> Template {
        let mut holes = Vec::new();
        if !self.with_code.is_empty() {
            for (offset, window) in bytes.windows(20).enumerate() {
                if let Some(index) = self.index(&Address::from_slice(window)) {
                    holes.push((offset, index));
                }
            }
        }
        Template { bytes, holes }
    }

    fn call(&mut self, sender: usize, tx: &Transaction) -> Call {
        let target = match tx.to {
            None => Target::Creation,
            Some(to) => self.index(&to).map_or(Target::Account(to), Target::Contract),
        };
        let is_payment = matches!(target, Target::Account(_)) && tx.input.is_empty();
        // Gas on the chain may differ a little from the workload's. Other addresses may be warm,
        // and addresses in calldata may have more or fewer zero bytes. A payment has neither.
        let margin = if is_payment { 0 } else { tx.gas_limit / 4 + 5_000 };
        let input = self.template(tx.input.clone());
        let gas_limit = (tx.gas_limit + margin).min(TX_GAS_MAX.max(tx.gas_limit));
        Call { sender, target, value: tx.value, input, gas_limit }
    }

    /// Makes all reached contracts, also those that only codes and slots of reached contracts name.
    fn contracts(mut self, genesis: &Genesis) -> Result<Vec<Contract>, PlanError> {
        let mut contracts = Vec::new();
        while let Some(account) = self.reached.get(contracts.len()).copied() {
            let gas = creation_gas(account, genesis)?;
            let init = self.template(codes::creation(&account.code, &account.storage));
            contracts.push(Contract { init, balance: account.balance, gas });
        }
        Ok(contracts)
    }
}

/// Computes the gas of the transaction that creates the contract of `account`. Fails if no
/// transaction can create it.
fn creation_gas(account: &GenesisAccount, genesis: &Genesis) -> Result<u64, PlanError> {
    let refused = |reason: String| Err(PlanError::Contract { address: account.address, reason });
    if let Some(family) = genesis.slots.iter().find(|family| family.address == account.address) {
        return refused(format!(
            "has {} slots by a rule, which a genesis has and a transaction cannot write; send a scenario \
             without storms over slots",
            family.count
        ));
    }
    if account.code.starts_with(&DELEGATION) {
        return refused(
            "is an account that delegates (EIP-7702), which is not made here".to_owned(),
        );
    }
    let slot_count = account.storage.len();
    let bytes = codes::creation(&account.code, &account.storage).len();
    let code_gas = CODE_BYTE_GAS * account.code.len() as u64;
    let gas = CREATION_GAS + code_gas + SLOT_GAS * slot_count as u64;
    if gas > TX_GAS_MAX || bytes > codes::INIT_BYTES_MAX {
        let slots_by_gas = TX_GAS_MAX.saturating_sub(CREATION_GAS + code_gas) / SLOT_GAS;
        // A slot has 64 bytes in the init code: its key and its value.
        let other_bytes = bytes - 64 * slot_count;
        let slots_by_bytes = codes::INIT_BYTES_MAX.saturating_sub(other_bytes) as u64 / 64;
        return refused(format!(
            "has {slot_count} slots, and one transaction creates it with {} at most; lower the accounts \
             that have a slot in it (--accounts, or holders by --set)",
            slots_by_gas.min(slots_by_bytes)
        ));
    }
    Ok(gas)
}

#[cfg(test)]
mod tests {
    use workload::{
        Batch, Block, SenderFamily, SlotFamily,
        block::{IndexRange, Plan as Touched},
    };

    use super::*;

    const FIRST: Address = Address::repeat_byte(0xc1);
    const SECOND: Address = Address::repeat_byte(0xc2);

    fn workload(edit: impl FnOnce(&mut Workload)) -> Workload {
        let family =
            SenderFamily { first_secret: B256::with_last_byte(7), count: 4, balance: U256::ONE };
        let sender = family.address(1).unwrap();
        let contract = |address, code: &[u8]| GenesisAccount {
            address,
            code: Bytes::copy_from_slice(code),
            ..GenesisAccount::default()
        };
        let names_second = [&[0x73][..], SECOND.as_slice()].concat();
        let genesis = Genesis {
            accounts: vec![contract(FIRST, &names_second), contract(SECOND, &[0x5f])],
            senders: vec![family],
            ..Genesis::default()
        };
        let tx =
            Transaction { sender, to: Some(FIRST), gas_limit: 40_000, ..Transaction::default() };
        let block = Block { transactions: vec![tx], ..Block::default() };
        let senders = vec![IndexRange { family: 0, start: 0, count: 4 }];
        let plan = Touched { senders, ..Touched::default() };
        let batches = vec![Batch { blocks: vec![block], plan, ..Batch::default() }];
        let mut workload = Workload { genesis, batches, ..Workload::default() };
        edit(&mut workload);
        workload
    }

    #[test]
    fn contracts_that_a_code_names_are_created_too_and_named_by_their_new_addresses() {
        let plan = Plan::new(&workload(|_| ())).unwrap();
        assert_eq!((plan.contract_count(), plan.tx_count(), plan.sender_count()), (2, 1, 1));
        assert_eq!(plan.calls[0].target, Target::Contract(0));
        let addresses = [Address::repeat_byte(1), Address::repeat_byte(2)];
        let init = plan.contracts[0].init.filled(&addresses);
        assert!(init.ends_with(addresses[1].as_slice()), "{init}");
        assert!(plan.calls[0].gas_limit > 40_000);
    }

    #[test]
    fn a_state_that_transactions_cannot_make_is_refused_with_its_reason() {
        let refused = |edit: fn(&mut Workload)| Plan::new(&workload(edit)).unwrap_err().to_string();
        let many = refused(|workload| {
            let slots = (1..2_000).map(|key| (U256::from(key), U256::MAX));
            workload.genesis.accounts[1].storage = slots.collect();
        });
        assert!(many.contains("1999 slots") && many.contains("--accounts"), "{many}");
        let family = refused(|workload| {
            workload.genesis.slots.push(SlotFamily {
                address: FIRST,
                count: 9,
                keys: workload::KeyRule::Index,
                values: workload::ValueRule::Random,
                seed: B256::ZERO,
            });
        });
        assert!(family.contains("9 slots by a rule"), "{family}");
        let kind = refused(|workload| {
            workload.batches[0].blocks[0].transactions[0].tx_type = TxType::SetCode;
        });
        assert!(kind.contains("SetCode"), "{kind}");
        let unknown = refused(|workload| {
            workload.batches[0].blocks[0].transactions[0].sender = SECOND;
        });
        assert!(unknown.contains("secret"), "{unknown}");
        let empty = refused(|workload| workload.batches.clear());
        assert!(empty.contains("--transactions"), "{empty}");
    }
}
