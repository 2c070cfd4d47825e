//! The one chart model: axes, marks, lines, guides and labels as SVG. Positions along x are shares
//! of the width: a chart takes the room it has, and its text keeps its size. Positions along y are
//! in pixels.
//!
//! A chart takes values and finds its scales; the label of a mark says what its value means.
//! Designs differ by the shape of their marks and by their labels; colour only repeats that.

use variant::Design;

use super::{
    figure::Figure,
    mark::{class, shape},
    markup::{esc, over, source_of},
    scale::Scale,
};

/// Room above and below the plot, in pixels.
const TOP: f64 = 10.0;
const BOTTOM: f64 = 26.0;
/// Height of the plot, and of a line of labels beside it.
const HEIGHT: f64 = 264.0;
const LABEL_HEIGHT: f64 = 16.0;
/// Smallest distance between two ticks with text, as a share of the width: on a wide page, and on a
/// narrow one.
const TICK_SHARE: f64 = 0.1;
const TICK_SHARE_NARROW: f64 = 0.21;
/// Distance in pixels by which each series is moved aside, so that intervals do not cover each
/// other.
const BESIDE: f64 = 6.0;
/// Number of styles of marks and lines for series of one design.
const WAY_COUNT: usize = 4;

/// How an axis finds its scale.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fit {
    /// [`Scale::linear`] over the values.
    FromZero,
    /// [`Scale::decades`] over the values.
    Decades,
    /// [`Scale::log`] over the values, with this factor of room at both ends.
    Log(f64),
    /// A given scale.
    Fixed(Scale),
}

#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub(super) title: String,
    pub(super) fit: Fit,
    /// The text of a tick's value.
    pub(super) text: fn(f64) -> String,
    /// Ticks as values with their texts, in the place of round ticks; empty for round ticks.
    pub(super) named: Vec<(f64, String)>,
    /// Whether the axis has bins. Then a mark stands for all values above that of the mark before,
    /// up to its own, and has a bar.
    pub(super) is_binned: bool,
}

impl Axis {
    /// An axis with round ticks.
    pub(super) fn new(title: impl Into<String>, fit: Fit, text: fn(f64) -> String) -> Self {
        Self { title: title.into(), fit, text, named: Vec::new(), is_binned: false }
    }

    fn scale(&self, values: impl IntoIterator<Item = f64>) -> Scale {
        match self.fit {
            Fit::FromZero => Scale::linear(values),
            Fit::Decades => Scale::decades(values),
            Fit::Log(room) => Scale::log(values, room),
            Fit::Fixed(scale) => scale,
        }
    }

    /// The ticks as shares of the axis, with their texts. Zeros after the point are left out: `10
    /// µs`, not `10.0 µs`.
    fn ticks(&self, scale: Scale) -> Vec<(f64, String)> {
        let all: Vec<(f64, String)> = match self.named.as_slice() {
            [] => scale.ticks().into_iter().map(|tick| (tick, (self.text)(tick))).collect(),
            named => named.to_vec(),
        };
        let all = all.into_iter();
        all.map(|(value, text)| (scale.at(value), text.replace(".00 ", " ").replace(".0 ", " ")))
            .collect()
    }
}

/// A mark of a chart.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub(super) x: f64,
    /// Its value along y, with its place in the result.
    pub(super) figure: Figure,
    /// Ends of the interval of the value along y.
    pub(super) ends: Option<[f64; 2]>,
    /// Label for screen readers, and beside the pointer.
    pub(super) words: String,
    /// Whether a line leads to it from the point before.
    pub(super) is_joined: bool,
}

/// Points with one label and one look.
#[derive(Clone, Debug)]
pub(super) struct Series {
    /// The text of its label.
    pub(super) name: String,
    /// Design whose shape and colour the series has. Several series of one design differ in the
    /// style of marks and lines.
    pub(super) design: Design,
    pub(super) points: Vec<Point>,
}

/// A line that marks are compared with.
#[derive(Clone, Debug)]
pub(super) enum Guide {
    /// A horizontal line at this value along y, with its name.
    Horizontal(f64, String),
    /// A vertical line at this value along x, with its name.
    Vertical(f64, String),
    /// A line from this point on which x and y grow by the same factor. It ends at this value along
    /// x, or at the chart's edge.
    Ideal([f64; 2], f64),
}

