//! `stress sweep`: all cells of a matrix one after the other, each in a process of its own; one
//! cell alone; or all results joined.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;

use result::{
    RunResult,
    sweep::{Matrix, ranges},
};

use crate::{
    args::{DATA_DIR_HELP, Format, HowArgs, WorkArgs, as_option},
    child,
    exit::{Code, Failure, OrExit},
    prepare::Size,
    progress::Look,
    sweep::{
        dir::SweepDir,
        index,
        matrix::{self, MatrixInput},
        merged,
        running::{self, AskedBy, Ending, OneCell},
    },
    terminal,
};

const EXAMPLES: &str = "Examples:
  stress sweep --scenario sload-storm threads=1,2,4,8 io_threads=16,64 \\
         gas=64M,640M --design batched-io --samples 8 --out sweep/
  stress sweep --scenario sload-storm run.rocksdb.block=4KiB,16KiB --out blocks/
  stress sweep … --list                 the cells, without running them
  stress sweep … --out sweep/ --cell 7  one of them
  stress sweep --merge sweep/           all results as one, and the knees

The same command again goes on where it was ended or killed. On a fleet each cell is
a task of an array: fleet/slurm.sbatch, fleet/kubernetes.yaml. More: docs/sweep.md";

const CELL_HELP: &str = "Run this cell alone [default: SLURM_ARRAY_TASK_ID or \
    JOB_COMPLETION_INDEX, where one is set]";

/// Arguments of `stress sweep`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SweepArgs {
    /// An axis: an option of a run (threads=1,2,4) or any key (state.slots=1M,10M)
    #[arg(value_name = "KEY=VALUES", required_unless_present = "merge")]
    pub axes: Vec<String>,
    /// A shipped scenario's name, or the path of a scenario file
    #[arg(long, value_name = "NAME|FILE", required_unless_present = "merge")]
    pub scenario: Option<String>,
    /// A small state and block where nothing else is said
    #[arg(long)]
    pub quick: bool,
    /// Where the results go: a directory of this sweep alone
    #[arg(long, value_name = "DIR", required_unless_present_any = ["merge", "list"])]
    pub out: Option<PathBuf>,
    /// Print the cells, one a line, and run none
    #[arg(long, conflicts_with_all = ["cell", "merge"])]
    pub list: bool,
    /// Run this cell alone.
    #[arg(long, value_name = "INDEX", help = CELL_HELP)]
    pub cell: Option<String>,
    /// Join the results of a sweep into DIR/merged.json, and show them
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = ["axes", "scenario", "quick", "out", "cell", "WorkArgs", "HowArgs"]
    )]
    pub merge: Option<PathBuf>,
    /// The work of all cells
    #[command(flatten)]
    pub work: WorkArgs,
    /// How all cells are run
    #[command(flatten)]
    pub how: HowArgs,
    /// Where state databases are kept.
    #[arg(long, value_name = "DIR", env = "STRESS_DATA_DIR", help = DATA_DIR_HELP)]
    pub data_dir: Option<PathBuf>,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// The process that runs the sweep: when it ends, so does this cell.
    #[arg(long, hide = true, value_name = "PID", requires = "cell")]
    pub parent: Option<u32>,
    /// The file by which the cells of that process share the device's figures.
    #[arg(long, hide = true, value_name = "FILE", requires = "parent")]
    pub device: Option<PathBuf>,
}

