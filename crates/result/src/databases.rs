//! Pools a run on several databases, each built from its own seed. Combines the cells of a variant
//! on all databases into one pooled cell, which also keeps the figures on each database.
//! `src/run.rs` calls it at the end of a run; `pooled.rs` has the types of the figures.
//!
//! A database is one observation, because the places of its rows are drawn once, when it is built.
//! More samples on one database tell nothing about another seed. So each database gives one value
//! of a figure. Pooled figures and their intervals are computed from these values.

use hdrhistogram::Histogram;
use variant::{BlockDuty, RootTime, SampleKeys};

use crate::{
    figures::{Counters, Estimate, HistogramLog, LogKind, Percentiles},
    run::{CacheFacts, Cell, SampleFacts},
    stats,
    writes::BatchFigures,
};

pub use crate::pooled::{CellDatabases, CellOnDatabase, DatabaseFacts, Spread};

/// The results of a run on one of its databases.
#[derive(Clone, Debug)]
pub struct DatabaseRun {
    /// The database.
    pub facts: DatabaseFacts,
    /// The cells, as a run on this database alone would have them.
    pub cells: Vec<Cell>,
}

impl Cell {
    /// Returns whether `other` has the same duties on blocks, and has a state root if this cell has
    /// one.
    pub fn has_duties_of(&self, other: &Self) -> bool {
        self.duties == other.duties && self.has_root() == other.has_root()
    }

    /// Returns whether the samples execute whole blocks: with all duties on blocks, and a state
    /// root.
    pub fn is_whole(&self) -> bool {
        self.duties.len() == BlockDuty::ALL.len() && self.has_root()
    }

    /// Number of duties beside execution and the list: duties on blocks, and the state root.
    pub fn duty_count(&self) -> usize {
        self.duties.len() + usize::from(self.has_root())
    }

    fn has_root(&self) -> bool {
        self.root != RootTime::Nothing
    }

    /// Number of samples, with those of the warm-up; for a run on several databases, the number of
    /// databases.
    pub fn value_count(&self) -> usize {
        self.databases.as_ref().map_or(self.samples.len(), |databases| databases.each.len())
    }

    /// The samples after the warm-up, one slice for each database. A run on one database has one
    /// slice.
    pub fn counted(&self) -> Vec<&[SampleFacts]> {
        self.by_database().iter().map(OnDatabase::counted).collect()
    }

    /// The samples of each database. A run on one database has one entry.
    pub fn by_database(&self) -> Vec<OnDatabase<'_>> {
        let Some(databases) = &self.databases else {
            return vec![OnDatabase {
                seed: None,
                samples: &self.samples,
                counters: self.counters.as_ref(),
                warm_up_count: self.warm_up_sample_count,
            }];
        };
        let mut rest = self.samples.as_slice();
        let mut all = Vec::with_capacity(databases.each.len());
        for database in &databases.each {
            let count = usize::try_from(database.sample_count).unwrap_or(usize::MAX);
            let (samples, others) = rest.split_at(count.min(rest.len()));
            rest = others;
            all.push(OnDatabase {
                seed: Some(database.seed),
                samples,
                counters: database.counters.as_ref(),
                warm_up_count: database.warm_up_sample_count,
            });
        }
        all
    }

    /// The ratios of this cell's wall times to those of `other`. Each is of two samples of one
    /// round, as a disturbance of the round slows both. On several databases, the median ratio of
    /// each database.
    pub fn ratios_to(&self, other: &Self) -> Vec<f64> {
        let ratios: Vec<_> = round_ratios(self, other).into_iter().map(|(_, own)| own).collect();
        match (&self.databases, ratios.as_slice()) {
            (None, [one]) => one.clone(),
            (_, ratios) => ratios.iter().filter_map(|ratios| stats::median(ratios)).collect(),
        }
    }
}

impl BatchFigures {
    /// Estimates the figures over all batches of `samples`.
    pub fn over(samples: &[&SampleFacts]) -> Self {
        let times = samples.iter().flat_map(|sample| sample.batch_ns.iter().copied());
        let writes = samples.iter().filter_map(|sample| sample.writes.as_ref());
        let by_device = writes.clone().filter_map(|writes| writes.device_amplification);
        let by_store = writes.filter_map(|writes| writes.store_amplification);
        Self {
            time_ns: stats::percentiles_of(times),
            device_amplification: stats::median(&by_device.collect::<Vec<_>>()),
            store_amplification: stats::median(&by_store.collect::<Vec<_>>()),
        }
    }
}

