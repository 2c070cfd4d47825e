//! Small and large workloads whose transactions conflict in chosen ways.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use alloy_primitives::{Address, B256, Bytes, U256};
use generator::reference;
use workload::{
    Batch, Block, BlockEnv, Fork, Genesis, GenesisAccount, Transaction, TxType, Withdrawal,
    Workload, block::Authorization,
};

/// Recipient of the fees.
pub(crate) const COINBASE: Address = Address::repeat_byte(0xcb);

/// The sender with this number.
pub(crate) fn sender(number: u32) -> Address {
    let mut word = [0x5e; 20];
    word[..4].copy_from_slice(&number.wrapping_mul(0x9e37_79b9).to_be_bytes());
    word[16..].copy_from_slice(&number.to_be_bytes());
    Address::from(word)
}

/// Builds a workload.
#[derive(Default)]
pub(crate) struct Recipe {
    accounts: Vec<GenesisAccount>,
    transactions: Vec<Transaction>,
    withdrawals: Vec<Withdrawal>,
    nonces: std::collections::BTreeMap<Address, u64>,
    tip: u128,
}

impl Recipe {
    /// Begins with `sender_count` funded senders, and fees of 1 wei per gas.
    pub(crate) fn new(sender_count: u32) -> Self {
        let mut recipe = Self { tip: 1, ..Self::default() };
        for number in 0..sender_count {
            recipe.account(sender(number), U256::from(10_u64).pow(U256::from(20)), &[]);
        }
        recipe
    }

    /// Sets no fee for the coinbase.
    pub(crate) fn without_tip(mut self) -> Self {
        self.tip = 0;
        self
    }

    /// Adds an account, with nonce 1 if it has code.
    pub(crate) fn account(&mut self, address: Address, balance: U256, code: &[u8]) {
        self.accounts.push(GenesisAccount {
            address,
            nonce: u64::from(!code.is_empty()),
            balance,
            code: Bytes::copy_from_slice(code),
            storage: Vec::new(),
        });
    }

    /// Adds a slot to an existing account.
    pub(crate) fn slot(&mut self, address: Address, key: u64, value: u64) {
        let account = self.accounts.iter_mut().find(|account| account.address == address);
        account.unwrap().storage.push((U256::from(key), U256::from(value)));
    }

    /// Adds a transaction; `to` is `None` to create.
    pub(crate) fn send(&mut self, from: Address, to: Option<Address>, value: u64, input: &[u8]) {
        let nonce = self.nonces.entry(from).or_default();
        let gas_limit = if to.is_some() && input.is_empty() { 300_000 } else { 2_000_000 };
        self.transactions.push(Transaction {
            sender: from,
            nonce: *nonce,
            gas_limit,
            max_fee_per_gas: 10,
            max_priority_fee_per_gas: self.tip,
            to,
            value: U256::from(value),
            input: Bytes::copy_from_slice(input),
            ..Transaction::default()
        });
        *nonce += 1;
    }

    /// Adds a transaction of `from` in which `authority` delegates to `code`, or to nothing if
    /// `code` is zero (EIP-7702).
    pub(crate) fn delegate(&mut self, from: Address, authority: Address, code: Address) {
        let nonce = self.nonces.get(&authority).copied().unwrap_or_default();
        self.send(from, Some(authority), 0, &[1]);
        let tx = self.transactions.last_mut().unwrap();
        tx.tx_type = TxType::SetCode;
        tx.authorizations = vec![Authorization {
            chain_id: U256::ZERO,
            address: code,
            nonce,
            authority: Some(authority),
        }];
        *self.nonces.entry(authority).or_default() += 1;
    }

    /// Adds a withdrawal of one gwei.
    pub(crate) fn withdraw(&mut self, address: Address) {
        self.withdrawals.push(Withdrawal { address, amount_gwei: 1 });
    }

    /// Builds the workload, with its transactions spread over `block_count` blocks of one batch.
    pub(crate) fn build(self, block_count: usize) -> Workload {
        let mut accounts = evm::system::contracts(Fork::Amsterdam);
        accounts.extend(self.accounts);
        accounts.sort_by_key(|account| account.address);
        let per_block = self.transactions.len().div_ceil(block_count);
        let mut left = self.transactions.into_iter();
        let block = |number: usize| {
            let env = BlockEnv {
                number: number as u64 + 1,
                timestamp: number as u64 * 12,
                beneficiary: COINBASE,
                gas_limit: 1 << 39,
                base_fee: 7,
                ..BlockEnv::default()
            };
            let transactions = left.by_ref().take(per_block).collect();
            Block { env, transactions, withdrawals: self.withdrawals.clone() }
        };
        let blocks = (0..block_count).map(block).collect();
        let mut workload = Workload {
            chain_id: 1,
            genesis: Genesis { accounts, ..Genesis::default() },
            block_hashes: vec![B256::ZERO; block_count + 1],
            batches: vec![Batch { blocks, ..Batch::default() }],
            ..Workload::default()
        };
        reference::complete(&mut workload, || ()).unwrap_or_else(|e| panic!("{e}"));
        workload
    }
}

/// Transfers between pairs of accounts without common accounts.
pub(crate) fn transfers(count: u32) -> Recipe {
    let mut recipe = Recipe::new(count * 2);
    (0..count).for_each(|i| recipe.send(sender(i * 2), Some(sender(i * 2 + 1)), 1, &[]));
    recipe
}

const TOKEN: Address = Address::repeat_byte(0x20);
const COUNTER: Address = Address::repeat_byte(0xc0);

/// Balances by address: `to` and `amount` are the calldata; a log with three topics.
const TOKEN_CODE: &[u8] = &alloy_primitives::hex!(
    "602035" "3354819003" "3355" "5f3554" "01" "5f3555"
    "6020355f52" "5f35" "33" "6001" "60205f" "a3" "00"
);

/// Adds one to slot 0, and returns its old value.
pub(crate) const COUNTER_CODE: &[u8] = &alloy_primitives::hex!("5f54805f526001015f5560205ff3");

fn word(address: Address) -> [u8; 32] {
    address.into_word().0
}

/// Calls of one token between pairs of holders without common holders.
pub(crate) fn token_transfers(count: u32) -> Recipe {
    let mut recipe = Recipe::new(count);
    recipe.account(TOKEN, U256::ZERO, TOKEN_CODE);
    let token = recipe.accounts.len() - 1;
    let holders = (0..count * 2).map(|i| (U256::from_be_bytes(word(sender(i))), U256::from(1000)));
    let mut storage: Vec<_> = holders.collect();
    storage.sort();
    recipe.accounts[token].storage = storage;
    for i in 0..count {
        let mut input = word(sender(count + i)).to_vec();
        input.extend(U256::from(1).to_be_bytes::<32>());
        recipe.send(sender(i), Some(TOKEN), 0, &input);
    }
    recipe
}

/// Calls that all count in one slot.
pub(crate) fn one_slot(count: u32) -> Recipe {
    let mut recipe = Recipe::new(count);
    recipe.account(COUNTER, U256::ZERO, COUNTER_CODE);
    recipe.slot(COUNTER, 0, 5);
    (0..count).for_each(|i| recipe.send(sender(i), Some(COUNTER), 0, &[1]));
    recipe
}
