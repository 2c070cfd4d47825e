//! The messages of the worker protocol, version [`PROTOCOL`]. Each message is one line of JSON with
//! a `kind`. A reader ignores fields that it does not know. A change of a field's meaning needs a
//! new version.

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
    /// Read this workload file, which the driver has checked. The answer is `loaded`.
    Load(Load),
    /// Take one sample. The answer is `sample`.
    Sample {
        /// The name of the variant in `loaded`.
        variant: String,
    },
    /// Judge these claims on all samples so far, without the warm-up. The answer is `judged`.
    Judge {
        /// The claims, each as the lines of a scenario's `[[expect]]`.
        expects: Vec<String>,
    },
    /// End. The answer is `bye`.
    Exit,
}

/// The workload and the settings of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Version of the protocol that the driver speaks.
    pub protocol: u32,
    /// The workload file.
    pub workload: PathBuf,
    /// The same workload as JSON, for a worker whose `hello` asks for JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload_json: Option<PathBuf>,
    /// The directory of state databases; `null`: the worker's default.
    pub data_dir: Option<PathBuf>,
    /// Keys of a scenario's `[run]` and their values, as on a command line.
    pub run: Vec<(String, String)>,
}

/// A worker's answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Answer {
    /// The first message, which the worker sends without a request.
    Hello(ProgramFacts),
    /// The workload is loaded.
    Loaded(Loaded),
    /// The sample was taken.
    Sample(Box<Sampled>),
    /// The claims are judged.
    Judged {
        /// The claims in the form of a result's `expects`: `count`, `status`, `claims`.
        expects: Value,
    },
    /// The worker ends.
    Bye,
    /// The request cannot be carried out.
    Error {
        /// The kind of the error.
        error: ErrorKind,
        /// The failure, in one line.
        message: String,
    },
}

/// The facts of a worker's program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramFacts {
    /// Version of the protocol.
    pub protocol: u32,
    /// Version of the program.
    pub program: String,
    /// Commit of the program, if known.
    pub commit: Option<String>,
    /// Features of the program, if it reports them.
    #[serde(default)]
    pub features: Option<Vec<String>>,
    /// BLAKE3 hash of the program's file, if it reports the hash.
    #[serde(default)]
    pub binary_hash: Option<String>,
    /// Build profile with the compiler's optimisation in words, if the program reports it.
    #[serde(default)]
    pub build_profile: Option<String>,
    /// Libraries in the program that are not those of its lockfile.
    #[serde(default)]
    pub patched: Vec<String>,
    /// Version of its generator; 0 for a program without a generator.
    #[serde(default)]
    pub generator: u32,
    /// Name and version of an executor that is not this project's. Such an executor names its own
    /// variants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executor: Option<String>,
    /// The form in which the worker reads workloads.
    #[serde(default)]
    pub reads: WorkloadForm,
    /// Time added to each read of the memory store. It is a known slowdown, to test the gate.
    #[serde(default)]
    pub slow_read_ns: u64,
    /// Whether a sample reads one key twice. It is a known slowdown, to test the gate.
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
    /// The JSON form of the workload.
    Json,
}

/// The loaded workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loaded {
    /// Digest of the workload.
    pub digest: String,
    /// Names of the variants that can be sampled.
    pub variants: Vec<String>,
    /// Number of threads that each variant keeps busy. If left out, a variant keeps all CPUs busy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thread_counts: Vec<usize>,
}

/// A sample. Its result equals the reference's, as a wrong result is an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sampled {
    /// The variant.
    pub variant: String,
    /// Time from the clock's start to the last commit.
    pub wall_ns: u64,
    /// CPU time of the process in that time.
    #[serde(default)]
    pub cpu_ns: Option<u64>,
    /// The exact counters of the sample.
    pub counters: Counters,
    /// The sample as in a result, with its phases; `null` from an executor that is not this
    /// project's.
    #[serde(default)]
    pub facts: Value,
}

/// Kinds of errors, which the exit codes distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// The request is not understood or not possible.
    Usage,
    /// A sample's result differs from the reference, or a list was rejected.
    Disagree,
    /// An error of input, output or the store.
    Io,
    /// A signal interrupted the worker.
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
        let Answer::Hello(facts) = serde_json::from_str(text).unwrap() else { panic!("a hello") };
        assert_eq!(
            (facts.executor.as_deref(), facts.reads),
            (Some("mine 0.1"), WorkloadForm::Json)
        );
        let text = r#"{"kind": "sample", "variant": "mine", "wall_ns": 5, "counters": {"gas": 1,
            "receipts": "0x1", "net_changes": "0x2", "list_bytes": 0, "unique_keys": 0}}"#;
        let Answer::Sample(sample) = serde_json::from_str(text).unwrap() else { panic!("one") };
        assert_eq!((sample.cpu_ns, sample.counters.store_reads), (None, None));
        let hello = serde_json::to_value(Answer::Hello(facts)).unwrap();
        assert_eq!(hello["reads"], "json");
    }

    #[test]
    fn a_worker_that_says_more_than_is_known_is_understood() {
        let text = r#"{"kind": "hello", "protocol": 1, "program": "9.9", "commit": null,
            "generator": 7, "mood": "good"}"#;
        let Answer::Hello(facts) = serde_json::from_str(text).unwrap() else { panic!("a hello") };
        assert_eq!((facts.generator, facts.slow_read_ns, facts.reads_one_twice), (7, 0, false));
    }
}
