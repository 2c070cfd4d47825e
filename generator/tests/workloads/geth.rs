//! Exported chains on go-ethereum. It takes the genesis, finds every block and sibling valid by its
//! Engine API, and refuses each corruption with its reason. Runs where `geth` is on PATH, or
//! `STRESS_GETH` names it; tried with 1.17.8.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips or ran"
)]

use std::num::NonZeroU64;

use alloy_eip7928::AccountChanges;
use alloy_primitives::{Bytes, U256, keccak256};
use alloy_rlp::Decodable;
use generator::{
    export::{self, Chain, ExportError, Lists, chain},
    generate,
};
use random_blocks::RandomBlocks;
use serde_json::Value;
use spec::shipped;
use workload::{Fork, Workload};

use self::process::{Database, Geth};
use crate::{
    blocks::parse,
    export::{growing_with, growing_with_long_code, settings},
};

mod filled;
mod process;

const TWO: NonZeroU64 = NonZeroU64::new(2).unwrap();

fn try_export(workload: &Workload) -> Result<Chain, ExportError> {
    let dir = tempfile::tempdir().unwrap();
    chain(workload, &settings(&dir), || ())
}

fn exported(workload: &Workload) -> Chain {
    try_export(workload).unwrap_or_else(|error| panic!("{error}"))
}

/// The chain above blocks that grow its state, and the Engine API's calls for these blocks.
fn grown(workload: &Workload) -> Result<(Chain, String), ExportError> {
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(&dir);
    let mut calls = Vec::new();
    let grown = export::grow(workload, &settings, |block| export::payload(block, 1, &mut calls))?;
    let chain = export::chain_above(workload, grown, &settings, || ())?;
    Ok((chain, String::from_utf8(calls).unwrap()))
}

/// Sizes that scenarios name, and small ones in their place: go-ethereum takes 60 µs for each row
/// of a genesis.
const SIZES: [(&str, &str); 8] = [
    ("10k", "4k"),
    ("20k", "4k"),
    ("100k", "4k"),
    ("500k", "4k"),
    ("1M", "5k"),
    ("128M", "13k"),
    // Two in each of 4,000 contracts, and eleven in each of 2,000.
    ("8M", "8k"),
    ("1.1M", "22k"),
];
/// Whole keys, in large and in small.
const KEYS: [(&str, &str); 2] = [
    // No block of a storm asks for the slots of another: 200 would need a state of 400,000.
    ("blocks = 200", "blocks = 3"),
    // A genesis has the code of each account in full, 24 KiB of 4,000.
    ("codes = \"10k\"", "codes = 100\ncode = \"1KiB\""),
];
/// For writes below one nibble, where a sixteenth of the slots lies.
const BELOW_A_NIBBLE: &str = "slots = \"40k\"";
/// The gas of a block on these small states.
const GAS: (&str, &str) = ("block.gas", "10M");
/// Accounts, also of scenarios that name no number.
const ACCOUNTS: (&str, &str) = ("state.accounts", "4k");

