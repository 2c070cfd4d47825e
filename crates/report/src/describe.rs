//! The page of `stress describe`: the contents of a workload before it runs.

use result::description::{
    Conflicts, HotKey, IdealSpeedup, LoadFacts, PartitionFacts, ShardPartitions, SizeClass,
    TxFacts, WorkloadDescription,
};

use super::{
    Paint,
    columns::{Column, plain, table},
    head,
    page::{Page, Tone, clip},
    units,
};

/// Maximal width of a load's name. A longer name is cut.
const MAX_NAME_WIDTH: usize = 24;
/// Maximal number of size classes of components that are shown; the JSON has all.
const SHOWN_CLASS_COUNT: usize = 12;

/// The most bytes that the encoding of a block may have (EIP-7934); a list is no part of it.
const BLOCK_BYTES_MAX: u64 = 8 << 20;

/// The description as a page of `width` columns (at least 24), each line ended by a newline.
pub fn describe(described: &WorkloadDescription, width: usize, paint: Paint) -> String {
    let mut page = Page::new(width);
    head::workload(&mut page, &described.workload);
    let facts = &described.workload;
    let text = format!(
        "{} and {} in the lists, {} bytes of batched-io list for each Mgas; {} % of the slots \
         that transactions ask for exist in the state",
        units::things(facts.list_account_count, "account"),
        units::things(facts.list_slot_count, "slot"),
        units::number(described.list_bytes_per_mgas),
        units::percent(described.present_share),
    );
    page.labelled(Tone::Plain, "keys", &text);
    page.labelled(Tone::Plain, "bytes", &byte_words(described));
    page.gap();
    loads(&mut page, described);
    page.gap();
    conflicts(&mut page, described);
    page.gap();
    for sharded in &described.shards {
        shards(&mut page, sharded);
        page.gap();
    }
    let text = "reads include written keys; the row of the beneficiary, whom every \
                transaction pays, is left out; in a chain each transaction reads a key that an \
                earlier one wrote; with a list none has to wait";
    page.labelled(Tone::Faint, "note", text);
    let text = "--out FILE.svg: the components as a picture; --json: all";
    page.labelled(Tone::Faint, "deeper", text);
    page.render(paint)
}

/// Text on the bytes that a client receives: calldata and list. Other fields of transactions are
/// left out.
fn byte_words(described: &WorkloadDescription) -> String {
    let mut words = format!(
        "{} of calldata and {} of batched-io list, {} bytes together for each Mgas",
        units::bytes(described.calldata_bytes),
        units::bytes(described.workload.bal.batched_io_bytes),
        units::number(described.wire_bytes_per_mgas),
    );
    if described.block_calldata_bytes_max > BLOCK_BYTES_MAX {
        words.push_str(&format!(
            "; a block has {} of calldata, and all of a block but its list may have {} (EIP-7934)",
            units::bytes(described.block_calldata_bytes_max),
            units::bytes(BLOCK_BYTES_MAX),
        ));
    }
    words
}

/// Writes one line for each load, and one for all transactions unless there is exactly one load.
fn loads(page: &mut Page, described: &WorkloadDescription) {
    let loads = &described.loads;
    let mut labels: Vec<String> =
        loads.iter().map(|load| clip(&load_name(load), MAX_NAME_WIDTH)).collect();
    let mut rows: Vec<(f64, &TxFacts)> =
        loads.iter().map(|load| (load.gas_share, &load.transactions)).collect();
    if loads.len() != 1 {
        labels.push("all".to_owned());
        rows.push((1.0, &described.all));
    }
    let rows = &rows[..];
    let columns = vec![
        Column::ranked(0, ["", "txs"], rows, |(_, of)| units::count(of.tx_count)),
        Column::ranked(0, ["% of", "gas"], rows, |(share, _)| units::percent(*share)),
        Column::ranked(0, ["gas", "a tx"], rows, |(_, of)| units::number(of.gas_per_tx.mean)),
        Column::ranked(3, ["at", "most"], rows, |(_, of)| units::count(of.gas_per_tx.max)),
        Column::ranked(0, ["reads", "a tx"], rows, |(_, of)| units::number(of.reads_per_tx.mean)),
        Column::ranked(2, ["at", "most"], rows, |(_, of)| units::count(of.reads_per_tx.max)),
        Column::ranked(0, ["writes", "a tx"], rows, |(_, of)| units::number(of.writes_per_tx.mean)),
        Column::ranked(1, ["at", "most"], rows, |(_, of)| units::count(of.writes_per_tx.max)),
    ];
    table(page, &plain(&labels), columns);
}

