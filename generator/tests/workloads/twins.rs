//! Engine twins of tests: the same work as their `blockchain_test`, and every field of a call
//! compared. The kinds of all files that an export has, told by content.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as it does")]

use std::{fs, num::NonZeroU64, path::Path};

use alloy_primitives::{B256, Bytes, hex};
use generator::{
    export::{self, AccountsPlace, Chain, Lists, TestFormat},
    import::{self, ImportError, Imported, InputKind},
};
use serde_json::{Value, json};
use workload::{Fork, TxType, Workload};

use crate::blockchain_tests::{chain_of, two_blocks};

/// A chain with a blob and, from Prague on, requests beside its payloads.
fn chain(fork: Fork) -> Chain {
    let mut workload = two_blocks();
    workload.rules = fork.into();
    for batch in &mut workload.batches {
        let tx = &mut batch.blocks[0].transactions[0];
        (tx.tx_type, tx.max_fee_per_blob_gas) = (TxType::Blob, 1);
        tx.blob_hashes = vec![B256::right_padding_from(&[1])];
    }
    generator::reference::complete(&mut workload, || ()).unwrap();
    chain_of(&workload).unwrap()
}

fn file(chain: &Chain, format: TestFormat) -> Value {
    let mut text = Vec::new();
    export::eest(chain, format, &mut text).unwrap();
    serde_json::from_slice(&text).unwrap()
}

fn imported(file: &Value) -> Result<(Imported, Vec<&'static str>), ImportError> {
    let mut imported = import::blockchain_tests("tests.json", &file.to_string())?.remove(0);
    let compared = import::complete(&mut imported, || ())?;
    Ok((imported, compared))
}

/// `twin` with a change in its first call.
fn with(twin: &Value, change: impl FnOnce(&mut Value)) -> Value {
    let mut twin = twin.clone();
    let test = twin.as_object_mut().unwrap().values_mut().next().unwrap();
    change(&mut test["engineNewPayloads"][0]);
    twin
}

fn refused(twin: &Value, words: &[&str]) {
    let error = imported(twin).expect_err("it is wrong").to_string();
    for word in words {
        assert!(error.contains(word), "{word:?} is not in: {error}");
    }
}

#[test]
fn an_engine_twin_is_the_same_work_as_its_test() {
    for fork in Fork::GENERATED {
        let chain = chain(fork);
        let unnamed = |format| {
            let (imported, compared) = imported(&file(&chain, format)).unwrap();
            (Workload { scenario: String::new(), ..imported.workload }, compared)
        };
        let (test, _) = unnamed(TestFormat::Blocks);
        let (twin, compared) = unnamed(TestFormat::Engine);
        assert_eq!((twin.digest(), &twin), (test.digest(), &test), "{fork}");
        for what in ["versioned hashes", "block hash", "requests hash", "last block hash"] {
            assert!(compared.contains(&what), "{what} is in {compared:?}");
        }
        assert_eq!(compared.contains(&"list"), fork == Fork::Amsterdam, "{compared:?}");
    }
}

#[test]
fn every_parameter_of_a_call_is_compared() {
    let twin = file(&chain(Fork::Amsterdam), TestFormat::Engine);
    let payload = twin.as_object().unwrap().values().next().unwrap();
    let payload = payload["engineNewPayloads"][0]["params"][0].as_object().unwrap().clone();
    for key in payload.keys() {
        let other = match &payload[key] {
            Value::String(text) if text.len() > 2 => {
                let last = if text.ends_with('1') { "2" } else { "1" };
                json!(format!("{}{last}", &text[..text.len() - 1]))
            }
            Value::String(_) => json!("0x01"),
            _ => json!([]),
        };
        let changed = with(&twin, |call| call["params"][0][key] = other.clone());
        let hash = ["blockHash is", "the hash of this payload"];
        match (key.as_str(), payload[key] == other) {
            (_, true) => {}
            // What cannot be a transaction or a list is a fault of its own.
            ("transactions" | "blockAccessList" | "baseFeePerGas", _) => refused(&changed, &[]),
            _ => refused(&changed, &hash),
        }
        let lacking =
            with(&twin, |call| drop(call["params"][0].as_object_mut().unwrap().remove(key)));
        refused(&lacking, &[key, "is missing"]);
    }
    let param = |index: usize, value: Value, words: &[&str]| {
        refused(&with(&twin, |call| call["params"][index] = value), words);
    };
    param(1, json!([]), &["params[1] is", "the 1 versioned hashes of the transactions"]);
    param(2, json!(B256::ZERO), &["blockHash is"]);
    param(3, json!([Bytes::from_static(&[7, 7])]), &["blockHash is"]);
    param(3, json!(["0x01"]), &["params[3] is", "EIP-7685"]);
    param(3, Value::Null, &["executionRequests is missing"]);
    refused(
        &with(&twin, |call| call["newPayloadVersion"] = json!("4")),
        &["newPayloadVersion is \"4\"", "of payloads of amsterdam"],
    );
    let before = file(&chain(Fork::Osaka), TestFormat::Engine);
    let list = with(&before, |call| call["params"][0]["blockAccessList"] = json!("0xc0"));
    refused(&list, &["blockAccessList is", "payloads of osaka have none"]);
}

