//! Compares a client with our designs on many scenarios (`stress client rank`). Processes of this
//! program export and run each scenario, one after the other. Each result has its own directory.
//! The same command resumes an interrupted calibration.

use std::{
    ffi::OsString,
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use report::{Calibrated, UnfinishedWorkload};
use result::{Shown, Stored};
use serde_json::{Value, json};
use spec::{Override, Scenario, shipped};

use super::StartFile;
use crate::{
    machine::{
        child::{self, Ended},
        environment,
    },
    terminal::{self, Code, Failure, WithExitCode, exit::fail, interrupt},
};

/// Name of the file with the settings of a calibration, in the calibration's directory.
const MANIFEST: &str = "calibrate-against.json";
const PAGE: &str = "calibration.html";
/// Forms in which each scenario is exported. `rows` is for a state that is too large for a
/// `genesis.json`.
const FORMS: &str = "engine,rows";
/// Prefix of the names of twins of official tests.
const OFFICIAL: &str = "official/";

/// Settings of a calibration, and its directory.
#[derive(Clone, Debug)]
pub struct CalibrateInput {
    /// Names of shipped scenarios. If empty: all twins and storms.
    pub scenarios: Vec<String>,
    /// Overrides of the scenarios' work. A scenario leaves out an override that it does not take.
    pub work: Vec<Override>,
    pub start: StartFile,
    /// Number of siblings of each exported block: one for each sample, and one for a warm-up.
    pub sibling_count: u64,
    /// Options of `stress client` for each scenario, without the export's directory and `--out`.
    pub client: Vec<OsString>,
    pub out: PathBuf,
}

#[derive(Debug)]
pub struct CalibrationResult {
    /// The results of all scenarios that have one, also the finished parts of interrupted runs.
    pub results: Vec<Shown>,
    /// The scenarios without a whole result.
    pub unfinished: Vec<UnfinishedWorkload>,
    pub code: Code,
    pub page: PathBuf,
}

impl CalibrationResult {
    /// Returns the facts for the report.
    pub fn calibrated(&self) -> Calibrated<'_> {
        Calibrated { results: &self.results, unfinished: &self.unfinished }
    }
}

impl CalibrateInput {
    /// Runs all scenarios that have no result yet.
    ///
    /// # Errors
    /// A scenario is not known, or no scenario takes an override. The directory cannot be written,
    /// belongs to another calibration, or is in use.
    pub fn run(&self) -> Result<CalibrationResult, Failure> {
        let names = self.names().with_exit_code(Code::Usage)?;
        self.check_overrides(&names).with_exit_code(Code::Usage)?;
        let _lock = self.claim()?;
        let page = self.out.join(PAGE);
        // On an interrupt a child process ends first, and this process shows the table after that.
        let _hold = interrupt::hold();
        let (results, unfinished) = (Vec::new(), Vec::new());
        let mut calibration = CalibrationResult { results, unfinished, code: Code::Fine, page };
        for (index, name) in names.iter().enumerate() {
            if interrupt::happened() {
                calibration.code = Code::Interrupted;
                break;
            }
            terminal::note(&format!("{name} ({} of {})", index + 1, names.len()));
            let left_out = self.overrides_of(name).left_out;
            for (given, _) in &left_out {
                terminal::note(&format!("{name} does not take {}", given.origin));
            }
            self.add(name, &mut calibration)?;
            let html = report::html::calibration(&calibration.calibrated());
            report::replace(&calibration.page, html.as_bytes()).with_exit_code(Code::Io)?;
        }
        if calibration.code == Code::Interrupted {
            interrupt::hold_to_end();
            terminal::note(&format!(
                "interrupted: {} of {} scenarios have figures; the same command goes on",
                calibration.results.len(),
                names.len()
            ));
        }
        Ok(calibration)
    }

    /// Adds a scenario: its existing result, or a new result.
    fn add(&self, name: &str, calibration: &mut CalibrationResult) -> Result<(), Failure> {
        let dir = self.out.join(name);
        let outcome =
            if has_whole_result(&dir) { Outcome::Whole } else { self.measure(name, &dir)? };
        // A run that ended early keeps its finished part, and the report shows that part.
        if let Ok(stored) = Stored::read(&dir)
            && !stored.result.clients.is_empty()
        {
            calibration.results.push(stored.into());
        }
        match outcome {
            Outcome::Whole => {}
            Outcome::Interrupted => calibration.code = Code::Interrupted,
            Outcome::Failed { step, ended } => {
                let reason = format!("stress {step}: {}", ended.describe());
                calibration
                    .unfinished
                    .push(UnfinishedWorkload { scenario: name.to_owned(), reason });
                let is_wrong = ended == Ended::Code(Code::Disagree as i32);
                calibration.code = match is_wrong || calibration.code == Code::Disagree {
                    true => Code::Disagree,
                    false => Code::Io,
                };
            }
        }
        Ok(())
    }

