//! Laws of the metrics. The text is valid for any result, and values are the result's, in base
//! units. Results that disagree have none.

use std::{fs, num::NonZeroUsize, path::Path};

use proptest::prelude::*;
use result::{
    Counters, RunResult, example,
    gate::{GateResult, Judged},
};
use variant::{Design, Variant};

use super::{
    exposed::{Exposed, parsed},
    exposition::{Exposition, Labels, Metric},
    metrics_of_failure, metrics_of_gate, metrics_of_run, shared,
};

fn of_run(result: &RunResult) -> Exposed {
    parsed(&metrics_of_run(result, 1)).unwrap()
}

fn of_gate(result: &GateResult) -> Exposed {
    parsed(&metrics_of_gate(result, result.gate.exit_code)).unwrap()
}

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{found} and not {expected}");
}

#[test]
fn the_metrics_of_a_run_are_the_figures_of_its_result_in_base_units() {
    let result = example::sampled(8);
    let exposed = of_run(&result);
    let work = &result.workload;
    let run = [("scenario", work.scenario.as_str()), ("verb", "run")];
    assert_eq!(exposed.value("stress_exit_code", &run), 1.0);
    let start = exposed.value("stress_start_timestamp_seconds", &run);
    assert_eq!(start, result.started_unix_s as f64);
    assert_eq!(exposed.value("stress_info", &[("version", "0.1.0"), ("commit", "ace5143")]), 1.0);
    assert_eq!(exposed.value("stress_agree", &[]), 1.0);
    assert_eq!(exposed.value("stress_interrupted", &[]), 0.0);
    let digest = [("workload", work.digest.as_str())];
    assert_eq!(exposed.value("stress_workload_gas", &digest), work.gas as f64);
    let ceiling = |when| exposed.value("stress_device_ceiling_reads_per_second", &[("when", when)]);
    assert_eq!([ceiling("before"), ceiling("after")], [70_512.0, 69_110.0]);
    for cell in &result.cells {
        let threads = cell.threads.to_string();
        let labels = [
            ("variant", cell.variant.as_str()),
            ("store", cell.store.name()),
            ("design", cell.design.name()),
            ("threads", threads.as_str()),
            ("scenario", work.scenario.as_str()),
        ];
        let value = |name: &str| exposed.value(name, &labels);
        let (time, rate) = (cell.ms_per_batch, cell.mgas_per_s);
        near(value("stress_batch_duration_median_seconds"), time.median.unwrap() / 1e3);
        near(value("stress_batch_duration_ci95_low_seconds"), time.ci95.unwrap()[0] / 1e3);
        near(value("stress_batch_duration_ci95_high_seconds"), time.ci95.unwrap()[1] / 1e3);
        near(value("stress_throughput_median_gas_per_second"), rate.median.unwrap() * 1e6);
        near(value("stress_throughput_ci95_low_gas_per_second"), rate.ci95.unwrap()[0] * 1e6);
        assert_eq!(value("stress_samples_total"), 8.0);
        let wall_ns: u64 = cell.samples.iter().map(|sample| sample.wall_ns).sum();
        near(value("stress_wall_seconds_total"), wall_ns as f64 / 1e9);
        let reads: u64 = cell.samples.iter().map(|sample| sample.store_reads).sum();
        near(value("stress_store_reads_total"), reads as f64);
    }
    let claim = [("metric", "bal_bytes(batched-io)"), ("verdict", "holds"), ("bound", "max")];
    assert_eq!(exposed.value("stress_claim_verdict", &claim), 1.0);
}

#[test]
fn an_unknown_figure_is_no_sample() {
    let mut result = example::typical();
    result.device = None;
    result.agree = None;
    for cell in &mut result.cells {
        cell.samples[0].cpu_ns = None;
        cell.device_fraction = None;
        cell.mgas_per_s.median = Some(f64::NAN);
    }
    let exposed = of_run(&result);
    // Nothing was compared: there is no figure at all.
    assert!(!exposed.has("stress_agree") && !exposed.has("stress_samples_total"), "{exposed:?}");
    result.agree = Some(true);
    let exposed = of_run(&result);
    assert!(exposed.has("stress_batch_duration_median_seconds"));
    for absent in [
        "stress_device_ceiling_reads_per_second",
        "stress_device_utilization_ratio",
        "stress_batch_duration_ci95_low_seconds",
        "stress_throughput_median_gas_per_second",
        "stress_cpu_seconds_total",
    ] {
        assert!(!exposed.has(absent), "{absent}");
    }
}

