//! A node's trace of the transactions of a block (`prestateTracer`): the state before each, and in
//! its diff mode the changes of each. Tracers leave out absent values, the system calls before the
//! first transaction, and withdrawals.

use std::collections::BTreeMap;

use alloy_primitives::{Address, Bytes, U256, keccak256};
use revm::state::EvmState;
use serde_json::json;
use workload::Block;

use super::{
    super::{ImportError, node::Node},
    ask::{Asker, Need},
    quantity,
};

/// The trace of an account; empty where there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Traced {
    pub(super) balance: Option<U256>,
    pub(super) nonce: Option<u64>,
    pub(super) code: Option<Bytes>,
    pub(super) slots: BTreeMap<U256, U256>,
}

/// The trace of a transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TxTrace {
    /// The state that it touched, as it was before it.
    pub(super) before: BTreeMap<Address, Traced>,
    /// The state that it changed, as it was before it.
    pub(super) changed_before: BTreeMap<Address, Traced>,
    /// The state that it changed, as it is after it; a slot that is cleared is left out.
    pub(super) changed_after: BTreeMap<Address, Traced>,
}

/// Where a transaction has changed something else than the tracer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) what: String,
    pub(super) said: String,
    pub(super) made: String,
}

/// The traces of a block's transactions, in order.
pub(super) fn block(node: &mut Asker<'_>, block: &Block) -> Result<Vec<TxTrace>, ImportError> {
    let number = block.env.number;
    let need = Need::Tracer(number.saturating_sub(1));
    let mut ask = |config| {
        let tracer = json!({"tracer": "prestateTracer", "tracerConfig": config});
        node.one("debug_traceBlockByNumber", json!([quantity(number), tracer]), need)
    };
    let (before, changes) = (ask(json!({}))?, ask(json!({"diffMode": true}))?);
    let (before, changes) = (before.node(), changes.node());
    let tx_count = block.transactions.len();
    let check_count = |all: &Node<'_>| -> Result<(), ImportError> {
        let count = all.items()?.len();
        let allowed = format!("{tx_count} traces, one for each transaction; these are {count}");
        if count == tx_count { Ok(()) } else { Err(all.fault(allowed)) }
    };
    check_count(&before)?;
    check_count(&changes)?;
    let each = before.items()?.into_iter().zip(changes.items()?);
    each.map(|(before, changes)| {
        let changes = result(&changes)?;
        let part = |key| accounts(&changes.get(&[key], "the diff mode of the prestateTracer")?);
        Ok(TxTrace {
            before: accounts(&result(&before)?)?,
            changed_before: part("pre")?,
            changed_after: part("post")?,
        })
    })
    .collect()
}

fn result<'n>(node: &Node<'n>) -> Result<Node<'n>, ImportError> {
    node.get(&["result"], "the trace of a transaction")
}

fn accounts(node: &Node<'_>) -> Result<BTreeMap<Address, Traced>, ImportError> {
    let account = |key: &str, node: Node<'_>| {
        let mut slots = BTreeMap::new();
        if let Some(storage) = node.find(&["storage"])? {
            for (key, value) in storage.entries()? {
                slots.insert(value.u256_of_key(key)?, value.u256()?);
            }
        }
        let traced = Traced {
            balance: node.find(&["balance"])?.map(|balance| balance.u256()).transpose()?,
            nonce: node.find(&["nonce"])?.map(|nonce| nonce.u64()).transpose()?,
            code: node.find(&["code"])?.map(|code| code.bytes()).transpose()?,
            slots,
        };
        Ok((node.address_of_key(key)?, traced))
    };
    node.entries()?.into_iter().map(|(key, node)| account(key, node)).collect()
}

impl TxTrace {
    /// The place where `made`, the transaction's changes here, differs from the trace.
    pub(super) fn difference(&self, made: &EvmState) -> Option<Difference> {
        let account = |address: &Address, said: &Traced| {
            let Some(made) = made.get(address) else {
                let what = format!("account {address}");
                let (said, made) = ("changed".to_owned(), "not touched".to_owned());
                return Some(Difference { what, said, made });
            };
            let differs = |what: &str, said: String, made: String| {
                Some(Difference { what: format!("the {what} of {address}"), said, made })
            };
            let info = &made.info;
            if let Some(said) = said.balance.filter(|said| *said != info.balance) {
                return differs("balance", said.to_string(), info.balance.to_string());
            }
            if let Some(said) = said.nonce.filter(|said| *said != info.nonce) {
                return differs("nonce", said.to_string(), info.nonce.to_string());
            }
            let code_hash = said.code.as_ref().map(keccak256);
            if let Some(said) = code_hash.filter(|said| *said != info.code_hash) {
                return differs("code hash", said.to_string(), info.code_hash.to_string());
            }
            let before = self.changed_before.get(address).into_iter().flat_map(|a| a.slots.keys());
            let cleared = before.filter(|key| !said.slots.contains_key(*key));
            let cleared = cleared.map(|key| (key, U256::ZERO));
            let all = said.slots.iter().map(|(key, value)| (key, *value)).chain(cleared);
            all.into_iter().find_map(|(key, value)| {
                let slot = made.storage.get(key);
                let made = slot.map_or(U256::ZERO, |slot| slot.present_value);
                let what = format!("slot {key:#x}");
                if made == value {
                    None
                } else {
                    differs(&what, format!("{value:#x}"), format!("{made:#x}"))
                }
            })
        };
        self.changed_after.iter().find_map(|(address, said)| account(address, said))
    }
}
