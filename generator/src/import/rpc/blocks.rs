//! Imports the wanted blocks of a node, each the parent of the next. Of the state before the first
//! block, imports only the part that the blocks touch. `stress import rpc` calls it.

use alloy_consensus::Header;
use alloy_primitives::B256;
use serde_json::json;
use workload::{Batch, Block, Genesis, Workload};

use super::{
    super::{ImportError, Imported, Source, StatedReceipt, header, json::Json, read, rules},
    BlockName, Call, Rpc, Wanted,
    client::{Need, Reply, RpcClient},
    fork, quantity, replay,
    state_before::{NodeState, StateBefore, changed_untraced, system_contracts},
    trace,
};
use crate::environment::ANCESTOR_COUNT;

/// Reads the `wanted` blocks and the state before them. The expected outcome in the workload's
/// batches is still empty: see [`crate::import::complete`].
///
/// # Errors
/// [`ImportError`]: the call, the node's answer, and the remedy.
pub fn blocks(rpc: &mut dyn Rpc, wanted: &Wanted) -> Result<Imported, ImportError> {
    let mut client = RpcClient::new(rpc);
    let chain_id = client.one("eth_chainId", json!([]), Need::Method)?.json().u64()?;
    let replies = wanted_blocks(&mut client, wanted)?;
    let headers = replies.iter().map(|reply| header::header(&reply.json()));
    let headers = headers.collect::<Result<Vec<_>, _>>()?;
    let (first, last) = (headers[0].number, headers[headers.len() - 1].number);
    let rules = fork::schedule(&mut client, wanted.fork, &headers)?;
    let Ancestors { start: first_hash_number, hashes: block_hashes, mut parent } =
        ancestors(&mut client, &replies, first)?;
    let (mut batches, mut blocks) = (Vec::new(), Vec::new());
    for (reply, header) in replies.iter().zip(headers) {
        let json = reply.json();
        let rules = rules.at(header.timestamp);
        rules::check(&header, &parent, rules)?;
        header::check_no_ommers(&json)?;
        parent = header.clone();
        let body = header::Body::new(&json, chain_id)?;
        let (block, mut said) = header::block(&json, header, body, rules)?;
        said.hash = Some(json.get(&["hash"], "its hash")?.b256()?);
        // The root of the whole state cannot be compared, as only a part of the state is imported.
        said.state_root = None;
        said.receipts = Some(receipts(&mut client, &block, &json)?);
        blocks.push(said);
        batches.push(Batch { blocks: vec![block], ..Batch::default() });
    }
    let name =
        if first == last { format!("block-{last}") } else { format!("blocks-{first}-{last}") };
    let mut workload = Workload {
        scenario: name,
        rules,
        chain_id,
        first_hash_number,
        block_hashes,
        batches,
        ..Workload::default()
    };
    let traces = workload.blocks().map(|block| trace::tx_traces(&mut client, block));
    let traces = traces.collect::<Result<Option<Vec<_>>, _>>()?.unwrap_or_default();
    if traces.is_empty() {
        let not_compared = "changes of each transaction, as the node has no tracer";
        blocks.iter_mut().for_each(|block| block.not_compared.push(not_compared));
    }
    let mut source = NodeState { client, number: first - 1 };
    let mut state = StateBefore::new(&mut source, &workload);
    for tx in traces.iter().flatten() {
        state.add_trace(tx, &changed_untraced(&workload), &system_contracts(&workload.rules));
    }
    state.fetch_named(&workload)?;
    let accounts = replay::run(state, &workload, &traces)?.database.into_accounts();
    workload.genesis = Genesis { accounts, ..Genesis::default() };
    Ok(Imported { source: Source::Node, ..Imported::new(workload, blocks) })
}

/// Checks that the block of a reply has the number that was asked for.
fn check_number(reply: &Reply, wanted: u64) -> Result<(), ImportError> {
    let number = reply.json().get(&["number"], "a number")?;
    match number.u64()? == wanted {
        true => Ok(()),
        false => {
            Err(number.fault(format!("{wanted:#x}, the number of the block that was asked for")))
        }
    }
}

/// Checks that the header in a reply has the hash that the reply gives, and the hash `wanted` if
/// there is one.
fn check_hash(reply: &Reply, wanted: Option<B256>) -> Result<(), ImportError> {
    let json = reply.json();
    let hash = json.get(&["hash"], "its hash")?;
    hash.check_b256(header::header(&json)?.hash_slow(), "the hash of these fields")?;
    let asked = "the hash of the block that was asked for";
    wanted.map_or(Ok(()), |wanted| hash.check_b256(wanted, asked))
}

