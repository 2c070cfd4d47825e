//! Finds the rules of a node's blocks, for `blocks.rs`: forks, blob schedules and deposit contract.
//! The node gives them (`eth_config`, EIP-7910), or the user names a fork. A named fork is checked
//! against the fields of the headers and the node's answer, which may leave several forks possible.

use alloy_consensus::Header;
use alloy_primitives::Address;
use serde_json::json;
use workload::{
    BlobSchedule, ChainRules, Fork, ForkChange, ForkSchedule, MAINNET_DEPOSIT_CONTRACT,
};

use super::{
    super::{ImportError, fork_names, header, json::Json},
    client::RpcClient,
};

/// Address of the precompile that Osaka adds (EIP-7951), in hex without `0x`.
const OSAKA_PRECOMPILE: &str = "0000000000000000000000000000000000000100";

/// The rules of the node's newest block, from its answer to `eth_config`.
struct Config {
    /// Time from which the rules hold, in seconds of Unix time.
    since: u64,
    /// Target number of blobs of a block, if the node gives it.
    target: Option<u64>,
    /// Maximal number of blobs of a block, if the node gives it.
    max: Option<u64>,
    /// `baseFeeUpdateFraction` of the blob schedule.
    fraction: u64,
    /// Whether the rules have the precompile that Osaka adds.
    has_osaka: bool,
    deposit_contract: Option<Address>,
}

/// Returns the rules of the blocks with these `headers`, which are in order. `named` is the fork of
/// blocks whose fork follows neither from their headers' fields nor from the node's answer.
pub(super) fn schedule(
    client: &mut RpcClient<'_>,
    named: Option<Fork>,
    headers: &[Header],
) -> Result<ForkSchedule, ImportError> {
    let config = match client.attempt("eth_config", json!([]))? {
        Ok(reply) => config(&reply.json()).ok().flatten(),
        Err(_) => None,
    };
    let rules = headers.iter().map(|header| BlockRules::new(header, named, config.as_ref()));
    let all = rules.collect::<Result<Vec<_>, _>>()?;
    if let Some(named) = named {
        check_named(named, &all)?;
    }
    let mut schedule = ForkSchedule::from(all[0].rules);
    for BlockRules { number, timestamp, rules, .. } in all {
        let before = schedule.changes.last().map_or(&schedule.first, |change| &change.rules);
        if rules == *before {
            continue;
        }
        if before.fork.is_from(rules.fork) {
            return Err(ImportError::Fork(format!(
                "block {number} is of {}, and the blocks before it of {}, with other blobs or later; import the \
                 blocks before it, or those from it on",
                rules.fork, before.fork
            )));
        }
        schedule.changes.push(ForkChange { timestamp, rules });
    }
    Ok(schedule)
}

/// The rules of a block.
struct BlockRules {
    number: u64,
    timestamp: u64,
    /// The first fork whose headers have the fields of the block's header.
    first_fork: Fork,
    rules: ChainRules,
}

impl BlockRules {
    fn new(
        header: &Header,
        named: Option<Fork>,
        config: Option<&Config>,
    ) -> Result<Self, ImportError> {
        let Header { number, timestamp, .. } = *header;
        let first_fork = header::first_fork(header);
        let deposit_contract = config.and_then(|config| config.deposit_contract);
        let deposit_contract = deposit_contract.unwrap_or(MAINNET_DEPOSIT_CONTRACT);
        let config = config.filter(|config| config.since <= timestamp);
        let known = match first_fork {
            // Headers of the later forks before Amsterdam have the same fields.
            Fork::Prague => config.and_then(Config::fork_of_prague_fields),
            fork => Some(fork),
        };
        let named = named.filter(|named| header_fork(*named) == first_fork);
        let Some(fork) = known.or(named) else {
            return Err(ImportError::Fork(format!(
                "the fork of block {number} is not known: the node's eth_config does not say it; \
                 name it by --fork, {}",
                fork_names()
            )));
        };
        if let Some(config) = config
            && fork.blob_schedule().base_fee_update_fraction != config.fraction
            && !(first_fork == Fork::Amsterdam || config.is_osaka_with_own_fees())
        {
            return Err(ImportError::Fork(format!(
                "{fork} is not the fork of block {number}: baseFeeUpdateFraction in the node's \
                 eth_config is {}, that of {fork} is {}",
                config.fraction,
                fork.blob_schedule().base_fee_update_fraction
            )));
        }
        let config = config.filter(|_| fork.is_from(Fork::Cancun));
        let blobs = config.map_or(Ok(fork.blob_schedule()), |config| config.blobs(fork))?;
        let rules = ChainRules { fork, blobs, deposit_contract };
        Ok(Self { number, timestamp, first_fork, rules })
    }
}

/// Checks that at least one block is of the fork that the user named.
fn check_named(named: Fork, all: &[BlockRules]) -> Result<(), ImportError> {
    if all.iter().any(|block| block.rules.fork == named) {
        return Ok(());
    }
    let BlockRules { number, first_fork, rules, .. } = &all[0];
    let reason = match all.iter().find(|block| block.first_fork == header_fork(named)) {
        Some(block) => {
            format!("by the node's eth_config block {} is of {}", block.number, block.rules.fork)
        }
        None if *first_fork == Fork::Prague => {
            format!("the header of block {number} has the fields of prague to bpo2")
        }
        None => format!("the header of block {number} has the fields of {}", rules.fork),
    };
    Err(ImportError::Fork(format!("--fork {named}: {reason}")))
}

/// Returns the first fork whose headers have the same fields as the headers of `fork`.
const fn header_fork(fork: Fork) -> Fork {
    match fork {
        Fork::Prague | Fork::Osaka | Fork::Bpo1 | Fork::Bpo2 => Fork::Prague,
        Fork::Paris | Fork::Shanghai | Fork::Cancun | Fork::Amsterdam => fork,
    }
}

