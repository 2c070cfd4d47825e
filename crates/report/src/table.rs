//! The page that a user reads after a run, from the work to the finding.

use result::{Claim, ProfileFacts, RunResult, Verdict, stats::INTERVAL_COUNT_MIN};

use super::{
    Paint, cells, certainty, conclude, databases,
    facts::{self, Reading},
    found, head,
    page::{INDENT, Page, Tone, pad_left},
    sustained, units,
};

/// Differences that are shown; all are in the JSON.
const SHOWN_DISAGREEMENT_COUNT: usize = 8;

const DEEPER: &str = "--threads, --io-threads: depth; --slots, --gas: size; --set KEY=VALUE";
const OUT: &str = "--out DIR: every sample, phases, histograms";
/// The option of [`OUT`].
const OUT_OPTION: &str = "--out";
/// Both medians of two runs are unsure, so each needs a wider interval of its own.
const SAMPLES: &str = "--samples 6: intervals; 7: also of ratios to another run";
const DATABASES: &str = "--databases 6: intervals";

/// Width of a share.
const SHARE_WIDTH: usize = 6;

/// The result as a page of `width` columns (at least 24), each line ended by a newline. Where
/// the designs disagree it shows that first, and no figure.
pub fn table(result: &RunResult, width: usize, paint: Paint) -> String {
    let mut page = Page::new(width);
    let reading = Reading::new(result);
    let disagrees = reading.disagrees;
    if disagrees {
        disagreements(&mut page, result);
        page.gap();
    }
    if result.interrupted {
        page.line(
            Tone::Warning,
            match result.agree {
                None => "INTERRUPTED before its first sample: nothing was compared",
                Some(_) => "INTERRUPTED before its plan ended: finished samples are shown",
            },
        );
        page.gap();
    }
    head::work(&mut page, result);
    if disagrees {
        page.gap();
        cells::verdicts(&mut page, result);
    } else {
        head::device(&mut page, &reading);
        page.gap();
        cells::cells(&mut page, &reading);
        page.gap();
        beside(&mut page, &reading);
        sustained::sustained(&mut page, &reading);
        databases::databases(&mut page, &reading);
        profile(&mut page, result.profile.as_ref());
    }
    page.gap();
    if let Some(reason) = result.not_whole.as_deref().filter(|_| !disagrees) {
        page.labelled(Tone::Warning, "whole", &format!("not run: {reason}"));
        page.gap();
    }
    remarks(&mut page, result);
    let found = found::found(&reading).unwrap_or_else(|| "nothing was measured".to_owned());
    page.labelled(if disagrees { Tone::Alarm } else { Tone::Strong }, "found", &found);
    page.gap();
    if !disagrees {
        claims(&mut page, result);
    }
    if !disagrees {
        hints(&mut page, result);
    }
    page.render(paint)
}

/// The options that show more.
fn hints(page: &mut Page, result: &RunResult) {
    let has_few = result.cells.iter().any(|cell| cell.value_count() < INTERVAL_COUNT_MIN);
    let more = if result.databases.is_empty() { SAMPLES } else { DATABASES };
    let mut options = result.command.iter().filter_map(|word| word.strip_prefix(OUT_OPTION));
    let has_out = options.any(|rest| rest.is_empty() || rest.starts_with('='));
    let hints = [has_few.then_some(more), (!has_out).then_some(OUT), Some(DEEPER)];
    page.listed(Tone::Faint, "deeper", hints.into_iter().flatten());
}

