//! Sweeps as a user and a fleet see them: killed and resumed, cell by cell, joined. The laws: a
//! resumed sweep has the counters of an uninterrupted one, and the order of the cells does not
//! matter. Every cell is there exactly once.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::machine::{self, STRESS};

/// Cells that are small and in memory.
const SMALL: [&str; 9] = [
    "sweep",
    "--scenario=sload-storm",
    "--slots=20k",
    "--set=state.accounts=10",
    "--store=memory",
    "--design=parallel-io,batched-io",
    "threads=1,2",
    "gas=1M,2M",
    "io_threads=1,2",
];
const CELL_COUNT: u64 = 8;
/// One sample: as short as a cell can be.
const SHORT: &str = "--samples=1";
/// Long enough to be killed before it ends.
const LONG: &str = "--samples=20000";
/// After this, the awaited event does not come.
const PATIENCE: Duration = Duration::from_secs(120);

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn out(&self) -> PathBuf {
        self.dir.path().join("out")
    }

    fn cell(&self, index: u64) -> PathBuf {
        self.out().join(format!("cell-{index:04}"))
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = machine::program();
        command.args(args).env("STRESS_DATA_DIR", self.dir.path().join("data"));
        command.env("COLUMNS", "80").env_remove("SLURM_ARRAY_TASK_ID");
        command.env_remove("JOB_COMPLETION_INDEX");
        command
    }

    /// A sweep of small cells with `more`.
    fn sweep(&self, more: &[&str]) -> Command {
        let mut command = self.command(&[&SMALL, more].concat());
        command.arg("--out").arg(self.out());
        command
    }

    fn merged(&self) -> Value {
        serde_json::from_slice(&fs::read(self.out().join("merged.json")).unwrap()).unwrap()
    }

    /// Results of the cells that are there, by index.
    fn results(&self) -> Vec<Option<Vec<u8>>> {
        (0..CELL_COUNT).map(|index| fs::read(self.cell(index).join("result.json")).ok()).collect()
    }

    /// The process that runs a cell, once there is one.
    fn runner(&self, index: u64) -> Pid {
        let lock = self.out().join(format!("running/cell-{index:04}.lock"));
        wait_until("a cell is being run", || {
            let text = fs::read_to_string(&lock).ok()?;
            // The last word of the line comes last.
            let words: Vec<_> = text.split(' ').collect();
            let [_, pid, _, _] = words.as_slice() else { return None };
            Pid::from_raw(pid.parse().ok()?)
        })
    }
}

fn wait_until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "waited without success until {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

