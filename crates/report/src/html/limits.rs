//! The HTML page of `stress limit`: the answer, and the safe limit and the price of each load. It
//! also shows the blocks behind them and the runs that checked them.

use result::{
    limit::{DesignLimit, LimitResult, LoadLimits, Place},
    stored::StoredLimit,
};

use super::{
    figure::{Figure, Part, figure, interval, part},
    markup::{self, Column, Parts, Section, esc, number, shell},
};
use crate::{limit, units};

/// A design of a load, and their places in the result.
struct Row<'a> {
    load: Part<'a, LoadLimits>,
    design: Part<'a, DesignLimit>,
}

/// The page of `limits`, of which there is one or more.
pub fn page(limits: &[StoredLimit]) -> String {
    let all: Vec<Part<'_, LimitResult>> =
        limits.iter().enumerate().map(|(index, of)| Part::whole(index, &of.result)).collect();
    let rows: Vec<Row<'_>> = all.iter().flat_map(rows).collect();
    let header = all.iter().map(|of| format!("<p class=\"work\">{}</p>\n", esc(&limit::facts(of))));
    let answers = all.iter().map(|of| format!("<li>{}</li>\n", esc(&of.answer)));
    let answers = format!("<ul class=\"lines\">\n{}</ul>", answers.collect::<String>());
    let results = limits.iter().map(|of| (of.path.as_path(), of.result.command.as_slice()));
    shell(&Parts {
        title: "Safe block gas limits",
        header: &header.collect::<String>(),
        verdict: &markup::verdict("good", "The answer", &answers),
        sections: &[table(&rows), blocks(&rows), checks(&rows), markup::files(results)],
        source_count: limits.len(),
        report: None,
    })
}

fn rows<'a>(of: &Part<'a, LimitResult>) -> Vec<Row<'a>> {
    let loads = (0..of.loads.len()).filter_map(|index| part!(of, loads[index]));
    let rows = loads.flat_map(|load| {
        let designs: Vec<_> =
            (0..load.designs.len()).filter_map(|index| part!(load, designs[index])).collect();
        designs.into_iter().map(move |design| Row { load: load.clone(), design })
    });
    rows.collect()
}

fn name(row: &Row<'_>) -> String {
    esc(&format!("{}, {}", row.load.scenario, limit::name(row.design.design)))
}

fn gas(figure: Option<Figure>) -> String {
    number(figure, units::number)
}

fn time(figure: Option<Figure>) -> String {
    number(figure, units::time_ns)
}

/// A figure, behind a sign where the limit lies below or above all tried limits.
fn bounded(row: &Row<'_>, [below, above]: [&str; 2], figure: String) -> String {
    match row.design.place {
        Some(Place::Below) => format!("{below}{figure}"),
        Some(Place::Above) => format!("{above}{figure}"),
        Some(Place::Within) | None => figure,
    }
}

fn table(rows: &[Row<'_>]) -> Section {
    let lede = "The header gas limit below which a whole block keeps the deadline, by the 95 % upper bound for one \
                block; the distance from there to the gas whose expected time is the deadline; the operation that \
                fills the blocks, and the factor of its gas with which a block of the target limit takes as long.";
    let columns: [Column<'_, &Row<'_>>; 9] = [
        ("Load and design", &|row| name(row)),
        ("Safe limit", &|row| {
            bounded(row, ["&lt; ", "&gt; "], gas(figure!(row.design, limit_gas)))
        }),
        ("±", &|row| gas(figure!(row.design, half_width_gas))),
        ("Operation", &|row| esc(&row.load.operation)),
        ("Time of one", &|row| time(figure!(row.design, ns_per_operation))),
        ("95 %", &|row| {
            markup::interval(interval!(row.design, ns_per_operation_ci95), None, units::time_ns)
        }),
        ("Gas per µs", &|row| gas(figure!(row.design, gas_per_us))),
        ("95 %", &|row| {
            markup::interval(interval!(row.design, gas_per_us_ci95), None, units::number)
        }),
        ("Factor of its gas", &|row| {
            let factor = number(figure!(row.design, price_factor), units::ratio);
            bounded(row, ["&gt; ", "&lt; "], factor)
        }),
    ];
    let table = markup::table_of("Limits", rows, &columns);
    Section::new("limits", "Limits", lede, table, Vec::new())
}

fn blocks(rows: &[Row<'_>]) -> Section {
    let lede = "The longest block of each limit that was tried.";
    let lines = rows.iter().flat_map(|row| {
        row.design.blocks.iter().enumerate().map(move |(index, block)| {
            let slowest = block.block_ns.iter().enumerate().max_by_key(|(_, ns)| **ns);
            let slowest = slowest.map(|(at, _)| figure!(row.design, blocks[index].block_ns[at]));
            vec![
                name(row),
                gas(figure!(row.design, blocks[index].limit_gas)),
                gas(figure!(row.design, blocks[index].header_gas)),
                time(slowest.flatten()),
            ]
        })
    });
    let heads = ["Load and design", "Limit", "Gas of the header", "Longest time"];
    let table = markup::table("Blocks", &heads, lines);
    Section::new("blocks", "Blocks", lede, table, Vec::new())
}

fn checks(rows: &[Row<'_>]) -> Section {
    let lede = "A run near the limit, and the 95 % interval that the line through the other blocks predicts for one \
                block.";
    let checked = rows.iter().filter_map(|row| {
        let check = row.design.check?;
        let median = figure!(row.design, check?.median_ns);
        let predicted = row.design.interval("check/predicted_ns", |_| Some(check.predicted_ns));
        Some(vec![
            name(row),
            gas(figure!(row.design, check?.header_gas)),
            time(median),
            markup::interval(predicted, None, units::time_ns),
            if check.holds() { "✓ within" } else { "✗ outside" }.to_owned(),
        ])
    });
    let checked: Vec<_> = checked.collect();
    let heads = ["Load and design", "Gas of the header", "Median time", "Predicted", ""];
    let body = match checked.is_empty() {
        true => "<p>None: no run at a gas that a line gave lies near a limit.</p>\n".to_owned(),
        false => markup::table("Checks", &heads, &checked),
    };
    Section::new("checks", "Checks", lede, body, Vec::new())
}
