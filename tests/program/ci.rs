//! The gate in continuous integration. Runs the steps of the workflow (`deploy/ci/gate`) as a
//! runner does, on a local repository with a target branch and a pull request.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    machine::{self, STRESS},
    tool::text,
};

const STEPS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/ci/gate");

/// How the user makes the program that is judged: it starts stress as `how` says. Neither that
/// command nor the program finds a token or a file of the runner.
const PREPARE: &str = "[ -z \"${GITHUB_OUTPUT:-}${STRESS_NOTE_TOKEN:-}\" ] && \
     printf '#!/bin/sh\\n[ -z \"$GITHUB_OUTPUT$STRESS_NOTE_TOKEN\" ] && %s exec \"$REAL\" \"$@\"\\n' \
     \"$(cat how)\" > mine && chmod +x mine";

/// A user's repository, a checkout of each of two commits, and a runner's folder.
struct Runner {
    dir: TempDir,
    target_commit: String,
}

impl Runner {
    /// A repository in which `change` makes a pull request out of the target branch.
    fn new(change: impl FnOnce(&Path)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let caller = at("caller");
        fs::create_dir(&caller).unwrap();
        git(&caller, &["init", "--quiet", "--initial-branch", "main"]);
        fs::write(caller.join("how"), "").unwrap();
        let scenario =
            fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/sload-storm.toml"));
        fs::write(caller.join("storm.toml"), scenario.unwrap()).unwrap();
        commit(&caller, "target");
        let target_commit = git(&caller, &["rev-parse", "HEAD"]);
        git(&caller, &["checkout", "--quiet", "-b", "change"]);
        change(&caller);
        commit(&caller, "change");
        for (name, what) in [("head", "change"), ("base", target_commit.as_str())] {
            git(
                &caller,
                &["worktree", "add", "--quiet", "--detach", at(name).to_str().unwrap(), what],
            );
        }
        Self { dir, target_commit }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs a step of the script `steps` with these settings.
    fn step_of(&self, steps: &Path, verb: &str, settings: &[(&str, &str)]) -> Output {
        let mut command = Command::new(steps);
        command.arg(verb).current_dir(self.dir.path()).env("REAL", STRESS);
        for (name, _) in std::env::vars().filter(|(name, _)| {
            ["GITHUB_", "CI_", "STRESS_"].iter().any(|ours| name.starts_with(ours))
        }) {
            command.env_remove(name);
        }
        command.env("STRESS_BINARY", STRESS).env("STRESS_NAME", "evm");
        for (name, folder) in
            [("HEAD", "head"), ("BASE", "base"), ("WORK", "work"), ("DATA_DIR", "data")]
        {
            command.env(format!("STRESS_{name}"), self.path(folder));
        }
        command.env("GITHUB_OUTPUT", self.path("outputs"));
        command.env("GITHUB_STEP_SUMMARY", self.path("step-summary"));
        command.env("XDG_STATE_HOME", self.path("state"));
        command.envs(settings.iter().copied());
        machine::output(&mut command)
    }

    fn step(&self, verb: &str, settings: &[(&str, &str)]) -> Output {
        self.step_of(Path::new(STEPS), verb, settings)
    }

    /// Runs a step that must succeed.
    fn done(&self, verb: &str, settings: &[(&str, &str)]) {
        let output = self.step(verb, settings);
        assert!(output.status.success(), "{verb}: {}", text(&output.stderr));
    }

    /// Runs a step that must fail with this code and these words.
    fn refused(&self, verb: &str, settings: &[(&str, &str)], words: &str) {
        let output = self.step(verb, settings);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{verb}: {error}");
        assert!(error.contains(words), "{words:?} is not in: {error}");
    }

    /// The results that are kept.
    fn results(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(self.path("work/out")).unwrap().map(|file| file.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|of| of == "json")).collect()
    }

