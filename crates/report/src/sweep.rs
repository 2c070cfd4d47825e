//! The page of a sweep: axes, missing and doubtful cells, a line for each cell and variant, knees,
//! and the fastest values of the axes. A knee is the smallest number of threads within a few per
//! cent of the best throughput.

use result::sweep::{self, Axis, CountKind, KNEE_SHARE, Keys, Knee, Merged, NoKnee, Point, ranges};

use super::{
    Paint,
    columns::{Column, GAP, line, lines, width},
    facts,
    page::{Page, Tone},
    sweep_found::found,
    units::{self, UNKNOWN},
    warnings::{Warning, grouped},
};

/// Maximal number of lines of a table; the JSON has all.
const SHOWN_LINE_COUNT: usize = 200;
/// Maximal number of warnings; the JSON has all.
const SHOWN_WARNING_COUNT: usize = 8;
/// Note on rows whose threads are not those of their cell's key.
const OWN_THREADS: &str = "threads are those that a row ran on; a design that they do not change has its own in every cell";
/// Width of the space at the left of figures that do not fit beside their cell's name.
const INDENT: usize = 4;

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
    for (over, what) in [(CountKind::IoThreads, "I/O threads"), (CountKind::Threads, "threads")] {
        let knees: Vec<_> = merged.knees.iter().filter(|knee| knee.over == over).collect();
        knees_over(&mut page, &merged.sweep.axes, what, knees);
    }
    unnamed_knees(&mut page, merged);
    page.gap();
    page.listed(Tone::Strong, "found", found(merged));
    page.gap();
    page.labelled(Tone::Faint, "note", "compare these times with none of another machine");
    page.render(paint)
}

fn head(page: &mut Page, merged: &Merged) {
    let sweep = &merged.sweep;
    let axes = sweep.axes.iter().map(|axis| format!("{} {}", axis.label, axis.values.join(", ")));
    let cells = units::things(sweep.cell_count, "cell");
    let text = format!("{}: {}; {cells}", sweep.scenario, units::joined(axes, " × "));
    page.labelled(Tone::Plain, "sweep", &text);
    let fixed = sweep.fixed.iter().map(|given| format!("{} = {}", given.key, given.value));
    let fixed = fixed.chain(sweep.quick.then(|| "--quick".to_owned()));
    page.listed(Tone::Plain, "in all", units::any_joined(fixed, ", "));
    let program = merged.program.name();
    page.labelled(Tone::Plain, "made by", &format!("stress {program}"));
    let left_out = sweep.left_out_words();
    let left_out = left_out.map(|of| format!("{of}; the other's figures stand in their place"));
    page.each(Tone::Plain, "left out", left_out);
    if !merged.missing.is_empty() {
        page.labelled(Tone::Warning, "MISSING", &format!("cells {}", ranges(&merged.missing)));
    }
    page.each(Tone::Warning, "doubt", &merged.doubts);
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
        let cells: Vec<u64> = results.iter().map(|index| merged.cells[*index].index).collect();
        let of = match results.len() == merged.cells.len() {
            true => "in all cells".to_owned(),
            false if cells.len() == 1 => format!("in cell {}", cells[0]),
            false => format!("in cells {}", ranges(&cells)),
        };
        let others = if *has_others { ", with other numbers in the others" } else { "" };
        page.labelled(Tone::Warning, "warning", &format!("{text} ({of}{others})"));
    }
    let more = units::beyond(all.len(), SHOWN_WARNING_COUNT).map(units::count);
    let more = more.map(|more| format!("and {more} more: each cell's result has them"));
    page.each(Tone::Warning, "warning", more);
}

/// One line for each cell and variant.
fn cells(page: &mut Page, merged: &Merged) {
    let points = &merged.points;
    if points.is_empty() {
        return;
    }
    let names = names(merged);
    let ms_per = facts::ms_per(merged.cells.iter().map(|cell| &cell.result.workload));
    // All tables and pages show throughput in this form.
    let mut figures = vec![
        Column::ranked(0, ["", ms_per], points, |point| point.ms_per_batch.map(units::plain)),
        Column::ranked(0, ["", "MGas/s"], points, |point| point.mgas_per_s.map(units::number)),
        Column::interval(points.iter().map(interval)),
    ];
    if width(&names) + width(&figures) > page.width() {
        // The time says no more than the throughput: one interval serves both.
        figures.remove(0);
    }
    table(page, &names, &figures);
    if points.iter().any(|point| point.mgas_per_s_ci95.is_some()) {
        page.indented(Tone::Faint, GAP, "95 %: the ends of the interval of the column before it");
    }
    if has_own_threads(merged) {
        page.indented(Tone::Faint, GAP, OWN_THREADS);
    }
    page.gap();
}

/// A fact of a variant: the key of an axis that decides it, its head, and its value.
type Fact = (&'static str, &'static str, fn(&Point) -> String);

const FACTS: [Fact; 4] = [
    ("run.stores", "store", |point| point.store.name().to_owned()),
    ("run.designs", "design", |point| point.design.name().to_owned()),
    ("run.threads", "thr", |point| point.threads.to_string()),
    ("run.io_threads", "io", |point| point.io_threads.to_string()),
];

