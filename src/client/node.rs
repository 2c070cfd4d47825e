//! Calls a node's JSON-RPC interface over HTTP, for `stress import`. Requests are sent one at a
//! time, and an answer is limited in size and time. A request is repeated only after a failed
//! connection, or if a gateway asks to wait. The caller knows what the calls mean.

use std::{thread, time::Duration};

use generator::import::rpc::{Call, NoAnswer, Refusal, Rpc};
use send::{BlockingClient, HttpAnswer, HttpError, HttpLimits, one_line};
use serde_json::{Value, json};

use crate::{
    send::url,
    terminal::{interrupt, progress},
};

/// Maximal size of an answer with a block's traces, in bytes: ten times the traces of a full block.
const MAX_TRACES_BYTES: usize = 512 << 20;
/// Maximal size of the answers to all other calls of a request, in bytes.
const MAX_ANSWER_BYTES: usize = 128 << 20;
/// Maximal time of an answer. It is long, as a node executes a block again to trace it.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(300);
/// Times to wait before a request is sent again.
const PAUSES: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];
/// Number of characters of a wrong answer that an error shows.
const SHOWN_CHARS: usize = 120;

/// Remedy for an answer that no JSON-RPC interface of a node gives.
const OTHER_URL: &str = "is this the URL of a node's JSON-RPC interface?";

/// Returns the maximal size of an answer to a call of `method`, in bytes. In memory an answer can
/// take 60 times its size.
fn max_answer_bytes(method: &str) -> usize {
    match method {
        "debug_traceBlockByNumber" => MAX_TRACES_BYTES,
        "eth_getBlockReceipts" => 64 << 20,
        // The RLP of a block has at most 8 MiB (EIP-7934).
        "eth_getBlockByNumber" | "eth_getBlockByHash" => 32 << 20,
        "eth_getTransactionReceipt" => 8 << 20,
        "eth_getCode" | "eth_config" => 1 << 20,
        // These answers are numbers and errors.
        _ => 64 << 10,
    }
}

/// Returns the maximal size of an answer to `calls` in one request, in bytes.
fn max_bytes(calls: &[Call]) -> usize {
    let each = calls.iter().map(|call| max_answer_bytes(call.method));
    let most = each.clone().max().unwrap_or(0).max(MAX_ANSWER_BYTES);
    each.sum::<usize>().min(most)
}

/// A node over HTTP.
pub struct HttpNode<'a> {
    client: BlockingClient,
    url: String,
    name: String,
    answered_count: u64,
    on_answers: &'a dyn Fn(u64),
}

impl<'a> HttpNode<'a> {
    /// Prepares the node at `url`. Nothing is sent yet. `on_answers` gets the number of answered
    /// calls.
    ///
    /// # Errors
    /// The URL is no HTTP URL, or the system gives no resources for the client.
    pub fn new(url: &str, on_answers: &'a dyn Fn(u64)) -> anyhow::Result<Self> {
        let name = name_of(url)?;
        let limits = HttpLimits { time: ANSWER_TIMEOUT, bytes: MAX_TRACES_BYTES };
        Ok(Self {
            client: BlockingClient::new(limits)?,
            url: url.to_owned(),
            name,
            answered_count: 0,
            on_answers,
        })
    }

    /// Sends a request. Repeats it after a failed connection, or if a gateway asks to wait.
    fn send(&self, request: &Value) -> Result<HttpAnswer, NoAnswer> {
        let mut pauses = PAUSES.into_iter();
        loop {
            if interrupt::happened() {
                return Err(NoAnswer::Stopped);
            }
            let tried = self.client.post(&self.url, request.to_string(), None);
            let is_retried = match &tried {
                Ok(answer) => matches!(answer.status, 429 | 502 | 503 | 504),
                Err(error) => {
                    matches!(error, HttpError::NoConnection(_) | HttpError::CutOff(_))
                }
            };
            match pauses.next().filter(|_| is_retried) {
                Some(pause) => thread::sleep(pause),
                None => return tried.map_err(|error| no_answer(&error)),
            }
        }
    }
}

