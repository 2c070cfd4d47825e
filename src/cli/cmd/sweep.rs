//! `stress sweep`: runs all cells of a matrix one after the other, each in its own process, or one
//! cell alone. It also joins the results of all cells.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use anyhow::anyhow;
use clap::Args;

use report::html;
use result::sweep::{Matrix, ranges};

use crate::{
    cli::args::{
        DataDirArgs, Format, OpenArgs, ScenarioArgs, WorkName, nothing_named, option_override,
        work_name,
    },
    figures::claims,
    machine::child,
    run::prepare::{DeviceFigures, Size},
    sweep::{
        dir::SweepDir,
        matrix::{self, MatrixInput},
        merged,
        running::{self, AskedBy, Ending, OneCell},
    },
    terminal::{self, Code, Failure, ProgressForm, WithExitCode, exit::fail},
};

const EXAMPLES: &str = "Examples:
  stress sweep sload-storm threads=1,2,4,8 io_threads=16,64 gas=64M,640M \\
         --design batched-io --samples 8 --out sweep/
  stress sweep my.toml run.rocksdb.block=4KiB,16KiB --out blocks/
  stress sweep … --list                 the cells, without running them
  stress sweep … --out sweep/ --cell 7  one of them
  stress sweep --merge sweep/           all results as one, and the knees

The same command again goes on where it was ended or killed. On a fleet each cell is
a task of an array: deploy/fleet/slurm.sbatch, deploy/fleet/kubernetes.yaml. More: docs/sweep.md";

const CELL_HELP: &str = "Run this cell alone [default: SLURM_ARRAY_TASK_ID or \
    JOB_COMPLETION_INDEX, where one is set]";

const WORDS_HELP: &str = "A scenario\u{2019}s name or file; and axes: an option of a run \
    (threads=1,2,4) or any key (state.slots=1M,10M)";

/// Arguments of `stress sweep`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[command(mut_arg("words", |words| words.value_name("NAME|FILE|KEY=VALUES").help(WORDS_HELP)))]
pub struct SweepArgs {
    /// The scenario and the settings of all cells, and the axes among its words
    #[command(flatten)]
    pub of_all: ScenarioArgs,
    /// Where the results go: a directory of this sweep alone
    #[arg(long, value_name = "DIR")]
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
        conflicts_with_all = ["out", "cell", "ScenarioArgs", "WorkArgs", "HowArgs"]
    )]
    pub merge: Option<PathBuf>,
    /// Where state databases and baselines are
    #[command(flatten)]
    pub data_dir: DataDirArgs,
    /// Exit codes of open claims and figures
    #[command(flatten)]
    pub open: OpenArgs,
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
        return merge(&SweepDir::existing(path).with_input_code()?, args);
    }
    if let Some(parent_pid) = args.parent
        && !child::end_with_parent(parent_pid).with_exit_code(Code::Io)?
    {
        return Ok(Code::Interrupted);
    }
    let matrix = matrix_of(args)?;
    if args.list {
        return Ok(list(&matrix));
    }
    let Some(out) = &args.out else {
        fail!(
            Code::Usage,
            "--out DIR is missing: the directory that the results of the {} cells go to; --list \
             prints the cells and runs none",
            matrix.cell_count
        );
    };
    let variable = |name: &str| std::env::var(name).ok();
    let chosen = running::cell_to_run(args.cell.as_deref(), variable, matrix.cell_count);
    let chosen = chosen.with_exit_code(Code::Usage)?;
    let dir = SweepDir::open(out, matrix)?;
    match chosen {
        Some(chosen) => {
            let asked_by = if args.parent.is_some() { AskedBy::Sweep } else { AskedBy::User };
            let cell = OneCell {
                dir: &dir,
                choice: &chosen,
                data_dir: args.data_dir.asked().map(Path::to_path_buf),
                device: args.device.clone().map_or(DeviceFigures::Measured, DeviceFigures::Shared),
                progress_form: cell_progress_form(args),
                open: args.open.codes(),
                asked_by,
            };
            cell.run(|result| args.format.print(result, report::table))
        }
        None => match running::run_all(&dir, args.data_dir.asked())? {
            Ending::Finished => merge(&dir, args),
            Ending::Interrupted => Ok(Code::Interrupted),
        },
    }
}

/// Returns the form of a cell's progress. If the JSON goes to a terminal, progress has no figures,
/// which would mix with it. A cell of a sweep cannot check that, as its parent has the terminal, so
/// with JSON its progress never has figures.
fn cell_progress_form(args: &SweepArgs) -> ProgressForm {
    match (args.parent, args.format) {
        (Some(_), Format::Json) => terminal::progress_form().without_figures(),
        (_, format) => format.progress_form(),
    }
}

