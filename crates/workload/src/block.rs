//! A workload: a genesis, and batches of complete blocks. Each batch has its list and its expected
//! outcome. The generator makes it, `file.rs` stores it, and executors run it.

use alloy_primitives::{Address, B256, Bytes, U256};
use serde::{Deserialize, Serialize};

use crate::{
    fork::{ChainRules, ForkSchedule},
    genesis::Genesis,
    layout::Layout,
    outcome::TxOutcome,
};

/// The work: batches of blocks over one genesis. Generated work is a pure function of the
/// scenario's work keys, the seed and the generator's version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workload {
    /// Name of the scenario. The digest leaves it out, so it must stay the first field.
    pub scenario: String,
    /// The signed transactions (EIP-2718) of all blocks, in order, where blocks were imported with
    /// their signatures. Else empty: generated transactions are signed on demand. The digest leaves
    /// them out, so they must stay the second field.
    pub signed_transactions: Vec<Bytes>,
    /// The scenario's work keys in canonical form, as text.
    pub work: String,
    /// Seed of all random streams of the generator.
    pub seed: u64,
    /// Version of the generator that made the workload.
    pub generator_version: u32,
    /// Rules of the blocks, by the blocks' time.
    pub rules: ForkSchedule,
    /// Layout of the state's rows.
    pub layout: Layout,
    /// Chain id (EIP-155).
    pub chain_id: u64,
    /// The state before the first block.
    pub genesis: Genesis,
    /// Number of the block whose hash is `block_hashes[0]`.
    pub first_hash_number: u64,
    /// Hashes of consecutive blocks: up to 256 blocks before the first block, then the blocks
    /// themselves. BLOCKHASH reads them.
    pub block_hashes: Vec<B256>,
    /// Batches of consecutive blocks, in order.
    pub batches: Vec<Batch>,
}

impl Workload {
    /// The rules of `block`.
    pub fn rules_of(&self, block: &Block) -> &ChainRules {
        self.rules.at(block.env.timestamp)
    }

    /// Hash of block `number`; `None` for a block whose hash the workload does not have.
    pub fn block_hash(&self, number: u64) -> Option<B256> {
        let index = number.checked_sub(self.first_hash_number)?;
        self.block_hashes.get(usize::try_from(index).ok()?).copied()
    }

    /// All blocks in order.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.batches.iter().flat_map(|batch| &batch.blocks)
    }

    /// Number of transactions.
    pub fn tx_count(&self) -> u64 {
        self.blocks().map(|block| block.transactions.len() as u64).sum()
    }

    /// Gas used: the sum of all receipts' gas.
    pub fn gas_used(&self) -> u64 {
        let outcomes = self.batches.iter().flat_map(|batch| &batch.expected.transactions);
        outcomes.map(|outcome| outcome.gas_used).sum()
    }
}

/// Consecutive blocks that are run as one; state is committed once, at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// The blocks, in order.
    pub blocks: Vec<Block>,
    /// Block-level access list of the whole batch, RLP (EIP-7928). The block access index counts on
    /// through the blocks (see [`crate::step`]).
    pub list: Bytes,
    /// Encoded length of the list in each form.
    pub list_sizes: ListSizes,
    /// The keys of genesis families that the batch may touch.
    pub plan: Plan,
    /// The outcome of every correct execution.
    pub expected: BatchOutcome,
}

/// The keys of genesis families that a batch may touch. The index of a family's key cannot be
/// computed from the key. With the plan the reference run needs the workload alone, and memory
/// bounded by the batch. The reference run fails on any read outside the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Slots of [`Genesis::slots`]; indices from a family's count on are absent keys.
    pub slots: Vec<IndexRange>,
    /// Accounts of [`Genesis::senders`].
    pub senders: Vec<IndexRange>,
    /// Accounts of [`Genesis::account_families`]; indices from a family's count on are absent.
    pub accounts: Vec<IndexRange>,
    /// Addresses that no account and no family of the genesis has, ascending. Only needed where the
    /// genesis has families of senders or accounts: else every address without an explicit account
    /// is absent.
    pub absent_accounts: Vec<Address>,
}

/// Consecutive indices of one family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct IndexRange {
    /// Index of the family in the genesis's list of families of its kind.
    pub family: u32,
    /// First index.
    pub start: u64,
    /// Number of indices.
    pub count: u64,
}

