//! `stress export`: exports a workload as a chain that clients import.

use std::{num::NonZeroU64, path::PathBuf};

use clap::Args;
use generator::export::{Chain, delegation_gas, delegations_gas};
use report::units;
use spec::{BlockTarget, Override, Scenario};
use workload::Workload;

use crate::{
    cli::args::WorkArgs,
    client::export::write::{self, ExportInput, Form, StateSource},
    run::prepare::{self, Size},
    terminal::{self, Code, Failure, Progress, WithExitCode, exit::fail},
};

/// Maximal number of siblings of a block, as the export writes each of them.
const MAX_SIBLINGS: u64 = 10_000;
/// Maximal number of attempts to generate blocks that fill a gas limit together with the gas of
/// their delegations (EIP-7702).
const LIMIT_TRIES: usize = 3;

const EXPORT_EXAMPLES: &str = "\
Examples:
  stress export storm.workload --out storm/
  stress export --scenario sload-storm --gas 64M --slots 1M --siblings 16 \\
                --out storm/
  stress export --scenario erc20 --fork osaka --format engine,rlp --chain-id 1337 --out erc20/
  stress export --scenario sload-storm --slots 128M --format engine,rows --out large/
  stress export --scenario sload-storm --slots 2M --grow --siblings 16 --out grown/

Exit codes: 0 fine, 2 the workload cannot be exported, 3 the reference cannot run it, 6 output, 130
interrupted. docs/import-export.md explains the files and how to send payloads.txt.";

/// Arguments of `stress export`.
#[derive(Debug, Args)]
#[command(after_help = EXPORT_EXAMPLES)]
pub struct ExportArgs {
    /// A workload file that `stress generate` wrote
    #[arg(
        value_name = "WORKLOAD",
        required_unless_present = "scenario",
        conflicts_with_all = ["scenario", "quick"]
    )]
    pub workload: Option<PathBuf>,
    /// A shipped scenario's name, or the path of a scenario file
    #[arg(long, value_name = "NAME|FILE")]
    pub scenario: Option<String>,
    /// A small state and block
    #[arg(long)]
    pub quick: bool,
    /// The directory to make
    #[arg(long, short, value_name = "DIR")]
    pub out: PathBuf,
    /// Formats to write, separated by commas
    #[arg(long, value_enum, value_name = "LIST", value_delimiter = ',', default_value = "engine")]
    pub format: Vec<Form>,
    /// Number of copies of each block, with other hashes and the same work: samples that need no
    /// rollback
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 1,
        value_parser = clap::value_parser!(u64).range(1..=MAX_SIBLINGS)
    )]
    pub siblings: u64,
    /// Let blocks write the slots of contracts, for clients that no program fills: a small
    /// genesis.json, and the calls of these blocks (grow.txt), which go before payloads.txt
    #[arg(long)]
    pub grow: bool,
    /// Chain id [default: the workload's]
    #[arg(long, value_name = "NUMBER")]
    pub chain_id: Option<u64>,
    /// Options that define the workload
    #[command(flatten)]
    pub work: WorkArgs,
}

/// Exports a workload.
pub fn export(args: &ExportArgs) -> Result<Code, Failure> {
    let progress = Progress::new(terminal::progress_form());
    write::check(&args.out)?;
    let workload = workload(args, &progress)?;
    let mut forms = Vec::new();
    for form in args.format.iter().copied() {
        if !forms.contains(&form) {
            forms.push(form);
        }
    }
    let input = ExportInput {
        forms,
        state: if args.grow { StateSource::Blocks } else { StateSource::Genesis },
        sibling_count: NonZeroU64::new(args.siblings).unwrap_or(NonZeroU64::MIN),
        chain_id: args.chain_id,
        output: args.out.clone(),
    };
    let chain = write::export(&workload, &input, &progress)?;
    progress.clear();
    terminal::out(&summary(args, &chain));
    let differing = chain.differing_tx_count;
    if differing > 0 {
        terminal::note(&format!(
            "{} of {} come to something else than in the workload: numbers, hashes and fees of the \
             blocks are the chain's",
            units::count(differing),
            units::things(workload.tx_count(), "transaction"),
        ));
    }
    Ok(Code::Fine)
}

