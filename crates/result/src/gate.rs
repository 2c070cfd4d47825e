//! The result of a gate, in the form in which it is written (`stress.gate/2`, `docs/gate.md`).
//! Shares are of one: 0.03 is 3 %. An unknown value is `null`. Only types: `src/gate/` fills them.

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
pub use calibration::{CalibratedCell, Calibration};
pub use names::{DecidedBy, Metric, Mode, Verdict};

schema! {
    /// The schema of a [`GateResult`].
    SCHEMA: GateSchema = "stress.gate/2"
}

/// The whole result of a gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateResult {
    /// Name and version of this format.
    pub schema: GateSchema,
    /// The program that ran the gate.
    pub tool: Tool,
    /// The command line, to repeat the gate.
    pub command: Vec<String>,
    /// Start of the gate, seconds since 1970.
    pub started_unix_s: u64,
    /// Duration of the gate.
    pub took_s: f64,
    /// The work; `null` where stored results were compared.
    pub workload: Option<WorkloadFacts>,
    /// The machine that ran the gate.
    pub environment: Environment,
    /// Reasons to doubt the verdict, each with its remedy.
    pub warnings: Vec<String>,
    /// The compared builds or clients, A first; empty where stored results were compared.
    pub binaries: Vec<Binary>,
    /// The verdict and its figures.
    pub gate: Gate,
    /// The claims judged on B, as in a result; `null` without claims.
    #[serde(default)]
    pub expects: Option<Expects>,
}

/// One of the two sides: a build, or a real client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Binary {
    /// The side: `A`, to compare with, or `B`, which is judged.
    #[schemars(extend("enum" = ["A", "B"]))]
    pub arm: char,
    /// Path of the program, as the user gave it.
    pub path: String,
    /// The program, as it reports itself.
    #[serde(flatten)]
    pub program: Program,
    /// Start file of a real client, with its name and version as it reports them; `null` for a
    /// build.
    #[serde(default)]
    pub client: Option<String>,
    /// Keys of the run that are set for this side alone, with their values: `run.read=get`. For a
    /// client, arguments that the other side does not get.
    #[serde(default)]
    pub settings: Vec<String>,
    /// Keys of the run that are set for A or B alone, with the values that they have on this side.
    #[serde(default)]
    pub effective_settings: Vec<EffectiveSetting>,
    /// Nanoseconds by which each read was slowed down, to test the gate; else 0.
    pub slow_read_ns: u64,
    /// Whether this side was made to read one key twice, to test the gate.
    pub reads_one_twice: bool,
}

impl Binary {
    /// Settings of this side in words. A build has the values of all keys that A or B sets; a
    /// client has its own arguments.
    pub fn settings_in_words(&self) -> Vec<String> {
        match self.effective_settings.as_slice() {
            [] => self.settings.clone(),
            effective => effective.iter().map(ToString::to_string).collect(),
        }
    }
}

/// A key of the run that is set for A or B alone, with its value on one side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EffectiveSetting {
    /// The key: `run.read`.
    pub key: String,
    /// Value of the key on this side.
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

/// The verdict of a gate, and the figures behind it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// `against` another build, or a `baseline`.
    #[serde(with = "Name::<Mode>")]
    pub mode: Mode,
    /// The verdict; `error` where a failure prevented a verdict.
    #[serde(with = "NameOrError::<Verdict>")]
    pub verdict: Option<Verdict>,
    /// Exit code of the gate.
    pub exit_code: u8,
    /// Reason for the verdict, in one line.
    pub reason: String,
    /// The largest allowed change, as a share.
    pub delta: f64,
    /// The attempts, in their order. The last one gave the verdict.
    pub attempts: Vec<Attempt>,
    /// The comparison with a stored result; `null` for a gate against another build.
    pub baseline: Option<Compared>,
}

/// Exit code of a program that the user interrupted: 128 + SIGINT.
const INTERRUPTED: u8 = 130;

impl Gate {
    /// Returns the verdict in words. Distinguishes an error from a gate that the user ended.
    pub fn verdict_name(&self) -> &'static str {
        match self.verdict {
            Some(verdict) => verdict.name(),
            None if self.exit_code == INTERRUPTED => "interrupted",
            None => "error",
        }
    }
}

/// An attempt to reach a verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Attempt {
    /// Verdict of the attempt.
    #[serde(with = "Name::<Verdict>")]
    pub verdict: Verdict,
    /// Reason for the attempt's verdict.
    pub reason: String,
    /// Seed of the coin that decides which build begins each pass.
    pub coin_seed: u64,
    /// Causes of time that the machine lost during the attempt: steal, throttling.
    pub disturbances: Vec<String>,
    /// The results, one for each variant.
    pub cells: Vec<GateCell>,
}

/// The result of a variant in one attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateCell {
    /// Name of the variant.
    pub variant: String,
    /// Exact counters of the first sample of A.
    pub counters: Counters,
    /// Counters in which another sample, of B or of A itself, differs from the first sample of A,
    /// each as `store_reads: 5 → 6`.
    pub counter_changes: Vec<String>,
    /// Numbers of warm-up samples of A, of B, and of N, a second process of A. No figure includes
    /// these samples.
    pub warm_up_sample_counts: [u64; 3],
    /// Number of passes in each octet.
    pub passes_per_octet: u64,
    /// Number of samples in each slot. A slot is a turn of one process in a pass.
    pub samples_per_slot: u64,
    /// Verdict on the variant.
    #[serde(with = "Name::<Verdict>")]
    pub verdict: Verdict,
    /// Figures that gave the verdict: `all`, or on a cold disk `counters`.
    #[serde(with = "Name::<DecidedBy>")]
    pub decided_by: DecidedBy,
    /// The judged figures.
    pub figures: Vec<Judged>,
    /// All octets with their passes.
    pub octets: Vec<OctetFacts>,
}

