//! Measures the price of storm transactions on stock revm. A few small runs give the price of each
//! part of a transaction: an operation, a range, a byte of calldata. The sum of the parts is the
//! exact price. No gas schedule is written here.

use alloy_primitives::{Address, B256, Bytes, U256};
use evm::TxGas;
use workload::Fork;

use crate::{
    artifact::Contract,
    error::{GeneratorError, MeterError},
    planner::TX_EXECUTION_GAS,
    probe::{Absent, Cost, Probe},
};
use spec::CalldataByte;

/// Number of unrolled blocks of operations in a probe: enough that execution costs more than the
/// calldata floor (EIP-7623, EIP-7976), which would hide the parts.
const PROBE_BLOCK_COUNT: u64 = 8;
/// Number of bytes of calldata in a probe of the floor: enough that a call without reads costs
/// less.
const PROBE_PADDING_COUNT: u64 = 4_096;
/// Gas of the operations of a useful transaction: enough that execution costs more than the
/// calldata floor of three ranges. Eight of the cheapest operations use it.
const USEFUL_GAS: u64 = 8 * 2_100;
/// A refund is at most this part of the gas spent (EIP-3529).
const REFUND_QUOTIENT: u64 = 5;
/// An SSTORE needs more gas left than this, even if it costs less (EIP-2200).
const SSTORE_SENTRY_GAS: u64 = 2_300;
/// A call passes on all but a 64th of the gas that is left (EIP-150). So the caller must have a
/// 63rd more than the call needs.
const CALL_DIVISOR: u64 = 63;

const SENDER: Address = Address::repeat_byte(0x51);
const TARGET: Address = Address::repeat_byte(0x7a);

/// A range of indices: the first index, and their number.
pub type IndexPair = (u64, u64);

/// Calldata of a contract in 32-byte words: the words of `head`, then the ranges. Some contracts
/// take a count alone, others each index in 4 bytes.
pub fn calldata(contract: Contract, head: &[B256], pairs: &[IndexPair]) -> Bytes {
    if contract.takes_indices() {
        return packed(head, pairs.iter().flat_map(|(start, count)| *start..start + count));
    }
    let mut numbers = Vec::new();
    if contract.takes_padding() {
        numbers.push(pairs.len() as u64);
    }
    for (start, count) in pairs {
        if !contract.takes_count_alone() {
            numbers.push(*start);
        }
        numbers.push(*count);
    }
    let words = numbers.into_iter().flat_map(|number| U256::from(number).to_be_bytes::<32>());
    head.concat().into_iter().chain(words).collect()
}

/// Calldata of `head` and `indices`, each of which fits in 4 bytes.
pub(crate) fn packed(head: &[B256], indices: impl IntoIterator<Item = u64>) -> Bytes {
    let mut out = head.concat();
    for index in indices {
        out.extend((index as u32).to_be_bytes());
    }
    out.into()
}

/// The words of calldata and the state for a storm's probes.
#[derive(Clone, Debug, Default)]
pub struct ProbeInputs {
    /// The words of calldata between the first one and the ranges.
    pub tail: Vec<B256>,
    /// The keys that do not exist.
    pub absent: Absent,
    /// Code of every account that is neither the storm's contract nor a sender.
    pub elsewhere: Bytes,
}

impl ProbeInputs {
    /// The words of calldata before the ranges, of which `first` is the first.
    fn head(&self, first: B256) -> Vec<B256> {
        [&[first], &self.tail[..]].concat()
    }

    fn input(&self, contract: Contract, first: B256, pairs: &[IndexPair]) -> Bytes {
        calldata(contract, &self.head(first), pairs)
    }
}

/// The parts of the gas that a storm transaction spends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meter {
    contract: Contract,
    /// Number of words of calldata before the ranges.
    head_count: u64,
    /// Gas of a transaction whose calldata is zeros, without a range.
    base_gas: u64,
    /// Gas of a nonzero byte of calldata above a zero byte.
    nonzero_byte_gas: u64,
    /// Gas of an empty range.
    range_gas: u64,
    /// Gas of an unrolled block of operations.
    block_gas: u64,
    /// Gas of an operation after the last whole unrolled block of its range.
    rest_gas: u64,
    /// State gas of an operation. The fields above include it (EIP-8037).
    state_gas: u64,
    /// Whether transactions have a refund, which is then the largest that is allowed.
    is_refunded: bool,
    /// Price of unread bytes at the end, for a contract that ignores them.
    padding: Option<PaddingPrice>,
}

