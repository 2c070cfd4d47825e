//! `[run.rocksdb]`: how the `RocksDB` store lays out its files and opens them. The keys of this
//! TOML table are no work keys: a state has the same rows in files of every form.

use crate::fault::{Fault, Remedy, shown};
use crate::fields::{Fields, Range};
use crate::keys::{Entry, float, narrowed, quoted};
use crate::quantity::{self, grouped, underscored};
use variant::{Compaction, FileAccess, FilterKind, IndexShape};

/// The path of the table.
pub(crate) const PATH: &str = "run.rocksdb";

/// Keys of the table.
pub(crate) fn keys() -> Vec<&'static str> {
    RocksdbSpec::default().entries().into_iter().map(|(key, _)| key).collect()
}

const FILTER_BITS: Range = Range {
    least: 1,
    most: 64,
    below: "the smallest filter; filter = \"none\" has none",
    above: "more than any filter gains from",
};
const MULTI_GET_KEYS: Range = Range {
    least: 2,
    most: 65_536,
    below: "the fewest keys of a MultiGet; run.read = \"get\" reads one by one",
    above: "the most keys of a MultiGet here",
};
const OPEN_FILES: Range = Range::supported(20, 1_000_000, "the fewest that RocksDB works with");

/// Options of RocksDB that the key `options` refuses, each with the reason or the key to use
/// instead.
const REFUSED: [(&str, &str); 13] = [
    (
        "block_based_table_factory",
        "tables are shaped by block, filter and index, and cached by block_cache",
    ),
    ("table_factory", "tables are shaped by block, filter and index, and cached by block_cache"),
    ("max_open_files", "it has a key: open_files"),
    ("disable_auto_compactions", "it has a key: compaction"),
    (
        "max_background_flushes",
        "max_background_jobs sets the threads of flushes and of compactions; write that",
    ),
    (
        "max_background_compactions",
        "max_background_jobs sets the threads of flushes and of compactions; write that",
    ),
    ("write_buffer_size", "it has a key: write_buffer"),
    ("use_direct_reads", "it has a key: access"),
    (
        "allow_mmap_reads",
        "reads of a mapped file cannot be counted; access is the key for the way of reading",
    ),
    ("wal_dir", "a sample has a directory of its own, which is removed after it"),
    ("db_log_dir", "a sample has a directory of its own, which is removed after it"),
    ("db_paths", "a sample has a directory of its own, which is removed after it"),
    ("cf_paths", "a sample has a directory of its own, which is removed after it"),
];

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;

/// Bounds of a size, and the reasons for them.
struct SizeBounds {
    least: u64,
    most: u64,
    why: &'static str,
    example: &'static str,
}

const BLOCK: SizeBounds = SizeBounds {
    least: KIB,
    most: MIB,
    why: "a block holds some rows, and is read whole for one of them",
    example: "4KiB",
};
const FILE: SizeBounds = SizeBounds {
    least: MIB,
    most: TIB,
    why: "a state has a few large files, or one if a file may be as large as the state",
    example: "768MiB",
};
const CACHE: SizeBounds = SizeBounds {
    least: MIB,
    most: TIB,
    why: "less cannot hold the blocks that many threads read at once",
    example: "256MiB",
};

const WRITE_BUFFER: SizeBounds = SizeBounds {
    least: 64 * KIB,
    most: TIB,
    why: "RocksDB takes no smaller one, and each table has one in memory",
    example: "64MiB",
};