#[derive(Clone, Debug)]
pub(super) struct Chart {
    /// Its content, for screen readers.
    pub(super) label: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) series: Vec<Series>,
    pub(super) guides: Vec<Guide>,
}

impl Chart {
    /// The chart as a figure below its title, where it has one, with `more` below it. Markup.
    pub(super) fn figure(&self, title: &str, more: &str) -> String {
        format!("<figure>{}{}{more}</figure>\n", over(title), self.html())
    }

    fn html(&self) -> String {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let (mut across, mut upright) = (Vec::new(), Vec::new());
        for guide in &self.guides {
            match guide {
                Guide::Horizontal(y, _) => across.push(*y),
                Guide::Vertical(x, _) => upright.push(*x),
                Guide::Ideal(..) => {}
            }
        }
        let ends = points().filter_map(|point| point.ends).flatten();
        let values = points().map(|point| point.figure.value);
        let room = Room {
            x: self.x.scale(points().map(|point| point.x).chain(upright)),
            y: self.y.scale(values.chain(ends).chain(across)),
            height: HEIGHT.max(self.series.len() as f64 * LABEL_HEIGHT),
        };
        let mut svg = format!(
            "<svg role=\"group\" aria-label=\"{}\" width=\"100%\" height=\"{:.0}\">\n",
            esc(&self.label),
            room.height + TOP + BOTTOM
        );
        room.grid(&mut svg, &self.x.ticks(room.x), &self.y.ticks(room.y));
        let mut ideal = "ideal";
        for (index, guide) in self.guides.iter().enumerate() {
            room.guide(&mut svg, guide, ideal, index);
            if matches!(guide, Guide::Ideal(..)) {
                ideal = "";
            }
        }
        let mut labels = self.marks(&mut svg, room);
        // Each series has a label beside its last point; no label covers another.
        labels.sort_by(|a, b| a.0.total_cmp(&b.0));
        let wanted: Vec<f64> = labels.iter().map(|(y, _)| *y).collect();
        for ((_, label), y) in labels.iter().zip(apart(&wanted, TOP, TOP + room.height)) {
            svg.push_str(&format!(
                "<svg x=\"100%\" y=\"{y:.1}\" overflow=\"visible\" aria-hidden=\"true\">{label}"
            ));
        }
        format!(
            "<div class=\"chart\"><p class=\"axis\">{}</p><div class=\"plot\">{svg}</svg></div>\
             <p class=\"axis x\">{}</p></div>\n",
            esc(&self.y.title),
            esc(&self.x.title)
        )
    }

    /// Draws lines and marks. Returns the labels, each with the y pixel of its series' last point.
    fn marks(&self, svg: &mut String, room: Room) -> Vec<(f64, String)> {
        let mut points = self.series.iter().flat_map(|series| &series.points);
        let is_joined = points.clone().any(|point| point.is_joined);
        let is_beside = is_joined && points.any(|point| point.ends.is_some());
        let middle = (self.series.len() as f64 - 1.0) / 2.0;
        let mut labels: Vec<(f64, String)> = Vec::new();
        for (index, Series { name, design, points }) in self.series.iter().enumerate() {
            let nth = self.series[..index].iter().filter(|of| of.design == *design).count();
            let way = format!("w{}", nth % WAY_COUNT);
            let aside = if is_beside { (index as f64 - middle) * BESIDE } else { 0.0 };
            svg.push_str(&format!(
                "<g transform=\"translate({aside:.1})\">\n<g class=\"line {} {way}\" aria-hidden=\"true\">",
                class(*design)
            ));
            for pair in points.windows(2).filter(|pair| pair[1].is_joined && !self.x.is_binned) {
                let [from, to] = [&pair[0], &pair[1]].map(|of| [of.x, of.figure.value]);
                svg.push_str(&room.line(from, to));
            }
            svg.push_str("</g>\n");
            if self.x.is_binned {
                svg.push_str(&room.bars(points, *design));
            }
            for point in points {
                svg.push_str(&room.mark(point, *design, &way));
            }
            svg.push_str("</g>\n");
            let Some(last) = points.last() else { continue };
            let label = format!(
                "<g transform=\"translate(14)\" class=\"{} {way}\">{}</g><text x=\"24\" y=\"4\">{}</text></svg>\n",
                class(*design),
                path(*design),
                esc(name)
            );
            labels.push((room.pixel(last.figure.value), label));
        }
        labels
    }
}

