//! Imports a block with its execution witness (`debug_executionWitness`). A witness has codes,
//! headers of the block's ancestors, and the trie nodes on the way to each value that the block
//! reads. The parent's state root proves each value.

use alloy_consensus::Header;
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256, keccak256, map::B256Map};
use alloy_rlp::Decodable;
use alloy_trie::{
    EMPTY_ROOT_HASH, Nibbles, TrieAccount,
    nodes::{RlpNode, TrieNode},
};
use workload::{AccountState, Batch, ChainRules, Fork, Genesis, Workload};

use super::{
    super::{
        ImportError, Imported, fork_names,
        header::{self, Body, RlpBlock},
        json::Json,
        rules,
        t8n::NamedText,
    },
    replay,
    state_before::{AccountFields, REMEDY, StateBefore, StateSource},
};

/// Descriptions of a witness's parts, for errors.
const NODES: &str = "the nodes of tries, as an array of their RLP";
const CODES: &str = "an array of codes";
const HEADERS: &str = "an array of headers, the parent's among them";
/// Name of the values that are not compared if a witness lacks codes.
const UNREAD_CODES: &str = "codes that the block does not run";

/// Reads a block from `block`, which is a node's JSON or the hex of its RLP. Reads the state that
/// the block touches from `witness`. `fork` is the block's fork; without it, the header's fields
/// must tell the fork. The expected outcome in the workload's batch is still empty: see
/// [`crate::import::complete`].
///
/// # Errors
/// [`ImportError`] with file, key, value and the allowed values; [`ImportError::State`] if the
/// witness lacks values that the block reads.
pub fn witness(
    block: NamedText<'_>,
    witness: NamedText<'_>,
    fork: Option<Fork>,
    chain_id: u64,
) -> Result<Imported, ImportError> {
    let (block_json, witness_json) = (block.json()?, witness.json()?);
    let block_node = result_or_self(&Json::root(block.name, &block_json))?;
    let parts = block_parts(&block_node, chain_id)?;
    let header = parts.header.clone();
    let rules = ChainRules::from(fork.map_or_else(|| fork_of(&header), Ok)?);
    let (block, mut said) = parts.under(&block_node, &rules)?;
    // A block as RLP has no keys.
    if let Ok(Some(hash)) = block_node.find(&["hash"]) {
        said.hash = Some(hash.b256()?);
    }
    let witness_node = result_or_self(&Json::root(witness.name, &witness_json))?;
    let ancestors = ancestors(&witness_node, &header)?;
    let parent = &ancestors[ancestors.len() - 1];
    rules::check(&header, parent, &rules)?;
    said.compared.push("state root of the parent");
    said.state_root = None;
    said.not_compared.push("state root");
    let mut workload = Workload {
        scenario: format!("block-{}", header.number),
        rules: rules.into(),
        chain_id,
        first_hash_number: ancestors[0].number,
        block_hashes: ancestors.iter().map(Header::hash_slow).collect(),
        batches: vec![Batch { blocks: vec![block], ..Batch::default() }],
        ..Workload::default()
    };
    let mut source = WitnessState {
        name: witness.name,
        root: parent.state_root,
        nodes: by_hash(&witness_node.get(&["state"], NODES)?)?,
        codes: by_hash(&witness_node.get(&["codes"], CODES)?)?,
    };
    let state = StateBefore::new(&mut source, &workload);
    let (accounts, without_code) = replay::touched_accounts(state, &workload)?;
    let mut notes = Vec::new();
    if let Some(first) = without_code.first() {
        said.not_compared.push(UNREAD_CODES);
        let count = without_code.len();
        notes.push(format!(
            "{count} accounts have no code, as the block does not run it: {first} is the first"
        ));
    }
    workload.genesis = Genesis { accounts, ..Genesis::default() };
    Ok(Imported { notes, ..Imported::new(workload, vec![said]) })
}

/// Returns the `result` of `node` if it is a node's answer, and else `node` itself.
fn result_or_self<'a>(node: &Json<'a>) -> Result<Json<'a>, ImportError> {
    match node.text() {
        Ok(_) => Ok(node.clone()),
        Err(_) => Ok(node.find(&["result"])?.unwrap_or_else(|| node.clone())),
    }
}

/// Reads the parts of the block at `node`: a node's JSON, or hex of RLP.
fn block_parts(node: &Json<'_>, chain_id: u64) -> Result<RlpBlock, ImportError> {
    if node.text().is_ok() {
        return header::decode_block(node, chain_id);
    }
    header::check_no_ommers(node)?;
    let (header, body) = (header::header(node)?, Body::new(node, chain_id)?);
    Ok(RlpBlock { header, body, ommers: Vec::new(), list: None })
}

/// Returns the fork of a header, or an error if several forks have its fields.
fn fork_of(header: &Header) -> Result<Fork, ImportError> {
    match header::first_fork(header) {
        Fork::Prague => Err(ImportError::Fork(format!(
            "--fork FORK is missing: the header of block {} has the fields of prague to bpo2; {}",
            header.number,
            fork_names()
        ))),
        fork => Ok(fork),
    }
}

