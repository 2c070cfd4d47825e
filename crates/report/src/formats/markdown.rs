//! Results as Markdown, for a pull request or a CI job: the finding, the fastest row of each
//! design, and the warnings. It is at most a screen long, however many results there are.

use result::{
    Bottleneck, Cell, Claim, ClaimVerdict, ClientCell, Content, Estimate, RunResult, Shown,
};
use variant::steers_terminal;

use crate::{
    answer, axes, certainty, facts, html, units,
    warnings::{Warning, grouped},
};

/// Maximal number of rows in the table, of results, of claims that do not hold in a result, and of
/// warnings.
const ROW_COUNT: usize = 12;
const RESULT_COUNT: usize = 3;
const CLAIM_COUNT: usize = 4;
const WARNING_COUNT: usize = 3;
/// Maximal number of characters of a text from a result.
const TEXT_LENGTH: usize = 400;

/// The Markdown summary.
pub fn markdown(results: &[Shown]) -> String {
    let mut lines = vec![headline(results), String::new()];
    let all: Vec<&Shown> = results.iter().collect();
    lines.extend(head(&all));
    // No cell of a sweep stands for the others: those that need attention are listed.
    let is_sweep = axes::is_sweep(&all);
    let told: Vec<&Shown> =
        results.iter().filter(|shown| !is_sweep || needs_attention(shown)).collect();
    for shown in told.iter().take(RESULT_COUNT) {
        // A single result needs no name.
        let name = match results {
            [_] => String::new(),
            _ => format!("`{}`: ", code(&shown.path.to_string_lossy())),
        };
        lines.extend(found(shown, &name));
    }
    let more = units::beyond(told.len(), RESULT_COUNT);
    lines.extend(more.map(|more| format!("- and {}", units::things(more, "more result"))));
    lines.push(String::new());
    lines.extend(table(results));
    lines.extend(warnings(results));
    lines.extend(commands(results));
    lines.join("\n") + "\n"
}

/// The facts that several results share, and the axes of a sweep.
fn head(results: &[&Shown]) -> Vec<String> {
    if results.len() < 2 {
        return Vec::new();
    }
    let works: Vec<_> = results.iter().filter_map(|shown| shown.workload()).collect();
    let count = units::things(results.len() as u64, "result");
    let differ = match axes::differing(&works).as_slice() {
        [] => String::new(),
        names => format!("; they differ in {}", names.join(", ")),
    };
    let shared = axes::shared_words(&works);
    let mut lines = vec![text(&format!("{count}; in all: {shared}{differ}"))];
    let axes = axes::axes(results);
    let axes =
        axes.iter().map(|axis| format!("`{}` {}", code(&axis.key), text(&axis.values.join(", "))));
    let axes = units::any_joined(axes, " × ");
    lines.extend(axes.map(|axes| format!("axes of the sweep: {axes}")));
    lines.into_iter().map(|line| format!("- {line}")).collect()
}

/// Whether a result needs attention: it is no run whose designs agree, it ended early, or one of
/// its claims does not hold.
fn needs_attention(shown: &Shown) -> bool {
    let is_open = shown.run().is_some_and(|run| {
        run.interrupted || run.expects.claims.iter().any(|of| of.verdict != ClaimVerdict::Holds)
    });
    is_open || !shown.is_sound()
}

fn headline(results: &[Shown]) -> String {
    let work = results.first().and_then(Shown::workload);
    let scenario = text(work.map_or("a workload", |work| &work.scenario));
    let wrong = results.iter().filter(|shown| shown.agrees() == Some(false)).count();
    let gates = results.iter().filter_map(Shown::gate);
    let gate: Vec<_> = gates.map(|of| format!("gate: {}", text(of.gate.verdict_name()))).collect();
    let failed = results
        .iter()
        .filter_map(Shown::run)
        .filter(|run| run.expects.status.as_deref() == Some(ClaimVerdict::Fails.name()));
    let verdict = match (wrong, gate.as_slice(), failed.count()) {
        (0, [], 0) if results.iter().all(Shown::is_sound) => "all designs agree".to_owned(),
        (0, [], 0) => "nothing was compared".to_owned(),
        (0, [], _) => "a claim fails".to_owned(),
        (0, gates, _) => gates.join(", "),
        _ => {
            let runs = results.iter().filter_map(Shown::run);
            let wrong = runs.filter(|run| run.agree == Some(false)).map(facts::disagreement);
            // Designs come before clients, where several results disagree.
            let who = wrong.max().unwrap_or("the designs disagree").to_uppercase();
            format!("{who}: no figure is to be believed")
        }
    };
    format!("### stress: {scenario}: {verdict}")
}

