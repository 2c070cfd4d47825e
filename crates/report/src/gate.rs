//! The page of `stress gate` in the terminal: the verdict first, then its figures. A second page
//! has the estimates of a calibration, such as the smallest change that the machine can detect.

use serde_json::Value;
use variant::CacheMode;

use result::gate::{
    Attempt, Calibration, Compared, DecidedBy, GateCell, GateResult, Mode, Shift, Verdict,
};
use result::{Claim, WorkloadFacts};

mod figures;

use super::{
    Paint,
    page::{Page, Tone},
    units,
};

use figures::Line;

/// The gate's result as a page of `width` columns. `cache` is the cache mode of the samples, where
/// it is known.
pub fn gate(result: &GateResult, cache: Option<CacheMode>, width: usize, paint: Paint) -> String {
    let mut page = Page::new(width);
    let gate = &result.gate;
    let verdict = gate.verdict_name();
    let tone = if gate.verdict == Some(Verdict::Pass) { Tone::Strong } else { Tone::Warning };
    page.labelled(tone, "verdict", &format!("{}: {}", verdict.to_uppercase(), gate.reason));
    let work = result.workload.iter().map(|work| work_in_words(work, cache));
    page.each(Tone::Plain, "work", work);
    for binary in &result.binaries {
        let mut text = match &binary.client {
            Some(client) => format!("{client}, {}", binary.path),
            None => format!("{}, stress {}", binary.path, binary.program.name()),
        };
        let settings = binary.settings_in_words();
        if !settings.is_empty() {
            text.push_str(&format!(", with {}", settings.join(", ")));
        }
        page.labelled(Tone::Plain, &binary.arm.to_string(), &text);
    }
    for (number, tried) in (1..).zip(&gate.attempts) {
        attempt(&mut page, number, tried, gate.attempts.len());
    }
    if let Some(compared) = &gate.baseline {
        page.gap();
        baseline(&mut page, compared, gate.delta);
    }
    claims(&mut page, result);
    next(&mut page, result);
    page.gap();
    page.each(Tone::Warning, "warning", &result.warnings);
    let text = format!("{:.1} s, exit code {}", result.took_s, gate.exit_code);
    page.labelled(Tone::Faint, "took", &text);
    page.render(paint)
}

/// The work in words: `sload-storm, 12M gas, a state of 200k slots, warm, workload 0x5f1e2d3c4b`.
fn work_in_words(work: &WorkloadFacts, cache: Option<CacheMode>) -> String {
    let digest = units::digest(&work.digest);
    let sized = work.sized_slot_count.filter(|count| *count > 0);
    let slots = units::things(sized.unwrap_or(work.state_slot_count), "slot");
    let cache = cache.map(|cache| format!(", {cache}")).unwrap_or_default();
    let (scenario, gas) = (&work.scenario, units::count(work.gas));
    format!("{scenario}, {gas} gas, a state of {slots}{cache}, workload {digest}")
}

/// Writes the comparison with stored results.
fn baseline(page: &mut Page, compared: &Compared, delta: f64) {
    page.labelled(Tone::Plain, "baseline", &compared.path);
    let [base, new] = compared.process_counts;
    let text = format!("{base} against {new}, each of a process");
    page.labelled(Tone::Plain, "results", &text);
    page.listed(Tone::Warning, "settings", &compared.setting_changes);
    let text = format!("{} compared", units::things(compared.counter_count, "counter"));
    page.labelled(Tone::Plain, "counters", &text);
    page.listed(Tone::Warning, "", &compared.counter_changes);
    page.listed(Tone::Warning, "unpaired", &compared.only_in_one);
    let reference = compared.reference.iter();
    let reference = reference.map(|reference| format!("times relative to {reference}"));
    page.each(Tone::Plain, "ratios", reference);
    let lines = shifts(compared).map(|(name, shift)| Line::shifted(name, shift, delta));
    page.gap();
    figures::table(page, &lines.collect::<Vec<_>>());
}

/// The changes from stored results, each with the name of its figure: `ratio`, `time` or a count.
pub(crate) fn shifts(compared: &Compared) -> impl Iterator<Item = (&'static str, &Shift)> {
    let ratios = compared.ratios.iter().map(|shift| ("ratio", shift));
    let times = compared.times.iter().map(|shift| ("time", shift));
    let counts = compared.counts.iter().map(|count| (count.metric.name(), &count.shift));
    ratios.chain(times).chain(counts)
}

fn attempt(page: &mut Page, number: u64, attempt: &Attempt, count: usize) {
    page.gap();
    if count > 1 {
        let text = format!("{}: {}", attempt.verdict, attempt.reason);
        page.labelled(Tone::Plain, &format!("try {number}"), &text);
    }
    for cell in &attempt.cells {
        page.labelled(Tone::Strong, "variant", &cell.variant);
        match cell.counter_changes.as_slice() {
            [] if cell.octets.is_empty() => {
                let text = "equal in the warm-up, not yet compared in an octet";
                page.labelled(Tone::Plain, "counters", text);
            }
            [] => page.labelled(Tone::Plain, "counters", "equal"),
            changes => page.labelled(Tone::Warning, "counters", &changes.join(", ")),
        }
        if cell.decided_by == DecidedBy::Counters {
            let text = "by the counters: the noise of a cold disk leaves the times open";
            page.labelled(Tone::Plain, "decided", text);
        }
        let lines: Vec<Line> = cell.figures.iter().filter_map(Line::judged).collect();
        figures::table(page, &lines);
        samples(page, cell);
        decides(page, cell);
    }
}

