//! A block beside its witness: the same outcome as on the whole state, or an error that says what
//! the witness lacks.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as it does")]

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, Bytes, U256, bytes, hex, keccak256};
use alloy_trie::{HashBuilder, Nibbles, TrieAccount, proof::ProofRetainer};
use generator::{
    BENEFICIARY,
    export::{self, Chain, Lists},
    import::{self, ImportError, Imported, NamedText},
    reference,
};
use serde_json::{Value, json};
use workload::{Fork, GenesisAccount, Workload};

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

/// The witness of the first block on this state. It has the whole state.
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

/// Imports `block` with its witness.
fn beside(block: &Value, witness: &Value, fork: Option<Fork>) -> Result<Imported, ImportError> {
    let [block, witness] = [block, witness].map(Value::to_string);
    let [block, witness] = [("block.json", &block), ("witness.json", &witness)]
        .map(|(name, text)| NamedText { name, text });
    let mut imported = import::witness(block, witness, fork, 1)?;
    import::complete(&mut imported, || ())?;
    Ok(imported)
}

/// The imported workload of `blocks` on the whole state, a node's answer with the first block, and
/// that block's witness.
fn parts_of(blocks: &Workload) -> (Workload, Value, Value) {
    let chain = chain_of(blocks).unwrap();
    let whole = imported(&test_of(&chain)).unwrap().0.workload;
    let witness = witness_of(&whole.genesis.accounts, &chain);
    let mut rlp = Vec::new();
    export::rlp_of(&chain.blocks[0], Lists::Without, &mut rlp).unwrap();
    let block = json!({"jsonrpc": "2.0", "id": 1, "result": hex::encode_prefixed(rlp)});
    (whole, block, witness)
}

/// Gives the account at `address` a code. It is a new account where there is none.
fn set_code(workload: &mut Workload, address: Address, code: Bytes) {
    let accounts = &mut workload.genesis.accounts;
    match accounts.binary_search_by_key(&address, |account| account.address) {
        Ok(index) => accounts[index].code = code,
        Err(index) => {
            let (nonce, balance, storage) = (1, U256::ZERO, Vec::new());
            accounts.insert(index, GenesisAccount { address, nonce, balance, code, storage });
        }
    }
}

#[test]
fn a_block_beside_its_witness_has_the_outcome_that_it_has_on_the_whole_state() {
    let (whole, block, witness) = parts_of(&two_blocks());
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

#[test]
fn a_witness_may_lack_codes_that_the_block_does_not_run() {
    let mut blocks = two_blocks();
    let paid = bytes!("00");
    set_code(&mut blocks, BENEFICIARY, paid.clone());
    let (whole, block, witness) = parts_of(&blocks);
    let made = beside(&block, &witness, None).unwrap();
    assert_eq!((made.not_compared(), made.notes.len()), (vec!["state root"], 0));
    let mut needed_count = 0;
    for (index, code) in witness["codes"].as_array().unwrap().iter().enumerate() {
        let mut lacking = witness.clone();
        lacking["codes"].as_array_mut().unwrap().remove(index);
        match beside(&block, &lacking, None) {
            Ok(same) if *code == json!(paid) => {
                let not_compared = ["codes that the block does not run", "state root"];
                assert_eq!(same.not_compared(), not_compared);
                assert!(same.notes[0].contains(&BENEFICIARY.to_string()), "{:?}", same.notes);
                // The digest of the net changes is that of an account without code.
                let [same, whole] = [&same.workload.batches[0], &whole.batches[0]];
                assert!(same.blocks == whole.blocks && same.list == whole.list);
                assert!(same.expected.transactions == whole.expected.transactions);
                assert_ne!(same.expected.net_changes, whole.expected.net_changes);
            }
            Ok(same) => assert!(same.workload == made.workload, "{code}"),
            Err(error) => {
                let hash = keccak256(hex::decode(code.as_str().unwrap()).unwrap()).to_string();
                assert!(error.to_string().contains(&hash), "{error}");
                needed_count += 1;
            }
        }
    }
    assert!(needed_count > 1, "{needed_count}");
}

/// The hash of a code that does not run can be read (EXTCODEHASH).
#[test]
fn a_code_whose_hash_the_block_reads_must_be_in_the_witness() {
    let mut blocks = two_blocks();
    let (paid, reader) = (bytes!("00"), Address::with_last_byte(0x99));
    set_code(&mut blocks, BENEFICIARY, paid.clone());
    // PUSH20 the beneficiary, EXTCODEHASH, PUSH0, SSTORE.
    let code = [&[0x73], BENEFICIARY.as_slice(), &[0x3f, 0x5f, 0x55]].concat();
    set_code(&mut blocks, reader, code.into());
    blocks.batches[0].blocks[0].transactions[0].to = Some(reader);
    reference::complete(&mut blocks, || ()).unwrap();
    let (whole, block, mut witness) = parts_of(&blocks);
    assert!(beside(&block, &witness, None).unwrap().workload.batches[0] == whole.batches[0]);
    witness["codes"].as_array_mut().unwrap().retain(|code| *code != json!(paid));
    let error = beside(&block, &witness, None).unwrap_err().to_string();
    for word in ["witness.json", &BENEFICIARY.to_string(), "EXTCODEHASH"] {
        assert!(error.contains(word), "{word}: {error}");
    }
}
