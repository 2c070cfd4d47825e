//! Pieces of markup: the document, escaped text, numbers with their place in the result, figures
//! with the table and the commands behind them. All markup is XML, too.

use std::{borrow::Borrow, path::Path};

use variant::steers_terminal;

use super::{
    data::{Report, Row},
    figure::Figure,
    mark,
};
use crate::units;

/// CSS rules of the page, with comments in the places of the designs' rules.
const STYLE: &str = include_str!("style.css");
/// The page may load nothing, even where a result is hostile.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; \
     form-action 'none'";
/// Maximal number of commands below a figure; the list of results has all.
const SHOWN_COMMAND_COUNT: usize = 3;
/// Number of charts of a part that are shown; the others are folded away.
const OPEN_CHART_COUNT: usize = 4;
/// Directory in the command that repeats a sweep. In the sweep's own directory all cells are
/// finished, so nothing would run.
const SWEEP_AGAIN: &str = "sweep-again";
/// Characters, beside letters and digits, that need no quotes in a shell.
const PLAIN: &str = "-_./=,:+@%^";

/// Escapes text, so that even that of a hostile result cannot become markup.
pub(super) fn esc(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(c),
            // XML allows no other control characters, and a name must not change the direction of
            // the text beside it.
            c if steers_terminal(c) || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

/// Attributes that name the result and the place of a number on the page.
pub(super) fn source_of(figure: &Figure) -> String {
    format!(
        r#" data-result="{}" data-at="{}" data-value="{}""#,
        figure.result,
        esc(&figure.at),
        esc(&figure.text)
    )
}

/// A number as text, with the attributes of its place.
pub(super) fn number(figure: Option<impl Borrow<Figure>>, text: impl Fn(f64) -> String) -> String {
    let Some(figure) = figure else { return unknown() };
    let figure = figure.borrow();
    format!("<data{}>{}</data>", source_of(figure), esc(&text(figure.value)))
}

/// A count with its place.
pub(super) fn count(figure: Option<impl Borrow<Figure>>) -> String {
    number(figure, |count| units::count(count as u64))
}

/// A number of bytes with its place.
pub(super) fn bytes(figure: Option<impl Borrow<Figure>>) -> String {
    number(figure, |bytes| units::bytes(bytes as u64))
}

/// A time with its place.
pub(super) fn time(figure: Option<impl Borrow<Figure>>) -> String {
    number(figure, |ns| if ns == 0.0 { "0".to_owned() } else { units::time_ns(ns) })
}

/// A share with its place.
pub(super) fn percent(figure: Option<impl Borrow<Figure>>) -> String {
    number(figure, |share| format!("{} %", units::percent(share)))
}

/// Both ends of an interval. Where there is none, `n=` and the number of values, if it is known.
pub(super) fn interval(
    ends: Option<[Figure; 2]>,
    value_count: Option<usize>,
    text: fn(f64) -> String,
) -> String {
    match (ends, value_count) {
        (Some(ends), _) => ends.map(|end| number(Some(end), text)).join(" to "),
        (None, Some(count)) => format!("<span class=\"none\">n={count}</span>"),
        (None, None) => unknown(),
    }
}

/// Both ends of an interval of a row's figures, or `n=` and its number of values.
pub(super) fn ends(row: &Row<'_>, ends: Option<[Figure; 2]>, text: fn(f64) -> String) -> String {
    interval(ends, Some(row.cell.value_count()), text)
}

/// The text for an unknown number.
pub(super) fn unknown() -> String {
    r#"<span class="none"><span aria-hidden="true">–</span><span class="sr">not known</span></span>"#
        .to_owned()
}

/// The text for a number that cannot exist, with the reason.
pub(super) fn not_applicable(reason: &str) -> String {
    format!("<span class=\"none\">not applicable: {}</span>", esc(reason))
}

/// A table that a narrow page scrolls sideways, with a caption for screen readers.
pub(super) fn table(
    caption: &str,
    heads: &[&str],
    rows: impl IntoIterator<Item: AsRef<[String]>>,
) -> String {
    table_as("", caption, heads, rows)
}

/// A [`table`] with a CSS class. A field may be a whole `<td>` or `<th>` element with its own
/// attributes.
pub(super) fn table_as(
    class: &str,
    caption: &str,
    heads: &[&str],
    rows: impl IntoIterator<Item: AsRef<[String]>>,
) -> String {
    let mut text = format!(
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{caption}\"><table class=\"{class}\">\
         <caption class=\"sr\">{caption}</caption><thead><tr>",
        caption = esc(caption)
    );
    text.extend(heads.iter().map(|head| format!("<th scope=\"col\">{}</th>", esc(head))));
    text.push_str("</tr></thead><tbody>\n");
    for row in rows {
        text.push_str("<tr>");
        text.extend(row.as_ref().iter().enumerate().map(|(index, cell)| match index {
            _ if cell.starts_with("<td") || cell.starts_with("<th") => cell.clone(),
            0 => format!("<th scope=\"row\">{cell}</th>"),
            _ => format!("<td>{cell}</td>"),
        }));
        text.push_str("</tr>\n");
    }
    text.push_str("</tbody></table></div>");
    text
}

/// A column of a table: its head, and the markup of its field in a row.
pub(super) type Column<'a, R> = (&'a str, &'a dyn Fn(&R) -> String);

/// A table with a line for each of `rows`. The first column names the line.
pub(super) fn table_of<R>(
    caption: &str,
    rows: impl IntoIterator<Item = R>,
    columns: &[Column<'_, R>],
) -> String {
    let heads: Vec<&str> = columns.iter().map(|(head, _)| *head).collect();
    let lines = rows.into_iter();
    let lines = lines.map(|row| columns.iter().map(|(_, field)| field(&row)).collect::<Vec<_>>());
    table(caption, &heads, lines)
}

/// The title of a figure, where it has one.
pub(super) fn over(title: &str) -> String {
    match title {
        "" => String::new(),
        title => format!("<p class=\"over\">{}</p>", esc(title)),
    }
}

pub(super) struct Parts<'a> {
    pub(super) title: &'a str,
    /// The content below the title.
    pub(super) header: &'a str,
    pub(super) verdict: &'a str,
    pub(super) sections: &'a [Section],
    pub(super) source_count: usize,
    /// The results whose commands stand below the figures; `None` for a page without such lines.
    pub(super) report: Option<&'a Report<'a>>,
}

/// The page of these parts.
pub(super) fn shell(parts: &Parts<'_>) -> String {
    let Parts { title, header, verdict, sections, source_count, report } = parts;
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n\
         <link rel=\"icon\" href=\"data:,\"/>\n<title>stress: {title}</title>\n\
         <style>\n{}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#verdict\">To the verdict</a>\n<header>\n\
         <p class=\"maker\">stress report</p>\n<h1>{title}</h1>\n{header}</header>\n<main>\n",
        mark::style(STYLE),
    );
    html.push_str(verdict);
    html.push_str("<nav aria-label=\"Contents\"><ul>");
    for Section { id, title, .. } in *sections {
        html.push_str(&format!("<li><a href=\"#{id}\">{title}</a></li>"));
    }
    html.push_str("</ul></nav>\n");
    html.extend(sections.iter().map(|section| section.html(*report)));
    html.push_str(&format!(
        "</main>\n<footer><p>Made by stress {} from {}. Each number carries its place in the \
         result (<code>data-at</code>).</p></footer>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION"),
        match source_count {
            1 => "one result".to_owned(),
            count => format!("{count} results"),
        }
    ));
    html
}

