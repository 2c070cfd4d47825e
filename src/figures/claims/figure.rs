//! Finds the figure that a claim bounds, in a run's cells. A design is judged by its fastest cell
//! on a store. That cell looks faster than it is, as the same samples select and judge it. So the
//! intervals of all cells of the design are widened until they hold together with 95 % confidence.
//! Then the interval of the fastest cell holds, whichever cell it is.

use result::{Cell, WorkloadFacts, databases::DatabaseFacts, stats};
use spec::{Expect, Metric, Scope};
use variant::{CacheMode, Design, ListForm, StoreKind};

/// A figure that a claim bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Figure {
    /// One value for all samples: a size, or a percentile over all samples.
    Exact(f64),
    Sampled(Sampled),
    /// No figure, with the reason.
    Missing(&'static str),
}

/// A figure with a value for each sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sampled {
    pub(super) median: f64,
    /// Confidence interval of the median; `None` if it needs more values.
    pub(super) ci95: Option<[f64; 2]>,
    /// Number of cells, or of pairs of cells, of which the fastest is taken.
    pub(super) choice_count: usize,
}

impl Figure {
    fn exact(value: Option<f64>, missing: &'static str) -> Self {
        value.filter(|value| value.is_finite()).map_or(Self::Missing(missing), Self::Exact)
    }

    fn sampled(median: Option<f64>, ci95: Option<[f64; 2]>, missing: &'static str) -> Self {
        let median = median.filter(|median| median.is_finite());
        median.map_or(Self::Missing(missing), |median| {
            Self::Sampled(Sampled { median, ci95, choice_count: 1 })
        })
    }
}

/// Facts of a run on which its claims are judged.
#[derive(Clone, Copy, Debug)]
pub struct ClaimInputs<'a> {
    pub workload: &'a WorkloadFacts,
    pub cells: &'a [Cell],
    /// The databases of the run, if it has several.
    pub databases: &'a [DatabaseFacts],
    /// Cache state at the start of a sample.
    pub cache: CacheMode,
}

/// Reason for a missing interval where a design has one cell.
pub(super) const SAMPLES_NEEDED: &str = "six samples are needed (--samples 6)";

/// Returns the figure of a claim on one store. `Err`: the design that has no row of the claim's
/// scope there.
pub(super) fn of_store(
    expect: &Expect,
    store: StoreKind,
    inputs: &ClaimInputs<'_>,
) -> Result<Figure, Design> {
    let Expect { metric, scope, .. } = *expect;
    let on_store = inputs.cells.iter().filter(|cell| cell.store == store);
    let in_scope = on_store.filter(|cell| cell.is_whole() == (scope == Scope::Whole));
    let compared = report::most_duties(&in_scope.collect::<Vec<_>>());
    Ok(match metric {
        Metric::Speedup { of, over } => {
            let (slower, faster) = (rows_of(over, &compared)?, rows_of(of, &compared)?);
            let joint = JointConfidence::of_choices(faster.len() * slower.len());
            // A row's speed-up over the fastest row of `over` is the smallest of its ratios.
            let smallest = faster.iter().map(|cell| {
                let ratios: Vec<_> = slower.iter().map(|other| other.ratios_to(cell)).collect();
                joint.best(&ratios, f64::min)
            });
            best_of(smallest, f64::max).figure(joint.choice_count, "no round has both")
        }
        Metric::MgasPerS(design) => {
            let rates: Vec<Vec<f64>> = rows_of(design, &compared)?.into_iter().map(rates).collect();
            let joint = JointConfidence::of_choices(rates.len());
            joint.best(&rates, f64::max).figure(joint.choice_count, "no throughput")
        }
        Metric::MsPerBlock(design) => {
            let cells = rows_of(design, &compared)?.into_iter();
            let times: Vec<Vec<f64>> = cells.map(|cell| block_ms(cell, inputs.workload)).collect();
            let joint = JointConfidence::of_choices(times.len());
            joint.best(&times, f64::min).figure(joint.choice_count, "no time")
        }
        Metric::TxLatencyP99(design) => p99(fastest(design, &compared)?),
        Metric::DeviceFraction(design) => {
            let cell = fastest(design, &compared)?;
            let missing = "the device was not measured, or not read";
            Figure::sampled(cell.device_fraction, cell.device_fraction_ci95, missing)
        }
        Metric::BalBytes(list) => bal_bytes(list, inputs),
    })
}

/// Returns the rows of a design that have samples. `Err(design)` if there is no such row.
fn rows_of<'a>(design: Design, compared: &[&'a Cell]) -> Result<Vec<&'a Cell>, Design> {
    let own = compared.iter().copied().filter(|cell| cell.design == design);
    let own: Vec<&Cell> = own.filter(|cell| cell.value_count() > 0).collect();
    if own.is_empty() { Err(design) } else { Ok(own) }
}

/// Returns the fastest row of a design. `Err(design)` if there is none.
fn fastest<'a>(design: Design, compared: &[&'a Cell]) -> Result<&'a Cell, Design> {
    report::best(rows_of(design, compared)?).ok_or(design)
}

