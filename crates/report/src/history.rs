//! Results of the same work over time. Each work, machine and variant has a series of times, and
//! the results at which these times change. Results of other work or of another machine are never
//! in one series.

use std::ops::Range;

use result::{
    Cell, Environment, RunResult, Shown, WorkloadFacts,
    environment::Limit,
    stats::{self, FALSE_ALARM_RATE, LEVEL_COUNT_MIN},
};

use crate::{compare, facts, units};

/// Number of characters of a commit that are shown.
const COMMIT_CHARS: usize = 10;
/// Largest number of changed facts that are shown with a change of a time. A comparison of the two
/// results (`stress compare`) shows all.
const SHOWN_FACT_COUNT: usize = 4;
/// Facts of the tool that follow from its commit, or add nothing to it.
const FACTS_OF_COMMIT: [&str; 3] = ["tool.commit", "tool.binary_hash", "tool.version"];

/// Text for an unknown fact of a machine or a program.
const UNKNOWN: &str = "unknown";

/// Series of the same work on the same machine.
#[derive(Clone, Debug)]
pub(crate) struct Group<'a> {
    pub(crate) workload: &'a WorkloadFacts,
    /// Digests of the workload, and of each database's workload in runs on several databases.
    digests: Vec<&'a str>,
    pub(crate) machine: String,
    /// Indices of its results among all results, in the order of time.
    pub(crate) results: Vec<usize>,
    pub(crate) series: Vec<Series<'a>>,
}

/// The times of a variant, in the order of time.
#[derive(Clone, Debug)]
pub(crate) struct Series<'a> {
    pub(crate) points: Vec<Point<'a>>,
    pub(crate) changes: Vec<Change>,
}

/// A variant in one result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point<'a> {
    /// Index of the result among all results.
    pub(crate) result: usize,
    /// Index of the cell in the result.
    pub(crate) cell_index: usize,
    pub(crate) run: &'a RunResult,
    pub(crate) cell: &'a Cell,
    /// Median milliseconds a batch.
    pub(crate) ms: f64,
}

/// A change of level. A level is the results between two changes.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// Index of the first point of the new level.
    pub(crate) at: usize,
    /// Median time of the new level over that of the level before.
    pub(crate) ratio: f64,
    /// Share of the permutations of this part of the series that have a change as strong.
    pub(crate) p: f64,
    /// Facts that differ between the last result before the change and the first result after it.
    pub(crate) facts: Vec<String>,
}

/// Sorts results by time. Results of equal times are in the order of commits and paths, so that the
/// order of the arguments does not matter.
pub fn sorted_by_time(mut results: Vec<Shown>) -> Vec<Shown> {
    results.sort_by_cached_key(|of| {
        (of.started_unix_s(), of.tool().program.commit.clone(), of.path.clone())
    });
    results
}

/// The groups of `results`, which are in the order of time. A result whose designs disagree is left
/// out.
pub(crate) fn groups(results: &[Shown]) -> Vec<Group<'_>> {
    let runs = results.iter().enumerate().filter_map(|(index, shown)| {
        let run = shown.run().filter(|_| shown.is_sound())?;
        let databases = run.databases.iter().map(|database| &database.workload);
        let works = [&run.workload].into_iter().chain(databases);
        let digests: Vec<&str> = works.map(|work| work.digest.as_str()).collect();
        Some(((digests, machine(&run.environment)), index, run))
    });
    let groups = facts::grouped(runs, |(a, ..), (b, ..)| a == b).into_iter();
    let groups = groups.map(|mut runs| {
        let points = runs.iter().flat_map(|(_, index, run)| points(*index, run));
        let series = facts::grouped(points, |a, b| a.cell.variant == b.cell.variant).into_iter();
        let series = series.map(|points| Series { points, changes: Vec::new() }).collect();
        let results = runs.iter().map(|(_, index, _)| *index).collect();
        let ((digests, machine), _, first) = runs.swap_remove(0);
        Group { workload: &first.workload, digests, machine, results, series }
    });
    let mut groups: Vec<_> = groups.collect();
    find_changes(&mut groups);
    groups
}

/// The cells of a result that have a time.
fn points(result: usize, run: &RunResult) -> impl Iterator<Item = Point<'_>> {
    run.cells.iter().enumerate().filter_map(move |(cell_index, cell)| {
        Some(Point { result, cell_index, run, cell, ms: facts::time_ms(cell)? })
    })
}

