//! Tables: each field holds the number that its row and its heading name, and only it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    Cell, Checked, cells, columns, heat, note_missing,
    seen::{Field, Figure, Section, Table},
};

/// Compares a table by its headings, if rows and headings name numbers.
pub(crate) fn compare(section: &Section, table: &Table, results: &[Value], checked: &mut Checked) {
    match table.caption.as_str() {
        _ if section.id == "heat" => heat::compare(table, results, checked),
        "Milliseconds per batch on each database" => on_databases(table, results, checked),
        "List size and throughput" => list_sizes(table, results, checked),
        "Functions by share of the CPU’s time" => functions(table, results, checked),
        "Figures of the gate" => of_gate(table, results, checked),
        caption => {
            if let Some(columns) = columns::of_variants(caption, &table.heads) {
                of_variants(table, &columns, results, checked);
            }
        }
    }
}

fn of_variants(
    table: &Table,
    columns: &[columns::Column],
    results: &[Value],
    checked: &mut Checked,
) {
    let place = &table.caption;
    let heads: Vec<_> = columns.iter().map(|(head, _)| *head).collect();
    let is_known =
        heads.iter().zip(&table.heads[1..]).all(|(head, seen)| head.is_empty() || head == seen);
    if !is_known || heads.len() + 1 != table.heads.len() {
        checked.differences.push(format!("{place}: headings {:?}, not {heads:?}", table.heads));
        return;
    }
    let mut seen = BTreeSet::new();
    for row in &table.rows {
        let of_row = |cell: &Cell<'_>| {
            let fields = row[1..].iter().zip(columns);
            let compared = fields.map(|(field, (_, path))| match path.contains('*') {
                // The median of a number that no sample has.
                true if cell.number(results, path).is_none() => is_unknown(field, &cell.at(path)),
                _ => field_of(field, cell, path),
            });
            compared.filter_map(Result::err).collect()
        };
        let Some(cell) = best(row, results, of_row, checked, place) else { continue };
        seen.insert((cell.result, cell.index));
        checked.field_count += columns.len();
        bars(row, &cell, columns, results, checked);
    }
    if place == "All figures by variant" {
        note_missing(place, &cells(results), &seen, checked);
    }
}

/// The cell of a row; of several of one name the one that it is most like. Notes its differences.
fn best<'a>(
    row: &[Field],
    results: &'a [Value],
    differences: impl Fn(&Cell<'a>) -> Vec<String>,
    checked: &mut Checked,
    place: &str,
) -> Option<Cell<'a>> {
    let all = named(&row[0], results).into_iter().map(|cell| (differences(&cell), cell));
    let Some((differences, cell)) = all.min_by_key(|(differences, _)| differences.len()) else {
        checked.differences.push(format!("{place}: no variant is named {:?}", row[0].text));
        return None;
    };
    let name = cell.text("variant");
    let noted = differences.into_iter().map(|difference| format!("{place}, {name}: {difference}"));
    checked.differences.extend(noted);
    Some(cell)
}

/// The cells that a row's first field names: `B · memory/…`, or with the variant beside the pointer.
fn named<'a>(field: &Field, results: &'a [Value]) -> Vec<Cell<'a>> {
    let (label, rest) = field.text.split_once(" · ").unwrap_or(("", &field.text));
    let result = label.bytes().next().map(|letter| usize::from(letter - b'A'));
    let variant = match field.title.as_str() {
        "" => rest.split_whitespace().next().unwrap_or_default(),
        title => title,
    };
    let is_named = |cell: &Cell<'_>| {
        cell.text("variant") == variant && result.is_none_or(|result| cell.result == result)
    };
    cells(results).into_iter().filter(is_named).collect()
}

