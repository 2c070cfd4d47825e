//! A picture with one line for each row: a mark on a scale that all rows share, the interval, and
//! both as text. A narrow page draws the marks below the names.

use variant::Design;

use super::{
    chart::{legend_mark, mark},
    figure::Figure,
    look::class,
    markup::{esc, interval, number, unknown},
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
            match (&row.ends, row.value_count) {
                (None, None) => unknown(),
                (ends, count) => interval(ends.clone(), count.unwrap_or_default(), self.text),
            }
        )
    }

    fn drawing(&self, row: &PictureRow) -> String {
        let x = |value: f64| self.scale.percent(value);
        let upright = |class: &str, value: f64, [top, bottom]: [f64; 2]| {
            let x = x(value);
            format!(
                "<line class=\"{class}\" x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"{top}\" y2=\"{bottom}\"/>"
            )
        };
        let across = |class: &str, [from, to]: [f64; 2]| {
            let (from, to) = (x(from), x(to));
            format!(
                "<line class=\"{class}\" x1=\"{from:.2}%\" x2=\"{to:.2}%\" y1=\"{MIDDLE}\" y2=\"{MIDDLE}\"/>"
            )
        };
        let class = class(row.design);
        let mut svg = String::new();
        svg.extend(self.scale.ticks().iter().map(|tick| upright("tick", *tick, [0.0, HEIGHT])));
        svg.extend(row.limit.map(|limit| upright("limit", limit, [1.0, HEIGHT - 1.0])));
        let Some(value) = &row.value else { return svg };
        svg.push_str(&across(&format!("stem {class}"), [0.0, value.value]));
        let single = format!("single {class}");
        let ends = [MIDDLE - 5.0, MIDDLE + 5.0];
        svg.extend(row.singles.iter().map(|value| upright(&single, *value, ends)));
        let mut words = row.words.clone();
        if let Some([low, high]) = &row.ends {
            let [low, high] = [low, high].map(|end| end.value);
            let ends = [MIDDLE - 7.0, MIDDLE + 7.0];
            svg.push_str(&format!(
                "<g class=\"whisker {class}\">{}{}{}</g>",
                across("", [low, high]),
                upright("", low, ends),
                upright("", high, ends)
            ));
            let [low, high] = [low, high].map(self.text);
            words.push_str(&format!(", 95 % interval {low} to {high}"));
        }
        svg + &format!(
            "<svg x=\"{:.2}%\" y=\"{MIDDLE}\" overflow=\"visible\">{}</svg>",
            x(value.value),
            mark(row.design, &words, value, "")
        )
    }
}
