//! The page of a calibration in the terminal, which compares a client with our designs. It has the
//! rank correlation of each design with the workloads whose ranks differ, then the figures of each
//! workload.

use super::{
    Paint,
    calibrated::{
        Calibrated, DesignFigures, Figures, ProgramFigures, RankDifference, Row, UnfinishedWorkload,
    },
    page::{Page, Tone, clip, pad_left, pad_right},
    units,
};

/// Maximal width of the names of the client and the designs. A longer name is cut.
const MAX_NAME_WIDTH: usize = 44;
/// Heads of the figures, in two lines.
const HEADS: [[&str; 2]; 5] =
    [["ms per", "batch"], ["reads", "a key"], ["bytes", "a read"], ["CPU", "ms"], ["root", "ms"]];
const FIGURE_WIDTH: usize = 9;

/// The calibration as a page of `width` columns.
pub fn calibration_table(calibrated: &Calibrated<'_>, width: usize, paint: Paint) -> String {
    let figures = Figures::new(calibrated);
    let mut page = Page::new(width);
    for design in &figures.designs {
        ranks(&mut page, &figures, design);
    }
    page.gap();
    workloads(&mut page, &figures);
    let wrong = calibrated.results.iter().filter(|shown| shown.agrees() == Some(false));
    for shown in wrong {
        let name = shown.workload().map_or("a workload", |work| work.scenario.as_str());
        page.labelled(Tone::Alarm, "DISAGREE", &format!("{name}: {}", shown.path.display()));
    }
    let unfinished = calibrated.unfinished.iter();
    let unfinished =
        unfinished.map(|UnfinishedWorkload { scenario, reason }| format!("{scenario}: {reason}"));
    page.each(Tone::Warning, "missing", unfinished);
    page.gap();
    let first = figures.rows.first();
    let includes = first.map(|row| format!("time of a client: {}", row.client.time_includes));
    page.each(Tone::Faint, "note", includes);
    page.render(paint)
}

/// Writes the line `ranks` of a design: `sequential: Spearman's rank correlation 0.83 over 14
/// workloads; the client takes 2.10 times as long, by the median`. The workloads on which the ranks
/// differ follow.
fn ranks(page: &mut Page, figures: &Figures<'_>, of: &DesignFigures) {
    let workloads = units::things(of.count as u64, "workload");
    let known = of.spearman.map_or_else(
        || "no rank correlation".to_owned(),
        |r| format!("Spearman's rank correlation {}", units::ratio(r)),
    );
    let times = of.times_ours.map(|times| {
        format!("; the client takes {} times as long, by the median", units::ratio(times))
    });
    let text = format!("{}: {known} over {workloads}{}", of.design, times.unwrap_or_default());
    page.labelled(Tone::Strong, "ranks", &text);
    let differences = of.rank_differences.iter();
    let differences =
        differences.map(|of| format!("parts at {}", rank_difference_words(figures, of)));
    page.each(Tone::Plain, "", differences);
}

/// The ranks of a workload in words: `test_x: rank 3 on the client, 9 in ours; its ratio of times
/// is 4.20 times the usual one, which CPU time explains (4.00 times)`.
pub(crate) fn rank_difference_words(figures: &Figures<'_>, difference: &RankDifference) -> String {
    let name = &figures.rows[difference.row].run.workload.scenario;
    let [theirs, ours] = difference.ranks;
    let why = match difference.term {
        Some((term, times)) => format!("which {term} explains ({} times)", units::ratio(times)),
        None => "which no measured term explains".to_owned(),
    };
    format!(
        "{name}: rank {theirs} on the client, {ours} in ours; its ratio of times is {} times the usual \
         one, {why}",
        units::ratio(difference.times_usual)
    )
}

