//! Rules by which a block is invalid: a block at the bound is imported, one past it is refused for
//! that reason.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as it does")]

use alloy_eips::{eip2935::HISTORY_STORAGE_ADDRESS, eip4788::BEACON_ROOTS_ADDRESS};
use alloy_primitives::{Address, B256, U256, address, hex, uint};
use evm::system;
use generator::{
    import::{self, ImportError, Imported, NamedText, TransitionInput},
    reference,
};
use serde_json::{Value, json};
use workload::{
    Batch, BlockEnv, Fork, ForkChange, ForkSchedule, Genesis, ListBounds, ListIndex, Workload,
};

const SENDER: Address = address!("00000000000000000000000000000000000a11ce");
/// Exists from the beginning.
const RECIPIENT: Address = address!("00000000000000000000000000000000000000b0");

/// The files of a block, to be changed at will.
#[derive(Clone)]
struct Block {
    fork: Fork,
    alloc: Value,
    env: Value,
    txs: Vec<Value>,
    result: Value,
}

impl Block {
    fn new(fork: Fork) -> Self {
        let hash = |byte: u8| B256::repeat_byte(byte);
        let mut alloc = json!({
            SENDER.to_string(): {"balance": format!("{:#x}", 10_u128.pow(21))},
            RECIPIENT.to_string(): {"balance": "0x1"},
        });
        for contract in system::contracts(fork) {
            alloc[contract.address.to_string()] = json!({"nonce": "0x1", "code": contract.code});
        }
        let env = json!({
            "currentCoinbase": RECIPIENT, "currentGasLimit": "0x3938700", "currentNumber": "0x9",
            "currentTimestamp": "0x64", "currentBaseFee": "0x7", "currentRandom": hash(1),
            "currentExcessBlobGas": "0x0", "parentBeaconBlockRoot": hash(2), "slotNumber": "0x5",
            "blockHashes": {"0x8": hash(3)},
        });
        Self { fork, alloc, env, txs: Vec::new(), result: Value::Null }
    }

    /// This block with a transaction more: `fields` over those of a transfer of nothing.
    fn with(mut self, fields: Value) -> Self {
        let mut tx = json!({
            "type": "0x2", "nonce": format!("{:#x}", self.txs.len()), "gas": "0xf4240",
            "maxFeePerGas": "0x7", "maxPriorityFeePerGas": "0x0", "from": SENDER,
            "to": RECIPIENT,
        });
        tx.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.txs.push(tx);
        self
    }

    fn import(&self) -> Result<Imported, ImportError> {
        let texts = [&self.alloc, &self.env, &json!(self.txs), &self.result].map(Value::to_string);
        let text = |name, index: usize| NamedText { name, text: &texts[index] };
        let files = TransitionInput::Files {
            alloc: text("alloc.json", 0),
            env: text("env.json", 1),
            txs: text("txs.json", 2),
        };
        let result = (!self.result.is_null()).then(|| text("result.json", 3));
        let mut imported = import::transition(files, result, self.fork, 1)?;
        import::complete(&mut imported, || ())?;
        Ok(imported)
    }

    fn is_taken(&self) -> Workload {
        self.import().unwrap_or_else(|error| panic!("{error}")).workload
    }

    /// Expects that the block is refused with these words.
    fn is_refused(&self, words: &[&str]) {
        let error = self.import().expect_err("the block is invalid").to_string();
        for word in words {
            assert!(error.contains(word), "{word:?} is not in: {error}");
        }
    }
}

#[test]
fn a_list_has_at_most_an_item_for_2000_gas_of_the_limit_with_those_of_system_calls() {
    let block = |gas_limit: u64| {
        let mut block = Block::new(Fork::Amsterdam);
        block.env["currentGasLimit"] = json!(format!("{gas_limit:#x}"));
        block
    };
    block(50_000).is_taken();
    block(49_999).is_refused(&["block 9", "has 25 accounts", "limit of 49999 allows 24", "7928"]);
}

