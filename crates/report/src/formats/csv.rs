//! Results as CSV, with a row for each cell and then for each client of a result. Numbers are not
//! rounded. A value that is unknown, or that a client lacks, is empty.

use result::{Bottleneck, Cell, ClientCell, Estimate, RunResult, Shown};
use variant::{CacheMode, ListForm};

use crate::{
    page::clean,
    units::{Exact, joined},
};

/// A column: its name, and the text of its field for a `T`.
pub(super) type Column<T> = (&'static str, fn(&T) -> String);

/// Columns that describe the result.
const OF_RESULT: [Column<RunResult>; 12] = [
    ("agree", |run| bool(run.agree)),
    ("interrupted", |run| run.interrupted.to_string()),
    ("started_unix_s", |run| run.started_unix_s.text()),
    ("commit", |run| word(run.tool.program.commit.as_deref())),
    ("scenario", |run| field(&run.workload.scenario)),
    ("fork", |run| field(&run.workload.fork)),
    ("seed", |run| run.workload.seed.text()),
    ("gas", |run| run.workload.gas.text()),
    ("blocks_per_batch", |run| run.workload.blocks_per_batch.text()),
    ("state_slot_count", |run| run.workload.state_slot_count.text()),
    ("digest", |run| field(&run.workload.digest)),
    ("ceiling_iops", |run| run.device.as_ref().and_then(|device| device.ceiling_iops).text()),
];
/// Columns that describe the cell's variant.
const OF_CELL: [Column<Cell>; 23] = [
    ("variant", |cell| field(&cell.variant)),
    ("store", |cell| field(cell.store.name())),
    ("design", |cell| field(cell.design.name())),
    ("list", |cell| field(cell.list.map_or("none", ListForm::name))),
    ("engine", |cell| field(cell.engine.name())),
    ("io", |cell| field(cell.io.name())),
    ("schedule", |cell| field(cell.schedule.name())),
    ("threads", |cell| cell.threads.text()),
    ("fibers", |cell| cell.fibers.text()),
    ("shards", |cell| cell.shards.text()),
    ("partitioner", |cell| word(cell.sharding.map(|way| way.partitioner.name()))),
    ("partition_time", |cell| word(cell.sharding.map(|way| way.partition_time.name()))),
    ("micro_batch_keys", |cell| cell.sharding.map(|way| way.micro_batch_key_count).text()),
    ("delay_ns", |cell| cell.sharding.map(|way| way.delay_ns).text()),
    ("io_threads", |cell| cell.io_threads.text()),
    ("prefetch_time", |cell| word(cell.prefetch.map(|prefetch| prefetch.time.name()))),
    ("prefetch_order", |cell| word(cell.prefetch.map(|prefetch| prefetch.order.name()))),
    ("cache", |cell| word(cell.cache.want.map(CacheMode::name))),
    ("duties", |cell| field(&cell.duties.join("+"))),
    ("root", |cell| field(cell.root.name())),
    ("root_shards", |cell| cell.root_way.map(|way| way.root_shards).text()),
    ("root_reads", |cell| word(cell.root_way.map(|way| way.root_reads.name()))),
    ("root_cache", |cell| word(cell.root_way.map(|way| way.root_cache.name()))),
];
/// Columns of figures; empty where the designs of the result disagree.
const FIGURES: [Column<Cell>; 30] = [
    ("cold_is_proved", |cell| bool(cell.cache.proved)),
    ("mgas_per_s", |cell| cell.mgas_per_s.median.text()),
    ("mgas_per_s_low", |cell| low(cell.mgas_per_s)),
    ("mgas_per_s_high", |cell| high(cell.mgas_per_s)),
    ("ms_per_batch", |cell| cell.ms_per_batch.median.text()),
    ("ms_per_batch_low", |cell| low(cell.ms_per_batch)),
    ("ms_per_batch_high", |cell| high(cell.ms_per_batch)),
    ("unverified_ms_per_batch", |cell| cell.unverified_ms_per_batch.median.text()),
    ("tx_p50_ns", |cell| cell.tx_latency_ns.p50.text()),
    ("tx_p90_ns", |cell| cell.tx_latency_ns.p90.text()),
    ("tx_p99_ns", |cell| cell.tx_latency_ns.p99.text()),
    ("tx_p999_ns", |cell| cell.tx_latency_ns.p999.text()),
    ("tx_max_ns", |cell| cell.tx_latency_ns.max.text()),
    ("read_p50_ns", |cell| cell.read_latency_ns.p50.text()),
    ("read_p90_ns", |cell| cell.read_latency_ns.p90.text()),
    ("read_p99_ns", |cell| cell.read_latency_ns.p99.text()),
    ("read_p999_ns", |cell| cell.read_latency_ns.p999.text()),
    ("read_max_ns", |cell| cell.read_latency_ns.max.text()),
    ("unique_keys", |cell| cell.samples.first().map(|sample| sample.unique_keys).text()),
    ("store_reads", |cell| cell.samples.first().map(|sample| sample.store_reads).text()),
    ("device_fraction", |cell| cell.device_fraction.text()),
    ("blocks_per_present_key", |cell| cell.blocks_per_present_key.text()),
    ("device_bytes_per_block", |cell| cell.device_bytes_per_block.text()),
    ("reads_in_flight", |cell| cell.reads_in_flight.text()),
    ("ready_share", |cell| cell.ready_share.text()),
    ("cpu_ns_per_read", |cell| cell.cpu_ns_per_read.text()),
    ("longest_tx_share", |cell| cell.longest_tx_share.text()),
    ("abort_rate", |cell| cell.abort_rate.text()),
    ("idle_share", |cell| cell.idle_share.text()),
    ("bottleneck", |cell| word(cell.bottleneck.map(Bottleneck::name))),
];

/// The table, with the names of columns in the first line.
pub fn csv(results: &[Shown]) -> String {
    let of_run = names(&OF_RESULT).chain(names(&OF_CELL)).chain(["samples", "databases"]);
    let all = ["file"].into_iter().chain(of_run).chain(names(&FIGURES));
    let mut text = joined(all, ",") + "\n";
    for shown in results {
        let Some(run) = shown.run() else { continue };
        let path = shown.path.to_string_lossy();
        for cell in &run.cells {
            let fields = line(run, cell.samples.len(), |(_, field)| field(cell));
            text.push_str(&format!("{},{fields}\n", field(&path)));
        }
        for client in &run.clients {
            let fields = line(run, client.samples.len(), |(name, _)| client_field(name, client));
            text.push_str(&format!("{},{fields}\n", field(&path)));
        }
    }
    text
}

/// A client's value of the column of this name.
fn client_field(column: &str, client: &ClientCell) -> String {
    match column {
        "variant" => field(&client.client),
        "cache" => word(client.cache.want.map(CacheMode::name)),
        "cold_is_proved" => bool(client.cache.proved),
        "mgas_per_s" => client.mgas_per_s.median.text(),
        "mgas_per_s_low" => low(client.mgas_per_s),
        "mgas_per_s_high" => high(client.mgas_per_s),
        "ms_per_batch" => client.ms_per_batch.median.text(),
        "ms_per_batch_low" => low(client.ms_per_batch),
        "ms_per_batch_high" => high(client.ms_per_batch),
        _ => String::new(),
    }
}

pub(super) fn names<T>(columns: &[Column<T>]) -> impl Iterator<Item = &'static str> {
    columns.iter().map(|(name, _)| *name)
}

