//! The forms for other tools have the results' values, and nothing of results that disagree.

use serde_json::Value;

use super::{Better, benchmark, csv, markdown};
use crate::tests::{result, shown_gate};
use result::{Shown, example, gate, sweep::Keys};
use variant::{Design, StoreKind};

fn disagreeing() -> Shown {
    result(|run| {
        run.agree = Some(false);
        run.disagreements = vec!["batched-io: slot 7 | differs".to_owned()];
    })
}

fn regression() -> Shown {
    let mut result = example::gate::passed();
    result.gate.verdict = Some(gate::Verdict::Regression);
    shown_gate(result)
}

/// The fields of a line, with quotes undone.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut is_quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(String::new()),
            c => fields.last_mut().unwrap().push(c),
        }
    }
    fields
}

#[test]
fn a_summary_of_a_sweep_names_its_axes_and_no_cell_for_all() {
    let cell = |gas: u64| {
        let keys = [("block.gas".to_owned(), format!("{gas}M"))];
        let shown = result(|run| {
            run.workload.gas = gas * 1_000_000;
            run.warnings = vec![format!("load {gas}")];
        });
        Shown { swept: Keys::from(keys), ..shown }
    };
    let cells = [cell(1), cell(2)];
    let text = markdown(&cells);
    assert!(text.contains("- 2 results; in all: 39 transactions, "), "{text}");
    assert!(text.contains("; they differ in gas\n"), "{text}");
    assert!(text.contains("- axes of the sweep: `block.gas` 1M, 2M\n"), "{text}");
    assert!(!text.contains("; gain ") && text.contains("in `block.gas=1M`"), "{text}");
    assert!(text.contains("| ms per block |") && text.contains("**1 warning**"), "{text}");
    assert!(markdown(&cells[..1]).contains("; gain "));
}

#[test]
fn a_table_has_a_row_for_each_cell_with_the_numbers_of_the_result() {
    let results = [result(|_| ()), result(|run| run.workload.scenario = "a, b".to_owned())];
    let text = csv(&results);
    let mut lines = text.lines();
    let names = fields(lines.next().unwrap());
    let place = |name: &str| names.iter().position(|known| known == name).unwrap();
    let rows: Vec<Vec<String>> = lines.map(fields).collect();
    assert_eq!(rows.len(), 10);
    assert!(rows.iter().all(|row| row.len() == names.len()));
    for (row, cell) in rows.iter().zip(results[0].cells()) {
        let number = |name: &str| row[place(name)].parse::<f64>().ok();
        assert_eq!(number("mgas_per_s"), cell.mgas_per_s.median);
        assert_eq!(number("ms_per_batch_high"), cell.ms_per_batch.ci95.map(|[_, high]| high));
        let read = cell.read_latency_ns.p99.map(|ns| ns as f64);
        assert_eq!(number("read_p99_ns"), read);
        assert_eq!(number("tx_p90_ns"), None);
        assert_eq!(row[place("variant")], cell.variant);
        assert_eq!(row[place("samples")], "8");
    }
    assert_eq!(rows[9][place("scenario")], "a, b");
}

#[test]
fn a_spreadsheet_finds_no_formula() {
    let text = csv(&[result(|run| {
        run.workload.scenario = "=cmd|'x'!A1".to_owned();
    })]);
    assert!(text.contains("\"'=cmd|'x'!A1\"") && !text.contains(",=cmd"), "{text}");
}

#[test]
fn benchmark_figures_are_those_of_the_cells_by_the_tools_names() {
    let stored = result(|_| ());
    for (better, unit) in [(Better::Bigger, "MGas/s"), (Better::Smaller, "ms")] {
        let entries: Value =
            serde_json::from_str(&benchmark(std::slice::from_ref(&stored), better).unwrap())
                .unwrap();
        let entries = entries.as_array().unwrap();
        assert_eq!(entries.len(), 5);
        for (entry, cell) in entries.iter().zip(stored.cells()) {
            let estimate = match better {
                Better::Bigger => cell.mgas_per_s,
                Better::Smaller => cell.ms_per_batch,
            };
            assert_eq!(entry["value"].as_f64(), estimate.median);
            assert_eq!(entry["unit"], unit);
            let name = entry["name"].as_str().unwrap();
            assert!(name.ends_with(&cell.variant), "{name}");
            assert!(entry["range"].as_str().unwrap().starts_with("± "));
        }
    }
}

#[test]
fn a_summary_says_the_verdict_first_and_is_a_screen_however_many_results_there_are() {
    let many: Vec<Shown> = (0..40)
        .map(|n| {
            result(|run| {
                run.warnings = (0..20).map(|w| format!("{n} {w}")).collect();
                for (place, cell) in run.cells.iter_mut().enumerate() {
                    cell.store = StoreKind::ALL[n % StoreKind::ALL.len()];
                    cell.design =
                        Design::ALL[(n / StoreKind::ALL.len() + place) % Design::ALL.len()];
                }
            })
        })
        .collect();
    for results in [&many[..1], &many[..]] {
        let text = markdown(results);
        assert!(text.starts_with("### stress: sload-storm: all designs agree\n"), "{text}");
        assert!(text.lines().count() <= 40, "{text}");
        assert!(text.contains("| `rocksdb/batched-io/bal+batched@2+64io` |"), "{text}");
    }
    let text = markdown(&[regression()]);
    assert!(text.starts_with("### stress: sload-storm: gate: regression"), "{text}");
}

#[test]
fn of_designs_that_disagree_no_figure_is_given() {
    let results = [disagreeing()];
    let text = markdown(&results);
    assert!(text.contains("THE DESIGNS DISAGREE") && text.contains("slot 7 \\| differs"), "{text}");
    assert!(!text.contains("MGas/s"), "{text}");
    assert_eq!(benchmark(&results, Better::Bigger).unwrap().trim(), "[]");
    let table = csv(&results);
    let names = fields(table.lines().next().unwrap());
    let speed = names.iter().position(|name| name == "mgas_per_s").unwrap();
    let row = fields(table.lines().nth(1).unwrap());
    assert_eq!((row[speed].as_str(), row[1].as_str()), ("", "false"));
}

#[test]
fn text_of_a_result_is_no_markup() {
    let evil = "<img src=x> [a](b) `c` | d\n# e";
    let text = markdown(&[result(|run| {
        run.workload.scenario = evil.to_owned();
        run.warnings = vec![evil.to_owned()];
        run.cells[0].variant = evil.to_owned();
    })]);
    assert!(!text.contains("<img src") || text.contains("`<img src"), "{text}");
    assert!(!text.contains("[a](b)") || text.contains("`<img src=x> [a](b)"), "{text}");
    assert!(!text.lines().any(|line| line.starts_with("# e")), "{text}");
}

#[test]
fn a_finding_of_several_stores_names_each() {
    let stores = result(|run| {
        let mut cell = run.cells[4].clone();
        cell.store = StoreKind::Memory;
        run.cells.push(cell);
    });
    let text = markdown(&[stores]);
    assert!(text.contains("- rocksdb: ") && text.contains(". memory: "), "{text}");
}

#[test]
fn no_format_lets_a_name_turn_the_direction_of_text() {
    let name = "a\u{202e}b\u{2066}c";
    assert_eq!(super::csv::field(name), "\"a b c\"");
    assert_eq!(super::markdown::text(name), "a b c");
}
