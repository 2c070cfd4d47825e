//! Turns a measurement of the executor into a sample of a result.

use executor::{
    engine::{BackgroundWrites, Executed, Writes},
    sample::Measurement,
    shards::Speculation,
    span,
};
use variant::Io;

use super::{
    input::CellInput,
    numbers::{ns, ratio},
    path::path,
    scheduling::Scheduling,
};
use result::{
    PhasesNs, RootFacts, SampleFacts, ShardWorkFacts, SpaceFacts, SpeculationFacts,
    StoreWriteFacts, WarmUpFacts, WriteFacts,
};

pub(super) fn sample(
    input: &CellInput<'_>,
    measurement: &Measurement,
    scheduling: &Scheduling,
) -> SampleFacts {
    let executed = &measurement.executed;
    let (io, usage) = (measurement.process.io, measurement.process.usage);
    let on_disk = input.never_cold.is_none();
    let gas = executed.batches.iter().flat_map(|batch| &batch.outcomes).map(|tx| tx.gas_used).sum();
    let warm_up = executed.speculative_pass.map(|pass| WarmUpFacts {
        reads: pass.read_count,
        asked: pass.requested_count,
        found: pass.found_count,
        unused: pass.unused_count,
        pass_wait_ns: ns(pass.pass_wait),
    });
    let row_pages = measurement.row_pages.as_ref().and_then(|pages| pages.as_ref().ok());
    let unverified = executed.wall.saturating_sub(executed.verification_wait);
    SampleFacts {
        wall_ns: ns(executed.wall),
        seed: input.workload.seed,
        keys: input.keys,
        asked_before_share: input.asked_before_share,
        unverified_wall_ns: (input.variant.io == Io::FromList).then(|| ns(unverified)),
        warm_up,
        gas,
        agree: measurement.disagreement.is_none(),
        phases_ns: PhasesNs::of(|phase| ns(span::total(&executed.spans, phase))),
        path_ns: Some(path(executed)),
        store_reads: executed.counters.key_count,
        unique_keys: input.declared.count(),
        blocks_read: on_disk.then_some(executed.counters.block_count),
        block_bytes: on_disk.then_some(executed.counters.block_bytes),
        blocks_per_s: None,
        trace_blocks_per_s: None,
        disk_requests: measurement.disk.map(|disk| disk.request_count).filter(|_| on_disk),
        disk_bytes: measurement.disk.map(|disk| disk.byte_count).filter(|_| on_disk),
        row_pages: row_pages.map(|pages| pages.page_count),
        resident_row_pages: row_pages.map(|pages| pages.resident_count),
        device_read_bytes: io.map(|io| io.device_read_bytes).filter(|_| on_disk),
        read_syscalls: io.map(|io| io.read_call_count),
        allocations: measurement.process.allocation_count,
        instructions: measurement.process.instruction_count,
        cpu_ns: usage.map(|usage| ns(usage.cpu())),
        reads_by_readers: executed.prefetched.read_count,
        reads_by_executors: executed.on_demand.read_count,
        ready_on_arrival: executed.on_demand.ready_count,
        read_wait_count: executed.on_demand.waited_count,
        read_wait_ns: ns(executed.on_demand.wait),
        longest_tx_ns: ns(executed.longest_txs),
        tx_total_ns: ns(executed.tx_latencies.total()),
        speculation: executed.speculation.as_ref().map(speculation),
        idle_ns: scheduling.idle.map(ns),
        makespan_block_order_ns: scheduling.makespan_block_order.map(ns),
        makespan_longest_first_ns: scheduling.makespan_longest_first.map(ns),
        digest_ns: ns(executed.digesting),
        recover_ns: None,
        root_work: root_work(executed).map(|work| RootFacts {
            root_blocks_read: work.root_blocks_read.filter(|_| on_disk),
            root_block_bytes: work.root_block_bytes.filter(|_| on_disk),
            ..work
        }),
        shard_work: (!input.variant.sharding.is_none()).then(|| shard_work(executed)),
        batch_ns: executed.batch_times.iter().copied().map(ns).collect(),
        writes: Some(writes(executed)),
    }
}

/// Facts of the writes that the commits caused.
fn writes(executed: &Executed) -> WriteFacts {
    let Writes { committed_bytes, background, space } = executed.writes;
    let store = background.map(|BackgroundWrites { counters, due_bytes }| StoreWriteFacts {
        log_bytes: counters.log_bytes,
        flush_count: counters.flush_count,
        flush_bytes: counters.flush_bytes,
        compaction_count: counters.compaction_count,
        compaction_read_bytes: counters.compaction_read_bytes,
        compaction_write_bytes: counters.compaction_write_bytes,
        stall_ns: ns(counters.stall),
        due_bytes,
        pending_bytes: counters.pending_compaction_bytes,
        buffered_bytes: counters.buffered_bytes,
    });
    let device_write_bytes = executed.process.io.map(|io| io.device_write_bytes);
    let over_committed = |bytes: u64| ratio(bytes as f64, committed_bytes as f64);
    WriteFacts {
        committed_bytes,
        device_write_bytes,
        // For a store without files, the written bytes would belong to other files of the process.
        device_amplification: space.and(device_write_bytes).and_then(over_committed),
        store,
        store_amplification: store.and_then(|store| over_committed(store.written_bytes())),
        space: space.map(|space| SpaceFacts {
            before_bytes: space.before_bytes,
            peak_bytes: space.peak_bytes,
            after_bytes: space.after_bytes,
        }),
    }
}

/// Returns the work for the state roots; `None` without roots.
fn root_work(executed: &Executed) -> Option<RootFacts> {
    let work = executed.root_work?;
    let last = executed.batches.last().and_then(|batch| batch.rooted.as_ref());
    Some(RootFacts {
        state_root: last.map_or(String::new(), |rooted| rooted.root.to_string()),
        lag_ns: ns(work.lag),
        tries: work.trie_count,
        nodes_used: work.used_node_count,
        nodes_read: work.node_count,
        nodes_cached: work.cached_node_count,
        nodes_ahead: work.ahead_node_count,
        rows_read: work.row_count,
        root_blocks_read: Some(work.counters.block_count),
        root_block_bytes: Some(work.counters.block_bytes),
        nodes_written: work.written_node_count,
        node_bytes_written: work.written_bytes,
        nodes_deleted: work.deleted_node_count,
        hashes: work.hash_count,
        permutations: work.permutation_count,
        fold_cpu_ns: ns(work.fold_cpu),
    })
}

/// Returns the work for execution on shards.
fn shard_work(executed: &Executed) -> ShardWorkFacts {
    let times = executed.shard_times;
    let between = executed.cross_shard.unwrap_or_default();
    ShardWorkFacts {
        partition_ns: ns(executed.partitioning),
        value_wait_ns: ns(times.value_wait),
        ahead_request_count: times.ahead_request_count,
        ahead_key_count: times.ahead_key_count,
        demand_request_count: times.demand_request_count,
        cross_shard_value_count: between.value_count,
        replaced_result_count: between.replaced_result_count,
        stale_result_count: between.stale_result_count,
    }
}

/// Returns the cost of executing steps before their turn.
const fn speculation(costs: &Speculation) -> SpeculationFacts {
    SpeculationFacts {
        step_count: costs.step_count,
        execution_count: costs.execution_count,
        validation_count: costs.validation_count,
        abort_count: costs.abort_count,
        wait_count: costs.wait_count,
        aborted_step_count: costs.aborted_step_count,
        most_aborts_of_a_step: costs.most_aborts_of_a_step,
    }
}