/// A scenario's text with small sizes; the gas of a transaction stays.
fn small(text: &str) -> String {
    let quoted = |size: &str| format!("\"{size}\"");
    let is_below_a_nibble = text.lines().any(|line| line.starts_with("nibble = "));
    let replaced = |line: &str| {
        let keys =
            KEYS.iter().fold(line.to_owned(), |line, (large, small)| line.replace(large, small));
        SIZES.iter().fold(keys, |line, (large, small)| line.replace(&quoted(large), &quoted(small)))
    };
    let lines = text.lines().map(|line| match line {
        line if line.starts_with("tx_gas") => line.to_owned(),
        line if is_below_a_nibble && line.starts_with("slots") => BELOW_A_NIBBLE.to_owned(),
        line => replaced(line),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A shipped scenario on a small state.
fn shipped_chain(name: &str, more: &[(&str, &str)]) -> Chain {
    let text = small(shipped::find(name).unwrap());
    let overrides = [&[GAS, ACCOUNTS], more].concat();
    let workload = generate(&parse(&text, &overrides), |_| {});
    exported(&workload.unwrap_or_else(|error| panic!("{name}: {error}")))
}

/// Sends all blocks with two siblings each; all must be valid. Gives the number of blocks sent.
fn assert_valid(geth: &Geth, chain: &Chain, what: &str) -> usize {
    let mut lines = Vec::new();
    export::payloads(chain, TWO, &mut lines).unwrap();
    let lines = String::from_utf8(lines).unwrap();
    assert_calls_valid(geth, &lines, what);
    lines.lines().count() / 2
}

fn assert_calls_valid(geth: &Geth, lines: &str, what: &str) {
    for line in lines.lines() {
        let answer = geth.send(line);
        let result = &answer["result"];
        let status = result.get("payloadStatus").unwrap_or(result);
        let start = &line[..line.len().min(120)];
        assert_eq!(status["status"], "VALID", "{what}: {answer} to {start}");
    }
}

fn assert_genesis(geth: &Geth, chain: &Chain, what: &str) {
    let genesis = geth.block("0x0");
    assert_eq!(genesis["hash"], chain.genesis_hash.to_string(), "{what}: {genesis}");
    let root = chain.genesis_header.state_root.to_string();
    assert_eq!(genesis["stateRoot"], root, "{what}");
}

#[test]
fn every_shipped_scenario_is_valid_with_its_siblings_under_amsterdam() {
    assert_shipped("amsterdam");
}

#[test]
fn every_shipped_scenario_is_valid_with_its_siblings_under_osaka() {
    assert_shipped("osaka");
}

fn assert_shipped(fork: &str) {
    let mut count = 0;
    for (name, _) in shipped::all() {
        let what = format!("{name} under {fork}");
        let chain = shipped_chain(name, &[("fork", fork)]);
        let Some(database) = Database::new(&chain) else { return };
        let geth = database.start();
        assert_genesis(&geth, &chain, &what);
        count += assert_valid(&geth, &chain, &what);
        eprintln!("{what}: VALID");
    }
    eprintln!("{count} payloads of {} scenarios under {fork}: VALID", shipped::all().len());
}

#[test]
fn blocks_that_are_full_in_both_dimensions_are_valid_and_keep_their_limit() {
    let text = small(shipped::find("limit-60m").unwrap());
    let overrides =
        [ACCOUNTS, ("block.limit", "20M"), ("block.blocks", "3"), ("state.slots", "100k")];
    let workload = generate(&parse(&text, &overrides), |_| {}).unwrap();
    let chain = exported(&workload);
    let mut fees = Vec::new();
    for block in &chain.blocks {
        let header = &block.block.header;
        assert_eq!(header.gas_limit, 20_000_000);
        assert!(header.gas_used > 19_000_000, "{}", header.gas_used);
        fees.push(header.base_fee_per_gas);
    }
    assert!(fees.is_sorted() && fees[0] < fees[2], "full blocks raise the fee: {fees:?}");
    let Some(database) = Database::new(&chain) else { return };
    let geth = database.start();
    assert_genesis(&geth, &chain, "both dimensions");
    let count = assert_valid(&geth, &chain, "both dimensions");
    eprintln!("{count} payloads that are full in both dimensions: VALID");
}

#[test]
fn transactions_with_a_reservoir_and_the_longest_codes_are_valid() {
    let text = "schema = 1\nname = \"reservoir\"\n[state]\naccounts = 200\nslots = 300_000\n\
                [block]\nlimit = \"320M\"\ntx_gas = \"200M\"\nblocks = 2\n\
                [[load]]\nshare = 0.5\nkind = \"deploy\"\ncode = 65_536\ncalls = 1\n\
                [[load]]\nshare = 0.5\nkind = \"sstore-storm\"\nop = \"create\"\n";
    let chain = exported(&generate(&parse(text, &[]), |_| {}).unwrap());
    let Some(database) = Database::new(&chain) else { return };
    let geth = database.start();
    assert_genesis(&geth, &chain, "reservoir");
    let count = assert_valid(&geth, &chain, "reservoir");
    eprintln!("{count} payloads of transactions with a reservoir and codes of 64 KiB: VALID");
}

#[test]
fn grown_states_of_long_codes_and_of_the_scenarios_own_limit_are_valid() {
    let limit = [("fork", "amsterdam"), ("block.limit", "12M"), ("state.slots", "40k")];
    for (what, workload) in
        [("long codes", growing_with_long_code()), ("own limit", growing_with(&limit))]
    {
        let (chain, calls) = grown(&workload).unwrap();
        let Some(database) = Database::new(&chain) else { return };
        let geth = database.start();
        assert_genesis(&geth, &chain, what);
        assert_calls_valid(&geth, &calls, what);
        let head = geth.block("latest");
        assert_eq!(head["stateRoot"], chain.grown.unwrap().state_root.to_string(), "{what}");
        let count = assert_valid(&geth, &chain, what);
        eprintln!("{what}: {} blocks and {count} payloads VALID", calls.lines().count() / 2);
    }
}

/// Scenarios whose contracts call each other: they fail where no gas is left for a delegation.
const CALLING: [&str; 7] = [
    "prefetch-miss",
    "balance-storm",
    "contract-chase",
    "root-many-tries",
    "root-deep",
    "official/test_prefetch_cold_storage",
    "official/test_worst_depth_stateroot_recomp",
];

#[test]
fn states_that_blocks_grow_and_the_blocks_on_them_are_valid_under_amsterdam() {
    let names: Vec<_> = shipped::all().iter().map(|(name, _)| *name).collect();
    assert_grown("amsterdam", &names);
}

/// The blocks that grow a state have the rules of Osaka in any case: one scenario of each kind
/// does.
#[test]
fn states_that_blocks_grow_and_the_blocks_on_them_are_valid_under_osaka() {
    assert_grown("osaka", &["sload-storm", "sstore-storm", "erc20", "dapps", "root-create"]);
}

fn assert_grown(fork: &str, names: &[&str]) {
    for name in names {
        let text = shipped::find(name).unwrap();
        let what = format!("{name} under {fork}, grown");
        let overrides = [GAS, ACCOUNTS, ("fork", fork)];
        let made = |more: &[(&str, &str)]| {
            generate(&parse(&small(text), &[&overrides[..], more].concat()), |_| {}).unwrap()
        };
        if made(&[]).genesis.slots.is_empty() {
            continue;
        }
        // Transactions pay for a delegation under Amsterdam.
        let workload = made(&[("block.tx_gas", "16M")]);
        let (chain, calls) = match grown(&workload) {
            Ok(made) => made,
            Err(error) => {
                let is_refusal = matches!(error, ExportError::CannotGrow(_));
                assert!(is_refusal && CALLING.contains(name), "{what}: {error}");
                eprintln!("{what}: {error}");
                continue;
            }
        };
        let facts = chain.grown.unwrap();
        let slot_count = workload.genesis.slots.iter().map(|of| of.count).sum::<u64>();
        assert_eq!(facts.slot_count, slot_count, "{what}");
        let Some(database) = Database::new(&chain) else { return };
        let geth = database.start();
        assert_genesis(&geth, &chain, &what);
        assert_calls_valid(&geth, &calls, &what);
        let head = geth.block("latest");
        assert_eq!(head["stateRoot"], facts.state_root.to_string(), "{what}");
        assert_valid(&geth, &chain, &what);
        let (count, differing) = (facts.block_count, chain.differing_tx_count);
        eprintln!("{what}: {count} blocks VALID, {differing} transactions differ");
    }
}

/// Blocks of a random chain.
const RANDOM_CHAIN_LENGTH: usize = 10;

#[test]
fn random_chains_are_valid_under_amsterdam() {
    assert_random(Fork::Amsterdam);
}

#[test]
fn random_chains_are_valid_under_osaka() {
    assert_random(Fork::Osaka);
}

/// Random blocks of each test: `STRESS_RANDOM_BLOCKS`, or 200.
fn random_block_count() -> u64 {
    let count = std::env::var("STRESS_RANDOM_BLOCKS").ok().and_then(|text| text.parse().ok());
    count.unwrap_or(200)
}

/// Sends a chain of each seed, all on one genesis, until enough blocks are valid.
fn assert_random(fork: Fork) {
    let chain_count = random_block_count().div_ceil(RANDOM_CHAIN_LENGTH as u64);
    let mut running: Option<(Database, Geth)> = None;
    let (mut block_count, mut valid_count, mut dear_count) = (0, 0, 0);
    for seed in 0.. {
        if valid_count == chain_count {
            break;
        }
        let blocks = RandomBlocks { fork, ..RandomBlocks::draw(seed, RANDOM_CHAIN_LENGTH) };
        let built = blocks.build().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let chain = match try_export(&built.workload) {
            Ok(chain) => chain,
            // The base fees of a chain follow from its blocks. The export's can be above those of
            // the drawn blocks, and a sender may lack the funds.
            Err(ExportError::Reference(error)) if error.to_string().contains("lack of funds") => {
                dear_count += 1;
                assert!(dear_count <= 1 + chain_count / 100, "seed {seed} under {fork}: {error}");
                continue;
            }
            Err(error) => panic!("seed {seed} under {fork}: {error}"),
        };
        if running.is_none() {
            let Some(database) = Database::new(&chain) else { return };
            let geth = database.start();
            assert_genesis(&geth, &chain, "random blocks");
            running = Some((database, geth));
        }
        let (_, geth) = running.as_ref().unwrap();
        assert_valid(geth, &chain, &format!("seed {seed} under {fork}"));
        block_count += chain.blocks.len();
        valid_count += 1;
    }
    eprintln!(
        "{block_count} random blocks of {valid_count} seeds under {fork}: VALID; {dear_count} chains cost their \
         senders more than they have"
    );
}

/// `chain` with its only block changed by `change`, and its list by `change_list`.
fn corrupted(
    chain: &Chain,
    change: impl FnOnce(&mut alloy_consensus::Header),
    change_list: impl FnOnce(&mut Vec<AccountChanges>),
) -> Chain {
    let mut chain = chain.clone();
    let block = &mut chain.blocks[0];
    let mut list = Vec::<AccountChanges>::decode(&mut &block.list.as_ref().unwrap()[..]).unwrap();
    change_list(&mut list);
    let list = Bytes::from(alloy_rlp::encode(&list));
    let header = &mut block.block.header;
    header.block_access_list_hash = Some(keccak256(&list));
    block.list = Some(list);
    change(header);
    chain
}

#[test]
fn each_corruption_is_refused_with_its_reason() {
    let chain = shipped_chain("sstore-storm", &[]);
    let Some(database) = Database::new(&chain) else { return };
    let geth = database.start();
    let storage = |list: &[AccountChanges]| {
        list.iter().position(|of| !of.storage_changes.is_empty() && of.address.0[0] != 0).unwrap()
    };
    let none = |_: &mut Vec<AccountChanges>| ();
    let cases: [(&str, Chain, &[&str]); 6] = [
        ("state root", corrupted(&chain, |h| h.state_root.0[0] ^= 1, none), &["merkle root"]),
        (
            "receipts root",
            corrupted(&chain, |h| h.receipts_root.0[0] ^= 1, none),
            &["receipt root"],
        ),
        ("gas", corrupted(&chain, |h| h.gas_used += 1, none), &["gas used"]),
        (
            "a key of the list",
            corrupted(
                &chain,
                |_| (),
                |list| {
                    let at = storage(list);
                    list[at].storage_changes.last_mut().unwrap().slot = U256::MAX;
                },
            ),
            &["access list"],
        ),
        ("order of the list", corrupted(&chain, |_| (), |list| list.swap(0, 1)), &["access list"]),
        (
            "an account of the list",
            corrupted(&chain, |_| (), |list| drop(list.pop())),
            &["access list"],
        ),
    ];
    for (what, corrupted, words) in cases {
        let mut lines = Vec::new();
        export::payloads(&corrupted, NonZeroU64::MIN, &mut lines).unwrap();
        let lines = String::from_utf8(lines).unwrap();
        let answer = geth.send(lines.lines().next().unwrap());
        let result = &answer["result"];
        assert_eq!(result["status"], "INVALID", "{what}: {answer}");
        let reason = result["validationError"].as_str().unwrap_or_default().to_lowercase();
        assert!(words.iter().all(|word| reason.contains(word)), "{what}: {reason}");
        eprintln!("{what}: {reason}");
    }
    // An uncorrupted block is valid all the same.
    assert_valid(&geth, &chain, "the block itself");
}

#[test]
fn a_chain_is_imported_as_rlp_without_and_with_lists() {
    for fork in ["amsterdam", "osaka"] {
        let more = [("fork", fork), ("block.blocks", "3")];
        let chain = shipped_chain("erc20", &more);
        let last: &Value = &chain.blocks.last().unwrap().hash.to_string().into();
        for lists in [Lists::Without, Lists::With] {
            let Some(database) = Database::new(&chain) else { return };
            let mut rlp = Vec::new();
            export::rlp(&chain, lists, &mut rlp).unwrap();
            let said = database.import(&rlp);
            let head = database.start().block("latest");
            assert_eq!(&head["hash"], last, "{fork}, {lists:?}: {said}");
        }
    }
}