#[test]
fn blobs_of_all_transactions_together_are_bounded_by_the_schedule_of_the_fork() {
    for (fork, most) in
        [(Fork::Osaka, 9), (Fork::Bpo1, 15), (Fork::Bpo2, 21), (Fork::Amsterdam, 21)]
    {
        let block = |count: usize| {
            let mut block = Block::new(fork);
            for first in (0..count).step_by(6) {
                let hash = |index: usize| format!("0x01{index:062x}");
                let hashes: Vec<_> = (first..count.min(first + 6)).map(hash).collect();
                block = block.with(json!({
                    "type": "0x3", "blobVersionedHashes": hashes, "maxFeePerBlobGas": "0x64",
                }));
            }
            block
        };
        block(most).is_taken();
        let (said, allowed) = (format!("{} blobs", most + 1), format!("allows {most}"));
        block(most + 1).is_refused(&["block 9", &said, &allowed]);
    }
}

#[test]
fn the_gas_limit_of_a_transaction_is_bounded_with_its_state_gas() {
    let block = |fork, gas: u64| {
        let mut block = Block::new(fork).with(json!({"gas": format!("{gas:#x}")}));
        block.env["currentGasLimit"] = json!("0x2540be400");
        block
    };
    block(Fork::Amsterdam, (1 << 32) - 1).is_taken();
    block(Fork::Amsterdam, 1 << 32).is_refused(&["transaction 0", "4294967296", "4294967295"]);
    block(Fork::Bpo2, 1 << 24).is_taken();
    block(Fork::Bpo2, (1 << 24) + 1).is_refused(&["transaction 0", "16777217", "16777216"]);
}

#[test]
fn only_transactions_of_types_0_to_2_create_contracts() {
    let without = Value::Null;
    let tuple = json!({
        "chainId": "0x1", "address": RECIPIENT, "nonce": "0x0", "yParity": "0x0", "r": "0x1", "s": "0x1",
    });
    let hash = format!("0x01{:062x}", 1);
    let of_types = [
        json!({"type": "0x0", "gasPrice": "0x7"}),
        json!({"type": "0x1", "gasPrice": "0x7"}),
        json!({"type": "0x2"}),
        json!({"type": "0x3", "blobVersionedHashes": [hash], "maxFeePerBlobGas": "0x64"}),
        json!({"type": "0x4", "authorizationList": [tuple]}),
    ];
    for (number, mut fields) in of_types.into_iter().enumerate() {
        let block = Block::new(Fork::Amsterdam);
        block.clone().with(fields.clone()).is_taken();
        fields["to"] = without.clone();
        let block = block.with(fields);
        match number {
            0..3 => drop(block.is_taken()),
            _ => block.is_refused(&["transaction 0", &format!("type {number}"), "no recipient"]),
        }
    }
}

/// A block with a call that lets the deposit contract log a deposit with these data.
fn deposit(data: &[u8]) -> Block {
    let mut block = Block::new(Fork::Amsterdam);
    // LOG1 of the calldata.
    let event = "649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5";
    let code = format!("0x365f5f377f{event}365fa100");
    let contract = "0x00000000219ab540356cbb839cbe05303d7705fa";
    block.alloc[contract] = json!({"nonce": "0x1", "code": code});
    block.with(json!({"to": contract, "input": hex::encode_prefixed(data)}))
}

#[test]
fn a_deposit_of_another_form_makes_its_block_invalid() {
    let mut data = [0; 576];
    for (index, (start, length)) in
        [(160_u16, 48), (256, 32), (320, 8), (384, 96), (512, 8)].into_iter().enumerate()
    {
        data[index * 32 + 30..][..2].copy_from_slice(&start.to_be_bytes());
        data[usize::from(start) + 31] = length;
    }
    deposit(&data).is_taken();
    deposit(&data[..575]).is_refused(&["block 9, transaction 0", "6110", "575 bytes"]);
    data[191] = 49;
    deposit(&data).is_refused(&[
        "block 9, transaction 0",
        "6110",
        "byte 160",
        "0x31 instead of 48",
    ]);
}

