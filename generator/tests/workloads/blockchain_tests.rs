//! Import of `blockchain_test` files: blocks as fields, as RLP or both, blocks that must be
//! refused, and every field that a file states. The files are exports of a small workload, changed.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as it does")]

use alloy_consensus::{Header, TxEnvelope};
use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, B256, hex};
use alloy_rlp::Encodable;
use generator::{
    export::{self, AccountsPlace, Chain, ExportError, TestFormat, chain},
    generate,
    import::{self, ImportError, Imported},
    reference,
};
use serde_json::{Value, json};
use workload::{
    BlobSchedule, ChainRules, Fork, ForkChange, ForkSchedule, TxType, Workload, file,
    rules::MAX_RLP_BLOCK_BYTES,
};

use crate::{blocks::parse, export::settings};

/// A workload of two blocks.
pub(crate) fn two_blocks() -> Workload {
    let text = "schema = 1\nname = \"mixed\"\n[state]\naccounts = 200\nslots = 2_000\n\
                [block]\ngas = 1_500_000\nblocks = 2\n[[load]]\nkind = \"sstore-storm\"\n";
    generate(&parse(text, &[]), |_| {}).unwrap()
}

pub(crate) fn exported() -> Value {
    test_of(&chain_of(&two_blocks()).unwrap())
}

/// The only test of an export of one block of Osaka.
fn exported_of_osaka() -> Value {
    let text = "schema = 1\nname = \"mixed\"\nfork = \"osaka\"\n[state]\naccounts = 200\n\
                slots = 2_000\n[block]\ngas = 500_000\n[[load]]\nkind = \"sstore-storm\"\n";
    test_of(&chain_of(&generate(&parse(text, &[]), |_| {}).unwrap()).unwrap())
}

/// `test` with its genesis block's header changed by `change`.
fn with_genesis(test: &Value, change: impl FnOnce(&mut Header)) -> Value {
    let mut test = test.clone();
    let rlp = hex::decode(test["genesisRLP"].as_str().unwrap()).unwrap();
    let block: alloy_consensus::Block<TxEnvelope> = alloy_rlp::decode_exact(&rlp).unwrap();
    let mut header = block.header;
    change(&mut header);
    let fields = &mut test["genesisBlockHeader"];
    fields["number"] = json!(format!("{:#x}", header.number));
    (fields["stateRoot"], fields["hash"]) = (json!(header.state_root), json!(header.hash_slow()));
    test.as_object_mut().unwrap().remove("genesisRLP");
    forget_last(&mut test);
    test
}

/// Removes the facts of the last block, after a change of it.
fn forget_last(test: &mut Value) {
    (test["lastblockhash"], test["postStateHash"]) = (Value::Null, Value::Null);
}

pub(crate) fn chain_of(workload: &Workload) -> Result<Chain, ExportError> {
    let dir = tempfile::tempdir().unwrap();
    chain(workload, &settings(&dir), || ())
}

/// The only test of the file of a chain.
pub(crate) fn test_of(chain: &Chain) -> Value {
    let mut text = Vec::new();
    export::eest(chain, TestFormat::Blocks, &mut text).unwrap();
    let file: Value = serde_json::from_slice(&text).unwrap();
    file.as_object().unwrap().values().next().unwrap().clone()
}

