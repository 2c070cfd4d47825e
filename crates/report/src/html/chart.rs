//! Charts of points and lines as SVG. Places along x are shares of the width, so that a chart
//! takes the room it has and its text keeps its size; y is in pixels.
//!
//! Knows nothing of results: positions come as fractions, with words for screen readers. Designs
//! are told apart by their shape and their label; colour only repeats it.

use variant::Design;

use super::{
    figure::Figure,
    look::{class, shape},
    markup::{esc, source_of},
};
use crate::units;

/// Room above and below the plot, in pixels.
const TOP: f64 = 10.0;
const BOTTOM: f64 = 26.0;
/// Height of the plot, and of a line of labels beside it.
const HEIGHT: f64 = 264.0;
const LABEL_HEIGHT: f64 = 16.0;
/// Ticks that are nearer than this share of the width have no text.
const TICK_SHARE: f64 = 0.1;
/// Intervals of several series lie beside each other by this many pixels.
const BESIDE: f64 = 6.0;
/// Ways in which series of one design differ.
const WAY_COUNT: usize = 4;

/// First digits of the ticks of a logarithmic axis, in tenths, from coarse to fine.
const DIGITS: [&[u32]; 6] = [
    &[10],
    &[10, 20, 50],
    &[10, 20, 30, 50, 70],
    &[10, 20, 30, 40, 50, 60, 70, 80, 90],
    &[10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95],
    &[
        10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54,
        56, 58, 60, 62, 64, 66, 68, 70, 72, 74, 76, 78, 80, 82, 84, 86, 88, 90, 92, 94, 96, 98,
    ],
];
/// An axis with fewer ticks cannot be read: one value tells no scale.
const TICK_COUNT_MIN: usize = 3;

/// How values lie along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scale {
    /// From zero up to this.
    Linear { max: f64 },
    /// Between these, both above zero.
    Log { min: f64, max: f64 },
}

impl Scale {
    /// From zero to a little above the largest.
    pub(super) fn linear(values: impl IntoIterator<Item = f64>) -> Self {
        let max = values.into_iter().filter(|value| value.is_finite()).fold(0.0, f64::max);
        Self::Linear { max: if max > 0.0 { max * 1.04 } else { 1.0 } }
    }

    /// From the decade of the smallest to that of the largest; values of zero are left out.
    pub(super) fn decades(values: impl IntoIterator<Item = f64>) -> Self {
        match ends(values) {
            Some((low, high)) => {
                let min = 10_f64.powf(low.log10().floor());
                let max = 10_f64.powf(high.log10().ceil());
                Self::Log { min, max: if max > min { max } else { min * 10.0 } }
            }
            None => Self::Log { min: 1.0, max: 10.0 },
        }
    }

    /// From the smallest to the largest, with some room around them.
    pub(super) fn log(values: impl IntoIterator<Item = f64>, room: f64) -> Self {
        let (min, max) = ends(values).unwrap_or((1.0, 1.0));
        Self::Log { min: min / room, max: max * room }
    }

