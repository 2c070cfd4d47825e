//! What the page shows of the results: their cells as rows with the settings that tell them
//! apart, and numbers that remember where in a result they stand.
//!
//! A result whose designs disagree has no row: a wrong outcome is never a number.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
    ops::RangeInclusive,
};

use serde_json::Value;

use result::{
    stats,
    stored::{self, Untyped as Stored},
    sweep,
};

use crate::{compare, units};

/// A number, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figure {
    /// Place of its result among those of the page.
    pub(super) result: usize,
    /// Path in the result: `/cells/3/mgas_per_s/median`. With `*` in it: the median over what
    /// stands there, see [`Row::median`].
    pub(super) at: String,
    /// The number.
    pub(super) value: f64,
    /// The same as the result writes it.
    pub(super) text: String,
}

/// A result of the page.
#[derive(Clone, Debug)]
pub(super) struct Source<'a> {
    /// Place among the results.
    pub(super) index: usize,
    /// `A`, `B`, …
    pub(super) label: String,
    /// The result.
    pub(super) stored: &'a Stored,
    /// Whether its figures may be shown.
    pub(super) is_sound: bool,
}

impl Source<'_> {
    /// A number of the result.
    pub(super) fn figure(&self, at: &str) -> Option<Figure> {
        let number = self.stored.json.pointer(at)?;
        let value = number.as_f64().filter(|value| value.is_finite())?;
        Some(Figure { result: self.index, at: at.to_owned(), value, text: number.to_string() })
    }

    /// Texts of a list such as `/warnings`.
    pub(super) fn texts(&self, at: &str) -> Vec<&str> {
        let list = self.stored.json.pointer(at).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str).collect()
    }
}

/// A cell of a result.
#[derive(Clone, Debug)]
pub(super) struct Row<'a> {
    /// Place of its result.
    pub(super) source: usize,
    /// Place in the result's cells.
    pub(super) cell: usize,
    /// The cell.
    pub(super) json: &'a Value,
    /// Those of [`SETTINGS`], then the keys that were swept.
    settings: Vec<Option<Setting>>,
}

/// A setting of a row. Equal are those that are shown as the same.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    /// As it is shown.
    pub(super) text: String,
    /// Where it is a number.
    pub(super) number: Option<f64>,
}

impl PartialEq for Setting {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Setting {
    fn of(value: &Value) -> Option<Self> {
        let (text, number) = match value {
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
            Value::String(text) => (text.clone(), None),
            Value::Bool(is) => (is.to_string(), None),
            Value::Number(number) => {
                let count = number.as_u64().map(units::count);
                (count.unwrap_or_else(|| number.to_string()), number.as_f64())
            }
        };
        Some(Self { text, number })
    }

    /// Of a key that was swept: as it was given, with what it counts.
    fn swept(text: &str) -> Self {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (digits, unit) = text.split_at(end);
        let unit = UNITS.iter().find(|(name, _)| *name == unit);
        let number = digits.parse::<f64>().ok().zip(unit).map(|(number, (_, of))| number * of);
        Self { text: text.to_owned(), number }
    }

    /// Numbers by size, before texts by their letters.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        match (self.number, other.number) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => self.text.cmp(&other.text),
        }
    }
}

/// Units of a scenario's values; of one key all are of one kind.
const UNITS: [(&str, f64); 13] = [
    ("", 1.0),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("B", 1.0),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3_600.0),
];

