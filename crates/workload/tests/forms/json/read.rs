//! A reader of the JSON form, by the page alone.

use alloy_eip7928::{
    AccountChanges, BalanceChange, BlockAccessIndex, CodeChange, NonceChange, SlotChanges,
    StorageChange,
};
use alloy_primitives::{Address, B256, Bytes, U256};
use serde_json::Value;
use workload::{
    AccountFamily, Batch, BlobSchedule, Block, BlockEnv, ChainRules, CodeRule, Fork, ForkChange,
    ForkSchedule, Genesis, GenesisAccount, KeyRule, Layout, SenderFamily, SlotFamily, Transaction,
    TxOutcome, TxStatus, TxType, ValueRule, Withdrawal, Workload,
    block::{Authorization, BatchOutcome, IndexRange, ListSizes, Plan},
};

pub(crate) fn array(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("an array: {value}"))
}

fn each<T>(value: &Value, of: impl FnMut(&Value) -> T) -> Vec<T> {
    array(value).iter().map(of).collect()
}

pub(crate) fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("a number: {value}"))
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("a text: {value}"))
}

/// An integer above 64 bits: without leading zeros.
pub(crate) fn word(value: &Value) -> U256 {
    let digits = text(value).strip_prefix("0x").expect("0x");
    assert!(digits == "0" || !digits.starts_with('0'), "no leading zeros: {digits}");
    U256::from_str_radix(digits, 16).expect("hexadecimal digits")
}

fn u128(value: &Value) -> u128 {
    word(value).to()
}

pub(crate) fn hash(value: &Value) -> B256 {
    text(value).parse().expect("32 bytes")
}

pub(crate) fn address(value: &Value) -> Address {
    text(value).parse().expect("20 bytes")
}

pub(crate) fn bytes(value: &Value) -> Bytes {
    text(value).parse().expect("bytes")
}

fn unless_null<T>(value: &Value, of: impl FnOnce(&Value) -> T) -> Option<T> {
    (!value.is_null()).then(|| of(value))
}

/// The rules beside the name of their fork.
fn rules(beside: &Value) -> ChainRules {
    let fork = Fork::ALL.into_iter().find(|fork| beside["fork"] == fork.name()).expect("a fork");
    let json = &beside["rules"];
    assert_eq!(number(&json["tx_gas_cap"]), fork.tx_gas_cap());
    let blobs = BlobSchedule {
        target: number(&json["target_blob_count"]),
        max: number(&json["max_blob_count"]),
        base_fee_update_fraction: number(&json["blob_fee_update_fraction"]),
    };
    ChainRules { fork, blobs, deposit_contract: address(&json["deposit_contract"]) }
}

pub(crate) fn workload(json: &Value) -> Workload {
    assert_eq!(json["schema"], "stress.workload/1");
    let changes = each(&json["changes"], |change| ForkChange {
        timestamp: number(&change["timestamp"]),
        rules: rules(change),
    });
    Workload {
        scenario: text(&json["scenario"]).to_owned(),
        work: text(&json["work"]).to_owned(),
        seed: number(&json["seed"]),
        generator_version: number(&json["generator_version"]) as u32,
        rules: ForkSchedule { first: rules(json), changes },
        layout: match text(&json["layout"]) {
            "hashed" => Layout::Hashed,
            "plain" => Layout::Plain,
            other => panic!("layout {other}"),
        },
        chain_id: number(&json["chain_id"]),
        genesis: genesis(&json["genesis"]),
        first_hash_number: number(&json["first_hash_number"]),
        block_hashes: each(&json["block_hashes"], hash),
        signed_transactions: each(&json["signed_transactions"], bytes),
        batches: each(&json["batches"], batch),
    }
}

fn genesis(json: &Value) -> Genesis {
    Genesis {
        accounts: each(&json["accounts"], |account| GenesisAccount {
            address: address(&account["address"]),
            nonce: number(&account["nonce"]),
            balance: word(&account["balance"]),
            code: bytes(&account["code"]),
            storage: each(&account["storage"], |row| (word(&row[0]), word(&row[1]))),
        }),
        senders: each(&json["senders"], |family| SenderFamily {
            first_secret: hash(&family["first_secret"]),
            count: number(&family["count"]),
            balance: word(&family["balance"]),
        }),
        slots: each(&json["slots"], |family| SlotFamily {
            address: address(&family["address"]),
            count: number(&family["count"]),
            keys: match text(&family["keys"]) {
                "keccak" => KeyRule::Keccak,
                "weyl" => KeyRule::Weyl,
                "balance" => KeyRule::Balance,
                "addressed" => KeyRule::Addressed,
                "index" => KeyRule::Index,
                "deep" => KeyRule::Deep,
                other => panic!("keys {other}"),
            },
            values: values(&family["values"]),
            seed: hash(&family["seed"]),
        }),
        account_families: each(&json["account_families"], |family| AccountFamily {
            seed: hash(&family["seed"]),
            count: number(&family["count"]),
            code: match text(&family["code"]["rule"]) {
                "nothing" => CodeRule::Nothing,
                "jumpdests" => CodeRule::Jumpdests {
                    bytes: number(&family["code"]["bytes"]) as u32,
                    distinct_count: number(&family["code"]["distinct_count"]),
                },
                other => panic!("code {other}"),
            },
        }),
    }
}

