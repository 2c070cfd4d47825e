//! Storms: loads whose transactions access as many cold keys as fit. `place` adds a storm's part to
//! the genesis, `kinds` makes its `parts`, and `transactions` plans it; `picks` finds slots below a
//! nibble.

mod kinds;
mod parts;
mod picks;
mod place;
mod transactions;

pub(crate) use kinds::{StormEnv, account, balance, contract_chase, prefetch_miss, sload, sstore};
pub(crate) use place::StormInput;