#[test]
fn a_creation_on_storage_is_refused_also_where_it_reverts_and_a_look_at_it_is_not() {
    let created = SENDER.create(0);
    let block = |fields: Value| {
        let mut block = Block::new(Fork::Amsterdam);
        block.alloc[created.to_string()] = json!({"balance": "0x1", "storage": {"0x0": "0x1"}});
        block.with(fields)
    };
    for init_code in ["0x", "0x5f5ffd", "0x5f5400"] {
        let block = block(json!({"to": null, "input": init_code}));
        block.is_refused(&["transaction 0", &created.to_string(), "7610"]);
    }
    block(json!({"to": created})).is_taken();
    // Without storage there, or with code.
    let mut empty = block(json!({"to": null, "input": "0x"}));
    empty.alloc[created.to_string()]["storage"] = json!({});
    empty.is_taken();
    let mut coded = block(json!({"to": null, "input": "0x"}));
    coded.alloc[created.to_string()]["code"] = json!("0x00");
    coded.is_taken();
}

#[test]
fn what_the_environment_says_of_the_parent_is_checked() {
    let block = |fields: Value| {
        let mut block = Block::new(Fork::Amsterdam);
        block.env.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        block
    };
    block(json!({"parentTimestamp": "0x63"})).is_taken();
    block(json!({"parentTimestamp": "0x64"})).is_refused(&["block 9", "its timestamp, 100"]);
    block(json!({"parentGasLimit": "0x3938700"})).is_taken();
    block(json!({"parentGasLimit": "0x39386ff"})).is_taken();
    block(json!({"parentGasLimit": "0x3a38700"})).is_refused(&["its gas limit, 60000000"]);
    let parent = json!({
        "parentGasLimit": "0x3938700", "parentGasUsed": "0x1c9c380", "parentBaseFee": "0x7",
        "parentExcessBlobGas": "0x0", "parentBlobGasUsed": "0x1c0000",
    });
    block(parent.clone()).is_taken();
    let with = |key: &str, value: &str| {
        let mut parent = parent.clone();
        parent[key] = json!(value);
        block(parent)
    };
    // The tool takes the block's own values, and derives those that are left out.
    for (other, value, own) in [
        ("parentBaseFee", "0x8", "currentBaseFee"),
        ("parentBlobGasUsed", "0x1e0000", "currentExcessBlobGas"),
    ] {
        let mut block = with(other, value);
        let given = block.import().unwrap();
        assert!(given.notes.iter().any(|note| note.contains(own)), "{:?}", given.notes);
        block.env.as_object_mut().unwrap().remove(own);
        let derived = block.import().unwrap();
        assert_eq!(derived.notes, [""; 0]);
        assert_ne!(derived.workload.digest(), given.workload.digest());
    }
}

#[test]
fn the_items_of_a_result_s_list_and_its_requests_are_compared_in_both_forms() {
    let mut block = Block::new(Fork::Amsterdam).with(json!({"value": "0x1"}));
    let made = block.is_taken();
    let batch = &made.batches[0];
    let index = ListIndex::decode(&batch.list, &ListBounds::new(batch, &made.rules)).unwrap();
    let items = serde_json::to_value(index.to_changes()).unwrap();
    for list in [json!(batch.list), items.clone()] {
        block.result = json!({"blockAccessList": list});
        block.is_taken();
    }
    let mut other = items.clone();
    other[2]["storageReads"] = json!([]);
    for list in [other, json!([]), json!("0xc0")] {
        block.result = json!({"blockAccessList": list});
        block.is_refused(&["block 9: list is"]);
    }
    block.result = json!({"blockAccessList": [{"address": 1}]});
    block.is_refused(&["result.json: blockAccessList[0].address is 1"]);
    block.result = json!({"requestsHash": B256::ZERO});
    block.is_refused(&["block 9: requests hash is"]);
    block.result = json!({"currentBaseFee": "0x8"});
    block.is_refused(&["result.json: currentBaseFee is", "0x7"]);
}

