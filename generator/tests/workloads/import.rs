//! Import of transition-tool files: the block of `fixtures/t8n`, whose result go-ethereum made,
//! and everything that can be wrong with its files.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as it does")]

use std::{fs, ops::ControlFlow, path::Path};

use generator::{
    import::{self, ImportError, Imported, NamedText, TransitionInput},
    reference::{self, ReferenceError},
};
use proptest::prelude::*;
use serde_json::{Value, json};
use workload::{Fork, TxStatus, TxType, Workload};

use crate::blockchain_tests::exported;

const NAMES: [&str; 4] = ["alloc.json", "env.json", "txs.json", "result.json"];

/// The texts of a block's files, in the order of [`NAMES`].
#[derive(Clone)]
struct Files([String; 4]);

impl Files {
    fn read() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/t8n");
        Self(NAMES.map(|name| fs::read_to_string(folder.join(name)).unwrap()))
    }

    fn value(&self, name: &str) -> Value {
        serde_json::from_str(&self.0[file_index(name)]).unwrap()
    }

    /// These files with `change` made to one of them.
    fn with(&self, name: &str, change: impl FnOnce(&mut Value)) -> Self {
        let mut value = self.value(name);
        change(&mut value);
        let mut files = self.clone();
        files.0[file_index(name)] = value.to_string();
        files
    }

    fn import(&self) -> Result<Imported, ImportError> {
        let [alloc, env, txs, result] = &self.0;
        let text = |name, text| NamedText { name, text };
        let files = TransitionInput::Files {
            alloc: text("alloc.json", alloc),
            env: text("env.json", env),
            txs: text("txs.json", txs),
        };
        let result = (!result.is_empty()).then(|| text("result.json", result));
        import::transition(files, result, Fork::Bpo2, 1)
    }

    fn complete(&self) -> Result<Imported, ImportError> {
        let mut imported = self.import()?;
        import::complete(&mut imported, || ())?;
        Ok(imported)
    }

    /// The message of the error that these files give.
    fn error(&self) -> String {
        self.complete().expect_err("the files are wrong").to_string()
    }
}

/// The index of a file in [`NAMES`].
fn file_index(name: &str) -> usize {
    NAMES.iter().position(|known| *known == name).unwrap()
}

#[test]
fn a_block_comes_to_all_that_go_ethereum_says_of_it() {
    let mut imported = Files::read().import().unwrap();
    let compared = import::complete(&mut imported, || ()).unwrap();
    for what in ["transactions root", "receipts root", "gas used", "state root", "blob gas"] {
        assert!(compared.contains(&what), "{what} is in {compared:?}");
    }
    let workload = imported.workload;
    reference::verify(&workload, || ()).unwrap();
    let block = &workload.batches[0].blocks[0];
    let types: Vec<_> = block.transactions.iter().map(|tx| tx.tx_type).collect();
    for tx_type in
        [TxType::Legacy, TxType::AccessList, TxType::DynamicFee, TxType::Blob, TxType::SetCode]
    {
        assert!(types.contains(&tx_type), "{tx_type:?} is in {types:?}");
    }
    let outcomes = &workload.batches[0].expected.transactions;
    assert!(outcomes.iter().any(|outcome| outcome.status == TxStatus::Revert));
    assert_eq!((workload.first_hash_number, workload.block_hashes.len()), (24_476_003, 2));
    assert_eq!(block.withdrawals.len(), 2);
}

#[test]
fn transactions_as_rlp_unsigned_with_secrets_or_named_senders_are_the_same_block() {
    let files = Files::read();
    let signed = files.complete().unwrap().workload;
    // All are signed: their root is compared with that of the result's file.
    assert_eq!(signed.signed_transactions.len() as u64, signed.tx_count());
    let unsigned_work = Workload { signed_transactions: Vec::new(), ..signed.clone() };
    assert_eq!(unsigned_work.digest(), signed.digest());
    let mut rlp = files.clone();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/t8n");
    rlp.0[2] = fs::read_to_string(folder.join("txs.rlp")).unwrap();
    assert_eq!(rlp.complete().unwrap().workload, signed);
    let senders: Vec<_> =
        signed.batches[0].blocks[0].transactions.iter().map(|tx| tx.sender).collect();
    let unsigned = |from: &dyn Fn(usize) -> (&'static str, Value)| {
        files.with("txs.json", |txs| {
            for (index, tx) in txs.as_array_mut().unwrap().iter_mut().enumerate() {
                (tx["r"], tx["s"], tx["v"]) = (json!("0x0"), json!("0x0"), json!("0x0"));
                let (key, value) = from(index);
                tx[key] = value;
            }
        })
    };
    let named = unsigned(&|index| ("from", json!(senders[index])));
    let named = named.complete().unwrap();
    assert_eq!(named.not_compared(), ["transactions root"]);
    assert_eq!(named.workload, unsigned_work);
    let secret = |index: usize| if senders[index] == senders[0] { 1 } else { 2 };
    let secrets = unsigned(&|index| ("secretKey", json!(format!("0x{:064x}", secret(index)))));
    assert_eq!(secrets.complete().unwrap().workload, unsigned_work);
}