fn words(output: &Output) -> String {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8(text).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs it, expects this exit code, and returns its output.
fn ends(mut command: Command, code: i32) -> String {
    let output = machine::output(&mut command);
    let words = words(&output);
    assert_eq!(output.status.code(), Some(code), "{command:?}: {words}");
    assert!(!words.contains("panicked"), "{words}");
    words
}

/// Expects one error with this code and these words.
fn refused(command: Command, code: i32, expected: &[&str]) {
    let words = ends(command, code);
    assert_eq!(words.matches("error:").count(), 1, "one error: {words}");
    for word in expected {
        assert!(words.contains(word), "{word:?} is not in: {words}");
    }
}

fn begin(mut command: Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The outcome of an uninterrupted sweep.
fn uninterrupted() -> Value {
    let place = Place::new();
    ends(place.sweep(&[SHORT]), 0);
    place.merged()
}

fn assert_whole(merged: &Value) {
    let cells = merged["cells"].as_array().unwrap();
    let indices: Vec<_> = cells.iter().map(|cell| cell["index"].as_u64().unwrap()).collect();
    assert_eq!(indices, (0..CELL_COUNT).collect::<Vec<_>>(), "every cell exactly once");
    assert_eq!(merged["missing"].as_array().unwrap().len(), 0);
    assert_eq!(merged["doubts"].as_array().unwrap().len(), 0, "{}", merged["doubts"]);
    assert!(!merged["counters"].as_array().unwrap().is_empty());
}

#[test]
fn a_sweep_whose_parent_was_killed_goes_on_and_has_the_counters_of_an_uninterrupted_one() {
    let _shared = machine::shared();
    let place = Place::new();
    let mut sweep = begin(place.sweep(&[SHORT]));
    wait_until("two cells are finished", || place.cell(1).exists().then_some(()));
    sweep.kill().unwrap();
    sweep.wait().unwrap();
    let before = place.results();
    assert!(before[0].is_some() && before[1].is_some());
    let said = ends(place.sweep(&[SHORT]), 0);
    assert!(said.contains("are finished already"), "{said}");
    for (index, before) in before.into_iter().enumerate() {
        let Some(before) = before else { continue };
        assert_eq!(place.results()[index].as_ref(), Some(&before), "cell {index} was run again");
    }
    let merged = place.merged();
    assert_whole(&merged);
    let (expected, running) = (uninterrupted(), fs::read_dir(place.out().join("running")).unwrap());
    assert_eq!(merged["counters"], expected["counters"]);
    assert_eq!(merged["sweep"], expected["sweep"]);
    assert_eq!(running.count(), 0, "nothing is left of what was killed");
}

#[test]
fn a_cell_that_was_killed_is_told_and_the_same_command_runs_it() {
    let _shared = machine::shared();
    let place = Place::new();
    let sweep = begin(place.sweep(&[LONG]));
    kill_process(place.runner(0), Signal::KILL).unwrap();
    // The parent goes on with the next cell: this one it is asked to stop with.
    let second = place.runner(1);
    let parent = Pid::from_raw(i32::try_from(sweep.id()).unwrap()).unwrap();
    kill_process(parent, Signal::TERM).unwrap();
    let output = sweep.wait_with_output().unwrap();
    let said = words(&output);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("cell 0 of 8") && said.contains("killed by signal 9"), "{said}");
    assert!(said.contains("0 of 8 cells are finished") && said.contains("goes on"), "{said}");
    assert!(!place.cell(0).exists() && !place.cell(1).exists(), "half a cell is none");
    assert!(kill_process(second, Signal::CONT).is_err(), "no cell outlives its sweep");
}

#[test]
fn a_cell_ends_with_a_sweep_that_is_killed() {
    let _shared = machine::shared();
    let place = Place::new();
    let mut sweep = begin(place.sweep(&[LONG]));
    place.runner(0);
    sweep.kill().unwrap();
    sweep.wait().unwrap();
    // The kernel drops the lock with its process. One that cannot stop in time ends at once, and leaves
    // its files to the next run.
    let lock = place.out().join("running/cell-0000.lock");
    let is_free = || fs::File::open(&lock).map_or(true, |file| file.try_lock_shared().is_ok());
    wait_until("the cell has ended", || is_free().then_some(()));
    assert!(!place.cell(0).exists());
}

#[test]
fn the_slurm_script_runs_one_cell_each_and_joined_they_are_the_sweep() {
    let place = Place::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/fleet/slurm.sbatch");
    let task = |index: u64| {
        let mut command = place.sweep(&[SHORT]);
        let args: Vec<_> = command.get_args().skip(1).map(ToOwned::to_owned).collect();
        let data = place.dir.path().join("data");
        command = Command::new("sh");
        command.arg(&script).args(args).env("STRESS", STRESS).env("STRESS_DATA_DIR", data);
        command.env("SLURM_ARRAY_TASK_ID", index.to_string()).env_remove("JOB_COMPLETION_INDEX");
        command
    };
    // From the last on, and the first one twice.
    for index in (1..CELL_COUNT).rev() {
        let said = ends(task(index), 0);
        assert!(said.contains("the index is of SLURM_ARRAY_TASK_ID"), "{said}");
    }
    let merge = || place.command(&["sweep", "--merge", place.out().to_str().unwrap()]);
    refused(merge(), 6, &["1 of 8 cells are missing: 0"]);
    ends(task(0), 0);
    let first = fs::read(place.cell(0).join("result.json")).unwrap();
    assert!(ends(task(0), 0).contains("finished already"));
    assert_eq!(fs::read(place.cell(0).join("result.json")).unwrap(), first);
    let page = ends(merge(), 0);
    assert!(page.contains("no knee") && page.contains("--samples 6"), "{page}");
    assert_whole(&place.merged());
    assert_eq!(place.merged()["counters"], uninterrupted()["counters"]);
}

#[test]
fn two_who_run_the_same_cell_leave_one_result_and_cells_on_one_state_wait_for_it() {
    let _shared = machine::shared();
    let place = Place::new();
    let disk = |index: &str| {
        let args = ["sweep", "--scenario=sload-storm", "--slots=20k", "--set=state.accounts=10"];
        let mut command = place.command(&args);
        command.args(["--design=batched-io", "--gas=1M", "threads=1,2", SHORT, "--cell", index]);
        command.arg("--out").arg(place.out());
        begin(command)
    };
    let all = [disk("0"), disk("0"), disk("1")];
    let said: Vec<_> = all
        .into_iter()
        .map(|process| {
            let output = process.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{}", words(&output));
            words(&output)
        })
        .collect();
    let count = |text: &str| said.iter().filter(|said| said.contains(text)).count();
    assert_eq!(count("finished already"), 1, "{said:?}");
    assert_eq!(count(": wrote "), 2, "{said:?}");
    assert!(place.cell(0).exists() && place.cell(1).exists());
}

#[test]
fn a_cell_that_would_be_the_run_of_another_is_left_out_and_one_that_would_not_is_run() {
    let place = Place::new();
    let sweep = |more: &[&str]| {
        let work = ["sweep", "--scenario=sload-storm", "--gas=1M", "--slots=20k", "--store=memory"];
        let axes =
            ["--set=state.accounts=10", SHORT, "design=sequential,parallel-io", "threads=1,2"];
        let mut command = place.command(&[&work[..], &axes, more].concat());
        command.arg("--out").arg(place.out());
        command
    };
    let list = sweep(&["--list"]).output().unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    let marked: Vec<_> = list.lines().filter(|line| line.contains("left out")).collect();
    assert_eq!((list.lines().count(), marked.len()), (4, 1), "{list}");
    assert!(marked[0].starts_with("1  design=sequential threads=2  (left out"), "{list}");
    assert!(ends(sweep(&["--cell=1"]), 0).contains("it would be the run of cell 0"));
    let said = ends(sweep(&[]), 0);
    let words =
        "left out: 1 of 4 cells, each the run of another: threads changes nothing in cell 1";
    assert!(said.contains(words) && said.contains("= cell 0"), "{said}");
    assert_eq!([0, 1, 2, 3].map(|cell| place.cell(cell).exists()), [true, false, true, true]);
    let merged = place.merged();
    assert_eq!(merged["sweep"]["left_out"], serde_json::json!([{"cell": 1, "same_as": 0}]));
    let points = merged["points"].as_array().unwrap();
    assert_eq!(points.iter().filter(|point| point["same_as"] == 0).count(), 1, "{points:?}");
    assert_eq!((points.len(), merged["missing"].as_array().unwrap().len()), (4, 0));
    // The map has the field, from the joined file and from the cells.
    let (joined, page) = (place.out().join("merged.json"), place.dir.path().join("page.html"));
    for from in [joined.clone(), place.out()] {
        let mut report = place.command(&["report"]);
        report.arg(from).arg("--force").arg("--out").arg(&page);
        ends(report, 0);
        let html = fs::read_to_string(&page).unwrap();
        assert_eq!(html.matches("<td class=\"field").count(), 4, "{html}");
        assert_eq!(html.matches("it would be the same run").count(), 1, "{html}");
        drop(fs::remove_file(&joined));
    }
}

/// A sweep of two cells on disk.
fn on_disk(place: &Place, more: &[&str]) -> Command {
    let work = ["sweep", "--scenario=sload-storm", "--gas=1M", "--slots=20k", "--store=flat"];
    let how = ["--set=state.accounts=10", "--design=batched-io", "io_threads=1,2", SHORT];
    let mut command = place.command(&[&work[..], &how, more].concat());
    command.arg("--out").arg(place.out());
    command
}

#[test]
fn the_device_is_measured_once_for_all_cells_and_again_where_a_sweep_goes_on() {
    let place = Place::new();
    let said = ends(on_disk(&place, &[]), 0);
    assert_eq!(said.matches("measuring the device: done").count(), 1, "{said}");
    assert_eq!(said.matches("measured once, for all cells").count(), 1, "{said}");
    let device = |index: u64| {
        let json = fs::read(place.cell(index).join("result.json")).unwrap();
        serde_json::from_slice::<Value>(&json).unwrap()["device"].clone()
    };
    let [first, second] = [0, 1].map(device);
    for key in ["shared", "ceiling_iops", "depth1_p50_ns", "method"] {
        assert_eq!(first[key], second[key], "{key}");
    }
    assert!(first["shared"]["state"].as_str().unwrap().starts_with("flat-"), "{first}");
    assert!(second["ceiling_end_iops"].is_null() && second["ceiling_drift"].is_null());
    let merged = place.merged();
    let measured = &merged["devices"][0];
    assert_eq!(measured["state"], first["shared"]["state"]);
    // A folder in memory has no device.
    if !first["ceiling_iops"].is_null() {
        assert_eq!(measured["ceilings"].as_array().unwrap().len(), 2, "{measured}");
        assert!(measured["device"]["ceiling_drift"].is_f64(), "{measured}");
    }
    // Nothing is left to run: nothing is measured.
    assert!(!ends(on_disk(&place, &[]), 0).contains("measuring"));
    fs::remove_dir_all(place.cell(1)).unwrap();
    let said = ends(on_disk(&place, &[]), 0);
    assert!(said.contains("measured again, as the sweep goes on"), "{said}");
    assert_eq!(place.merged()["devices"].as_array().unwrap().len(), 2);
    assert_eq!(device(0), first, "a finished cell keeps its figures");
    // A cell that is run alone measures for itself.
    fs::remove_dir_all(place.cell(1)).unwrap();
    ends(on_disk(&place, &["--cell=1"]), 0);
    assert!(device(1)["shared"].is_null(), "{}", device(1));
}

#[test]
fn the_kubernetes_manifest_has_as_many_completions_as_its_sweep_has_cells() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/fleet/kubernetes.yaml");
    let text = fs::read_to_string(path).unwrap();
    let number = |key: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(key));
        line.unwrap().trim().parse::<usize>().unwrap()
    };
    let args = text.lines().skip_while(|line| line.trim() != "args:").skip(1);
    let args: Vec<_> = args.map_while(|line| line.trim().strip_prefix("- ")).collect();
    assert!(args.len() > 3, "{args:?}");
    let place = Place::new();
    let mut list = place.command(&["sweep", "--list"]);
    let output = list.args(args).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    let cells = String::from_utf8(output.stdout).unwrap().lines().count();
    assert_eq!(number("completions:"), cells);
    assert_eq!(number("maxFailedIndexes:"), cells);
}

