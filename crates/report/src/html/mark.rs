//! Marks of designs on a page: shape, colours and dashes. Designs take the marks in their own
//! order. A new design comes last, so it changes no other design's mark.

use variant::Design;

struct Mark {
    /// Its shape: a path around (0, 0).
    shape: &'static str,
    /// Its colour on light paper.
    light: &'static str,
    /// Its colour on dark paper.
    dark: &'static str,
    /// Dashes of its lines; `None` for solid lines.
    dashes: Option<&'static str>,
}

// Paths of the shapes, around (0, 0).
const CIRCLE: &str = "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z";
const SQUARE: &str = "M-4.2 -4.2h8.4v8.4h-8.4z";
const PLUS: &str = "M-1.8 -5.4h3.6v3.6h3.6v3.6h-3.6v3.6h-3.6v-3.6h-3.6v-3.6h3.6z";
const DIAMOND: &str = "M0 -5.8L5.8 0L0 5.8L-5.8 0z";
const TRIANGLE: &str = "M0 -5.6L5.6 4.4H-5.6z";
const TRIANGLE_UPSIDE_DOWN: &str = "M0 5.6L5.6 -4.4H-5.6z";
const HEXAGON: &str = "M-2.7 -4.8h5.4l2.8 4.8l-2.8 4.8h-5.4l-2.8 -4.8z";
const HOURGLASS: &str = "M-4.8 -5h9.6l-3.4 5l3.4 5h-9.6l3.4 -5z";
const BAR: &str = "M-2.4 -5.8h4.8v11.6h-4.8z";

/// The marks in the order of [`Design::ALL`]. The last marks are for designs to come.
const MARKS: [Mark; 9] = [
    Mark { shape: CIRCLE, light: "#4f5864", dark: "#b3bac4", dashes: None },
    Mark { shape: SQUARE, light: "#8a6100", dark: "#e0b04d", dashes: Some("3 3") },
    Mark { shape: PLUS, light: "#73389c", dark: "#c79be6", dashes: Some("10 3 2 3") },
    Mark { shape: DIAMOND, light: "#0b62ad", dark: "#74b7f2", dashes: Some("7 4") },
    Mark { shape: TRIANGLE, light: "#b8400e", dark: "#ff9d6b", dashes: None },
    Mark { shape: TRIANGLE_UPSIDE_DOWN, light: "#0d7057", dark: "#62cfac", dashes: Some("12 4") },
    Mark { shape: HEXAGON, light: "#a3195b", dark: "#f48fb8", dashes: Some("2 2 8 2") },
    Mark { shape: HOURGLASS, light: "#3d6400", dark: "#a8d15c", dashes: Some("1 3") },
    Mark { shape: BAR, light: "#6b4a33", dark: "#d3b093", dashes: Some("14 3 5 3") },
];

const _: () = assert!(Design::ALL.len() <= MARKS.len(), "each design needs a mark: add to MARKS");

const fn mark(design: Design) -> &'static Mark {
    &MARKS[design as usize]
}

/// The CSS class of a design's elements.
pub(super) fn class(design: Design) -> String {
    format!("d-{design}")
}

/// The path of a design's mark, around (0, 0).
pub(super) const fn shape(design: Design) -> &'static str {
    mark(design).shape
}

