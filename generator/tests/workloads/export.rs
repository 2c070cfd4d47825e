//! The laws of exported chains. The import has its own encodings, roots and signatures. It reads an
//! export back, and the reference runs it again: every figure of a header is compared.

#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as it does")]

use std::{num::NonZeroU64, sync::atomic::AtomicBool};

use alloy_primitives::{B256, U256};
use alloy_rlp::Decodable;
use generator::{
    export::{
        self, AccountsPlace, Chain, ExportError, Lists, RowFiles, Settings, TestFormat, chain,
    },
    generate, import,
};
use random_blocks::RandomBlocks;
use serde_json::Value;
use workload::{
    Fork, Workload,
    genesis::{AccountFamily, CodeRule},
};

use crate::blocks::parse;

static GO: AtomicBool = AtomicBool::new(false);

pub(crate) fn settings(dir: &tempfile::TempDir) -> Settings<'static> {
    Settings {
        chain_id: None,
        thread_count: 2,
        scratch: dir.path().to_owned(),
        secrets: random_blocks::secrets(),
        cancel: &GO,
    }
}

fn exported(workload: &Workload) -> Chain {
    let dir = tempfile::tempdir().unwrap();
    chain(workload, &settings(&dir), || ()).unwrap_or_else(|error| panic!("{error}"))
}

