//! The language that the generator and the executor share: what a state holds (a recipe),
//! what a block is, which state it touches (its block-level access list, EIP-7928), and what
//! its outcome must be. Knows no EVM, no store and no scenario file.

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
pub mod rows;
pub mod rules;
pub mod senders;
pub mod signing;
pub mod step;
pub mod stream;

pub use block::{Batch, Block, BlockEnv, ReceivedBlock, Transaction, TxType, Withdrawal, Workload};
pub use file::{FileError, WorkloadError};
pub use fork::{BlobSchedule, ChainRules, Fork, MAINNET_DEPOSIT_CONTRACT};
pub use genesis::{
    AccountFamily, AccountState, CodeRule, Genesis, GenesisAccount, KeyRule, SenderFamily,
    SlotFamily, ValueRule,
};
pub use layout::{Layout, Table};
pub use list::{AccountId, Code, ListBounds, ListError, ListIndex, SlotId};
pub use outcome::{NetChanges, TxOutcome, TxStatus};
pub use rows::{ContentDigest, PartBuffers, RowError, RowSettings, RowStream};
pub use rules::BlockFault;
pub use step::{BlockAccessIndex, Step, StepKind, Steps};
