//! Import of `blockchain_test` files: blocks as fields, as RLP or both, blocks that must be refused, and
//! every field that a file states. The files are exports of a small workload, changed.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as it does")]

use std::sync::atomic::AtomicBool;

use generator::{
    export::{self, Settings, TestFormat, chain},
    generate,
    import::{self, ImportError, Imported},
};
use serde_json::{Value, json};

use crate::blocks::parse;

static GO: AtomicBool = AtomicBool::new(false);

/// The only test of a file with a chain of two blocks.
fn exported() -> Value {
    let text = "schema = 1\nname = \"mixed\"\n[state]\naccounts = 200\nslots = 2_000\n\
                [block]\ngas = 1_500_000\nblocks = 2\n[[load]]\nkind = \"sstore-storm\"\n";
    let workload = generate(&parse(text, &[]), |_| {}).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings {
        chain_id: None,
        thread_count: 1,
        scratch: dir.path().to_owned(),
        secrets: Vec::new(),
        cancel: &GO,
    };
    let mut text = Vec::new();
    let chain = chain(&workload, &settings, || ()).unwrap();
    export::eest(&chain, TestFormat::Blocks, &mut text).unwrap();
    let file: Value = serde_json::from_slice(&text).unwrap();
    file.as_object().unwrap().values().next().unwrap().clone()
}

fn imported(test: &Value) -> Result<(Imported, Vec<&'static str>), ImportError> {
    let text = json!({"test": test}).to_string();
    let mut imported = import::blockchain_tests("tests.json", &text)?.remove(0);
    let compared = import::complete(&mut imported, || ())?;
    Ok((imported, compared))
}

fn without(test: &Value, keys: &[&str]) -> Value {
    let mut test = test.clone();
    for block in test["blocks"].as_array_mut().unwrap() {
        keys.iter().for_each(|key| drop(block.as_object_mut().unwrap().remove(*key)));
    }
    test
}

fn refused(test: &Value, words: &[&str]) {
    let error = imported(test).expect_err("it is wrong").to_string();
    for word in words {
        assert!(error.contains(word), "{word:?} is not in: {error}");
    }
}

#[test]
fn a_block_is_its_fields_its_rlp_or_both() {
    let test = exported();
    let (both, compared) = imported(&test).unwrap();
    for what in ["genesis hash", "genesis state root", "last block hash", "block RLP", "block hash"]
        .into_iter()
        .chain(["requests hash", "list hash", "state root"])
    {
        assert!(compared.contains(&what), "{what} is in {compared:?}");
    }
    let body = ["transactions", "withdrawals", "uncleHeaders", "blocknumber"];
    let only_header = imported(&without(&test, &body)).unwrap().0;
    let only_rlp = imported(&without(&test, &[&body[..], &["blockHeader"]].concat())).unwrap().0;
    let only_fields = imported(&without(&test, &["rlp"])).unwrap().0;
    for other in [only_header, only_rlp, only_fields] {
        assert_eq!(other.workload, both.workload);
    }
    refused(
        &without(&test, &["rlp", "transactions", "withdrawals"]),
        &["blocks[0].rlp is missing"],
    );
    let mut other = test.clone();
    other["blocks"][0]["rlp"] = test["blocks"][1]["rlp"].clone();
    refused(&other, &["blocks[0].rlp is", "the RLP of the header"]);
    let mut other = test.clone();
    other["blocks"][1]["transactions"] = json!([]);
    refused(&other, &["blocks[1].rlp is", "the RLP of the transactions"]);
    for (pointer, words) in [("/genesisRLP", "genesisRLP"), ("/blocks/0/rlp", "blocks[0].rlp")] {
        let mut cut = test.clone();
        let text = cut.pointer(pointer).unwrap().as_str().unwrap().to_owned();
        *cut.pointer_mut(pointer).unwrap() = json!(text[..text.len() - 2]);
        refused(&cut, &[words, "the RLP of a block"]);
    }
}

