//! The data types that generator and executor share: states (as recipes), blocks, block-level
//! access lists (EIP-7928), and expected outcomes. Also what follows from them alone: the rows of a
//! state, signatures, files and JSON. The crate knows no EVM, no store and no scenario file.

pub mod accounts;
pub mod block;
pub mod deep;
pub mod file;
pub mod fork;
pub mod genesis;
pub mod json;
pub mod keccak;
mod keys;
pub mod layout;
pub mod list;
pub mod outcome;
mod recipe;
pub mod rows;
pub mod rules;
pub mod senders;
pub mod signing;
pub mod step;
pub mod stream;

pub use block::{Batch, Block, BlockEnv, ReceivedBlock, Transaction, TxType, Withdrawal, Workload};
pub use file::{FileError, WorkloadError};
pub use fork::{
    BlobSchedule, ChainRules, Fork, ForkChange, ForkSchedule, MAINNET_DEPOSIT_CONTRACT,
};
pub use genesis::{
    AccountFamily, AccountState, CodeRule, Genesis, GenesisAccount, KeyRule, SenderFamily,
    SlotFamily, ValueRule,
};
pub use layout::{Layout, Table};
pub use list::{AccountId, Code, ListBounds, ListError, ListIndex, SlotId};
pub use outcome::{NetChanges, TxOutcome, TxStatus};
pub use recipe::GenesisError;
pub use rows::{ContentDigest, PartBuffers, RowError, RowSettings, RowStream};
pub use rules::BlockFault;
pub use step::{BlockAccessIndex, Step, StepKind, Steps};

/// Formats a number of bytes with a decimal prefix, for messages: `512 B`, `9.6 GB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    let power = bytes.checked_ilog10().unwrap_or(0) as usize / 3;
    match power {
        0 => format!("{bytes} B"),
        _ => format!("{:.1} {}", bytes as f64 / 1e3_f64.powi(power as i32), UNITS[power]),
    }
}
