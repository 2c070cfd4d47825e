//! A table with a row for each cell: numbers as the results write them, nothing rounded. What is
//! not known is empty.

use serde_json::Value;

use result::stored::Untyped as Stored;

/// Columns of the result: name and path.
const OF_RESULT: [(&str, &str); 12] = [
    ("agree", "/agree"),
    ("interrupted", "/interrupted"),
    ("started_unix_s", "/started_unix_s"),
    ("commit", "/tool/commit"),
    ("scenario", "/workload/scenario"),
    ("fork", "/workload/fork"),
    ("seed", "/workload/seed"),
    ("gas", "/workload/gas"),
    ("blocks_per_batch", "/workload/blocks_per_batch"),
    ("state_slot_count", "/workload/state_slot_count"),
    ("digest", "/workload/digest"),
    ("ceiling_iops", "/device/ceiling_iops"),
];
/// Columns of the cell that say what was run.
const OF_CELL: [(&str, &str); 12] = [
    ("variant", "/variant"),
    ("store", "/store"),
    ("design", "/design"),
    ("list", "/list"),
    ("engine", "/engine"),
    ("io", "/io"),
    ("schedule", "/schedule"),
    ("threads", "/threads"),
    ("io_threads", "/io_threads"),
    ("prefetch_time", "/prefetch/time"),
    ("prefetch_order", "/prefetch/order"),
    ("cache", "/cache/want"),
];
/// Columns of figures; empty where the designs of the result disagree.
const FIGURES: [(&str, &str); 30] = [
    ("cold_is_proved", "/cache/proved"),
    ("mgas_per_s", "/mgas_per_s/median"),
    ("mgas_per_s_low", "/mgas_per_s/ci95/0"),
    ("mgas_per_s_high", "/mgas_per_s/ci95/1"),
    ("ms_per_batch", "/ms_per_batch/median"),
    ("ms_per_batch_low", "/ms_per_batch/ci95/0"),
    ("ms_per_batch_high", "/ms_per_batch/ci95/1"),
    ("unverified_ms_per_batch", "/unverified_ms_per_batch/median"),
    ("tx_p50_ns", "/tx_latency_ns/p50"),
    ("tx_p90_ns", "/tx_latency_ns/p90"),
    ("tx_p99_ns", "/tx_latency_ns/p99"),
    ("tx_p999_ns", "/tx_latency_ns/p999"),
    ("tx_max_ns", "/tx_latency_ns/max"),
    ("read_p50_ns", "/read_latency_ns/p50"),
    ("read_p90_ns", "/read_latency_ns/p90"),
    ("read_p99_ns", "/read_latency_ns/p99"),
    ("read_p999_ns", "/read_latency_ns/p999"),
    ("read_max_ns", "/read_latency_ns/max"),
    ("unique_keys", "/samples/0/unique_keys"),
    ("store_reads", "/samples/0/store_reads"),
    ("device_fraction", "/device_fraction"),
    ("blocks_per_present_key", "/blocks_per_present_key"),
    ("device_bytes_per_block", "/device_bytes_per_block"),
    ("reads_in_flight", "/reads_in_flight"),
    ("ready_share", "/ready_share"),
    ("cpu_ns_per_read", "/cpu_ns_per_read"),
    ("longest_tx_share", "/longest_tx_share"),
    ("vain_share", "/vain_share"),
    ("idle_share", "/idle_share"),
    ("binds", "/binds"),
];

/// The table, its names in the first line.
pub fn csv(results: &[Stored]) -> String {
    let names = OF_RESULT.iter().chain(&OF_CELL).map(|(name, _)| *name);
    let figures = FIGURES.iter().map(|(name, _)| *name);
    let names: Vec<&str> =
        ["file"].into_iter().chain(names).chain(["samples", "databases"]).chain(figures).collect();
    let mut text = names.join(",") + "\n";
    for stored in results {
        for cell in stored.cells() {
            text.push_str(&line(stored, cell));
        }
    }
    text
}

fn line(stored: &Stored, cell: &Value) -> String {
    let mut fields = vec![field(&stored.path.to_string_lossy())];
    let of = |value: &Value, at: &str| plain(value.pointer(at).unwrap_or(&Value::Null));
    fields.extend(OF_RESULT.iter().map(|(_, at)| of(&stored.json, at)));
    fields.extend(OF_CELL.iter().map(|(_, at)| of(cell, at)));
    fields.push(super::sample_count(cell).to_string());
    fields.push(stored.databases().len().max(1).to_string());
    let is_sound = stored.is_sound();
    fields.extend(FIGURES.iter().map(|(_, at)| match is_sound {
        true => of(cell, at),
        false => String::new(),
    }));
    fields.join(",") + "\n"
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null | Value::Array(_) | Value::Object(_) => String::new(),
        Value::String(text) => field(text),
        other => other.to_string(),
    }
}

/// A field (RFC 4180). One that a spreadsheet would take for a formula is made a text.
fn field(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let text = if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text };
    if text.contains([',', '"', ' ', '\'']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text
}
