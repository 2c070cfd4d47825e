//! `stress import FILE…`: imports files that together make blocks. Their content tells their kinds.

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use clap::Args;
use generator::import::{self, FileSet, Imported, InputKind, TransitionInput};

use super::{
    chain::{self, BlockRange},
    file::{FileText, Files, failure, fork_named, with_root_hint, write},
    folder::{self, Folder},
    spec_tests::{self, TestsInput},
};
use crate::{
    cli::args::OutputArgs,
    terminal::{self, Code, Failure, Progress, exit::fail},
};

const EXAMPLES: &str = "\
Examples:
  stress import test.json --case 2 --out test.workload
  stress import tests/ --out workloads/         a file of each test
  stress import genesis.json chain.rlp --blocks 100..120 --out range.workload
  stress import alloc.json env.json txs.json result.json --fork bpo2 \\
                --out block.workload
  stress import rpc --url http://127.0.0.1:8545 --out block.workload
  stress --workload block.workload --store rocksdb,memory

Exit codes: 0 fine, 2 a file is wrong or the block cannot be run, 3 the block's outcome is
not that of the files or the node, 6 input or output, or no answer from the node, 130 interrupted.
More: docs/import-export.md";

/// Words that named the kind of a file in earlier versions.
const OLD_WORDS: [&str; 2] = ["t8n", "blockchain-test"];

/// Arguments of `stress import`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[command(mut_arg("out", |out| {
    out.help("The workload file to write; of a folder of tests, the folder to write them to")
}))]
pub struct FilesArgs {
    /// Files that make blocks together, or a directory of them; their content tells their kinds
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The case, where a file has several tests: its number, its name or a part of the name
    #[arg(long, value_name = "NAME|NUMBER")]
    pub case: Option<String>,
    /// Numbers of the blocks of a chain or of payloads, such as 100..120; blocks before them are
    /// only run
    #[arg(long, value_name = "A..B")]
    pub blocks: Option<BlockRange>,
    /// Rules of t8n files, or of a block beside its witness: paris, shanghai, cancun, prague,
    /// osaka, bpo1, bpo2 or amsterdam
    #[arg(long, value_name = "FORK")]
    pub fork: Option<String>,
    /// Chain id of t8n files, or of a block beside its witness [default: 1]
    #[arg(long, value_name = "NUMBER")]
    pub chain_id: Option<u64>,
    /// Consecutive blocks that are run as one
    #[arg(long, value_name = "N", default_value = "1")]
    pub batch: NonZeroUsize,
    /// The file, or the folder
    #[command(flatten)]
    pub to: OutputArgs,
}

/// Imports the files, and writes their workloads.
pub(super) fn import(args: &FilesArgs, progress: &Progress) -> Result<Code, Failure> {
    check_words(&args.files)?;
    let paths = match args.files.as_slice() {
        [dir] if dir.is_dir() => match folder::find(dir)? {
            Folder::Tests => {
                let (case, batch, to) = (args.case.as_deref(), args.batch, &args.to);
                return spec_tests::import_folder(dir, &TestsInput { case, batch, to }, progress);
            }
            Folder::Set(paths) => paths,
        },
        paths => paths.to_vec(),
    };
    let files = Files::new(paths)?;
    let set = FileSet::of(&files.kinds).map_err(failure)?;
    check_options(args, set)?;
    // A file that cannot be written is an error before the work, not after it.
    let output = args.to.file()?;
    let wanted = args.blocks.unwrap_or_default();
    let imported = match set {
        FileSet::Tests => spec_tests::import_test(args.case.as_deref(), &files.paths[0])?,
        FileSet::Transition => transition(args, &files)?,
        FileSet::Witness => witness(args, &files)?,
        FileSet::Chain => chain::import_rlp(&files, wanted, progress)?,
        FileSet::Payloads => chain::import_payloads(&files, wanted, progress)?,
    };
    let written = write(imported, output, args.batch, progress);
    let said = written.map_err(|failure| match set {
        FileSet::Transition => with_root_hint(failure),
        _ => failure,
    });
    terminal::out(&said?);
    Ok(Code::Fine)
}

/// Refuses words of earlier versions, and directories among files.
fn check_words(files: &[PathBuf]) -> Result<(), Failure> {
    if let Some(word) = OLD_WORDS.into_iter().find(|word| files[0] == Path::new(word))
        && !files[0].exists()
    {
        fail!(
            Code::Usage,
            "{word}: the content of files tells their kind; write `stress import FILE… --out FILE`, \
             with --case for the test of a name"
        );
    }
    match files.iter().find(|path| files.len() > 1 && path.is_dir()) {
        Some(dir) => fail!(Code::Usage, "{}: give a directory alone, or files", dir.display()),
        None => Ok(()),
    }
}

/// Refuses options that have no meaning for files of this set.
fn check_options(args: &FilesArgs, set: FileSet) -> Result<(), Failure> {
    const RULES: &str = "is for t8n files, and for a block beside its witness";
    let has_chain = matches!(set, FileSet::Chain | FileSet::Payloads);
    let names_rules = matches!(set, FileSet::Transition | FileSet::Witness);
    let options = [
        (args.case.is_some(), "--case", set == FileSet::Tests, "chooses one of several tests"),
        (args.blocks.is_some(), "--blocks", has_chain, "is for a chain and for payloads"),
        (args.fork.is_some(), "--fork", names_rules, RULES),
        (args.chain_id.is_some(), "--chain-id", names_rules, RULES),
    ];
    match options.into_iter().find(|(is_given, _, has_meaning, _)| *is_given && !has_meaning) {
        Some((_, option, _, meaning)) => {
            fail!(Code::Usage, "{option} {meaning}; leave it out for these files")
        }
        None => Ok(()),
    }
}

/// Imports the block of t8n files.
fn transition(args: &FilesArgs, files: &Files) -> Result<Imported, Failure> {
    let Some(fork) = &args.fork else {
        let forks = import::fork_names();
        fail!(Code::Usage, "--fork FORK is missing: no t8n file says the block's fork; {forks}");
    };
    let fork = fork_named(fork)?;
    let chain_id = args.chain_id.unwrap_or(1);
    let result = files.read(InputKind::Outcome)?;
    let result = result.as_ref().map(FileText::text);
    let import = |input| import::transition(input, result, fork, chain_id).map_err(failure);
    if let Some(whole) = files.read(InputKind::Transition)? {
        return import(TransitionInput::Whole(whole.text()));
    }
    let (alloc, env) =
        (files.read_required(InputKind::Alloc)?, files.read_required(InputKind::Env)?);
    let txs = files.read_required(InputKind::Transactions)?;
    let [alloc, env, txs] = [&alloc, &env, &txs].map(FileText::text);
    import(TransitionInput::Files { alloc, env, txs })
}

/// Imports a block with its witness.
fn witness(args: &FilesArgs, files: &Files) -> Result<Imported, Failure> {
    let fork = args.fork.as_deref().map(fork_named).transpose()?;
    let (block, witness) =
        (files.read_required(InputKind::Block)?, files.read_required(InputKind::Witness)?);
    let chain_id = args.chain_id.unwrap_or(1);
    import::witness(block.text(), witness.text(), fork, chain_id).map_err(failure)
}