fn found(shown: &Shown, name: &str) -> Vec<String> {
    match &shown.content {
        Content::Run(run) => run_lines(run, name),
        Content::Gate(result) => vec![format!("- {name}gate: {}", text(&result.gate.reason))],
    }
}

fn run_lines(run: &RunResult, name: &str) -> Vec<String> {
    let mut lines = Vec::new();
    if run.agree == Some(false) {
        let first = run.disagreements.first().map_or("see the result", String::as_str);
        lines.push(format!("- {name}**{}**: {}", facts::disagreement(run), text(first)));
        return lines;
    }
    let interrupted = if run.interrupted { "**interrupted**; " } else { "" };
    let conclusion = answer::conclusion(run);
    let conclusion = conclusion.as_deref().map_or("nothing was measured".to_owned(), text);
    lines.push(format!("- {name}{interrupted}{conclusion}"));
    if !run.databases.is_empty() {
        let count = units::things(run.databases.len() as u64, "database");
        let seeds = facts::seeds(&run.databases);
        let line = format!("{count}, of seeds {seeds}; each is one value of a figure");
        lines.push(format!("- {}", text(&line)));
    }
    let claims = &run.expects.claims;
    let (held, others): (Vec<_>, Vec<_>) =
        claims.iter().partition(|claim| claim.verdict == ClaimVerdict::Holds);
    if !held.is_empty() {
        lines.push(format!("- {} of {} claims hold", held.len(), claims.len()));
    }
    lines.extend(others.into_iter().take(CLAIM_COUNT).map(broken));
    lines
}

/// A claim that does not hold.
fn broken(claim: &Claim) -> String {
    let bound = claim.bound.words();
    format!(
        "- **{}**: {} is {}, claimed {bound} {} {}",
        text(claim.verdict.name()),
        text(&claim.metric),
        claim.value.map_or("-".to_owned(), units::plain),
        units::plain(claim.limit),
        text(claim.reason.as_deref().unwrap_or_default())
    )
}

/// The table: for each store and design the fastest cell over all results, then the clients. Cells
/// with more duties, and with several samples, stand before faster ones.
fn table(results: &[Shown]) -> Vec<String> {
    let sound = results.iter().filter(|shown| shown.is_sound());
    let cells = sound.flat_map(|of| of.cells().iter().map(move |cell| (of, cell)));
    let designs =
        facts::grouped(cells, |(_, a), (_, b)| (a.store, a.design) == (b.store, b.design));
    let best = designs.into_iter().filter_map(|cells| {
        cells.into_iter().reduce(|a, b| if rank(b.1) > rank(a.1) { b } else { a })
    });
    let best: Vec<(&Shown, &Cell)> = best.collect();
    let sound = results.iter().filter(|shown| shown.is_sound()).filter_map(Shown::run);
    let clients: Vec<&ClientCell> = sound.flat_map(|run| &run.clients).collect();
    if best.is_empty() && clients.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![
        format!(
            "| each design at its best | MGas/s | 95 % | {} | % of disk | bottleneck |",
            facts::ms_per(results.iter().filter_map(Shown::workload))
        ),
        "|---|--:|--:|--:|--:|---|".to_owned(),
    ];
    let rows = best
        .iter()
        .map(|(of, cell)| row(of, cell))
        .chain(clients.iter().map(|client| client_row(client)));
    lines.extend(rows.take(ROW_COUNT));
    let more = units::beyond(best.len() + clients.len(), ROW_COUNT);
    lines.extend(more.map(|more| format!("\nand {more} more")));
    lines.push(String::new());
    lines
}

