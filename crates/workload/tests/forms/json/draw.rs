//! Small random workloads that hold together, with every rule, envelope and kind of change.

use alloy_eip7928::{
    AccountChanges, BalanceChange, BlockAccessIndex, CodeChange, NonceChange, SlotChanges,
    StorageChange,
};
use alloy_primitives::{Address, B256, Bytes, U256};
use proptest::{collection::vec, option, prelude::*, sample::select};
use workload::{
    AccountFamily, Batch, Block, BlockEnv, ChainRules, CodeRule, Fork, ForkChange, ForkSchedule,
    Genesis, GenesisAccount, KeyRule, Layout, SenderFamily, SlotFamily, Transaction, TxOutcome,
    TxStatus, TxType, ValueRule, Withdrawal, Workload,
    block::{Authorization, BatchOutcome, IndexRange, ListSizes, Plan},
    list,
};

fn words() -> impl Strategy<Value = U256> {
    prop_oneof![
        any::<[u8; 32]>().prop_map(U256::from_be_bytes),
        any::<u8>().prop_map(U256::from),
        Just(U256::MAX)
    ]
}

fn hashes() -> impl Strategy<Value = B256> {
    any::<[u8; 32]>().prop_map(B256::from)
}

fn addresses() -> impl Strategy<Value = Address> {
    any::<[u8; 20]>().prop_map(Address::from)
}

fn texts() -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..40).prop_map(Bytes::from)
}

fn numbers() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), any::<u8>().prop_map(u64::from)]
}

/// Transactions that keep to the rules of every fork.
fn transactions() -> impl Strategy<Value = Transaction> {
    let kinds =
        [TxType::Legacy, TxType::AccessList, TxType::DynamicFee, TxType::Blob, TxType::SetCode];
    let money = (any::<u128>(), any::<u128>(), any::<u128>(), words());
    let tuple = (words(), addresses(), numbers(), option::of(addresses()));
    let tuple = tuple.prop_map(|(chain_id, address, nonce, authority)| Authorization {
        chain_id,
        address,
        nonce,
        authority,
    });
    let lists =
        (vec((addresses(), vec(hashes(), 0..3)), 0..3), vec(hashes(), 0..3), vec(tuple, 0..3));
    let who =
        (select(kinds.to_vec()), addresses(), numbers(), 0..1_u64 << 24, option::of(addresses()));
    (who, money, texts(), lists).prop_map(|(who, money, input, lists)| Transaction {
        tx_type: who.0,
        sender: who.1,
        nonce: who.2,
        gas_limit: who.3,
        to: if who.0 >= TxType::Blob { who.4.or(Some(who.1)) } else { who.4 },
        max_fee_per_gas: money.0,
        max_priority_fee_per_gas: money.1,
        max_fee_per_blob_gas: money.2,
        value: money.3,
        input,
        access_list: lists.0,
        blob_hashes: lists.1,
        authorizations: lists.2,
    })
}

/// A block; its number, parent and bounded fields are set by the workload.
fn blocks() -> impl Strategy<Value = Block> {
    let env = (any::<u64>(), addresses(), 0..1_000_000_000_u64, any::<u64>(), hashes(), hashes());
    let withdrawal = (addresses(), any::<u64>());
    let withdrawal =
        withdrawal.prop_map(|(address, amount_gwei)| Withdrawal { address, amount_gwei });
    (env, 0..1_000_u64, any::<u64>(), vec(transactions(), 0..3), vec(withdrawal, 0..2)).prop_map(
        |(env, excess_blob_gas, slot_number, transactions, withdrawals)| Block {
            env: BlockEnv {
                timestamp: env.0,
                beneficiary: env.1,
                gas_limit: env.2,
                base_fee: env.3,
                prev_randao: env.4,
                parent_beacon_root: env.5,
                excess_blob_gas,
                slot_number,
                ..BlockEnv::default()
            },
            transactions,
            withdrawals,
        },
    )
}

