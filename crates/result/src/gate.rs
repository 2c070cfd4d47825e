//! A gate's result as it is written (`stress.gate/2`, `docs/gate.md`). Shares are of one: 0.03
//! is 3 %. An unknown value is `null`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    environment::Environment,
    figures::Counters,
    named::{Name, NameOrError},
    program::Program,
    run::{Expects, Tool, WorkloadFacts},
    schema::schema,
};

mod calibration;
mod names;

pub(crate) use calibration::SCHEMA as CALIBRATION_SCHEMA;
pub use calibration::{Calibration, Spread};
pub use names::{DecidedBy, Metric, Mode, Verdict};

schema! {
    /// The schema of a [`GateResult`].
    SCHEMA: GateSchema = "stress.gate/2"
}

/// A whole result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateResult {
    /// Name and version of this format.
    pub schema: GateSchema,
    /// The program.
    pub tool: Tool,
    /// The command line, to repeat the gate.
    pub command: Vec<String>,
    /// Start of the gate, seconds since 1970.
    pub started_unix_s: u64,
    /// Duration of the gate.
    pub took_s: f64,
    /// The work; `null` where two files were compared.
    pub workload: Option<WorkloadFacts>,
    /// The machine.
    pub environment: Environment,
    /// Reasons for doubt, each with its remedy.
    pub warnings: Vec<String>,
    /// The builds, A first; empty where results were compared.
    pub binaries: Vec<Binary>,
    /// The verdict and its figures.
    pub gate: Gate,
    /// The claims judged on B, as in a result; `null` without claims.
    #[serde(default)]
    pub expects: Option<Expects>,
}

/// A build.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Binary {
    /// Side of the comparison: `A` or `B`.
    #[schemars(extend("enum" = ["A", "B"]))]
    pub arm: char,
    /// Path of the program, as the user gave it.
    pub path: String,
    /// The program, as it reports itself.
    #[serde(flatten)]
    pub program: Program,
    /// A real client's start file, and its name and version as it reports them; `null` for a build.
    #[serde(default)]
    pub client: Option<String>,
    /// Keys of the run that are set for this build alone, with their values: `run.read=get`. For a
    /// client, arguments that the other side does not get.
    #[serde(default)]
    pub settings: Vec<String>,
    /// Keys of the run that are set for A or B alone, with the values that this build has.
    #[serde(default)]
    pub effective_settings: Vec<EffectiveSetting>,
    /// Nanoseconds added to each read, to test the gate; 0 otherwise.
    pub slow_read_ns: u64,
    /// Whether the build was made to read a key twice, to test the gate; `false` otherwise.
    pub reads_one_twice: bool,
}

impl Binary {
    /// Settings in words. A build has the values of all keys that A or B sets, a client its own
    /// arguments.
    pub fn settings_in_words(&self) -> Vec<String> {
        match self.effective_settings.as_slice() {
            [] => self.settings.clone(),
            effective => effective.iter().map(ToString::to_string).collect(),
        }
    }
}

/// A key of the run that is set for A or B alone, with its value in one build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EffectiveSetting {
    /// The key: `run.read`.
    pub key: String,
    /// Value of the key in this build.
    pub value: String,
    /// Whether the value is the default.
    pub is_default: bool,
}

impl fmt::Display for EffectiveSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = if self.is_default { " (default)" } else { "" };
        write!(f, "{} = {}{default}", self.key, self.value)
    }
}

/// The verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// `against` another build, or a `baseline`.
    #[serde(with = "Name::<Mode>")]
    pub mode: Mode,
    /// The verdict; `error` where a failure prevented a verdict.
    #[serde(with = "NameOrError::<Verdict>")]
    pub verdict: Option<Verdict>,
    /// The exit code.
    pub exit_code: u8,
    /// The reason, in one line.
    pub reason: String,
    /// The largest allowed change, as a share.
    pub delta: f64,
    /// The attempts, in their order. The last one has the verdict.
    pub attempts: Vec<Attempt>,
    /// The comparison with a stored result; `null` against another build.
    pub baseline: Option<Compared>,
}