/// A judged figure of a variant: one metric.
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
    /// Median of the warm-up samples of A, in nanoseconds or in the unit of the metric.
    pub base: u64,
    /// Number of samples of each build that would decide the figure at this noise. `null` where the
    /// figure is decided, and where no number of samples would decide it.
    pub samples_to_decide: Option<u64>,
    /// The smallest δ with which most comparisons of two equal builds would be decided, at this
    /// noise. `null` where the figure is decided, where `delta` is large enough for the noise, and
    /// where it would be above 1.
    #[serde(default)]
    pub delta_to_decide: Option<f64>,
    /// The looks at this figure, in their order. The last one gave the verdict.
    pub looks: Vec<LookFacts>,
}

/// A look: a test of one figure, over all octets so far.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LookFacts {
    /// Number of octets so far.
    pub octet_count: u64,
    /// Change of B against A, as a share: the trimmed mean over the octets.
    pub change: f64,
    /// Lower bound of the change, as a share. Above δ, the figure is a regression, unless the
    /// difference of N from A may explain it.
    pub lower: f64,
    /// Upper bound of the change, as a share. Below δ, the figure passes, unless the difference of
    /// N from A may explain it.
    pub upper: f64,
    /// 99 % interval of the change of N, the second process of A, against A; as a share.
    pub null: [f64; 2],
}

/// An octet: passes that together make one observation of the gate. It begins with new processes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OctetFacts {
    /// CPUs that all samples of the octet could run on; `null`: all CPUs.
    pub cpus: Option<Vec<usize>>,
    /// The passes of the octet.
    pub passes: Vec<PassFacts>,
}

/// A pass: twelve slots in a balanced order, of which A, B and N have four each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PassFacts {
    /// Number of the generation of processes. Passes of one generation have the same three
    /// processes; an octet may have several generations.
    pub generation: u64,
    /// Order of the slots by their process: `NABBANBNAANB`.
    pub order: String,
    /// Wall time of each slot, summed over its samples.
    pub wall_ns: Vec<u64>,
    /// CPU time of each slot, summed over its samples.
    pub cpu_ns: Vec<Option<u64>>,
    /// Number of blocks that each slot read from the store's files; empty where blocks are not
    /// judged.
    #[serde(default)]
    pub blocks: Vec<Option<u64>>,
    /// Bytes that each slot read from devices; empty where bytes are not judged.
    #[serde(default)]
    pub bytes: Vec<Option<u64>>,
    /// Number of read system calls of each slot; empty where requests are not judged.
    #[serde(default)]
    pub requests: Vec<Option<u64>>,
    /// Number of allocations of each slot; empty where allocations are not judged.
    #[serde(default)]
    pub allocations: Vec<Option<u64>>,
    /// Number of instructions of each slot; empty where instructions are not judged.
    #[serde(default)]
    pub instructions: Vec<Option<u64>>,
}

impl PassFacts {
    /// The values of a metric, one for each slot.
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

/// The comparison of new results with stored ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compared {
    /// Path of the stored result, or of the directory with several.
    pub path: String,
    /// Numbers of processes with a result: on the stored side, and on the new side.
    pub process_counts: [u64; 2],
    /// Settings that differ between the sides, each as `rocksdb.checksums: verify → skip`.
    #[serde(default)]
    pub setting_changes: Vec<String>,
    /// Counters that differ, each as `memory/x store_reads: 5 → 6`.
    pub counter_changes: Vec<String>,
    /// Number of counters that were compared.
    pub counter_count: u64,
    /// Variants that only one side has. They are not compared.
    pub only_in_one: Vec<String>,
    /// The reference variant of the ratios. In each run, the time of every other variant is divided
    /// by the time of the reference.
    pub reference: Option<String>,
    /// Change of each variant's ratio: its time over the reference's.
    pub ratios: Vec<Shift>,
    /// Change of each variant's time. Where times were not judged, it is the observed change alone.
    pub times: Vec<Shift>,
    /// Changes of each variant's counts on a cold disk.
    pub counts: Vec<CountShift>,
    /// Reason why times were judged, or were not.
    pub times_note: String,
}

/// Change of a figure from the stored results to the new ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Shift {
    /// The variant.
    pub variant: String,
    /// Verdict on the figure.
    #[serde(with = "Name::<Verdict>")]
    pub verdict: Verdict,
    /// The change, as a share: the difference of the trimmed means of logarithms. On several
    /// databases, the trimmed mean of the differences on each database.
    pub change: Option<f64>,
    /// Lower bound of the change, as a share.
    pub lower: Option<f64>,
    /// Upper bound of the change, as a share.
    pub upper: Option<f64>,
    /// Number of values of each side (samples, processes or databases) that would decide the figure
    /// at this noise. `null` where it is decided, and where no number of values would decide it.
    pub values_to_decide: Option<u64>,
    /// The smallest δ with which most comparisons of equal results would be decided, at this noise.
    /// `null` where the figure is decided, where δ is large enough for the noise, and where it
    /// would be above 1.
    #[serde(default)]
    pub delta_to_decide: Option<f64>,
}

/// Change of a variant's count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CountShift {
    /// `blocks`, `bytes`, `requests`, `allocations` or `instructions`.
    #[serde(with = "Name::<Metric>")]
    pub metric: Metric,
    /// Change of the count, with its bounds.
    pub shift: Shift,
}
