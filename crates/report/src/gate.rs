//! What a gate says, as a page: the verdict first, then what it rests on. And what a calibration
//! has learned.

use serde_json::Value;

use result::Claim;
use result::gate::{Attempt, Calibration, GateCell, GateResult, Judged, LookFacts, Verdict};

use super::{
    Paint,
    page::{Page, Tone},
    units,
};

/// The gate's result as a page of `width` columns.
pub fn gate(result: &GateResult, width: usize, paint: Paint) -> String {
    let mut page = Page::new(width);
    let gate = &result.gate;
    let verdict = gate.verdict.map_or("error", Verdict::name);
    let tone = if gate.verdict == Some(Verdict::Pass) { Tone::Strong } else { Tone::Warning };
    page.labelled(tone, "verdict", &format!("{}: {}", verdict.to_uppercase(), gate.reason));
    if let Some(work) = &result.workload {
        let digest: String = work.digest.chars().take(12).collect();
        let text = format!("{}, {} gas, workload {digest}", work.scenario, units::count(work.gas));
        page.labelled(Tone::Plain, "work", &text);
    }
    for binary in &result.binaries {
        let commit = binary.commit.as_deref().unwrap_or("unknown");
        let commit: String = commit.chars().take(10).collect();
        let text = format!("{}, version {}, commit {commit}", binary.path, binary.version);
        page.labelled(Tone::Plain, &binary.arm.to_string(), &text);
    }
    for (number, tried) in (1..).zip(&gate.attempts) {
        attempt(&mut page, number, tried, gate.attempts.len());
    }
    if let Some(compared) = &gate.baseline {
        page.gap();
        page.labelled(Tone::Plain, "baseline", &compared.path);
        let text = format!("{} compared", units::things(compared.counter_count, "counter"));
        page.labelled(Tone::Plain, "counters", &text);
        for change in &compared.counter_changes {
            page.labelled(Tone::Warning, "", change);
        }
        if let Some(reference) = &compared.reference {
            page.labelled(Tone::Plain, "over", reference);
        }
        for (label, shifts) in [("ratios", &compared.ratios), ("times", &compared.times)] {
            let mut label = label;
            for shift in shifts {
                let change = shift.change.map_or("unknown".to_owned(), percent);
                let text = format!("{}: {change}, {}", shift.variant, shift.verdict);
                page.labelled(Tone::Plain, label, &text);
                label = "";
            }
        }
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
        "{} of {passes}, {} a slot, a sample of A {:.2} ms",
        units::things(octet_count, "octet"),
        units::things(cell.samples_per_slot, "sample"),
        figure.base_ns as f64 / 1e6
    );
    page.labelled(Tone::Faint, "from", &text);
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

/// What was learned of a machine, as a page of `width` columns.
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