/// The exit code of a program that the user interrupted.
const INTERRUPTED: u8 = 130;

impl Gate {
    /// The verdict in words. Distinguishes an error from a gate that the user ended.
    pub fn verdict_name(&self) -> &'static str {
        match self.verdict {
            Some(verdict) => verdict.name(),
            None if self.exit_code == INTERRUPTED => "interrupted",
            None => "error",
        }
    }
}

/// An attempt to decide.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Attempt {
    /// Verdict of the attempt.
    #[serde(with = "Name::<Verdict>")]
    pub verdict: Verdict,
    /// The reason of the verdict.
    pub reason: String,
    /// Seed of the coin that decides which build begins an octet.
    pub coin_seed: u64,
    /// Causes of lost time: steal, throttling.
    pub disturbances: Vec<String>,
    /// The results by variant.
    pub cells: Vec<GateCell>,
}

/// The result of a variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateCell {
    /// Name of the variant.
    pub variant: String,
    /// The exact counters of a sample of A.
    pub counters: Counters,
    /// Counters of B that differ, as `store_reads: 5 → 6`.
    pub counter_changes: Vec<String>,
    /// Warm-up samples of A, B and N, the second process of A. No figure includes them.
    pub warm_up_sample_counts: [u64; 3],
    /// Passes in each octet.
    pub passes_per_octet: u64,
    /// Samples of each slot, a turn of one process in a pass.
    pub samples_per_slot: u64,
    /// Verdict on the variant.
    #[serde(with = "Name::<Verdict>")]
    pub verdict: Verdict,
    /// Figures that decided: `all`, or on a cold disk `counters`.
    #[serde(with = "Name::<DecidedBy>")]
    pub decided_by: DecidedBy,
    /// The judged figures.
    pub figures: Vec<Judged>,
    /// All octets with their slots.
    pub octets: Vec<OctetFacts>,
}

/// A figure of a variant, judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judged {
    /// The judged metric.
    #[serde(with = "Name::<Metric>")]
    pub metric: Metric,
    /// Verdict on the figure.
    #[serde(with = "Name::<Verdict>")]
    pub verdict: Verdict,
    /// The largest allowed change, as a share: δ, or the floor of the metric where that is larger.
    pub delta: f64,
    /// Median of the samples of A, in nanoseconds or in the unit of the metric.
    pub base: u64,
    /// Samples of each build that would decide at this noise. `null` where the figure is decided,
    /// and where no number of samples would decide.
    pub samples_to_decide: Option<u64>,
    /// The smallest δ for which most runs of two equal builds, with noise of this size, would be
    /// decided. `null` where the figure is decided, where the noise is small enough for `delta`,
    /// and above 1.
    #[serde(default)]
    pub delta_to_decide: Option<f64>,
    /// The looks at the octets so far, in their order. The last one decided.
    pub looks: Vec<LookFacts>,
}

/// A look at the octets so far.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LookFacts {
    /// Number of octets.
    pub octet_count: u64,
    /// Change of B against A, as a share: the trimmed mean.
    pub change: f64,
    /// Lower bound of the change, as a share. Above δ it is a regression.
    pub lower: f64,
    /// Upper bound of the change, as a share. Below δ it passes.
    pub upper: f64,
    /// 99 % interval of the change of A's second process, as a share.
    pub null: [f64; 2],
}

/// An octet: passes with one set of processes, which make one observation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OctetFacts {
    /// CPUs of all samples of the octet; `null`: all CPUs.
    pub cpus: Option<Vec<usize>>,
    /// The passes.
    pub passes: Vec<PassFacts>,
}