/// Name of a load, if the scenario gives one, and its kind: `payments (erc20)`.
fn load_name(load: &LoadFacts) -> String {
    match &load.name {
        Some(name) => format!("{name} ({})", load.kind),
        None => load.kind.clone(),
    }
}

fn conflicts(page: &mut Page, described: &WorkloadDescription) {
    let conflicts = &described.conflicts;
    page.labelled(Tone::Plain, "graph", &graph_words(conflicts, &described.all));
    if conflicts.conflicting_tx_count > 0 {
        page.labelled(Tone::Plain, "kinds", &kind_words(conflicts, &described.all));
    }
    let classes = &conflicts.sizes;
    let words = classes
        .iter()
        .take(SHOWN_CLASS_COUNT)
        .map(|class| format!("{} of {}", units::count(class.component_count), size_words(class)));
    let more = units::beyond(classes.len(), SHOWN_CLASS_COUNT);
    let words = words.chain(more.map(|_| "larger ones: --json".to_owned()));
    if classes.len() > 1 {
        page.labelled(Tone::Plain, "sizes", &units::joined(words, "; "));
    }
    let text = format!(
        "the longest has {}; the most gas of one is {}",
        units::things(conflicts.longest_chain_tx_count, "tx"),
        units::count(conflicts.longest_chain_gas),
    );
    page.labelled(Tone::Plain, "chain", &text);
    let text = conflicts
        .hottest
        .as_ref()
        .map_or_else(|| "no written key is touched by two transactions".to_owned(), hot_words);
    page.labelled(Tone::Plain, "hottest", &text);
    let text = format!(
        "speed-up without a list, gas as time: {}",
        ideal_words(&conflicts.ideal, conflicts.ideal_unbounded)
    );
    page.labelled(Tone::Strong, "ideal", &text);
}

/// Ideal speed-ups by number of threads: `1.98 at 2 threads, 3.02 from 4 threads on`.
fn ideal_words(ideal: &[IdealSpeedup], unbounded: f64) -> String {
    let most = units::ratio(unbounded);
    let told_count =
        ideal.iter().rposition(|at| units::ratio(at.speedup) != most).map_or(0, |last| last + 1);
    let told = ideal[..told_count].iter().map(|at| {
        format!("{} at {}", units::ratio(at.speedup), units::things(at.threads, "thread"))
    });
    let rest = match ideal.get(told_count) {
        Some(reached) if unbounded > 1.0 => {
            format!("{most} from {} on", units::things(reached.threads, "thread"))
        }
        _ => format!("{most} at any number"),
    };
    units::joined(told.chain([rest]), ", ")
}

/// A part in per cent of the whole.
fn share(part: u64, whole: u64) -> String {
    units::percent(part as f64 / whole.max(1) as f64)
}

fn graph_words(conflicts: &Conflicts, all: &TxFacts) -> String {
    if conflicts.conflicting_tx_count == 0 {
        return "no transaction is in conflict with another".to_owned();
    }
    format!(
        "{} in conflict with another ({} %); {}; the most of one: {}, {} % of the gas",
        units::things(conflicts.conflicting_tx_count, "tx"),
        share(conflicts.conflicting_tx_count, all.tx_count),
        units::things(conflicts.component_count, "component"),
        units::things(conflicts.largest_tx_count, "tx"),
        share(conflicts.largest_gas, all.gas),
    )
}

/// Conflicts by kind: `write-write 12 txs (3.0 %) at 4 keys; read-write 30 txs (8.0 %) at 9 keys`.
fn kind_words(conflicts: &Conflicts, all: &TxFacts) -> String {
    let Conflicts { write_write, read_write, .. } = conflicts;
    [(write_write, "write-write"), (read_write, "read-write")]
        .map(|(of, kind)| {
            format!(
                "{kind} {} ({} %) at {}",
                units::things(of.tx_count, "tx"),
                share(of.tx_count, all.tx_count),
                units::things(of.key_count, "key"),
            )
        })
        .join("; ")
}

