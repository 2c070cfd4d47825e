//! Heat maps: each field's number, and its shade by its position between the map's ends.

use serde_json::Value;

use super::{
    Cell, Checked, cell_at,
    seen::{Field, Table},
};

/// Tolerance of a shade: shares are rounded to a hundredth, colours to 255 steps.
const SHADE_TOLERANCE: f64 = 0.02;

/// A field with its cell and throughput.
struct Filled<'t, 'a> {
    field: &'t Field,
    cell: Cell<'a>,
    speed: f64,
}

pub(crate) fn compare(table: &Table, results: &[Value], checked: &mut Checked) {
    let place = format!("heat map {}", table.caption);
    let fields = table.rows.iter().flat_map(|row| &row[1..]);
    let filled = fields.filter_map(|field| {
        let figure = field.figures.first()?;
        let cell = cell_at(results, figure.result, &figure.at)?;
        let speed = cell.number(results, "mgas_per_s/median")?;
        Some(Filled { field, cell, speed })
    });
    let filled: Vec<Filled<'_, '_>> = filled.collect();
    let by_speed = |a: &&Filled<'_, '_>, b: &&Filled<'_, '_>| a.speed.total_cmp(&b.speed);
    let (Some(low), Some(high)) = (filled.iter().min_by(by_speed), filled.iter().max_by(by_speed))
    else {
        return checked.note(&place, Err("no field".to_owned()));
    };
    let ends = [low, high].map(|end| channels(&end.field.shade));
    for Filled { field, cell, speed } in &filled {
        let is_named = field.title == cell.text("variant")
            && field.figures[0].at == cell.at("mgas_per_s/median");
        if !is_named {
            let difference = format!("{place}: {:?} is not {:?}", field.text, field.title);
            checked.differences.push(difference);
        }
        checked.field_count += 1;
        if high.speed > low.speed {
            let wanted = (speed / low.speed).ln() / (high.speed / low.speed).ln();
            checked.note(&place, shade(field, ends, wanted));
            checked.mark_count += 1;
        }
    }
}

/// A field's shade between those of the slowest and the fastest.
fn shade(field: &Field, [low, high]: [[f64; 3]; 2], wanted: f64) -> Result<(), String> {
    let own = channels(&field.shade);
    let widest = (0..3).max_by(|a, b| {
        let width = |at: usize| (high[at] - low[at]).abs();
        width(*a).total_cmp(&width(*b))
    });
    let at = widest.unwrap_or(0);
    let share = (own[at] - low[at]) / (high[at] - low[at]);
    match (share - wanted).abs() <= SHADE_TOLERANCE {
        true => Ok(()),
        false => Err(format!("{:?} is shaded {share:.3}, not {wanted:.3}", field.text)),
    }
}

/// Red, green and blue of `rgb(…)` or `color(srgb …)`.
fn channels(colour: &str) -> [f64; 3] {
    let (_, inner) = colour.split_once('(').unwrap_or_else(|| panic!("no colour: {colour}"));
    let numbers = inner.split([' ', ',', ')', '/']).filter_map(|part| part.parse().ok());
    let all: Vec<f64> = numbers.collect();
    let scale = if colour.starts_with("color") { 255.0 } else { 1.0 };
    std::array::from_fn(|at| all[at] * scale)
}