/// A rule: the block at the bound, one past it, and the words of the refusal.
struct Rule {
    at: Value,
    past: Value,
    words: &'static str,
}

/// Rules on one transaction, before the limits of Amsterdam.
fn rules_of_a_transaction() -> Vec<Rule> {
    let rule = |words, at, past| Rule { at, past, words };
    let blob = |fields: Value| {
        let hash = format!("0x01{:062x}", 7);
        let mut tx = json!({
            "type": "0x3", "blobVersionedHashes": [hash], "maxFeePerBlobGas": "0x1",
        });
        tx.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        tx
    };
    let blobs = |count: usize| {
        let hashes: Vec<_> = (0..count).map(|index| format!("0x01{index:062x}")).collect();
        blob(json!({ "blobVersionedHashes": hashes }))
    };
    let data = |bytes: usize| format!("0x{}", "01".repeat(bytes));
    let init = |bytes: usize| json!({"to": null, "input": format!("0x{}", "00".repeat(bytes))});
    let gas = |gas: u64| json!({"gas": format!("{gas:#x}")});
    // The sender's balance without the most that the gas can cost.
    let value =
        |more: u128| json!({"value": format!("{:#x}", 10_u128.pow(21) - 7 * 1_000_000 + more)});
    let with_data = |limit: u64| json!({"input": data(1_000), "gas": format!("{limit:#x}")});
    vec![
        rule("too high, expected", json!({"nonce": "0x0"}), json!({"nonce": "0x1"})),
        rule("lack of funds", value(0), value(1)),
        rule("gas price is less", json!({"maxFeePerGas": "0x7"}), json!({"maxFeePerGas": "0x6"})),
        rule(
            "priority fee is greater",
            json!({"maxPriorityFeePerGas": "0x7"}),
            json!({"maxPriorityFeePerGas": "0x8"}),
        ),
        rule("call gas cost (", gas(21_000), gas(20_999)),
        // 21,000 and 40 gas for each byte that is not zero (EIP-7623).
        rule("gas floor (", with_data(61_000), with_data(60_999)),
        rule("create initcode size limit", init(49_152), init(49_153)),
        rule("has a gas limit of", gas(1 << 24), gas((1 << 24) + 1)),
        rule("empty blobs", blobs(1), blobs(0)),
        rule("too many blobs", blobs(6), blobs(7)),
        rule(
            "blob version not supported",
            blob(json!({})),
            blob(json!({"blobVersionedHashes": [format!("0x02{:062x}", 7)]})),
        ),
        rule("blob gas price (", blob(json!({})), blob(json!({"maxFeePerBlobGas": "0x0"}))),
    ]
}

#[test]
fn a_transaction_at_the_bound_of_a_rule_is_taken_and_one_past_it_is_refused() {
    for Rule { at, past, words } in rules_of_a_transaction() {
        Block::new(Fork::Bpo2).with(at).is_taken();
        Block::new(Fork::Bpo2).with(past).is_refused(&[words]);
    }
    // A nonce that is used already.
    let twice = json!({"nonce": "0x0"});
    Block::new(Fork::Bpo2).with(twice.clone()).with(twice).is_refused(&["too low, expected"]);
}

