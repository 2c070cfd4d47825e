//! A block beside its witness: the same outcome as on the whole state, or an error that says what the
//! witness lacks.

use std::collections::BTreeMap;

use alloy_primitives::{B256, Bytes, hex, keccak256};
use alloy_trie::{HashBuilder, Nibbles, TrieAccount, proof::ProofRetainer};
use generator::{
    export::{self, Chain, Lists},
    import::{self, ImportError, Imported, Text},
};
use serde_json::{Value, json};
use workload::{Fork, GenesisAccount};

use crate::blockchain_tests::{chain_of, imported, test_of, two_blocks};

/// The root of a trie. Its nodes go to `nodes`.
fn trie(rows: &BTreeMap<B256, Vec<u8>>, nodes: &mut Vec<Bytes>) -> B256 {
    let keys = rows.keys().map(Nibbles::unpack).collect();
    let mut builder = HashBuilder::default().with_proof_retainer(ProofRetainer::new(keys));
    rows.iter().for_each(|(key, value)| builder.add_leaf(Nibbles::unpack(key), value));
    let root = builder.root();
    nodes.extend(builder.take_proof_nodes().into_nodes_sorted().into_iter().map(|(_, node)| node));
    root
}

/// The witness of a block on this state, with all of it.
fn witness_of(accounts: &[GenesisAccount], chain: &Chain) -> Value {
    let mut nodes = Vec::new();
    let rows = accounts.iter().map(|account| {
        let slots = account
            .storage
            .iter()
            .map(|(key, value)| (keccak256(key.to_be_bytes::<32>()), alloy_rlp::encode(value)));
        let value = TrieAccount {
            nonce: account.nonce,
            balance: account.balance,
            storage_root: trie(&slots.collect(), &mut nodes),
            code_hash: keccak256(&account.code),
        };
        (keccak256(account.address), alloy_rlp::encode(value))
    });
    let rows = rows.collect();
    assert_eq!(trie(&rows, &mut nodes), chain.genesis_header.state_root);
    let codes: Vec<_> = accounts.iter().map(|account| &account.code).collect();
    let header = hex::encode_prefixed(alloy_rlp::encode(&chain.genesis_header));
    json!({"state": nodes, "codes": codes, "keys": [], "headers": [header]})
}

fn beside(block: &Value, witness: &Value, fork: Option<Fork>) -> Result<Imported, ImportError> {
    let [block, witness] = [block, witness].map(Value::to_string);
    let [block, witness] = [("block.json", &block), ("witness.json", &witness)]
        .map(|(name, text)| Text { name, text });
    let mut imported = import::witness(block, witness, fork, 1)?;
    import::complete(&mut imported, || ())?;
    Ok(imported)
}

#[test]
fn a_block_beside_its_witness_has_the_outcome_that_it_has_on_the_whole_state() {
    let chain = chain_of(&two_blocks()).unwrap();
    let whole = imported(&test_of(&chain)).unwrap().0.workload;
    let witness = witness_of(&whole.genesis.accounts, &chain);
    let mut rlp = Vec::new();
    export::rlp_of(&chain.blocks[0], Lists::Without, &mut rlp).unwrap();
    let block = json!({"jsonrpc": "2.0", "id": 1, "result": hex::encode_prefixed(rlp)});
    let made = beside(&block, &witness, None).unwrap();
    assert_eq!(made.workload.batches[0], whole.batches[0]);
    assert_eq!(made.not_compared(), ["state root"]);
    assert!(made.workload.genesis.account_count() < whole.genesis.account_count());
    let node = json!({"result": witness});
    assert_eq!(beside(&block, &node, None).unwrap().workload, made.workload);
    // Without a node of a trie the outcome is the same, or the node is named.
    let nodes = witness["state"].as_array().unwrap();
    let mut named_count = 0;
    for index in (0..nodes.len()).step_by(nodes.len() / 60) {
        let mut lacking = witness.clone();
        let node = lacking["state"].as_array_mut().unwrap().remove(index);
        match beside(&block, &lacking, None) {
            Ok(same) => assert_eq!(same.workload, made.workload),
            Err(error) => {
                let hash = keccak256(hex::decode(node.as_str().unwrap()).unwrap()).to_string();
                let error = error.to_string();
                assert!(error.contains("witness.json") && error.contains(&hash), "{error}");
                named_count += 1;
            }
        }
    }
    assert!(named_count > 5, "{named_count}");
    for key in ["codes", "headers", "state"] {
        let mut lacking = witness.clone();
        lacking[key] = json!([]);
        let error = beside(&block, &lacking, None).unwrap_err().to_string();
        assert!(error.contains("witness.json"), "{key}: {error}");
    }
}
