//! Reads tests of execution-spec-tests, in the JSON formats `blockchain_test` and
//! `blockchain_test_engine`. A block is given by its fields, its RLP, or both, which must then be
//! equal. In an Engine test it is given by the parameters of `engine_newPayload`. Blocks that must
//! be refused (`expectException`, `validationError`) are kept apart.

use alloy_consensus::Header;
use workload::{Batch, Block, ChainRules, Fork, ForkChange, ForkSchedule, Genesis, Workload};

use super::{
    ImportError, Imported, ImportedBlock, InvalidBlock, fork_names, fork_of,
    header::{self, Body},
    json::{self, Json},
    payload::{self, PayloadParams},
    read, rules, state,
};

/// Reads all tests of a file. `file` is the name that errors use.
///
/// # Errors
/// [`ImportError`] of the first test that cannot be read, with file, key, value and the allowed
/// values.
pub fn blockchain_tests(file: &str, text: &str) -> Result<Vec<Imported>, ImportError> {
    each_blockchain_test(file, text)?.into_iter().map(|(_, test)| test).collect()
}

/// A test of a file: its name, and its blocks or the reason for which they cannot be read.
pub type NamedTest = (String, Result<Imported, ImportError>);

/// Reads the tests of a file. A test that cannot be read is an error in its own item only.
///
/// # Errors
/// [`ImportError`] if the file is not a file of tests.
pub fn each_blockchain_test(file: &str, text: &str) -> Result<Vec<NamedTest>, ImportError> {
    let json = json::parse(file, text)?;
    let tests = Json::root(file, &json).entries()?;
    // A file of another kind is one error, and not an error for each of its keys.
    tests.iter().try_for_each(|(_, test)| test.entries().map(drop))?;
    Ok(tests.into_iter().map(|(name, test)| (name.to_owned(), import(name, &test))).collect())
}

/// Reads the test at `test`.
fn import(name: &str, test: &Json<'_>) -> Result<Imported, ImportError> {
    let config = test.find(&["config"])?;
    let chain_id = match &config {
        Some(config) => config.find(&["chainid"])?.map_or(Ok(1), |id| id.u64())?,
        None => 1,
    };
    let rules = fork_schedule(&test.get(&["network"], "the fork's name")?, config.as_ref())?;
    let accounts = read::accounts(&test.get(&["pre"], "the state before the blocks")?)?;
    let mut compared = Vec::new();
    let genesis = test.get(&["genesisBlockHeader"], "the header below the first block")?;
    let first_hash_number = genesis.get(&["number"], "a number")?.u64()?;
    let parent = header::header(&genesis)?;
    check_genesis(test, &genesis, &parent, &mut compared)?;
    let state_root = genesis.get(&["stateRoot"], "the root of pre")?;
    state_root.check_b256(state::state_root(&accounts), "the root of pre")?;
    compared.push("genesis state root");
    let genesis = Genesis { accounts, ..Genesis::default() };
    let reader = Reader { rules, chain_id, genesis: &genesis, genesis_number: first_hash_number };
    let chain = reader.chain(test, parent)?;
    let rules = reader.rules;
    let post_state = test.find(&["postState"])?.map(|state| read::accounts(&state)).transpose()?;
    // An empty state means that the maker of the test left it out, as every state has system
    // contracts.
    let post_state = post_state.filter(|state| !state.is_empty());
    let block_hashes = chain.hashes.clone();
    check_last(test, &chain, &mut compared)?;
    let TestChain { batches, blocks, invalid, .. } = chain;
    let workload = Workload {
        scenario: name.to_owned(),
        rules,
        chain_id,
        genesis,
        first_hash_number,
        block_hashes,
        batches,
        ..Workload::default()
    };
    Ok(Imported { post_state, invalid, compared, ..Imported::new(workload, blocks) })
}

/// Reads the rules of the network with the name at `network`, whose fork may change at a timestamp.
/// `config` has the chain's own settings.
fn fork_schedule(
    network: &Json<'_>,
    config: Option<&Json<'_>>,
) -> Result<ForkSchedule, ImportError> {
    let name = network.text()?;
    let rules_of = |name| {
        let fork = fork_of(name).ok_or_else(|| network.fault(fork_names()))?;
        chain_rules(fork, name, config)
    };
    let Some((before, after, timestamp)) = split_transition(name) else {
        return Ok(rules_of(name)?.into());
    };
    let (first, rules) = (rules_of(before)?, rules_of(after)?);
    if first.fork.is_from(rules.fork) {
        return Err(network.fault("a fork, and a later one"));
    }
    Ok(ForkSchedule { first, changes: vec![ForkChange { timestamp, rules }] })
}

