//! Imports a block from files of go-ethereum's transition tool (`evm t8n`). The files are the state
//! before the block (`alloc`), environment (`env`), transactions (`txs`) and, if there is one, the
//! tool's `result`. Values that the environment leaves out follow from the parent's values, as in
//! the tool, or are assumed with a note. One error names all values that are still missing.

use std::collections::BTreeMap;

use alloy_consensus::Header;
use alloy_eips::eip7685::Requests;
use alloy_primitives::{B256, U256};
use serde_json::Value;
use workload::{Batch, Block, BlockEnv, ChainRules, Fork, Genesis, GenesisAccount, Workload};

use super::{
    ImportError, Imported, ImportedBlock,
    json::{self, Json},
    read, rules,
};

/// A file's text, and the name that errors use.
#[derive(Clone, Copy, Debug)]
pub struct NamedText<'a> {
    /// Name of the file, such as its path.
    pub name: &'a str,
    /// Content of the file.
    pub text: &'a str,
}

impl NamedText<'_> {
    /// Parses the file as JSON, or as hex without quotation marks.
    pub(super) fn json(self) -> Result<Value, ImportError> {
        match self.text.trim() {
            hex if hex.starts_with("0x") => Ok(Value::String(hex.to_owned())),
            _ => json::parse(self.name, self.text),
        }
    }
}

/// The files of a block for the tool.
#[derive(Clone, Copy, Debug)]
pub enum TransitionInput<'a> {
    /// One file for each part.
    Files {
        /// The state before the block.
        alloc: NamedText<'a>,
        /// The block's environment.
        env: NamedText<'a>,
        /// The block's transactions: a JSON array, or their RLP in hex.
        txs: NamedText<'a>,
    },
    /// One file with the keys `alloc`, `env`, and `txs` or `txsRlp`.
    Whole(NamedText<'a>),
}

/// Reads a block under `fork` on chain `chain_id`, and the tool's `result`, if there is one. The
/// expected outcome in the workload's batch is still empty: see [`super::complete`].
///
/// # Errors
/// [`ImportError`] with file, key, value and the allowed values; [`ImportError::State`] with all
/// missing values.
pub fn transition(
    input: TransitionInput<'_>,
    result: Option<NamedText<'_>>,
    fork: Fork,
    chain_id: u64,
) -> Result<Imported, ImportError> {
    let result = result.map(|file| Ok::<_, ImportError>((file.name, file.json()?))).transpose()?;
    let result = result.as_ref().map(|(name, json)| Json::root(name, json));
    match input {
        TransitionInput::Files { alloc, env, txs } => {
            let [alloc_json, env_json, txs_json] = [alloc.json()?, env.json()?, txs.json()?];
            let parts = Parts {
                alloc: Json::root(alloc.name, &alloc_json),
                env: Json::root(env.name, &env_json),
                txs: Json::root(txs.name, &txs_json),
                result,
            };
            parts.import(fork, chain_id)
        }
        TransitionInput::Whole(file) => {
            let json = file.json()?;
            let root = Json::root(file.name, &json);
            let parts = Parts {
                alloc: root.get(&["alloc"], "the state before the block")?,
                env: root.get(&["env"], "the block's environment")?,
                txs: root.get(&["txsRlp", "txs"], "the block's transactions")?,
                result,
            };
            parts.import(fork, chain_id)
        }
    }
}

/// The tool's input and result for a block.
struct Parts<'a> {
    alloc: Json<'a>,
    env: Json<'a>,
    txs: Json<'a>,
    result: Option<Json<'a>>,
}

