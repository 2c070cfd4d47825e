//! The files of `--out`: the result of a run with its histograms, or the one file of another verb.
//! Every file is written beside its place and renamed, so that programs see a whole file or none.
//! Files of other runs stay.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, UNIX_EPOCH},
};

use hdrhistogram::serialization::{
    V2DeflateSerializer,
    interval_log::{IntervalLogWriterBuilder, Tag},
};
use tempfile::NamedTempFile;

use result::{HistogramLog, LogKind, RunResult};

use crate::{
    error::Error,
    whole_file::{Existing, FileClaim, write_whole},
};

/// Divisor of the largest value in an interval log, which programs show in milliseconds.
const NS_PER_MS: f64 = 1e6;
/// Maximal number of file names that are tried.
const NAME_COUNT_MAX: u32 = 1_000;

/// A directory for the result of a run and its logs.
#[derive(Debug)]
pub struct RunDirectory(JsonFile);

impl RunDirectory {
    /// Makes the directory, and checks that files can be written to it.
    ///
    /// # Errors
    /// The directory cannot be written, or another option names its result.
    pub fn at(dir: &Path) -> Result<Self, Error> {
        JsonFile::at(dir, "result").map(Self)
    }

    /// Writes `result.json` and the logs. Where the directory holds another run's files, all
    /// names of this run carry its start: `result-1767225600.json`, then
    /// `result-1767225600-2.json`. Returns the paths, the result first.
    ///
    /// # Errors
    /// A file cannot be written; the message names it.
    pub fn write(
        &mut self,
        result: &RunResult,
        logs: &[HistogramLog],
    ) -> Result<Vec<PathBuf>, Error> {
        let json = super::json(result)?;
        let texts = log_texts(result, logs)?;
        let path = self.0.write_beside(result.started_unix_s, &json, |dir, suffix| {
            texts.keys().all(|name| !log_path(dir, name, suffix).exists())
        })?;
        let mut paths = vec![path];
        let JsonFile { dir, suffix, .. } = &self.0;
        for (name, text) in &texts {
            let path = log_path(dir, name, suffix.as_deref().unwrap_or_default());
            replace(&path, text)?;
            paths.push(path);
        }
        Ok(paths)
    }
}

fn log_path(dir: &Path, (variant, kind): &LogName, suffix: &str) -> PathBuf {
    dir.join(format!("{variant}{suffix}.{}.hlog", kind.name()))
}

/// A directory for a JSON file of one run. Writing again replaces this run's earlier file (so that
/// a run can write after each round), never another run's.
#[derive(Debug)]
pub struct JsonFile {
    dir: PathBuf,
    /// The file's name without its ending.
    stem: &'static str,
    /// Suffix of this run's file names, once it has written.
    suffix: Option<String>,
    _claim: FileClaim,
}

impl JsonFile {
    /// Makes the directory, and checks that `<stem>.json` can be written to it.
    ///
    /// # Errors
    /// The directory cannot be written, or another option names the file.
    pub fn at(dir: &Path, stem: &'static str) -> Result<Self, Error> {
        let tried = fs::create_dir_all(dir).and_then(|()| NamedTempFile::new_in(dir));
        tried.map_err(|cause| {
            Error::Other(format!("cannot write to {}, named by --out: {cause}", dir.display()))
        })?;
        let path = dir.join(format!("{stem}.json"));
        let claim = FileClaim::new(&path, &path, "--out")?;
        Ok(Self { dir: dir.to_owned(), stem, suffix: None, _claim: claim })
    }

    /// Writes `<stem>.json`, or where another run's file is there `<stem>-<start>.json`, then
    /// `<stem>-<start>-2.json`. Returns the path.
    ///
    /// # Errors
    /// The file cannot be written; the message names it.
    pub fn write(&mut self, started_unix_s: u64, text: &str) -> Result<PathBuf, Error> {
        self.write_beside(started_unix_s, text, |_, _| true)
    }