#[test]
fn a_payload_that_must_be_refused_is_refused_for_that_reason() {
    let twin = file(&chain(Fork::Osaka), TestFormat::Engine);
    let last = |twin: &mut Value, change: &dyn Fn(&mut Value)| {
        let test = twin.as_object_mut().unwrap().values_mut().next().unwrap();
        let first = test["engineNewPayloads"][0]["params"][0].clone();
        (test["lastblockhash"], test["postStateHash"]) =
            (first["blockHash"].clone(), first["stateRoot"].clone());
        change(&mut test["engineNewPayloads"][1]);
    };
    for (key, name, index) in [
        ("validationError", json!("BlockException.INVALID_VERSIONED_HASHES"), 1),
        ("validationError", json!("BlockException.INVALID_BLOCK_HASH"), 2),
        ("errorCode", json!(-32602), 3),
    ] {
        let mut invalid = twin.clone();
        last(&mut invalid, &|call| {
            call[key] = name.clone();
            call["params"][index] = [json!([]), json!(B256::ZERO), Value::Null][index - 1].clone();
        });
        let (imported, compared) = imported(&invalid).unwrap();
        assert!(compared.contains(&"refused blocks"), "{name}: {compared:?}");
        assert_eq!(imported.workload.batches.len(), 1);
        let mut valid = twin.clone();
        last(&mut valid, &|call| call[key] = name.clone());
        refused(&valid, &["must be refused", "that it is valid"]);
    }
}

/// The files of an export and of the transition tool, each with its kind.
fn files() -> Vec<(InputKind, Vec<u8>)> {
    let chain = chain(Fork::Amsterdam);
    let one = NonZeroU64::MIN;
    let mut files: Vec<(InputKind, Vec<u8>)> = [
        InputKind::Tests,
        InputKind::Tests,
        InputKind::Chain,
        InputKind::Chain,
        InputKind::Payloads,
        InputKind::Genesis,
    ]
    .map(|kind| (kind, Vec::new()))
    .into();
    export::eest(&chain, TestFormat::Blocks, &mut files[0].1).unwrap();
    export::eest(&chain, TestFormat::Engine, &mut files[1].1).unwrap();
    export::rlp(&chain, Lists::With, &mut files[2].1).unwrap();
    export::rlp(&chain, Lists::Without, &mut files[3].1).unwrap();
    export::payloads(&chain, one, &mut files[4].1).unwrap();
    export::genesis(&chain, AccountsPlace::Written, &mut files[5].1).unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/t8n");
    let read = |name: &str| fs::read(folder.join(name)).unwrap();
    let json = |name: &str| serde_json::from_slice::<Value>(&read(name)).unwrap();
    let (alloc, env, txs) = (json("alloc.json"), json("env.json"), json("txs.json"));
    let whole = json!({"alloc": alloc, "env": env, "txs": txs});
    let output = json!({"alloc": alloc, "result": json("result.json")});
    let rlp: String = serde_json::from_slice(&read("txs.rlp")).unwrap();
    let call = json!({"jsonrpc": "2.0", "method": "engine_newPayloadV5", "params": []});
    files.extend([
        (InputKind::Alloc, read("alloc.json")),
        (InputKind::Env, read("env.json")),
        (InputKind::Transactions, read("txs.json")),
        (InputKind::Transactions, read("txs.rlp")),
        (InputKind::Transactions, rlp.into_bytes()),
        (InputKind::Transactions, b" [ ]\n".to_vec()),
        (InputKind::Outcome, read("result.json")),
        (InputKind::Transition, whole.to_string().into_bytes()),
        (InputKind::Outcome, output.to_string().into_bytes()),
        (
            InputKind::Block,
            json!({"parentHash": "0x", "miner": "0x", "stateRoot": "0x"}).to_string().into(),
        ),
        (InputKind::Block, json!({"jsonrpc": "2.0", "id": 1, "result": "0xf9"}).to_string().into()),
        (
            InputKind::Witness,
            json!({"jsonrpc": "2.0", "result": {"state": [], "codes": []}}).to_string().into(),
        ),
        (InputKind::Payloads, json!([call]).to_string().into_bytes()),
    ]);
    files
}