/// Returns the matrix of the arguments.
///
/// # Errors
/// No scenario or no axis is named, or an axis, a key or a value is not valid.
pub fn matrix_of(args: &SweepArgs) -> Result<Matrix, Failure> {
    let of_all = &args.of_all;
    let mut fixed = of_all.work.overrides().with_exit_code(Code::Usage)?;
    fixed.extend(of_all.how.overrides());
    let (mut axes, mut names) = (Vec::new(), Vec::new());
    for word in &of_all.words {
        match word.to_str().filter(|text| is_axis(text)) {
            Some(axis) => axes.push(axis),
            None => names.push(word.clone()),
        }
    }
    let scenario = scenario_of(of_all.scenario.as_deref(), &names)?;
    if axes.is_empty() {
        fail!(
            Code::Usage,
            "no axis is given: name a key and its values, as in `stress sweep {scenario} \
             threads=1,2,4 --out DIR`"
        );
    }
    let axes = axes.into_iter().map(|text| {
        matrix::axis(text, |label, value| Ok(option_override(label, value)?.map(|given| given.key)))
    });
    matrix::from_input(MatrixInput {
        scenario,
        size: if of_all.quick { Size::Quick } else { Size::Stated },
        fixed,
        axes: axes.collect::<anyhow::Result<_>>().with_exit_code(Code::Usage)?,
    })
}

/// Whether a word is an axis: `threads=1,2`, or an option without its values.
fn is_axis(word: &str) -> bool {
    word.contains('=') || option_override(word, "1").is_ok_and(|option| option.is_some())
}

/// Returns the scenario that a word or `--scenario` names, as for `stress run`.
fn scenario_of(scenario: Option<&str>, names: &[OsString]) -> Result<String, Failure> {
    let named = work_name(names, scenario, None);
    let named = named.map_err(|error| anyhow!("{error}; an axis is KEY=VALUES: threads=1,2,4"));
    match named.with_exit_code(Code::Usage)? {
        Some(WorkName::Scenario(name)) => Ok(name),
        Some(WorkName::Workload(path)) => fail!(
            Code::Usage,
            "{}: this is a workload file, and each cell of a sweep generates its own work: name a \
             scenario",
            path.display()
        ),
        None => Err(nothing_named("stress sweep", "threads=1,2,4")).with_exit_code(Code::Usage),
    }
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

/// Joins the results in `dir`, writes the joined result, and prints it.
fn merge(dir: &SweepDir, args: &SweepArgs) -> Result<Code, Failure> {
    let merged = merged::merge(dir)?;
    let json = report::json(&merged).with_exit_code(Code::Io)?;
    let path = dir.write_merged(&json).with_exit_code(Code::Io)?;
    args.format.print(&merged, report::sweep_table)?;
    let shown = html::quote(&dir.path().to_string_lossy());
    let page = format!("`stress report {shown} --out sweep.html` draws it");
    terminal::note(&format!("wrote {}; {page}", path.display()));
    if !merged.disagreeing.is_empty() {
        let cells = ranges(&merged.disagreeing);
        fail!(Code::Disagree, "the designs disagree in cells {cells}");
    }
    if !merged.missing.is_empty() {
        let (count, all) = (merged.missing.len(), merged.sweep.cell_count);
        let cells = ranges(&merged.missing);
        fail!(
            Code::Io,
            "{count} of {all} cells are missing: {cells}; `stress sweep` with the same arguments runs them"
        );
    }
    let open = args.open.codes();
    let of_cells = merged
        .cells
        .iter()
        .flat_map(|cell| cell.result.expects.claims.iter().map(move |claim| (cell.index, claim)));
    let claims: Vec<_> = of_cells.collect();
    let code = claims::exit_code(claims.iter().map(|(_, claim)| *claim), open);
    if code == Code::Fine {
        return Ok(code);
    }
    let decisive = claims.iter().filter(|(_, claim)| claims::exit_code([*claim], open) == code);
    let words = decisive.map(|(index, claim)| {
        let store = claim.store.map_or_else(String::new, |store| format!(" on {store}"));
        let value = claim.value.map_or_else(String::new, |value| format!(": {value:.3}"));
        let reason = claim.reason.as_ref().map_or_else(String::new, |why| format!(": {why}"));
        format!(
            "cell {index} ({}): {} {} {}{store}: {}{value}{reason}",
            merged.sweep.name(*index),
            claim.metric,
            claim.bound.name(),
            claim.limit,
            claim.verdict.name()
        )
    });
    fail!(code, "{}", words.collect::<Vec<_>>().join("; "))
}