/// Where a setting is found.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// In the result.
    Result(&'static str),
    /// In the result, a number of which every digit counts.
    Exact(&'static str),
    /// In the cell.
    Cell(&'static str),
    /// Among the facts of the cell's store.
    Store(&'static str),
    /// Databases that the result is over.
    Databases,
    /// The result itself.
    Source,
}

/// What may tell one row from another, as the page names it. `result` counts only where nothing
/// else does.
const SETTINGS: [(&str, Place); 32] = [
    ("store", Place::Cell("/store")),
    ("design", Place::Cell("/design")),
    ("threads", Place::Cell("/threads")),
    ("I/O threads", Place::Cell("/io_threads")),
    ("scenario", Place::Result("/workload/scenario")),
    ("fork", Place::Result("/workload/fork")),
    ("seed", Place::Exact("/workload/seed")),
    ("gas", Place::Result("/workload/gas")),
    ("blocks", Place::Result("/workload/block_count")),
    ("blocks a batch", Place::Result("/workload/blocks_per_batch")),
    ("slots", Place::Result("/workload/state_slot_count")),
    ("accounts", Place::Result("/workload/state_account_count")),
    ("layout", Place::Result("/workload/layout")),
    ("cache", Place::Cell("/cache/want")),
    ("schedule", Place::Cell("/schedule")),
    ("reads a reader", Place::Cell("/reads_per_reader")),
    ("prefetch time", Place::Cell("/prefetch/time")),
    ("prefetch order", Place::Cell("/prefetch/order")),
    ("prefetch accounts", Place::Cell("/prefetch/accounts")),
    ("prefetch codes", Place::Cell("/prefetch/codes")),
    ("prefetch stop", Place::Cell("/prefetch/stop")),
    ("prefetch share", Place::Cell("/prefetch/share")),
    ("keys a chunk", Place::Cell("/prefetch/chunk_key_count")),
    ("shape", Place::Store("shape")),
    ("reads", Place::Store("reads")),
    ("read method", Place::Store("read_method")),
    ("block cache", Place::Store("block_cache_bytes")),
    ("cache fill", Place::Store("cache_fill")),
    ("commit", Place::Store("commit")),
    ("databases", Place::Databases),
    ("digest", Place::Result("/workload/digest")),
    ("result", Place::Source),
];

/// Places in [`SETTINGS`].
pub(super) const STORE: usize = 0;
pub(super) const DESIGN: usize = 1;
pub(super) const THREADS: usize = 2;
pub(super) const IO_THREADS: usize = 3;
/// Design, threads, schedule and prefetch: what tells the variants of one result apart, beside
/// the store.
pub(super) const OF_VARIANT: [usize; 12] =
    [DESIGN, THREADS, IO_THREADS, 14, 15, 16, 17, 18, 19, 20, 21, 22];
/// Schedule and prefetch: what tells variants of one design apart beside their threads.
const OF_DESIGN: RangeInclusive<usize> = 14..=22;
const DIGEST: usize = 30;
pub(super) const SOURCE: usize = 31;

impl<'a> Row<'a> {
    fn new(source: &Source<'a>, cell: usize, json: &'a Value, swept: &[String]) -> Self {
        let result = &source.stored.json;
        let store = result["stores"].as_array().into_iter().flatten();
        let facts = store.into_iter().find(|store| store["store"] == json["store"]);
        let setting = |place: Place| match place {
            Place::Result(at) => Setting::of(result.pointer(at)?),
            Place::Exact(at) => {
                let value = result.pointer(at)?;
                Some(Setting { text: value.to_string(), number: value.as_f64() })
            }
            Place::Cell(at) => Setting::of(json.pointer(at)?),
            Place::Store(key) => Setting::of(&facts?["facts"][key]),
            Place::Databases => {
                let count = source.stored.databases().len().max(1);
                Some(Setting { text: count.to_string(), number: Some(count as f64) })
            }
            Place::Source => Some(Setting { text: source.label.clone(), number: None }),
        };
        let mut settings: Vec<_> = SETTINGS.iter().map(|(_, place)| setting(*place)).collect();
        let values = swept.iter().map(|key| source.stored.swept().get(key));
        settings.extend(values.map(|value| Some(Setting::swept(value?))));
        Self { source: source.index, cell, json, settings }
    }

    /// Text of the cell, empty where there is none.
    pub(super) fn text(&self, key: &str) -> &'a str {
        self.json[key].as_str().unwrap_or_default()
    }

    /// The variant's name.
    pub(super) fn variant(&self) -> &'a str {
        self.text("variant")
    }

    /// `64`, or `2+64io`.
    pub(super) fn threads(&self) -> String {
        let count = |key: &str| self.json[key].as_u64().unwrap_or_default();
        match (count("threads"), count("io_threads")) {
            (threads, 0) => units::count(threads),
            (threads, io) => format!("{}+{}io", units::count(threads), units::count(io)),
        }
    }

    /// A number of the cell by its path below it: `mgas_per_s/median`.
    pub(super) fn figure(&self, path: &str) -> Option<Figure> {
        let number = self.json.pointer(&format!("/{path}"))?;
        let value = number.as_f64().filter(|value| value.is_finite())?;
        let at = format!("/cells/{}/{path}", self.cell);
        Some(Figure { result: self.source, at, value, text: number.to_string() })
    }

    /// Both ends of an interval.
    pub(super) fn interval(&self, path: &str) -> Option<[Figure; 2]> {
        Some([self.figure(&format!("{path}/0"))?, self.figure(&format!("{path}/1"))?])
    }

    /// The median over the samples of a number of each; without those of a warm-up, where the
    /// result says how many these are. On several databases the median of the databases' medians.
    pub(super) fn median(&self, path: &str) -> Option<Figure> {
        let at = format!("/{path}");
        let number = |sample: &Value| sample.pointer(&at)?.as_f64();
        let databases = stored::by_database(self.json);
        let sampled = databases.iter().map(stored::OfDatabase::counted).filter(|s| !s.is_empty());
        let medians = sampled.map(|samples| {
            stats::median(&samples.iter().map(number).collect::<Option<Vec<f64>>>()?)
        });
        let value = stats::median(&medians.collect::<Option<Vec<f64>>>()?)?;
        let at = format!("/cells/{}/samples/*/{path}", self.cell);
        Some(Figure { result: self.source, at, value, text: value.to_string() })
    }

    /// The setting at this place of [`SETTINGS`].
    pub(super) fn setting(&self, place: usize) -> Option<&Setting> {
        self.settings[place].as_ref()
    }
}

/// All results.
#[derive(Clone, Debug)]
pub(super) struct Report<'a> {
    pub(super) sources: Vec<Source<'a>>,
    /// Cells with a sample of sound results, in their order.
    pub(super) rows: Vec<Row<'a>>,
    /// Places of the settings that are not the same in all rows.
    pub(super) varying: Vec<usize>,
    /// Keys that all results were swept over and that no variant tells: settings, too, whose places
    /// are after those of [`SETTINGS`].
    swept: Vec<String>,
}

