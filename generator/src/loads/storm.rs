//! Loads that ask for as many cold keys as fit: their part of a genesis, the parts of each,
//! and their transactions.

mod kinds;
mod parts;
mod picks;
mod place;
mod transactions;

pub(crate) use kinds::{At, account, balance, contract_chase, prefetch_miss, sload, sstore};
pub(crate) use place::StormPlace;
