//! The laws of the row stream: sorted, whole, the same however it is cut and by how many threads.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use alloy_primitives::{Address, B256, U256, keccak256};
use proptest::prelude::*;

use super::*;
use crate::{
    genesis::{
        AccountFamily, CodeRule, GenesisAccount, KeyRule, SenderFamily, SlotFamily, ValueRule,
    },
    layout::{encode_account, encode_slot},
    recipe::GenesisError,
    senders::SenderError,
};

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

fn settings(part_rows: u64, threads: usize, memory_bytes_max: u64) -> RowSettings<'static> {
    let mut settings = RowSettings::new(std::env::temp_dir().join("stress-rows-tests"));
    settings.part_row_count_max = part_rows;
    settings.threads = threads;
    settings.memory_bytes_max = memory_bytes_max;
    settings
}

fn rows_of(
    genesis: &Genesis,
    layout: Layout,
    table: Table,
    settings: &RowSettings<'_>,
) -> Result<Rows, RowError> {
    let stream = RowStream::new(genesis, layout, table, settings, &|_| ())?;
    let (mut rows, mut buffers) = (Rows::new(), PartBuffers::default());
    for part in 0..stream.part_count() {
        let (before, start) = (rows.len() as u64, stream.part_start(part)?);
        assert!(rows.last().is_none_or(|(key, _)| *key < start), "part {part} starts early");
        stream.emit(part, &mut buffers, &mut |key, value| {
            assert!(*key >= start[..], "part {part} starts late");
            rows.push((key.to_vec(), value.to_vec()));
            Ok::<(), RowError>(())
        })?;
        assert_eq!(rows.len() as u64 - before, stream.part_row_count(part));
    }
    assert_eq!(rows.len() as u64, stream.row_count());
    Ok(rows)
}

/// All rows by plain enumeration, in a map.
fn naive(genesis: &Genesis, layout: Layout, table: Table) -> Rows {
    let mut rows = BTreeMap::new();
    let mut add = |key: &[u8], value: &[u8]| {
        assert!(rows.insert(key.to_vec(), value.to_vec()).is_none(), "two rows of one key");
    };
    match table {
        Table::Accounts => {
            for account in &genesis.accounts {
                let key = layout.account_key(&account.address);
                add(key.as_slice(), &encode_account(&account.state()));
            }
            for family in &genesis.senders {
                for index in 0..family.count {
                    let key = layout.account_key(&family.address(index).unwrap());
                    let balance = family.balance;
                    let state = crate::AccountState { balance, ..Default::default() };
                    add(key.as_slice(), &encode_account(&state));
                }
            }
            for family in &genesis.account_families {
                for index in 0..family.count {
                    let key = layout.account_key(&family.address(index));
                    let code = family.code_index(index).map(|place| family.code(place));
                    let state = family.state(index, code.map(keccak256));
                    add(key.as_slice(), &encode_account(&state));
                }
            }
        }
        Table::Slots => {
            let explicit = genesis.accounts.iter().flat_map(|account| {
                account.storage.iter().map(|(slot, value)| (account.address, *slot, *value))
            });
            let families = genesis.slots.iter().flat_map(|family| {
                (0..family.count).map(|i| (family.address, family.key(i), family.value(i)))
            });
            for (address, slot, value) in explicit.chain(families) {
                let key = layout.slot_key(&layout.account_key(&address), &slot);
                add(key.as_slice(), &encode_slot(&value));
            }
        }
        Table::Codes => {
            for account in genesis.accounts.iter().filter(|account| !account.code.is_empty()) {
                let state = account.state();
                rows.insert(state.code_hash.to_vec(), account.code.to_vec());
            }
            for family in &genesis.account_families {
                let places = (0..family.count).filter_map(|index| family.code_index(index));
                for code in places.map(|place| family.code(place)) {
                    rows.insert(keccak256(&code).to_vec(), code.to_vec());
                }
            }
        }
    }
    rows.into_iter().collect()
}

fn contract(byte: u8) -> GenesisAccount {
    let code = vec![byte % 2 + 1; 40].into();
    GenesisAccount { address: Address::repeat_byte(byte), code, ..Default::default() }
}

fn family(byte: u8, count: u64, keys: KeyRule, values: ValueRule) -> SlotFamily {
    let (address, seed) = (Address::repeat_byte(byte), B256::repeat_byte(byte ^ 0x5a));
    SlotFamily { address, count, keys, values, seed }
}

fn senders(first_secret: u64, count: u64) -> SenderFamily {
    let first_secret = B256::from(U256::from(first_secret));
    SenderFamily { first_secret, count, balance: U256::from(count) }
}

