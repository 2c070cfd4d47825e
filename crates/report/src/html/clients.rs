//! The part on clients beside the designs. Clients are real programs that executed the same blocks
//! through their Engine API.

use result::{ClientCell, RunResult, stats::INTERVAL_COUNT_MIN};
use variant::Design;

use super::{
    data::Report,
    figure::{Figure, Part, figure, interval, part},
    markup::{self, Column, Section, esc, number, unknown},
};
use crate::{facts, units};

/// The part on clients; `None` where no result has one.
pub(super) fn section(report: &Report<'_>) -> Option<Section> {
    let mut runs = report.sound_runs();
    runs.retain(|run| !run.clients.is_empty());
    if runs.is_empty() {
        return None;
    }
    let clients = runs.iter().flat_map(|run| &run.value.clients);
    let includes = facts::distinct(clients.map(|client| client.time_includes.as_str()));
    let cells = runs.iter().flat_map(|run| &run.value.cells);
    let cells: Vec<_> = cells.filter(|cell| cell.design == Design::Sequential).collect();
    let chains: Vec<_> = runs.iter().flat_map(|run| blocks(report, run)).collect();
    let chains = match chains.is_empty() {
        true => String::new(),
        false => {
            let heads = ["Client", "Block", "ms", "95 %"];
            markup::table("Blocks of a chain", &heads, &chains)
        }
    };
    let lede = format!(
        "Medians over the samples that count. A client’s time is {}. <em>Times in order</em>: its \
             speed as a multiple of the design <code>sequential</code>: {}.",
        units::joined(includes.into_iter().map(esc), "; or "),
        facts::commit_and_root(cells)
    );
    let body = format!("{}{chains}", table(report, &runs));
    let results = runs.iter().map(|run| run.result).collect();
    Some(Section::new("clients", "Clients on the same block", lede, body, results))
}

/// The rows for the blocks of each client that took several blocks.
fn blocks(report: &Report<'_>, run: &Part<'_, RunResult>) -> Vec<Vec<String>> {
    let label = report.label(run.result, " · ");
    let mut rows = Vec::new();
    for client in &run.clients {
        let blocks = client.ms_by_block();
        for (index, ms) in blocks.iter().enumerate().filter(|_| blocks.len() > 1) {
            let count = client.counted().len();
            let ends = ms.ci95.filter(|_| count >= INTERVAL_COUNT_MIN);
            rows.push(vec![
                format!("{label}<code>{}</code>", esc(&client.client)),
                format!("block {}", index + 1),
                ms.median.map_or_else(unknown, units::plain),
                ends.map_or_else(
                    || format!("<span class=\"none\">n={count}</span>"),
                    |ends| ends.map(units::plain).join(" to "),
                ),
            ]);
        }
    }
    rows
}

fn table(report: &Report<'_>, runs: &[Part<'_, RunResult>]) -> String {
    let columns: [Column<'_, Part<'_, ClientCell>>; 9] = [
        ("Client", &|client| {
            let version = client.version.as_ref();
            let version = version.map(|version| format!("<br/><small>{}</small>", esc(version)));
            let (label, name) = (report.label(client.result, " · "), esc(&client.client));
            format!("{label}<code>{name}</code>{}", version.unwrap_or_default())
        }),
        (report.ms_per(), &|client| number(figure!(client, ms_per_batch.median), units::plain)),
        ("95 %", &|client| {
            let ends = interval!(client, ms_per_batch.ci95);
            markup::interval(ends, Some(client.counted().len()), units::plain)
        }),
        ("MGas/s", &|client| number(figure!(client, mgas_per_s.median), units::number)),
        ("Times in order", &|client| ratio(client)),
        ("By its log, ms", &|client| {
            number(figure!(client, own_ms_per_batch.median), units::plain)
        }),
        ("CPU", &|client| {
            let cpu = median(client, "cpu_ns", client.median(|sample| sample.cpu_ns));
            number(cpu, units::time_ns)
        }),
        ("Read from disk", &|client| {
            let read = client.median(|sample| sample.device_read_bytes);
            markup::bytes(median(client, "device_read_bytes", read))
        }),
        ("Cold", &|client| esc(&facts::client_cache(client.value))),
    ];
    let rows = runs
        .iter()
        .flat_map(|run| (0..run.clients.len()).filter_map(|index| part!(run, clients[index])));
    markup::table_of("Clients on the same block", rows, &columns)
}

fn ratio(client: &Part<'_, ClientCell>) -> String {
    let is_repeated = client.counted().len() > 1;
    number(figure!(client, in_order_ratio?).filter(|_| is_repeated), units::ratio)
}

/// A median over the samples after the warm-up, with its place.
fn median(client: &Part<'_, ClientCell>, key: &str, value: Option<f64>) -> Option<Figure> {
    let value = value?;
    let at = format!("{}/samples/*/{key}", client.at);
    Some(Figure { result: client.result, at, value, text: value.to_string() })
}
