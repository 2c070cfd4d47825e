//! The matrix: axes and fixed settings as the user gave them, checked as one run's settings are,
//! and the cells that they make, in an order that depends on the axes alone.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow, bail};
use serde::{Deserialize, Serialize};
use spec::{Override, Scenario};

use crate::{
    exit::{Code, Failure, OrExit},
    prepare::{self, Size, Source},
};

/// Most cells of a sweep; their directories have four digits.
pub const CELL_COUNT_MAX: u64 = 10_000;

/// A key and the values that it takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// Its path: `run.threads`.
    pub key: String,
    /// As it was given: `threads`.
    pub label: String,
    /// In the order given.
    pub values: Vec<String>,
}

impl Axis {
    /// The axis of `KEY=VALUES`, where `key_of` says for which key a label and a value stand, if
    /// the label is none itself.
    ///
    /// # Errors
    /// No key, no value, or a value twice.
    pub fn parse(
        text: &str,
        key_of: impl Fn(&str, &str) -> Result<Option<String>>,
    ) -> Result<Self> {
        let Some((label, values)) = text.split_once('=').filter(|(label, _)| !label.is_empty())
        else {
            bail!("{text}: a key and its values are wanted, as in threads=1,2,4");
        };
        let values: Vec<_> = values.split(',').map(|value| value.trim().to_owned()).collect();
        if values.iter().any(String::is_empty) {
            bail!("{text}: a value is empty; write values between commas, as in {label}=1,2,4");
        }
        for (at, value) in values.iter().enumerate() {
            if values[..at].contains(value) {
                bail!("{text}: {value} is there twice; leave one out");
            }
        }
        // An unknown key stays as it is: the scenario's reader says so, as for --set.
        let key = key_of(label, &values[0])?.unwrap_or_else(|| label.to_owned());
        Ok(Self { key, label: label.to_owned(), values })
    }

    /// Whether it decides what work is done; other axes only how.
    pub fn is_work(&self) -> bool {
        !self.key.starts_with("run.") && !matches!(self.key.as_str(), "name" | "description")
    }
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Its path.
    pub key: String,
    /// As it was given.
    pub value: String,
}

/// All cells of a sweep, without what is in them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// What is swept over.
#[derive(Clone, Debug)]
pub struct MatrixInput {
    /// The scenario, by name or path.
    pub scenario: String,
    /// How large its work is where nothing else is said.
    pub size: Size,
    /// Overrides of all cells.
    pub fixed: Vec<Override>,
    /// What is varied.
    pub axes: Vec<Axis>,
}

/// A cell's value of each axis, by the key's path.
pub type Keys = BTreeMap<String, String>;

impl Matrix {
    /// The matrix of `input`; every cell of it is a valid scenario, and no two are the same.
    ///
    /// # Errors
    /// Of usage: an unknown key, a value that the key cannot have, too many cells.
    pub fn of(input: MatrixInput) -> Result<Self, Failure> {
        let MatrixInput { scenario, size, fixed, axes } = input;
        let cell_count = cell_count(&axes).or_exit(Code::Usage)?;
        let settings = fixed
            .iter()
            .map(|given| Setting { key: given.key.clone(), value: given.value.clone() });
        let mut matrix = Self {
            scenario,
            quick: size == Size::Quick,
            fixed: settings.collect(),
            axes,
            cell_count,
            settings_digest: String::new(),
        };
        matrix.settings_digest = matrix.digest(&fixed)?;
        Ok(matrix)
    }

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

    /// The command line of a run that does what the cell does.
    pub fn command(&self, index: u64) -> Vec<String> {
        let mut words = ["stress", "--scenario", &self.scenario].map(str::to_owned).to_vec();
        if self.quick {
            words.push("--quick".to_owned());
        }
        let sets = self.settings(index).into_iter();
        let sets = sets.map(|set| format!("{}={}", set.key, set.value));
        words.extend(sets.flat_map(|set| ["--set".to_owned(), set]));
        words
    }

    /// The work of a cell, with all its settings: what its command line names.
    pub fn source(&self, index: u64) -> Source {
        let given = |Setting { key, value }| {
            let origin = format!("--set {key}={value}");
            Override { key, value, origin }
        };
        Source::Scenario {
            name: self.scenario.clone(),
            work: self.settings(index).into_iter().map(given).collect(),
            size: self.size(),
        }
    }

    /// All that is set in a cell.
    fn settings(&self, index: u64) -> Vec<Setting> {
        let varied = self.keys(index).into_iter().map(|(key, value)| Setting { key, value });
        self.fixed.iter().cloned().chain(varied).collect()
    }

    const fn size(&self) -> Size {
        if self.quick { Size::Quick } else { Size::Stated }
    }

    /// What differs from `other`, for who mixes two sweeps up; `None` where they are the same.
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

    /// Resolves every cell.
    fn digest(&self, fixed: &[Override]) -> Result<String, Failure> {
        let mut hasher = blake3::Hasher::new();
        let mut seen: BTreeMap<[u8; 32], u64> = BTreeMap::new();
        for index in 0..self.cell_count {
            let settings = self.resolve(index, fixed)?.to_toml();
            let digest = *blake3::hash(settings.as_bytes()).as_bytes();
            if let Some(first) = seen.insert(digest, index) {
                return Err(self.same(first, index)).or_exit(Code::Usage);
            }
            hasher.update(&digest);
        }
        Ok(hasher.finalize().to_hex().to_string())
    }