impl Parts<'_> {
    fn import(&self, fork: Fork, chain_id: u64) -> Result<Imported, ImportError> {
        let accounts = read::accounts(&self.alloc)?;
        let account_count = accounts.len();
        let accounts: Vec<_> = accounts.into_iter().filter(read::exists).collect();
        let all_exist = accounts.len() == account_count;
        let transactions = read::transactions(&self.txs, chain_id)?;
        let withdrawals = read::withdrawals(&self.env.items_at("withdrawals")?)?;
        let has_blobs = transactions.all.iter().any(|tx| !tx.blob_hashes.is_empty());
        let (missing, assumed) = (Vec::new(), Vec::new());
        let mut env = EnvReader { node: &self.env, has_blobs, missing, assumed };
        let (first_hash_number, block_hashes) = env.block_hashes()?;
        let block_env = env.block(&block_hashes, fork)?;
        match (missing_values(&env.missing), read::missing_system_contracts(&accounts, fork)) {
            (None, None) => {}
            (Some(missing), None) => return Err(self.env.lacks(missing)),
            (None, Some(contracts)) => return Err(self.alloc.lacks(contracts)),
            (Some(missing), Some(contracts)) => {
                let alloc = self.alloc.file();
                return Err(self.env.lacks(format!("{missing}; {alloc}: {contracts}")));
            }
        }
        env.check_parent(&block_env)?;
        let (mut said, post_state) = match &self.result {
            Some(result) => read_result(result, &block_env)?,
            None => Default::default(),
        };
        (said.signed, said.computed_withdrawals_root) = (transactions.signed, withdrawals.root);
        for (what, is_stated, is_computed) in [
            ("state root", said.state_root.is_some(), all_exist),
            ("transactions root", said.txs_root.is_some(), said.signed.is_some()),
            ("withdrawals root", said.withdrawals_root.is_some(), withdrawals.root.is_some()),
        ] {
            if is_stated && !is_computed {
                said.not_compared.push(what);
            }
        }
        // The tool's root is that of all accounts of the file, also of empty ones, which do not
        // exist (EIP-161) and are not imported.
        said.state_root = said.state_root.filter(|_| all_exist);
        let name = format!("block-{}", block_env.number);
        let (transactions, withdrawals) = (transactions.all, withdrawals.all);
        let block = Block { env: block_env, transactions, withdrawals };
        let workload = Workload {
            scenario: name,
            rules: fork.into(),
            chain_id,
            genesis: Genesis { accounts, ..Genesis::default() },
            first_hash_number,
            block_hashes,
            batches: vec![Batch { blocks: vec![block], ..Batch::default() }],
            ..Workload::default()
        };
        let notes = env.assumed.iter().map(|what| format!("assumed: {what}")).collect();
        Ok(Imported { post_state, notes, ..Imported::new(workload, vec![said]) })
    }
}

/// Formats the values that an environment lacks; `None` if no value is missing.
fn missing_values(missing: &[String]) -> Option<String> {
    let verb = if missing.len() == 1 { "is" } else { "are" };
    (!missing.is_empty()).then(|| format!("{} {verb} missing", missing.join(", ")))
}

/// Reads an environment, and collects the values that it lacks.
struct EnvReader<'n, 'a> {
    node: &'n Json<'a>,
    /// Whether a transaction has blobs, which need the excess blob gas.
    has_blobs: bool,
    /// Values that the environment lacks, and that follow from no other value.
    missing: Vec<String>,
    /// Notes for the user: values that are assumed, as the environment lacks them, and values that
    /// contradict the parent's.
    assumed: Vec<String>,
}

