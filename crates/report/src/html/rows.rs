//! A picture with one line for each row: a mark on a scale that all rows share, the interval, and
//! both as text. A narrow page draws the marks below the names.

use variant::Design;

use super::{
    chart::{legend_mark, mark},
    figure::Figure,
    mark::class,
    markup::{esc, interval, number},
    scale::Scale,
};

/// Height of a row's picture, in pixels, and its middle.
const HEIGHT: f64 = 30.0;
const MIDDLE: f64 = HEIGHT / 2.0;

pub(super) struct RowPicture<'a> {
    pub(super) label: &'a str,
    /// Headings of names, values and intervals.
    pub(super) heads: [&'a str; 3],
    pub(super) scale: Scale,
    /// The text of a row's value, and that of a tick.
    pub(super) text: fn(f64) -> String,
    pub(super) tick: fn(f64) -> String,
    /// Groups below their titles; an empty title is not shown.
    pub(super) groups: Vec<(String, Vec<PictureRow>)>,
}

pub(super) struct PictureRow {
    /// The full name.
    pub(super) title: String,
    /// The shown name behind the design's mark. Markup.
    pub(super) name: String,
    pub(super) design: Design,
    pub(super) value: Option<Figure>,
    pub(super) ends: Option<[Figure; 2]>,
    /// Number of values behind the interval, shown where the interval is missing.
    pub(super) value_count: Option<usize>,
    /// Label of the mark; the interval is added.
    pub(super) words: String,
    /// Values whose median the mark is, drawn as small lines.
    pub(super) singles: Vec<f64>,
    /// The largest value that a gate allows, drawn as a dashed line; `None` in other pictures.
    pub(super) limit: Option<f64>,
}

impl RowPicture<'_> {
    /// The scale of these rows. It begins at zero, or at the lowest value below zero.
    pub(super) fn scale<'r>(rows: impl IntoIterator<Item = &'r PictureRow>) -> Scale {
        Scale::linear(rows.into_iter().flat_map(|row| {
            let ends = row.ends.iter().flatten().map(|end| end.value);
            let singles = row.singles.iter().copied();
            ends.chain(row.value.as_ref().map(|value| value.value)).chain(row.limit).chain(singles)
        }))
    }

    /// The picture. Markup.
    pub(super) fn html(&self) -> String {
        let ticks = self.scale.ticks().into_iter().map(|tick| {
            let (x, text) = (self.scale.percent(tick), esc(&(self.tick)(tick)));
            format!("<text x=\"{x:.2}%\" y=\"14\" class=\"mid\">{text}</text>")
        });
        let [name, value, ends] = self.heads;
        let mut html = format!(
            "<figure><div role=\"table\" class=\"rows\" aria-label=\"{}\">\n\
             <div role=\"row\" class=\"row head\"><span role=\"columnheader\" class=\"name\">{name}</span>\
             <span role=\"columnheader\" class=\"draw\"><svg class=\"grid\" width=\"100%\" height=\"18\" \
             aria-hidden=\"true\">{}</svg></span>\
             <span role=\"columnheader\" class=\"value\">{value}</span>\
             <span role=\"columnheader\" class=\"ends\">{ends}</span></div>\n",
            esc(self.label),
            ticks.collect::<String>()
        );
        for (title, rows) in &self.groups {
            if !title.is_empty() {
                html.push_str(&format!("<p class=\"group\">{}</p>\n", esc(title)));
            }
            html.extend(rows.iter().map(|row| self.row(row)));
        }
        html + "</div></figure>\n"
    }

    fn row(&self, row: &PictureRow) -> String {
        format!(
            "<div role=\"row\" class=\"row\"><span role=\"rowheader\" class=\"name\" title=\"{}\">{} {}</span>\
             <span role=\"cell\" class=\"draw\"><svg role=\"group\" width=\"100%\" height=\"{HEIGHT}\">{}</svg></span>\
             <span role=\"cell\" class=\"value\">{}</span><span role=\"cell\" class=\"ends\">{}</span></div>\n",
            esc(&row.title),
            legend_mark(row.design),
            row.name,
            self.drawing(row),
            number(row.value.as_ref(), self.text),
            interval(row.ends.clone(), row.value_count, self.text)
        )
    }

    /// A line between two values along x and two pixels along y.
    fn line(&self, class: &str, x: [f64; 2], [y1, y2]: [f64; 2]) -> String {
        let [x1, x2] = x.map(|value| self.scale.percent(value));
        format!("<line class=\"{class}\" x1=\"{x1:.2}%\" x2=\"{x2:.2}%\" y1=\"{y1}\" y2=\"{y2}\"/>")
    }

    fn drawing(&self, row: &PictureRow) -> String {
        let class = class(row.design);
        let mut svg = String::new();
        svg.extend(
            self.scale.ticks().iter().map(|tick| self.line("tick", [*tick; 2], [0.0, HEIGHT])),
        );
        svg.extend(row.limit.map(|limit| self.line("limit", [limit; 2], [1.0, HEIGHT - 1.0])));
        let Some(value) = &row.value else { return svg };
        svg.push_str(&self.line(&format!("stem {class}"), [0.0, value.value], [MIDDLE; 2]));
        let single = format!("single {class}");
        let ends = [MIDDLE - 5.0, MIDDLE + 5.0];
        svg.extend(row.singles.iter().map(|value| self.line(&single, [*value; 2], ends)));
        let mut words = row.words.clone();
        if let Some([low, high]) = &row.ends {
            let [low, high] = [low, high].map(|end| end.value);
            let ends = [MIDDLE - 7.0, MIDDLE + 7.0];
            svg.push_str(&format!(
                "<g class=\"whisker {class}\">{}{}{}</g>",
                self.line("", [low, high], [MIDDLE; 2]),
                self.line("", [low; 2], ends),
                self.line("", [high; 2], ends)
            ));
            let [low, high] = [low, high].map(self.text);
            words.push_str(&format!(", 95 % interval {low} to {high}"));
        }
        svg + &format!(
            "<svg x=\"{:.2}%\" y=\"{MIDDLE}\" overflow=\"visible\">{}</svg>",
            self.scale.percent(value.value),
            mark(row.design, &words, value, "")
        )
    }
}
