//! The first part of the page: agreement of the designs, claims, the gate's verdict, the answer.
//! Also the last part, the list of results.

use result::{Claim, ClaimVerdict, RunResult, gate};

use super::{
    data::{Report, Source, speed},
    figure::{Figure, Part, figure, part},
    markup::{self, Section, esc, number, unknown},
    settings::OF_VARIANT,
};
use crate::{
    answer,
    facts::{self, Reading},
    units,
};

/// Maximal number of disagreements, and of claims that do not hold, that are shown; the result has
/// all.
const SHOWN_COUNT: usize = 12;
/// Maximal number of results with lines of their own. Where there are more results, only those with
/// problems have lines; all stand in the table at the end.
const TOLD_RESULT_COUNT: usize = 3;

/// Severity of a line. The text says it; colour repeats it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Grade {
    Good,
    Open,
    Bad,
}

impl Grade {
    /// Its CSS class and its sign.
    const fn look(self) -> (&'static str, &'static str) {
        match self {
            Self::Good => ("good", "✓"),
            Self::Open => ("open", "?"),
            Self::Bad => ("bad", "✗"),
        }
    }
}

struct Line {
    grade: Grade,
    text: String,
    /// The text that follows. Markup.
    more: String,
}

impl Line {
    fn new(grade: Grade, text: impl Into<String>) -> Self {
        Self { grade, text: text.into(), more: String::new() }
    }
}

/// The verdict on all results.
pub(super) fn html(report: &Report<'_>) -> String {
    let all: Vec<Vec<Line>> = report.sources.iter().map(lines).collect();
    let grade = all.iter().flatten().map(|line| line.grade).max().unwrap_or(Grade::Open);
    let first = all.iter().flatten().find(|line| line.grade == grade);
    let headline = match (grade, first) {
        (Grade::Good, _) if report.sources.iter().any(|source| !source.is_sound) => {
            "All is well".to_owned()
        }
        (Grade::Good, _) if report.sources.len() == 1 => headline(&report.sources[0]),
        (Grade::Good, _) => format!("All designs agree in all {} results", report.sources.len()),
        (_, Some(line)) => line.text.clone(),
        (_, None) => "Nothing was measured".to_owned(),
    };
    let has_few = all.len() <= TOLD_RESULT_COUNT;
    let told = report.sources.iter().zip(&all);
    let told = told.filter(|(_, of)| has_few || of.iter().any(|line| line.grade > Grade::Good));
    // A page of one result says the headline once.
    let shown_headline = (report.sources.len() == 1).then_some(headline.as_str());
    let told = told.take(TOLD_RESULT_COUNT);
    let mut html: String =
        told.map(|(source, lines)| result_html(report, source, lines, shown_headline)).collect();
    if !has_few {
        html.push_str("<p><a href=\"#results\">Each result</a> is listed at the end.</p>");
    }
    let (class, sign) = grade.look();
    markup::verdict(class, &markup::signed(sign, &esc(&headline)), &html)
}

/// The first line of the answer, for the first store.
fn headline(source: &Source<'_>) -> String {
    let answers = source.shown.run().map(|run| answer::answers(&Reading::new(run)));
    let first = answers.into_iter().flatten().next();
    first.map_or_else(|| "All designs agree".to_owned(), |answer| answer.headline())
}

fn result_html(
    report: &Report<'_>,
    source: &Source<'_>,
    lines: &[Line],
    shown_headline: Option<&str>,
) -> String {
    let mut html = String::from("<div class=\"result\">");
    if report.sources.len() > 1 {
        let name = source.shown.path.display().to_string();
        html.push_str(&format!("<h3>{} <small>{}</small></h3>", source.label, esc(&name)));
    }
    let items = lines.iter().filter_map(|Line { grade, text, more }| {
        let text = match Some(text.as_str()) == shown_headline {
            true if more.is_empty() => return None,
            true => more.trim_start_matches([':', ';', ' ']).to_owned(),
            false => format!("{}{more}", esc(text)),
        };
        let (class, sign) = grade.look();
        Some(format!("<li class=\"{class}\">{}</li>\n", markup::signed(sign, &text)))
    });
    let items = units::any_joined(items, "");
    html.extend(items.map(|items| format!("<ul class=\"lines\">\n{items}</ul>")));
    let sound = source.shown.run().filter(|_| source.is_sound);
    html.extend(sound.map(|run| found(run, shown_headline)));
    html + "</div>\n"
}