    /// An output of the steps so far.
    fn output(&self, name: &str) -> Option<String> {
        let all = fs::read_to_string(self.path("outputs")).unwrap_or_default();
        let of = |line: &str| line.strip_prefix(&format!("{name}=")).map(str::to_owned);
        all.lines().filter_map(of).next_back()
    }
}

fn git(folder: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(args);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    text(&output.stdout).trim().to_owned()
}

fn commit(folder: &Path, message: &str) {
    git(folder, &["add", "--all"]);
    let author = ["-c", "user.name=user", "-c", "user.email=user@example.org"];
    let args = ["commit", "--quiet", "--allow-empty", "-m", message];
    git(folder, &[&author[..], &args].concat());
}

/// Settings of a gate of the program `mine` on a few milliseconds of work.
fn settings() -> Vec<(&'static str, &'static str)> {
    vec![
        ("STRESS_CANDIDATE", "mine"),
        ("STRESS_PREPARE", PREPARE),
        ("STRESS_NOTE_TOKEN", "secret"),
        ("STRESS_SCENARIO", "storm.toml"),
        (
            "STRESS_ARGUMENTS",
            "--gas 4M --slots 20k --set state.accounts=100 --store memory --design sequential --slot-time 1ms",
        ),
    ]
}

#[test]
fn a_pull_requests_program_is_judged_against_that_of_its_target() {
    let runner = Runner::new(|caller| {
        fs::write(caller.join("how"), "STRESS_READ_ONE_TWICE=1").unwrap();
        // A scenario that a pull request changes counts once it is merged.
        fs::write(caller.join("storm.toml"), "no scenario").unwrap();
    });
    runner.done("build", &settings());
    runner.done("run", &settings());
    assert_eq!(runner.output("verdict").as_deref(), Some("work changed"));
    assert_eq!(runner.output("code").as_deref(), Some("1"));
    let files = runner.results();
    let result: Value = serde_json::from_str(&fs::read_to_string(&files[0]).unwrap()).unwrap();
    let path = |side: usize| result["binaries"][side]["path"].as_str().unwrap().to_owned();
    assert!(path(0).ends_with("base/mine") && path(1).ends_with("head/mine"), "{result:#}");
    for page in ["work/out/summary.md", "step-summary"] {
        let page = fs::read_to_string(runner.path(page)).unwrap();
        assert!(page.starts_with("<!-- stress-gate: evm -->\n"), "{page}");
        assert!(page.contains("work changed"), "{page}");
    }
    assert!(runner.path("work/out/report.html").is_file());

    // A runner that keeps its folder shows the next run, not this one.
    fs::write(runner.path("head/how"), "").unwrap();
    runner.done("build", &settings());
    assert!(!runner.path("work/out").exists(), "a run that fails shows nothing old");
    runner.done("run", &settings());
    let verdict = runner.output("verdict").unwrap();
    assert_ne!(verdict, "work changed");
    assert_eq!(runner.results().len(), 1, "{:?}", runner.results());
    let summary = fs::read_to_string(runner.path("work/out/summary.md")).unwrap();
    assert!(summary.contains(&verdict) && !summary.contains("work changed"), "{summary}");
}

