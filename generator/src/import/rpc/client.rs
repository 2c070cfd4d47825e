//! Sends the calls of an import to a node, many in a request. A missing or useless answer becomes
//! an error with a remedy.

use serde_json::Value;

use super::{
    super::{ImportError, json::Json},
    Call, NoAnswer, Refusal, Rpc,
};
use crate::reference::ReferenceError;

/// Maximal number of calls in one request. Nodes and gateways refuse requests of about 100 calls or
/// more.
const MAX_CALLS: usize = 64;
/// The error code of JSON-RPC for an unknown method.
const METHOD_NOT_FOUND: i64 = -32601;

/// Requirement on a node to answer a call. The remedy in an error follows from it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Need {
    /// The node must know the method.
    Method,
    /// The node must have the block.
    Block,
    /// The node must have the state after the block of this number.
    State(u64),
}

impl Need {
    fn remedy(self, refusal: Option<&Refusal>) -> String {
        match self {
            Self::State(number) if !refusal.is_some_and(lacks_method) => needs_state(number),
            Self::Block => "the node must have the block: is it synchronised, and does it keep \
                blocks that old?"
                .to_owned(),
            Self::Method | Self::State(_) => "ask a node that has this method".to_owned(),
        }
    }
}

/// Whether a node refuses a call because it does not know the method, or its tracer.
fn lacks_method(refusal: &Refusal) -> bool {
    // Nodes have different messages for it, and not all nodes use the code. A refusal that names
    // the state is about a state that is gone.
    let message = refusal.message.to_lowercase();
    let names_method = message.contains("method") || message.contains("tracer");
    refusal.code == METHOD_NOT_FOUND || names_method && !message.contains("state")
}

/// Returns the remedy if the state of block `number` is missing.
fn needs_state(number: u64) -> String {
    format!(
        "the node must still have the state of block {number}: ask an archive node, or import a block \
         that is new"
    )
}

/// An answer, with the name of its call for errors.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    name: String,
    value: Value,
}

impl Reply {
    /// Returns the whole answer. Errors about it name the call.
    pub(super) fn json(&self) -> Json<'_> {
        Json::root(&self.name, &self.value)
    }

    /// Whether the answer is `null`.
    pub(super) fn is_null(&self) -> bool {
        self.value.is_null()
    }
}

/// Sends calls to a node.
pub(super) struct RpcClient<'a> {
    rpc: &'a mut dyn Rpc,
}

impl<'a> RpcClient<'a> {
    pub(super) fn new(rpc: &'a mut dyn Rpc) -> Self {
        Self { rpc }
    }

    /// Returns the node's name for errors.
    pub(super) fn name(&self) -> &str {
        self.rpc.name()
    }

    /// Returns the answer to one call.
    pub(super) fn one(
        &mut self,
        method: &'static str,
        params: Value,
        need: Need,
    ) -> Result<Reply, ImportError> {
        Ok(self.all(vec![Call { method, params }], need)?.remove(0))
    }

    /// Returns the answer to one call; `None` if the node does not know the method.
    pub(super) fn known(
        &mut self,
        method: &'static str,
        params: Value,
        need: Need,
    ) -> Result<Option<Reply>, ImportError> {
        let call = Call { method, params };
        match self.send(std::slice::from_ref(&call))?.remove(0) {
            Err(refusal) if lacks_method(&refusal) => Ok(None),
            answer => self.accept(&call, answer, need).map(Some),
        }
    }

    /// Returns the answers to `calls`, in order.
    pub(super) fn all(&mut self, calls: Vec<Call>, need: Need) -> Result<Vec<Reply>, ImportError> {
        let mut replies = Vec::with_capacity(calls.len());
        for calls in calls.chunks(MAX_CALLS) {
            for (call, answer) in calls.iter().zip(self.send(calls)?) {
                replies.push(self.accept(call, answer, need)?);
            }
        }
        Ok(replies)
    }

    /// Returns the answer to a call that a node may refuse, or the refusal.
    pub(super) fn attempt(
        &mut self,
        method: &'static str,
        params: Value,
    ) -> Result<Result<Reply, Refusal>, ImportError> {
        let call = Call { method, params };
        let answer = self.send(std::slice::from_ref(&call))?.remove(0);
        Ok(answer.map(|value| Reply { name: self.name_of(&call), value }))
    }

    /// Sends `calls` in one request, and checks that each has an answer.
    fn send(&mut self, calls: &[Call]) -> Result<Vec<Result<Value, Refusal>>, ImportError> {
        let answers = match self.rpc.call(calls) {
            Ok(answers) => answers,
            Err(NoAnswer::Stopped) => return Err(ReferenceError::Cancelled.into()),
            Err(NoAnswer::Failed { what, remedy }) => {
                return Err(self.error(&calls[0], what, remedy));
            }
        };
        if answers.len() == calls.len() {
            return Ok(answers);
        }
        let said = format!("{} answers to {} calls", answers.len(), calls.len());
        Err(self.error(&calls[0], said, "is this the JSON-RPC interface of a node?".to_owned()))
    }

    /// Returns the answer to `call`, unless it is a refusal or `null`.
    fn accept(
        &self,
        call: &Call,
        answer: Result<Value, Refusal>,
        need: Need,
    ) -> Result<Reply, ImportError> {
        match answer {
            Ok(Value::Null) => {
                let said = "the answer is null, so it has no such thing".to_owned();
                Err(self.error(call, said, need.remedy(None)))
            }
            Ok(value) => Ok(Reply { name: self.name_of(call), value }),
            Err(refusal) => {
                let said = format!("error {}: {}", refusal.code, refusal.message);
                Err(self.error(call, said, need.remedy(Some(&refusal))))
            }
        }
    }

    /// Formats a call in short, with its first parameter alone.
    fn call_in_short(call: &Call) -> String {
        let first = call.params.get(0).map_or_else(String::new, |first| {
            first.as_str().map_or_else(|| first.to_string(), str::to_owned)
        });
        format!("{}({first})", call.method)
    }

    fn name_of(&self, call: &Call) -> String {
        format!("{}: {}", self.name(), Self::call_in_short(call))
    }

    fn error(&self, call: &Call, said: String, remedy: String) -> ImportError {
        let (node, call) = (self.name().to_owned(), Self::call_in_short(call));
        ImportError::Node { node, call, said, remedy }
    }
}
