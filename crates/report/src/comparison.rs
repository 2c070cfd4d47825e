//! The page of `stress compare` in the terminal: the work, the changes, the counters that differ,
//! and a line for each variant.

use std::collections::BTreeMap;

use result::{
    comparison::{Change, Comparison, Figure, Source},
    stats,
};

use super::{
    Paint, columns,
    cut::cut,
    page::{Page, Tone},
    set_keys::OF_RUN,
    units::{self, UNKNOWN},
};

/// Maximal number of changes of one kind that are shown; the JSON has all.
const SHOWN_CHANGE_COUNT: usize = 12;
/// Text for a missing value of a `run.` key: no command line sets the key, and the run chose no
/// value for it.
const NOT_SET: &str = "not set";
/// Head of the first column, which has the names of the rows. The heads of the times are labels of
/// results, so this head gives their unit.
const TIMES: &str = "ms per batch";

/// The comparison as a page of `width` columns, with `notes` below its table.
pub fn comparison(comparison: &Comparison, notes: &[String], width: usize, paint: Paint) -> String {
    let mut page = Page::new(width);
    let work = &comparison.work;
    let gas = units::or_unknown(work.gas.map(units::count));
    let digest = units::digest(&work.digest);
    let text = format!("{}, {gas} gas, workload {digest}: the same in all", work.scenario);
    page.labelled(Tone::Plain, "work", &text);
    for source in &comparison.results {
        page.labelled(Tone::Plain, &source.label, &source_words(source));
        page.each(Tone::Plain, "", &source.fastest);
        let saved = source.less_than_first.iter();
        let saved = saved.map(|words| format!("beside {}, {words}", comparison.results[0].label));
        page.each(Tone::Strong, "", saved);
    }
    page.gap();
    let none = "no design, no thread count, no setting of a store and no fact of the machine";
    changed(&mut page, "changed", &comparison.changes, none);
    changed(&mut page, "counters", &comparison.counters, "equal: gas, keys, store and block reads");
    table(&mut page, comparison);
    legend(&mut page, comparison);
    page.each(Tone::Warning, "note", notes);
    let text = "times of different runs hold for their minutes only: the intervals are those of the \
                samples, and a ratio here is no verdict";
    page.labelled(Tone::Faint, "note", text);
    page.render(paint)
}

fn source_words(source: &Source) -> String {
    let mut words = source.path.clone();
    if let Some(commit) = &source.commit {
        words.push_str(&format!(", commit {}", commit.chars().take(10).collect::<String>()));
    }
    if source.warning_count > 0 {
        words.push_str(&format!(", {}", units::things(source.warning_count, "warning")));
    }
    if source.interrupted {
        words.push_str(", INTERRUPTED");
    }
    words
}

pub(crate) fn changed(page: &mut Page, label: &str, changes: &[Change], none: &str) {
    if changes.is_empty() {
        page.labelled(Tone::Plain, label, none);
    }
    let texts = changes.iter().take(SHOWN_CHANGE_COUNT).map(|change| {
        let absent = if change.key.starts_with(OF_RUN) { NOT_SET } else { UNKNOWN };
        format!("{}: {}", change.key, cut(&change.values, absent).join(" → "))
    });
    page.listed(Tone::Warning, label, texts);
    let more = units::beyond(changes.len(), SHOWN_CHANGE_COUNT);
    page.each(Tone::Warning, "", more.map(units::more_in_json));
    page.gap();
}

/// Writes one line for each variant: the time in each result with its interval, then the ratios.
fn table(page: &mut Page, Comparison { results, rows, .. }: &Comparison) {
    let labels: Vec<&String> = results.iter().map(|source| &source.label).collect();
    let lines = rows.iter().map(|row| {
        let figures = row.figures.iter().map(Option::as_ref);
        (row.variant.clone(), figures.map(|figure| [time(figure), ratio(figure)]).collect())
    });
    columns::results(page, TIMES, &labels, &lines.collect::<Vec<_>>());
}

/// A time and the ends of its interval. Without an interval, the number of samples or databases
/// stands in their place.
fn time(figure: Option<&Figure>) -> [String; 2] {
    let Some(figure) = figure else { return [UNKNOWN; 2].map(str::to_owned) };
    let ends = units::interval(figure.ms_per_batch_ci95, value_count(figure), units::plain);
    [units::or_unknown(figure.ms_per_batch.map(units::plain)), ends]
}

fn ratio(figure: Option<&Figure>) -> [String; 2] {
    match figure {
        Some(of) => ratio_words(of.time_ratio, of.time_ratio_ci95, least_count(of)),
        None => [UNKNOWN; 2].map(str::to_owned),
    }
}

/// A ratio and the ends of its interval, or `n<` and the number of values that an interval needs.
pub(crate) fn ratio_words(
    ratio: Option<f64>,
    ends: Option<[f64; 2]>,
    least_count: usize,
) -> [String; 2] {
    let Some(ratio) = ratio else { return [UNKNOWN; 2].map(str::to_owned) };
    let ends = match ends {
        Some([low, high]) => format!("{low:.3}–{high:.3}"),
        None => too_few(least_count),
    };
    [format!("{ratio:.3}"), ends]
}

