//! Figures of a calibration, which compares a client with our designs over many workloads. It has
//! the figures of both on each workload, the rank correlation of their times, and the workloads
//! whose ranks differ. The terminal and the HTML page show them.
//!
//! The terms of a time are device reads per key, CPU time and the state root. The ratio of a term
//! is the client's value over ours, relative to the median of such ratios over all workloads. A
//! term explains a difference of ranks where its ratio deviates about as far as that of the time.

use std::ops::RangeInclusive;

use result::{Cell, ClientCell, ClientSample, RunResult, Shown, WorkloadFacts, stats};
use variant::{Design, Phase};

use crate::facts;

/// Smallest difference between the two ranks of a workload that counts, for any number of
/// workloads.
const RANK_DIFFERENCE_MIN: f64 = 2.0;
/// Smallest difference of ranks that counts, as a share of the number of workloads.
/// [`RANK_DIFFERENCE_MIN`] applies where it is larger.
const RANK_DIFFERENCE_SHARE: f64 = 0.25;
/// Logarithm of a term's ratio over the logarithm of the time's ratio, where the term explains the
/// difference.
const EXPLAINED_SHARES: RangeInclusive<f64> = 0.5..=2.0;
/// Smallest factor between a time's ratio and the median ratio that needs an explanation.
const EXPLAINED_RATIO_MIN: f64 = 1.2;
/// Smallest share of the state root in either time with which the root can be an explanation.
const ROOT_SHARE_MIN: f64 = 0.1;
/// Name of the term that is the state root.
const ROOT: &str = "the root";

/// A workload whose measurement failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfinishedWorkload {
    /// Name of its scenario.
    pub scenario: String,
    /// The step that failed, and how it ended.
    pub reason: String,
}

/// The results of a calibration.
#[derive(Clone, Copy, Debug)]
pub struct Calibrated<'a> {
    /// Results of workloads, each with the cell of a client.
    pub results: &'a [Shown],
    /// Workloads whose measurement failed.
    pub unfinished: &'a [UnfinishedWorkload],
}

/// Figures of a program on a workload: medians over its samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ProgramFigures {
    /// Milliseconds a batch.
    pub(crate) ms: f64,
    /// Read requests of the device in a sample, divided by the number of keys in the lists.
    pub(crate) reads_per_key: Option<f64>,
    /// Mean bytes of a read request.
    pub(crate) bytes_per_read: Option<f64>,
    /// CPU milliseconds a batch.
    pub(crate) cpu_ms: Option<f64>,
    /// Milliseconds a batch for the state root.
    pub(crate) root_ms: Option<f64>,
}

/// A workload with figures of the client, and of each design that has some.
#[derive(Clone, Debug)]
pub(crate) struct Row<'a> {
    /// Index of the workload's result among those of the calibration.
    pub(crate) result: usize,
    pub(crate) run: &'a RunResult,
    pub(crate) client: &'a ClientCell,
    pub(crate) theirs: ProgramFigures,
    /// The fastest cell of each design with its figures, in the order of the designs. `None` for a
    /// design without figures on this workload.
    pub(crate) ours: Vec<Option<(&'a Cell, ProgramFigures)>>,
}

/// A part of a workload's figures that may explain its time: its name, and its value if known.
type Term = (&'static str, fn(&ProgramFigures) -> Option<f64>);

const TERMS: [Term; 3] = [
    ("device reads a key", |of| of.reads_per_key),
    ("CPU time", |of| of.cpu_ms),
    (ROOT, |of| of.root_ms),
];

/// A workload on which the ranks differ.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RankDifference {
    /// Index of the workload among the rows of all figures.
    pub(crate) row: usize,
    /// Rank of the client's time among the workloads, the fastest first, then the rank of our time.
    pub(crate) ranks: [f64; 2],
    /// The client's time over ours, as a multiple of the median of this ratio over all workloads.
    pub(crate) times_usual: f64,
    /// Name of the term that explains the difference. Its value is the client's value of the term
    /// over ours, as a multiple of the median ratio.
    pub(crate) term: Option<(&'static str, f64)>,
}

/// A design against the client.
#[derive(Clone, Debug)]
pub(crate) struct DesignFigures {
    pub(crate) design: Design,
    /// Number of workloads with figures of the client and of this design.
    pub(crate) count: usize,
    pub(crate) spearman: Option<f64>,
    /// Median of the client's time over ours.
    pub(crate) times_ours: Option<f64>,
    pub(crate) rank_differences: Vec<RankDifference>,
}

/// All workloads and all designs.
#[derive(Clone, Debug)]
pub(crate) struct Figures<'a> {
    pub(crate) rows: Vec<Row<'a>>,
    pub(crate) designs: Vec<DesignFigures>,
}

