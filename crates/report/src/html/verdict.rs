//! What comes first: do the designs agree, do the claims hold, what did the gate say, what was
//! found; and which results the page is made of.

use serde_json::Value;

use super::{
    data::{OF_VARIANT, Report, Source},
    markup::{self, Section, command, esc, number, unknown},
};
use crate::units;

/// Differences and claims that are shown; all are in the result.
const SHOWN_COUNT: usize = 12;
/// Above this many results each is a line of a table only.
const TOLD_RESULT_COUNT: usize = 3;

/// How bad it is. The text carries it; colour repeats it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Grade {
    Good,
    Open,
    Bad,
}

impl Grade {
    const fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Open => "open",
            Self::Bad => "bad",
        }
    }

    const fn sign(self) -> &'static str {
        match self {
            Self::Good => "✓",
            Self::Open => "?",
            Self::Bad => "✗",
        }
    }
}

/// A line of the verdict.
struct Line {
    grade: Grade,
    text: String,
    /// What stands below it. Markup.
    more: String,
}

/// The verdict on all results.
pub(super) fn html(report: &Report<'_>) -> String {
    let all: Vec<Vec<Line>> = report.sources.iter().map(lines).collect();
    let worst = |lines: &Vec<Line>| lines.iter().map(|line| line.grade).max();
    let grade = all.iter().filter_map(worst).max().unwrap_or(Grade::Open);
    let first = all.iter().flatten().find(|line| line.grade == grade);
    let headline = match (grade, first) {
        (Grade::Good, _) if report.sources.iter().any(|source| !source.is_sound) => {
            "All is well".to_owned()
        }
        (Grade::Good, _) if report.sources.len() == 1 => "All designs agree".to_owned(),
        (Grade::Good, _) => format!("All designs agree in all {} results", report.sources.len()),
        (_, Some(line)) => line.text.clone(),
        (_, None) => "Nothing was measured".to_owned(),
    };
    let mut html = format!(
        "<section id=\"verdict\" class=\"verdict {}\" aria-labelledby=\"verdict-title\">\n\
         <h2 id=\"verdict-title\"><span class=\"sign\" aria-hidden=\"true\">{}</span> {}</h2>\n",
        grade.class(),
        grade.sign(),
        esc(&headline)
    );
    let told: Vec<_> = if all.len() <= TOLD_RESULT_COUNT {
        report.sources.iter().zip(&all).collect()
    } else {
        let bad = |(_, lines): &(&Source<'_>, &Vec<Line>)| worst(lines) > Some(Grade::Good);
        report.sources.iter().zip(&all).filter(bad).take(TOLD_RESULT_COUNT).collect()
    };
    for (source, lines) in told {
        html.push_str(&of_result(report, source, lines));
    }
    if all.len() > TOLD_RESULT_COUNT {
        html.push_str("<p><a href=\"#results\">Each result</a> is listed at the end.</p>");
    }
    html.push_str("</section>\n");
    html
}

fn of_result(report: &Report<'_>, source: &Source<'_>, lines: &[Line]) -> String {
    let mut html = String::from("<div class=\"result\">");
    if report.sources.len() > 1 {
        let name = source.stored.path.display().to_string();
        html.push_str(&format!("<h3>{} <small>{}</small></h3>", source.label, esc(&name)));
    }
    html.push_str("<ul class=\"lines\">\n");
    for line in lines {
        html.push_str(&format!(
            "<li class=\"{}\"><span class=\"sign\" aria-hidden=\"true\">{}</span> {}{}</li>\n",
            line.grade.class(),
            line.grade.sign(),
            esc(&line.text),
            line.more
        ));
    }
    html.push_str("</ul>");
    let conclusion = source.stored.text("/conclusion").filter(|_| source.is_sound);
    if let Some(conclusion) = conclusion {
        html.push_str(&format!("<p class=\"found\">{}</p>", esc(conclusion)));
    }
    html.push_str("</div>\n");
    html
}

fn lines(source: &Source<'_>) -> Vec<Line> {
    let mut lines = Vec::new();
    // A gate's result of its own has no samples.
    if source.stored.json.get("cells").is_some() || source.stored.json["gate"].is_null() {
        lines.push(agreement(source));
    }
    if source.is_sound {
        lines.extend(claims(source));
    }
    lines.extend(gate(source));
    if source.stored.json["interrupted"] == true {
        let text = "Interrupted: what was finished is shown".to_owned();
        lines.push(Line { grade: Grade::Open, text, more: String::new() });
    }
    lines
}

fn agreement(source: &Source<'_>) -> Line {
    let differences = source.texts("/disagreements");
    if source.is_sound {
        let samples = |cell: &Value| cell["samples"].as_array().map_or(0, Vec::len) as u64;
        let count: u64 = source.stored.cells().iter().map(samples).sum();
        let cells = units::things(source.stored.cells().len() as u64, "variant");
        let text = format!(
            "Every sample equals the reference ({} of {cells})",
            units::things(count, "sample")
        );
        return Line { grade: Grade::Good, text, more: String::new() };
    }
    match source.stored.agrees() {
        None => Line {
            grade: Grade::Open,
            text: "Nothing was compared: no sample was taken".to_owned(),
            more: String::new(),
        },
        Some(_) => {
            let shown = differences.iter().take(SHOWN_COUNT);
            let items: String =
                shown.map(|text| format!("<li><code>{}</code></li>", esc(text))).collect();
            Line {
                grade: Grade::Bad,
                text: "The designs disagree: no figure of this run is to be believed; none is \
                       shown"
                    .to_owned(),
                more: format!("<ul class=\"differs\">{items}</ul>"),
            }
        }
    }
}

/// What the scenario claims: those that hold in one line, each other one in its own.
fn claims(source: &Source<'_>) -> Vec<Line> {
    let expects = &source.stored.json["expects"];
    let claims = expects["claims"].as_array().map_or(&[][..], Vec::as_slice);
    let mut lines = Vec::new();
    if claims.is_empty() {
        if let (Some(status), Some(count)) = (expects["status"].as_str(), expects["count"].as_u64())
        {
            let text = format!("{} of the scenario: {status}", units::things(count, "claim"));
            lines.push(Line { grade: Grade::Open, text, more: String::new() });
        }
        return lines;
    }
    let holds = |claim: &&(usize, &Value)| claim.1["verdict"] == "holds";
    let numbered: Vec<(usize, &Value)> = claims.iter().enumerate().collect();
    let held = numbered.iter().filter(holds).count();
    if held > 0 {
        let text = format!("{held} of {} claims hold", claims.len());
        let rows: Vec<_> = numbered
            .iter()
            .filter(holds)
            .map(|(at, claim)| claim_row(source, *at, claim))
            .collect();
        let heads = ["Claim", "Bound", "Value", "Near end"];
        let more = markup::fold("Claims", &markup::table("Claims that hold", &heads, &rows));
        lines.push(Line { grade: Grade::Good, text, more });
    }
    for (at, claim) in numbered.iter().filter(|claim| !holds(claim)).take(SHOWN_COUNT) {
        let verdict = claim["verdict"].as_str().unwrap_or("not judged");
        let grade = if verdict == "fails" { Grade::Bad } else { Grade::Open };
        let figure = |key: &str| {
            number(source.figure(&format!("/expects/claims/{at}/{key}")).as_ref(), units::plain)
        };
        let bound = if claim["bound"] == "min" { "at least" } else { "at most" };
        let on = claim["store"].as_str().map(|store| format!(" on {store}")).unwrap_or_default();
        let metric = claim["metric"].as_str().unwrap_or("a claim");
        let why = claim["reason"].as_str().map(|why| format!("; {}", esc(why)));
        let more = format!(
            ": {}, near end {}; claimed {bound} {}{}",
            figure("value"),
            figure("near_end"),
            figure("limit"),
            why.unwrap_or_default()
        );
        lines.push(Line { grade, text: format!("Claim {verdict}: {metric}{on}"), more });
    }
    lines
}

fn claim_row(source: &Source<'_>, at: usize, claim: &Value) -> Vec<String> {
    let figure = |key: &str| {
        number(source.figure(&format!("/expects/claims/{at}/{key}")).as_ref(), units::plain)
    };
    let on = claim["store"].as_str().map(|store| format!(" on {store}")).unwrap_or_default();
    let bound = if claim["bound"] == "min" { "at least" } else { "at most" };
    vec![
        esc(&format!("{}{on}", claim["metric"].as_str().unwrap_or_default())),
        format!("{bound} {}", figure("limit")),
        figure("value"),
        figure("near_end"),
    ]
}

/// What a gate found, where the result is one's.
fn gate(source: &Source<'_>) -> Option<Line> {
    let gate = source.stored.json.get("gate").filter(|gate| gate.is_object())?;
    let verdict = gate["verdict"].as_str()?;
    let grade = match verdict {
        "pass" => Grade::Good,
        "regression" | "claim fails" | "work changed" | "error" => Grade::Bad,
        _ => Grade::Open,
    };
    let why = gate["reason"].as_str();
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    Some(Line { grade, text: format!("Gate: {verdict}{why}"), more: String::new() })
}

/// The results that the page is made of.
pub(super) fn results(report: &Report<'_>) -> Section {
    let heads =
        ["", "File", "Begun", "Work", "Agree", "Best, MGas/s", "Warnings", "Commit", "Command"];
    let rows = report.sources.iter().map(|source| {
        let json = &source.stored.json;
        let own = report.rows.iter().filter(|row| row.source == source.index);
        let best = own.max_by(|a, b| super::data::speed(a).total_cmp(&super::data::speed(b)));
        let agree = match source.stored.agrees() {
            Some(_) if source.is_sound => "yes",
            Some(_) => "<strong>NO</strong>",
            None if json["gate"].is_object() => "gate",
            None => "nothing compared",
        };
        let text = |at: &str| source.stored.text(at).map_or_else(unknown, esc);
        let digest = source.stored.text("/workload/digest").unwrap_or_default();
        let digest: String = digest.chars().take(12).collect();
        let apart = best.map(|row| report.told_apart(row, &OF_VARIANT)).unwrap_or_default();
        let apart = if apart.is_empty() { apart } else { format!("<br/>{}", esc(&apart)) };
        vec![
            source.label.clone(),
            esc(&source.stored.path.display().to_string()),
            json["started_unix_s"].as_u64().map_or_else(unknown, |s| esc(&markup::time(s))),
            format!("{} <code>{}</code>{apart}", text("/workload/scenario"), esc(&digest)),
            agree.to_owned(),
            best.map_or_else(unknown, |row| {
                format!(
                    "{} {} {}",
                    number(row.figure("mgas_per_s/median").as_ref(), units::number),
                    esc(row.text("design")),
                    esc(&row.threads())
                )
            }),
            source.texts("/warnings").len().to_string(),
            text("/tool/commit"),
            format!("<code>{}</code>", esc(&command(source))),
        ]
    });
    let rows: Vec<_> = rows.collect();
    Section {
        id: "results",
        title: if report.sources.len() == 1 { "The result" } else { "The results" },
        lede: "What this page is made of. Equal workload digests are equal work; figures of \
               different work, or of different machines, are not comparable."
            .to_owned(),
        body: markup::table("Results", &heads, &rows),
        results: Vec::new(),
    }
}
