//! The results as the HTML page shows them. Each cell is a row, with the settings that distinguish
//! it from other rows.
//!
//! A result whose designs disagree has no row, since a wrong outcome has no figure.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use result::{
    Cell, Environment, RunResult, SampleFacts, Shown, WorkloadFacts,
    gate::GateResult,
    stats,
    sweep::{self, Keys},
};

use super::{
    figure::{Figure, Part, figure, part},
    settings::{
        DESIGN, DIGEST, OF_DESIGN, OF_STORE, OF_VARIANT, SETTINGS, SOURCE, STORE, Setting,
        SettingSource, variant_key_index,
    },
};
use crate::{axes, compare, facts, units};

/// A result of the page.
#[derive(Clone, Debug)]
pub(super) struct Source<'a> {
    /// Index of the result among those of the page.
    pub(super) index: usize,
    /// Letter of the result on the page: `A`, `B`, …
    pub(super) label: String,
    pub(super) shown: &'a Shown,
    /// Whether its figures may be shown.
    pub(super) is_sound: bool,
}

impl<'a> Source<'a> {
    /// The result as a run; `None` for a gate.
    pub(super) fn run(&self) -> Option<Part<'a, RunResult>> {
        self.shown.run().map(|run| Part::whole(self.index, run))
    }

    /// The result as a gate; `None` for a run.
    pub(super) fn gate(&self) -> Option<Part<'a, GateResult>> {
        self.shown.gate().map(|gate| Part::whole(self.index, gate))
    }

    /// A row for each cell that has a sample. Each row has the values in `keys` of the keys in
    /// `swept`.
    fn rows(&self, swept: &[String], keys: &Keys) -> Vec<Row<'a>> {
        let Some(run) = self.run() else { return Vec::new() };
        (0..run.cells.len())
            .filter(|index| !run.cells[*index].samples.is_empty())
            .filter_map(|index| Row::new(self, part!(run, cells[index])?, swept, keys))
            .collect()
    }

    /// The rows for all cells of the sweep that have this result's figures. These are its own cell,
    /// and cells that were left out because they would be the same run. A key that changes nothing
    /// in a design, such as threads in a run in order, has the swept value in these rows.
    fn rows_in_sweep(&self, swept: &[String]) -> Vec<Row<'a>> {
        let all = [(&self.shown.swept, false)].into_iter();
        let all = all.chain(self.shown.left_out.iter().map(|keys| (keys, true)));
        let rows = all.flat_map(|(keys, is_left_out)| {
            let rows = self.rows(swept, keys).into_iter();
            rows.map(move |row| Row { is_left_out, ..row.at(keys) })
        });
        rows.collect()
    }

    /// The work; `None` for a gate that compared two files.
    pub(super) fn workload(&self) -> Option<Part<'a, WorkloadFacts>> {
        let of_run = self.run().and_then(|run| part!(run, workload));
        of_run.or_else(|| part!(self.gate()?, workload?))
    }

    pub(super) fn environment(&self) -> Option<Part<'a, Environment>> {
        let of_run = self.run().and_then(|run| part!(run, environment));
        of_run.or_else(|| part!(self.gate()?, environment))
    }
}

/// A cell of a result.
#[derive(Clone, Debug)]
pub(super) struct Row<'a> {
    /// Index of its result.
    pub(super) source: usize,
    pub(super) cell: Part<'a, Cell>,
    /// Whether the row stands for a cell of the sweep that was left out. Its figures are those of
    /// the cell that was run in its place.
    pub(super) is_left_out: bool,
    /// Values of [`SETTINGS`], then of the swept keys that no variant's name has.
    settings: Vec<Option<Setting>>,
}

impl<'a> Row<'a> {
    fn new(
        source: &Source<'a>,
        cell: Part<'a, Cell>,
        swept: &[String],
        keys: &Keys,
    ) -> Option<Self> {
        let Source { label, shown, .. } = source;
        let of = SettingSource { label, run: shown.run()?, cell: cell.value };
        let of_swept = swept.iter().map(|key| Some(Setting::swept(keys.get(key)?)));
        let settings = SETTINGS.iter().map(|(_, find)| find(&of)).chain(of_swept).collect();
        Some(Self { source: source.index, cell, is_left_out: false, settings })
    }

