//! Settings that may distinguish one row of the page from another, and where each stands in a
//! result.

use std::{cmp::Ordering, ops::RangeInclusive};

use serde_json::Value;

use result::{Cell, RunResult};
use variant::{BlockDuties, BlockDuty};

use crate::units;

/// A setting of a row. Two settings are equal if their texts are.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    /// Its text on the page.
    pub(super) text: String,
    pub(super) number: Option<f64>,
}

impl PartialEq for Setting {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Setting {
    fn text(text: &str) -> Self {
        Self { text: text.to_owned(), number: None }
    }

    /// A setting that is a count, shown with a prefix.
    fn count(count: u64) -> Self {
        Self { text: units::count(count), number: Some(count as f64) }
    }

    /// A setting that is a number, shown with every digit.
    fn exact(number: u64) -> Self {
        Self { text: number.to_string(), number: Some(number as f64) }
    }

    /// A fact of a store; `None` for null, an array or an object.
    fn from_fact(value: &Value) -> Option<Self> {
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

    /// Reads the value of a swept key, as it was given, with its unit.
    pub(super) fn swept(text: &str) -> Self {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (digits, unit) = text.split_at(end);
        let unit = UNITS.iter().find(|(name, _)| *name == unit);
        let number = digits.parse::<f64>().ok().zip(unit).map(|(number, (_, of))| number * of);
        Self { text: text.to_owned(), number }
    }

    /// Reads the value of a key that the variant's name has. Also returns the setting's index in
    /// [`SETTINGS`].
    pub(super) fn from_variant_key(key: &str, text: &str) -> Option<(usize, Self)> {
        let setting = match variant_key_index(key)? {
            THREADS | IO_THREADS => Self::count(text.parse().ok()?),
            _ => Self::text(text),
        };
        Some((variant_key_index(key)?, setting))
    }

    /// Orders numbers by size, and texts by their letters; numbers come first.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        match (self.number, other.number) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => self.text.cmp(&other.text),
        }
    }
}

/// The index in [`SETTINGS`] of a key that the variant's name has.
pub(super) fn variant_key_index(key: &str) -> Option<usize> {
    match key {
        "run.stores" => Some(STORE),
        "run.designs" => Some(DESIGN),
        "run.threads" => Some(THREADS),
        "run.io_threads" => Some(IO_THREADS),
        "run.schedule" => Some(SCHEDULE),
        _ => None,
    }
}

/// Units of values in a scenario, each with its factor. All values of one key are of one kind:
/// counts, bytes or times.
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

/// The source of a row's settings.
#[derive(Clone, Copy, Debug)]
pub(super) struct SettingSource<'a> {
    /// The result, as the page names it.
    pub(super) label: &'a str,
    pub(super) run: &'a RunResult,
    pub(super) cell: &'a Cell,
}

impl SettingSource<'_> {
    /// Finds a fact among those of the cell's store.
    fn store(&self, key: &str) -> Option<Setting> {
        let of_cell = self.run.stores.iter().find(|store| store.store == self.cell.store)?;
        Setting::from_fact(of_cell.facts.get(key)?)
    }
}

/// The block duties of a row, or `execution` for a row without such duties.
fn duties(cell: &Cell) -> String {
    match cell.duties.len() {
        0 => "execution".to_owned(),
        count if count == BlockDuty::ALL.len() => BlockDuties::all().to_string(),
        _ => cell.duties.join("+"),
    }
}

