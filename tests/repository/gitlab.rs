//! The job for GitLab: held against GitLab's own schema of CI files, which a Python package carries,
//! where Python is there; and, in any case, parts that the schema cannot know: its shell steps, the verbs that
//! they call, and the stages and jobs that it names.

use std::{
    collections::BTreeSet,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::OnceLock,
};

use yaml_rust2::{Yaml, YamlLoader};

use crate::sources::root;

/// The package with GitLab's schema, from its registry.
const LINTER: &str = "check-jsonschema==0.39.0";
/// Keys of a CI file that are no jobs.
const GLOBAL: [&str; 11] = [
    "default",
    "include",
    "stages",
    "variables",
    "workflow",
    "spec",
    "image",
    "services",
    "cache",
    "before_script",
    "after_script",
];
/// Stages that every pipeline has.
const ALWAYS: [&str; 2] = [".pre", ".post"];
/// Those of a file that names none.
const USUAL: [&str; 3] = ["build", "test", "deploy"];
/// Keys of a job that are lines of shell.
const SHELL: [&str; 3] = ["before_script", "script", "after_script"];

/// A test says past the harness that it is skipped: the harness keeps the output of passing tests.
fn skip(why: &str) {
    drop(writeln!(std::io::stderr(), "skipped: {why}"));
}

fn words(output: &Output) -> String {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8_lossy(&text).into_owned()
}

/// Python with these words, for five minutes at most where `timeout` is there.
fn python(words: &[&str]) -> Option<Output> {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=10", "300", "python3"]);
    let limited = command.args(words).stdin(Stdio::null()).output().ok();
    limited.or_else(|| Command::new("python3").args(words).stdin(Stdio::null()).output().ok())
}

/// The folder of the linter, installed once below the target directory; `None` where it cannot be had,
/// which is said aloud.
fn linter() -> Option<&'static PathBuf> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let install = || {
        let target = std::env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| root().join("target"), PathBuf::from);
        let folder = target.join(LINTER);
        if folder.is_dir() {
            return Some(folder);
        }
        fs::create_dir_all(&target).ok()?;
        let beside = target.join(format!("{LINTER}.{}", std::process::id()));
        let quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target"];
        let output = python(&[&quiet[..], &[beside.to_str()?, LINTER]].concat());
        match output {
            Some(output) if output.status.success() => {
                // Another process may have been faster.
                let is_there = fs::rename(&beside, &folder).is_ok() || folder.is_dir();
                drop(fs::remove_dir_all(&beside));
                is_there.then_some(folder)
            }
            other => {
                drop(fs::remove_dir_all(&beside));
                let why = other.map_or("there is no Python".to_owned(), |output| words(&output));
                skip(&format!(
                    "{LINTER} cannot be had, the job for GitLab is not held against its schema: {why}"
                ));
                None
            }
        }
    };
    FOLDER.get_or_init(install).as_ref()
}

/// The linter's complaints of a file; `None` where it cannot be had.
fn complaints(path: &Path) -> Option<String> {
    let folder = linter()?;
    let mut command = Command::new("python3");
    command.args(["-m", "check_jsonschema", "--builtin-schema", "vendor.gitlab-ci"]);
    command.args(["--data-transform", "gitlab-ci"]).arg(path);
    let output = command.env("PYTHONPATH", folder).output().expect("it was installed by Python");
    match output.status.code() {
        Some(0) => Some(String::new()),
        _ => Some(words(&output)),
    }
}

/// Files of CI for GitLab in the repository.
fn jobs_file() -> PathBuf {
    root().join("deploy/ci/gitlab.yml")
}

/// A file that goes with the test.
struct Written(PathBuf);

impl Written {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("stress-{name}-{}.yml", std::process::id()));
        fs::write(&path, text).expect("a file");
        Self(path)
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}

/// The texts of a value: itself, those of a list, and of lists in it.
fn texts(value: &Yaml) -> Vec<String> {
    match value {
        Yaml::Array(items) => items.iter().flat_map(texts).collect(),
        Yaml::String(text) => vec![text.clone()],
        _ => Vec::new(),
    }
}

/// The jobs that `needs` names: texts, or tables with a `job`.
fn needed(value: &Yaml) -> Vec<String> {
    let items = value.as_vec().map_or(&[][..], Vec::as_slice);
    let name = |item: &Yaml| item.as_str().or_else(|| item["job"].as_str()).map(str::to_owned);
    items.iter().filter_map(name).collect()
}

/// Why `bash` does not take lines of shell.
fn shell_fault(lines: &[String]) -> Option<String> {
    let mut command = Command::new("bash");
    command.args(["-n", "-s"]).stdin(Stdio::piped()).stderr(Stdio::piped()).stdout(Stdio::null());
    let mut bash = command.spawn().expect("bash starts");
    let mut input = bash.stdin.take().expect("it has one");
    input.write_all(lines.join("\n").as_bytes()).expect("bash reads");
    drop(input);
    let output = bash.wait_with_output().expect("bash ends");
    let fault = String::from_utf8_lossy(&output.stderr).into_owned();
    (!output.status.success() || !fault.is_empty()).then_some(fault)
}

