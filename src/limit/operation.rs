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
enum Counted {
    Slots,
    Accounts,
    Transactions,
}

impl Operation {
    /// Returns the operation of `scenario`, and its gas by the facts of a `block`.
    pub fn of(scenario: &Scenario, block: &WorkloadFacts) -> Self {
        let (name, counted) = match scenario.loads.as_slice() {
            [load] => named(&load.kind),
            _ => ("transaction".to_owned(), Counted::Transactions),
        };
        let count = match counted {
            Counted::Slots => block.list_slot_count,
            // The list also has the sender of each transaction.
            Counted::Accounts => block.list_account_count.saturating_sub(block.tx_count),
            Counted::Transactions => block.tx_count,
        };
        Self { name, gas: block.header_gas as f64 / count.max(1) as f64 }
    }
}

fn named(kind: &LoadKind) -> (String, Counted) {
    match kind {
        LoadKind::SloadStorm(storm) if storm.overlap == Overlap::Nothing => {
            ("cold SLOAD".to_owned(), Counted::Slots)
        }
        LoadKind::PrefetchMiss(_) | LoadKind::BalanceStorm(_) => {
            ("cold SLOAD".to_owned(), Counted::Slots)
        }
        LoadKind::SstoreStorm(storm) => (format!("cold SSTORE ({})", storm.op), Counted::Slots),
        LoadKind::ContractChase(_) => ("cold CALL, SLOAD".to_owned(), Counted::Slots),
        LoadKind::AccountStorm(storm) => (format!("cold {}", opcode(storm.op)), Counted::Accounts),
        _ => ("transaction".to_owned(), Counted::Transactions),
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