/// Reads the headers of a witness. Returns the ancestors of the block with `header`: each is the
/// parent of the next, and the last is the block's parent.
fn ancestors(witness: &Json<'_>, header: &Header) -> Result<Vec<Header>, ImportError> {
    let all = witness.get(&["headers"], HEADERS)?;
    let mut found: B256Map<Header> = B256Map::default();
    for node in all.items()? {
        let ancestor = match node.text() {
            Ok(_) => Header::decode(&mut node.bytes()?.as_ref())
                .map_err(|error| node.fault(format!("the RLP of a header; {error}")))?,
            Err(_) => header::header(&node)?,
        };
        found.insert(ancestor.hash_slow(), ancestor);
    }
    let mut chain: Vec<Header> = Vec::new();
    let mut next = header.parent_hash;
    while let Some(header) = found.remove(&next) {
        next = header.parent_hash;
        chain.push(header);
    }
    if chain.is_empty() {
        let rule = format!("headers, among them {}, the block's parent", header.parent_hash);
        return Err(all.fault(rule));
    }
    chain.reverse();
    Ok(chain)
}

/// Reads the byte strings at `node`. Returns them by their hashes.
fn by_hash(node: &Json<'_>) -> Result<B256Map<Bytes>, ImportError> {
    let all = node.items()?.into_iter().map(|node| {
        let bytes = node.bytes()?;
        Ok((keccak256(&bytes), bytes))
    });
    all.collect()
}

/// The state before the block, as far as a witness has it.
struct WitnessState<'a> {
    /// Name of the witness, for errors.
    name: &'a str,
    /// State root of the block's parent.
    root: B256,
    /// RLP of trie nodes by hash.
    nodes: B256Map<Bytes>,
    codes: B256Map<Bytes>,
}

impl WitnessState<'_> {
    fn fault(&self, fault: &str) -> ImportError {
        let missing = format!("{fault}; {REMEDY}");
        ImportError::State { file: self.name.to_owned(), missing }
    }

    /// Returns the decoded value of a key in the trie with this root; `None` if the trie does not
    /// have the key.
    fn value<T: Decodable>(&self, root: B256, key: B256) -> Result<Option<T>, ImportError> {
        let value = self.encoded(root, key).map_err(|fault| self.fault(&fault))?;
        let value = value.map(|value| T::decode(&mut value.as_slice())).transpose();
        value.map_err(|error| self.fault(&format!("a value of a trie is invalid: {error}")))
    }

    /// Returns the encoded value of a key in the trie with this root. An error names the trie node
    /// that the witness lacks, or that is invalid.
    fn encoded(&self, root: B256, key: B256) -> Result<Option<Vec<u8>>, String> {
        if root == EMPTY_ROOT_HASH {
            return Ok(None);
        }
        let mut rest = Nibbles::unpack(key);
        let mut next = RlpNode::word_rlp(&root);
        loop {
            let encoded = match next.as_hash() {
                Some(hash) => self
                    .nodes
                    .get(&hash)
                    .ok_or_else(|| format!("it lacks the node {hash} of a trie"))?,
                None => next.as_slice(),
            };
            let node = TrieNode::decode(&mut &encoded[..]);
            let node = node.map_err(|error| format!("a node of a trie is invalid: {error}"))?;
            let child = match node {
                TrieNode::Leaf(leaf) => return Ok((leaf.key == rest).then_some(leaf.value)),
                TrieNode::Extension(node) if rest.starts_with(&node.key) => {
                    rest = rest.slice(node.key.len()..);
                    Some(node.child)
                }
                TrieNode::Branch(branch) if !rest.is_empty() => {
                    let nibble = usize::from(rest.get_unchecked(0));
                    rest = rest.slice(1..);
                    branch.as_ref().children().nth(nibble).and_then(|(_, child)| child.cloned())
                }
                TrieNode::EmptyRoot | TrieNode::Extension(_) | TrieNode::Branch(_) => None,
            };
            let Some(child) = child else { return Ok(None) };
            next = child;
        }
    }

    /// Returns the account at `address`; the default one if it does not exist.
    fn account(&self, address: Address) -> Result<TrieAccount, ImportError> {
        Ok(self.value(self.root, keccak256(address))?.unwrap_or_default())
    }
}

impl StateSource for WitnessState<'_> {
    fn name(&self) -> &str {
        self.name
    }

    fn accounts(&mut self, addresses: &[Address]) -> Result<Vec<AccountFields>, ImportError> {
        let accounts = addresses.iter().map(|address| {
            let TrieAccount { nonce, balance, code_hash, .. } = self.account(*address)?;
            let code = match code_hash {
                KECCAK256_EMPTY => Some(Bytes::new()),
                _ => self.codes.get(&code_hash).cloned(),
            };
            let state = AccountState { nonce, balance, code_hash };
            Ok(AccountFields { state, code })
        });
        accounts.collect()
    }

    fn slots(&mut self, slots: &[(Address, U256)]) -> Result<Vec<U256>, ImportError> {
        let values = slots.iter().map(|(address, key)| {
            let root = self.account(*address)?.storage_root;
            Ok(self.value(root, keccak256(B256::from(*key)))?.unwrap_or_default())
        });
        values.collect()
    }
}