/// Number of transactions of each component in a size class: `1 tx`, `3-4 txs`.
pub(super) fn size_words(class: &SizeClass) -> String {
    match (class.least_tx_count, class.most_tx_count) {
        (1, 1) => "1 tx".to_owned(),
        (least, most) if least == most => format!("{most} txs"),
        (least, most) => format!("{}-{} txs", units::count(least), units::count(most)),
    }
}

/// Writes the partitions over one number of shards of execution, one line for each partitioner.
fn shards(page: &mut Page, sharded: &ShardPartitions) {
    let partitions = &sharded.partitions[..];
    let count = units::things(sharded.shard_count, "shard");
    let text = format!(
        "{count} of execution. fanout: mean number of shards of a key that two or more txs touch; conflict \
         fanout: of such keys in conflict; values: sent between shards, with the txs in block order or by \
         shards; hops: the longest chain of such values; state reads: values read from the state; \
         % over mean: gas of the fullest shard above the mean; time: of the partitioner"
    );
    page.labelled(Tone::Plain, "shards", &text);
    let names: Vec<&str> = partitions.iter().map(|of| of.partitioner.name()).collect();
    table(page, &plain(&names), shard_columns(partitions));
}

fn shard_columns(partitions: &[PartitionFacts]) -> Vec<Column> {
    vec![
        Column::ranked(0, ["conflict", "fanout"], partitions, |of| {
            format!("{:.3}", of.conflict_fanout)
        }),
        Column::ranked(2, ["", "fanout"], partitions, |of| format!("{:.3}", of.fanout)),
        Column::ranked(0, ["values", "in block"], partitions, |of| {
            units::count(of.in_block_order.cross_shard_value_count)
        }),
        Column::ranked(0, ["", "hops"], partitions, |of| units::count(of.in_block_order.hop_count)),
        Column::ranked(1, ["values by", "shards"], partitions, |of| {
            units::count(of.in_shard_order.cross_shard_value_count)
        }),
        Column::ranked(1, ["", "hops"], partitions, |of| units::count(of.in_shard_order.hop_count)),
        Column::ranked(3, ["state", "reads"], partitions, |of| {
            units::count(of.in_block_order.state_read_count)
        }),
        Column::ranked(0, ["% over", "mean"], partitions, |of| units::percent(of.imbalance)),
        Column::ranked(4, ["", "time"], partitions, |of| units::ns(of.partition_ns)),
    ]
}

fn hot_words(hot: &HotKey) -> String {
    let what = match &hot.slot {
        None => format!("the row of {}", hot.account),
        Some(slot) => format!("slot {slot} of {}", hot.account),
    };
    let (txs, writers) = (units::things(hot.tx_count, "tx"), units::count(hot.writer_count));
    format!("{txs} meet at {what}; {writers} write it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_up_that_more_threads_do_not_change_is_told_once() {
        let words = |ideal: &[(u64, f64)], unbounded: f64| {
            let ideal: Vec<IdealSpeedup> = ideal
                .iter()
                .map(|(threads, speedup)| IdealSpeedup { threads: *threads, speedup: *speedup })
                .collect();
            ideal_words(&ideal, unbounded)
        };
        assert_eq!(words(&[(2, 1.79), (4, 1.79), (8, 1.79)], 1.79), "1.79 from 2 threads on");
        let text = "1.98 at 2 threads, 3.02 from 4 threads on";
        assert_eq!(words(&[(2, 1.98), (4, 3.02), (8, 3.02)], 3.02), text);
        // "From N threads on" only where no larger number has less.
        let text = "3.02 at 2 threads, 3.01 at 4 threads, 3.02 from 8 threads on";
        assert_eq!(words(&[(2, 3.02), (4, 3.01), (8, 3.02)], 3.02), text);
        assert_eq!(words(&[(2, 1.0), (4, 1.0)], 1.0), "1.00 at any number");
        assert_eq!(words(&[(2, 2.0)], 7.5), "2.00 at 2 threads, 7.50 at any number");
    }
}
