//! Stock revm for a workload: converts blocks and transactions for revm, and runs one step of a
//! batch over any state. The reference and all engines call it, so they run the same EVM. Owns no
//! state, no order of execution and no expected outcome.

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
pub use net::{account_info, account_state, net_changes};
pub use parts::Parts;
pub use run::{GWEI, Runner, StepError, StepOutput, TxGas, TxResult};