/// File layout of the `RocksDB` store, and how it opens the files.
#[derive(Debug, Clone, PartialEq)]
pub struct RocksdbSpec {
    /// Size of a data block in bytes; blocks are aligned to pages if it is a power of two.
    pub block_bytes: u64,
    /// The filter of a file.
    pub filter: FilterKind,
    /// Number of bits of the filter for each key; without meaning if there is no filter.
    pub filter_bits: u32,
    /// Place of the index and the filters.
    pub index: IndexShape,
    /// Approximate largest size of a file, in bytes.
    pub file_bytes: u64,
    /// Share of all accounts and slots, 0 to 1, that is written again after the state is loaded.
    pub aged_share: f64,
    /// Size in bytes of the block cache of a cold sample, which begins empty.
    pub block_cache_bytes: u64,
    /// Size in bytes of the block cache that warm samples share.
    pub warm_cache_bytes: u64,
    /// Whether reads use the kernel's page cache or bypass it.
    pub access: FileAccess,
    /// Number of keys in a call of `run.read = "multi-get"`.
    pub multi_get_key_count: u32,
    /// Maximum number of files that are kept open; `None`: all files.
    pub open_file_count: Option<u32>,
    /// Whether files are compacted while a sample's clock runs.
    pub compaction: Compaction,
    /// Size in bytes at which a write buffer is flushed; `None`: [`Self::write_buffer_bytes`]
    /// chooses.
    pub write_buffer: Option<u64>,
    /// Options of RocksDB that have no key here, `name=value;name=value`; empty for none.
    pub options: String,
}

impl Default for RocksdbSpec {
    fn default() -> Self {
        Self {
            block_bytes: 4 * KIB,
            filter: FilterKind::Bloom,
            filter_bits: 10,
            index: IndexShape::Whole,
            file_bytes: 768 * MIB,
            aged_share: 0.0,
            block_cache_bytes: 256 * MIB,
            warm_cache_bytes: 4 * GIB,
            access: FileAccess::Direct,
            multi_get_key_count: 1_024,
            open_file_count: None,
            compaction: Compaction::Off,
            write_buffer: None,
            options: String::new(),
        }
    }
}

impl RocksdbSpec {
    /// Returns the size in bytes at which a write buffer is flushed: the scenario's size, or a
    /// default. Without compactions the default is so large that no flush disturbs a sample. With
    /// compactions it is the default of RocksDB.
    pub fn write_buffer_bytes(&self) -> u64 {
        self.write_buffer.unwrap_or(match self.compaction {
            Compaction::Off => 512 * MIB,
            Compaction::On => 64 * MIB,
        })
    }

    /// The table's keys with their values as TOML, or with the meaning of leaving them out.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let bits = match self.filter {
            FilterKind::Nothing => Err("none without a filter"),
            _ => Ok(self.filter_bits.to_string()),
        };
        let open_files = self.open_file_count.map(u64::from).map(underscored);
        let options = Some(&self.options).filter(|text| !text.is_empty());
        vec![
            ("block", Ok(quoted_size(self.block_bytes))),
            ("filter", Ok(quoted(self.filter.name()))),
            ("filter_bits", bits),
            ("index", Ok(quoted(self.index.name()))),
            ("file", Ok(quoted_size(self.file_bytes))),
            ("aged", Ok(float(self.aged_share))),
            ("block_cache", Ok(quoted_size(self.block_cache_bytes))),
            ("warm_cache", Ok(quoted_size(self.warm_cache_bytes))),
            ("access", Ok(quoted(self.access.name()))),
            ("multi_get_keys", Ok(self.multi_get_key_count.to_string())),
            ("open_files", open_files.ok_or("all")),
            ("compaction", Ok(quoted(self.compaction.name()))),
            (
                "write_buffer",
                self.write_buffer.map(quoted_size).ok_or("512 MiB; 64 MiB with compaction"),
            ),
            ("options", options.map(|text| quoted(text)).ok_or("none")),
        ]
    }
}

