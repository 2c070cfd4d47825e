//! One side of a comparison with a baseline: results of one program on one work, each by its own
//! process. Computes the change of a figure from one side to the other, for `baseline`.
//!
//! A process is faster or slower than another process of the same program for its whole life, by
//! the layout of its memory. No number of samples of one process separates that from a change of
//! the build. So each process is one value, and times are compared between processes.

use result::{
    SampleFacts,
    stats::{self, Trimmed},
    stored::{self, Stored},
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Result, bail};

use super::{Metric, floor};

/// Results of one program, at least one.
#[derive(Clone, Debug)]
pub struct Side {
    path: PathBuf,
    results: Vec<Stored>,
}

/// A figure that is compared.
#[derive(Clone, Copy, Debug)]
pub enum Figure<'a> {
    /// Wall time of a sample.
    Time,
    /// Wall time of a sample over that of this other variant in the same round.
    Ratio(&'a str),
    /// A count of a sample.
    Count(Metric),
}

/// Change of the logarithm of a figure from one side to the other.
#[derive(Clone, Copy, Debug)]
pub struct LogChange {
    /// The estimate with its error.
    pub estimate: Trimmed,
    /// Number of values of the side with fewer values.
    pub value_count: usize,
}

impl Side {
    /// Reads a result, or all results of runs that `--out` wrote into a directory.
    ///
    /// # Errors
    /// A result cannot be read, or the results are of several programs.
    pub fn read(path: &Path) -> Result<Self> {
        let mut results = vec![Stored::read(path)?];
        if path.is_dir() {
            let first = results[0].path.clone();
            let others = stored::result_files(path)?.into_iter().filter(|file| *file != first);
            for file in others {
                results.push(Stored::read(&file)?);
            }
        }
        Self::from_results(path.to_owned(), results)
    }

    /// Makes the side of these results, which were found at `path`.
    ///
    /// # Errors
    /// The results are of several programs, or a result occurs twice.
    pub fn from_results(path: PathBuf, results: Vec<Stored>) -> Result<Self> {
        for (index, stored) in results.iter().enumerate() {
            let (first, program) = (&results[0], &stored.result.tool.program);
            if !first.result.tool.program.is_same(program) && index > 0 {
                bail!(
                    "{} and {} are of different builds, {} and {}; give each build a directory of \
                     its own",
                    first.path.display(),
                    stored.path.display(),
                    first.result.tool.program.name(),
                    program.name()
                );
            }
            let twin = results[..index].iter().find(|other| other.result == stored.result);
            if let Some(twin) = twin {
                bail!(
                    "{} and {} are the same result: each must be of a process of its own; remove \
                     one",
                    twin.path.display(),
                    stored.path.display()
                );
            }
        }
        Ok(Self { path, results })
    }

    /// Returns the path where the results were found.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns all results, at least one.
    pub fn results(&self) -> &[Stored] {
        &self.results
    }

    /// Returns the number of processes.
    pub const fn process_count(&self) -> usize {
        self.results.len()
    }

    /// Whether a process ran on several databases.
    fn has_databases(&self) -> bool {
        self.results.iter().any(|stored| !stored.result.databases.is_empty())
    }

    /// Returns all variants, in the order of their first appearance.
    pub fn variants(&self) -> Vec<String> {
        let mut variants: Vec<String> = Vec::new();
        for cell in self.results.iter().flat_map(|stored| &stored.result.cells) {
            if !variants.contains(&cell.variant) {
                variants.push(cell.variant.clone());
            }
        }
        variants
    }

    /// Whether every process has samples of this variant.
    pub fn has(&self, variant: &str) -> bool {
        let mut cells = self.results.iter().map(|stored| stored.cell(variant));
        cells.all(|cell| cell.is_some_and(|cell| !cell.samples.is_empty()))
    }

    /// Returns the block duties of the variant's samples.
    pub fn duties(&self, variant: &str) -> Option<&[String]> {
        let mut cells = self.results.iter().filter_map(|stored| stored.cell(variant));
        cells.next().map(|cell| &cell.duties[..])
    }

    /// Returns one value for each process: the median logarithm of the figure on each database,
    /// averaged over the databases.
    fn by_process(&self, variant: &str, figure: Figure<'_>) -> Option<Vec<f64>> {
        let values = self.results.iter().map(|stored| {
            let logs = logs(stored, variant, figure)?;
            let medians: Vec<_> = logs.values().filter_map(|logs| stats::median(logs)).collect();
            let sum: f64 = medians.iter().sum();
            (!medians.is_empty()).then(|| sum / medians.len() as f64)
        });
        values.collect()
    }
}

