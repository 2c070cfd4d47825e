//! Heat maps: throughput over two settings, one map for each value of the others. Axes of a sweep
//! come before settings that vary within its cells, and those that fill most fields first. Every
//! field shows its figure; its shade repeats it.

use super::{
    data::{self, IsLeftOut, Report, Row},
    markup::{self, Section, esc, number},
    settings::{IO_THREADS, SOURCE, Setting, THREADS},
};
use crate::{certainty, facts, units};

/// Maps that stand open; the others are folded away.
const OPEN_MAP_COUNT: usize = 6;

/// Least share of a map's fields that have a figure.
const FILLED_SHARE_MIN: f64 = 0.6;

/// Shades in per cent above which the other ink has more contrast, on a light and on a dark page.
pub(super) const DEEP_PERCENT: f64 = 81.0;
pub(super) const DEEP_PERCENT_DARK: f64 = 55.0;

/// Said of maps with such a field.
const LEFT_OUT: &str = " <em>= cell 0</em>: this cell was left out, as its keys change nothing there; \
    it would be the run of cell 0, whose figure it has.";
/// Said of maps with rows whose design has other threads than the cell's keys name.
const UNCHANGED: &str = " A design that a key does not change, as threads do not change a run in order, has \
    in each cell the figure of its own run there.";

fn is_left_out(row: &Row<'_>) -> bool {
    row.is_left_out == IsLeftOut::Yes
}

/// A map: fields of rows over columns.
struct Map<'r, 'a> {
    rows: Vec<&'r Row<'a>>,
    /// Settings down and across.
    axes: [usize; 2],
}

impl<'r, 'a> Map<'r, 'a> {
    /// Values of an axis in their order.
    fn values(&self, axis: usize) -> Vec<&'r Setting> {
        let settings = self.rows.iter().filter_map(|row| row.setting(self.axes[axis]));
        let mut values: Vec<&Setting> = facts::distinct(settings);
        values.sort_by(|a, b| a.order(b));
        values
    }

    /// The fastest row of a field, and how many there are. One that stands for a cell that was
    /// left out counts where there is no other.
    fn field(&self, down: &Setting, across: &Setting) -> Option<(&'r Row<'a>, usize)> {
        let here =
            self.rows.iter().copied().filter(|row| {
                self.axes.map(|axis| row.setting(axis)) == [Some(down), Some(across)]
            });
        let mut here: Vec<_> = here.collect();
        if here.iter().any(|row| !is_left_out(row)) {
            here.retain(|row| !is_left_out(row));
        }
        let count = here.len();
        let best = here.into_iter().max_by(|a, b| data::speed(a).total_cmp(&data::speed(b)));
        best.filter(|row| data::speed(row) > 0.0).map(|row| (row, count))
    }

    /// Returns whether `row` is shown to be the fastest of the map.
    fn is_fastest(&self, row: &Row<'_>) -> bool {
        let all = self.rows.iter().filter(|row| !is_left_out(row)).map(|row| row.cell.value);
        certainty::is_fastest(row.cell.value, all)
    }

    /// Fields that have a figure, if the map has two values or more on each side and is well
    /// filled: settings that were not varied together make no map.
    fn field_count(&self) -> usize {
        let [down, across] = [self.values(0), self.values(1)];
        if down.len() < 2 || across.len() < 2 {
            return 0;
        }
        let fields = down.iter().flat_map(|d| across.iter().map(move |a| (*d, *a)));
        let count = fields.filter(|(down, across)| self.field(down, across).is_some()).count();
        let all = down.len() * across.len();
        if (count as f64) < FILLED_SHARE_MIN * all as f64 { 0 } else { count }
    }
}

/// The part with heat maps; `None` where no two settings were varied together.
pub(super) fn section(report: &Report<'_>) -> Option<Section> {
    let maps = maps(report)?;
    let html: Vec<String> = match maps.as_slice() {
        // One alone needs no title.
        [map] => vec![draw(report, map, "")],
        maps => maps.iter().map(|map| draw(report, map, &title(report, map))).collect(),
    };
    let (open, folded) = html.split_at(html.len().min(OPEN_MAP_COUNT));
    let mut body = format!("<div class=\"maps\">{}</div>", open.concat());
    if !folded.is_empty() {
        let more = format!("<div class=\"maps\">{}</div>", folded.concat());
        body.push_str(&markup::fold(&format!("{} more", folded.len()), &more));
    }
    let [down, across] = maps[0].axes.map(|index| report.setting_name(index));
    let left_out = maps.iter().flat_map(|map| &map.rows).any(|row| is_left_out(row));
    let left_out = if left_out { LEFT_OUT } else { "" };
    let unchanged = maps.iter().flat_map(|map| &map.rows).any(|row| is_unchanged(row));
    let unchanged = if unchanged { UNCHANGED } else { "" };
    let which = if report.is_sweep() { "axes of the sweep come first" } else { "varied most" };
    Some(Section {
        id: "heat",
        title: "Heat map",
        lede: format!(
            "Median throughput in MGas/s by <em>{}</em> (down) and <em>{}</em> (across): {which}. A \
             stronger shade is faster within a map; a field is framed where its 95 % interval shows that no \
             other is as fast. \
             <em>No run</em>: there is no result.{left_out}{unchanged}",
            esc(down),
            esc(across)
        ),
        body,
        results: report.results_of(maps.iter().flat_map(|map| map.rows.iter().copied())),
    })
}

