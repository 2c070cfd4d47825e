//! Where output goes: standard output that is lost is an error, files of others stay, and what is no file keeps
//! its place.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File, OpenOptions},
    os::unix::{
        ffi::OsStringExt,
        fs::{FileTypeExt, symlink},
    },
    path::Path,
    process::{Command, Output, Stdio},
    thread,
};

use serde_json::Value;

use crate::{
    machine::{self, STRESS},
    tool::{RUN, printed, stress, text},
};

/// How a run is made short.
const SHORT: [&str; 7] =
    ["--design", "sequential", "--threads", "1", "--samples", "1", "--whole=none"];

/// Commands that print something, each in another way.
const PRINTING: [&[&str]; 17] = [
    &["--help"],
    &["--version"],
    &["help", "run"],
    &["list"],
    &["show", "sload-storm"],
    &["show", "--workload", "a.workload", "--json"],
    &["show", "--bal", "a.workload"],
    &["validate", "sload-storm"],
    &["describe", "--workload", "a.workload"],
    &["show", "schema"],
    &["help", "completions", "bash"],
    &["compare", "one", "one"],
    &["report", "one"],
    &["report", "one", "--history"],
    &["doctor"],
    &["generate", "sload-storm", "--gas", "1M", "--slots", "10k", "--force", "-o", "a.workload"],
    &["--workload", "a.workload", "--store", "memory", "--samples", "1", "--whole=none"],
];

/// A directory with a workload file and a result.
fn dir() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let generate = ["generate", "sload-storm", "--gas", "1M", "--slots", "10k", "-o", "a.workload"];
    printed(&generate, dir.path());
    printed(&[&RUN[..], &SHORT, &["--out", "one"]].concat(), dir.path());
    dir
}

fn command(args: &[&str], dir: &Path) -> Command {
    let mut command = machine::program();
    command.args(args).current_dir(dir).env("STRESS_DATA_DIR", dir).stdin(Stdio::null());
    command
}

/// Runs with a standard output that nobody can read here.
fn to(output: Stdio, args: &[&str], dir: &Path) -> Output {
    let _shared = machine::shared();
    let child = command(args, dir).stdout(output).stderr(Stdio::piped()).spawn().unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn output_that_is_lost_is_an_error_of_every_verb_but_where_the_reader_went_away() {
    let dir = dir();
    let dir = dir.path();
    for args in PRINTING {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let closed = {
            let mut shell = Command::new("sh");
            shell.args(["-c", "exec \"$0\" \"$@\" >&-", STRESS]).args(args).current_dir(dir);
            shell.env("STRESS_DATA_DIR", dir).stdin(Stdio::null());
            let _shared = machine::shared();
            shell.output().unwrap()
        };
        // A descriptor that is open for reading alone.
        let unwritable = to(File::open("/dev/null").unwrap().into(), args, dir);
        for lost in [to(full.into(), args, dir), closed, unwritable] {
            let error = text(&lost.stderr);
            assert_eq!(lost.status.code(), Some(6), "{args:?}: {error}");
            assert_eq!(error.matches("error: standard output is lost").count(), 1, "{error}");
        }
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let left = to(writer.into(), args, dir);
        assert_eq!(left.status.code(), Some(0), "{args:?}: {}", text(&left.stderr));
    }
    // Nothing is printed, so nothing is lost.
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    assert_eq!(to(full.into(), &["state", "baseline", "list"], dir).status.code(), Some(0));
}

/// Commands that write the file `OUT`.
fn writing() -> Vec<Vec<&'static str>> {
    let run = [&RUN[..], &SHORT].concat();
    let describe = ["describe", "--workload", "a.workload"];
    vec![
        vec!["generate", "sload-storm", "--gas", "1M", "--slots", "10k", "--out", "OUT"],
        vec!["report", "one", "--format", "html", "--out", "OUT"],
        vec!["report", "one", "--history", "--out", "OUT"],
        [&run[..], &["--metrics", "OUT"]].concat(),
        [&run[..], &["--trace", "OUT"]].concat(),
        [&describe[..], &["--out", "OUT"]].concat(),
    ]
}