/// Families of all rules, explicit slots and two sender families.
fn mixed(counts: [u64; 4]) -> Genesis {
    let mut accounts: Vec<_> = (1..9).map(contract).collect();
    accounts[2].storage = vec![(U256::from(1), U256::from(9)), (U256::from(7), U256::from(8))];
    accounts[4].storage = vec![(U256::MAX, U256::from(1))];
    let address = Address::repeat_byte(2);
    let slots = vec![
        family(7, counts[0], KeyRule::Keccak, ValueRule::Random),
        family(1, counts[1], KeyRule::Weyl, ValueRule::NextKey),
        family(4, counts[2], KeyRule::Weyl, ValueRule::Random),
        family(2, counts[3], KeyRule::Keccak, ValueRule::NextKey),
        family(8, counts[3], KeyRule::Index, ValueRule::AfterKey),
        family(6, counts[3], KeyRule::Addressed, ValueRule::KeyElsewhere { address, ahead: 1 }),
    ];
    let senders = vec![senders(1000, counts[0] / 8), senders(5, 3)];
    let account_families = vec![
        made_accounts(1, counts[1], CodeRule::Nothing),
        made_accounts(2, counts[2], CodeRule::Jumpdests { bytes: 50, distinct_count: 30 }),
        made_accounts(3, 2, CodeRule::Jumpdests { bytes: 50, distinct_count: 40 }),
    ];
    Genesis { accounts, senders, slots, account_families }
}

fn made_accounts(seed: u8, count: u64, code: CodeRule) -> AccountFamily {
    AccountFamily { seed: B256::repeat_byte(seed), count, code }
}

#[test]
fn codes_that_cannot_be_made_and_accounts_twice_are_named() {
    let long = CodeRule::Jumpdests { bytes: 1 << 20, distinct_count: 1 };
    let mut genesis =
        Genesis { account_families: vec![made_accounts(1, 1, long)], ..Default::default() };
    for table in Table::ALL {
        assert!(matches!(
            contradiction(&genesis, table),
            GenesisError::AccountFamily { family: 0, .. }
        ));
    }
    genesis.account_families = vec![made_accounts(1, 20, CodeRule::Nothing); 2];
    let error = fault(&genesis, Table::Accounts).to_string();
    assert!(error.contains("of account family 0 and account"), "{error}");
}

fn fault(genesis: &Genesis, table: Table) -> RowError {
    rows_of(genesis, Layout::Hashed, table, &settings(10, 1, 0)).expect_err("a wrong recipe")
}