/// The prices of unread calldata. The floor price is that of all calldata of a transaction
/// (EIP-7623, EIP-7976).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PaddingPrice {
    /// Floor gas of a transaction without calldata.
    floor_base_gas: u64,
    zero: ByteGas,
    nonzero: ByteGas,
}

/// The price of a byte of calldata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ByteGas {
    standard: u64,
    floor: u64,
}

impl PaddingPrice {
    const fn of(self, byte: CalldataByte) -> ByteGas {
        match byte {
            CalldataByte::Random => self.nonzero,
            CalldataByte::Zero => self.zero,
        }
    }
}

/// The price of a storm transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// Gas in the receipt, after refunds.
    pub gas: u64,
    /// Gas that is refunded at the transaction's end.
    pub refund: u64,
    /// State gas, which is a part of the spent gas.
    pub state_gas: u64,
    /// The least gas limit with which the transaction succeeds, or a little more.
    pub limit: u64,
}

impl Price {
    /// Whether a transaction of `gas_limit` can pay the price. Above 2^24 a limit pays for state
    /// gas alone (EIP-8037).
    pub(crate) const fn is_within(self, gas_limit: u64) -> bool {
        self.limit <= gas_limit && self.limit - self.state_gas <= TX_EXECUTION_GAS
    }

    /// The price as a [`Cost`].
    pub(crate) const fn cost(self) -> Cost {
        let Self { gas, refund, state_gas, .. } = self;
        Cost { gas, refund, regular_gas: gas + refund - state_gas, state_gas }
    }
}

impl Meter {
    /// Measures a storm's `contract` on `inputs` under the rules of `fork`.
    ///
    /// # Errors
    /// [`MeterError`] when a probe fails or its gas is not the sum of its parts.
    pub fn measure(
        contract: Contract,
        inputs: &ProbeInputs,
        fork: Fork,
    ) -> Result<Self, GeneratorError> {
        let absent = inputs.absent;
        let probe = Probe { absent, ..Probe::new(contract, fork, SENDER, TARGET)? };
        // One byte that is not zero, in a place where the word is no precompile's address.
        let mut sparse = B256::ZERO;
        sparse[12] = 1;
        let unrolled = contract.unrolled_count();
        // Unrolled blocks have an even number of operations: `| 1` adds one operation outside of
        // them, `| 2` two.
        let count = PROBE_BLOCK_COUNT * unrolled;
        let (input, idle) = (
            inputs.input(contract, sparse, &[(0, count | 1)]),
            inputs.input(contract, sparse, &[]),
        );
        let dense = inputs.input(contract, B256::repeat_byte(1), &[(0, count | 1)]);
        let spent_with = |input: &Bytes| probe.spent(input, fork.max_tx_gas(), &inputs.elsewhere);
        let spent = spent_with(&input)?;
        let spent_gas = spent.burnt_gas();
        let dense_gas = spent_with(&dense)?.burnt_gas();
        let nonzero_byte_gas = (dense_gas - spent_gas) / 31;
        // Gas of the first probe, if all of its calldata were zeros.
        let first_gas = spent_gas - nonzero_count(&input) * nonzero_byte_gas;
        // Gas of a probe with these ranges above `first_gas`, if all of its calldata were zeros.
        let more = |pairs: &[IndexPair]| {
            let input = inputs.input(contract, sparse, pairs);
            let spent_gas = spent_with(&input)?.burnt_gas();
            Ok::<_, MeterError>(spent_gas - nonzero_count(&input) * nonzero_byte_gas - first_gas)
        };
        let rest_gas = more(&[(0, count | 2)])?;
        let block_gas = more(&[(0, (count + 2 * unrolled) | 1)])? / 2;
        let range_gas = match contract.takes_count_alone() {
            true => 0,
            false => more(&[(0, count | 1), (0, 0)])?,
        };
        let base_gas = first_gas - PROBE_BLOCK_COUNT * block_gas - rest_gas - range_gas;
        let padding = match contract.takes_padding() {
            true => Some(PaddingPrice::measure(&input, &idle, spent_with)?),
            false => None,
        };
        let meter = Self {
            contract,
            head_count: 1 + inputs.tail.len() as u64,
            base_gas,
            nonzero_byte_gas,
            range_gas,
            block_gas,
            rest_gas,
            state_gas: spent.block_state_gas / (count | 1),
            is_refunded: spent.receipt_gas < spent_gas,
            padding,
        };
        meter.check(&probe, &inputs.head(B256::repeat_byte(3)), &inputs.elsewhere)?;
        Ok(meter)
    }

