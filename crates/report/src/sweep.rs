//! The page of a sweep: axes, missing and doubtful cells, a line for each cell and
//! variant, the knees, and the fastest values.

use std::iter;

use unicode_width::UnicodeWidthStr;

use result::sweep::{self, Axis, KNEE_SHARE, Keys, Knee, Merged, NoKnee, Over, Point, ranges};

use super::{
    Paint, facts,
    page::{Page, Tone, pad_left},
    sweep_found::found,
    units::{self, UNKNOWN},
    warnings::{Warning, grouped},
};

/// Lines of a table that are shown; all are in the JSON.
const SHOWN_LINE_COUNT: usize = 200;
/// Warnings that are shown; all are in the JSON.
const SHOWN_WARNING_COUNT: usize = 8;
/// Said of rows whose design does not have the threads of its cell.
const OWN_THREADS: &str = "threads are those that a row ran on; a design that they do not change has its own in every cell";
/// Space before a column.
const GAP: usize = 2;
/// Space at the left of figures that have no room beside their cell's name.
const INDENT: usize = 4;

/// A column, its values in the order of the lines.
struct Column {
    head: String,
    values: Vec<String>,
}

impl Column {
    fn new(head: &str, values: impl Iterator<Item = String>) -> Self {
        Self { head: head.to_owned(), values: values.collect() }
    }

    fn width(&self) -> usize {
        let texts = self.values.iter().chain([&self.head]);
        texts.map(|text| text.width()).max().unwrap_or(0)
    }

    fn varies(&self) -> bool {
        self.values.windows(2).any(|pair| pair[0] != pair[1])
    }
}

/// A merged sweep as a page of `width` columns.
pub fn sweep_table(merged: &Merged, width: usize, paint: Paint) -> String {
    let mut page = Page::new(width);
    if !merged.disagreeing.is_empty() {
        page.line(Tone::Alarm, "THE DESIGNS DISAGREE");
        let text = format!("in cells {}: they have no figure", ranges(&merged.disagreeing));
        page.labelled(Tone::Alarm, "differs", &text);
        page.gap();
    }
    head(&mut page, merged);
    cells(&mut page, merged);
    for (over, what) in [(Over::IoThreads, "I/O threads"), (Over::Threads, "threads")] {
        let knees: Vec<_> = merged.knees.iter().filter(|knee| knee.over == over).collect();
        knees_over(&mut page, &merged.sweep.axes, what, knees);
    }
    unnamed_knees(&mut page, merged);
    page.gap();
    for (label, text) in ["found"].into_iter().chain(iter::repeat("")).zip(found(merged)) {
        page.labelled(Tone::Strong, label, &text);
    }
    page.gap();
    page.labelled(Tone::Faint, "note", "compare these times with none of another machine");
    page.render(paint)
}

fn head(page: &mut Page, merged: &Merged) {
    let sweep = &merged.sweep;
    let axes: Vec<_> = sweep
        .axes
        .iter()
        .map(|axis| format!("{} {}", axis.label, axis.values.join(", ")))
        .collect();
    let cells = units::things(sweep.cell_count, "cell");
    let text = format!("{}: {}; {cells}", sweep.scenario, axes.join(" × "));
    page.labelled(Tone::Plain, "sweep", &text);
    let fixed = sweep.fixed.iter().map(|given| format!("{} = {}", given.key, given.value));
    let fixed: Vec<_> = fixed.chain(sweep.quick.then(|| "--quick".to_owned())).collect();
    if !fixed.is_empty() {
        page.labelled(Tone::Plain, "in all", &fixed.join(", "));
    }
    let program = merged.program.name();
    page.labelled(Tone::Plain, "made by", &format!("stress {program}"));
    if let Some(words) = sweep.left_out_words() {
        let text = format!("{words}; the other's figures stand in their place");
        page.labelled(Tone::Plain, "left out", &text);
    }
    if !merged.missing.is_empty() {
        page.labelled(Tone::Warning, "MISSING", &format!("cells {}", ranges(&merged.missing)));
    }
    for doubt in &merged.doubts {
        page.labelled(Tone::Warning, "doubt", doubt);
    }
    if merged.doubts.is_empty() {
        let text = "equal in cells of equal work: gas, keys of the lists, store reads of a variant";
        page.labelled(Tone::Plain, "counters", text);
    }
    warnings(page, merged);
    page.gap();
}