    /// Exports a scenario and runs it on the client and in our designs.
    fn measure(&self, name: &str, dir: &Path) -> Result<Outcome, Failure> {
        let export = dir.with_extension("export");
        for leftover in [dir, &export].into_iter().filter(|leftover| leftover.exists()) {
            let removed = fs::remove_dir_all(leftover);
            removed.with_context(|| leftover.display().to_string()).with_exit_code(Code::Io)?;
        }
        let siblings = self.sibling_count.to_string();
        let mut words: Vec<OsString> =
            ["export", "--scenario", name, "--siblings", &siblings, "--format", FORMS, "--out"]
                .map(OsString::from)
                .to_vec();
        words.push(export.clone().into());
        for given in self.overrides_of(name).taken {
            words.extend(["--set".into(), format!("{}={}", given.key, given.value).into()]);
        }
        if let Some(outcome) = step("export", words)? {
            return Ok(outcome);
        }
        let mut words: Vec<OsString> = vec!["client".into(), export.clone().into()];
        words.extend(self.client.iter().cloned());
        words.extend(["--out".into(), dir.into()]);
        let outcome = step("client", words)?;
        let removed = fs::remove_dir_all(&export);
        removed.with_context(|| export.display().to_string()).with_exit_code(Code::Io)?;
        Ok(outcome.unwrap_or(Outcome::Whole))
    }

    /// Returns the overrides that a scenario takes: for instance, transfers have no slots.
    fn overrides_of(&self, name: &str) -> ScenarioOverrides {
        let text = shipped::find(name).unwrap_or_default();
        let mut overrides = ScenarioOverrides::default();
        for given in &self.work {
            let more = [&overrides.taken[..], std::slice::from_ref(given)].concat();
            match Scenario::parse(name, text, &more) {
                Ok(_) => overrides.taken = more,
                Err(error) => overrides.left_out.push((given.clone(), error.to_string())),
            }
        }
        overrides
    }

    /// Refuses an override that no scenario takes, as it is a mistake.
    fn check_overrides(&self, names: &[String]) -> Result<()> {
        let all: Vec<_> = names.iter().map(|name| self.overrides_of(name)).collect();
        for given in &self.work {
            if all.iter().any(|overrides| overrides.taken.contains(given)) {
                continue;
            }
            let mut errors = all.iter().flat_map(|overrides| &overrides.left_out);
            if let Some((_, error)) = errors.find(|(other, _)| other == given) {
                bail!("{error}\nno scenario of this calibration takes {}", given.origin);
            }
        }
        Ok(())
    }

    fn names(&self) -> Result<Vec<String>> {
        if self.scenarios.is_empty() {
            return Ok(twins_and_storms());
        }
        let names = self.scenarios.iter().map(|given| {
            let known = [given.clone(), format!("{OFFICIAL}{given}")];
            known.into_iter().find(|name| shipped::find(name).is_some()).with_context(|| {
                format!("{given}: no shipped scenario; `stress list` shows their names")
            })
        });
        names.collect()
    }

    /// Makes the directory, or checks that it belongs to the same calibration. The returned file
    /// locks the directory against other processes.
    fn claim(&self) -> Result<File, Failure> {
        let out = &self.out;
        let cannot = || format!("--out {}: cannot be written", out.display());
        fs::create_dir_all(out).with_context(cannot).with_exit_code(Code::Io)?;
        let own = self.manifest();
        let path = out.join(MANIFEST);
        match fs::read(&path) {
            Ok(text) if serde_json::from_slice::<Value>(&text).is_ok_and(|there| there == own) => {}
            Ok(_) => {
                fail!(
                    Code::Usage,
                    "--out {}: holds a calibration with other settings, or of another program or start \
                     file ({MANIFEST}); name another directory",
                    out.display()
                );
            }
            // The verb removes results in its directory, so a new one must not have other files.
            Err(_) => {
                let mut files = fs::read_dir(out).with_context(cannot).with_exit_code(Code::Io)?;
                if files.next().is_some() {
                    fail!(
                        Code::Usage,
                        "--out {}: has files and is of no calibration (there is no {MANIFEST}); \
                         name an empty or a new directory",
                        out.display()
                    );
                }
                let text = format!("{own:#}\n");
                report::replace(&path, text.as_bytes())
                    .with_context(cannot)
                    .with_exit_code(Code::Io)?;
            }
        }
        let lock = File::open(&path).with_context(cannot).with_exit_code(Code::Io)?;
        match lock.try_lock() {
            Ok(()) => Ok(lock),
            Err(TryLockError::WouldBlock) => {
                fail!(
                    Code::Usage,
                    "--out {}: another calibration runs in it; wait for its end, or name another \
                     directory",
                    out.display()
                )
            }
            Err(TryLockError::Error(error)) => {
                Err(error).with_context(cannot).with_exit_code(Code::Io)
            }
        }
    }

