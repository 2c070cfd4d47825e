//! The reference: stock revm, one step after another, over a map of the planned state. Makes
//! the expected outcome of every variant; knows nothing of the code or the store under test.

mod chain;
mod error;
mod planned;
mod run;
mod verify;

pub(crate) use chain::ChainRun;
pub use error::ReferenceError;
pub use planned::{PlanError, PlannedState};
pub use run::{Answer, BatchReference, ExecutedTx, ReferenceRun, complete, full_lists, run};
pub use verify::verify;