    /// Share of the axis at which `value` lies, between 0 and 1.
    pub(super) fn at(self, value: f64) -> f64 {
        let share = match self {
            Self::Linear { max } => value / max,
            Self::Log { min, max } => (value / min).ln() / (max / min).ln(),
        };
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Round values along the axis.
    pub(super) fn ticks(self) -> Vec<f64> {
        match self {
            Self::Linear { max } => {
                let step = nice_step(max / 4.0);
                (0..=8).map(|n| f64::from(n) * step).take_while(|tick| *tick <= max).collect()
            }
            Self::Log { min, max } => {
                let coarsest = match (max / min).log10() {
                    d if d <= 1.2 => 2,
                    d if d <= 2.6 => 1,
                    _ => 0,
                };
                let mut all = DIGITS[coarsest..].iter().map(|digits| log_ticks(min, max, digits));
                let finest = all.clone().next_back();
                all.find(|ticks| ticks.len() >= TICK_COUNT_MIN).or(finest).unwrap_or_default()
            }
        }
    }

    /// The ticks where they stand, each with its text.
    pub(super) fn labelled_ticks(self, text: impl Fn(f64) -> String) -> Vec<(f64, String)> {
        self.ticks().into_iter().map(|tick| (self.at(tick), text(tick))).collect()
    }
}

/// Values between both ends with these first digits, in tenths.
fn log_ticks(min: f64, max: f64, digits: &[u32]) -> Vec<f64> {
    let first = min.log10().floor() as i32;
    let powers = (first..=max.log10().ceil() as i32).map(|power| 10_f64.powi(power));
    let all = powers.flat_map(|power| digits.iter().map(move |d| f64::from(*d) / 10.0 * power));
    all.filter(|tick| (min * 0.999..=max * 1.001).contains(tick)).collect()
}

/// A tick's value as text.
pub(super) fn tick(value: f64) -> String {
    if value.fract() == 0.0 && value >= 0.0 {
        units::count(value as u64)
    } else {
        units::number(value)
    }
}

fn ends(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let sound = values.into_iter().filter(|value| value.is_finite() && *value > 0.0);
    sound.fold(None, |ends, value| {
        let (low, high) = ends.unwrap_or((value, value));
        Some((f64::min(low, value), f64::max(high, value)))
    })
}

/// The smallest of 1, 2 and 5 times a power of ten that is not below `least`.
fn nice_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    let digits = [1.0, 2.0, 5.0, 10.0].into_iter().find(|digit| digit * power >= least * 0.999);
    digits.unwrap_or(10.0) * power
}

/// A mark on a chart, in shares of it.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
    /// Both ends of its interval.
    pub(super) ends: Option<[f64; 2]>,
    /// Its content, in words.
    pub(super) words: String,
    pub(super) figure: Figure,
    /// Whether a line leads to it from the one before.
    pub(super) is_joined: bool,
}

/// Points of one kind.
#[derive(Clone, Debug)]
pub(super) struct Series {
    /// The text of its label.
    pub(super) name: String,
    /// Which shape and colour it has.
    pub(super) design: Design,
    /// Index among the series of its design: their marks and lines differ.
    pub(super) nth: usize,
    pub(super) points: Vec<Point>,
}

/// A line to compare with, in shares of the chart.
#[derive(Clone, Debug)]
pub(super) struct Guide {
    pub(super) from: [f64; 2],
    pub(super) to: [f64; 2],
    /// Written at its end; empty for none.
    pub(super) name: String,
}

/// A chart.
#[derive(Clone, Debug)]
pub(super) struct Chart {
    /// Its content, for readers who cannot see it.
    pub(super) label: String,
    pub(super) x_title: String,
    pub(super) y_title: String,
    pub(super) x_ticks: Vec<(f64, String)>,
    pub(super) y_ticks: Vec<(f64, String)>,
    pub(super) series: Vec<Series>,
    pub(super) guides: Vec<Guide>,
}

impl Chart {
    /// The chart as a figure below its title, where it has one, with `more` below it. Markup.
    pub(super) fn figure(&self, title: &str, more: &str) -> String {
        let title = match title {
            "" => String::new(),
            title => format!("<p class=\"over\">{}</p>", esc(title)),
        };
        format!("<figure>{title}{}{more}</figure>\n", self.html())
    }

    fn html(&self) -> String {
        let height = HEIGHT.max(self.series.len() as f64 * LABEL_HEIGHT);
        let mut svg = format!(
            "<svg role=\"group\" aria-label=\"{}\" width=\"100%\" height=\"{:.0}\">\n",
            esc(&self.label),
            height + TOP + BOTTOM
        );
        self.axes(&mut svg, height);
        for guide in &self.guides {
            self::guide(&mut svg, guide, height);
        }
        let mut points = self.series.iter().flat_map(|series| &series.points);
        let is_joined = points.clone().any(|point| point.is_joined);
        let is_beside = is_joined && points.any(|point| point.ends.is_some());
        let middle = (self.series.len() as f64 - 1.0) / 2.0;
        for (index, series) in self.series.iter().enumerate() {
            let aside = if is_beside { (index as f64 - middle) * BESIDE } else { 0.0 };
            svg.push_str(&format!("<g transform=\"translate({aside:.1})\">\n"));
            lines(&mut svg, series, height);
            marks(&mut svg, series, height);
            svg.push_str("</g>\n");
        }
        self.labels(&mut svg, height);
        svg.push_str("</svg>");
        format!(
            "<div class=\"chart\"><p class=\"axis\">{}</p><div class=\"plot\">{svg}</div>\
             <p class=\"axis x\">{}</p></div>\n",
            esc(&self.y_title),
            esc(&self.x_title)
        )
    }

