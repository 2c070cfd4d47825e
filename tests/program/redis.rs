//! The store in a Redis Cluster as a user sees it: servers that the program starts and ends, and
//! one that needs a password. Also shards whose coordinator reads from it, and the errors where it
//! is absent.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::atomic::AtomicBool,
    thread,
    time::{Duration, Instant},
};

use executor::{
    state::{NoProgress, Watch},
    store::redis::RedisServers,
};
use serde_json::Value;

use crate::{
    found::skipped,
    interrupted::{BEGIN_LIMIT, POLL_INTERVAL, UnderWay},
    machine,
    tool::{printed, stress, text},
};

const WORK: [&str; 9] = [
    "run",
    "erc20",
    "--gas",
    "2M",
    "--threads",
    "2",
    "--set=state.accounts=200",
    "--set=load[0].holders=200",
    "--whole=none",
];

fn is_here() -> bool {
    let asked = Command::new("redis-server").arg("--version").output();
    if let Err(error) = &asked {
        skipped(&format!(
            "there is no redis-server on PATH ({error}): the redis store is NOT tested"
        ));
    }
    asked.is_ok()
}

/// Directories and processes of servers below `dir`.
fn left_in(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let named = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("redis-servers-"))
    };
    entries.filter(named).chain(processes_in(dir)).collect()
}

fn assert_none_left(dir: &Path) {
    let left = left_in(dir);
    assert!(left.is_empty(), "{left:?}");
}

/// Current directories of processes that are below `dir`, but for that of the test's own programs.
fn processes_in(dir: &Path) -> Vec<PathBuf> {
    let dir = dir.canonicalize().unwrap();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let theirs = processes.filter_map(|process| fs::read_link(process.path().join("cwd")).ok());
    theirs.filter(|cwd| cwd.starts_with(&dir) && *cwd != dir).collect()
}

/// A run that fails with one error. Returns it.
fn refused(args: &[&str], dir: &Path, code: i32) -> String {
    failed(&stress(&[&WORK[..], args].concat(), dir), code)
}

