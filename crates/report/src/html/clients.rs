//! The part on clients beside the designs. Clients are real programs that executed the same blocks
//! through their Engine API.

use result::{ClientCell, RunResult, stats::INTERVAL_COUNT_MIN};
use variant::Design;

use super::{
    data::{Report, Source},
    figure::{Figure, Part, figure, interval, part},
    markup::{self, Column, Section, esc, number, unknown},
};
use crate::{facts, units};

/// The part on clients; `None` where no result has one.
pub(super) fn section(report: &Report<'_>) -> Option<Section> {
    let sound = report.sources.iter().filter(|source| source.is_sound);
    let with_clients: Vec<_> = sound.filter_map(clients).collect();
    if with_clients.is_empty() {
        return None;
    }
    let clients = with_clients.iter().flat_map(|of| &of.run.value.clients);
    let includes = facts::distinct(clients.map(|client| client.time_includes.as_str()));
    let cells = with_clients.iter().flat_map(|of| &of.run.value.cells);
    let cells: Vec<_> = cells.filter(|cell| cell.design == Design::Sequential).collect();
    let chains: Vec<_> = with_clients.iter().flat_map(|of| of.blocks(report)).collect();
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
        includes.into_iter().map(esc).collect::<Vec<_>>().join("; or "),
        facts::commit_and_root(cells)
    );
    let body = format!("{}{chains}", table(report, &with_clients));
    let results = with_clients.iter().map(|of| of.source.index).collect();
    Some(Section::new("clients", "Clients on the same block", lede, body, results))
}

/// A result with clients.
struct WithClients<'s, 'a> {
    source: &'s Source<'a>,
    run: Part<'a, RunResult>,
}

fn clients<'s, 'a>(source: &'s Source<'a>) -> Option<WithClients<'s, 'a>> {
    let run = source.run().filter(|run| !run.value.clients.is_empty())?;
    Some(WithClients { source, run })
}

impl WithClients<'_, '_> {
    /// The rows for the blocks of each client that took several blocks.
    fn blocks(&self, report: &Report<'_>) -> Vec<Vec<String>> {
        let label = report.label(self.source, " · ");
        let mut rows = Vec::new();
        for client in &self.run.value.clients {
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
                        |[low, high]| format!("{} to {}", units::plain(low), units::plain(high)),
                    ),
                ]);
            }
        }
        rows
    }

    /// The clients, each behind the label of its result.
    fn rows(&self, report: &Report<'_>) -> Vec<(String, Part<'_, ClientCell>)> {
        let label = report.label(self.source, " · ");
        let all = 0..self.run.value.clients.len();
        let clients = all.filter_map(|index| part!(self.run, clients[index]));
        clients.map(|client| (label.clone(), client)).collect()
    }
}

fn table(report: &Report<'_>, with_clients: &[WithClients<'_, '_>]) -> String {
    let columns: [Column<'_, (String, Part<'_, ClientCell>)>; 9] = [
        ("Client", &|(label, client)| {
            let version = client.version.as_ref();
            let version = version.map(|version| format!("<br/><small>{}</small>", esc(version)));
            let name = esc(&client.client);
            format!("{label}<code>{name}</code>{}", version.unwrap_or_default())
        }),
        (report.ms_per(), &|(_, client)| {
            number(figure!(client, ms_per_batch.median), units::plain)
        }),
        ("95 %", &|(_, client)| {
            let ends = interval!(client, ms_per_batch.ci95);
            markup::interval(ends, client.counted().len(), units::plain)
        }),
        ("MGas/s", &|(_, client)| number(figure!(client, mgas_per_s.median), units::number)),
        ("Times in order", &|(_, client)| ratio(client)),
        ("By its log, ms", &|(_, client)| {
            number(figure!(client, own_ms_per_batch.median), units::plain)
        }),
        ("CPU", &|(_, client)| {
            let cpu = median(client, "cpu_ns", client.median(|sample| sample.cpu_ns));
            number(cpu, units::time_ns)
        }),
        ("Read from disk", &|(_, client)| {
            let read = client.median(|sample| sample.device_read_bytes);
            markup::bytes(median(client, "device_read_bytes", read))
        }),
        ("Cold", &|(_, client)| esc(&facts::client_cache(client.value))),
    ];
    let rows = with_clients.iter().flat_map(|of| of.rows(report));
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
