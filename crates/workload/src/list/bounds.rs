//! Bounds of a list: the most that the blocks of a batch can put into it. The decoders check them.
//!
//! EIP-7928 caps a list at `gas_limit / 2000` accounts and slots together, since each costs a
//! transaction at least 2,000 gas. Keys that the protocol itself touches (system calls,
//! withdrawals, the fee recipient) cost no block gas. The EIP trusts the margin between 2,000 and
//! the real 2,100 to cover them. A block whose list has more is invalid, even where the block is so
//! small that the protocol's keys alone exceed the cap.
//!
//! The blocks of a batch share keys, so its list has at most the sum of their caps. That bound is
//! looser than the EIP's: one block may have more than its part. Executors also reject a list
//! early, where the gas that is left cannot pay for the declared keys that no step has read yet.
//! That check allows for the number of keys without gas (ethereum/EIPs#12277). Before Amsterdam the
//! cap allows for that number too, since no client sees such a list.

use crate::{
    block::{Batch, Block},
    fork::{Fork, ForkSchedule},
    step::{BlockAccessIndex, Steps},
};

/// Gas that each account and slot of a list costs at least (EIP-7928 `ITEM_COST`).
pub const ITEM_COST_GAS: u64 = 2_000;

/// The most slots that one block's system calls after its transactions read, without block gas.
/// They are 49 (EIP-7002), 9 (EIP-7251), 385 and 49 (EIP-8282), as ethereum/EIPs#12277 counts them.
pub const SYSTEM_READ_COUNT: u64 = 49 + 9 + 385 + 49;

/// The most accounts and slots that one block touches without block gas, beside those of its
/// withdrawals. They are the reads after the transactions, 2 slots of EIP-4788 and 1 of EIP-2935
/// before them, the 6 contracts, and the fee recipient.
pub const SYSTEM_ITEM_COUNT: u64 = SYSTEM_READ_COUNT + 2 + 1 + 6 + 1;

/// Lower bound of the gas that a block pays for a byte of its list. A read key of 33 bytes for
/// 2,000 gas costs 60 a byte. The entries of a transfer, under the cheapest proposed base price,
/// cost 33 a byte.
const GAS_PER_BYTE: u64 = 16;

/// Upper bound of the bytes of an item that costs no gas: a slot, a change and their headers take
/// 90.
const BYTES_PER_FREE_ITEM: u64 = 256;

/// Upper bound of the bytes that the `full` form adds to an item. A changed slot's key, its value
/// and their header take 68 bytes. An account's nonce, balance, code hash and header take 77. The
/// headers of the RLP lists around them grow by at most 7 bytes each.
const FULL_BYTES_PER_ITEM: u64 = 96;

/// Bounds of a list. The numbers come from the batch, never from the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListBounds {
    /// The last block access index that a change may have.
    pub last_index: BlockAccessIndex,
    /// Gas that the batch's blocks can burn before refunds.
    pub gas_limit: u64,
    /// Upper bound of the number of accounts and slots that the blocks touch without gas.
    pub free_item_count: u64,
    /// Number of accounts and slots that the list may have besides those that gas pays for. At 0,
    /// the bound of a one-block list is the EIP's own.
    pub surplus_item_count: u64,
    /// Maximum length of one code in bytes.
    pub max_code_bytes: usize,
}

impl ListBounds {
    /// Bounds of a list whose block is not known: codes are bounded by Amsterdam's rule, and
    /// nothing else is.
    pub const UNKNOWN: Self = Self::of_block(u32::MAX - 1, u64::MAX);

    /// The bounds of EIP-7928 for the list of one block.
    pub const fn of_block(tx_count: u32, gas_limit: u64) -> Self {
        Self {
            last_index: tx_count.saturating_add(1),
            gas_limit,
            free_item_count: 0,
            surplus_item_count: 0,
            max_code_bytes: Fork::Amsterdam.max_code_bytes() as usize,
        }
    }