/// Finds a setting; `None` where the row does not have it.
type Find = fn(&SettingSource<'_>) -> Option<Setting>;

/// Settings that may distinguish rows, with their names on the page. `result` counts only where no
/// other setting distinguishes two rows.
pub(super) const SETTINGS: [(&str, Find); 43] = [
    ("store", |of| Some(Setting::text(of.cell.store.name()))),
    ("design", |of| Some(Setting::text(of.cell.design.name()))),
    ("threads", |of| Some(Setting::count(of.cell.threads))),
    ("I/O threads", |of| Some(Setting::count(of.cell.io_threads))),
    ("scenario", |of| Some(Setting::text(&of.run.workload.scenario))),
    ("fork", |of| Some(Setting::text(&of.run.workload.fork))),
    ("seed", |of| Some(Setting::exact(of.run.workload.seed))),
    ("gas", |of| Some(Setting::count(of.run.workload.gas))),
    ("blocks", |of| Some(Setting::count(of.run.workload.block_count))),
    ("blocks a batch", |of| Some(Setting::count(of.run.workload.blocks_per_batch))),
    ("slots", |of| Some(Setting::count(of.run.workload.state_slot_count))),
    ("accounts", |of| Some(Setting::count(of.run.workload.state_account_count))),
    ("layout", |of| Some(Setting::text(&of.run.workload.layout))),
    ("cache", |of| Some(Setting::text(of.cell.cache.want?.name()))),
    ("schedule", |of| Some(Setting::text(of.cell.schedule.name()))),
    ("fibers", |of| Some(Setting::count(of.cell.fibers))),
    ("depth per I/O thread", |of| of.cell.reads_per_reader.map(Setting::count)),
    ("prefetch time", |of| Some(Setting::text(of.cell.prefetch?.time.name()))),
    ("prefetch order", |of| Some(Setting::text(of.cell.prefetch?.order.name()))),
    ("prefetch accounts", |of| Some(Setting::text(of.cell.prefetch?.accounts.name()))),
    ("prefetch codes", |of| Some(Setting::text(of.cell.prefetch?.codes.name()))),
    ("prefetch stop", |of| Some(Setting::text(of.cell.prefetch?.stop.name()))),
    ("prefetch share", |of| Some(Setting::text(of.cell.prefetch?.share.name()))),
    ("keys a chunk", |of| of.cell.prefetch?.chunk_key_count.map(Setting::count)),
    ("root", |of| Some(Setting::text(of.cell.root.name()))),
    ("root shards", |of| Some(Setting::count(of.cell.root_way?.root_shards))),
    ("root reads", |of| Some(Setting::text(of.cell.root_way?.root_reads.name()))),
    ("root cache", |of| Some(Setting::text(of.cell.root_way?.root_cache.name()))),
    ("duties", |of| Some(Setting::text(&duties(of.cell)))),
    ("shards", |of| Some(Setting::count(of.cell.shards))),
    ("partitioner", |of| Some(Setting::text(of.cell.sharding?.partitioner.name()))),
    ("partition time", |of| Some(Setting::text(of.cell.sharding?.partition_time.name()))),
    ("keys a request", |of| Some(Setting::count(of.cell.sharding?.micro_batch_key_count))),
    ("added delay in ns", |of| Some(Setting::count(of.cell.sharding?.delay_ns))),
    ("shape", |of| of.store("shape")),
    ("reads", |of| of.store("reads")),
    ("read method", |of| of.store("read_method")),
    ("block cache", |of| of.store("block_cache_bytes")),
    ("cache fill", |of| of.store("cache_fill")),
    ("commit", |of| of.store("commit")),
    ("databases", |of| Some(Setting::exact(of.run.databases.len().max(1) as u64))),
    ("digest", |of| Some(Setting::text(&of.run.workload.digest))),
    ("result", |of| Some(Setting::text(of.label))),
];

/// Indices in [`SETTINGS`].
pub(super) const STORE: usize = 0;
pub(super) const DESIGN: usize = 1;
pub(super) const THREADS: usize = 2;
pub(super) const IO_THREADS: usize = 3;
const SCHEDULE: usize = 14;
/// Design, threads, schedule, fibers, prefetch, root, duties and shards. With the store, they
/// distinguish the variants of one result.
pub(super) const OF_VARIANT: [usize; 23] = [
    DESIGN, THREADS, IO_THREADS, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29,
    30, 31, 32, 33,
];
/// Schedule, fibers, prefetch, root, duties and shards. With the threads, they distinguish variants
/// of one design.
pub(super) const OF_DESIGN: RangeInclusive<usize> = 14..=33;
pub(super) const OF_STORE: RangeInclusive<usize> = 34..=39;
pub(super) const DIGEST: usize = 41;
pub(super) const SOURCE: usize = 42;