impl<'a> EnvReader<'_, 'a> {
    /// Reads the value at `key`, which the fork requires. Without it, returns a default value and
    /// adds the key to the missing values.
    fn required<T: Default>(
        &mut self,
        key: &str,
        read: impl FnOnce(&Json<'a>) -> Result<T, ImportError>,
    ) -> Result<T, ImportError> {
        let Some(value) = self.node.find(&[key])? else {
            self.missing.push(key.to_owned());
            return Ok(T::default());
        };
        read(&value)
    }

    /// Returns the environment that code sees in the block. A missing value has its default.
    fn block(&mut self, block_hashes: &[B256], fork: Fork) -> Result<BlockEnv, ImportError> {
        let node = self.node;
        if let Some(difficulty) = node.find(&["currentDifficulty"])?
            && difficulty.u256()? != U256::ZERO
        {
            return Err(difficulty.fault("0x0: blocks since the Merge have no difficulty"));
        }
        if !node.items_at("ommers")?.is_empty() {
            return Err(node.fault("no ommers: blocks since the Merge have none"));
        }
        if !fork.is_from(Fork::Shanghai)
            && let Some(withdrawals) = node.find(&["withdrawals"])?
        {
            return Err(withdrawals.fault(format!("no withdrawals: blocks of {fork} have none")));
        }
        let (mut excess_blob_gas, mut parent_beacon_root) = (0, B256::ZERO);
        if fork.is_from(Fork::Cancun) {
            excess_blob_gas = self.excess_blob_gas(fork)?;
            parent_beacon_root = self.required("parentBeaconBlockRoot", Json::b256)?;
        }
        let slot_number = node.u64_at("slotNumber")?;
        if slot_number.is_none() && fork.is_from(Fork::Amsterdam) {
            self.assumed.push("slotNumber is 0".to_owned());
        }
        Ok(BlockEnv {
            number: node.u64_at("currentNumber")?.unwrap_or_default(),
            timestamp: self.required("currentTimestamp", Json::u64)?,
            beneficiary: self.required("currentCoinbase", Json::address)?,
            gas_limit: self
                .required("currentGasLimit", |value| read::gas_limit(node, value.u64()?, fork))?,
            base_fee: self.base_fee()?,
            prev_randao: B256::from(self.required("currentRandom", Json::u256)?),
            excess_blob_gas,
            slot_number: slot_number.unwrap_or_default(),
            parent_hash: block_hashes.last().copied().unwrap_or_default(),
            parent_beacon_root,
        })
    }

    /// Checks timestamp and gas limit of `block` against its parent, if the environment has the
    /// parent's values. The tool lets the environment overrule other values that follow from the
    /// parent.
    fn check_parent(&self, block: &BlockEnv) -> Result<(), ImportError> {
        let BlockEnv { timestamp, gas_limit, .. } = *block;
        let header = Header { timestamp, gas_limit, ..Header::default() };
        let (node, parent) = (self.node, self.parent()?);
        let checks = [
            node.u64_at("parentTimestamp")?.map(|_| rules::check_timestamp(&header, &parent)),
            node.u64_at("parentGasLimit")?.map(|_| rules::check_gas_limit(&header, &parent)),
        ];
        let checked: Result<(), _> = checks.into_iter().flatten().collect();
        checked.map_err(|fault| fault.of_block(block.number))
    }

    /// Returns the parent's values in the environment, as a header.
    fn parent(&self) -> Result<Header, ImportError> {
        let node = self.node;
        Ok(Header {
            timestamp: node.u64_at("parentTimestamp")?.unwrap_or_default(),
            gas_limit: node.u64_at("parentGasLimit")?.unwrap_or_default(),
            gas_used: node.u64_at("parentGasUsed")?.unwrap_or_default(),
            base_fee_per_gas: node.u64_at("parentBaseFee")?,
            excess_blob_gas: node.u64_at("parentExcessBlobGas")?,
            blob_gas_used: node.u64_at("parentBlobGasUsed")?,
            ..Header::default()
        })
    }

    fn base_fee(&mut self) -> Result<u64, ImportError> {
        let of_parent = rules::base_fee_after(&self.parent()?);
        let wanted = "parentBaseFee, parentGasLimit, parentGasUsed";
        let base_fee = self.given_or("currentBaseFee", of_parent)?;
        Ok(base_fee.unwrap_or_else(|| {
            self.missing.push(format!("currentBaseFee (or {wanted})"));
            0
        }))
    }

    fn excess_blob_gas(&mut self, fork: Fork) -> Result<u64, ImportError> {
        let (mut parent, rules) = (self.parent()?, ChainRules::from(fork));
        // Before EIP-7918 the excess blob gas does not depend on the parent's base fee.
        parent.base_fee_per_gas =
            parent.base_fee_per_gas.or((!fork.is_from(Fork::Osaka)).then_some(0));
        let of_parent =
            parent.excess_blob_gas.and_then(|_| rules::excess_blob_gas_after(&parent, &rules));
        match self.given_or("currentExcessBlobGas", of_parent)? {
            Some(excess) => read::excess_blob_gas(self.node, excess, rules.blobs),
            None if self.has_blobs => {
                let wanted = "parentExcessBlobGas, parentBlobGasUsed, parentBaseFee";
                self.missing.push(format!("currentExcessBlobGas (or {wanted})"));
                Ok(0)
            }
            None => {
                self.assumed.push("currentExcessBlobGas is 0".to_owned());
                Ok(0)
            }
        }
    }

    /// Returns the value at `key`, or else `of_parent`, which follows from the parent. If they
    /// differ, the value at `key` counts, and a note names it.
    fn given_or(&mut self, key: &str, of_parent: Option<u64>) -> Result<Option<u64>, ImportError> {
        let given = self.node.u64_at(key)?;
        if let (Some(given), Some(of_parent)) = (given, of_parent)
            && given != of_parent
        {
            self.assumed.push(format!("{key} is {given}, and not {of_parent} as after its parent"));
        }
        Ok(given.or(of_parent))
    }

    /// Reads the hashes of earlier blocks. Returns the number of the first block with a hash, and
    /// the hashes from that block to the parent.
    fn block_hashes(&mut self) -> Result<(u64, Vec<B256>), ImportError> {
        let Some(number) = self.node.find(&["currentNumber"])? else {
            self.missing.push("currentNumber".to_owned());
            return Ok(Default::default());
        };
        let current = number.u64()?;
        let Some(parent) = current.checked_sub(1) else {
            return Err(number.fault("1 or more: the genesis block is not run"));
        };
        let given = self.node.find(&["blockHashes"])?;
        let mut hashes = BTreeMap::new();
        for (key, hash) in given.iter().map(Json::entries).collect::<Result<Vec<_>, _>>()?.concat()
        {
            let number = hash.u256_of_key(key)?;
            let number = u64::try_from(number).ok().filter(|number| *number <= parent);
            let number = number
                .ok_or_else(|| hash.fault(format!("the hash of a block before {current:#x}")))?;
            hashes.insert(number, hash.b256()?);
        }
        let said = self.node.find(&["parentHash"])?;
        let of_parent = match (said, hashes.get(&parent)) {
            (Some(said), Some(known)) if said.b256()? != *known => {
                return Err(said.fault(format!("{known}, as in blockHashes")));
            }
            (_, Some(known)) => *known,
            (Some(said), None) => said.b256()?,
            (None, None) => {
                self.assumed.push("parentHash is zero".to_owned());
                B256::ZERO
            }
        };
        hashes.insert(parent, of_parent);
        let numbers: Vec<_> = hashes.keys().copied().collect();
        if let Some(pair) = numbers.windows(2).find(|pair| pair[0] + 1 != pair[1]) {
            let wanted = "consecutive hashes up to the parent's: add this one, or take out those \
                          before it where no code asks for them";
            let at = given.unwrap_or_else(|| self.node.clone());
            return Err(at.missing(&format!("{:#x}", pair[0] + 1), wanted));
        }
        Ok((numbers[0], hashes.into_values().collect()))
    }
}

