//! What a storm transaction costs, measured on stock revm: a few small runs give the price of
//! each part, and their sum is exact. Knows no gas schedule.

use alloy_primitives::{Address, B256, Bytes, U256};
use workload::Fork;

use crate::{
    artifact::Contract,
    error::GeneratorError,
    probe::{Absent, Probe},
};

/// Slots that a contract reads in one unrolled block; the rest of a count costs more a slot.
const UNROLLED_SLOT_COUNT: u64 = 64;
/// Unrolled blocks of a probe: enough that execution costs more than the calldata floor
/// (EIP-7623, EIP-7976), which would hide the parts.
const PROBE_BLOCK_COUNT: u64 = 8;
/// Fewest slots of a transaction: enough that execution costs more than the calldata floor of
/// three ranges.
pub const USEFUL_SLOT_COUNT: u64 = 8;

const SENDER: Address = Address::repeat_byte(0x51);
const TARGET: Address = Address::repeat_byte(0x7a);

/// Why a transaction could not be measured: a fault of its contract or of revm's rules here.
#[derive(Debug, thiserror::Error)]
pub enum MeterError {
    /// A probe did not run.
    #[error("a probe of {contract} did not run: {reason}")]
    Probe {
        /// The contract.
        contract: &'static str,
        /// What revm says.
        reason: String,
    },
    /// A probe cost something else than its parts.
    #[error("a probe of {contract} used {used_gas} gas, and its parts cost {planned_gas}")]
    NotLinear {
        /// The contract.
        contract: &'static str,
        /// Gas used.
        used_gas: u64,
        /// Gas by the parts.
        planned_gas: u64,
    },
}

/// A range of indices in calldata: first, count.
pub type Pair = (u64, u64);

/// Calldata of a contract in 32-byte words: the first word (a seed, or the first key), then the
/// ranges; a chase has the count alone.
pub fn calldata(contract: Contract, first: &B256, pairs: &[Pair]) -> Bytes {
    let mut out = first.to_vec();
    let word = |number: u64| U256::from(number).to_be_bytes::<32>();
    for (start, count) in pairs {
        if contract != Contract::ChaseStorm {
            out.extend(word(*start));
        }
        out.extend(word(*count));
    }
    out.into()
}

/// The parts of a storm transaction's gas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meter {
    contract: Contract,
    /// A transaction of calldata of zeros, without a range.
    base_gas: u64,
    /// A byte of calldata that is not zero, above one that is.
    nonzero_byte_gas: u64,
    /// A range of no slots.
    range_gas: u64,
    /// An unrolled block of slots.
    block_gas: u64,
    /// A slot outside unrolled blocks.
    rest_gas: u64,
}

impl Meter {
    /// Measures a storm's `contract` under the rules of `fork`.
    ///
    /// # Errors
    /// [`MeterError`] when a probe fails or its gas is not the sum of its parts.
    pub fn measure(contract: Contract, fork: Fork) -> Result<Self, GeneratorError> {
        let probe = Probe {
            name: contract.name(),
            fork,
            sender: SENDER,
            to: TARGET,
            code: contract.code()?,
            value: U256::ZERO,
            absent: Absent::Nothing,
        };
        let (dark, bright) = (B256::with_last_byte(1), B256::repeat_byte(1));
        let slots = PROBE_BLOCK_COUNT * UNROLLED_SLOT_COUNT;
        let run = |first: &B256, pairs: &[Pair]| probe.gas(&calldata(contract, first, pairs));
        // All counts here are of two bytes that are not zero, or of none.
        let one = run(&dark, &[(0, slots | 1)])?;
        let nonzero_byte_gas = (run(&bright, &[(0, slots | 1)])? - one) / 31;
        let rest_gas = run(&dark, &[(0, slots | 2)])? - one;
        let two_blocks = run(&dark, &[(0, (slots + 2 * UNROLLED_SLOT_COUNT) | 1)])? - one;
        let range_gas = if contract == Contract::ChaseStorm {
            0
        } else {
            run(&dark, &[(0, slots | 1), (0, 0)])? - one
        };
        let block_gas = two_blocks / 2;
        let base_gas =
            one - PROBE_BLOCK_COUNT * block_gas - rest_gas - 3 * nonzero_byte_gas - range_gas;
        let meter = Self { contract, base_gas, nonzero_byte_gas, range_gas, block_gas, rest_gas };
        meter.check(&probe)?;
        Ok(meter)
    }

    fn check(&self, probe: &Probe) -> Result<(), MeterError> {
        let probes: [&[Pair]; 3] = [
            &[(0, USEFUL_SLOT_COUNT)],
            &[(5, 1_000), (70_000, 777), (1 << 40, 63)],
            &[(0, 77 * UNROLLED_SLOT_COUNT)],
        ];
        for pairs in probes {
            let pairs = if self.contract == Contract::ChaseStorm { &pairs[..1] } else { pairs };
            let input = calldata(self.contract, &B256::repeat_byte(3), pairs);
            let (used_gas, planned_gas) = (probe.gas(&input)?, self.gas(&input, pairs));
            if used_gas != planned_gas {
                let contract = self.contract.name();
                return Err(MeterError::NotLinear { contract, used_gas, planned_gas });
            }
        }
        Ok(())
    }

    /// Gas of a transaction with `input` that reads `pairs`, each slot for the first time.
    /// Exact from [`USEFUL_SLOT_COUNT`] slots on.
    pub fn gas(&self, input: &[u8], pairs: &[Pair]) -> u64 {
        let nonzero_count = input.iter().filter(|byte| **byte != 0).count() as u64;
        let reads = pairs.iter().map(|(_, count)| {
            let (blocks, rest) = (count / UNROLLED_SLOT_COUNT, count % UNROLLED_SLOT_COUNT);
            self.range_gas + blocks * self.block_gas + rest * self.rest_gas
        });
        self.base_gas + nonzero_count * self.nonzero_byte_gas + reads.sum::<u64>()
    }

    /// Slots that `gas` certainly cannot pay for one more of.
    pub fn slots_at_most(&self, gas: u64) -> u64 {
        let gas = u128::from(gas.saturating_sub(self.base_gas));
        let count = gas * u128::from(UNROLLED_SLOT_COUNT) / u128::from(self.block_gas) + 1;
        u64::try_from(count).unwrap_or(u64::MAX)
    }

    /// Gas in which a transaction of [`USEFUL_SLOT_COUNT`] slots fits, whatever its ranges.
    pub fn useful_gas(&self) -> u64 {
        let ranges = 4 * (self.range_gas + 16 * self.nonzero_byte_gas);
        let first = 32 * self.nonzero_byte_gas;
        self.base_gas + ranges + first + USEFUL_SLOT_COUNT * self.rest_gas
    }

    /// Gas of a slot in an unrolled block, at most: rounded up.
    pub fn slot_gas(&self) -> u64 {
        self.block_gas.div_ceil(UNROLLED_SLOT_COUNT)
    }

    /// Gas of a slot outside unrolled blocks.
    pub fn rest_slot_gas(&self) -> u64 {
        self.rest_gas
    }
}