impl Rpc for HttpNode<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn call(&mut self, calls: &[Call]) -> Result<Vec<Result<Value, Refusal>>, NoAnswer> {
        let requests: Vec<Value> = calls
            .iter()
            .enumerate()
            .map(|(id, Call { method, params })| {
                json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
            })
            .collect();
        // Some gateways do not take batches, so a single call is sent without one.
        let request = match requests.as_slice() {
            [one] => one.clone(),
            many => json!(many),
        };
        self.client.set_max_bytes(max_bytes(calls));
        let answer = self.send(&request)?;
        let answers = answers(&answer, calls.len())?;
        self.answered_count += calls.len() as u64;
        (self.on_answers)(self.answered_count);
        Ok(answers)
    }
}

/// Returns scheme, host and port of a URL. The path often has a key, and the part before the host a
/// password, so both are left out.
///
/// # Errors
/// The URL is no HTTP URL.
pub fn name_of(url: &str) -> anyhow::Result<String> {
    let name = url::name(url);
    anyhow::ensure!(
        ["http://", "https://"].iter().any(|scheme| name.starts_with(scheme)),
        "--url is no URL of a node: it is http://HOST:PORT or https://HOST/PATH"
    );
    Ok(name)
}

/// Makes the error for a missing answer, with its remedy.
fn no_answer(error: &HttpError) -> NoAnswer {
    let what = match error {
        HttpError::TooLong(most) => {
            format!("the answer has more than {}", progress::bytes(*most as u64))
        }
        _ => error.to_string(),
    };
    let remedy = match error {
        HttpError::NoConnection(_) | HttpError::CutOff(_) => {
            "does the node run, and does it listen at this URL?"
        }
        HttpError::TimedOut(_) => "is the node busy? Import fewer blocks at a time",
        HttpError::TooLong(_) => "import fewer blocks at a time",
        HttpError::Refused(_) => OTHER_URL,
    };
    NoAnswer::Failed { what, remedy: remedy.to_owned() }
}

