//! A workload: generated from a scenario, or read from its file and checked.

use std::{
    collections::BTreeSet,
    io::{self, BufWriter, Write},
    path::Path,
};

use alloy_primitives::Bytes;
use generator::{
    Generated, GeneratorError,
    reference::{self, ReferenceError},
};
use spec::Scenario;
use variant::{Design, ListForm};
use workload::{Workload, file, json::WorkloadJson};

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

/// `workload` with its lists in the forms that `designs` take.
///
/// # Errors
/// A list of the workload cannot be decoded, or as [`full_lists`].
pub(super) fn with_lists(
    workload: Workload,
    designs: &[Design],
    progress: &Progress,
) -> Result<Work, Failure> {
    let mut work = Work::new(workload);
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
