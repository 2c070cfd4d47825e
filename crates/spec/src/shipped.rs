//! The scenarios that come with `stress`, embedded from `scenarios/`. Twins of official benchmark
//! tests are in `scenarios/official/`, and have the tests' names.

use crate::fault;

macro_rules! shipped {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../../../scenarios/", $name, ".toml")))),+]
    };
}

const ALL: &[(&str, &str)] = shipped![
    "sload-storm",
    "limit-60m",
    "limit-200m",
    "limit-640m",
    "sload-storm-weyl",
    "sload-storm-absent",
    "pointer-chase",
    "transfers",
    "erc20",
    "one-slot",
    "dapps",
    "non-conflicting",
    "chains",
    "mixed-graph",
    "sstore-storm",
    "sustained-writes",
    "root-create",
    "root-clear",
    "root-many-tries",
    "root-one-nibble",
    "root-deep",
    "prefetch-miss",
    "account-storm",
    "balance-storm",
    "contract-chase",
    "sload-storm-descending",
    "sload-storm-calldata",
    "amm",
    "erc721",
    "nft-mint",
    "airdrop",
    "deploy",
    "delegate",
    "compute",
    "logs",
    "giant-tx",
    "mainnet-like",
    "official/test_account_access",
    "official/test_deploy_then_interact",
    "official/test_mixed_dependency_graph",
    "official/test_parallel_execution_serial_chain",
    "official/test_prefetch_cold_storage",
    "official/test_sload_bloated",
    "official/test_sload_bloated_prefetch_miss",
    "official/test_sstore_bloated",
    "official/test_worst_depth_stateroot_recomp",
];

/// Prefix of the names of the twins.
pub(crate) const OFFICIAL: &str = "official/";

/// Name and text of every shipped scenario, the default worst case first.
pub fn all() -> &'static [(&'static str, &'static str)] {
    ALL
}

/// The text of a shipped scenario.
pub fn find(name: &str) -> Option<&'static str> {
    ALL.iter().find(|(shipped, _)| *shipped == name).map(|(_, text)| *text)
}

/// Finds at most `count_max` shipped scenarios that `name` may mean, the nearest name first.
pub(crate) fn nearest(name: &str, count_max: usize) -> Vec<&'static str> {
    let names: Vec<&str> = ALL.iter().map(|(shipped, _)| *shipped).collect();
    fault::nearest_few(name, &names, count_max)
}
