//! Generates a workload from a scenario: contracts, genesis, transactions that fill blocks, and the
//! reference run that gives the outcome of every correct execution. Also imports, exports and
//! describes workloads. The crate knows nothing of the executor: the expected outcome comes from
//! stock revm, run in order over the planned state.

pub mod artifact;
pub mod describe;
mod envelope;
pub mod environment;
mod error;
pub mod export;
mod fill;
mod generate;
mod genesis;
mod holders;
pub mod import;
mod loads;
pub mod meter;
mod planner;
mod probe;
mod random;
mod receipts;
pub mod reference;
mod senders;
mod sizes;
mod state;
mod trial;
mod tries;

pub use environment::BENEFICIARY;
pub use error::{GeneratorError, MeterError};
pub use evm::TxGas;
pub use generate::{GENERATOR_VERSION, Generated, Progress, generate, generate_by_load};
