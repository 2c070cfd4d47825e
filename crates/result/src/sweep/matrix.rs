//! The matrix of a sweep: axes and fixed settings as the user gave them, and the cells that they
//! make. The order of cells depends on the axes alone. `src/sweep/matrix.rs` makes it from the
//! command line.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// Name and version of the schema of a [`Manifest`].
pub const SCHEMA: &str = "stress.sweep/1";
/// The file of a [`Manifest`] in the directory of a sweep.
pub const FILE: &str = "sweep.json";

/// Maximum number of cells of a sweep, since the names of their directories have four digits.
pub const CELL_COUNT_MAX: u64 = 10_000;

/// A key of a sweep with the values that it takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Axis {
    /// Path of the key: `run.threads`.
    pub key: String,
    /// Name of the key as the user gave it: `threads`.
    pub label: String,
    /// Values of the key, in the order that the user gave.
    pub values: Vec<String>,
}

impl Axis {
    /// Returns whether the key decides the work. Other keys only decide how the work is done.
    pub fn is_work(&self) -> bool {
        !self.key.starts_with("run.") && !matches!(self.key.as_str(), "name" | "description")
    }
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// Path of the key.
    pub key: String,
    /// Value of the key, as the user gave it.
    pub value: String,
}

/// All cells of a sweep, without their results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Matrix {
    /// The scenario, as the user gave it.
    pub scenario: String,
    /// Whether `--quick` was given.
    pub quick: bool,
    /// Settings that all cells share.
    pub fixed: Vec<Setting>,
    /// The axes. The values of the last one vary fastest.
    pub axes: Vec<Axis>,
    /// Number of cells: the product of the axes' numbers of values.
    pub cell_count: u64,
    /// Digest of the resolved settings of all cells, in the order of the cells.
    pub settings_digest: String,
    /// Cells that are not run, ascending by index. Each would do the same as a cell of lower index.
    #[serde(default)]
    pub left_out: Vec<LeftOut>,
}

/// A cell that is left out: its keys differ from those of another cell only where that changes
/// nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// Index of the cell that is left out.
    pub cell: u64,
    /// Index of the cell that is run in its place.
    pub same_as: u64,
}

/// The file with the matrix of a sweep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// Name and version of this format.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// The matrix.
    #[serde(flatten)]
    pub matrix: Matrix,
}

/// Values of the axes in a cell, by the path of each axis's key.
pub type Keys = BTreeMap<String, String>;

impl Matrix {
    /// Returns the values of cell `index`, in the order of the axes.
    pub fn values(&self, index: u64) -> Vec<&str> {
        let mut rest = index;
        let mut values: Vec<&str> = Vec::with_capacity(self.axes.len());
        for axis in self.axes.iter().rev() {
            let count = axis.values.len() as u64;
            values.push(&axis.values[(rest % count) as usize]);
            rest /= count;
        }
        values.reverse();
        values
    }

    /// Returns the values of cell `index`, by key.
    pub fn keys(&self, index: u64) -> Keys {
        let paths = self.axes.iter().map(|axis| axis.key.clone());
        paths.zip(self.values(index).into_iter().map(str::to_owned)).collect()
    }

    /// Returns the values of cell `index` as text: `threads=2 io_threads=16`.
    pub fn name(&self, index: u64) -> String {
        let values = self.values(index);
        let pairs = self.axes.iter().zip(values).map(|(axis, value)| pair(axis, value));
        pairs.collect::<Vec<_>>().join(" ")
    }

    /// Returns the index of the cell that is run in place of cell `index`; `None` if that cell is
    /// not left out.
    pub fn same_as(&self, index: u64) -> Option<u64> {
        self.left_out.iter().find(|left_out| left_out.cell == index).map(|found| found.same_as)
    }

    /// Returns the values of the cells that are left out because cell `index` is run. Leaves out
    /// those that have a result all the same, by `is_run`.
    pub fn keys_left_out(&self, index: u64, is_run: impl Fn(u64) -> bool) -> Vec<Keys> {
        let own = self.left_out.iter().filter(|left_out| left_out.same_as == index);
        own.filter(|own| !is_run(own.cell)).map(|own| self.keys(own.cell)).collect()
    }

    /// Describes the cells that are left out; `None` if no cell is:
    /// `2 of 4 cells, each the run of another: threads changes nothing in cells 1, 3`.
    pub fn left_out_words(&self) -> Option<String> {
        let mut groups: BTreeMap<Vec<&str>, Vec<u64>> = BTreeMap::new();
        for LeftOut { cell, same_as } in &self.left_out {
            let values = self.values(*cell).into_iter().zip(self.values(*same_as));
            let differ = self.axes.iter().zip(values).filter(|(_, (own, other))| own != other);
            let labels = differ.map(|(axis, _)| axis.label.as_str()).collect();
            groups.entry(labels).or_default().push(*cell);
        }
        let texts = groups.into_iter().map(|(labels, cells)| {
            let verb = if labels.len() == 1 { "changes" } else { "change" };
            let noun = if cells.len() == 1 { "cell" } else { "cells" };
            format!("{} {verb} nothing in {noun} {}", labels.join(" and "), ranges(&cells))
        });
        let texts = texts.collect::<Vec<_>>().join("; ");
        let (count, all) = (self.left_out.len(), self.cell_count);
        (count > 0).then(|| format!("{count} of {all} cells, each the run of another: {texts}"))
    }