fn failed(output: &Output, code: i32) -> String {
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{error}");
    assert_eq!(error.matches("error:").count(), 1, "{error}");
    error.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_run_over_redis_equals_the_reference_with_and_without_shards_and_leaves_no_server() {
    if !is_here() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    for shards in [&[][..], &["--shards=2"]] {
        let how = [
            "--store=memory,redis",
            "--design=sequential,block-stm,batched-io",
            "--samples=1",
            "--format=json",
        ];
        let result: Value =
            serde_json::from_str(&printed(&[&WORK[..], &how, shards].concat(), dir.path()))
                .unwrap();
        assert_eq!(result["agree"], true);
        let cells = result["cells"].as_array().unwrap();
        let of_redis: Vec<_> = cells.iter().filter(|cell| cell["store"] == "redis").collect();
        assert!(of_redis.len() >= 3 && of_redis.len() < cells.len(), "{cells:#?}");
        let has_shards = |cell: &&&Value| cell["shards"].as_u64() == Some(2);
        assert_eq!(of_redis.iter().any(|cell| has_shards(&cell)), !shards.is_empty());
        let facts = &result["stores"][1]["facts"];
        assert!(facts["redis"].as_str().unwrap().contains("3 nodes of a cluster"), "{facts}");
        assert!(facts["server_memory_bytes"].as_u64().unwrap() > 1 << 20, "{facts}");
        assert_none_left(dir.path());
    }
}

#[test]
fn a_run_that_is_interrupted_or_killed_takes_its_servers_with_it() {
    if !is_here() {
        return;
    }
    let args = [&WORK[..], &["--store=redis", "--design=sequential", "--budget=10m"]].concat();
    for signal in ["INT", "KILL"] {
        let mut run = UnderWay::start(&args, tempfile::tempdir().unwrap());
        let begun = Instant::now();
        while processes_in(run.dir.path()).len() < 3 {
            assert_eq!(run.child.try_wait().unwrap(), None, "{}", run.said("stderr"));
            assert!(begun.elapsed() < BEGIN_LIMIT, "{}", run.said("stderr"));
            thread::sleep(POLL_INTERVAL);
        }
        if signal == "INT" {
            run.ends_at(signal);
        } else {
            run.child.kill().unwrap();
            run.child.wait().unwrap();
        }
        let begun = Instant::now();
        while !processes_in(run.dir.path()).is_empty() {
            assert!(begun.elapsed() < Duration::from_secs(30), "a server has outlived {signal}");
            thread::sleep(POLL_INTERVAL);
        }
        // The next run removes a directory that is left.
        let next = ["--store=redis", "--design=sequential", "--samples=1"];
        printed(&[&WORK[..], &next].concat(), run.dir.path());
        assert_none_left(run.dir.path());
    }
}

#[test]
fn a_password_is_taken_from_the_environment_and_shown_nowhere() {
    if !is_here() {
        return;
    }
    const SECRET: &str = "open-sesame-17";
    let dir = tempfile::tempdir().unwrap();
    let cancel = AtomicBool::new(false);
    let watch = Watch { progress: &NoProgress, cancel: &cancel };
    let servers = RedisServers::start(dir.path(), &watch).unwrap();
    for address in servers.addresses() {
        let client = redis::Client::open(format!("redis://{address}/")).unwrap();
        let words = ["SET", "requirepass", SECRET];
        redis::cmd("CONFIG").arg(&words).exec(&mut client.get_connection().unwrap()).unwrap();
    }
    let addresses = format!("run.redis_addresses={}", servers.addresses().join(","));
    let how = ["--store=redis", "--design=batched-io", "--samples=1", "--set", &addresses];
    let run = |password: Option<&str>| {
        let mut command = machine::program();
        command.args(WORK).args(how).args(["--out", "out"]).current_dir(dir.path());
        command.env("STRESS_DATA_DIR", dir.path()).env_remove("STRESS_REDIS_PASSWORD");
        command.envs(password.map(|password| ("STRESS_REDIS_PASSWORD", password)));
        machine::output(&mut command)
    };
    let error = failed(&run(None), 6);
    assert!(error.contains("NOAUTH"), "{error}");
    let error = failed(&run(Some("wr0ng-password")), 6);
    assert!(error.contains("authentication") && !error.contains("wr0ng"), "{error}");
    let output = run(Some(SECRET));
    let said = [text(&output.stdout), text(&output.stderr)].concat();
    assert!(output.status.success(), "{said}");
    let files = fs::read_dir(dir.path().join("out")).unwrap().map(|file| file.unwrap().path());
    for file in files.filter(|path| path.is_file()) {
        assert!(!text(&fs::read(&file).unwrap()).contains(SECRET), "{}", file.display());
    }
    assert!(!said.contains(SECRET), "{said}");
}

#[test]
fn without_servers_and_with_wrong_keys_one_error_has_the_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = machine::program();
    command.args(WORK).arg("--store=redis").current_dir(dir.path());
    command.env("STRESS_DATA_DIR", dir.path()).env("PATH", dir.path());
    let error = failed(&machine::output(&mut command), 6);
    for words in ["no redis-server on PATH", "apt-get install redis-server", "run.redis_addresses"]
    {
        assert!(error.contains(words), "{words}: {error}");
    }
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let there = format!("run.redis_addresses={nobody}");
    let error = refused(&["--store=redis", "--set", &there], dir.path(), 6);
    assert!(error.contains("no Redis server answers") && error.contains(&nobody), "{error}");
    let error = refused(&["--store=memory", "--set", &there], dir.path(), 2);
    assert!(error.contains("where the redis store is"), "{error}");
    let error = refused(&["--store=redis", "--set=run.trie=cut"], dir.path(), 2);
    assert!(error.contains("keeps no tries"), "{error}");
    assert_none_left(dir.path());
}
