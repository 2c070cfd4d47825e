//! The scale of an axis, found from its ticks alone: their positions and their texts.

use super::{
    Checked,
    seen::{Chart, Label},
    text,
};

/// Tolerance of a mark around its value, in pixels: twice the rounding of coordinates.
pub(crate) const TOLERANCE: f64 = 0.35;
/// Tolerance of the middle of a tick's text around its line.
const TEXT_TOLERANCE: f64 = 4.0;

/// Law of values along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Law {
    Linear,
    Logarithmic,
}

impl Law {
    /// As the axis' title says it.
    pub(crate) fn of(title: &str) -> Self {
        let is_log = title.contains("logarithmic") || title.contains("doubling at equal steps");
        if is_log { Self::Logarithmic } else { Self::Linear }
    }

    fn along(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Logarithmic => value.ln(),
        }
    }
}

/// A tick: its pixel and its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tick {
    pub(crate) pixel: f64,
    pub(crate) value: f64,
}

/// An axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    law: Law,
    first: Tick,
    last: Tick,
}

impl Scale {
    /// From its ticks, all of which must lie on it.
    ///
    /// # Errors
    /// There are too few, or one is elsewhere.
    pub(crate) fn of(ticks: &[Tick], law: Law) -> Result<Self, String> {
        let mut ticks = ticks.to_vec();
        ticks.sort_by(|a, b| a.pixel.total_cmp(&b.pixel));
        let (Some(first), Some(last)) = (ticks.first().copied(), ticks.last().copied()) else {
            return Err("an axis without a tick".to_owned());
        };
        if (last.pixel - first.pixel).abs() < 1.0 || first.value == last.value {
            return Err(format!("nobody can read an axis with one tick, {}", first.value));
        }
        let scale = Self { law, first, last };
        match ticks.iter().find(|tick| (scale.pixel(tick.value) - tick.pixel).abs() > TOLERANCE) {
            Some(tick) => Err(format!(
                "the tick {} is at {:.2} px, and by the others at {:.2} px",
                tick.value,
                tick.pixel,
                scale.pixel(tick.value)
            )),
            None => Ok(scale),
        }
    }

    /// Pixel of a value.
    pub(crate) fn pixel(&self, value: f64) -> f64 {
        let [first, last, own] =
            [self.first.value, self.last.value, value].map(|value| self.law.along(value));
        let share = (own - first) / (last - first);
        self.first.pixel + share * (self.last.pixel - self.first.pixel)
    }

    /// The value that is drawn at a pixel.
    pub(crate) fn value(&self, pixel: f64) -> f64 {
        let [first, last] = [self.first.value, self.last.value].map(|value| self.law.along(value));
        let share = (pixel - self.first.pixel) / (self.last.pixel - self.first.pixel);
        let along = first + share * (last - first);
        match self.law {
            Law::Linear => along,
            Law::Logarithmic => along.exp(),
        }
    }

    /// Notes a drawn pixel that is not the value of the result.
    pub(crate) fn note(&self, place: &str, pixel: f64, wanted: f64, checked: &mut Checked) {
        checked.mark_count += 1;
        let is_there = (pixel - self.pixel(wanted)).abs() <= TOLERANCE;
        if !is_there {
            let drawn = self.value(pixel);
            let difference = format!("{place}: drawn at {drawn:.5}, the result has {wanted}");
            checked.differences.push(difference);
        }
    }
}

/// A text of an axis and the pixel of its line.
#[derive(Clone, Debug)]
pub(crate) struct Marked {
    pub(crate) pixel: f64,
    pub(crate) text: String,
}

/// The texts of both axes with the lines that they stand at: across, then upwards.
///
/// # Errors
/// A text stands at no line.
pub(crate) fn ticks(chart: &Chart) -> Result<[Vec<Marked>; 2], String> {
    let across = chart.grid.iter().filter(|line| line[1] == line[3]);
    let left = across.clone().map(|line| line[0]).fold(f64::INFINITY, f64::min);
    let upright: Vec<f64> =
        chart.grid.iter().filter(|line| line[0] == line[2]).map(|line| line[0]).collect();
    let across: Vec<f64> = across.map(|line| line[1]).collect();
    let mut ticks = [Vec::new(), Vec::new()];
    for label in &chart.ticks {
        let Label { text, extent: [x1, y1, x2, y2] } = label;
        let (axis, middle, lines) =
            if *x2 < left { (1, (y1 + y2) / 2.0, &across) } else { (0, (x1 + x2) / 2.0, &upright) };
        let nearest =
            lines.iter().min_by(|a, b| (*a - middle).abs().total_cmp(&(*b - middle).abs()));
        match nearest.filter(|line| (*line - middle).abs() <= TEXT_TOLERANCE) {
            Some(line) => ticks[axis].push(Marked { pixel: *line, text: text.clone() }),
            None => return Err(format!("the tick {text:?} stands at no line")),
        }
    }
    Ok(ticks)
}

/// The scale that texts of an axis make, if they are numbers.
///
/// # Errors
/// They make none.
pub(crate) fn scale(ticks: &[Marked], law: Law) -> Result<Scale, String> {
    let tick = |marked: &Marked| {
        let value = text::number(&marked.text)?.value;
        Some(Tick { pixel: marked.pixel, value })
    };
    let ticks: Vec<Tick> = ticks.iter().filter_map(tick).collect();
    Scale::of(&ticks, law)
}
