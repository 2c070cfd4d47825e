//! Sends a workload to a live node over JSON-RPC. Funds accounts, creates contracts, sends signed
//! transactions at a pace, and finds them in the node's blocks. Records the fate of each
//! transaction. A load is one run of this: all transactions of a [`Plan`], sent to one node. Knows
//! no executor, no scenario and no terminal.
//!
//! [`Plan`] turns a workload into transactions of a live chain, and [`Session`] connects to the
//! node. `setup` pays the senders and creates the contracts, and `drive` sends the transactions.
//! `ledger` records the fate of each transaction, from the blocks that `watch` reads.

mod account;
mod codes;
mod drive;
mod error;
mod fees;
mod http;
mod ledger;
mod measured;
mod node;
mod pace;
mod plan;
mod public;
mod session;
mod settings;
mod setup;
mod stop;
mod url;
mod watch;

pub use error::{CallError, ErrorKind, SendError, one_line};
pub use http::{BlockingClient, Compression, HttpAnswer, HttpClient, HttpError, HttpLimits};
pub use ledger::Tally;
pub use measured::{
    Attempts, Block, Confirmations, End, ErrorCount, Latencies, Measured, PoolDepth, Reorgs, Waits,
};
pub use pace::Pace;
pub use plan::{Plan, PlanError};
pub use session::Session;
pub use settings::{Funder, NodeFacts, Settings, Snapshot};
pub use setup::{Ready, SetupFacts};
pub use url::{NodeUrl, Transport};