/// The verbs of `deploy/ci/gate`, from the arm that carries them out.
fn verbs() -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("deploy/ci/gate")).expect("the steps");
    let arm = text.lines().find_map(|line| line.trim().strip_suffix(") \"$1\" ;;"));
    arm.expect("the arm of the verbs").split('|').map(|verb| verb.trim().to_owned()).collect()
}

/// The words that follow `deploy/ci/gate` in a line.
fn called(line: &str) -> Vec<String> {
    let after = line.split("deploy/ci/gate ").skip(1);
    let verb =
        |rest: &str| rest.chars().take_while(char::is_ascii_alphanumeric).collect::<String>();
    after.map(verb).collect()
}

/// Faults of a CI file for GitLab that its schema does not show.
fn faults(text: &str) -> Vec<String> {
    let file = match YamlLoader::load_from_str(text).as_deref() {
        Ok([file]) => file.clone(),
        Ok(files) => return vec![format!("{} documents", files.len())],
        Err(error) => return vec![error.to_string()],
    };
    let entries = file.as_hash().into_iter().flatten();
    let named = entries.filter_map(|(name, job)| Some((name.as_str()?, job)));
    let jobs: Vec<(&str, &Yaml)> = named.filter(|(name, _)| !GLOBAL.contains(name)).collect();
    let known: Vec<String> = jobs.iter().map(|(name, _)| (*name).to_owned()).collect();
    let mut stages = match texts(&file["stages"]) {
        own if own.is_empty() => USUAL.map(str::to_owned).to_vec(),
        own => own,
    };
    stages.extend(ALWAYS.map(str::to_owned));
    let mut found = Vec::new();
    for (name, job) in jobs {
        found.extend(
            faults_of_job(job, &known, &stages).iter().map(|fault| format!("{name}: {fault}")),
        );
    }
    found
}

fn faults_of_job(job: &Yaml, known: &[String], stages: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let stage = texts(&job["stage"]);
    found.extend(stage.iter().filter(|of| !stages.contains(of)).map(|of| format!("no stage {of}")));
    let named = texts(&job["extends"]).into_iter().chain(needed(&job["needs"]));
    found.extend(named.filter(|of| !known.contains(of)).map(|of| format!("no job {of}")));
    let verbs = verbs();
    for key in SHELL {
        let lines = texts(&job[key]);
        found.extend(shell_fault(&lines).map(|fault| format!("{key}: {fault}")));
        let unknown =
            lines.iter().flat_map(|line| called(line)).filter(|verb| !verbs.contains(verb));
        found.extend(unknown.map(|verb| format!("{key}: deploy/ci/gate has no verb {verb}")));
    }
    found
}

#[test]
#[ignore = "only scripts/test --all runs it"]
fn the_job_for_gitlab_keeps_to_the_schema_of_gitlab() {
    if let Some(found) = complaints(&jobs_file()) {
        assert!(found.is_empty(), "{found}");
    }
}

#[test]
#[ignore = "only scripts/test --all runs it"]
fn a_job_with_a_key_misspelled_or_a_value_that_gitlab_does_not_know_is_found() {
    let text = fs::read_to_string(jobs_file()).expect("the job");
    for (index, (from, to)) in [
        ("  artifacts:", "  artefacts:"),
        ("when: always", "when: allways"),
        ("  script:", "  scripts:"),
        ("  timeout: 2 hours", "  timeout: [2]"),
    ]
    .into_iter()
    .enumerate()
    {
        assert!(text.contains(from), "{from}");
        let wrong = Written::new(&format!("gitlab-{index}"), &text.replacen(from, to, 1));
        let Some(found) = complaints(&wrong.0) else { return };
        assert!(!found.is_empty(), "{to} is taken");
    }
}

#[test]
fn the_steps_for_gitlab_are_shell_and_name_verbs_stages_and_jobs_that_there_are() {
    let text = fs::read_to_string(jobs_file()).expect("the job");
    assert_eq!(faults(&text), [""; 0]);
    assert!(verbs().len() >= 5, "{:?}", verbs());
    let called: BTreeSet<String> =
        text.lines().filter(|line| line.trim().starts_with("- ")).flat_map(called).collect();
    assert!(called.len() >= 4, "{called:?}");
}

#[test]
fn a_step_that_is_no_shell_and_a_name_of_nothing_are_found() {
    let text = fs::read_to_string(jobs_file()).expect("the job");
    for (from, to, words) in [
        ("stage: test", "stage: tests", "no stage tests"),
        ("stage: test", "extends: .base", "no job .base"),
        ("stage: test", "needs: [prepare]", "no job prepare"),
        ("stage: test", "needs:\n    - job: prepare", "no job prepare"),
        ("deploy/ci/gate build", "deploy/ci/gate bild", "deploy/ci/gate has no verb bild"),
        ("; fi", "", "syntax error"),
        ("  script:", "\tscript:", ""),
    ] {
        let found = faults(&text.replacen(from, to, 1));
        assert!(found.iter().any(|fault| fault.contains(words)), "{to}: {found:?}");
    }
}