/// A field against its cell's value at a path.
fn field_of(field: &Field, cell: &Cell<'_>, path: &str) -> Result<(), String> {
    let Field { text, beside, .. } = field;
    let at = |end: &str| cell.at(&format!("{path}{end}"));
    let is_text = |wanted: &str| match text == wanted {
        true => Ok(()),
        false => Err(format!("{}: {text:?}, not {wanted:?}", at(""))),
    };
    match cell.value(path) {
        Value::Array(all) if path == "samples" => is_text(&all.len().to_string()),
        Value::Array(_) if beside == "to" => shows(field, cell.result, &[at("/0"), at("/1")]),
        Value::String(name) => is_text(name),
        Value::Null if path.ends_with("ci95") || path.ends_with("_range") => {
            is_text(&format!("n={}", cell.value_count()))
        }
        // Calls that read no block have no depth.
        Value::Number(depth) if path == "reads_in_flight" && depth.as_f64() == Some(0.0) => {
            is_unknown(field, &at(""))
        }
        Value::Null if !path.contains('*') => is_unknown(field, &at("")),
        Value::Null | Value::Number(_) if beside.is_empty() => shows(field, cell.result, &[at("")]),
        other => Err(format!("{}: {text:?} for {other}", at(""))),
    }
}

fn is_unknown(field: &Field, at: &str) -> Result<(), String> {
    let Field { text, figures, .. } = field;
    let words = ["not known", "not applicable"];
    match figures.is_empty() && words.iter().any(|words| text.contains(words)) {
        true => Ok(()),
        false => Err(format!("{at}: {text:?}, and the result does not know it")),
    }
}

/// Compares a field with the numbers at these places; texts and places are compared for all numbers
/// of a page.
fn shows(field: &Field, result: usize, places: &[String]) -> Result<(), String> {
    let is_at = |(figure, at): (&Figure, &String)| figure.result == result && figure.at == *at;
    let is_same =
        field.figures.len() == places.len() && field.figures.iter().zip(places).all(is_at);
    match is_same {
        true => Ok(()),
        false => Err(format!("{:?} is not {}", field.text, places.join(" and "))),
    }
}

/// Bars of phases against their share of the wall time.
fn bars(
    row: &[Field],
    cell: &Cell<'_>,
    columns: &[columns::Column],
    results: &[Value],
    checked: &mut Checked,
) {
    for (field, (_, path)) in row[1..].iter().zip(columns) {
        let Some([[left, _, end, _], [bar_left, _, bar_end, _]]) = field.bar else { continue };
        let numbers = [path.as_str(), "samples/*/wall_ns"].map(|path| cell.number(results, path));
        let [Some(part), Some(wall)] = numbers else { continue };
        let place = format!("the bar of {path} of {}", cell.text("variant"));
        checked.note_pixel(&place, bar_left, left);
        checked.note_pixel(&place, bar_end, left + (end - left) * (part / wall).min(1.0));
    }
}

/// Databases down, variants across.
fn on_databases(table: &Table, results: &[Value], checked: &mut Checked) {
    for row in &table.rows {
        for (field, variant) in row[1..].iter().zip(&table.heads[1..]) {
            let of_variant = |cell: &Cell<'_>| cell.text("variant") == variant;
            let of_seed = |cell: Cell<'_>| {
                let each = cell.value("databases/each").as_array()?;
                let place =
                    each.iter().position(|one| one["seed"].as_u64() == row[0].text.parse().ok())?;
                Some((cell.result, cell.at(&format!("databases/each/{place}/ms_per_batch/median"))))
            };
            let places = cells(results).into_iter().filter(of_variant).filter_map(of_seed);
            let all: Vec<_> = places.map(|(result, at)| shows(field, result, &[at])).collect();
            let is_any =
                all.iter().any(Result::is_ok) || all.is_empty() && field.figures.is_empty();
            let compared = if is_any { Ok(()) } else { all.into_iter().next().unwrap_or(Ok(())) };
            checked.note(&table.caption, compared);
            checked.field_count += 1;
        }
    }
}

