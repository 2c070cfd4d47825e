//! Writes an exported chain into a directory, in the requested forms. The directory is filled under
//! another name and then renamed, so a directory with its final name is complete.

mod benchmarkoor;
mod directory;

use std::{
    fs::{self, Permissions},
    io::Write,
    num::NonZeroU64,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    thread::available_parallelism,
};

use anyhow::Context;
use clap::ValueEnum;
use generator::export::{
    self, AccountsPlace, Chain, Grown, Lists, RowFiles, Settings, TestFormat, chain, chain_above,
};
use workload::{Fork, Workload, file};

pub use self::directory::GROWTH;
use self::directory::{Directory, failure};
use crate::{
    machine::scratch::Scratch,
    terminal::{Code, Failure, Progress, WithExitCode, exit::fail, interrupt},
};

/// File of the manifest, which lists the contents of an export.
pub const MANIFEST: &str = "export.json";
pub const WORKLOAD: &str = "work.workload";
/// File of the calls that send all blocks and their siblings.
pub const CALLS: &str = "payloads.txt";
/// File of the genesis block with its whole state.
pub const GENESIS: &str = "genesis.json";
/// File of the chain's settings, in an export whose state is in rows alone.
pub const SETTINGS: &str = "genesis-without-alloc.json";
/// File of the slots' rows. Every export with rows has it.
pub const SLOT_ROWS: &str = "slots.rows";

/// A form in which a chain is written. The comments of the variants are help texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// genesis.json, and Engine API calls, one a line: payloads.txt
    Engine,
    /// genesis.json, and the blocks as RLP, without and (from Amsterdam on) with lists
    Rlp,
    /// Tests in two formats of execution-spec-tests
    Eest,
    /// The state as sorted rows with hashed keys, of any size, for loaders
    Rows,
    /// The last block and its siblings as stateful tests of benchmarkoor
    Benchmarkoor,
}

/// The source from which a client gets the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateSource {
    /// The genesis block or rows hold the whole state.
    Genesis,
    /// Blocks write the slots of the state.
    Blocks,
}

/// Settings of an export, and its directory.
#[derive(Clone, Debug)]
pub struct ExportInput {
    pub forms: Vec<Form>,
    /// The source from which a client gets the state.
    pub state: StateSource,
    /// Number of siblings of each block. The block itself is one of them.
    pub sibling_count: NonZeroU64,
    /// Chain id; `None`: that of the workload.
    pub chain_id: Option<u64>,
    pub output: PathBuf,
}

/// Refuses an existing directory, before a workload is generated for it.
///
/// # Errors
/// The directory exists.
pub fn check(output: &Path) -> Result<(), Failure> {
    if output.symlink_metadata().is_ok() {
        fail!(Code::Usage, "--out {}: exists; name another directory", output.display());
    }
    Ok(())
}

/// Exports `workload`.
///
/// # Errors
/// [`ExportError`] with its exit code; the directory exists, or cannot be written. After an error
/// nothing is left.
pub fn export(
    workload: &Workload,
    input: &ExportInput,
    progress: &Progress,
) -> Result<Chain, Failure> {
    let output = &input.output;
    let cannot = || format!("--out {}: cannot be written", output.display());
    check(output)?;
    // The check comes before the blocks run, as the root of a large state takes minutes.
    check_state(workload, input)?;
    let parent = output.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    fs::create_dir_all(parent).with_context(cannot).with_exit_code(Code::Io)?;
    let scratch = Scratch::below(parent, ".stress-export-", |_| ());
    let scratch = scratch.with_context(cannot).with_exit_code(Code::Io)?;
    let draft = scratch.path().join("export");
    fs::create_dir(&draft).with_context(cannot).with_exit_code(Code::Io)?;
    let settings = Settings {
        chain_id: input.chain_id,
        thread_count: available_parallelism().map_or(1, usize::from),
        scratch: scratch.path().to_owned(),
        secrets: Vec::new(),
        cancel: interrupt::flag(),
    };
    let mut dir = Directory::new(&draft);
    let grown = match input.state {
        StateSource::Genesis => None,
        StateSource::Blocks => Some(grow(workload, &input.forms, &settings, progress, &mut dir)?),
    };
    let chain = run_chain(workload, grown, &settings, progress)?;
    let stage = progress.stage("writing the export", 0);
    let bytes = file::encode(workload).with_exit_code(Code::Io)?;
    dir.file(WORKLOAD, |out| Ok(out.write_all(&bytes)?))?;
    write_forms(dir, &chain, input, &settings)?;
    stage.finish();
    let readable = fs::set_permissions(&draft, Permissions::from_mode(0o755));
    readable.with_context(cannot).with_exit_code(Code::Io)?;
    fs::rename(&draft, output).with_context(cannot).with_exit_code(Code::Io)?;
    Ok(chain)
}

