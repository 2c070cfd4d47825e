//! The fork of blocks that a node has: by the node's answers on its chain (`eth_config`,
//! EIP-7910), or as the user says, checked as far as headers and the node say it.

use alloy_eips::eip6110::MAINNET_DEPOSIT_CONTRACT_ADDRESS;
use alloy_primitives::Address;
use serde_json::json;
use workload::Fork;

use super::{
    super::{ImportError, fork_names, node::Node},
    ask::{Asker, Reply},
};

/// Address of the precompile that Osaka brings (EIP-7951), at the end of its 20 bytes.
const OSAKA_PRECOMPILE: &str = "0000000000000000000000000000000000000100";

/// The node's answer on the rules of its newest block.
struct Config {
    /// From when on they hold, Unix time in seconds.
    since: u64,
    /// `baseFeeUpdateFraction` of its blob schedule.
    fraction: u64,
    has_osaka: bool,
    deposit_contract: Option<Address>,
}

/// The rules of a chain that blocks are run by.
pub(super) struct Rules {
    pub(super) fork: Fork,
    /// The contract of EIP-6110: as the node says, else mainnet's.
    pub(super) deposit_contract: Address,
}

/// The fork of the blocks whose headers are in `bodies`, the first block first.
pub(super) fn of(
    node: &mut Asker<'_>,
    named: Option<Fork>,
    bodies: &[Reply],
) -> Result<Rules, ImportError> {
    let has_list = check_same(bodies)?;
    let config = match node.attempt("eth_config", json!([]))? {
        Ok(reply) => config(&reply.node()).ok().flatten(),
        Err(_) => None,
    };
    let first = bodies[0].node();
    let number = first.get(&["number"], "a number")?.u64()?;
    let timestamp = first.get(&["timestamp"], "a time")?.u64()?;
    let deposit_contract = config.as_ref().and_then(|config| config.deposit_contract);
    let deposit_contract = deposit_contract.unwrap_or(MAINNET_DEPOSIT_CONTRACT_ADDRESS);
    let config = config.filter(|config| config.since <= timestamp);
    let said = config.as_ref().and_then(|config| match has_list {
        true => Some(Fork::Amsterdam),
        false => fork_without_list(config),
    });
    let schedule = config.as_ref().map(|config| config.fraction);
    if let Some(named) = named.filter(|named| (*named == Fork::Amsterdam) != has_list) {
        let (has, of) = if has_list { ("has", "amsterdam") } else { ("has no", "earlier") };
        return Err(ImportError::Fork(format!(
            "--fork {named}: the header of block {number} {has} blockAccessListHash, so its fork \
             is {of}"
        )));
    }
    if let (Some(fork), Some(fraction)) = (named.or(said), schedule)
        && fork.blob_fee_update_fraction() != fraction
    {
        return Err(ImportError::Fork(format!(
            "{fork} is not the fork of block {number}, or its chain has other blob fees: \
             baseFeeUpdateFraction in the node's eth_config is {fraction}, that of {fork} is {}",
            fork.blob_fee_update_fraction()
        )));
    }
    match (named, said) {
        (Some(named), Some(said)) if named != said => Err(ImportError::Fork(format!(
            "--fork {named}: by the node's eth_config block {number} is of {said}"
        ))),
        (Some(fork), _) | (None, Some(fork)) => Ok(Rules { fork, deposit_contract }),
        (None, None) => Err(ImportError::Fork(format!(
            "the fork of block {number} is not known: the node's eth_config does not say it; name \
             it by --fork, {}",
            fork_names()
        ))),
    }
}

/// Whether the headers have lists (EIP-7928): all of them, or none. A workload has one fork.
fn check_same(bodies: &[Reply]) -> Result<bool, ImportError> {
    let has_list =
        |body: &Reply| Ok::<_, ImportError>(body.node().find(&["blockAccessListHash"])?.is_some());
    let first = has_list(&bodies[0])?;
    for body in &bodies[1..] {
        if has_list(body)? != first {
            let number = body.node().get(&["number"], "a number")?.u64()?;
            return Err(ImportError::Fork(format!(
                "block {number} is the first of another fork; import the blocks before it, or \
                 those from it on"
            )));
        }
    }
    Ok(first)
}

fn fork_without_list(config: &Config) -> Option<Fork> {
    // Blobs cost as much in Osaka as in Prague, the fork before.
    let earlier = [Fork::Osaka, Fork::Bpo1, Fork::Bpo2].into_iter();
    let mut of_fraction = earlier.filter(|fork| fork.blob_fee_update_fraction() == config.fraction);
    of_fraction.next().filter(|_| config.has_osaka)
}

fn config(node: &Node<'_>) -> Result<Option<Config>, ImportError> {
    let Some(current) = node.find(&["current"])? else { return Ok(None) };
    let Some(schedule) = current.find(&["blobSchedule"])? else { return Ok(None) };
    let fraction = schedule.get(&["baseFeeUpdateFraction"], "a number")?.u64()?;
    let since = current.get(&["activationTime"], "a time")?.u64()?;
    let mut has_osaka = false;
    if let Some(precompiles) = current.find(&["precompiles"])? {
        for (_, address) in precompiles.entries()? {
            has_osaka |= address.text()?.ends_with(OSAKA_PRECOMPILE);
        }
    }
    let systems = current.find(&["systemContracts"])?;
    let deposits =
        systems.map(|all| all.find(&["DEPOSIT_CONTRACT_ADDRESS"])).transpose()?.flatten();
    let deposit_contract = deposits.map(|address| address.address()).transpose()?;
    Ok(Some(Config { since, fraction, has_osaka, deposit_contract }))
}
