//! The components of a conflict graph (transactions that conflicts join) as an SVG picture. It is
//! one file that needs no other, and follows the light or dark theme of the viewer's system. It has
//! a title and a description for screen readers. At the left are the largest components as discs,
//! at the right all components by size.

use result::description::{Component, SizeClass, WorkloadDescription};

use super::{describe::size_words, page::clean, units};

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 580.0;
/// Area of the discs: left, top, width, height.
const DISCS: (f64, f64, f64, f64) = (24.0, 100.0, 540.0, 400.0);
const BARS: (f64, f64, f64, f64) = (600.0, 100.0, 336.0, 400.0);
/// Maximal number of discs: more could not be told apart.
const SHOWN_DISC_COUNT: usize = 400;
/// Smallest radius of a disc: a smaller one would not be seen.
const LEAST_RADIUS: f64 = 1.5;
/// Radius from which a disc has room for its number.
const LABEL_RADIUS: f64 = 15.0;
/// Factor by which discs shrink until their rows fit.
const SHRINK: f64 = 0.99;
/// Share of the radius that stays free around a disc.
const GAP_SHARE: f64 = 0.08;
/// Maximal height of a bar with the space below it.
const BAR_HEIGHT_MAX: f64 = 26.0;
/// Width of the words before a bar, and of those after it.
const BAR_WORDS: (f64, f64) = (92.0, 128.0);

