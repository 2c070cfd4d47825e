//! Loads on live nodes as a Markdown summary, as a CSV table and as benchmark figures.

use result::{Error, json, send::SendResult, stored::StoredLoad};

use super::{
    Better,
    benchmark::Entry,
    csv::{Column, field, names, word},
    markdown,
};
use crate::{
    send::conclusion,
    units::{self, Exact},
};

const ROW_COUNT: usize = 12;

/// The Markdown summary of loads.
pub fn markdown_of_loads(loads: &[StoredLoad]) -> String {
    let shown = &loads[..loads.len().min(ROW_COUNT)];
    let found = shown.iter().map(|load| {
        let path = markdown::text(&load.path.to_string_lossy());
        format!("- {path}: {}", markdown::text(&conclusion(&load.result)))
    });
    let mut lines: Vec<String> = found.chain([String::new()]).collect();
    lines.push(
        "| load | pace | included | a second | gas a second | inclusion p50 | p99 | warnings |"
            .to_owned(),
    );
    lines.push("|---|---|---:|---:|---:|---:|---:|---:|".to_owned());
    lines.extend(shown.iter().map(|load| row(&load.result)));
    let more = units::beyond(loads.len(), ROW_COUNT);
    lines.extend(more.map(|more| format!("\nand {}", units::things(more, "more load"))));
    lines.join("\n") + "\n"
}

fn row(load: &SendResult) -> String {
    let inclusion = &load.latency.inclusion_ns;
    let figures = [
        load.included_per_s.map(units::number),
        load.gas_per_s.map(units::number),
        inclusion.p50.map(units::ns),
        inclusion.p99.map(units::ns),
    ];
    format!(
        "| {} | {} {} | {} of {} | {} | {} |",
        markdown::text(&load.work.scenario),
        markdown::text(&load.pace),
        load.pace_value,
        units::count(load.counts.included_count),
        units::count(load.counts.planned_count),
        figures.map(units::or_unknown).join(" | "),
        load.warnings.len(),
    )
}

const COLUMNS: [Column<SendResult>; 36] = [
    ("interrupted", |load| load.interrupted.to_string()),
    ("started_unix_s", |load| load.started_unix_s.text()),
    ("commit", |load| word(load.tool.program.commit.as_deref())),
    ("node_version", |load| word(load.node.version.as_deref())),
    ("node_url", |load| field(&load.node.url)),
    ("transport", |load| field(&load.node.transport)),
    ("chain_id", |load| load.node.chain_id.text()),
    ("scenario", |load| field(&load.work.scenario)),
    ("fork", |load| field(&load.work.fork)),
    ("seed", |load| load.work.seed.text()),
    ("digest", |load| field(&load.work.digest)),
    ("sender_count", |load| load.work.sender_count.text()),
    ("pace", |load| field(&load.pace)),
    ("pace_value", |load| load.pace_value.text()),
    ("planned_count", |load| load.counts.planned_count.text()),
    ("unsent_count", |load| load.counts.unsent_count.text()),
    ("sent_count", |load| load.counts.sent_count.text()),
    ("included_count", |load| load.counts.included_count.text()),
    ("reverted_count", |load| load.counts.reverted_count.text()),
    ("pending_count", |load| load.counts.pending_count.text()),
    ("failed_count", |load| load.counts.failed_count.text()),
    ("elapsed_ns", |load| load.elapsed_ns.text()),
    ("sent_per_s", |load| load.sent_per_s.text()),
    ("included_per_s", |load| load.included_per_s.text()),
    ("gas_per_s", |load| load.gas_per_s.text()),
    ("inclusion_p50_ns", |load| load.latency.inclusion_ns.p50.text()),
    ("inclusion_p90_ns", |load| load.latency.inclusion_ns.p90.text()),
    ("inclusion_p99_ns", |load| load.latency.inclusion_ns.p99.text()),
    ("inclusion_max_ns", |load| load.latency.inclusion_ns.max.text()),
    ("open_count", |load| load.latency.open_count.text()),
    ("call_count", |load| load.attempts.call_count.text()),
    ("retry_count", |load| load.attempts.retry_count.text()),
    ("known_count", |load| load.attempts.known_count.text()),
    ("acceptance_p50_ns", |load| load.latency.acceptance_ns.p50.text()),
    ("call_p50_ns", |load| load.latency.call_ns.p50.text()),
    ("warnings", |load| load.warnings.len().to_string()),
];