pub(crate) fn imported(test: &Value) -> Result<(Imported, Vec<&'static str>), ImportError> {
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
        forget_last(&mut other);
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
        forget_last(&mut test);
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
    forget_last(&mut invalid);
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
    forget_last(&mut valid);
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
    let times: Vec<_> = plain.workload.blocks().map(|block| block.env.timestamp).collect();
    for timestamp in [0, times[0]] {
        let mut of_network = of_network(&format!("BPO2ToAmsterdamAtTime{timestamp}"));
        let changes = vec![ForkChange { timestamp, rules: Fork::Amsterdam.into() }];
        let rules = ForkSchedule { first: Fork::Bpo2.into(), changes };
        let wanted = Workload { rules, ..plain.workload.clone() };
        assert_eq!(imported(&of_network).unwrap().0.workload, wanted);
        for block in of_network["blocks"].as_array_mut().unwrap() {
            *block = json!({"rlp": block["rlp"]});
        }
        assert_eq!(imported(&of_network).unwrap().0.workload, wanted);
        let error = chain_of(&wanted).unwrap_err().to_string();
        assert!(error.contains("blocks of bpo2, amsterdam from time"), "{error}");
    }
    let changes = format!("BPO2ToAmsterdamAtTime{}", times[1]);
    refused(&of_network(&changes), &["blockAccessListHash", "headers of bpo2 have none"]);
    refused(&of_network("AmsterdamToBPO2AtTime15k"), &["network is", "a fork, and a later one"]);
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

/// Two blocks under rules of their own: three blobs in the first, one in the second for `fee` wei a
/// gas.
fn with_own_rules(fee: u128) -> Workload {
    let mut workload = two_blocks();
    workload.rules.first = ChainRules {
        blobs: BlobSchedule { target: 1, max: 3, base_fee_update_fraction: 100_000 },
        deposit_contract: Address::repeat_byte(7),
        ..workload.rules.first
    };
    for (batch, (count, fee)) in workload.batches.iter_mut().zip([(3, 1), (1, fee)]) {
        let tx = &mut batch.blocks[0].transactions[0];
        tx.tx_type = TxType::Blob;
        tx.blob_hashes = vec![B256::right_padding_from(&[1]); count];
        tx.max_fee_per_blob_gas = fee;
    }
    reference::complete(&mut workload, || ()).unwrap();
    workload
}

#[test]
fn a_chain_s_own_blob_schedule_and_deposit_contract_are_kept() {
    let workload = with_own_rules(13);
    let chain = chain_of(&workload).unwrap();
    let test = test_of(&chain);
    let (imported, _) = imported(&test).unwrap();
    assert_eq!(imported.workload.rules, workload.rules);
    let bytes = file::encode(&imported.workload).unwrap();
    assert_eq!(file::decode(&bytes).unwrap(), imported.workload);
    // The excess of EIP-7918, 2/3 of the blob gas; e^2.62 wei is 13.
    let block = imported.workload.blocks().nth(1).unwrap();
    assert_eq!(block.env.excess_blob_gas, 2 << 17);
    let error = chain_of(&with_own_rules(12)).unwrap_err().to_string();
    assert!(error.contains("blob gas price (13)"), "{error}");
    let mut genesis = Vec::new();
    export::genesis(&chain, AccountsPlace::Written, &mut genesis).unwrap();
    let genesis: Value = serde_json::from_slice(&genesis).unwrap();
    let config = &genesis["config"];
    assert_eq!(config["depositContractAddress"], json!(Address::repeat_byte(7)));
    let schedule = json!({"target": 1, "max": 3, "baseFeeUpdateFraction": 100_000});
    assert_eq!(config["blobSchedule"]["amsterdam"], schedule);
    assert_eq!(config["blobSchedule"]["bpo2"]["max"], 21);
    // Other rules than those of the blocks.
    let with = |key: &str, value: u64| {
        let mut other = test.clone();
        other["config"]["blobSchedule"]["Amsterdam"][key] = json!(format!("{value:#x}"));
        other
    };
    refused(&with("target", 2), &["its excess blob gas is 262144; after its parent it is 131072"]);
    refused(&with("baseFeeUpdateFraction", 99_000), &["blob gas price (14)"]);
    for (key, value) in [("target", 4), ("max", 1 << 17), ("baseFeeUpdateFraction", 0)] {
        refused(&with(key, value), &["blobSchedule.Amsterdam is", "target ≤ max"]);
    }
    let mut past = with("max", 2);
    past["blocks"].as_array_mut().unwrap().truncate(1);
    forget_last(&mut past);
    refused(&past, &["3 blobs; the blob schedule allows 2"]);
}

#[test]
fn the_rlp_of_a_block_is_bounded_as_bytes_and_as_fields() {
    let test = exported();
    let rlp = hex::decode(test["blocks"][0]["rlp"].as_str().unwrap()).unwrap();
    let mut block: alloy_consensus::Block<TxEnvelope> = alloy_rlp::decode_exact(&rlp).unwrap();
    block.body.transactions.clear();
    let long = Withdrawal { index: 1 << 63, amount: 1 << 63, ..Withdrawal::default() };
    let mut all = vec![long; MAX_RLP_BLOCK_BYTES / long.length()];
    let bytes = |all: &[Withdrawal]| {
        let mut block = block.clone();
        block.body.withdrawals = Some(all.to_vec().into());
        alloy_rlp::encode(&block)
    };
    let over = bytes(&all).len() - MAX_RLP_BLOCK_BYTES;
    all.iter_mut().take(over).for_each(|withdrawal| withdrawal.amount >>= 8);
    let header = &test["blocks"][0]["blockHeader"];
    for is_past in [false, true] {
        if is_past {
            all[0].amount <<= 8;
        }
        let rlp = bytes(&all);
        assert_eq!(rlp.len(), MAX_RLP_BLOCK_BYTES + usize::from(is_past));
        let withdrawals: Vec<_> = all
            .iter()
            .map(|of| json!({"index": of.index, "validatorIndex": 0, "address": of.address, "amount": of.amount}))
            .collect();
        for block in [
            json!({"rlp": hex::encode_prefixed(&rlp)}),
            json!({"blockHeader": header, "transactions": [], "withdrawals": withdrawals}),
        ] {
            let mut test = test.clone();
            test["blocks"] = json!([block]);
            forget_last(&mut test);
            let read = import::blockchain_tests("tests.json", &json!({"test": test}).to_string());
            match read {
                Ok(_) => assert!(!is_past),
                Err(error) => assert!(is_past && error.to_string().contains("7934"), "{error}"),
            }
        }
    }
}

#[test]
fn a_fact_that_cannot_be_computed_or_is_not_true_is_refused() {
    let test = without(&exported(), &["rlp"]);
    let of_block = |change: &dyn Fn(&mut Value), words: &[&str]| {
        let mut test = test.clone();
        change(&mut test["blocks"][0]);
        refused(&test, words);
    };
    let of_tx = |change: &dyn Fn(&mut Value), words: &[&str]| {
        of_block(&|block| change(&mut block["transactions"][0]), words);
    };
    let zero = |tx: &mut Value| (tx["r"], tx["s"]) = (json!("0x0"), json!("0x0"));
    of_tx(&zero, &["transactions[0].r is", "an invalid signature"]);
    let secret = json!(format!("{:#066x}", 1));
    let unsigned = |tx: &mut Value| {
        (tx["r"], tx["secretKey"], tx["sender"]) = (Value::Null, secret.clone(), Value::Null);
    };
    of_tx(&unsigned, &["transactions[0].r is missing"]);
    of_tx(&|tx| tx["hash"] = json!(B256::ZERO), &["hash is", "the hash of this transaction"]);
    let parities = |tx: &mut Value| (tx["v"], tx["yParity"]) = (json!("0x1b"), json!("0x5"));
    of_tx(&parities, &["beside it"]);
    for (key, other) in [("index", "validatorIndex"), ("validatorIndex", "index")] {
        let withdrawal = json!({"address": Address::ZERO, "amount": "0x1", other: "0x0"});
        let change = |block: &mut Value| block["withdrawals"] = json!([withdrawal]);
        of_block(&change, &["withdrawals[0]", key, "is missing"]);
    }
    let ommers = |block: &mut Value| block["uncleHeaders"] = json!([block["blockHeader"]]);
    of_block(&ommers, &["uncleHeaders is", "no ommers"]);
    let mut other = test.clone();
    other["postStateHash"] = test["blocks"][1]["blockHeader"]["stateRoot"].clone();
    assert!(imported(&other).unwrap().1.contains(&"post state root"));
    other["postStateHash"] = test["blocks"][0]["blockHeader"]["stateRoot"].clone();
    refused(&other, &["postStateHash is"]);
}

#[test]
fn a_header_has_the_fields_of_its_fork_and_no_others() {
    for test in [exported(), exported_of_osaka()] {
        for key in ["requestsHash", "withdrawalsRoot", "blobGasUsed", "excessBlobGas"] {
            let mut other = without(&test, &["rlp"]);
            other["blocks"][0]["blockHeader"].as_object_mut().unwrap().remove(key);
            refused(&other, &[key, "is missing"]);
        }
    }
    let test = exported_of_osaka();
    imported(&test).unwrap();
    for (key, value) in [("slotNumber", json!("0x5")), ("blockAccessListHash", json!(B256::ZERO))] {
        let mut other = without(&test, &["rlp"]);
        other["blocks"][0]["blockHeader"][key] = value;
        refused(&other, &[&format!("blockHeader.{key} is"), "headers of osaka have none"]);
    }
    let rlp = hex::decode(test["blocks"][0]["rlp"].as_str().unwrap()).unwrap();
    let items = alloy_rlp::Header::decode_bytes(&mut rlp.as_slice(), true).unwrap();
    let payload = [items, &[alloy_rlp::EMPTY_LIST_CODE]].concat();
    let mut with_list = Vec::new();
    alloy_rlp::Header { list: true, payload_length: payload.len() }.encode(&mut with_list);
    with_list.extend(payload);
    let mut other = test;
    other["blocks"][0]["rlp"] = json!(hex::encode_prefixed(with_list));
    refused(&other, &["blocks[0].rlp is", "a block of osaka, which ends with its withdrawals"]);
}

#[test]
fn the_first_block_after_any_genesis_needs_the_system_contracts() {
    const CONTRACT: &str = "0x00000961ef480eb55e80d19ad83579a64c007002";
    let mut test = without(&exported_of_osaka(), &["rlp"]);
    let pre = test["pre"].as_object_mut().unwrap();
    pre.retain(|address, _| !address.eq_ignore_ascii_case(CONTRACT));
    for number in [0, 5] {
        let with_root = |root: B256| {
            let mut parent = B256::ZERO;
            let mut test = with_genesis(&test, |header| {
                (header.number, header.state_root) = (number, root);
                parent = header.hash_slow();
            });
            let header = &mut test["blocks"][0]["blockHeader"];
            let number = format!("{:#x}", number + 1);
            (header["parentHash"], header["number"]) = (json!(parent), json!(number));
            test
        };
        // The root of the state without the contract is in the error of another one.
        let error = imported(&with_root(B256::ZERO)).unwrap_err().to_string();
        let root = error.split("allowed is ").nth(1).unwrap()[..66].parse().unwrap();
        refused(&with_root(root), &["c007002 is missing", "every block of osaka"]);
    }
}

#[test]
fn a_genesis_of_the_greatest_number_is_an_error_and_no_panic() {
    let mut test = with_genesis(&exported_of_osaka(), |header| header.number = u64::MAX);
    test["blocks"] = json!([{"rlp": "0x00", "expectException": "BlockException.INVALID_GASLIMIT"}]);
    refused(&test, &["must be refused", "INVALID_GASLIMIT"]);
}