fn workload(args: &ExportArgs, progress: &Progress) -> Result<Workload, Failure> {
    let overrides = args.work.overrides().with_exit_code(Code::Usage)?;
    match (&args.scenario, &args.workload) {
        (None, Some(path)) => {
            if let Some(given) = overrides.first() {
                let origin = &given.origin;
                fail!(
                    Code::Usage,
                    "{origin}: the work of a workload file is fixed; generate another"
                );
            }
            prepare::read_workload(path, progress)
        }
        (name, _) => {
            let size = if args.quick { Size::Quick } else { Size::Stated };
            let name = name.as_deref().unwrap_or_default();
            let mut scenario = prepare::scenario(name, overrides.clone(), size)?;
            if !args.grow {
                return prepare::generate(&scenario, progress);
            }
            if let Some(less) = room_for_delegation(&scenario, &overrides) {
                scenario = prepare::scenario(name, [overrides, vec![less]].concat(), size)?;
            }
            generate_grown(scenario, progress)
        }
    }
}

/// Generates blocks that leave gas of their limit for delegations (EIP-7702). A smaller load may
/// need fewer of them: hence several attempts.
fn generate_grown(mut scenario: Scenario, progress: &Progress) -> Result<Workload, Failure> {
    let mut workload = prepare::generate(&scenario, progress)?;
    let BlockTarget::Limit(limit) = scenario.block.target else { return Ok(workload) };
    for _ in 0..LIMIT_TRIES {
        let target = BlockTarget::Limit(limit.saturating_sub(delegations_gas(&workload)));
        if scenario.block.target == target {
            break;
        }
        scenario.block.target = target;
        workload = prepare::generate(&scenario, progress)?;
    }
    Ok(workload)
}

/// Returns an override of the transactions' gas limit that leaves gas for a delegation below the
/// fork's cap. `None` if the user sets that limit, if it leaves the gas already, or if it is above
/// the cap.
fn room_for_delegation(scenario: &Scenario, given: &[Override]) -> Option<Override> {
    let cap = scenario.fork.tx_gas_cap();
    let most = cap - delegation_gas(scenario.fork);
    // A limit above the cap is for state gas, and the gas of the execution may be far below the
    // cap.
    let is_near_cap = scenario.block.tx_gas > most && scenario.block.tx_gas <= cap;
    if !is_near_cap || given.iter().any(|given| given.key == "block.tx_gas") {
        return None;
    }
    terminal::note(&format!(
        "--grow: block.tx_gas is {most}, so that transactions can pay for the delegation of a grown contract"
    ));
    Some(Override::new("block.tx_gas", most.to_string(), "--grow"))
}

fn summary(args: &ExportArgs, chain: &Chain) -> String {
    let tx_count: usize =
        chain.blocks.iter().map(|built| built.block.body.transactions.len()).sum();
    let root = chain.blocks.last().map(|built| built.block.header.state_root).unwrap_or_default();
    let grown = chain.grown.map_or(String::new(), |grown| {
        format!(
            "before them {} with {} and {} gas write {} (grow.txt), state root {}\n",
            units::things(grown.block_count, "block"),
            units::things(grown.tx_count, "transaction"),
            units::count(grown.gas_used),
            units::things(grown.slot_count, "slot"),
            grown.state_root,
        )
    });
    format!(
        "{}: {} on {}, chain {}, {}\n{grown}genesis {}, state root {}, {} after the last block\n",
        args.out.display(),
        units::things(chain.blocks.len() as u64, "block"),
        chain.rules.fork,
        chain.chain_id,
        units::things(tx_count as u64, "transaction"),
        chain.genesis_hash,
        chain.genesis_header.state_root,
        root,
    )
}
