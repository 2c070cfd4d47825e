//! Estimates the smallest change that a machine can detect, from a build that was compared with
//! itself. `stress gate calibrate` keeps the estimate in a file. A gate with a smaller δ only
//! warns.

use result::{
    Environment,
    gate::{CalibratedCell, Calibration, GateCell},
    stats::Trimmed,
};
use std::{env, path::PathBuf};

use super::{
    Metric,
    decide::{self, LOOKS, OCTET_COUNT_MAX, Split},
    fingerprint,
    octet::octet_differences,
};

/// Maximal estimate of δ, as a share.
const ESTIMATE_MAX: f64 = 10.0;

/// Returns the noise of each variant of a build that was compared with itself.
pub fn calibrated_cells(cells: &[GateCell]) -> Vec<CalibratedCell> {
    cells.iter().filter_map(calibrated_cell).collect()
}

/// Returns the noise of a variant: the standard error of its estimated change, and the smallest δ
/// that can be decided with it. `None` for fewer than six octets.
fn calibrated_cell(cell: &GateCell) -> Option<CalibratedCell> {
    let differences = |octet| octet_differences(octet, Metric::Wall, cell.samples_per_slot);
    let octets: Vec<_> = cell.octets.iter().filter_map(differences).collect();
    let (new, null) = decide::estimates(&octets)?;
    // Both estimates are of a build against itself. The one with the larger error is safer.
    let spread = if new.error > null.error { new } else { null };
    Some(CalibratedCell {
        variant: cell.variant.clone(),
        base_ns: cell.figures.first().map_or(0, |figure| figure.base),
        error: spread.error.exp_m1(),
        smallest_delta: smallest_delta(&spread),
    })
}

/// Returns the smallest δ at which about nine of ten runs pass, with this error of B and of the
/// null.
fn smallest_delta(spread: &Trimmed) -> f64 {
    let split = Split { judged_count: 1, look_count: LOOKS.len() };
    decide::smallest_delta(spread, spread, split).min(ESTIMATE_MAX)
}

/// Returns a warning if `delta` is smaller than the machine can detect for `variant`, or if the
/// calibration is of another machine.
pub fn warning(
    calibration: &Calibration,
    variant: &str,
    delta: f64,
    environment: &Environment,
) -> Option<String> {
    let other = fingerprint::differences(&calibration.environment, environment);
    if !other.is_empty() {
        return Some(format!(
            "the calibration is of another machine ({}): run `stress gate calibrate` here",
            other.join(", ")
        ));
    }
    let spread = calibration.cells.iter().find(|cell| cell.variant == variant)?;
    (spread.smallest_delta > delta).then(|| {
        format!(
            "{variant}: --delta is {:.1} %, and in {OCTET_COUNT_MAX} octets this machine decides \
             {:.1} % by its calibration; give a larger --delta, or make it quieter",
            delta * 100.0,
            spread.smallest_delta * 100.0
        )
    })
}

/// Returns the default path of this user's calibration.
pub fn default_path() -> Option<PathBuf> {
    let state = absolute_path("XDG_STATE_HOME")
        .or_else(|| Some(absolute_path("HOME")?.join(".local").join("state")))?;
    Some(state.join("stress").join("calibration.json"))
}

/// Returns the value of a variable, if it is an absolute path.
fn absolute_path(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use result::example;

    use super::*;

    fn trimmed(error: f64) -> Trimmed {
        Trimmed { mean: 0.0, error, freedom: 7.0 }
    }

    #[test]
    fn a_noisier_machine_decides_less_and_a_silent_one_all() {
        let deltas = [0.0, 0.001, 0.002, 0.01].map(|error| smallest_delta(&trimmed(error)));
        assert_eq!(deltas[0], 0.0);
        assert!(deltas.is_sorted(), "{deltas:?}");
        // 1.645 √2 + 2.841 + 3.499 standard errors: the sum of the estimates, and both reaches.
        assert!((deltas[1] - 8.667e-3).abs() < 1e-4, "{deltas:?}");
    }

    #[test]
    fn a_delta_below_what_can_be_decided_is_told_and_another_machine_too() {
        let here = example::environment();
        let cells = vec![CalibratedCell {
            variant: "memory/x".to_owned(),
            base_ns: 1,
            error: 0.01,
            smallest_delta: 0.1,
        }];
        let calibration = Calibration::new(0, here.clone(), "0x".to_owned(), Vec::new(), cells);
        let told = warning(&calibration, "memory/x", 0.03, &here).unwrap();
        assert!(told.contains("3.0 %") && told.contains("10.0 %"), "{told}");
        assert_eq!(warning(&calibration, "memory/x", 0.11, &here), None);
        assert_eq!(warning(&calibration, "memory/y", 0.03, &here), None);
        let mut elsewhere = here.clone();
        elsewhere.cpu.model = Some("y".to_owned());
        let there = warning(&calibration, "memory/x", 0.11, &elsewhere);
        assert!(there.is_some_and(|warning| warning.contains("another machine")));
    }

    #[test]
    fn a_file_that_is_no_calibration_is_an_error_and_none_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("c.json");
        assert_eq!(Calibration::read(&path).unwrap(), None);
        fs::write(&path, "{\"schema\": \"stress.ca").unwrap();
        assert!(format!("{:#}", Calibration::read(&path).unwrap_err()).contains("no calibration"));
        let here = example::environment();
        let mut other = Calibration::new(0, here, String::new(), Vec::new(), Vec::new());
        other.schema = "stress.calibration/9".to_owned();
        fs::write(&path, serde_json::to_string(&other).unwrap()).unwrap();
        let error = format!("{:#}", Calibration::read(&path).unwrap_err());
        assert!(error.contains("stress.calibration/9"), "{error}");
    }
}
