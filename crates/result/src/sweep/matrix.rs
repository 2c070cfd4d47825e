//! The matrix of a sweep: axes and fixed settings as the user gave them, and the cells that they
//! make, in an order that depends on the axes alone.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// Name and version of the schema of a [`Manifest`].
pub const SCHEMA: &str = "stress.sweep/1";

/// Most cells of a sweep; their directories have four digits.
pub const CELL_COUNT_MAX: u64 = 10_000;

/// A key and the values that it takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Axis {
    /// Its path: `run.threads`.
    pub key: String,
    /// As it was given: `threads`.
    pub label: String,
    /// In the order given.
    pub values: Vec<String>,
}

impl Axis {
    /// Whether it decides the work; other axes only decide how it is done.
    pub fn is_work(&self) -> bool {
        !self.key.starts_with("run.") && !matches!(self.key.as_str(), "name" | "description")
    }
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// Its path.
    pub key: String,
    /// As it was given.
    pub value: String,
}

/// All cells of a sweep, without their results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Matrix {
    /// The scenario, as it was given.
    pub scenario: String,
    /// Whether `--quick` was given.
    pub quick: bool,
    /// Settings of all cells.
    pub fixed: Vec<Setting>,
    /// The last one turns fastest.
    pub axes: Vec<Axis>,
    /// Product of the axes' lengths.
    pub cell_count: u64,
    /// Digest of the resolved settings of all cells in their order.
    pub settings_digest: String,
}

/// Says which sweep a directory is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// Name and version of this format.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// The matrix.
    #[serde(flatten)]
    pub matrix: Matrix,
}

/// A cell's value of each axis, by the key's path.
pub type Keys = BTreeMap<String, String>;

impl Matrix {
    /// The values of a cell, in the order of the axes.
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

    /// The same by key.
    pub fn keys(&self, index: u64) -> Keys {
        let paths = self.axes.iter().map(|axis| axis.key.clone());
        paths.zip(self.values(index).into_iter().map(str::to_owned)).collect()
    }

    /// `threads=2 io_threads=16`.
    pub fn name(&self, index: u64) -> String {
        let values = self.values(index);
        let pairs = self.axes.iter().zip(values).map(|(axis, value)| pair(axis, value));
        pairs.collect::<Vec<_>>().join(" ")
    }

    /// The command line of a run that does the same as the cell.
    pub fn command(&self, index: u64) -> Vec<String> {
        let mut words = ["stress", "--scenario", &self.scenario].map(str::to_owned).to_vec();
        if self.quick {
            words.push("--quick".to_owned());
        }
        let fixed = self.fixed.iter().map(|given| format!("{}={}", given.key, given.value));
        let varied = self.keys(index).into_iter().map(|(key, value)| format!("{key}={value}"));
        words.extend(fixed.chain(varied).flat_map(|set| ["--set".to_owned(), set]));
        words
    }

    /// The difference from `other`, for users who mix two sweeps up; `None` where they are the
    /// same.
    pub fn difference(&self, other: &Self) -> Option<String> {
        let axes = |matrix: &Self| {
            let axes =
                matrix.axes.iter().map(|axis| format!("{}={}", axis.key, axis.values.join(",")));
            axes.collect::<Vec<_>>().join(" ")
        };
        let fixed = |matrix: &Self| {
            let given = matrix.fixed.iter().map(|given| format!("{}={}", given.key, given.value));
            let given = given.chain(matrix.quick.then(|| "--quick".to_owned())).collect::<Vec<_>>();
            if given.is_empty() { "nothing".to_owned() } else { given.join(" ") }
        };
        if axes(self) != axes(other) {
            return Some(format!("axes {} there, {} here", axes(other), axes(self)));
        }
        if self.settings_digest == other.settings_digest {
            return None;
        }
        if self.scenario != other.scenario {
            return Some(format!("scenario {} there, {} here", other.scenario, self.scenario));
        }
        if fixed(self) != fixed(other) {
            return Some(format!("{} set there, {} here", fixed(other), fixed(self)));
        }
        Some("the scenario's file, or what this stress makes of it, has changed since".to_owned())
    }
}

/// `threads=2`, as the axis is labelled.
pub fn pair(axis: &Axis, value: &str) -> String {
    format!("{}={value}", axis.label)
}

/// Cells that the axes make.
///
/// # Errors
/// More than [`CELL_COUNT_MAX`].
pub fn cell_count(axes: &[Axis]) -> Result<u64, Error> {
    let counts = axes.iter().map(|axis| axis.values.len() as u64);
    let product = counts.clone().try_fold(1_u64, u64::checked_mul);
    let within = product.filter(|count| *count <= CELL_COUNT_MAX);
    within.ok_or_else(|| Error::TooManyCells { counts: counts.collect(), most: CELL_COUNT_MAX })
}