    /// The row with the values of a cell of the sweep, for the keys that a variant's name has.
    fn at(mut self, keys: &Keys) -> Self {
        for (key, value) in keys {
            if let Some((index, setting)) = Setting::from_variant_key(key, value) {
                self.settings[index] = Some(setting);
            }
        }
        self
    }

    pub(super) fn variant(&self) -> &'a str {
        &self.cell.value.variant
    }

    /// The row's threads: `64`, or `2+64io`.
    pub(super) fn threads(&self) -> String {
        facts::threads(self.cell.value)
    }

    /// The row's design and threads.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.cell.design, self.threads())
    }

    pub(super) fn throughput(&self) -> Option<Figure> {
        figure!(self.cell, mgas_per_s.median)
    }

    /// The median over the samples of a number at `path` in each sample. Samples of a warm-up are
    /// left out, where the result has their count. On several databases it is the median of the
    /// databases' medians.
    pub(super) fn median(
        &self,
        path: &str,
        number: impl Fn(&SampleFacts) -> Option<u64>,
    ) -> Option<Figure> {
        let counted = self.cell.counted().into_iter().filter(|samples| !samples.is_empty());
        let medians = counted.map(|samples| {
            let numbers = samples.iter().map(|sample| Some(number(sample)? as f64));
            stats::median(&numbers.collect::<Option<Vec<f64>>>()?)
        });
        let value = stats::median(&medians.collect::<Option<Vec<f64>>>()?)?;
        let at = format!("{}/samples/*/{path}", self.cell.at);
        Some(Figure { result: self.source, at, value, text: value.to_string() })
    }

    /// The setting at this index of [`SETTINGS`].
    pub(super) fn setting(&self, index: usize) -> Option<&Setting> {
        self.settings[index].as_ref()
    }

    /// The text of the setting at this index of [`SETTINGS`].
    fn text(&self, index: usize) -> Option<&str> {
        self.setting(index).map(|setting| setting.text.as_str())
    }
}

/// All results.
#[derive(Clone, Debug)]
pub(super) struct Report<'a> {
    pub(super) sources: Vec<Source<'a>>,
    /// Rows of the cells with a sample, for results whose designs agree, in the order of the
    /// results.
    pub(super) rows: Vec<Row<'a>>,
    /// The rows with the values of their cells in the sweep, and further rows for cells that were
    /// left out.
    pub(super) rows_in_sweep: Vec<Row<'a>>,
    /// Indices of the settings that distinguish rows.
    pub(super) varying: Vec<usize>,
    /// Keys that all results were swept over and that no variant's name has. They are settings,
    /// too: their indices follow those of [`SETTINGS`].
    swept: Vec<String>,
}

impl<'a> Report<'a> {
    pub(super) fn new(results: &'a [Shown]) -> Self {
        let sources = results.iter().enumerate().map(|(index, shown)| Source {
            index,
            label: compare::label(index),
            shown,
            is_sound: shown.is_sound(),
        });
        let sources: Vec<Source<'a>> = sources.collect();
        let sound: Vec<&Source<'a>> = sources.iter().filter(|source| source.is_sound).collect();
        let swept = swept(&sound);
        let rows = sound.iter().flat_map(|source| source.rows(&swept, &source.shown.swept));
        let rows: Vec<Row<'a>> = rows.collect();
        let rows_in_sweep = sound.iter().flat_map(|source| source.rows_in_sweep(&swept)).collect();
        let varying = varying(&rows, swept.len());
        Self { sources, rows, rows_in_sweep, varying, swept }
    }