fn genesis() -> impl Strategy<Value = Genesis> {
    let storage = vec((any::<u32>(), 1..u64::MAX), 0..3);
    let account = (any::<u64>(), words(), vec(any::<u8>(), 0..30), storage);
    let rules = [
        KeyRule::Keccak,
        KeyRule::Weyl,
        KeyRule::Balance,
        KeyRule::Addressed,
        KeyRule::Index,
        KeyRule::Deep,
    ];
    let values = prop_oneof![
        Just(ValueRule::Random),
        Just(ValueRule::NextKey),
        Just(ValueRule::AfterKey),
        (1_u8.., any::<u64>()).prop_map(|(byte, ahead)| ValueRule::KeyElsewhere {
            address: Address::repeat_byte(byte),
            ahead,
        }),
    ];
    let slots = (1..10_000_u64, select(rules.to_vec()), values, hashes());
    let senders = (1..u64::MAX, 1..1_000_u64, words());
    let codes = prop_oneof![
        Just(CodeRule::Nothing),
        (10..60_u32, 1..20_u64)
            .prop_map(|(bytes, distinct_count)| CodeRule::Jumpdests { bytes, distinct_count }),
    ];
    let families = vec((hashes(), 1..1_000_u64, codes), 0..3);
    (vec(account, 0..3), vec(slots, 0..3), vec(senders, 0..3), families).prop_map(
        |(accounts, slots, senders, families)| Genesis {
            accounts: explicit(accounts, slots.len()),
            slots: slots
                .into_iter()
                .enumerate()
                .map(|(place, (count, keys, values, seed))| SlotFamily {
                    address: Address::repeat_byte(0x80 + place as u8),
                    count,
                    keys,
                    values,
                    seed,
                })
                .collect(),
            senders: senders
                .into_iter()
                .map(|(first, count, balance)| SenderFamily {
                    first_secret: B256::from(U256::from(first)),
                    count,
                    balance,
                })
                .collect(),
            account_families: families
                .into_iter()
                .map(|(seed, count, code)| AccountFamily { seed, count, code })
                .collect(),
        },
    )
}

type Drawn = (u64, U256, Vec<u8>, Vec<(u32, u64)>);

/// Explicit accounts with slots of their own, then those whose slots are a family's.
fn explicit(accounts: Vec<Drawn>, family_count: usize) -> Vec<GenesisAccount> {
    let own =
        accounts.into_iter().enumerate().map(|(place, (nonce, balance, mut code, storage))| {
            // Codes that begin with 0xef are refused where they are no delegation.
            code.iter_mut().take(1).for_each(|first| *first &= 0x7f);
            let mut storage: Vec<_> = storage
                .into_iter()
                .map(|(key, value)| (U256::from(key), U256::from(value)))
                .collect();
            storage.sort_unstable();
            storage.dedup_by_key(|row| row.0);
            let address = Address::repeat_byte(1 + place as u8);
            GenesisAccount { address, nonce, balance, code: code.into(), storage }
        });
    let of_families = (0..family_count).map(|place| GenesisAccount {
        address: Address::repeat_byte(0x80 + place as u8),
        ..GenesisAccount::default()
    });
    own.chain(of_families).collect()
}

fn changes() -> impl Strategy<Value = AccountChanges> {
    let at = || any::<u16>().prop_map(|index| BlockAccessIndex::new(index.into()));
    let value = (at(), words()).prop_map(|(at, value)| StorageChange::new(at, value));
    let slot =
        (words(), vec(value, 0..3)).prop_map(|(slot, changes)| SlotChanges { slot, changes });
    let balance = (at(), words()).prop_map(|(at, balance)| BalanceChange::new(at, balance));
    let nonce = (at(), numbers()).prop_map(|(at, nonce)| NonceChange::new(at, nonce));
    let code = (at(), texts()).prop_map(|(at, code)| CodeChange::new(at, code));
    let rest = (vec(balance, 0..3), vec(nonce, 0..3), vec(code, 0..3));
    (addresses(), vec(slot, 0..3), vec(words(), 0..3), rest).prop_map(
        |(address, storage_changes, storage_reads, rest)| AccountChanges {
            address,
            storage_changes,
            storage_reads,
            balance_changes: rest.0,
            nonce_changes: rest.1,
            code_changes: rest.2,
        },
    )
}

fn outcomes() -> impl Strategy<Value = TxOutcome> {
    let statuses = [TxStatus::Success, TxStatus::Revert, TxStatus::Halt];
    (select(statuses.to_vec()), any::<u32>(), hashes(), hashes()).prop_map(
        |(status, gas, logs, output)| TxOutcome { status, gas_used: gas.into(), logs, output },
    )
}