/// Writes the number of samples behind a cell's figures: `6 octets of 1 pass, 1 sample a slot; a
/// sample of A: 4.90 ms`.
fn samples(page: &mut Page, cell: &GateCell) {
    let counts = cell.figures.iter().filter_map(|figure| Some(figure.looks.last()?.octet_count));
    let (Some(least), Some(most)) = (counts.clone().min(), counts.max()) else { return };
    let octets = match least == most {
        true => units::things(most, "octet"),
        false => format!("{least} to {}", units::things(most, "octet")),
    };
    let passes = match cell.passes_per_octet {
        1 => "1 pass".to_owned(),
        count => format!("{count} passes"),
    };
    let bases = cell.figures.iter().map(|figure| figure.metric.words(figure.base));
    let text = format!(
        "{octets} of {passes}, {} a slot; a sample of A: {}",
        units::things(cell.samples_per_slot, "sample"),
        units::joined(bases, ", ")
    );
    page.labelled(Tone::Faint, "from", &text);
}

/// Writes for each open figure the number of samples, or the δ, that would decide it.
fn decides(page: &mut Page, cell: &GateCell) {
    let lines = cell.figures.iter().flat_map(|figure| {
        let wanted = figure.samples_to_decide.map(|wanted| {
            let samples = units::things(wanted, "sample");
            format!("{}: about {samples} of each build would", figure.metric)
        });
        let delta = figure.delta_to_decide.map(|delta| {
            format!(
                "{}: with --delta {:.1}% noise like this does in most runs, if nothing differs",
                figure.metric,
                delta * 100.0
            )
        });
        wanted.into_iter().chain(delta)
    });
    page.listed(Tone::Warning, "decides", lines);
}

fn claims(page: &mut Page, result: &GateResult) {
    for Claim { metric, bound, limit, verdict, .. } in
        result.expects.iter().flat_map(|expects| &expects.claims)
    {
        let holds = *verdict == result::ClaimVerdict::Holds;
        let tone = if holds { Tone::Plain } else { Tone::Warning };
        let text = format!("{metric} {bound} {}: {verdict}", Value::from(*limit));
        page.labelled(tone, "claim", &text);
    }
}

/// Writes how to find the cause of a regression between two builds.
fn next(page: &mut Page, result: &GateResult) {
    let gate = &result.gate;
    let are_builds = result.binaries.iter().all(|binary| binary.client.is_none());
    let is_regression = gate.verdict == Some(Verdict::Regression) && gate.mode == Mode::Against;
    let mut cells = gate.attempts.iter().flat_map(|attempt| &attempt.cells);
    let slower = cells.find(|cell| cell.verdict == Verdict::Regression);
    let Some(GateCell { variant, .. }) = slower.filter(|_| are_builds && is_regression) else {
        return;
    };
    let text = format!(
        "to find the cause, run the same work as A and as B with --profile {variant}; another gate is \
         not needed, a regression is final"
    );
    page.labelled(Tone::Plain, "next", &text);
}

/// The estimates of a machine, as a page of `width` columns.
pub fn calibration(learned: &Calibration, width: usize, paint: Paint) -> String {
    let mut page = Page::new(width);
    for cell in &learned.cells {
        page.labelled(Tone::Strong, "variant", &cell.variant);
        let text = format!(
            "{:.2} % standard error of 12 octets, a sample {:.2} ms",
            cell.error * 100.0,
            cell.base_ns as f64 / 1e6
        );
        page.labelled(Tone::Plain, "itself", &text);
        let text = format!("{:.1} % and more", cell.smallest_delta * 100.0);
        page.labelled(Tone::Plain, "decides", &text);
    }
    page.each(Tone::Warning, "warning", &learned.disturbances);
    page.render(paint)
}

#[cfg(test)]
mod tests {
    use result::{
        example,
        gate::{CountShift, LookFacts, Metric},
    };

    use super::*;
    use crate::tests::{build, fits, shift};

    /// A gate with a regression of its time and of its requests.
    fn regression() -> GateResult {
        let mut result = example::gate::passed();
        let figures = &mut result.gate.attempts[0].cells[0].figures;
        let mut requests = figures[0].clone();
        (requests.metric, requests.base) = (Metric::Requests, 17);
        (requests.verdict, figures[0].verdict) = (Verdict::Regression, Verdict::Regression);
        let look = LookFacts { change: 519.328, lower: 400.0, upper: 600.0, ..requests.looks[0] };
        requests.looks = vec![look];
        figures.push(requests);
        result
    }

