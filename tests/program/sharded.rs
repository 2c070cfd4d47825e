//! Sharded execution as a user sees it. The program starts shards, or a user starts one. A shard
//! that is missing, killed or not allowed is one error.

use std::{
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    machine::{self, STRESS},
    tool::{printed, stress, text},
};

const WORK: [&str; 10] = [
    "erc20",
    "--gas",
    "2M",
    "--store",
    "memory",
    "--threads",
    "2",
    "--set=state.accounts=200",
    "--set=load[0].holders=200",
    "--whole=none",
];

/// A shard that a user starts.
struct Shard {
    child: Child,
    address: String,
}

impl Shard {
    fn start() -> Self {
        let mut command = machine::program();
        command.args(["shard", "serve", "--listen", "127.0.0.1:0"]).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("shard listens on ").unwrap().to_owned();
        Self { child, address }
    }

    fn addresses(&self) -> String {
        format!("run.shard_addresses={}", self.address)
    }
}

impl Drop for Shard {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn refused(more: &[&str], dir: &Path, code: i32) -> String {
    let output = stress(&[&WORK[..], more].concat(), dir);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{more:?}: {error}");
    assert_eq!(error.matches("error:").count(), 1, "{more:?}: {error}");
    error.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn shards_that_are_started_here_and_one_that_is_reached_equal_the_reference() {
    let dir = tempfile::tempdir().unwrap();
    let here = ["--design=sequential,batched-io", "--shards=1,2", "--samples=1", "--format=json"];
    let result: Value =
        serde_json::from_str(&printed(&[&WORK[..], &here].concat(), dir.path())).unwrap();
    assert_eq!(result["agree"], true);
    let cells = result["cells"].as_array().unwrap();
    let found: Vec<_> = cells
        .iter()
        .map(|cell| (cell["variant"].as_str().unwrap(), cell["shards"].as_u64().unwrap()))
        .collect();
    let expected = [
        ("memory/none/sequential+on-demand@1", 0),
        ("memory/batched-io/bal+on-demand@2+1shards", 1),
        ("memory/batched-io/bal+on-demand@2+2shards", 2),
    ];
    assert_eq!(found, expected);

    let shard = Shard::start();
    let there = ["--design=batched-io", "--shards=1", "--samples=2", "--set", &shard.addresses()];
    // Whole blocks too.
    let page = printed(&[&WORK[..9], &there].concat(), dir.path());
    assert!(page.contains("2+1sh") && page.contains("batched-io, whole"), "{page}");
}

#[test]
fn shards_execute_without_a_list_and_say_what_went_between_them() {
    let dir = tempfile::tempdir().unwrap();
    let ways = [
        "--design=block-stm",
        "--shards=1,3",
        "--set=run.partitioner=round-robin,fanout",
        "--samples=1",
        "--format=json",
    ];
    let work = ["one-slot", "--transactions", "120", "--store", "memory", "--threads", "2"];
    let small = ["--set=state.accounts=200", "--whole=none"];
    let args = [&work[..], &small, &ways].concat();
    let result: Value = serde_json::from_str(&printed(&args, dir.path())).unwrap();
    assert_eq!(result["agree"], true);
    let cells = result["cells"].as_array().unwrap();
    let found: Vec<_> = cells.iter().map(|cell| cell["variant"].as_str().unwrap()).collect();
    let expected = [
        "memory/none/block-stm+on-demand@2+1shards-round-robin",
        "memory/none/block-stm+on-demand@2+1shards-fanout",
        "memory/none/block-stm+on-demand@2+3shards-round-robin",
        "memory/none/block-stm+on-demand@2+3shards-fanout",
    ];
    assert_eq!(found, expected);
    for cell in cells {
        let sample = &cell["samples"][0];
        let count = sample["shard_work"]["cross_shard_value_count"].as_u64().unwrap();
        let is_between = cell["shards"] == 3;
        assert_eq!(count > 0, is_between, "{}: {sample}", cell["variant"]);
        let phase = sample["phases_ns"]["shard_values"].as_u64().unwrap();
        assert_eq!(phase > 0, is_between, "{sample}");
        let runs = &sample["speculation"];
        assert_eq!(runs["step_count"], 122);
        assert!(runs["execution_count"].as_u64().unwrap() >= 122, "{runs}");
    }
}

#[test]
fn a_result_has_the_ways_of_its_shards_and_their_stages() {
    let dir = tempfile::tempdir().unwrap();
    let ways = [
        "--design=batched-io",
        "--shards=2",
        "--set=run.partitioner=fanout",
        "--set=run.partition=inside,before",
        "--set=run.shard_batch=64",
        "--set=run.shard_delay_us=2000",
        "--samples=1",
        "--format=json",
    ];
    let result: Value =
        serde_json::from_str(&printed(&[&WORK[..], &ways].concat(), dir.path())).unwrap();
    assert_eq!(result["agree"], true);
    let cells = result["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2);
    for (cell, time) in cells.iter().zip(["inside", "before"]) {
        let way = json!({
            "partitioner": "fanout",
            "partition_time": time,
            "micro_batch_key_count": 64,
            "delay_ns": 2_000_000,
        });
        assert_eq!(cell["sharding"], way);
        let sample = &cell["samples"][0];
        let phase = |name: &str| sample["phases_ns"][name].as_u64().unwrap();
        assert!(phase("shard_send") >= 2_000_000, "{sample}");
        assert!(phase("prefetch") > 0 && phase("execute") > 0, "{sample}");
        assert!(phase("shard_results") <= sample["wall_ns"].as_u64().unwrap(), "{sample}");
        assert_eq!(phase("partition") > 0, time == "inside");
        let work = |name: &str| sample["shard_work"][name].as_u64().unwrap();
        assert!(work("partition_ns") > 0 && work("ahead_request_count") > 1, "{sample}");
        assert!(work("ahead_key_count") > 64 && work("value_wait_ns") > 0, "{sample}");
    }
}

/// Commands of a scheduler that has two nodes, both this host.
const SCHEDULER: [(&str, &str); 2] = [
    ("scontrol", "#!/bin/sh\necho 127.0.0.1\necho localhost\n"),
    (
        "srun",
        "#!/bin/sh\nshift 2\nSLURM_PROCID=0 \"$@\" &\nfirst=$!\nSLURM_PROCID=1 \"$@\" &\nsecond=$!\n\
         trap 'kill $first $second' TERM\nwait $first $second\n",
    ),
];

/// A port that nobody listens on, like the next one.
#[cfg(unix)]
fn two_free_ports() -> u16 {
    let bound = |port: u16| std::net::TcpListener::bind(("0.0.0.0", port)).ok();
    let pairs = std::iter::repeat_with(|| {
        let first = bound(0)?;
        let port = first.local_addr().ok()?.port();
        bound(port.checked_add(1)?).map(|_| port)
    });
    pairs.take(100).flatten().next().expect("two free ports beside each other")
}

#[cfg(unix)]
#[test]
fn the_slurm_script_starts_a_shard_on_each_node_and_ends_them() {
    use std::{fs, os::unix::fs::PermissionsExt};

    let dir = tempfile::tempdir().unwrap();
    for (name, text) in SCHEDULER {
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/fleet/shards.sbatch");
    let port = two_free_ports();
    let paths = format!("{}:{}", dir.path().display(), std::env::var("PATH").unwrap());
    let mut job = Command::new("sh");
    job.arg(script).args(WORK).args(["--design=batched-io", "--samples=1", "--format=json"]);
    job.env("PATH", paths).env("SLURM_JOB_NODELIST", "n[1-2]").current_dir(dir.path());
    job.env("STRESS", STRESS).env("STRESS_SHARD_PORT", port.to_string());
    let output = job.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["agree"], true);
    assert_eq!(result["cells"][0]["shards"], 2);
    let is_gone = |port: u16| std::net::TcpStream::connect(("127.0.0.1", port)).is_err();
    let gone = || is_gone(port) && is_gone(port + 1);
    let since = Instant::now();
    while !gone() {
        assert!(since.elapsed() < Duration::from_secs(30), "a shard has outlived its job");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_kubernetes_manifest_has_an_address_for_each_replica() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/fleet/shards.yaml");
    let manifest = std::fs::read_to_string(path).unwrap();
    let after = |words: &str| {
        let line = manifest.lines().find_map(|line| line.split_once(words));
        line.unwrap().1.trim().to_owned()
    };
    let count: usize = after("replicas:").parse().unwrap();
    let expected: Vec<_> =
        (0..count).map(|shard| format!("stress-shard-{shard}.stress-shard:7001")).collect();
    assert_eq!(after("--set=run.shard_addresses="), expected.join(","));
    let most = after("--shards=").split(',').map(|n| n.parse::<usize>().unwrap()).max();
    assert_eq!(most, Some(count));
    // The program knows the words of the container: with one that it does not, help is an error.
    let words: Vec<String> = serde_json::from_str(&after("command:")).unwrap();
    let words: Vec<&str> = words[1..].iter().map(String::as_str).chain(["--help"]).collect();
    let output = stress(&words, Path::new("."));
    assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
}

#[test]
fn a_shard_that_is_missing_or_not_allowed_is_one_error_before_the_work() {
    let dir = tempfile::tempdir().unwrap();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let addresses = format!("run.shard_addresses={free}");
    let error = refused(&["--design=batched-io", "--shards=1", "--set", &addresses], dir.path(), 6);
    assert!(error.contains(&format!("the shard at {free} cannot be reached")), "{error}");

    let error = refused(&["--design=sequential", "--shards=1"], dir.path(), 2);
    assert!(error.contains("batched-io"), "{error}");
    let few = ["--design=batched-io", "--shards=2", "--set", &addresses];
    assert!(refused(&few, dir.path(), 6).contains("give 2 addresses"));
    let wrong = ["--design=batched-io", "--shards=1", "--set", "run.shard_addresses=here"];
    assert!(refused(&wrong, dir.path(), 2).contains("HOST:PORT"));
    let output = stress(&["shard", "serve", "--listen", "0.0.0.0:0"], dir.path());
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("STRESS_SHARD_TOKEN"));
}

#[test]
fn a_shard_that_is_killed_ends_the_run_with_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let mut shard = Shard::start();
    let mut command = machine::program();
    command.args(WORK).args(["--design=batched-io", "--shards=1", "--samples=100000"]);
    command.args(["--set", &shard.addresses()]).current_dir(dir.path());
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(run.stderr.take().unwrap());
    let mut error = String::new();
    while !error.contains("round 1, ") {
        assert!(said.read_line(&mut error).unwrap() > 0, "it ended: {error}");
    }
    shard.child.kill().unwrap();
    said.read_to_string(&mut error).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(6), "{error}");
    assert!(error.contains(&format!("shard 0 at {}", shard.address)), "{error}");
}
