//! Progress lines of a run before a sample: samples, time left, and the highest median throughput
//! with its number of samples. The lines do not change during the sample.

use std::time::Duration;

use report::units;

use crate::{
    run::plan::{CellProgress, Rounds},
    terminal::Live,
};

/// The state of a run before a sample.
#[derive(Clone, Copy, Debug)]
pub struct LiveStatus<'a> {
    /// The rules of the rounds.
    pub rounds: Rounds,
    /// Number of the round, from 0.
    pub round: u32,
    /// Cells that have their sample of this round.
    pub done: &'a [usize],
    /// Cells without a sample in this round. The sample of the first of them begins now.
    pub pending: &'a [usize],
    /// Time of the earlier rounds.
    pub spent: Duration,
    /// Samples of all cells.
    pub taken: &'a [CellProgress],
    /// Median throughput of each cell, in MGas/s.
    pub medians: &'a [Option<f64>],
    /// Number of databases of the run, of which others may follow.
    pub database_count: u32,
}

impl LiveStatus<'_> {
    /// Returns the lines.
    pub fn live(&self) -> Live {
        let of_round = self.done.iter().map(|index| self.taken[*index].last);
        let spent = self.spent + of_round.sum::<Duration>();
        let left = self.rounds.time_left(spent, self.pending, self.taken);
        let (position, length) = match left {
            None => (0, 1),
            Some(left) => (millis(spent), millis(spent + left).max(1)),
        };
        Live {
            head: format!("{}, {}", self.progress(spent), self.time_left(left)),
            below: self.leading(),
            position,
            length,
        }
    }

    /// Formats the progress: `round 3, 17 of 40 samples, 12.3 s`.
    fn progress(&self, spent: Duration) -> String {
        let count: usize = self.taken.iter().map(|cell| cell.sample_count).sum();
        let all = self.rounds.sample_count.map(|each| each as usize * self.taken.len());
        let samples = match all {
            Some(all) => format!("{count} of {}", units::things(all as u64, "sample")),
            None => units::things(count as u64, "sample"),
        };
        format!("round {}, {samples}, {}", self.round + 1, units::rough_time(spent))
    }

    /// Formats the time left, by the measured rounds. It has the word `about` until every cell is
    /// measured.
    fn time_left(&self, left: Option<Duration>) -> String {
        let Some(left) = left else { return "time left not known yet".to_owned() };
        let about = if self.round == 0 { "about " } else { "" };
        let scope = if self.database_count > 1 { " on this database" } else { "" };
        format!("{about}{} left{scope}", units::rough_time(left))
    }

    /// Returns the highest median throughput on the store of the next sample.
    fn leading(&self) -> String {
        let Some(next) = self.pending.first() else { return String::new() };
        let next = &self.taken[*next].cell;
        let medians = self.taken.iter().zip(self.medians);
        let medians = medians.filter(|(taken, _)| taken.cell.store == next.store);
        let medians = medians.filter_map(|(taken, median)| Some((taken, (*median)?)));
        let leading = medians.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(taken, mgas_per_s)| {
            format!(
                "highest median so far: {} MGas/s (n={}), {}; ",
                units::plain(mgas_per_s),
                taken.sample_count,
                taken.cell.name()
            )
        });
        format!("{}now: {}", leading.unwrap_or_default(), next.name())
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use variant::{Design, StoreKind, Variant};

    use super::*;
    use crate::run::plan::PlannedCell;

    fn taken(store: StoreKind, design: Design, sample_count: usize, seconds: u64) -> CellProgress {
        let variant = Variant::of(design, NonZeroUsize::MIN, NonZeroUsize::MIN);
        let cell = PlannedCell { store, variant };
        CellProgress::alike(cell, sample_count, Duration::from_secs(seconds))
    }

    #[test]
    fn the_lines_tell_samples_time_left_and_the_leading_median_with_its_samples() {
        let cells = [
            taken(StoreKind::Rocksdb, Design::Sequential, 2, 10),
            taken(StoreKind::Rocksdb, Design::ParallelIo, 3, 4),
            taken(StoreKind::Memory, Design::ParallelIo, 3, 1),
        ];
        let status = LiveStatus {
            rounds: Rounds { sample_count: Some(6), budget: Duration::ZERO },
            round: 2,
            done: &[1, 2],
            pending: &[0],
            spent: Duration::from_secs(30),
            taken: &cells,
            medians: &[Some(64.0), Some(160.0), Some(900.0)],
            database_count: 1,
        };
        let live = status.live();
        // 4 x 10 s, 3 x 4 s, 3 x 1 s.
        assert_eq!(live.head, "round 3, 8 of 18 samples, 35 s, 55 s left");
        assert_eq!((live.position, live.length), (35_000, 90_000));
        let leading =
            "highest median so far: 160 MGas/s (n=3), rocksdb/parallel-io/bal+on-demand@1";
        assert_eq!(live.below, format!("{leading}; now: rocksdb/none/sequential+on-demand@1"));
        let several = LiveStatus { database_count: 6, ..status }.live();
        assert!(several.head.ends_with("55 s left on this database"), "{}", several.head);
    }

    #[test]
    fn the_first_round_says_about_and_before_the_first_sample_nothing_leads() {
        let cells = [
            taken(StoreKind::Rocksdb, Design::Sequential, 0, 0),
            taken(StoreKind::Rocksdb, Design::ParallelIo, 0, 0),
        ];
        let status = LiveStatus {
            rounds: Rounds { sample_count: None, budget: Duration::from_secs(60) },
            round: 0,
            done: &[],
            pending: &[0, 1],
            spent: Duration::ZERO,
            taken: &cells,
            medians: &[None, None],
            database_count: 1,
        };
        let live = status.live();
        assert_eq!(live.head, "round 1, 0 samples, 0.0 s, about 60 s left");
        assert_eq!(live.below, "now: rocksdb/none/sequential+on-demand@1");
        let rounds = Rounds { sample_count: Some(6), budget: Duration::ZERO };
        let live = LiveStatus { rounds, ..status }.live();
        assert!(live.head.ends_with("0 of 12 samples, 0.0 s, time left not known yet"), "{live:?}");
        assert_eq!((live.position, live.length), (0, 1));
    }
}
