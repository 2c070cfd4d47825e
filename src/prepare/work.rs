//! A workload: generated from a scenario, or read from its file and checked.

use std::{
    collections::BTreeSet,
    io::{self, BufWriter, Write},
    path::Path,
};

use alloy_primitives::Bytes;
use generator::{
    Generated, GeneratorError,
    export::{self, ExportError},
    reference::{self, ReferenceError},
};
use spec::Scenario;
use variant::{BlockDuties, Design, ListForm};
use workload::{ReceivedBlock, Workload, file, json::WorkloadJson};

use crate::{
    exit::{Code, Failure, OrExit},
    interrupt,
    progress::Progress,
    session::Work,
};

/// Generates the workload of `scenario` and shows how far it is.
///
/// # Errors
/// The scenario cannot be generated, or the user interrupted.
pub fn generate(scenario: &Scenario, progress: &Progress) -> Result<Workload, Failure> {
    generate_by_load(scenario, progress).map(|generated| generated.workload)
}

/// The same, with the load of each transaction.
///
/// # Errors
/// As [`generate`].
pub fn generate_by_load(scenario: &Scenario, progress: &Progress) -> Result<Generated, Failure> {
    let stage = progress.stage("generating the block", 0);
    let generated = generator::generate_by_load(scenario, |at| {
        stage.set(at.tx_count, at.total_tx_count);
        interrupt::answer()
    });
    stage.finish();
    generated.map_err(|error| {
        let code = match &error {
            GeneratorError::Cancelled => Code::Interrupted,
            GeneratorError::Reference(_) => Code::Disagree,
            _ => Code::Usage,
        };
        Failure { code, error: error.into() }
    })
}

/// Reads a workload file and runs the reference again: neither its lists nor its expected
/// outcome are taken on trust.
///
/// # Errors
/// It cannot be read, or differs from the reference.
pub fn read_workload(path: &Path, progress: &Progress) -> Result<Workload, Failure> {
    let workload = file::read(path).or_exit(Code::Io)?;
    let total = workload.tx_count();
    let stage = progress.stage("checking the workload file", total);
    let mut done = 0;
    let checked = reference::verify(&workload, || {
        done += 1;
        stage.set(done, total);
        interrupt::answer()
    });
    stage.finish();
    let code = match &checked {
        Err(ReferenceError::Cancelled) => Code::Interrupted,
        _ => Code::Disagree,
    };
    checked.or_exit(code)?;
    Ok(workload)
}

/// Writes the JSON form of `workload` and a line's end, key by key.
///
/// # Errors
/// Nothing more can be written. A workload that [`read_workload`] gives has a JSON form.
pub fn write_json(workload: &Workload, out: impl Write) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, out);
    serde_json::to_writer(&mut out, &WorkloadJson::new(workload))?;
    out.write_all(b"\n")?;
    out.flush()
}

/// The lists with all values before each batch, from the reference.
///
/// # Errors
/// The reference differs from the workload, or the user interrupted.
fn full_lists(workload: &Workload, progress: &Progress) -> Result<Vec<Bytes>, Failure> {
    let total = workload.tx_count();
    let stage = progress.stage("making the full list", total);
    let mut done = 0;
    let lists = reference::full_lists(workload, || {
        done += 1;
        stage.set(done, total);
        interrupt::answer()
    });
    stage.finish();
    lists.map_err(|error| {
        let code = match &error {
            ReferenceError::Cancelled => Code::Interrupted,
            _ => Code::Disagree,
        };
        Failure { code, error: error.into() }
    })
}

/// The blocks as bytes, signed, from the reference.
///
/// # Errors
/// A sender has no known key, the reference differs from the workload, or the user interrupted.
fn received_blocks(
    workload: &Workload,
    progress: &Progress,
) -> Result<Vec<Vec<ReceivedBlock>>, Failure> {
    let stage = progress.stage("signing and sealing the blocks", 0);
    let blocks = export::received_blocks(workload, &[], interrupt::flag());
    stage.finish();
    blocks.map_err(|error| {
        let (code, error) = match error {
            ExportError::Reference(ReferenceError::Cancelled) => (Code::Interrupted, error.into()),
            ExportError::UnknownSecret { block, tx_index, account } => (
                Code::Usage,
                anyhow::anyhow!(
                    "block {block}, transaction {tx_index}: the workload has no signatures, and the \
                     secret of {account} is not known, only those of generated senders are, so the \
                     block has no bytes: run this workload without --whole and run.duties"
                ),
            ),
            ExportError::Reference(_) => (Code::Disagree, error.into()),
            _ => (Code::Usage, error.into()),
        };
        Failure { code, error }
    })
}

/// `workload` with its lists in the forms that `designs` take, and its blocks as bytes where there are
/// duties on them.
///
/// # Errors
/// A list of the workload cannot be decoded, or as [`full_lists`] and [`received_blocks`].
pub(super) fn with_lists(
    workload: Workload,
    designs: &[Design],
    duties: BlockDuties,
    progress: &Progress,
) -> Result<Work, Failure> {
    let mut work = Work::new(workload);
    if !duties.is_none() {
        let blocks = received_blocks(work.workload(), progress)?;
        work.add_blocks(blocks);
    }
    let forms: BTreeSet<_> = designs.iter().map(|design| design.preset().list).collect();
    for form in forms {
        let full = match form {
            Some(ListForm::Full) => full_lists(work.workload(), progress)?,
            Some(ListForm::BatchedIo | ListForm::ParallelIo) | None => Vec::new(),
        };
        work.add_lists(form, full).or_exit(Code::Disagree)?;
    }
    Ok(work)
}
