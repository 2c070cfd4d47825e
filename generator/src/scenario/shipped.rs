//! The scenarios that come with `stress`, embedded: the files of `scenarios/`.

macro_rules! shipped {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../../../scenarios/", $name, ".toml")))),+]
    };
}

const ALL: &[(&str, &str)] = shipped![
    "sload-storm",
    "sload-storm-weyl",
    "sload-storm-absent",
    "pointer-chase",
    "transfers",
    "erc20",
    "one-slot",
    "amm",
    "nft-mint",
    "deploy",
    "giant-tx",
    "mainnet-like"
];

/// Name and text of every shipped scenario, the default worst case first.
pub fn all() -> &'static [(&'static str, &'static str)] {
    ALL
}

/// The text of a shipped scenario.
pub fn find(name: &str) -> Option<&'static str> {
    ALL.iter().find(|(shipped, _)| *shipped == name).map(|(_, text)| *text)
}
