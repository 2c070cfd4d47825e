//! Charts of points and lines: every mark lies at its place on the axes, lines lead from mark to
//! mark, and guides follow from the results.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    Cell, Checked, cell_at, note_missing, number,
    scale::{self, Law, Marked, Scale},
    seen::{Chart, Guide, Mark, Section, Series},
    text,
};

/// Series with intervals lie beside each other: by so many pixels.
const BESIDE: f64 = 6.0;
/// A mark is no larger, in pixels.
const MARK_SIZE: f64 = 16.0;
/// Percentiles and the names that they stand at.
const PERCENTILES: [(&str, &str); 8] = [
    ("p50", "50"),
    ("p75", "75"),
    ("p90", "90"),
    ("p95", "95"),
    ("p99", "99"),
    ("p999", "99.9"),
    ("p9999", "99.99"),
    ("max", "max"),
];
const MEDIAN: &str = "mgas_per_s/median";
/// Most marks of a sample's blocks.
const BLOCK_MARKS_MAX: usize = 60;
/// Lines across a chart of blocks, by the words before their numbers.
const BLOCK_LINES: [(&str, &str); 2] =
    [("median ", "batch_figures/time_ns/p50"), ("99th percentile ", "batch_figures/time_ns/p99")];

/// Both axes of a chart.
struct Axes {
    /// `None` for marks at one name.
    x: Option<Scale>,
    y: Scale,
    /// Texts below it.
    names: Vec<Marked>,
    /// Sideways tolerance of marks.
    aside: f64,
}

impl Axes {
    /// Pixel of a value across.
    fn across(&self, x: Across) -> Option<f64> {
        let name = match x {
            Across::Value(value) => return Some(self.x?.pixel(value)),
            Across::Name(name) => name,
        };
        let named = self.names.iter().find(|tick| tick.text == name).map(|tick| tick.pixel);
        // Some lines have no text: their ticks are near to each other.
        named.or_else(|| Some(self.x?.pixel(rarity(name)?)))
    }
}

pub(crate) fn compare(section: &Section, chart: &Chart, results: &[Value], checked: &mut Checked) {
    let axes = match axes(chart) {
        Ok(axes) => axes,
        Err(difference) => return checked.note(&section.id, Err(difference)),
    };
    checked.tick_count += chart.ticks.len();
    let mut seen = BTreeSet::new();
    for series in &chart.series {
        for mark in &series.marks {
            let Some(cell) = cell_at(results, mark.result, &mark.at) else {
                checked.differences.push(format!("{}: no cell has {}", section.id, mark.at));
                continue;
            };
            seen.insert((cell.result, cell.index));
            let place = format!("{}, {}", section.id, mark.words);
            let compared = mark_at(section, mark, &cell, results).map(|wanted| {
                wanted.note(&axes, mark, &place, checked);
            });
            checked.note(&place, compared);
            sound(mark, &cell, &place, checked);
        }
        lines(series, &section.id, checked);
    }
    keys(chart, &section.id, checked);
    guides(chart, &axes, results, checked);
    complete(section, chart, results, &seen, checked);
}

/// # Errors
/// Texts of an axis make no scale.
fn axes(chart: &Chart) -> Result<Axes, String> {
    let [across, upwards] = scale::ticks(chart)?;
    let y = scale::scale(&upwards, Law::of(&chart.y_title))?;
    let x = match chart.x_title.as_str() {
        "percentile" => percentiles(&across)?,
        title => Some(scale::scale(&across, Law::of(title))?),
    };
    let is_aside =
        chart.series.iter().flat_map(|series| &series.marks).any(|mark| mark.whisker.is_some());
    let aside = if is_aside { (chart.series.len() as f64 - 1.0) / 2.0 * BESIDE } else { 0.0 };
    Ok(Axes { x, y, names: across, aside: aside + scale::TOLERANCE })
}

/// Each tenth of the values that lie beyond a percentile is as far again.
///
/// # Errors
/// A percentile stands elsewhere.
fn percentiles(ticks: &[Marked]) -> Result<Option<Scale>, String> {
    let tick = |tick: &Marked| Some(scale::Tick { pixel: tick.pixel, value: rarity(&tick.text)? });
    let ticks: Vec<_> = ticks.iter().filter_map(tick).collect();
    match ticks.len() {
        0 => Err("no percentile".to_owned()),
        // It stands at its own name.
        1 => Ok(None),
        _ => Scale::of(&ticks, Law::Linear).map(Some),
    }
}

/// Powers of ten by which values beyond a percentile are rarer than all.
fn rarity(percentile: &str) -> Option<f64> {
    let percentile: f64 = percentile.parse().ok()?;
    Some(-(1.0 - percentile / 100.0).log10())
}

