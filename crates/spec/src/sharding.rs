//! Execution on shards, in a scenario: the keys of `[run]` that begin with `shard` or `partition`.
//! A value without an effect is refused, since its measurement would be wasted.

use std::num::NonZeroUsize;

use crate::fault::{Fault, Remedy};
use crate::fields::{Fields, Range};
use crate::keys::{Checked, Keyed, Keys};
use crate::scenario::{RunSpec, ShardSpec};
use variant::{Sharding, Variant};

/// Range of the number of shards. Each shard is a process.
const SHARDS: Range = Range::supported(1, 64, "the fewest that can execute");
const KEYS: Range = Range::supported(1, 1 << 16, "the fewest keys of a request");
const DELAY_US: Range = Range {
    least: 0,
    most: 1_000_000,
    below: "no delay at all",
    above: "a second, which is more than any way on earth takes",
};

impl Keyed for ShardSpec {
    fn keys(&mut self, keys: &mut Keys<'_>) -> Checked {
        keys.any_counts("shards", &mut self.counts, &SHARDS, "none")?;
        keys.addresses("shard_addresses", &mut self.addresses, "127.0.0.1:7001")?;
        keys.one_or_more("partitioner", &mut self.partitioners, "by-sender")?;
        keys.one_or_more("partition", &mut self.partition_times, "inside")?;
        keys.any_counts("shard_batch", &mut self.micro_batch_key_counts, &KEYS, "256")?;
        keys.any_counts("shard_delay_us", &mut self.delays_us, &DELAY_US, "0")
    }
}

/// Refuses shards if no row of the run can have them, and the other keys if there are no shards.
pub(crate) fn check(spec: &RunSpec, fields: &Fields<'_>) -> Result<(), Fault> {
    let ShardSpec { counts, addresses, partitioners, .. } = &spec.shards;
    let ShardSpec { partition_times, micro_batch_key_counts, delays_us, .. } = &spec.shards;
    for (key, is_given) in [
        ("shard_addresses", !addresses.is_empty()),
        ("partitioner", !partitioners.is_empty()),
        ("partition", !partition_times.is_empty()),
        ("shard_batch", !micro_batch_key_counts.is_empty()),
        ("shard_delay_us", !delays_us.is_empty()),
    ] {
        if is_given && counts.is_empty() {
            let rule = "it says how shards execute, and the run has none";
            let advice = format!("say how many execute, as in shards = [2], or leave {key} out");
            return Err(fields.refusal(key, rule, Remedy::advice(&advice)));
        }
    }
    let one = NonZeroUsize::MIN;
    let mut variants = spec.designs.iter().map(|design| Variant::of(*design, one, one));
    if counts.is_empty() || variants.any(|variant| variant.can_be_sharded()) {
        return Ok(());
    }
    let rule = "shards execute the designs batched-io and block-stm alone: the run has no such row";
    let remedy = Remedy::advice("add batched-io or block-stm to designs, or leave shards out");
    Err(fields.refusal("shards", rule, remedy))
}

impl ShardSpec {
    /// Returns all ways of execution on shards to compare; empty if no shards execute.
    pub fn ways(&self) -> Vec<Sharding> {
        let one = Sharding::NONE;
        let mut ways: Vec<_> = self.counts.iter().map(|n| Sharding::on(*n as usize)).collect();
        vary(&mut ways, &self.partitioners, one.partitioner, |way, partitioner| Sharding {
            partitioner,
            ..way
        });
        vary(&mut ways, &self.partition_times, one.partition_time, |way, partition_time| {
            Sharding { partition_time, ..way }
        });
        let keys = &self.micro_batch_key_counts;
        vary(&mut ways, keys, one.micro_batch_key_count, |way, micro_batch_key_count| Sharding {
            micro_batch_key_count,
            ..way
        });
        vary(&mut ways, &self.delays_us, one.delay_us, |way, delay_us| Sharding {
            delay_us,
            ..way
        });
        ways
    }
}

/// Combines each way with each of `values`, or with the default if there are no values.
pub(crate) fn vary<W: Copy, T: Copy>(
    ways: &mut Vec<W>,
    values: &[T],
    default: T,
    with: impl Fn(W, T) -> W,
) {
    let default = [default];
    let values = if values.is_empty() { &default } else { values };
    *ways = ways.iter().flat_map(|way| values.iter().map(|value| with(*way, *value))).collect();
}