/// Returns the rules of `fork`, whose name in the file is `name`, with the chain's own settings in
/// `config`.
fn chain_rules(
    fork: Fork,
    name: &str,
    config: Option<&Json<'_>>,
) -> Result<ChainRules, ImportError> {
    let mut rules = ChainRules::from(fork);
    let Some(config) = config else { return Ok(rules) };
    if let Some(address) = config.find(&["depositContractAddress"])? {
        rules.deposit_contract = address.address()?;
    }
    if let Some(schedules) = config.find(&["blobSchedule"])?
        && let Some(schedule) = schedules.find(&[name])?
    {
        rules.blobs = read::blob_schedule(&schedule, fork)?;
    }
    Ok(rules)
}

/// Splits the name of a network that changes its fork at a time in seconds, in which k means
/// thousands. Returns both forks and the time; `None` for any other name.
fn split_transition(network: &str) -> Option<(&str, &str, u64)> {
    let (before, rest) = network.split_once("To")?;
    let (after, time) = rest.split_once("AtTime")?;
    let (number, unit) = time.strip_suffix('k').map_or((time, 1), |number| (number, 1_000));
    Some((before, after, number.parse::<u64>().ok()?.checked_mul(unit)?))
}

/// Compares the hash and the RLP of the genesis block in the file with its `header`.
fn check_genesis(
    test: &Json<'_>,
    node: &Json<'_>,
    header: &Header,
    compared: &mut Vec<&'static str>,
) -> Result<(), ImportError> {
    let hash = node.get(&["hash"], "its hash")?;
    hash.check_b256(header.hash_slow(), "the hash of these fields")?;
    compared.push("genesis hash");
    let Some(rlp) = test.find(&["genesisRLP"])? else { return Ok(()) };
    if header::decode_block(&rlp, 0)?.header != *header {
        return Err(rlp.fault("the RLP of genesisBlockHeader"));
    }
    compared.push("genesis RLP");
    Ok(())
}

/// Compares the hash of the last valid block in the file, and the state root after it, with the
/// block's header.
fn check_last(
    test: &Json<'_>,
    chain: &TestChain,
    compared: &mut Vec<&'static str>,
) -> Result<(), ImportError> {
    let facts = [
        ("lastblockhash", "last block hash", chain.last.hash_slow(), "the hash"),
        ("postStateHash", "post state root", chain.last.state_root, "the state root"),
    ];
    for (key, what, made, fact) in facts {
        let Some(said) = test.find(&[key])? else { continue };
        said.check_b256(made, &format!("{fact} of the last valid block"))?;
        compared.push(what);
    }
    Ok(())
}

/// Returns the names of rules, of which the block at `node` breaks one, or the error code that the
/// Engine API must answer; `None` for a valid block.
fn exception(node: &Json<'_>) -> Result<Option<String>, ImportError> {
    let Some(said) = node.find(&["expectException", "validationError", "errorCode"])? else {
        return Ok(None);
    };
    Ok(Some(said.text().map_or_else(|_| said.to_text(), str::to_owned)))
}

/// The blocks of a test, as far as they are read.
struct TestChain {
    /// Hashes of the genesis block and of the valid blocks.
    hashes: Vec<alloy_primitives::B256>,
    /// Header of the last valid block, or of the genesis block.
    last: Header,
    batches: Vec<Batch>,
    blocks: Vec<ImportedBlock>,
    invalid: Vec<InvalidBlock>,
}

/// Reads the blocks of a test under its rules, on its genesis state.
struct Reader<'a> {
    rules: ForkSchedule,
    chain_id: u64,
    genesis: &'a Genesis,
    genesis_number: u64,
}