/// Finds the changes of all series. The false alarm rate holds for all series together, so each
/// series gets an equal part of it (Bonferroni).
fn find_changes(groups: &mut [Group<'_>]) {
    let rate = FALSE_ALARM_RATE / judged_count(groups).max(1) as f64;
    for series in groups.iter_mut().flat_map(|group| &mut group.series) {
        let logs: Vec<f64> = series.points.iter().map(|point| point.ms.ln()).collect();
        let found = stats::change_points(&logs, rate);
        let levels = levels(found.iter().map(|change| change.index), logs.len());
        let levels: Vec<f64> = levels.filter_map(|level| stats::median(&logs[level])).collect();
        let changes = found.iter().zip(levels.windows(2)).map(|(change, levels)| Change {
            at: change.index,
            ratio: (levels[1] - levels[0]).exp(),
            p: change.p,
            facts: changed_facts(&series.points[change.index - 1..=change.index]),
        });
        series.changes = changes.collect();
    }
}

/// Number of series that are long enough to have a change.
pub(crate) fn judged_count(groups: &[Group<'_>]) -> usize {
    let all = groups.iter().flat_map(|group| &group.series);
    all.filter(|series| series.points.len() >= 2 * LEVEL_COUNT_MIN).count()
}

impl Group<'_> {
    /// Number of databases behind each figure; 0 for runs on one database.
    pub(crate) fn database_count(&self) -> usize {
        self.digests.len() - 1
    }
}

impl<'a> Series<'a> {
    /// A cell of the variant: that of the first result.
    pub(crate) fn cell(&self) -> &'a Cell {
        self.points[0].cell
    }

    /// Ranges of the indices of each level's points.
    pub(crate) fn levels(&self) -> Vec<Range<usize>> {
        levels(self.changes.iter().map(|change| change.at), self.points.len()).collect()
    }
}

/// The ranges between `changes`, of `count` points.
fn levels(
    changes: impl Iterator<Item = usize> + Clone,
    count: usize,
) -> impl Iterator<Item = Range<usize>> {
    let starts = [0].into_iter().chain(changes.clone());
    starts.zip(changes.chain([count])).map(|(start, end)| start..end)
}

/// The commit of a result, short.
pub(crate) fn commit(run: &RunResult) -> String {
    let Some(commit) = &run.tool.program.commit else { return UNKNOWN.to_owned() };
    let (hash, dirty) = match commit.strip_suffix("-dirty") {
        Some(hash) => (hash, "+"),
        None => (commit.as_str(), ""),
    };
    hash.chars().take(COMMIT_CHARS).chain(dirty.chars()).collect()
}