    /// The runs whose figures may be shown.
    pub(super) fn sound_runs(&self) -> Vec<Part<'a, RunResult>> {
        self.sources.iter().filter(|source| source.is_sound).filter_map(Source::run).collect()
    }

    pub(super) fn ms_per(&self) -> &'static str {
        facts::ms_per(self.sources.iter().filter_map(|source| source.shown.workload()))
    }

    /// Returns whether the results are cells of one sweep.
    pub(super) fn is_sweep(&self) -> bool {
        axes::is_sweep(&self.shown())
    }

    /// The command of the sweep whose cells all results are. `None` for a single result, and where
    /// it is unknown.
    pub(super) fn sweep_command(&self) -> Option<&'a [String]> {
        let [first, others @ ..] = self.sources.as_slice() else { return None };
        let command = first.shown.sweep_command.as_slice();
        let is_one = others.iter().all(|other| other.shown.sweep_command == command);
        Some(command).filter(|_| is_one && !others.is_empty() && !command.is_empty())
    }

    pub(super) fn shown(&self) -> Vec<&'a Shown> {
        self.sources.iter().map(|source| source.shown).collect()
    }

    /// Returns whether a setting is an axis of the sweep whose cells the results are.
    pub(super) fn is_axis(&self, index: usize) -> bool {
        let mut swept = self.sources.iter().flat_map(|source| source.shown.swept.keys());
        index >= SETTINGS.len() || swept.any(|key| variant_key_index(key) == Some(index))
    }

    pub(super) fn setting_name(&self, index: usize) -> &str {
        match index.checked_sub(SETTINGS.len()) {
            None => SETTINGS[index].0,
            Some(index) => &self.swept[index],
        }
    }

    /// Groups of rows whose settings are the same, except those with an index in `free`. Groups are
    /// in the order of their first rows. A missing setting distinguishes a row from no other row: a
    /// design without readers has no prefetch order.
    pub(super) fn groups<'r>(
        &self,
        rows: impl IntoIterator<Item = &'r Row<'a>>,
        free: &[usize],
    ) -> Vec<Vec<&'r Row<'a>>>
    where
        'a: 'r,
    {
        facts::grouped(rows, |a, b| {
            let mut fixed = self.varying.iter().filter(|index| !free.contains(index));
            fixed.all(|index| a.setting(*index).zip(b.setting(*index)).is_none_or(|(a, b)| a == b))
        })
    }

    /// [`Self::groups`], each with a title that distinguishes it from the others; empty for a
    /// single group.
    pub(super) fn panels<'r>(
        &self,
        rows: impl IntoIterator<Item = &'r Row<'a>>,
        free: &[usize],
    ) -> Vec<(String, Vec<&'r Row<'a>>)>
    where
        'a: 'r,
    {
        let groups = self.groups(rows, free);
        if groups.len() == 1 {
            return groups.into_iter().map(|rows| (String::new(), rows)).collect();
        }
        let panels = groups.into_iter();
        panels.map(|rows| (self.distinguishing_settings(rows[0], free), rows)).collect()
    }

    /// The settings that distinguish a row from others, except those with an index in `but`: `gas
    /// 64M, slots 2M`.
    pub(super) fn distinguishing_settings(&self, row: &Row<'_>, but: &[usize]) -> String {
        let indices = self.varying.iter().filter(|index| !but.contains(index));
        let words = indices.filter_map(|index| {
            let text = row.setting(*index)?.text.as_str();
            Some(match *index {
                STORE | DESIGN => text.to_owned(),
                DIGEST => format!("workload {}", text.chars().take(8).collect::<String>()),
                index => format!("{} {text}", self.setting_name(index)),
            })
        });
        units::joined(words, ", ")
    }

    /// The settings that distinguish a row from others of its design, threads and group: schedule,
    /// fibers, prefetch, root, duties and shards.
    pub(super) fn distinguishing_settings_in_design(&self, row: &Row<'_>) -> String {
        let own = self.varying.iter().filter(|index| OF_DESIGN.contains(*index));
        let words = own.filter_map(|index| {
            Some(format!("{} {}", SETTINGS[*index].0, row.setting(*index)?.text))
        });
        units::joined(words, ", ")
    }

    /// Indices of the results that the rows belong to, ascending.
    pub(super) fn results_of<'r>(&self, rows: impl IntoIterator<Item = &'r Row<'a>>) -> Vec<usize>
    where
        'a: 'r,
    {
        rows.into_iter().map(|row| row.source).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The label of a row's result; empty on a page of one result.
    pub(super) fn prefix(&self, row: &Row<'_>) -> String {
        self.label(row.source, " · ")
    }

    /// The label of a result, then `behind`; empty on a page of one result.
    pub(super) fn label(&self, result: usize, behind: &str) -> String {
        match self.sources.as_slice() {
            [_] => String::new(),
            several => format!("{}{behind}", several[result].label),
        }
    }

    /// The rows with the most duties inside the clock.
    pub(super) fn most_duties<'r>(rows: &[&'r Row<'a>]) -> Vec<&'r Row<'a>> {
        let most = rows.iter().map(|row| row.cell.value.duty_count()).max();
        rows.iter().copied().filter(|row| Some(row.cell.value.duty_count()) == most).collect()
    }

    /// The fastest row of each design with each set of duties, in the order in which designs
    /// appear.
    pub(super) fn best_of_designs<'r>(rows: &[&'r Row<'a>]) -> Vec<&'r Row<'a>> {
        let designs = facts::grouped(rows.iter().copied(), |a, b| {
            a.cell.design == b.cell.design && a.cell.value.has_duties_of(b.cell.value)
        });
        let best = designs.into_iter().filter_map(|rows| {
            rows.into_iter().reduce(|best, row| if speed(row) > speed(best) { row } else { best })
        });
        best.collect()
    }
}

