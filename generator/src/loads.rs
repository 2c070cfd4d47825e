//! The kinds of load: what each has of the genesis, and the planner of its transactions. One file
//! a kind; its keys in a scenario are in `scenario/load/`.

pub(crate) mod airdrop;
pub(crate) mod amm;
pub(crate) mod calls;
pub(crate) mod chains;
pub(crate) mod compute;
pub(crate) mod dapps;
pub(crate) mod delegate;
pub(crate) mod deploy;
pub(crate) mod logs;
pub(crate) mod nft;
pub(crate) mod non_conflicting;
pub(crate) mod one_slot;
mod prices;
pub(crate) mod solidity;
pub(crate) mod storm;
pub(crate) mod transfers;