/// The answer for each store: the fastest row, then gain, limit and trust. The fastest row is left
/// out where the page has shown it already, as `shown_headline`.
fn found(run: &RunResult, shown_headline: Option<&str>) -> String {
    let mut html = String::new();
    for answer in answer::answers(&Reading::new(run)) {
        let headline = answer.headline();
        if shown_headline != Some(headline.as_str()) {
            html.push_str(&format!("<p class=\"found\">{}</p>", esc(&headline)));
        }
        let items = answer.lines[1..].iter();
        let items = items.map(|(label, text)| format!("<li><b>{label}</b> {}</li>", esc(text)));
        html.push_str(&format!("<ul>{}</ul>\n", items.collect::<String>()));
    }
    let clients = answer::clients(run);
    html + &clients
        .map(|words| format!("<p class=\"found\">{}</p>", esc(&words)))
        .unwrap_or_default()
}

fn lines(source: &Source<'_>) -> Vec<Line> {
    let mut lines = Vec::new();
    // A gate's result has no samples.
    if let Some(run) = source.run() {
        lines.push(agreement(run.value));
        if source.is_sound {
            lines.extend(claims(&run));
        }
        if run.interrupted {
            lines.push(Line::new(Grade::Open, "Interrupted: finished samples are shown"));
        }
    }
    lines.extend(source.gate().map(|result| gate(&result.gate)));
    lines
}

fn agreement(run: &RunResult) -> Line {
    if run.is_sound() {
        let of_clients: usize = run.clients.iter().map(|client| client.samples.len()).sum();
        let of_cells: usize = run.cells.iter().map(|cell| cell.samples.len()).sum();
        let [designs, clients] =
            [(of_cells, run.cells.len(), "variant"), (of_clients, run.clients.len(), "client")]
                .map(|(sample_count, count, noun)| {
                    let samples = units::things(sample_count as u64, "sample");
                    format!("{samples} of {}", units::things(count as u64, noun))
                });
        let text = match (run.cells.is_empty(), run.clients.is_empty()) {
            (_, true) => format!("Every sample equals the reference ({designs})"),
            (true, false) => format!("Every block is valid by its client ({clients})"),
            (false, false) => {
                format!("Every sample equals the reference ({designs}, {clients})")
            }
        };
        return Line::new(Grade::Good, text);
    }
    if run.agree.is_none() {
        return Line::new(Grade::Open, "Nothing was compared: no sample was taken");
    }
    let shown = run.disagreements.iter().take(SHOWN_COUNT);
    let items: String = shown.map(|text| format!("<li><code>{}</code></li>", esc(text))).collect();
    let mut who = facts::disagreement(run).to_owned();
    who[..1].make_ascii_uppercase();
    let text = format!("{who}: no figure of this run is to be believed; none is shown");
    Line { grade: Grade::Bad, text, more: format!("<ul class=\"differs\">{items}</ul>") }
}

/// The lines on the scenario's claims: one line for all claims that hold, and one for each other
/// claim.
fn claims(run: &Part<'_, RunResult>) -> Vec<Line> {
    let expects = &run.expects;
    if expects.claims.is_empty() {
        let count = units::things(expects.count, "claim");
        let status = expects.status.iter();
        let texts = status.map(|status| format!("{count} of the scenario: {status}"));
        return texts.map(|text| Line::new(Grade::Open, text)).collect();
    }
    let all = (0..expects.claims.len()).filter_map(|at| part!(run, expects.claims[at]));
    let (held, others): (Vec<_>, Vec<_>) =
        all.partition(|claim| claim.verdict == ClaimVerdict::Holds);
    let mut lines = Vec::new();
    if !held.is_empty() {
        let text = format!("{} of {} claims hold", held.len(), expects.claims.len());
        let rows: Vec<_> = held.iter().map(claim_row).collect();
        let heads = ["Claim", "Bound", "Value", "End that decides"];
        let more = markup::fold("Claims", &markup::table("Claims that hold", &heads, &rows));
        lines.push(Line { grade: Grade::Good, text, more });
    }
    lines.extend(others.iter().take(SHOWN_COUNT).map(claim_line));
    lines
}

