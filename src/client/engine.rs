//! Calls the Engine API of a client over HTTP. Every request has its own token, is sent once, and
//! is never repeated. A client would answer a repeated block without an execution.

use std::time::{Duration, Instant, SystemTime};

use send::{BlockingClient, HttpError, HttpLimits, one_line};
use serde_json::{Value, json};

use super::{export::Calls, refusal::Refusal, token::Secret};
use crate::client::node;

/// Maximal size of an answer, in bytes.
const MAX_ANSWER_BYTES: usize = 16 << 20;
/// Maximal number of characters of a wrong answer that an error shows.
const SHOWN_CHARS: usize = 120;

pub struct Engine {
    client: BlockingClient,
    url: String,
    secret: Secret,
    timeout: Duration,
}

/// Times of the two requests that make a block the head, each from the request to its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    pub new_payload: Duration,
    pub forkchoice: Duration,
}

impl Engine {
    /// Prepares the Engine API at `url`. Nothing is sent yet.
    ///
    /// # Errors
    /// The URL is no HTTP URL, or the system gives no resources for the client.
    pub fn new(url: &str, secret: Secret, timeout: Duration) -> anyhow::Result<Self> {
        // The name is not needed: this refuses a URL that is not of HTTP.
        node::name_of(url)?;
        let limits = HttpLimits { time: timeout, bytes: MAX_ANSWER_BYTES };
        let client = BlockingClient::new(limits)?;
        Ok(Self { client, url: url.to_owned(), secret, timeout })
    }

    /// Returns the hash of the client's genesis block.
    ///
    /// # Errors
    /// The client gives no answer.
    pub fn genesis_hash(&self) -> Result<String, Refusal> {
        let block = self.call("eth_getBlockByNumber", &json!(["0x0", false]))?;
        Ok(one_line(block["hash"].as_str().unwrap_or("unknown")))
    }

    /// Whether the client has the block of this hash.
    ///
    /// # Errors
    /// The client gives no answer.
    pub fn knows(&self, hash: &str) -> Result<bool, Refusal> {
        Ok(!self.call("eth_getBlockByHash", &json!([hash, false]))?.is_null())
    }

    /// Returns name, version and commit of the client; `None` if the client does not report them.
    pub fn version(&self) -> Option<String> {
        let us = json!([{
            "code": "ST", "name": "stress", "version": env!("CARGO_PKG_VERSION"), "commit": "00000000",
        }]);
        let all = self.call("engine_getClientVersionV1", &us).ok()?;
        let [name, version, commit] = ["name", "version", "commit"].map(|key| all[0][key].as_str());
        // A build outside a repository has a commit of zeros.
        let commit = commit.filter(|commit| !commit.trim_matches(['0', 'x']).is_empty());
        Some(one_line(&[name?, version?, commit.unwrap_or_default()].join(" ")))
    }

    /// Sends a block and makes it the head.
    ///
    /// # Errors
    /// One of the two answers is not VALID, or is missing.
    pub fn execute(&self, calls: &Calls) -> Result<Times, Refusal> {
        let (answer, new_payload) = self.timed(&calls.new_payload)?;
        check_valid(calls, &calls.new_payload, &answer, &answer)?;
        let (answer, forkchoice) = self.timed(&calls.forkchoice)?;
        check_valid(calls, &calls.forkchoice, &answer["payloadStatus"], &answer)?;
        Ok(Times { new_payload, forkchoice })
    }

    /// Returns the result of a request, and its time.
    fn timed(&self, line: &str) -> Result<(Value, Duration), Refusal> {
        // A payload has many megabytes, so it is copied before the clock starts.
        let body = line.to_owned();
        let begun = Instant::now();
        let answer = self.post(line, body, begun)?;
        Ok((answer, begun.elapsed()))
    }

    fn call(&self, method: &str, params: &Value) -> Result<Value, Refusal> {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let line = call.to_string();
        self.post(&line, line.clone(), Instant::now())
    }

    /// Returns the result of a request, sent at `begun`. `body` is a copy of `line`.
    fn post(&self, line: &str, body: String, begun: Instant) -> Result<Value, Refusal> {
        let token = self.secret.token(SystemTime::now());
        let answered = self.client.post(&self.url, body, Some(&token));
        let answer = answered.map_err(|error| self.refusal_of(line, begun, error))?;
        let (status, body) = (answer.status, answer.body);
        if status == 401 {
            return Err(Refusal::Unauthorized);
        }
        let mut answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        // A client that cannot read a request answers with an error without an id.
        let is_unread = answer["id"].is_null() && !answer["error"].is_null();
        if !is_unread && answer["id"].as_u64() != id(line) {
            return Err(no_answer(line, status, &body));
        }
        if let Some(error) = answer.get("error").filter(|error| !error.is_null()) {
            return Err(Refusal::Error {
                method: method(line),
                code: error["code"].as_i64().unwrap_or_default(),
                message: one_line(error["message"].as_str().unwrap_or_default()),
            });
        }
        match answer.get_mut("result") {
            Some(result) if status == 200 => Ok(result.take()),
            _ => Err(no_answer(line, status, &body)),
        }
    }

    /// Returns the refusal for a request without an answer.
    fn refusal_of(&self, line: &str, begun: Instant, error: HttpError) -> Refusal {
        let method = method(line);
        match error {
            HttpError::NoConnection(reason) => Refusal::NoConnection { reason },
            HttpError::TimedOut(_) => Refusal::TimedOut { method, limit: self.timeout },
            HttpError::CutOff(_) | HttpError::TooLong(_) | HttpError::Refused(_) => {
                Refusal::CutOff { method, after: begun.elapsed(), reason: error.to_string() }
            }
        }
    }
}

/// Returns the refusal for an answer that is not of the Engine API.
fn no_answer(line: &str, status: u16, body: &[u8]) -> Refusal {
    let text = String::from_utf8_lossy(body).chars().take(SHOWN_CHARS).collect();
    Refusal::NoAnswer { method: method(line), status, text }
}

/// Checks that `status` finds the block of `calls` valid. VALID must name the payload's own block
/// (Engine API, status of a payload). If the status is unknown, the error shows `answer`.
fn check_valid(calls: &Calls, line: &str, status: &Value, answer: &Value) -> Result<(), Refusal> {
    let method = method(line);
    match status["status"].as_str() {
        Some("VALID") if status["latestValidHash"].as_str() == Some(&calls.hash) => Ok(()),
        Some("SYNCING") => Err(Refusal::Syncing { method }),
        Some("ACCEPTED") => Err(Refusal::Accepted { method }),
        Some("INVALID" | "INVALID_BLOCK_HASH") => {
            let reason = one_line(status["validationError"].as_str().unwrap_or("no reason given"));
            Err(Refusal::Invalid { method, reason })
        }
        _ => {
            let text = answer.to_string().chars().take(SHOWN_CHARS).collect();
            Err(Refusal::NoAnswer { method, status: 200, text })
        }
    }
}

/// Returns the id of a call. Its answer has the same id.
fn id(line: &str) -> Option<u64> {
    let (_, rest) = line.split_once("\"id\":")?;
    rest.split([',', '}']).next()?.parse().ok()
}

/// Returns the method of a call. The calls have it near the beginning of the text, so a payload of
/// many megabytes is not searched.
fn method(line: &str) -> String {
    let rest = line.split_once("\"method\":\"").map_or("a call", |(_, rest)| rest);
    rest.split('"').next().unwrap_or_default().to_owned()
}
