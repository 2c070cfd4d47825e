//! The distributions of `dapps` against their parameters, on as many transactions as published.

use std::collections::{HashMap, HashSet};

use alloy_primitives::{B256, U256};
use workload::SenderFamily;

use super::*;

const TX_COUNT: u64 = 500_000;

fn spec() -> Spec {
    Spec {
        dapp_count: 400,
        resource_count: 5,
        outside: Outside::Home(0.999),
        deviation: 0.05,
        per_user: PerUser::LogNormal,
        per_user_mean: 5,
        per_user_sigma: 1.0,
        work: 0,
    }
}

/// The calls of a block, and the users of each DApp.
struct Drawn {
    calls: Vec<Call>,
    user_count: u64,
}

fn drawn(spec: &Spec, tx_count: u64) -> Drawn {
    let family =
        SenderFamily { first_secret: B256::with_last_byte(1), count: 1, balance: U256::ZERO };
    let mut senders = Senders::new(&family);
    let members = Members::new(0, 0..1 << 32, 1);
    let random = Random::new(1, "load[0]");
    let dapps_input = DappsInput { tag: "0", fork: Fork::Amsterdam };
    let mut dapps = Dapps::new(spec, dapps_input, members, random, &mut senders).unwrap();
    dapps.begin(BlockTarget::Transactions(tx_count)).unwrap();
    Drawn { user_count: dapps.user_count, calls: dapps.drawn }
}

/// Transactions of each user, from few to many; users without any too.
fn per_user(drawn: &Drawn) -> Vec<u64> {
    let mut counts = vec![0; drawn.user_count as usize];
    for call in &drawn.calls {
        counts[call.user as usize] += 1;
    }
    counts.sort_unstable();
    counts
}

fn mean_and_deviation(numbers: &[u64]) -> (f64, f64) {
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<u64>() as f64 / count;
    let squares = numbers.iter().map(|x| (*x as f64 - mean).powi(2)).sum::<f64>();
    (mean, (squares / count).sqrt())
}

/// Sizes of the components of users and resources, in transactions.
fn components(calls: &[Call]) -> Vec<usize> {
    let mut parents: HashMap<(bool, u64), (bool, u64)> = HashMap::new();
    fn root(parents: &mut HashMap<(bool, u64), (bool, u64)>, mut at: (bool, u64)) -> (bool, u64) {
        while let Some(parent) = parents.get(&at).copied().filter(|parent| *parent != at) {
            let above = parents.get(&parent).copied().unwrap_or(parent);
            parents.insert(at, above);
            at = parent;
        }
        at
    }
    let resource = |call: &Call| (true, (call.dapp as u64) << 32 | call.resource as u64);
    for call in calls {
        let user = root(&mut parents, (false, call.user));
        let resource = root(&mut parents, resource(call));
        parents.insert(user, resource);
    }
    let mut sizes: HashMap<_, usize> = HashMap::new();
    for call in calls {
        *sizes.entry(root(&mut parents, resource(call))).or_default() += 1;
    }
    sizes.into_values().collect()
}

#[test]
fn transactions_per_user_are_log_normal_with_the_mean_that_is_asked() {
    for (mean, sigma) in [(5, 1.0), (5, 0.5), (20, 1.5)] {
        let spec = Spec { per_user_mean: mean, per_user_sigma: sigma, ..spec() };
        let counts = per_user(&drawn(&spec, TX_COUNT));
        let (seen_mean, seen_deviation) = mean_and_deviation(&counts);
        let (mean, sigma) = (mean as f64, sigma);
        assert!((seen_mean / mean - 1.0).abs() < 0.04, "{mean} {sigma}: {seen_mean}");
        // The deviation of the log-normal; rounding adds a twelfth to the variance.
        let deviation = (mean * mean * ((sigma * sigma).exp() - 1.0) + 1.0 / 12.0).sqrt();
        let ratio = seen_deviation / deviation;
        assert!((ratio - 1.0).abs() < 0.2, "{mean} {sigma}: {seen_deviation}, {deviation}");
        // The median and the tenth above: exp(μ), exp(μ + 1.2816σ), to the nearest whole
        // and the error of a sample.
        let mu = mean.ln() - sigma * sigma / 2.0;
        for (share, z) in [(0.5, 0.0), (0.9, 1.2816)] {
            let seen = counts[(counts.len() as f64 * share) as usize] as f64;
            let expected = (mu + sigma * z).exp();
            assert!(
                (seen - expected).abs() <= 1.0 + expected / 20.0,
                "{mean} {sigma} {share}: {seen}, {expected}"
            );
        }
    }
}

