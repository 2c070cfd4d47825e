//! Ratios of times with their intervals, for answers and comparisons: a row's time over that of
//! another row, of the same run or of another.

use result::{Cell, Estimate, databases::CellDatabases, stats};

use super::facts;

/// The time of a row over the time of its base.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ratio {
    pub(crate) median: Option<f64>,
    pub(crate) ci95: Option<[f64; 2]>,
}

impl Ratio {
    /// Divides the times of rows of two runs.
    pub(crate) fn between(cell: &Cell, base: &Cell) -> Self {
        match (&cell.databases, &base.databases) {
            (Some(own), Some(of_base)) => Self::from_databases(own, of_base),
            _ => {
                let times = facts::time_ms(cell).zip(facts::time_ms(base));
                let [own, of_base] = [cell, base].map(facts::times_ns);
                let median = times.map(|(ms, base)| ms / base);
                Self { median, ..Self::from_times(&own, &of_base) }
            }
        }
    }

    /// Divides the times of two rows of one run. Each round takes one sample of every row. So for
    /// rows with equal numbers of samples, the interval is that of the ratios by round.
    pub(crate) fn within_run(cell: &Cell, base: &Cell) -> Self {
        let unpaired = Self::between(cell, base);
        let [own, of_base] = [cell, base].map(facts::times_ns);
        if cell.databases.is_some() || own.len() != of_base.len() {
            return unpaired;
        }
        let ratios: Vec<f64> = own.iter().zip(&of_base).map(|(own, base)| own / base).collect();
        Self { ci95: stats::estimate(&ratios).ci95, ..unpaired }
    }

    /// Divides the medians of the times. Nothing pairs a sample of one run with a sample of
    /// another. So each median has an interval, and both intervals hold at once with 95 %. The
    /// ratio lies between the ratios of their ends, for any distribution of the samples.
    pub(crate) fn from_times(own: &[f64], base: &[f64]) -> Self {
        let [own_ends, base_ends] =
            [own, base].map(|times| stats::median_interval_at(times, stats::confidence_of_each(2)));
        let ends = own_ends.zip(base_ends).filter(|(_, [least, _])| *least > 0.0);
        let medians = stats::median(own).zip(stats::median(base).filter(|base| *base > 0.0));
        Self {
            median: medians.map(|(own, base)| own / base),
            ci95: ends.map(|(own, base)| [own[0] / base[1], own[1] / base[0]]),
        }
    }

    /// Divides the times on each database that both rows have. Differences between databases are
    /// thus in no ratio.
    fn from_databases(own: &CellDatabases, base: &CellDatabases) -> Self {
        let ratios = own.each.iter().filter_map(|of| {
            let same = base.each.iter().find(|other| other.seed == of.seed)?;
            let over = same.ms_per_batch.median.filter(|ms| *ms > 0.0)?;
            Some(of.ms_per_batch.median? / over)
        });
        let ratios: Vec<f64> = ratios.collect();
        let Estimate { median, ci95, .. } = stats::estimate(&ratios);
        Self { median, ci95 }
    }
}