#[test]
fn what_is_missing_or_wrong_is_named_with_its_file_and_place() {
    let files = Files::read();
    let wrong = |name: &str, pointer: &str, value: Value, words: &[&str]| {
        let error =
            files.with(name, |json| *json.pointer_mut(pointer).unwrap() = value.clone()).error();
        assert!(error.contains(name), "{pointer}: {error}");
        for word in words {
            assert!(error.contains(word), "{pointer} = {value}: {word:?} is not in: {error}");
        }
    };
    wrong("env.json", "/currentNumber", json!("0xzz"), &["currentNumber", "0xzz", "64 bits"]);
    wrong("env.json", "/currentNumber", json!(0), &["currentNumber", "genesis"]);
    wrong(
        "env.json",
        "/currentBaseFee",
        Value::Null,
        &["currentBaseFee (or parentBaseFee", "missing"],
    );
    wrong(
        "env.json",
        "/currentExcessBlobGas",
        json!("0xffffffffffff"),
        &["at most, by its blob schedule"],
    );
    wrong("env.json", "/currentGasLimit", json!("0xffffffffffffff"), &["5000 to 1000000000000"]);
    wrong("env.json", "/currentDifficulty", json!("0x1"), &["Merge"]);
    wrong("env.json", "/blockHashes", json!([]), &["an object"]);
    wrong("env.json", "/withdrawals/0/amount", json!(-1), &["withdrawals[0].amount is -1"]);
    wrong(
        "alloc.json",
        "/0x7e5f4552091a69125d5dfcb7b8c2659029395bdf/balance",
        json!("1e18"),
        &["7e5f4552091a69125d5dfcb7b8c2659029395bdf.balance"],
    );
    wrong("txs.json", "/0/nonce", Value::Null, &["[0].nonce is missing"]);
    wrong("txs.json", "/1/type", json!("0x7e"), &["[1].type", "0x7e", "0x0 to 0x4"]);
    wrong("txs.json", "/1/chainId", json!("0x5"), &["[1].chainId", "0x1"]);
    wrong("txs.json", "/0/v", json!("0x30"), &["[0].v", "chain 1"]);
    wrong("txs.json", "/0/v", json!("0x1d"), &["[0].v", "EIP-155"]);
    wrong("txs.json", "/0/s", json!(format!("0x{}", "f".repeat(64))), &["[0].r", "signature"]);
    wrong("txs.json", "/2/maxFeePerGas", Value::Null, &["[2].maxFeePerGas is missing"]);
    wrong("txs.json", "/3/blobVersionedHashes", Value::Null, &["[3].blobVersionedHashes"]);
    wrong("txs.json", "/0", json!("text"), &["[0] is", "an object"]);
    wrong("result.json", "/receiptsRoot", json!("0x12"), &["receiptsRoot", "32 bytes"]);
    let none = json!({});
    let mut lacking = files.with("env.json", |env| *env = none.clone());
    lacking = lacking.with("alloc.json", |alloc| *alloc = none);
    let all = ["currentNumber", "currentTimestamp", "currentCoinbase", "currentGasLimit"]
        .into_iter()
        .chain(["currentBaseFee", "currentRandom", "currentExcessBlobGas", "parentBeaconBlockRoot"])
        .chain([
            "00000961Ef480Eb55e80D19ad83579A64c007002",
            "0000BBdDc7CE488642fb579F8B00f3a590007251",
        ]);
    let error = lacking.error();
    all.for_each(|what| assert!(error.contains(what), "{what} is in {error}"));
    let error = files.with("env.json", |env| env["blockHashes"]["0x1757900"] = json!("0x00"));
    assert!(error.error().contains("blockHashes.0x1757900"));
    let gap = format!("0x{}", "11".repeat(32));
    let error = files.with("env.json", |env| env["blockHashes"]["0x1757900"] = json!(gap)).error();
    assert!(error.contains("blockHashes.0x1757901 is missing"), "{error}");
    let rejected = json!([{"index": 1, "error": "nonce too low"}]);
    let error = files.with("result.json", |result| result["rejected"] = rejected).error();
    assert!(error.contains("rejected"), "{error}");
    let from = json!("0x00000000000000000000000000000000000e0001");
    let error = files.with("txs.json", |txs| txs[0]["from"] = from).error();
    assert!(error.contains("[0].from") && error.contains("who signed"), "{error}");
    for name in &NAMES {
        let mut cut = files.clone();
        let text = &mut cut.0[file_index(name)];
        text.truncate(text.len() / 2);
        let error = cut.error();
        assert!(error.contains(name) && error.contains("EOF"), "{error}");
    }
}

