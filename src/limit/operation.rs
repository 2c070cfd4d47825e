//! The operation that fills the blocks of a load: its name, and its gas, by which `ladder` computes
//! its time and its price.

use result::WorkloadFacts;
use spec::{AccountOp, LoadKind, Overlap, Scenario};

/// The name of the operation, and its gas.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    pub name: String,
    /// Gas of a block over its number of operations.
    pub gas: f64,
}

/// The unit by which operations of a block are counted.
enum Unit {
    Slots,
    Accounts,
    Transactions,
}

impl Operation {
    /// Returns the operation of `scenario`, and its gas by the facts of a `block`.
    pub fn of(scenario: &Scenario, block: &WorkloadFacts) -> Self {
        let (name, unit) = match scenario.loads.as_slice() {
            [load] => operation(&load.kind),
            _ => ("transaction".to_owned(), Unit::Transactions),
        };
        let count = match unit {
            Unit::Slots => block.list_slot_count,
            // The list also has the sender of each transaction.
            Unit::Accounts => block.list_account_count.saturating_sub(block.tx_count),
            Unit::Transactions => block.tx_count,
        };
        Self { name, gas: block.header_gas as f64 / count.max(1) as f64 }
    }
}

/// Returns the name of the operation of a load, and the unit by which it is counted.
fn operation(kind: &LoadKind) -> (String, Unit) {
    match kind {
        LoadKind::SloadStorm(storm) if storm.overlap == Overlap::Nothing => {
            ("cold SLOAD".to_owned(), Unit::Slots)
        }
        LoadKind::PrefetchMiss(_) | LoadKind::BalanceStorm(_) => {
            ("cold SLOAD".to_owned(), Unit::Slots)
        }
        LoadKind::SstoreStorm(storm) => (format!("cold SSTORE ({})", storm.op), Unit::Slots),
        LoadKind::ContractChase(_) => ("cold CALL, SLOAD".to_owned(), Unit::Slots),
        LoadKind::AccountStorm(storm) => (format!("cold {}", opcode(storm.op)), Unit::Accounts),
        _ => ("transaction".to_owned(), Unit::Transactions),
    }
}

const fn opcode(op: AccountOp) -> &'static str {
    match op {
        AccountOp::Balance => "BALANCE",
        AccountOp::CodeSize => "EXTCODESIZE",
        AccountOp::CodeHash => "EXTCODEHASH",
        AccountOp::CodeCopy => "EXTCODECOPY",
        AccountOp::Call => "CALL",
    }
}
