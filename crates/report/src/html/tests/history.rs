//! The page of a history: places of marks are those of the results and their times.

use super::*;
use crate::{history::tests, html::history, sorted_by_time};

/// Results a day apart, of which the last ones take longer.
pub(super) fn results(count: usize, from: usize) -> Vec<Shown> {
    let mut results = tests::results(&tests::step(count, from, 1.3));
    results.reverse();
    sorted_by_time(results)
}

fn number(text: &str) -> f64 {
    let (digits, factor) = match text.strip_suffix('k') {
        Some(digits) => (digits, 1e3),
        None => (text, 1.0),
    };
    digits.trim_end_matches('%').parse::<f64>().unwrap_or_else(|_| panic!("{text}")) * factor
}

/// Values and pixels of the ticks along y.
fn y_ticks(elements: &[Element]) -> Vec<[f64; 2]> {
    let texts = elements.iter().filter(|of| of.name == "text" && of.get("x") == "-8");
    texts.map(|of| [number(&of.text), number(of.get("y")) - 4.0]).collect()
}

#[test]
fn every_mark_lies_where_its_result_and_its_time_are() {
    let results = results(24, 15);
    let page = history(&results);
    let elements = elements(&page);
    let places = compared(&elements, &jsons(&results));
    let ticks = y_ticks(&elements);
    let ([low, bottom], [high, top]) = (ticks[0], ticks[ticks.len() - 1]);
    assert!(ticks.len() >= 3 && low < high && top < bottom, "{ticks:?}");
    let pixel = |ms: f64| bottom + (top - bottom) * (ms / low).ln() / (high / low).ln();
    let mut count = 0;
    for pair in elements.windows(2) {
        let [outer, mark] = pair else { continue };
        if outer.name != "svg" || mark.get("role") != "img" {
            continue;
        }
        count += 1;
        let index = number(mark.get("data-result"));
        let x = (index + 0.5) / 24.0 * 100.0;
        assert!((number(outer.get("x")) - x).abs() < 0.01, "{index}: {}", outer.get("x"));
        let y = pixel(number(mark.get("data-value")));
        assert!((number(outer.get("y")) - y).abs() < 0.35, "{index}: {} and {y}", outer.get("y"));
        assert!(mark.get("data-at").ends_with("/ms_per_batch/median"));
        let commit = format!("commit {:x}00,", 0xc0ff_ee00 + index as u64);
        assert!(mark.get("aria-label").contains(&commit), "{}", mark.get("aria-label"));
    }
    assert_eq!(count, 24 * 5, "five variants in each result");
    for (result, cell) in (0..24).flat_map(|result| (0..5).map(move |cell| (result, cell))) {
        let times = ["median", "ci95/0", "ci95/1"];
        let places_of_cell = times.map(|time| format!("/cells/{cell}/ms_per_batch/{time} "));
        has_places(&places, result, &places_of_cell.concat());
    }
}

#[test]
fn a_change_is_an_upright_line_between_its_results_and_breaks_the_lines() {
    let page = history(&results(24, 15));
    let elements = elements(&page);
    let guide = elements.iter().position(|of| of.get("class") == "guide").unwrap();
    let [line, text] = &elements[guide + 1..guide + 3] else { panic!("no line") };
    assert_eq!((line.get("x1"), line.get("x1")), ("62.50%", line.get("x2")), "15 of 24");
    assert_eq!(text.text, "1, 2, 3, 4, 5");
    assert_eq!(elements.iter().filter(|of| of.get("class") == "guide").count(), 1);
    // 24 points of a variant are joined by 22 lines, since one is the step.
    let lines = elements.iter().skip_while(|of| !of.get("class").starts_with("line "));
    let is_line = |of: &&Element| of.name == "line" && of.get("x1").ends_with('%');
    let joined = lines.filter(is_line).filter(|of| of.get("x1") != of.get("x2")).count();
    assert_eq!(joined, 22 * 5);
    for words in
        ["1.3", "<code>c0ffee0e00</code> → <code>c0ffee0f00</code>", "Where a time changed"]
    {
        assert!(page.contains(words), "{words}");
    }
    assert!(history(&results(24, 24)).contains("No time changed."));
}

#[test]
fn a_history_has_its_parts_and_those_of_a_report() {
    let mut all = results(10, 10);
    if let Content::Run(run) = &mut all[3].content {
        run.workload.digest = "other".to_owned();
    }
    let page = history(&all);
    let elements = elements(&page);
    has_ids(&elements, "changes history points warnings environment results");
    let charts = elements.iter().filter(|of| of.get("class") == "chart").count();
    assert_eq!(charts, 2, "other work has a chart of its own");
    assert!(page.contains("No time changed."));
}