    /// Writes the file. The first call takes the first suffix that is free for this file and, by
    /// `is_free(directory, suffix)`, for the files beside it. Later calls replace the file.
    fn write_beside(
        &mut self,
        started_unix_s: u64,
        text: &str,
        is_free: impl Fn(&Path, &str) -> bool,
    ) -> Result<PathBuf, Error> {
        if let Some(suffix) = &self.suffix {
            let path = self.path(suffix);
            replace(&path, text.as_bytes())?;
            return Ok(path);
        }
        for suffix in suffixes(started_unix_s) {
            let path = self.path(&suffix);
            if !path.exists() && is_free(&self.dir, &suffix) && write_new(&path, text)? {
                self.suffix = Some(suffix);
                return Ok(path);
            }
        }
        Err(Error::Other(format!("no free name for a result in {}", self.dir.display())))
    }

    fn path(&self, suffix: &str) -> PathBuf {
        self.dir.join(format!("{}{suffix}.json", self.stem))
    }
}

/// A variant as part of a file name, and the kind of its log.
type LogName = (String, LogKind);
type Logs = BTreeMap<LogName, Vec<u8>>;

fn log_texts(result: &RunResult, logs: &[HistogramLog]) -> Result<Logs, Error> {
    let texts = logs.iter().map(|log| {
        let text = log_text(result, log).map_err(|reason| {
            Error::Other(format!("cannot write histograms of {}: {reason}", log.variant))
        })?;
        Ok(((file_name(&log.variant), log.kind), text))
    });
    texts.collect()
}

/// Encodes an HdrHistogram interval log (V2, compressed) of one interval. The interval begins with
/// the run. Its length is the sum of the cell's times after the warm-up. An error is the log
/// writer's message.
fn log_text(result: &RunResult, log: &HistogramLog) -> Result<Vec<u8>, String> {
    let cell = result.cells.iter().find(|cell| cell.variant == log.variant);
    let counted = cell.iter().flat_map(|cell| cell.counted()).flatten();
    let wall_ns = counted.map(|sample| sample.wall_ns).sum();
    let start = Duration::from_secs(result.started_unix_s);
    let what = match log.kind {
        LogKind::Transactions => "time per transaction",
        LogKind::Reads => "time per read of the store",
    };
    let mut text = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut writer = IntervalLogWriterBuilder::new()
        .add_comment(&format!("{}: {what} in nanoseconds; the maximum is in ms", log.variant))
        .add_comment(&format!("workload {}", result.workload.digest))
        .with_start_time(UNIX_EPOCH + start)
        .with_max_value_divisor(NS_PER_MS)
        .begin_log_with(&mut text, &mut serializer)
        .map_err(|error| error.to_string())?;
    let name = file_name(&log.variant);
    let interval = Duration::from_nanos(wall_ns);
    let written = writer.write_histogram(&log.histogram, start, interval, Tag::new(&name));
    written.map_err(|error| error.to_string())?;
    drop(writer);
    Ok(text)
}

/// A variant as a file name: every character but letters, digits and `.+@-` becomes `_`.
fn file_name(variant: &str) -> String {
    variant.replace(|c: char| !c.is_ascii_alphanumeric() && !".+@-".contains(c), "_")
}

/// Suffixes of a run's file names, of which the first free one is taken: none, `-<start>`,
/// `-<start>-2`, …
fn suffixes(started_unix_s: u64) -> impl Iterator<Item = String> {
    let more = (2..NAME_COUNT_MAX).map(move |n| format!("-{started_unix_s}-{n}"));
    [String::new(), format!("-{started_unix_s}")].into_iter().chain(more)
}

/// Writes a file whole, and replaces an existing file.
///
/// # Errors
/// The file cannot be written; the message names it.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    write_whole(path, bytes, Existing::Replace).map_err(Error::file(path))
}

/// Writes a file whole and returns true. Returns false for an existing file, which stays.
///
/// # Errors
/// The file cannot be written; the message names it.
pub fn write_new(path: &Path, text: &str) -> Result<bool, Error> {
    match write_whole(path, text.as_bytes(), Existing::Refuse) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        written => written.map(|()| true).map_err(Error::file(path)),
    }
}

