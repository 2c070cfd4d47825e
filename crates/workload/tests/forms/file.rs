//! The workload file: a written one is read, and anything else is refused with its reason.

use std::{fs, path::PathBuf};

use alloy_primitives::{Address, B256, Bytes, U256};
use proptest::prelude::*;
use workload::{
    AccountFamily, Batch, Block, BlockEnv, ChainRules, CodeRule, Fork, ForkChange, Genesis,
    GenesisAccount, GenesisError, MAINNET_DEPOSIT_CONTRACT, Transaction, TxOutcome, TxStatus,
    Workload, WorkloadError,
    accounts::CodeRuleError,
    block::{BatchOutcome, IndexRange, ListSizes},
    file::{self, FORMAT_VERSION, FamilyKind, FileError, MAX_BLOCK_GAS, MAX_BODY_BYTES},
};

const BODY_START: usize = 20;
const HASH_BYTES: usize = 32;

fn block(number: u64) -> Block {
    Block {
        env: BlockEnv { number, parent_hash: hash(number - 1), ..BlockEnv::default() },
        transactions: vec![Transaction { nonce: number, ..Transaction::default() }],
        ..Block::default()
    }
}

fn hash(number: u64) -> B256 {
    B256::from(U256::from(number))
}

fn batch(numbers: [u64; 2]) -> Batch {
    let outcome = TxOutcome {
        status: TxStatus::Success,
        gas_used: 21_000,
        logs: B256::ZERO,
        output: B256::ZERO,
    };
    Batch {
        blocks: numbers.map(block).to_vec(),
        list: Bytes::from_static(&[0xc0]),
        list_sizes: ListSizes { batched_io_bytes: 1, ..ListSizes::default() },
        expected: BatchOutcome {
            transactions: vec![outcome; 2],
            header_gas: vec![21_000; 2],
            ..BatchOutcome::default()
        },
        ..Batch::default()
    }
}

fn workload() -> Workload {
    let account = |byte| GenesisAccount {
        address: Address::repeat_byte(byte),
        storage: vec![(U256::from(1), U256::from(byte)), (U256::from(2), U256::MAX)],
        ..GenesisAccount::default()
    };
    Workload {
        scenario: "test".into(),
        seed: 1 << 60,
        genesis: Genesis { accounts: vec![account(1), account(2)], ..Genesis::default() },
        first_hash_number: 100,
        block_hashes: (100..204).map(hash).collect(),
        batches: vec![batch([200, 201]), batch([202, 203])],
        ..Workload::default()
    }
}

/// The same, imported with its signatures.
fn signed() -> Workload {
    let one = |index| Bytes::from(vec![2, index]);
    let signed_transactions = (0..workload().tx_count() as u8).map(one).collect();
    Workload { signed_transactions, ..workload() }
}

fn bytes() -> Vec<u8> {
    file::encode(&workload()).expect("the workload is consistent")
}

/// The file with this body: length and hash are right.
fn with_body(body: &[u8]) -> Vec<u8> {
    let mut out = bytes()[..BODY_START].to_vec();
    out[12..BODY_START].copy_from_slice(&(body.len() as u64).to_le_bytes());
    out.extend(body);
    out.extend(blake3::hash(body).as_bytes());
    out
}

fn body() -> Vec<u8> {
    let bytes = bytes();
    bytes[BODY_START..bytes.len() - HASH_BYTES].to_vec()
}

/// A new folder for one test.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the folder can be made");
    folder
}

#[test]
fn a_workload_survives_a_round_trip_through_a_file() {
    let folder = folder("round-trip");
    let path = folder.join("a.workload");
    for seed in 0..2 {
        let workload = Workload { seed, ..workload() };
        fs::write(&path, file::encode(&workload).expect("it is consistent"))
            .expect("it is written");
        assert_eq!(file::read(&path).expect("it is read"), workload);
    }
}

