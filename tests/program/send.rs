//! `stress send` as a user sees it. Loads on go-ethereum in developer mode and on anvil are
//! compared with a second reader of the chain. Also errors of its command line.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader, Read},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Output, Stdio},
    thread,
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    found,
    import_rpc::node::{post, server},
    interrupted::UnderWay,
    server::http,
    tool::{printed, stress, text},
};

/// A node that makes a block every second, and ends with the test.
struct Node {
    process: Child,
    http: String,
    ws: String,
    /// Data of the node.
    _dir: TempDir,
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Reads lines until one has an answer; the rest is read and dropped, since a node stops when nobody
/// reads its output.
fn listened<T>(output: impl Read + Send + 'static, mut found: impl FnMut(&str) -> Option<T>) -> T {
    let mut lines = BufReader::new(output).lines();
    let mut said = String::new();
    let answer = lines.by_ref().map_while(Result::ok).find_map(|line| {
        said.push_str(&line);
        said.push('\n');
        found(&line)
    });
    let answer = answer.unwrap_or_else(|| panic!("the node does not start:\n{said}"));
    thread::spawn(move || lines.for_each(drop));
    answer
}

/// anvil with a block every second; `None`, said aloud, where it is not installed.
fn anvil(more: &[&str]) -> Option<Node> {
    let mut process = Command::new(found::anvil()?)
        .args([
            "--port",
            "0",
            "--block-time",
            "1",
            "--hardfork",
            "osaka",
            "--gas-limit",
            "60000000",
        ])
        .args(more)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let address = listened(process.stdout.take().unwrap(), |line| {
        line.strip_prefix("Listening on ").map(str::to_owned)
    });
    let (http, ws) = (format!("http://{address}"), format!("ws://{address}"));
    Some(Node { process, http, ws, _dir: tempfile::tempdir().unwrap() })
}

/// go-ethereum in developer mode; `None`, said aloud, where it is not installed.
fn geth() -> Option<Node> {
    let binary = found::geth()?;
    let dir = tempfile::tempdir().unwrap();
    let mut process = Command::new(binary)
        .args(["--dev", "--dev.period", "1", "--dev.gaslimit", "60000000", "--datadir"])
        .arg(dir.path())
        .args(["--http", "--http.port", "0", "--http.api", "eth,web3,txpool"])
        .args(["--ws", "--ws.port", "0", "--ws.api", "eth,web3,txpool"])
        .args([
            "--port",
            "0",
            "--authrpc.port",
            "0",
            "--nodiscover",
            "--maxpeers",
            "0",
            "--ipcdisable",
        ])
        .args(["--txpool.globalslots", "30000", "--txpool.globalqueue", "30000"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let endpoint = |line: &str, server: &str| {
        let rest = line.split_once(server)?.1;
        let endpoint = rest.split_once("endpoint=")?.1.split_whitespace().next()?;
        rest.contains("auth=false").then(|| endpoint.trim_start_matches("ws://").to_owned())
    };
    let (mut http, mut ws) = (None, None);
    let urls = listened(process.stderr.take().unwrap(), |line| {
        http = http.take().or_else(|| endpoint(line, "HTTP server started"));
        ws = ws.take().or_else(|| {
            let address = line.split_once("WebSocket enabled")?.1.split_once("url=")?.1;
            Some(address.split_whitespace().next()?.trim_start_matches("ws://").to_owned())
        });
        Some((http.clone()?, ws.clone()?))
    });
    let (http, ws) = (format!("http://{}", urls.0), format!("ws://{}", urls.1));
    Some(Node { process, http, ws, _dir: dir })
}

/// The second reader: a call of its own connection.
fn asked(url: &str, method: &str, params: &Value) -> Value {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let answer = post(url, &call);
    assert!(answer.get("error").is_none(), "{call}: {answer}");
    answer["result"].clone()
}

fn number(value: &Value) -> u64 {
    let text = value.as_str().unwrap_or_else(|| panic!("{value} is no quantity"));
    u64::from_str_radix(text.strip_prefix("0x").unwrap(), 16).unwrap()
}

/// Sends a load to `url`, which must have the exit code, and gives its result.
fn sent(url: &str, args: &[&str], code: i32) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let fixed = ["--url", url, "--format", "json", "--out", "out", "--patience", "30s"];
    let output = stress(&[&["send"], args, &fixed].concat(), dir.path());
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {said}\n{}", text(&output.stdout));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let written = fs::read(dir.path().join("out/send.json")).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&written).unwrap(), result);
    let counts = &result["counts"];
    let of = |key: &str| counts[key].as_u64().unwrap();
    assert_eq!(of("planned_count"), of("unsent_count") + of("sent_count"), "{counts}");
    let fates = ["included_count", "reverted_count", "pending_count", "failed_count"].map(of);
    assert_eq!(of("sent_count"), fates.iter().sum::<u64>(), "{counts}");
    result
}

/// The chain as another program reads it has these blocks, and the whole load in them once.
fn assert_equals_the_chain(node: &Node, result: &Value, tx_count: u64) {
    assert_eq!(result["counts"]["included_count"], tx_count, "{}", result["counts"]);
    assert_eq!(result["attempts"]["twice_count"], 0);
    let mut hashes = BTreeSet::new();
    let (mut own_count, mut count) = (0, 0);
    for block in result["blocks"].as_array().unwrap() {
        let at = format!("{:#x}", block["number"].as_u64().unwrap());
        let read = asked(&node.http, "eth_getBlockByNumber", &json!([at, false]));
        assert_eq!(read["hash"], block["hash"]);
        assert_eq!(number(&read["gasUsed"]), block["gas"].as_u64().unwrap(), "{block}");
        assert_eq!(number(&read["timestamp"]), block["timestamp_unix_s"].as_u64().unwrap());
        let txs = read["transactions"].as_array().unwrap();
        assert_eq!(txs.len() as u64, block["tx_count"].as_u64().unwrap(), "{block}");
        count += txs.len() as u64;
        own_count += block["own_tx_count"].as_u64().unwrap();
        hashes.extend(txs.iter().map(ToString::to_string));
    }
    // Nobody else sends to this node.
    assert_eq!((own_count, count, hashes.len() as u64), (tx_count, tx_count, tx_count));
}

/// The loads that every node must take whole. They are payments at a rate, a token in a closed loop
/// over a WebSocket, and calls of many contracts by the depth of the pool.
fn takes_the_loads(node: &Node) {
    let payments = ["transfers", "--accounts", "2k", "--transactions", "20k", "--rate", "1000"];
    let result = sent(&node.http, &payments, 0);
    assert_equals_the_chain(node, &result, 20_000);
    assert_eq!(result["setup"]["funded_count"], 2_000);
    assert_eq!((&result["pace"], &result["node"]["transport"]), (&"rate".into(), &"http".into()));
    assert!(result["latency"]["inclusion_ns"]["p99"].as_u64() > Some(0), "{}", result["latency"]);
    assert!(result["confirmations"]["seen_count"].as_u64() >= Some(1), "{result}");
    assert!(!result["pool"].as_array().unwrap().is_empty(), "it tells its pool");
    let buckets = result["latency"]["inclusion_histogram"].as_array().unwrap();
    let included = buckets.iter().map(|bucket| bucket["count"].as_u64().unwrap());
    assert_eq!((included.sum::<u64>(), &result["latency"]["open_count"]), (20_000, &0.into()));

    let token = ["erc20", "--accounts", "500", "--transactions", "500", "--in-flight", "200"];
    let result = sent(&node.ws, &token, 0);
    assert_equals_the_chain(node, &result, 500);
    assert_eq!(result["setup"]["contract_count"], 1);
    assert_eq!(result["node"]["transport"], "websocket");

    let apps = ["dapps", "--set", "load.dapps=40", "--set", "load.outside=10"];
    let size = ["--accounts", "1k", "--transactions", "1k", "--pool-depth", "500"];
    let result = sent(&node.http, &[&apps[..], &size].concat(), 0);
    assert_equals_the_chain(node, &result, 1_000);
    assert_eq!(result["setup"]["contract_count"], 40);
    assert!(result["setup"]["reused_count"].as_u64() > Some(0), "{}", result["setup"]);
}

#[test]
fn go_ethereum_takes_loads_whole_and_a_second_reader_sees_the_same() {
    if let Some(node) = geth() {
        takes_the_loads(&node);
    }
}

#[test]
fn anvil_takes_loads_whole_and_a_second_reader_sees_the_same() {
    if let Some(node) = anvil(&[]) {
        takes_the_loads(&node);
    }
}

#[test]
fn every_scenario_that_the_help_names_is_taken_whole() {
    let size = ["--accounts", "60", "--transactions", "60", "--in-flight", "60"];
    let help = text(&stress(&["send", "--help"], Path::new(".")).stdout);
    // Most of the time each waits for blocks.
    let sends = |scenario: &str| {
        assert!(help.contains(scenario), "{scenario} is not in {help}");
        let Some(node) = anvil(&[]) else { return };
        let result = sent(&node.http, &[&[scenario][..], &size].concat(), 0);
        assert_equals_the_chain(&node, &result, 60);
    };
    let scenarios = [
        "one-slot",
        "chains",
        "non-conflicting",
        "erc721",
        "nft-mint",
        "airdrop",
        "compute",
        "logs",
    ];
    thread::scope(|threads| {
        for scenario in scenarios {
            threads.spawn(move || sends(scenario));
        }
    });
}

#[test]
fn what_a_node_cannot_be_prepared_for_and_a_public_chain_are_refused_by_name() {
    let Some(node) = anvil(&["--chain-id", "10"]) else { return };
    let url = node.http.as_str();
    let public = ["public chain optimism", "--chain-id 10", "--seed"];
    refused(&["transfers", "--url", url], 2, &public);
    let other = ["transfers", "--url", url, "--chain-id", "7"];
    refused(&other, 2, &["chain 10", "--chain-id is 7"]);
    for (scenario, word) in [
        ("sload-storm", "slots by a rule"),
        ("account-storm", "only a genesis"),
        ("amm", "hash the pairs' addresses"),
        ("delegate", "EIP-7702"),
        ("deploy", "others of them create"),
        ("mainnet-like", "stress send --help"),
    ] {
        let named = [scenario, "--url", url, "--chain-id", "10"];
        refused(&named, 2, &["cannot be sent to a live node", word]);
    }
    let guessed = ["transfers", "--url", url, "--chain-id", "10", "--transactions", "10"];
    refused(&guessed, 2, &["money on chain 10", "--seed NUMBER"]);
    let many = ["erc20", "--url", url, "--chain-id", "10", "--accounts", "2k"];
    let held = [&many[..], &["--set", "load.holders=2000"]].concat();
    refused(&held, 2, &["2000 slots", "one transaction creates it"]);
}

#[test]
fn loads_are_reported_and_compared_and_a_gate_refuses_them() {
    let Some(node) = anvil(&[]) else { return };
    let dir = tempfile::tempdir().unwrap();
    let load = |transactions: &str, out: &str| {
        let size = ["--accounts", "2", "--transactions", transactions, "--in-flight", "4"];
        let args = ["send", "transfers", "--url", &node.http, "--out", out];
        printed(&[&args[..], &size].concat(), dir.path())
    };
    for out in ["before", "before", "after"] {
        let page = load("4", out);
        assert!(page.contains("all 4 transactions are in blocks, all within"), "{page}");
    }
    let summary = printed(&["report", "before", "after/send.json"], dir.path());
    assert_eq!(summary.matches("| transfers | in-flight 4 | 4 of 4 |").count(), 3, "{summary}");
    printed(&["report", "before", "--out", "load.html"], dir.path());
    let html = fs::read_to_string(dir.path().join("load.html")).unwrap();
    for words in ["Transactions by block", "Time to inclusion", "Depth of the pool"] {
        assert!(html.contains(words), "{words} is not on the page");
    }
    let rows = printed(&["report", "before", "--format", "csv"], dir.path());
    assert_eq!(rows.lines().count(), 3, "{rows}");

    let page = printed(&["compare", "before", "after"], dir.path());
    assert!(page.contains("n<7") && page.contains("send the load 7 times or more"), "{page}");
    let json = printed(&["compare", "before", "after", "--format", "json"], dir.path());
    let compared: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(compared["schema"], "stress.send-compare/1");
    assert_eq!(
        (&compared["sides"][0]["load_count"], &compared["changes"]),
        (&2.into(), &json!([]))
    );
    assert!(compared["rows"][0]["figures"][1]["ratio"].as_f64() > Some(0.0), "{json}");
    load("6", "larger");
    for (verb, words) in [
        (&["compare", "before"][..], "name another file or directory"),
        (&["compare", "before", "larger"], "only equal ones can be compared"),
        (&["gate", "--baseline", "before", "--result", "after"], "stress compare BEFORE/ AFTER/"),
    ] {
        let output = stress(verb, dir.path());
        let error = text(&output.stderr);
        assert!(!output.status.success() && error.contains(words), "{verb:?}: {error}");
    }
}

#[test]
fn an_interrupted_load_keeps_what_is_known() {
    let Some(node) = anvil(&[]) else { return };
    let args = ["send", "transfers", "--accounts", "20", "--transactions", "5k", "--rate", "20"];
    let more = ["--url", node.http.as_str(), "--format", "json", "--out", "out"];
    let mut load = UnderWay::start(&[&args[..], &more].concat(), tempfile::tempdir().unwrap());
    load.wait_for("sending: ");
    load.ends_at("INT");
    let result: Value = serde_json::from_str(&load.said("stdout")).unwrap();
    assert_eq!(result["interrupted"], true);
    let of = |key: &str| result["counts"][key].as_u64().unwrap();
    assert!(of("sent_count") > 0 && of("unsent_count") > 0, "{}", result["counts"]);
    let open = result["latency"]["open_count"].as_u64().unwrap();
    let waited = result["latency"]["inclusion_ns"]["count"].as_u64().unwrap();
    let in_blocks = of("included_count") + of("reverted_count");
    assert_eq!(waited, in_blocks + open, "{}", result["latency"]);
    assert_eq!(of("planned_count"), 5_000);
    assert!(load.dir.path().join("out/send.json").exists());
}

fn refused(args: &[&str], code: i32, words: &[&str]) -> Output {
    let dir = tempfile::tempdir().unwrap();
    let output = stress(&[&["send"], args].concat(), dir.path());
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
    assert_eq!(error.matches("error:").count(), 1, "one error: {error}");
    for word in words {
        assert!(error.contains(word), "{word:?} is not in: {error}");
    }
    output
}

/// A URL of a node on chain `id` that has one block, and no other method.
fn node_on(id: u64) -> String {
    server(move |body| http("200 OK", &answer_on(id, body)))
}

/// The answer of that node to a call.
pub(crate) fn answer_on(id: u64, call: &str) -> String {
    let zero = "0x".to_owned() + &"0".repeat(64);
    let call: Value = serde_json::from_str(call).unwrap();
    let block = json!({
        "number": "0x0", "hash": zero, "parentHash": zero, "timestamp": "0x0", "gasUsed": "0x0",
        "gasLimit": "0x1c9c380", "baseFeePerGas": "0x7", "transactions": [],
    });
    let answer = match call["method"].as_str().unwrap() {
        "eth_chainId" => json!({"result": format!("{id:#x}")}),
        "eth_getBlockByNumber" => json!({"result": block}),
        method => json!({"error": {"code": -32601, "message": format!("no {method}")}}),
    };
    let mut whole = json!({"jsonrpc": "2.0", "id": call["id"]});
    whole.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
    whole.to_string()
}

#[test]
fn a_chain_that_is_not_of_developer_nodes_must_be_named_and_has_a_seed_of_ones_own() {
    for (id, kind) in [(1, "public chain mainnet"), (7_777_778, "are of developer nodes")] {
        let (url, option) = (node_on(id), id.to_string());
        // A client may open a connection more than it needs, on which it says nothing.
        let _spare = TcpStream::connect(url.trim_start_matches("http://")).unwrap();
        let load = ["transfers", "--transactions", "10", "--accounts", "2", "--url", url.as_str()];
        let add = format!("give --chain-id {id} and a --seed");
        refused(&load, 2, &[kind, &add]);
        let named = [&load[..], &["--chain-id", &option]].concat();
        refused(&named, 2, &["--seed NUMBER"]);
        // The node is asked for the account, so the load would have begun.
        let meant = [&named[..], &["--seed", "13371845609257304491"]].concat();
        refused(&meant, 6, &["eth_getBalance"]);
        let other = [&load[..], &["--chain-id", "7"]].concat();
        refused(&other, 2, &[&format!("is on chain {id}"), "--chain-id is 7"]);
    }
    for id in [1_337, 13_370, 31_337] {
        let url = node_on(id);
        let load = ["transfers", "--transactions", "10", "--accounts", "2", "--url", url.as_str()];
        refused(&load, 6, &["eth_getBalance"]);
    }
}

#[test]
fn what_cannot_be_sent_is_one_error_with_its_remedy() {
    let nobody = "http://127.0.0.1:9/KEY";
    let output = refused(&["transfers", "--url", nobody], 6, &["eth_chainId", "does the node run"]);
    assert!(!text(&output.stderr).contains("KEY"), "{}", text(&output.stderr));
    refused(&["transfers", "--url", "127.0.0.1:8545"], 2, &["--url", "ws://HOST:PORT"]);
    refused(&["transfers", "--url", "http://"], 2, &["--url", "ws://HOST:PORT"]);
    refused(&["transfers", "--url", nobody, "--rate", "0"], 2, &["--rate 0", "a second"]);
    refused(&["transfers", "--url", nobody, "--in-flight", "0"], 2, &["--in-flight 0"]);
    refused(&["transfers", "--url", nobody, "--key-file", "none"], 2, &["--key-file none"]);
}

#[test]
fn a_node_is_believed_on_its_own_call_alone_and_its_words_steer_no_terminal() {
    let refused = |answer: String, words: &[&str]| {
        let url = server(move |_| answer.clone());
        let output = refused(&["transfers", "--url", &url], 6, words);
        let error = text(&output.stderr);
        assert!(!error.contains('\u{1b}') && error.len() < 2_000, "{error}");
    };
    for id in ["999", "null", "\"0\""] {
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"0x539"}}"#);
        refused(http("200 OK", &answer), &["eth_chainId", "to another call"]);
    }
    let words = "\u{1b}]0;mine\u{7}\u{1b}[2J".to_owned() + &"x".repeat(1 << 19);
    let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -1, "message": words}});
    refused(http("200 OK", &error.to_string()), &["eth_chainId", "\\u{1b}]0;mine\\u{7}", "x…"]);
    refused(http("500 Broken", &words), &["500", "\\u{1b}]0;mine"]);
    let elsewhere = node_on(1_337).replace("127.0.0.1", "localhost");
    let moved = http(&format!("308 Moved\r\nLocation: {elsewhere}"), "");
    refused(moved, &["redirects to another host"]);
}
