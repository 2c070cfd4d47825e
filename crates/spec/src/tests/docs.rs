//! `docs/scenario.md` tells every key and every metric, which is read as it is written, and
//! `docs/workloads.md` every shipped scenario.

use crate::{
    all_paths,
    metric::{MetricKind, metric},
    shipped,
};

fn page(name: &str) -> String {
    let path = format!("{}/../../{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A text without its line breaks.
fn in_one_line<'t>(words: impl Iterator<Item = &'t str>) -> String {
    words.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

#[test]
fn every_metric_is_read_as_it_is_written() {
    for kind in MetricKind::ALL {
        let text = kind.example();
        let read = metric(&text).unwrap_or_else(|violation| panic!("{text}: {violation:?}"));
        assert_eq!(read.to_string(), text);
    }
}

#[test]
fn every_key_every_metric_and_every_shipped_scenario_is_documented() {
    let page = page("docs/scenario.md");
    for key in all_paths() {
        assert!(page.contains(&format!("`{key}`")), "`{key}` is not in docs/scenario.md");
    }
    for kind in MetricKind::ALL {
        assert!(page.contains(&format!("`{kind}(")), "`{kind}(…)` is not in docs/scenario.md");
    }
    for (name, _) in shipped::all() {
        assert!(page.contains(&format!("`{name}`")), "`{name}` is not in docs/scenario.md");
    }
}

#[test]
fn every_shipped_scenario_has_its_row_and_its_own_words_in_the_page_on_workloads() {
    let page = page("docs/workloads.md");
    let part = page.split("\n## ").find(|part| part.starts_with("Shipped scenarios\n"));
    let part = part.expect("docs/workloads.md has a part \"Shipped scenarios\"");
    let row = |line: &str| Some(line.strip_prefix("| `")?.split_once("` |")?.0.to_owned());
    let rows: Vec<String> = part.lines().filter_map(row).collect();
    let names: Vec<&str> = shipped::all().iter().map(|(name, _)| *name).collect();
    assert_eq!(rows, names, "a row for each, in the order of `stress describe --table`");
    let paragraphs: Vec<String> =
        part.split("\n\n").map(|text| in_one_line(text.lines())).collect();
    for (name, text) in shipped::all() {
        let head = in_one_line(text.lines().map_while(|line| line.strip_prefix('#')));
        let paragraph = format!("**`{name}`.** {head}");
        assert!(paragraphs.contains(&paragraph), "not in docs/workloads.md: {paragraph}");
    }
}
