//! Makes the matrix of a sweep from axes and fixed settings, for `stress sweep` and `limit`. All
//! settings are checked like those of a run. The order of cells depends on the axes alone. Of
//! several cells that would be one run on this machine, only the first runs.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow, bail};
use result::sweep::{Axis, LeftOut, Matrix, Setting, cell_count, pair};
use spec::{Override, Scenario};

use crate::{
    run::{
        effect,
        plan::Machine,
        prepare::{self, Size, Source},
    },
    terminal::{Code, Failure, WithExitCode},
};

/// The input for a matrix.
#[derive(Clone, Debug)]
pub struct MatrixInput {
    /// The scenario, by name or path.
    pub scenario: String,
    /// Size of the work if no setting gives it.
    pub size: Size,
    /// Overrides of all cells.
    pub fixed: Vec<Override>,
    pub axes: Vec<Axis>,
}

/// Makes the matrix of `input`. Every cell is a valid scenario, and no two cells have the same
/// settings.
///
/// # Errors
/// A key is unknown, a value is not valid for its key, two cells have the same settings, or there
/// are too many cells.
pub fn from_input(input: MatrixInput) -> Result<Matrix, Failure> {
    let MatrixInput { scenario, size, fixed, axes } = input;
    let cell_count = cell_count(&axes).with_exit_code(Code::Usage)?;
    let settings =
        fixed.iter().map(|given| Setting { key: given.key.clone(), value: given.value.clone() });
    let mut matrix = Matrix {
        scenario,
        quick: size == Size::Quick,
        fixed: settings.collect(),
        axes,
        cell_count,
        settings_digest: String::new(),
        left_out: Vec::new(),
    };
    let machine = Machine::this();
    let mut hasher = blake3::Hasher::new();
    let mut cells: BTreeMap<[u8; 32], u64> = BTreeMap::new();
    let mut runs: BTreeMap<[u8; 32], u64> = BTreeMap::new();
    for index in 0..cell_count {
        let scenario = cell_scenario(&matrix, index, &fixed)?;
        let digest = *blake3::hash(scenario.to_toml().as_bytes()).as_bytes();
        if let Some(first) = cells.insert(digest, index) {
            return Err(equal_cells(&matrix, first, index)).with_exit_code(Code::Usage);
        }
        hasher.update(&digest);
        let same_as = *runs.entry(effect::digest(&scenario, &machine)).or_insert(index);
        if same_as != index {
            matrix.left_out.push(LeftOut { cell: index, same_as });
        }
    }
    matrix.settings_digest = hasher.finalize().to_hex().to_string();
    Ok(matrix)
}

/// Returns the work of cell `index` with all its settings, as [`Matrix::command`] states it.
pub fn source(matrix: &Matrix, index: u64) -> Source {
    let fixed = matrix.fixed.iter().map(|given| (given.key.clone(), given.value.clone()));
    let work = fixed
        .chain(matrix.keys(index))
        .map(|(key, value)| Override::new(&key, &value, format!("--set {key}={value}")));
    Source::Scenario { name: matrix.scenario.clone(), work: work.collect(), size: size(matrix) }
}

const fn size(matrix: &Matrix) -> Size {
    if matrix.quick { Size::Quick } else { Size::Stated }
}

/// Reads the scenario of a cell with all its settings.
fn cell_scenario(matrix: &Matrix, index: u64, fixed: &[Override]) -> Result<Scenario, Failure> {
    let mut overrides = fixed.to_vec();
    for (axis, value) in matrix.axes.iter().zip(matrix.values(index)) {
        overrides.push(Override::new(&axis.key, value, pair(axis, value)));
    }
    prepare::scenario(&matrix.scenario, overrides, size(matrix))
}

/// Makes the error for two cells with the same settings. It names the values that differ in text.
fn equal_cells(matrix: &Matrix, first: u64, second: u64) -> anyhow::Error {
    let (a, b) = (matrix.values(first), matrix.values(second));
    let differ = matrix.axes.iter().zip(a.into_iter().zip(b)).filter(|(_, (a, b))| a != b);
    let (a, b): (Vec<_>, Vec<_>) =
        differ.map(|(axis, (a, b))| (pair(axis, a), pair(axis, b))).unzip();
    anyhow!(
        "{} and {} are the same: cells {first} and {second} would be one run; leave one out",
        a.join(" "),
        b.join(" ")
    )
}

/// Parses an axis, `KEY=VALUES` or `LABEL=VALUES`. `key_of` takes a label and the axis's first
/// value, and returns the key; `None` if the label is no option of a run.
///
/// # Errors
/// The key or a value is missing, or a value occurs twice.
pub fn axis(text: &str, key_of: impl Fn(&str, &str) -> Result<Option<String>>) -> Result<Axis> {
    let Some((label, values)) = text.split_once('=').filter(|(label, _)| !label.is_empty()) else {
        bail!("{text}: a key and its values are wanted, as in threads=1,2,4");
    };
    let values: Vec<_> = values.split(',').map(|value| value.trim().to_owned()).collect();
    if values.iter().any(String::is_empty) {
        bail!("{text}: a value is empty; write values between commas, as in {label}=1,2,4");
    }
    for (index, value) in values.iter().enumerate() {
        if values[..index].contains(value) {
            bail!("{text}: {value} is there twice; leave one out");
        }
    }
    // An unknown key is kept: the reader of scenarios reports it, as for `--set`.
    let key = key_of(label, &values[0])?.unwrap_or_else(|| label.to_owned());
    Ok(Axis { key, label: label.to_owned(), values })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command, cmd::sweep::matrix_of};

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
            (&["threads=1-4"], "write threads=1,2,3,4"),
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
    fn cells_that_would_be_one_run_are_left_out_but_for_the_first() {
        let left_out = |words: &[&str]| {
            let matrix = matrix(words).unwrap();
            let pairs: Vec<_> =
                matrix.left_out.iter().map(|left_out| (left_out.cell, left_out.same_as)).collect();
            (pairs, matrix.left_out_words().unwrap_or_default())
        };
        let axes = ["design=sequential,batched-io", "threads=1,2", "io_threads=4,8"];
        let (pairs, words) = left_out(&axes);
        assert_eq!(pairs, [(1, 0), (2, 0), (3, 0)], "batched I/O has four runs of its own");
        assert!(words.starts_with("3 of 8 cells, each the run of another"), "{words}");
        assert!(words.contains("threads changes nothing in cell 2"), "{words}");
        let (pairs, words) = left_out(&["store=memory,rocksdb", "cache=cold,warm"]);
        assert_eq!((pairs.as_slice(), words.contains("cell 1")), (&[(1, 0)][..], true));
        // If the key changes a design, its cell is a run of its own.
        let (pairs, _) = left_out(&["threads=1,2", "--design", "sequential,batched-io"]);
        assert!(pairs.is_empty(), "{pairs:?}");
        // A key of the work is never without effect.
        let (pairs, _) = left_out(&["gas=3M,4M", "state.present=0.5,1", "--design", "sequential"]);
        assert!(pairs.is_empty(), "{pairs:?}");
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
