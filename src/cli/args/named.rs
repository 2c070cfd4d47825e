//! Finds the work that the user means: a scenario or a workload file, by its name alone or by an
//! option. All verbs that run or describe a work call it.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use anyhow::{Result, bail};
use clap::Args;
use spec::{Override, RunSpec, Scenario, shipped};
use variant::{Design, Named, Schedule, StoreKind};

use super::overrides::{HowArgs, WorkArgs};
use crate::{
    run::{
        minimal,
        prepare::{self, Size},
    },
    terminal::{Code, Failure, WithExitCode, exit::fail},
};

/// Ending of workload files.
const WORKLOAD_ENDING: &str = "workload";
/// Ending of scenario files.
const SCENARIO_ENDING: &str = "toml";

/// The work that the user names, before it is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkName {
    /// The scenario of this name or path.
    Scenario(String),
    /// A workload file.
    Workload(PathBuf),
}

/// Returns the work that is named by words without an option, by `--scenario` or by `--workload`.
///
/// # Errors
/// The user names several works, names a file by the option of the other kind, or writes a space in
/// a list of values.
pub fn work_name(
    words: &[OsString],
    scenario: Option<&str>,
    workload: Option<&Path>,
) -> Result<Option<WorkName>> {
    if let Some(word) = words.iter().find(|word| is_list_value(word)) {
        let word = word.display();
        bail!(
            "{word}: this is neither a scenario nor a file; values of an option are separated by a \
                 comma, without a space, as in --store rocksdb,mdbx or --threads 1,2"
        );
    }
    if let Some(path) = scenario.filter(|path| has_ending(Path::new(path), WORKLOAD_ENDING)) {
        bail!("--scenario {path}: this is a workload file; write --workload {path}");
    }
    if let Some(path) = workload.filter(|path| has_ending(path, SCENARIO_ENDING)) {
        let path = path.display();
        bail!("--workload {path}: this is a scenario; write --scenario {path}");
    }
    let by_words = words.iter().map(WorkName::from_word).collect::<Result<Vec<_>>>()?;
    let scenario = scenario.map(|name| WorkName::Scenario(name.to_owned()));
    let workload = workload.map(|path| WorkName::Workload(path.to_owned()));
    let mut all = scenario.into_iter().chain(workload).chain(by_words);
    let first = all.next();
    match (&first, all.next()) {
        (Some(first), Some(second)) => bail!(
            "{}: {} is named already; name one scenario or one workload file",
            second.text(),
            first.text()
        ),
        _ => Ok(first),
    }
}

impl WorkName {
    fn from_word(word: &OsString) -> Result<Self> {
        match (has_ending(Path::new(word), WORKLOAD_ENDING), word.to_str()) {
            (true, _) => Ok(Self::Workload(word.into())),
            (false, Some(name)) => Ok(Self::Scenario(name.to_owned())),
            (false, None) => bail!(
                "{}: the name and the path of a scenario are UTF-8; rename the file, or a link to it",
                word.display()
            ),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Scenario(name) => name.clone(),
            Self::Workload(path) => path.display().to_string(),
        }
    }
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|own| own == ending)
}

/// Whether a word is a value of an option that takes a list, and is no scenario. A space after a
/// comma makes such a word.
fn is_list_value(word: &OsStr) -> bool {
    let Some(word) = word.to_str() else { return false };
    let is_name = StoreKind::from_name(word).is_some()
        || Design::from_name(word).is_some()
        || Schedule::from_name(word).is_some();
    (is_name || word.parse::<u64>().is_ok()) && shipped::find(word).is_none()
}

/// A scenario with its overrides, for verbs that run nothing.
#[derive(Debug, Args)]
pub struct ScenarioArgs {
    /// A shipped scenario's name, or the path of a scenario file
    #[arg(value_name = "NAME|FILE")]
    pub words: Vec<OsString>,
    /// The same as NAME|FILE, as `stress run` takes it
    #[arg(long, value_name = "NAME|FILE")]
    pub scenario: Option<String>,
    /// A small state and block, as of a run with --quick
    #[arg(long)]
    pub quick: bool,
    /// The workload
    #[command(flatten)]
    pub work: WorkArgs,
    /// How it is run
    #[command(flatten)]
    pub how: HowArgs,
}

/// The loaded work of a verb that also takes a workload file.
#[derive(Debug)]
pub enum NamedWork {
    /// A scenario with its overrides.
    Scenario(Box<Scenario>),
    /// A workload file, and the settings of its run.
    File(PathBuf, Box<RunSpec>),
}

impl NamedWork {
    /// Returns the settings of the run.
    pub const fn run(&self) -> &RunSpec {
        match self {
            Self::Scenario(scenario) => &scenario.run,
            Self::File(_, run) => run,
        }
    }
}

