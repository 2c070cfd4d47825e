//! `stress compare`: shows the results of several files side by side.

use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use clap::Args;

use report::{
    compare,
    compare_loads::{LoadSideInput, compare_loads},
};
use result::{
    Content, Shown,
    stored::{Stored, StoredLoad, result_files},
};

use super::report::mixed_kinds;
use crate::{
    cli::args::{DataDirArgs, Format, keys_set_by},
    gate::baselines::Found,
    terminal::{self, Code, Failure, WithExitCode, exit::fail},
};

/// Arguments of `stress compare`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  stress compare before/result.json after/result.json
  stress compare monday/ tuesday/ --format json
  stress compare sweep/                 the cells of a sweep of the same work (threads=1,2; not
                                        gas=64M,640M: `stress report sweep/` shows those)
  stress compare main after/            a baseline that a run has saved (--save-baseline main)

  stress compare before/ after/         loads on a live node (stress send --out), seven in each

Only results of the same work are compared: equal workload digests. Times of
different runs hold for their minutes; no verdict is given.")]
pub struct CompareArgs {
    /// Result files, directories that --out wrote (the newest run in each, or all cells of a
    /// sweep), or names of baselines (the newest run in each); a path goes before a name
    #[arg(value_name = "RESULT|NAME", required = true)]
    pub results: Vec<PathBuf>,
    /// Where state databases and baselines are
    #[command(flatten)]
    pub data_dir: DataDirArgs,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

/// The results that one argument names.
struct Named {
    /// The path that the argument names: its own, or that of a baseline.
    path: PathBuf,
    results: Vec<Stored>,
}

/// All results that the arguments name.
#[derive(Default)]
struct AllNamed {
    runs: Vec<Named>,
    loads: Vec<LoadSideInput>,
}

/// Reads the results, refuses results of different work, and prints the differences.
pub fn compare(args: &CompareArgs) -> Result<Code, Failure> {
    let AllNamed { runs, loads } = read(args)?;
    match (loads.first(), runs.iter().flat_map(|named| &named.results).next()) {
        (Some(group), Some(other)) => return Err(mixed_kinds(&group.loads[0], &other.path)),
        (Some(_), None) => return compare_groups(&loads, args.format),
        (None, _) => {}
    }
    if let [Named { path, results }] = runs.as_slice()
        && let [only] = results.as_slice()
    {
        return Err(single_result(path, &only.path)).with_exit_code(Code::Usage);
    }
    let mut all = runs.iter().flat_map(|named| &named.results);
    let disagrees = all.any(|stored| stored.agrees() == Some(false));
    // The comparison refuses disagreeing results itself, also if their work differs.
    let code = if disagrees { Code::Disagree } else { Code::Usage };
    if !disagrees {
        runs.iter().try_for_each(check_work).with_exit_code(code)?;
    }
    let results: Vec<Stored> = runs.into_iter().flat_map(|named| named.results).collect();
    let compared = compare::compare(&results).with_exit_code(code)?;
    let keys: Vec<_> = results.iter().map(|stored| keys_set_by(&stored.result.command)).collect();
    let compared = report::with_set_keys(compared, &results, &keys);
    args.format.print(&compared, |compared, width, paint| {
        report::comparison(compared, &report::one_sided(&results), width, paint)
    })?;
    Ok(Code::Fine)
}

/// Reads the results of all arguments.
fn read(args: &CompareArgs) -> Result<AllNamed, Failure> {
    let mut all = AllNamed::default();
    for given in &args.results {
        let Found { path, note, .. } = args.data_dir.find_result(given)?;
        if let Some(note) = &note {
            terminal::note(note);
        }
        let loads = StoredLoad::read_all(&path).with_input_code()?;
        if !loads.is_empty() {
            all.loads.push(LoadSideInput { path, loads });
            continue;
        }
        let mut results = Vec::new();
        for shown in Shown::read_all(&path).with_input_code()? {
            match shown.content {
                Content::Run(run) => results.push(Stored::new(shown.path, *run)),
                Content::Gate(_) => {
                    let (file, dir) = (shown.path.display(), path.display());
                    fail!(
                        Code::Usage,
                        "{file} is the verdict of a gate, and has no figures to compare; `stress \
                         report {dir}` shows it"
                    );
                }
            }
        }
        all.runs.push(Named { path, results });
    }
    Ok(all)
}

/// Makes the error for a single result. `file` is the result's file, and `path` is the argument's
/// path.
fn single_result(path: &Path, file: &Path) -> anyhow::Error {
    let (path_shown, file) = (path.display(), file.display());
    // A path that is no directory has no result files.
    let files = result_files(path).unwrap_or_default();
    let command = match files.as_slice() {
        [first, .., last] => {
            format!(
                "`stress compare {} {}` compares two of {path_shown}",
                first.display(),
                last.display()
            )
        }
        _ => format!("`stress compare {path_shown} RESULT` compares it with another"),
    };
    anyhow!(
        "{file} is one result, and two or more are compared; {command}; `stress report \
         {path_shown}` shows it alone"
    )
}

/// Refuses results of one argument that are of different work, such as a sweep over gas.
fn check_work(named: &Named) -> anyhow::Result<()> {
    let Named { path, results } = named;
    let Some(first) = results.first() else { return Ok(()) };
    let Some(other) = results.iter().find(|other| !are_same_work(first, other)) else {
        return Ok(());
    };
    let path = path.display();
    // Cells in the joined result of a sweep have no file of their own.
    let compared = match first_comparable(results).filter(|_| named.path.is_dir()) {
        Some([a, b]) => {
            let (a, b) = (a.path.display(), b.path.display());
            format!("; `stress compare {a} {b}` compares two of the same work")
        }
        None => String::new(),
    };
    bail!(
        "{} and {} did different work, so their times do not compare: `stress report {path}` \
         shows all {} results of {path}{compared}",
        first.path.display(),
        other.path.display(),
        results.len()
    )
}

/// Returns the first two results of the same work, which can be compared.
fn first_comparable(results: &[Stored]) -> Option<[&Stored; 2]> {
    results.iter().enumerate().find_map(|(index, first)| {
        let second = results[index + 1..].iter().find(|second| are_same_work(first, second));
        Some([first, second?])
    })
}

fn are_same_work(a: &Stored, b: &Stored) -> bool {
    a.result.workload.digest == b.result.workload.digest
}

/// Compares loads on live nodes.
fn compare_groups(groups: &[LoadSideInput], format: Format) -> Result<Code, Failure> {
    if let [only] = groups {
        fail!(
            Code::Usage,
            "{} is one side, with one load or several; name another file or directory of loads to \
             compare it with",
            only.path.display()
        );
    }
    let compared = compare_loads(groups).with_exit_code(Code::Usage)?;
    format.print(&compared, report::load_comparison)?;
    Ok(Code::Fine)
}