/// Whether a row's design has other threads than the keys of its cell name.
fn is_unchanged(row: &Row<'_>) -> bool {
    let own = [(THREADS, row.cell.threads), (IO_THREADS, row.cell.io_threads)];
    !is_left_out(row)
        && own.into_iter().any(|(index, own)| {
            let told = row.setting(index).and_then(|setting| setting.number);
            told.is_some_and(|told| told != own as f64)
        })
}

/// The maps of the pair with most axes of the sweep; of these the pair that fills most fields, and of
/// equal pairs the first.
fn maps<'r, 'a>(report: &'r Report<'a>) -> Option<Vec<Map<'r, 'a>>> {
    let settings: Vec<usize> = report.varying.iter().copied().filter(|p| *p != SOURCE).collect();
    let mut best: Option<([usize; 2], Vec<Map<'r, 'a>>)> = None;
    for (index, a) in settings.iter().enumerate() {
        for b in &settings[index + 1..] {
            let axes = ordered(report, [*a, *b]);
            let groups = report.groups(&report.rows_in_sweep, &[*a, *b, SOURCE]);
            let maps: Vec<_> = groups.into_iter().map(|rows| Map { rows, axes }).collect();
            let maps: Vec<_> = maps.into_iter().filter(|map| map.field_count() >= 4).collect();
            let count: usize = maps.iter().map(Map::field_count).sum();
            let axis_count = axes.iter().filter(|index| report.is_axis(**index)).count();
            let rank = [axis_count, count];
            if count > 0 && best.as_ref().is_none_or(|(most, _)| rank > *most) {
                best = Some((rank, maps));
            }
        }
    }
    best.map(|(_, maps)| maps)
}

/// The setting with fewer values goes across: a phone is narrow.
fn ordered(report: &Report<'_>, [a, b]: [usize; 2]) -> [usize; 2] {
    let [a_count, b_count] = [a, b].map(|index| {
        let texts = report.rows_in_sweep.iter().filter_map(|row| row.setting(index));
        texts.map(|setting| &setting.text).collect::<std::collections::BTreeSet<_>>().len()
    });
    if a_count < b_count { [b, a] } else { [a, b] }
}

/// The settings that all rows of a map share, and that other maps do not.
fn title(report: &Report<'_>, map: &Map<'_, '_>) -> String {
    let mut but = map.axes.to_vec();
    but.push(SOURCE);
    report.told_apart(map.rows[0], &but)
}

fn draw(report: &Report<'_>, map: &Map<'_, '_>, title: &str) -> String {
    let [down, across] = [map.values(0), map.values(1)];
    let speeds = map.rows.iter().map(|row| data::speed(row)).filter(|speed| *speed > 0.0);
    let (low, high) =
        speeds.fold((f64::INFINITY, 0.0_f64), |(low, high), s| (low.min(s), high.max(s)));
    let [down_name, across_name] = map.axes.map(|index| report.setting_name(index));
    let mut html = format!(
        "<figure><div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Heat map {t}\">\
         <table class=\"heat\"><caption>{t}</caption><thead><tr><th scope=\"col\">{} ↓ \
         {} →</th>",
        esc(down_name),
        esc(across_name),
        t = esc(title)
    );
    for value in &across {
        html.push_str(&format!("<th scope=\"col\">{}</th>", esc(&value.text)));
    }
    html.push_str("</tr></thead><tbody>\n");
    for value in &down {
        html.push_str(&format!("<tr><th scope=\"row\">{}</th>", esc(&value.text)));
        for other in &across {
            html.push_str(&field(report, map, map.field(value, other), [low, high]));
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div></figure>\n");
    html
}

/// A field, shaded by its figure on a logarithmic scale from the map's lowest to its highest.
fn field(
    report: &Report<'_>,
    map: &Map<'_, '_>,
    found: Option<(&Row<'_>, usize)>,
    [low, high]: [f64; 2],
) -> String {
    let Some((row, count)) = found else {
        return "<td class=\"empty\"><small>no run</small></td>".to_owned();
    };
    let speed = data::speed(row);
    let share = if high > low { (speed / low).ln() / (high / low).ln() } else { 1.0 };
    let percent = (share.clamp(0.0, 1.0) * 100.0).round();
    let is_best = !is_left_out(row) && map.is_fastest(row);
    let best = if is_best { " best" } else { "" };
    let ink = match percent {
        percent if percent > DEEP_PERCENT => " deep",
        percent if percent > DEEP_PERCENT_DARK => " mid",
        _ => "",
    };
    let beside = match (is_left_out(row), count) {
        (true, _) => {
            let cell = report.sources[row.source].shown.cell;
            let cell = cell.map_or_else(String::new, |cell| format!(" cell {cell}"));
            format!("<small title=\"left out: it would be the same run\"> ={cell}</small>")
        }
        (false, 1) => String::new(),
        (false, count) => {
            format!("<small title=\"the fastest of {count} variants\"> best of {count}</small>")
        }
    };
    format!(
        "<td class=\"field{best}{ink}\" style=\"--share:{percent:.0}%\" title=\"{}\">{}{beside}</td>",
        esc(row.variant()),
        number(row.throughput(), units::number)
    )
}