    /// Runs probes with the gas limits of their prices. A limit that is too low, or a price that is
    /// not exact, fails here.
    fn check(&self, probe: &Probe, head: &[B256], elsewhere: &Bytes) -> Result<(), MeterError> {
        let unrolled = self.contract.unrolled_count();
        let probes: [&[IndexPair]; 3] = [
            &[(0, self.useful_count())],
            &[(5, 3 * unrolled + 5), (70_000, 2 * unrolled + 7), (1 << 31, unrolled - 1)],
            &[(0, 9 * unrolled)],
        ];
        for pairs in probes {
            let pairs = if self.contract.takes_count_alone() { &pairs[..1] } else { pairs };
            let mut input = calldata(self.contract, head, pairs);
            let price = self.price(&input, pairs);
            // The most padding at the standard price: a rise of the price would show.
            let byte = CalldataByte::Random;
            let padding_count = self.padding_count_max(&input, price, byte);
            let price = self.padded(price, padding_count, byte);
            input = [&input[..], &vec![1; padding_count as usize]].concat().into();
            let used = probe.spent(&input, price.limit, elsewhere)?;
            let Cost { gas, regular_gas, state_gas, .. } = price.cost();
            let contract = self.contract.name();
            for (used_gas, planned_gas) in [
                (used.receipt_gas, gas),
                (used.block_regular_gas, regular_gas),
                (used.block_state_gas, state_gas),
            ] {
                if used_gas != planned_gas {
                    return Err(MeterError::NotLinear { contract, used_gas, planned_gas });
                }
            }
        }
        Ok(())
    }

    /// The price of a transaction with `input` that asks for `pairs`, each index for the first
    /// time. Exact from [`Self::useful_count`] operations on.
    pub fn price(&self, input: &[u8], pairs: &[IndexPair]) -> Price {
        let counts = pairs.iter().map(|(_, count)| *count);
        let state_gas = counts.clone().sum::<u64>() * self.state_gas;
        let reads_gas = match self.contract.takes_indices() {
            true => self.reads_gas(counts.sum()),
            false => counts.map(|count| self.reads_gas(count)).sum(),
        };
        let bytes_gas = nonzero_count(input) * self.nonzero_byte_gas;
        let spent = self.base_gas + bytes_gas + reads_gas;
        let refund = if self.is_refunded { spent / REFUND_QUOTIENT } else { 0 };
        let limit = spent + self.reserve_gas(spent);
        Price { gas: spent - refund, refund, state_gas, limit }
    }

    /// Gas of a range of `count` operations.
    fn reads_gas(&self, count: u64) -> u64 {
        let unrolled = self.contract.unrolled_count();
        let (blocks, rest) = (count / unrolled, count % unrolled);
        self.range_gas + blocks * self.block_gas + rest * self.rest_gas
    }

    /// The most bytes that can follow `input` at the standard price, in a transaction of `price`.
    /// Further bytes would lift the calldata's floor above the spent gas and cost the floor price.
    pub(crate) fn padding_count_max(&self, input: &[u8], price: Price, byte: CalldataByte) -> u64 {
        let Some(padding) = self.padding else { return 0 };
        let nonzero_count = nonzero_count(input);
        let floor_gas = padding.floor_base_gas
            + nonzero_count * padding.nonzero.floor
            + (input.len() as u64 - nonzero_count) * padding.zero.floor;
        let ByteGas { standard, floor } = padding.of(byte);
        price.gas.saturating_sub(floor_gas) / floor.saturating_sub(standard).max(1)
    }

    /// The price with `padding_count` bytes more, at most [`Self::padding_count_max`].
    pub(crate) fn padded(&self, price: Price, padding_count: u64, byte: CalldataByte) -> Price {
        let byte_gas = self.padding.map_or(0, |padding| padding.of(byte).standard);
        let padding_gas = padding_count * byte_gas;
        Price { gas: price.gas + padding_gas, limit: price.limit + padding_gas, ..price }
    }