/// A batch; its plan and the outcomes of its transactions are set by the workload.
fn batches() -> impl Strategy<Value = Batch> {
    let sizes = (any::<u64>(), any::<u64>());
    (vec(blocks(), 1..3), vec(changes(), 0..3), sizes, vec(outcomes(), 6), hashes()).prop_map(
        |(blocks, changes, sizes, outcomes, net_changes)| {
            let list = list::encode(&changes);
            let tx_count = blocks.iter().map(|block| block.transactions.len()).sum();
            Batch {
                list_sizes: ListSizes {
                    parallel_io_bytes: sizes.0,
                    batched_io_bytes: list.len() as u64,
                    full_bytes: sizes.1,
                },
                list,
                plan: Plan::default(),
                expected: BatchOutcome {
                    transactions: outcomes.into_iter().take(tx_count).collect(),
                    net_changes,
                    header_gas: vec![21_000; blocks.len()],
                },
                blocks,
            }
        },
    )
}

/// Ranges in families of these counts: existing indices, and where allowed absent ones.
fn ranges(counts: &[u64], starts: &[u64], beyond: u64) -> Vec<IndexRange> {
    let of = |(family, count): (usize, &u64)| {
        let start = starts[family % starts.len()] % count;
        let range_count = (count - start).min(20) + beyond;
        IndexRange { family: family as u32, start, count: range_count }
    };
    counts.iter().enumerate().map(of).collect()
}

pub(crate) fn workloads() -> impl Strategy<Value = Workload> {
    let names = (".{0,20}", ".{0,20}", any::<u64>(), any::<u32>(), any::<u64>());
    // Earlier forks have no blobs, which the blocks have.
    let forks: Vec<_> = Fork::ALL.into_iter().filter(|fork| fork.is_from(Fork::Cancun)).collect();
    let rules = (select(forks), select(vec![Layout::Hashed, Layout::Plain]));
    let starts = (vec(any::<u64>(), 3), vec(addresses(), 0..3));
    let number = 300..1_000_000_u64;
    (names, rules, genesis(), vec(batches(), 1..3), number, starts).prop_map(
        |(names, (fork, layout), genesis, mut batches, number, (starts, mut absent))| {
            let first_hash_number = number - 256;
            let block_count: usize = batches.iter().map(|batch| batch.blocks.len()).sum();
            let hash = |number: u64| B256::from(U256::from(number) << 200);
            let last = number + block_count as u64;
            absent.sort_unstable();
            absent.dedup();
            let mut next = number;
            let counts = |of: &[u64], beyond| ranges(of, &starts, beyond);
            let of_slots: Vec<u64> = genesis.slots.iter().map(|family| family.count).collect();
            let of_senders: Vec<u64> = genesis.senders.iter().map(|family| family.count).collect();
            let of_accounts: Vec<u64> =
                genesis.account_families.iter().map(|family| family.count).collect();
            for batch in &mut batches {
                for block in &mut batch.blocks {
                    block.env.number = next;
                    block.env.parent_hash = hash(next - 1);
                    next += 1;
                }
                batch.plan = Plan {
                    slots: counts(&of_slots, 2),
                    senders: counts(&of_senders, 0),
                    accounts: counts(&of_accounts, 2),
                    absent_accounts: absent.clone(),
                };
            }
            let tx_count = batches.iter().flat_map(|batch| &batch.blocks);
            let tx_count: usize = tx_count.map(|block| block.transactions.len()).sum();
            // Imported with signatures, or not.
            let signed_count = if names.2.is_multiple_of(2) { 0 } else { tx_count };
            Workload {
                scenario: names.0,
                signed_transactions: vec![Bytes::from_static(&[2, 0xc0]); signed_count],
                work: names.1,
                seed: names.2,
                generator_version: names.3,
                chain_id: names.4,
                rules: schedule(fork, names.3),
                layout,
                genesis,
                first_hash_number,
                block_hashes: (first_hash_number..last).map(hash).collect(),
                batches,
            }
        },
    )
}

/// Rules that may change at times of some blocks, up to twice.
fn schedule(fork: Fork, number: u32) -> ForkSchedule {
    let later = Fork::ALL.into_iter().filter(|later| !fork.is_from(*later));
    let changes = later.take(number as usize % 3).zip(1..).map(|(later, time)| ForkChange {
        timestamp: (u64::from(number) << 30) * time,
        rules: chain_rules(later, number),
    });
    ForkSchedule { first: chain_rules(fork, number), changes: changes.collect() }
}

/// The rules of `fork`, or a chain's own.
fn chain_rules(fork: Fork, number: u32) -> ChainRules {
    let mut rules = ChainRules::from(fork);
    if !number.is_multiple_of(2) {
        rules.blobs.max += 1;
        rules.deposit_contract = Address::repeat_byte(7);
    }
    rules
}