#[test]
fn the_published_variant_has_the_published_quantiles() {
    let spec = Spec { per_user: PerUser::Published, per_user_sigma: 2.5, ..spec() };
    let drawn = drawn(&spec, TX_COUNT);
    assert_eq!(drawn.user_count, TX_COUNT / 5);
    let counts = per_user(&drawn);
    let at = |share: f64| counts[(counts.len() as f64 * share) as usize];
    assert_eq!((at(0.5), at(0.9)), (1, 21));
    assert!((21..=23).contains(&counts[counts.len() - 1]), "{}", counts[counts.len() - 1]);
}

#[test]
fn users_of_a_dapp_are_normally_distributed() {
    for deviation in [0.05, 0.2] {
        let spec = Spec { deviation, outside: Outside::Home(1.0), ..spec() };
        let mut dapps_users: Vec<HashSet<u64>> = vec![HashSet::new(); 400];
        let drawn = drawn(&spec, TX_COUNT);
        for call in &drawn.calls {
            dapps_users[call.dapp].insert(call.user);
        }
        let counts: Vec<u64> = dapps_users.iter().map(|users| users.len() as u64).collect();
        let (mean, seen) = mean_and_deviation(&counts);
        let relative = seen / mean;
        // Some users have no transaction; of 400 samples the deviation is known within 4 %.
        let idle = per_user(&drawn).iter().filter(|count| **count == 0).count() as f64;
        let active = (drawn.user_count as f64 - idle) / 400.0;
        assert!((mean - active).abs() < 1e-6, "{mean} {active}");
        assert!((relative / deviation - 1.0).abs() < 0.12, "{relative}");
        let within = counts.iter().filter(|count| (**count as f64 - mean).abs() < seen).count();
        assert!((240..310).contains(&within), "{within} of 400 within a deviation");
    }
}

#[test]
fn a_share_of_the_transactions_is_outside_and_resources_are_as_likely() {
    for home_share in [0.999, 0.9] {
        let spec = Spec { outside: Outside::Home(home_share), ..spec() };
        let calls = drawn(&spec, TX_COUNT).calls;
        assert_eq!(calls.len() as u64, TX_COUNT);
        // Most of a user's are at home; those of users of few cannot tell.
        let mut of_user: HashMap<u64, HashMap<usize, u64>> = HashMap::new();
        let mut resources = [0_u64; 5];
        for call in &calls {
            *of_user.entry(call.user).or_default().entry(call.dapp).or_default() += 1;
            resources[call.resource] += 1;
        }
        let many = of_user.values().filter(|dapps| dapps.values().sum::<u64>() >= 10);
        let (mut total, mut outside) = (0, 0);
        for dapps in many {
            let sum: u64 = dapps.values().sum();
            total += sum;
            outside += sum - dapps.values().max().unwrap();
        }
        let seen = outside as f64 / total as f64;
        assert!((seen / (1.0 - home_share) - 1.0).abs() < 0.2, "{seen}");
        assert!(resources.iter().all(|count| count.abs_diff(100_000) < 1_500), "{resources:?}");
    }
}

#[test]
fn components_are_dapps_until_enough_transactions_connect_them() {
    let at_home = Spec { outside: Outside::Home(1.0), ..spec() };
    assert_eq!(components(&drawn(&at_home, TX_COUNT).calls).len(), 400);
    let few = components(&drawn(&spec(), 50_000).calls);
    assert!((340..375).contains(&few.len()), "{}", few.len());
    let many = components(&drawn(&spec(), TX_COUNT).calls);
    let largest = *many.iter().max().unwrap();
    assert!(largest as f64 > 0.85 * TX_COUNT as f64, "{largest} of {} components", many.len());
}

/// Users by the DApp that most of their calls are with, and calls that are with another.
fn outside_count(calls: &[Call]) -> u64 {
    let mut of_user: HashMap<u64, HashMap<usize, u64>> = HashMap::new();
    for call in calls {
        *of_user.entry(call.user).or_default().entry(call.dapp).or_default() += 1;
    }
    let counts =
        of_user.values().map(|dapps| dapps.values().sum::<u64>() - dapps.values().max().unwrap());
    counts.sum()
}