    fn axes(&self, svg: &mut String, height: f64) {
        svg.push_str("<g class=\"grid\" aria-hidden=\"true\">");
        for (share, text) in &self.y_ticks {
            let y = pixel(*share, height);
            svg.push_str(&format!(
                "<line x1=\"0\" x2=\"100%\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text x=\"-8\" y=\"{:.1}\" class=\"end\">{}</text>",
                y + 4.0,
                esc(text)
            ));
        }
        let mut last = f64::NEG_INFINITY;
        for (share, text) in &self.x_ticks {
            let x = share * 100.0;
            let (top, bottom) = (TOP, TOP + height);
            svg.push_str(&format!(
                "<line x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"{top}\" y2=\"{bottom}\"/>"
            ));
            if share - last >= TICK_SHARE {
                last = *share;
                svg.push_str(&format!(
                    "<text x=\"{x:.2}%\" y=\"{:.1}\" class=\"mid\">{}</text>",
                    bottom + 18.0,
                    esc(text)
                ));
            }
        }
        svg.push_str("</g>\n");
    }

    /// A label beside the last point of each series, none over another.
    fn labels(&self, svg: &mut String, height: f64) {
        let mut labels: Vec<(f64, &Series)> = Vec::new();
        for series in &self.series {
            let Some(last) = series.points.last() else { continue };
            labels.push((pixel(last.y, height), series));
        }
        labels.sort_by(|a, b| a.0.total_cmp(&b.0));
        let wanted: Vec<f64> = labels.iter().map(|(y, _)| *y).collect();
        let positions = apart(&wanted, TOP, TOP + height);
        for ((_, series), y) in labels.iter().zip(positions) {
            svg.push_str(&format!(
                "<svg x=\"100%\" y=\"{y:.1}\" overflow=\"visible\" aria-hidden=\"true\">\
                 <g class=\"{} {}\"><path class=\"mark\" transform=\"translate(14)\" d=\"{}\"/></g>\
                 <text x=\"24\" y=\"4\">{}</text></svg>\n",
                class(series.design),
                way(series.nth),
                shape(series.design),
                esc(&series.name)
            ));
        }
    }
}

/// Places in rising order, each [`LABEL_HEIGHT`] or more from the next, near to where they are
/// wanted.
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

fn pixel(share: f64, height: f64) -> f64 {
    TOP + (1.0 - share) * height
}

fn guide(svg: &mut String, guide: &Guide, height: f64) {
    let [x1, y1] = guide.from;
    let [x2, y2] = guide.to;
    let (end, y_end) = (x2 * 100.0, pixel(y2, height));
    let is_across = x1 < 0.01 && x2 > 0.99;
    svg.push_str(&format!(
        "<g class=\"guide{}\"><line x1=\"{:.2}%\" y1=\"{:.1}\" x2=\"{end:.2}%\" y2=\"{y_end:.1}\"/>",
        if is_across { " ceiling" } else { "" },
        x1 * 100.0,
        pixel(y1, height),
    ));
    if !guide.name.is_empty() {
        // The name of a line across stands below that of one that ends at the top.
        let (class, x, room) = if is_across { ("", 1.0, 45.0) } else { ("end", end - 1.0, 20.0) };
        svg.push_str(&format!(
            "<text x=\"{x:.2}%\" y=\"{:.1}\" class=\"{class}\">{}</text>",
            if y_end > TOP + room { y_end - 6.0 } else { y_end + 14.0 },
            esc(&guide.name)
        ));
    }
    svg.push_str("</g>\n");
}

fn lines(svg: &mut String, series: &Series, height: f64) {
    svg.push_str(&format!(
        "<g class=\"line {} {}\" aria-hidden=\"true\">",
        class(series.design),
        way(series.nth)
    ));
    for pair in series.points.windows(2).filter(|pair| pair[1].is_joined) {
        svg.push_str(&format!(
            "<line x1=\"{:.2}%\" y1=\"{:.1}\" x2=\"{:.2}%\" y2=\"{:.1}\"/>",
            pair[0].x * 100.0,
            pixel(pair[0].y, height),
            pair[1].x * 100.0,
            pixel(pair[1].y, height)
        ));
    }
    svg.push_str("</g>\n");
}