impl Reader<'_> {
    /// Reads all blocks of the test, which come after the block with the header `genesis`.
    fn chain(&self, test: &Json<'_>, genesis: Header) -> Result<TestChain, ImportError> {
        let hashes = vec![genesis.hash_slow()];
        let (batches, blocks, invalid) = (Vec::new(), Vec::new(), Vec::new());
        let mut chain = TestChain { hashes, last: genesis, batches, blocks, invalid };
        let payloads = test.find(&["engineNewPayloads"])?;
        let nodes = match &payloads {
            Some(payloads) => payloads.items()?,
            None => test.get(&["blocks"], "the blocks, or engineNewPayloads")?.items()?,
        };
        for node in &nodes {
            let read = match payloads {
                Some(_) => self.payload_block(node),
                None => self.block(node),
            };
            let read = read.and_then(|(block, mut said)| {
                self.check(&said, &chain.last)?;
                // The description of a test with a single block may have the block's list.
                if nodes.len() == 1
                    && let Some(info) = test.find(&["_info"])?
                    && let Some(list) = info.find(&["balRlp"])?
                {
                    said.lists.push(list.bytes()?);
                }
                Ok((block, said))
            });
            if let Some(exception) = exception(node)? {
                chain.invalid.push(InvalidBlock {
                    before_count: chain.blocks.len(),
                    exception,
                    read: read.map(Box::new).map_err(|error| error.reason()),
                });
                continue;
            }
            let (block, said) = read?;
            if let Some(header) = &said.header {
                chain.last = header.clone();
                chain.hashes.push(header.hash_slow());
            }
            chain.blocks.push(said);
            chain.batches.push(Batch { blocks: vec![block], ..Batch::default() });
        }
        if let Some(next) = test.find(&["syncPayload"])?
            && let Some(last) = chain.blocks.last_mut()
        {
            let parent = next.get(&["parentHash"], "the hash of the last block")?;
            if parent.b256()? != chain.last.hash_slow() {
                return Err(parent.fault("the hash of the last valid block"));
            }
            last.not_compared.push("outcome of syncPayload");
        }
        Ok(chain)
    }

    /// Reads the block of the Engine API's call at `node`.
    fn payload_block(&self, node: &Json<'_>) -> Result<(Block, ImportedBlock), ImportError> {
        let params = node.get(&["params"], "the parameters of engine_newPayload")?;
        let (payload, payload_params) = PayloadParams::from_params(&params)?;
        let rules = self.rules.at(payload::timestamp(&payload)?);
        let version = node.get(&["newPayloadVersion"], "the version of engine_newPayload")?;
        let versions = payload::versions(rules.fork);
        if !versions.contains(&version.u64()?) {
            let (first, last, fork) = (versions.start(), versions.end(), rules.fork);
            return Err(version.fault(format!("{first} to {last}, of payloads of {fork}")));
        }
        payload::block(&payload, &payload_params, self.chain_id, rules)
    }

    /// Checks the header of a block against that of its parent. For the first block, also checks
    /// that the state has the fork's system contracts.
    fn check(&self, said: &ImportedBlock, parent: &Header) -> Result<(), ImportError> {
        let Some(header) = &said.header else { return Ok(()) };
        let rules = self.rules.at(header.timestamp);
        rules::check(header, parent, rules)?;
        let missing = read::missing_system_contracts(&self.genesis.accounts, rules.fork);
        match missing.filter(|_| parent.number == self.genesis_number) {
            Some(reason) => Err(ImportError::Block { block: header.number, reason }),
            None => Ok(()),
        }
    }

    /// Reads the block at `node`, from its fields, its RLP, or both.
    fn block(&self, node: &Json<'_>) -> Result<(Block, ImportedBlock), ImportError> {
        let header_node = node.find(&["blockHeader"])?;
        let header = header_node.as_ref().map(header::header).transpose()?;
        let body = match node.find(&["transactions", "withdrawals"])? {
            Some(_) => Some(Body::new(node, self.chain_id)?),
            None => None,
        };
        let of_fields = match (&header_node, header.clone(), body) {
            (Some(at), Some(header), Some(body)) => {
                let rules = self.rules.at(header.timestamp);
                Some(header::block(at, header, body, rules)?)
            }
            _ => None,
        };
        let (block, mut said) = match (of_fields, node.find(&["rlp"])?) {
            (Some(of_fields), None) => of_fields,
            (of_fields, Some(rlp)) => self.rlp_block(&rlp, header, of_fields)?,
            (None, None) => {
                return Err(node.missing("rlp", "the block: its RLP, or its header and body"));
            }
        };
        if let Some(list) = node.find(&["blockAccessList"])? {
            said.lists.push(list.block_access_list()?);
        }
        if let Some(at) = header_node {
            said.hash = Some(at.get(&["hash"], "its hash")?.b256()?);
        }
        header::check_no_ommers(node)?;
        Ok((block, said))
    }

    /// Reads the block whose RLP is at `rlp`. If its header or its fields are there too, they must
    /// be of the same block.
    fn rlp_block(
        &self,
        rlp: &Json<'_>,
        header: Option<Header>,
        of_fields: Option<(Block, ImportedBlock)>,
    ) -> Result<(Block, ImportedBlock), ImportError> {
        let decoded = header::decode_block(rlp, self.chain_id)?;
        let rules = self.rules.at(decoded.header.timestamp);
        if header.is_some_and(|header| header != decoded.header) {
            return Err(rlp.fault("the RLP of the header beside it"));
        }
        let (block, mut said) = decoded.under(rlp, rules)?;
        if let Some((fields_block, fields_said)) = of_fields {
            let is_signed = fields_said.signed.is_some();
            if fields_block != block || is_signed && fields_said.signed != said.signed {
                return Err(rlp.fault("the RLP of the transactions and withdrawals beside it"));
            }
            said.compared.push("block RLP");
        }
        Ok((block, said))
    }
}
