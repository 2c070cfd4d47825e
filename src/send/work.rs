//! Generates the workload to send: the scenario with the accounts of the load, under the node's
//! rules.

use send::{NodeFacts, Plan};
use spec::{Deployed, LoadKind, Override, Scenario};
use workload::Workload;

use super::input::SendInput;
use crate::{
    run::prepare::{self, Size, add_default},
    terminal::{Code, Failure, Progress, WithExitCode, exit::fail},
};

/// Reason for refusing a load that creates contracts. A call of an address without code would
/// succeed and do nothing.
const CREATED: &str = "its transactions call contracts that others of them create, whose addresses and order are \
                       others on a live chain";
/// Default number of transactions.
const TRANSACTIONS: &str = "10k";
/// Maximal number of accounts with a slot in a contract. One transaction creates the contract with
/// all of the slots.
const HOLDERS_MAX: u64 = 600;
/// The same maximum on a chain where state has its own price (EIP-8037).
const PRICED_HOLDERS_MAX: u64 = 100;

/// A workload, and its transactions for a live chain.
#[derive(Debug)]
pub struct Work {
    pub workload: Workload,
    pub plan: Plan,
}

/// Generates the work of `input` for `node`.
///
/// # Errors
/// The scenario is not valid, or cannot be sent.
pub fn generate(input: &SendInput, node: &NodeFacts, progress: &Progress) -> Result<Work, Failure> {
    let scenario = scenario(input, node)?;
    check_sendable(&scenario)?;
    let workload = prepare::generate(&scenario, progress)?;
    let plan = Plan::new(&workload).with_exit_code(Code::Usage)?;
    Ok(Work { workload, plan })
}

/// Refuses a scenario that cannot be sent to a live node.
fn check_sendable(scenario: &Scenario) -> Result<(), Failure> {
    let Some((kind, reason)) = refusal(scenario) else { return Ok(()) };
    fail!(
        Code::Usage,
        "the load {kind} of {} cannot be sent to a live node: {reason}; `stress send --help` names \
         scenarios that can",
        scenario.name
    )
}

/// Returns the scenario with the defaults of a load, and with the fork of the node.
fn scenario(input: &SendInput, node: &NodeFacts) -> Result<Scenario, Failure> {
    let shipped = prepare::scenario(&input.scenario, Vec::new(), Size::Stated)?;
    // The check comes before the defaults of a load on a node, as these may not fit a scenario that
    // cannot be sent.
    check_sendable(&shipped)?;
    let mut overrides = input.work.clone();
    let fork = if node.has_lists { "amsterdam" } else { "osaka" };
    add_default(&mut overrides, &[], Override::new("fork", fork, "the node's rules"));
    let size = Override::new("block.transactions", TRANSACTIONS, "the default");
    add_default(&mut overrides, &["block.limit", "block.gas"], size);
    let (accounts, origin) = match &input.accounts {
        Some(accounts) => (accounts.clone(), format!("--accounts {accounts}")),
        None => (default_accounts(&shipped), "the default".to_owned()),
    };
    let accounts = Override::new("state.accounts", accounts, origin);
    add_default(&mut overrides, &[], accounts);
    let counts = overrides.iter().filter(|given| given.key == "state.accounts").cloned().collect();
    // Any scenario parses the count, which may have a unit, as in 10k.
    let parsed = prepare::scenario("transfers", counts, Size::Stated)?;
    let most = if node.has_lists { PRICED_HOLDERS_MAX } else { HOLDERS_MAX };
    let holders = parsed.state.account_count.clamp(2, most).to_string();
    for (index, load) in shipped.loads.iter().enumerate() {
        let Some(key) = holder_count_key(&load.kind) else { continue };
        let (own, path) = (format!("load.{key}"), format!("load[{index}].{key}"));
        let default = Override::new(path, &holders, format!("{key} of an account's slot each"));
        add_default(&mut overrides, &[own.as_str()], default);
    }
    prepare::scenario(&input.scenario, overrides, Size::Stated)
}

/// Returns the default number of accounts: the smallest default of the scenario's loads. A load has
/// a smaller one if a single transaction creates a contract with slots for all accounts.
fn default_accounts(scenario: &Scenario) -> String {
    let counts = scenario.loads.iter().map(|load| match load.kind {
        LoadKind::Chains(_) => 300,
        LoadKind::NonConflicting(_) => 600,
        _ => 1_000,
    });
    counts.min().unwrap_or(1_000).to_string()
}

/// Returns the name of the load's key for the number of accounts that have a slot of their own in
/// its contract.
const fn holder_count_key(kind: &LoadKind) -> Option<&'static str> {
    match kind {
        LoadKind::Erc20(_) | LoadKind::Erc721(_) | LoadKind::Airdrop(_) => Some("holders"),
        LoadKind::NftMint(_) => Some("minters"),
        _ => None,
    }
}

/// Returns the kind of the first load whose state cannot be made by transactions, and the reason.
/// `None` if the scenario can be sent.
fn refusal(scenario: &Scenario) -> Option<(&'static str, &'static str)> {
    scenario.loads.iter().find_map(|load| Some((load.kind.name(), reason(&load.kind)?)))
}

const fn reason(kind: &LoadKind) -> Option<&'static str> {
    match kind {
        LoadKind::SloadStorm(_)
        | LoadKind::SstoreStorm(_)
        | LoadKind::PrefetchMiss(_)
        | LoadKind::BalanceStorm(_)
        | LoadKind::ContractChase(_)
        | LoadKind::Bloated(_) => Some(
            "its contract has slots by a rule, more than transactions can write (export it with a genesis: \
             stress export)",
        ),
        LoadKind::AccountStorm(_) => Some(
            "it reads accounts that only a genesis can have (export it with one: stress export)",
        ),
        LoadKind::Amm(_) => Some(
            "its pairs own tokens at keys that hash the pairs' addresses, which are others on a live chain",
        ),
        LoadKind::Delegate(_) => Some("it has delegations (EIP-7702), which are not sent"),
        LoadKind::Deploy(_) => Some(CREATED),
        LoadKind::HashChain(chain) if !matches!(chain.deployed, Deployed::Before) => Some(CREATED),
        LoadKind::Transfers(_)
        | LoadKind::Erc20(_)
        | LoadKind::OneSlot(_)
        | LoadKind::Dapps(_)
        | LoadKind::Chains(_)
        | LoadKind::HashChain(_)
        | LoadKind::NonConflicting(_)
        | LoadKind::Erc721(_)
        | LoadKind::NftMint(_)
        | LoadKind::Airdrop(_)
        | LoadKind::Compute(_)
        | LoadKind::Logs(_) => None,
    }
}
