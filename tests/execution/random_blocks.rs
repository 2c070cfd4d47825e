//! Every variant must equal the reference on 200 small random blocks, and the blocks must use all
//! features. `STRESS_RANDOM_BLOCKS` sets the number of blocks, and `STRESS_RANDOM_SEED` the first
//! seed. `scripts/test --all` runs 800 more. A failing chain is reduced as far as it still fails.

#![expect(clippy::print_stderr, reason = "what is to be repeated is printed before it ends")]

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc,
    thread,
    time::Duration,
};

use executor::store::memory::MemoryStore;
use random_blocks::{Built, Coverage, Draft, Feature, RandomBlocks};
use variant::Variant;
use workload::Workload;

use crate::common::agree;

/// Blocks of a chain: one workload, so threads start once per variant and chain.
const CHAIN_LEN: u64 = 10;
/// Number of blocks of the test.
const BLOCK_COUNT: u64 = 200;
/// Number of blocks in which each feature must occur at least once.
const BLOCKS_PER_FEATURE: u64 = 100;
/// Number of runs without a failure after which a smaller chain counts as correct: thread timing
/// varies.
const TRIES: usize = 5;
/// Time without a result after which the seed is printed, since an execution that hangs prints
/// nothing.
const SILENCE: Duration = Duration::from_secs(60);

fn setting(name: &str, default: u64) -> u64 {
    let Ok(text) = std::env::var(name) else { return default };
    text.parse().unwrap_or_else(|_| panic!("{name} is {text:?}; give a number"))
}

#[test]
fn all_variants_agree_on_random_blocks_that_do_everything() {
    let first_seed = setting("STRESS_RANDOM_SEED", 1);
    let block_count = setting("STRESS_RANDOM_BLOCKS", BLOCK_COUNT);
    let mut coverage = Coverage::default();
    for chain in 0..block_count.div_ceil(CHAIN_LEN) {
        let seed = first_seed + chain;
        let blocks = RandomBlocks::draw(seed, CHAIN_LEN.min(block_count) as usize);
        let built = built(&blocks);
        coverage.add(&built.coverage);
        if let Some(failure) = watched(seed, || first_failure(&built)) {
            report(seed, &blocks, &failure);
        }
    }
    if block_count >= BLOCK_COUNT {
        assert_covers(&coverage, block_count / BLOCKS_PER_FEATURE);
    }
}

fn built(blocks: &RandomBlocks) -> Built {
    blocks.build().unwrap_or_else(|error| panic!("seed {}: {error}", blocks.seed))
}

fn assert_covers(coverage: &Coverage, least_count: u64) {
    let count = |feature| coverage.count(feature);
    let is_rare = |feature: &Feature| count(*feature) < least_count;
    let wanted = Feature::ALL.iter().filter(|feature| **feature != Feature::LeftOut);
    let rare: Vec<_> = wanted.filter(|feature| is_rare(feature)).collect();
    assert!(rare.is_empty(), "seldom or never: {rare:?} of {coverage:#?}");
    let tx_count = count(Feature::Success)
        + count(Feature::Revert)
        + count(Feature::OutOfGas)
        + count(Feature::Halt);
    assert!(
        2 * count(Feature::Success) > tx_count,
        "most transactions come to an end: {coverage:#?}"
    );
    assert!(10 * count(Feature::LeftOut) < tx_count, "most drafts are valid: {coverage:#?}");
}

/// A variant that disagrees; `None` means that the lists are wrong.
struct Failure {
    variant: Option<Variant>,
    what: String,
}

fn first_failure(built: &Built) -> Option<Failure> {
    let all = [None].into_iter().chain(agree::variants().into_iter().map(Some));
    all.into_iter()
        .find_map(|variant| failure_of(built, variant).map(|what| Failure { variant, what }))
}

/// First difference between a variant and the reference, or its panic.
fn failure_of(built: &Built, variant: Option<Variant>) -> Option<String> {
    let workload = &built.workload;
    let run = || {
        let store = agree::in_memory(workload);
        match variant {
            None => agree::list_difference(&store, workload),
            Some(variant) => disagreement(&store, workload, variant),
        }
    };
    catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|_| Some("it panicked; see above".to_owned()))
}

