//! Which cell to run alone: from the command line, or from a scheduler's variable for a task of an
//! array. The command line comes first.

use anyhow::{Result, bail};

/// Variables of schedulers: Slurm for an array's task, Kubernetes for a pod of an Indexed Job.
const VARIABLES: [&str; 2] = ["SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"];

/// A cell to run alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Which {
    /// Its index.
    pub index: u64,
    /// Who says so: `--cell`, or a variable's name.
    pub source: &'static str,
}

/// The cell that `explicit` names, else the environment; `None` where neither does.
///
/// # Errors
/// A value that is no index, or none of this sweep; two variables that disagree.
pub fn which(
    explicit: Option<&str>,
    variable: impl Fn(&str) -> Option<String>,
    cell_count: u64,
) -> Result<Option<Which>> {
    let mut found: Vec<_> = match explicit {
        Some(text) => vec![("--cell", text.to_owned())],
        None => VARIABLES.into_iter().filter_map(|name| Some((name, variable(name)?))).collect(),
    };
    if let [(one, a), (other, b)] = found.as_slice()
        && a != b
    {
        bail!("{one} is {a} and {other} is {b}: say by --cell which cell to run");
    }
    let Some((source, text)) = found.drain(..).next() else { return Ok(None) };
    let last = cell_count.saturating_sub(1);
    match text.trim().parse::<u64>() {
        Ok(index) if index < cell_count => Ok(Some(Which { index, source })),
        Ok(index) => bail!(
            "{source} {index}: the sweep has {cell_count} cells, from 0 to {last}; `--list` shows them"
        ),
        Err(_) => bail!("{source} {text}: an index from 0 to {last} is wanted"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(
        explicit: Option<&str>,
        slurm: Option<&str>,
        job: Option<&str>,
    ) -> Result<Option<Which>> {
        let variable = |name: &str| match name {
            "SLURM_ARRAY_TASK_ID" => slurm.map(str::to_owned),
            "JOB_COMPLETION_INDEX" => job.map(str::to_owned),
            _ => None,
        };
        which(explicit, variable, 24)
    }

    fn found(
        explicit: Option<&str>,
        slurm: Option<&str>,
        job: Option<&str>,
    ) -> (u64, &'static str) {
        let which = with(explicit, slurm, job).unwrap().expect("an index");
        (which.index, which.source)
    }

    #[test]
    fn what_is_explicit_comes_before_what_a_scheduler_set() {
        assert_eq!(with(None, None, None).unwrap(), None);
        assert_eq!(found(Some("7"), Some("8"), Some("9")), (7, "--cell"));
        assert_eq!(found(None, Some("8"), None), (8, "SLURM_ARRAY_TASK_ID"));
        assert_eq!(found(None, None, Some("0")), (0, "JOB_COMPLETION_INDEX"));
        assert_eq!(found(None, Some("9"), Some("9")), (9, "SLURM_ARRAY_TASK_ID"));
    }

    #[test]
    fn what_is_no_index_of_the_sweep_is_refused_with_its_source() {
        for (explicit, slurm, job, words) in [
            (Some("24"), None, None, "--cell 24: the sweep has 24 cells, from 0 to 23"),
            (Some("-1"), None, None, "--cell -1: an index"),
            (Some(""), None, None, "--cell : an index"),
            (None, Some("x"), None, "SLURM_ARRAY_TASK_ID x"),
            (None, None, Some("99999999999999999999"), "JOB_COMPLETION_INDEX 9999"),
            (None, Some("1"), Some("2"), "say by --cell"),
        ] {
            let error = with(explicit, slurm, job).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
