//! Loads that ask for as many cold keys as fit: what they have of a genesis, what each is made of,
//! and their transactions.

mod kinds;
mod parts;
mod place;
mod transactions;

pub(crate) use kinds::{At, account, balance, contract_chase, prefetch_miss, sload, sstore};
pub(crate) use place::StormPlace;
