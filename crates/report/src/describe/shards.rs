//! A table of partitions over shards of execution, one line a partitioner.

use result::description::{PartitionFacts, Sharded};

use crate::{
    page::{Page, Tone},
    ranked::{Column, plain, table},
    units,
};

/// The partitions over one number of shards.
pub(super) fn shards(page: &mut Page, sharded: &Sharded) {
    let partitions = &sharded.partitions;
    let count = units::things(sharded.shard_count, "shard");
    let text = format!(
        "{count} of execution: mean shards of a key in conflict and of any key of two or more txs (fanout); \
         values between shards, and the most that wait for one another (hops), in the block's order and \
         in one by shards; values read from the state; gas of the fullest shard above the mean"
    );
    page.labelled(Tone::Plain, "shards", &text);
    let names: Vec<&str> = partitions.iter().map(|of| of.partitioner.name()).collect();
    let column = |head, rank, value: &dyn Fn(&PartitionFacts) -> String| Column {
        head,
        rank,
        values: partitions.iter().map(value).collect(),
    };
    let columns = vec![
        column(["conflict", "fanout"], 0, &|of| format!("{:.3}", of.conflict_fanout)),
        column(["", "fanout"], 2, &|of| format!("{:.3}", of.fanout)),
        column(["values", "in block"], 0, &|of| {
            units::count(of.in_block_order.cross_shard_value_count)
        }),
        column(["", "hops"], 0, &|of| units::count(of.in_block_order.hop_count)),
        column(["values by", "shards"], 1, &|of| {
            units::count(of.in_shard_order.cross_shard_value_count)
        }),
        column(["", "hops"], 1, &|of| units::count(of.in_shard_order.hop_count)),
        column(["state", "reads"], 3, &|of| units::count(of.in_block_order.state_read_count)),
        column(["% over", "mean"], 0, &|of| units::percent(of.imbalance)),
        column(["", "time"], 4, &|of| units::time_ns(of.partition_ns as f64)),
    ];
    table(page, &plain(&names), columns);
}