/// A pass: twelve slots, of which A, B and N have four each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PassFacts {
    /// Generation of processes. Passes with the same number used the same three processes.
    pub generation: u64,
    /// Order of the slots: `NABBANBNAANB`.
    pub order: String,
    /// Wall time of each slot.
    pub wall_ns: Vec<u64>,
    /// CPU time of each slot.
    pub cpu_ns: Vec<Option<u64>>,
    /// Blocks that each slot read from the store's files; empty where blocks are not judged.
    #[serde(default)]
    pub blocks: Vec<Option<u64>>,
    /// Bytes that each slot read from devices; empty where bytes are not judged.
    #[serde(default)]
    pub bytes: Vec<Option<u64>>,
    /// Reading system calls of each slot; empty where requests are not judged.
    #[serde(default)]
    pub requests: Vec<Option<u64>>,
    /// Allocations of each slot; empty where allocations are not judged.
    #[serde(default)]
    pub allocations: Vec<Option<u64>>,
    /// Instructions of each slot; empty where instructions are not judged.
    #[serde(default)]
    pub instructions: Vec<Option<u64>>,
}

impl PassFacts {
    /// The value of each slot for a metric.
    pub fn values(&self, metric: Metric) -> Vec<Option<u64>> {
        match metric {
            Metric::Wall => self.wall_ns.iter().copied().map(Some).collect(),
            Metric::Cpu => self.cpu_ns.clone(),
            Metric::Blocks => self.blocks.clone(),
            Metric::Bytes => self.bytes.clone(),
            Metric::Requests => self.requests.clone(),
            Metric::Allocations => self.allocations.clone(),
            Metric::Instructions => self.instructions.clone(),
        }
    }
}

/// The comparison with a stored result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compared {
    /// The stored result, or the directory with several.
    pub path: String,
    /// Number of processes with a result: of the stored side, and of the new side.
    pub process_counts: [u64; 2],
    /// Settings that differ between the sides, as `rocksdb.checksums: verify → skip`.
    #[serde(default)]
    pub setting_changes: Vec<String>,
    /// Counters that differ, as `memory/x store_reads: 5 → 6`.
    pub counter_changes: Vec<String>,
    /// Number of counters that were compared.
    pub counter_count: u64,
    /// Variants that only one side has. They are not compared.
    pub only_in_one: Vec<String>,
    /// The reference variant of the ratios: in each run, the time of every other variant is divided
    /// by the time of the reference.
    pub reference: Option<String>,
    /// Each variant's time over the reference's.
    pub ratios: Vec<Shift>,
    /// Change of each variant's time; where the time was not judged, the observed change.
    pub times: Vec<Shift>,
    /// Counts of each variant on a cold disk.
    pub counts: Vec<CountShift>,
    /// The reason for judging the times or not.
    pub times_note: String,
}

/// Change of a figure from the stored result to the new one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Shift {
    /// The variant.
    pub variant: String,
    /// Verdict on the figure.
    #[serde(with = "Name::<Verdict>")]
    pub verdict: Verdict,
    /// The change, as a share: a difference of trimmed means of logarithms. On several databases,
    /// the trimmed mean of the databases' differences.
    pub change: Option<f64>,
    /// Lower bound of the change, as a share.
    pub lower: Option<f64>,
    /// Upper bound of the change, as a share.
    pub upper: Option<f64>,
    /// Values of each side (samples, processes or databases) that would decide at this noise.
    /// `null` where the figure is decided, and where no number of values would decide.
    pub values_to_decide: Option<u64>,
    /// The smallest δ for which most comparisons of equal results, with noise of this size, would
    /// be decided. `null` where the figure is decided, where the noise is small enough, and above
    /// 1.
    #[serde(default)]
    pub delta_to_decide: Option<f64>,
}

/// Change of a count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CountShift {
    /// `blocks`, `bytes`, `requests`, `allocations` or `instructions`.
    #[serde(with = "Name::<Metric>")]
    pub metric: Metric,
    /// Change of the count, with its bounds.
    pub shift: Shift,
}
