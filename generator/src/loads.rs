//! The kinds of load: what each has of the genesis, and the planner of its transactions. One file
//! a kind; its keys in a scenario are in `scenario/load/`.

pub(crate) mod chains;
pub(crate) mod dapps;
pub(crate) mod non_conflicting;
pub(crate) mod one_slot;
mod prices;
pub(crate) mod storm;
pub(crate) mod transfers;
