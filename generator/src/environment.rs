//! Makes the environments of generated blocks, for `generate.rs`: consecutive numbers, times and
//! slots. Random values come from named streams of the blocks' seed. Also has the fees and ids that
//! all generated blocks share.

use alloy_primitives::{Address, B256, address};
use workload::{BlockEnv, Withdrawal, stream::stream_seed};

/// Receives the priority fees of all blocks. The account exists before them, as a block builder's
/// does.
pub const BENEFICIARY: Address = address!("be9ef1c1a27e00000000000000000000000000be");

/// Number of the first block, about mainnet's at the end of 2026.
pub const FIRST_BLOCK_NUMBER: u64 = 25_000_000;
/// Number of blocks before a block whose hashes its code can read (BLOCKHASH).
pub const ANCESTOR_COUNT: u64 = 256;
/// Chain id of Ethereum mainnet.
pub const CHAIN_ID: u64 = 1;
/// Base fee in wei per gas, 1 Gwei.
pub const BASE_FEE: u64 = 1_000_000_000;
/// Priority fee in wei per gas, 1 Gwei, so that every transaction changes the beneficiary's
/// balance.
pub const PRIORITY_FEE: u128 = 1_000_000_000;
/// Maximum fee in wei per gas, as a wallet sets it: twice the base fee, plus the priority fee.
pub const MAX_FEE: u128 = 2 * BASE_FEE as u128 + PRIORITY_FEE;
/// Number of withdrawals of a block (EIP-4895: at most 16).
pub const WITHDRAWAL_COUNT: usize = 16;
/// Number of withdrawals of a block that go to addresses without an account.
pub const FRESH_WITHDRAWAL_COUNT: usize = 2;

/// Unix time of the first block: 2026-11-21.
const FIRST_TIMESTAMP: u64 = 1_795_219_200;
/// Seconds from block to block, and from beacon slot to slot.
pub(crate) const BLOCK_SECONDS: u64 = 12;
/// Beacon slot of the first block: slots since the beacon chain's genesis (2020-12-01).
const FIRST_SLOT_NUMBER: u64 = (FIRST_TIMESTAMP - 1_606_824_023) / BLOCK_SECONDS;

/// Makes environments from the seed of the blocks.
#[derive(Clone, Copy, Debug)]
pub struct Environments {
    /// The seed of the blocks.
    pub seed: u64,
}

impl Environments {
    /// Hash of the block with this number. A workload's block has no header, so the hash is derived
    /// from the number.
    pub fn block_hash(self, number: u64) -> B256 {
        stream_seed(self.seed, &format!("blocks/{number}/hash"))
    }

    /// Hashes of consecutive blocks: the ancestors, then `block_count` generated blocks.
    pub fn block_hashes(self, block_count: u64) -> Vec<B256> {
        let first = FIRST_BLOCK_NUMBER - ANCESTOR_COUNT;
        (first..FIRST_BLOCK_NUMBER + block_count).map(|number| self.block_hash(number)).collect()
    }

    /// Environment of the block at `index`, 0-based.
    pub fn env(self, index: u64, gas_limit: u64) -> BlockEnv {
        let number = FIRST_BLOCK_NUMBER + index;
        BlockEnv {
            number,
            timestamp: FIRST_TIMESTAMP + index * BLOCK_SECONDS,
            beneficiary: BENEFICIARY,
            gas_limit,
            base_fee: BASE_FEE,
            prev_randao: stream_seed(self.seed, &format!("blocks/{number}/randao")),
            excess_blob_gas: 0,
            slot_number: FIRST_SLOT_NUMBER + index,
            parent_hash: self.block_hash(number - 1),
            parent_beacon_root: stream_seed(self.seed, &format!("blocks/{number}/beacon-root")),
        }
    }

    /// Addresses without an account that withdrawals of the block at `index` go to.
    pub fn fresh_addresses(self, index: u64) -> Vec<Address> {
        let number = FIRST_BLOCK_NUMBER + index;
        (0..FRESH_WITHDRAWAL_COUNT)
            .map(|i| stream_seed(self.seed, &format!("blocks/{number}/fresh/{i}")))
            .map(Address::from_word)
            .collect()
    }

    /// Withdrawals of the block at `index` to `recipients`: 0.01 to 0.08 ether each, as partial
    /// withdrawals of validators are.
    pub fn withdrawals(
        self,
        index: u64,
        recipients: impl Iterator<Item = Address>,
    ) -> Vec<Withdrawal> {
        let number = FIRST_BLOCK_NUMBER + index;
        recipients
            .enumerate()
            .map(|(i, address)| {
                let word = stream_seed(self.seed, &format!("blocks/{number}/withdrawal/{i}"));
                let random = u32::from_be_bytes([0, word[0], word[1], word[2]]);
                Withdrawal { address, amount_gwei: 10_000_000 + u64::from(random) * 4 }
            })
            .collect()
    }
}