fn rank(cell: &Cell) -> (usize, bool, f64) {
    let speed = cell.mgas_per_s.median.unwrap_or(f64::NEG_INFINITY);
    (cell.duty_count(), certainty::is_repeated(cell), speed)
}

/// The row of the best cell of a design, and its result.
fn row(of: &Shown, cell: &Cell) -> String {
    // The rows of a sweep may be of different work.
    let keys = of.swept.iter().map(|(key, value)| format!("{key}={value}"));
    let keys = units::any_joined(keys, " ").map(|keys| format!(" in `{}`", code(&keys)));
    format!(
        "| `{}`{} | {} | {} | {} |",
        code(&cell.variant),
        keys.unwrap_or_default(),
        figures(cell.mgas_per_s, cell.value_count(), cell.ms_per_batch),
        units::or_unknown(cell.device_fraction.map(units::percent)),
        text(facts::bottleneck(cell).map_or(units::UNKNOWN, Bottleneck::name)),
    )
}

fn client_row(client: &ClientCell) -> String {
    let figures = figures(client.mgas_per_s, client.counted().len(), client.ms_per_batch);
    format!("| client `{}` | {figures} | - | - |", code(&client.client))
}

/// Throughput with its interval, or `n=` and the number of values; and the time.
fn figures(rate: Estimate, value_count: usize, time: Estimate) -> String {
    let ends = units::interval(rate.ci95, value_count, units::number);
    let [rate, time] = [rate.median.map(units::number), time.median.map(units::plain)];
    format!("{} | {ends} | {}", units::or_unknown(rate), units::or_unknown(time))
}

fn warnings(results: &[Shown]) -> Vec<String> {
    let all = grouped(results.iter().map(Shown::warnings));
    if all.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![format!("**{}**", units::things(all.len() as u64, "warning"))];
    lines.extend(all.iter().take(WARNING_COUNT).map(|of| warning(of, results.len())));
    lines.push(String::new());
    lines
}

/// A warning, with the number of results that have it: `- the CPU was throttled (in 3 of 8
/// results)`.
fn warning(of: &Warning<'_>, result_count: usize) -> String {
    let beside = match of.results.len() {
        count if count == result_count => String::new(),
        count => format!(" (in {count} of {result_count} results)"),
    };
    format!("- {}{beside}", text(of.text))
}

fn commands(results: &[Shown]) -> Vec<String> {
    let first = results.first();
    let command = first.map(|shown| html::words(shown.command())).unwrap_or_default();
    let digest = first.and_then(Shown::workload).map(|work| work.digest.as_str());
    let of = if results.len() > 1 { "of the first: " } else { "" };
    vec![format!(
        "<sub>{of}workload `{}`; made by `{}`</sub>",
        code(&digest.unwrap_or("unknown").chars().take(14).collect::<String>()),
        code(&command)
    )]
}

/// Escapes text of a result, which may be hostile, so that it cannot become markup. A long text is
/// cut after a word.
pub(super) fn text(text: &str) -> String {
    let mut short: String = text.chars().take(TEXT_LENGTH).collect();
    if short.len() < text.len()
        && let Some((words, _)) = short.rsplit_once(' ')
    {
        short.truncate(words.len());
    }
    let dots = if short.len() < text.len() { "…" } else { "" };
    let mut safe = String::new();
    for c in short.chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '&' => safe.push_str("&amp;"),
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' | '#' | '@' | '!' => {
                safe.push('\\');
                safe.push(c);
            }
            c if steers_terminal(c) => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe + dots
}

/// Text that may stand between backticks, also in a table.
fn code(text: &str) -> String {
    text.chars()
        .take(TEXT_LENGTH)
        .map(|c| match c {
            '`' => '\'',
            '|' => '¦',
            c if steers_terminal(c) => ' ',
            c => c,
        })
        .collect()
}