/// The confidence at which the medians of several lists of values are judged together. Each cell,
/// or pair of cells, has a list.
#[derive(Clone, Copy, Debug)]
struct JointConfidence {
    choice_count: usize,
    confidence: f64,
}

/// A median and the ends of its confidence interval; `None` without values, or with too few.
#[derive(Clone, Copy, Debug, Default)]
struct MedianInterval {
    median: Option<f64>,
    ends: Option<[f64; 2]>,
}

impl JointConfidence {
    /// Chooses the confidence so that the intervals of all `count` lists hold at once with 95 %
    /// confidence.
    fn of_choices(count: usize) -> Self {
        Self { choice_count: count, confidence: stats::confidence_of_each(count) }
    }

    /// Returns the best of the lists' medians, of their lower ends and of their upper ends. If all
    /// intervals hold, the best true median lies between the best ends.
    fn best(self, lists: &[Vec<f64>], best: fn(f64, f64) -> f64) -> MedianInterval {
        let intervals = lists.iter().map(|values| MedianInterval {
            median: stats::median(values),
            ends: stats::median_interval_at(values, self.confidence),
        });
        best_of(intervals, best)
    }
}

/// Returns the best of some medians with the best of their ends. It has a median, or ends, only if
/// all have them.
fn best_of(all: impl Iterator<Item = MedianInterval>, best: fn(f64, f64) -> f64) -> MedianInterval {
    let found = all.reduce(|a, b| MedianInterval {
        median: a.median.zip(b.median).map(|(a, b)| best(a, b)),
        ends: a.ends.zip(b.ends).map(|(a, b)| [best(a[0], b[0]), best(a[1], b[1])]),
    });
    found.unwrap_or_default()
}

impl MedianInterval {
    fn figure(self, choice_count: usize, missing: &'static str) -> Figure {
        match Figure::sampled(self.median, self.ends, missing) {
            Figure::Sampled(sampled) => Figure::Sampled(Sampled { choice_count, ..sampled }),
            other => other,
        }
    }
}

/// Returns the gas rates of a cell: of its samples, or of its databases where there are several.
fn rates(cell: &Cell) -> Vec<f64> {
    match &cell.databases {
        Some(databases) => databases.each.iter().filter_map(|one| one.mgas_per_s.median).collect(),
        None => {
            let samples = cell.counted().into_iter().flatten();
            samples.filter_map(|sample| stats::mgas_per_s(sample.gas, sample.wall_ns)).collect()
        }
    }
}

/// Returns the milliseconds per block of a cell: of its samples, or of its databases where there
/// are several.
fn block_ms(cell: &Cell, workload: &WorkloadFacts) -> Vec<f64> {
    let blocks = workload.block_count.max(1) as f64;
    match &cell.databases {
        Some(databases) => {
            let per_block = workload.batch_count as f64 / blocks;
            let batches = databases.each.iter().filter_map(|one| one.ms_per_batch.median);
            batches.map(|ms| ms * per_block).collect()
        }
        None => {
            let samples = cell.counted().into_iter().flatten();
            samples.map(|sample| sample.wall_ns as f64 / 1e6 / blocks).collect()
        }
    }
}

/// Returns the 99th percentile of the transactions' times, in seconds.
fn p99(cell: &Cell) -> Figure {
    let seconds = |p99: Option<u64>| p99.map(|ns| ns as f64 / 1e9);
    let missing = "too few transactions for a 99th percentile: more samples or gas are needed \
        (--samples, --gas)";
    // Transactions of one sample are not independent of each other, nor are samples of one
    // database. If only some databases have a percentile, they do not represent all.
    match (&cell.databases, cell.samples.len()) {
        (Some(databases), _) => {
            let each = databases.each.iter().map(|one| seconds(one.tx_latency_ns.p99));
            let estimate = each.collect::<Option<Vec<_>>>().map(|all| stats::estimate(&all));
            let estimate = estimate.unwrap_or_default();
            Figure::sampled(estimate.median, estimate.ci95, missing)
        }
        (None, 0..stats::INTERVAL_COUNT_MIN) => Figure::Missing(SAMPLES_NEEDED),
        (None, _) => Figure::exact(seconds(cell.tx_latency_ns.p99), missing),
    }
}

/// Returns the mean size of a block's list, over the blocks of all databases.
pub(super) fn bal_bytes(list: ListForm, inputs: &ClaimInputs<'_>) -> Figure {
    let (bytes, blocks) = match inputs.databases {
        [] => (inputs.workload.bal.of(list), inputs.workload.block_count),
        all => all.iter().fold((0, 0), |(bytes, blocks), DatabaseFacts { workload, .. }| {
            (bytes + workload.bal.of(list), blocks + workload.block_count)
        }),
    };
    let per_block = (blocks > 0).then(|| bytes as f64 / blocks as f64);
    Figure::exact(per_block, "there is no block")
}
