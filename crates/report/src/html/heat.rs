//! Heat maps of throughput over two settings, one map for each combination of the other settings.
//! The chosen pair of settings has the most axes of the sweep, and of such pairs it fills most
//! fields. Every field shows its figure; its shade repeats it.

use super::{
    data::{self, Report, Row},
    markup::{self, Section, esc, number},
    scale::Scale,
    settings::{SOURCE, Setting},
};
use crate::{certainty, facts, units};

/// Smallest share of a map's fields that must have a figure.
const FILLED_SHARE_MIN: f64 = 0.6;

/// Shade of a field, in per cent, above which text in the other colour has more contrast: on a
/// light and on a dark page.
pub(super) const DEEP_PERCENT: f64 = 81.0;
pub(super) const DEEP_PERCENT_DARK: f64 = 55.0;

/// Text for maps with the field of a cell that was left out.
const LEFT_OUT: &str = " <em>= cell 0</em>: this cell was left out, as its keys change nothing there; \
    it would be the run of cell 0, whose figure it has.";
/// Text for maps of a sweep.
const UNCHANGED: &str = " A design that a key does not change, as threads do not change a run in order, has \
    in each cell the figure of its own run there.";

/// A heat map: the rows whose figures it has, and its two settings.
struct Map<'r, 'a> {
    rows: Vec<&'r Row<'a>>,
    /// Indices of the settings whose values go down and across.
    axes: [usize; 2],
}

impl<'r, 'a> Map<'r, 'a> {
    /// Values of a setting of the map, in their order. `axis` is 0 for down and 1 for across.
    fn values(&self, axis: usize) -> Vec<&'r Setting> {
        let settings = self.rows.iter().filter_map(|row| row.setting(self.axes[axis]));
        let mut values: Vec<&Setting> = facts::distinct(settings);
        values.sort_by(|a, b| a.order(b));
        values
    }

    /// The fastest row of a field, and the number of the field's rows. The row of a cell that was
    /// left out counts only in a field without other rows.
    fn field(&self, down: &Setting, across: &Setting) -> Option<(&'r Row<'a>, usize)> {
        let here =
            self.rows.iter().copied().filter(|row| {
                self.axes.map(|axis| row.setting(axis)) == [Some(down), Some(across)]
            });
        let mut here: Vec<_> = here.collect();
        if here.iter().any(|row| !row.is_left_out) {
            here.retain(|row| !row.is_left_out);
        }
        let count = here.len();
        let best = here.into_iter().max_by(|a, b| data::speed(a).total_cmp(&data::speed(b)));
        best.filter(|row| data::speed(row) > 0.0).map(|row| (row, count))
    }

    /// Returns whether intervals show that `row` is the fastest of the map.
    fn is_fastest(&self, row: &Row<'_>) -> bool {
        let all = self.rows.iter().filter(|row| !row.is_left_out).map(|row| row.cell.value);
        certainty::is_fastest(row.cell.value, all)
    }

    /// Number of fields that have a figure. Zero for a map with fewer than two values on a side or
    /// with few figures: settings that were not varied together make no map.
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
    let scale = Scale::log(maps.iter().flat_map(|map| &map.rows).map(|row| data::speed(row)), 1.0);
    let html = maps.iter().map(|map| {
        // A single map needs no title.
        let title = if maps.len() == 1 { String::new() } else { title(report, map) };
        draw(report, map, &title, scale)
    });
    let body = format!("<div class=\"maps\">{}</div>", markup::charts(html));
    let [down, across] = maps[0].axes.map(|index| report.setting_name(index));
    let left_out = maps.iter().flat_map(|map| &map.rows).any(|row| row.is_left_out);
    let left_out = if left_out { LEFT_OUT } else { "" };
    let (which, unchanged) = match report.is_sweep() {
        true => ("axes of the sweep come first", UNCHANGED),
        false => ("varied most", ""),
    };
    let lede = format!(
        "Median throughput in MGas/s by <em>{}</em> (down) and <em>{}</em> (across): {which}. A \
             stronger shade is faster, on one scale for all maps; a field is framed where its 95 % interval shows that no \
             other is as fast. \
             <em>No run</em>: there is no result.{left_out}{unchanged}",
        esc(down),
        esc(across)
    );
    let results = report.results_of(maps.iter().flat_map(|map| map.rows.iter().copied()));
    Some(Section::new("heat", "Heat map", lede, body, results))
}

/// The maps of one pair of settings: the pair with most axes of the sweep, then with most filled
/// fields, then the first.
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

/// Orders two settings as down and across. The setting with fewer values goes across, since a phone
/// is narrow.
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
    report.distinguishing_settings(map.rows[0], &but)
}

fn draw(report: &Report<'_>, map: &Map<'_, '_>, title: &str, scale: Scale) -> String {
    let [down, across] = [map.values(0), map.values(1)];
    let [down_name, across_name] = map.axes.map(|index| report.setting_name(index));
    let corner = format!("{down_name} ↓ {across_name} →");
    let heads: Vec<&str> =
        [corner.as_str()].into_iter().chain(across.iter().map(|of| of.text.as_str())).collect();
    let rows = down.iter().map(|value| {
        let fields = across.iter().map(|other| field(report, map, map.field(value, other), scale));
        [esc(&value.text)].into_iter().chain(fields).collect::<Vec<_>>()
    });
    let caption = format!("Heat map {title}");
    let table = markup::table_as("heat", &caption, &heads, rows);
    format!("<figure>{}{table}</figure>\n", markup::over(title))
}

/// A field, with a shade by its throughput on a logarithmic scale from the lowest to the highest of
/// all maps.
fn field(
    report: &Report<'_>,
    map: &Map<'_, '_>,
    found: Option<(&Row<'_>, usize)>,
    scale: Scale,
) -> String {
    let Some((row, count)) = found else {
        return "<td class=\"empty\"><small>no run</small></td>".to_owned();
    };
    let speed = data::speed(row);
    let percent = scale.percent(speed);
    let is_best = !row.is_left_out && map.is_fastest(row);
    let best = if is_best { " best" } else { "" };
    let ink = match percent {
        percent if percent > DEEP_PERCENT => " deep",
        percent if percent > DEEP_PERCENT_DARK => " mid",
        _ => "",
    };
    let beside = match (row.is_left_out, count) {
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
        "<td class=\"field{best}{ink}\" style=\"--share:{percent:.1}%\" title=\"{}\">{}{beside}</td>",
        esc(row.variant()),
        number(row.throughput(), units::number)
    )
}