/// Moves ascending y positions apart, so that the distance of each to the next is [`LABEL_HEIGHT`]
/// or more. They stay near to where they are wanted.
fn apart(wanted: &[f64], top: f64, bottom: f64) -> Vec<f64> {
    let mut positions = wanted.to_vec();
    let mut least = top;
    for position in &mut positions {
        *position = position.max(least);
        least = *position + LABEL_HEIGHT;
    }
    let mut most = bottom;
    for position in positions.iter_mut().rev() {
        *position = position.min(most);
        most = *position - LABEL_HEIGHT;
    }
    positions
}

/// Both scales of a chart, and the height of the plot in pixels.
#[derive(Clone, Copy, Debug)]
struct Room {
    x: Scale,
    y: Scale,
    height: f64,
}

impl Room {
    /// The y pixel of a value.
    fn pixel(self, value: f64) -> f64 {
        TOP + (1.0 - self.y.at(value)) * self.height
    }

    fn line(self, from: [f64; 2], to: [f64; 2]) -> String {
        let [[x1, x2], [y1, y2]] =
            [[from[0], to[0]].map(|x| self.x.percent(x)), [from[1], to[1]].map(|y| self.pixel(y))];
        format!("<line x1=\"{x1:.2}%\" y1=\"{y1:.1}\" x2=\"{x2:.2}%\" y2=\"{y2:.1}\"/>")
    }

    fn grid(self, svg: &mut String, x_ticks: &[(f64, String)], y_ticks: &[(f64, String)]) {
        svg.push_str("<g class=\"grid\" aria-hidden=\"true\">");
        for (share, text) in y_ticks {
            let y = TOP + (1.0 - share) * self.height;
            svg.push_str(&format!(
                "<line x1=\"0\" x2=\"100%\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text x=\"-8\" y=\"{:.1}\" class=\"end\">{}</text>",
                y + 4.0,
                esc(text)
            ));
        }
        let (mut last, mut last_narrow) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        let bottom = TOP + self.height;
        for (share, text) in x_ticks {
            let x = share * 100.0;
            svg.push_str(&format!(
                "<line x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"{TOP}\" y2=\"{bottom}\"/>"
            ));
            if share - last >= TICK_SHARE {
                last = *share;
                let is_close = share - last_narrow < TICK_SHARE_NARROW;
                last_narrow = if is_close { last_narrow } else { *share };
                let class = if is_close { "mid close" } else { "mid" };
                svg.push_str(&format!(
                    "<text x=\"{x:.2}%\" y=\"{:.1}\" class=\"{class}\">{}</text>",
                    bottom + 18.0,
                    esc(text)
                ));
            }
        }
        svg.push_str("</g>\n");
    }

    /// Draws a guide. The name of a [`Guide::Ideal`] is `ideal`. The name of a vertical guide
    /// stands `index` lines below the top.
    fn guide(self, svg: &mut String, guide: &Guide, ideal: &str, index: usize) {
        let low = f64::NEG_INFINITY;
        let (from, to, name) = match guide {
            Guide::Horizontal(y, name) => ([low, *y], [f64::INFINITY, *y], name.as_str()),
            Guide::Vertical(x, name) => ([*x, low], [*x, f64::INFINITY], name.as_str()),
            Guide::Ideal([x, y], to) => {
                let factor = (to / x).min(self.x.max() / x).min(self.y.max() / y).max(1.0);
                ([*x, *y], [x * factor, y * factor], ideal)
            }
        };
        let (end, y_end) = (self.x.percent(to[0]), self.pixel(to[1]));
        // Near the top, the name of a horizontal guide stands below its line, to leave room for
        // names of guides that end at the top.
        let (kind, class, x, room) = match guide {
            Guide::Horizontal(..) => (" ceiling", "", 1.0, 45.0),
            _ => ("", "end", end - 1.0, 20.0),
        };
        svg.push_str(&format!("<g class=\"guide{kind}\">{}", self.line(from, to)));
        if !name.is_empty() {
            let y = match guide {
                Guide::Vertical(..) => y_end + 14.0 + index as f64 * LABEL_HEIGHT,
                _ if y_end > TOP + room => y_end - 6.0,
                _ => y_end + 14.0,
            };
            svg.push_str(&format!(
                "<text x=\"{x:.2}%\" y=\"{y:.1}\" class=\"{class}\">{}</text>",
                esc(name)
            ));
        }
        svg.push_str("</g>\n");
    }