const STYLE: &str = "\
<style>
.page{fill:#fff}.text{fill:#1c2026}.faint{fill:#5b6470}.alone{fill:#c3c9d1}.joined{fill:#7fb2e5}
.chain{fill:#1f4e85}.number{fill:#0d1b2a}.inverse{fill:#fff}
text{font:13px system-ui,sans-serif}.head{font-size:18px;font-weight:600}.end{text-anchor:end}
.middle{text-anchor:middle}
@media(prefers-color-scheme:dark){.page{fill:#15181c}.text{fill:#e8eaed}.faint{fill:#9aa4b0}
.alone{fill:#4a525c}.joined{fill:#2f6296}.chain{fill:#a8d0fa}.number{fill:#f2f6fa}
.inverse{fill:#0d1b2a}}
</style>
";

#[derive(Clone, Copy, Debug, PartialEq)]
struct Disc {
    x: f64,
    y: f64,
    radius: f64,
}

/// The picture as an SVG document; `components` are all of the workload's, the largest first.
pub fn conflict_picture(described: &WorkloadDescription, components: &[Component]) -> String {
    let conflicts = &described.conflicts;
    let title = format!("Conflict graph of {}", escaped(&described.workload.scenario));
    let [size, ideal] = words(described);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\" aria-labelledby=\"title desc\">\n\
         <title id=\"title\">{title}</title>\n<desc id=\"desc\">{size} {ideal}</desc>\n{STYLE}\
         <rect class=\"page\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>\n"
    );
    text(&mut out, [DISCS.0, 34.0], "text head", &title);
    text(&mut out, [DISCS.0, 56.0], "text", &size);
    text(&mut out, [DISCS.0, 74.0], "text", &ideal);
    discs(&mut out, components);
    bars(&mut out, &conflicts.sizes, described.all.tx_count);
    legend(&mut out, components);
    out.push_str("</svg>\n");
    out
}

/// The picture in two sentences.
fn words(described: &WorkloadDescription) -> [String; 2] {
    let conflicts = &described.conflicts;
    let ideal = conflicts.ideal.iter().map(|at| {
        format!("{} at {}", units::ratio(at.speedup), units::things(at.threads, "thread"))
    });
    let size = format!(
        "{} in {}; the largest has {}, the longest chain {}.",
        units::things(described.all.tx_count, "transaction"),
        units::things(conflicts.component_count, "component"),
        units::count(conflicts.largest_tx_count),
        units::count(conflicts.longest_chain_tx_count),
    );
    let ideal = units::joined(ideal, ", ");
    [size, format!("Ideal speed-up without a list: {ideal}.")]
}

fn discs(out: &mut String, components: &[Component]) {
    let shown = &components[..components.len().min(SHOWN_DISC_COUNT)];
    let radii: Vec<f64> = shown.iter().map(|of| (of.tx_count as f64).sqrt()).collect();
    for (component, disc) in shown.iter().zip(packed_in_rows(&radii, DISCS.2, DISCS.3)) {
        let disc = Disc { x: disc.x + DISCS.0, y: disc.y + DISCS.1, ..disc };
        let Disc { x, y, radius } = disc;
        let chain_share = component.chain_gas as f64 / component.gas.max(1) as f64;
        if component.tx_count <= 1 {
            circle(out, disc, "alone");
            continue;
        }
        circle(out, disc, "joined");
        let chain = Disc { radius: radius * chain_share.sqrt(), ..disc };
        circle(out, chain, "chain");
        if radius >= LABEL_RADIUS {
            let on_chain = chain.radius >= LABEL_RADIUS;
            let class = if on_chain { "inverse middle" } else { "number middle" };
            text(out, [x, y + 4.5], class, &units::count(component.tx_count));
        }
    }
}

/// Places discs of these radii, the largest first, in rows, as large as the room allows.
fn packed_in_rows(radii: &[f64], width: f64, height: f64) -> Vec<Disc> {
    let largest = radii.first().copied().unwrap_or(1.0);
    let mut scale = width.min(height) / (2.0 * largest * (1.0 + GAP_SHARE));
    loop {
        let (discs, rows_height) = rows(radii, scale, width);
        if rows_height <= height {
            return discs;
        }
        scale *= SHRINK;
    }
}

/// The discs at this scale, and the height of all rows.
fn rows(radii: &[f64], scale: f64, width: f64) -> (Vec<Disc>, f64) {
    let mut discs = Vec::with_capacity(radii.len());
    let (mut left, mut top, mut row_height) = (0.0, 0.0, 0.0);
    for radius in radii {
        let radius = (radius * scale).max(LEAST_RADIUS);
        let side = 2.0 * radius * (1.0 + GAP_SHARE);
        if left > 0.0 && left + side > width {
            top += row_height;
            (left, row_height) = (0.0, 0.0);
        }
        row_height = f64::max(row_height, side);
        discs.push(Disc { x: left + side / 2.0, y: top + side / 2.0, radius });
        left += side;
    }
    (discs, top + row_height)
}

/// Draws one bar for each size class of components: their share of the transactions.
fn bars(out: &mut String, classes: &[SizeClass], tx_count: u64) {
    let (left, top, width, height) = BARS;
    let title = "components by size, and their share of transactions";
    text(out, [left, top - 6.0], "faint", title);
    let step = (height / classes.len().max(1) as f64).min(BAR_HEIGHT_MAX);
    let room = width - BAR_WORDS.0 - BAR_WORDS.1;
    for (index, class) in classes.iter().enumerate() {
        let y = top + 8.0 + step * index as f64;
        let share = class.tx_count as f64 / tx_count.max(1) as f64;
        let kind = if class.most_tx_count > 1 { "joined" } else { "alone" };
        let middle = y + step * 0.4 + 4.5;
        text(out, [left + BAR_WORDS.0 - 8.0, middle], "text end", &size_words(class));
        out.push_str(&format!(
            "<rect class=\"{kind}\" x=\"{:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>\n",
            left + BAR_WORDS.0,
            (room * share).max(1.0),
            step * 0.8,
        ));
        let words =
            format!("{} % in {}", units::percent(share), units::count(class.component_count));
        text(out, [left + BAR_WORDS.0 + room * share + 8.0, middle], "text", &words);
    }
}

fn legend(out: &mut String, components: &[Component]) {
    let y = DISCS.1 + DISCS.3 + 28.0;
    let more = units::beyond(components.len(), SHOWN_DISC_COUNT).map(units::count);
    let more =
        more.map(|more| format!("; the {SHOWN_DISC_COUNT} largest, and {more} more at the right"));
    let more = more.unwrap_or_default();
    let shown = format!("A disc is a component, its area its transactions{more}.");
    text(out, [DISCS.0, y], "faint", &shown);
    let mut x = DISCS.0;
    for (class, words) in [
        ("joined", "transactions in conflict"),
        ("chain", "of it the longest chain, by gas"),
        ("alone", "a transaction that meets no other"),
    ] {
        circle(out, Disc { x: x + 6.0, y: y + 20.0, radius: 6.0 }, class);
        text(out, [x + 18.0, y + 24.5], "text", words);
        // About 6.6 pixels a letter.
        x += 46.0 + 6.6 * words.len() as f64;
    }
}

fn circle(out: &mut String, disc: Disc, class: &str) {
    let Disc { x, y, radius } = disc;
    out.push_str(&format!(
        "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\"/>\n"
    ));
}

/// Writes a text whose start, end or middle, by its class, lies at this point.
fn text(out: &mut String, [x, y]: [f64; 2], class: &str, words: &str) {
    out.push_str(&format!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{words}</text>\n"));
}

/// Escapes a name for XML.
fn escaped(name: &str) -> String {
    clean(name).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discs_stay_in_their_room_and_apart_whatever_their_number_and_sizes() {
        let giant = std::iter::once(300.0).chain(std::iter::repeat_n(1.0, 399)).collect();
        let falling = (1..=SHOWN_DISC_COUNT).map(|n| 100.0 / n as f64).collect();
        for radii in [vec![1.0], vec![7.0, 1.0], vec![1.0; SHOWN_DISC_COUNT], giant, falling] {
            let discs = packed_in_rows(&radii, DISCS.2, DISCS.3);
            assert_eq!(discs.len(), radii.len());
            for (place, disc) in discs.iter().enumerate() {
                let Disc { x, y, radius } = *disc;
                assert!(x - radius >= 0.0 && x + radius <= DISCS.2, "{disc:?}");
                assert!(y - radius >= 0.0 && y + radius <= DISCS.3 + 1e-6, "{disc:?}");
                for other in &discs[..place] {
                    let apart = (x - other.x).hypot(y - other.y);
                    assert!(apart >= radius + other.radius, "{disc:?} {other:?}");
                }
            }
        }
    }

    #[test]
    fn a_name_does_not_end_an_element() {
        assert_eq!(escaped("a<b>&\u{1b}c"), "a&lt;b&gt;&amp; c");
    }
}
