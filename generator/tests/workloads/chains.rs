//! Import of chains as RLP and of Engine payloads on their genesis: exports of a small workload, a
//! chain of go-ethereum through all forks before Paris, and damaged files.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as it does")]

use std::{fs, num::NonZeroU64, ops::RangeInclusive, path::Path};

use generator::{
    export::{self, AccountsPlace, Chain, Lists, TestFormat, chain},
    generate,
    import::{self, ImportError, Imported, NamedStream, NamedText},
};
use proptest::prelude::*;
use serde_json::{Value, json};
use workload::Fork;

use crate::{blocks::parse, export::settings};

/// The numbers of all blocks but the genesis.
const ALL: RangeInclusive<u64> = 1..=u64::MAX;

/// A genesis, and blocks on it.
#[derive(Clone)]
struct Files {
    genesis: String,
    chain: Vec<u8>,
}

impl Files {
    fn import(&self, wanted: RangeInclusive<u64>) -> Result<Imported, ImportError> {
        let genesis = NamedText { name: "genesis.json", text: &self.genesis };
        let source = &mut self.chain.as_slice();
        import::chain(genesis, NamedStream { name: "chain.rlp", source }, wanted, || ())
    }

    fn payloads(&self, wanted: RangeInclusive<u64>) -> Result<Imported, ImportError> {
        let genesis = NamedText { name: "genesis.json", text: &self.genesis };
        let source = &mut self.chain.as_slice();
        import::payloads(genesis, NamedStream { name: "payloads.txt", source }, wanted, || ())
    }

    /// These files with another genesis.
    fn with(&self, change: impl FnOnce(&mut Value)) -> Self {
        let mut genesis = serde_json::from_str(&self.genesis).unwrap();
        change(&mut genesis);
        Self { genesis: genesis.to_string(), ..self.clone() }
    }

    fn refused(&self, wanted: RangeInclusive<u64>, words: &[&str]) {
        let error = self.import(wanted).expect_err("it is wrong").to_string();
        for word in words {
            assert!(error.contains(word), "{word:?} is not in: {error}");
        }
    }
}

fn completed(imported: Result<Imported, ImportError>) -> (Imported, Vec<&'static str>) {
    let mut imported = imported.unwrap_or_else(|error| panic!("{error}"));
    let compared = import::complete(&mut imported, || ()).unwrap_or_else(|error| panic!("{error}"));
    (imported, compared)
}

/// A chain of `count` blocks under `fork`.
fn exported(fork: Fork, count: u64) -> Chain {
    let text = format!(
        "schema = 1\nname = \"mixed\"\nfork = \"{fork}\"\n[state]\naccounts = 20\nslots = 300\n\
         [block]\ngas = 150_000\nblocks = {count}\n[[load]]\nkind = \"sstore-storm\"\n"
    );
    let workload = generate(&parse(&text, &[]), |_| {}).unwrap();
    let dir = tempfile::tempdir().unwrap();
    chain(&workload, &settings(&dir), || ()).unwrap()
}

fn genesis_of(chain: &Chain) -> String {
    let mut genesis = Vec::new();
    export::genesis(chain, AccountsPlace::Written, &mut genesis).unwrap();
    String::from_utf8(genesis).unwrap()
}

fn rlp_of(chain: &Chain, lists: Lists) -> Files {
    let mut rlp = Vec::new();
    export::rlp(chain, lists, &mut rlp).unwrap();
    Files { genesis: genesis_of(chain), chain: rlp }
}

fn payloads_of(chain: &Chain, sibling_count: u64) -> Files {
    let mut lines = Vec::new();
    export::payloads(chain, NonZeroU64::new(sibling_count).unwrap(), &mut lines).unwrap();
    Files { genesis: genesis_of(chain), chain: lines }
}

/// A chain that go-ethereum made: blocks 1 to 11 before Paris, each fork with blocks of its own.
fn early() -> Files {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/early");
    Files {
        genesis: fs::read_to_string(folder.join("genesis.json")).unwrap(),
        chain: fs::read(folder.join("chain.rlp")).unwrap(),
    }
}

#[test]
fn an_exported_chain_is_the_same_work_by_rlp_payloads_and_test() {
    for fork in [Fork::Osaka, Fork::Amsterdam] {
        let chain = exported(fork, 3);
        let mut test = Vec::new();
        export::eest(&chain, TestFormat::Blocks, &mut test).unwrap();
        let test = String::from_utf8(test).unwrap();
        let wanted = completed(Ok(import::blockchain_tests("test", &test).unwrap().remove(0))).0;
        let same = |(imported, compared): (Imported, Vec<_>)| {
            assert_eq!(imported.workload.digest(), wanted.workload.digest());
            assert_eq!(imported.workload.rules, wanted.workload.rules);
            for what in ["genesis hash", "state root", "receipts root", "gas used"] {
                assert!(compared.contains(&what), "{what} is in {compared:?}");
            }
            compared
        };
        assert!(!same(completed(rlp_of(&chain, Lists::Without).import(ALL))).contains(&"list"));
        let payloads = same(completed(payloads_of(&chain, 1).payloads(ALL)));
        assert!(payloads.contains(&"block hash") && payloads.contains(&"versioned hashes"));
        let siblings = payloads_of(&chain, 3).payloads(ALL).unwrap();
        assert!(
            siblings.notes[0].starts_with("6 payloads were passed over"),
            "{:?}",
            siblings.notes
        );
        same(completed(Ok(siblings)));
        if fork == Fork::Amsterdam {
            let with_lists = rlp_of(&chain, Lists::With);
            assert!(same(completed(with_lists.import(ALL))).contains(&"list"));
        }
    }
}