/// Carries out the arguments.
pub fn sweep(args: &SweepArgs) -> Result<Code, Failure> {
    if let Some(path) = &args.merge {
        return merge(&SweepDir::existing(path).or_exit(Code::Io)?, args.format);
    }
    if let Some(parent_pid) = args.parent
        && !child::end_with_parent(parent_pid).or_exit(Code::Io)?
    {
        return Ok(Code::Interrupted);
    }
    let matrix = matrix_of(args)?;
    let variable = |name: &str| std::env::var(name).ok();
    let out = match &args.out {
        Some(out) if !args.list => out,
        _ => return Ok(list(&matrix)),
    };
    let which = index::which(args.cell.as_deref(), variable, matrix.cell_count);
    let which = which.or_exit(Code::Usage)?;
    let dir = SweepDir::open(out, matrix)?;
    match which {
        Some(which) => {
            let asked_by = if args.parent.is_some() { AskedBy::Sweep } else { AskedBy::User };
            let cell = OneCell {
                dir: &dir,
                which: &which,
                data_dir: args.data_dir.clone(),
                shared_device: args.device.clone(),
                look: cell_look(args),
                asked_by,
            };
            cell.run(|result| show(result, args.format))
        }
        None => match running::all(&dir, args.data_dir.as_deref())? {
            Ending::Finished => merge(&dir, args.format),
            Ending::Interrupted => Ok(Code::Interrupted),
        },
    }
}

/// How the progress of one cell looks. The standard output of the process that runs the sweep,
/// which may be the same terminal, is not this one's.
fn cell_look(args: &SweepArgs) -> Look {
    match (args.parent, args.format) {
        (Some(_), Format::Json) => terminal::look().without_figures(),
        (_, format) => format.look(),
    }
}

/// The matrix that the arguments ask for.
///
/// # Errors
/// An axis, a key or a value that is not valid.
pub fn matrix_of(args: &SweepArgs) -> Result<Matrix, Failure> {
    let mut fixed = args.work.overrides().or_exit(Code::Usage)?;
    fixed.extend(args.how.overrides());
    let key_of = |label: &str, value: &str| Ok(as_option(label, value)?.map(|given| given.key));
    let axes =
        args.axes.iter().map(|text| matrix::axis(text, key_of)).collect::<anyhow::Result<_>>();
    matrix::of(MatrixInput {
        scenario: args.scenario.clone().unwrap_or_default(),
        size: if args.quick { Size::Quick } else { Size::Stated },
        fixed,
        axes: axes.or_exit(Code::Usage)?,
    })
}

fn show(result: &RunResult, format: Format) -> Result<(), Failure> {
    terminal::out(&match format {
        Format::Table => report::table(result, terminal::width(), terminal::paint()),
        Format::Json => report::json(result).or_exit(Code::Io)?,
    });
    Ok(())
}

fn list(matrix: &Matrix) -> Code {
    let width = (matrix.cell_count - 1).to_string().len();
    for index in 0..matrix.cell_count {
        let left_out = match matrix.same_as(index) {
            Some(same_as) => format!("  (left out: the run of cell {same_as})"),
            None => String::new(),
        };
        terminal::out(&format!("{index:width$}  {}{left_out}\n", matrix.name(index)));
    }
    Code::Fine
}

/// Joins the results in `dir`, writes them as one, shows them.
fn merge(dir: &SweepDir, format: Format) -> Result<Code, Failure> {
    let merged = merged::merge(dir)?;
    let json = report::json(&merged).or_exit(Code::Io)?;
    let path = dir.write_merged(&json).or_exit(Code::Io)?;
    match format {
        Format::Table => {
            let (width, paint) = (terminal::width(), terminal::paint());
            terminal::out(&report::sweep_table(&merged, width, paint));
        }
        Format::Json => terminal::out(&json),
    }
    terminal::note(&format!("wrote {}", path.display()));
    if !merged.disagreeing.is_empty() {
        let cells = ranges(&merged.disagreeing);
        return Err(anyhow!("the designs disagree in cells {cells}")).or_exit(Code::Disagree);
    }
    if !merged.missing.is_empty() {
        let (count, all) = (merged.missing.len(), merged.sweep.cell_count);
        let cells = ranges(&merged.missing);
        return Err(anyhow!(
            "{count} of {all} cells are missing: {cells}; `stress sweep` with the same arguments runs them"
        ))
        .or_exit(Code::Io);
    }
    let fails = merged.cells.iter().any(|cell| crate::sweep::cell::claim_fails(&cell.result));
    Ok(if fails { Code::Claim } else { Code::Fine })
}
