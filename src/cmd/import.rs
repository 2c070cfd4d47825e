//! `stress import`: real blocks become a workload file. What the files or the node say of them is
//! compared with what the reference makes of it before anything is written.

mod folder;

use std::{fs::File, io::Read, num::NonZeroUsize, path::Path};

use anyhow::{Context, anyhow};
use generator::{
    import::{
        self, ImportError, Imported, Source, Text, TransitionFiles,
        rpc::{MAX_BLOCKS, Tracer, Wanted},
    },
    reference::ReferenceError,
};
use workload::{Fork, file};

use report::units;

use crate::{
    cli::{BlockchainTestArgs, ImportArgs, ImportCommand, RpcArgs, T8nArgs},
    exit::{Code, Failure, OrExit},
    interrupt,
    node::HttpNode,
    progress::{self, Progress},
    terminal,
};

/// Largest file that is read, in bytes: many times a block with all the state that it touches.
const MAX_FILE_BYTES: u64 = 1 << 30;
/// Names of tests that an error shows.
const SHOWN_TESTS: usize = 5;

/// Imports blocks and writes their workloads.
pub fn import(args: &ImportArgs) -> Result<Code, Failure> {
    let progress = Progress::new(terminal::look());
    let (imported, output, batch) = match &args.command {
        ImportCommand::T8n(args) => (transition(args)?, &args.output, NonZeroUsize::MIN),
        ImportCommand::BlockchainTest(args) if args.file.is_dir() => {
            return folder::import(args, &progress);
        }
        ImportCommand::BlockchainTest(args) => (blockchain_test(args)?, &args.output, args.batch),
        ImportCommand::Rpc(args) => (rpc(args, &progress)?, &args.output, args.batch),
    };
    terminal::out(&write(imported, output, batch, &progress)?);
    Ok(Code::Fine)
}

/// Runs the reference, compares, writes the workload, and says so in the lines that it gives.
fn write(
    mut imported: Imported,
    output: &Path,
    batch: NonZeroUsize,
    progress: &Progress,
) -> Result<String, Failure> {
    let total = imported.workload.tx_count();
    let stage = progress.stage("running the reference", total);
    let mut done = 0;
    let compared = import::complete(&mut imported, || {
        done += 1;
        stage.set(done, total);
        interrupt::answer()
    });
    stage.finish();
    let compared = compared.map_err(failure)?;
    let mut workload = imported.workload;
    if batch > NonZeroUsize::MIN {
        let joined = import::in_batches(&mut workload, batch, interrupt::answer);
        joined.map_err(|error| failure(error.into()))?;
    }
    file::write(output, &workload).or_exit(Code::Io)?;
    let numbers: Vec<u64> = workload.blocks().map(|block| block.env.number).collect();
    let blocks = match numbers.as_slice() {
        [number] => format!("block {number}"),
        [first, .., last] => format!("blocks {first} to {last}"),
        [] => String::new(),
    };
    let batches = match workload.batches.len() {
        count if count == numbers.len() => String::new(),
        count => format!(" as {}", units::batches(count as u64)),
    };
    let mut said = format!(
        "{}: {blocks}{batches} on {}, {} transactions, {} gas; state of {} and {}; digest {}\n",
        output.display(),
        workload.fork,
        workload.tx_count(),
        workload.gas_used(),
        units::things(workload.genesis.account_count(), "account"),
        units::things(workload.genesis.slot_count(), "slot"),
        workload.digest()
    );
    if compared.is_empty() {
        terminal::note("nothing says what the block came to: it was not compared");
    } else {
        let who = match imported.source {
            Source::Files => "the files say",
            Source::Node => "the node says",
        };
        said += &format!("equal to what {who}: {}\n", compared.join(", "));
    }
    Ok(said)
}

/// The fork that was named.
fn fork_named(name: &str) -> Result<Fork, Failure> {
    let fork = import::fork_of(name).ok_or_else(|| {
        anyhow!("--fork {name}: no fork that is run; it is {}", import::fork_names())
    });
    fork.or_exit(Code::Usage)
}