/// Makes the error for an answer that does not fit the calls.
fn unreadable(answer: &HttpAnswer, what: &str) -> NoAnswer {
    let text = String::from_utf8_lossy(&answer.body);
    let mut shown: String = text.chars().take(SHOWN_CHARS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    let what = format!("{what} (HTTP status {}): {shown:?}", answer.status);
    NoAnswer::Failed { what, remedy: OTHER_URL.to_owned() }
}

/// Returns the answers to calls 0 to `count` − 1. A node may send them in any order.
fn answers(answer: &HttpAnswer, count: usize) -> Result<Vec<Result<Value, Refusal>>, NoAnswer> {
    let value = serde_json::from_slice(&answer.body);
    let value: Value = value.map_err(|_| unreadable(answer, "the answer is no JSON"))?;
    let items = match value {
        Value::Array(items) => items,
        // An error for all calls, or for a call that the node could not read, has no id.
        one => match refusal(&one) {
            Some(refusal) if count > 1 || one.get("id").is_none_or(Value::is_null) => {
                return Ok(vec![Err(refusal); count]);
            }
            _ => vec![one],
        },
    };
    let mut all: Vec<Option<_>> = vec![None; count];
    for mut item in items {
        let id = item.get("id").and_then(Value::as_u64).and_then(|id| usize::try_from(id).ok());
        let result = match (refusal(&item), item.get_mut("result").map(Value::take)) {
            (Some(refusal), _) => Err(refusal),
            (None, Some(result)) => Ok(result),
            (None, None) => {
                return Err(unreadable(answer, "an answer has neither result nor error"));
            }
        };
        let known = id.and_then(|id| all.get_mut(id));
        let known = known.ok_or_else(|| unreadable(answer, "an answer is to no call"))?;
        if known.replace(result).is_some() {
            return Err(unreadable(answer, "a call is answered twice"));
        }
    }
    let all: Option<Vec<_>> = all.into_iter().collect();
    all.ok_or_else(|| unreadable(answer, "not every call is answered"))
}

/// Returns the error in an answer; `None` if the answer has none.
fn refusal(item: &Value) -> Option<Refusal> {
    let error = item.get("error").filter(|error| !error.is_null())?;
    let message = error.get("message").and_then(Value::as_str);
    let message = message.map_or_else(|| one_line(&error.to_string()), one_line);
    Some(Refusal { code: error.get("code").and_then(Value::as_i64).unwrap_or(0), message })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(body: &str, count: usize) -> Result<Vec<Result<Value, Refusal>>, NoAnswer> {
        answers(&HttpAnswer { status: 200, body: body.as_bytes().to_vec() }, count)
    }

    #[test]
    fn a_name_has_no_secret() {
        for (url, name) in [
            ("http://127.0.0.1:8545", "http://127.0.0.1:8545"),
            ("https://node.example/v3/KEY?a=KEY", "https://node.example"),
            ("https://user:KEY@node.example:443/", "https://node.example:443"),
        ] {
            assert_eq!(name_of(url).unwrap(), name);
        }
        for url in ["127.0.0.1:8545/KEY", "ftp://a/KEY", "http://", "/KEY", "http://a b/KEY"] {
            let error = name_of(url).unwrap_err().to_string();
            assert!(error.contains("http://HOST:PORT") && !error.contains("KEY"), "{error}");
        }
    }

    #[test]
    fn an_answer_is_bounded_by_what_its_calls_need() {
        let of = |methods: &[&'static str]| {
            let calls: Vec<_> =
                methods.iter().map(|method| Call { method, params: Value::Null }).collect();
            max_bytes(&calls)
        };
        assert_eq!(of(&["eth_chainId"]), 64 << 10);
        assert_eq!(of(&["eth_getBalance", "eth_getCode"]), (64 << 10) + (1 << 20));
        assert_eq!(of(&["eth_getBlockByNumber"; 64]), 128 << 20);
        assert_eq!(of(&["debug_traceBlockByNumber"]), 512 << 20);
    }

    #[test]
    fn answers_are_those_of_their_calls_in_any_order() {
        let body = r#"[{"id":1,"result":null},{"id":0,"error":{"code":-5,"message":"no"}}]"#;
        let refusal = Refusal { code: -5, message: "no".to_owned() };
        assert_eq!(of(body, 2).unwrap(), [Err(refusal.clone()), Ok(Value::Null)]);
        let all = r#"{"id":null,"error":{"code":-5,"message":"no"}}"#;
        assert_eq!(of(all, 2).unwrap(), [Err(refusal.clone()), Err(refusal)]);
        assert_eq!(of(r#"{"id":0,"result":"0x1"}"#, 1).unwrap(), [Ok(json!("0x1"))]);
        let unread = r#"{"id":null,"error":{"code":-32700,"message":"\u001b[2J\n no"}}"#;
        let refusal = Refusal { code: -32700, message: "\\u{1b}[2J no".to_owned() };
        assert_eq!(of(unread, 1).unwrap(), [Err(refusal)]);
    }

    #[test]
    fn what_is_no_answer_is_shown_in_part() {
        let page = format!("<html>{}</html>", "a".repeat(1000));
        for (body, count, word) in [
            (page.as_str(), 1, "no JSON"),
            ("[]", 1, "not every call"),
            (r#"[{"id":0,"result":1}]"#, 2, "not every call"),
            (r#"[{"id":9,"result":1}]"#, 1, "to no call"),
            (r#"{"id":7,"result":"0x1"}"#, 1, "to no call"),
            (r#"{"id":"0","result":"0x1"}"#, 1, "to no call"),
            (r#"{"id":null,"result":"0x1"}"#, 1, "to no call"),
            (r#"{"id":7,"error":{"code":1,"message":"no"}}"#, 1, "to no call"),
            (r#"[{"id":0,"result":1},{"id":0,"result":2}]"#, 2, "answered twice"),
            (r#"[{"result":1}]"#, 1, "to no call"),
            ("[1]", 1, "neither result nor error"),
            ("7", 1, "neither result nor error"),
        ] {
            let Err(NoAnswer::Failed { what, .. }) = of(body, count) else { panic!("{body}") };
            assert!(what.contains(word) && what.contains("status 200"), "{what}");
            assert!(what.len() < 300, "{what}");
        }
    }
}
