//! The table of a run's cells in the terminal. Each cell and each client has one line, with as many
//! columns as fit the page.

use variant::{Design, ListDuty, Schedule};

use result::{Cell, ClientCell, Estimate, RunResult};

use super::{
    certainty,
    columns::{self, Column, Label, headed_table},
    facts::{self, Reading, StoreCells},
    page::{INDENT, Page, Tone},
    units,
};

/// Maximal number of blocks whose times are shown for a client.
const SHOWN_BLOCK_COUNT: usize = 12;

/// Writes the table of all cells and clients.
pub(super) fn cells(page: &mut Page, reading: &Reading<'_>) {
    let groups = &reading.stores;
    let (cells, clients) = (reading.cells(), reading.result.clients.as_slice());
    if cells.is_empty() && clients.is_empty() {
        return;
    }
    let best = best_per_design(groups);
    let marks = !best.is_empty()
        && best.len() < cells.iter().filter(|cell| facts::time_ms(cell).is_some()).count();
    let lines = Lines { first: &cells, second: clients };
    let mut all = columns_of_times(reading.time_is_per, &lines);
    all.extend(columns_of_clients(&lines));
    all.extend(columns(&lines));
    let mut labels = labels(&cells, groups);
    for (label, cell) in labels.iter_mut().zip(&cells) {
        label.is_best = marks && best.iter().any(|best| std::ptr::eq(*best, *cell));
    }
    labels.extend(clients.iter().enumerate().map(|(index, client)| Label {
        heading: (index == 0 && !cells.is_empty()).then_some("clients"),
        is_best: false,
        text: client.client.clone(),
    }));
    headed_table(page, &labels, all);
    legend_of_clients(page, clients);
}

/// Writes for each cell whether its samples agree with the reference, without a figure.
pub(super) fn verdicts(page: &mut Page, result: &RunResult) {
    for (index, cell) in result.cells.iter().enumerate() {
        let label = if index == 0 { "cells" } else { "" };
        let wrong = cell.samples.iter().filter(|sample| !sample.agree).count();
        let samples = units::things(cell.samples.len() as u64, "sample");
        let (tone, words) = match wrong {
            _ if cell.samples.is_empty() => (Tone::Plain, "no sample".to_owned()),
            0 => (Tone::Plain, format!("agrees in {samples}")),
            _ => (Tone::Alarm, format!("DIFFERS in {wrong} of {samples}")),
        };
        page.labelled(tone, label, &format!("{}: {words}", cell.variant));
    }
}

/// The fastest cell of each design, separately for each set of duties. A cell with one sample is
/// left out.
fn best_per_design<'a>(groups: &[StoreCells<'a>]) -> Vec<&'a Cell> {
    let groups = groups.iter().flat_map(|of| facts::by_duties(&of.cells));
    groups
        .flat_map(|cells| certainty::best_of_designs(&cells))
        .filter(|best| certainty::is_repeated(best))
        .collect()
}

