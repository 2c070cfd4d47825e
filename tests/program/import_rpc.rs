//! `stress import rpc` as a user sees it. Blocks of a real node, anvil, become workloads on which
//! all designs agree. A node that lacks a needed value gets one clear error.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fs, process::Output};

use serde_json::{Value, json};
use tempfile::TempDir;
use workload::{BlobSchedule, ChainRules, Fork, TxType, file};

use self::node::{Anvil, refusal, server, through};
use crate::{machine, server::http};

pub(crate) mod node;

/// Accounts that anvil funds; their secrets are known to it.
const PEOPLE: [&str; 4] = [
    "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
    "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
    "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
    "0x90F79bf6EB2c4f870365E785982E1f101E93b906",
];
/// The contract that the first transaction of the first of them creates.
const CONTRACT: &str = "0x5FbDB2315678afecb367f032d93F642f64180aa3";
/// An account that does not exist until it is paid.
const FRESH: &str = "0x000000000000000000000000000000000000f00d";

/// Creates a contract that counts in slot 0, and reads two absent accounts and an absent slot. It
/// keeps the hash of the block before in slot 1, and logs. With calldata it then reads a slot and
/// reverts. Its slot 5 is written at its creation.
const INIT_CODE: &str = "0x60776005556034600f5f3960345ff3\
    5f546001015f55\
    61dead3150\
    61beef3f50\
    6001430340600155\
    60075450\
    5f545f52602a60205fa1\
    36602c5700\
    5b600954505f5ffd";

/// The second account delegates to the contract (EIP-7702): `cast wallet sign-auth` of Foundry on
/// chain 31337 with nonce 0.
fn delegation() -> Value {
    json!({
        "chainId": "0x7a69", "address": CONTRACT, "nonce": "0x0", "yParity": "0x0",
        "r": "0x0a17b68dcbf7db8bafb45cbcbeb61316aa330f045e43425e1db41e6c794c2e64",
        "s": "0x1a7f46131075975b44ae67f3bc968a9bce64f257b24571d945bb9026812c114e",
    })
}

/// A node whose blocks keep to the rules of headers. By itself it makes several at one time, and its
/// first with the base fee of the genesis block: one of 7 wei does not fall.
fn started() -> Option<Anvil> {
    let anvil = Anvil::start(&["--base-fee", "7"])?;
    anvil.call("anvil_setBlockTimestampInterval", &json!([1]));
    Some(anvil)
}

/// A chain of four blocks: a contract created and called at once; transactions of five kinds; the
/// delegated account called by others; nothing.
fn chain() -> Option<Anvil> {
    let anvil = started()?;
    anvil.call("anvil_setCoinbase", &json!([PEOPLE[3]]));
    let send = |sender: usize, fields: Value| {
        let mut tx = json!({"from": PEOPLE[sender], "gas": "0x40000"});
        tx.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        anvil.call("eth_sendTransaction", &json!([tx]));
    };
    let ether = "0xde0b6b3a7640000";
    send(0, json!({"data": INIT_CODE}));
    send(0, json!({"to": CONTRACT}));
    anvil.mine();
    send(0, json!({"to": FRESH, "value": ether, "gasPrice": "0x77359400"}));
    let keys = [format!("{:#066x}", 0), format!("{:#066x}", 7)];
    send(
        2,
        json!({"to": CONTRACT, "accessList": [{"address": CONTRACT, "storageKeys": keys}],
        "gasPrice": "0x77359400"}),
    );
    send(2, json!({"to": CONTRACT, "maxFeePerGas": "0x77359400", "maxPriorityFeePerGas": "0x1"}));
    send(0, json!({"to": PEOPLE[1], "authorizationList": [delegation()]}));
    send(2, json!({"to": CONTRACT, "data": "0x01"}));
    send(0, json!({"to": FRESH, "value": ether}));
    send(3, json!({"to": PEOPLE[0], "value": "0x1"}));
    anvil.mine();
    send(0, json!({"to": PEOPLE[1]}));
    send(1, json!({"to": FRESH, "value": "0x1"}));
    send(2, json!({"to": PEOPLE[1], "data": "0x01"}));
    anvil.mine();
    anvil.mine();
    Some(anvil)
}

struct Import {
    dir: TempDir,
}

impl Import {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn stress(&self, args: &[&str]) -> Output {
        let mut command = machine::program();
        command.current_dir(self.dir.path()).args(args).env_remove("STRESS_RPC_URL");
        command.env("STRESS_DATA_DIR", self.dir.path().join("data")).env("COLUMNS", "80");
        machine::output(&mut command)
    }

