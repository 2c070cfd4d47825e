//! Lists in files of any kind, their differences, and lists that the reference makes.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as it does")]

use alloy_eip7928::{AccountChanges, BlockAccessIndex};
use alloy_primitives::{Address, Bytes, U256, hex, keccak256};
use generator::import::{self, FoundList};
use serde_json::{Value, json};
use workload::{
    ListBounds, ListIndex, Workload,
    list::{
        Difference,
        DifferenceKind::{
            self, MissingAccount, MissingRead, Order, SurplusRead, SurplusWrite, WrongIndex,
            WrongValue,
        },
        Field, LenientList, diff, encode,
    },
};

use crate::blockchain_tests::{exported, two_blocks};

fn read(list: &Bytes) -> LenientList {
    LenientList::read(list.clone(), &ListBounds::UNKNOWN).unwrap()
}

fn accounts(list: &Bytes) -> Vec<AccountChanges> {
    ListIndex::decode(list, &ListBounds::UNKNOWN).unwrap().to_changes()
}

/// Kind, account, field and index of a difference.
type Place = (DifferenceKind, Address, Option<Field>, Option<u64>);

fn place(of: &Difference) -> Place {
    (of.kind, of.address.unwrap(), of.field, of.index)
}

#[test]
fn planted_differences_are_found_by_kind_place_and_side() {
    let list = two_blocks().batches[0].list.clone();
    let right = accounts(&list);
    let mut wrong = right.clone();
    let mut planted = Vec::new();

    let at = wrong.iter().position(|of| of.storage_reads.len() > 2).unwrap();
    let of = &mut wrong[at];
    let slot = of.storage_reads.remove(1);
    planted.push((MissingRead, of.address, Some(Field::Slot(slot)), None));
    of.storage_reads.push(U256::MAX);
    planted.push((SurplusRead, of.address, Some(Field::Slot(U256::MAX)), None));

    let at = wrong.iter().position(|of| of.storage_changes.len() > 2).unwrap();
    let of = &mut wrong[at];
    let changed = &mut of.storage_changes[1];
    changed.changes[0].new_value += U256::from(1);
    let index = changed.changes[0].block_access_index.get();
    planted.push((WrongValue, of.address, Some(Field::Slot(changed.slot)), Some(index)));

    let at = wrong.iter().position(|of| of.nonce_changes.len() == 1).unwrap();
    let of = &mut wrong[at];
    let index = of.nonce_changes[0].block_access_index.get();
    of.nonce_changes[0].block_access_index = BlockAccessIndex::new(index + 1);
    planted.push((WrongIndex, of.address, Some(Field::Nonce), Some(index)));

    let at = wrong.iter().position(|of| of.balance_changes.is_empty()).unwrap();
    let of = &mut wrong[at];
    of.balance_changes
        .push(alloy_eip7928::BalanceChange::new(BlockAccessIndex::new(1), U256::ZERO));
    planted.push((SurplusWrite, of.address, Some(Field::Balance), Some(1)));

    let last = wrong.pop().unwrap();
    planted.push((MissingAccount, last.address, None, None));

    let count = wrong.len();
    wrong.swap(count - 2, count - 1);
    planted.push((Order, wrong[count - 1].address, None, None));

    planted.sort_by_key(|(_, address, field, index)| (*address, *field, *index));
    let (right, wrong) = (read(&encode(&right)), read(&encode(&wrong)));
    let found = diff(&right, &wrong);
    assert_eq!(found.iter().map(place).collect::<Vec<_>>(), planted, "{found:#?}");
    let side = |kind| found.iter().find(|of| of.kind == kind).unwrap();
    assert!(side(MissingAccount).right.is_none() && side(SurplusRead).left.is_none());
    // Held against each other the other way round, what was missing is too much.
    let back = diff(&wrong, &right);
    assert_eq!(back.len(), found.len());
    assert!(back.iter().any(|of| of.kind == DifferenceKind::SurplusAccount));
    assert!(diff(&wrong, &wrong).is_empty() && diff(&right, &right).is_empty());
}

/// The list of a file that has one, and its bounds.
fn only(content: &[u8]) -> (Bytes, Option<ListBounds>) {
    let mut found = import::lists("file", content).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    let FoundList { list, bounds, .. } = found.remove(0);
    (list.unwrap(), bounds)
}

