//! `stress compare`: result files side by side.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;

use report::{
    compare,
    compare_loads::{Side, compare_loads},
};
use result::{
    Content, Shown,
    stored::{Stored, StoredLoad},
};

use super::report::mixed;
use crate::{
    args::{DataDirArgs, Format},
    baselines::Baselines,
    exit::{Code, Failure, OrExit},
    prepare, terminal,
};

/// Arguments of `stress compare`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  stress compare before/result.json after/result.json
  stress compare monday/ tuesday/ --format json
  stress compare sweep/                 the cells of a sweep, if their work is the same
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

/// Reads the results, refuses other work, prints the differences.
pub fn compare(args: &CompareArgs) -> Result<Code, Failure> {
    let (mut results, mut sides) = (Vec::with_capacity(args.results.len()), Vec::new());
    for given in &args.results {
        let path = &found(args, given)?;
        let loads = StoredLoad::read_all(path).or_exit(Code::Io)?;
        if !loads.is_empty() {
            sides.push(Side { path: path.clone(), loads });
            continue;
        }
        for shown in Shown::read_all(path).or_exit(Code::Io)? {
            match shown.content {
                Content::Run(run) => results.push(Stored::new(shown.path, *run)),
                Content::Gate(_) => {
                    let (file, dir) = (shown.path.display(), path.display());
                    let error = anyhow!(
                        "{file} is the verdict of a gate, and has no figures to compare; `stress \
                         report {dir}` shows it"
                    );
                    return Err(error).or_exit(Code::Usage);
                }
            }
        }
    }
    match (sides.first(), results.first()) {
        (Some(side), Some(other)) => return Err(mixed(&side.loads[0], &other.path)),
        (Some(_), None) => return compare_sides(&sides, args.format),
        (None, _) => {}
    }
    if let [only] = results.as_slice() {
        let error = anyhow!(
            "{} is one result; name another RESULT to compare it with",
            only.path.display()
        );
        return Err(error).or_exit(Code::Usage);
    }
    let disagrees = results.iter().any(|stored| stored.agrees() == Some(false));
    let code = if disagrees { Code::Disagree } else { Code::Usage };
    let compared = compare::compare(&results).or_exit(code)?;
    match args.format {
        Format::Table => {
            let (width, paint) = (terminal::width(), terminal::paint());
            terminal::out(&report::comparison(&compared, width, paint));
        }
        Format::Json => terminal::out(&report::json(&compared).or_exit(Code::Io)?),
    }
    Ok(Code::Fine)
}

/// Compares loads on live nodes.
fn compare_sides(sides: &[Side], format: Format) -> Result<Code, Failure> {
    if let [only] = sides {
        let error = anyhow!(
            "{} is one side, with one load or several; name another file or directory of loads to \
             compare it with",
            only.path.display()
        );
        return Err(error).or_exit(Code::Usage);
    }
    let compared = compare_loads(sides).or_exit(Code::Usage)?;
    match format {
        Format::Table => {
            let (width, paint) = (terminal::width(), terminal::paint());
            terminal::out(&report::load_comparison(&compared, width, paint));
        }
        Format::Json => terminal::out(&report::json(&compared).or_exit(Code::Io)?),
    }
    Ok(Code::Fine)
}

/// The path of a result that is named by it, or as a baseline.
fn found(args: &CompareArgs, given: &Path) -> Result<PathBuf, Failure> {
    let Some(data_path) = prepare::data_path(args.data_dir.asked()) else {
        return Ok(given.to_owned());
    };
    let found = Baselines::below(&data_path).find(given).or_exit(Code::Io)?;
    if let Some(note) = &found.note {
        terminal::note(note);
    }
    Ok(found.path)
}
