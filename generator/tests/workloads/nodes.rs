//! Import from a node that answers another call than it was asked, or with an invalid block. The
//! node is an exported chain whose answers are changed.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as it does")]

use std::num::NonZeroU64;

use alloy_primitives::B256;
use generator::import::{
    self,
    rpc::{BlockName, Call, NoAnswer, Refusal, Rpc, Wanted},
};
use serde_json::{Value, json};
use workload::Fork;

use crate::blockchain_tests::exported;

/// A node that answers with the blocks of a test, changed by `change`.
struct ChangedNode<'a> {
    blocks: Vec<Value>,
    chain_id: Value,
    change: &'a dyn Fn(&Call, &mut Value),
}

impl Rpc for ChangedNode<'_> {
    fn name(&self) -> &'static str {
        "node"
    }

    fn call(&mut self, calls: &[Call]) -> Result<Vec<Result<Value, Refusal>>, NoAnswer> {
        let newest = self.blocks.len() - 1;
        let answer = |call: &Call| {
            let mut answer = match (call.method, call.params[0].as_str()) {
                ("eth_chainId", _) => self.chain_id.clone(),
                ("eth_getBlockByNumber", Some(number)) if number != "latest" => {
                    let index = usize::from_str_radix(&number[2..], 16).unwrap();
                    self.blocks.get(index).cloned().unwrap_or_default()
                }
                ("eth_getBlockByNumber" | "eth_getBlockByHash", _) => self.blocks[newest].clone(),
                _ => return Err(Refusal { code: -32601, message: "no such method".to_owned() }),
            };
            (self.change)(call, &mut answer);
            Ok(answer)
        };
        Ok(calls.iter().map(answer).collect())
    }
}

/// The error of an import of `count` blocks up to `last`. The import fails in any case, as the node
/// has no receipts and no state.
fn error(last: BlockName, count: u64, change: &dyn Fn(&Call, &mut Value)) -> String {
    let test = exported();
    let block = |block: &Value| {
        let mut fields = block["blockHeader"].clone();
        for key in ["transactions", "withdrawals"] {
            fields[key] = block[key].clone();
        }
        fields
    };
    let blocks = test["blocks"].as_array().unwrap().iter().map(block);
    let genesis = test["genesisBlockHeader"].clone();
    let blocks = std::iter::once(genesis).chain(blocks).collect();
    let mut node = ChangedNode { blocks, chain_id: test["config"]["chainid"].clone(), change };
    let count = NonZeroU64::new(count).unwrap();
    let fork = Some(Fork::Amsterdam);
    let wanted = Wanted { last, count, fork };
    import::rpc_blocks(&mut node, &wanted).unwrap_err().to_string()
}

fn has_words(error: &str, words: &[&str]) {
    for word in words {
        assert!(error.contains(word), "{word:?} is not in: {error}");
    }
}

/// Changes the answer to `eth_getBlockByNumber` for the block `name`.
fn change_block(name: &'static str, change: impl Fn(&mut Value)) -> impl Fn(&Call, &mut Value) {
    move |call, answer| {
        if call.method == "eth_getBlockByNumber" && call.params[0] == name {
            change(answer);
        }
    }
}

#[test]
fn a_block_that_was_not_asked_for_is_refused() {
    let unchanged = |_: &Call, _: &mut Value| {};
    for (last, count) in [(BlockName::Latest, 1), (BlockName::Latest, 2), (BlockName::Number(2), 2)]
    {
        // Past all checks of blocks, to their receipts.
        has_words(&error(last, count, &unchanged), &["transactions[0].hash is missing"]);
    }
    let is_other = change_block("0x1", |answer| answer["number"] = json!("0x2"));
    let words = ["(0x1): number is \"0x2\"", "0x1, the number of the block that was asked for"];
    has_words(&error(BlockName::Number(1), 1, &is_other), &words);
    has_words(&error(BlockName::Latest, 2, &is_other), &words);
    has_words(&error(BlockName::Latest, 1, &is_other), &words);
    let hash = B256::repeat_byte(0xab);
    let other = error(BlockName::Hash(hash), 1, &unchanged);
    has_words(&other, &["hash is", "0xabab", "the hash of the block that was asked for"]);
    let named = |_: &Call, answer: &mut Value| {
        if answer.is_object() {
            answer["hash"] = json!(hash);
        }
    };
    let other = error(BlockName::Hash(hash), 1, &named);
    has_words(&other, &["hash is \"0xabab", "the hash of these fields"]);
    let other = change_block("0x0", |answer| answer["extraData"] = json!("0x07"));
    let other = error(BlockName::Latest, 1, &other);
    has_words(&other, &["(0x0): hash is", "the hash of these fields"]);
}

#[test]
fn a_number_at_either_end_is_an_error_and_no_panic() {
    let most = change_block("latest", |answer| answer["number"] = json!("0xffffffffffffffff"));
    for count in [1, 2] {
        has_words(&error(BlockName::Latest, count, &most), &["the answer is null"]);
    }
    let none = change_block("0x1", |answer| answer["number"] = json!("0x0"));
    has_words(&error(BlockName::Latest, 2, &none), &["number is \"0x0\"", "0x1, the number"]);
}

#[test]
fn a_block_that_lacks_a_fact_of_its_roots_is_refused() {
    let in_latest = |change: &dyn Fn(&mut Value), words: &[&str]| {
        let change = change_block("latest", change);
        has_words(&error(BlockName::Latest, 1, &change), words);
    };
    let zero = |answer: &mut Value| {
        (answer["transactions"][0]["r"], answer["transactions"][0]["s"]) =
            (json!("0x0"), json!("0x0"));
    };
    in_latest(&zero, &["transactions[0].r is \"0x0\"", "an invalid signature"]);
    in_latest(&|answer| answer["uncles"] = json!([B256::ZERO]), &["uncles is", "no ommers"]);
    for key in ["requestsHash", "withdrawalsRoot", "blobGasUsed"] {
        in_latest(&|answer| answer[key] = Value::Null, &[key, "is missing"]);
    }
}