impl<'a> Report<'a> {
    pub(super) fn new(results: &'a [Stored]) -> Self {
        let source = |(index, stored): (usize, &'a Stored)| Source {
            index,
            label: compare::label(index),
            stored,
            is_sound: stored.is_sound(),
        };
        let sources: Vec<Source<'a>> = results.iter().enumerate().map(source).collect();
        let sound: Vec<&Stored> =
            sources.iter().filter(|source| source.is_sound).map(|source| source.stored).collect();
        let swept = swept(&sound);
        let mut rows = Vec::new();
        for source in sources.iter().filter(|source| source.is_sound) {
            let cells = source.stored.cells().iter().enumerate();
            let sampled = |cell: &Value| cell["samples"].as_array().is_some_and(|s| !s.is_empty());
            rows.extend(
                cells
                    .filter(|(_, json)| sampled(json))
                    .map(|(at, json)| Row::new(source, at, json, &swept)),
            );
        }
        let varying = varying(&rows, swept.len());
        Self { sources, rows, varying, swept }
    }

    /// Name of a setting.
    pub(super) fn setting_name(&self, place: usize) -> &str {
        match place.checked_sub(SETTINGS.len()) {
            None => SETTINGS[place].0,
            Some(place) => &self.swept[place],
        }
    }

    /// Rows that have the same settings but for those at `free`, in the order of their first. A
    /// setting that a row has not got, as a design without readers has no order of reading, sets
    /// it apart from none.
    pub(super) fn groups<'r>(
        &self,
        rows: impl IntoIterator<Item = &'r Row<'a>>,
        free: &[usize],
    ) -> Vec<Vec<&'r Row<'a>>>
    where
        'a: 'r,
    {
        let fixed: Vec<usize> =
            self.varying.iter().copied().filter(|place| !free.contains(place)).collect();
        let mut groups: Vec<Vec<&'r Row<'a>>> = Vec::new();
        for row in rows {
            let same = |group: &&mut Vec<&'r Row<'a>>| {
                fixed.iter().all(|place| is_like(group[0].setting(*place), row.setting(*place)))
            };
            match groups.iter_mut().find(same) {
                Some(group) => group.push(row),
                None => groups.push(vec![row]),
            }
        }
        groups
    }

    /// What tells a row from the others, but for the settings at `but`: `gas 64M, slots 2M`.
    pub(super) fn told_apart(&self, row: &Row<'_>, but: &[usize]) -> String {
        let places = self.varying.iter().filter(|place| !but.contains(place));
        let words = places.filter_map(|place| {
            let text = row.setting(*place)?.text.as_str();
            Some(match *place {
                STORE | DESIGN => text.to_owned(),
                DIGEST => format!("workload {}", text.chars().take(8).collect::<String>()),
                place => format!("{} {text}", self.setting_name(place)),
            })
        });
        words.collect::<Vec<_>>().join(", ")
    }

    /// What tells a row from others of its design, threads and group: schedule, way of reading.
    pub(super) fn told_apart_in_design(&self, row: &Row<'_>) -> String {
        let own = self.varying.iter().filter(|place| OF_DESIGN.contains(*place));
        let words = own.filter_map(|place| row.setting(*place).map(|setting| (*place, setting)));
        let words: Vec<_> = words
            .map(|(place, setting)| format!("{} {}", SETTINGS[place].0, setting.text))
            .collect();
        words.join(", ")
    }

    /// Places of the results that some rows are of.
    pub(super) fn results_of<'r>(&self, rows: impl IntoIterator<Item = &'r Row<'a>>) -> Vec<usize>
    where
        'a: 'r,
    {
        rows.into_iter().map(|row| row.source).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The label of a row's result, where there are several.
    pub(super) fn prefix(&self, row: &Row<'_>) -> String {
        match self.sources.len() {
            1 => String::new(),
            _ => format!("{} · ", self.sources[row.source].label),
        }
    }

    /// The fastest row of each design, in the order in which designs appear.
    pub(super) fn best_of_designs<'r>(rows: &[&'r Row<'a>]) -> Vec<&'r Row<'a>> {
        let mut best: Vec<&'r Row<'a>> = Vec::new();
        for &row in rows {
            match best.iter_mut().find(|known| known.text("design") == row.text("design")) {
                Some(known) if speed(row) > speed(known) => *known = row,
                Some(_) => {}
                None => best.push(row),
            }
        }
        best
    }
}