/// A part that is folded away until the user opens it.
pub(super) fn fold(summary: &str, body: &str) -> String {
    format!("<details><summary>{}</summary>{body}</details>\n", esc(summary))
}

/// The first charts, then the others folded away.
pub(super) fn charts(charts: impl IntoIterator<Item = String>) -> String {
    let charts: Vec<String> = charts.into_iter().collect();
    let (open, folded) = charts.split_at(charts.len().min(OPEN_CHART_COUNT));
    let more = match folded {
        [] => String::new(),
        folded => fold(&format!("{} more", folded.len()), &folded.concat()),
    };
    open.concat() + &more
}

#[derive(Debug)]
pub(super) struct Section {
    /// Its anchor.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// The content of the figure and how it is to be read. Markup.
    pub(super) lede: String,
    /// The figure. Markup.
    pub(super) body: String,
    /// Indices of the results that the part shows.
    pub(super) results: Vec<usize>,
}

impl Section {
    /// A part of these `results`.
    pub(super) fn new(
        id: &'static str,
        title: &'static str,
        lede: impl Into<String>,
        body: String,
        results: Vec<usize>,
    ) -> Self {
        Self { id, title, lede: lede.into(), body, results }
    }

    /// The part, with the commands that make its figure again.
    fn html(&self, report: Option<&Report<'_>>) -> String {
        let Self { id, title, lede, body, results } = self;
        let commands = match report {
            None => String::new(),
            Some(_) if results.is_empty() => "\n".to_owned(),
            Some(report) => {
                let commands = commands(report, results);
                format!("\n{}", fold("Command that makes this figure again", &commands))
            }
        };
        format!(
            "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n\
             <h2 id=\"{id}-title\">{title}</h2>\n<p class=\"lede\">{lede}</p>\n\
             {body}{commands}</section>\n"
        )
    }
}