    fn import(&self, url: &str, output: &str, more: &[&str]) -> Output {
        self.stress(&[&["import", "rpc", "--url", url, "--force", "--out", output], more].concat())
    }

    /// Imports, expects success, and gives the output.
    fn good(&self, url: &str, output: &str, more: &[&str]) -> String {
        let done = self.import(url, output, more);
        assert_eq!(done.status.code(), Some(0), "{more:?}: {}", text(&done.stderr));
        text(&done.stdout)
    }

    /// Imports, and expects this exit code, one error with these words, and no file.
    fn refused(&self, url: &str, more: &[&str], code: i32, words: &[&str]) {
        let done = self.import(url, "refused.workload", more);
        let error = text(&done.stderr);
        assert_eq!(done.status.code(), Some(code), "{more:?}: {error}");
        assert!(!error.contains("panicked"), "{error}");
        assert_eq!(error.matches("error:").count(), 1, "one error: {error}");
        for word in words {
            assert!(error.contains(word), "{word:?} is not in: {error}");
        }
        assert!(!self.dir.path().join("refused.workload").exists(), "nothing is written");
    }

    fn read(&self, name: &str) -> workload::Workload {
        file::read(&self.dir.path().join(name)).unwrap()
    }

    /// Runs a workload in every design, which must agree.
    fn runs(&self, name: &str) {
        let designs = "sequential,prewarm,block-stm,parallel-io,batched-io,full,bare-revm";
        let args = ["--workload", name, "--store", "memory", "--samples", "1", "--format", "json"];
        let run = self.stress(&[&args[..], &["--design", designs]].concat());
        assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
        let result: Value = serde_json::from_slice(&run.stdout).unwrap();
        assert_eq!(result["agree"], json!(true));
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn blocks_of_a_node_become_workloads_with_and_without_its_tracer() {
    let Some(anvil) = chain() else { return };
    let import = Import::new();
    let untraced = through(&anvil.url, |call, answer| {
        if call["method"] == "debug_traceBlockByNumber" {
            // As go-ethereum says it without its debug interface.
            let said = "the method debug_traceBlockByNumber does not exist/is not available";
            *answer = refusal(call, -32601, said);
        }
    });
    for (number, tx_count) in [("1", 2), ("2", 7), ("3", 3), ("latest", 0)] {
        let said = import.good(&anvil.url, "a.workload", &["--block", number]);
        for word in ["equal to the node", "gas used", "receipts root", "logs bloom"] {
            assert!(said.contains(word), "{word} is not in {said}");
        }
        let workload = import.read("a.workload");
        assert_eq!(workload.tx_count(), tx_count);
        let traced = fs::read(import.dir.path().join("a.workload")).unwrap();
        let said = import.good(&untraced, "a.workload", &["--block", number]);
        assert!(said.contains("not compared: changes of each transaction, as"), "{said}");
        // The tracer's state equals the node's answers key by key.
        assert_eq!(import.read("a.workload").genesis, workload.genesis, "block {number}");
        assert_eq!(fs::read(import.dir.path().join("a.workload")).unwrap(), traced);
        import.runs("a.workload");
    }
    let by_hash = anvil.call("eth_getBlockByNumber", &json!(["0x2", false]))["hash"].clone();
    import.good(&anvil.url, "by-hash.workload", &["--block", by_hash.as_str().unwrap()]);
    let workload = import.read("by-hash.workload");
    let types: Vec<TxType> =
        workload.blocks().next().unwrap().transactions[..4].iter().map(|tx| tx.tx_type).collect();
    let wanted = [TxType::Legacy, TxType::AccessList, TxType::DynamicFee, TxType::SetCode];
    assert_eq!(types, wanted);
    assert_eq!(workload.first_hash_number, 0);
    assert_eq!(workload.block_hashes.len(), 3, "as many as there are, and its own");
}

#[test]
fn consecutive_blocks_are_run_as_one() {
    let Some(anvil) = chain() else { return };
    let import = Import::new();
    let all = ["--block", "4", "--blocks", "4"];
    import.good(&anvil.url, "alone.workload", &all);
    let said = import.good(&anvil.url, "mega.workload", &[&all[..], &["--batch", "3"]].concat());
    assert!(said.contains("blocks 1 to 4 as 2 batches on osaka"), "{said}");
    let (alone, mega) = (import.read("alone.workload"), import.read("mega.workload"));
    assert_eq!((alone.batches.len(), mega.batches.len()), (4, 2));
    assert_eq!(mega.batches[0].blocks.len(), 3);
    assert_eq!((mega.genesis.clone(), mega.gas_used()), (alone.genesis.clone(), alone.gas_used()));
    let outcomes = |workload: &workload::Workload| -> Vec<_> {
        let batches = workload.batches.iter();
        batches.flat_map(|batch| batch.expected.transactions.clone()).collect()
    };
    assert_eq!(outcomes(&alone), outcomes(&mega), "a batch changes nothing of what comes out");
    import.runs("alone.workload");
    import.runs("mega.workload");
    // Without the contract's creation in the blocks, it is in the state below them.
    import.good(&anvil.url, "last.workload", &["--block", "4", "--blocks", "3", "--batch", "3"]);
    import.runs("last.workload");
}

#[test]
fn the_last_256_hashes_come_along() {
    let Some(anvil) = started() else { return };
    let import = Import::new();
    anvil.call("anvil_mine", &json!(["0x12c"]));
    import.good(&anvil.url, "a.workload", &["--block", "300"]);
    let workload = import.read("a.workload");
    assert_eq!((workload.first_hash_number, workload.block_hashes.len()), (300 - 256, 257));
    let hash = anvil.call("eth_getBlockByNumber", &json!(["0x2c", false]))["hash"].clone();
    assert_eq!(json!(workload.block_hashes[0]), hash);
    assert_eq!(workload.block_hash(299), Some(workload.blocks().next().unwrap().env.parent_hash));
}

#[test]
fn a_node_that_lacks_what_is_needed_gets_one_error_with_method_answer_and_remedy() {
    let Some(anvil) = chain() else { return };
    let import = Import::new();
    let url = anvil.url.as_str();
    let lacks = |method: &'static str, code: i64, said: &'static str| {
        through(url, move |call, answer| {
            if call["method"] == method {
                *answer = refusal(call, code, said);
            }
        })
    };
    // The message of go-ethereum on a pruned state.
    let said = "missing trie node 5039d8b32c (path ) state 0x005039d8 is not available";
    let pruned = lacks("eth_getBalance", -32000, said);
    let words = ["eth_getBalance(", said, "state of block 1", "archive"];
    import.refused(&pruned, &["--block", "2"], 6, &words);
    let said = "required historical state unavailable (reexec=128)";
    let pruned = lacks("debug_traceBlockByNumber", -32000, said);
    let words = ["debug_traceBlockByNumber(0x2)", said, "state of block 1", "archive"];
    import.refused(&pruned, &["--block", "2"], 6, &words);
    // Receipts one by one, where they are not given together.
    let alone = lacks("eth_getBlockReceipts", -32601, "no such method");
    let said = import.good(&alone, "a.workload", &["--block", "2"]);
    assert!(said.contains("status and gas of receipts"), "{said}");
    let no_config = lacks("eth_config", -32601, "no such method");
    import.refused(&no_config, &["--block", "2"], 2, &["eth_config", "--fork", "osaka, bpo1"]);
    import.good(&no_config, "a.workload", &["--block", "2", "--fork", "osaka"]);
    let contract = "0x0707070707070707070707070707070707070707";
    let own = through(url, move |call, answer| {
        if call["method"] == "eth_config" {
            let current = &mut answer["result"]["current"];
            current["blobSchedule"] =
                json!({"target": 2, "max": 4, "baseFeeUpdateFraction": 1_000_000});
            current["systemContracts"]["DEPOSIT_CONTRACT_ADDRESS"] = json!(contract);
        }
    });
    import.refused(&own, &["--block", "2"], 2, &["eth_config", "--fork"]);
    import.good(&own, "own.workload", &["--block", "2", "--fork", "osaka"]);
    let blobs = BlobSchedule { target: 2, max: 4, base_fee_update_fraction: 1_000_000 };
    let deposit_contract = contract.parse().unwrap();
    let rules = ChainRules { fork: Fork::Osaka, blobs, deposit_contract };
    assert_eq!(import.read("own.workload").rules, rules.into());
    import.runs("own.workload");
}

#[test]
fn what_does_not_fit_the_chain_is_named() {
    let Some(anvil) = chain() else { return };
    let import = Import::new();
    let url = anvil.url.as_str();
    let refused = |more: &[&str], code: i32, words: &[&str]| import.refused(url, more, code, words);
    refused(&["--block", "99"], 6, &["eth_getBlockByNumber(0x63)", "null", "have the block"]);
    refused(&["--block", "0"], 2, &["number is \"0x0\"", "genesis block is not run"]);
    refused(&["--block", "3", "--blocks", "4"], 2, &["number is \"0x3\"", "4 or more"]);
    refused(&["--block", "2", "--fork", "amsterdam"], 2, &["prague to bpo2"]);
    refused(&["--block", "2", "--fork", "bpo2"], 2, &["--fork bpo2", "osaka"]);
    refused(&["--block", "2", "--fork", "prague"], 2, &["--fork prague", "osaka"]);
    refused(&["--block", "0xzz"], 2, &["--block", "a hash of 32 bytes, or latest"]);
    refused(&["--blocks", "9999"], 2, &["--blocks 9999", "1024"]);
}

#[test]
fn an_answer_that_is_wrong_is_a_disagreement_or_a_field_that_is_named() {
    let Some(anvil) = chain() else { return };
    let import = Import::new();
    let changed = |method: &'static str, change: fn(&mut Value)| {
        through(&anvil.url, move |call, answer| {
            if call["method"] == method {
                change(&mut answer["result"]);
            }
        })
    };
    let two = ["--block", "2"];
    let url = changed("eth_getBlockReceipts", |all| all[1]["gasUsed"] = json!("0x5"));
    import.refused(&url, &two, 3, &["block 2", "receipt 1 is 5 gas and status 1 by the node"]);
    let url = changed("debug_traceBlockByNumber", |all| {
        if let Some(account) = all[0]["result"].pointer_mut(&format!("/post/{FRESH}")) {
            account["balance"] = json!("0x7");
        }
    });
    let words = ["the balance of 0x0000", "after transaction 0 is 7 by the node"];
    import.refused(&url, &two, 3, &words);
    let url = changed("debug_traceBlockByNumber", |all| drop(all.as_array_mut().unwrap().pop()));
    import.refused(&url, &two, 2, &["debug_traceBlockByNumber(0x2)", "7 traces"]);
    let url = changed("eth_getBlockByNumber", |block| block["gasLimit"] = json!("much"));
    import.refused(&url, &two, 2, &["gasLimit is \"much\"", "eth_getBlockByNumber"]);
    let url = changed("eth_getBlockByNumber", |block| block["hash"] = block["parentHash"].clone());
    import.refused(&url, &two, 2, &["hash is", "the hash of these fields"]);
    let url = changed("eth_getBlockByNumber", |block| {
        if block["number"] == "0x2" {
            block["parentHash"] = block["hash"].clone();
        }
    });
    import.refused(&url, &two, 2, &["parentHash", "reorganised"]);
    let url = changed("eth_getBlockByNumber", |block| block["number"] = json!("0x3"));
    import.refused(&url, &two, 2, &["number is \"0x3\"", "the block that was asked for"]);
}

#[test]
fn what_is_no_node_gets_one_error() {
    let import = Import::new();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let words = ["eth_chainId", "refused", "does the node run"];
    import.refused(&format!("http://{closed}/KEY"), &[], 6, &words);
    let page = server(|_| http("404 Not Found", "<html>nothing here</html>"));
    import.refused(&page, &[], 6, &["no JSON", "404", "nothing here", "JSON-RPC interface"]);
    let half = server(|_| "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"res".to_owned());
    import.refused(&half, &[], 6, &["eth_chainId"]);
    let number = server(|_| http("200 OK", r#"{"jsonrpc":"2.0","id":0,"result":"chain"}"#));
    import.refused(&number, &[], 2, &["eth_chainId", "\"chain\"", "0x and hex digits"]);
    for id in ["7", "null", "\"0\""] {
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"0x1"}}"#);
        let other = server(move |_| http("200 OK", &answer));
        import.refused(&other, &[], 6, &["eth_chainId", "an answer is to no call"]);
    }
    let words = "\u{1b}]0;mine\u{7}\u{1b}[2J".to_owned() + &"x".repeat(1 << 15);
    let loud = json!({"jsonrpc": "2.0", "id": 0, "error": {"code": -1, "message": words}});
    let loud = server(move |_| http("200 OK", &loud.to_string()));
    import.refused(&loud, &[], 6, &["eth_chainId", "\\u{1b}]0;mine\\u{7}", "x…"]);
    let error = text(&import.import(&loud, "a.workload", &[]).stderr);
    assert!(!error.contains('\u{1b}') && error.len() < 2_000, "{error}");
    import.refused("ftp://127.0.0.1", &[], 2, &["--url", "http://HOST:PORT"]);
    let done = import.import(&format!("http://{closed}/v3/KEY"), "a.workload", &[]);
    assert!(!text(&done.stderr).contains("KEY"), "a key in the URL is not shown");
}
