//! Blocks of a running node, by its JSON-RPC interface: headers, transactions, receipts, hashes of
//! the blocks before, and the state below the first block as far as the blocks touch it. The state
//! comes from the node's tracer (`prestateTracer`) and, where that is silent, from single reads of
//! the parent's state. Owns no connection: that is whose [`Rpc`] is given.

mod ask;
mod below;
mod fork;
mod replay;
mod trace;

use std::{collections::BTreeSet, num::NonZeroU64, str::FromStr};

use alloy_primitives::{Address, B256};
use evm::system;
use serde_json::{Value, json};
use workload::{Batch, Block, Fork, Genesis, Workload};

use self::{
    ask::{Asker, Need, Reply},
    below::Below,
};
use super::{ImportError, Imported, SaidReceipt, Source, header, read};

/// Blocks below the first whose hashes code can ask for (BLOCKHASH).
const HASHES: u64 = 256;
/// Most blocks in an import.
pub const MAX_BLOCKS: u64 = 1024;

/// A call of a node's interface.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The method.
    pub method: &'static str,
    /// Its parameters, an array.
    pub params: Value,
}

/// A node's answer that is an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The code; -32601 where there is no such method.
    pub code: i64,
    /// What the node says.
    pub message: String,
}

/// Why there is no answer at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Silence {
    /// The connection, or what came over it.
    Failed {
        /// What happened.
        what: String,
        /// What to do about it.
        remedy: String,
    },
    /// The user does not want to wait for it.
    Stopped,
}

/// A node that answers calls.
pub trait Rpc {
    /// Its name for errors, without what is secret in its URL.
    fn name(&self) -> &str;

    /// Sends `calls` together; gives an answer each, in order.
    ///
    /// # Errors
    /// [`Silence`] where not all of them are answered.
    fn call(&mut self, calls: &[Call]) -> Result<Vec<Result<Value, Refusal>>, Silence>;
}

/// Which blocks are wanted, and how their state is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The last block.
    pub last: BlockName,
    /// Number of consecutive blocks that end with it.
    pub count: NonZeroU64,
    /// The blocks' fork; `None` to ask the node.
    pub fork: Option<Fork>,
    /// Whether the node's tracer is asked.
    pub tracer: Tracer,
}

/// How a block is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockName {
    /// The node's newest.
    Latest,
    /// By number.
    Number(u64),
    /// By hash.
    Hash(B256),
}

impl FromStr for BlockName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = || match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        if text == "latest" {
            return Ok(Self::Latest);
        }
        if text.len() == 66 && text.starts_with("0x") {
            return text.parse().map(Self::Hash).map_err(|_| "a hash has hex digits only".into());
        }
        let signed = text.starts_with('+') || text.starts_with("0x+");
        number().filter(|_| !signed).map(Self::Number).ok_or_else(|| {
            "a block is a number (24476005, 0x1757a65), a hash of 32 bytes, or latest".into()
        })
    }
}

/// Whether the node's tracer is asked for the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracer {
    /// By `debug_traceBlockByNumber`.
    Asked,
    /// Every key is read by itself.
    Avoided,
}

/// Reads the blocks that are `wanted`, and the state below them. What is expected in the
/// workload's batches is still empty: see [`super::complete`].
///
/// # Errors
/// [`ImportError`]: what the node answered to which call, and what to do.
pub fn blocks(rpc: &mut dyn Rpc, wanted: &Wanted) -> Result<Imported, ImportError> {
    let mut node = Asker::new(rpc);
    let chain_id = node.one("eth_chainId", json!([]), Need::Method)?.node().u64()?;
    let bodies = bodies(&mut node, wanted)?;
    let number_of = |body: &Reply| body.node().get(&["number"], "a number")?.u64();
    let (first, last) = (number_of(&bodies[0])?, number_of(&bodies[bodies.len() - 1])?);
    let fork = fork::of(&mut node, wanted.fork, &bodies)?;
    let (first_hash_number, block_hashes) = hashes(&mut node, &bodies, first)?;
    let (mut batches, mut blocks) = (Vec::new(), Vec::new());
    for body in &bodies {
        let header = body.node();
        let (block, mut said) = header::block(&header, &header, fork, chain_id)?;
        // That of the whole state, of which a part is imported.
        said.state_root = None;
        said.receipts = receipts(&mut node, &block, &header)?;
        blocks.push(said);
        batches.push(Batch { blocks: vec![block], ..Batch::default() });
    }
    let name =
        if first == last { format!("block-{last}") } else { format!("blocks-{first}-{last}") };
    let mut workload = Workload {
        scenario: name.clone(),
        fork,
        chain_id,
        first_hash_number,
        block_hashes,
        batches,
        ..Workload::default()
    };
    let traces = match wanted.tracer {
        Tracer::Asked => workload
            .blocks()
            .map(|block| trace::block(&mut node, block))
            .collect::<Result<_, _>>()?,
        Tracer::Avoided => Vec::new(),
    };
    let mut below = Below::new(node, &workload);
    for tx in traces.iter().flatten() {
        below.learn(tx, &changed_untraced(&workload), &system_contracts(fork));
    }
    below.fetch_named(&workload)?;
    let accounts = replay::accounts(below, &workload, &traces)?;
    workload.genesis = Genesis { accounts, ..Genesis::default() };
    Ok(Imported { name, workload, blocks, post_state: Vec::new(), source: Source::Node })
}