#[test]
fn the_digest_is_that_of_the_body_but_for_the_scenarios_name_and_signed_transactions() {
    // The name comes first: the length, 4, then "test". Then the number of signed transactions, 0.
    let of_body = |body: &[u8]| B256::from(*blake3::hash(&body[6..]).as_bytes());
    assert_eq!(workload().digest(), of_body(&body()));
    let renamed = Workload { scenario: "x".repeat(300), ..workload() };
    assert_eq!(renamed.digest(), workload().digest());
    let signed = signed();
    assert_eq!(signed.digest(), workload().digest());
    let read = file::decode(&file::encode(&signed).expect("it is consistent"));
    assert_eq!(read.expect("it is read"), signed);
    let large = Workload { work: "x".repeat(1 << 20), ..workload() };
    let bytes = file::encode(&large).expect("it is consistent");
    assert_eq!(large.digest(), of_body(&bytes[BODY_START..bytes.len() - HASH_BYTES]));
}

#[test]
fn other_files_and_other_versions_are_named() {
    let read = |bytes: &[u8]| file::decode(bytes).expect_err("it is wrong");
    assert!(matches!(read(b""), FileError::NotAWorkload));
    assert!(matches!(read(b"[scenario]\n"), FileError::NotAWorkload));
    let mut newer = bytes();
    newer[8..12].copy_from_slice(&(FORMAT_VERSION + 1).to_le_bytes());
    assert!(matches!(read(&newer), FileError::NewerVersion { .. }));
    newer[8..12].copy_from_slice(&0_u32.to_le_bytes());
    assert!(matches!(read(&newer), FileError::OlderVersion { got: 0 }));
    let mut large = bytes();
    large[12..20].copy_from_slice(&(MAX_BODY_BYTES + 1).to_le_bytes());
    assert!(matches!(read(&large), FileError::TooLarge { .. }));
}

#[test]
fn damage_is_told_apart() {
    let folder = folder("damage");
    let path = folder.join("a.workload");
    let read = |bytes: &[u8]| {
        fs::write(&path, bytes).expect("it is written");
        let error = file::read(&path).expect_err("it is wrong");
        let same = file::decode(bytes).expect_err("it is wrong");
        assert_eq!(error.to_string(), same.to_string());
        error
    };
    let whole = bytes();
    for cut in 1..whole.len() {
        let error = read(&whole[..cut]);
        assert!(
            matches!(error, FileError::Truncated { got_bytes, .. } if got_bytes == cut as u64),
            "{cut}: {error}"
        );
    }
    let longer = [&whole[..], &[0]].concat();
    assert!(matches!(read(&longer), FileError::TrailingBytes { .. }));
    let mut flipped = whole;
    flipped[BODY_START + 9] ^= 1;
    assert!(matches!(read(&flipped), FileError::WrongChecksum { .. }));
    assert!(matches!(read(&with_body(&[])), FileError::Malformed(_)));
    let surplus = [&body()[..], &[0]].concat();
    assert!(matches!(read(&with_body(&surplus)), FileError::NotCanonical));
    // The first byte is the length of the scenario's name; in two bytes it is the same number.
    let padded = [&[0x84, 0], &body()[1..]].concat();
    assert!(matches!(read(&with_body(&padded)), FileError::NotCanonical));
}

#[test]
fn a_missing_file_is_an_io_error() {
    let path = folder("missing").join("a.workload");
    assert!(matches!(file::read(&path), Err(FileError::Io { operation: "open", .. })));
}