#[test]
fn a_pull_request_does_not_choose_what_it_is_compared_with() {
    let runner = Runner::new(|caller| fs::write(caller.join("new.toml"), "x").unwrap());
    let target = runner.target_commit.clone();
    let event = |more: &[(&'static str, &'static str)], target: &str| {
        let given = [("STRESS_TARGET_COMMIT", target), ("STRESS_BASE_REF", "change")];
        runner.done("base", &[&given[..], more].concat());
        runner.output("commit").unwrap()
    };
    assert_eq!(event(&[("STRESS_EVENT", "pull_request")], &target), target);
    assert_eq!(event(&[("STRESS_EVENT", "merge_request_event")], &target), target);
    assert_eq!(event(&[("STRESS_EVENT", "workflow_dispatch")], &target), "change");
    let push = ("STRESS_EVENT", "push");
    runner.done("base", &[push, ("STRESS_BEFORE_COMMIT", "abc")]);
    assert_eq!(runner.output("commit").as_deref(), Some("abc"));
    runner.refused("base", &[push], "base-ref");
    let first = ("STRESS_BEFORE_COMMIT", "0000000000000000000000000000000000000000");
    runner.refused("base", &[push, first], "base-ref");
    runner.refused("base", &[("STRESS_EVENT", "pull_request")], "STRESS_TARGET_COMMIT");
    let on_target = [("STRESS_EVENT", "pull_request_target"), ("STRESS_TARGET_COMMIT", "abc")];
    runner.refused("base", &on_target, "not on the pull request");

    let with = |name: &'static str, value: &'static str| {
        let mut settings = settings();
        settings.retain(|(of, _)| *of != name);
        settings.push((name, value));
        settings
    };
    let refused = |name, value, words: &str| runner.refused("build", &with(name, value), words);
    refused("STRESS_SCENARIO", "new.toml", "counts once it is merged");
    refused("STRESS_AGAINST", "../head/mine", "a path inside the checkout");
    refused("STRESS_AGAINST", "/bin/true", "a path inside the checkout");
    refused("STRESS_CANDIDATE", "new.toml", "new.toml: there is none in");
    refused("STRESS_BASELINE", "result.json", "leave out STRESS_AGAINST_REF and STRESS_BASELINE");
    // Code of the pull request that puts another program where that of its target is.
    let evil = "printf '#!/bin/sh\\nexec \"$REAL\" \"$@\"\\n' > mine; chmod +x mine; \
                if [ \"$PWD\" = \"$STRESS_HEAD\" ]; then echo >> \"$STRESS_BASE/mine\"; fi";
    refused("STRESS_PREPARE", evil, "changed what it is compared with");
}

#[test]
fn libraries_are_taken_from_both_checkouts_and_stress_itself_judges() {
    let runner = Runner::new(|caller| fs::write(caller.join("how"), "two").unwrap());
    // The sources of stress, with a build that takes no hour: it prints its arguments.
    let source = runner.path("stress");
    for (name, lines) in [
        ("deploy/ci/gate", fs::read_to_string(STEPS).unwrap()),
        (
            "scripts/build-with",
            format!(
                "#!/bin/sh\necho \"$@\" >> {asked}\nprintf '#!/bin/sh\\nexec {STRESS} \"$@\"\\n' > \"$2\"\nchmod +x \"$2\"\n",
                asked = runner.path("asked").display()
            ),
        ),
    ] {
        let path = source.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, lines).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    for checkout in ["head", "base"] {
        fs::create_dir_all(runner.path(checkout).join("crates/revm")).unwrap();
    }
    let libraries = ("STRESS_CANDIDATE", "revm=crates/revm rocksdb=https://example.org/x#v1");
    let mut all = settings();
    all.retain(|(name, _)| !["STRESS_CANDIDATE", "STRESS_PREPARE"].contains(name));
    all.push(libraries);
    let output = runner.step_of(&source.join("deploy/ci/gate"), "build", &all);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let asked = fs::read_to_string(runner.path("asked")).unwrap();
    let line = |name: &str, checkout: &str| {
        format!(
            "--output {} revm={} rocksdb=https://example.org/x#v1",
            runner.path("work").join(format!("stress-{name}")).display(),
            fs::canonicalize(runner.path(checkout)).unwrap().join("crates/revm").display()
        )
    };
    let lines: Vec<_> = asked.lines().collect();
    assert_eq!(lines, [line("against", "base"), line("candidate", "head")], "the target's first");
    let built = fs::read_to_string(runner.path("work/built")).unwrap();
    let built: Vec<_> = built.lines().map(|path| path.rsplit('/').next().unwrap()).collect();
    assert_eq!(built[1..], ["stress-against", "stress-candidate"]);
    assert_eq!(built[0], Path::new(STRESS).file_name().unwrap().to_str().unwrap());
    let output = runner.step_of(&source.join("deploy/ci/gate"), "run", &all);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let verdict = runner.output("verdict").unwrap();
    let mood = ["pass", "inconclusive", "untrusted", "regression"];
    assert!(mood.contains(&verdict.as_str()), "{verdict}");
}