#[test]
fn of_designs_that_disagree_there_is_no_figure() {
    let mut result = example::sampled(8);
    result.agree = Some(false);
    let exposed = parsed(&metrics_of_run(&result, 3)).unwrap();
    assert_eq!(exposed.value("stress_exit_code", &[]), 3.0);
    assert_eq!(exposed.value("stress_agree", &[]), 0.0);
    let has_design = |name: &&String| {
        exposed.0[*name].samples.iter().any(|sample| sample.labels.contains_key("design"))
    };
    assert_eq!(exposed.0.keys().find(has_design), None);
}

#[test]
fn the_metrics_of_a_gate_are_its_verdict_its_figures_and_their_bounds() {
    let mut result = example::gate::passed();
    let exposed = of_gate(&result);
    let verdict = |exposed: &Exposed, name| {
        exposed.value("stress_gate_verdict", &[("verdict", name), ("mode", "against")])
    };
    assert_eq!([verdict(&exposed, "pass"), verdict(&exposed, "regression")], [1.0, 0.0]);
    let all = exposed.0["stress_gate_verdict"].samples.iter().map(|sample| sample.value);
    assert_eq!(all.sum::<f64>(), 1.0, "one of them it is");
    let labels = [
        ("variant", "rocksdb/batched-io/bal+batched@2+64io"),
        ("store", "rocksdb"),
        ("design", "batched-io"),
        ("threads", "2"),
        ("figure", "wall"),
    ];
    let value = |name: &str| exposed.value(name, &labels);
    near(value("stress_gate_change_ratio"), 0.001);
    near(value("stress_gate_change_lower_ratio"), -0.004);
    near(value("stress_gate_change_upper_ratio"), 0.006);
    near(value("stress_gate_base_seconds"), 4.902);
    assert!(!exposed.has("stress_gate_values_to_decide"), "it is decided");
    let passes = [&labels[..], &[("verdict", "pass")]].concat();
    assert_eq!(exposed.value("stress_gate_figure_verdict", &passes), 1.0);
    let of_sample = [("variant", labels[0].1), ("design", "batched-io")];
    assert!(exposed.value("stress_sample_gas", &of_sample) > 0.0);
    result.gate.verdict = None;
    assert_eq!(verdict(&of_gate(&result), "error"), 1.0);
}

#[test]
fn the_page_explains_every_metric() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/result.md");
    let page = fs::read_to_string(page).unwrap();
    let mut run = example::sampled(8);
    for cell in &mut run.cells {
        cell.device_fraction_ci95 = Some([0.1, 0.2]);
        cell.warm_up_sample_count = Some(1);
        cell.counters = Some(Counters { store_reads: Some(1), ..Counters::default() });
        (cell.times.in_order, cell.cache.proved) = (Some(1.0), Some(true));
        for sample in &mut cell.samples {
            (sample.cpu_ns, sample.blocks_read, sample.block_bytes) = (Some(1), Some(1), Some(1));
            (sample.device_read_bytes, sample.read_syscalls) = (Some(1), Some(1));
        }
    }
    let mut gate = example::gate::passed();
    let figures = &mut gate.gate.attempts[0].cells[0].figures;
    (figures[0].samples_to_decide, figures[0].delta_to_decide) = (Some(1), Some(0.1));
    let of_metric = |metric| Judged { metric, ..figures[0].clone() };
    let all: Vec<_> = result::gate::Metric::ALL.iter().copied().map(of_metric).collect();
    *figures = all;
    let names: Vec<_> = of_run(&run).0.into_keys().chain(of_gate(&gate).0.into_keys()).collect();
    assert!(names.len() > 50, "{names:?}");
    for name in names {
        assert!(page.contains(&format!("`{name}`")), "{name} is not in docs/result.md");
    }
}