impl Config {
    /// Returns the chain's blob schedule. A value that the node leaves out is that of the schedule
    /// of `fork`.
    fn blobs(&self, fork: Fork) -> Result<BlobSchedule, ImportError> {
        let BlobSchedule { target, max, .. } = fork.blob_schedule();
        let blobs = BlobSchedule {
            target: self.target.unwrap_or(target),
            max: self.max.unwrap_or(max),
            base_fee_update_fraction: self.fraction,
        };
        match blobs.is_bounded() {
            true => Ok(blobs),
            false => Err(ImportError::Fork(format!(
                "the blob schedule in the node's eth_config is {blobs}; allowed is {}",
                BlobSchedule::BOUNDS
            ))),
        }
    }

    /// Returns the fork from Prague to the last one before Amsterdam that has these blob fees.
    /// `None` if no fork has them.
    fn fork_of_prague_fields(&self) -> Option<Fork> {
        // Osaka has the same blob fees as Prague, so the precompile tells the two apart.
        let forks: &[Fork] = match self.has_osaka {
            true => &[Fork::Osaka, Fork::Bpo1, Fork::Bpo2],
            false => &[Fork::Prague],
        };
        let mut forks = forks.iter().copied();
        forks.find(|fork| fork.blob_schedule().base_fee_update_fraction == self.fraction)
    }

    /// Whether the chain has the rules of Osaka, and blob fees that no fork has.
    fn is_osaka_with_own_fees(&self) -> bool {
        self.has_osaka && self.fork_of_prague_fields().is_none()
    }
}

/// Reads the answer to `eth_config`; `None` if it lacks the newest block's blob schedule.
fn config(node: &Json<'_>) -> Result<Option<Config>, ImportError> {
    let Some(current) = node.find(&["current"])? else { return Ok(None) };
    let Some(schedule) = current.find(&["blobSchedule"])? else { return Ok(None) };
    let fraction = schedule.get(&["baseFeeUpdateFraction"], "a number")?.u64()?;
    let (target, max) = (schedule.u64_at("target")?, schedule.u64_at("max")?);
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
    Ok(Some(Config { since, target, max, fraction, has_osaka, deposit_contract }))
}

#[cfg(test)]
mod tests {
    use alloy_primitives::B256;
    use serde_json::Value;

    use super::{
        super::{Call, NoAnswer, Refusal, Rpc},
        *,
    };

    /// A node with this answer to `eth_config`, the only call.
    struct ConfigNode(Value);

    impl Rpc for ConfigNode {
        fn name(&self) -> &'static str {
            "node"
        }

        fn call(&mut self, calls: &[Call]) -> Result<Vec<Result<Value, Refusal>>, NoAnswer> {
            Ok(calls.iter().map(|_| Ok(self.0.clone())).collect())
        }
    }

    /// The schedule of blocks at times 10, 20, …, each with one of these fields in its header. The
    /// node's newest rules are those of bpo2, in force from time 40 on.
    fn schedule_of(named: Option<Fork>, fields: &[&str]) -> Result<String, String> {
        let blobs = json!({"baseFeeUpdateFraction": 11_684_671, "target": 14, "max": 21});
        let precompiles = json!({"P256VERIFY": "0x0000000000000000000000000000000000000100"});
        let current =
            json!({"activationTime": 40, "blobSchedule": blobs, "precompiles": precompiles});
        let header = |(number, field): (u64, &&str)| {
            let mut header = Header { number, timestamp: 10 * (number + 1), ..Header::default() };
            match *field {
                "withdrawalsRoot" => header.withdrawals_root = Some(B256::ZERO),
                "parentBeaconBlockRoot" => header.parent_beacon_block_root = Some(B256::ZERO),
                "requestsHash" => header.requests_hash = Some(B256::ZERO),
                _ => header.block_access_list_hash = Some(B256::ZERO),
            }
            header
        };
        let headers: Vec<_> = (0..).zip(fields).map(header).collect();
        let mut node = ConfigNode(json!({"current": current}));
        let made = schedule(&mut RpcClient::new(&mut node), named, &headers);
        made.map(|rules| rules.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn each_block_has_the_fork_of_its_fields_of_the_node_or_of_the_name() {
        let fields = ["withdrawalsRoot", "parentBeaconBlockRoot", "requestsHash", "requestsHash"];
        let all = "shanghai, cancun from time 20 on, prague from time 30 on, bpo2 from time 40 on";
        assert_eq!(schedule_of(Some(Fork::Prague), &fields).as_deref(), Ok(all));
        let refused = |named, fields: &[&str], words: &[&str]| {
            let error = schedule_of(named, fields).expect_err("it is wrong");
            assert!(words.iter().all(|word| error.contains(word)), "{error}");
        };
        refused(None, &fields, &["block 2 is not known", "--fork"]);
        refused(Some(Fork::Cancun), &fields, &["block 2 is not known", "--fork"]);
        refused(Some(Fork::Bpo2), &fields[1..2], &["--fork bpo2", "the fields of cancun"]);
        let told = ["requestsHash"; 4];
        refused(Some(Fork::Amsterdam), &told, &["block 0 is not known"]);
        let amsterdam = ["requestsHash", "requestsHash", "requestsHash", "blockAccessListHash"];
        let made = "bpo1, amsterdam from time 40 on";
        assert_eq!(schedule_of(Some(Fork::Bpo1), &amsterdam).as_deref(), Ok(made));
        let backward = ["requestsHash", "parentBeaconBlockRoot"];
        refused(Some(Fork::Osaka), &backward, &["block 1 is of cancun", "osaka"]);
    }
}