/// Encoded length in bytes of the list in each of its forms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListSizes {
    /// Changes only.
    pub parallel_io_bytes: u64,
    /// The EIP-7928 list: changes and read keys.
    pub batched_io_bytes: u64,
    /// Changes, and the values that all accounts and slots have before the batch.
    pub full_bytes: u64,
}

/// The expected outcome of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchOutcome {
    /// Outcome of each transaction, through all blocks in order.
    pub transactions: Vec<TxOutcome>,
    /// Digest of the batch's net changes ([`crate::NetChanges::digest`]).
    pub net_changes: B256,
    /// Gas used in each block's header. Before Amsterdam it is the sum of the receipts' gas; from
    /// Amsterdam on, the larger of execution and state gas (EIP-8037).
    pub header_gas: Vec<u64>,
}

/// A block without the fields that only its header has (roots, bloom, hash).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Environment of the block.
    pub env: BlockEnv,
    /// Transactions of the block, in order.
    pub transactions: Vec<Transaction>,
    /// Withdrawals (EIP-4895), in order.
    pub withdrawals: Vec<Withdrawal>,
}

/// A block in the bytes that a client receives. The header has the workload's own parent hash and a
/// zero state root, so the blocks do not form a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedBlock {
    /// RLP of header, signed transactions, ommers and withdrawals.
    pub rlp: Bytes,
    /// Hash of the header, as the sender of the block states it.
    pub hash: B256,
}

/// The environment that code sees in a block, and the inputs of its system calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockEnv {
    /// Number of the block.
    pub number: u64,
    /// Unix time in seconds.
    pub timestamp: u64,
    /// Recipient of the block's priority fees.
    pub beneficiary: Address,
    /// Gas limit.
    pub gas_limit: u64,
    /// Base fee in wei per gas (EIP-1559).
    pub base_fee: u64,
    /// Randomness of the beacon chain (EIP-4399).
    pub prev_randao: B256,
    /// Excess blob gas (EIP-4844).
    pub excess_blob_gas: u64,
    /// Beacon slot (EIP-7843).
    pub slot_number: u64,
    /// Hash of the parent, stored by the EIP-2935 system call.
    pub parent_hash: B256,
    /// Beacon root of the parent, stored by the EIP-4788 system call.
    pub parent_beacon_root: B256,
}

/// A withdrawal to the execution layer (EIP-4895).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withdrawal {
    /// The recipient.
    pub address: Address,
    /// Amount in Gwei.
    pub amount_gwei: u64,
}

/// Types of transactions (EIP-2718), in the order of their numbers.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum TxType {
    /// Type 0.
    Legacy,
    /// Type 1, EIP-2930.
    AccessList,
    /// Type 2, EIP-1559.
    #[default]
    DynamicFee,
    /// Type 3, EIP-4844.
    Blob,
    /// Type 4, EIP-7702.
    SetCode,
}

/// A transaction whose sender is known; it carries no signature.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transaction {
    /// Type of the transaction (EIP-2718).
    pub tx_type: TxType,
    /// The sender, which also pays the fees.
    pub sender: Address,
    /// The sender's nonce.
    pub nonce: u64,
    /// Gas limit.
    pub gas_limit: u64,
    /// Types 0 and 1: gas price in wei. Other types: maximum fee in wei per gas.
    pub max_fee_per_gas: u128,
    /// Types 2 and up: maximum priority fee in wei per gas, which the beneficiary gets.
    pub max_priority_fee_per_gas: u128,
    /// The callee, or `None` to create a contract.
    pub to: Option<Address>,
    /// Value in wei.
    pub value: U256,
    /// Calldata, or init code.
    pub input: Bytes,
    /// Addresses and slots warm from the start (EIP-2930).
    pub access_list: Vec<(Address, Vec<B256>)>,
    /// Versioned hashes of blobs (EIP-4844).
    pub blob_hashes: Vec<B256>,
    /// Maximum fee in wei per blob gas (EIP-4844).
    pub max_fee_per_blob_gas: u128,
    /// Delegations (EIP-7702).
    pub authorizations: Vec<Authorization>,
}

/// A delegation of an account's code (EIP-7702) whose signer is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Authorization {
    /// Chain id on which the delegation is valid; 0 for all chains.
    pub chain_id: U256,
    /// Address of the account whose code is used.
    pub address: Address,
    /// Nonce of the authority.
    pub nonce: u64,
    /// The delegating account; `None` where the signature is invalid and the tuple is skipped.
    pub authority: Option<Address>,
}
