//! The page of a history in the terminal. Each variant has one line for each level of its time, the
//! results between two changes. The line names the first result of the level.

use result::{
    Shown,
    stats::{self, FALSE_ALARM_RATE, LEVEL_COUNT_MIN},
};

use super::{
    Paint, facts,
    history::{Change, Group, Series, commit, groups, judged_count},
    page::{Page, Tone, pad_left, pad_right},
    units,
};

/// Placeholder for the head of the column of times, which gives their unit.
const TIME_HEAD_PLACEHOLDER: &str = "time";
/// Heads of the columns, and their widths. The first column has the mark of a change.
const HEADS: [(&str, usize); 8] = [
    ("", 2),
    ("since", 20),
    (" commit", 11),
    ("results", 7),
    (TIME_HEAD_PLACEHOLDER, 13),
    ("95 %", 12),
    ("ratio", 7),
    ("p", 8),
];
/// Number of columns at the left whose texts are aligned at the left.
const LEFT_COUNT: usize = 3;

/// The history of `results`, which are in the order of time, as a page of `width` columns.
pub fn history_table(results: &[Shown], width: usize, paint: Paint) -> String {
    let groups = groups(results);
    let mut page = Page::new(width);
    head(&mut page, &groups);
    for group in &groups {
        page.gap();
        page.labelled(Tone::Strong, "work", &work_words(group));
        page.labelled(Tone::Plain, "machine", &group.machine);
        for series in &group.series {
            page.gap();
            variant(&mut page, series, facts::ms_per([group.workload]));
        }
    }
    for shown in results.iter().filter(|shown| shown.agrees() == Some(false)) {
        page.gap();
        let text = format!("{}: no figure of it is shown", shown.path.display());
        page.labelled(Tone::Alarm, "DISAGREE", &text);
    }
    page.gap();
    page.labelled(Tone::Faint, "note", &note(judged_count(&groups)));
    page.render(paint)
}

/// Writes the counts of the whole history: `history  31 results, 5 variants, 2 change points`.
fn head(page: &mut Page, groups: &[Group<'_>]) {
    let results: usize = groups.iter().map(|group| group.results.len()).sum();
    let series = groups.iter().flat_map(|group| &group.series);
    let changes: usize = series.clone().map(|series| series.changes.len()).sum();
    let text = format!(
        "{}, {}, {}",
        units::things(results as u64, "result"),
        units::things(series.count() as u64, "variant"),
        units::things(changes as u64, "change point")
    );
    page.labelled(Tone::Strong, "history", &text);
    if groups.len() > 1 {
        let text = "each work on each machine has series of its own";
        page.labelled(Tone::Plain, "", text);
    }
}

/// The work of a group in words: `sload-storm, 640M gas, workload 123456789abc`, then the number of
/// databases where there are several.
pub(crate) fn work_words(group: &Group<'_>) -> String {
    let work = group.workload;
    let digest = units::digest(&work.digest);
    let databases = match group.database_count() {
        0 => String::new(),
        count => format!(", {count} databases"),
    };
    format!("{}, {} gas, workload {digest}{databases}", work.scenario, units::count(work.gas))
}

/// The method that finds change points, in a sentence.
pub(crate) fn note(judged_count: usize) -> String {
    format!(
        "change points are found by a scan of the rank sums of the results' medians, and judged by \
         permutations: without a change, at most {} % of histories have one, over all {} with {} \
         results or more; a level has {LEVEL_COUNT_MIN} results or more",
        units::percent(FALSE_ALARM_RATE),
        units::things(judged_count as u64, "variant"),
        2 * LEVEL_COUNT_MIN,
    )
}

fn variant(page: &mut Page, series: &Series<'_>, ms_per: &str) {
    page.line(Tone::Strong, &series.cell().variant);
    let heads =
        HEADS.map(|(head, _)| if head == TIME_HEAD_PLACEHOLDER { ms_per } else { head }.to_owned());
    page.line(Tone::Faint, &line(heads));
    let changes = [None].into_iter().chain(series.changes.iter().map(Some));
    for (level, change) in series.levels().into_iter().zip(changes) {
        let points = &series.points[level];
        let [first, ..] = points else { continue };
        let times: Vec<f64> = points.iter().map(|point| point.ms).collect();
        let median = stats::median(&times).unwrap_or(first.ms);
        let tone = if change.is_some() { Tone::Warning } else { Tone::Plain };
        let texts = [
            if change.is_some() { "▲ " } else { "" }.to_owned(),
            units::moment(first.run.started_unix_s),
            format!(" {}", commit(first.run)),
            points.len().to_string(),
            units::plain(median),
            units::interval(stats::median_interval(&times), times.len(), units::plain),
            change.map_or_else(String::new, |change| format!("{:.3}", change.ratio)),
            change.map_or_else(String::new, p_words),
        ];
        page.line(tone, &line(texts));
        for fact in change.into_iter().flat_map(|change| &change.facts) {
            page.indented(Tone::Plain, 4, &format!("also changed: {fact}"));
        }
    }
}

/// The probability `p` of a change with five decimals: `0.00040`.
pub(crate) fn p_words(change: &Change) -> String {
    format!("{:.5}", change.p)
}

fn line(texts: [String; HEADS.len()]) -> String {
    let columns = texts.iter().zip(HEADS).enumerate();
    let padded = columns.map(|(index, (text, (_, width)))| match index {
        0..LEFT_COUNT => pad_right(text, width),
        _ => pad_left(text, width),
    });
    padded.collect()
}

#[cfg(test)]
mod tests {
    use result::Content;

    use super::*;
    use crate::{history::tests, tests::fits};

    /// Results with two variants that take longer from one of them on.
    fn results(count: usize, from: usize) -> Vec<Shown> {
        let mut results = tests::results(&tests::step(count, from, 1.5));
        for shown in &mut results {
            let Content::Run(run) = &mut shown.content else { panic!("a run") };
            run.cells.truncate(2);
        }
        results
    }

    #[test]
    fn each_level_has_a_line_and_a_change_its_mark_and_its_ratio() {
        let results = results(20, 12);
        for width in [80, 100] {
            let text = history_table(&results, width, Paint::Plain);
            assert!(
                text.starts_with("history  20 results, 2 variants, 2 change points\n"),
                "{text}"
            );
            fits(&text, width);
            assert_eq!(text.matches("▲ 2026-01-13 00:00 UTC").count(), 2, "{text}");
            assert_eq!(text.matches("  2026-01-01 00:00 UTC").count(), 2, "{text}");
            assert_eq!(text.matches("  1.5").count(), 2, "{text}");
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(
                words.contains("at most 5.0 % of histories have one, over all 2 variants"),
                "{text}"
            );
        }
    }

    #[test]
    fn series_of_other_work_are_told_apart_and_a_result_that_disagrees_is_told() {
        let mut results = results(3, 3);
        for (shown, change) in results.iter_mut().zip([0, 1, 2]) {
            let Content::Run(run) = &mut shown.content else { panic!("a run") };
            match change {
                1 => run.workload.digest = "fedcba9876543210".to_owned(),
                2 => run.agree = Some(false),
                _ => {}
            }
        }
        let text = history_table(&results, 80, Paint::Plain);
        assert!(
            text.contains("has series of its own") && text.contains("workload fedcba987654\n"),
            "{text}"
        );
        assert!(text.contains("DISAGREE 2.json"), "{text}");
        assert!(text.starts_with("history  2 results, 4 variants, 0 change points\n"), "{text}");
        assert!(history_table(&[], 80, Paint::Plain).starts_with("history  0 results"));
    }
}
