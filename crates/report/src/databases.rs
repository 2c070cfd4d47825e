//! The part of a run's page on several databases: the time on each database, and the spread of
//! times between databases and within one.

use result::{
    Cell,
    databases::CellDatabases,
    stats::{CHANCE_P, INTERVAL_COUNT_MIN},
};

use super::{
    cells::labels,
    columns::{Column, headed_table},
    facts::{self, Reading},
    page::{INDENT, Page, Tone},
    units,
};

/// Writes the part; nothing for a run on one database.
pub(super) fn databases(page: &mut Page, reading: &Reading<'_>) {
    let result = reading.result;
    let all = reading.cells();
    let cells: Vec<(&Cell, &CellDatabases)> =
        all.iter().filter_map(|cell| Some((*cell, cell.databases.as_ref()?))).collect();
    if result.databases.is_empty() || cells.is_empty() {
        return;
    }
    let count = result.databases.len();
    let text = format!(
        "{}, of {} {}; each is one value of the figures above",
        units::things(count as u64, "database"),
        if count == 1 { "seed" } else { "seeds" },
        facts::seeds(&result.databases)
    );
    page.labelled(Tone::Plain, "built", &text);
    page.gap();
    let labels = labels(&cells.iter().map(|(cell, _)| *cell).collect::<Vec<_>>(), &reading.stores);
    headed_table(page, &labels, columns(&cells));
    legend(page, &cells, count);
}

fn columns(cells: &[(&Cell, &CellDatabases)]) -> Vec<Column> {
    vec![
        Column::ranked(0, ["", "threads"], cells, |(cell, _)| facts::threads(cell)),
        Column::ranked(0, ["ms, least", "to most"], cells, |(_, of)| {
            of.ms_per_batch_range.map(ends)
        }),
        Column::ranked(1, ["between", "them %"], cells, |(_, of)| {
            Some(units::percent(of.time_spread?.between))
        }),
        Column::ranked(1, ["by", "chance"], cells, |(_, of)| {
            of.time_spread?.between_p.map(units::probability)
        }),
        Column::ranked(1, ["within", "one %"], cells, |(_, of)| {
            Some(units::percent(of.time_spread?.within))
        }),
        Column::ranked(2, ["time over", "the first"], cells, |(_, of)| {
            of.time_ratio.median.map(units::ratio)
        }),
        Column::ranked(2, ["", "95 %"], cells, |(_, of)| of.time_ratio.ci95.map(ends)),
        Column::ranked(3, ["least", "to most"], cells, |(_, of)| of.time_ratio_range.map(ends)),
        Column::ranked(4, ["ms", "on each"], cells, |(_, of)| each(of)),
    ]
}

/// Times on all databases, in the order of the databases.
fn each(of: &CellDatabases) -> String {
    let times = of.each.iter().map(|of| of.ms_per_batch.median.map(units::plain));
    units::joined(times.map(units::or_unknown), " ")
}

fn ends(ends: [f64; 2]) -> String {
    units::range(ends, units::plain)
}

fn legend(page: &mut Page, cells: &[(&Cell, &CellDatabases)], count: usize) {
    let mut parts = Vec::new();
    if cells.iter().any(|(_, of)| of.time_spread.is_some()) {
        parts.push(format!(
            "between databases and within one: standard deviations of a time in %; by chance: \
                 how probable databases so far apart are that do not differ; {CHANCE_P} or more \
                 shows no difference, less may be a drift of the machine too"
        ));
    }
    if count < INTERVAL_COUNT_MIN {
        parts.push(format!("an interval needs {INTERVAL_COUNT_MIN} databases"));
    }
    let mut firsts: Vec<&str> = cells.iter().map(|(_, of)| of.time_ratio_over.as_str()).collect();
    firsts.dedup();
    parts.push(format!("the first: {}", firsts.join(", ")));
    page.indented(Tone::Faint, INDENT, &parts.join("; "));
    page.gap();
}

#[cfg(test)]
mod tests;
