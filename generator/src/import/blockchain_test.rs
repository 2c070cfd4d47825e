//! The `blockchain_test` JSON format of execution-spec-tests. Blocks are taken as valid; who
//! checks invalid ones is a client, not this tool.

use alloy_eips::eip6110::MAINNET_DEPOSIT_CONTRACT_ADDRESS;
use alloy_primitives::Bytes;
use workload::{Batch, Fork, Genesis, Workload};

use super::{
    ImportError, Imported, Source, fork_names, fork_of, header,
    node::{self, Node},
    read, signed_transactions,
};

/// Reads all tests of a file, by name. `file` is the name that errors use.
///
/// # Errors
/// [`ImportError`] with file, key, value and the allowed values.
pub fn blockchain_tests(file: &str, text: &str) -> Result<Vec<Imported>, ImportError> {
    let json = node::parse(file, text)?;
    let tests = Node::root(file, &json).entries()?;
    tests.into_iter().map(|(name, test)| import(name, &test)).collect()
}

fn import(name: &str, test: &Node<'_>) -> Result<Imported, ImportError> {
    let network = test.get(&["network"], "the fork's name")?;
    let fork = fork_of(network.text()?).ok_or_else(|| network.fault(fork_names()))?;
    let mut chain_id = 1;
    if let Some(config) = test.find(&["config"])? {
        chain_id = config.find(&["chainid"])?.map_or(Ok(1), |id| id.u64())?;
        check_blob_schedule(&config, network.text()?, fork)?;
    }
    let genesis = test.get(&["genesisBlockHeader"], "the header below the first block")?;
    let first_hash_number = genesis.get(&["number"], "a number")?.u64()?;
    let mut block_hashes = vec![genesis.get(&["hash"], "its hash")?.b256()?];
    let (mut batches, mut blocks) = (Vec::new(), Vec::new());
    let nodes = test.get(&["blocks"], "the blocks")?.items()?;
    let list = list(test)?.filter(|_| nodes.len() == 1);
    for node in &nodes {
        let wanted = "the header of a valid block; blocks that must be rejected are not imported";
        let header = node.get(&["blockHeader"], wanted)?;
        block_hashes.push(header.get(&["hash"], "its hash")?.b256()?);
        let (block, mut said) = header::block(&header, node, fork, chain_id)?;
        said.list.clone_from(&list);
        blocks.push(said);
        batches.push(Batch { blocks: vec![block], ..Batch::default() });
    }
    let accounts = read::accounts(&test.get(&["pre"], "the state before the blocks")?)?;
    let post_state = test.find(&["postState"])?.map(|state| read::accounts(&state)).transpose()?;
    let workload = Workload {
        scenario: name.to_owned(),
        fork,
        chain_id,
        genesis: Genesis { accounts, ..Genesis::default() },
        first_hash_number,
        block_hashes,
        signed_transactions: signed_transactions(&blocks),
        batches,
        ..Workload::default()
    };
    let post_state = post_state.unwrap_or_default();
    Ok(Imported {
        name: name.to_owned(),
        workload,
        blocks,
        post_state,
        source: Source::Files,
        deposit_contract: MAINNET_DEPOSIT_CONTRACT_ADDRESS,
    })
}

/// The list's RLP that some files have beside their only block.
fn list(test: &Node<'_>) -> Result<Option<Bytes>, ImportError> {
    let Some(info) = test.find(&["_info"])? else { return Ok(None) };
    info.find(&["balRlp"])?.map(|list| list.bytes()).transpose()
}

/// A chain may have blob fees of its own; a workload has those of its fork.
fn check_blob_schedule(config: &Node<'_>, network: &str, fork: Fork) -> Result<(), ImportError> {
    let Some(schedule) = config.find(&["blobSchedule"])? else { return Ok(()) };
    let Some(of_fork) = schedule.find(&[network])? else { return Ok(()) };
    let Some(fraction) = of_fork.find(&["baseFeeUpdateFraction"])? else { return Ok(()) };
    let wanted = fork.blob_fee_update_fraction();
    if fraction.u64()? == wanted { Ok(()) } else { Err(fraction.fault(format!("{wanted:#x}"))) }
}
