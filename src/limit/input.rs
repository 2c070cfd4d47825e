//! The question of `stress limit`: loads, deadline, limits to try, settings of all runs.

use std::{path::PathBuf, time::Duration};

use spec::Override;

use crate::terminal::Look;

/// The loads, the limits and the settings.
#[derive(Clone, Debug)]
pub struct LimitInput {
    /// The scenarios, by name or path.
    pub scenarios: Vec<String>,
    /// The deadline of a whole block.
    pub deadline: Duration,
    /// The limit that factors of prices are for.
    pub target_gas: u64,
    /// The limits to try, ascending; two or more.
    pub limits: Vec<u64>,
    /// Overrides of all runs.
    pub fixed: Vec<Override>,
    /// Where the runs are kept; `None`: until the end, beside the state databases.
    pub out: Option<PathBuf>,
    /// Where state databases are kept, if the user said so.
    pub data_dir: Option<PathBuf>,
    /// How the progress of a run looks.
    pub look: Look,
    /// The command line.
    pub command: Vec<String>,
}