fn list_sizes(table: &Table, results: &[Value], checked: &mut Checked) {
    for row in &table.rows {
        let of_row = |cell: &Cell<'_>| {
            let list = cell.value("list").as_str();
            let at = list.map(|list| format!("/workload/bal/{}_bytes", list.replace('-', "_")));
            let is_named = match row[1].text == list.unwrap_or("none") {
                true => Ok(()),
                false => Err(format!("{:?} is not its list", row[1].text)),
            };
            let length = match at {
                Some(at) if results[cell.result].pointer(&at).is_some_and(|of| *of != 0) => {
                    shows(&row[2], cell.result, &[at])
                }
                at => is_unknown(&row[2], &at.unwrap_or_default()),
            };
            let speed = field_of(&row[3], cell, "mgas_per_s/median");
            [is_named, length, speed].into_iter().filter_map(Result::err).collect()
        };
        best(row, results, of_row, checked, &table.caption);
        checked.field_count += 3;
    }
}

fn functions(table: &Table, results: &[Value], checked: &mut Checked) {
    for (place, row) in table.rows.iter().enumerate() {
        let of_result = |result: usize| {
            let frame = results[result].pointer(&format!("/profile/frames/{place}"))?;
            (frame["name"].as_str()? == row[0].text).then_some(result)
        };
        let Some(result) = (0..results.len()).find_map(of_result) else {
            checked.differences.push(format!("no frame {place} is {:?}", row[0].text));
            continue;
        };
        for (field, key) in row[1..].iter().zip(["self_share", "total_share"]) {
            let at = format!("/profile/frames/{place}/{key}");
            checked.note(&table.caption, shows(field, result, &[at]));
            checked.field_count += 1;
        }
    }
}

/// Rows of a gate: a variant and a metric, or a variant and its counterpart.
fn of_gate(table: &Table, results: &[Value], checked: &mut Checked) {
    for row in &table.rows {
        let Some(first) = row[2].figures.first() else {
            let is_bare = row[3..5].iter().all(|field| field.text.contains("not known"));
            let words = format!("{}: bounds without a change", row[0].text);
            checked.note(&table.caption, if is_bare { Ok(()) } else { Err(words) });
            continue;
        };
        let judged = first.at.trim_end_matches("/change");
        let result = first.result;
        let name = gate_name(&results[result], judged);
        let named = match name.as_deref() == Some(row[0].text.as_str()) {
            true => Ok(()),
            false => Err(format!("{:?} is {name:?}", row[0].text)),
        };
        checked.note(&table.caption, named);
        for (field, key) in row[2..].iter().zip(["change", "lower", "upper"]) {
            let at = format!("{judged}/{key}");
            let is_known = results[result].pointer(&at).is_some_and(Value::is_number);
            let shown = if is_known { shows(field, result, &[at]) } else { is_unknown(field, &at) };
            checked.note(&table.caption, shown);
            checked.field_count += 1;
        }
        let allowed = match judged.split_once("/looks/") {
            Some((figure, _)) => format!("{figure}/delta"),
            None => "/gate/delta".to_owned(),
        };
        checked.note(&table.caption, shows(&row[5], result, &[allowed]));
    }
}

/// The name of a gate's row, by the part of the result that it shows.
fn gate_name(result: &Value, judged: &str) -> Option<String> {
    let text = |at: &str| Some(result.pointer(at)?.as_str()?.to_owned());
    if let Some((figure, look)) = judged.split_once("/looks/") {
        // The last look of the last try counts.
        let looks = result.pointer(&format!("{figure}/looks"))?.as_array()?;
        let (cell, _) = figure.split_once("/figures/")?;
        let is_last = look.parse() == Ok(looks.len() - 1);
        let name =
            format!("{} {}", text(&format!("{cell}/variant"))?, text(&format!("{figure}/metric"))?);
        return is_last.then_some(name);
    }
    let what = match judged {
        at if at.contains("/ratios/") => "against its reference".to_owned(),
        at if at.contains("/times/") => "time".to_owned(),
        at => text(&format!("{}/metric", at.trim_end_matches("/shift")))?,
    };
    Some(format!("{}, {what}", text(&format!("{judged}/variant"))?))
}
