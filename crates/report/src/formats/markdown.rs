//! A summary for a pull request or a job: what was found, the best of each design, what gives
//! reason for doubt. At most a screen, however many results there are.

use serde_json::Value;

use result::stored::{self, Untyped as Stored};

use crate::{html, units};

/// Most lines of the table, results that are told, claims and warnings.
const ROW_COUNT: usize = 12;
const RESULT_COUNT: usize = 3;
const CLAIM_COUNT: usize = 4;
const WARNING_COUNT: usize = 3;
/// Most characters of a text.
const TEXT_LENGTH: usize = 400;

/// The summary.
pub fn markdown(results: &[Stored]) -> String {
    let mut lines = vec![headline(results), String::new()];
    for stored in results.iter().take(RESULT_COUNT) {
        lines.extend(found(stored, results.len() > 1));
    }
    let more = results.len().saturating_sub(RESULT_COUNT);
    if more > 0 {
        lines.push(format!("- and {}", units::things(more as u64, "more result")));
    }
    lines.push(String::new());
    lines.extend(table(results));
    lines.extend(warnings(results));
    lines.extend(commands(results));
    lines.join("\n") + "\n"
}

fn headline(results: &[Stored]) -> String {
    let scenario = results.first().and_then(|stored| stored.text("/workload/scenario"));
    let scenario = text(scenario.unwrap_or("a workload"));
    let wrong = results.iter().filter(|stored| stored.agrees() == Some(false)).count();
    let gates = results.iter().filter_map(|stored| stored.text("/gate/verdict"));
    let gate: Vec<_> = gates.map(|verdict| format!("gate: {}", text(verdict))).collect();
    let failed = results.iter().filter(|stored| stored.text("/expects/status") == Some("fails"));
    let verdict = match (wrong, gate.as_slice(), failed.count()) {
        (0, [], 0) if results.iter().all(Stored::is_sound) => "all designs agree".to_owned(),
        (0, [], 0) => "nothing was compared".to_owned(),
        (0, [], _) => "a claim fails".to_owned(),
        (0, gates, _) => gates.join(", "),
        _ => "THE DESIGNS DISAGREE: no figure is to be believed".to_owned(),
    };
    format!("### stress: {scenario}: {verdict}")
}

fn found(stored: &Stored, many: bool) -> Vec<String> {
    let name =
        if many { format!("`{}`: ", code(&stored.path.to_string_lossy())) } else { String::new() };
    let mut lines = Vec::new();
    if stored.agrees() == Some(false) {
        let first = stored.json["disagreements"][0].as_str().unwrap_or("see the result");
        lines.push(format!("- {name}**the designs disagree**: {}", text(first)));
        return lines;
    }
    if let Some(reason) = stored.text("/gate/reason") {
        lines.push(format!("- {name}gate: {}", text(reason)));
        if stored.cells().is_empty() {
            return lines;
        }
    }
    let interrupted = if stored.json["interrupted"] == true { "**interrupted**; " } else { "" };
    let conclusion = stored.text("/conclusion").map_or("nothing was measured".to_owned(), text);
    lines.push(format!("- {name}{interrupted}{conclusion}"));
    if !stored.databases().is_empty() {
        let count = units::things(stored.databases().len() as u64, "database");
        let seeds = stored.databases().iter().map(|of| of["workload"]["seed"].to_string());
        let seeds = seeds.collect::<Vec<_>>().join(", ");
        let line = format!("{count}, of seeds {seeds}; each is one value of a figure");
        lines.push(format!("- {}", text(&line)));
    }
    let claims = stored.json["expects"]["claims"].as_array().map_or(&[][..], Vec::as_slice);
    let held = claims.iter().filter(|claim| claim["verdict"] == "holds").count();
    if held > 0 {
        lines.push(format!("- {held} of {} claims hold", claims.len()));
    }
    let broken = claims.iter().filter(|claim| claim["verdict"] != "holds");
    for claim in broken.take(CLAIM_COUNT) {
        let word = |key: &str| text(claim[key].as_str().unwrap_or_default());
        let bound = if claim["bound"] == "min" { "at least" } else { "at most" };
        let number = |key: &str| claim[key].as_f64().map_or("-".to_owned(), units::plain);
        lines.push(format!(
            "- **{}**: {} is {}, claimed {bound} {} {}",
            word("verdict"),
            word("metric"),
            number("value"),
            number("limit"),
            word("reason")
        ));
    }
    lines
}

