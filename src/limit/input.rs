//! The input of `stress limit`, which its verb makes: loads, deadline, limits to try, settings of
//! all runs.

use std::{path::PathBuf, time::Duration};

use spec::Override;

use crate::terminal::ProgressForm;

#[derive(Clone, Debug)]
pub struct LimitInput {
    /// The scenarios, by name or path.
    pub scenarios: Vec<String>,
    /// The deadline of a whole block.
    pub deadline: Duration,
    /// The gas limit for which a price factor is computed.
    pub target_gas: u64,
    /// The limits to try, ascending; two or more.
    pub limits: Vec<u64>,
    /// Overrides of all runs.
    pub fixed: Vec<Override>,
    /// The directory of the runs, which stay. `None`: a directory beside the state databases, which
    /// is removed at the end.
    pub out: Option<PathBuf>,
    /// The directory of state databases, if the user names one.
    pub data_dir: Option<PathBuf>,
    /// The form of a run's progress.
    pub progress_form: ProgressForm,
    /// The command line.
    pub command: Vec<String>,
}