/// The columns that name a line: the cell, and its value of each axis. Facts of the variant follow
/// if they are no axes and differ between lines.
fn names(merged: &Merged) -> Vec<Column> {
    let points = &merged.points;
    let mut names = vec![Column::new("cell", points.iter().map(|point| point.cell.to_string()))];
    for axis in &merged.sweep.axes {
        let values = points.iter().map(|point| value_at(axis, point));
        names.push(Column::new(axis.label.clone(), values));
    }
    for (key, head, value) in FACTS {
        let column = Column::new(head, points.iter().map(value));
        let varies = column.values.windows(2).any(|pair| pair[0] != pair[1]);
        if varies && !merged.sweep.axes.iter().any(|axis| axis.key == key) {
            names.push(column);
        }
    }
    let is_told = (1..points.len())
        .all(|index| names.iter().any(|of| of.values[index - 1] != of.values[index]));
    if !is_told {
        names.push(Column::new(
            "variant",
            points.iter().map(|point| short(point.name_without_threads())),
        ));
    }
    names
}

/// The cell's value of an axis. For numbers of threads it is the variant's own: a run in order has
/// one thread, whatever the cell's value.
fn value_at(axis: &Axis, point: &Point) -> String {
    match axis.key.as_str() {
        "run.threads" => point.threads.to_string(),
        "run.io_threads" => point.io_threads.to_string(),
        _ => value_of(axis, &point.keys),
    }
}

/// Whether a row has another number of threads than its cell's value.
fn has_own_threads(merged: &Merged) -> bool {
    let mut of_run = merged.sweep.axes.iter().filter(|axis| axis.key.starts_with("run."));
    of_run.any(|axis| {
        merged.points.iter().any(|point| value_at(axis, point) != value_of(axis, &point.keys))
    })
}

fn value_of(axis: &Axis, keys: &Keys) -> String {
    units::or_unknown(keys.get(&axis.key).cloned())
}

/// Engine and I/O of a variant: `bal+batched` for `rocksdb/batched-io/bal+batched`.
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
    knees.sort_by_key(|knee| {
        // In the order of the axes' values, not of their texts.
        let indices = axes.iter().map(|axis| {
            let value = knee.keys.get(&axis.key)?;
            axis.values.iter().position(|other| other == value)
        });
        (knee.variant.clone(), indices.collect::<Vec<_>>(), knee.other_count)
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

fn knees_of(page: &mut Page, axes: &[Axis], what: &str, knees: &[&Knee]) {
    let mut names = Vec::new();
    for axis in axes {
        let values = knees.iter().map(|knee| value_of(axis, &knee.keys));
        let column = Column::new(axis.label.clone(), values);
        if column.values.iter().any(|value| value != UNKNOWN) {
            names.push(column);
        }
    }
    let other = if what == "threads" { "I/O threads" } else { "threads" };
    names.push(Column::new(other, knees.iter().map(|knee| knee.other_count.to_string())));
    let figures = [
        Column::new("fewest", knees.iter().map(fewest)),
        Column::new("% of best", knees.iter().map(|of| units::percent(of.knee_share))),
        Column::new("best at", knees.iter().map(|of| of.best_count.to_string())),
        Column::new("MGas/s", knees.iter().map(|of| units::number(of.best_mgas_per_s))),
    ];
    table(page, &names, &figures);
}

/// Writes the number of combinations of settings for which no knee is named, by reason.
fn unnamed_knees(page: &mut Page, merged: &Merged) {
    let reasons = sweep::unnamed_knees(&merged.points);
    let words = [
        (NoKnee::NoInterval, "without intervals (--samples 6)"),
        (NoKnee::Overlap, "with intervals that overlap (more samples part them)"),
        (NoKnee::FewestTried, "where the fewest threads that were tried are enough"),
    ];
    let counts = words
        .map(|(reason, words)| (reasons.iter().filter(|(_, of)| *of == reason).count(), words));
    let parts = counts.into_iter().filter(|(count, _)| *count > 0);
    let parts = parts.map(|(count, words)| format!("{count} {words}"));
    if let Some(parts) = units::any_joined(parts, ", ") {
        let all = reasons.len() + merged.knees.len();
        let all = units::things(all as u64, "combination");
        let text = format!(
            "no knee (the fewest threads beyond which more gain nothing) in {} of {all}: {parts}",
            reasons.len()
        );
        page.labelled(Tone::Faint, "knees", &text);
    }
}

fn fewest(knee: &&Knee) -> String {
    format!("{}{}", knee.knee_count, if knee.is_most { "+" } else { "" })
}

/// Writes a table. Where names and figures do not fit on one line, figures stand below the names.
fn table(page: &mut Page, names: &[Column], figures: &[Column]) {
    let count = names.first().map_or(0, |column| column.values.len());
    let is_beside = width(names) + width(figures) <= page.width();
    for (tone, index) in lines(count.min(SHOWN_LINE_COUNT)) {
        if is_beside {
            page.line(tone, &(line(names, index) + &line(figures, index)));
            continue;
        }
        let pairs = names.iter().map(|column| match index {
            None => column.head[1].to_string(),
            Some(index) => format!("{} {}", column.head[1], column.values[index]),
        });
        page.indented(tone, GAP, &units::joined(pairs, ", "));
        page.line(tone, &format!("{}{}", " ".repeat(INDENT), line(figures, index)));
    }
    if let Some(more) = units::beyond(count, SHOWN_LINE_COUNT) {
        let lines = units::things(more, "line");
        page.indented(Tone::Faint, GAP, &format!("and {lines} more: --format json"));
    }
}

/// The ends of the throughput's interval, or `n=` and the number of values. For a cell that was
/// left out, the cell that has its figures.
fn interval(point: &Point) -> String {
    if let Some(same_as) = point.same_as {
        return format!("= cell {same_as}");
    }
    units::interval(point.mgas_per_s_ci95, point.value_count, units::number)
}