impl<'a> Figures<'a> {
    pub(crate) fn new(calibrated: &Calibrated<'a>) -> Self {
        let runs = calibrated.results.iter().enumerate();
        let runs = runs.filter_map(|(index, shown)| Some((index, shown.run()?)));
        // A run that ended early has medians of fewer samples than the others.
        let sound: Vec<_> = runs.filter(|(_, run)| run.is_sound() && !run.interrupted).collect();
        let cells = sound.iter().flat_map(|(_, run)| &run.cells);
        let designs = facts::distinct(cells.map(|cell| cell.design));
        let rows: Vec<_> =
            sound.iter().filter_map(|(index, run)| Row::new(*index, run, &designs)).collect();
        let designs = designs.iter().enumerate();
        let designs =
            designs.map(|(index, design)| design_figures(*design, index, &rows)).collect();
        Self { rows, designs }
    }
}

impl<'a> Row<'a> {
    fn new(result: usize, run: &'a RunResult, designs: &[Design]) -> Option<Self> {
        let client = run.clients.first()?;
        let ours = designs.iter().map(|design| {
            let cell = facts::best(run.cells.iter().filter(|cell| cell.design == *design))?;
            Some((cell, ProgramFigures::from_cell(run, cell)?))
        });
        let theirs = ProgramFigures::from_client(run, client)?;
        Some(Self { result, run, client, theirs, ours: ours.collect() })
    }
}

impl ProgramFigures {
    fn from_client(run: &RunResult, client: &ClientCell) -> Option<Self> {
        let requests = client.median(|sample| sample.disk_requests);
        let bytes = client.median(|sample| sample.disk_bytes);
        let cpu_ns = client.median(|sample| sample.cpu_ns);
        let root_ns = client.median(ClientSample::own_root_ns);
        let ms = client.ms_per_batch.median?;
        Some(Self { ms, ..Self::from_medians(run, [requests, bytes, cpu_ns, root_ns]) })
    }

    fn from_cell(run: &RunResult, cell: &Cell) -> Option<Self> {
        let requests = facts::median(cell, |sample| sample.disk_requests);
        let bytes = facts::median(cell, |sample| sample.disk_bytes);
        let cpu_ns = facts::median(cell, |sample| sample.cpu_ns);
        let root_ns = facts::median(cell, |sample| {
            let phases = [Phase::RootPlan, Phase::RootRead, Phase::RootFold, Phase::RootJoin];
            Some(phases.iter().map(|phase| sample.phases_ns[*phase]).sum())
        });
        let root_ns = root_ns.filter(|ns| *ns > 0.0);
        let ms = facts::time_ms(cell)?;
        Some(Self { ms, ..Self::from_medians(run, [requests, bytes, cpu_ns, root_ns]) })
    }