/// First difference between `variant` and the reference; `None` if they agree.
fn disagreement(store: &MemoryStore, workload: &Workload, variant: Variant) -> Option<String> {
    let lists = match agree::lists(workload, variant.list) {
        Ok(lists) => lists,
        Err(error) => return Some(format!("{variant}: its list: {error}")),
    };
    match agree::take(store, workload, &lists, variant) {
        Ok(taken) => taken.disagreement.map(|difference| format!("{variant}: {difference}")),
        Err(error) => Some(format!("{variant}: {error}")),
    }
}

/// Prints `seed` whenever `run` takes long.
fn watched<T>(seed: u64, run: impl FnOnce() -> T) -> T {
    let (done, waits) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            while waits.recv_timeout(SILENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                eprintln!("seed {seed} has not ended after another {SILENCE:?}");
            }
        });
        let out = run();
        drop(done);
        out
    })
}

fn report(seed: u64, blocks: &RandomBlocks, failure: &Failure) -> ! {
    eprintln!("seed {seed}: {}\nlooking for a smaller chain", failure.what);
    let (smallest, what) = shrunk(blocks.clone(), failure);
    let drafts = &smallest.drafts;
    let tx_count: usize = drafts.iter().map(|draft| draft.transactions.len()).sum();
    let blocks = built(&smallest).workload.batches;
    let blocks: Vec<_> = blocks.iter().flat_map(|batch| &batch.blocks).collect();
    panic!(
        "seed {seed}: {what}\n{} blocks in batches of {} with {tx_count} transactions fail: \
         {blocks:#?}\nrepeat with STRESS_RANDOM_SEED={seed} STRESS_RANDOM_BLOCKS={CHAIN_LEN}",
        drafts.len(),
        smallest.batch_block_count,
    )
}

/// Reduces a chain by leaving out blocks, then transactions, then withdrawals, while it still
/// fails.
fn shrunk(mut blocks: RandomBlocks, failure: &Failure) -> (RandomBlocks, String) {
    let mut what = failure.what.clone();
    loop {
        let smaller = candidates(&blocks).into_iter().find_map(|smaller| {
            let built = smaller.build().ok()?;
            let failed = (0..TRIES).find_map(|_| failure_of(&built, failure.variant))?;
            Some((smaller, failed))
        });
        let Some((smaller, failed)) = smaller else { return (blocks, what) };
        (blocks, what) = (smaller, failed);
    }
}

/// All chains with one part left out, large parts first.
fn candidates(blocks: &RandomBlocks) -> Vec<RandomBlocks> {
    let changed = |change: &dyn Fn(&mut Vec<Draft>)| {
        let mut smaller = blocks.clone();
        change(&mut smaller.drafts);
        smaller
    };
    let mut out = Vec::new();
    let last = blocks.drafts.len();
    out.extend((1..last).rev().map(|at| changed(&|drafts| drafts.truncate(at))));
    out.extend((0..last.saturating_sub(1)).map(|at| changed(&|drafts| drop(drafts.remove(at)))));
    for (at, draft) in blocks.drafts.iter().enumerate() {
        for place in (0..draft.transactions.len()).rev() {
            out.push(changed(&|drafts| drop(drafts[at].transactions.remove(place))));
        }
        if !draft.withdrawals.is_empty() {
            out.push(changed(&|drafts| drafts[at].withdrawals.clear()));
        }
    }
    out
}

#[test]
fn a_seed_gives_the_same_blocks_and_another_gives_others() {
    let (one, again, other) = (
        RandomBlocks::draw(7, 3).build().unwrap().workload,
        RandomBlocks::draw(7, 3).build().unwrap().workload,
        RandomBlocks::draw(8, 3).build().unwrap().workload,
    );
    assert_eq!(one, again);
    assert_ne!(one.digest(), other.digest());
    one.validate().unwrap();
}

#[test]
fn a_chain_stays_valid_when_transactions_are_left_out() {
    let blocks = RandomBlocks::draw(3, 4);
    for smaller in candidates(&blocks) {
        built(&smaller).workload.validate().unwrap();
    }
}