/// The fields of a row after the file; `of_row` gives the row's own.
fn line(run: &RunResult, sample_count: usize, of_row: impl Fn(&Column<Cell>) -> String) -> String {
    let mut fields: Vec<String> = OF_RESULT.iter().map(|(_, field)| field(run)).collect();
    fields.extend(OF_CELL.iter().map(&of_row));
    fields.push(sample_count.to_string());
    fields.push(run.databases.len().max(1).to_string());
    let is_sound = run.is_sound();
    let figures = FIGURES.iter();
    fields.extend(figures.map(|of| if is_sound { of_row(of) } else { String::new() }));
    fields.join(",")
}

fn bool(is: Option<bool>) -> String {
    is.map_or_else(String::new, |is| is.to_string())
}

pub(super) fn word(text: Option<&str>) -> String {
    text.map_or_else(String::new, field)
}

/// The lower end of an interval; empty without an interval.
fn low(estimate: Estimate) -> String {
    estimate.ci95.map(|[low, _]| low).text()
}

fn high(estimate: Estimate) -> String {
    estimate.ci95.map(|[_, high]| high).text()
}

/// A field (RFC 4180). A `'` stands before text that a spreadsheet would take for a formula.
pub(super) fn field(text: &str) -> String {
    let text = clean(text);
    let text = if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text };
    if text.contains([',', '"', ' ', '\'']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text
}