#[test]
fn an_account_or_slot_that_is_there_twice_is_refused() {
    let files = Files::read();
    let error = files
        .with("alloc.json", |alloc| {
            alloc["0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf"] = json!({"balance": "0x1"});
        })
        .error();
    assert!(error.contains("there twice"), "{error}");
    let error = files
        .with("alloc.json", |alloc| {
            alloc["0x00000000000000000000000000000000000e0001"]["storage"]["0x00"] = json!("0x1");
        })
        .error();
    assert!(error.contains("storage.0x0") && error.contains("there twice"), "{error}");
}

#[test]
fn a_state_without_the_contracts_that_each_block_calls_is_refused() {
    let contract = "0x00000961ef480eb55e80d19ad83579a64c007002";
    let without = Files::read().with("alloc.json", |alloc| {
        alloc.as_object_mut().unwrap().remove(contract);
    });
    let no_code = Files::read().with("alloc.json", |alloc| alloc[contract]["code"] = json!("0x"));
    for error in [without.error(), no_code.error()] {
        let known = "0x00000961Ef480Eb55e80D19ad83579A64c007002 is missing";
        assert!(error.contains("alloc.json") && error.contains(known), "{error}");
    }
}

#[test]
fn a_sender_without_an_account_is_named() {
    let error = Files::read()
        .with("alloc.json", |alloc| {
            alloc.as_object_mut().unwrap().remove("0x2b5ad5c4795c026514f8317c7a215e218dccd6cf");
        })
        .error();
    for word in ["transaction 2", "0x2B5AD5c4795c026514f8317c7a215E218DcCD6cF", "not in the state"]
    {
        assert!(error.contains(word), "{word} is in {error}");
    }
}

#[test]
fn a_result_that_is_another_is_told_apart_figure_by_figure() {
    let files = Files::read();
    let zero = json!(format!("0x{}", "00".repeat(32)));
    for (key, value, words) in [
        ("gasUsed", json!("0x1"), "gas used is 1 in the file"),
        ("blobGasUsed", json!("0x0"), "blob gas is 0 in the file, and 262144"),
        ("receiptsRoot", zero.clone(), "receipts root"),
        ("stateRoot", zero.clone(), "state root"),
        ("txRoot", zero.clone(), "transactions root"),
        ("withdrawalsRoot", zero.clone(), "withdrawals root"),
        ("logsHash", zero, "logs hash"),
        ("receipts", json!([]), "number of receipts is 0 in the file, and 7"),
    ] {
        let changed = files.with("result.json", |result| result[key] = value);
        match changed.complete() {
            Ok(_) => panic!("{key}"),
            Err(error @ ImportError::Differs { .. }) => {
                assert!(error.to_string().contains(words), "{key}: {error}");
            }
            Err(error) => panic!("{key}: {error}"),
        }
    }
    let receipt = files.with("result.json", |result| result["receipts"][1]["gasUsed"] = json!(7));
    assert!(receipt.error().contains("receipt 1 is 7 gas and status 1 in the file"));
    let receipt =
        files.with("result.json", |result| result["receipts"][0]["status"] = json!("0x2"));
    assert!(receipt.error().contains("receipts[0].status is \"0x2\""));
    let exception = json!("InvalidBlock(\"x\")");
    let invalid = files.with("result.json", |result| result["blockException"] = exception);
    assert!(invalid.error().contains("blockException is"), "{}", invalid.error());
}