    /// Gas that the limit needs above the spent gas.
    fn reserve_gas(&self, spent: u64) -> u64 {
        match self.contract {
            // All reads are within one call.
            Contract::RangePointer | Contract::ChainPointer => spent / CALL_DIVISOR + 1,
            Contract::AccountStorm
            | Contract::BalanceStorm
            | Contract::HopStorm
            | Contract::SpreadStorm => self.rest_gas / CALL_DIVISOR + 1,
            Contract::RewriteStorm => SSTORE_SENTRY_GAS,
            _ => 0,
        }
    }

    /// Upper bound of the number of operations that `gas` and the most gas of execution can pay
    /// for.
    pub fn count_at_most(&self, gas: u64) -> u64 {
        let unrolled = self.contract.unrolled_count();
        let count_within = |gas: u64, block_gas: u64| {
            let gas = u128::from(gas.saturating_sub(self.base_gas));
            let count = gas * u128::from(unrolled) / u128::from(block_gas.max(1)) + 1;
            u64::try_from(count).unwrap_or(u64::MAX)
        };
        let execution_gas = self.block_gas.saturating_sub(unrolled * self.state_gas);
        count_within(gas, self.block_gas).min(count_within(TX_EXECUTION_GAS, execution_gas))
    }

    /// Minimum number of operations of a useful transaction.
    pub fn useful_count(&self) -> u64 {
        USEFUL_GAS.div_ceil(self.block_gas / self.contract.unrolled_count()).max(1)
    }

    /// Gas in which a transaction of [`Self::useful_count`] operations fits, for any ranges.
    pub fn useful_gas(&self) -> u64 {
        let ranges = 4 * (self.range_gas + 16 * self.nonzero_byte_gas);
        let head = self.head_count * 32 * self.nonzero_byte_gas;
        let spent = self.base_gas + ranges + head + self.useful_count() * self.rest_gas;
        let limit = spent + self.reserve_gas(spent);
        let price = Price { gas: spent, refund: 0, state_gas: 0, limit };
        // Random bytes are not zero, so they cost more than zeros.
        let byte = CalldataByte::Random;
        self.padded(price, self.padding_count_max(&[], price, byte), byte).limit
    }

    /// Gas of an operation in an unrolled block, rounded up.
    pub fn operation_gas(&self) -> u64 {
        self.block_gas.div_ceil(self.contract.unrolled_count())
    }

    /// Gas of an operation outside unrolled blocks.
    pub fn rest_gas(&self) -> u64 {
        self.rest_gas
    }
}

impl PaddingPrice {
    /// Measures the prices. `spent` runs an input. `full` costs more than its floor price, and
    /// `idle`, which accesses nothing, costs less once it is padded.
    fn measure(
        full: &Bytes,
        idle: &Bytes,
        spent: impl Fn(&Bytes) -> Result<TxGas, MeterError>,
    ) -> Result<Self, MeterError> {
        let full_gas = spent(full)?.burnt_gas();
        let count = PROBE_PADDING_COUNT;
        let floored = followed(idle, 1, count);
        let floor_gas = spent(&floored)?.receipt_gas;
        let [zero, nonzero] = [0, 1].map(|byte| {
            Ok::<_, MeterError>(ByteGas {
                standard: (spent(&followed(full, byte, 32))?.burnt_gas() - full_gas) / 32,
                floor: (spent(&followed(&floored, byte, count))?.receipt_gas - floor_gas) / count,
            })
        });
        let (zero, nonzero) = (zero?, nonzero?);
        let nonzero_count = nonzero_count(&floored);
        let zero_count = floored.len() as u64 - nonzero_count;
        let floor_base_gas = floor_gas - nonzero_count * nonzero.floor - zero_count * zero.floor;
        Ok(Self { floor_base_gas, zero, nonzero })
    }
}

/// Returns `input` followed by `count` times `byte`.
fn followed(input: &Bytes, byte: u8, count: u64) -> Bytes {
    [&input[..], &vec![byte; count as usize]].concat().into()
}

/// Number of bytes that are not zero, which cost more as calldata.
pub(crate) fn nonzero_count(input: &[u8]) -> u64 {
    input.iter().filter(|byte| **byte != 0).count() as u64
}