    /// The bounds of the list of `batch`. Each block adds those of its fork, which `rules` give for
    /// its timestamp.
    pub fn new(batch: &Batch, rules: &ForkSchedule) -> Self {
        let mut bounds = Self {
            last_index: Steps::of(batch).count().saturating_sub(1),
            gas_limit: 0,
            free_item_count: 0,
            surplus_item_count: 0,
            max_code_bytes: 0,
        };
        for block in &batch.blocks {
            let (fork, free_count) = (fork_of(block, rules), free_item_count(block));
            let surplus_count = if fork.is_from(Fork::Amsterdam) { 0 } else { free_count };
            bounds.gas_limit = bounds.gas_limit.saturating_add(burnable(block, fork));
            bounds.free_item_count = bounds.free_item_count.saturating_add(free_count);
            bounds.surplus_item_count = bounds.surplus_item_count.saturating_add(surplus_count);
            bounds.max_code_bytes = bounds.max_code_bytes.max(fork.max_code_bytes() as usize);
        }
        bounds
    }

    /// The most accounts and slots that the steps of `batch` can touch: those that transactions can
    /// pay for, and those that blocks touch without gas. Unlike [`Self::max_item_count`] it does
    /// not trust a block's gas limit alone. A transaction pays [`ITEM_COST_GAS`] for each, from at
    /// most the gas that EIP-7825 lets it burn. EIP-8037's surplus above that gas pays for new
    /// state, not for access. Blocks before Osaka have no such cap. They are only imported, and
    /// need no plan that this bound would check.
    pub fn max_touched_count(batch: &Batch, rules: &ForkSchedule) -> u64 {
        let (mut gas, mut free_count) = (0_u64, 0_u64);
        for block in &batch.blocks {
            let limits =
                block.transactions.iter().map(|tx| tx.gas_limit.min(Fork::Osaka.tx_gas_cap()));
            let paid = limits.fold(0, u64::saturating_add);
            gas = gas.saturating_add(paid.min(burnable(block, fork_of(block, rules))));
            free_count = free_count.saturating_add(free_item_count(block));
        }
        (gas / ITEM_COST_GAS).saturating_add(free_count)
    }

    /// Maximum number of accounts and slots of the list, together.
    pub const fn max_item_count(&self) -> u64 {
        (self.gas_limit / ITEM_COST_GAS).saturating_add(self.surplus_item_count)
    }

    /// Maximum length of the encoded list in bytes; below 2^32.
    pub const fn max_bytes(&self) -> u64 {
        let free = self.free_item_count.saturating_mul(BYTES_PER_FREE_ITEM);
        let bytes = (self.gas_limit / GAS_PER_BYTE).saturating_add(free).saturating_add(16);
        if bytes < u32::MAX as u64 { bytes } else { u32::MAX as u64 }
    }

    /// Maximum length of the list in its `full` form in bytes; below 2^32.
    pub const fn max_full_bytes(&self) -> u64 {
        let values = self.max_item_count().saturating_mul(FULL_BYTES_PER_ITEM);
        let bytes = self.max_bytes().saturating_add(values);
        if bytes < u32::MAX as u64 { bytes } else { u32::MAX as u64 }
    }
}

/// Gas that a block can burn before refunds.
///
/// Before Amsterdam a refund lowers the block's gas by up to a fifth (EIP-3529; EIP-7778 ends
/// it), so that 5/4 of the limit can be burnt.
const fn burnable(block: &Block, fork: Fork) -> u64 {
    let limit = block.env.gas_limit;
    if fork.is_from(Fork::Amsterdam) { limit } else { limit.saturating_add(limit / 4) }
}

/// Upper bound of the number of accounts and slots that a block touches without gas.
const fn free_item_count(block: &Block) -> u64 {
    SYSTEM_ITEM_COUNT + block.withdrawals.len() as u64
}

