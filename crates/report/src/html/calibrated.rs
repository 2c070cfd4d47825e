//! The parts of a calibration's page, which compares a client with our designs over many workloads.

use result::{Cell, ClientCell};

use super::{
    figure::{Figure, Part, figure, part},
    markup::{self, Section, esc, number, unknown},
};
use crate::{
    calibrated::{Figures, ProgramFigures, Row, UnfinishedWorkload},
    calibration_table::{rank_difference_words, side_figures},
    facts, units,
};

/// The part on the rank correlations, and on the workloads whose ranks differ.
pub(super) fn ranks(figures: &Figures<'_>) -> Section {
    let mut rows = Vec::new();
    let mut parts = String::new();
    for of in &figures.designs {
        rows.push(vec![
            format!("<code>{}</code>", of.design),
            units::count(of.count as u64),
            of.spearman.map_or_else(unknown, units::ratio),
            of.times_ours.map_or_else(unknown, units::ratio),
            units::count(of.rank_differences.len() as u64),
        ]);
        for difference in &of.rank_differences {
            let words = esc(&rank_difference_words(figures, difference));
            parts.push_str(&format!("<li><code>{}</code> at {words}</li>", of.design));
        }
    }
    let heads = ["Design", "Workloads", "Spearman", "Client’s time by ours", "Ranks differ at"];
    let parts = match parts.is_empty() {
        true => "<p>The ranks differ nowhere.</p>".to_owned(),
        false => format!("<ul>{parts}</ul>"),
    };
    let lede = "Workloads are ranked by time, of the client and of the best cell of each design. \
               <em>Spearman</em>: the rank correlation of both; 1 is the same order. Ranks part where \
               they differ by a quarter of the number of workloads, and by two at least. A term \
               explains the difference where its ratio, the client’s value by ours, deviates from \
               the median ratio of all workloads as the ratio of times does: in the same direction, \
               and between half and twice as far by the logarithm.";
    let body = format!("{}{parts}", markup::table("Rank correlation", &heads, &rows));
    Section::new(
        "ranks",
        "Does a workload that is slow in our designs make the client slow?",
        lede,
        body,
        Vec::new(),
    )
}

/// The part with the figures of each workload.
pub(super) fn workloads(figures: &Figures<'_>, unfinished: &[UnfinishedWorkload]) -> Section {
    let heads = [
        "Workload",
        "Program",
        facts::ms_per(figures.rows.iter().map(|row| &row.run.workload)),
        "Device reads a key",
        "Bytes a read",
        "CPU, ms",
        "Root, ms",
    ];
    let missing = unfinished
        .iter()
        .map(|of| format!("<li><code>{}</code>: {}</li>", esc(&of.scenario), esc(&of.reason)));
    let missing = match missing.collect::<String>() {
        none if none.is_empty() => none,
        items => format!("<p>Without figures:</p><ul>{items}</ul>"),
    };
    let includes = figures.rows.first().map_or("", |row| row.client.time_includes.as_str());
    let lede = format!(
        "Medians over the samples that count; of a design its best cell. A client’s time is {}. Reads \
             are requests of the whole device, by the accounts and slots that the lists name. The \
             client’s root is by its own log.",
        esc(includes)
    );
    let rows = figures.rows.iter().flat_map(row_lines);
    let body = format!("{}{missing}", markup::table("Each workload", &heads, rows));
    let results = figures.rows.iter().map(|row| row.result).collect();
    Section::new("workloads", "Each workload", lede, body, results)
}

fn row_lines(row: &Row<'_>) -> Vec<Vec<String>> {
    let run = Part::whole(row.result, row.run);
    let client: Option<Part<'_, ClientCell>> = part!(run, clients[0]);
    let time = client.and_then(|client| figure!(client, ms_per_batch.median));
    let mut lines = vec![line(row, &row.client.client, time, &row.theirs)];
    for (cell, side) in row.ours.iter().flatten() {
        let index = row.run.cells.iter().position(|other| std::ptr::eq(other, *cell));
        let part: Option<Part<'_, Cell>> = index.and_then(|index| part!(run, cells[index]));
        let time = part.and_then(|cell| figure!(cell, ms_per_batch.median));
        lines.push(line(row, &cell.variant, time, side));
    }
    lines
}

fn line(row: &Row<'_>, name: &str, time: Option<Figure>, side: &ProgramFigures) -> Vec<String> {
    let mut line = vec![
        format!("<code>{}</code>", esc(&row.run.workload.scenario)),
        format!("<code>{}</code>", esc(name)),
        number(time, units::plain),
    ];
    // The time stands in the line with its place in the result.
    let figures = side_figures(side).into_iter().skip(1);
    line.extend(figures.map(|figure| figure.unwrap_or_else(unknown)));
    line
}
