//! Random blocks that go-ethereum's transition tool fills, one a seed, import with its result. Runs
//! where `evm` is on PATH, or `STRESS_EVM` names it; tried with 1.17.10.

use std::{fs, path::Path, process::Command, sync::atomic::AtomicBool};

use alloy_consensus::{EthereumTxEnvelope, TxEip4844};
use alloy_primitives::hex;
use alloy_rlp::Decodable;
use generator::{
    export,
    import::{self, NamedText, TransitionInput},
};
use random_blocks::RandomBlocks;
use serde_json::{Map, Value, json};
use workload::{Block, Fork, GenesisAccount, Workload};

use super::process::program;

type ReceivedBlock = alloy_consensus::Block<EthereumTxEnvelope<TxEip4844>>;

const NAMES: [&str; 4] = ["alloc.json", "env.json", "txs.json", "result.json"];

#[test]
fn blocks_that_the_transition_tool_fills_are_imported_as_they_are_under_prague() {
    assert_filled(Fork::Prague);
}

#[test]
fn blocks_that_the_transition_tool_fills_are_imported_as_they_are_under_osaka() {
    assert_filled(Fork::Osaka);
}

fn assert_filled(fork: Fork) {
    let Some(evm) = program("evm", "STRESS_EVM", "v1.17.10") else { return };
    let (mut tx_count, mut gas) = (0, 0);
    let block_count = super::random_block_count();
    for seed in 0..block_count {
        let blocks = RandomBlocks { fork, batch_block_count: 1, ..RandomBlocks::draw(seed, 1) };
        let drawn = blocks.build().unwrap_or_else(|error| panic!("seed {seed}: {error}")).workload;
        let dir = tempfile::tempdir().unwrap();
        write_files(&drawn, dir.path());
        fill(&evm, fork, dir.path());
        let texts = NAMES.map(|name| fs::read_to_string(dir.path().join(name)).unwrap());
        let text = |index: usize| NamedText { name: NAMES[index], text: &texts[index] };
        let files = TransitionInput::Files { alloc: text(0), env: text(1), txs: text(2) };
        let imported = import::transition(files, Some(text(3)), fork, drawn.chain_id);
        let mut imported = imported.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let compared = import::complete(&mut imported, || ());
        let compared = compared.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        for what in ["state root", "receipts root", "requests hash", "logs hash", "gas used"] {
            assert!(compared.contains(&what), "{what} is in {compared:?}");
        }
        let [made, drawn_batch] = [&imported.workload, &drawn].map(|of| &of.batches[0]);
        let transactions = [made, drawn_batch].map(|of| &of.blocks[0].transactions);
        assert!(transactions[0] == transactions[1], "seed {seed}");
        assert!(
            made.list == drawn_batch.list && made.expected == drawn_batch.expected,
            "seed {seed}"
        );
        (tx_count, gas) = (tx_count + drawn.tx_count(), gas + drawn.gas_used());
    }
    eprintln!(
        "{block_count} blocks under {fork}, {tx_count} transactions, {gas} gas: as evm t8n fills them"
    );
}

/// Writes the block of `workload` as the tool reads it.
fn write_files(workload: &Workload, dir: &Path) {
    let block = workload.blocks().next().unwrap();
    let secrets = random_blocks::secrets();
    let received = export::received_blocks(workload, &secrets, &AtomicBool::new(false)).unwrap();
    let received = ReceivedBlock::decode(&mut &received[0][0].rlp[..]).unwrap();
    let mut list = Vec::new();
    alloy_rlp::encode_list::<_, EthereumTxEnvelope<TxEip4844>>(
        &received.body.transactions,
        &mut list,
    );
    let texts = [
        alloc(&workload.genesis.accounts),
        env(workload, block),
        json!(hex::encode_prefixed(list)),
    ];
    for (name, text) in NAMES.iter().zip(texts) {
        fs::write(dir.join(name), text.to_string()).unwrap();
    }
    // The tool knows RLP by the file's name.
    fs::copy(dir.join("txs.json"), dir.join("txs.rlp")).unwrap();
}

fn alloc(accounts: &[GenesisAccount]) -> Value {
    let account = |of: &GenesisAccount| {
        let word = |word: &alloy_primitives::U256| format!("{word:#066x}");
        let storage = of.storage.iter().map(|(key, value)| (word(key), json!(word(value))));
        let storage: Map<String, Value> = storage.collect();
        let nonce = format!("{:#x}", of.nonce);
        let json = json!({
            "balance": of.balance, "nonce": nonce, "code": of.code, "storage": storage,
        });
        (of.address.to_string(), json)
    };
    accounts.iter().map(account).collect::<Map<_, _>>().into()
}

fn env(workload: &Workload, block: &Block) -> Value {
    let quantity = |number: u64| format!("{number:#x}");
    let of = &block.env;
    let hashes = (workload.first_hash_number..of.number).zip(&workload.block_hashes);
    let hashes: Map<String, Value> =
        hashes.map(|(number, hash)| (quantity(number), json!(hash))).collect();
    let withdrawals = block.withdrawals.iter().map(|of| {
        json!({
            "index": "0x0", "validatorIndex": "0x0", "address": of.address,
            "amount": quantity(of.amount_gwei),
        })
    });
    json!({
        "currentCoinbase": of.beneficiary, "currentGasLimit": quantity(of.gas_limit),
        "currentNumber": quantity(of.number), "currentTimestamp": quantity(of.timestamp),
        "currentBaseFee": quantity(of.base_fee), "currentRandom": of.prev_randao,
        "currentDifficulty": "0x0", "currentExcessBlobGas": quantity(of.excess_blob_gas),
        "parentBeaconBlockRoot": of.parent_beacon_root, "blockHashes": hashes,
        "withdrawals": withdrawals.collect::<Vec<_>>(),
    })
}

/// Runs the tool on the files in `dir`; it writes its result beside them.
fn fill(evm: &Path, fork: Fork, dir: &Path) {
    let mut command = Command::new(evm);
    command.arg("t8n").current_dir(dir).args(["--state.chainid", "1", "--state.reward", "-1"]);
    let name = fork.name();
    let name = name[..1].to_uppercase() + &name[1..];
    command.args(["--state.fork", &name, "--input.alloc", "alloc.json", "--input.env", "env.json"]);
    command.args(["--input.txs", "txs.rlp", "--output.result", "result.json"]);
    let output = command.args(["--output.alloc", "post.json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