#[test]
fn blocks_behind_others_do_the_same_on_the_state_that_is_carried_on() {
    let chain = exported(Fork::Amsterdam, 4);
    let files = rlp_of(&chain, Lists::With);
    let whole = completed(files.import(ALL)).0.workload;
    for wanted in [2..=3, 4..=4, 4..=u64::MAX] {
        let first = *wanted.start() as usize - 1;
        let (part, compared) = completed(files.import(wanted.clone()));
        let last = (*wanted.end()).min(4) as usize;
        assert_eq!(part.workload.batches, whole.batches[first..last]);
        assert!(compared.contains(&"state root") && compared.contains(&"requests hash"));
        assert_eq!(part.workload.block_hashes, whole.block_hashes[..=last]);
        assert!(
            part.notes[0].contains(&format!("blocks 1 to {first} were run")),
            "{:?}",
            part.notes
        );
        let of_payloads = completed(payloads_of(&chain, 2).payloads(wanted)).0;
        assert_eq!(of_payloads.workload.digest(), part.workload.digest());
    }
    files.refused(3..=9, &["chain.rlp", "ends with block 4", "block 3, to 9"]);
    files.refused(7..=u64::MAX, &["chain.rlp", "ends with block 4; wanted is block 7"]);
}

#[test]
fn blocks_before_paris_come_to_what_go_ethereum_says_and_are_never_measured() {
    let files = early();
    let (imported, compared) = completed(files.import(ALL));
    let forks = imported.workload.rules.to_string();
    assert!(forks.starts_with("paris, shanghai from time"), "{forks}");
    let numbers: Vec<_> = imported.workload.blocks().map(|block| block.env.number).collect();
    assert_eq!(numbers, [12, 13, 14]);
    for what in ["state root", "receipts root", "logs bloom", "gas used", "transactions root"] {
        assert!(compared.contains(&what), "{what} is in {compared:?}");
    }
    let notes = imported.notes.join("; ");
    assert!(
        notes.contains("1 to 11 are before Paris") && notes.contains("proof of work"),
        "{notes}"
    );
    assert_eq!(completed(files.import(5..=14)).0.workload, imported.workload);
    files.refused(3..=9, &["chain.rlp", "1 to 9 are before Paris"]);
    // Each fork begins at the block that the genesis names: with another, a root or a price
    // differs.
    for key in [
        "eip150Block",
        "eip158Block",
        "byzantiumBlock",
        "constantinopleBlock",
        "istanbulBlock",
        "berlinBlock",
        "londonBlock",
    ] {
        let later = files.with(|genesis| {
            let first = genesis["config"][key].as_u64().unwrap();
            genesis["config"][key] = json!(first + 1);
        });
        assert!(later.import(ALL).is_err(), "{key}");
    }
}

#[test]
fn what_a_genesis_says_of_its_chain_holds() {
    let files = early();
    let refused = |key: &str, value: Value, words: &[&str]| {
        files.with(|genesis| genesis["config"][key] = value).refused(ALL, words);
    };
    refused("terminalTotalDifficulty", json!(9_999_999), &["block 12", "difficulty is 0"]);
    refused("terminalTotalDifficulty", json!("0x30000"), &["block 2", "it has a difficulty"]);
    refused("clique", json!({}), &["block 1", "authorities"]);
    files
        .with(|genesis| {
            genesis["config"]["daoForkBlock"] = json!(4);
            genesis["config"]["daoForkSupport"] = json!(true);
        })
        .refused(ALL, &["block 4", "daoForkBlock"]);
    refused("bpo3Time", json!(120), &["block 12", "bpo3Time", "120", "not known"]);
    refused("bpo3Time", json!("soon"), &["genesis.json", "config.bpo3Time", "64 bits"]);
    refused("cancunTime", json!(1), &["config.cancunTime", "130 or later"]);
    refused("chainId", json!(1), &["the block after block 2, at byte 1538", "chain 7357 is not 1"]);
    let other = files.with(|genesis| genesis["extraData"] = json!("0x"));
    other.refused(ALL, &["block 1", "its parent is", "by the genesis"]);
    let other = files.with(|genesis| drop(genesis.as_object_mut().unwrap().remove("alloc")));
    other.refused(ALL, &["genesis.json", "alloc is missing"]);
}

