//! The load of a node, as plain values.

use std::path::PathBuf;

use report::Existing;
use send::{NodeUrl, Pace, Settings};
use spec::Override;

/// The work of a load, its node and its pace.
#[derive(Clone, Debug)]
pub struct SendInput {
    /// Name of the scenario, or the path of its file.
    pub scenario: String,
    /// Overrides of its work.
    pub work: Vec<Override>,
    /// Accounts that send, at most, where the user says so.
    pub accounts: Option<String>,
    /// The command line, without secrets of its URLs.
    pub command: Vec<String>,
    /// The connection.
    pub settings: Settings,
    /// When transactions are sent.
    pub pace: Pace,
    /// File with the secret of the account that pays; without one the node's own account pays.
    pub key_file: Option<PathBuf>,
    /// Where the node serves CPU profiles, and the file for one.
    pub profile: Option<ProfileInput>,
}

/// A profile that is wanted.
#[derive(Clone, Debug)]
pub struct ProfileInput {
    /// The URL, without its time.
    pub url: NodeUrl,
    /// The file.
    pub file: PathBuf,
    /// Treatment of a file of this name that exists already.
    pub existing: Existing,
    /// How long the node samples.
    pub seconds: u64,
}