fn marks(svg: &mut String, series: &Series, height: f64) {
    for point in &series.points {
        let y = pixel(point.y, height);
        let whisker = point.ends.map_or_else(String::new, |[low, high]| {
            let (low, high) = (pixel(low, height) - y, pixel(high, height) - y);
            format!(
                "<path class=\"whisker\" d=\"M0 {low:.1}V{high:.1}M-4 {low:.1}h8M-4 {high:.1}h8\"/>"
            )
        });
        svg.push_str(&format!(
            "<svg x=\"{:.2}%\" y=\"{y:.1}\" overflow=\"visible\" class=\"{}\">{}</svg>\n",
            point.x * 100.0,
            way(series.nth),
            mark(series.design, &point.words, &point.figure, &whisker)
        ));
    }
}

/// A mark at (0, 0) with a label, reachable by the keyboard.
pub(super) fn mark(design: Design, words: &str, figure: &Figure, whisker: &str) -> String {
    let words = esc(words);
    format!(
        "<g class=\"{}\" role=\"img\" tabindex=\"0\" aria-label=\"{words}\"{}>\
         <title>{words}</title>{whisker}<path class=\"mark\" d=\"{}\"/></g>",
        class(design),
        source_of(figure),
        shape(design)
    )
}

/// A sample of a design's mark.
pub(super) fn sample(design: Design) -> String {
    format!(
        "<svg class=\"sample\" width=\"14\" height=\"14\" viewBox=\"-7 -7 14 14\" \
         aria-hidden=\"true\"><g class=\"{}\"><path class=\"mark\" d=\"{}\"/></g></svg>",
        class(design),
        shape(design)
    )
}

/// The style of the nth series of a design.
const fn way(nth: usize) -> &'static str {
    match nth % WAY_COUNT {
        0 => "w0",
        1 => "w1",
        2 => "w2",
        _ => "w3",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_two_guides_near_the_top_stand_apart() {
        let height = 240.0;
        let name_y = |from: [f64; 2], to: [f64; 2]| {
            let mut svg = String::new();
            guide(&mut svg, &Guide { name: "x".to_owned(), from, to }, height);
            let text = svg.split("<text").nth(1).expect("a name");
            let y = text.split("y=\"").nth(1).and_then(|y| y.split('"').next()).expect("a number");
            y.parse::<f64>().expect("a number")
        };
        let ideal = name_y([0.0, 0.0], [0.5, 1.0]);
        for share in [0.85, 0.9, 0.95] {
            let across = name_y([0.0, share], [1.0, share]);
            assert!((across - ideal).abs() >= 11.0, "{share}: {ideal} {across}");
        }
    }

    #[test]
    fn ticks_are_round_and_lie_on_the_axis() {
        let scale = Scale::linear([3.0, 264.0]);
        assert_eq!(scale.ticks(), [0.0, 100.0, 200.0]);
        assert_eq!(Scale::decades([2.0e5, 3.0e8]), Scale::Log { min: 1e5, max: 1e9 });
        let ticks = Scale::decades([3.0, 40.0]).ticks();
        assert_eq!(ticks, [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        for scale in [Scale::linear([]), Scale::decades([0.0]), Scale::log([5.0], 1.2)] {
            for tick in scale.ticks() {
                assert!((0.0..=1.0).contains(&scale.at(tick)), "{scale:?} {tick}");
            }
        }
    }

    #[test]
    fn a_short_logarithmic_axis_has_ticks_enough_to_be_read() {
        for median in [1.0, 1.3, 1.7, 2.6, 4.0, 5.1, 7.7, 9.9, 1_234.0, 0.031] {
            let ticks = Scale::log([median], 1.25).ticks();
            assert!((TICK_COUNT_MIN..12).contains(&ticks.len()), "{median}: {ticks:?}");
        }
    }

    #[test]
    fn a_value_lies_on_the_axis_whatever_it_is() {
        for scale in [Scale::linear([1.0]), Scale::log([4.0, 4.0], 1.0), Scale::decades([7.0])] {
            for value in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300] {
                assert!((0.0..=1.0).contains(&scale.at(value)), "{scale:?} {value}");
            }
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