#[test]
fn contradictions_are_refused_when_writing() {
    let check = |change: fn(&mut Workload), expected: WorkloadError| {
        let mut workload = workload();
        change(&mut workload);
        assert_eq!(workload.validate(), Err(expected));
        assert!(matches!(file::encode(&workload), Err(FileError::Inconsistent(_))));
    };
    let address = Address::repeat_byte(1);
    check(|w| w.genesis.accounts.reverse(), GenesisError::AccountOrder { address }.into());
    check(
        |w| w.genesis.accounts[0].storage.reverse(),
        GenesisError::SlotOrder { address, slot: U256::from(1) }.into(),
    );
    check(
        |w| w.genesis.accounts[0].storage[0].1 = U256::ZERO,
        GenesisError::ZeroSlot { address, slot: U256::from(1) }.into(),
    );
    check(
        |w| w.batches[1].expected.transactions.truncate(1),
        WorkloadError::OutcomeCount { batch: 1, tx_count: 2, outcome_count: 1 },
    );
    check(
        |w| w.batches[0].expected.header_gas.push(0),
        WorkloadError::HeaderGasCount { batch: 0, block_count: 2, header_gas_count: 3 },
    );
    check(
        |w| w.batches[0].list = Bytes::new(),
        WorkloadError::ListBytes { batch: 0, got_bytes: 0, said_bytes: 1 },
    );
    check(|w| w.batches.swap(0, 1), WorkloadError::BlockNumber { previous: 203, number: 200 });
    check(
        |w| w.batches[0].blocks[0].env.parent_hash = B256::ZERO,
        WorkloadError::ParentHash { number: 200, parent: B256::ZERO, listed: hash(199) },
    );
    check(|w| w.batches[0].expected.transactions[0].gas_used = u64::MAX, WorkloadError::TooMuchGas);
    let range = IndexRange { family: 0, start: 0, count: 1 };
    check(
        |w| w.batches[1].plan.senders = vec![IndexRange { family: 0, start: 0, count: 1 }],
        WorkloadError::PlannedRange { batch: 1, kind: FamilyKind::Sender, range },
    );
    check(
        |w| w.batches[1].plan.accounts = vec![IndexRange { family: 0, start: 0, count: 1 }],
        WorkloadError::PlannedRange { batch: 1, kind: FamilyKind::Account, range },
    );
    check(
        |w| {
            let code = CodeRule::Jumpdests { bytes: 9, distinct_count: 1 };
            let family = AccountFamily { seed: B256::ZERO, count: 1, code };
            w.genesis.account_families = vec![family];
        },
        GenesisError::AccountFamily { family: 0, source: CodeRuleError::Bytes(9) }.into(),
    );
    check(
        |w| w.batches[0].plan.absent_accounts = vec![Address::repeat_byte(1); 2],
        WorkloadError::PlannedAbsentOrder { batch: 0, address },
    );
    check(|w| w.first_hash_number = u64::MAX, WorkloadError::HashNumbers);
    check(
        |w| w.rules.changes = vec![ForkChange { timestamp: 0, rules: Fork::Osaka.into() }],
        WorkloadError::ForkOrder { first: Fork::Amsterdam, next: Fork::Osaka },
    );
    check(
        |w| {
            w.rules = Fork::Paris.into();
            w.rules.changes = [(20, Fork::Prague), (10, Fork::Osaka)]
                .map(|(timestamp, fork)| ForkChange { timestamp, rules: fork.into() })
                .into();
        },
        WorkloadError::ForkTime { next: Fork::Osaka, timestamp: 10, before: 20 },
    );
}

#[test]
fn work_without_blocks_and_blocks_without_bound_are_refused() {
    let refused = |change: fn(&mut Workload)| {
        let mut workload = workload();
        change(&mut workload);
        workload.validate().expect_err("it is wrong")
    };
    assert_eq!(refused(|w| w.batches.clear()), WorkloadError::NoBatches);
    let no_blocks = refused(|w| {
        let batch = &mut w.batches[1];
        batch.blocks.clear();
        batch.expected.transactions.clear();
        batch.expected.header_gas.clear();
    });
    assert_eq!(no_blocks, WorkloadError::NoBlocks { batch: 1 });
    let gas = refused(|w| w.batches[1].blocks[0].env.gas_limit = MAX_BLOCK_GAS + 1);
    assert_eq!(
        gas,
        WorkloadError::BlockGas {
            number: 202,
            gas_limit: MAX_BLOCK_GAS + 1,
            fork: Fork::Amsterdam
        }
    );
    let excess = refused(|w| w.batches[1].blocks[0].env.excess_blob_gas = u64::MAX);
    assert!(matches!(excess, WorkloadError::ExcessBlobGas { number: 202, .. }), "{excess}");
    let mut most = workload();
    most.batches[1].blocks[0].env.gas_limit = MAX_BLOCK_GAS;
    most.batches[1].blocks[0].env.excess_blob_gas = most.rules.first.blobs.max_excess_blob_gas();
    assert_eq!(most.validate(), Ok(()));
}

