//! The number of a result below each heading, by the table's caption: written down once more, as a
//! reader understands the headings.

/// A heading and the path, below the row's cell, of its number.
pub(crate) type Column = (&'static str, String);

/// Stands for the heading of times, which says that they are per block or per batch.
const TIME: &str = "time";
const TIME_HEADS: [&str; 2] = ["ms per block", "ms per batch"];

/// The percentiles of a latency.
const PERCENTILES: [(&str, &str); 9] = [
    ("Values", "count"),
    ("50", "p50"),
    ("75", "p75"),
    ("90", "p90"),
    ("95", "p95"),
    ("99", "p99"),
    ("99.9", "p999"),
    ("99.99", "p9999"),
    ("max", "max"),
];

const ALL_FIGURES: [(&str, &str); 13] = [
    ("Samples", "samples"),
    ("MGas/s", "mgas_per_s/median"),
    ("95 %", "mgas_per_s/ci95"),
    (TIME, "ms_per_batch/median"),
    ("95 %", "ms_per_batch/ci95"),
    ("Keys", "samples/0/unique_keys"),
    ("Blocks a key", "blocks_per_present_key"),
    ("Share of the disk", "device_fraction"),
    ("Disk requests", "samples/*/disk_requests"),
    ("Read from disk", "samples/*/device_read_bytes"),
    ("Reads at once", "reads_in_flight"),
    ("Longest tx", "longest_tx_share"),
    ("Bottleneck", "bottleneck"),
];

const SCALED: [(&str, &str); 5] = [
    ("Threads", "threads"),
    ("I/O threads", "io_threads"),
    ("MGas/s", "mgas_per_s/median"),
    ("95 %", "mgas_per_s/ci95"),
    ("Share of the disk", "device_fraction"),
];

const MANY_BLOCKS: [(&str, &str); 12] = [
    ("Values", "batch_figures/time_ns/count"),
    ("p50", "batch_figures/time_ns/p50"),
    ("p90", "batch_figures/time_ns/p90"),
    ("p99", "batch_figures/time_ns/p99"),
    ("max", "batch_figures/time_ns/max"),
    ("Written ×", "batch_figures/device_amplification"),
    ("By store ×", "batch_figures/store_amplification"),
    ("Stalls", "samples/*/writes/store/stall_ns"),
    ("Settling", "samples/*/phases_ns/settle"),
    ("Before", "samples/*/writes/space/before_bytes"),
    ("Peak", "samples/*/writes/space/peak_bytes"),
    ("After", "samples/*/writes/space/after_bytes"),
];

const TIMES_OF_DATABASES: [(&str, &str); 6] = [
    (TIME, "ms_per_batch/median"),
    ("95 %", "ms_per_batch/ci95"),
    ("Least to most", "databases/ms_per_batch_range"),
    ("Between", "databases/time_spread/between"),
    ("By chance", "databases/time_spread/between_p"),
    ("Within", "databases/time_spread/within"),
];

const RATIOS_OF_DATABASES: [(&str, &str); 3] = [
    ("Time over the first", "databases/time_ratio/median"),
    ("95 %", "databases/time_ratio/ci95"),
    ("Least to most", "databases/time_ratio_range"),
];

/// The columns behind the variant's name; `None` if rows of this caption are no variants.
pub(crate) fn of_variants(caption: &str, heads: &[String]) -> Option<Vec<Column>> {
    let of_time = TIME_HEADS.iter().find(|time| heads.iter().any(|head| head == *time));
    let name = |head: &'static str| match head {
        TIME => of_time.copied().unwrap_or(TIME),
        head => head,
    };
    let fixed = |columns: &[(&'static str, &str)]| -> Vec<Column> {
        columns.iter().map(|(head, path)| (name(head), (*path).to_owned())).collect()
    };
    let percentiles = |latency: &str| -> Vec<Column> {
        PERCENTILES.iter().map(|(head, path)| (*head, format!("{latency}/{path}"))).collect()
    };
    Some(match caption {
        "All figures by variant" => fixed(&ALL_FIGURES),
        "Latency of a transaction" => percentiles("tx_latency_ns"),
        "Latency of a read" => percentiles("read_latency_ns"),
        "Scaling by threads that execute" | "Scaling by I/O threads" => fixed(&SCALED),
        "Time of a batch over the databases" => fixed(&TIMES_OF_DATABASES),
        "Time over the first variant’s" => fixed(&RATIOS_OF_DATABASES),
        "Blocks and writes by variant" => fixed(&MANY_BLOCKS),
        "Phases by variant" => phases(heads),
        _ => return None,
    })
}

/// Phases are named by their headings.
fn phases(heads: &[String]) -> Vec<Column> {
    let path = |head: &String| match head.as_str() {
        "Wall" => "samples/*/wall_ns".to_owned(),
        "order keys" => "samples/*/phases_ns/order".to_owned(),
        phase => format!("samples/*/phases_ns/{}", phase.replace(' ', "_")),
    };
    heads.iter().skip(1).map(|head| ("", path(head))).collect()
}