fn values(json: &Value) -> ValueRule {
    match text(&json["rule"]) {
        "random" => ValueRule::Random,
        "next-key" => ValueRule::NextKey,
        "key-elsewhere" => ValueRule::KeyElsewhere {
            address: address(&json["address"]),
            ahead: number(&json["ahead"]),
        },
        "after-key" => ValueRule::AfterKey,
        other => panic!("values {other}"),
    }
}

fn batch(json: &Value) -> Batch {
    let (list, plan, expected) = (&json["list"], &json["plan"], &json["expected"]);
    let ranges = |value: &Value| {
        each(value, |range| IndexRange {
            family: number(&range["family"]) as u32,
            start: number(&range["start"]),
            count: number(&range["count"]),
        })
    };
    Batch {
        blocks: each(&json["blocks"], block),
        list: bytes(&list["encoded"]),
        list_sizes: ListSizes {
            parallel_io_bytes: number(&list["sizes"]["parallel_io_bytes"]),
            batched_io_bytes: number(&list["sizes"]["batched_io_bytes"]),
            full_bytes: number(&list["sizes"]["full_bytes"]),
        },
        plan: Plan {
            slots: ranges(&plan["slots"]),
            senders: ranges(&plan["senders"]),
            accounts: ranges(&plan["accounts"]),
            absent_accounts: each(&plan["absent_accounts"], address),
        },
        expected: BatchOutcome {
            transactions: each(&expected["transactions"], |outcome| TxOutcome {
                status: match text(&outcome["status"]) {
                    "success" => TxStatus::Success,
                    "revert" => TxStatus::Revert,
                    "halt" => TxStatus::Halt,
                    other => panic!("status {other}"),
                },
                gas_used: number(&outcome["gas_used"]),
                logs: hash(&outcome["logs"]),
                output: hash(&outcome["output"]),
            }),
            net_changes: hash(&expected["net_changes"]),
            header_gas: each(&expected["header_gas"], number),
        },
    }
}

fn block(json: &Value) -> Block {
    let env = &json["env"];
    Block {
        env: BlockEnv {
            number: number(&env["number"]),
            timestamp: number(&env["timestamp"]),
            beneficiary: address(&env["beneficiary"]),
            gas_limit: number(&env["gas_limit"]),
            base_fee: number(&env["base_fee"]),
            prev_randao: hash(&env["prev_randao"]),
            excess_blob_gas: number(&env["excess_blob_gas"]),
            slot_number: number(&env["slot_number"]),
            parent_hash: hash(&env["parent_hash"]),
            parent_beacon_root: hash(&env["parent_beacon_root"]),
        },
        transactions: each(&json["transactions"], transaction),
        withdrawals: each(&json["withdrawals"], |withdrawal| Withdrawal {
            address: address(&withdrawal["address"]),
            amount_gwei: number(&withdrawal["amount_gwei"]),
        }),
    }
}

fn transaction(json: &Value) -> Transaction {
    Transaction {
        tx_type: match number(&json["type"]) {
            0 => TxType::Legacy,
            1 => TxType::AccessList,
            2 => TxType::DynamicFee,
            3 => TxType::Blob,
            4 => TxType::SetCode,
            other => panic!("type {other}"),
        },
        sender: address(&json["sender"]),
        nonce: number(&json["nonce"]),
        gas_limit: number(&json["gas_limit"]),
        max_fee_per_gas: u128(&json["max_fee_per_gas"]),
        max_priority_fee_per_gas: u128(&json["max_priority_fee_per_gas"]),
        to: unless_null(&json["to"], address),
        value: word(&json["value"]),
        input: bytes(&json["input"]),
        access_list: each(&json["access_list"], |item| {
            (address(&item["address"]), each(&item["slots"], hash))
        }),
        blob_hashes: each(&json["blob_hashes"], hash),
        max_fee_per_blob_gas: u128(&json["max_fee_per_blob_gas"]),
        authorizations: each(&json["authorizations"], |tuple| Authorization {
            chain_id: word(&tuple["chain_id"]),
            address: address(&tuple["address"]),
            nonce: number(&tuple["nonce"]),
            authority: unless_null(&tuple["authority"], address),
        }),
    }
}

/// The decoded list.
pub(crate) fn list(json: &Value) -> Vec<AccountChanges> {
    let index = |change: &Value| BlockAccessIndex::new(number(&change["index"]));
    each(json, |account| AccountChanges {
        address: address(&account["address"]),
        storage_changes: each(&account["storage_changes"], |slot| SlotChanges {
            slot: word(&slot["slot"]),
            changes: each(&slot["changes"], |change| {
                StorageChange::new(index(change), word(&change["value"]))
            }),
        }),
        storage_reads: each(&account["storage_reads"], word),
        balance_changes: each(&account["balance_changes"], |change| {
            BalanceChange::new(index(change), word(&change["balance"]))
        }),
        nonce_changes: each(&account["nonce_changes"], |change| {
            NonceChange::new(index(change), number(&change["nonce"]))
        }),
        code_changes: each(&account["code_changes"], |change| {
            CodeChange::new(index(change), bytes(&change["code"]))
        }),
    })
}