/// The system contracts, whose slots change before the first transaction is traced.
fn system_contracts(fork: Fork) -> BTreeSet<Address> {
    system::contracts(fork).into_iter().map(|account| account.address).collect()
}

/// Accounts that a block changes besides what its transactions' tracers are sure to name:
/// receivers of fees and of withdrawals, those who delegate, system contracts.
fn changed_untraced(workload: &Workload) -> BTreeSet<Address> {
    let mut all = system_contracts(workload.fork);
    for block in workload.blocks() {
        all.insert(block.env.beneficiary);
        all.extend(block.withdrawals.iter().map(|withdrawal| withdrawal.address));
        let delegations = block.transactions.iter().flat_map(|tx| &tx.authorizations);
        all.extend(delegations.filter_map(|delegation| delegation.authority));
    }
    all
}

/// The blocks with their transactions, in order, each the parent of the next.
fn bodies(node: &mut Asker<'_>, wanted: &Wanted) -> Result<Vec<Reply>, ImportError> {
    let (method, name) = match wanted.last {
        BlockName::Latest => ("eth_getBlockByNumber", json!("latest")),
        BlockName::Number(number) => ("eth_getBlockByNumber", json!(quantity(number))),
        BlockName::Hash(hash) => ("eth_getBlockByHash", json!(hash)),
    };
    let last = node.one(method, json!([name, true]), Need::Block)?;
    let field = last.node().get(&["number"], "a number")?;
    let number = field.u64()?;
    let count = wanted.count.get();
    if count > number {
        let allowed = format!("{count} or more for {count} blocks: the genesis block is not run");
        return Err(field.fault(allowed));
    }
    let before = (number + 1 - count..number).map(|number| Call {
        method: "eth_getBlockByNumber",
        params: json!([quantity(number), true]),
    });
    let mut all = node.all(before.collect(), Need::Block)?;
    all.push(last);
    Ok(all)
}

/// Number of the first hash, and the hashes from there to the last block's: those that code can
/// ask for, as many as there are.
fn hashes(
    node: &mut Asker<'_>,
    bodies: &[Reply],
    first: u64,
) -> Result<(u64, Vec<B256>), ImportError> {
    let start = first.saturating_sub(HASHES);
    let before = (start..first).map(|number| Call {
        method: "eth_getBlockByNumber",
        params: json!([quantity(number), false]),
    });
    let before = node.all(before.collect(), Need::Block)?;
    let mut out: Vec<B256> = Vec::new();
    for reply in before.iter().chain(bodies) {
        let header = reply.node();
        let parent = header.get(&["parentHash"], "the parent's hash")?;
        if let Some(said) = out.last()
            && parent.b256()? != *said
        {
            let why = "the hash of the block before it; where the chain was reorganised while it \
                       was read, run again";
            return Err(parent.fault(format!("{said}, {why}")));
        }
        out.push(header.get(&["hash"], "its hash")?.b256()?);
    }
    Ok((start, out))
}

fn receipts(
    node: &mut Asker<'_>,
    block: &Block,
    header: &super::node::Node<'_>,
) -> Result<Vec<SaidReceipt>, ImportError> {
    let params = json!([quantity(block.env.number)]);
    let all = match node.attempt("eth_getBlockReceipts", params)? {
        Ok(reply) if !reply.is_null() => {
            reply.node().items()?.iter().map(read::receipt).collect::<Result<_, _>>()?
        }
        Ok(_) | Err(_) => one_by_one(node, header)?,
    };
    Ok(all)
}

/// Receipts of a node that does not give those of a block together.
fn one_by_one(
    node: &mut Asker<'_>,
    header: &super::node::Node<'_>,
) -> Result<Vec<SaidReceipt>, ImportError> {
    let mut calls = Vec::new();
    for tx in header.items_at("transactions")? {
        let hash = tx.get(&["hash"], "the transaction's hash")?.b256()?;
        calls.push(Call { method: "eth_getTransactionReceipt", params: json!([hash]) });
    }
    let replies = node.all(calls, Need::Block)?;
    replies.iter().map(|reply| read::receipt(&reply.node())).collect()
}

/// A number as the interface has it.
fn quantity(number: u64) -> String {
    format!("{number:#x}")
}