/// Asks for the wanted blocks with their transactions, and checks their numbers. Returns them in
/// order.
fn wanted_blocks(client: &mut RpcClient<'_>, wanted: &Wanted) -> Result<Vec<Reply>, ImportError> {
    let (method, name) = match wanted.last {
        BlockName::Latest => ("eth_getBlockByNumber", json!("latest")),
        BlockName::Number(number) => ("eth_getBlockByNumber", json!(quantity(number))),
        BlockName::Hash(hash) => ("eth_getBlockByHash", json!(hash)),
    };
    let last = client.one(method, json!([name, true]), Need::Block)?;
    let field = last.json().get(&["number"], "a number")?;
    let number = field.u64()?;
    match wanted.last {
        BlockName::Latest => {}
        BlockName::Number(wanted) => check_number(&last, wanted)?,
        BlockName::Hash(wanted) => check_hash(&last, Some(wanted))?,
    }
    let count = wanted.count.get();
    if count > number {
        let allowed = format!("{count} or more for {count} blocks: the genesis block is not run");
        return Err(field.fault(allowed));
    }
    let before_last = number - (count - 1)..number;
    let calls = before_last.clone().map(|number| Call {
        method: "eth_getBlockByNumber",
        params: json!([quantity(number), true]),
    });
    let mut all = client.all(calls.collect(), Need::Block)?;
    all.iter().zip(before_last).try_for_each(|(reply, number)| check_number(reply, number))?;
    all.push(last);
    Ok(all)
}

/// The blocks before the first wanted block, as far back as BLOCKHASH can read their hashes.
struct Ancestors {
    /// Number of the first of these blocks.
    start: u64,
    /// Hashes of the blocks from `start` to the last wanted block.
    hashes: Vec<B256>,
    /// Header of the first wanted block's parent.
    parent: Header,
}

/// Asks for the ancestors of the block `first`, the first of `blocks`. Checks that each block is
/// the parent of the next.
fn ancestors(
    client: &mut RpcClient<'_>,
    blocks: &[Reply],
    first: u64,
) -> Result<Ancestors, ImportError> {
    let start = first.saturating_sub(ANCESTOR_COUNT);
    let before = (start..first).map(|number| Call {
        method: "eth_getBlockByNumber",
        params: json!([quantity(number), false]),
    });
    let before = client.all(before.collect(), Need::Block)?;
    for (reply, number) in before.iter().zip(start..first) {
        check_number(reply, number)?;
        check_hash(reply, None)?;
    }
    let parent = header::header(&before[before.len() - 1].json())?;
    let mut hashes: Vec<B256> = Vec::new();
    for reply in before.iter().chain(blocks) {
        let json = reply.json();
        let parent = json.get(&["parentHash"], "the parent's hash")?;
        if let Some(said) = hashes.last() {
            let why = "the hash of the block before it; where the chain was reorganised while it \
                       was read, run again";
            parent.check_b256(*said, why)?;
        }
        hashes.push(json.get(&["hash"], "its hash")?.b256()?);
    }
    Ok(Ancestors { start, hashes, parent })
}

/// Asks for the receipts of `block`, whose JSON is `json`.
fn receipts(
    client: &mut RpcClient<'_>,
    block: &Block,
    json: &Json<'_>,
) -> Result<Vec<StatedReceipt>, ImportError> {
    let params = json!([quantity(block.env.number)]);
    match client.attempt("eth_getBlockReceipts", params)? {
        Ok(reply) if !reply.is_null() => read::receipts(&reply.json()),
        Ok(_) | Err(_) => receipts_one_by_one(client, json),
    }
}

/// Asks for each receipt alone, as some nodes do not give the receipts of a block together.
fn receipts_one_by_one(
    client: &mut RpcClient<'_>,
    block: &Json<'_>,
) -> Result<Vec<StatedReceipt>, ImportError> {
    let mut calls = Vec::new();
    for tx in block.items_at("transactions")? {
        let hash = tx.get(&["hash"], "the transaction's hash")?.b256()?;
        calls.push(Call { method: "eth_getTransactionReceipt", params: json!([hash]) });
    }
    let replies = client.all(calls, Need::Block)?;
    replies.iter().map(|reply| read::receipt(&reply.json())).collect()
}
