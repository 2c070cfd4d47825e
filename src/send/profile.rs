//! Fetches the node's CPU profile during a load. go-ethereum and reth serve a profile in pprof's
//! format over HTTP.

use std::{
    path::PathBuf,
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, anyhow, ensure};
use report::{Existing, WholeFile};
use result::send::SendProfile;
use send::{BlockingClient, HttpLimits, NodeUrl};

use super::url;
use crate::terminal::interrupt;

/// Maximal size of a profile, in bytes.
const MAX_BYTES: usize = 256 << 20;
/// Seconds of a profile, if the URL names none.
const SECONDS: u64 = 10;
/// Time for the answer, beyond the time of the profile.
const GRACE: Duration = Duration::from_secs(20);
/// Polling interval for the interrupt flag.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The request for a profile.
#[derive(Clone, Debug)]
pub struct ProfileInput {
    /// The URL, which may name the seconds of the profile.
    pub url: NodeUrl,
    /// The directory for the file of the profile.
    pub dir: PathBuf,
}

impl ProfileInput {
    /// Returns the file for a load that begins now, after a check that it can be written.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn file(&self, started_unix_s: u64) -> Result<WholeFile, report::Error> {
        let path = self.dir.join(format!("node-{started_unix_s}.pprof"));
        WholeFile::at(&path, "--profile", Existing::Refuse)
    }
}

/// A profile that the node makes now.
#[derive(Debug)]
pub struct Profiling {
    url: NodeUrl,
    made: Receiver<Result<(PathBuf, u64)>>,
}

impl Profiling {
    /// Asks the node for a profile that begins now, and writes it into `file`.
    pub fn start(url: NodeUrl, file: WholeFile) -> Self {
        let (out, made) = mpsc::channel();
        let asked = url.clone();
        // The end of the load waits for the profile. After an interrupt nobody receives it.
        thread::spawn(move || drop(out.send(fetch(&asked, file))));
        Self { url, made }
    }

    /// Waits for the profile, unless the user interrupts.
    pub fn end(self) -> SendProfile {
        let made = loop {
            if interrupt::happened() {
                break Err(anyhow!("interrupted"));
            }
            match self.made.recv_timeout(POLL_INTERVAL) {
                Ok(result) => break result,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    break Err(anyhow!("the thread that fetches it has ended"));
                }
            }
        };
        let name = url::name(self.url.as_str());
        match made {
            Ok((file, bytes)) => SendProfile {
                url: name,
                file: Some(file.display().to_string()),
                size_bytes: Some(bytes),
                reason: None,
            },
            Err(error) => {
                let reason = self.url.hide(&format!("{error:#}"));
                SendProfile { url: name, file: None, size_bytes: None, reason: Some(reason) }
            }
        }
    }
}

fn fetch(url: &NodeUrl, file: WholeFile) -> Result<(PathBuf, u64)> {
    let (url, seconds) = with_seconds(url.as_str());
    let time = Duration::from_secs(seconds).saturating_add(GRACE);
    let client = BlockingClient::new(HttpLimits { time, bytes: MAX_BYTES })?;
    let answer = client.get(&url).context("no profile")?;
    ensure!(answer.status == 200, "no profile: HTTP status {}", answer.status);
    let path = file.write(|out| out.write_all(&answer.body))?;
    Ok((path, answer.body.len() as u64))
}

/// Returns the URL with the seconds of the profile, and these seconds.
fn with_seconds(url: &str) -> (String, u64) {
    let query = url.split_once('?').map(|(_, query)| query);
    let mut pairs = query.unwrap_or_default().split('&');
    let named = pairs.find_map(|pair| pair.strip_prefix("seconds=")?.parse().ok());
    match (named, query) {
        (Some(seconds), _) => (url.to_owned(), seconds),
        (None, Some(_)) => (format!("{url}&seconds={SECONDS}"), SECONDS),
        (None, None) => (format!("{url}?seconds={SECONDS}"), SECONDS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_lasts_as_long_as_its_url_says_or_ten_seconds() {
        for (url, asked, seconds) in [
            ("http://n/p", "http://n/p?seconds=10", 10),
            ("http://n/p?token=a", "http://n/p?token=a&seconds=10", 10),
            ("http://n/p?token=a&seconds=30", "http://n/p?token=a&seconds=30", 30),
        ] {
            assert_eq!(with_seconds(url), (asked.to_owned(), seconds));
        }
    }
}
