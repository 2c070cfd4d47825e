//! Laws of clients beside the designs, and alone.

use result::{Shown, Stored, example, example::client};

use super::{fits, show, shown};
use crate::{
    Paint, compare, conclusion,
    formats::{self, Better},
    html, table,
};

#[test]
fn a_client_is_a_line_of_the_same_table_and_says_what_its_time_includes() {
    let result = client::beside_designs();
    for width in [80, 120, 160] {
        let text = table(&result, width, Paint::Plain);
        show(&text);
        fits(&text, width);
        let line = text.lines().find(|line| line.starts_with("  geth ")).unwrap();
        assert!(line.contains("25.0") && line.contains("25.6"), "time, MGas/s: {line}");
        assert!(text.contains("time of a client: from the request to VALID"), "{text}");
        assert!(text.contains("Geth 1.17.8 c0ffee; cold: proved"), "{text}");
        let heads = text.lines().position(|line| line.contains("threads")).unwrap();
        assert!(text.lines().nth(heads + 1).unwrap().contains(" sequential "), "{text}");
    }
    let wide = table(&result, 160, Paint::Plain);
    assert!(wide.contains("by its") && wide.contains("37.5 s"), "its log and its CPU: {wide}");
    let found = conclusion(&result).unwrap();
    assert!(found.contains("geth 25.0 s (0.81 times in order)"), "{found}");
    let without = table(&example::sampled(8), 160, Paint::Plain);
    assert!(!without.contains("by its"), "{without}");
}

#[test]
fn a_client_alone_has_a_table_and_a_finding() {
    let mut result = client::beside_designs();
    (result.cells, result.stores, result.device) = (Vec::new(), Vec::new(), None);
    result.clients = vec![client::timed(&[25_000])];
    let text = table(&result, 80, Paint::Plain);
    show(&text);
    fits(&text, 80);
    assert!(text.contains("n=1") && !text.contains("0 samples"), "{text}");
    let found = conclusion(&result).unwrap();
    assert!(found.starts_with("geth 25.0 s, no interval"), "{found}");
    assert!(text.starts_with("clients  geth 25.0 s, no interval\n"), "{text}");
}

#[test]
fn clients_are_in_every_form_of_a_report_and_are_compared_by_their_names() {
    let stored = || Stored::new("r.json".into(), client::beside_designs());
    let shown: [Shown; 1] = [stored().into()];
    let markdown = formats::markdown(&shown);
    assert!(markdown.contains("| client `geth` | 25.6 |"), "{markdown}");
    let csv = formats::csv(&shown);
    let head: Vec<_> = csv.lines().next().unwrap().split(',').collect();
    let last: Vec<_> = csv.lines().last().unwrap().split(',').collect();
    let at = |name: &str| last[head.iter().position(|head| *head == name).unwrap()];
    assert_eq!((at("variant"), at("design"), at("ms_per_batch")), ("geth", "", "25005.0"));
    let benchmark = formats::benchmark(&shown, Better::Smaller).unwrap();
    assert!(benchmark.contains("sload-storm geth") && benchmark.contains("25005"), "{benchmark}");
    let mut slower = stored();
    slower.result.clients[0].version = Some("Geth 1.17.10 c0ffee".to_owned());
    for sample in &mut slower.result.clients[0].samples {
        sample.wall_ns *= 2;
    }
    slower.result.clients[0].estimate(1);
    let comparison = compare::compare(&[stored(), slower]).unwrap();
    let changed: Vec<_> = comparison.changes.iter().map(|change| change.key.as_str()).collect();
    assert_eq!(changed, ["clients.geth.version"]);
    let row = comparison.rows.iter().find(|row| row.variant == "client geth").unwrap();
    let figure = row.figures[1].as_ref().unwrap();
    assert_eq!(figure.time_ratio, Some(2.0));
    assert!(figure.time_ratio_ci95.is_some());
}

#[test]
fn the_verdict_of_a_page_has_the_answer_and_clients_once() {
    let result = client::beside_designs();
    let page = html::page(&[shown(result)]);
    let time = "geth 25.0 s (0.81 times in order)";
    assert_eq!(page.matches(time).count(), 1, "{page}");
    let (_, rest) = page.split_once("id=\"verdict-title\">").unwrap();
    let (headline, rest) = rest.split_once("</h2>").unwrap();
    let fastest = headline.split("</span> ").nth(1).unwrap_or_default();
    assert!(fastest.starts_with("batched-io 2+64io: "), "{headline}");
    assert!(!rest.contains(fastest) && rest.contains("<li><b>gain</b> "), "{rest}");
}
