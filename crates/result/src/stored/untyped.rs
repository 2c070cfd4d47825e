//! Results as JSON, for pages that are not yet made of typed results.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{
    run::RunSchema,
    sweep::{CELL_FILE, CELL_SCHEMA, Keys},
};

/// What a run writes.
const SCHEMA: &str = RunSchema::NAME;

/// Most bytes of a result file: far more than a run of a thousand cells writes.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// What a gate writes.
const GATE_SCHEMA: &str = "stress.gate/1";
/// What a sweep joins its results into.
const MERGED_SCHEMA: &str = "stress.sweep-merged/1";
/// Where a sweep has the cells that are not whole.
const UNFINISHED: &str = "running";
/// How far below a directory results are looked for.
const MAX_DEPTH: usize = 4;
/// The schema stands first in a result.
const HEAD_BYTES: u64 = 200;

/// A result from a file, as JSON.
#[derive(Clone, Debug)]
pub struct Untyped {
    /// Where it was found.
    pub path: PathBuf,
    /// The result.
    pub json: Value,
    /// The keys of the sweep that it is a cell of, with the cell's values; none where it is no
    /// sweep's, or was not read to be shown beside others.
    swept: Keys,
}

impl Untyped {
    /// A result that is there already.
    pub const fn new(path: PathBuf, json: Value) -> Self {
        Self { path, json, swept: Keys::new() }
    }

    /// The same as a cell of a sweep.
    pub fn with_swept(self, swept: Keys) -> Self {
        Self { swept, ..self }
    }

    /// Its value of each key that was swept.
    pub const fn swept(&self) -> &Keys {
        &self.swept
    }

    /// Reads a result, or the `result.json` of a directory that `--out` wrote.
    ///
    /// # Errors
    /// What cannot be read, is no JSON, or has another schema.
    pub fn read(path: &Path) -> Result<Self> {
        let path = if path.is_dir() { path.join("result.json") } else { path.to_owned() };
        let Self { path, json, .. } = Self::parse(&path)?;
        Self::checked(path, json)
    }

    fn parse(path: &Path) -> Result<Self> {
        let name = path.display();
        let size = fs::metadata(path).with_context(|| format!("cannot read {name}"))?.len();
        if size > MAX_FILE_BYTES {
            bail!("{name} has {size} bytes; a result has at most {MAX_FILE_BYTES}");
        }
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
        let json: Value = serde_json::from_str(&text).with_context(|| {
            format!("{name} is no whole JSON, so it is no result; run `stress --out DIR` again")
        })?;
        Ok(Self::new(path.to_owned(), json))
    }

    fn checked(path: PathBuf, json: Value) -> Result<Self> {
        let name = path.display();
        match json["schema"].as_str() {
            Some(SCHEMA) => Ok(Self::new(path, json)),
            Some(other) => bail!(
                "{name} has the schema {other}, and this stress reads {SCHEMA}; use the stress \
                 that wrote it, or run again"
            ),
            None => bail!("{name} is no result of stress: it has no `schema`; wanted is {SCHEMA}"),
        }
    }

    /// Reads a result, also one of a gate, or those that a sweep has joined; the `result.json` of a
    /// directory, or, where a directory has none, all results in it and below it, by their names.
    ///
    /// # Errors
    /// As [`Self::read`], or a directory without a result. Files of other schemas in a directory
    /// are left out; one that is cut short is not.
    pub fn read_all(path: &Path) -> Result<Vec<Self>> {
        if path.is_dir() && path.join("result.json").exists() {
            return Ok(vec![Self::read(path)?.with_swept(swept_beside(path))]);
        }
        if !path.is_dir() {
            let Self { path, json, .. } = Self::parse(path)?;
            return match json["schema"].as_str() {
                Some(GATE_SCHEMA) => Ok(vec![Self::new(path, json)]),
                Some(MERGED_SCHEMA) => Self::of_merged(&path, &json),
                _ => Ok(vec![Self::checked(path, json)?]),
            };
        }
        let mut files = Vec::new();
        json_files(path, 0, &mut files)?;
        files.sort();
        let mut results = Vec::new();
        for file in files {
            if is_result(&file)? {
                let dir = file.parent().unwrap_or(path);
                results.push(Self::read(&file)?.with_swept(swept_beside(dir)));
            }
        }
        if results.is_empty() {
            bail!("{} holds no result of stress ({SCHEMA})", path.display());
        }
        Ok(results)
    }

    /// The results that a sweep has joined into one file.
    fn of_merged(path: &Path, merged: &Value) -> Result<Vec<Self>> {
        let cells = merged["cells"].as_array().into_iter().flatten();
        let all = cells.map(|cell| {
            let name = format!("{}, cell {}", path.display(), cell["index"]);
            let result = Self::checked(PathBuf::from(name), cell["result"].clone())?;
            Ok(result.with_swept(keys_of(&cell["keys"])))
        });
        let all: Vec<Self> = all.collect::<Result<_>>()?;
        if all.is_empty() {
            bail!("{} is of a sweep without a result", path.display());
        }
        Ok(all)
    }

