//! The node's CPU profile during a load: go-ethereum and reth serve one in pprof's format over HTTP.

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

/// Longest profile that is read.
const MAX_BYTES: usize = 256 << 20;
/// Time for the answer beyond that of the profile.
const GRACE: Duration = Duration::from_secs(20);
/// Polling interval for the interrupt flag.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

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

/// A profile that the node is making.
#[derive(Debug)]
pub struct Profiling {
    input: ProfileInput,
    made: Receiver<Result<u64>>,
}

impl Profiling {
    /// Asks the node for a profile from now on, which goes to `file`.
    pub fn start(input: ProfileInput, file: WholeFile) -> Self {
        let (out, made) = mpsc::channel();
        let asked = input.clone();
        // The end of the load waits for it; where that was interrupted, nobody receives.
        thread::spawn(move || drop(out.send(fetch(&asked, file))));
        Self { input, made }
    }

    /// Waits for it, unless the user interrupts.
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
        let name = url::name(self.input.url.as_str());
        match made {
            Ok(bytes) => SendProfile {
                url: name,
                file: Some(self.input.file.display().to_string()),
                size_bytes: Some(bytes),
                reason: None,
            },
            Err(error) => {
                let reason = self.input.url.hide(&format!("{error:#}"));
                SendProfile { url: name, file: None, size_bytes: None, reason: Some(reason) }
            }
        }
    }
}

fn fetch(input: &ProfileInput, file: WholeFile) -> Result<u64> {
    let time = Duration::from_secs(input.seconds) + GRACE;
    let client = BlockingClient::new(HttpLimits { time, bytes: MAX_BYTES })?;
    let sign = if input.url.as_str().contains('?') { '&' } else { '?' };
    let url = format!("{}{sign}seconds={}", input.url.as_str(), input.seconds);
    let answer = client.get(&url).context("no profile")?;
    ensure!(answer.status == 200, "no profile: HTTP status {}", answer.status);
    file.write(|out| out.write_all(&answer.body))?;
    Ok(answer.body.len() as u64)
}