#[test]
fn every_verb_keeps_a_file_that_is_there_without_force_and_a_link_and_a_pipe_with_it() {
    let dir = dir();
    let dir = dir.path();
    fs::create_dir(dir.join("there")).unwrap();
    let target = dir.join("there/target");
    symlink("there/target", dir.join("link")).unwrap();
    let pipe = dir.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for words in writing() {
        let of = |name: &'static str, more: &[&'static str]| {
            let words = words.iter().map(|word| if *word == "OUT" { name } else { *word });
            let args: Vec<_> = words.chain(more.iter().copied()).collect();
            stress(&args, dir)
        };
        fs::write(&target, "mine").unwrap();
        for name in ["there/target", "link"] {
            let refused = of(name, &[]);
            let error = text(&refused.stderr);
            assert_eq!(refused.status.code(), Some(2), "{words:?}: {error}");
            let sentence = format!(
                "{name}: this file is there already; name another, or add --force to replace it"
            );
            assert!(error.contains(&sentence), "{words:?}: {error}");
            assert_eq!(fs::read_to_string(&target).unwrap(), "mine", "{words:?}");
        }
        let fine = |output: Output| {
            assert_eq!(output.status.code(), Some(0), "{words:?}: {}", text(&output.stderr));
        };
        fine(of("there/target", &["--force"]));
        let whole = fs::metadata(&target).unwrap().len();
        assert!(whole > 4, "{words:?}");
        fs::remove_file(&target).unwrap();
        fine(of("link", &[]));
        assert!(dir.join("link").is_symlink() && !target.is_symlink(), "{words:?}");
        assert!(fs::metadata(&target).unwrap().len() > 4, "{words:?}");
        let reader = {
            let pipe = pipe.clone();
            thread::spawn(move || fs::read(pipe).unwrap().len())
        };
        fine(of("pipe", &[]));
        assert!(reader.join().unwrap() > 4, "{words:?}");
        assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo(), "{words:?}");
    }
    let names = ["a.workload", "link", "one", "pipe", "there"];
    let mut found: Vec<_> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name()).collect();
    found.sort();
    assert_eq!(found, names, "nothing else is left");
}

#[test]
fn two_outputs_are_no_one_file_and_standard_output_has_the_file_alone() {
    let dir = dir();
    let dir = dir.path();
    let run = |more: &[&str]| stress(&[&RUN[..], &SHORT, more].concat(), dir);
    for more in [
        &["--out", "o2", "--metrics", "o2/result.json", "--force"][..],
        &["--metrics", "same", "--trace", "same", "--force"],
    ] {
        fs::create_dir_all(dir.join("o2")).unwrap();
        let refused = run(more);
        let error = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{error}");
        assert!(error.contains("names this file, too"), "{error}");
    }
    let generate = ["generate", "sload-storm", "--gas", "1M", "--slots", "10k", "--force"];
    let through = [&generate[..], &["-o", "/dev/stdout"]].concat();
    let whole = fs::read(dir.join("a.workload")).unwrap();
    assert!(stress(&through, dir).stdout == whole, "a pipe has the file alone");
    let log = dir.join("log");
    fs::write(&log, "keep").unwrap();
    let file = OpenOptions::new().append(true).open(&log).unwrap();
    let ended = to(file.into(), &through, dir);
    assert_eq!(ended.status.code(), Some(0), "{}", text(&ended.stderr));
    assert!(text(&ended.stderr).contains("digest"), "the text is on standard error");
    assert!(fs::read(&log).unwrap() == [b"keep", &whole[..]].concat());
    let file = OpenOptions::new().append(true).open(&log).unwrap();
    let refused = to(file.into(), &[&generate[..], &["-o", "log"]].concat(), dir);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
    assert!(text(&refused.stderr).contains("standard output goes to this file"));
}

