//! The page of `stress limit` in the terminal, and as Markdown. It has the safe gas limit of each
//! load in each design, the price that the load's operation must have, and the answer.

use result::limit::{DesignLimit, LimitResult, LoadLimits, Place};
use variant::Design;

use super::{
    Paint,
    columns::{Column, plain, table},
    page::{Page, Tone, clean},
    units::{self, UNKNOWN},
};

/// Head of the column that names a load's operation.
const OPERATION: &str = "dearest operation";

/// The limits as a page of `width` columns, the answer last.
pub fn limit_table(result: &LimitResult, width: usize, paint: Paint) -> String {
    let mut page = Page::new(width);
    page.labelled(Tone::Plain, "limits", &facts(result));
    page.gap();
    let names: Vec<&str> = result.loads.iter().map(|load| load.scenario.as_str()).collect();
    table(&mut page, &plain(&names), columns(result));
    page.gap();
    notes(result).iter().for_each(|(label, text)| page.labelled(Tone::Faint, label, text));
    page.gap();
    page.indented(Tone::Strong, 0, &result.answer);
    page.render(paint)
}

/// The limits as a Markdown table, the answer last.
pub fn limit_markdown(result: &LimitResult) -> String {
    let columns = columns(result);
    let heads = units::joined(columns.iter().map(|column| cell(&column.head.join(" "))), " | ");
    let mut text = format!("{}\n\n| load | {heads} |\n", cell(&facts(result)));
    text.push_str(&format!("|---|{}\n", "--:|".repeat(columns.len())));
    for (index, load) in result.loads.iter().enumerate() {
        let values = columns.iter().map(|column| cell(&column.values[index]));
        let values = units::joined(values, " | ");
        text.push_str(&format!("| {} | {values} |\n", cell(&load.scenario)));
    }
    for (label, note) in notes(result) {
        text.push_str(&format!("\n{label}: {}\n", cell(&note)));
    }
    text + &format!("\n**{}**\n", cell(&result.answer))
}

/// Escapes text, so that it cannot end a cell of a table or begin markup.
fn cell(text: &str) -> String {
    clean(text.trim()).replace('|', "\\|").replace('<', "&lt;")
}

/// The deadline, the store, the size of the states and the tried limits, in one line.
pub(super) fn facts(result: &LimitResult) -> String {
    let tried = result.tried_gas.iter().map(|gas| units::count(*gas));
    format!(
        "whole blocks in {} on {}, states of {}; header limits {}; ± up to the time expected",
        units::ns(result.deadline_ns),
        result.store,
        units::things(result.slot_count, "slot"),
        units::joined(tried, ", ")
    )
}

fn columns(result: &LimitResult) -> Vec<Column> {
    let loads = &result.loads;
    let mut columns: Vec<Column> = designs(result)
        .into_iter()
        .map(|design| {
            let texts =
                loads.iter().map(|load| units::or_unknown(of(load, design).map(limit_text)));
            Column::new(name(design), texts)
        })
        .collect();
    columns.push(Column::ranked(1, ["", OPERATION], loads, operation).left());
    let mut price = Column::ranked(1, ["", "it must cost"], loads, price);
    price.head[0] = format!("for {}", units::count(result.target_gas)).into();
    columns.push(price);
    let worst = |text: fn(&DesignLimit) -> Option<String>| {
        move |load: &LoadLimits| load.worst().and_then(text)
    };
    columns.push(Column::ranked(
        2,
        ["ns an", "operation"],
        loads,
        worst(|of| with_ends(of.ns_per_operation, of.ns_per_operation_ci95)),
    ));
    columns.push(Column::ranked(
        3,
        ["gas", "per µs"],
        loads,
        worst(|of| with_ends(of.gas_per_us, of.gas_per_us_ci95)),
    ));
    columns
}

/// A value with its interval: `52.1k (51.0k–53.2k)`.
fn with_ends(value: Option<f64>, ends: Option<[f64; 2]>) -> Option<String> {
    let value = units::finite(value, units::number)?;
    let ends = ends.map(|ends| format!(" ({})", units::range(ends, units::number)));
    Some(value + &ends.unwrap_or_default())
}

/// Operation of a load and its time, in the design with the smallest limit: `cold SLOAD, 52.1 µs`.
fn operation(load: &LoadLimits) -> Option<String> {
    let ns = load.worst()?.ns_per_operation?;
    Some(format!("{}, {}", load.operation, units::time_ns(ns)))
}