/// Returns the change of a figure of a variant from `base` to `new`; `None` if there are too few
/// values. If a side has several processes, each process is a value. If each side has one process,
/// a time has no values. Each sample is then a value of a ratio or a count, as all variants share
/// the process's memory layout. On several databases, each database is a value instead: the
/// difference of its two medians.
pub fn log_change(base: &Side, new: &Side, variant: &str, figure: Figure<'_>) -> Option<LogChange> {
    let ([of_base], [of_new]) = (&base.results[..], &new.results[..]) else {
        return between(&base.by_process(variant, figure)?, &new.by_process(variant, figure)?);
    };
    let [of_base, of_new] = [logs(of_base, variant, figure)?, logs(of_new, variant, figure)?];
    match figure {
        Figure::Time => None,
        Figure::Ratio(_) | Figure::Count(_) if base.has_databases() => {
            let pairs = of_base.iter().filter_map(|(seed, logs)| {
                Some(stats::median(of_new.get(seed)?)? - stats::median(logs)?)
            });
            let changes: Vec<_> = pairs.collect();
            Some(LogChange { estimate: Trimmed::of(&changes)?, value_count: changes.len() })
        }
        Figure::Ratio(_) | Figure::Count(_) => {
            let [of_base, of_new] =
                [of_base, of_new].map(|logs| logs.into_values().flatten().collect::<Vec<_>>());
            between(&of_base, &of_new)
        }
    }
}

/// Returns the change of a variant's time from `base` to `new`, as a share, to show it without a
/// judgement.
pub fn time_change(base: &Side, new: &Side, variant: &str) -> Option<f64> {
    let [base, new] = [base, new].map(|side| {
        let logs = side.by_process(variant, Figure::Time)?;
        Some(logs.iter().sum::<f64>() / logs.len() as f64)
    });
    Some((new? - base?).exp_m1())
}

/// Returns the difference of two sets of independent values (Yuen and Welch).
fn between(base: &[f64], new: &[f64]) -> Option<LogChange> {
    let estimate = Trimmed::of(new)?.minus(&Trimmed::of(base)?);
    Some(LogChange { estimate, value_count: base.len().min(new.len()) })
}

/// Returns the logarithm of a figure of each counted sample, by the seed of the database. `None` if
/// the result lacks the variant, or if a sample does not report the figure.
fn logs(
    stored: &Stored,
    variant: &str,
    figure: Figure<'_>,
) -> Option<BTreeMap<Option<u64>, Vec<f64>>> {
    if let Figure::Ratio(reference) = figure {
        let own = logs(stored, variant, Figure::Time)?;
        let of_reference = logs(stored, reference, Figure::Time)?;
        // An interrupted run may have only one of the two variants on its last database.
        let ratios = own.into_iter().filter_map(|(seed, own)| {
            let pairs = own.iter().zip(of_reference.get(&seed)?);
            Some((seed, pairs.map(|(own, other)| own - other).collect()))
        });
        return Some(ratios.collect());
    }
    let databases = stored.cell(variant)?.by_database();
    let by_seed = databases.iter().map(|database| {
        let values = database.counted().iter().map(|sample| log(sample, figure));
        Some((database.seed, values.collect::<Option<_>>()?))
    });
    by_seed.collect()
}

/// Returns the logarithm of a sample's time or count; `None` if it is not reported.
fn log(sample: &SampleFacts, figure: Figure<'_>) -> Option<f64> {
    match figure {
        Figure::Count(metric) => {
            Some((count(sample, metric)? as f64).max(floor(metric) as f64).ln())
        }
        Figure::Time | Figure::Ratio(_) => Some((sample.wall_ns as f64).ln()),
    }
}

const fn count(sample: &SampleFacts, metric: Metric) -> Option<u64> {
    match metric {
        Metric::Blocks => sample.blocks_read,
        Metric::Bytes => sample.device_read_bytes,
        Metric::Requests => sample.read_syscalls,
        Metric::Allocations => sample.allocations,
        Metric::Instructions => sample.instructions,
        Metric::Wall | Metric::Cpu => None,
    }
}

#[cfg(test)]
mod tests;