/// Median throughput; a row without one is slowest.
pub(super) fn speed(row: &Row<'_>) -> f64 {
    row.throughput().map_or(f64::NEG_INFINITY, |figure| figure.value)
}

/// The keys that all of `results` were swept over and that no variant's name has. Empty where a
/// result is no cell of a sweep.
fn swept(results: &[&Source<'_>]) -> Vec<String> {
    let Some((first, others)) = results.split_first() else { return Vec::new() };
    let keys = sweep::unnamed_keys(&first.shown.swept).into_keys();
    keys.filter(|key| others.iter().all(|other| other.shown.swept.contains_key(key))).collect()
}

/// Indices of the settings that distinguish rows. The digest, and after it the result's letter,
/// count only where they distinguish more rows than the settings before them. Facts that follow
/// from the swept keys are left out. Gas, for example, is a little different for each value of
/// another key, and would set all rows apart.
fn varying(rows: &[Row<'_>], swept_count: usize) -> Vec<usize> {
    let swept = SETTINGS.len()..SETTINGS.len() + swept_count;
    let mut varying: Vec<usize> = (0..DIGEST).filter(|index| differs(rows, *index)).collect();
    if swept_count > 0 {
        varying.retain(|index| !follows(rows, *index, swept.clone()));
    }
    varying.extend(swept.filter(|index| differs(rows, *index)));
    for index in [DIGEST, SOURCE] {
        let more: Vec<usize> = varying.iter().copied().chain([index]).collect();
        if distinguished_row_count(rows, &more) > distinguished_row_count(rows, &varying) {
            varying = more;
        }
    }
    varying
}

/// Returns whether rows differ in a setting that they have. For facts of a store only rows of one
/// store are compared, since the store's name already distinguishes stores.
fn differs(rows: &[Row<'_>], index: usize) -> bool {
    let is_of_store = OF_STORE.contains(&index);
    let mut firsts: BTreeMap<Option<&str>, &Setting> = BTreeMap::new();
    rows.iter().any(|row| {
        let store = row.text(STORE).filter(|_| is_of_store);
        row.setting(index).is_some_and(|own| *firsts.entry(store).or_insert(own) != own)
    })
}

/// Returns whether the swept keys and the store decide a setting that no variant's name has.
fn follows(rows: &[Row<'_>], index: usize, swept: Range<usize>) -> bool {
    let of_variant = index == STORE || OF_VARIANT.contains(&index);
    let mut known: BTreeMap<Vec<Option<&str>>, Option<&str>> = BTreeMap::new();
    !of_variant
        && rows.iter().all(|row| {
            let keys = swept.clone().chain([STORE]).map(|index| row.text(index)).collect();
            let own = row.text(index);
            *known.entry(keys).or_insert(own) == own
        })
}

/// Number of rows that settings distinguish. Within one result the variants' names already
/// distinguish all cells.
fn distinguished_row_count(rows: &[Row<'_>], settings: &[usize]) -> usize {
    let told = rows.iter().map(|row| {
        (settings.iter().map(|index| row.text(*index)).collect::<Vec<_>>(), row.variant())
    });
    told.collect::<BTreeSet<_>>().len()
}
