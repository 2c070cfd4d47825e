//! A page in a browser, as the script in `probe.js` reads it. Coordinates are pixels of the window,
//! y downwards.

use serde::Deserialize;

/// x and y.
pub(crate) type Point = [f64; 2];
/// Left, top, right, bottom.
pub(crate) type Extent = [f64; 4];
/// Both ends of a line: x, y, x, y.
pub(crate) type Ends = [f64; 4];

/// A page.
#[derive(Debug, Deserialize)]
pub(crate) struct Page {
    /// All numbers that name their place.
    pub(crate) figures: Vec<Figure>,
    pub(crate) sections: Vec<Section>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Section {
    pub(crate) id: String,
    pub(crate) tables: Vec<Table>,
    pub(crate) pictures: Vec<Picture>,
    pub(crate) charts: Vec<Chart>,
}

/// A number's text, and the result and path that it names.
#[derive(Debug, Deserialize)]
pub(crate) struct Figure {
    pub(crate) result: usize,
    pub(crate) at: String,
    pub(crate) text: String,
    /// True if it takes any room.
    pub(crate) is_seen: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Table {
    pub(crate) caption: String,
    pub(crate) heads: Vec<String>,
    pub(crate) rows: Vec<Vec<Field>>,
}

/// A cell of a table.
#[derive(Debug, Deserialize)]
pub(crate) struct Field {
    pub(crate) text: String,
    /// The text without its figures.
    pub(crate) beside: String,
    pub(crate) title: String,
    pub(crate) figures: Vec<Figure>,
    /// Track and bar.
    pub(crate) bar: Option<[Extent; 2]>,
    pub(crate) shade: String,
}

/// Throughputs, one a row.
#[derive(Debug, Deserialize)]
pub(crate) struct Picture {
    pub(crate) ticks: Vec<Label>,
    pub(crate) rows: Vec<Row>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) variant: String,
    /// Start of the drawing.
    pub(crate) zero: f64,
    pub(crate) grid: Vec<Ends>,
    pub(crate) stem: Vec<Ends>,
    pub(crate) mark: Option<Mark>,
    pub(crate) whisker: Option<Extent>,
    pub(crate) value: Vec<Figure>,
    pub(crate) ends: Vec<Figure>,
    /// The text of its interval, or the reason for none.
    pub(crate) interval: String,
}

/// A text of an axis.
#[derive(Debug, Deserialize)]
pub(crate) struct Label {
    pub(crate) text: String,
    #[serde(rename = "box")]
    pub(crate) extent: Extent,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Mark {
    /// As a screen reader says it.
    pub(crate) words: String,
    /// As it stands beside the pointer.
    pub(crate) title: String,
    pub(crate) result: usize,
    pub(crate) at: String,
    /// Position of the mark.
    pub(crate) origin: Point,
    #[serde(rename = "box")]
    pub(crate) extent: Extent,
    pub(crate) whisker: Option<Extent>,
    pub(crate) fill: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Chart {
    pub(crate) x_title: String,
    pub(crate) y_title: String,
    pub(crate) grid: Vec<Ends>,
    pub(crate) ticks: Vec<Label>,
    pub(crate) guides: Vec<Guide>,
    pub(crate) series: Vec<Series>,
    pub(crate) labels: Vec<Key>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Guide {
    pub(crate) line: Ends,
    pub(crate) text: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Series {
    pub(crate) lines: Vec<Ends>,
    pub(crate) marks: Vec<Mark>,
}

/// The name of a series beside its mark.
#[derive(Debug, Deserialize)]
pub(crate) struct Key {
    pub(crate) text: String,
    pub(crate) fill: String,
}