/// Refuses a state that does not fit into the requested forms.
fn check_state(workload: &Workload, input: &ExportInput) -> Result<(), Failure> {
    let forms = &input.forms;
    match input.state {
        StateSource::Blocks => {
            let refused = [(Form::Eest, "eest"), (Form::Rows, "rows")];
            if let Some((_, name)) = refused.into_iter().find(|(form, _)| forms.contains(form)) {
                fail!(
                    Code::Usage,
                    "--grow: --format {name} holds the whole state, and nothing is left to grow: leave out \
                     --grow or {name}; engine, rlp and benchmarkoor have the blocks that grow it"
                );
            }
            export::growth_plan(workload).map(drop).map_err(failure)
        }
        // Rows alone may hold a state that no genesis block can hold.
        StateSource::Genesis if forms.contains(&Form::Eest) || !forms.contains(&Form::Rows) => {
            export::check_size(&workload.genesis).map_err(failure)
        }
        StateSource::Genesis => Ok(()),
    }
}

/// Makes the blocks that grow the state. Writes each block as soon as it is made, as all these
/// blocks together are as large as the state.
fn grow(
    workload: &Workload,
    forms: &[Form],
    settings: &Settings<'_>,
    progress: &Progress,
    dir: &mut Directory<'_>,
) -> Result<Grown, Failure> {
    let block_count = export::growth_plan(workload).map_err(failure)?.block_count;
    let mut calls = dir.create(GROWTH)?;
    let mut chains = Vec::new();
    for (name, lists) in rlp_files(workload.rules.first.fork, forms) {
        chains.push((dir.create(name)?, lists));
    }
    let stage = progress.stage("growing the state", block_count);
    let mut done = 0;
    let grown = export::grow(workload, settings, |block| {
        export::payload(block, 2 * done + 1, &mut calls)?;
        for (out, lists) in &mut chains {
            export::rlp_of(block, *lists, out)?;
        }
        done += 1;
        stage.set(done, block_count);
        Ok(())
    });
    stage.finish();
    let grown = grown.map_err(failure)?;
    for out in chains.iter_mut().map(|(out, _)| out).chain([&mut calls]) {
        out.flush()
            .context("cannot write the blocks that grow the state")
            .with_exit_code(Code::Io)?;
    }
    Ok(grown)
}

/// Returns the names of the files with blocks as RLP, and whether their blocks have lists.
fn rlp_files(fork: Fork, forms: &[Form]) -> Vec<(&'static str, Lists)> {
    let mut files = Vec::new();
    if forms.contains(&Form::Rlp) {
        files.push(("chain.rlp", Lists::Without));
        if fork == Fork::Amsterdam {
            files.push(("chain-with-lists.rlp", Lists::With));
        }
    }
    files
}

/// Runs the blocks as a chain, above the blocks that grow the state if there are any.
fn run_chain(
    workload: &Workload,
    grown: Option<Grown>,
    settings: &Settings<'_>,
    progress: &Progress,
) -> Result<Chain, Failure> {
    let total = workload.tx_count();
    let stage = progress.stage("running the blocks as a chain", total);
    let chain = match grown {
        None => chain(workload, settings, stage.counting(total)),
        Some(grown) => chain_above(workload, grown, settings, stage.counting(total)),
    };
    stage.finish();
    chain.map_err(failure)
}

/// Writes a chain in all requested forms, and then the manifest.
fn write_forms(
    mut dir: Directory<'_>,
    chain: &Chain,
    input: &ExportInput,
    settings: &Settings<'_>,
) -> Result<(), Failure> {
    genesis(&mut dir, chain, &input.forms)?;
    for form in &input.forms {
        match form {
            Form::Engine => {
                dir.file(CALLS, |out| export::payloads(chain, input.sibling_count, out))?
            }
            Form::Rlp => {
                for (name, lists) in rlp_files(chain.rules.fork, &[Form::Rlp]) {
                    dir.file(name, |out| export::rlp(chain, lists, out))?;
                }
            }
            Form::Eest => {
                for (name, format) in [
                    ("blockchain_test.json", TestFormat::Blocks),
                    ("blockchain_test_engine.json", TestFormat::Engine),
                ] {
                    dir.file(name, |out| export::eest(chain, format, out))?;
                }
            }
            Form::Rows => rows(&mut dir, chain, settings)?,
            Form::Benchmarkoor => benchmarkoor::write(&mut dir, chain, input.sibling_count)?,
        }
    }
    let manifest = export::manifest(chain, input.sibling_count, dir.files().to_vec());
    dir.file(MANIFEST, |out| {
        serde_json::to_writer_pretty(&mut *out, &manifest)?;
        Ok(out.write_all(b"\n")?)
    })
}

/// Writes the genesis block; without accounts if they fit into rows alone.
fn genesis(dir: &mut Directory<'_>, chain: &Chain, forms: &[Form]) -> Result<(), Failure> {
    let (name, accounts) = match forms.contains(&Form::Rows) && !export::fits(&chain.genesis) {
        true => (SETTINGS, AccountsPlace::InRows),
        false => (GENESIS, AccountsPlace::Written),
    };
    dir.file(name, |out| export::genesis(chain, accounts, out))
}

/// Writes the state as sorted rows.
fn rows(dir: &mut Directory<'_>, chain: &Chain, settings: &Settings<'_>) -> Result<(), Failure> {
    let mut files = RowFiles {
        accounts: dir.create("accounts.rows")?,
        slots: dir.create(SLOT_ROWS)?,
        codes: dir.create("codes.rows")?,
    };
    export::rows(chain, settings, &mut files).map_err(failure)?;
    for file in [&mut files.accounts, &mut files.slots, &mut files.codes] {
        file.flush().context("cannot write rows").with_exit_code(Code::Io)?;
    }
    Ok(())
}
