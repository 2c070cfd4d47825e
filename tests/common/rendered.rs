//! Compares a page in a browser with its results: each number's text, and each mark's coordinates,
//! read against the texts of its axes. Nothing that writes a page is used here; the headings of its
//! table give the number of a text.

#[path = "rendered/browser.rs"]
mod browser;
#[path = "rendered/charts.rs"]
mod charts;
#[path = "rendered/columns.rs"]
mod columns;
#[path = "rendered/heat.rs"]
mod heat;
#[path = "rendered/pictures.rs"]
mod pictures;
#[path = "rendered/scale.rs"]
mod scale;
#[path = "rendered/seen.rs"]
mod seen;
#[path = "rendered/tables.rs"]
mod tables;
#[path = "rendered/text.rs"]
mod text;

use std::collections::BTreeSet;

use serde_json::Value;

use super::page::number;
use seen::{Figure, Page};

/// A page, and the results that it is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Made<'a> {
    pub(crate) page: &'a str,
    pub(crate) results: &'a [Value],
}

/// Comparisons of a page.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checked {
    /// Texts of numbers.
    pub(crate) number_count: usize,
    /// Fields of tables with headings that name their number.
    pub(crate) field_count: usize,
    /// Marks, ends of intervals, bars and lines of charts.
    pub(crate) mark_count: usize,
    /// Texts of axes.
    pub(crate) tick_count: usize,
    /// Differences from the results.
    pub(crate) differences: Vec<String>,
}

impl Checked {
    /// Notes a difference, if any.
    fn note(&mut self, place: &str, compared: Result<(), String>) {
        if let Err(difference) = compared {
            self.differences.push(format!("{place}: {difference}"));
        }
    }

    /// Notes a pixel off its place.
    fn note_pixel(&mut self, place: &str, seen: f64, wanted: f64) {
        self.mark_count += 1;
        if (seen - wanted).abs() > scale::TOLERANCE {
            let difference = format!("{place}: drawn at {seen:.2} px, which is not {wanted:.2} px");
            self.differences.push(difference);
        }
    }

    /// # Panics
    /// Something differs.
    pub(crate) fn assert_same(&self) {
        let shown = self.differences.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
        let count = self.differences.len();
        assert!(count == 0, "{count} differences between page and results:\n{shown}");
    }
}

/// Compares pages at all widths; `None` without a browser.
pub(crate) fn check(pages: &[Made<'_>]) -> Option<Vec<Checked>> {
    let texts: Vec<String> = pages.iter().map(|made| made.page.to_owned()).collect();
    let shown = browser::shown(&texts)?;
    let by_page = shown.chunks(browser::WIDTHS.len()).zip(pages);
    let check = |(widths, made): (&[Page], &Made<'_>)| {
        let mut checked = Checked::default();
        for page in widths {
            compare(page, made.results, &mut checked);
        }
        checked
    };
    Some(by_page.map(check).collect())
}

fn compare(page: &Page, results: &[Value], checked: &mut Checked) {
    for figure in &page.figures {
        let compared = compare_figure(figure, results);
        checked.note("text", compared);
        checked.number_count += 1;
    }
    for section in &page.sections {
        for table in &section.tables {
            tables::compare(section, table, results, checked);
        }
        match section.id.as_str() {
            "gate" => pictures::compare_gate(&section.pictures, results, checked),
            _ => pictures::compare(&section.pictures, results, checked),
        }
        for chart in &section.charts {
            charts::compare(section, chart, results, checked);
        }
    }
}

/// A text against the number that it names.
fn compare_figure(figure: &Figure, results: &[Value]) -> Result<(), String> {
    let Figure { result, at, text, is_seen } = figure;
    if !is_seen {
        return Err(format!("{at} of result {result} takes no room"));
    }
    let wanted = results.get(*result).and_then(|json| number(json, at));
    let wanted = wanted.ok_or_else(|| format!("result {result} has no {at}"))?;
    text::compare(text, at, wanted)
}

/// A cell of a result.
#[derive(Clone, Copy, Debug)]
struct Cell<'a> {
    result: usize,
    index: usize,
    json: &'a Value,
}

impl<'a> Cell<'a> {
    /// Its path in the result.
    fn at(&self, path: &str) -> String {
        format!("/cells/{}/{path}", self.index)
    }

    /// Its value at a path; null if that is nothing.
    fn value(&self, path: &str) -> &'a Value {
        self.json.pointer(&format!("/{path}")).unwrap_or(&Value::Null)
    }

    /// A number of it.
    fn number(&self, results: &[Value], path: &str) -> Option<f64> {
        number(&results[self.result], &self.at(path))
    }

    /// Values that its intervals are made of.
    fn value_count(&self) -> usize {
        let databases = self.value("databases/each").as_array();
        databases.or_else(|| self.value("samples").as_array()).map_or(0, Vec::len)
    }

    fn text(&self, key: &str) -> &'a str {
        self.value(key).as_str().unwrap_or_default()
    }

    /// `2+64io` or `2x32`, as pages write threads.
    fn threads(&self) -> String {
        let count = |key: &str| self.value(key).as_u64().unwrap_or(0);
        if count("shards") > 0 {
            return format!("{}+{}sh", count("threads"), count("shards"));
        }
        match (count("threads"), count("fibers"), count("io_threads")) {
            (threads, 1, 0) => threads.to_string(),
            (threads, fibers, 0) => format!("{threads}x{fibers}"),
            (threads, _, io) => format!("{threads}+{io}io"),
        }
    }
}

/// All cells with a sample.
fn cells(results: &[Value]) -> Vec<Cell<'_>> {
    let of_result = |(result, json): (usize, &Value)| {
        let cells = json["cells"].as_array().map(Vec::as_slice).unwrap_or_default().len();
        (0..cells).map(move |index| (result, index)).collect::<Vec<_>>()
    };
    let places = results.iter().enumerate().flat_map(of_result);
    let all = places.map(|(result, index)| Cell {
        result,
        index,
        json: &results[result]["cells"][index],
    });
    all.filter(|cell| cell.value("samples/0").is_object()).collect()
}

/// The cell that a place of a result is in.
fn cell_at<'a>(results: &'a [Value], result: usize, at: &str) -> Option<Cell<'a>> {
    let index: usize = at.strip_prefix("/cells/")?.split('/').next()?.parse().ok()?;
    cells(results).into_iter().find(|cell| cell.result == result && cell.index == index)
}

/// Notes cells that should be there and are not.
fn note_missing(
    place: &str,
    wanted: &[Cell<'_>],
    seen: &BTreeSet<(usize, usize)>,
    checked: &mut Checked,
) {
    for cell in wanted.iter().filter(|cell| !seen.contains(&(cell.result, cell.index))) {
        let name = cell.text("variant");
        checked.differences.push(format!("{place}: {name} of result {} is missing", cell.result));
    }
}