/// Factor on the operation's gas, in the design with the smallest limit: `2.80 × its gas` or `could
/// be 0.20 ×`.
fn price(load: &LoadLimits) -> Option<String> {
    let worst = load.worst()?;
    let (factor, place) = (worst.price_factor?, worst.place?);
    let factor_text = units::ratio(factor);
    Some(match place {
        Place::Within if factor > 1.0 => format!("{factor_text} × its gas"),
        Place::Within => format!("could be {factor_text} ×"),
        Place::Below => format!("> {factor_text} × its gas"),
        Place::Above if factor > 1.0 => format!("< {factor_text} × its gas"),
        Place::Above => format!("could be < {factor_text} ×"),
    })
}

/// Notes below the table: the checks, loads that tried no larger limits, and loads without a limit.
fn notes(result: &LimitResult) -> Vec<(&'static str, String)> {
    let mut notes = Vec::new();
    let designs =
        result.loads.iter().flat_map(|load| load.designs.iter().map(move |of| (load, of)));
    let checks: Vec<_> = designs.filter_map(|(load, of)| Some((load, of, of.check?))).collect();
    if !checks.is_empty() {
        let missed = checks.iter().filter(|(.., check)| !check.holds());
        let missed: Vec<_> = missed
            .map(|(load, of, check)| {
                format!(
                    "{} {} took {} and not {}",
                    load.scenario,
                    name(of.design),
                    units::ns(check.median_ns),
                    check.predicted_ns.map(units::time_ns).join(" to ")
                )
            })
            .collect();
        let held = checks.len() - missed.len();
        let of = format!("{held} of {} runs near a limit took the time predicted", checks.len());
        notes.push(("check", [vec![of], missed].concat().join("; ")));
    }
    for load in &result.loads {
        if let Some(reason) = &load.ended {
            notes.push(("ended", format!("{} {reason}", load.scenario)));
        }
        if load.worst().is_none_or(|worst| worst.place.is_none()) {
            notes.push(("unknown", format!("{}: its times make no line", load.scenario)));
        }
    }
    notes
}

/// The designs in the order in which the user named them.
fn designs(result: &LimitResult) -> Vec<Design> {
    let first = result.loads.first();
    first.into_iter().flat_map(|load| load.designs.iter().map(|of| of.design)).collect()
}

fn of(load: &LoadLimits, design: Design) -> Option<&DesignLimit> {
    load.designs.iter().find(|of| of.design == design)
}

/// Text of a limit: `71M ±3`, `> 640M`, `< 20M`, or `-`.
pub fn limit_text(of: &DesignLimit) -> String {
    let (Some(place), Some(gas)) = (of.place, of.limit_gas) else { return UNKNOWN.to_owned() };
    match (place, of.half_width_gas) {
        (Place::Above, _) => format!("> {}", units::count(gas)),
        (Place::Below, _) => format!("< {}", units::count(gas)),
        (Place::Within, half) => {
            let decimals = match gas {
                0..1_000_000 => 3,
                1_000_000..10_000_000 => 1,
                _ => 0,
            };
            // Rounded to the safe side: the limit down, its half width up.
            let limit = mgas(gas, decimals, |units| (units + 1e-9).floor());
            let half =
                half.map(|half| mgas(half, decimals, |units| (units - 1e-9).ceil().max(0.0)));
            format!("{limit}M{}", half.map(|half| format!(" ±{half}")).unwrap_or_default())
        }
    }
}

/// Millions of gas. `round` gets them in units of the last decimal.
fn mgas(gas: u64, decimals: usize, round: fn(f64) -> f64) -> String {
    let units_per_mgas = 10_f64.powi(decimals as i32);
    format!("{:.decimals$}", round(gas as f64 / 1e6 * units_per_mgas) / units_per_mgas)
}

/// Name of a design in heads and beside figures.
pub(super) fn name(design: Design) -> &'static str {
    if design == Design::Sequential { "in order" } else { design.name() }
}

/// Words for a design in the answer.
fn way(design: Design) -> String {
    match design {
        Design::Sequential => "in order".to_owned(),
        Design::BatchedIo => "with batched reads".to_owned(),
        other => format!("with {other}"),
    }
}