#[test]
fn every_field_of_a_header_is_compared() {
    let test = without(&exported(), &["rlp"]);
    let header = test["blocks"][1]["blockHeader"].as_object().unwrap().clone();
    for (key, value) in &header {
        let mut digits = value.as_str().unwrap().to_owned();
        // Another value of the same form.
        let last = if digits.ends_with('1') { "2" } else { "1" };
        digits.replace_range(digits.len() - 1.., last);
        let mut other = test.clone();
        other["blocks"][1]["blockHeader"][key] =
            if key == "extraData" { json!("0x01") } else { json!(digits) };
        other.as_object_mut().unwrap().remove("lastblockhash");
        assert!(imported(&other).is_err(), "{key}");
    }
    let mut other = test.clone();
    other["lastblockhash"] = test["blocks"][0]["blockHeader"]["hash"].clone();
    refused(&other, &["lastblockhash is"]);
    let mut other = test.clone();
    other["genesisBlockHeader"]["hash"] = test["blocks"][0]["blockHeader"]["hash"].clone();
    refused(&other, &["genesisBlockHeader.hash is"]);
    let mut other = test.clone();
    other["postState"] = test["pre"].clone();
    refused(&other, &["post state of 0x"]);
    let mut other = test;
    other["blocks"][0]["blockAccessList"] = json!([]);
    refused(&other, &["block 1: list is"]);
}

#[test]
fn a_header_that_its_parent_does_not_allow_is_refused_for_that() {
    let test = without(&exported(), &["rlp"]);
    let parent = test["blocks"][0]["blockHeader"].clone();
    let number = |value: &Value| u64::from_str_radix(&value.as_str().unwrap()[2..], 16).unwrap();
    let with = |key: &str, value: u64| {
        let mut test = test.clone();
        test["blocks"][1]["blockHeader"][key] = json!(format!("{value:#x}"));
        test.as_object_mut().unwrap().remove("lastblockhash");
        test
    };
    let (time, gas_limit) = (number(&parent["timestamp"]), number(&parent["gasLimit"]));
    refused(&with("timestamp", time), &["its timestamp", "parent"]);
    // At the bound the rule holds, and another one is met.
    refused(&with("timestamp", time + 1), &["by the reference"]);
    let most = gas_limit / 1_024;
    refused(&with("gasLimit", gas_limit + most), &["its gas limit", "1024"]);
    refused(&with("gasLimit", gas_limit - most), &["its gas limit", "1024"]);
    refused(&with("gasLimit", gas_limit + most - 1), &["by the reference"]);
    refused(&with("number", number(&parent["number"]) + 2), &["its number is"]);
    let base_fee = number(&test["blocks"][1]["blockHeader"]["baseFeePerGas"]);
    refused(&with("baseFeePerGas", base_fee + 1), &["its base fee is", "EIP-1559"]);
    refused(&with("excessBlobGas", 1), &["its excess blob gas is 1; after its parent it is 0"]);
    refused(&with("difficulty", 1), &["its difficulty is 1"]);
    let mut other = with("gasUsed", gas_limit + 1);
    other["blocks"][1]["blockHeader"]["gasLimit"] = json!(format!("{gas_limit:#x}"));
    refused(&other, &["its gas used"]);
    let mut other = test.clone();
    other["blocks"][1]["blockHeader"]["parentHash"] = parent["parentHash"].clone();
    refused(&other, &["its parent is"]);
    let mut other = test.clone();
    other["blocks"][1]["blockHeader"]["extraData"] = json!(format!("0x{}", "00".repeat(33)));
    refused(&other, &["33 bytes; 32"]);
}

