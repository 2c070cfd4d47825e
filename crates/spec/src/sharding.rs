//! Execution on shards, as a scenario says it: the keys that begin with `shard` or `partition`. Refused is a value
//! that could make no difference, as it would be measured for nothing.

use std::num::NonZeroUsize;

use crate::fault::{Fault, Misfit, Remedy};
use crate::fields::{Fields, Range};
use crate::scenario::{RunSpec, ShardSpec};
use variant::{Sharding, Variant};

const UNUSUAL: &str = "the most that is supported";
/// Each is a process.
const SHARDS: Range =
    Range { least: 1, most: 64, below: "the fewest that can execute", above: UNUSUAL };
const KEYS: Range =
    Range { least: 1, most: 1 << 16, below: "the fewest keys of a request", above: UNUSUAL };
const DELAY_US: Range = Range {
    least: 0,
    most: 1_000_000,
    below: "no delay at all",
    above: "a second, which is more than any way on earth takes",
};

/// Reads the keys.
pub(crate) fn read(fields: &Fields<'_>) -> Result<ShardSpec, Fault> {
    Ok(ShardSpec {
        counts: counts(fields, "shards", &SHARDS)?,
        addresses: fields.addresses("shard_addresses", "127.0.0.1:7001")?,
        partitioners: fields.one_or_more("partitioner")?,
        partition_times: fields.one_or_more("partition")?,
        micro_batch_key_counts: counts(fields, "shard_batch", &KEYS)?,
        delays_us: counts(fields, "shard_delay_us", &DELAY_US)?,
    })
}

fn counts(fields: &Fields<'_>, key: &str, range: &Range) -> Result<Vec<u32>, Fault> {
    let counts = fields.count_list(key, range)?.unwrap_or_default();
    Ok(counts.into_iter().map(|count| u32::try_from(count).unwrap_or(u32::MAX)).collect())
}

/// Refuses shards where no row of the run can have them, and the other keys where there are no shards.
pub(crate) fn check(spec: &RunSpec, fields: &Fields<'_>) -> Result<(), Fault> {
    let ShardSpec { counts, addresses, partitioners, .. } = &spec.shards;
    let ShardSpec { partition_times, micro_batch_key_counts, delays_us, .. } = &spec.shards;
    for (key, is_said) in [
        ("shard_addresses", !addresses.is_empty()),
        ("partitioner", !partitioners.is_empty()),
        ("partition", !partition_times.is_empty()),
        ("shard_batch", !micro_batch_key_counts.is_empty()),
        ("shard_delay_us", !delays_us.is_empty()),
    ] {
        if is_said && counts.is_empty() {
            let rule = "it says how shards execute, and the run has none";
            let advice = format!("say how many execute, as in shards = [2], or leave {key} out");
            return Err(fields.fault(key, Misfit::new(rule, Remedy::advice(&advice))));
        }
    }
    let one = NonZeroUsize::MIN;
    let mut variants = spec.designs.iter().map(|design| Variant::of(*design, one, one));
    if counts.is_empty() || variants.any(|variant| variant.can_be_sharded()) {
        return Ok(());
    }
    let rule = "shards execute the designs batched-io and block-stm alone: the run has no such row";
    let remedy = Remedy::advice("add batched-io or block-stm to designs, or leave shards out");
    Err(fields.fault("shards", Misfit::new(rule, remedy)))
}

impl ShardSpec {
    /// All ways to compare; none where no shards execute.
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

/// Each way with each of some values, or with the default.
fn vary<T: Copy>(
    ways: &mut Vec<Sharding>,
    values: &[T],
    default: T,
    with: impl Fn(Sharding, T) -> Sharding,
) {
    let default = [default];
    let values = if values.is_empty() { &default } else { values };
    *ways = ways.iter().flat_map(|way| values.iter().map(|value| with(*way, *value))).collect();
}