#[test]
fn a_claim_that_fails_is_named_with_its_cell() {
    let place = Place::new();
    let scenario = place.dir.path().join("claimed.toml");
    let text = "schema = 1\nname = \"claimed\"\n[state]\nslots = 1_000\naccounts = 10\n[block]\ngas = \"1M\"\n\
                [[load]]\nkind = \"sload-storm\"\n[run]\nstores = [\"memory\"]\ndesigns = [\"sequential\"]\n\
                samples = 6\n[[expect]]\nmetric = \"execution(ms_per_block(sequential))\"\nmax = 0.000001\n";
    fs::write(&scenario, text).unwrap();
    let mut sweep = place.command(&["sweep", "threads=1"]);
    sweep.arg(format!("--scenario={}", scenario.display())).arg("--out").arg(place.out());
    refused(sweep, 1, &["cell 0 (threads=1): execution(ms_per_block(sequential)) max", "fails"]);
}

#[test]
fn bad_input_is_one_error_each_with_its_code() {
    let place = Place::new();
    let with = |more: &[&str]| place.sweep(&[&[SHORT], more].concat());
    for (more, expected) in [
        (&["gass=1M"][..], "did you mean block.gas?"),
        (&["state.slotz=1M"], "did you mean state.slots?"),
        (&["seed="], "a value is empty"),
        (&["seed=1,1"], "1 is there twice"),
        (&["seed"], "a key and its values are wanted"),
        (&["seed=x"], "seed=x"),
        (&["--gas=1M"], "given twice"),
        (&["--cell=8"], "--cell 8: the sweep has 8 cells, from 0 to 7"),
        (&["--cell=x"], "--cell x: an index from 0 to 7 is wanted"),
        (&["--merge=x"], "cannot be used with"),
    ] {
        refused(with(more), 2, &[expected]);
    }
    let mut task = with(&[]);
    task.env("JOB_COMPLETION_INDEX", "8");
    refused(task, 2, &["JOB_COMPLETION_INDEX 8"]);
    assert!(!place.out().exists(), "nothing was begun");
    let out = place.out();
    let merge = || place.command(&["sweep", "--merge", out.to_str().unwrap()]);
    refused(merge(), 2, &["no directory of a sweep"]);

    ends(with(&[]), 0);
    refused(with(&["seed=1,2"]), 2, &["holds another sweep", "axes"]);
    refused(with(&["--fork=osaka"]), 2, &["holds another sweep", "fork=osaka"]);
    let file = place.cell(3).join("result.json");
    let whole = fs::read_to_string(&file).unwrap();
    for (text, expected) in [
        (whole[..whole.len() / 2].to_owned(), "not valid JSON (truncated?)"),
        (whole.replace("stress.result/3", "stress.result/0"), "stress.result/0"),
    ] {
        fs::write(&file, text).unwrap();
        for command in [merge(), with(&[])] {
            refused(command, 6, &["cell-0003/result.json", expected, "move", "away"]);
        }
    }
    let merged = out.join("merged.json");
    let compare = ["compare", merged.to_str().unwrap(), merged.to_str().unwrap()];
    // Joined results are read, and its cells are of other work.
    refused(place.command(&compare), 2, &["cell 0", "different work"]);
}

#[test]
fn keys_that_a_result_does_not_show_are_axes_of_a_reports_heat_map() {
    let place = Place::new();
    let axes = ["load.work=0,10,20", "load.conflict=0.5,1"];
    let fixed = ["sweep", "--scenario=chains", "--store=memory", "--design=sequential", SHORT];
    let work = ["--transactions=40", "--set=state.accounts=200", "--set=load.lengths=4"];
    let mut command = place.command(&[&fixed[..], &work, &axes].concat());
    command.arg("--out").arg(place.out());
    ends(command, 0);
    // The joined file, and the directory of the cells without it.
    let joined = place.out().join("merged.json");
    let page = place.dir.path().join("page.html");
    let shown = |from: &Path| {
        let mut command = place.command(&["report"]);
        command.arg(from).arg("--force").arg("--out").arg(&page);
        ends(command, 0);
        let html = fs::read_to_string(&page).unwrap();
        assert_eq!(html.matches("<td class=\"field").count(), 6, "{html}");
        assert!(html.contains("<em>load.work</em> (down) and <em>load.conflict</em> (across)"));
    };
    shown(&joined);
    fs::remove_file(&joined).unwrap();
    shown(&place.out());
}
