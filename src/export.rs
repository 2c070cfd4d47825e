//! Writes an exported chain into a directory, in the forms that are asked for. The directory is made
//! beside its place and renamed: one with its name is whole.

use std::{
    fs::{self, File, Permissions},
    io::{BufWriter, Write},
    num::NonZeroU64,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow};
use clap::ValueEnum;
use generator::{
    export::{self, Accounts, Chain, ExportError, Lists, RowFiles, Settings, TestFormat, chain},
    reference::ReferenceError,
};
use workload::{Fork, RowError, Workload, file};

use crate::{
    exit::{Code, Failure, OrExit},
    interrupt,
    progress::Progress,
};

/// Name of the workload in an export.
pub const WORKLOAD: &str = "work.workload";

/// A form of a chain. The comments are the help.
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
}

/// Settings of an export, and its directory.
#[derive(Clone, Debug)]
pub struct ExportInput {
    /// The forms.
    pub forms: Vec<Form>,
    /// Siblings of each block, with the block itself.
    pub sibling_count: NonZeroU64,
    /// Chain id; that of the workload where it is `None`.
    pub chain_id: Option<u64>,
    /// Threads.
    pub thread_count: usize,
    /// The directory.
    pub output: PathBuf,
}

/// Refuses a directory that exists, before a workload is generated for it.
///
/// # Errors
/// It exists.
pub fn check(output: &Path) -> Result<(), Failure> {
    if output.symlink_metadata().is_ok() {
        let error = anyhow!("--output {}: exists; name another directory", output.display());
        return Err(error).or_exit(Code::Usage);
    }
    Ok(())
}

/// Exports `workload`.
///
/// # Errors
/// [`ExportError`] with its exit code; the directory is there, or cannot be written. Then nothing is
/// left.
pub fn export(
    workload: &Workload,
    input: &ExportInput,
    progress: &Progress,
) -> Result<Chain, Failure> {
    let output = &input.output;
    check(output)?;
    // Before the blocks are run: the root of a large state takes minutes.
    if input.forms.contains(&Form::Eest) || !input.forms.contains(&Form::Rows) {
        export::check_size(&workload.genesis).map_err(failure)?;
    }
    let parent = output.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    let cannot = || format!("--output {}: cannot be written", output.display());
    fs::create_dir_all(parent).with_context(cannot).or_exit(Code::Io)?;
    let beside = tempfile::Builder::new().prefix(".stress-export-").tempdir_in(parent);
    let beside = beside.with_context(cannot).or_exit(Code::Io)?;
    let settings = Settings {
        chain_id: input.chain_id,
        thread_count: input.thread_count,
        scratch: beside.path().to_owned(),
        secrets: Vec::new(),
        cancel: interrupt::flag(),
    };
    let chain = run(workload, &settings, progress)?;
    let stage = progress.stage("writing the export", 0);
    file::write(&beside.path().join(WORKLOAD), workload).or_exit(Code::Io)?;
    let dir = Directory { path: beside.path(), files: vec![WORKLOAD.to_owned()] };
    dir.write(&chain, input, &settings)?;
    stage.finish();
    let readable = fs::set_permissions(beside.path(), Permissions::from_mode(0o755));
    readable.with_context(cannot).or_exit(Code::Io)?;
    fs::rename(beside.path(), output).with_context(cannot).or_exit(Code::Io)?;
    Ok(chain)
}

fn run(
    workload: &Workload,
    settings: &Settings<'_>,
    progress: &Progress,
) -> Result<Chain, Failure> {
    let total = workload.tx_count();
    let stage = progress.stage("running the blocks as a chain", total);
    let mut done = 0;
    let chain = chain(workload, settings, || {
        done += 1;
        stage.set(done, total);
        interrupt::answer()
    });
    stage.finish();
    chain.map_err(failure)
}

fn failure(error: ExportError) -> Failure {
    let code = match &error {
        ExportError::Reference(ReferenceError::Cancelled)
        | ExportError::Rows(RowError::Cancelled) => Code::Interrupted,
        ExportError::Reference(_) => Code::Disagree,
        ExportError::Rows(_) | ExportError::Io(_) => Code::Io,
        _ => Code::Usage,
    };
    Failure { code, error: error.into() }
}

/// A directory that is being filled.
struct Directory<'a> {
    path: &'a Path,
    files: Vec<String>,
}

impl Directory<'_> {
    fn write(
        mut self,
        chain: &Chain,
        input: &ExportInput,
        settings: &Settings<'_>,
    ) -> Result<(), Failure> {
        self.genesis(chain, &input.forms)?;
        for form in &input.forms {
            match form {
                Form::Engine => self.file("payloads.txt", |out| {
                    export::payloads(chain, input.sibling_count, out)
                })?,
                Form::Rlp => {
                    self.file("chain.rlp", |out| export::rlp(chain, Lists::Without, out))?;
                    if chain.fork == Fork::Amsterdam {
                        let name = "chain-with-lists.rlp";
                        self.file(name, |out| export::rlp(chain, Lists::With, out))?;
                    }
                }
                Form::Eest => {
                    for (name, format) in [
                        ("blockchain_test.json", TestFormat::Blocks),
                        ("blockchain_test_engine.json", TestFormat::Engine),
                    ] {
                        self.file(name, |out| export::eest(chain, format, out))?;
                    }
                }
                Form::Rows => self.rows(chain, settings)?,
            }
        }
        let manifest = export::manifest(chain, input.sibling_count, self.files.clone());
        self.file("export.json", |out| {
            serde_json::to_writer_pretty(&mut *out, &manifest)?;
            Ok(out.write_all(b"\n")?)
        })
    }

    fn genesis(&mut self, chain: &Chain, forms: &[Form]) -> Result<(), Failure> {
        let (name, accounts) = match forms.contains(&Form::Rows) && !export::fits(&chain.genesis) {
            true => ("genesis-without-alloc.json", Accounts::InRows),
            false => ("genesis.json", Accounts::Written),
        };
        self.file(name, |out| export::genesis(chain, accounts, out))
    }

    fn rows(&mut self, chain: &Chain, settings: &Settings<'_>) -> Result<(), Failure> {
        let mut files = RowFiles {
            accounts: self.create("accounts.rows")?,
            slots: self.create("slots.rows")?,
            codes: self.create("codes.rows")?,
        };
        export::rows(chain, settings, &mut files).map_err(failure)?;
        for file in [&mut files.accounts, &mut files.slots, &mut files.codes] {
            file.flush().context("cannot write rows").or_exit(Code::Io)?;
        }
        Ok(())
    }

    fn file(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut BufWriter<File>) -> Result<(), ExportError>,
    ) -> Result<(), Failure> {
        let mut out = self.create(name)?;
        write(&mut out).map_err(|error| {
            let Failure { code, error } = failure(error);
            match code {
                Code::Io => Failure { code, error: error.context(format!("cannot write {name}")) },
                code => Failure { code, error },
            }
        })?;
        out.flush().with_context(|| format!("cannot write {name}")).or_exit(Code::Io)
    }

    fn create(&mut self, name: &str) -> Result<BufWriter<File>, Failure> {
        self.files.push(name.to_owned());
        let file = File::create(self.path.join(name));
        let file = file.with_context(|| format!("cannot write {name}")).or_exit(Code::Io)?;
        Ok(BufWriter::with_capacity(1 << 20, file))
    }
}
