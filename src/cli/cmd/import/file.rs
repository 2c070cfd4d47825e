//! The files of `stress import`: its input, its output, and their errors.

use std::{
    fs::File,
    io::Read,
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow};
use generator::{
    import::{self, ImportError, Imported, InputKind, NamedText, Source},
    reference::ReferenceError,
};
use report::{WholeFile, units};
use workload::{Fork, Workload};

use crate::{
    run::prepare,
    terminal::{
        Code, Failure, Progress, WithExitCode,
        exit::fail,
        interrupt,
        progress::{self, visible},
    },
};

/// Maximal size in bytes of a file that is read whole: many times a block with all the state that
/// it touches.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Runs the reference, compares the outcomes, and writes the workload. Returns the lines that
/// report this to the user.
pub(super) fn write(
    mut imported: Imported,
    file: WholeFile,
    batch: NonZeroUsize,
    progress: &Progress,
) -> Result<String, Failure> {
    let total = imported.workload.tx_count();
    let stage = progress.stage("running the reference", total);
    let compared = import::complete(&mut imported, stage.counting(total));
    stage.finish();
    let compared = compared.map_err(failure)?;
    let not_compared = imported.not_compared();
    let mut workload = imported.workload;
    if workload.batches.is_empty() {
        let count = units::things(imported.invalid.len() as u64, "block");
        return Ok(format!(
            "{}: {count} refused as it must be; no workload, and nothing is written\n",
            visible(&imported.name)
        ));
    }
    if batch > NonZeroUsize::MIN {
        let joined = import::in_batches(&mut workload, batch, interrupt::control_flow);
        joined.map_err(|error| failure(error.into()))?;
    }
    let output = prepare::write_workload(file, &workload)?;
    let mut said = summary(&output, &workload);
    if compared.is_empty() {
        said += "not compared: neither files nor node give the outcome of the block\n";
    } else {
        let who = match imported.source {
            Source::Files => "the files",
            Source::Node => "the node",
        };
        said += &format!("equal to {who}: {}\n", compared.join(", "));
        if !not_compared.is_empty() {
            said += &format!("not compared: {}\n", not_compared.join(", "));
        }
    }
    imported.notes.iter().for_each(|note| said += &format!("{note}\n"));
    Ok(said)
}

/// Formats the line on a written workload: its blocks, gas and state.
fn summary(path: &Path, workload: &Workload) -> String {
    let numbers: Vec<u64> = workload.blocks().map(|block| block.env.number).collect();
    let blocks = match numbers.as_slice() {
        [number] => format!("block {number}"),
        [first, .., last] => format!("blocks {first} to {last}"),
        [] => String::new(),
    };
    let batches = match workload.batches.len() {
        count if count == numbers.len() => String::new(),
        count => format!(" as {}", units::things(count as u64, "batch")),
    };
    let gas = workload.gas_used();
    let header_gas: u64 =
        workload.batches.iter().flat_map(|batch| &batch.expected.header_gas).sum();
    let in_headers = match header_gas == gas {
        true => String::new(),
        false => format!(" by receipts, {header_gas} by headers"),
    };
    format!(
        "{}: {blocks}{batches} on {}, {}, {gas} gas{in_headers}; state of {} and {}; digest {}\n",
        path.display(),
        workload.rules,
        units::things(workload.tx_count(), "transaction"),
        units::things(workload.genesis.account_count(), "account"),
        units::things(workload.genesis.slot_count(), "slot"),
        workload.digest()
    )
}

/// Adds the exit code to an error of an import.
pub(in crate::cli::cmd) fn failure(error: ImportError) -> Failure {
    let code = match &error {
        ImportError::Reference(ReferenceError::Cancelled) => Code::Interrupted,
        ImportError::Differs { .. } => Code::Disagree,
        ImportError::Node { .. } | ImportError::Read { .. } => Code::Io,
        _ => Code::Usage,
    };
    let error = match error {
        // The messages of these errors contain their causes already.
        told @ (ImportError::Json { .. } | ImportError::Read { .. }) => anyhow!("{told}"),
        other => other.into(),
    };
    Failure { code, error }
}

/// Adds a hint to a failed comparison of state roots: the t8n run may have had more accounts than
/// the files.
pub(super) fn with_root_hint(failure: Failure) -> Failure {
    let error = failure.error.downcast_ref::<ImportError>();
    match error {
        Some(ImportError::Differs { what, .. }) if what == "state root" => Failure {
            error: anyhow!(
                "{}; if t8n had more accounts than these files, take stateRoot out of its result",
                failure.error
            ),
            ..failure
        },
        _ => failure,
    }
}

/// Returns the fork that `--fork` names.
pub(super) fn fork_named(name: &str) -> Result<Fork, Failure> {
    let fork = import::fork_of(name)
        .ok_or_else(|| anyhow!("--fork {name}: no such fork; there are {}", import::fork_names()));
    fork.with_exit_code(Code::Usage)
}

/// The files that the user names, and their kinds.
pub(super) struct Files {
    pub(super) paths: Vec<PathBuf>,
    /// Name and kind of each file, in the order of `paths`.
    pub(super) kinds: Vec<(String, InputKind)>,
}

impl Files {
    pub(super) fn new(paths: Vec<PathBuf>) -> Result<Self, Failure> {
        let kinds = paths.iter().map(|path| Ok((path.display().to_string(), kind(path)?)));
        Ok(Self { kinds: kinds.collect::<Result<_, Failure>>()?, paths })
    }

    /// Reads the first file of this kind. `None` if there is none.
    pub(super) fn read(&self, wanted: InputKind) -> Result<Option<FileText>, Failure> {
        let index = self.kinds.iter().position(|(_, kind)| *kind == wanted);
        index.map(|index| read(&self.paths[index])).transpose()
    }

    /// Reads the file of this kind, which the set of the files is known to have.
    pub(super) fn read_required(&self, wanted: InputKind) -> Result<FileText, Failure> {
        Ok(self.read(wanted)?.expect("the set is whole"))
    }
}

/// Tells the kind of the file at `path` by its content.
pub(super) fn kind(path: &Path) -> Result<InputKind, Failure> {
    let file = open(path)?.take(MAX_FILE_BYTES);
    InputKind::of(&path.display().to_string(), file).map_err(failure)
}

pub(super) fn open(path: &Path) -> Result<File, Failure> {
    let opened = File::open(path).with_context(|| format!("cannot open {}", path.display()));
    opened.with_input_code()
}

/// The text of a file, and its name.
pub(super) struct FileText {
    pub(super) name: String,
    pub(super) content: String,
}

impl FileText {
    pub(super) fn text(&self) -> NamedText<'_> {
        NamedText { name: &self.name, text: &self.content }
    }
}

/// Reads a file of UTF-8 text of at most `MAX_FILE_BYTES`.
pub(super) fn read(path: &Path) -> Result<FileText, Failure> {
    let name = path.display().to_string();
    let mut bytes = Vec::new();
    let read = open(path)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes);
    read.with_context(|| format!("cannot read {name}")).with_exit_code(Code::Io)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        let most = progress::bytes(MAX_FILE_BYTES);
        fail!(
            Code::Usage,
            "{name}: larger than {most}, the most that is read; is it the right \
            file?"
        );
    }
    let content = String::from_utf8(bytes);
    let content = content.map_err(|_| anyhow!("{name}: this is no text in UTF-8, so no JSON"));
    Ok(FileText { name, content: content.with_exit_code(Code::Usage)? })
}
