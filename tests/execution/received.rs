//! Duties on blocks: every design does them and agrees. Each duty is a phase that can be left out.
//! No wrong byte of a block passes.

use std::{num::NonZeroUsize, sync::atomic::AtomicBool};

use alloy_consensus::{EthereumTxEnvelope, Header, TxEip4844};
use alloy_primitives::{Address, B64, B256, Bloom, Bytes, U256};
use alloy_rlp::Decodable;
use executor::{
    engine::{EngineError, Task},
    received::BlockFault,
    sample::{self, Measurement},
    store::memory::MemoryStore,
    tries,
};
use generator::export;
use random_blocks::RandomBlocks;
use spec::Scenario;
use variant::{
    BlockDuties, BlockDuty, CacheMode, Design, ListDuty, Phase, RootTime, RootWay, TrieForm,
    Variant,
};
use workload::{Fork, ReceivedBlock, Workload};

use crate::common::agree;

type Block = alloy_consensus::Block<EthereumTxEnvelope<TxEip4844>>;

fn received(workload: &Workload) -> Vec<Vec<ReceivedBlock>> {
    let secrets = random_blocks::secrets();
    export::received_blocks(workload, &secrets, &AtomicBool::new(false)).unwrap()
}

fn variant(design: Design, duties: BlockDuties) -> Variant {
    let two = NonZeroUsize::new(2).unwrap();
    Variant { block_duties: duties, ..Variant::of(design, two, two) }
}

fn take(
    store: &MemoryStore,
    workload: &Workload,
    blocks: &[Vec<ReceivedBlock>],
    variant: Variant,
) -> Result<Measurement, EngineError> {
    let lists = agree::lists(workload, variant.list).unwrap();
    let hashes: Vec<_> = match variant.list {
        Some(_) => lists.iter().map(alloy_primitives::keccak256).collect(),
        None => workload.batches.iter().map(|of| alloy_primitives::keccak256(&of.list)).collect(),
    };
    let cancel = AtomicBool::new(false);
    let task = Task::new(workload, &lists, variant, &cancel);
    sample::take(store, &Task { blocks, list_hashes: &hashes, ..task }, CacheMode::Cold)
}

/// A block of all kinds of load with logs, over a small state.
fn transfers() -> Workload {
    let text = "schema = 1\nname = \"s\"\ndescription = \"\"\n[state]\naccounts = 50\nslots = 500\n\
        [block]\ngas = \"1M\"\n[[load]]\nkind = \"erc20\"\nshare = 0.5\n[[load]]\nkind = \
        \"transfers\"\nshare = 0.5\n";
    let scenario = Scenario::parse("s.toml", text, &[]).unwrap_or_else(|e| panic!("{e}"));
    generator::generate(&scenario, |_| ()).unwrap()
}

fn memory(workload: &Workload) -> MemoryStore {
    MemoryStore::build(&workload.genesis, None, 1 << 30).unwrap()
}

#[test]
fn every_design_does_all_duties_on_random_blocks_and_agrees() {
    let (mut tx_count, mut has_both) = (0, [false; 2]);
    for seed in 300_u64..312 {
        let earlier = seed.is_multiple_of(3).then_some((Fork::Prague, 2));
        let blocks = RandomBlocks { earlier, ..RandomBlocks::draw(seed, 4) };
        let workload = blocks.build().unwrap().workload;
        has_both[usize::from(workload.rules.first.fork == Fork::Amsterdam)] = true;
        tx_count += workload.tx_count();
        let (store, blocks) = (memory(&workload), received(&workload));
        for design in Design::ALL {
            let variant = variant(*design, BlockDuties::all());
            let taken = take(&store, &workload, &blocks, variant);
            let taken = taken.unwrap_or_else(|error| panic!("seed {seed}, {variant}: {error}"));
            assert_eq!(taken.disagreement, None, "seed {seed}, {variant}");
        }
    }
    assert!(tx_count > 100 && has_both == [true; 2], "{tx_count} transactions");
}

