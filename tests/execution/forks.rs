//! Rules of forks: official blocks of Paris, Shanghai and Cancun, a fork that begins between blocks, and
//! transactions with a reservoir of state gas. All variants agree on them.

use std::path::{Path, PathBuf};

use generator::import::{self, ImportError};
use random_blocks::RandomBlocks;
use spec::Scenario;
use variant::Variant;
use workload::{Fork, Workload};

use crate::{
    agreement::variants,
    common::{
        agree,
        vectors::{json_files, unpack, vectors},
    },
};

/// Each case runs one variant in so many, in turn: that many cases in a row run all of them.
/// `STRESS_VARIANT_TURNS=1` runs all in each case.
const TURNS: usize = 10;

/// The cases below `unpacked`: kind/fork/case.json.
fn files(unpacked: &Path) -> Vec<PathBuf> {
    let below = |folder: PathBuf| {
        let mut paths: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    };
    let forks = below(unpacked.to_owned()).into_iter().flat_map(below);
    forks.flat_map(|fork| json_files(&fork)).collect()
}

fn assert_agrees(workload: &Workload, variant: Variant, name: &str) {
    let lists = agree::lists(workload, variant.list).unwrap();
    let taken = agree::take(&agree::in_memory(workload), workload, &lists, variant);
    let taken = taken.unwrap_or_else(|error| panic!("{name}, {variant}: {error}"));
    assert_eq!(taken.disagreement, None, "{name}, {variant}");
}

#[test]
fn all_variants_agree_on_the_official_cases_of_paris_to_cancun() {
    let Some(dir) = vectors() else { return };
    let unpacked = unpack(&dir.join("blocktests-paris-cancun.tar.xz"));
    let turns: usize =
        std::env::var("STRESS_VARIANT_TURNS").map_or(TURNS, |text| text.parse().unwrap());
    let (mut count, mut left_count) = (0, 0);
    for (turn, path) in files(unpacked.path()).into_iter().enumerate() {
        let json = std::fs::read_to_string(&path).unwrap();
        for (name, test) in import::each_blockchain_test("case", &json).unwrap() {
            match test.and_then(|mut test| import::complete(&mut test, || {}).map(|_| test)) {
                Ok(test) if test.blocks.is_empty() => {}
                Ok(test) => {
                    let variants = variants().into_iter().skip(turn % turns).step_by(turns);
                    variants.for_each(|variant| assert_agrees(&test.workload, variant, &name));
                    count += 1;
                }
                // Named by the test of the import.
                Err(ImportError::Field { .. } | ImportError::Transaction { .. }) => left_count += 1,
                Err(error) => panic!("{name}: {error}"),
            }
        }
    }
    assert_eq!((count, left_count), (1_168, 6));
}

#[test]
fn all_variants_agree_where_the_fork_changes_between_blocks_and_inside_a_batch() {
    let changes = [
        (Fork::Cancun, Fork::Prague),
        (Fork::Prague, Fork::Osaka),
        (Fork::Prague, Fork::Amsterdam),
        (Fork::Bpo2, Fork::Amsterdam),
    ];
    for (turn, (earlier, fork)) in changes.into_iter().enumerate() {
        for batch_block_count in [1, 4] {
            let drawn = RandomBlocks::draw(400 + turn as u64, 4);
            let blocks =
                RandomBlocks { fork, earlier: Some((earlier, 2)), batch_block_count, ..drawn };
            let workload = blocks.build().unwrap().workload;
            let forks: Vec<_> =
                workload.blocks().map(|block| workload.rules_of(block).fork).collect();
            assert_eq!(forks, [earlier, earlier, fork, fork]);
            for variant in variants() {
                assert_agrees(&workload, variant, &workload.rules.to_string());
            }
        }
    }
}

#[test]
fn all_variants_agree_on_transactions_with_a_reservoir_and_the_longest_code() {
    let text = "schema = 1\nname = \"reservoir\"\n[state]\naccounts = 50\nslots = 200_000\n\
                [block]\ngas = \"260M\"\ntx_gas = \"120M\"\n\
                [[load]]\nshare = 0.5\nkind = \"deploy\"\ncode = 65_536\ncalls = 1\n\
                [[load]]\nshare = 0.48\nkind = \"sstore-storm\"\nop = \"create\"\n\
                [[load]]\nshare = 0.02\nkind = \"sload-storm\"\ntx_gas = \"2M\"\n";
    let scenario = Scenario::parse("reservoir.toml", text, &[]).unwrap_or_else(|e| panic!("{e}"));
    let workload = generator::generate(&scenario, |_| ()).unwrap_or_else(|e| panic!("{e}"));
    let txs = workload.blocks().flat_map(|block| &block.transactions);
    let with_reservoir = txs.filter(|tx| tx.gas_limit > Fork::Amsterdam.tx_gas_cap());
    assert!(with_reservoir.count() >= 2);
    for variant in variants() {
        assert_agrees(&workload, variant, "reservoir");
    }
}
