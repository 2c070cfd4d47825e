//! Reads a `genesis.json` of go-ethereum or Hive, for `chain_import.rs`: the state and header of
//! block 0, and the forks of the chain.

use alloy_consensus::{
    EMPTY_OMMER_ROOT_HASH, EMPTY_ROOT_HASH, Header, constants::EMPTY_WITHDRAWALS,
};
use alloy_eips::{eip1559::INITIAL_BASE_FEE, eip7685::EMPTY_REQUESTS_HASH};
use alloy_primitives::{B256, U256, keccak256};
use alloy_rlp::EMPTY_LIST_CODE;
use revm::primitives::hardfork::SpecId;
use workload::{ChainRules, Fork, ForkChange, ForkSchedule, MAINNET_DEPOSIT_CONTRACT};

use super::{ImportError, json::Json, read, state::ChainState};

/// Keys of the forks before Paris, in order, each with revm's name of the fork. Forks that change
/// only the difficulty (glaciers) are left out. Constantinople is run as Petersburg, as revm does
/// not have EIP-1283.
const EARLY_FORKS: [(&str, SpecId); 9] = [
    ("homesteadBlock", SpecId::HOMESTEAD),
    ("eip150Block", SpecId::TANGERINE),
    ("eip158Block", SpecId::SPURIOUS_DRAGON),
    ("byzantiumBlock", SpecId::BYZANTIUM),
    ("constantinopleBlock", SpecId::PETERSBURG),
    ("petersburgBlock", SpecId::PETERSBURG),
    ("istanbulBlock", SpecId::ISTANBUL),
    ("berlinBlock", SpecId::BERLIN),
    ("londonBlock", SpecId::LONDON),
];

/// End of the keys of forks that begin at a timestamp, such as `shanghaiTime`.
const TIME: &str = "Time";

/// The content of a genesis file.
pub(super) struct ChainGenesis {
    /// Header of block 0.
    pub(super) header: Header,
    /// State of block 0.
    pub(super) state: ChainState,
    /// Forks of the chain.
    pub(super) config: ChainConfig,
}

/// The chain id and the forks of a chain.
pub(super) struct ChainConfig {
    pub(super) chain_id: u64,
    /// Number of the first block of each fork before Paris, in the order of [`EARLY_FORKS`]; `None`
    /// if the chain does not have the fork.
    early: [Option<u64>; EARLY_FORKS.len()],
    /// Number of the block that empties the accounts of the DAO; `None` if the chain has no such
    /// block.
    pub(super) dao_block: Option<u64>,
    /// Whether blocks before Paris are signed by authorities instead of mined.
    pub(super) is_clique: bool,
    /// Total difficulty from which on blocks are of Paris; `None` if the file does not have it
    /// exactly.
    pub(super) terminal_difficulty: Option<U256>,
    /// Rules from Paris on.
    pub(super) rules: ForkSchedule,
    /// Key and timestamp of each fork that this crate does not know.
    unknown: Vec<(String, u64)>,
}

impl ChainConfig {
    /// Returns revm's name of the fork of block `number`, which is before Paris.
    pub(super) fn early_fork(&self, number: u64) -> SpecId {
        let begun = self.early.iter().zip(EARLY_FORKS).rev();
        let mut begun = begun.filter(|(first, _)| first.is_some_and(|first| first <= number));
        begun.next().map_or(SpecId::FRONTIER, |(_, (_, spec))| spec)
    }

    /// Returns the first block of the fork before Paris at `key`; `None` if the chain does not have
    /// the fork.
    fn first_block(&self, key: &str) -> Option<u64> {
        let index = EARLY_FORKS.iter().position(|(known, _)| *known == key)?;
        self.early[index]
    }

    /// Whether the fork before Paris at `key` is in force at block `number`.
    pub(super) fn is_active(&self, key: &str, number: u64) -> bool {
        self.first_block(key).is_some_and(|first| first <= number)
    }