fn fork_of(block: &Block, rules: &ForkSchedule) -> Fork {
    rules.at(block.env.timestamp).fork
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        block::{BlockEnv, Transaction, Withdrawal},
        fork::ForkChange,
    };

    #[test]
    fn the_bounds_of_a_batch_add_up_over_its_blocks() {
        let block = Block {
            env: BlockEnv { gas_limit: 4_000, ..BlockEnv::default() },
            withdrawals: vec![Withdrawal::default(); 3],
            ..Block::default()
        };
        let batch = Batch { blocks: vec![block.clone(), block], ..Batch::default() };
        let bounds = ListBounds::new(&batch, &Fork::Amsterdam.into());
        assert_eq!(bounds.last_index, 3);
        assert_eq!(bounds.max_item_count(), 4);
        assert_eq!(bounds.free_item_count, 2 * (SYSTEM_ITEM_COUNT + 3));
        assert_eq!(ListBounds::new(&batch, &Fork::Osaka.into()).gas_limit, 10_000);
    }

    #[test]
    fn each_block_of_a_batch_has_the_bounds_of_its_fork() {
        let block = |timestamp| Block {
            env: BlockEnv { gas_limit: 4_000, timestamp, ..BlockEnv::default() },
            ..Block::default()
        };
        let change = ForkChange { timestamp: 10, rules: Fork::Amsterdam.into() };
        let rules = ForkSchedule { first: Fork::Bpo2.into(), changes: vec![change] };
        let of = |blocks: &[u64]| {
            let blocks = blocks.iter().map(|timestamp| block(*timestamp)).collect();
            let bounds = ListBounds::new(&Batch { blocks, ..Batch::default() }, &rules);
            (bounds.gas_limit, bounds.surplus_item_count, bounds.max_code_bytes)
        };
        assert_eq!(of(&[9]), (5_000, SYSTEM_ITEM_COUNT, 0x6000));
        assert_eq!(of(&[10]), (4_000, 0, 0x1_0000));
        assert_eq!(of(&[9, 10, 11]), (13_000, SYSTEM_ITEM_COUNT, 0x1_0000));
    }

    #[test]
    fn a_list_has_the_cap_of_the_eip_and_before_amsterdam_more() {
        let block = |gas_limit| Block {
            env: BlockEnv { gas_limit, ..BlockEnv::default() },
            ..Block::default()
        };
        let most = |blocks: &[Block], fork: Fork| {
            let batch = Batch { blocks: blocks.to_vec(), ..Batch::default() };
            ListBounds::new(&batch, &fork.into()).max_item_count()
        };
        assert_eq!(most(&[block(50_000)], Fork::Amsterdam), 25);
        assert_eq!(most(&[block(49_999)], Fork::Amsterdam), 24);
        assert_eq!(most(&[block(50_000), block(50_000)], Fork::Amsterdam), 50);
        assert_eq!(most(&[block(40_000)], Fork::Bpo2), 25 + SYSTEM_ITEM_COUNT);
    }

    #[test]
    fn what_is_touched_is_paid_for_by_transactions_that_are_there() {
        let batch = |block_gas, tx_gas: &[u64]| {
            let tx = |gas: &u64| Transaction { gas_limit: *gas, ..Transaction::default() };
            let env = BlockEnv { gas_limit: block_gas, ..BlockEnv::default() };
            let transactions = tx_gas.iter().map(tx).collect();
            Batch {
                blocks: vec![Block { env, transactions, ..Block::default() }],
                ..Batch::default()
            }
        };
        let paid = |block_gas, tx_gas: &[u64], fork: Fork| {
            let batch = batch(block_gas, tx_gas);
            ListBounds::max_touched_count(&batch, &fork.into()) - SYSTEM_ITEM_COUNT
        };
        let cap = Fork::Amsterdam.tx_gas_cap();
        assert_eq!(paid(u64::MAX, &[], Fork::Amsterdam), 0);
        assert_eq!(paid(u64::MAX, &[30_000, 30_000], Fork::Amsterdam), 30);
        assert_eq!(paid(u64::MAX, &[u64::MAX; 3], Fork::Amsterdam), 3 * cap / 2_000);
        assert_eq!(paid(40_000, &[30_000, 30_000], Fork::Amsterdam), 20);
        assert_eq!(paid(40_000, &[30_000, 30_000], Fork::Osaka), 25);
    }

    #[test]
    fn the_byte_bound_stays_below_offsets_of_32_bits() {
        let bounds = ListBounds {
            last_index: 0,
            gas_limit: u64::MAX,
            free_item_count: u64::MAX,
            surplus_item_count: u64::MAX,
            max_code_bytes: 0,
        };
        assert_eq!(bounds.max_bytes(), u64::from(u32::MAX));
        assert_eq!(bounds.max_full_bytes(), u64::from(u32::MAX));
        assert_eq!(bounds.max_item_count(), u64::MAX);
    }
}