#[test]
fn whole_blocks_with_a_root_and_a_built_list_agree() {
    let workload = transfers();
    let format = tries::trie_format(TrieForm::Cut).unwrap();
    let store = MemoryStore::build(&workload.genesis, Some(format), 1 << 30).unwrap();
    let blocks = received(&workload);
    for time in [RootTime::After, RootTime::FromList, RootTime::Pipelined] {
        for design in Design::ALL {
            let variant =
                Variant { root: RootWay::at(time), ..variant(*design, BlockDuties::all()) };
            if time == RootTime::FromList && variant.list.is_none() {
                continue;
            }
            let list_duty = match variant.engine.builds_lists() {
                true => ListDuty::Build,
                false => ListDuty::Nothing,
            };
            let variant = Variant { list_duty, ..variant };
            let taken = take(&store, &workload, &blocks, variant).unwrap();
            assert_eq!(taken.disagreement, None, "{variant}");
            assert!(taken.executed.batches.iter().all(|batch| batch.rooted.is_some()), "{variant}");
        }
    }
}

/// Each requested duty has one phase per batch, and no other duty has a phase. On one thread,
/// phases do not overlap.
#[test]
fn a_duty_is_one_phase_of_each_batch_and_is_left_out_with_its_switch() {
    let workload = RandomBlocks::draw(7, 9).build().unwrap().workload;
    assert!(workload.batches.len() > 1, "several batches");
    let (store, blocks) = (memory(&workload), received(&workload));
    let sets = BlockDuty::ALL.iter().map(|duty| BlockDuties::of(&[*duty]));
    for duties in sets.chain([BlockDuties::NONE, BlockDuties::all()]) {
        for design in [Design::Sequential, Design::BatchedIo] {
            let taken = take(&store, &workload, &blocks, variant(design, duties)).unwrap();
            assert_eq!(taken.disagreement, None, "{duties} of {design}");
            let spans = &taken.executed.spans;
            for duty in BlockDuty::ALL {
                let count = spans.iter().filter(|span| span.phase == duty.phase()).count();
                let expected = if duties.has(*duty) { workload.batches.len() } else { 0 };
                assert_eq!(count, expected, "{duty} with {duties} of {design}");
            }
            if design == Design::Sequential {
                let sum: std::time::Duration =
                    spans.iter().map(|span| span.end.saturating_sub(span.start)).sum();
                assert!(sum <= taken.executed.wall, "{duties}: {sum:?}");
                assert!(spans.iter().any(|span| span.phase == Phase::Commit));
            }
        }
    }
}

fn decoded(mut rlp: &[u8]) -> Block {
    Block::decode(&mut rlp).unwrap()
}

/// The workload's one block, changed by `change`, with the correct hash.
fn changed(blocks: &[Vec<ReceivedBlock>], change: impl FnOnce(&mut Block)) -> ReceivedBlock {
    let mut block = decoded(&blocks[0][0].rlp);
    change(&mut block);
    let hash = block.header.hash_slow();
    ReceivedBlock { rlp: alloy_rlp::encode(&block).into(), hash }
}

/// Fault for which a sample of `block` is refused.
fn fault(workload: &Workload, block: ReceivedBlock, design: Design) -> BlockFault {
    let (store, variant) = (memory(workload), variant(design, BlockDuties::all()));
    match take(&store, workload, &[vec![block]], variant) {
        Err(EngineError::Block { batch: 0, block: 0, fault }) => fault,
        other => panic!("{variant}: {:?}", other.map(|taken| taken.disagreement)),
    }
}

type Change = fn(&mut Header);