    /// Returns a note about the blocks up to `last` that are of Constantinople and not yet of
    /// Petersburg, if there are any.
    pub(super) fn constantinople_note(&self, last: u64) -> Option<String> {
        let begin = self.first_block("constantinopleBlock")?;
        let end = self.first_block("petersburgBlock")?.min(last.saturating_add(1));
        (begin < end).then(|| {
            format!(
                "blocks {begin} to {} are of Constantinople, and were run as Petersburg (without EIP-1283)",
                end - 1
            )
        })
    }

    /// Checks that this crate knows the fork of block `number`, which has this timestamp and is of
    /// Paris or later.
    pub(super) fn check_known(&self, number: u64, timestamp: u64) -> Result<(), ImportError> {
        let begun = self.unknown.iter().find(|(_, time)| *time <= timestamp);
        begun.map_or(Ok(()), |(key, time)| {
            Err(ImportError::Fork(format!(
                "block {number} is of a fork that is not known here: {key} in the genesis is {time}; import \
                 the blocks before it"
            )))
        })
    }

    /// Returns the rules of blocks with timestamps from `first` to `last`.
    pub(super) fn rules_between(&self, first: u64, last: u64) -> ForkSchedule {
        let mut changes: Vec<ForkChange> = Vec::new();
        for change in &self.rules.changes {
            if change.timestamp > first && change.timestamp <= last {
                // Of forks at one timestamp, the last is in force.
                changes.retain(|before| before.timestamp < change.timestamp);
                changes.push(*change);
            }
        }
        ForkSchedule { first: *self.rules.at(first), changes }
    }
}

/// Reads the genesis at `node`, the root of its file.
pub(super) fn genesis(node: &Json<'_>) -> Result<ChainGenesis, ImportError> {
    let config = config(&node.get(&["config"], "the forks of the chain")?)?;
    let accounts = read::accounts(&node.get(&["alloc"], "the accounts of block 0")?)?;
    let mut state = ChainState::new(accounts);
    let header = header(node, &config, state.root())?;
    Ok(ChainGenesis { header, state, config })
}

/// Makes the header of block 0: values from the file, `root`, and the fields that headers of its
/// fork have.
fn header(node: &Json<'_>, config: &ChainConfig, root: B256) -> Result<Header, ImportError> {
    if let Some(number) = node.find(&["number"])?
        && number.u64()? != 0
    {
        return Err(number.fault("0x0: a chain begins with block 0"));
    }
    let timestamp = node.u64_at("timestamp")?.unwrap_or_default();
    let has_base_fee = config.is_active("londonBlock", 0);
    // Forks by timestamp come after London, which brought the base fee.
    let is_from = |fork| has_base_fee && config.rules.at(timestamp).fork.is_from(fork);
    let base_fee = node.u64_at("baseFeePerGas")?.unwrap_or(INITIAL_BASE_FEE);
    let number_or_zero = |key| Ok::<_, ImportError>(node.u64_at(key)?.unwrap_or_default());
    let nonce = node.u64_at("nonce")?.unwrap_or_default();
    Ok(Header {
        parent_hash: node.b256_at("parentHash")?.unwrap_or_default(),
        ommers_hash: EMPTY_OMMER_ROOT_HASH,
        beneficiary: node.find(&["coinbase"])?.map_or(Ok(Default::default()), |at| at.address())?,
        state_root: root,
        transactions_root: EMPTY_ROOT_HASH,
        receipts_root: EMPTY_ROOT_HASH,
        difficulty: node.get(&["difficulty"], "the difficulty of block 0")?.u256()?,
        gas_limit: node.get(&["gasLimit"], "the gas limit of block 0")?.u64()?,
        gas_used: node.u64_at("gasUsed")?.unwrap_or_default(),
        timestamp,
        extra_data: node.find(&["extraData"])?.map_or(Ok(Default::default()), |at| at.bytes())?,
        mix_hash: node.b256_at("mixHash")?.unwrap_or_default(),
        nonce: nonce.to_be_bytes().into(),
        base_fee_per_gas: has_base_fee.then_some(base_fee),
        withdrawals_root: is_from(Fork::Shanghai).then_some(EMPTY_WITHDRAWALS),
        blob_gas_used: is_from(Fork::Cancun).then_some(number_or_zero("blobGasUsed")?),
        excess_blob_gas: is_from(Fork::Cancun).then_some(number_or_zero("excessBlobGas")?),
        parent_beacon_block_root: is_from(Fork::Cancun).then_some(B256::ZERO),
        requests_hash: is_from(Fork::Prague).then_some(EMPTY_REQUESTS_HASH),
        block_access_list_hash: is_from(Fork::Amsterdam).then(|| keccak256([EMPTY_LIST_CODE])),
        slot_number: is_from(Fork::Amsterdam).then_some(number_or_zero("slotNumber")?),
        ..Header::default()
    })
}