/// The labels of cells, which are in the order of the run's stores. The names of several stores are
/// headings.
pub(super) fn labels(cells: &[&Cell], groups: &[StoreCells<'_>]) -> Vec<Label> {
    let mut last = None;
    let labels = cells.iter().map(|cell| {
        let is_first = last.replace(cell.store) != Some(cell.store);
        let heading = (is_first && groups.len() > 1).then(|| cell.store.name());
        Label { heading, is_best: false, text: label(cell, cells) }
    });
    labels.collect()
}

/// The design's name, with an addition where `cells` of this design differ in duties, in the list
/// duty, or in engine and I/O. Where they differ in the prefetch policy, the policy is the label.
fn label(cell: &Cell, cells: &[&Cell]) -> String {
    let others: Vec<_> = cells.iter().filter(|other| other.design == cell.design).collect();
    if !cell.duties.is_empty() && others.iter().any(|other| !other.has_duties_of(cell)) {
        return format!("{}, whole", cell.design);
    }
    if builds(cell) && others.iter().any(|other| !builds(other)) {
        return format!("{}, list built", cell.design);
    }
    if let Some(words) = policy_words(cell)
        && others.iter().any(|other| other.prefetch != cell.prefetch)
    {
        return words;
    }
    let way = (cell.list, cell.engine, cell.io);
    if others.iter().any(|other| (other.list, other.engine, other.io) != way) {
        return format!("{} {}+{}", cell.design, cell.engine, cell.io);
    }
    cell.design.name().to_owned()
}

/// Returns whether a cell has the duty to build the list.
fn builds(cell: &Cell) -> bool {
    cell.list_duty == ListDuty::Build
}

/// Prefetch policy of a cell: `while listed`, or `batched` for the default policy. The words stand
/// after `+batched` in the variant's name. `None` where the name has no `+batched`.
fn policy_words(cell: &Cell) -> Option<String> {
    let (_, rest) = cell.variant.split_once("+batched")?;
    let (words, _) = rest.split_once('@')?;
    // Other settings stand after a plus.
    let words = words.split('+').next().unwrap_or(words);
    match words.trim_start_matches(['-', '.']) {
        "" => Some("batched".to_owned()),
        words => Some(words.replace('.', " ")),
    }
}

/// The lines of the table: cells of our designs, then clients.
type Lines<'a> = columns::Lines<'a, &'a Cell, ClientCell>;

/// Columns of threads and times. The first argument of each column is its rank. Columns of rank 0
/// are always shown. Where there is no room for the others, those of the highest rank are left out
/// first.
fn columns_of_times(time_is_per: &'static str, lines: &Lines<'_>) -> Vec<Column> {
    let cells = lines.first.iter().filter_map(|cell| facts::time_ms(cell));
    let mut times = cells.chain(lines.second.iter().filter_map(|of| of.ms_per_batch.median));
    let (unit, unit_ms) =
        if times.all(|ms| ms >= 999.5) { ("s per", 1e3) } else { ("ms per", 1.0) };
    let in_unit = |ms: f64| units::plain(ms / unit_ms);
    let interval = |time: &Estimate, value_count: usize| {
        let ends = certainty::interval_of(time, value_count);
        Some(units::interval(ends, value_count, in_unit))
    };
    let is_scheduled = lines.first.iter().any(|cell| cell.schedule != Schedule::BlockOrder);
    vec![
        lines.first(0, ["", "threads"], |cell| Some(facts::threads(cell))),
        lines.first(2, ["", "schedule"], |cell| {
            is_scheduled.then(|| cell.schedule.name().to_owned())
        }),
        lines.both(
            0,
            [unit, time_is_per],
            |cell| facts::time_ms(cell).map(in_unit),
            |client| client.ms_per_batch.median.map(in_unit),
        ),
        lines.both(
            0,
            ["", "95 %"],
            |cell| interval(&cell.ms_per_batch, cell.value_count()),
            |client| interval(&client.ms_per_batch, client.counted().len()),
        ),
        lines.both(
            0,
            ["", "MGas/s"],
            |cell| units::finite(cell.mgas_per_s.median, units::number),
            |client| units::finite(client.mgas_per_s.median, units::number),
        ),
        lines.first(1, ["header", "MGas/s"], |cell| {
            units::finite(cell.header_mgas_per_s, units::number)
        }),
        lines.first(2, ["without", "verifying"], |cell| facts::unverified_ms(cell).map(in_unit)),
    ]
}

fn columns(lines: &Lines<'_>) -> Vec<Column> {
    use units::{finite, number, percent, ratio, time_ns};
    vec![
        lines.first(5, ["warm-up", "found %"], |cell| finite(cell.warm_up_found_share, percent)),
        lines.both(
            // Rank 1: this column is left out only after all columns of higher ranks.
            1,
            ["times", "in order"],
            |cell| compared(cell, cell.times.in_order),
            |client| finite(client.in_order_ratio, ratio).filter(|_| client.counted().len() > 1),
        ),
        lines.first(3, ["times", "1 thread"], |cell| compared(cell, cell.times.one_thread)),
        lines.first(2, ["", "keys"], |cell| Some(units::count(cell.samples.first()?.unique_keys))),
        lines.first(3, ["blocks", "a key"], |cell| finite(cell.blocks_per_present_key, ratio)),
        lines.first(11, ["bytes", "a block"], |cell| finite(cell.device_bytes_per_block, number)),
        lines.first(4, ["% of", "disk"], |cell| finite(cell.device_fraction, percent)),
        lines.first(10, ["reads", "at once"], |cell| finite(facts::reads_at_once(cell), number)),
        lines.first(5, ["read", "p50"], |cell| {
            let mark = if cell.read_latency_of_batches { " b" } else { "" };
            Some(format!("{}{mark}", units::ns(cell.read_latency_ns.p50?)))
        }),
        lines.first(10, ["read", "p99"], |cell| cell.read_latency_ns.p99.map(units::ns)),
        lines.first(12, ["ready", "%"], |cell| finite(cell.ready_share, percent)),
        lines.first(13, ["CPU", "a read"], |cell| finite(cell.cpu_ns_per_read, time_ns)),
        lines.first(6, ["longest", "tx %"], |cell| finite(cell.longest_tx_share, percent)),
        lines.first(7, ["aborted", "%"], |cell| finite(cell.abort_rate, percent)),
        lines.first(15, ["sched.", "quality"], |cell| finite(cell.scheduling_quality, ratio)),
        lines.first(16, ["idle", "%"], |cell| finite(cell.idle_share, percent)),
        lines.first(7, ["senders", "a s"], |cell| finite(cell.recover_tx_per_s, number)),
        lines.first(14, ["tx", "p50"], |cell| cell.tx_latency_ns.p50.map(units::ns)),
        lines
            .first(12, ["", "bottleneck"], |cell| Some(facts::bottleneck(cell)?.name().to_owned())),
    ]
}

/// A cell's speed over that of another cell, as text. `None` for execution in order, which is the
/// base itself, and for a cell with one sample.
fn compared(cell: &Cell, ratio: Option<f64>) -> Option<String> {
    let is_compared = cell.design != Design::Sequential && certainty::is_repeated(cell);
    units::finite(ratio, units::ratio).filter(|_| is_compared)
}

/// Columns for a run with clients: time by the client's own log, CPU time, bytes from the device,
/// and requests. A run without clients has only the last two, at ranks that are left out earlier.
fn columns_of_clients(lines: &Lines<'_>) -> Vec<Column> {
    if lines.second.is_empty() {
        return columns_of_disk(lines, [15, 14]).into();
    }
    let mut columns = vec![
        lines.both(
            2,
            ["by its", "log"],
            |_| None,
            |client| Some(units::time_ns(client.own_ms_per_batch.median? * 1e6)),
        ),
        lines.both(
            4,
            ["", "CPU"],
            |cell| facts::median(cell, |sample| sample.cpu_ns).map(units::time_ns),
            |client| client.median(|sample| sample.cpu_ns).map(units::time_ns),
        ),
    ];
    columns.extend(columns_of_disk(lines, [4, 6]));
    columns
}

/// Columns of these ranks: bytes that the process read from devices, and read requests of the whole
/// device.
fn columns_of_disk(lines: &Lines<'_>, [of_bytes, of_requests]: [u8; 2]) -> [Column; 2] {
    [
        lines.both(
            of_bytes,
            ["read from", "disk"],
            |cell| Some(units::bytes(facts::median(cell, |s| s.device_read_bytes)? as u64)),
            |client| Some(units::bytes(client.median(|s| s.device_read_bytes)? as u64)),
        ),
        lines.both(
            of_requests,
            ["disk", "requests"],
            |cell| facts::median(cell, |s| s.disk_requests).map(units::number),
            |client| client.median(|s| s.disk_requests).map(units::number),
        ),
    ]
}

/// Times by block, of a client that took several blocks: `by block 12.1, 13.4 ms; 25.5 ms in
/// total`.
fn blocks_of(client: &ClientCell) -> Option<String> {
    let blocks = client.ms_by_block();
    if blocks.len() < 2 {
        return None;
    }
    let times = blocks.iter().filter_map(|block| block.median);
    let shown = units::joined(times.take(SHOWN_BLOCK_COUNT).map(units::plain), ", ");
    let more = units::beyond(blocks.len(), SHOWN_BLOCK_COUNT);
    let more = more.map(|more| format!(" and {more} more")).unwrap_or_default();
    let total = units::time_ns(client.median(|sample| Some(sample.wall_ns))?);
    Some(format!("by block {shown} ms{more}; {total} in total"))
}

/// Writes the duties that clients' times include. Then writes each client's coldness and its times
/// by block.
fn legend_of_clients(page: &mut Page, clients: &[ClientCell]) {
    for includes in facts::distinct(clients.iter().map(|client| &client.time_includes)) {
        page.indented(Tone::Faint, INDENT, &format!("time of a client: {includes}"));
    }
    for client in clients {
        let cache = Some(facts::client_cache(client));
        let parts = [client.version.clone(), cache, blocks_of(client)];
        let words = units::joined(parts.into_iter().flatten(), "; ");
        page.indented(Tone::Faint, INDENT, &format!("{}: {words}", client.client));
    }
}
