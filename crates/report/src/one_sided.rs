//! Notes of `stress compare` on designs that two results both have, but without a common variant.
//! No row of such a design can be compared. A note tells the reason, and the options with which
//! both runs have the same variants.

use std::collections::BTreeSet;

use result::{Cell, RunResult, Stored};
use variant::{Design, StoreKind};

use crate::{
    compare::{COUNTS, label},
    facts::distinct,
    units::joined,
};

/// The rows of a result without a counterpart in another.
struct Side<'r> {
    label: String,
    run: &'r RunResult,
    cells: Vec<&'r Cell>,
}

/// A count of rows (threads, fibers or shards) that differs between the sides, with its values on
/// each side.
struct Differing {
    /// Name of the key below `run.`.
    name: &'static str,
    values: Vec<BTreeSet<u64>>,
}

impl Differing {
    /// Whether the first side has no value in common with any other side.
    fn is_apart(&self) -> bool {
        let [first, others @ ..] = self.values.as_slice() else { return false };
        others.iter().all(|other| first.is_disjoint(other))
    }

    /// `--io-threads 2,8`: the values of the first side whose values are all above 0.
    fn option(&self) -> Option<String> {
        let values = self.values.iter().find(|values| values.iter().all(|value| *value > 0))?;
        Some(format!("--{} {}", self.name.replace('_', "-"), listed(values, ",")))
    }
}

/// A note for each design and store that the first of `results` and another result both have, but
/// without a common variant.
pub fn one_sided(results: &[Stored]) -> Vec<String> {
    let Some(first) = results.first() else { return Vec::new() };
    let cells = first.result.cells.iter();
    let kinds = distinct(cells.map(|cell| (cell.store, cell.design)));
    let is_on_one_store = kinds.iter().all(|(store, _)| *store == kinds[0].0);
    let notes = kinds.iter().filter_map(|(store, design)| {
        let on = if is_on_one_store { String::new() } else { format!(" on {store}") };
        let words = words(&sides(results, *store, *design))?;
        Some(format!("no variant of {design}{on} {words}"))
    });
    notes.collect()
}

/// The first result, and those that share no variant of `design` on `store` with it.
fn sides(results: &[Stored], store: StoreKind, design: Design) -> Vec<Side<'_>> {
    let mut sides: Vec<Side<'_>> = Vec::new();
    for (index, stored) in results.iter().enumerate() {
        let run = &stored.result;
        let own = run.cells.iter().filter(|cell| (cell.store, cell.design) == (store, design));
        let own: Vec<&Cell> = own.collect();
        let cells = match sides.first() {
            None => own,
            Some(first) => without_counterpart(&own, &first.cells),
        };
        if index == 0 || !cells.is_empty() {
            sides.push(Side { label: label(index), run, cells });
        }
    }
    sides
}

/// The rows of `own` that cannot be compared with `other`. Both results have rows of their kind
/// (whole blocks, or execution alone), and no variant of this kind is in both.
fn without_counterpart<'r>(own: &[&'r Cell], other: &[&Cell]) -> Vec<&'r Cell> {
    let is_alone = own.iter().filter(|cell| {
        let is_shared =
            like(own, cell).any(|beside| other.iter().any(|there| there.variant == beside.variant));
        like(other, cell).next().is_some() && !is_shared
    });
    is_alone.copied().collect()
}

/// The cells of the same kind as `cell`: whole blocks, or execution alone.
fn like<'c>(cells: &[&'c Cell], cell: &Cell) -> impl Iterator<Item = &'c Cell> {
    let is_alone = cell.duties.is_empty();
    cells.iter().copied().filter(move |other| other.duties.is_empty() == is_alone)
}