/// A CSV table with a row for each load, and the names of columns in the first line. A figure that
/// is not known is empty.
pub fn csv_of_loads(loads: &[StoredLoad]) -> String {
    let mut text = units::joined(["file"].into_iter().chain(names(&COLUMNS)), ",") + "\n";
    for load in loads {
        let mut fields = vec![field(&load.path.to_string_lossy())];
        fields.extend(COLUMNS.iter().map(|(_, field)| field(&load.result)));
        text.push_str(&(fields.join(",") + "\n"));
    }
    text
}

/// Entries for github-action-benchmark: transactions a second, or the median time to inclusion. A
/// load without that figure has no entry.
///
/// # Errors
/// The errors of [`json`].
pub fn benchmark_of_loads(loads: &[StoredLoad], better: Better) -> Result<String, Error> {
    let entries = loads.iter().filter_map(|load| {
        let SendResult { work, pace, pace_value, counts, latency, .. } = &load.result;
        let (value, unit) = match better {
            Better::Bigger => (load.result.included_per_s?, "transactions/s"),
            Better::Smaller => (latency.inclusion_ns.p50? as f64 / 1e6, "ms"),
        };
        let planned = units::things(counts.planned_count, "transaction");
        Some(Entry {
            name: format!("{} {pace} {pace_value}", work.scenario),
            unit,
            value,
            range: None,
            extra: format!("{} of {planned}, workload {}", counts.included_count, work.digest),
        })
    });
    json(&entries.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use result::example::send::{troubled, typical};
    use serde_json::Value;

    use super::*;

    fn loads() -> Vec<StoredLoad> {
        let load = |result| StoredLoad { path: "results/send.json".into(), result };
        vec![load(typical()), load(troubled())]
    }

    #[test]
    fn a_row_of_a_table_has_a_field_for_each_name_and_the_values_of_its_load() {
        let text = csv_of_loads(&loads());
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| line.len() == COLUMNS.len() + 1), "{text}");
        let of = |name: &str, row: usize| {
            lines[row][lines[0].iter().position(|known| *known == name).unwrap()]
        };
        assert_eq!((of("included_count", 1), of("included_count", 2)), ("20", "14"));
        assert_eq!((of("inclusion_p50_ns", 1), of("inclusion_p99_ns", 1)), ("1100000000", ""));
        assert_eq!((of("open_count", 2), of("scenario", 2)), ("4", "transfers"));
        assert_eq!((of("retry_count", 2), of("known_count", 2)), ("7", "2"));
    }

    #[test]
    fn a_summary_says_of_each_load_whether_all_is_in_blocks() {
        let text = markdown_of_loads(&loads());
        assert!(text.contains("all 20 transactions are in blocks"), "{text}");
        assert!(text.contains("6 of 20 transactions did not succeed"), "{text}");
        assert!(text.contains("| transfers | rate 10 | 20 of 20 | 7 | 147k | 1.10 s |"), "{text}");
        let many: Vec<StoredLoad> = loads().into_iter().cycle().take(40).collect();
        assert!(markdown_of_loads(&many).lines().count() < 40, "at most a screen");
    }

    #[test]
    fn benchmark_figures_are_those_of_the_load() {
        let of = |better| -> Value {
            serde_json::from_str(&benchmark_of_loads(&loads(), better).unwrap()).unwrap()
        };
        let bigger = of(Better::Bigger);
        assert_eq!(
            (&bigger[0]["value"], &bigger[0]["unit"]),
            (&7.0.into(), &"transactions/s".into())
        );
        assert_eq!(of(Better::Smaller)[0]["value"], 1_100.0);
    }
}