#[test]
fn each_kind_of_file_is_told_by_its_content_also_where_its_end_is_missing() {
    for (kind, content) in files() {
        let shown = String::from_utf8_lossy(&content[..content.len().min(80)]).into_owned();
        assert_eq!(InputKind::of("a", content.as_slice()).unwrap(), kind, "{shown}");
        let pretty = serde_json::from_slice::<Value>(&content)
            .and_then(|json| serde_json::to_vec_pretty(&json));
        if let Ok(pretty) = pretty {
            assert_eq!(InputKind::of("a", pretty.as_slice()).unwrap(), kind, "{shown}");
        }
        // A cut file is of its kind, or no JSON.
        for length in [1, 2, 5, 30, 200, 5_000, content.len().saturating_sub(2)] {
            match InputKind::of("a", &content[..length.min(content.len())]) {
                Ok(cut) if length > 200 => assert_eq!(cut, kind, "{shown}"),
                Ok(_) | Err(ImportError::Json { .. } | ImportError::Kind { .. }) => {}
                Err(error) => panic!("{shown}: {error}"),
            }
        }
    }
}

#[test]
fn a_file_of_another_kind_is_named_by_what_it_seems_to_be() {
    let state_test = json!({"a": {"env": {}, "pre": {}, "transaction": {}, "post": {}}});
    let filler = json!({"aFiller": {"pre": {}, "blocks": [], "expect": [], "network": "x"}});
    let list = json!([{"address": "0x", "storageReads": []}]);
    let receipt = json!({"jsonrpc": "2.0", "id": 1, "result": {"status": "0x1"}});
    let mut tar = vec![b'a'; 512];
    tar[257..262].copy_from_slice(b"ustar");
    for (content, words) in [
        (state_test.to_string().into_bytes(), "a state test"),
        (filler.to_string().into_bytes(), "a filler"),
        (list.to_string().into_bytes(), "a block-level access list"),
        (receipt.to_string().into_bytes(), "another answer of a node"),
        (b"{}".to_vec(), "an empty JSON object"),
        (b"{\"a\": 1, \"b\": {}}".to_vec(), "with the keys a, b"),
        (b" \n".to_vec(), "empty"),
        (b"17".to_vec(), "no JSON object"),
        (b"0x1234".to_vec(), "hex, and no RLP"),
        (hex::decode("1f8b0800").unwrap(), "gunzip"),
        (hex::decode("fd377a585a0000").unwrap(), "unxz"),
        (hex::decode("6532000000000000").unwrap(), "era"),
        (b"\x7fELF\x02".to_vec(), "a program"),
        (b"<!DOCTYPE html>".to_vec(), "HTML"),
        (b"stresswl\x05".to_vec(), "a workload file"),
        (tar, "a tar archive"),
        (vec![0, 1, 2], "binary"),
        (vec![0xf9, 0, 4, 0xc3, 1, 2, 3], "transactions as binary RLP"),
    ] {
        let error = InputKind::of("a.file", content.as_slice()).unwrap_err();
        assert!(matches!(error, ImportError::Kind { .. }), "{error}");
        let error = error.to_string();
        assert!(error.starts_with("a.file: this seems to be ") && error.contains(words), "{error}");
        assert!(error.contains("taken are tests"), "{error}");
    }
    let error = InputKind::of("a.toml", b"schema = 1".as_slice()).unwrap_err().to_string();
    assert!(error.contains("a.toml: this is not valid JSON"), "{error}");
}