/// The samples of a cell on one database.
#[derive(Clone, Copy, Debug)]
pub struct OnDatabase<'a> {
    /// Seed of the database; `None` for a run on one database.
    pub seed: Option<u64>,
    /// The samples, in the order of the run.
    pub samples: &'a [SampleFacts],
    /// The counters that all samples on the database share.
    pub counters: Option<&'a Counters>,
    /// Number of warm-up samples at the start; `None` where the end of the warm-up is not known.
    warm_up_count: Option<u64>,
}

impl<'a> OnDatabase<'a> {
    /// Returns ` on database 7` with the seed, or an empty text for a run on one database.
    pub fn suffix(&self) -> String {
        self.seed.map_or_else(String::new, |seed| format!(" on database {seed}"))
    }

    /// The samples of the run's workload itself. Fresh samples have other keys, so their counters
    /// differ.
    pub fn of_workload(&self) -> impl Iterator<Item = &'a SampleFacts> + use<'a> {
        self.samples.iter().filter(|sample| sample.keys == SampleKeys::Same)
    }

    /// The samples after the warm-up.
    pub fn counted(&self) -> &'a [SampleFacts] {
        let warm_up = usize::try_from(self.warm_up_count.unwrap_or(0)).unwrap_or(usize::MAX);
        self.samples.get(warm_up..).unwrap_or_default()
    }
}

/// Values of each database, with its seed; the seed is `None` for a run on one database.
type BySeed = Vec<(Option<u64>, Vec<f64>)>;

/// Ratios of the wall times of `cell` to those of `base`, one for each round, by the databases that
/// both have.
fn round_ratios(cell: &Cell, base: &Cell) -> BySeed {
    let bases = base.by_database();
    cell.by_database()
        .into_iter()
        .filter_map(|own| {
            let base = bases.iter().find(|base| base.seed == own.seed)?;
            let pairs = own.counted().iter().zip(base.counted());
            let ratios = pairs
                .filter(|(_, base)| base.wall_ns > 0)
                .map(|(sample, base)| sample.wall_ns as f64 / base.wall_ns as f64);
            Some((own.seed, ratios.collect()))
        })
        .collect()
}

/// The lowest and the highest value; `None` without values.
fn range(values: &[f64]) -> Option<[f64; 2]> {
    let least = values.iter().copied().min_by(f64::total_cmp)?;
    Some([least, values.iter().copied().max_by(f64::total_cmp)?])
}

/// Pools the cells of all databases, variant by variant, in the order in which variants first
/// appear. `logs` has the latencies of all databases together.
pub fn pool(databases: &[DatabaseRun], logs: &[HistogramLog]) -> Vec<Cell> {
    let mut pooled: Vec<Cell> = Vec::new();
    for cell in databases.iter().flat_map(|ran| &ran.cells) {
        if !pooled.iter().any(|known| known.variant == cell.variant) {
            pooled.extend(pooled_cell(&cell.variant, databases, logs));
        }
    }
    let ratios: Vec<_> = pooled.iter().map(|cell| base_ratios(cell, &pooled)).collect();
    for (cell, ratios) in pooled.iter_mut().zip(ratios) {
        if let (Some(databases), Some((base, by_seed))) = (&mut cell.databases, ratios) {
            databases.set_ratio(base, &by_seed);
        }
    }
    pooled
}

/// The base of a cell, which is the first variant on the same store, and the ratios of the cell's
/// times to the base's.
fn base_ratios(cell: &Cell, all: &[Cell]) -> Option<(String, BySeed)> {
    let base = all.iter().find(|other| other.store == cell.store)?;
    Some((base.variant.clone(), round_ratios(cell, base)))
}

/// The cells of one variant, one for each database that has the variant.
type VariantCells<'a> = [(&'a DatabaseRun, &'a Cell)];

