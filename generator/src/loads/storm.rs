//! Storms: loads whose transactions access as many cold keys as fit. The modules have the storms'
//! part of a genesis, the parts of a storm, and its transactions.

mod kinds;
mod parts;
mod picks;
mod place;
mod transactions;

pub(crate) use kinds::{StormEnv, account, balance, contract_chase, prefetch_miss, sload, sstore};
pub(crate) use place::StormInput;