fn rpc(args: &RpcArgs, progress: &Progress) -> Result<Imported, Failure> {
    let most = MAX_BLOCKS;
    if args.blocks.get() > most {
        return Err(anyhow!("--blocks {}: {most} at most", args.blocks)).or_exit(Code::Usage);
    }
    let wanted = Wanted {
        last: args.block,
        count: args.blocks,
        fork: args.fork.as_deref().map(fork_named).transpose()?,
        tracer: if args.without_tracer { Tracer::Avoided } else { Tracer::Asked },
    };
    let stage = progress.stage("asking the node", 0);
    let on_answers = |count| stage.set(count, 0);
    let mut node = HttpNode::new(&args.url, &on_answers).or_exit(Code::Usage)?;
    let imported = import::rpc_blocks(&mut node, &wanted).map_err(failure)?;
    stage.finish();
    Ok(imported)
}

fn transition(args: &T8nArgs) -> Result<Imported, Failure> {
    let fork = fork_named(&args.fork)?;
    let texts = [&args.alloc, &args.env, &args.txs].map(|path| read(path));
    let [alloc, env, txs] = texts;
    let (alloc, env, txs) = (alloc?, env?, txs?);
    let result = args.result.as_deref().map(read).transpose()?;
    let files = TransitionFiles {
        alloc: alloc.text(),
        env: env.text(),
        txs: txs.text(),
        result: result.as_ref().map(Named::text),
    };
    let mut imported = import::transition(files, fork, args.chain_id).map_err(failure)?;
    if args.partial_alloc {
        for block in &mut imported.blocks {
            block.state_root = None;
        }
    }
    Ok(imported)
}

fn blockchain_test(args: &BlockchainTestArgs) -> Result<Imported, Failure> {
    let file = read(&args.file)?;
    let mut tests = import::blockchain_tests(&file.name, &file.content).map_err(failure)?;
    let place = match &args.test {
        Some(name) => tests.iter().position(|test| test.name == *name),
        None => (tests.len() == 1).then_some(0),
    };
    let Some(place) = place else {
        let mut names: Vec<_> =
            tests.iter().take(SHOWN_TESTS).map(|test| test.name.as_str()).collect();
        if tests.len() > SHOWN_TESTS {
            names.push("…");
        }
        let asked = args.test.as_ref().map_or_else(
            || {
                format!(
                    "{} has {}; choose one by --test",
                    file.name,
                    units::things(tests.len() as u64, "test")
                )
            },
            |name| format!("--test {name}: {} has no such test", file.name),
        );
        return Err(anyhow!("{asked}: {}", names.join(", "))).or_exit(Code::Usage);
    };
    Ok(tests.swap_remove(place))
}

/// The exit code of an import that failed.
fn failure(error: ImportError) -> Failure {
    let code = match &error {
        ImportError::Reference(ReferenceError::Cancelled) => Code::Interrupted,
        ImportError::Differs { .. } => Code::Disagree,
        ImportError::Node { .. } => Code::Io,
        _ => Code::Usage,
    };
    let is_root = matches!(&error, ImportError::Differs { what, .. } if what == "state root");
    let error = if is_root {
        anyhow!("{error}; a result made over more accounts than these wants --partial-alloc")
    } else {
        error.into()
    };
    Failure { code, error }
}

/// A file's content with its name.
struct Named {
    name: String,
    content: String,
}

impl Named {
    fn text(&self) -> Text<'_> {
        Text { name: &self.name, text: &self.content }
    }
}

fn read(path: &Path) -> Result<Named, Failure> {
    let name = path.display().to_string();
    let mut bytes = Vec::new();
    let opened = File::open(path).with_context(|| format!("cannot open {name}"));
    let most = opened.or_exit(Code::Io)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes);
    let read_bytes = most.with_context(|| format!("cannot read {name}")).or_exit(Code::Io)?;
    if read_bytes as u64 > MAX_FILE_BYTES {
        let most = progress::bytes(MAX_FILE_BYTES);
        return Err(anyhow!("{name}: larger than {most}, which no block is")).or_exit(Code::Usage);
    }
    let content = String::from_utf8(bytes);
    let content = content.map_err(|_| anyhow!("{name}: this is no text, so no JSON"));
    Ok(Named { name, content: content.or_exit(Code::Usage)? })
}
