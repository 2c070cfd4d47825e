//! The page that a user reads after a run, from what was run to what was found.

use crate::result::RunResult;

use super::{
    Paint, cells, conclude, facts, head,
    page::{Page, Tone},
    units,
};

/// Differences that are shown; all are in the JSON.
const SHOWN_DISAGREEMENT_COUNT: usize = 8;

const DEEPER: &str = "--threads, --io-threads: depth; --slots, --gas: size; --set KEY=VALUE";
const OUT: &str = "--out DIR: every sample, phases, histograms";
const SAMPLES: &str = "--samples 8: intervals; ";

/// The result as a page of `width` columns (at least 24), each line ended by a newline. Where
/// the designs disagree it shows that first, and no figure.
pub fn table(result: &RunResult, width: usize, paint: Paint) -> String {
    let mut page = Page::new(width);
    let disagrees = facts::disagrees(result);
    if disagrees {
        disagreements(&mut page, result);
        page.gap();
    }
    if result.interrupted {
        page.line(
            Tone::Warning,
            match result.agree {
                None => "INTERRUPTED before its first sample: nothing was compared",
                Some(_) => "INTERRUPTED before its plan ended: what is finished is shown",
            },
        );
        page.gap();
    }
    head::work(&mut page, result);
    if disagrees {
        page.gap();
        cells::verdicts(&mut page, result);
    } else {
        head::device(&mut page, result);
        page.gap();
        cells::cells(&mut page, result);
    }
    page.gap();
    remarks(&mut page, result);
    let found = conclude(result).unwrap_or_else(|| "nothing was measured".to_owned());
    page.labelled(if disagrees { Tone::Alarm } else { Tone::Strong }, "found", &found);
    page.gap();
    if !disagrees {
        let few = |cell: &crate::result::Cell| cell.samples.len() < facts::INTERVAL_SAMPLE_COUNT;
        let samples = if result.cells.iter().any(few) { SAMPLES } else { "" };
        page.labelled(Tone::Faint, "deeper", &format!("{samples}{OUT}"));
        page.labelled(Tone::Faint, "", DEEPER);
    }
    page.render(paint)
}

fn disagreements(page: &mut Page, result: &RunResult) {
    page.line(Tone::Alarm, "THE DESIGNS DISAGREE");
    page.line(Tone::Alarm, "No figure of this run is to be believed; none is shown.");
    for text in result.disagreements.iter().take(SHOWN_DISAGREEMENT_COUNT) {
        page.labelled(Tone::Alarm, "differs", text);
    }
    let more = result.disagreements.len().saturating_sub(SHOWN_DISAGREEMENT_COUNT);
    if more > 0 {
        let text = format!("and {} more: --format json", units::count(more as u64));
        page.labelled(Tone::Alarm, "", &text);
    }
}

fn remarks(page: &mut Page, result: &RunResult) {
    for text in &result.warnings {
        page.labelled(Tone::Warning, "warning", text);
    }
    if result.expects.count > 0 {
        let status = result.expects.status.as_deref().unwrap_or("not evaluated");
        let claims = units::things(result.expects.count, "claim");
        page.labelled(Tone::Plain, "expects", &format!("{claims} of the scenario: {status}"));
    }
    page.gap();
}