    /// The figures beside the time. `medians` are of whole samples: read requests and bytes of the
    /// device, then nanoseconds of the CPU and of the state root.
    fn from_medians(run: &RunResult, medians: [Option<f64>; 4]) -> Self {
        let [requests, bytes, cpu_ns, root_ns] = medians;
        let WorkloadFacts { list_account_count, list_slot_count, batch_count, .. } = run.workload;
        let key_count = (list_account_count + list_slot_count).max(1) as f64;
        let bytes = bytes.zip(requests.filter(|count| *count > 0.0));
        let [cpu_ms, root_ms] =
            [cpu_ns, root_ns].map(|ns| Some(ns? / 1e6 / batch_count.max(1) as f64));
        Self {
            ms: 0.0,
            reads_per_key: requests.map(|count| count / key_count),
            bytes_per_read: bytes.map(|(bytes, count)| bytes / count),
            cpu_ms,
            root_ms,
        }
    }

    fn root_share(&self) -> f64 {
        self.root_ms.unwrap_or(0.0) / self.ms
    }
}

/// A workload on which the client and a design have figures.
#[derive(Clone, Copy)]
struct Pair {
    row: usize,
    theirs: ProgramFigures,
    ours: ProgramFigures,
}

impl Pair {
    /// The client's value of a term over ours. `None` where one of the two values is unknown or
    /// zero.
    fn ratio(&self, value: fn(&ProgramFigures) -> Option<f64>) -> Option<f64> {
        let ratio = value(&self.theirs)? / value(&self.ours)?;
        (ratio.is_finite() && ratio > 0.0).then_some(ratio)
    }

    fn times(&self) -> f64 {
        self.theirs.ms / self.ours.ms
    }

    /// Whether the state root is [`ROOT_SHARE_MIN`] or more of one of the two times.
    fn has_root(&self) -> bool {
        self.theirs.root_share().max(self.ours.root_share()) >= ROOT_SHARE_MIN
    }
}

