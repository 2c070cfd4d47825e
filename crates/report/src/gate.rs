//! A gate's result as a page: the verdict first, then its figures. And the estimates that a
//! calibration has learned.

use serde_json::Value;

use result::Claim;
use result::gate::{
    Attempt, Calibration, Compared, CountShift, DecidedBy, GateCell, GateResult, Judged, LookFacts,
    Shift, Verdict,
};

use super::{
    Paint,
    page::{Page, Tone},
    units,
};

/// The gate's result as a page of `width` columns.
pub fn gate(result: &GateResult, width: usize, paint: Paint) -> String {
    let mut page = Page::new(width);
    let gate = &result.gate;
    let verdict = gate.verdict_name();
    let tone = if gate.verdict == Some(Verdict::Pass) { Tone::Strong } else { Tone::Warning };
    page.labelled(tone, "verdict", &format!("{}: {}", verdict.to_uppercase(), gate.reason));
    if let Some(work) = &result.workload {
        let digest: String = work.digest.chars().take(12).collect();
        let text = format!("{}, {} gas, workload {digest}", work.scenario, units::count(work.gas));
        page.labelled(Tone::Plain, "work", &text);
    }
    for binary in &result.binaries {
        let mut text = match &binary.client {
            Some(client) => format!("{client}, {}", binary.path),
            None => format!("{}, stress {}", binary.path, binary.program.name()),
        };
        if !binary.settings.is_empty() {
            text.push_str(&format!(", with {}", binary.settings.join(", ")));
        }
        page.labelled(Tone::Plain, &binary.arm.to_string(), &text);
    }
    for (number, tried) in (1..).zip(&gate.attempts) {
        attempt(&mut page, number, tried, gate.attempts.len());
    }
    if let Some(compared) = &gate.baseline {
        page.gap();
        baseline(&mut page, compared);
    }
    claims(&mut page, result);
    page.gap();
    for warning in &result.warnings {
        page.labelled(Tone::Warning, "warning", warning);
    }
    let text = format!("{:.1} s, exit code {}", result.took_s, gate.exit_code);
    page.labelled(Tone::Faint, "took", &text);
    page.render(paint)
}

/// The comparison with stored results.
fn baseline(page: &mut Page, compared: &Compared) {
    page.labelled(Tone::Plain, "baseline", &compared.path);
    let [base, new] = compared.process_counts;
    let text = format!("{base} against {new}, each of a process");
    page.labelled(Tone::Plain, "results", &text);
    listed(page, Tone::Warning, "settings", compared.setting_changes.iter().cloned());
    let text = format!("{} compared", units::things(compared.counter_count, "counter"));
    page.labelled(Tone::Plain, "counters", &text);
    for change in &compared.counter_changes {
        page.labelled(Tone::Warning, "", change);
    }
    listed(page, Tone::Warning, "unpaired", compared.only_in_one.iter().cloned());
    if let Some(reference) = &compared.reference {
        page.labelled(Tone::Plain, "ratios", &format!("times relative to {reference}"));
    }
    let words = |name: &str, shift: &Shift| {
        let change = shift.change.map_or("unknown".to_owned(), percent);
        format!("{name}: {change}, {}", shift.verdict)
    };
    let of = |shifts: &[Shift]| {
        shifts.iter().map(|shift| words(&shift.variant, shift)).collect::<Vec<_>>()
    };
    listed(page, Tone::Plain, "", of(&compared.ratios));
    listed(page, Tone::Plain, "times", of(&compared.times));
    let counts = compared
        .counts
        .iter()
        .map(|CountShift { metric, shift }| words(&format!("{} {metric}", shift.variant), shift));
    listed(page, Tone::Plain, "counts", counts);
}

/// Lines of which the first has the label.
fn listed(page: &mut Page, tone: Tone, label: &str, lines: impl IntoIterator<Item = String>) {
    let mut label = label;
    for line in lines {
        page.labelled(tone, label, &line);
        label = "";
    }
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
            [] => page.labelled(Tone::Plain, "counters", "equal"),
            changes => page.labelled(Tone::Warning, "counters", &changes.join(", ")),
        }
        if cell.decided_by == DecidedBy::Counters {
            let text = "by the counters: the noise of a cold disk leaves the times open";
            page.labelled(Tone::Plain, "decided", text);
        }
        for figure in &cell.figures {
            judged(page, figure, cell);
        }
    }
}

fn judged(page: &mut Page, figure: &Judged, cell: &GateCell) {
    let Some(look) = figure.looks.last() else { return };
    let LookFacts { octet_count, change, lower, upper, null: [low, high] } = *look;
    let text = format!(
        "{}: {}, at least {}, at most {}; {} allowed",
        figure.verdict,
        percent(change),
        percent(lower),
        percent(upper),
        percent(figure.delta)
    );
    page.labelled(Tone::Plain, figure.metric.name(), &text);
    page.labelled(Tone::Plain, "A itself", &format!("{} to {}", percent(low), percent(high)));
    let passes = match cell.passes_per_octet {
        1 => "1 pass".to_owned(),
        count => format!("{count} passes"),
    };
    let text = format!(
        "{} of {passes}, {} a slot, a sample of A {}",
        units::things(octet_count, "octet"),
        units::things(cell.samples_per_slot, "sample"),
        figure.metric.words(figure.base)
    );
    page.labelled(Tone::Faint, "from", &text);
    let wanted = figure
        .samples_to_decide
        .map(|wanted| format!("about {} of each build would", units::things(wanted, "sample")));
    let delta = figure.delta_to_decide.map(|delta| {
        format!(
            "with --delta {:.1}% noise like this does in most runs, if nothing differs",
            delta * 100.0
        )
    });
    listed(page, Tone::Warning, "decides", wanted.into_iter().chain(delta));
}

fn claims(page: &mut Page, result: &GateResult) {
    for Claim { metric, bound, limit, verdict, .. } in
        result.expects.iter().flat_map(|expects| &expects.claims)
    {
        let holds = *verdict == result::Verdict::Holds;
        let tone = if holds { Tone::Plain } else { Tone::Warning };
        let text = format!("{metric} {bound} {}: {verdict}", Value::from(*limit));
        page.labelled(tone, "claim", &text);
    }
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
    for disturbance in &learned.disturbances {
        page.labelled(Tone::Warning, "warning", disturbance);
    }
    page.render(paint)
}

fn percent(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}