#[test]
fn every_form_of_a_list_is_the_same_list() {
    let workload = two_blocks();
    let list = workload.batches[0].list.clone();
    let accounts = accounts(&list);
    let json = serde_json::to_value(&accounts).unwrap();
    // As execution-apis writes it: empty arrays may be left out, and keys are of 32 bytes.
    let mut short = json.clone();
    for account in short.as_array_mut().unwrap() {
        account
            .as_object_mut()
            .unwrap()
            .retain(|_, of| of.as_array().is_none_or(|of| !of.is_empty()));
    }
    let dialect = json.to_string().replace("\"index\"", "\"blockAccessIndex\"");
    let text = format!("{list}");
    let wrapped = text.as_bytes().chunks(60).map(|line| str::from_utf8(line).unwrap());
    let payload =
        json!({"gasLimit": "0x3938700", "transactions": ["0x02"], "blockAccessList": text});
    let request = json!({"method": "engine_newPayloadV5", "params": [payload, [], "0x00", []]});
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": json});
    let built = json!({"result": {"executionPayload": payload, "blockValue": "0x0"}});
    let bare: [Vec<u8>; 8] = [
        list.to_vec(),
        hex::encode(&list).into_bytes(),
        wrapped.collect::<Vec<_>>().join("\n").into_bytes(),
        Value::from(text.as_str()).to_string().into_bytes(),
        short.to_string().into_bytes(),
        dialect.into_bytes(),
        answer.to_string().into_bytes(),
        json!({"result": text}).to_string().into_bytes(),
    ];
    for content in bare {
        assert_eq!(only(&content), (list.clone(), None), "{}", String::from_utf8_lossy(&content));
    }
    let bounds = ListBounds::of_block(1, 0x0393_8700);
    for of_block in [&payload, &request, &built] {
        assert_eq!(only(of_block.to_string().as_bytes()), (list.clone(), Some(bounds)));
    }
    let lines = import::lists("file", format!("{request}\n{request}\n").as_bytes()).unwrap();
    assert_eq!(lines.len(), 2);
    let of_workload = FoundList::of_workload(&workload);
    assert_eq!(of_workload.len(), 2);
    assert_eq!(of_workload[0].list, Some(list.clone()));
    let mut test = exported();
    test["blocks"][1]["blockAccessList"] = json;
    let of_test = import::lists("file", json!({"a": test}).to_string().as_bytes()).unwrap();
    let lists: Vec<_> = of_test.iter().map(|found| found.list.as_ref()).collect();
    assert_eq!(lists, [None, Some(&list)]);
    let block = &test["blocks"][1];
    let gas_limit: U256 = block["blockHeader"]["gasLimit"].as_str().unwrap().parse().unwrap();
    let tx_count = block["transactions"].as_array().unwrap().len() as u32;
    assert_eq!(of_test[1].bounds, Some(ListBounds::of_block(tx_count, gas_limit.to())));
}

#[test]
fn the_reference_makes_the_list_of_each_block_of_a_test_whatever_the_file_says() {
    let test = exported();
    let made = |test: &Value, index: usize| {
        let content = json!({"a": test}).to_string();
        let found = &import::lists("file", content.as_bytes()).unwrap()[index];
        import::list_by_reference("file", &content, found, || ()).unwrap().list.unwrap()
    };
    let lists = [made(&test, 0), made(&test, 1)];
    for (list, block) in lists.iter().zip(test["blocks"].as_array().unwrap()) {
        assert_eq!(json!(keccak256(list)), block["blockHeader"]["blockAccessListHash"]);
    }
    // A block that must be refused for its list: the reference has the right one.
    let mut wrong = test;
    (wrong["lastblockhash"], wrong["postStateHash"]) = (Value::Null, Value::Null);
    wrong["blocks"][1]["blockAccessList"] = json!("0xc0");
    wrong["blocks"][1]["expectException"] = json!("BlockException.INVALID_BLOCK_ACCESS_LIST");
    assert_eq!(made(&wrong, 1), lists[1]);
    let bare = FoundList::default();
    let error = import::list_by_reference("file", "{}", &bare, || ()).unwrap_err();
    assert!(error.to_string().contains("the state before the block"));
}

#[test]
fn a_file_without_a_list_is_told_with_its_place_and_value() {
    let workload = Workload::default();
    assert!(FoundList::of_workload(&workload).is_empty());
    for (content, words) in [
        (&b"\x7fELF\x02"[..], &["file", "0x7f454c4602", "RLP, hex or JSON"][..]),
        (b"", &["file", "allowed is a block-level access list"]),
        (b"0x80", &["file", "0x30783830"]),
        (b"{\"a\": [", &["file", "not valid JSON", "line 1"]),
        (b"{\"a\": 1}", &["blockAccessList", "missing"]),
        (b"[1]", &["[1]", "allowed is"]),
        (b"[{\"address\": \"0x12\"}]", &["[0].address", "40 hex digits"]),
        (
            b"{\"result\": [{\"address\": \"0x0000000000000000000000000000000000000001\", \
           \"storageChanges\": [{\"key\": \"0x1\", \"changes\": [{\"index\": \"z\"}]}]}]}",
            &["result[0].storageChanges[0].changes[0].value", "missing"],
        ),
    ] {
        let error = import::lists("file", content).unwrap_err().to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{words:?}: {error}");
    }
}