fn design_figures(design: Design, index: usize, rows: &[Row<'_>]) -> DesignFigures {
    let pairs: Vec<Pair> = rows
        .iter()
        .enumerate()
        .filter_map(|(row, of)| Some(Pair { row, theirs: of.theirs, ours: of.ours[index]?.1 }))
        .collect();
    let times: Vec<[f64; 2]> = pairs.iter().map(|pair| [pair.theirs.ms, pair.ours.ms]).collect();
    DesignFigures {
        design,
        count: pairs.len(),
        spearman: stats::spearman(&times),
        times_ours: stats::median(&pairs.iter().map(Pair::times).collect::<Vec<_>>()),
        rank_differences: rank_differences(&pairs, &times),
    }
}

fn rank_differences(pairs: &[Pair], times: &[[f64; 2]]) -> Vec<RankDifference> {
    let [theirs, ours] =
        [0, 1].map(|side| stats::ranks(&times.iter().map(|pair| pair[side]).collect::<Vec<_>>()));
    let least = RANK_DIFFERENCE_MIN.max(RANK_DIFFERENCE_SHARE * pairs.len() as f64);
    let Some(usual) = stats::median(&pairs.iter().map(Pair::times).collect::<Vec<_>>()) else {
        return Vec::new();
    };
    let ranks = theirs.into_iter().zip(ours).map(<[f64; 2]>::from);
    let differing = pairs.iter().zip(ranks).filter(|(_, [a, b])| (a - b).abs() >= least);
    let differences = differing.map(|(pair, ranks)| {
        let times_usual = pair.times() / usual;
        RankDifference { row: pair.row, ranks, times_usual, term: term(pair, pairs, times_usual) }
    });
    differences.collect()
}

/// Finds the term that explains a time's ratio. Its ratio deviates in the same direction, and about
/// as far ([`EXPLAINED_SHARES`]). Of several such terms it is the one that deviates furthest.
/// `None` for a time close to the usual ratio.
fn term(pair: &Pair, pairs: &[Pair], times_usual: f64) -> Option<(&'static str, f64)> {
    if times_usual.ln().abs() < EXPLAINED_RATIO_MIN.ln() {
        return None;
    }
    TERMS
        .into_iter()
        .filter_map(|(name, value)| {
            let all: Vec<f64> = pairs.iter().filter_map(|pair| pair.ratio(value)).collect();
            let own = pair.ratio(value).filter(|_| name != ROOT || pair.has_root())?;
            Some((name, own / stats::median(&all)?))
        })
        .filter(|(_, ratio)| EXPLAINED_SHARES.contains(&(ratio.ln() / times_usual.ln())))
        .max_by(|(_, a), (_, b)| a.ln().abs().total_cmp(&b.ln().abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(ms: f64, cpu_ms: f64) -> ProgramFigures {
        ProgramFigures {
            ms,
            cpu_ms: Some(cpu_ms),
            reads_per_key: Some(1.0),
            ..ProgramFigures::default()
        }
    }

    fn pairs() -> Vec<Pair> {
        // The client takes twice our time, by twice our CPU time; on the first workload 20 times.
        let usual = (1..8).map(|n| Pair {
            row: n,
            theirs: side(20.0 * n as f64, 10.0 * n as f64),
            ours: side(10.0 * n as f64, 5.0 * n as f64),
        });
        let first = Pair { row: 0, theirs: side(100.0, 80.0), ours: side(5.0, 4.0) };
        [first].into_iter().chain(usual).collect()
    }

    fn of(pairs: &[Pair]) -> Vec<RankDifference> {
        let times: Vec<_> = pairs.iter().map(|pair| [pair.theirs.ms, pair.ours.ms]).collect();
        rank_differences(pairs, &times)
    }

    #[test]
    fn ranks_part_where_one_side_is_slow_and_the_term_that_is_as_far_off_explains_it() {
        let found = of(&pairs());
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].row, found[0].ranks), (0, [5.5, 1.0]));
        assert_eq!(found[0].times_usual, 10.0);
        assert_eq!(found[0].term, Some(("CPU time", 10.0)));
    }

    #[test]
    fn nothing_explains_ranks_that_part_without_a_term_that_does() {
        let mut pairs = pairs();
        pairs[0].theirs.cpu_ms = Some(8.0);
        assert_eq!(of(&pairs)[0].term, None);
        pairs[0].theirs.cpu_ms = None;
        pairs[0].theirs.reads_per_key = Some(4.0);
        assert_eq!(of(&pairs)[0].term, Some(("device reads a key", 4.0)));
        // A root of a hundredth of the time is no reason.
        pairs[0].theirs =
            ProgramFigures { root_ms: Some(1.0), reads_per_key: None, ..pairs[0].theirs };
        for pair in &mut pairs {
            pair.ours.root_ms = Some(0.01);
        }
        assert_eq!(of(&pairs)[0].term, None);
    }

    #[test]
    fn a_time_close_to_the_usual_one_is_explained_by_no_term() {
        let with = |cpu_ms: f64| {
            let mut pairs = pairs();
            pairs[0].theirs.cpu_ms = Some(4.0 * 2.0 * cpu_ms);
            pairs
        };
        let of = |pairs: &[Pair], times_usual: f64| term(&pairs[0], pairs, times_usual);
        let pairs = with(1.25);
        for close in [0.84, 0.99, 1.0, 1.01, 1.19] {
            assert_eq!(of(&pairs, close), None, "{close}");
        }
        assert_eq!(of(&pairs, 1.21), Some(("CPU time", 1.25)));
        assert_eq!(of(&with(0.8), 0.83), Some(("CPU time", 0.8)));
    }

    #[test]
    fn a_term_of_more_than_twice_the_difference_explains_nothing() {
        let mut pairs = pairs();
        let mut of = |times: f64| {
            pairs[0].theirs.cpu_ms = Some(8.0 * times);
            term(&pairs[0], &pairs, 2.0)
        };
        assert_eq!(of(1.4), None);
        assert_eq!(of(1.5), Some(("CPU time", 1.5)));
        assert_eq!(of(3.9), Some(("CPU time", 3.9)));
        assert_eq!(of(4.1), None);
    }

    #[test]
    fn equal_orders_do_not_part() {
        let pairs = pairs();
        assert!(of(&pairs[1..]).is_empty());
        assert!(of(&[]).is_empty());
    }
}
