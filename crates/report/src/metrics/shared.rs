//! Metrics that both a run and a gate have: how the program ended, its version, the counters of a
//! sample, and claims.

use result::{Claim, Counters, Expects, Tool};
use variant::Design;

use super::exposition::{Exposition, Labels, Metric};

const EXIT_CODE: Metric = Metric("stress_exit_code", "Exit code of the program.");
const INFO: Metric = Metric("stress_info", "The program; always 1.");
const START: Metric =
    Metric("stress_start_timestamp_seconds", "When it began, in seconds since 1970.");
const WARNINGS: Metric =
    Metric("stress_warnings", "Reasons to doubt the figures, as the result names them.");
const CLAIM: Metric = Metric(
    "stress_claim_verdict",
    "A claim of the scenario with its verdict as a label; always 1.",
);
const SAMPLE_GAS: Metric =
    Metric("stress_sample_gas", "Gas of each sample: the sum of all receipts.");
const SAMPLE_READS: Metric =
    Metric("stress_sample_store_reads", "Reads that each sample asked of the store.");
const SAMPLE_KEYS: Metric =
    Metric("stress_sample_keys", "Accounts and slots that the lists of a sample name.");
const LIST_BYTES: Metric = Metric(
    "stress_sample_list_bytes",
    "Encoded length of the lists of a sample, in the form that the variant takes.",
);

/// A program that ended: its verb, exit code, start and warnings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended<'a> {
    /// `run` or `gate`.
    pub(super) verb: &'static str,
    pub(super) exit_code: u8,
    /// Seconds since 1970.
    pub(super) started_unix_s: u64,
    pub(super) warnings: &'a [String],
    /// The program; `None` without a result.
    pub(super) tool: Option<&'a Tool>,
}

impl Ended<'_> {
    /// Adds the metrics of the end of a run or gate; `labels` name the work.
    pub(super) fn add_to(&self, all: &mut Exposition, labels: &Labels) {
        let labels = labels.with("verb", self.verb);
        all.add(EXIT_CODE, &labels, f64::from(self.exit_code));
        all.add(START, &labels, self.started_unix_s as f64);
        let Some(tool) = self.tool else { return };
        all.add(WARNINGS, &labels, self.warnings.len() as f64);
        let commit = tool.program.commit.clone().unwrap_or_default();
        let program = labels.with("version", tool.program.version.clone()).with("commit", commit);
        all.add(INFO, &program, 1.0);
    }
}

pub(super) fn add_counters(all: &mut Exposition, labels: &Labels, counters: &Counters) {
    all.add(SAMPLE_GAS, labels, counters.gas as f64);
    all.add(SAMPLE_READS, labels, counters.store_reads.map(|reads| reads as f64));
    all.add(SAMPLE_KEYS, labels, counters.unique_keys as f64);
    all.add(LIST_BYTES, labels, counters.list_bytes as f64);
}

pub(super) fn add_claims(all: &mut Exposition, labels: &Labels, expects: &Expects) {
    for Claim { metric, store, bound, limit, verdict, .. } in &expects.claims {
        let labels = labels
            .with("metric", metric.clone())
            .with("store", store.map_or("", |store| store.name()))
            .with("bound", bound.name())
            .with("limit", limit.to_string())
            .with("verdict", verdict.name());
        all.add(CLAIM, &labels, 1.0);
    }
}

/// The labels of a variant that is known by its name alone: store, design and threads, where the
/// name has them.
pub(super) fn variant_labels(labels: &Labels, variant: &str) -> Labels {
    let mut labels = labels.with("variant", variant);
    let mut parts = variant.splitn(3, '/');
    let (Some(store), Some(list), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
        return labels;
    };
    labels = labels.with("store", store);
    let engine = rest.split(['+', '@']).next().unwrap_or_default();
    let design = Design::ALL.iter().find(|design| {
        let preset = design.preset();
        // An engine without a list belongs to one design, whether it builds a list or not.
        let has_list = preset.list.is_none_or(|form| form.name() == list);
        preset.engine.name() == engine && has_list
    });
    if let Some(design) = design {
        labels = labels.with("design", design.name());
    }
    let threads = rest.split('@').nth(1).unwrap_or_default();
    let threads: String = threads.chars().take_while(char::is_ascii_digit).collect();
    if threads.is_empty() { labels } else { labels.with("threads", threads) }
}