/// The known values of `figure` in a variant's cells.
fn figures(cells: &VariantCells<'_>, figure: fn(&Cell) -> Option<f64>) -> Vec<f64> {
    cells.iter().filter_map(|(_, cell)| figure(cell)).collect()
}

impl CellDatabases {
    /// Pools the cells of one variant. Leaves out the ratio to the base variant, which
    /// [`Self::set_ratio`] sets.
    fn from_cells(cells: &VariantCells<'_>) -> Self {
        let walls = cells.iter().map(|(_, cell)| {
            let counted = cell.counted().into_iter().flatten();
            counted.map(|sample| sample.wall_ns as f64).collect()
        });
        Self {
            each: cells.iter().map(|(ran, cell)| CellOnDatabase::from_cell(ran, cell)).collect(),
            mgas_per_s_range: range(&figures(cells, |cell| cell.mgas_per_s.median)),
            ms_per_batch_range: range(&figures(cells, |cell| cell.ms_per_batch.median)),
            time_spread: Spread::estimate(&walls.collect::<Vec<Vec<f64>>>()),
            time_ratio_over: String::new(),
            time_ratio: Estimate::default(),
            time_ratio_range: None,
            time_ratio_spread: None,
        }
    }

    /// Sets the ratio of the variant's time to that of the variant `base`, from the ratios of each
    /// database.
    fn set_ratio(&mut self, base: String, by_seed: &BySeed) {
        for database in &mut self.each {
            let own = by_seed.iter().find(|(seed, _)| *seed == Some(database.seed));
            database.time_ratio = own.and_then(|(_, ratios)| stats::median(ratios));
        }
        let known: Vec<f64> = self.each.iter().filter_map(|database| database.time_ratio).collect();
        let rounds: Vec<_> = by_seed.iter().map(|(_, ratios)| ratios.clone()).collect();
        self.time_ratio_over = base;
        self.time_ratio = stats::estimate(&known);
        self.time_ratio_range = range(&known);
        self.time_ratio_spread = Spread::estimate(&rounds);
    }
}

impl CellOnDatabase {
    fn from_cell(ran: &DatabaseRun, cell: &Cell) -> Self {
        Self {
            seed: ran.facts.workload.seed,
            sample_count: cell.samples.len() as u64,
            warm_up_sample_count: cell.warm_up_sample_count,
            counters: cell.counters.clone(),
            mgas_per_s: cell.mgas_per_s,
            ms_per_batch: cell.ms_per_batch,
            tx_latency_ns: cell.tx_latency_ns,
            device_fraction: cell.device_fraction,
            time_ratio: None,
        }
    }
}