impl ScenarioArgs {
    /// Returns the work of a verb with `--workload`; `None` if the user names no work.
    ///
    /// # Errors
    /// The errors of [`work_name`], or an override is not valid.
    pub fn work(&self, workload: Option<&Path>) -> Result<Option<NamedWork>, Failure> {
        Ok(match self.work_name(workload).with_exit_code(Code::Usage)? {
            Some(WorkName::Scenario(name)) => {
                Some(NamedWork::Scenario(Box::new(self.load_by_name(&name)?)))
            }
            Some(WorkName::Workload(path)) => {
                let mut how = self.how.overrides();
                how.extend(self.work.beside_file().with_exit_code(Code::Usage)?);
                let run = minimal::default_run(&how).with_exit_code(Code::Usage)?;
                Some(NamedWork::File(path, Box::new(run)))
            }
            None => None,
        })
    }

    /// Returns the named work, which may be a workload file.
    ///
    /// # Errors
    /// The errors of [`work_name`].
    pub fn work_name(&self, workload: Option<&Path>) -> Result<Option<WorkName>> {
        work_name(&self.words, self.scenario.as_deref(), workload)
    }

    /// Loads the named scenario with its overrides.
    ///
    /// # Errors
    /// No scenario is named, or the scenario is not valid.
    pub fn load(&self) -> Result<Scenario, Failure> {
        match self.work_name(None).with_exit_code(Code::Usage)? {
            Some(WorkName::Scenario(name)) => self.load_by_name(&name),
            Some(WorkName::Workload(path)) => {
                let path = path.display();
                fail!(
                    Code::Usage,
                    "{path}: this is a workload file, and a scenario is wanted; `stress describe \
                     --workload {path}` shows its contents"
                )
            }
            None => {
                fail!(
                    Code::Usage,
                    "no scenario is named: give NAME|FILE, one of `stress list` or a path"
                )
            }
        }
    }

    /// Loads the scenario of this name or path, with its overrides. The path of a file in the
    /// current directory needs no `./`.
    ///
    /// # Errors
    /// The scenario is not valid.
    pub fn load_by_name(&self, name: &str) -> Result<Scenario, Failure> {
        let is_here = shipped::find(name).is_none() && !name.contains('/');
        let path = (is_here && Path::new(name).exists()).then(|| format!("./{name}"));
        let size = if self.quick { Size::Quick } else { Size::Stated };
        prepare::scenario(path.as_deref().unwrap_or(name), self.overrides()?, size)
    }

    fn overrides(&self) -> Result<Vec<Override>, Failure> {
        let mut overrides = self.work.overrides().with_exit_code(Code::Usage)?;
        overrides.extend(self.how.overrides());
        Ok(overrides)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    fn work_name(words: &[&str], scenario: Option<&str>, workload: Option<&str>) -> Result<String> {
        let words: Vec<_> = words.iter().map(OsString::from).collect();
        let workload = workload.map(Path::new);
        let name = super::work_name(&words, scenario, workload)?;
        Ok(name.map_or_else(String::new, |name| format!("{name:?}")))
    }

    fn refused(words: &[&str], scenario: Option<&str>, workload: Option<&str>) -> String {
        work_name(words, scenario, workload).unwrap_err().to_string()
    }

    #[test]
    fn a_word_is_a_workload_file_by_its_ending_and_a_scenario_otherwise() {
        assert_eq!(work_name(&[], None, None).unwrap(), "");
        assert_eq!(work_name(&["my.toml"], None, None).unwrap(), "Scenario(\"my.toml\")");
        assert_eq!(work_name(&["erc20"], None, None).unwrap(), "Scenario(\"erc20\")");
        assert_eq!(work_name(&["a/b.workload"], None, None).unwrap(), "Workload(\"a/b.workload\")");
        assert_eq!(work_name(&[], Some("erc20"), None).unwrap(), "Scenario(\"erc20\")");
        assert_eq!(work_name(&[], None, Some("b")).unwrap(), "Workload(\"b\")");
    }

    #[test]
    fn a_workload_file_may_have_a_name_that_is_no_text_and_a_scenario_may_not() {
        let of = |bytes: &[u8]| {
            let words = [OsString::from_vec(bytes.to_vec())];
            super::work_name(&words, None, None)
        };
        let file = of(b"\xff.workload").unwrap();
        assert_eq!(
            file,
            Some(WorkName::Workload(OsString::from_vec(b"\xff.workload".to_vec()).into()))
        );
        let error = of(b"\xff.toml").unwrap_err().to_string();
        assert!(error.starts_with("\u{fffd}.toml") && error.contains("UTF-8"), "{error}");
    }

    #[test]
    fn each_mistake_is_told_with_what_to_write() {
        for word in ["mdbx", "batched-io", "gas-limit", "16"] {
            let error = refused(&[word], Some("erc20"), None);
            assert!(error.starts_with(word) && error.contains("a comma"), "{error}");
            assert!(refused(&["my.toml", word], None, None).contains("a comma"));
        }
        assert!(refused(&["a", "b"], None, None).starts_with("b: a is named already"));
        assert!(refused(&["a"], None, Some("b")).starts_with("a: b is named already"));
        let error = refused(&[], Some("x.workload"), None);
        assert!(error.ends_with("write --workload x.workload"), "{error}");
        let error = refused(&[], None, Some("x.toml"));
        assert!(error.ends_with("write --scenario x.toml"), "{error}");
    }
}
