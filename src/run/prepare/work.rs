//! A workload: generated from a scenario, or read from its file and checked.

use std::{
    collections::BTreeSet,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use alloy_primitives::Bytes;
use generator::{
    Generated, GeneratorError,
    export::{self, ExportError},
    reference::{self, ReferenceError},
};
use report::WholeFile;
use spec::{BlockTarget, Load, Scenario};
use variant::{BlockDuties, Design, ListForm};
use workload::{ReceivedBlock, Workload, file, json::WorkloadJson};

use crate::{
    run::session::Work,
    terminal::{Code, Failure, Progress, WithExitCode, interrupt},
};

/// A load's part of the gas is its share, up to this.
const GAS_SHARE_ERROR: f64 = 0.02;
/// Where transactions are counted, a difference up to this surprises nobody.
const COUNT_SHARE_ERROR: f64 = 0.1;

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
    if let Ok(generated) = &generated {
        missed_shares(scenario, generated).iter().for_each(|note| progress.note(note));
    }
    generated.map_err(|error| {
        let code = match &error {
            GeneratorError::Cancelled => Code::Interrupted,
            GeneratorError::Reference(_) => Code::Disagree,
            _ => Code::Usage,
        };
        Failure { code, error: error.into() }
    })
}

/// Loads whose part of the gas is not the share that a reader of the scenario expects.
fn missed_shares(scenario: &Scenario, generated: &Generated) -> Vec<String> {
    let batches = generated.workload.batches.iter();
    let outcomes = batches.flat_map(|batch| &batch.expected.transactions);
    let mut gas = vec![0_u64; scenario.loads.len()];
    for (load, outcome) in generated.loads.iter().zip(outcomes) {
        gas[*load as usize] += outcome.gas_used;
    }
    let all = gas.iter().sum::<u64>().max(1) as f64;
    let missed = |(index, (load, gas)): (usize, (&Load, u64))| {
        let name = load.name.clone();
        let name = name.unwrap_or_else(|| format!("load[{index}] ({})", load.kind.name()));
        let (asked, part) = (load.share, gas as f64 / all);
        let [asked_percent, part_percent] = [asked, part].map(|share| share * 100.0);
        match scenario.block.target {
            BlockTarget::Gas(_) if (part - asked).abs() > GAS_SHARE_ERROR => Some(format!(
                "{name} has {part_percent:.1} % of the gas, and load.share asks for \
                 {asked_percent:.1} %: its transactions do not fill its part of a block"
            )),
            BlockTarget::Transactions(_) if (part - asked).abs() > COUNT_SHARE_ERROR => {
                Some(format!(
                    "{name} has {part_percent:.1} % of the gas: under block.transactions its share, \
                     {asked_percent:.1} %, is of the transactions"
                ))
            }
            _ => None,
        }
    };
    scenario.loads.iter().zip(gas).enumerate().filter_map(missed).collect()
}

/// Reads a workload file and runs the reference again: neither its lists nor its expected
/// outcome are taken on trust.
///
/// # Errors
/// It cannot be read, or differs from the reference.
pub fn read_workload(path: &Path, progress: &Progress) -> Result<Workload, Failure> {
    let workload = file::read(path).with_exit_code(Code::Io)?;
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
    checked.with_exit_code(code)?;
    Ok(workload)
}

/// Writes the workload file of `workload`, and returns its path.
///
/// # Errors
/// It has no such form, or cannot be written.
pub fn write_workload(to: WholeFile, workload: &Workload) -> Result<PathBuf, Failure> {
    let bytes = file::encode(workload).with_exit_code(Code::Io)?;
    Ok(to.write(|out| out.write_all(&bytes))?)
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
        work.add_lists(form, full).with_exit_code(Code::Disagree)?;
    }
    Ok(work)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Notes on half payments and half reads of a storm, of a block with this size.
    fn notes(size: &str) -> Vec<String> {
        let text = format!(
            "schema = 1\nname = \"mix\"\n[state]\nslots = 100_000\naccounts = 1_000\n[block]\n{size}\n\
             [[load]]\nkind = \"transfers\"\nname = \"payments\"\nshare = 0.5\n\
             [[load]]\nkind = \"sload-storm\"\nshare = 0.5\n"
        );
        let scenario = Scenario::parse("mix.toml", &text, &[]).unwrap();
        let generated = generator::generate_by_load(&scenario, |_| ()).unwrap();
        missed_shares(&scenario, &generated)
    }

    #[test]
    fn a_share_of_transactions_that_is_none_of_the_gas_is_told_and_one_of_the_gas_is_kept() {
        assert_eq!(notes("gas = \"8M\""), [""; 0]);
        let told = notes("transactions = 4");
        assert!(told[0].starts_with("payments has 0."), "{told:?}");
        assert!(told[1].starts_with("load[1] (sload-storm) has 99."), "{told:?}");
        assert!(told[1].ends_with("its share, 50.0 %, is of the transactions"), "{told:?}");
    }
}