#[test]
fn a_block_that_must_be_refused_is_refused_for_that_reason_and_the_rest_is_imported() {
    let test = exported();
    let mut invalid = test.clone();
    // Valid by itself, but for its root.
    let block = &mut invalid["blocks"][1];
    block.as_object_mut().unwrap().remove("rlp");
    block["blockHeader"]["stateRoot"] = block["blockHeader"]["parentHash"].clone();
    invalid["lastblockhash"] = test["blocks"][0]["blockHeader"]["hash"].clone();
    let said = |exception: &str| {
        let mut test = invalid.clone();
        test["blocks"][1]["expectException"] = json!(exception);
        test
    };
    let (first, compared) =
        imported(&said("TransactionException.NONCE_IS_MAX|BlockException.INVALID_STATE_ROOT"))
            .unwrap();
    assert!(compared.contains(&"refused blocks"));
    assert_eq!(first.workload.batches.len(), 1);
    refused(
        &said("BlockException.INVALID_GAS_USED"),
        &["must be refused", "INVALID_GAS_USED", "state root"],
    );
    refused(&said("BlockException.NO_SUCH"), &["expectException is", "the name of no rule"]);
    // The name of a test is no reason.
    let mut named = said("TransactionException.VALUE_OVERFLOW");
    named["blocks"][1]["blockHeader"].as_object_mut().unwrap().remove("baseFeePerGas");
    let file = json!({"value overflow": named}).to_string();
    let mut named = import::blockchain_tests("overflow.json", &file).unwrap().remove(0);
    let error = import::complete(&mut named, || ()).unwrap_err().to_string();
    assert!(error.contains("must be refused") && error.contains("baseFeePerGas"), "{error}");
    // One that is valid.
    let mut valid = test.clone();
    valid["blocks"][1]["expectException"] = json!("BlockException.INVALID_STATE_ROOT");
    valid["lastblockhash"] = test["blocks"][0]["blockHeader"]["hash"].clone();
    refused(&valid, &["must be refused", "that it is valid by the reference"]);
    // One that cannot be read.
    let mut cut = said("BlockException.RLP_STRUCTURES_ENCODING");
    let rlp = test["blocks"][1]["rlp"].as_str().unwrap();
    cut["blocks"][1] = json!({
        "rlp": rlp[..rlp.len() - 2], "expectException": "BlockException.RLP_STRUCTURES_ENCODING",
    });
    assert_eq!(imported(&cut).unwrap().0.workload, first.workload);
}

#[test]
fn a_test_is_run_under_the_fork_that_is_in_force_at_its_blocks() {
    let test = exported();
    let of_network = |network: &str| {
        let mut test = test.clone();
        test["network"] = json!(network);
        test
    };
    let plain = imported(&test).unwrap().0;
    let time = |block: usize| {
        let text = test["blocks"][block]["blockHeader"]["timestamp"].as_str().unwrap();
        u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
    };
    for network in [
        format!("BPO2ToAmsterdamAtTime{}", time(0)),
        "BPO2ToAmsterdamAtTime0k".to_owned(),
        format!("AmsterdamToLaterAtTime{}", time(1) + 1),
    ] {
        let mut of_network = of_network(&network);
        assert_eq!(imported(&of_network).unwrap().0.workload, plain.workload);
        for block in of_network["blocks"].as_array_mut().unwrap() {
            *block = json!({"rlp": block["rlp"]});
        }
        assert_eq!(imported(&of_network).unwrap().0.workload, plain.workload);
    }
    let changes = format!("BPO2ToAmsterdamAtTime{}", time(1));
    refused(&of_network(&changes), &["does not change between the blocks"]);
    let later = format!("AmsterdamToLaterAtTime{}", time(0));
    refused(&of_network(&later), &["network is", "amsterdam"]);
}

#[test]
fn a_state_after_the_last_block_is_compared_where_the_test_has_one() {
    let test = exported();
    let with = |state: Value| {
        let mut test = test.clone();
        test["postState"] = state;
        test
    };
    for absent in [json!({}), Value::Null] {
        let (_, compared) = imported(&with(absent)).unwrap();
        assert!(!compared.contains(&"post state"));
    }
    let address = "0x00000000000000000000000000000000000000b0";
    refused(&with(json!({address: {"balance": "0x1"}})), &["post state of"]);
}
