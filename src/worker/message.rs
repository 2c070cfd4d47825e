//! The messages of the worker protocol, version [`PROTOCOL`]. Each is one line of JSON with its
//! `kind`. A field that a reader does not know is ignored; a change of meaning is a new version.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use result::Counters;

use crate::terminal::Code;

/// Version of the protocol.
pub const PROTOCOL: u32 = 1;

/// A driver's request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Request {
    /// Read this workload file, which the driver has checked. Answered by `loaded`.
    Load(Load),
    /// Take one sample. Answered by `sample`.
    Sample {
        /// Its name in `loaded`.
        variant: String,
    },
    /// Judge these claims on all samples of `sample` so far but a warm-up. Answered by `judged`.
    Judge {
        /// Each as the lines of a scenario's `[[expect]]`.
        expects: Vec<String>,
    },
    /// End. Answered by `bye`.
    Exit,
}

/// The run's settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Version of the protocol that the driver speaks.
    pub protocol: u32,
    /// The workload file.
    pub workload: PathBuf,
    /// The same workload as JSON, for a worker whose `hello` asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload_json: Option<PathBuf>,
    /// Where state databases are kept; `null`: where this worker would.
    pub data_dir: Option<PathBuf>,
    /// Keys of a scenario's `[run]` and their values, as on a command line.
    pub run: Vec<(String, String)>,
}

/// A worker's answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Answer {
    /// First of all, unasked.
    Hello(Who),
    /// The workload is there.
    Loaded(Loaded),
    /// A sample.
    Sample(Box<Sampled>),
    /// The claims, as `expects` of a result.
    Judged {
        /// `count`, `status`, `claims`.
        expects: Value,
    },
    /// The worker ends.
    Bye,
    /// The request cannot be carried out.
    Error {
        /// Which kind of error.
        error: ErrorKind,
        /// The failure, in one line.
        message: String,
    },
}

/// The program that answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Who {
    /// Version of the protocol.
    pub protocol: u32,
    /// Version of the program.
    pub program: String,
    /// Its commit, where it is known.
    pub commit: Option<String>,
    /// Its features, where it tells.
    #[serde(default)]
    pub features: Option<Vec<String>>,
    /// BLAKE3 of its file, where it tells.
    #[serde(default)]
    pub binary_hash: Option<String>,
    /// Its profile with the compiler's optimisation in words, where it tells.
    #[serde(default)]
    pub build_profile: Option<String>,
    /// Libraries in it that are not those of its lockfile.
    #[serde(default)]
    pub patched: Vec<String>,
    /// Version of its generator; 0 of one that has none.
    #[serde(default)]
    pub generator: u32,
    /// Name and version of an executor that is not this project's: it names variants of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executor: Option<String>,
    /// The form in which it reads workloads.
    #[serde(default)]
    pub reads: WorkloadForm,
    /// Time added to each read of its memory store: a known slowdown, to test the gate.
    #[serde(default)]
    pub slow_read_ns: u64,
    /// Whether a sample reads one key twice, for the same test.
    #[serde(default)]
    pub reads_one_twice: bool,
}

/// A form of a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkloadForm {
    /// The workload file.
    #[default]
    File,
    /// Its JSON form.
    Json,
}

/// The loaded workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loaded {
    /// Digest of the workload.
    pub digest: String,
    /// Names of the variants that can be sampled.
    pub variants: Vec<String>,
    /// Threads that each variant keeps busy. Left out, all CPUs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thread_counts: Vec<usize>,
}

/// A sample. Its result equals the reference's: a wrong one is an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sampled {
    /// The variant.
    pub variant: String,
    /// Time from the clock's start to the last commit.
    pub wall_ns: u64,
    /// CPU time of the process in that time.
    #[serde(default)]
    pub cpu_ns: Option<u64>,
    /// Its exact counters.
    pub counters: Counters,
    /// The sample as in a result, phases and all; `null` of an executor that is not this project's.
    #[serde(default)]
    pub facts: Value,
}

/// Kinds of errors, as the exit codes tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// The request is not understood or not possible.
    Usage,
    /// The result is not the reference's, or a list was rejected.
    Disagree,
    /// Input, output, the store.
    Io,
    /// A signal came.
    Interrupted,
}

impl From<Code> for ErrorKind {
    fn from(code: Code) -> Self {
        match code {
            Code::Usage => Self::Usage,
            Code::Disagree => Self::Disagree,
            Code::Interrupted => Self::Interrupted,
            Code::Fine
            | Code::Claim
            | Code::Inconclusive
            | Code::NotJudged
            | Code::Untrusted
            | Code::Io => Self::Io,
        }
    }
}

impl From<ErrorKind> for Code {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Usage => Self::Usage,
            ErrorKind::Disagree => Self::Disagree,
            ErrorKind::Io => Self::Io,
            ErrorKind::Interrupted => Self::Interrupted,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_what_the_page_about_the_protocol_says() {
        let load = Request::Load(Load {
            protocol: 1,
            workload: "/w".into(),
            workload_json: None,
            data_dir: None,
            run: vec![("run.stores".to_owned(), "memory".to_owned())],
        });
        let expected = json!({"kind": "load", "protocol": 1, "workload": "/w", "data_dir": null,
            "run": [["run.stores", "memory"]]});
        assert_eq!(serde_json::to_value(&load).unwrap(), expected);
        let error = Answer::Error { error: ErrorKind::Disagree, message: "no".to_owned() };
        let expected = json!({"kind": "error", "error": "disagree", "message": "no"});
        assert_eq!(serde_json::to_value(&error).unwrap(), expected);
        assert_eq!(serde_json::to_value(&Request::Exit).unwrap(), json!({"kind": "exit"}));
    }

    #[test]
    fn an_executor_of_ones_own_needs_few_words() {
        let text = r#"{"kind": "hello", "protocol": 1, "program": "0.1", "executor": "mine 0.1",
            "reads": "json"}"#;
        let Answer::Hello(who) = serde_json::from_str(text).unwrap() else { panic!("a hello") };
        assert_eq!((who.executor.as_deref(), who.reads), (Some("mine 0.1"), WorkloadForm::Json));
        let text = r#"{"kind": "sample", "variant": "mine", "wall_ns": 5, "counters": {"gas": 1,
            "receipts": "0x1", "net_changes": "0x2", "list_bytes": 0, "unique_keys": 0}}"#;
        let Answer::Sample(sample) = serde_json::from_str(text).unwrap() else { panic!("one") };
        assert_eq!((sample.cpu_ns, sample.counters.store_reads), (None, None));
        let hello = serde_json::to_value(Answer::Hello(who)).unwrap();
        assert_eq!(hello["reads"], "json");
    }

    #[test]
    fn a_worker_that_says_more_than_is_known_is_understood() {
        let text = r#"{"kind": "hello", "protocol": 1, "program": "9.9", "commit": null,
            "generator": 7, "mood": "good"}"#;
        let Answer::Hello(who) = serde_json::from_str(text).unwrap() else { panic!("a hello") };
        assert_eq!((who.generator, who.slow_read_ns, who.reads_one_twice), (7, 0, false));
    }
}