/// Each warning once, with the cells that have it where these are not all.
fn warnings(page: &mut Page, merged: &Merged) {
    let texts = merged.cells.iter().map(|cell| &cell.result.warnings);
    let all = grouped(texts.map(|texts| texts.iter().map(String::as_str).collect()));
    for Warning { text, results, has_others } in all.iter().take(SHOWN_WARNING_COUNT) {
        let cells: Vec<u64> = results.iter().map(|place| merged.cells[*place].index).collect();
        let of = match results.len() == merged.cells.len() {
            true => "in all cells".to_owned(),
            false if cells.len() == 1 => format!("in cell {}", cells[0]),
            false => format!("in cells {}", ranges(&cells)),
        };
        let others = if *has_others { ", with other numbers in the others" } else { "" };
        page.labelled(Tone::Warning, "warning", &format!("{text} ({of}{others})"));
    }
    let more = all.len().saturating_sub(SHOWN_WARNING_COUNT);
    if more > 0 {
        let text = format!("and {} more: each cell's result has them", units::count(more as u64));
        page.labelled(Tone::Warning, "warning", &text);
    }
}

/// One line for each cell and variant.
fn cells(page: &mut Page, merged: &Merged) {
    let points = &merged.points;
    if points.is_empty() {
        return;
    }
    let names = names(merged);
    let of = |value: fn(&Point) -> String| points.iter().map(value);
    let ms_per = facts::ms_per(merged.cells.iter().map(|cell| &cell.result.workload));
    let mut figures = vec![
        Column::new(ms_per, of(|point| plain(point.ms_per_batch))),
        Column::new("MGas/s", of(|point| rate(point.mgas_per_s))),
        Column::new("95 %", of(interval)),
    ];
    if width(&names) + width(&figures) > page.width() {
        // The time says no more than the throughput: one interval serves both.
        figures.remove(0);
    }
    lines(page, &names, &figures);
    if points.iter().any(|point| point.mgas_per_s_ci95.is_some()) {
        page.indented(Tone::Faint, GAP, "95 %: the ends of the interval of the column before it");
    }
    if has_own_threads(merged) {
        page.indented(Tone::Faint, GAP, OWN_THREADS);
    }
    page.gap();
}

/// The columns that name a line: the cell, its keys, and facts of the variant that are no keys and
/// differ.
fn names(merged: &Merged) -> Vec<Column> {
    let points = &merged.points;
    let mut names = vec![Column::new("cell", points.iter().map(|point| point.cell.to_string()))];
    for axis in &merged.sweep.axes {
        names.push(Column::new(&axis.label, points.iter().map(|point| value_at(axis, point))));
    }
    let is_axis = |key: &str| merged.sweep.axes.iter().any(|axis| axis.key == key);
    let of = |value: fn(&Point) -> String| points.iter().map(value);
    let facts = [
        ("run.stores", Column::new("store", of(|point| point.store.name().to_owned()))),
        ("run.designs", Column::new("design", of(|point| point.design.name().to_owned()))),
        ("run.threads", Column::new("thr", of(|point| point.threads.to_string()))),
        ("run.io_threads", Column::new("io", of(|point| point.io_threads.to_string()))),
    ];
    let others = facts.into_iter().filter(|(key, column)| !is_axis(key) && column.varies());
    names.extend(others.map(|(_, column)| column));
    let line =
        |at: usize| names.iter().map(|column| column.values[at].as_str()).collect::<Vec<_>>();
    let is_told = (1..points.len()).all(|at| line(at - 1) != line(at));
    if !is_told {
        names.push(Column::new("variant", points.iter().map(|point| short(point.way()))));
    }
    names
}

/// The value of a cell, and of threads those that the variant has: one in order has one whatever the
/// cell's key says.
fn value_at(axis: &Axis, point: &Point) -> String {
    match axis.key.as_str() {
        "run.threads" => point.threads.to_string(),
        "run.io_threads" => point.io_threads.to_string(),
        _ => value_of(axis, &point.keys),
    }
}

/// Whether a row has other threads than the keys of its cell say.
fn has_own_threads(merged: &Merged) -> bool {
    let differs = |axis: &Axis, point: &Point| {
        axis.key.starts_with("run.") && value_at(axis, point) != value_of(axis, &point.keys)
    };
    merged.points.iter().any(|point| merged.sweep.axes.iter().any(|axis| differs(axis, point)))
}

fn value_of(axis: &Axis, keys: &Keys) -> String {
    keys.get(&axis.key).cloned().unwrap_or_else(|| UNKNOWN.to_owned())
}

/// `bal+batched` of `rocksdb/batched-io/bal+batched`.
fn short(way: &str) -> String {
    way.rsplit('/').next().unwrap_or(way).to_owned()
}

fn knees_over(page: &mut Page, axes: &[Axis], what: &str, mut knees: Vec<&Knee>) {
    if knees.is_empty() {
        return;
    }
    let share = units::percent(1.0 - KNEE_SHARE);
    let share = share.trim_end_matches(".0");
    page.line(Tone::Strong, &format!("knees: the fewest {what} within {share} % of the best"));
    // In the order of the axes' values, not of their texts.
    let place = |axis: &Axis, knee: &Knee| {
        let value = knee.keys.get(&axis.key)?;
        axis.values.iter().position(|other| other == value)
    };
    knees.sort_by_key(|knee| {
        let places: Vec<_> = axes.iter().map(|axis| place(axis, knee)).collect();
        (knee.variant.clone(), places, knee.other_count)
    });
    for of_variant in knees.chunk_by(|a, b| a.variant == b.variant) {
        page.line(Tone::Plain, &format!("{}{}", " ".repeat(GAP), of_variant[0].variant));
        knees_of(page, axes, what, of_variant);
    }
    if knees.iter().any(|knee| knee.is_most) {
        page.indented(Tone::Faint, GAP, "+ the most that was tried: more may be faster");
    }
    page.gap();
}