/// Pools one variant over all databases that have it.
fn pooled_cell(variant: &str, databases: &[DatabaseRun], logs: &[HistogramLog]) -> Option<Cell> {
    let cells: Vec<(&DatabaseRun, &Cell)> = databases
        .iter()
        .filter_map(|ran| Some((ran, ran.cells.iter().find(|cell| cell.variant == variant)?)))
        .collect();
    let (_, first) = cells.first()?;
    let estimate = |figure| stats::estimate(&figures(&cells, figure));
    let median = |figure| stats::median(&figures(&cells, figure));
    let counted: Vec<&SampleFacts> =
        cells.iter().flat_map(|(_, cell)| cell.counted()).flatten().collect();
    let device_fraction = estimate(|cell| cell.device_fraction);
    let [tx, reads] =
        [LogKind::Transactions, LogKind::Reads].map(|kind| latencies(logs, variant, kind));
    Some(Cell {
        databases: Some(CellDatabases::from_cells(&cells)),
        // Counters are exact, and each database has its own.
        counters: None,
        warm_up_sample_count: None,
        samples: cells.iter().flat_map(|(_, cell)| cell.samples.clone()).collect(),
        mgas_per_s: estimate(|cell| cell.mgas_per_s.median),
        header_mgas_per_s: median(|cell| cell.header_mgas_per_s),
        ms_per_batch: estimate(|cell| cell.ms_per_batch.median),
        unverified_ms_per_batch: estimate(|cell| cell.unverified_ms_per_batch.median),
        verifier_priority: in_common(&cells, |cell| cell.verifier_priority),
        warm_up_found_share: median(|cell| cell.warm_up_found_share),
        batch_figures: BatchFigures {
            device_amplification: median(|cell| cell.batch_figures.device_amplification),
            store_amplification: median(|cell| cell.batch_figures.store_amplification),
            ..BatchFigures::over(&counted)
        },
        tx_latency_ns: tx.map_or_else(Percentiles::default, stats::percentiles),
        read_latency_ns: reads.map_or_else(Percentiles::default, stats::percentiles),
        tx_latency_histogram: tx.map_or_else(Vec::new, stats::buckets),
        read_latency_histogram: reads.map_or_else(Vec::new, stats::buckets),
        read_latency_of_batches: cells.iter().any(|(_, cell)| cell.read_latency_of_batches),
        longest_tx_share: median(|cell| cell.longest_tx_share),
        scheduling_quality: median(|cell| cell.scheduling_quality),
        idle_share: median(|cell| cell.idle_share),
        recover_ns_per_tx: median(|cell| cell.recover_ns_per_tx),
        recover_tx_per_s: median(|cell| cell.recover_tx_per_s),
        device_fraction: device_fraction.median,
        device_fraction_ci95: device_fraction.ci95,
        uniform_ceiling_ratio: median(|cell| cell.uniform_ceiling_ratio),
        blocks_per_present_key: median(|cell| cell.blocks_per_present_key),
        expected_blocks_per_present_key: median(|cell| cell.expected_blocks_per_present_key),
        device_bytes_per_block: median(|cell| cell.device_bytes_per_block),
        reads_in_flight: median(|cell| cell.reads_in_flight),
        ready_share: median(|cell| cell.ready_share),
        cpu_ns_per_read: median(|cell| cell.cpu_ns_per_read),
        abort_rate: median(|cell| cell.abort_rate),
        bottleneck: in_common(&cells, |cell| cell.bottleneck),
        bottleneck_share: in_common(&cells, |cell| cell.bottleneck)
            .and(median(|cell| cell.bottleneck_share)),
        cache: cache(&cells)?,
        // The variant's settings are the same on all databases.
        ..(*first).clone()
    })
}

/// Finds a variant's latencies over all databases.
fn latencies<'a>(
    logs: &'a [HistogramLog],
    variant: &str,
    kind: LogKind,
) -> Option<&'a Histogram<u64>> {
    let log = logs.iter().find(|log| log.variant == variant && log.kind == kind);
    Some(&log?.histogram)
}

/// The value that the cells of all databases share; `None` where they differ.
fn in_common<T: PartialEq>(cells: &VariantCells<'_>, value: fn(&Cell) -> Option<T>) -> Option<T> {
    let (_, first) = cells.first()?;
    value(first).filter(|shared| cells.iter().all(|(_, cell)| value(cell).as_ref() == Some(shared)))
}

/// The cache facts of the cell that is least sure to have the requested cache state: not proved
/// comes before unknown, and unknown before proved.
fn cache(cells: &VariantCells<'_>) -> Option<CacheFacts> {
    let (ran, cell) = [Some(false), None, Some(true)]
        .into_iter()
        .find_map(|proved| cells.iter().find(|(_, cell)| cell.cache.proved == proved))?;
    let CacheFacts { want, proved, reason } = cell.cache.clone();
    let mut caches = cells.iter().map(|(_, cell)| &cell.cache);
    let reason = match caches.all(|other| other.proved == proved && other.reason == reason) {
        true => reason,
        false => format!("on the database of seed {}: {reason}", ran.facts.workload.seed),
    };
    Some(CacheFacts { want, proved, reason })
}

/// Adds the latencies of one more database to those of `all` databases so far.
///
/// # Panics
/// Never: all histograms have the same bounds.
pub fn add_logs(all: &mut Vec<HistogramLog>, more: Vec<HistogramLog>) {
    for log in more {
        let mut known = all.iter_mut();
        match known.find(|known| known.variant == log.variant && known.kind == log.kind) {
            Some(known) => {
                let added = known.histogram.add(&log.histogram);
                added.unwrap_or_else(|e| panic!("same bounds: {e}"));
            }
            None => all.push(log),
        }
    }
}

#[cfg(test)]
mod tests;