#[test]
fn a_chain_s_own_rules_are_kept_and_those_of_a_fork_have_no_second_encoding() {
    let of = |max, contract| {
        let mut own = workload();
        own.rules.first.blobs.max = max;
        own.rules.first.deposit_contract = contract;
        own
    };
    let own = of(99, Address::repeat_byte(7));
    assert_eq!(file::decode(&file::encode(&own).unwrap()).unwrap(), own);
    assert_ne!(own.digest(), workload().digest());
    let max = ChainRules::default().blobs.max as u8;
    let forged = |value: u8| {
        let own = file::encode(&of(99, MAINNET_DEPOSIT_CONTRACT)).unwrap();
        let mut body = own[BODY_START..own.len() - HASH_BYTES].to_vec();
        let index = body.iter().position(|byte| *byte == 99).unwrap();
        body[index] = value;
        file::decode(&with_body(&body))
    };
    assert_eq!(forged(max + 1).unwrap(), of(u64::from(max) + 1, MAINNET_DEPOSIT_CONTRACT));
    assert!(matches!(forged(max), Err(FileError::NotCanonical)));
    let error = forged(0).unwrap_err();
    let FileError::Inconsistent(WorkloadError::BlobSchedule { blobs }) = error else {
        panic!("{error}")
    };
    assert_eq!(blobs.max, 0);
}

#[test]
fn genesis_code_that_only_begins_as_a_delegation_is_refused() {
    let with_code = |code: &[u8]| {
        let mut workload = workload();
        workload.genesis.accounts[1].code = Bytes::copy_from_slice(code);
        workload.validate()
    };
    let of_version = |version| [&[0xef, 1, version][..], &[7; 20]].concat();
    let error = Err(WorkloadError::from(GenesisError::Code { address: Address::repeat_byte(2) }));
    for code in [&[0xef, 1][..], &[0xef, 1, 0], &of_version(1), &[of_version(0), vec![7]].concat()]
    {
        assert_eq!(with_code(code), error, "{code:02x?}");
    }
    // Mainnet has code from before EIP-3541 that begins with 0xef.
    for code in [&of_version(0)[..], &[0xef], &[0xef, 0], &[0xef, 2, 0]] {
        assert_eq!(with_code(code), Ok(()), "{code:02x?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn a_changed_byte_anywhere_is_noticed(place in any::<prop::sample::Index>(), flip in 1_u8..) {
        let mut bytes = bytes();
        let place = place.index(bytes.len());
        bytes[place] ^= flip;
        prop_assert!(file::decode(&bytes).is_err());
    }

    #[test]
    fn a_forged_body_is_refused_or_is_another_consistent_workload(
        place in any::<prop::sample::Index>(),
        value in any::<u8>(),
        removed in 0_usize..3,
        inserted in prop::collection::vec(any::<u8>(), 0..3),
    ) {
        let mut body = body();
        let place = place.index(body.len());
        body[place] = value;
        let end = body.len().min(place + removed);
        body.splice(place..end, inserted);
        if let Ok(workload) = file::decode(&with_body(&body)) {
            prop_assert_eq!(file::encode(&workload).expect("it was checked"), with_body(&body));
        }
    }

    #[test]
    fn arbitrary_bodies_do_no_harm(body in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(file::decode(&with_body(&body)).is_err());
    }
}