fn scenario(overrides: &[(&str, &str)]) -> Workload {
    let text = "schema = 1\nname = \"mixed\"\nseed = 5\n[state]\naccounts = 3_000\nslots = 4_000\n\
                [block]\ngas = 6_000_000\ntx_gas = 400_000\nblocks = 4\nbatch = 2\n\
                [[load]]\nkind = \"sstore-storm\"\nshare = 0.5\n\
                [[load]]\nkind = \"erc20\"\nshare = 0.3\nholders = 2_000\n\
                [[load]]\nkind = \"transfers\"\nshare = 0.2\n";
    generate(&parse(text, overrides), |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

/// Reads the chain back, runs it, and returns the names of the equal figures.
fn read_back(chain: &Chain) -> Vec<&'static str> {
    let mut text = Vec::new();
    export::eest(chain, TestFormat::Blocks, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let mut tests = import::blockchain_tests("exported", &text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(tests.len(), 1);
    let compared = import::complete(&mut tests[0], || ()).unwrap_or_else(|error| panic!("{error}"));
    let said = chain.blocks.iter().map(|of| of.list.clone());
    for (list, batch) in said.zip(&tests[0].workload.batches) {
        assert!(list.is_none_or(|list| list == batch.list), "one list a block");
    }
    compared
}

#[test]
fn an_exported_chain_is_read_back_and_comes_to_what_its_headers_say() {
    for fork in Fork::GENERATED {
        let workload = scenario(&[("fork", fork.name())]);
        let chain = exported(&workload);
        assert_eq!(chain.blocks.len(), 4, "a block each, whatever the batches");
        assert_eq!(chain.differing_tx_count, 0, "{fork}");
        let compared = read_back(&chain);
        for what in [
            "transactions root",
            "withdrawals root",
            "receipts root",
            "logs bloom",
            "gas used",
            "blob gas",
            "state root",
        ] {
            assert!(compared.contains(&what), "{what} is in {compared:?}");
        }
        assert_eq!(compared.contains(&"list hash"), fork == Fork::Amsterdam);
    }
}

#[test]
fn base_fees_hashes_and_numbers_follow_from_the_block_before() {
    let workload = scenario(&[]);
    let chain = exported(&workload);
    let mut parent = (chain.genesis_hash, 0, 0);
    let mut fees = Vec::new();
    for block in &chain.blocks {
        let header = &block.block.header;
        assert_eq!((header.parent_hash, header.number), (parent.0, parent.1 + 1));
        assert_eq!(header.hash_slow(), block.hash);
        let first = block.block.body.withdrawals.as_ref().unwrap().first().unwrap().index;
        assert_eq!(first, parent.2, "indices of withdrawals run on");
        fees.push(header.base_fee_per_gas.unwrap());
        parent = (block.hash, header.number, first + 16);
    }
    assert_eq!(fees[0], 1_000_000_000, "that of the workload");
    assert!(fees.windows(2).all(|pair| pair[1] <= pair[0]), "none fills half: {fees:?}");
    assert!(fees[3] > 900_000_000, "full blocks fill nearly half: {fees:?}");
}

#[test]
fn blocks_of_a_chain_have_twice_their_gas_limit_and_one_block_has_its_own() {
    for (count, times) in [("1", 1), ("4", 2)] {
        let workload = scenario(&[("block.blocks", count), ("block.batch", "1")]);
        let largest = workload.blocks().map(|block| block.env.gas_limit).max().unwrap();
        let chain = exported(&workload);
        assert_eq!(chain.genesis_header.gas_limit, times * largest);
        for block in &chain.blocks {
            assert_eq!(block.block.header.gas_limit, times * largest, "{count} blocks");
        }
    }
    // Nobody pays for so many full blocks where each raises the fee by an eighth.
    let many = exported(&scenario(&[("block.gas", "500k"), ("block.blocks", "200")]));
    assert_eq!((many.blocks.len(), many.differing_tx_count), (200, 0));
}

#[test]
fn random_blocks_are_read_back_under_another_chain_id() {
    let dir = tempfile::tempdir().unwrap();
    for seed in 0..20 {
        let built = RandomBlocks::draw(seed, 6).build().unwrap();
        for chain_id in [None, Some(77_777)] {
            let settings = Settings { chain_id, ..settings(&dir) };
            let chain = chain(&built.workload, &settings, || ());
            let chain = chain.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            assert!(read_back(&chain).contains(&"state root"), "seed {seed}");
        }
    }
}

#[test]
fn siblings_have_other_hashes_and_all_else_in_common() {
    let chain = exported(&scenario(&[("block.blocks", "1"), ("block.batch", "1")]));
    let mut lines = Vec::new();
    export::payloads(&chain, NonZeroU64::new(3).unwrap(), &mut lines).unwrap();
    let calls: Vec<Value> = String::from_utf8(lines)
        .unwrap()
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let methods: Vec<_> = calls.iter().map(|call| call["method"].as_str().unwrap()).collect();
    assert_eq!(methods, ["engine_newPayloadV5", "engine_forkchoiceUpdatedV4"].repeat(3));
    let mut hashes = Vec::new();
    let mut rest = Vec::new();
    for pair in calls.chunks(2) {
        let mut payload = pair[0]["params"][0].clone();
        assert_eq!(pair[1]["params"][0]["headBlockHash"], payload["blockHash"]);
        hashes.push(payload["blockHash"].to_string());
        for key in ["blockHash", "extraData"] {
            payload.as_object_mut().unwrap().remove(key).unwrap();
        }
        rest.push(payload);
    }
    assert_eq!(hashes[2], Value::from(chain.blocks[0].hash.to_string()).to_string());
    assert!(hashes[0] != hashes[1] && hashes[1] != hashes[2] && hashes[0] != hashes[2]);
    assert!(rest[0] == rest[1] && rest[1] == rest[2]);
    for key in ["blockAccessList", "slotNumber", "withdrawals", "blobGasUsed", "excessBlobGas"] {
        assert!(rest[0].get(key).is_some(), "{key}");
    }
}

#[test]
fn rlp_is_decoded_by_a_library_and_a_list_is_its_last_field() {
    let chain = exported(&scenario(&[]));
    let mut plain = Vec::new();
    export::rlp(&chain, Lists::Without, &mut plain).unwrap();
    let mut rest = plain.as_slice();
    for block in &chain.blocks {
        let decoded = alloy_consensus::Block::<alloy_consensus::TxEnvelope>::decode(&mut rest);
        assert_eq!(decoded.unwrap().header, block.block.header);
    }
    assert!(rest.is_empty());
    let mut with_lists = Vec::new();
    export::rlp(&chain, Lists::With, &mut with_lists).unwrap();
    let lists: usize = chain.blocks.iter().map(|of| of.list.as_ref().unwrap().len()).sum();
    assert!(with_lists.len() >= plain.len() + lists);
}

#[test]
fn rows_hold_the_state_whose_root_is_in_the_header() {
    use alloy_trie::{
        TrieAccount,
        root::{state_root_unsorted, storage_root_unsorted},
    };
    let dir = tempfile::tempdir().unwrap();
    let chain = exported(&scenario(&[]));
    let mut files = RowFiles { accounts: Vec::new(), slots: Vec::new(), codes: Vec::new() };
    export::rows(&chain, &settings(&dir), &mut files).unwrap();
    assert_eq!(files.slots.len() % 96, 0);
    assert_eq!(files.accounts.len() as u64 / 136, chain.genesis.account_count());
    assert_eq!(files.slots.len() as u64 / 96, chain.genesis.slot_count());
    let word = |bytes: &[u8]| B256::from_slice(bytes);
    let accounts = files.accounts.chunks_exact(136).map(|row| {
        let of = word(&row[..32]);
        let slots = files.slots.chunks_exact(96).filter(|slot| slot[..32] == row[..32]);
        let slots = slots.map(|row| (word(&row[32..64]), U256::from_be_slice(&row[64..])));
        let storage_root = storage_root_unsorted(slots);
        assert_eq!(storage_root, word(&row[72..104]));
        let account = TrieAccount {
            nonce: u64::from_be_bytes(row[32..40].try_into().unwrap()),
            balance: U256::from_be_slice(&row[40..72]),
            storage_root,
            code_hash: word(&row[104..]),
        };
        (of, account)
    });
    let accounts: Vec<_> = accounts.collect();
    assert!(accounts.is_sorted_by_key(|(of, _)| *of));
    assert_eq!(state_root_unsorted(accounts), chain.genesis_header.state_root);
    let length = u32::from_le_bytes(files.codes[32..36].try_into().unwrap()) as usize;
    assert_eq!(
        alloy_primitives::keccak256(&files.codes[36..36 + length]),
        word(&files.codes[..32])
    );
}

#[test]
fn genesis_json_has_every_account_and_slot() {
    let chain = exported(&scenario(&[]));
    let mut text = Vec::new();
    export::genesis(&chain, AccountsPlace::Written, &mut text).unwrap();
    let genesis: Value = serde_json::from_slice(&text).unwrap();
    let alloc = genesis["alloc"].as_object().unwrap();
    assert_eq!(alloc.len() as u64, chain.genesis.account_count());
    let slots = alloc.values().map(|of| of["storage"].as_object().unwrap().len() as u64);
    assert_eq!(slots.sum::<u64>(), chain.genesis.slot_count());
    let schedule = genesis["config"]["blobSchedule"].as_object().unwrap();
    let forks: Vec<_> = schedule.keys().map(String::as_str).collect();
    for fork in ["cancun", "prague", "osaka", "bpo1", "bpo2", "amsterdam"] {
        assert!(forks.contains(&fork), "{fork} is in {forks:?}");
    }
    assert_eq!(genesis["baseFeePerGas"], "0x441e9db6", "1,142,857,142");
}

/// A workload with slots by a rule in two contracts of one code, and a third with another.
fn growing(fork: Fork) -> Workload {
    growing_with(&[("fork", fork.name())])
}

pub(crate) fn growing_with(overrides: &[(&str, &str)]) -> Workload {
    let text = "schema = 1\nname = \"growing\"\nseed = 5\n[state]\naccounts = 3_000\nslots = 8_000\n\
                [block]\ngas = 6_000_000\ntx_gas = 400_000\nblocks = 2\n\
                [[load]]\nkind = \"sstore-storm\"\nshare = 0.5\ncontracts = 2\n\
                [[load]]\nkind = \"sload-storm\"\nshare = 0.5\n";
    generate(&parse(text, overrides), |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_grown_state_is_that_of_the_recipe_and_its_blocks_end_as_in_the_workload() {
    for fork in Fork::GENERATED {
        let workload = growing(fork);
        let dir = tempfile::tempdir().unwrap();
        let settings = settings(&dir);
        let plan = export::growth_plan(&workload).unwrap();
        assert_eq!(plan.slot_count, 8_000);
        let mut blocks = Vec::new();
        let grown = export::grow(&workload, &settings, |block| {
            blocks.push(block.clone());
            Ok(())
        });
        // The roots of the grown and of the recipe's state are compared before any block runs on
        // it.
        let chain = export::chain_above(&workload, grown.unwrap(), &settings, || ()).unwrap();
        let facts = chain.grown.unwrap();
        assert_eq!((facts.slot_count, facts.block_count), (8_000, plan.block_count));
        assert_eq!(blocks.len() as u64, plan.block_count);
        let sent: usize = blocks.iter().map(|of| of.block.body.transactions.len()).sum();
        assert_eq!((facts.tx_count, sent as u64), (plan.tx_count, plan.tx_count));
        // Under Amsterdam each pays for the delegation, and ends the same otherwise.
        let gas = export::delegation_gas(fork);
        let differing = if gas == 0 { 0 } else { workload.tx_count() };
        assert_eq!(chain.differing_tx_count, differing, "{fork}");
        let used: u64 = chain.blocks.iter().map(|of| of.block.header.gas_used).sum();
        let said: u64 = workload.batches.iter().flat_map(|batch| &batch.expected.header_gas).sum();
        if fork != Fork::Amsterdam {
            assert_eq!(used, said, "{fork}");
        }
        assert!(chain.genesis.slots.is_empty(), "the genesis has none of them");
        let mut parent = (chain.genesis_hash, chain.genesis_header.clone());
        for (number, block) in (1..).zip(blocks.iter().chain(&chain.blocks)) {
            let header = &block.block.header;
            assert_eq!((header.number, header.parent_hash), (number, parent.0));
            assert_eq!(header.gas_limit, facts.gas_limit);
            assert_eq!(header.timestamp, parent.1.timestamp + 12);
            assert!(header.base_fee_per_gas <= parent.1.base_fee_per_gas, "none fills half");
            let is_of_workload = number > plan.block_count;
            assert_eq!(block.list.is_some(), is_of_workload && fork == Fork::Amsterdam);
            parent = (block.hash, header.clone());
        }
        assert_eq!(blocks.last().map(|of| of.hash), Some(facts.hash));
        // The rules of the workload begin with its first block.
        let mut text = Vec::new();
        export::genesis(&chain, AccountsPlace::Written, &mut text).unwrap();
        let genesis: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(genesis["config"]["osakaTime"], 0);
        let first = chain.blocks[0].block.header.timestamp;
        let begins = (fork != Fork::Osaka).then_some(first);
        assert_eq!(genesis["config"][format!("{fork}Time")].as_u64(), begins.or(Some(0)));
    }
}

#[test]
fn a_chain_above_a_grown_state_keeps_the_limit_of_the_scenario() {
    let dir = tempfile::tempdir().unwrap();
    for (fork, limit) in [(Fork::Osaka, "40M"), (Fork::Amsterdam, "12M")] {
        let slots = ("state.slots", "40k");
        let workload = growing_with(&[("fork", fork.name()), ("block.limit", limit), slots]);
        let mut most_gas = 0;
        let grown = export::grow(&workload, &settings(&dir), |block| {
            let header = &block.block.header;
            most_gas = most_gas.max(header.gas_used);
            assert!(
                header.gas_used <= header.gas_limit / 2 || block.block.body.transactions.len() == 1
            );
            Ok(())
        });
        let chain = export::chain_above(&workload, grown.unwrap(), &settings(&dir), || ()).unwrap();
        let limit = workload.batches[0].blocks[0].env.gas_limit;
        let wanted = limit + export::delegations_gas(&workload);
        assert!(most_gas > limit / 3, "{most_gas}");
        assert!(chain.blocks.iter().all(|block| block.block.header.gas_limit == wanted));
        assert!(wanted - limit < limit / 100, "{wanted}");
    }
    let small = growing_with(&[("block.limit", "6M"), ("state.slots", "40k")]);
    let error = export::growth_plan(&small).unwrap_err().to_string();
    assert!(error.contains("block.limit is 6") && error.contains("8000000"), "{error}");
}

/// The growing workload, with the longest code of Amsterdam for the contracts of its first load.
pub(crate) fn growing_with_long_code() -> Workload {
    let mut workload = growing(Fork::Amsterdam);
    let addresses: Vec<_> = workload.genesis.slots[..2].iter().map(|of| of.address).collect();
    let accounts = workload.genesis.accounts.iter_mut();
    for account in accounts.filter(|account| addresses.contains(&account.address)) {
        // What follows the code never runs.
        let code = [&account.code[..], &[0xfe; 1 << 16]].concat();
        account.code = code[..1 << 16].to_vec().into();
    }
    workload
}

#[test]
fn codes_too_long_for_osaka_are_created_by_blocks_of_amsterdam() {
    let dir = tempfile::tempdir().unwrap();
    let workload = growing_with_long_code();
    let plan = export::growth_plan(&workload).unwrap();
    let mut with_list = Vec::new();
    let grown = export::grow(&workload, &settings(&dir), |block| {
        with_list.extend(block.list.as_ref().map(|_| block.block.header.clone()));
        Ok(())
    });
    let chain = export::chain_above(&workload, grown.unwrap(), &settings(&dir), || ()).unwrap();
    let [header] = &with_list[..] else { panic!("{} blocks of amsterdam", with_list.len()) };
    assert_eq!(header.number, plan.block_count);
    assert!(header.gas_used > 100_000_000, "{}", header.gas_used);
    let facts = chain.grown.unwrap();
    assert_eq!(facts.fork_timestamp, header.timestamp);
    let mut text = Vec::new();
    export::genesis(&chain, AccountsPlace::Written, &mut text).unwrap();
    let genesis: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(genesis["config"]["amsterdamTime"], header.timestamp);
    assert_eq!(chain.blocks[0].block.header.timestamp, header.timestamp + 12);
}

#[test]
fn a_state_that_blocks_cannot_grow_is_refused_with_the_remedy() {
    let refused = |workload: &Workload| export::growth_plan(workload).unwrap_err().to_string();
    let mut workload = growing(Fork::Osaka);
    workload.genesis.senders[0].count = 2_000_000;
    let error = refused(&workload);
    assert!(error.contains("state.accounts") && error.contains("--format engine,rows"), "{error}");
    let mut workload = growing(Fork::Osaka);
    workload.genesis.slots.clear();
    let error = refused(&workload);
    assert!(
        error.contains("no contract has slots") && error.contains("leave --grow out"),
        "{error}"
    );
    let mut workload = growing(Fork::Osaka);
    let address = workload.genesis.slots[0].address;
    let account = workload.genesis.accounts.iter_mut().find(|of| of.address == address).unwrap();
    account.code = vec![0; 30_000].into();
    let error = refused(&workload);
    assert!(error.contains("30000 bytes") && error.contains("1 to 24576 under osaka"), "{error}");
    let mut workload = growing(Fork::Osaka);
    let account = workload.genesis.accounts.iter_mut().find(|of| of.address == address).unwrap();
    account.code = [&[0xef, 1, 0][..], &[7; 20]].concat().into();
    let error = refused(&workload);
    assert!(error.contains("0 bytes"), "it delegates to nobody: {error}");
    // A call from contract to contract whose gas is counted out does not pay for a delegation.
    let dir = tempfile::tempdir().unwrap();
    let mut workload = growing(Fork::Osaka);
    for outcome in &mut workload.batches[0].expected.transactions {
        outcome.status = workload::TxStatus::Halt;
    }
    let grown = export::grow(&workload, &settings(&dir), |_| Ok(())).unwrap();
    let error = export::chain_above(&workload, grown, &settings(&dir), || ()).unwrap_err();
    assert!(error.to_string().contains("end with another status"), "{error}");
}

#[test]
fn what_cannot_be_exported_is_named_with_its_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |workload: &Workload, settings: &Settings<'_>| {
        chain(workload, settings, || ()).map(drop).unwrap_err()
    };
    let empty = Workload { batches: Vec::new(), ..scenario(&[]) };
    assert!(matches!(refused(&empty, &settings(&dir)), ExportError::NoBlocks));
    let large = Settings { chain_id: Some(u64::MAX), ..settings(&dir) };
    assert!(refused(&scenario(&[]), &large).to_string().contains("EIP-155"));
    // Senders whose secrets nobody knows, as in an imported workload.
    let random = RandomBlocks::draw(1, 2).build().unwrap().workload;
    let unknown = Settings { secrets: Vec::new(), ..settings(&dir) };
    let error = refused(&random, &unknown).to_string();
    assert!(error.contains("block 1, transaction") && error.contains("imported"), "{error}");
    // A state that no client reads as JSON.
    let mut chain = exported(&scenario(&[]));
    let written = |chain: &Chain| export::genesis(chain, AccountsPlace::Written, &mut Vec::new());
    chain.genesis.slots[0].count = 2_000_000;
    let error = written(&chain).unwrap_err().to_string();
    assert!(error.contains("add rows to --format"), "{error}");
    assert!(export::genesis(&chain, AccountsPlace::InRows, &mut Vec::new()).is_ok());
    // Each account has its code there, also where a hundred have the same one.
    let mut chain = exported(&scenario(&[]));
    let code = CodeRule::Jumpdests { bytes: 24_576, distinct_count: 100 };
    let family = |count| AccountFamily { seed: B256::ZERO, count, code };
    chain.genesis.account_families = vec![family(3_400)];
    assert!(export::fits(&chain.genesis), "84 MB");
    chain.genesis.account_families = vec![family(10_000)];
    let error = written(&chain).unwrap_err().to_string();
    assert!(error.contains("bytes of code") && error.contains("add rows to --format"), "{error}");
}
