//! Faults of a recipe, and failures while its rows are made.

use std::path::PathBuf;

use alloy_primitives::{Address, U256};

use crate::{recipe::GenesisError, senders::SenderError};

/// Reason that rows cannot be made. Each message names the wrong part of the recipe and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum RowError {
    /// The recipe contradicts itself.
    #[error(transparent)]
    Recipe(GenesisError),
    /// A sender family has an invalid secret.
    #[error("sender family {family}: {source}")]
    Sender {
        /// Index of the family among the recipe's sender families.
        family: usize,
        /// The fault.
        source: SenderError,
    },
    /// Two parts of the recipe have the same address.
    #[error("{address} is both {first} and {second}; remove one of them")]
    DuplicateAccount {
        /// The address.
        address: Address,
        /// The first part.
        first: AccountOrigin,
        /// The second part.
        second: AccountOrigin,
    },
    /// Two sender families share secrets.
    #[error(
        "sender families {first} and {second} share the secret {secret:#x}; move one's \
         first_secret away by at least the other's count"
    )]
    OverlappingSenders {
        /// The family that begins first.
        first: usize,
        /// The other family.
        second: usize,
        /// The first shared secret.
        secret: U256,
    },
    /// An account has the same slot twice.
    #[error("slot {slot:#x} of {address} is given twice; keep one value")]
    DuplicateSlot {
        /// The account.
        address: Address,
        /// The slot.
        slot: U256,
    },
    /// More rows than a 32-bit index can name.
    #[error("{what}: {count} rows; at most 2^32 are possible, choose fewer")]
    TooManyRows {
        /// Description of the rows.
        what: String,
        /// Number of the rows.
        count: u64,
    },
    /// The scratch file failed.
    #[error(
        "cannot {action} a scratch file in {path}: {source}; free {} there, or name another directory",
        crate::size(*needed_bytes)
    )]
    Scratch {
        /// The failed operation, as a verb.
        action: &'static str,
        /// The directory of the file.
        path: PathBuf,
        /// Size of the whole file.
        needed_bytes: u64,
        /// The cause.
        source: std::io::Error,
    },
    /// [`RowSettings::cancel`](crate::RowSettings::cancel) was set.
    #[error("cancelled while making rows")]
    Cancelled,
}

/// The part of a recipe that an account comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountOrigin {
    /// An explicit account.
    Explicit,
    /// A member of a sender family.
    Sender {
        /// Index of the family among the recipe's sender families.
        family: usize,
        /// Index of the sender.
        index: u64,
    },
    /// A member of an account family.
    Family {
        /// Index of the family among the recipe's account families.
        family: usize,
        /// Index of the account.
        index: u64,
    },
}

impl std::fmt::Display for AccountOrigin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Explicit => f.write_str("an explicit account"),
            Self::Sender { family, index } => write!(f, "sender {index} of family {family}"),
            Self::Family { family, index } => {
                write!(f, "account {index} of account family {family}")
            }
        }
    }
}