#[test]
fn each_wrong_field_of_a_header_is_named() {
    let changes: [(&str, Change); 20] = [
        ("parent hash", |of| of.parent_hash = B256::repeat_byte(1)),
        ("ommers hash", |of| of.ommers_hash = B256::ZERO),
        ("beneficiary", |of| of.beneficiary = Address::repeat_byte(3)),
        ("difficulty", |of| of.difficulty = U256::ONE),
        ("number", |of| of.number += 1),
        ("gas limit", |of| of.gas_limit += 1),
        ("timestamp", |of| of.timestamp += 1),
        ("prev randao", |of| of.mix_hash = B256::repeat_byte(1)),
        ("nonce", |of| of.nonce = B64::repeat_byte(1)),
        ("base fee", |of| of.base_fee_per_gas = of.base_fee_per_gas.map(|fee| fee + 1)),
        ("excess blob gas", |of| of.excess_blob_gas = of.excess_blob_gas.map(|gas| gas + 1)),
        ("parent beacon root", |of| of.parent_beacon_block_root = Some(B256::repeat_byte(1))),
        ("slot number", |of| of.slot_number = of.slot_number.map(|slot| slot + 1)),
        ("length of extra data", |of| of.extra_data = Bytes::from(vec![0; 33])),
        ("transactions root", |of| of.transactions_root = B256::ZERO),
        ("withdrawals root", |of| of.withdrawals_root = Some(B256::ZERO)),
        ("blob gas used", |of| of.blob_gas_used = Some(1)),
        ("gas used", |of| of.gas_used += 1),
        ("receipts root", |of| of.receipts_root = B256::ZERO),
        ("logs bloom", |of| of.logs_bloom = Bloom::repeat_byte(1)),
    ];
    let workload = transfers();
    let blocks = received(&workload);
    for (name, change) in changes {
        for design in [Design::Sequential, Design::Full] {
            let block = changed(&blocks, |block| change(&mut block.header));
            let header = decoded(&block.rlp).header;
            assert_ne!(header, decoded(&blocks[0][0].rlp).header, "{name}");
            let fault = fault(&workload, block, design);
            assert!(matches!(fault, BlockFault::Field { field, .. } if field == name), "{fault}");
        }
    }
    // Headers name the list of these designs; the full form is another list.
    for design in [Design::BatchedIo, Design::BlockStm, Design::Sequential] {
        let wrong = Some(B256::repeat_byte(1));
        let block = changed(&blocks, |block| block.header.block_access_list_hash = wrong);
        let fault = fault(&workload, block, design).to_string();
        assert!(fault.contains("block access list hash 0x0101"), "{fault}");
    }
    // Only the hash covers these fields.
    let [state_root, requests]: [Change; 2] = [
        |of| of.state_root = B256::repeat_byte(9),
        |of| of.requests_hash = Some(B256::repeat_byte(9)),
    ];
    for change in [state_root, requests] {
        let hash = blocks[0][0].hash;
        let block = changed(&blocks, |block| change(&mut block.header));
        let fault = fault(&workload, ReceivedBlock { hash, ..block }, Design::Sequential);
        assert!(matches!(fault, BlockFault::Hash { .. }), "{fault}");
    }
}

#[test]
fn other_transactions_signatures_and_withdrawals_never_pass() {
    let workload = transfers();
    let blocks = received(&workload);
    let swapped = changed(&blocks, |block| block.body.transactions.swap(0, 1));
    assert!(fault(&workload, swapped, Design::BatchedIo).to_string().contains("transactions root"));
    let fewer = changed(&blocks, |block| block.body.transactions.truncate(3));
    fault(&workload, fewer, Design::BatchedIo);
    let rlp = blocks[0][0].rlp.clone();
    let longer = Bytes::from([rlp.as_ref(), &[0]].concat());
    let fault_of_longer =
        fault(&workload, ReceivedBlock { rlp: longer, hash: blocks[0][0].hash }, Design::Full);
    assert!(fault_of_longer.to_string().contains("1 bytes follow it"), "{fault_of_longer}");
}

/// Flips one bit of some bytes. The block must be refused, or its decoded form must differ after
/// the clock.
#[test]
fn no_flipped_bit_of_a_block_passes() {
    let workload = transfers();
    let (store, blocks) = (memory(&workload), received(&workload));
    let hash = blocks[0][0].hash;
    let rlp = &blocks[0][0].rlp;
    let variant = variant(Design::Sequential, BlockDuties::all());
    for at in (0..rlp.len()).step_by(1 + rlp.len() / 600) {
        let mut bytes = rlp.to_vec();
        bytes[at] ^= 1 << (at % 8);
        let block = ReceivedBlock { rlp: bytes.clone().into(), hash };
        match take(&store, &workload, &[vec![block]], variant) {
            Err(EngineError::Block { .. }) => {}
            // A decoder may accept another header of the string around a transaction.
            Ok(taken) if taken.disagreement.is_none() => {
                assert_eq!(decoded(&bytes), decoded(rlp), "byte {at} of {}", rlp.len());
            }
            Ok(_) => {}
            Err(other) => panic!("byte {at}: {other}"),
        }
    }
}
