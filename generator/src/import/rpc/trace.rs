//! Reads a node's traces of a block's transactions (`prestateTracer`), for `blocks.rs`: the state
//! before each transaction and, in the tracer's diff mode, its changes. The tracer leaves out
//! absent values, the system calls before the first transaction, and withdrawals.

use std::collections::BTreeMap;

use alloy_primitives::{Address, Bytes, U256, keccak256};
use revm::state::{Account, EvmState};
use serde_json::{Value, json};
use workload::Block;

use super::{
    super::{ImportError, json::Json},
    client::{Need, Reply, RpcClient},
    quantity,
};

/// The values of an account in a trace. Values that the trace leaves out are `None`, or not among
/// the slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TracedAccount {
    pub(super) balance: Option<U256>,
    pub(super) nonce: Option<u64>,
    pub(super) code: Option<Bytes>,
    pub(super) slots: BTreeMap<U256, U256>,
}

/// The trace of a transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TxTrace {
    /// Accounts and slots that the transaction touched, with their values before it.
    pub(super) before: BTreeMap<Address, TracedAccount>,
    /// Accounts and slots that the transaction changed, with their values before it.
    pub(super) changed_before: BTreeMap<Address, TracedAccount>,
    /// Accounts and slots that the transaction changed, with their values after it. A slot that it
    /// cleared is left out.
    pub(super) changed_after: BTreeMap<Address, TracedAccount>,
}

/// A difference between the changes of a transaction in this run and in its trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    /// Name of the value that differs.
    pub(super) what: String,
    /// The value in the trace.
    pub(super) said: String,
    /// The value in this run.
    pub(super) made: String,
}

/// Asks for the traces of a block's transactions, in order; `None` if the node has no tracer.
pub(super) fn tx_traces(
    client: &mut RpcClient<'_>,
    block: &Block,
) -> Result<Option<Vec<TxTrace>>, ImportError> {
    let Some(before) = trace_block(client, block, json!({}))? else { return Ok(None) };
    let Some(changes) = trace_block(client, block, json!({"diffMode": true}))? else {
        return Ok(None);
    };
    let (before, changes) = (traces(&before, block)?, traces(&changes, block)?);
    let traces: Result<Vec<_>, _> = before
        .into_iter()
        .zip(changes)
        .map(|(before, changes)| {
            const DIFF: &str = "the diff mode of the prestateTracer";
            let changes = result(&changes)?;
            Ok(TxTrace {
                before: accounts(&result(&before)?)?,
                changed_before: accounts(&changes.get(&["pre"], DIFF)?)?,
                changed_after: accounts(&changes.get(&["post"], DIFF)?)?,
            })
        })
        .collect();
    traces.map(Some)
}

/// Asks for the traces of a block by the tracer with this `config`; `None` if the node has no
/// tracer.
fn trace_block(
    client: &mut RpcClient<'_>,
    block: &Block,
    config: Value,
) -> Result<Option<Reply>, ImportError> {
    let number = block.env.number;
    let tracer = json!({"tracer": "prestateTracer", "tracerConfig": config});
    let need = Need::State(number.saturating_sub(1));
    client.known("debug_traceBlockByNumber", json!([quantity(number), tracer]), need)
}

/// Returns the traces in `reply`, and checks that there is one for each transaction of `block`.
fn traces<'r>(reply: &'r Reply, block: &Block) -> Result<Vec<Json<'r>>, ImportError> {
    let all = reply.json();
    let traces = all.items()?;
    let (count, tx_count) = (traces.len(), block.transactions.len());
    let allowed = format!("{tx_count} traces, one for each transaction; these are {count}");
    if count == tx_count { Ok(traces) } else { Err(all.fault(allowed)) }
}

/// Returns the `result` of a transaction's trace.
fn result<'n>(node: &Json<'n>) -> Result<Json<'n>, ImportError> {
    node.get(&["result"], "the trace of a transaction")
}

fn accounts(node: &Json<'_>) -> Result<BTreeMap<Address, TracedAccount>, ImportError> {
    let accounts = node.entries()?.into_iter();
    accounts.map(|(key, node)| Ok((node.address_of_key(key)?, account(&node)?))).collect()
}

fn account(node: &Json<'_>) -> Result<TracedAccount, ImportError> {
    let mut slots = BTreeMap::new();
    if let Some(storage) = node.find(&["storage"])? {
        for (key, value) in storage.entries()? {
            slots.insert(value.u256_of_key(key)?, value.u256()?);
        }
    }
    Ok(TracedAccount {
        balance: node.u256_at("balance")?,
        nonce: node.u64_at("nonce")?,
        code: node.find(&["code"])?.map(|code| code.bytes()).transpose()?,
        slots,
    })
}

impl TxTrace {
    /// Returns the first difference between the trace and `made`, the changes of the transaction in
    /// this run; `None` if this run has all changes of the trace.
    pub(super) fn difference(&self, made: &EvmState) -> Option<Difference> {
        self.changed_after.iter().find_map(|(address, said)| {
            let Some(made) = made.get(address) else {
                let what = format!("account {address}");
                let (said, made) = ("changed".to_owned(), "not touched".to_owned());
                return Some(Difference { what, said, made });
            };
            let (name, said, made) = self.value_that_differs(address, said, made)?;
            Some(Difference { what: format!("the {name} of {address}"), said, made })
        })
    }

    /// Returns the name of the first value of an account that differs, the value in the trace, and
    /// the value in this run.
    fn value_that_differs(
        &self,
        address: &Address,
        said: &TracedAccount,
        made: &Account,
    ) -> Option<(String, String, String)> {
        let info = &made.info;
        if let Some(said) = said.balance.filter(|said| *said != info.balance) {
            return Some(("balance".to_owned(), said.to_string(), info.balance.to_string()));
        }
        if let Some(said) = said.nonce.filter(|said| *said != info.nonce) {
            return Some(("nonce".to_owned(), said.to_string(), info.nonce.to_string()));
        }
        let code_hash = said.code.as_ref().map(keccak256);
        if let Some(said) = code_hash.filter(|said| *said != info.code_hash) {
            return Some(("code hash".to_owned(), said.to_string(), info.code_hash.to_string()));
        }
        let before = self.changed_before.get(address).into_iter().flat_map(|a| a.slots.keys());
        // The trace shows a cleared slot only before the transaction.
        let cleared = before.filter(|key| !said.slots.contains_key(*key));
        let cleared = cleared.map(|key| (key, U256::ZERO));
        let mut all = said.slots.iter().map(|(key, value)| (key, *value)).chain(cleared);
        all.find_map(|(key, value)| {
            let made = made.storage.get(key).map_or(U256::ZERO, |slot| slot.present_value);
            (made != value)
                .then(|| (format!("slot {key:#x}"), format!("{value:#x}"), format!("{made:#x}")))
        })
    }
}
