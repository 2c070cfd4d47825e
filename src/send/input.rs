//! The input of a load on a node, as plain values. A file has the secret of the account that pays,
//! as every user of the machine would see it on a command line.

use std::{
    fs,
    path::{Path, PathBuf},
};

use alloy_primitives::{B256, hex};
use anyhow::{Context, anyhow};
use send::{Pace, Settings};
use spec::Override;

use super::profile::ProfileInput;
use crate::terminal::{Code, Failure, WithExitCode, exit::fail};

/// Default number of transactions a second.
const DEFAULT_RATE: &str = "100";

/// The work of a load, its node and its pace.
#[derive(Clone, Debug)]
pub struct SendInput {
    /// Name of the scenario, or the path of its file.
    pub scenario: String,
    pub work: Vec<Override>,
    /// Maximal number of sending accounts, if the user gives it.
    pub accounts: Option<String>,
    /// The command line, without secrets of its URLs.
    pub command: Vec<String>,
    pub settings: Settings,
    pub pace: Pace,
    /// File with the secret of the account that pays. `None`: an account of the node pays.
    pub key_file: Option<PathBuf>,
    /// URL of the node's CPU profiles, and the directory for the profile.
    pub profile: Option<ProfileInput>,
}

/// Returns the pace of the options. At most one of them is given.
///
/// # Errors
/// The rate is out of its range, or a count is 0.
pub fn pace(
    rate: Option<&str>,
    in_flight: Option<u64>,
    pool_depth: Option<u64>,
) -> Result<Pace, Failure> {
    for (option, count) in [("--in-flight", in_flight), ("--pool-depth", pool_depth)] {
        if count == Some(0) {
            fail!(Code::Usage, "{option} 0: nothing would be sent; give 1 or more");
        }
    }
    // Without any option the pace is the default rate.
    let text = rate.unwrap_or(DEFAULT_RATE);
    let rate = text.strip_suffix("/s").unwrap_or(text).parse::<f64>().ok();
    match (in_flight, pool_depth, rate.filter(|rate| (0.001..=1e6).contains(rate))) {
        (Some(count), _, _) => Ok(Pace::InFlight(count)),
        (None, Some(count), _) => Ok(Pace::PoolDepth(count)),
        (None, None, Some(rate)) => Ok(Pace::Rate(rate)),
        (None, None, None) => fail!(
            Code::Usage,
            "--rate {text}: give transactions a second, 0.001 to 1000000 (500 or 500/s)"
        ),
    }
}

/// Reads a secret of 32 bytes in hex, with or without 0x.
///
/// # Errors
/// The file cannot be read, or has other content. The error does not show the content.
pub fn read_secret(path: &Path) -> Result<B256, Failure> {
    let shown = path.display();
    let text = fs::read_to_string(path);
    let text = text.with_context(|| format!("cannot read --key-file {shown}")).with_input_code()?;
    let bytes = hex::decode(text.trim()).ok();
    let secret = bytes.and_then(|bytes| B256::try_from(bytes.as_slice()).ok());
    secret
        .ok_or_else(|| {
            anyhow!("--key-file {shown}: a secret key of 64 hex digits is wanted, and nothing else")
        })
        .with_exit_code(Code::Usage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_and_a_wrong_one_is_not_shown() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        for text in ["0x{}\n", "{}"] {
            fs::write(&path, text.replace("{}", &"07".repeat(32))).unwrap();
            assert_eq!(read_secret(&path).unwrap(), B256::repeat_byte(7));
        }
        for text in ["", "0x07", "KEYKEYKEY"] {
            fs::write(&path, text).unwrap();
            let failure = read_secret(&path).unwrap_err();
            assert_eq!(failure.code, Code::Usage);
            assert!(!failure.to_string().contains("KEYKEY"), "{failure}");
        }
        assert_eq!(read_secret(&dir.path().join("none")).unwrap_err().code, Code::Usage);
    }
}
