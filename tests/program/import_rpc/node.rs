//! Nodes for tests of the import. One is anvil, started on a free port and ended with the test. The
//! other is a server in front of it that answers some calls in its own way, as other nodes do.

use std::{
    io::{BufRead, BufReader},
    net::TcpListener,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use send::{BlockingClient, HttpLimits};
use serde_json::{Value, json};

use crate::{
    found,
    server::{http, serve},
};

/// A running anvil that mines only when it is asked to.
pub(crate) struct Anvil {
    process: Child,
    pub(crate) url: String,
}

impl Anvil {
    /// Starts it; `None`, said aloud, where it is not installed.
    pub(crate) fn start(more: &[&str]) -> Option<Self> {
        let mut process = Command::new(found::anvil()?)
            .args(["--port", "0", "--no-mining", "--order", "fifo", "--hardfork", "osaka"])
            .args(more)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let listens = |line: String| line.strip_prefix("Listening on ").map(str::to_owned);
        let address = lines.by_ref().map_while(Result::ok).find_map(listens).unwrap();
        // The node stops when its output is not read.
        thread::spawn(move || lines.for_each(drop));
        Some(Self { process, url: format!("http://{address}") })
    }

    /// The result of a call, which must succeed.
    pub(crate) fn call(&self, method: &str, params: &Value) -> Value {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let answer = post(&self.url, &call);
        assert!(answer.get("error").is_none(), "{call}: {answer}");
        answer["result"].clone()
    }

    /// Makes a block of the sent transactions.
    pub(crate) fn mine(&self) {
        self.call("evm_mine", &json!([]));
    }
}

impl Drop for Anvil {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The answer of a node to a call, over a connection of its own.
pub(crate) fn post(url: &str, call: &Value) -> Value {
    let limits = HttpLimits { time: Duration::from_secs(300), bytes: 512 << 20 };
    let client = BlockingClient::new(limits).unwrap();
    let answer = client.post(url, call.to_string(), None).unwrap();
    serde_json::from_slice(&answer.body).unwrap()
}

/// A server that answers every request by `answer`, given the request's body; a URL to it.
pub(crate) fn server(answer: impl Fn(&str) -> String + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || serve(&listener, move |request| Some(answer(&request.body))));
    url
}

/// A URL to the node at `url` through a server that changes its answers: `change` is given each
/// call and the answer to it.
pub(crate) fn through(url: &str, change: impl Fn(&Value, &mut Value) + Send + 'static) -> String {
    let url = url.to_owned();
    server(move |body| {
        let call: Value = serde_json::from_str(body).unwrap();
        let mut answer = post(&url, &call);
        match (&call, &mut answer) {
            (Value::Array(calls), Value::Array(answers)) => {
                for call in calls {
                    let of_call = answers.iter_mut().find(|answer| answer["id"] == call["id"]);
                    change(call, of_call.unwrap());
                }
            }
            (call, answer) => change(call, answer),
        }
        http("200 OK", &answer.to_string())
    })
}

/// An answer that is an error.
pub(crate) fn refusal(call: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": call["id"], "error": {"code": code, "message": message}})
}
