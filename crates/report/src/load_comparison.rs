//! The page of `stress compare` for loads on live nodes: the work, the changes, and a line for each
//! figure.

use result::{
    load_comparison::{LoadComparison, LoadRow, LoadSide},
    stats,
};

use super::{
    Paint, columns,
    comparison::{changed, ratio_words},
    page::{Page, Tone},
    units,
};

/// The comparison as a page of `width` columns.
pub fn load_comparison(comparison: &LoadComparison, width: usize, paint: Paint) -> String {
    let mut page = Page::new(width);
    let work = &comparison.work;
    let digest = units::digest(&work.digest);
    let text = format!(
        "{}, {} {}, workload {digest}: the same in all",
        work.scenario, work.pace, work.pace_value
    );
    page.labelled(Tone::Plain, "work", &text);
    for side in &comparison.sides {
        page.labelled(Tone::Plain, &side.label, &side_words(side));
    }
    page.gap();
    changed(&mut page, "changed", &comparison.changes, "no fact of node and tool");
    table(&mut page, comparison);
    page.labelled(Tone::Faint, "note", &note(comparison));
    page.render(paint)
}

fn side_words(side: &LoadSide) -> String {
    let mut words = format!(
        "{}, {}, {} of {} included",
        side.path,
        units::things(side.load_count, "load"),
        units::count(side.included_count),
        units::things(side.planned_count, "transaction"),
    );
    if side.warning_count > 0 {
        words.push_str(&format!(", {}", units::things(side.warning_count, "warning")));
    }
    words
}

/// Smallest number of loads of each side with which a ratio has an interval.
fn least_count() -> usize {
    stats::interval_count_min(stats::confidence_of_each(2))
}

fn note(comparison: &LoadComparison) -> String {
    let least = least_count();
    let has_interval = comparison.sides.iter().all(|side| side.load_count >= least as u64);
    let text = "a figure is the median over the loads of a side, each of which is one sample; a ratio \
                here is no verdict";
    match has_interval {
        true => format!("{text}, and holds for the minutes of the loads"),
        false => format!(
            "{text}. Where n<{least} stands there is no interval: send the load {least} times or more for \
             each side, into one directory each (stress send … --out BEFORE), by turns"
        ),
    }
}

fn table(page: &mut Page, comparison: &LoadComparison) {
    let LoadComparison { sides, rows, .. } = comparison;
    let labels: Vec<&String> = sides.iter().map(|side| &side.label).collect();
    let lines = rows.iter().map(|LoadRow { key, figures }| {
        let figures = figures.iter().zip(sides).map(|(figure, side)| {
            let median = units::or_unknown(figure.map(|figure| words(key, figure.median)));
            let ends = figure.and_then(|figure| figure.ci95);
            let ends = units::interval(ends, side.load_count, |end| words(key, end));
            let ratio_ends = figure.and_then(|figure| figure.ratio_ci95);
            let ratio = figure.and_then(|figure| figure.ratio);
            [[median, ends], ratio_words(ratio, ratio_ends, least_count())]
        });
        (name(key).to_owned(), figures.collect())
    });
    columns::results(page, "median", &labels, &lines.collect::<Vec<_>>());
}

/// The name of a figure on the page, by its key in a load.
fn name(key: &str) -> &str {
    match key {
        "included_per_s" => "included a second",
        "gas_per_s" => "gas a second",
        "sent_per_s" => "handed over a second",
        "latency.inclusion_ns.p50" => "inclusion, p50",
        "latency.inclusion_ns.p90" => "inclusion, p90",
        "latency.inclusion_ns.p99" => "inclusion, p99",
        "latency.acceptance_ns.p50" => "acceptance, p50",
        "latency.call_ns.p50" => "a call, p50",
        other => other,
    }
}

/// A value in the unit of its key.
fn words(key: &str, value: f64) -> String {
    if key.contains("_ns") { units::time_ns(value) } else { units::number(value) }
}

#[cfg(test)]
mod tests {
    use result::{example::send::typical, stored::StoredLoad};

    use super::*;
    use crate::compare_loads::{LoadSideInput, compare_loads};
    use crate::tests::fits;

    fn page(width: usize, load_count: usize) -> String {
        let load = StoredLoad { path: "send.json".into(), result: typical() };
        let side =
            |path: &str| LoadSideInput { path: path.into(), loads: vec![load.clone(); load_count] };
        let compared = compare_loads(&[side("before"), side("a-rather-long/way/to/after")]);
        load_comparison(&compared.expect("the same work"), width, Paint::Plain)
    }

    #[test]
    fn a_page_has_each_figure_with_its_interval_or_says_how_to_get_one() {
        let with = page(120, 7);
        assert!(with.contains("1.000–1.000") && !with.contains("for each side"), "{with}");
        assert!(with.contains("inclusion, p50") && with.contains("1.10 s"), "{with}");
        let without = page(120, 1);
        assert!(without.contains("n<7") && without.contains("send the load 7 times"), "{without}");
        for width in [24, 60, 80, 120] {
            let page = page(width, 7);
            fits(&page, width);
        }
    }
}