#[test]
fn receipts_in_the_form_of_execution_specs_are_compared_too() {
    let with_more = |gas: u64| {
        Files::read().with("result.json", |result| {
            let mut total = 0;
            for receipt in result["receipts"].as_array_mut().unwrap() {
                let used = receipt["gasUsed"].as_str().unwrap()[2..].to_owned();
                total += u64::from_str_radix(&used, 16).unwrap() + gas;
                let succeeded = receipt["status"] == "0x1";
                *receipt = json!({"succeeded": succeeded, "gasUsed": format!("{total:#x}")});
            }
        })
    };
    with_more(0).complete().unwrap();
    assert!(with_more(1).error().contains("receipt 0 is"), "{}", with_more(1).error());
}

#[test]
fn accounts_that_a_tracer_names_and_that_do_not_exist_are_left_out() {
    let files = Files::read();
    let traced = files.with("alloc.json", |alloc| {
        alloc["0x00000000000000000000000000000000000f0003"] = json!({"balance": "0x0"});
    });
    let traced = traced.complete().unwrap();
    assert_eq!(traced.not_compared(), ["state root"]);
    assert_eq!(traced.workload, files.complete().unwrap().workload);
}

#[test]
fn a_run_that_is_stopped_says_so_and_leaves_the_import_as_it_was() {
    let before = Files::read().import().unwrap();
    let mut imported = before.clone();
    let error = import::complete(&mut imported, || ControlFlow::Break(())).unwrap_err();
    assert!(matches!(error, ImportError::Reference(ReferenceError::Cancelled)), "{error}");
    assert_eq!(imported, before);
}

/// Adds to `out` the JSON pointers of `value`, which is at `at`, and of all values in it.
fn pointers(value: &Value, at: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                pointers(value, &format!("{at}/{key}"), out);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                pointers(value, &format!("{at}/{index}"), out);
            }
        }
        _ => {}
    }
    out.push(at.to_owned());
}

fn any_value() -> impl Strategy<Value = Value> {
    let hex = |length: usize| format!("0x{}", "f".repeat(length));
    prop_oneof![
        Just(Value::Null),
        Just(json!({})),
        Just(json!([])),
        Just(json!([[], {}, "0x"])),
        Just(json!(1.5)),
        Just(json!("")),
        any::<u64>().prop_map(|number| json!(format!("{number:#x}"))),
        (0_u64..40).prop_map(|number| json!(number)),
        (0_usize..140).prop_map(move |length| json!(hex(length))),
        "[ -~]{0,12}".prop_map(|text| json!(text)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn any_value_anywhere_is_an_error_or_a_block_and_never_a_panic(
        file in 0_usize..4,
        place in any::<prop::sample::Index>(),
        value in any_value(),
    ) {
        let files = Files::read();
        let mut all = Vec::new();
        pointers(&files.value(NAMES[file]), "", &mut all);
        let pointer = &all[place.index(all.len())];
        let changed = files.with(NAMES[file], |json| *json.pointer_mut(pointer).unwrap() = value);
        if let Ok(imported) = changed.complete() {
            prop_assert!(reference::verify(&imported.workload, || ()).is_ok());
        }
    }

    #[test]
    fn any_bytes_changed_in_a_file_or_in_rlp_do_no_harm(
        file in 0_usize..5,
        place in any::<prop::sample::Index>(),
        removed in 0_usize..4,
        inserted in "[0-9a-f{}\\[\\]\",:]{0,4}",
    ) {
        let mut files = Files::read();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/t8n");
        if file == 4 {
            files.0[2] = fs::read_to_string(folder.join("txs.rlp")).unwrap();
        }
        let text = &mut files.0[if file == 4 { 2 } else { file }];
        let start = place.index(text.len());
        let end = text.len().min(start + removed);
        text.replace_range(start..end, &inserted);
        if let Ok(imported) = files.complete() {
            prop_assert!(reference::verify(&imported.workload, || ()).is_ok());
        }
    }
}

#[test]
fn a_test_that_cannot_be_read_does_not_hide_its_neighbours() {
    let good = exported();
    let mut bad = good.clone();
    bad["network"] = json!("Prague");
    let file = json!({"a good": good, "bad": bad, "c good": good}).to_string();
    let tests = import::each_blockchain_test("tests.json", &file).unwrap();
    let tests: Vec<_> = tests.iter().map(|(name, test)| (name.as_str(), test.is_ok())).collect();
    assert_eq!(tests, [("a good", true), ("bad", false), ("c good", true)]);
}