/// Median throughput; nothing is slower than what has none.
pub(super) fn speed(row: &Row<'_>) -> f64 {
    row.figure("mgas_per_s/median").map_or(f64::NEG_INFINITY, |figure| figure.value)
}

fn is_like(a: Option<&Setting>, b: Option<&Setting>) -> bool {
    a.zip(b).is_none_or(|(a, b)| a == b)
}

/// The keys that all of `results` were swept over and that no variant tells; none where one result
/// is no sweep's.
fn swept(results: &[&Stored]) -> Vec<String> {
    let Some((first, others)) = results.split_first() else { return Vec::new() };
    let keys = sweep::untold(first.swept()).into_keys();
    keys.filter(|key| others.iter().all(|other| other.swept().contains_key(key))).collect()
}

/// The digest says the same as the settings of the work where these differ; the result counts
/// where all else is the same. What follows from the keys that were swept says no more than these
/// do: gas, that is a little different with each value of another key, would set all rows apart.
fn varying(rows: &[Row<'_>], swept_count: usize) -> Vec<usize> {
    let differs = |place: &usize| {
        let mut known = rows.iter().filter_map(|row| row.setting(*place));
        known.next().is_some_and(|first| known.any(|other| other != first))
    };
    let swept = SETTINGS.len()..SETTINGS.len() + swept_count;
    let text = |row: &Row<'_>, place: usize| row.setting(place).map(|it| it.text.clone());
    let follows = |place: &usize| {
        let of_variant = *place == STORE || OF_VARIANT.contains(place);
        let mut known: BTreeMap<Vec<Option<String>>, Option<String>> = BTreeMap::new();
        !of_variant
            && rows.iter().all(|row| {
                let keys = swept.clone().chain([STORE]).map(|place| text(row, place)).collect();
                let own = text(row, *place);
                *known.entry(keys).or_insert_with(|| own.clone()) == own
            })
    };
    let mut places: Vec<usize> = (0..DIGEST).filter(differs).collect();
    if swept_count > 0 {
        places.retain(|place| !follows(place));
    }
    places.extend(swept.clone().filter(differs));
    for place in [DIGEST, SOURCE] {
        let key = |row: &Row<'_>| {
            let text = |place: &usize| row.setting(*place).map(|setting| setting.text.clone());
            // A variant's name has all that tells the cells of one result apart.
            let known: Vec<_> = places.iter().map(text).collect();
            (known, row.variant().to_owned())
        };
        let keys: BTreeSet<_> = rows.iter().map(key).collect();
        if keys.len() < rows.len() && differs(&place) {
            places.push(place);
        }
    }
    places
}