/// `is in both A and B: their io_threads differ (2, 8 in A; 16, 64 in B), which were chosen by
/// default; run both with --io-threads 2,8`; `None` for a single side.
fn words(sides: &[Side<'_>]) -> Option<String> {
    let (first, others) = sides.split_first().filter(|(_, others)| !others.is_empty())?;
    let labels: Vec<&str> = others.iter().map(|side| side.label.as_str()).collect();
    let (any, runs) = if others.len() == 1 { ("", "both") } else { ("any of ", "all of them") };
    let head = format!("is in both {} and {any}{}", first.label, labels.join(", "));
    let differing = differing(sides);
    if differing.is_empty() {
        let each = sides
            .iter()
            .filter_map(|side| Some(format!("{} has {}", side.label, side.cells.first()?.variant)));
        return Some(format!("{head}: {}", joined(each, ", ")));
    }
    let each = joined(differing.iter().map(|of| values_words(sides, of)), ", and their ");
    let options: Option<Vec<String>> = differing.iter().map(Differing::option).collect();
    let remedy = options.map(|options| format!("; run {runs} with {}", options.join(" ")));
    Some(format!("{head}: their {each}{}", remedy.unwrap_or_default()))
}

/// The counts of which the first side has no value in common with the others. Without such a count,
/// all counts that differ.
fn differing(sides: &[Side<'_>]) -> Vec<Differing> {
    let (apart, others): (Vec<_>, Vec<_>) = COUNTS
        .into_iter()
        .map(|(name, count)| {
            let values = sides.iter().map(|side| side.cells.iter().map(|cell| count(cell)));
            Differing { name, values: values.map(Iterator::collect).collect() }
        })
        .filter(|of| of.values.iter().any(|values| *values != of.values[0]))
        .partition(Differing::is_apart);
    if apart.is_empty() { others } else { apart }
}

/// A count that differs, with its values on each side: `io_threads differ (2, 8 in A; 16, 64 in B),
/// which were chosen by default`.
fn values_words(sides: &[Side<'_>], differing: &Differing) -> String {
    let Differing { name, values } = differing;
    let each = sides.iter().zip(values);
    let each = each.map(|(side, values)| format!("{} in {}", listed(values, ", "), side.label));
    let chose = sides.iter().filter(|side| is_chosen(side, name));
    let chose: Vec<&str> = chose.map(|side| side.label.as_str()).collect();
    let by_default = match chose.len() {
        0 => String::new(),
        all if all == sides.len() => ", which were chosen by default".to_owned(),
        _ => format!(", of which those in {} were chosen by default", chose.join(", ")),
    };
    format!("{name} differ ({}){by_default}", joined(each, "; "))
}

/// Whether a run chose the values of this count itself, for the store of its rows: `rocksdb:
/// io_threads = [2, 8]: …`.
fn is_chosen(side: &Side<'_>, name: &str) -> bool {
    let Some(cell) = side.cells.first() else { return false };
    let start = format!("{}: {name} = ", cell.store);
    side.run.choices.iter().any(|choice| choice.starts_with(&start))
}

fn listed(values: &BTreeSet<u64>, between: &str) -> String {
    joined(values.iter().map(u64::to_string), between)
}

#[cfg(test)]
mod tests {
    use result::example;

    use super::*;

    /// A run of which each batched row has the I/O threads that `of` makes of its own.
    fn stored(choices: &[&str], of: fn(u64) -> u64) -> Stored {
        let mut run = example::sampled(8);
        run.choices = choices.iter().map(|choice| (*choice).to_owned()).collect();
        for cell in run.cells.iter_mut().filter(|cell| cell.design == Design::BatchedIo) {
            cell.io_threads = of(cell.io_threads);
            let (way, _) = cell.variant.split_once('@').expect("threads");
            cell.variant = format!("{way}@{}+{}io", cell.threads, cell.io_threads);
        }
        Stored::new("r.json".into(), run)
    }

    #[test]
    fn rows_without_a_counterpart_are_told_with_the_reason_and_the_remedy() {
        let (a, b) = (stored(&[], |io| io), stored(&[], |io| io / 8));
        assert!(one_sided(&[a.clone(), a.clone()]).is_empty());
        let differ = "no variant of batched-io is in both A and B: their io_threads differ \
                      (16, 64 in A; 2, 8 in B)";
        let remedy = "; run both with --io-threads 16,64";
        assert_eq!(one_sided(&[a.clone(), b.clone()]), [format!("{differ}{remedy}")]);
        let chose = ["rocksdb: io_threads = [2, 8]: each waits for one read"];
        let chosen = stored(&chose, |io| io / 8);
        let of_b = ", of which those in B were chosen by default";
        assert_eq!(one_sided(&[a, chosen]), [format!("{differ}{of_b}{remedy}")]);
        let both = [stored(&chose, |io| io * 2), stored(&chose, |io| io)];
        assert!(one_sided(&both)[0].contains("), which were chosen by default; run both with "));
        let three = [b.clone(), stored(&[], |io| io), stored(&[], |io| io * 2)];
        let note = one_sided(&three).pop().expect("a note");
        assert!(
            note.contains("in both A and any of B, C: ") && note.contains("run all of them"),
            "{note}"
        );
    }

    #[test]
    fn one_common_variant_is_enough_and_a_design_of_one_side_is_no_case() {
        let a = stored(&[], |io| io);
        let one = stored(&[], |io| if io == 16 { 16 } else { 2 });
        assert!(one_sided(&[a.clone(), one]).is_empty());
        let mut without = a.clone();
        without.result.cells.retain(|cell| cell.design != Design::BatchedIo);
        assert!(one_sided(&[a, without]).is_empty());
    }

    #[test]
    fn rows_of_other_ways_are_named() {
        let a = stored(&[], |io| io);
        let mut b = a.clone();
        for cell in b.result.cells.iter_mut().filter(|cell| cell.design == Design::BatchedIo) {
            cell.variant = cell.variant.replace('@', "+root-after@");
        }
        let note = one_sided(&[a, b]).pop().expect("a note");
        assert!(note.contains("is in both A and B: A has rocksdb/batched-io/"), "{note}");
        assert!(note.contains("+root-after@"), "{note}");
    }
}