#[test]
fn each_job_has_one_comment_of_its_own_that_the_next_run_replaces() {
    let runner = Runner::new(|_| {});
    let out = runner.path("work/out");
    fs::create_dir_all(&out).unwrap();
    fs::write(out.join("summary.md"), "<!-- stress-gate: evm -->\n\nfine\n").unwrap();
    // GitHub's answer: comments of two jobs, on two pages.
    let bin = runner.path("bin");
    fs::create_dir(&bin).unwrap();
    let gh = bin.join("gh");
    let asked = runner.path("asked");
    let lines = format!(
        "#!/bin/sh\necho \"$@\" >> {asked}\ncase \"$*\" in *--paginate*) cat {comments} ;; esac\n",
        asked = asked.display(),
        comments = runner.path("comments").display()
    );
    fs::write(&gh, lines).unwrap();
    fs::set_permissions(&gh, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let settings =
        [("PATH", path.as_str()), ("GITHUB_REPOSITORY", "me/mine"), ("STRESS_NUMBER", "7")];
    let other = r#"[{"id": 1, "body": "<!-- stress-gate: store -->\nx"}, {"id": 2, "body": "hm"}]"#;
    let own = r#"[{"id": 3, "body": "<!-- stress-gate: evm -->\nold"}]"#;
    for (comments, method, place) in [
        (other.to_owned(), "POST", "repos/me/mine/issues/7/comments"),
        (format!("{other}{own}"), "PATCH", "repos/me/mine/issues/comments/3"),
    ] {
        fs::write(runner.path("comments"), comments).unwrap();
        runner.done("comment", &settings);
        let asked = fs::read_to_string(&asked).unwrap();
        let last = asked.lines().next_back().unwrap();
        assert!(last.contains(method) && last.contains(place), "{last}");
        assert!(last.contains("summary.md"), "{last}");
    }
}

/// Steps that code of the judged commit put in the place of ours.
const STOLEN: &str = "#!/bin/sh\necho stolen > stolen\n";

/// Runs lines of shell in the runner's folder, with a `curl` and a `gh` that write down how they are called.
fn shell(runner: &Runner, lines: &str, settings: &[(&str, &str)]) -> String {
    let bin = runner.path("bin");
    fs::create_dir_all(&bin).unwrap();
    for name in ["curl", "gh"] {
        let text = format!("#!/bin/sh\necho \"{name} $*\" >> {}\n", runner.path("asked").display());
        fs::write(bin.join(name), text).unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::create_dir_all(runner.path("work/out")).unwrap();
    fs::write(runner.path("work/out/summary.md"), "<!-- stress-gate: evm -->\n\nfine\n").unwrap();
    let mut command = Command::new("bash");
    command.args(["-eo", "pipefail", "-c", lines]).current_dir(runner.dir.path());
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    command.env_remove("GITHUB_OUTPUT").env_remove("GITHUB_REPOSITORY").env_remove("CI_API_V4_URL");
    command.env("PATH", path).env("STRESS_NAME", "evm").env("STRESS_WORK", runner.path("work"));
    command.envs(settings.iter().copied());
    drop(machine::output(&mut command));
    assert!(!runner.path("stolen").exists(), "{lines}");
    fs::read_to_string(runner.path("asked")).unwrap_or_default()
}

#[test]
fn the_token_of_gitlab_goes_to_the_steps_as_they_were_before_judged_code_ran() {
    let runner = Runner::new(|_| {});
    let source = runner.path(".stress/source/deploy/ci");
    fs::create_dir_all(&source).unwrap();
    fs::copy(STEPS, source.join("gate")).unwrap();
    let job = lines("deploy/ci/gitlab.yml");
    let line = |words: &str| {
        let found = job.iter().find(|line| line.contains(words)).unwrap();
        found.strip_prefix("- ").unwrap().to_owned()
    };
    let steal = format!("printf '{}' > .stress/source/deploy/ci/gate", STOLEN.replace('\n', "\\n"));
    let all = [line("steps="), steal, line("deploy/ci/gate comment")].join("\n");
    let settings = [
        ("STRESS_NOTE_TOKEN", "secret"),
        ("CI_API_V4_URL", "http://gitlab.invalid/api"),
        ("CI_PROJECT_ID", "1"),
        ("CI_MERGE_REQUEST_IID", "2"),
    ];
    let asked = shell(&runner, &all, &settings);
    assert!(asked.contains("projects/1/merge_requests/2/notes"), "{asked}");
}

#[test]
fn the_token_of_github_goes_to_no_steps_that_judged_code_has_changed() {
    let runner = Runner::new(|_| {});
    let source = runner.path("stress/deploy/ci");
    fs::create_dir_all(&source).unwrap();
    fs::copy(STEPS, source.join("gate")).unwrap();
    runner.done("key", &[]);
    let digest = runner.output("steps").unwrap();
    let workflow = lines(".github/workflows/stress-gate.yml");
    let comment = workflow.iter().find(|line| line.contains("deploy/ci/gate comment")).unwrap();
    let comment = comment.strip_prefix("run: ").unwrap();
    let settings = [
        ("STEPS", digest.as_str()),
        ("GITHUB_REPOSITORY", "me/mine"),
        ("STRESS_NUMBER", "7"),
        ("GH_TOKEN", "secret"),
    ];
    let asked = shell(&runner, comment, &settings);
    assert!(asked.contains("repos/me/mine/issues/7/comments"), "{asked}");
    fs::remove_file(runner.path("asked")).unwrap();
    fs::write(source.join("gate"), STOLEN).unwrap();
    assert_eq!(shell(&runner, comment, &settings), "");
}

/// The lines of a file below the project's.
fn lines(name: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    fs::read_to_string(path).unwrap().lines().map(|line| line.trim().to_owned()).collect()
}

#[test]
fn workflows_pin_what_they_use() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/workflows");
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name());
    let mut count = 0;
    for name in files {
        let name = format!(".github/workflows/{}", name.to_str().unwrap());
        for line in lines(&name) {
            let line = line.strip_prefix("- ").unwrap_or(&line);
            let Some(action) = line.strip_prefix("uses: ") else { continue };
            let (_, commit) = action.split_once('@').unwrap();
            let hash = commit.split_whitespace().next().unwrap();
            let is_hash = hash.len() == 40 && hash.chars().all(|c| c.is_ascii_hexdigit());
            assert!(is_hash && commit.contains(" # v"), "{name}: {action}");
            count += 1;
        }
    }
    assert!(count >= 6, "{count} actions");
}

#[test]
fn the_workflow_hands_every_setting_to_the_steps() {
    let workflow = lines(".github/workflows/stress-gate.yml");
    let steps = fs::read_to_string(STEPS).unwrap();
    let documented: Vec<_> = steps
        .lines()
        .filter_map(|line| line.strip_prefix("#   ")?.split_whitespace().next())
        .filter(|word| word.starts_with("STRESS_"))
        .collect();
    assert!(documented.len() >= 12, "{documented:?}");
    for place in [".github/workflows/stress-gate.yml", "deploy/ci/gitlab.yml"] {
        let text = lines(place).join("\n");
        for name in documented.iter().filter(|name| **name != "STRESS_BINARY") {
            assert!(text.contains(name), "{place} does not hand over {name}");
        }
        for verb in ["base", "build", "run", "comment"] {
            assert!(text.contains(&format!("deploy/ci/gate {verb}")), "{place}: {verb}");
        }
    }
    let artifact = workflow.iter().find(|line| line.starts_with("name: stress-gate-")).unwrap();
    assert!(artifact.contains("inputs.name"), "{artifact}");
}