fn contradiction(genesis: &Genesis, table: Table) -> GenesisError {
    match fault(genesis, table) {
        RowError::Recipe(error) => error,
        other => panic!("{other}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn rows_are_complete_and_ascend_for_any_part_size_thread_count_and_scratch(
        counts in any::<[u16; 4]>(), part_rows in 1..900_u64, threads in 1..4_usize,
        in_memory in any::<bool>(),
    ) {
        let genesis = mixed(counts.map(|count| u64::from(count % 1500)));
        let settings = settings(part_rows, threads, if in_memory { u64::MAX } else { 0 });
        for layout in [Layout::Hashed, Layout::Plain] {
            for table in Table::ALL {
                let rows = rows_of(&genesis, layout, table, &settings).unwrap();
                prop_assert!(rows.is_sorted_by(|a, b| a.0 < b.0));
                prop_assert!(rows == naive(&genesis, layout, table), "{layout:?} {table:?}");
            }
        }
    }
}

#[test]
fn parts_stay_near_their_bound_and_any_order_of_emission_gives_the_same_digest() {
    let genesis = mixed([60_000, 20_000, 3, 0]);
    let mut digests = Vec::new();
    for (part_rows, threads) in [(1 << 20, 1), (5_000, 2), (1_000, 3)] {
        let settings = settings(part_rows, threads, 0);
        for layout in [Layout::Hashed, Layout::Plain] {
            let stream =
                RowStream::new(&genesis, layout, Table::Slots, &settings, &|_| ()).unwrap();
            let (mut digest, mut buffers) = (ContentDigest::default(), PartBuffers::default());
            for part in (0..stream.part_count()).rev() {
                assert!(stream.part_row_count(part) < part_rows + part_rows / 8);
                let mut of_part = ContentDigest::default();
                let mut sink = |key: &[u8], value: &[u8]| {
                    of_part.add(Table::Slots, key, value);
                    Ok::<(), RowError>(())
                };
                stream.emit(part, &mut buffers, &mut sink).unwrap();
                digest.merge(&of_part);
            }
            assert_eq!(digest.row_count(), genesis.slot_count());
            digests.push((layout, digest.finish()));
        }
    }
    assert_eq!(digests[0..2], digests[2..4]);
    assert_eq!(digests[0..2], digests[4..6]);
}

#[test]
fn parts_of_one_source_have_hashed_keys_of_one_first_nibble_each() {
    let genesis = mixed([60_000, 20_000, 3, 0]);
    let settings = settings(1_000, 2, 0);
    let stream =
        RowStream::new(&genesis, Layout::Hashed, Table::Slots, &settings, &|_| ()).unwrap();
    let mut buffers = PartBuffers::default();
    let mut cut = 0;
    for part in 0..stream.part_count() {
        let mut firsts = std::collections::BTreeSet::new();
        let mut sink = |key: &[u8], _: &[u8]| {
            firsts.insert((key[..32].to_vec(), key[32] >> 4));
            Ok::<(), RowError>(())
        };
        stream.emit(part, &mut buffers, &mut sink).unwrap();
        if stream.part_row_count(part) > 100 {
            assert_eq!(firsts.len(), 1, "part {part}");
            cut += 1;
        }
    }
    assert!(cut >= 96, "{cut} parts");
}

#[test]
fn many_small_families_share_parts() {
    let accounts: Vec<_> = (1..=200).map(contract).collect();
    let slots: Vec<_> =
        (1..=200).map(|byte| family(byte, 10, KeyRule::Keccak, ValueRule::Random)).collect();
    let genesis = Genesis { accounts, slots, ..Default::default() };
    let settings = settings(100, 1, 0);
    let stream =
        RowStream::new(&genesis, Layout::Hashed, Table::Slots, &settings, &|_| ()).unwrap();
    assert_eq!((stream.part_count(), stream.row_count()), (20, 2000));
    let rows = rows_of(&genesis, Layout::Hashed, Table::Slots, &settings).unwrap();
    assert!(rows == naive(&genesis, Layout::Hashed, Table::Slots));
}

#[test]
fn an_empty_recipe_has_no_rows() {
    let genesis = mixed([0; 4]);
    let empty = Genesis::default();
    for table in Table::ALL {
        assert!(rows_of(&empty, Layout::Hashed, table, &settings(10, 1, 0)).unwrap().is_empty());
        rows_of(&genesis, Layout::Plain, table, &settings(10, 1, 0)).unwrap();
    }
}

#[test]
fn progress_ends_at_the_total() {
    for (layout, part_rows, expected) in
        [(Layout::Hashed, 500, 20_000), (Layout::Plain, 500, 20_000), (Layout::Plain, 1 << 20, 0)]
    {
        let genesis = mixed([10_000, 10_000, 100, 100]);
        let last = Mutex::new(0);
        let settings = settings(part_rows, 2, 0);
        RowStream::new(&genesis, layout, Table::Slots, &settings, &|progress| {
            assert_eq!(progress.total_row_count, expected);
            let mut last = last.lock().unwrap();
            *last = progress.done_row_count.max(*last);
        })
        .unwrap();
        assert_eq!(*last.lock().unwrap(), expected);
    }
}

#[test]
fn scratch_leaves_nothing_behind_even_while_in_use() {
    let dir = tempfile::tempdir().unwrap();
    let genesis = mixed([5_000, 0, 0, 0]);
    let settings = RowSettings { scratch: dir.path().join("new"), ..settings(100, 2, 0) };
    let stream =
        RowStream::new(&genesis, Layout::Hashed, Table::Slots, &settings, &|_| ()).unwrap();
    assert_eq!(std::fs::read_dir(&settings.scratch).unwrap().count(), 0);
    drop(stream);
    assert_eq!(std::fs::read_dir(&settings.scratch).unwrap().count(), 0);
}

#[test]
fn a_scratch_directory_that_cannot_be_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let settings = RowSettings { scratch: file.path().join("below"), ..settings(100, 1, 0) };
    let genesis = mixed([5_000, 0, 0, 0]);
    let error = rows_of(&genesis, Layout::Hashed, Table::Slots, &settings).expect_err("no place");
    assert!(error.to_string().contains(&*settings.scratch.to_string_lossy()), "{error}");
    assert!(error.to_string().contains("20.0 kB"), "{error}");
}

#[test]
fn cancelling_stops_both_passes() {
    let cancel = AtomicBool::new(true);
    let genesis = mixed([5_000, 5_000, 0, 0]);
    for layout in [Layout::Hashed, Layout::Plain] {
        let settings = RowSettings { cancel: &cancel, ..settings(100, 2, 0) };
        cancel.store(true, Ordering::Relaxed);
        let pass1 = RowStream::new(&genesis, layout, Table::Slots, &settings, &|_| ());
        assert!(matches!(pass1, Err(RowError::Cancelled)));
        cancel.store(false, Ordering::Relaxed);
        let stream = RowStream::new(&genesis, layout, Table::Slots, &settings, &|_| ()).unwrap();
        cancel.store(true, Ordering::Relaxed);
        let mut sink = |_: &[u8], _: &[u8]| Ok::<(), RowError>(());
        let pass2 = stream.emit(0, &mut PartBuffers::default(), &mut sink);
        assert!(matches!(pass2, Err(RowError::Cancelled)));
    }
}

