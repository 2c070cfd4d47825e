//! Stock revm for a workload: converts blocks and transactions for revm, and runs one step of a
//! batch over any state. Owns no state, no order of execution and no expected outcome. So the
//! reference and every engine run the same EVM and differ only in their own part.

pub mod changes;
pub mod creations;
pub mod deposits;
pub mod env;
pub mod fees;
pub mod gas;
pub mod net;
pub mod parts;
pub mod run;
pub mod system;

pub use changes::{AccountWrite, StepWrites};
pub use creations::creations;
pub use deposits::{DepositFault, deposit_request};
pub use env::EarlyRules;
pub use fees::Fees;
pub use gas::BlockGas;
pub use net::{account_state, net_changes};
pub use parts::Parts;
pub use run::{GWEI, Runner, StepError, StepOutput, TxGas, TxResult};