/// Facts that differ between two results, except the commit: `stores.rocksdb.checksums: verify →
/// skip`.
fn changed_facts(results: &[Point<'_>]) -> Vec<String> {
    let runs: Vec<&RunResult> = results.iter().map(|point| point.run).collect();
    let mut others = compare::changed_facts(&runs);
    others.retain(|change| !FACTS_OF_COMMIT.contains(&change.key.as_str()));
    let shown = others.iter().take(SHOWN_FACT_COUNT).map(|change| {
        let values = change.values.iter().map(units::json_text);
        let values = values.map(|value| value.unwrap_or_else(|| "null".to_owned()));
        format!("{}: {}", change.key, units::joined(values, " → "))
    });
    let more = units::beyond(others.len(), SHOWN_FACT_COUNT);
    shown.chain(more.map(|more| format!("and {more} more (stress compare)"))).collect()
}

/// Name of the machine, from the facts that distinguish machines: `Example CPU, 2 CPUs, 24 GiB,
/// KVM, ext4 on QEMU disk`. Kernel and compiler are left out, since they may cause a change.
fn machine(environment: &Environment) -> String {
    let Environment { cpu, cgroup, memory, host, data_dir, .. } = environment;
    let mut parts = vec![
        cpu.model.clone().unwrap_or_else(|| format!("unknown {} CPU", host.architecture)),
        cpu.allowed_count.map_or(UNKNOWN.to_owned(), |count| units::things(count, "CPU")),
    ];
    if let Some(Limit::At(limit)) = cgroup.cpu_limit_millicpus {
        parts.push(format!("at most {:.1} CPUs", limit as f64 / 1e3));
    }
    // The kernel reserves a little of the memory, and not always the same amount: whole GiB hide
    // that.
    let memory = memory.total_bytes.map(|bytes| (bytes as f64 / f64::from(1 << 30)).round());
    parts.push(memory.map_or(UNKNOWN.to_owned(), |gib| format!("{gib} GiB")));
    parts.extend(host.virtualisation.product.clone());
    let file_system = data_dir.file_system.as_deref().unwrap_or(UNKNOWN);
    let disk = data_dir.model.as_ref().or(data_dir.device.as_ref()).or(data_dir.source.as_ref());
    parts.push(match disk {
        Some(disk) => format!("{file_system} on {disk}"),
        None => file_system.to_owned(),
    });
    parts.join(", ")
}

#[cfg(test)]
pub(crate) mod tests {
    use result::{Stored, example};

    use super::*;

    /// Results of one work, a day apart: the times of the example, multiplied by `factors`.
    pub(crate) fn results(factors: &[f64]) -> Vec<Shown> {
        let result = |(day, factor): (u64, &f64)| {
            let mut run = example::sampled(8);
            run.started_unix_s += day * 86_400;
            run.tool.program.commit = Some(format!("{:x}{:032}", 0xc0ff_ee00_u64 + day, 0));
            for cell in &mut run.cells {
                let time = &mut cell.ms_per_batch;
                time.median = time.median.map(|ms| ms * factor);
                time.ci95 = time.ci95.map(|ends| ends.map(|ms| ms * factor));
            }
            Shown::from(Stored::new(format!("{day}.json").into(), run))
        };
        (0..).zip(factors).map(result).collect()
    }

    /// 1 with a few per mille of noise, and times `factor` from `from` on.
    pub(crate) fn step(count: usize, from: usize, factor: f64) -> Vec<f64> {
        let noise = |index: usize| 1.0 + ((index * 7_919) % 101) as f64 / 2e4;
        let of = |index: usize| noise(index) * if index < from { 1.0 } else { factor };
        (0..count).map(of).collect()
    }

    #[test]
    fn a_planted_step_is_found_in_every_series_at_its_result_and_of_its_size() {
        let results = sorted_by_time(results(&step(30, 17, 1.25)));
        let groups = groups(&results);
        assert_eq!(groups.len(), 1);
        assert_eq!(groups[0].series.len(), 5);
        for series in &groups[0].series {
            let [change] = series.changes.as_slice() else { panic!("{:?}", series.changes) };
            assert_eq!((change.at, series.points[change.at].result), (17, 17));
            assert!((change.ratio - 1.25).abs() < 0.01, "{change:?}");
            assert!(change.p <= FALSE_ALARM_RATE / 5.0 && change.facts.is_empty(), "{change:?}");
            assert_eq!(series.levels(), [0..17, 17..30]);
        }
        let [first, ..] = groups[0].series.as_slice() else { panic!("no series") };
        assert_eq!(commit(first.points[17].run), "c0ffee1100");
    }

    #[test]
    fn a_constant_time_has_no_change_and_few_results_have_none() {
        for results in [results(&step(40, 0, 1.0)), results(&step(7, 3, 9.0)), results(&[])] {
            let groups = groups(&results);
            assert!(groups.iter().flat_map(|g| &g.series).all(|series| series.changes.is_empty()));
        }
    }

    #[test]
    fn the_order_in_which_results_are_named_is_of_no_matter() {
        let sorted = sorted_by_time(results(&step(24, 9, 0.8)));
        let mut turned = results(&step(24, 9, 0.8));
        turned.reverse();
        turned.swap(3, 11);
        assert_eq!(sorted_by_time(turned), sorted);
        // Results of one second sort by their paths.
        let mut at_once = results(&[1.0, 2.0, 3.0]);
        for shown in &mut at_once {
            let result::Content::Run(run) = &mut shown.content else { panic!("a run") };
            (run.started_unix_s, run.tool.program.commit) = (7, None);
        }
        let sorted = sorted_by_time(at_once.clone());
        at_once.reverse();
        assert_eq!(sorted_by_time(at_once), sorted);
    }

    #[test]
    fn other_work_another_machine_and_results_that_disagree_are_in_no_series_together() {
        let mut results = results(&step(12, 6, 2.0));
        for (index, shown) in results.iter_mut().enumerate() {
            let result::Content::Run(run) = &mut shown.content else { panic!("a run") };
            match index % 4 {
                1 => run.workload.digest = "other".to_owned(),
                2 => run.environment.cpu.model = Some("Other CPU".to_owned()),
                3 => run.agree = Some(false),
                _ => {}
            }
        }
        let groups = groups(&results);
        let of_group: Vec<_> = groups.iter().map(|group| group.results.as_slice()).collect();
        assert_eq!(of_group, [[0, 4, 8], [1, 5, 9], [2, 6, 10]]);
        assert!(groups[2].machine.starts_with("Other CPU, 2 CPUs, "), "{}", groups[2].machine);
    }

    #[test]
    fn a_setting_that_changed_with_the_time_is_told() {
        let mut results = results(&step(20, 10, 1.5));
        for shown in &mut results[10..] {
            let result::Content::Run(run) = &mut shown.content else { panic!("a run") };
            run.environment.host.kernel = Some("7.0".to_owned());
            run.stores[0].facts.insert("block_cache_bytes".to_owned(), 7.into());
        }
        let groups = groups(&results);
        let facts = &groups[0].series[0].changes[0].facts;
        assert_eq!(
            facts.as_slice(),
            ["environment.host.kernel: 6.12.0 → 7.0", "stores.rocksdb.block_cache_bytes: 0 → 7"]
        );
    }
}