/// The answer in one sentence: the smallest limit of each design over all loads. It adds a warning
/// where the state is so small that many reads share a block.
pub fn limit_answer(result: &LimitResult) -> String {
    let mut worst = Vec::new();
    for design in designs(result) {
        let loads = result.loads.iter().filter_map(|load| Some((load, of(load, design)?)));
        let known = loads.filter(|(_, of)| of.place.is_some());
        worst.extend(known.min_by(|(_, a), (_, b)| a.order(b)));
    }
    let deadline = units::ns(result.deadline_ns);
    if worst.is_empty() {
        return format!("safe at {deadline}: unknown: no times make a line");
    }
    let words = worst.iter().map(|(load, of)| {
        let limit = limit_text(of);
        let limit = limit.split(" ±").next().unwrap_or_default();
        format!("{limit} {} ({})", way(of.design), load.scenario)
    });
    let slots = units::things(result.slot_count, "slot");
    let mut text = format!("safe at {deadline} on {slots}: {}", units::joined(words, ", "));
    let dense = worst.iter().filter_map(|(load, _)| {
        Some((load.wanted_slot_count?, load.blocks_per_present_key?, load))
    });
    if let Some((slot_count, blocks, load)) = dense.max_by_key(|(slot_count, ..)| *slot_count) {
        let (blocks, wanted) = (units::ratio(blocks), units::count(slot_count));
        let scenario = &load.scenario;
        text.push_str(&format!(
            "; {scenario} reads {blocks} blocks a key there, which flatters it: --slots {wanted} would not"
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use result::example::limit::{design, example};

    use super::*;

    #[test]
    fn a_page_has_the_worst_load_first_and_the_answer_last() {
        let mut result = example();
        result.answer = limit_answer(&result);
        let page = limit_table(&result, 130, Paint::Plain);
        let lines: Vec<&str> = page.lines().collect();
        let line = |start: &str| {
            let found = lines.iter().find(|line| line.trim_start().starts_with(start));
            found
                .unwrap_or_else(|| panic!("{start}: {page}"))
                .split_whitespace()
                .collect::<Vec<_>>()
        };
        let chase = line("pointer-chase").join(" ");
        let expected = "pointer-chase 71M ±3 74M ±2 cold SLOAD, 52.0 µs 2.82 × its gas 52.0k (51.0k–53.0k) 40.4 (39.6–41.2)";
        assert_eq!(chase, expected, "{page}");
        assert!(
            line("erc20")
                .join(" ")
                .contains("> 640M > 640M transaction, 26.0 µs could be < 0.31 ×")
        );
        assert_eq!(
            lines.last(),
            Some(
                &"safe at 3.00 s on 8M slots: 71M in order (pointer-chase), 74M with batched reads (pointer-chase)"
            ),
        );
        assert!(page.contains(
            "1 of 2 runs near a limit took the time predicted; pointer-chase batched-io"
        ));
        let narrow = limit_table(&result, 80, Paint::Plain);
        assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
        assert!(narrow.contains("71M ±3") && narrow.contains("52.0 µs"), "{narrow}");
    }

    #[test]
    fn markdown_has_a_cell_for_each_column_and_no_markup_of_a_name() {
        let mut result = example();
        result.loads[0].scenario = "a|b<c".to_owned();
        let text = limit_markdown(&result);
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        let count = |row: &str| row.replace("\\|", "").matches('|').count();
        assert_eq!(rows.len(), 4, "{text}");
        assert!(rows.iter().all(|row| count(row) == count(rows[0])), "{text}");
        assert!(rows[2].starts_with("| a\\|b&lt;c | 71M ±3 |"), "{text}");
    }

    #[test]
    fn an_answer_names_a_state_on_which_the_worst_load_is_not_flattered() {
        let mut result = example();
        result.loads[0].blocks_per_present_key = Some(0.444);
        result.loads[0].wanted_slot_count = Some(64_000_000);
        let answer = limit_answer(&result);
        let end =
            "pointer-chase reads 0.44 blocks a key there, which flatters it: --slots 64M would not";
        assert!(answer.ends_with(end), "{answer}");
        result.loads.clear();
        assert!(limit_answer(&result).contains("unknown"));
    }

    #[test]
    fn limits_are_rounded_to_the_safe_side() {
        let text = |gas, half| {
            let mut of = design(Design::Sequential, 71_000_000);
            (of.limit_gas, of.half_width_gas) = (Some(gas), Some(half));
            limit_text(&of)
        };
        assert_eq!(text(71_999_999, 2_000_001), "71M ±3");
        assert_eq!(text(71_000_000, 3_000_000), "71M ±3");
        assert_eq!(text(1_290_000, 10_000), "1.2M ±0.1");
        assert_eq!(text(512_345, 1_000), "0.512M ±0.001");
    }
}