    #[test]
    fn figures_are_lines_of_a_table_with_bounds_allowed_and_a_to_itself() {
        let text = gate(&regression(), None, 80, Paint::Plain);
        let line = |start: &str| {
            let mut lines = text.lines().filter(|line| line.starts_with(start));
            let line = lines.next().unwrap_or_else(|| panic!("{start}: {text}")).to_owned();
            assert_eq!(lines.next(), None, "{start}: {text}");
            line.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert!(text.contains("verdict") && text.contains("A to itself"), "{text}");
        assert_eq!(line("wall "), "wall regression +0.1 -0.4 to +0.6 3.0 -0.3 to +0.2");
        let requests = "requests regression +51932.8 +40000.0 to +60000.0 3.0 -0.3 to +0.2";
        assert_eq!(line("requests "), requests);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("a sample of A: 4902.00 ms, 17 requests"), "{text}");
    }

    #[test]
    fn a_regression_between_builds_says_how_to_find_its_cause() {
        let next = |result: &GateResult| {
            let text = gate(result, None, 200, Paint::Plain);
            text.lines().find(|line| line.starts_with("next")).map(str::to_owned)
        };
        let mut result = regression();
        assert_eq!(next(&result), None, "it passes");
        result.gate.verdict = Some(Verdict::Regression);
        let cell = &mut result.gate.attempts[0].cells[0];
        cell.verdict = Verdict::Regression;
        let words = format!(" with --profile {};", cell.variant);
        assert!(next(&result).is_some_and(|line| line.contains(&words)), "{words}");
        result.gate.mode = Mode::Baseline;
        assert_eq!(next(&result), None);
    }

    #[test]
    fn the_work_has_its_state_and_the_cache_where_that_is_known() {
        let line = |cache| {
            let text = gate(&example::gate::passed(), cache, 120, Paint::Plain);
            let line = text.lines().find(|line| line.starts_with("work"));
            line.unwrap_or_default().to_owned()
        };
        let (warm, unknown) = (line(Some(CacheMode::Warm)), line(None));
        assert!(warm.contains(" gas, a state of 128M slots, warm, workload "), "{warm}");
        assert!(unknown.contains(" gas, a state of 128M slots, workload "), "{unknown}");
    }

    #[test]
    fn counters_before_the_first_octet_are_those_of_the_warm_up() {
        let counters = |result: &GateResult| {
            let text = gate(result, None, 80, Paint::Plain);
            let line = text.lines().find(|line| line.starts_with("counters"));
            line.map(|line| line.trim_start_matches("counters").trim().to_owned())
        };
        let mut result = example::gate::passed();
        assert_eq!(counters(&result).as_deref(), Some("equal"));
        result.gate.attempts[0].cells[0].octets.clear();
        let early = "equal in the warm-up, not yet compared in an octet";
        assert_eq!(counters(&result).as_deref(), Some(early));
    }

    #[test]
    fn a_setting_of_one_build_stands_beside_the_value_of_the_other() {
        let mut result = example::gate::passed();
        let of_a = build('A', &[("run.read", "multi-get", true)]);
        result.binaries = vec![of_a, build('B', &[("run.read", "get", false)])];
        let text = gate(&result, None, 120, Paint::Plain);
        let line = |arm: &str| text.lines().find(|line| line.starts_with(arm)).unwrap_or_default();
        assert!(line("A ").ends_with(", with run.read = multi-get (default)"), "{text}");
        assert!(line("B ").ends_with(", with run.read = get"), "{text}");
        // A client's line has the arguments that the other one does not get.
        result.binaries[0].effective_settings.clear();
        result.binaries[0].settings = vec!["--cache=1".to_owned()];
        let text = gate(&result, None, 120, Paint::Plain);
        assert!(text.contains(", with --cache=1"), "{text}");
    }

    #[test]
    fn a_narrow_page_has_the_same_figures_as_paragraphs() {
        for width in [24, 40, 60] {
            let text = gate(&regression(), None, width, Paint::Plain);
            fits(&text, width);
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            for part in ["bounds +40000.0 to +60000.0 %", "allowed 3.0 %", "A to itself -0.3 to"] {
                assert!(words.contains(part), "{part}: {text}");
            }
        }
    }

    #[test]
    fn stored_results_have_a_line_for_each_ratio_time_and_count() {
        let mut result = example::gate::passed();
        result.gate.attempts.clear();
        let shift = Shift { upper: None, ..shift() };
        let counts = vec![CountShift { metric: Metric::Bytes, shift: shift.clone() }];
        let (ratios, times) = (vec![shift.clone()], vec![shift]);
        result.gate.baseline = Some(Compared { ratios, times, counts, ..Compared::default() });
        let text = gate(&result, None, 80, Paint::Plain);
        for what in ["ratio", "time", "bytes"] {
            let start = format!("memory/x {what}");
            let line = text.lines().find(|line| line.starts_with(&start));
            let line = line.unwrap_or_else(|| panic!("{what}: {text}"));
            let words = ["inconclusive", "+2.1", "-1.0 to -", "3.0"];
            assert!(words.iter().all(|word| line.contains(word)), "{line}");
        }
        assert!(!text.contains("A to itself"), "{text}");
    }
}
