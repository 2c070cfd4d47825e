//! Finds faults in the messages of a shard, for the coordinator: contents that no execution can
//! produce. A shard may send any bytes.

use alloy_primitives::{Address, U256};
use evm::TxResult;
use workload::{BlockAccessIndex, Transaction};

/// Largest number of keys that are compared pair by pair, without an allocation. More keys are
/// sorted.
const FEW: usize = 16;

/// Returns a key that occurs twice, if any.
fn repeated<K: Copy + Ord>(mut keys: impl ExactSizeIterator<Item = K> + Clone) -> Option<K> {
    if keys.len() <= FEW {
        while let Some(key) = keys.next() {
            if keys.clone().any(|other| other == key) {
                return Some(key);
            }
        }
        return None;
    }
    let mut keys: Vec<K> = keys.collect();
    keys.sort_unstable();
    let same = keys.windows(2).find(|pair| pair[0] == pair[1])?;
    Some(same[0])
}

/// Returns the fault of a step that writes an account or a slot twice.
pub(super) fn repeated_write(
    index: BlockAccessIndex,
    accounts: impl ExactSizeIterator<Item = Address> + Clone,
    slots: &[(Address, U256, U256)],
) -> Option<String> {
    if let Some(address) = repeated(accounts) {
        return Some(format!("step {index} writes account {address} twice"));
    }
    let (address, key) = repeated(slots.iter().map(|(address, key, _)| (*address, *key)))?;
    Some(format!("step {index} writes slot {key:#x} of {address} twice"))
}

/// Returns the fault of a step that used more gas than its transaction `tx` allows. `tx` is `None`
/// for a step that is no transaction.
pub(super) fn excess_gas(
    index: BlockAccessIndex,
    result: Option<&TxResult>,
    tx: Option<&Transaction>,
) -> Option<String> {
    let (gas, limit) = (result?.gas, tx?.gas_limit);
    let most = gas.receipt_gas.max(gas.block_regular_gas).max(gas.block_state_gas);
    (most > limit).then(|| format!("step {index} has a gas limit of {limit}, and used {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_stands_twice_is_found_among_few_and_among_many() {
        for count in 0..3 * FEW {
            assert_eq!(repeated(0..count), None);
            for (first, again) in (0..count).flat_map(|b| (0..b).map(move |a| (a, b))) {
                let keys: Vec<_> = (0..count).map(|n| if n == again { first } else { n }).collect();
                assert_eq!(repeated(keys.iter().copied()), Some(first), "{keys:?}");
            }
        }
    }
}