#[test]
fn the_nonce_and_the_init_code_of_amsterdam_are_bounded() {
    let nonce = |nonce: u64| {
        let nonce = format!("{nonce:#x}");
        let mut block = Block::new(Fork::Amsterdam).with(json!({"nonce": nonce}));
        block.alloc[SENDER.to_string()]["nonce"] = json!(nonce);
        block
    };
    nonce(u64::MAX - 1).is_taken();
    nonce(u64::MAX).is_refused(&["nonce overflow"]);
    let init_code = |bytes: usize| {
        let input = format!("0x{}", "00".repeat(bytes));
        Block::new(Fork::Amsterdam).with(json!({"to": null, "input": input, "gas": "0xffffff"}))
    };
    init_code(128 << 10).is_taken();
    init_code((128 << 10) + 1).is_refused(&["create initcode size limit"]);
}

#[test]
fn the_s_of_a_signature_is_in_the_lower_half_of_the_order() {
    let half = uint!(0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0_U256);
    let signed = |s: U256| {
        let mut block = Block::new(Fork::Amsterdam).with(json!({
            "yParity": "0x0", "r": "0x1", "s": format!("{s:#x}"),
        }));
        block.txs[0].as_object_mut().unwrap().remove("from");
        block
    };
    let mut block = signed(half);
    block.is_refused(&["lack of funds"]);
    let error = block.import().unwrap_err();
    let ImportError::Transaction { sender, .. } = error else { panic!("{error}") };
    block.alloc[sender.to_string()] = block.alloc[SENDER.to_string()].clone();
    block.is_taken();
    signed(half + U256::ONE).is_refused(&["txs.json", "EIP-2)"]);
}

#[test]
fn gas_limits_are_bounded_by_what_the_block_has_left() {
    for fork in Fork::GENERATED {
        let block = |gas: u64| {
            let mut block = Block::new(fork);
            block.env["currentGasLimit"] = json!("0x186a0");
            block.with(json!({"gas": format!("{gas:#x}")}))
        };
        block(100_000).is_taken();
        block(100_001).is_refused(&["has left after"]);
    }
}

#[test]
fn a_sender_with_code_is_refused_unless_it_is_a_delegation() {
    let with_code = |code: &str| {
        let mut block = Block::new(Fork::Bpo2).with(json!({}));
        block.alloc[SENDER.to_string()]["code"] = json!(code);
        block
    };
    with_code(&format!("0xef0100{}", hex::encode(RECIPIENT))).is_taken();
    with_code("0x00").is_refused(&["senders with deployed code"]);
}

#[test]
fn a_system_call_that_fails_makes_the_block_invalid_only_after_the_transactions() {
    for fork in [Fork::Osaka, Fork::Amsterdam] {
        for contract in system::contracts(fork) {
            let mut block = Block::new(fork);
            block.alloc[contract.address.to_string()]["code"] = json!("0xfe");
            let is_before =
                [BEACON_ROOTS_ADDRESS, HISTORY_STORAGE_ADDRESS].contains(&contract.address);
            match is_before {
                true => drop(block.is_taken()),
                false => block.is_refused(&[&contract.address.to_string()]),
            }
        }
    }
}

#[test]
fn a_system_contract_is_needed_from_the_block_on_whose_fork_calls_it() {
    let batches = (1..=2).map(|number| {
        let env = BlockEnv { number, timestamp: 10 * number, ..BlockEnv::default() };
        Batch {
            blocks: vec![workload::Block { env, ..workload::Block::default() }],
            ..Batch::default()
        }
    });
    let changes = vec![ForkChange { timestamp: 20, rules: Fork::Prague.into() }];
    let mut workload = Workload {
        rules: ForkSchedule { first: Fork::Cancun.into(), changes },
        batches: batches.collect(),
        ..Workload::default()
    };
    let mut with_contracts = |fork| {
        let mut accounts = system::contracts(fork);
        accounts.sort_unstable_by_key(|account| account.address);
        workload.genesis = Genesis { accounts, ..Genesis::default() };
        reference::run(&workload, || {})
    };
    let error = with_contracts(Fork::Cancun).unwrap_err().to_string();
    assert!(error.contains("batch 1") && error.contains("system contract has no code"), "{error}");
    assert_eq!(with_contracts(Fork::Prague).unwrap().len(), 2);
}