/// The knees of one variant.
fn knees_of(page: &mut Page, axes: &[Axis], what: &str, knees: &[&Knee]) {
    let mut names = Vec::new();
    for axis in axes {
        let column = Column::new(&axis.label, knees.iter().map(|knee| value_of(axis, &knee.keys)));
        if column.values.iter().any(|value| value != UNKNOWN) {
            names.push(column);
        }
    }
    let other = if what == "threads" { "I/O threads" } else { "threads" };
    names.push(Column::new(other, knees.iter().map(|knee| knee.other_count.to_string())));
    let text = |value: fn(&Knee) -> String| knees.iter().map(move |knee| value(knee));
    let figures = [
        Column::new("fewest", text(|knee| format!("{}{}", knee.knee_count, mark(knee)))),
        Column::new("% of best", text(|knee| units::percent(knee.knee_share))),
        Column::new("best at", text(|knee| knee.best_count.to_string())),
        Column::new("MGas/s", text(|knee| units::number(knee.best_mgas_per_s))),
    ];
    lines(page, &names, &figures);
}

/// In how many combinations no knee is named, and why.
fn unnamed_knees(page: &mut Page, merged: &Merged) {
    let reasons = sweep::unnamed_knees(&merged.points);
    let count = |reason| reasons.iter().filter(|(_, of)| *of == reason).count();
    let words = [
        (NoKnee::NoInterval, "without intervals (--samples 6)"),
        (NoKnee::Overlap, "with intervals that overlap (more samples part them)"),
        (NoKnee::FewestTried, "where the fewest threads that were tried are enough"),
    ];
    let parts = words.into_iter().filter(|(reason, _)| count(*reason) > 0);
    let parts: Vec<_> = parts.map(|(of, words)| format!("{} {words}", count(of))).collect();
    if !parts.is_empty() {
        let all = reasons.len() + merged.knees.len();
        let all = units::things(all as u64, "combination");
        let text = format!(
            "no knee (the fewest threads beyond which more gain nothing) in {} of {all}: {}",
            reasons.len(),
            parts.join(", ")
        );
        page.labelled(Tone::Faint, "knees", &text);
    }
}

const fn mark(knee: &Knee) -> &'static str {
    if knee.is_most { "+" } else { "" }
}

/// A table; where a line has no room for both, figures stand below the names.
fn lines(page: &mut Page, names: &[Column], figures: &[Column]) {
    let count = names.first().map_or(0, |column| column.values.len());
    let beside = width(names) + width(figures) <= page.width();
    let texts = |columns: &[Column], at: Option<usize>| {
        let text = |column: &Column| {
            let text = at.map_or(&column.head, |at| &column.values[at]);
            pad_left(text, column.width() + GAP)
        };
        columns.iter().map(text).collect::<String>()
    };
    for at in [None].into_iter().chain((0..count.min(SHOWN_LINE_COUNT)).map(Some)) {
        let tone = if at.is_none() { Tone::Faint } else { Tone::Plain };
        if beside {
            page.line(tone, &(texts(names, at) + &texts(figures, at)));
            continue;
        }
        let pairs = names.iter().map(|column| match at {
            None => column.head.clone(),
            Some(at) => format!("{} {}", column.head, column.values[at]),
        });
        page.indented(tone, GAP, &pairs.collect::<Vec<_>>().join(", "));
        page.line(tone, &format!("{}{}", " ".repeat(INDENT), texts(figures, at)));
    }
    let more = count.saturating_sub(SHOWN_LINE_COUNT);
    if more > 0 {
        let lines = units::things(more as u64, "line");
        page.indented(Tone::Faint, GAP, &format!("and {lines} more: --format json"));
    }
}

fn width(columns: &[Column]) -> usize {
    columns.iter().map(|column| column.width() + GAP).sum()
}

fn plain(value: Option<f64>) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), units::plain)
}

/// A throughput as all tables and pages show it.
fn rate(value: Option<f64>) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), units::number)
}

/// The ends of the throughput's interval; or the number of values where there is none; or the cell
/// whose figures these are.
fn interval(point: &Point) -> String {
    if let Some(same_as) = point.same_as {
        return format!("= cell {same_as}");
    }
    match point.mgas_per_s_ci95 {
        Some([low, high]) => format!("{}–{}", units::number(low), units::number(high)),
        None => format!("n={}", point.value_count),
    }
}