/// The part with the files of a page, each with the command that made it.
pub(super) fn files<'f>(files: impl Iterator<Item = (&'f Path, &'f [String])>) -> Section {
    let lines = files.map(|(path, command)| {
        let (path, command) = (esc(&path.display().to_string()), esc(&words(command)));
        format!("<p><code>{path}</code></p><pre tabindex=\"0\"><code>{command}</code></pre>\n")
    });
    let lede = "Files, and the commands that made them.";
    Section::new("results", "Results", lede, lines.collect(), Vec::new())
}

/// The first part of the page. `headline` and `content` are markup.
pub(super) fn verdict(class: &str, headline: &str, content: &str) -> String {
    format!(
        "<section id=\"verdict\" class=\"verdict {class}\" aria-labelledby=\"verdict-title\">\n\
         <h2 id=\"verdict-title\">{headline}</h2>\n{content}</section>\n"
    )
}

/// A text behind a sign, which screen readers leave out. Markup.
pub(super) fn signed(sign: &str, text: &str) -> String {
    format!("<span class=\"sign\" aria-hidden=\"true\">{sign}</span> {text}")
}

fn commands(report: &Report<'_>, results: &[usize]) -> String {
    let sweep = report.sweep_command().filter(|_| results.len() > 1);
    let lines = sweep.map_or_else(|| result_commands(report, results), sweep_commands);
    let lines: Vec<String> = lines.iter().map(|line| esc(line)).collect();
    format!("<pre tabindex=\"0\"><code>{}</code></pre>", lines.join("\n"))
}

/// The command of a sweep, and that of its page.
fn sweep_commands(command: &[String]) -> Vec<String> {
    vec![
        format!("{} --out {SWEEP_AGAIN}", words(command)),
        format!("stress report {SWEEP_AGAIN} --out report.html"),
    ]
}

/// The commands of some results, and that of the page.
fn result_commands(report: &Report<'_>, results: &[usize]) -> Vec<String> {
    let mut lines = Vec::new();
    for index in results.iter().take(SHOWN_COMMAND_COUNT) {
        let source = &report.sources[*index];
        if report.sources.len() > 1 {
            lines.push(format!("# {}: {}", source.label, source.shown.path.display()));
        }
        lines.push(words(source.shown.command()));
    }
    let more = units::beyond(results.len(), SHOWN_COMMAND_COUNT);
    lines.extend(more.map(|more| format!("# and {more} more: see the list of results")));
    let paths = report.sources.iter().map(|source| quote(&source.shown.path.to_string_lossy()));
    let paths = units::joined(paths.take(SHOWN_COMMAND_COUNT), " ");
    let dots = if report.sources.len() > SHOWN_COMMAND_COUNT { " …" } else { "" };
    lines.push(format!("stress report {paths}{dots} --out report.html"));
    lines
}

/// Quotes and joins the words of a command line for a shell.
pub fn words(command: &[String]) -> String {
    units::joined(command.iter().map(|word| quote(word)), " ")
}

/// Quotes a word for a shell, where it needs quotes.
pub fn quote(word: &str) -> String {
    let mut chars = word.chars();
    if !word.is_empty() && chars.all(|c| c.is_ascii_alphanumeric() || PLAIN.contains(c)) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_become_markup() {
        let text = esc("<script>alert('a & \"b\"')</script>\u{1b}\u{0}\u{202e}");
        assert!(!text.contains(['<', '>', '"', '\'']), "{text}");
        assert!(!text.contains(steers_terminal), "{text:?}");
    }

    #[test]
    fn a_word_is_the_same_word_to_a_shell() {
        assert_eq!(quote("--gas"), "--gas");
        assert_eq!(quote("a b"), "'a b'");
        assert_eq!(quote("it's"), r"'it'\''s'");
        assert_eq!(quote(""), "''");
        assert_eq!(quote("$(rm)"), "'$(rm)'");
    }
}