    fn resolve(&self, index: u64, fixed: &[Override]) -> Result<Scenario, Failure> {
        let mut overrides = fixed.to_vec();
        for (axis, value) in self.axes.iter().zip(self.values(index)) {
            let (key, value) = (axis.key.clone(), value.to_owned());
            overrides.push(Override { key, origin: pair(axis, &value), value });
        }
        prepare::scenario(&self.scenario, overrides, self.size())
    }

    /// Two cells with the same settings: which values mean the same.
    fn same(&self, first: u64, second: u64) -> anyhow::Error {
        let (a, b) = (self.values(first), self.values(second));
        let differ = self.axes.iter().zip(a.into_iter().zip(b)).filter(|(_, (a, b))| a != b);
        let (a, b): (Vec<_>, Vec<_>) =
            differ.map(|(axis, (a, b))| (pair(axis, a), pair(axis, b))).unzip();
        anyhow!(
            "{} and {} are the same: cells {first} and {second} would be one run; leave one out",
            a.join(" "),
            b.join(" ")
        )
    }
}

fn pair(axis: &Axis, value: &str) -> String {
    format!("{}={value}", axis.label)
}

/// Cells that the axes make.
///
/// # Errors
/// More than [`CELL_COUNT_MAX`].
pub fn cell_count(axes: &[Axis]) -> Result<u64> {
    let counts = axes.iter().map(|axis| axis.values.len() as u64);
    let product = counts.clone().try_fold(1_u64, u64::checked_mul);
    match product.filter(|count| *count <= CELL_COUNT_MAX) {
        Some(count) => Ok(count),
        None => {
            let counts: Vec<_> = counts.map(|count| count.to_string()).collect();
            bail!(
                "the axes make {} cells; a sweep has at most {CELL_COUNT_MAX}: give fewer values, or \
                 sweep in parts",
                counts.join(" × ")
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::{
        cli::{Cli, Command},
        cmd::sweep::matrix_of,
    };

    fn matrix(words: &[&str]) -> Result<Matrix, Failure> {
        let base = ["stress", "sweep", "--scenario", "sload-storm", "--out", "x"];
        let cli = Cli::try_parse_from(base.iter().chain(words)).unwrap();
        let Some(Command::Sweep(args)) = cli.command else { panic!("a sweep") };
        matrix_of(&args)
    }

    fn refused(words: &[&str]) -> String {
        let failure = matrix(words).expect_err("is refused");
        assert_eq!(failure.code, Code::Usage);
        failure.to_string()
    }

    #[test]
    fn every_combination_is_one_cell_and_the_last_axis_turns_fastest() {
        let matrix = matrix(&["threads=1,2", "gas=3M,4M,5M"]).unwrap();
        assert_eq!(matrix.cell_count, 6);
        let names: Vec<_> = (0..6).map(|index| matrix.name(index)).collect();
        assert_eq!(
            names[..4],
            ["threads=1 gas=3M", "threads=1 gas=4M", "threads=1 gas=5M", "threads=2 gas=3M"]
        );
        assert_eq!(names.iter().collect::<std::collections::BTreeSet<_>>().len(), 6);
        assert_eq!(matrix.keys(5)["block.gas"], "5M");
    }

    #[test]
    fn a_cells_command_is_one_that_the_program_takes() {
        let matrix = matrix(&["threads=1,2", "--gas", "3M", "--quick"]).unwrap();
        let words = matrix.command(1);
        let run = Cli::try_parse_from(&words).unwrap().run;
        assert_eq!(run.work.set, ["block.gas=3M", "run.threads=2"]);
        assert!(run.quick);
    }

    #[test]
    fn bad_axes_are_refused_with_what_to_write() {
        for (words, expected) in [
            (&["threads"][..], "as in threads=1,2,4"),
            (&["=1"], "as in threads=1,2,4"),
            (&["threads="], "a value is empty"),
            (&["threads=1,,2"], "a value is empty"),
            (&["threads=1,1"], "1 is there twice"),
            (&["gas=1M,1000k"], "gas=1M and gas=1000k are the same"),
            (&["thread=1,2"], "did you mean run.threads?"),
            (&["state.slotz=1M"], "did you mean state.slots?"),
            (&["threads=1", "run.threads=2"], "given twice, by threads=1 too"),
            (&["threads=1", "--threads", "2"], "given twice, by --threads 2 too"),
            (&["threads=0"], "threads=0"),
            (&["set=1"], "set"),
        ] {
            let error = refused(words);
            assert!(error.contains(expected), "{words:?}: {error}");
        }
        let many: Vec<_> = (1..=200).map(|n| n.to_string()).collect();
        let many = many.join(",");
        assert!(
            refused(&[&format!("threads={many}"), &format!("seed={many}")]).contains("200 × 200")
        );
    }

    #[test]
    fn another_sweep_is_told_by_what_differs() {
        let base = matrix(&["threads=1,2", "--gas", "3M"]).unwrap();
        let other = |words: &[&str]| base.difference(&matrix(words).unwrap());
        assert_eq!(
            other(&["run.threads=1,2", "--set", "block.gas=3M"]),
            None,
            "the same by other words"
        );
        assert!(other(&["threads=2,1", "--gas", "3M"]).unwrap().contains("run.threads=2,1 there"));
        assert!(other(&["threads=1,2", "--gas", "4M"]).unwrap().contains("block.gas=4M set there"));
    }
}