#[cfg(test)]
mod tests {
    use base64::{Engine, engine::general_purpose::STANDARD};
    use hdrhistogram::{
        Histogram,
        serialization::{
            Deserializer,
            interval_log::{IntervalLogIterator, LogEntry},
        },
    };

    use super::*;
    use result::example;

    fn histogram() -> Histogram<u64> {
        let mut histogram = Histogram::new_with_bounds(1, 600_000_000_000, 3).unwrap();
        (1..=10_000_u64).for_each(|n| histogram.record(n * n * 37).unwrap());
        histogram
    }

    fn log(histogram: &Histogram<u64>) -> HistogramLog {
        let histogram = histogram.clone();
        HistogramLog {
            variant: "rocksdb/batched-io/bal+batched@2+64io".to_owned(),
            kind: LogKind::Reads,
            histogram,
        }
    }

    fn names(paths: &[PathBuf]) -> Vec<&str> {
        paths.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect()
    }

    #[test]
    fn a_log_read_back_is_the_histogram_that_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let written = histogram();
        let logs = [log(&written)];
        let paths = RunDirectory::at(&dir.path().join("a/b"))
            .unwrap()
            .write(&example::typical(), &logs)
            .unwrap();
        let expected = ["result.json", "rocksdb_batched-io_bal+batched@2+64io.reads.hlog"];
        assert_eq!(names(&paths), expected);
        let text = fs::read(&paths[1]).unwrap();
        let mut starts = Vec::new();
        for entry in IntervalLogIterator::new(&text) {
            let LogEntry::Interval(interval) = entry.unwrap() else { continue };
            starts.push(interval.start_timestamp().as_secs());
            assert_eq!(interval.duration(), Duration::from_millis(4_902));
            let bytes = STANDARD.decode(interval.encoded_histogram()).unwrap();
            let read: Histogram<u64> =
                Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
            assert_eq!(read, written);
        }
        assert_eq!(starts, [1_767_225_600]);
    }

    #[test]
    fn another_runs_files_are_never_overwritten_and_a_runs_own_are() {
        let dir = tempfile::tempdir().unwrap();
        let written = histogram();
        let logs = [log(&written)];
        let mut result = example::typical();
        let mut first = RunDirectory::at(dir.path()).unwrap();
        first.write(&result, &logs).unwrap();
        let before = fs::read(dir.path().join("result.json")).unwrap();

        result.workload.seed = 99;
        let mut second = RunDirectory::at(dir.path()).unwrap();
        let expected = [
            "result-1767225600.json",
            "rocksdb_batched-io_bal+batched@2+64io-1767225600.reads.hlog",
        ];
        assert_eq!(names(&second.write(&result, &logs).unwrap()), expected);
        assert_eq!(names(&second.write(&result, &logs).unwrap()), expected);
        let third = RunDirectory::at(dir.path()).unwrap().write(&result, &[]).unwrap();
        assert_eq!(names(&third), ["result-1767225600-2.json"]);
        assert_eq!(fs::read(dir.path().join("result.json")).unwrap(), before);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 5, "no temporary file is left");
    }

    #[test]
    fn a_place_that_cannot_be_written_to_is_named_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let error = RunDirectory::at(&file).unwrap_err().to_string();
        assert!(error.contains("file, named by --out"), "{error}");
    }

    #[test]
    fn a_log_name_stays_in_its_directory() {
        assert_eq!(file_name("../a b/ü"), ".._a_b__");
    }

    #[test]
    fn a_run_replaces_its_own_file_and_never_anothers() {
        let dir = tempfile::tempdir().unwrap();
        let write = |out: &mut JsonFile, text| {
            let path = out.write(7, text).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            path.file_name().unwrap().to_string_lossy().into_owned()
        };
        let mut runs = [(); 3].map(|()| JsonFile::at(dir.path(), "io").unwrap());
        for (run, name) in runs.iter_mut().zip(["io.json", "io-7.json", "io-7-2.json"]) {
            assert_eq!(write(run, "first"), name);
            assert_eq!(write(run, "again"), name);
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3);
    }
}