fn config(node: &Json<'_>) -> Result<ChainConfig, ImportError> {
    let mut early = [None; EARLY_FORKS.len()];
    for (first_block, (key, _)) in early.iter_mut().zip(EARLY_FORKS) {
        *first_block = node.u64_at(key)?;
    }
    let supports_dao = node.find(&["daoForkSupport"])?.map_or(Ok(false), |at| at.bool())?;
    let terminal_difficulty = match node.find(&["terminalTotalDifficulty"])? {
        Some(at) if at.text().is_ok() => Some(at.u256()?),
        // A JSON number above 64 bits is not exact, so it is left out. The difficulty of a block
        // also tells whether it is of Paris.
        at => at.and_then(|at| at.u256().ok()),
    };
    let (rules, unknown) = fork_schedule(node)?;
    Ok(ChainConfig {
        chain_id: node.get(&["chainId"], "the chain id")?.u64()?,
        early,
        dao_block: node.u64_at("daoForkBlock")?.filter(|_| supports_dao),
        is_clique: node.find(&["clique"])?.is_some(),
        terminal_difficulty,
        rules,
        unknown,
    })
}

/// Reads the rules from Paris on, and key and timestamp of each fork that this crate does not know.
fn fork_schedule(node: &Json<'_>) -> Result<(ForkSchedule, Vec<(String, u64)>), ImportError> {
    let deposit_contract = node.find(&["depositContractAddress"])?;
    let deposit_contract =
        deposit_contract.map_or(Ok(MAINNET_DEPOSIT_CONTRACT), |address| address.address())?;
    let schedules = node.find(&["blobSchedule"])?;
    let mut rules =
        ForkSchedule::from(ChainRules { deposit_contract, ..ChainRules::from(Fork::Paris) });
    let mut blobs = None;
    for fork in Fork::ALL.into_iter().skip(1) {
        let Some(time) = node.find(&[&format!("{fork}{TIME}")])? else { continue };
        let timestamp = time.u64()?;
        let before = rules.changes.last().map_or(0, |change| change.timestamp);
        if timestamp < before {
            return Err(time.fault(format!("{before} or later, as of the fork before")));
        }
        if let Some(schedules) = &schedules
            && let Some(schedule) = schedules.find(&[fork.name()])?
        {
            blobs = Some(read::blob_schedule(&schedule, fork)?);
        }
        // A blob schedule holds until a later fork has one of its own.
        let blobs = blobs.filter(|_| fork.is_from(Fork::Cancun));
        let blobs = blobs.unwrap_or_else(|| fork.blob_schedule());
        rules
            .changes
            .push(ForkChange { timestamp, rules: ChainRules { fork, blobs, deposit_contract } });
    }
    let mut unknown = Vec::new();
    for (key, value) in node.entries()? {
        if let Some(name) = key.strip_suffix(TIME)
            && Fork::ALL.into_iter().all(|fork| fork.name() != name)
            && !value.is_null()
        {
            unknown.push((key.to_owned(), value.u64()?));
        }
    }
    Ok((rules, unknown))
}