/// The fastest cell of each store and design, over all results.
fn table(results: &[Stored]) -> Vec<String> {
    let mut best: Vec<&Value> = Vec::new();
    let speed = |cell: &Value| cell["mgas_per_s"]["median"].as_f64().unwrap_or(f64::NEG_INFINITY);
    for cell in results.iter().filter(|stored| stored.is_sound()).flat_map(Stored::cells) {
        let same = |known: &&mut &Value| {
            known["store"] == cell["store"] && known["design"] == cell["design"]
        };
        match best.iter_mut().find(same) {
            Some(known) if speed(cell) > speed(known) => *known = cell,
            Some(_) => {}
            None => best.push(cell),
        }
    }
    if best.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![
        "| fastest of each design | MGas/s | 95 % | ms a batch | % of disk | binds |".to_owned(),
        "|---|--:|--:|--:|--:|---|".to_owned(),
    ];
    for cell in best.iter().take(ROW_COUNT) {
        let number = |value: &Value, show: fn(f64) -> String| {
            value.as_f64().map_or_else(|| units::UNKNOWN.to_owned(), show)
        };
        let ends = super::ends(&cell["mgas_per_s"]).map_or_else(
            || format!("n={}", stored::value_count(cell)),
            |[low, high]| format!("{}–{}", units::number(low), units::number(high)),
        );
        lines.push(format!(
            "| `{}` | {} | {ends} | {} | {} | {} |",
            code(cell["variant"].as_str().unwrap_or_default()),
            number(&cell["mgas_per_s"]["median"], units::number),
            number(&cell["ms_per_batch"]["median"], units::plain),
            number(&cell["device_fraction"], units::percent),
            text(cell["binds"].as_str().unwrap_or(units::UNKNOWN)),
        ));
    }
    let more = best.len().saturating_sub(ROW_COUNT);
    if more > 0 {
        lines.push(format!("\nand {more} more"));
    }
    lines.push(String::new());
    lines
}

fn warnings(results: &[Stored]) -> Vec<String> {
    let mut all: Vec<&str> = Vec::new();
    for stored in results {
        let warnings = stored.json["warnings"].as_array().into_iter().flatten();
        for warning in warnings.filter_map(Value::as_str) {
            if !all.contains(&warning) {
                all.push(warning);
            }
        }
    }
    if all.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![format!("**{}**", units::things(all.len() as u64, "warning"))];
    lines.extend(all.iter().take(WARNING_COUNT).map(|warning| format!("- {}", text(warning))));
    lines.push(String::new());
    lines
}

fn commands(results: &[Stored]) -> Vec<String> {
    let command = |stored: &Stored| {
        let words = stored.json["command"].as_array().into_iter().flatten();
        words.filter_map(Value::as_str).map(html::quote).collect::<Vec<_>>().join(" ")
    };
    let commands: Vec<String> = results.iter().take(1).map(command).collect();
    let digest = results.first().and_then(|stored| stored.text("/workload/digest"));
    vec![format!(
        "<sub>workload `{}`; made by `{}`</sub>",
        code(&digest.unwrap_or("unknown").chars().take(14).collect::<String>()),
        code(&commands.join("; "))
    )]
}

/// Text that is not taken for markup: of a result, which may say anything.
fn text(text: &str) -> String {
    let short: String = text.chars().take(TEXT_LENGTH).collect();
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
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe + dots
}

/// Text between backticks, in a table as well.
fn code(text: &str) -> String {
    let plain = |c: char| match c {
        '`' => '\'',
        '|' => '¦',
        c if c.is_control() => ' ',
        c => c,
    };
    text.chars().take(TEXT_LENGTH).map(plain).collect()
}