/// Wanted position of a mark.
struct Wanted {
    x: Across,
    y: f64,
    /// Ends of its interval.
    ends: Option<[f64; 2]>,
    /// Numbers that its words say, in their order, with their places.
    said: Vec<(String, f64)>,
}

#[derive(Clone, Copy, Debug)]
enum Across {
    Value(f64),
    /// At a text.
    Name(&'static str),
}

/// The values of a section's mark, by the place that it names.
///
/// # Errors
/// It is none that belongs there.
fn mark_at(
    section: &Section,
    mark: &Mark,
    cell: &Cell<'_>,
    results: &[Value],
) -> Result<Wanted, String> {
    let y = number(&results[mark.result], &mark.at).ok_or("its place is empty")?;
    let said = (mark.at.clone(), y);
    let interval = cell.value("mgas_per_s/ci95").as_array();
    let ends = interval.map(|ends| [0, 1].map(|end| ends[end].as_f64().unwrap()));
    let is_speed = mark.at == cell.at(MEDIAN);
    let count = |key: &str| cell.number(results, key).ok_or(format!("no {key}"));
    Ok(match section.id.as_str() {
        "tx-latency" | "read-latency" => {
            let latency = section.id.replace("-latency", "_latency_ns");
            if let Some(up_to) = range_end(&mark.at, &results[mark.result]) {
                return Ok(Wanted { x: Across::Value(up_to), y, ends: None, said: vec![said] });
            }
            let own = mark.at.strip_prefix(&cell.at(&format!("{latency}/")));
            let name = PERCENTILES.iter().copied().find(|(key, _)| own == Some(*key));
            let (_, name) = name.ok_or_else(|| format!("{} is no latency of it", mark.at))?;
            let x = Across::Name(name);
            Wanted { x, y, ends: None, said: vec![said] }
        }
        "threads" if is_speed => {
            Wanted { x: Across::Value(count("threads")?), y, ends, said: vec![said] }
        }
        "io-threads" if is_speed => {
            Wanted { x: Across::Value(count("io_threads")?), y, ends, said: vec![said] }
        }
        "list-size" if is_speed => {
            let list = cell.value("list").as_str();
            let at = list.map(|list| format!("/workload/bal/{}_bytes", list.replace('-', "_")));
            let bytes = at.and_then(|at| Some((number(&results[cell.result], &at)?, at)));
            match bytes.filter(|(bytes, _)| *bytes > 0.0) {
                Some((bytes, at)) => {
                    let said = vec![(at, bytes), said];
                    Wanted { x: Across::Value(bytes), y, ends, said }
                }
                None => Wanted { x: Across::Name("no list"), y, ends, said: vec![said] },
            }
        }
        "sustained" => block_at(mark, y, results)?,
        "samples" => {
            let index = mark.at.strip_prefix(&cell.at("samples/"));
            let index = index.and_then(|at| at.strip_suffix("/wall_ns")?.parse::<f64>().ok());
            let index = index.ok_or_else(|| format!("{} is no time of a sample", mark.at))?;
            Wanted { x: Across::Value(index + 1.0), y, ends: None, said: vec![said] }
        }
        id => return Err(format!("{} does not belong into {id}", mark.at)),
    })
}

/// The end of the range whose number stands at `at`; `None` where it is no number of a histogram.
fn range_end(at: &str, result: &Value) -> Option<f64> {
    let range = at.strip_suffix("/count")?;
    let (histogram, _) = range.rsplit_once('/')?;
    histogram.ends_with("_histogram").then(|| number(result, &format!("{range}/up_to_ns")))?
}

/// A block of a sample: the slowest of those that share a mark, down to their fastest.
///
/// # Errors
/// It is none, or not the slowest.
fn block_at(mark: &Mark, y: f64, results: &[Value]) -> Result<Wanted, String> {
    let at = || format!("{} is no block", mark.at);
    let (all, index) = mark.at.rsplit_once('/').ok_or_else(at)?;
    let index: usize = index.parse().map_err(|_| at())?;
    let times = results[mark.result].pointer(all).and_then(Value::as_array).ok_or_else(at)?;
    let times: Vec<f64> = times.iter().filter_map(Value::as_f64).collect();
    let size = times.len().div_ceil(BLOCK_MARKS_MAX);
    let chunk = times.chunks(size).nth(index / size).ok_or_else(at)?;
    let [low, high] = [f64::min, f64::max].map(|of| chunk.iter().copied().reduce(of).unwrap());
    if y < high {
        return Err(format!("{} is not the slowest of its mark", mark.at));
    }
    let ends = (size > 1).then_some([low, high]);
    let x = Across::Value((index + 1) as f64);
    Ok(Wanted { x, y, ends, said: vec![(mark.at.clone(), y)] })
}

impl Wanted {
    fn note(&self, axes: &Axes, mark: &Mark, place: &str, checked: &mut Checked) {
        axes.y.note(place, mark.origin[1], self.y, checked);
        let x = axes.across(self.x);
        checked.mark_count += 1;
        if x.is_none_or(|x| (x - mark.origin[0]).abs() > axes.aside) {
            let [seen, _] = mark.origin;
            let difference = format!("{place}: drawn at {seen:.2} px across, which is not {x:?}");
            checked.differences.push(difference);
        }
        match (mark.whisker, self.ends) {
            (Some([_, top, _, bottom]), Some([low, high])) => {
                axes.y.note(&format!("{place}: the upper end"), top, high, checked);
                axes.y.note(&format!("{place}: the lower end"), bottom, low, checked);
            }
            (None, None) => {}
            (drawn, wanted) => {
                let difference = format!("{place}: interval {wanted:?} drawn as {drawn:?}");
                checked.differences.push(difference);
            }
        }
        let said: Vec<_> = self.said.iter().map(|(at, value)| (at.as_str(), *value)).collect();
        words(mark, &said, checked);
    }
}

/// The numbers that a mark says behind its name: `batched-io 2+64io: 9.60 MB, 131 million gas`.
pub(crate) fn words(mark: &Mark, wanted: &[(&str, f64)], checked: &mut Checked) {
    let place = format!("the words {:?}", mark.words);
    if mark.title != mark.words {
        checked.differences.push(format!("{place}: {:?} beside the pointer", mark.title));
    }
    let said = mark.words.rsplit_once(": ").map_or("", |(_, said)| said);
    let said: Vec<&str> = said.trim_start_matches("no list, ").split(", ").collect();
    if said.len() < wanted.len() {
        checked.differences.push(format!("{place}: {} numbers are wanted", wanted.len()));
    }
    let parts = said.into_iter().zip(wanted);
    for (said, (at, value)) in parts {
        let said = said.split(" million").next().unwrap_or_default();
        checked.note(&place, text::compare(said, at, *value));
        checked.number_count += 1;
    }
}

/// A mark is drawn at its point, and says the design of its cell.
fn sound(mark: &Mark, cell: &Cell<'_>, place: &str, checked: &mut Checked) {
    let ([x, y], [left, top, right, bottom]) = (mark.origin, mark.extent);
    let is_around = left < x && x < right && top < y && y < bottom;
    if !is_around || right - left > MARK_SIZE || bottom - top > MARK_SIZE {
        checked.differences.push(format!("{place}: its shape is not around its point"));
    }
    if !mark.words.starts_with(cell.text("design")) {
        checked.differences.push(format!("{place}: its design is {}", cell.text("design")));
    }
}

/// Lines lead from each mark to the next.
fn lines(series: &Series, place: &str, checked: &mut Checked) {
    for [x1, y1, x2, y2] in &series.lines {
        let is_at = |mark: &Mark, x: f64, y: f64| {
            let near = |a: f64, b: f64| (a - b).abs() <= scale::TOLERANCE;
            near(mark.origin[0], x) && near(mark.origin[1], y)
        };
        let mut pairs = series.marks.windows(2);
        checked.mark_count += 1;
        if !pairs.any(|pair| is_at(&pair[0], *x1, *y1) && is_at(&pair[1], *x2, *y2)) {
            let difference = format!("{place}: a line from ({x1:.1}, {y1:.1}) joins no marks");
            checked.differences.push(difference);
        }
    }
}

/// A name beside the chart has the colour of the marks that say it.
fn keys(chart: &Chart, place: &str, checked: &mut Checked) {
    for key in &chart.labels {
        let mut marks = chart.series.iter().flat_map(|series| &series.marks);
        if !marks.any(|mark| mark.words.starts_with(&key.text) && mark.fill == key.fill) {
            checked.differences.push(format!("{place}: no mark is named {:?}", key.text));
        }
    }
}

/// The ideal lines begin at a value and double with it; the ceiling follows from device and reads.
fn guides(chart: &Chart, axes: &Axes, results: &[Value], checked: &mut Checked) {
    for Guide { line: [x1, y1, x2, y2], text } in &chart.guides {
        let of_blocks =
            BLOCK_LINES.iter().find_map(|(name, path)| Some((text.strip_prefix(name)?, path)));
        if let Some((said, path)) = of_blocks {
            let mut marks = chart.series.iter().flat_map(|series| &series.marks);
            let cell = marks.find_map(|mark| cell_at(results, mark.result, &mark.at));
            let wanted = cell.and_then(|cell| Some((cell.number(results, path)?, cell.at(path))));
            let Some((wanted, at)) = wanted else {
                checked.differences.push(format!("a line of {text:?} that no result has"));
                continue;
            };
            checked.note("a line across", text::compare(said, &at, wanted));
            axes.y.note("a line across", *y1, wanted, checked);
            axes.y.note("a line across", *y2, wanted, checked);
            continue;
        }
        if let Some((key, said)) = text.split_once(' ').filter(|(key, _)| key.starts_with('p')) {
            let mut marks = chart.series.iter().flat_map(|series| &series.marks);
            let of_mark = marks.find_map(|mark| {
                let cell = cell_at(results, mark.result, &mark.at)?;
                let latency = mark.at.strip_prefix(&cell.at(""))?.split_once("_histogram")?.0;
                let path = format!("{latency}_ns/{key}");
                Some((cell.number(results, &path)?, cell.at(&path)))
            });
            let (Some((wanted, at)), Some(x)) = (of_mark, axes.x) else {
                checked.differences.push(format!("an upright line {text:?} that no result has"));
                continue;
            };
            checked.note("an upright line", text::compare(said, &at, wanted));
            checked.note_pixel("an upright line", *x1, x.pixel(wanted));
            continue;
        }
        let Some(name) = text.strip_prefix("device’s ceiling ") else {
            let Some(x) = axes.x else { continue };
            let factor = x.value(*x2) / x.value(*x1);
            let end = axes.y.pixel(axes.y.value(*y1) * factor);
            checked.note_pixel("the ideal line's end", *y2, end);
            let mut marks = chart.series.iter().filter_map(|series| series.marks.first());
            let is_first = |mark: &Mark| {
                let [x, y] = mark.origin;
                (x - x1).abs() <= axes.aside && (y - y1).abs() <= scale::TOLERANCE
            };
            if !marks.any(is_first) {
                checked.differences.push("an ideal line begins at no mark".to_owned());
            }
            continue;
        };
        let Some(ceiling) = ceiling(chart, results) else {
            checked.differences.push(format!("a ceiling of {name} that no result has"));
            continue;
        };
        checked.note("the device's ceiling", text::compare(name, "", ceiling));
        axes.y.note("the device's ceiling", *y1, ceiling, checked);
        axes.y.note("the device's ceiling", *y2, ceiling, checked);
    }
}

/// Millions of gas a second if the fewest block reads of the chart's cold cells came at the device's
/// ceiling.
fn ceiling(chart: &Chart, results: &[Value]) -> Option<f64> {
    let marks = chart.series.iter().flat_map(|series| &series.marks);
    let cells = marks.filter_map(|mark| cell_at(results, mark.result, &mark.at));
    let cold = cells.filter(|cell| cell.value("cache/want") == "cold");
    let reads =
        cold.filter_map(|cell| Some((cell.number(results, "samples/*/blocks_read")?, cell)));
    let (least, cell) = reads.min_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let result = &results[cell.result];
    let rate = number(result, "/device/ceiling_iops")?;
    Some(number(result, "/workload/gas")? * rate / least / 1e6)
}

/// Each cell of a chart of latencies has a mark for each percentile that it knows; each row of
/// another section's table has one.
fn complete(
    section: &Section,
    chart: &Chart,
    results: &[Value],
    seen: &BTreeSet<(usize, usize)>,
    checked: &mut Checked,
) {
    let marks = || chart.series.iter().flat_map(|series| &series.marks);
    if section.id.ends_with("-latency") {
        let latency = section.id.replace("-latency", "_latency_ns");
        for mark in marks() {
            let Some(cell) = cell_at(results, mark.result, &mark.at) else { continue };
            let histogram = latency.replace("_ns", "_histogram");
            if mark.at.starts_with(&cell.at(&histogram)) {
                let count = cell.value(&histogram).as_array().map_or(0, Vec::len);
                if marks().count() != count {
                    checked.differences.push(format!("{}: a range has no mark", section.id));
                }
                return;
            }
            let known = cell.value(&latency).as_object().into_iter().flatten();
            let known = known.filter(|(key, of)| *key != "count" && of.is_number());
            for (key, _) in known {
                let at = cell.at(&format!("{latency}/{key}"));
                if !marks().any(|other| other.at == at && other.result == cell.result) {
                    checked.differences.push(format!("{}: {at} has no mark", section.id));
                }
            }
        }
        return;
    }
    // Of several charts each has some of the rows.
    if section.charts.len() == 1 {
        let rows = section.tables.iter().flat_map(|table| &table.rows);
        let figures = rows.flat_map(|row| row.iter().flat_map(|field| &field.figures));
        let wanted: Vec<_> =
            figures.filter_map(|figure| cell_at(results, figure.result, &figure.at)).collect();
        note_missing(&section.id, &wanted, seen, checked);
    }
}