    /// Returns the command line of a run that does the same as cell `index`.
    pub fn command(&self, index: u64) -> Vec<String> {
        let mut words = ["stress", "--scenario", &self.scenario].map(str::to_owned).to_vec();
        if self.quick {
            words.push("--quick".to_owned());
        }
        let fixed = self.fixed_settings();
        let varied = self.keys(index).into_iter().map(|(key, value)| format!("{key}={value}"));
        words.extend(fixed.chain(varied).flat_map(|set| ["--set".to_owned(), set]));
        words
    }

    /// Returns the command line of the sweep, without the option for its directory.
    pub fn sweep_command(&self) -> Vec<String> {
        let mut words = ["stress", "sweep", &self.scenario].map(str::to_owned).to_vec();
        words.extend(self.axes.iter().map(|axis| pair(axis, &axis.values.join(","))));
        if self.quick {
            words.push("--quick".to_owned());
        }
        words.extend(self.fixed_settings().flat_map(|set| ["--set".to_owned(), set]));
        words
    }

    /// Returns each setting that all cells share, as `run.samples=6`.
    fn fixed_settings(&self) -> impl Iterator<Item = String> {
        self.fixed.iter().map(|given| format!("{}={}", given.key, given.value))
    }

    /// Returns the axes as text: `run.threads=1,2 run.stores=memory`.
    fn axes_in_words(&self) -> String {
        let axes = self.axes.iter().map(|axis| format!("{}={}", axis.key, axis.values.join(",")));
        axes.collect::<Vec<_>>().join(" ")
    }

    /// Returns the settings that all cells share as text: `run.samples=6 --quick`, or `nothing`.
    fn fixed_in_words(&self) -> String {
        let quick = self.quick.then(|| "--quick".to_owned());
        let given: Vec<_> = self.fixed_settings().chain(quick).collect();
        if given.is_empty() { "nothing".to_owned() } else { given.join(" ") }
    }

    /// Describes the difference of this sweep ("here") from `other`, which the directory has
    /// ("there"). `None` if they are the same.
    pub fn difference(&self, other: &Self) -> Option<String> {
        let [here, there] = [self, other].map(Self::axes_in_words);
        if here != there {
            return Some(format!("axes {there} there, {here} here"));
        }
        if self.settings_digest == other.settings_digest {
            return None;
        }
        if self.scenario != other.scenario {
            return Some(format!("scenario {} there, {} here", other.scenario, self.scenario));
        }
        let [here, there] = [self, other].map(Self::fixed_in_words);
        if here != there {
            return Some(format!("{there} set there, {here} here"));
        }
        Some(
            "the scenario's file, or the meaning that this stress gives it, has changed since"
                .to_owned(),
        )
    }
}

/// Returns a value with the label of its axis: `threads=2`.
pub fn pair(axis: &Axis, value: &str) -> String {
    format!("{}={value}", axis.label)
}

/// Returns the number of cells that the axes make.
///
/// # Errors
/// If there are more than [`CELL_COUNT_MAX`].
pub fn cell_count(axes: &[Axis]) -> Result<u64, Error> {
    let counts = axes.iter().map(|axis| axis.values.len() as u64);
    let product = counts.clone().try_fold(1_u64, u64::checked_mul);
    let within = product.filter(|count| *count <= CELL_COUNT_MAX);
    within.ok_or_else(|| {
        let counts = counts.map(|count| count.to_string()).collect::<Vec<_>>().join(" × ");
        Error::Other(format!(
            "the axes make {counts} cells; a sweep has at most {CELL_COUNT_MAX}: give fewer values, or sweep in \
             parts"
        ))
    })
}

/// Returns ascending indices as text: `0-3, 7`.
pub fn ranges(indices: &[u64]) -> String {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for index in indices {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *index => *last += 1,
            _ => runs.push((*index, *index)),
        }
    }
    let texts = runs.into_iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        _ => format!("{first}-{last}"),
    });
    texts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_that_are_left_out_are_told_by_the_keys_that_change_nothing_there() {
        let axis = |key: &str, label: &str, values: &[&str]| Axis {
            key: key.to_owned(),
            label: label.to_owned(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
        };
        let axes = vec![
            axis("run.threads", "threads", &["1", "2"]),
            axis("run.io_threads", "io_threads", &["16", "64"]),
        ];
        let mut matrix = Matrix {
            scenario: "one-slot".to_owned(),
            quick: false,
            fixed: Vec::new(),
            cell_count: cell_count(&axes).unwrap(),
            axes,
            settings_digest: String::new(),
            left_out: Vec::new(),
        };
        assert_eq!((matrix.left_out_words(), matrix.same_as(1)), (None, None));
        matrix.left_out = (1..4).map(|cell| LeftOut { cell, same_as: 0 }).collect();
        let words = matrix.left_out_words().unwrap();
        assert_eq!(
            words,
            "3 of 4 cells, each the run of another: io_threads changes nothing in cell 1; threads \
             changes nothing in cell 2; threads and io_threads change nothing in cell 3"
        );
        assert_eq!((matrix.same_as(0), matrix.same_as(3)), (None, Some(0)));
        let keys = matrix.keys_left_out(0, |cell| cell == 2);
        assert_eq!(keys, [matrix.keys(1), matrix.keys(3)]);
        assert!(matrix.keys_left_out(1, |_| false).is_empty());
        matrix.quick = true;
        matrix.fixed = vec![Setting { key: "run.stores".to_owned(), value: "memory".to_owned() }];
        assert_eq!(
            matrix.sweep_command().join(" "),
            "stress sweep one-slot threads=1,2 io_threads=16,64 --quick --set run.stores=memory"
        );
    }
}
