//! The page of `stress run`, which a user reads after a run: the answer first, the work last.

use result::{Cell, Claim, ClaimVerdict, ProfileFacts, RunResult};

use super::{
    Paint, answer, cells, databases, depth,
    facts::{self, Reading},
    head,
    page::{INDENT, Page, Tone, pad_left},
    sustained, units,
};

/// Maximal number of disagreements that are shown; the JSON has all.
const SHOWN_DISAGREEMENT_COUNT: usize = 8;

/// Text on where all other figures are.
const DEEPER: &str =
    "--out DIR and `stress report DIR`: everything; docs/getting-started.md: each column";

const SHARE_WIDTH: usize = 6;

/// The result as a page of `width` columns (at least 24): answer, rows, and notes that change their
/// meaning. Each line ends with a newline. Where the designs disagree, the page says that first and
/// shows no figure.
pub fn table(result: &RunResult, width: usize, paint: Paint) -> String {
    let reading = Reading::new(result);
    let mut page = answer_and_rows(&reading, width);
    if !reading.disagrees {
        databases::databases(&mut page, &reading);
        sustained::sustained(&mut page, &reading);
        profile(&mut page, result.profile.as_ref());
    }
    head::work(&mut page, result);
    if !reading.disagrees {
        head::device(&mut page, &reading);
        notes(&mut page, &reading);
    }
    page.each(Tone::Warning, "warning", &result.warnings);
    page.gap();
    if !reading.disagrees {
        claims(&mut page, result);
        page.labelled(Tone::Faint, "deeper", DEEPER);
    }
    page.render(paint)
}

/// The answer and the rows of a result, as a page.
pub fn brief(result: &RunResult, width: usize, paint: Paint) -> String {
    answer_and_rows(&Reading::new(result), width).render(paint)
}

fn answer_and_rows(reading: &Reading<'_>, width: usize) -> Page {
    let mut page = Page::new(width);
    let result = reading.result;
    if reading.disagrees {
        disagreements(&mut page, result);
        page.gap();
    }
    if result.interrupted {
        let text = match result.agree {
            None => "INTERRUPTED before its first sample: nothing was compared",
            Some(_) => "INTERRUPTED before its plan ended: finished samples are shown",
        };
        page.line(Tone::Warning, text);
        page.gap();
    }
    if reading.disagrees {
        cells::verdicts(&mut page, result);
    } else {
        answers(&mut page, reading);
        cells::cells(&mut page, reading);
    }
    page.gap();
    page
}

/// The answer on each store, and the clients beside them.
fn answers(page: &mut Page, reading: &Reading<'_>) {
    let answers = answer::answers(reading);
    for answer in &answers {
        if let Some(store) = answer.store {
            page.line(Tone::Faint, store.name());
        }
        for (index, (label, text)) in answer.lines.iter().enumerate() {
            let tone = if index == 0 { Tone::Strong } else { Tone::Plain };
            page.labelled(tone, label, text);
        }
        page.gap();
    }
    match answer::clients(reading.result) {
        Some(clients) => page.labelled(Tone::Strong, "clients", &clients),
        None if answers.is_empty() => {
            page.labelled(Tone::Strong, "fastest", "nothing was measured")
        }
        None => {}
    }
    page.gap();
}

/// Returns whether a whole block took less time than the same row of execution alone.
fn is_below_its_part(whole: &Cell, cells: &[&Cell]) -> bool {
    let mut rows = cells.iter().filter(|alone| {
        (alone.duty_count() < whole.duty_count())
            && facts::row_name(alone) == facts::row_name(whole)
    });
    rows.any(|alone| facts::time_ms(whole) < facts::time_ms(alone))
}

/// Writes notes that change the meaning of the rows. They are on reads at equal depth, on a whole
/// block faster than its execution alone, and on the reason why no row is whole.
fn notes(page: &mut Page, reading: &Reading<'_>) {
    for of in &reading.stores {
        let groups = facts::by_duties(&of.cells);
        let depth = groups.last().and_then(|cells| depth::equal_depth(cells));
        if let Some(words) = depth {
            let is_one = reading.stores.len() == 1;
            let store = if is_one { String::new() } else { format!("{}: ", of.store) };
            page.labelled(Tone::Plain, "depth", &format!("{store}{words}"));
        }
        let odd = of.cells.iter().filter(|cell| is_below_its_part(cell, &of.cells));
        for cell in odd {
            let row = facts::row_name(cell);
            let text = format!(
                "{row} on {}: a whole block took less than execution alone, which is part of it: noise",
                of.store
            );
            page.labelled(Tone::Warning, "odd", &text);
        }
    }
    let not_whole = reading.result.not_whole.as_ref();
    page.each(Tone::Warning, "whole", not_whole.map(|reason| format!("not run: {reason}")));
}

fn disagreements(page: &mut Page, result: &RunResult) {
    page.line(Tone::Alarm, &facts::disagreement(result).to_uppercase());
    page.line(Tone::Alarm, "No figure of this run is to be believed; none is shown.");
    let shown = result.disagreements.iter().take(SHOWN_DISAGREEMENT_COUNT);
    page.each(Tone::Alarm, "differs", shown);
    let more = units::beyond(result.disagreements.len(), SHOWN_DISAGREEMENT_COUNT);
    page.each(Tone::Alarm, "", more.map(units::more_in_json));
}

/// Writes the profile of a variant: the functions that ran most often, each with its share of the
/// CPU's time.
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
    let legend = "self: the function itself ran; with: it, or a function that it called";
    page.indented(Tone::Faint, INDENT, legend);
    page.gap();
}

fn profile_line(shares: [&str; 2], name: &str) -> String {
    let [own, all] = shares.map(|share| pad_left(share, SHARE_WIDTH));
    format!("{}{own} {all} {name}", " ".repeat(INDENT))
}

/// Writes the verdicts on the scenario's claims: one line for all claims that hold, and one for
/// each other claim.
fn claims(page: &mut Page, result: &RunResult) {
    let expects = &result.expects;
    let Some(status) = &expects.status else { return };
    if expects.claims.is_empty() {
        let claims = units::things(expects.count, "claim");
        page.labelled(Tone::Plain, "claims", &format!("{claims} of the scenario: {status}"));
    }
    let (held, others): (Vec<_>, Vec<_>) =
        expects.claims.iter().partition(|claim| claim.verdict == ClaimVerdict::Holds);
    let held_words = format!("{} of {} hold", held.len(), expects.claims.len());
    page.listed(Tone::Plain, "claims", Some(held_words).filter(|_| !held.is_empty()));
    for (index, claim) in others.into_iter().enumerate() {
        let fails = claim.verdict == ClaimVerdict::Fails;
        let tone = if fails { Tone::Alarm } else { Tone::Warning };
        let label = if index == 0 && held.is_empty() { "claims" } else { "" };
        page.labelled(tone, label, &claim_words(claim));
    }
    page.gap();
}

/// A claim in words: `FAILS: speedup(a, b) on rocksdb is 1.310 (lower end 1.220), claimed at least
/// 1.5`.
fn claim_words(claim: &Claim) -> String {
    let verdict = if claim.verdict == ClaimVerdict::Fails { "FAILS" } else { claim.verdict.name() };
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