#[test]
fn a_run_without_a_result_has_its_end() {
    let exposed = parsed(&metrics_of_failure("run", 7, 6)).unwrap();
    assert_eq!(exposed.value("stress_exit_code", &[("verb", "run")]), 6.0);
    assert_eq!(exposed.value("stress_start_timestamp_seconds", &[]), 7.0);
    assert_eq!(exposed.0.len(), 2);
}

#[test]
fn a_variants_name_tells_its_store_its_design_and_its_threads() {
    let count = |n| NonZeroUsize::new(n).unwrap();
    for design in Design::ALL {
        let variant = Variant::of(*design, count(16), count(48));
        let labels = shared::variant_labels(&Labels::default(), &format!("mdbx/{variant}"));
        let expected = Labels::default()
            .with("variant", format!("mdbx/{variant}"))
            .with("store", "mdbx")
            .with("design", design.name())
            .with("threads", variant.thread_count.to_string());
        assert_eq!(labels, expected);
    }
    let client = shared::variant_labels(&Labels::default(), "client/geth");
    assert_eq!(client, Labels::default().with("variant", "client/geth"));
}

#[test]
fn a_sample_with_labels_that_are_there_already_is_left_out() {
    let mut all = Exposition::default();
    let metric = Metric("a", "Help.");
    let labels = Labels::default().with("x", "1");
    for value in [1.0, 2.0] {
        all.add(metric, &labels, value);
    }
    all.add(metric, &Labels::default(), f64::INFINITY);
    assert_eq!(all.text(), "# HELP a Help.\n# TYPE a gauge\na{x=\"1\"} 1\n");
}

#[test]
fn the_strict_reader_of_these_tests_is_strict() {
    let head = "# HELP a h\n# TYPE a gauge\n";
    for right in ["a 1\n", "a{x=\"1\"} 1\na{x=\"\\\\\\\"\\n\"} -2.5e-3\n"] {
        parsed(&format!("{head}{right}")).unwrap();
    }
    for wrong in [
        "a 1",
        "",
        "a{x=\"1} 1\n",
        "a{x=\"\"\"} 1\n",
        "a{x=\"\\t\"} 1\n",
        "a{x=\"1\",x=\"2\"} 1\n",
        "a{1=\"1\"} 1\n",
        "a 1\na 2\n",
        "b 1\n",
        "a NaN\n",
        "a\n",
        "a  1\n",
        "a 1 2\n",
    ] {
        assert!(parsed(&format!("{head}{wrong}")).is_err(), "{wrong:?}");
    }
    for wrong in ["a 1\n", "# TYPE a gauge\na 1\n", "# HELP a h\n# TYPE a counter\na 1\n"] {
        assert!(parsed(wrong).is_err(), "{wrong:?}");
    }
}

proptest! {
    #[test]
    fn any_text_of_a_result_is_the_value_of_its_label(
        scenario in "(\\PC|[\\\\\"\n{}=,# ])*",
        variant in "(\\PC|[\\\\\"\n{}=,# /@+])*",
        value in proptest::num::f64::ANY,
    ) {
        let mut result = example::typical();
        result.workload.scenario = scenario.clone();
        result.cells.truncate(1);
        result.cells[0].variant = variant.clone();
        result.cells[0].ms_per_batch.median = Some(value);
        let exposed = parsed(&metrics_of_run(&result, 0)).map_err(TestCaseError::fail)?;
        let labels = [("scenario", scenario.as_str()), ("variant", variant.as_str())];
        if value.is_finite() {
            let found = exposed.value("stress_batch_duration_median_seconds", &labels);
            let most = 1e-12 * value.abs() + f64::MIN_POSITIVE;
            prop_assert!((found - value / 1e3).abs() <= most, "{} {}", found, value);
        }
        prop_assert_eq!(exposed.value("stress_samples_total", &labels), 1.0);

        let mut result = example::gate::passed();
        result.gate.attempts[0].cells[0].variant = variant.clone();
        let exposed = parsed(&metrics_of_gate(&result, 0)).map_err(TestCaseError::fail)?;
        let of_gate = exposed.value("stress_gate_octets", &[("variant", variant.as_str())]);
        prop_assert_eq!(of_gate, 1.0);
    }
}