/// A claim that does not hold.
fn claim_line(claim: &Part<'_, Claim>) -> Line {
    let grade = match claim.verdict {
        ClaimVerdict::Fails => Grade::Bad,
        ClaimVerdict::Holds
        | ClaimVerdict::Inconclusive
        | ClaimVerdict::NotJudged
        | ClaimVerdict::Skipped => Grade::Open,
    };
    let why = claim.reason.as_ref().map(|why| format!("; {}", esc(why)));
    let more = format!(
        ": {}, {} end {}; claimed {} {}{}",
        plain(figure!(claim, value)),
        claim.bound.side(),
        plain(figure!(claim, near_end)),
        claim.bound.words(),
        plain(figure!(claim, limit)),
        why.unwrap_or_default()
    );
    let text = format!("Claim {}: {}{}", claim.verdict, claim.metric, on(claim));
    Line { grade, text, more }
}

fn claim_row(claim: &Part<'_, Claim>) -> Vec<String> {
    vec![
        esc(&format!("{}{}", claim.metric, on(claim))),
        format!("{} {}", claim.bound.words(), plain(figure!(claim, limit))),
        plain(figure!(claim, value)),
        plain(figure!(claim, near_end)),
    ]
}

fn plain(figure: Option<Figure>) -> String {
    number(figure, units::plain)
}

fn on(claim: &Claim) -> String {
    claim.store.map(|store| format!(" on {store}")).unwrap_or_default()
}

/// The line on a gate's verdict.
fn gate(gate: &gate::Gate) -> Line {
    use gate::Verdict;
    let grade = match gate.verdict {
        Some(Verdict::Pass) => Grade::Good,
        Some(Verdict::Regression | Verdict::ClaimFails | Verdict::WorkChanged) | None => Grade::Bad,
        Some(Verdict::Inconclusive | Verdict::Untrusted | Verdict::NotJudged) => Grade::Open,
    };
    let (finding, details) = match gate.reason.split_once("; ") {
        Some((finding, details)) => (finding, format!("; {}", esc(details))),
        None => (gate.reason.as_str(), String::new()),
    };
    Line { grade, text: format!("Gate: {}: {finding}", gate.verdict_name()), more: details }
}

/// The part with the list of the page's results.
pub(super) fn results(report: &Report<'_>) -> Section {
    let heads =
        ["", "File", "Begun", "Work", "Agree", "Best, MGas/s", "Warnings", "Commit", "Command"];
    let rows = report.sources.iter().map(|source| {
        let work = source.workload();
        let own = report.rows.iter().filter(|row| row.source == source.index);
        let best = own.max_by(|a, b| speed(a).total_cmp(&speed(b)));
        let agree = match source.shown.agrees() {
            Some(_) if source.is_sound => "yes",
            Some(_) => "<strong>NO</strong>",
            None if source.shown.gate().is_some() => "gate",
            None => "nothing compared",
        };
        let scenario = work.as_ref().map_or_else(unknown, |work| esc(&work.scenario));
        let digest = units::digest(work.as_ref().map_or("", |work| &work.digest));
        let commit = source.shown.tool().program.commit.as_deref();
        let apart =
            best.map(|row| report.distinguishing_settings(row, &OF_VARIANT)).unwrap_or_default();
        let apart = if apart.is_empty() { apart } else { format!("<br/>{}", esc(&apart)) };
        vec![
            source.label.clone(),
            esc(&source.shown.path.display().to_string()),
            esc(&units::moment(source.shown.started_unix_s())),
            format!("{scenario} <code>{}</code>{apart}", esc(&digest)),
            agree.to_owned(),
            best.map_or_else(unknown, |row| {
                format!("{} {}", number(row.throughput(), units::number), esc(&row.name()))
            }),
            source.shown.warnings().len().to_string(),
            commit.map_or_else(unknown, esc),
            format!("<code>{}</code>", esc(&markup::words(source.shown.command()))),
        ]
    });
    let title = if report.sources.len() == 1 { "The result" } else { "The results" };
    let lede = "The results on this page. Equal workload digests are equal work; figures of \
                different work, or of different machines, are not comparable.";
    Section::new("results", title, lede, markup::table("Results", &heads, rows), Vec::new())
}
