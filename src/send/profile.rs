//! The node's CPU profile during a load: go-ethereum and reth serve one in pprof's format over HTTP.

use std::{
    fs::File,
    io::{self, Read},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, anyhow};
use result::send::SendProfile;
use ureq::Agent;

use super::{input::ProfileInput, url};
use crate::interrupt;

/// Longest profile that is read.
const MAX_BYTES: u64 = 256 << 20;
/// Time for the answer beyond that of the profile.
const GRACE: Duration = Duration::from_secs(20);
/// Polling interval for the interrupt flag.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A profile that the node is making.
#[derive(Debug)]
pub struct Profiling {
    input: ProfileInput,
    made: Receiver<Result<u64>>,
}

impl Profiling {
    /// Asks the node for a profile from now on.
    pub fn start(input: ProfileInput) -> Self {
        let (out, made) = mpsc::channel();
        let asked = input.clone();
        // The end of the load waits for it; where that was interrupted, nobody receives.
        thread::spawn(move || drop(out.send(fetch(&asked))));
        Self { input, made }
    }

    /// Waits for it, unless the user interrupts.
    pub fn end(self) -> SendProfile {
        let mut made = Err(anyhow!("interrupted"));
        while !interrupt::happened() {
            match self.made.recv_timeout(POLL_INTERVAL) {
                Ok(result) => {
                    made = result;
                    break;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    made = Err(anyhow!("the thread that fetches it has ended"));
                    break;
                }
            }
        }
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

fn fetch(input: &ProfileInput) -> Result<u64> {
    let limit = Duration::from_secs(input.seconds) + GRACE;
    let agent: Agent = Agent::config_builder().timeout_global(Some(limit)).build().into();
    let sign = if input.url.as_str().contains('?') { '&' } else { '?' };
    let url = format!("{}{sign}seconds={}", input.url.as_str(), input.seconds);
    let mut response = agent.get(&url).call().context("no profile")?;
    let path = &input.file;
    let cannot = || format!("cannot write --profile {}", path.display());
    let mut file = File::create(path).with_context(cannot)?;
    let body = response.body_mut().with_config().limit(MAX_BYTES).reader();
    io::copy(&mut body.take(MAX_BYTES), &mut file).with_context(cannot)
}
