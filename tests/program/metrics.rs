//! Figures for Prometheus as a user gets them: a valid file at every end, with the exit code of the
//! program.

use std::{fs, path::Path};

use serde_json::Value;

use crate::{
    exposed::{Exposed, parsed},
    tool::{RUN, printed, stress, text},
};

/// Two designs, two samples each, without notes.
const HOW: [&str; 8] = [
    "--design",
    "sequential,batched-io",
    "--threads",
    "2",
    "--samples",
    "2",
    "--quiet",
    "--whole=none",
];

fn read(dir: &Path, name: &str) -> Exposed {
    parsed(&fs::read_to_string(dir.join(name)).unwrap()).unwrap()
}

#[test]
fn a_run_leaves_its_figures_with_the_labels_of_each_cell() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let args = [&RUN[..], &HOW, &["--format", "json", "--metrics", "stress.prom"]].concat();
    let result: Value = serde_json::from_str(&printed(&args, dir)).unwrap();
    let exposed = read(dir, "stress.prom");
    assert_eq!(exposed.value("stress_exit_code", &[("verb", "run")]), 0.0);
    let cells = result["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2);
    for cell in cells {
        let word = |key: &str| cell[key].as_str().unwrap();
        let threads = cell["threads"].to_string();
        let labels = [
            ("scenario", "sload-storm"),
            ("variant", word("variant")),
            ("store", word("store")),
            ("design", word("design")),
            ("threads", threads.as_str()),
        ];
        let seconds = exposed.value("stress_batch_duration_median_seconds", &labels);
        let ms = cell["ms_per_batch"]["median"].as_f64().unwrap();
        assert!((seconds * 1e3 - ms).abs() < 1e-9 * ms, "{seconds} {ms}");
        let gas = exposed.value("stress_gas_total", &labels);
        assert_eq!(gas, 2.0 * result["workload"]["gas"].as_f64().unwrap());
    }
    let left = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(left.filter(|name| name.to_string_lossy().starts_with('.')).count(), 0);
}

#[test]
fn a_program_that_fails_leaves_its_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    fs::write(dir.join("stress.prom"), "of the run before").unwrap();
    let args = ["--scenario", "sload-strom", "--metrics", "stress.prom", "--force"];
    let output = stress(&args, dir);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert_eq!(read(dir, "stress.prom").value("stress_exit_code", &[("verb", "run")]), 2.0);
    let output = stress(&["gate", "sload-storm", "--metrics", "gate.prom"], dir);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert_eq!(read(dir, "gate.prom").value("stress_exit_code", &[("verb", "gate")]), 2.0);
    // A file that cannot be written is told before the work, and once.
    for (file, words) in [("/nowhere/x.prom", "/nowhere/x.prom"), (".", "directory")] {
        let output = stress(&[&RUN[..], &HOW, &["--metrics", file]].concat(), dir);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(6), "{error}");
        assert!(error.contains("--metrics") && error.contains(words), "{error}");
        assert!(output.stdout.is_empty() && error.matches("error:").count() == 1, "{error}");
    }
    let calibrate = ["gate", "calibrate", "sload-storm", "--metrics", "x.prom"];
    let output = stress(&calibrate, dir);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

#[test]
fn a_gate_leaves_its_verdict_and_its_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    printed(&[&RUN[..], &HOW, &["--out", "out"]].concat(), dir);
    let stored = ["--baseline", "out", "--result", "out/result.json", "--metrics", "gate.prom"];
    let output = stress(&[&["gate", "--format", "json"], &stored[..]].concat(), dir);
    let code = f64::from(output.status.code().unwrap());
    let exposed = read(dir, "gate.prom");
    assert_eq!(exposed.value("stress_exit_code", &[("verb", "gate")]), code);
    let verdicts = &exposed.0["stress_gate_verdict"].samples;
    assert_eq!(verdicts.iter().map(|sample| sample.value).sum::<f64>(), 1.0, "{verdicts:?}");
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let verdict = result["gate"]["verdict"].as_str().unwrap();
    assert_eq!(exposed.value("stress_gate_verdict", &[("verdict", verdict)]), 1.0);
}