fn disagreements(page: &mut Page, result: &RunResult) {
    page.line(Tone::Alarm, &facts::disagreement(result).to_uppercase());
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

/// Facts of several rows together: reads at equal depth, and how many samples would show more.
fn beside(page: &mut Page, reading: &Reading<'_>) {
    let (mut depths, mut sure) = (Vec::new(), Vec::new());
    for of in &reading.stores {
        let groups = facts::by_duties(&of.cells);
        let depth = groups.last().and_then(|cells| conclude::equal_depth(cells));
        depths.extend(depth.map(|words| (of.store, words)));
        for (index, cells) in groups.iter().enumerate() {
            let of_group = match index + 1 {
                _ if groups.len() == 1 => "",
                last if last == groups.len() => "alone: ",
                _ => "whole: ",
            };
            let words = certainty::words(cells);
            sure.extend(words.map(|words| (of.store, format!("{of_group}{words}"))));
        }
    }
    let many = reading.stores.len() > 1;
    for (label, of_stores) in [("depth", depths), ("sure", sure)] {
        for (stores, words) in facts::by_words(of_stores) {
            let of = if many { format!("{stores}: ") } else { String::new() };
            page.labelled(Tone::Plain, label, &format!("{of}{words}"));
        }
    }
    page.gap();
}

/// Adds where the CPU's time of a variant goes: the functions that ran most often, each with its share.
fn profile(page: &mut Page, profile: Option<&ProfileFacts>) {
    let Some(profile) = profile else { return };
    let text = format!(
        "{}: {} of {}; flame graph {}",
        profile.variant,
        units::things(profile.stack_count, "stack"),
        units::things(profile.sample_count, "more sample"),
        profile.flame_graph
    );
    page.labelled(Tone::Plain, "profile", &text);
    page.line(Tone::Faint, &profile_line(["self %", "with %"], "function"));
    for frame in &profile.frames {
        let shares = [frame.self_share, frame.total_share].map(units::percent);
        page.line(Tone::Plain, &profile_line(shares.each_ref().map(String::as_str), &frame.name));
    }
    page.indented(
        Tone::Faint,
        INDENT,
        "self: the function itself ran; with: it, or a function that it called",
    );
    page.gap();
}

fn profile_line(shares: [&str; 2], name: &str) -> String {
    let [own, all] = shares.map(|share| pad_left(share, SHARE_WIDTH));
    format!("{}{own} {all} {name}", " ".repeat(INDENT))
}

fn remarks(page: &mut Page, result: &RunResult) {
    for text in &result.warnings {
        page.labelled(Tone::Warning, "warning", text);
    }
    page.gap();
}

/// The verdicts on the scenario's claims: those that hold in one line, each other one in its own.
fn claims(page: &mut Page, result: &RunResult) {
    let expects = &result.expects;
    let Some(status) = &expects.status else { return };
    if expects.claims.is_empty() {
        let claims = units::things(expects.count, "claim");
        page.labelled(Tone::Plain, "claims", &format!("{claims} of the scenario: {status}"));
    }
    let mut label = "claims";
    let held = expects.claims.iter().filter(|claim| claim.verdict == Verdict::Holds).count();
    if held > 0 {
        page.labelled(Tone::Plain, label, &format!("{held} of {} hold", expects.claims.len()));
        label = "";
    }
    for claim in expects.claims.iter().filter(|claim| claim.verdict != Verdict::Holds) {
        let fails = claim.verdict == Verdict::Fails;
        let tone = if fails { Tone::Alarm } else { Tone::Warning };
        page.labelled(tone, label, &claim_words(claim));
        label = "";
    }
    page.gap();
}

/// `FAILS: speedup(a, b) on rocksdb is 1.31 (lower end 1.22), claimed at least 1.5`.
fn claim_words(claim: &Claim) -> String {
    let verdict = if claim.verdict == Verdict::Fails { "FAILS" } else { claim.verdict.name() };
    let on = claim.store.map(|store| format!(" on {store}")).unwrap_or_default();
    let value =
        claim.value.map_or_else(|| "is not known".to_owned(), |v| format!("is {}", figure(v)));
    let (side, bound) = (claim.bound.side(), claim.bound.words());
    let end =
        claim.near_end.map(|end| format!(" ({side} end {})", figure(end))).unwrap_or_default();
    let why = claim.reason.as_ref().map(|reason| format!("; {reason}")).unwrap_or_default();
    format!("{verdict}: {}{on} {value}{end}, claimed {bound} {}{why}", claim.metric, claim.limit)
}

/// Four significant digits, so that a figure next to its bound differs from it.
fn figure(value: f64) -> String {
    let digits = 3 - value.abs().max(f64::MIN_POSITIVE).log10().floor().clamp(-9.0, 3.0) as i32;
    format!("{value:.*}", usize::try_from(digits).unwrap_or(0))
}