#[test]
fn an_error_of_the_sink_comes_back() {
    #[derive(Debug)]
    struct Full;
    impl From<RowError> for Full {
        fn from(error: RowError) -> Self {
            panic!("not asked for: {error}")
        }
    }
    let genesis = mixed([50, 0, 0, 0]);
    let settings = settings(100, 1, 0);
    let stream =
        RowStream::new(&genesis, Layout::Hashed, Table::Slots, &settings, &|_| ()).unwrap();
    let mut left = 3;
    let result = stream.emit(0, &mut PartBuffers::default(), &mut |_, _| {
        left -= 1;
        if left == 0 { Err(Full) } else { Ok(()) }
    });
    assert!(matches!(result, Err(Full)));
    assert_eq!(left, 0);
}

#[test]
fn a_panic_in_pass_1_is_raised_again() {
    let genesis = mixed([50_000, 0, 0, 0]);
    let result = std::panic::catch_unwind(|| {
        let settings = settings(100, 2, 0);
        let progress = |_| panic!("on purpose");
        RowStream::new(&genesis, Layout::Hashed, Table::Slots, &settings, &progress).is_ok()
    });
    assert!(result.is_err());
}

#[test]
fn an_account_that_is_explicit_and_a_sender_is_refused() {
    let mut genesis = mixed([200, 0, 0, 0]);
    let address = genesis.senders[0].address(11).unwrap();
    genesis.accounts.push(GenesisAccount { address, ..Default::default() });
    genesis.accounts.sort_by_key(|account| account.address);
    for part_rows in [2, 1000] {
        for layout in [Layout::Hashed, Layout::Plain] {
            let settings = settings(part_rows, 1, 0);
            let error = rows_of(&genesis, layout, Table::Accounts, &settings).expect_err("twice");
            let expected = format!(
                "{address} is both an explicit account and sender 11 of family 0; remove one of them"
            );
            assert_eq!(error.to_string(), expected);
        }
    }
}

#[test]
fn explicit_accounts_must_ascend() {
    let mut genesis = mixed([0; 4]);
    genesis.accounts.swap(0, 1);
    assert!(matches!(contradiction(&genesis, Table::Codes), GenesisError::AccountOrder { .. }));
    genesis.accounts[1] = genesis.accounts[0].clone();
    assert!(matches!(contradiction(&genesis, Table::Accounts), GenesisError::AccountOrder { .. }));
}

#[test]
fn sender_families_with_common_or_invalid_secrets_are_refused() {
    let mut genesis = mixed([0; 4]);
    genesis.senders = vec![senders(100, 5), senders(90, 11)];
    let error = fault(&genesis, Table::Accounts);
    assert!(
        matches!(error, RowError::OverlappingSenders { first: 1, second: 0, secret } if secret == U256::from(100)),
        "{error}"
    );
    genesis.senders = vec![senders(100, 5), senders(90, 10)];
    rows_of(&genesis, Layout::Hashed, Table::Accounts, &settings(10, 1, 0)).unwrap();
    genesis.senders.push(senders(0, 1));
    let error = fault(&genesis, Table::Accounts);
    assert!(
        matches!(error, RowError::Sender { family: 2, source: SenderError::ZeroSecret }),
        "{error}"
    );
}

#[test]
fn slot_families_need_a_contract_of_their_own() {
    let mut genesis = mixed([10; 4]);
    genesis.slots[0].address = Address::repeat_byte(77);
    assert!(matches!(
        contradiction(&genesis, Table::Slots),
        GenesisError::FamilyWithoutAccount { .. }
    ));
    genesis.slots[0].address = genesis.slots[1].address;
    assert!(matches!(contradiction(&genesis, Table::Slots), GenesisError::FamilyOverlap { .. }));
    genesis.slots[0].address = genesis.accounts[2].address;
    assert!(matches!(contradiction(&genesis, Table::Slots), GenesisError::FamilyOverlap { .. }));
    let mut genesis = mixed([10; 4]);
    genesis.slots[3].count = (1 << 32) + 1;
    assert!(matches!(fault(&genesis, Table::Slots), RowError::TooManyRows { .. }));
}

#[test]
fn explicit_slots_must_not_be_zero_or_given_twice() {
    let mut genesis = mixed([0; 4]);
    genesis.accounts[2].storage = vec![(U256::from(3), U256::ZERO)];
    assert!(matches!(contradiction(&genesis, Table::Slots), GenesisError::ZeroSlot { .. }));
    genesis.accounts[2].storage = vec![(U256::from(3), U256::ONE); 2];
    let error = contradiction(&genesis, Table::Slots);
    assert!(
        matches!(error, GenesisError::SlotOrder { slot, .. } if slot == U256::from(3)),
        "{error}"
    );
}
