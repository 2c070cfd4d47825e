//! A small recipe with rows of every kind, and its correct rows.
#![allow(dead_code, reason = "each test binary uses a part")]

#[path = "common/rows.rs"]
pub(crate) mod rows;

use std::{path::Path, sync::atomic::AtomicBool};

use alloy_primitives::{Address, B256, Bytes, U256};
use executor::{
    state::{BuiltState, DataDir, Manifest, NoProgress, StateError, StateSpec},
    store::rocksdb::{RocksFormat, RocksSettings, RocksStore},
};
use workload::{
    AccountFamily, CodeRule, Genesis, GenesisAccount, KeyRule, Layout, SenderFamily, SlotFamily,
    ValueRule,
};

/// Files so small that a few thousand rows fill several.
pub(crate) const FORMAT: RocksFormat = RocksFormat { file_bytes: 100_000, ..RocksFormat::DEFAULT };

/// The contract with random keys.
pub(crate) const KECCAK: Address = Address::repeat_byte(0x22);

/// The contract with Weyl keys.
pub(crate) const WEYL: Address = Address::repeat_byte(0x33);

/// Accounts with and without code and storage, senders, and both kinds of slots.
pub(crate) fn genesis(slot_count: u64) -> Genesis {
    let account = |byte: u8, code: &[u8], storage: &[(u64, u64)]| GenesisAccount {
        address: Address::repeat_byte(byte),
        nonce: u64::from(byte),
        balance: U256::from(byte) << 100,
        code: Bytes::copy_from_slice(code),
        storage: storage.iter().map(|(k, v)| (U256::from(*k), U256::from(*v))).collect(),
    };
    let family = |address, keys, values| SlotFamily {
        address,
        count: slot_count,
        keys,
        values,
        seed: B256::repeat_byte(5),
    };
    let long_code = vec![0x5b; 24_576];
    Genesis {
        accounts: vec![
            account(0x11, &long_code, &[(1, 10), (2, 20), (3, 30)]),
            account(0x22, b"keccak", &[]),
            account(0x33, b"weyl", &[]),
            account(0x44, b"", &[(7, 70)]),
        ],
        senders: vec![SenderFamily {
            first_secret: B256::with_last_byte(9),
            count: 1_000,
            balance: U256::from(1_000_000),
        }],
        slots: vec![
            family(KECCAK, KeyRule::Keccak, ValueRule::Random),
            family(WEYL, KeyRule::Weyl, ValueRule::NextKey),
        ],
        account_families: vec![
            AccountFamily { seed: B256::repeat_byte(6), count: 500, code: CodeRule::Nothing },
            AccountFamily {
                seed: B256::repeat_byte(7),
                count: 100,
                code: CodeRule::Jumpdests { bytes: 1 << 14, distinct_count: 2 },
            },
        ],
    }
}

/// Opens the state, and builds it if there is none.
pub(crate) fn open(
    data: &Path,
    genesis: &Genesis,
    layout: Layout,
) -> Result<BuiltState, StateError> {
    let spec = spec(genesis, layout);
    DataDir::open(data)?.open_or_build(&spec, &NoProgress, &AtomicBool::new(false))
}

pub(crate) fn spec(genesis: &Genesis, layout: Layout) -> StateSpec<'_> {
    StateSpec { genesis, layout, format: &FORMAT, scenario: "test", threads: 2 }
}

pub(crate) fn store(
    data: &Path,
    genesis: &Genesis,
    layout: Layout,
    settings: RocksSettings,
) -> RocksStore {
    let state = open(data, genesis, layout).expect("builds");
    RocksStore::open(state, settings).expect("opens")
}

/// Flips a bit in the first data block of the largest file. Returns the file's name.
pub(crate) fn damage_a_block(dir: &Path, manifest: &Manifest) -> String {
    let file = manifest.files.iter().filter(|file| file.name.ends_with(".sst"));
    let file = file.max_by_key(|file| file.bytes).expect("there is one");
    let path = dir.join(&file.name);
    let mut bytes = std::fs::read(&path).expect("reads");
    bytes[1_000] ^= 1;
    std::fs::write(&path, bytes).expect("writes");
    file.name.clone()
}