/// `rules` with the designs' rules in place of the comments that name them.
pub(super) fn style(rules: &str) -> String {
    let mut all = [(); 4].map(|()| String::new());
    let [light, dark, classes, dashes] = &mut all;
    for design in Design::ALL {
        let mark = mark(*design);
        light.push_str(&format!("--d-{design}: {}; ", mark.light));
        dark.push_str(&format!("--d-{design}: {}; ", mark.dark));
        classes.push_str(&format!(".d-{design} {{ --c: var(--d-{design}); }}\n"));
        dashes
            .extend(mark.dashes.map(|dashes| {
                format!(".line.d-{design} line {{ stroke-dasharray: {dashes}; }}\n")
            }));
    }
    let places = ["light colours", "dark colours", "classes", "dashes"].iter().zip(&all);
    places.fold(rules.to_owned(), |css, (place, rules)| {
        css.replace(&format!("/*{place} of designs*/"), rules)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::html::heat::{DEEP_PERCENT, DEEP_PERCENT_DARK};

    const STYLE: &str = include_str!("style.css");

    /// Relative luminance of `#rrggbb` (WCAG 2).
    fn luminance(colour: &str) -> f64 {
        let part = |at: usize| {
            let share = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn no_two_looks_share_a_shape_a_colour_or_dashes_and_each_can_be_seen() {
        let distinct =
            |of: fn(&Mark) -> &'static str| MARKS.iter().map(of).collect::<BTreeSet<_>>().len();
        assert_eq!(distinct(|mark| mark.shape), MARKS.len());
        assert_eq!(distinct(|mark| mark.light), MARKS.len());
        assert_eq!(distinct(|mark| mark.dark), MARKS.len());
        let dashes: Vec<_> = MARKS.iter().filter_map(|mark| mark.dashes).collect();
        assert_eq!(dashes.iter().collect::<BTreeSet<_>>().len(), dashes.len());
        let papers: Vec<_> = STYLE.split("--paper: ").skip(1).map(|rest| &rest[..7]).collect();
        let [light, dark, ..] = papers[..] else { panic!("no paper") };
        for mark in &MARKS {
            assert!(contrast(mark.light, light) >= 4.5, "{} on {light}", mark.light);
            assert!(contrast(mark.dark, dark) >= 4.5, "{} on {dark}", mark.dark);
        }
    }

    /// The colour `percent` of the way from `from` to `to`, as `color-mix` in sRGB has it.
    fn mixed(from: &str, to: &str, percent: u32) -> String {
        let channel =
            |colour: &str, at: usize| u32::from_str_radix(&colour[at..at + 2], 16).unwrap();
        let mix = |at| (channel(to, at) * percent + channel(from, at) * (100 - percent)) / 100;
        format!("#{:02x}{:02x}{:02x}", mix(1), mix(3), mix(5))
    }

    #[test]
    fn the_ink_of_every_shade_of_a_heat_map_can_be_read_on_a_light_and_on_a_dark_page() {
        let all = |name: &str| -> Vec<&str> {
            STYLE.split(name).skip(1).map(|rest| rest[..7].trim_end_matches(';')).collect()
        };
        let [panels, heats, lows, inks] =
            ["--panel: ", "--heat: ", "--heat-low: ", "--heat-ink: "].map(all);
        let themes = [DEEP_PERCENT, DEEP_PERCENT_DARK];
        for (at, deep_percent) in themes.into_iter().enumerate() {
            for percent in 0..=100 {
                let shade = mixed(panels[at], heats[at], percent);
                let ink = if f64::from(percent) > deep_percent { inks[at] } else { lows[at] };
                assert!(contrast(&shade, ink) >= 4.4, "{percent} %: {ink} on {shade}");
            }
        }
    }

    #[test]
    fn lines_of_designs_whose_threads_vary_are_told_apart_without_colour() {
        let parallel = Design::ALL.iter().filter(|design| design.preset().engine.is_parallel());
        let dashes: Vec<_> = parallel.map(|design| mark(*design).dashes).collect();
        assert_eq!(dashes.iter().collect::<BTreeSet<_>>().len(), dashes.len(), "{dashes:?}");
    }

    #[test]
    fn a_design_keeps_its_look_from_version_to_version() {
        let first = ["sequential", "prewarm", "block-stm", "parallel-io", "batched-io", "full"];
        let names: Vec<_> = Design::ALL.iter().map(|design| design.name()).collect();
        assert_eq!(names[..first.len()], first, "a new design comes after those that there are");
    }

    #[test]
    fn the_rules_have_a_place_for_all_that_is_told_of_designs() {
        let style = style(STYLE);
        for design in Design::ALL {
            let mark = mark(*design);
            assert_eq!(style.matches(&format!("--d-{design}: {};", mark.light)).count(), 2);
            assert_eq!(style.matches(&format!("--d-{design}: {};", mark.dark)).count(), 1);
            assert_eq!(style.matches(&format!(".d-{design} {{ --c: ")).count(), 1);
            let dashes = format!(".line.d-{design} line {{ stroke-dasharray: ");
            assert_eq!(style.matches(&dashes).count(), usize::from(mark.dashes.is_some()));
        }
        assert!(!style.contains("of designs"), "a place is not filled: {style}");
    }
}
