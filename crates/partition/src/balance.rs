//! Bounds on the gas of a shard, which every partition by `fanout` keeps.

/// A shard may exceed the mean gas by the mean divided by this number, so by 3 %.
const SLACK_PARTS: u128 = 33;

/// Returns the maximum gas of a shard, for transactions with the gas values `gas` on `shard_count`
/// shards. It is the mean plus 3 % of the mean, or plus the gas of the largest transaction where
/// that is more. So some shard always has room for the next transaction.
pub fn gas_limit(gas: &[u64], shard_count: u32) -> u64 {
    let limit = mean(gas, shard_count) + u128::from(cluster_limit(gas, shard_count));
    u64::try_from(limit).unwrap_or(u64::MAX)
}

fn mean(weights: &[u64], shard_count: u32) -> u128 {
    let total: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    total.div_ceil(u128::from(shard_count.max(1)))
}

/// Bounds of a placement of vertices on shards.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) shard_count: u32,
    /// Maximum weight of a shard.
    pub(crate) limit: u64,
}

impl Bounds {
    pub(crate) fn new(weights: &[u64], shard_count: u32) -> Self {
        Self { shard_count, limit: gas_limit(weights, shard_count) }
    }
}

/// Returns the maximum weight of a cluster of vertices. Joining vertices up to this weight never
/// raises the [`gas_limit`] of the graph.
pub(crate) fn cluster_limit(weights: &[u64], shard_count: u32) -> u64 {
    let slack = mean(weights, shard_count) / SLACK_PARTS;
    let largest = weights.iter().copied().max().unwrap_or(0);
    u64::try_from(slack).unwrap_or(u64::MAX).max(largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_may_have_three_per_cent_or_one_transaction_more_than_the_mean() {
        assert_eq!(gas_limit(&[1; 660], 2), 330 + 10);
        assert_eq!(gas_limit(&[1, 1, 50], 2), 26 + 50);
        assert_eq!(gas_limit(&[], 4), 0);
        assert_eq!(gas_limit(&[u64::MAX, u64::MAX], 1), u64::MAX);
    }
}