/// Keys of a receipt whose values are compared, and `type`, which its transaction has too.
const RECEIPT_KEYS: [&str; 5] = ["status", "succeeded", "gasUsed", "cumulativeGasUsed", "type"];

/// Reads a result file. Returns the facts of the block, and the state after the block if the file
/// has all of the tool's output.
fn read_result(
    file: &Json<'_>,
    env: &BlockEnv,
) -> Result<(ImportedBlock, Option<Vec<GenesisAccount>>), ImportError> {
    let post_state = file.find(&["alloc"])?.map(|alloc| read::accounts(&alloc)).transpose()?;
    let post_state = post_state.map(|all| all.into_iter().filter(read::exists).collect());
    let result = &file.find(&["result"])?.unwrap_or_else(|| file.clone());
    if !result.items_at("rejected")?.is_empty() {
        let rejected = result.get(&["rejected"], "")?;
        return Err(rejected.fault(
            "no rejected transactions: take them out of the transactions and run the tool again",
        ));
    }
    if let Some(exception) = result.find(&["blockException"])? {
        return Err(exception.fault("no exception: only a valid block is imported"));
    }
    for (key, env_value) in
        [("currentBaseFee", env.base_fee), ("currentExcessBlobGas", env.excess_blob_gas)]
    {
        if let Some(said) = result.find(&[key])?
            && said.u64()? != env_value
        {
            return Err(said.fault(format!("{env_value:#x}, as in the environment")));
        }
    }
    let list = result.find(&["blockAccessList"])?.map(|list| list.block_access_list());
    let receipts = result.find(&["receipts"])?;
    let mut not_compared = Vec::new();
    if let Some(receipts) = &receipts
        && let Some(first) = receipts.items()?.first()
        && first.entries()?.iter().any(|(key, _)| !RECEIPT_KEYS.contains(key))
    {
        not_compared.push("logs and hashes in receipts");
    }
    let requests_hash = result.b256_at("requestsHash")?;
    if let Some(requests) = result.find(&["requests"])? {
        let all = requests.items()?.iter().map(Json::bytes).collect::<Result<Vec<_>, _>>()?;
        let made = Requests::new(all).requests_hash();
        if requests_hash.is_some_and(|said| said != made) {
            return Err(requests.fault("those of requestsHash"));
        }
    }
    let bloom = result.find(&["logsBloom"])?;
    let bloom = bloom.map(|bloom| bloom.bloom()).transpose()?;
    let said = ImportedBlock {
        gas_used: result.u64_at("gasUsed")?,
        blob_gas_used: result.u64_at("blobGasUsed")?,
        receipts: receipts.as_ref().map(read::receipts).transpose()?,
        receipts_root: result.b256_at("receiptsRoot")?,
        logs_bloom: bloom,
        logs_hash: result.b256_at("logsHash")?,
        txs_root: result.b256_at("txRoot")?,
        withdrawals_root: result.b256_at("withdrawalsRoot")?,
        state_root: result.b256_at("stateRoot")?,
        requests_hash,
        list_hash: result.b256_at("blockAccessListHash")?,
        lists: list.transpose()?.into_iter().collect(),
        not_compared,
        ..ImportedBlock::default()
    };
    Ok((said, post_state))
}