/// Number of databases that a figure is over, or of samples on a single one.
fn value_count(figure: &Figure) -> u64 {
    figure.database_count.unwrap_or(figure.sample_count)
}

/// The text in the place of a missing interval of a ratio: `n<7`.
fn too_few(least: usize) -> String {
    format!("n<{least}")
}

/// The fewest samples, or databases, from which a ratio has an interval.
fn least_count(figure: &Figure) -> usize {
    // The confidence is shared by all medians of a ratio. A figure over databases is one median,
    // that of the paired ratios. Two runs on one database have one median each.
    let unsure_count = if figure.database_count.is_some() { 1 } else { 2 };
    stats::interval_count_min(stats::confidence_of_each(unsure_count))
}

/// Explains each `n<7` that stands in the place of a ratio's interval.
fn legend(page: &mut Page, comparison: &Comparison) {
    let pairs = comparison.rows.iter().flat_map(|row| {
        let base = row.figures.first().and_then(Option::as_ref);
        row.figures.iter().skip(1).flatten().map(move |figure| (base, figure))
    });
    // The largest number of values that a figure lacks. The key is the number of values that an
    // interval needs, and whether they are databases.
    let mut missing: BTreeMap<(usize, bool), u64> = BTreeMap::new();
    for (base, figure) in pairs {
        if figure.time_ratio.is_none() || figure.time_ratio_ci95.is_some() {
            continue;
        }
        let least = least_count(figure);
        let fewest = base.map_or(u64::MAX, value_count).min(value_count(figure));
        let most = missing.entry((least, figure.database_count.is_some())).or_default();
        *most = (*most).max((least as u64).saturating_sub(fewest));
    }
    for ((least, has_databases), missing) in missing {
        let (things, option) = match has_databases {
            true => ("databases", "--databases"),
            false => ("samples after the warm-up in one of both", "--samples"),
        };
        let text = format!(
            "fewer than {least} {things}, no interval of the ratio: give both {missing} more ({option})"
        );
        page.labelled(Tone::Faint, &too_few(least), &text);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::tests::fits;
    use result::{example, stored::Stored};

    use crate::compare::compare;

    fn page(width: usize, count: usize) -> String {
        page_of(8, width, count)
    }

    fn page_of(sample_count: usize, width: usize, count: usize) -> String {
        let result = example::sampled(sample_count);
        let json: Value =
            serde_json::from_str(&super::super::json(&result).unwrap()).expect("a result is JSON");
        let mut results = vec![Stored::from_json("a.json".into(), json.clone()).unwrap()];
        for _ in 1..count {
            let mut json = json.clone();
            json["environment"]["host"]["kernel"] = json!("another");
            let path = "a-rather-long/way/to/b.json".into();
            results.push(Stored::from_json(path, json).unwrap());
        }
        let compared = compare(&results).expect("the same work");
        comparison(&compared, &["io_threads differ".to_owned()], width, Paint::Plain)
    }

    #[test]
    fn a_page_says_what_changed_and_every_ratio_and_is_not_wider_than_asked() {
        for (width, count) in [(80, 2), (120, 2), (80, 3), (24, 2)] {
            let page = page(width, count);
            fits(&page, width);
        }
        let page = page(80, 2);
        assert!(page.contains("environment.host.kernel"), "{page}");
        assert!(page.contains("→ another"), "{page}");
        assert_eq!(page.matches(" 1.000 ").count(), 5, "{page}");
        assert_eq!(page.matches(" 1.000–1.000").count(), 5, "{page}");
        assert!(page.contains("4828–5005"), "{page}");
        assert!(page.contains("equal: gas"), "{page}");
        assert!(page.contains("\nnote     io_threads differ\n"), "{page}");
    }

    #[test]
    fn a_key_that_one_side_sets_says_so_of_the_other() {
        let change =
            |key: &str| Change { key: key.to_owned(), values: vec![Value::Null, json!(8)] };
        let mut page = Page::new(80);
        changed(&mut page, "changed", &[change("run.samples"), change("prepare")], "");
        let page = page.render(Paint::Plain);
        assert_eq!(page, "changed  run.samples: not set → 8\n         prepare: - → 8\n");
    }

    #[test]
    fn a_missing_interval_is_explained_in_one_line_and_where_it_is_missing_alone() {
        let text = page_of(3, 120, 3);
        assert!(text.matches(" n<7").count() > 5, "{text}");
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("n<7 ")).collect();
        assert!(
            matches!(lines[..], [line] if line.contains("give both 4 more (--samples)")),
            "{text}"
        );
        assert!(!page(120, 3).contains("n<"));
    }

    #[test]
    fn times_have_their_unit_on_every_page_once() {
        for width in [24, 60, 80, 120] {
            let page = page(width, 2);
            assert_eq!(page.matches("ms per batch").count(), 1, "{width}: {page}");
        }
    }
}
