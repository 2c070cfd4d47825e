//! Pictures of rows: of throughputs, a mark at the median of a variant and a whisker over its interval; of
//! a gate, a mark at a change and a whisker between its bounds.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    Cell, Checked, cell_at, cells, charts, note_missing, number,
    scale::{Law, Scale, Tick},
    seen::{Ends, Figure, Label, Picture, Row},
    text,
};

/// Above this many rows only the best of their designs are drawn.
const DRAWN_ROW_COUNT: usize = 40;
/// Tolerance of a tick's text around its line, in pixels: texts start at whole ones.
const TEXT_TOLERANCE: f64 = 1.5;
const MEDIAN: &str = "mgas_per_s/median";

/// Compares the pictures of a section, which show all variants together.
pub(crate) fn compare(pictures: &[Picture], results: &[Value], checked: &mut Checked) {
    let mut seen = BTreeSet::new();
    for picture in pictures {
        seen.extend(compare_one(picture, results, checked));
    }
    let all = cells(results);
    if !pictures.is_empty() && all.len() <= DRAWN_ROW_COUNT {
        note_missing("the picture of throughput", &all, &seen, checked);
    }
}

/// Compares the pictures of a gate: a row for each change that is known.
pub(crate) fn compare_gate(pictures: &[Picture], results: &[Value], checked: &mut Checked) {
    for (row, ticks) in pictures.iter().flat_map(|of| of.rows.iter().map(|row| (row, &of.ticks))) {
        let place = format!("the gate's {}", row.variant);
        let (Some(mark), [value]) = (&row.mark, row.value.as_slice()) else {
            checked.note(&place, Err("no change".to_owned()));
            continue;
        };
        let scale = match scale_of(row, ticks) {
            Ok(scale) => scale,
            Err(difference) => {
                checked.note(&place, Err(difference));
                continue;
            }
        };
        let end = |key: &str| number(results.get(value.result)?, &value.at.replace("change", key));
        if mark.at != value.at || !mark.at.ends_with("/change") {
            checked.differences.push(format!("{place}: {} is no change", mark.at));
        }
        scale.note(&place, mark.origin[0], end("change").unwrap_or(f64::NAN), checked);
        match (row.whisker, end("lower").zip(end("upper"))) {
            (Some([left, _, right, _]), Some((lower, upper))) => {
                scale.note(&format!("{place}: the lower bound"), left, lower, checked);
                scale.note(&format!("{place}: the upper bound"), right, upper, checked);
            }
            (None, None) => {}
            (drawn, wanted) => {
                let difference = format!("{place}: bounds {wanted:?} drawn as {drawn:?}");
                checked.differences.push(difference);
            }
        }
    }
}

/// Compares one picture. Returns the cells that it shows.
fn compare_one(
    picture: &Picture,
    results: &[Value],
    checked: &mut Checked,
) -> BTreeSet<(usize, usize)> {
    checked.tick_count += picture.ticks.len();
    let mut seen = BTreeSet::new();
    for row in &picture.rows {
        let cell = row.value.first().and_then(|value| cell_at(results, value.result, &value.at));
        let Some(cell) = cell.filter(|cell| cell.text("variant") == row.variant) else {
            checked.differences.push(format!("throughput: {:?} is of no variant", row.name));
            continue;
        };
        seen.insert((cell.result, cell.index));
        match scale_of(row, &picture.ticks) {
            Ok(scale) => compare_row(row, &cell, scale, checked),
            Err(difference) => checked.note(&row.variant, Err(difference)),
        }
    }
    seen
}

/// A row's lines stand below the texts of the head.
///
/// # Errors
/// One stands below none.
fn scale_of(row: &Row, labels: &[Label]) -> Result<Scale, String> {
    if row.grid.len() != labels.len() {
        return Err(format!("{} lines below {} ticks", row.grid.len(), labels.len()));
    }
    let tick = |(line, label): (&Ends, &Label)| {
        let Label { text, extent: [left, _, right, _] } = label;
        let is_below = ((left + right) / 2.0 - line[0]).abs() <= TEXT_TOLERANCE;
        let number = text::number(text).filter(|_| is_below);
        let number = number.ok_or_else(|| format!("a line that is not below {text:?}"))?;
        Ok(Tick { pixel: line[0], value: number.value })
    };
    let ticks: Result<Vec<Tick>, String> = row.grid.iter().zip(labels).map(tick).collect();
    Scale::of(&ticks?, Law::Linear)
}

fn compare_row(row: &Row, cell: &Cell<'_>, scale: Scale, checked: &mut Checked) {
    let place = format!("throughput of {}", cell.text("variant"));
    let is_of = |words: &str| row.name.contains(words);
    if !is_of(cell.text("design")) || !is_of(&cell.threads()) {
        checked.differences.push(format!("{place}: named {:?}", row.name));
    }
    let is_at = |figures: &[Figure], paths: &[&str]| {
        let at = |(figure, path): (&Figure, &&str)| figure.at == cell.at(path);
        let is_same = figures.len() == paths.len() && figures.iter().zip(paths).all(at);
        if is_same { Ok(()) } else { Err(format!("shows {figures:?}, not {paths:?}")) }
    };
    checked.note(&place, is_at(&row.value, &[MEDIAN]));
    scale.note(&format!("{place}: the left edge"), row.zero, 0.0, checked);
    let (Some(mark), Some(median)) = (&row.mark, cell.value(MEDIAN).as_f64()) else {
        return checked.note(&place, Err("no mark".to_owned()));
    };
    scale.note(&place, mark.origin[0], median, checked);
    for stem in &row.stem {
        scale.note(&format!("{place}: the stem's foot"), stem[0], 0.0, checked);
        scale.note(&format!("{place}: the stem's head"), stem[2], median, checked);
    }
    charts::words(mark, &[(&cell.at(MEDIAN), median)], checked);
    let interval = cell.value("mgas_per_s/ci95").as_array();
    match (row.whisker, interval) {
        (Some([left, _, right, _]), Some(ends)) => {
            checked.note(&place, is_at(&row.ends, &["mgas_per_s/ci95/0", "mgas_per_s/ci95/1"]));
            for (name, pixel, end) in [("lower", left, &ends[0]), ("upper", right, &ends[1])] {
                let wanted = end.as_f64().unwrap();
                scale.note(&format!("{place}: the {name} end"), pixel, wanted, checked);
                let is_said = mark
                    .words
                    .split([' ', ','])
                    .any(|word| text::compare(word, "", wanted).is_ok());
                if !is_said {
                    let difference = format!("{place}: {wanted} is not in {:?}", mark.words);
                    checked.differences.push(difference);
                }
            }
        }
        (None, None) if row.interval == format!("n={}", cell.value_count()) => {}
        (drawn, wanted) => {
            let said = &row.interval;
            let difference = format!("{place}: interval {wanted:?} drawn as {drawn:?}, {said:?}");
            checked.differences.push(difference);
        }
    }
}
