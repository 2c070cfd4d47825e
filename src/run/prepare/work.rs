//! Makes a workload: generated from a scenario, or read from its file and checked.

use std::{
    collections::BTreeSet,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use alloy_primitives::Bytes;
use anyhow::anyhow;
use generator::{
    Generated, GeneratorError, TxGas,
    export::{self, ExportError},
    reference::{self, ReferenceError},
};
use report::WholeFile;
use result::Fill;
use spec::{BlockTarget, Load, Scenario};
use variant::{BlockDuties, Design, ListForm};
use workload::{FileError, ReceivedBlock, Workload, file, json::WorkloadJson};

use crate::{
    figures::facts::{self, Loads},
    run::session::Work,
    terminal::{Code, Failure, Progress, WithExitCode, interrupt},
};

/// A note reports a load whose part of the gas differs from its share by more than this.
const GAS_SHARE_ERROR: f64 = 0.02;
/// The same bound if the block's size is a number of transactions.
const COUNT_SHARE_ERROR: f64 = 0.1;

/// Generates the workload of `scenario`, and shows the progress.
///
/// # Errors
/// The scenario cannot be generated, or the user interrupted.
pub fn generate(scenario: &Scenario, progress: &Progress) -> Result<Workload, Failure> {
    generate_by_load(scenario, progress).map(|generated| generated.workload)
}

/// Generates a workload, as [`generate`] does. Returns it with the load and the gas of each
/// transaction.
///
/// # Errors
/// The errors of [`generate`].
pub fn generate_by_load(scenario: &Scenario, progress: &Progress) -> Result<Generated, Failure> {
    let stage = progress.stage("generating the block", 0);
    let generated = generator::generate_by_load(scenario, |done| {
        stage.set(done.tx_count, done.total_tx_count);
        interrupt::control_flow()
    });
    stage.finish();
    if let Ok(generated) = &generated {
        missed_shares(scenario, generated).iter().for_each(|note| progress.note(note));
    }
    let code = match &generated {
        Err(GeneratorError::Cancelled) => Code::Interrupted,
        Err(GeneratorError::Reference(_)) => Code::Disagree,
        _ => Code::Usage,
    };
    generated.with_exit_code(code)
}

/// Returns notes on loads whose part of the gas differs from the share in the scenario.
fn missed_shares(scenario: &Scenario, generated: &Generated) -> Vec<String> {
    let mut gas = vec![0_u64; scenario.loads.len()];
    for (load, of_tx) in generated.loads.iter().zip(&generated.gas) {
        gas[*load as usize] += of_tx.receipt_gas;
    }
    let all = gas.iter().sum::<u64>().max(1) as f64;
    let loads = Loads { scenario, of_txs: &generated.loads };
    let fill = facts::fill(&generated.workload, &generated.gas, Some(loads));
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
            BlockTarget::Limit(_) => missed_dimension(&fill, index, asked).map(|(dimension, part)| {
                format!(
                    "{name} has {:.1} % of the {dimension} of the limit, and load.share asks for \
                     {asked_percent:.1} %: its transactions do not fill its part of a block",
                    part * 100.0
                )
            }),
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

/// Returns the dimension of gas that bounds the load at `index`, and its part of the limit. `None`
/// if the load has its share.
fn missed_dimension(fill: &Fill, index: usize, share: f64) -> Option<(&'static str, f64)> {
    let load = &fill.loads[index];
    let (gas, dimension) = match load.is_bound_by_state() {
        true => (load.state_gas, "state gas"),
        false => (load.execution_gas, "execution gas"),
    };
    let part = gas as f64 / fill.limit_gas.max(1) as f64;
    (part < share - GAS_SHARE_ERROR).then_some((dimension, part))
}

/// Reads a workload file, and runs the reference again. Neither its lists nor its expected outcome
/// are trusted.
///
/// # Errors
/// The file cannot be read, or differs from the reference.
pub fn read_workload(path: &Path, progress: &Progress) -> Result<Workload, Failure> {
    FilledWork::read(path, progress).map(|work| work.workload)
}

/// A workload, and how full its blocks are.
#[derive(Debug)]
pub struct FilledWork {
    pub workload: Workload,
    /// Fill of the workload's blocks.
    pub fill: Fill,
}

impl FilledWork {
    /// Generates the workload of `scenario`, as [`generate`] does.
    ///
    /// # Errors
    /// The errors of [`generate`].
    pub fn generate(scenario: &Scenario, progress: &Progress) -> Result<Self, Failure> {
        let Generated { workload, loads, gas } = generate_by_load(scenario, progress)?;
        let fill = facts::fill(&workload, &gas, Some(Loads { scenario, of_txs: &loads }));
        Ok(Self { workload, fill })
    }

    /// Reads a workload file, as [`read_workload`] does.
    ///
    /// # Errors
    /// The errors of [`read_workload`].
    pub fn read(path: &Path, progress: &Progress) -> Result<Self, Failure> {
        let (workload, gas) = read_and_verify(path, progress)?;
        Ok(Self { fill: facts::fill(&workload, &gas, None), workload })
    }
}

/// An error of the reference is a difference from the workload, unless the user interrupted.
impl From<ReferenceError> for Failure {
    fn from(error: ReferenceError) -> Self {
        let code = match error {
            ReferenceError::Cancelled => Code::Interrupted,
            _ => Code::Disagree,
        };
        Self { code, error: error.into() }
    }
}

/// Reads a workload file without running the reference.
///
/// # Errors
/// The file cannot be read, or is no workload file.
pub fn read_unverified(path: &Path) -> Result<Workload, Failure> {
    let workload = file::read(path).map_err(|error| match error {
        FileError::Io { .. } => error.into(),
        _ => anyhow!(error).context(path.display().to_string()),
    });
    workload.with_input_code()
}

/// Reads a workload file and checks it. Returns it with the gas of each transaction.
fn read_and_verify(path: &Path, progress: &Progress) -> Result<(Workload, Vec<TxGas>), Failure> {
    let workload = read_unverified(path)?;
    let total = workload.tx_count();
    let stage = progress.stage("checking the workload file", total);
    let checked = reference::verify(&workload, stage.counting(total));
    stage.finish();
    let gas = checked.map_err(|error| Failure::from(error).context(path.display().to_string()))?;
    Ok((workload, gas))
}

/// Writes the workload file of `workload`, and returns its path.
///
/// # Errors
/// The workload has no file form, or the file cannot be written.
pub fn write_workload(to: WholeFile, workload: &Workload) -> Result<PathBuf, Failure> {
    let bytes = file::encode(workload).with_exit_code(Code::Io)?;
    Ok(to.write(|out| out.write_all(&bytes))?)
}

/// Writes the JSON form of `workload`, key by key, and a newline.
///
/// # Errors
/// `out` cannot be written. Every workload of [`read_workload`] has a JSON form.
pub fn write_json(workload: &Workload, out: impl Write) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, out);
    serde_json::to_writer(&mut out, &WorkloadJson::new(workload))?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Returns the lists with all values before each batch, from the reference.
///
/// # Errors
/// The reference differs from the workload, or the user interrupted.
fn full_lists(workload: &Workload, progress: &Progress) -> Result<Vec<Bytes>, Failure> {
    let total = workload.tx_count();
    let stage = progress.stage("making the full list", total);
    let lists = reference::full_lists(workload, stage.counting(total));
    stage.finish();
    Ok(lists?)
}

/// Returns the signed blocks as bytes, from the reference.
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
                anyhow!(
                    "block {block}, transaction {tx_index}: the secret of {account} is not known: \
                     only generated senders can sign, so the block has no bytes; run it with \
                     --whole none and without run.duties"
                ),
            ),
            ExportError::Reference(_) => (Code::Disagree, error.into()),
            _ => (Code::Usage, error.into()),
        };
        Failure { code, error }
    })
}

/// Returns `workload` with its lists in the forms that `designs` take. Its blocks are added as
/// bytes if there are block duties.
///
/// # Errors
/// A list of the workload cannot be decoded, or an error of [`full_lists`] or [`received_blocks`].
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