    /// Returns the settings on which the figures depend.
    fn manifest(&self) -> Value {
        let work = self.work.iter().map(|given| format!("{} = {}", given.key, given.value));
        let words = self.client.iter().map(|word| word.to_string_lossy().into_owned());
        json!({
            "program": environment::build().binary_hash,
            "start_file": self.start,
            "work": work.collect::<Vec<_>>(),
            "siblings": self.sibling_count,
            "client": words.collect::<Vec<_>>(),
        })
    }
}

/// Overrides that a scenario takes, and the other overrides, each with the error that it causes.
#[derive(Debug, Default)]
struct ScenarioOverrides {
    taken: Vec<Override>,
    left_out: Vec<(Override, String)>,
}

enum Outcome {
    Whole,
    Interrupted,
    Failed { step: &'static str, ended: Ended },
}

/// Runs the verb `name` in its own process. Returns `None` if it succeeded.
fn step(name: &'static str, words: Vec<OsString>) -> Result<Option<Outcome>, Failure> {
    let ended = child::run_bound(&words).with_exit_code(Code::Io)?;
    Ok(match ended {
        Ended::Code(0) => None,
        _ if interrupt::happened() => Some(Outcome::Interrupted),
        ended => Some(Outcome::Failed { step: name, ended }),
    })
}

/// Whether a directory has a whole result, which is not measured again.
fn has_whole_result(dir: &Path) -> bool {
    Stored::read(dir).is_ok_and(|Stored { result, .. }| {
        !result.interrupted && result.is_sound() && !result.clients.is_empty()
    })
}

/// Returns the names of the twins of official benchmark tests, and of the scenarios that have only
/// storms.
fn twins_and_storms() -> Vec<String> {
    let all = shipped::all().iter().filter(|(name, text)| {
        name.starts_with(OFFICIAL)
            || Scenario::parse(name, text, &[])
                .is_ok_and(|scenario| scenario.loads.iter().all(|load| load.kind.is_storm()))
    });
    all.map(|(name, _)| (*name).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(scenarios: &[&str], out: &Path) -> CalibrateInput {
        let of = |key: &str, value: &str| Override::new(key, value, key);
        CalibrateInput {
            scenarios: scenarios.iter().map(|name| (*name).to_owned()).collect(),
            work: vec![of("block.gas", "20M"), of("state.slots", "60k")],
            start: StartFile::load("geth").unwrap(),
            sibling_count: 3,
            client: vec!["--client".into(), "geth".into()],
            out: out.to_owned(),
        }
    }

    #[test]
    fn twins_and_storms_are_meant_where_nothing_is_named_and_a_twin_needs_no_prefix() {
        let dir = tempfile::tempdir().unwrap();
        let all = input(&[], dir.path()).names().unwrap();
        assert!(all.contains(&"sload-storm".to_owned()) && !all.contains(&"erc20".to_owned()));
        let twins = shipped::all().iter().filter(|(name, _)| name.starts_with(OFFICIAL));
        assert!(twins.clone().count() > 0);
        for (name, _) in twins {
            assert!(all.contains(&(*name).to_owned()), "{name}");
        }
        let named = input(&["test_sload_bloated", "transfers"], dir.path()).names().unwrap();
        assert_eq!(named, ["official/test_sload_bloated", "transfers"]);
        let error = input(&["sload"], dir.path()).names().unwrap_err().to_string();
        assert!(error.contains("sload:") && error.contains("stress list"), "{error}");
    }

    #[test]
    fn a_directory_is_of_one_calibration() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        input(&[], &out).claim().unwrap();
        let held = input(&["transfers"], &out).claim().unwrap();
        let error = input(&["transfers"], &out).claim().unwrap_err();
        assert!(error.to_string().contains("another calibration runs"), "{error}");
        drop(held);
        let mut other = input(&[], &out);
        other.work[0].value = "30M".to_owned();
        let error = other.claim().unwrap_err();
        assert_eq!(error.code, Code::Usage);
        assert!(error.to_string().contains("other settings"), "{error}");
        let mut other = input(&[], &out);
        other.start.env.insert("GOGC".to_owned(), "50".to_owned());
        assert!(other.claim().is_err());
    }

    #[test]
    fn an_override_is_left_out_where_a_scenario_does_not_take_it_and_refused_where_none_does() {
        let dir = tempfile::tempdir().unwrap();
        let mut input = input(&[], dir.path());
        input.work.push(Override::new("load.overlap", "all", "--set load.overlap=all"));
        let of = input.overrides_of("transfers");
        let keys =
            |given: &[Override]| given.iter().map(|given| given.key.clone()).collect::<Vec<_>>();
        let left_out: Vec<Override> = of.left_out.into_iter().map(|(given, _)| given).collect();
        assert_eq!(keys(&of.taken), ["block.gas", "state.slots"]);
        assert_eq!(keys(&left_out), ["load.overlap"]);
        let names =
            |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        input.check_overrides(&names(&["transfers", "sload-storm"])).unwrap();
        let error = input.check_overrides(&names(&["transfers"])).unwrap_err().to_string();
        assert!(error.contains("--set load.overlap"), "{error}");
    }
}