    /// Whether its designs agree in every sample, so that its figures may be shown.
    pub fn is_sound(&self) -> bool {
        let samples = self.cells().iter().filter_map(|cell| cell["samples"].as_array()).flatten();
        self.agrees() == Some(true) && samples.into_iter().all(|sample| sample["agree"] == true)
    }

    /// Whether its variants reached the reference's outcome; `None` where nothing was compared.
    pub fn agrees(&self) -> Option<bool> {
        self.json["agree"].as_bool()
    }

    /// Text at a path such as `/workload/digest`.
    pub fn text(&self, pointer: &str) -> Option<&str> {
        self.json.pointer(pointer)?.as_str()
    }

    /// The databases of a run on several; none of a run on one.
    pub fn databases(&self) -> &[Value] {
        self.json["databases"].as_array().map_or(&[], Vec::as_slice)
    }

    /// Its cells.
    pub fn cells(&self) -> &[Value] {
        self.json["cells"].as_array().map_or(&[], Vec::as_slice)
    }

    /// The cell of this name.
    pub fn cell(&self, variant: &str) -> Option<&Value> {
        self.cells().iter().find(|cell| cell["variant"] == variant)
    }
}

/// What a sweep says beside a cell's result, in the same directory; nothing where there is no such
/// file: a result is shown all the same.
fn swept_beside(dir: &Path) -> Keys {
    let text = fs::read_to_string(dir.join(CELL_FILE)).unwrap_or_default();
    let json: Value = serde_json::from_str(&text).unwrap_or_default();
    if json["schema"] == CELL_SCHEMA { keys_of(&json["keys"]) } else { Keys::new() }
}

fn keys_of(keys: &Value) -> Keys {
    let keys = keys.as_object().into_iter().flatten();
    keys.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

/// The samples of a cell on one database.
#[derive(Clone, Copy, Debug)]
pub struct OfDatabase<'a> {
    /// The database's seed; `None` of a run on one.
    pub seed: Option<u64>,
    /// The samples, in the order in which they were taken.
    pub samples: &'a [Value],
    /// The exact figures of each of them.
    pub counters: &'a Value,
    /// How many of the first are a warm-up.
    warm_up_count: usize,
}

impl<'a> OfDatabase<'a> {
    /// ` on database 7` where there are several, by their seeds.
    pub fn words(&self) -> String {
        self.seed.map_or_else(String::new, |seed| format!(" on database {seed}"))
    }

    /// The samples that count.
    pub fn counted(&self) -> &'a [Value] {
        self.samples.get(self.warm_up_count..).unwrap_or_default()
    }
}

/// The samples of a cell by database; of a run on one all of them.
pub fn by_database(cell: &Value) -> Vec<OfDatabase<'_>> {
    let mut rest = cell["samples"].as_array().map_or(&[][..], Vec::as_slice);
    let count = |value: &Value| value.as_u64().map_or(0, |n| usize::try_from(n).unwrap_or(0));
    let Some(each) = cell["databases"]["each"].as_array() else {
        let warm_up_count = count(&cell["warm_up_sample_count"]);
        let counters = &cell["counters"];
        return vec![OfDatabase { seed: None, samples: rest, counters, warm_up_count }];
    };
    let mut all = Vec::with_capacity(each.len());
    for database in each {
        let (samples, others) = rest.split_at(count(&database["sample_count"]).min(rest.len()));
        rest = others;
        all.push(OfDatabase {
            seed: database["seed"].as_u64(),
            samples,
            counters: &database["counters"],
            warm_up_count: count(&database["warm_up_sample_count"]),
        });
    }
    all
}

/// Values that the figures of a cell are over: its samples, or the databases of a run on several.
pub fn value_count(cell: &Value) -> usize {
    let values = cell["databases"]["each"].as_array().or(cell["samples"].as_array());
    values.map_or(0, Vec::len)
}

/// Names of files below `dir` that end in `.json`.
fn json_files(dir: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    let cannot = || format!("cannot read {}", dir.display());
    for entry in fs::read_dir(dir).with_context(cannot)? {
        let entry = entry.with_context(cannot)?;
        let (path, kind) = (entry.path(), entry.file_type().with_context(cannot)?);
        if kind.is_dir() && depth < MAX_DEPTH && !path.ends_with(UNFINISHED) {
            json_files(&path, depth + 1, files)?;
        } else if path.extension().is_some_and(|ending| ending == "json") {
            files.push(path);
        }
    }
    Ok(())
}

/// Whether a file begins as a result does, or is none of another schema.
fn is_result(path: &Path) -> Result<bool> {
    let cannot = || format!("cannot read {}", path.display());
    let mut start = String::new();
    let file = fs::File::open(path).with_context(cannot)?;
    // What is not text is no result.
    if file.take(HEAD_BYTES).read_to_string(&mut start).is_err() {
        return Ok(false);
    }
    Ok(start.contains(&format!("\"{SCHEMA}\"")))
}
