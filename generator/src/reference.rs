//! The reference: stock revm, one step after another, over a map of the planned state. Its outcome
//! is the expected outcome of every variant. It knows nothing of the engines and stores under test.

mod chain;
mod error;
mod planned;
mod run;
mod verify;

pub(crate) use chain::ChainRun;
pub use error::ReferenceError;
pub use planned::{PlanError, PlannedState};
pub use run::{BatchReference, ExecutedTx, ReferenceRun, StopAnswer, complete, full_lists, run};
pub use verify::verify;