    /// Bars of bins. Each begins where the bin before ends.
    fn bars(self, points: &[Point], design: Design) -> String {
        let mut from = 0.0;
        let bars = points.iter().map(|point| {
            let (x, y, end) = (from, self.pixel(point.figure.value), self.x.percent(point.x));
            from = end;
            format!(
                "<rect class=\"bin {}\" x=\"{x:.2}%\" width=\"{:.2}%\" y=\"{y:.1}\" height=\"{:.1}\"/>",
                class(design),
                end - x,
                TOP + self.height - y
            )
        });
        bars.collect()
    }

    fn mark(self, point: &Point, design: Design, way: &str) -> String {
        let y = self.pixel(point.figure.value);
        let whisker = point.ends.map_or_else(String::new, |ends| {
            let [low, high] = ends.map(|end| self.pixel(end) - y);
            format!(
                "<path class=\"whisker\" d=\"M0 {low:.1}V{high:.1}M-4 {low:.1}h8M-4 {high:.1}h8\"/>"
            )
        });
        format!(
            "<svg x=\"{:.2}%\" y=\"{y:.1}\" overflow=\"visible\" class=\"{way}\">{}</svg>\n",
            self.x.percent(point.x),
            mark(design, &point.words, &point.figure, &whisker)
        )
    }
}

/// A design's mark at (0, 0) with a label. The keyboard can reach it.
pub(super) fn mark(design: Design, words: &str, figure: &Figure, whisker: &str) -> String {
    let (words, class, source) = (esc(words), class(design), source_of(figure));
    format!(
        "<g class=\"{class}\" role=\"img\" tabindex=\"0\" aria-label=\"{words}\"{source}>\
         <title>{words}</title>{whisker}{}</g>",
        path(design)
    )
}

/// A design's mark as a small picture, to stand before its name.
pub(super) fn legend_mark(design: Design) -> String {
    format!(
        "<svg class=\"sample {}\" width=\"14\" height=\"14\" viewBox=\"-7 -7 14 14\" \
         aria-hidden=\"true\">{}</svg>",
        class(design),
        path(design)
    )
}

fn path(design: Design) -> String {
    format!("<path class=\"mark\" d=\"{}\"/>", shape(design))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_two_guides_near_the_top_stand_apart() {
        let room =
            Room { x: Scale::log([1.0, 4.0], 1.0), y: Scale::log([1.0, 4.0], 1.0), height: 240.0 };
        let name_y = |guide: Guide| {
            let mut svg = String::new();
            room.guide(&mut svg, &guide, "ideal", 0);
            let text = svg.split("<text").nth(1).expect("a name");
            let y = text.split("y=\"").nth(1).and_then(|y| y.split('"').next()).expect("a number");
            y.parse::<f64>().expect("a number")
        };
        let ideal = name_y(Guide::Ideal([1.0, 2.0], 4.0));
        for share in [0.85, 0.9, 0.95] {
            let across = name_y(Guide::Horizontal(4_f64.powf(share), "x".to_owned()));
            assert!((across - ideal).abs() >= 11.0, "{share}: {ideal} {across}");
        }
    }

    #[test]
    fn labels_lie_apart_and_in_their_order() {
        let positions = apart(&[100.0, 101.0, 102.0, 259.0, 260.0], 10.0, 270.0);
        for pair in positions.windows(2) {
            assert!(pair[1] - pair[0] >= LABEL_HEIGHT - 1e-9, "{positions:?}");
        }
        assert!(
            positions.iter().all(|position| (10.0..=270.0).contains(position)),
            "{positions:?}"
        );
    }
}