#[test]
fn a_chain_with_any_byte_wrong_or_missing_is_an_error() {
    let chain = exported(Fork::Amsterdam, 2);
    let files = rlp_of(&chain, Lists::With);
    let with = |bytes: Vec<u8>| Files { genesis: files.genesis.clone(), chain: bytes };
    let mut first = Vec::new();
    export::rlp_of(&chain.blocks[0], Lists::With, &mut first).unwrap();
    let ends = [0, first.len(), files.chain.len()];
    for end in (0..files.chain.len()).filter(|end| !ends.contains(end)) {
        let error = with(files.chain[..end].to_vec()).import(ALL).unwrap_err().to_string();
        let start = if end < first.len() { 0 } else { first.len() };
        assert!(error.contains(&format!("at byte {start},")), "{error}");
    }
    // The second block names the first by its hash, and so all of it but the list, which is made
    // again.
    for at in 0..first.len() {
        let mut bytes = files.chain.clone();
        bytes[at] ^= 1 << (at % 8);
        let imported = with(bytes).import(ALL);
        let done = imported.and_then(|mut imported| import::complete(&mut imported, || ()));
        assert!(done.is_err(), "byte {at}");
    }
}

#[test]
fn lengths_without_bound_take_no_memory() {
    let files = early();
    let refused = |bytes: &[u8], words: &[&str]| {
        Files { chain: bytes.to_vec(), ..files.clone() }.refused(ALL, words);
    };
    refused(b"{}", &["chain.rlp", "the first block, at byte 0, is \"0x7b\"", "a list of at most"]);
    refused(&[0xff; 20], &["a list of at most 134217728 bytes"]);
    refused(&[0xfa, 0x07, 0xff, 0xff], &["524287 bytes; the file ends after 0"]);
    refused(&[], &["no block after block 0"]);
}

#[test]
fn a_line_that_lacks_what_its_fork_needs_is_named() {
    let files = payloads_of(&exported(Fork::Osaka, 2), 1);
    let lines: Vec<Value> = String::from_utf8(files.chain.clone())
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let with = |lines: &[Value]| {
        let text: Vec<_> = lines.iter().map(Value::to_string).collect();
        Files { genesis: files.genesis.clone(), chain: text.join("\n").into_bytes() }
    };
    let bare = |call: &Value, keys: &[(&str, usize)]| {
        let mut payload = call["params"][0].clone();
        for (key, index) in keys {
            payload[key] = call["params"][*index].clone();
        }
        payload
    };
    let beside = [
        ("expectedBlobVersionedHashes", 1),
        ("parentBeaconBlockRoot", 2),
        ("executionRequests", 3),
    ];
    let mut wrapped = bare(&lines[0], &beside);
    wrapped["executionPayload"] = lines[0]["params"][0].clone();
    let all = [wrapped, bare(&lines[2], &beside)];
    let whole = completed(files.payloads(ALL)).0.workload;
    assert_eq!(completed(with(&all).payloads(ALL)).0.workload, whole);
    let refused = |lines: &[Value], words: &[&str]| {
        let error = with(lines).payloads(ALL).unwrap_err().to_string();
        for word in words {
            assert!(error.contains(word), "{word:?} is not in: {error}");
        }
    };
    let lacking = bare(&lines[2], &beside[..1]);
    let words = ["payloads.txt: line 2", "parentBeaconBlockRoot", "executionRequests"];
    refused(&[all[0].clone(), lacking], &words);
    refused(&lines[2..], &["line 1.", "blockNumber is \"0x2\"", "0x1, the number after"]);
    let mut other = lines.clone();
    other[2]["params"][0]["parentHash"] = json!(format!("{:#066x}", 7));
    refused(&other, &["line 3.params[0].parentHash", "a payload of number 1"]);
    let mut other = lines.clone();
    other[0]["params"][0]["gasUsed"] = json!("0x1");
    refused(&other, &["line 1.params[0].blockHash", "the hash of this payload"]);
    let mut other = lines.clone();
    other[1]["method"] = json!("eth_call");
    refused(&other, &["line 2.method", "Engine API"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn changed_bytes_of_payloads_are_an_error_or_a_chain_and_never_a_panic(
        place in any::<prop::sample::Index>(),
        inserted in "[0-9a-f{}\\[\\]\",:x]{0,3}",
        removed in 0_usize..4,
    ) {
        thread_local! {
            static FILES: Files = payloads_of(&exported(Fork::Amsterdam, 1), 2);
        }
        let mut files = FILES.with(Clone::clone);
        let start = place.index(files.chain.len());
        let end = files.chain.len().min(start + removed);
        files.chain.splice(start..end, inserted.bytes());
        if let Ok(mut imported) = files.payloads(ALL) {
            drop(import::complete(&mut imported, || ()));
        }
    }
}
