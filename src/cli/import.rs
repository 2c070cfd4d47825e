//! The command line of `stress import`.

use std::{
    num::{NonZeroU64, NonZeroUsize},
    path::PathBuf,
};

use clap::{Args, Subcommand};
use generator::import::rpc::BlockName;

const IMPORT_EXAMPLES: &str = "\
Examples:
  stress import t8n --alloc alloc.json --env env.json --txs txs.json --fork bpo2 \\
                    --result result.json --output block.workload
  stress import blockchain-test test.json --output test.workload
  stress import blockchain-test tests/ --output workloads/
  stress import rpc --url http://127.0.0.1:8545 --block latest --output block.workload
  stress import rpc --url http://127.0.0.1:8545 --block 24476005 --blocks 8 --batch 8 \\
                    --output mega.workload
  stress --workload block.workload --store rocksdb,memory

Exit codes: 0 fine, 2 a file is wrong or the block cannot be run, 3 the block comes to something
else than the files or the node say, 6 input or output, or no answer from the node, 130 interrupted.
docs/import.md says more.";

/// Arguments of `stress import`.
#[derive(Debug, Args)]
#[command(after_help = IMPORT_EXAMPLES)]
pub struct ImportArgs {
    /// The format
    #[command(subcommand)]
    pub command: ImportCommand,
}

/// Formats of `stress import`.
#[derive(Debug, Subcommand)]
pub enum ImportCommand {
    /// Files of go-ethereum's state transition tool (`evm t8n`)
    T8n(T8nArgs),
    /// A `blockchain_test` file of execution-spec-tests
    BlockchainTest(BlockchainTestArgs),
    /// Blocks of a running node, by its JSON-RPC interface
    Rpc(RpcArgs),
}

/// Arguments of `stress import t8n`.
#[derive(Debug, Args)]
#[command(after_help = IMPORT_EXAMPLES)]
pub struct T8nArgs {
    /// The state before the block: --input.alloc of the tool
    #[arg(long, value_name = "FILE")]
    pub alloc: PathBuf,
    /// The block's environment: --input.env
    #[arg(long, value_name = "FILE")]
    pub env: PathBuf,
    /// Its transactions, as JSON or as RLP in a JSON text: --input.txs
    #[arg(long, value_name = "FILE")]
    pub txs: PathBuf,
    /// What the tool made of it, to be compared: --output.result
    #[arg(long, value_name = "FILE")]
    pub result: Option<PathBuf>,
    /// The tool was given more accounts than FILE of --alloc has: do not compare the state root
    #[arg(long, requires = "result")]
    pub partial_alloc: bool,
    /// Rules of the block: osaka, bpo1, bpo2 or amsterdam (--state.fork)
    #[arg(long, value_name = "FORK")]
    pub fork: String,
    /// Chain id (--state.chainid)
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub chain_id: u64,
    /// The workload file to write
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
}

/// Arguments of `stress import blockchain-test`.
#[derive(Debug, Args)]
#[command(after_help = IMPORT_EXAMPLES)]
pub struct BlockchainTestArgs {
    /// The file, or a folder: then all tests of all files in it are imported
    pub file: PathBuf,
    /// Name of the test, where the file has several
    #[arg(long, value_name = "NAME")]
    pub test: Option<String>,
    /// Consecutive blocks that are run as one
    #[arg(long, value_name = "N", default_value = "1")]
    pub batch: NonZeroUsize,
    /// The workload file to write; of a folder, the folder to write them to
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
}

/// Arguments of `stress import rpc`.
#[derive(Debug, Args)]
#[command(after_help = IMPORT_EXAMPLES)]
pub struct RpcArgs {
    /// The node's JSON-RPC interface over HTTP
    #[arg(long, value_name = "URL", env = "STRESS_RPC_URL", hide_env_values = true)]
    pub url: String,
    /// The last block: a number, a hash, or latest
    #[arg(long, value_name = "BLOCK", default_value = "latest")]
    pub block: BlockName,
    /// Number of consecutive blocks, of which --block is the last
    #[arg(long, value_name = "N", default_value = "1")]
    pub blocks: NonZeroU64,
    /// Consecutive blocks that are run as one
    #[arg(long, value_name = "N", default_value = "1")]
    pub batch: NonZeroUsize,
    /// Rules of the blocks: osaka, bpo1, bpo2 or amsterdam; else as the node says (`eth_config`)
    #[arg(long, value_name = "FORK")]
    pub fork: Option<String>,
    /// Do not ask for the node's tracer: read the state key by key
    #[arg(long)]
    pub without_tracer: bool,
    /// The workload file to write
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
}