#[test]
fn a_number_of_outside_transactions_is_exact_and_at_most_half() {
    for (count, outside, exact) in
        [(50_000, 500, 500), (13_445, 500, 500), (600, 500, 300), (1, 500, 0)]
    {
        let mut random = Random::new(1, "a test");
        let mut outsiders = Outsiders::new(Outside::Count(outside), count);
        let goes = (0..count).filter(|_| !outsiders.stays(&mut random)).count() as u64;
        assert_eq!(goes, exact, "{outside} of {count}");
    }
    let spec = Spec { outside: Outside::Count(500), ..spec() };
    // A user of one call, or with most of them outside, cannot tell where its home is.
    let seen = outside_count(&drawn(&spec, TX_COUNT).calls);
    assert!((400..=500).contains(&seen), "{seen}");
    assert_eq!(
        outside_count(&drawn(&Spec { outside: Outside::Count(0), ..spec }, TX_COUNT).calls),
        0
    );
}

#[test]
fn with_a_number_of_outside_transactions_blocks_of_any_size_are_connected_as_the_published_one() {
    // The DApps that users join, without regard to resources.
    let joined = |calls: &[Call]| {
        let calls: Vec<Call> = calls.iter().map(|call| Call { resource: 0, ..*call }).collect();
        let sizes = components(&calls);
        let largest = *sizes.iter().max().unwrap() as f64 / calls.len() as f64;
        (sizes.len(), largest)
    };
    let (count, largest) = joined(&drawn(&spec(), TX_COUNT).calls);
    let counted = Spec { outside: Outside::Count(500), ..spec() };
    for tx_count in [TX_COUNT, 50_000, 13_445] {
        let of_counted = joined(&drawn(&counted, tx_count).calls);
        assert!(of_counted.0.abs_diff(count) <= 20, "{tx_count}: {of_counted:?}, not {count}");
        assert!((of_counted.1 - largest).abs() < 0.06, "{tx_count}: {of_counted:?}, not {largest}");
    }
    // Drawn by probability, a small block falls apart.
    assert!(joined(&drawn(&spec(), 13_445).calls).0 > 350);
}

#[test]
fn transactions_are_shuffled() {
    let calls = drawn(&spec(), TX_COUNT).calls;
    let dapps: HashSet<usize> = calls[..5_000].iter().map(|call| call.dapp).collect();
    assert!(dapps.len() > 395, "{}", dapps.len());
    let neighbours = calls.windows(2).filter(|two| two[0].user == two[1].user).count();
    assert!(neighbours < 200, "{neighbours}");
}

#[test]
fn few_users_are_spread_over_dapps_too() {
    let dapps: HashSet<usize> = drawn(&spec(), 100).calls.iter().map(|call| call.dapp).collect();
    assert!(dapps.len() > 5, "{dapps:?}");
    assert_eq!(drawn(&Spec { dapp_count: 1, ..spec() }, 100).calls.len(), 100);
}

#[test]
fn evening_out_changes_no_more_than_it_must() {
    let evened = |mut sizes: Vec<u64>, total, least, start| {
        even_out(&mut sizes, total, least, start);
        sizes
    };
    assert_eq!(evened(vec![3, 1, 2], 6, 0, 0), [3, 1, 2]);
    assert_eq!(evened(vec![3, 1, 2], 3, 1, 0), [1, 1, 1]);
    assert_eq!(evened(vec![3, 1, 2], 5, 1, 1), [3, 1, 1]);
    assert_eq!(evened(vec![0, 0, 0], 2, 0, 2), [1, 0, 1]);
    assert_eq!(evened(vec![1, 0], 0, 1, 0), [1, 0], "none goes below the least");
}

#[test]
fn what_is_drawn_never_changes() {
    let calls = drawn(&spec(), 2_000).calls;
    let words = calls
        .iter()
        .flat_map(|call| [call.user, call.dapp as u64, call.resource as u64].map(u64::to_le_bytes));
    let bytes: Vec<u8> = words.flatten().collect();
    assert_eq!(alloy_primitives::keccak256(bytes).to_string(), PINNED);
}

const PINNED: &str = "0x89cafac31b19778336682aa05c2955d9682192b934f0b6ef568263d5495ce62f";
