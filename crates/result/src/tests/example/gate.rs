//! The result of a gate for tests.

use crate::{
    Counters, RunResult,
    gate::{
        self, Attempt, DecidedBy, Gate, GateCell, GateResult, Judged, LookFacts, Metric, Mode,
        OctetFacts, PassFacts,
    },
};

use super::{GAS, typical};

/// A gate against another build that passes.
pub fn passed() -> GateResult {
    let RunResult { tool, command, started_unix_s, workload, environment, expects, .. } = typical();
    let counters = Counters { gas: GAS, ..Counters::default() };
    let look = LookFacts {
        octet_count: 6,
        change: 0.001,
        lower: -0.004,
        upper: 0.006,
        null: [-0.003, 0.002],
    };
    let figure = Judged {
        metric: Metric::Wall,
        verdict: gate::Verdict::Pass,
        delta: 0.03,
        base: 4_902_000_000,
        samples_to_decide: None,
        delta_to_decide: None,
        looks: vec![look],
    };
    let pass = PassFacts {
        generation: 0,
        order: "NABBANBNAANB".to_owned(),
        wall_ns: vec![4_902_000_000; 12],
        cpu_ns: vec![None; 12],
        ..PassFacts::default()
    };
    let cell = GateCell {
        variant: "rocksdb/batched-io/bal+batched@2+64io".to_owned(),
        counters,
        counter_changes: Vec::new(),
        warm_up_sample_counts: [3, 3, 3],
        passes_per_octet: 1,
        samples_per_slot: 1,
        verdict: gate::Verdict::Pass,
        decided_by: DecidedBy::All,
        figures: vec![figure],
        octets: vec![OctetFacts { cpus: Some(vec![0]), passes: vec![pass] }],
    };
    let attempt = Attempt {
        verdict: gate::Verdict::Pass,
        reason: "surely below 0.6 %".to_owned(),
        coin_seed: 0,
        disturbances: Vec::new(),
        cells: vec![cell],
    };
    GateResult {
        schema: gate::SCHEMA,
        tool,
        command,
        started_unix_s,
        took_s: 61.5,
        workload: Some(workload),
        environment,
        warnings: Vec::new(),
        binaries: Vec::new(),
        gate: Gate {
            mode: Mode::Against,
            verdict: Some(gate::Verdict::Pass),
            exit_code: 0,
            reason: "surely below 0.6 %".to_owned(),
            delta: 0.03,
            attempts: vec![attempt],
            baseline: None,
        },
        expects: Some(expects),
    }
}