fn workloads(page: &mut Page, figures: &Figures<'_>) {
    if figures.rows.is_empty() {
        page.line(Tone::Warning, "no workload was measured");
        return;
    }
    let width = page.width().saturating_sub(HEADS.len() * FIGURE_WIDTH).min(MAX_NAME_WIDTH);
    for line in 0..2 {
        let heads = HEADS.map(|head| pad_left(head[line], FIGURE_WIDTH)).concat();
        page.line(Tone::Faint, &format!("{}{heads}", pad_right("", width)));
    }
    for row in &figures.rows {
        page.line(Tone::Plain, &row.run.workload.scenario);
        for (name, side) in sides(row) {
            let name = pad_right(&clip(&format!("  {name}"), width), width);
            let figures = side_figures(&side).map(units::or_unknown);
            let figures = figures.map(|text| pad_left(&text, FIGURE_WIDTH)).concat();
            page.line(Tone::Plain, &format!("{name}{figures}"));
        }
    }
    page.gap();
}

/// The client and our designs with their names, the client first.
pub(crate) fn sides(row: &Row<'_>) -> Vec<(String, ProgramFigures)> {
    let ours = row.ours.iter().flatten().map(|(cell, side)| (cell.design.name().to_owned(), *side));
    [(row.client.client.clone(), row.theirs)].into_iter().chain(ours).collect()
}

/// The texts of the figures in the order of [`HEADS`].
pub(crate) fn side_figures(side: &ProgramFigures) -> [Option<String>; 5] {
    [
        Some(units::plain(side.ms)),
        side.reads_per_key.map(units::ratio),
        side.bytes_per_read.map(|bytes| units::bytes(bytes as u64)),
        side.cpu_ms.map(units::plain),
        side.root_ms.map(units::plain),
    ]
}

#[cfg(test)]
mod tests {
    use result::{Shown, Stored, example::client};

    use super::*;
    use crate::tests::fits;

    /// Workloads of which the first is slow on the client alone, by its CPU time.
    fn results() -> Vec<Shown> {
        let result = |index: u64| {
            let mut result = client::beside_designs();
            result.workload.scenario = format!("storm-{index}");
            for cell in &mut result.cells {
                cell.ms_per_batch.median = cell.ms_per_batch.median.map(|ms| ms * index as f64);
            }
            let ms = if index == 1 { 900_000 } else { 25_000 * index };
            result.clients = vec![client::timed(&[ms; 6])];
            Stored::new(format!("{index}.json").into(), result).into()
        };
        (1..=8).map(result).collect()
    }

    #[test]
    fn ranks_come_first_then_where_they_part_then_the_figures() {
        let results = results();
        let missing =
            [UnfinishedWorkload { scenario: "dapps".to_owned(), reason: "exit code 6".to_owned() }];
        let calibrated = Calibrated { results: &results, unfinished: &missing };
        for width in [80, 120] {
            let text = calibration_table(&calibrated, width, Paint::Plain);
            assert!(text.starts_with("ranks    sequential: Spearman's rank correlation"), "{text}");
            assert!(text.contains("over 8 workloads"), "{text}");
            assert!(text.contains("parts at storm-1: rank 8 on the client, 1 in"), "{text}");
            assert!(text.contains("  geth ") && text.contains("  batched-io "), "{text}");
            assert!(text.contains("missing  dapps: exit code 6"), "{text}");
            fits(&text, width);
        }
        let none = Calibrated { results: &[], unfinished: &missing };
        assert!(calibration_table(&none, 80, Paint::Plain).contains("no workload was measured"));
    }

    #[test]
    fn a_result_that_disagrees_has_no_figure() {
        let mut results = results();
        results.truncate(1);
        if let result::Content::Run(run) = &mut results[0].content {
            run.agree = Some(false);
        }
        let calibrated = Calibrated { results: &results, unfinished: &[] };
        let text = calibration_table(&calibrated, 80, Paint::Plain);
        assert!(text.contains("DISAGREE storm-1: 1.json") && !text.contains("geth "), "{text}");
    }
}