#[test]
fn verbs_that_write_several_files_or_choose_a_name_keep_those_that_are_there_alike() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    for (args, file) in [
        (&["generate", "new", "mine"][..], "mine.toml"),
        (&["help", "man", "--out", "man"], "man/stress.1"),
        (&["show", "schema", "--out", "schemas"], "schemas/result.schema.json"),
    ] {
        let path = dir.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "mine").unwrap();
        let refused = stress(args, dir);
        let error = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.contains("this file is there already") && error.contains(file), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
        let beside = fs::read_dir(path.parent().unwrap()).unwrap().count();
        assert!(beside == 1 || file == "mine.toml", "no other file is written: {args:?}");
        printed(&[args, &["--force"]].concat(), dir);
        assert_ne!(fs::read_to_string(&path).unwrap(), "mine");
    }
}

#[test]
fn a_path_that_is_no_text_is_taken_and_shown_with_a_mark() {
    let dir = dir();
    let dir = dir.path();
    let odd = |ending: &str| OsString::from_vec([b"odd-\xff", ending.as_bytes()].concat());
    fs::rename(dir.join("a.workload"), dir.join(odd(".workload"))).unwrap();
    let run = |words: &[&OsStr]| {
        let mut command = command(&[], dir);
        let output = machine::output(command.args(words));
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {error}");
        text(&output.stdout)
    };
    let how = [&SHORT[..], &["--format", "json"]].concat();
    let how: Vec<&OsStr> = how.into_iter().map(OsStr::new).collect();
    let (file, data) = (odd(".workload"), odd(".data"));
    fs::create_dir(dir.join(&data)).unwrap();
    let [workload, store, memory, flat, data_dir] =
        ["--workload", "--store", "memory", "flat", "--data-dir"].map(OsStr::new);
    let shown: Value =
        serde_json::from_str(&run(
            &[&[workload, &file, store, flat, data_dir, &data], &how[..]].concat()
        ))
        .unwrap();
    let has = |value: &Value| value.to_string().contains("odd-\u{fffd}");
    assert!(has(&shown["command"]) && has(&shown["environment"]["data_dir"]["path"]), "{shown:#}");
    // Also as a word, and passed to another process.
    run(&[&[file.as_os_str(), store, memory], &how[..]].concat());
    run(&[OsStr::new("describe"), &file]);
    let gate = ["gate", "--against", STRESS, "--slot-time", "1ms"];
    let gate: Vec<&OsStr> = gate.into_iter().map(OsStr::new).collect();
    let more = [workload, &file, store, flat, data_dir, &data].into_iter();
    let design = ["--design", "sequential", "--threads", "1"].map(OsStr::new);
    let mut command = command(&[], dir);
    command.args(&gate).args(more).args(design);
    let gated = machine::output(&mut command);
    assert!(matches!(gated.status.code(), Some(0 | 1 | 5)), "{}", text(&gated.stderr));
}

#[test]
fn directories_of_killed_exports_and_gates_go_with_the_next_and_those_of_others_stay() {
    let dir = dir();
    let dir = dir.path();
    let leave = |name: &str, mark: &str| {
        fs::create_dir(dir.join(name)).unwrap();
        fs::write(dir.join(name).join(mark), "").unwrap();
    };
    for purpose in ["export", "gate"] {
        leave(&format!(".stress-{purpose}-dead"), "owned");
        leave(&format!(".stress-{purpose}-others"), "notes");
    }
    printed(&["export", "a.workload", "--out", "chain"], dir);
    assert!(!dir.join("chain/owned").exists(), "the export has no mark");
    let mut gate = command(&["gate", "--against", STRESS, "--slot-time", "1ms"], dir);
    gate.args(["--scenario", "sload-storm", "--gas", "1M", "--slots", "10k", "--store", "memory"]);
    gate.args(["--design", "sequential", "--threads", "1"]).env("TMPDIR", dir);
    let gated = machine::output(&mut gate);
    assert!(matches!(gated.status.code(), Some(0 | 1 | 5)), "{}", text(&gated.stderr));
    let left = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
    let mut left: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with('.')).collect();
    left.sort();
    assert_eq!(left, [".stress-export-others", ".stress-gate-others"]);
}