/// Reads the table, with the default of each missing key.
pub(crate) fn read(fields: &Fields<'_>) -> Result<RocksdbSpec, Fault> {
    let default = RocksdbSpec::default();
    let filter = fields.named("filter")?.unwrap_or(default.filter);
    let filter_bits = fields.count("filter_bits", &FILTER_BITS)?;
    if filter == FilterKind::Nothing && filter_bits.is_some() {
        let remedy = Remedy::advice("leave filter_bits out, or name a filter");
        return Err(fields.refusal("filter_bits", "there are no bits without a filter", remedy));
    }
    let aged_share = aged(fields)?.unwrap_or(default.aged_share);
    let compaction = fields.named("compaction")?.unwrap_or(default.compaction);
    if compaction == Compaction::On && aged_share > 0.0 {
        let rule = format!(
            "files of an aged state (aged = {aged_share}) are due for compaction before the first \
             block, and the clock would pay for them"
        );
        let remedy = Remedy::advice("leave aged out, or compaction");
        return Err(fields.refusal("compaction", rule, remedy));
    }
    Ok(RocksdbSpec {
        block_bytes: size(fields, "block", &BLOCK)?.unwrap_or(default.block_bytes),
        filter,
        filter_bits: filter_bits.map_or(default.filter_bits, narrowed),
        index: fields.named("index")?.unwrap_or(default.index),
        file_bytes: size(fields, "file", &FILE)?.unwrap_or(default.file_bytes),
        aged_share,
        block_cache_bytes: size(fields, "block_cache", &CACHE)?
            .unwrap_or(default.block_cache_bytes),
        warm_cache_bytes: size(fields, "warm_cache", &CACHE)?.unwrap_or(default.warm_cache_bytes),
        access: fields.named("access")?.unwrap_or(default.access),
        multi_get_key_count: fields
            .count("multi_get_keys", &MULTI_GET_KEYS)?
            .map_or(default.multi_get_key_count, narrowed),
        open_file_count: fields.count("open_files", &OPEN_FILES)?.map(narrowed),
        compaction,
        write_buffer: size(fields, "write_buffer", &WRITE_BUFFER)?,
        options: options(fields)?,
    })
}

fn quoted_size(bytes: u64) -> String {
    quoted(&quantity::size(bytes))
}

/// Reads options in RocksDB's own format. RocksDB alone knows which options exist.
fn options(fields: &Fields<'_>) -> Result<String, Fault> {
    const EXAMPLE: &str = "max_background_jobs=1;advise_random_on_open=false";
    let text = fields.text("options")?.unwrap_or_default().trim();
    let example = format!("write names and values as in \"{EXAMPLE}\"");
    let fault =
        |rule: String, advice: &str| fields.refusal("options", rule, Remedy::advice(advice));
    let is_invalid = |c: &char| !(c.is_ascii_graphic() || *c == ' ') || matches!(c, '"' | '\\');
    if let Some(c) = text.chars().find(is_invalid) {
        return Err(fault(format!("{} is in no option", shown(&c.to_string())), &example));
    }
    for pair in pairs(text) {
        let Some((name, _)) = pair.split_once('=') else {
            return Err(fault(format!("{pair} has no value"), &example));
        };
        if let Some((name, reason)) = REFUSED.iter().find(|(refused, _)| *refused == name.trim()) {
            return Err(fault(format!("{name} is not set here"), reason));
        }
    }
    Ok(text.to_owned())
}

/// The options of a text, separated by semicolons. Semicolons in braces belong to the value of one
/// option.
fn pairs(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_u32;
    let pairs = text.split(move |c: char| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ';' && depth == 0
    });
    pairs.map(str::trim).filter(|pair| !pair.is_empty())
}

/// Reads a size within its bounds; `None` for a missing key.
fn size(fields: &Fields<'_>, key: &str, sizes: &SizeBounds) -> Result<Option<u64>, Fault> {
    let Some(bytes) = fields.bytes(key)? else { return Ok(None) };
    if (sizes.least..=sizes.most).contains(&bytes) {
        return Ok(Some(bytes));
    }
    let rule = format!(
        "{} bytes are not from {} to {}: {}",
        grouped(bytes),
        grouped(sizes.least),
        grouped(sizes.most),
        sizes.why
    );
    Err(fields.refusal(key, rule, Remedy::text(sizes.example).and("the default")))
}

/// Reads `aged`, a share in whole millionths. Finer shares would give different names to equal
/// states.
fn aged(fields: &Fields<'_>) -> Result<Option<f64>, Fault> {
    let Some(share) = fields.share("aged")? else { return Ok(None) };
    let millionths = (share * 1e6).round();
    if (share * 1e6 - millionths).abs() < 1e-6 {
        return Ok(Some(millionths / 1e6));
    }
    let rule = format!("{share} is finer than a millionth; rows are aged by the millionth");
    let remedy = Remedy::advice("write at most six decimals, such as 0.1");
    Err(fields.refusal("aged", rule, remedy))
}
