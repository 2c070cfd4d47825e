//! JSON-RPC over HTTP, as a transport for alloy's client: one HTTP request for each call.

use std::task::{Context, Poll};

use alloy_json_rpc::{RequestPacket, ResponsePacket};
use alloy_transport::{TransportError, TransportErrorKind, TransportFut};
use serde::de;
use tower_service::Service;

use crate::{http::HttpClient, url::NodeUrl};

/// Maximum length of any answer in bytes: twice the length of a full block's receipts.
pub(super) const ANSWER_BYTES_MAX: usize = 128 << 20;

/// Returns the maximum length in bytes of an answer to a call of `method`.
fn max_answer_bytes(method: &str) -> usize {
    match method {
        "eth_getBlockReceipts" => ANSWER_BYTES_MAX,
        // Answers with hashes of transactions, an input, or the logs of a transaction.
        "eth_getBlockByNumber" | "eth_getTransactionByHash" | "eth_getTransactionReceipt" => {
            16 << 20
        }
        // Answers with numbers, hashes, errors, or the accounts of a node.
        _ => 1 << 20,
    }
}

/// Sends calls to a node over HTTP.
#[derive(Clone, Debug)]
pub(super) struct Post {
    pub(super) client: HttpClient,
    pub(super) url: NodeUrl,
}

impl Post {
    async fn answer(self, request: RequestPacket) -> Result<ResponsePacket, TransportError> {
        let json = serde_json::to_string(&request).map_err(TransportError::ser_err)?;
        let methods = request.requests().iter().map(|call| max_answer_bytes(call.method()));
        let client = self.client.with_max_bytes(methods.sum());
        let answer = client.post(self.url.as_str(), json, None).await;
        let answer = answer.map_err(TransportErrorKind::custom)?;
        let text = String::from_utf8_lossy(&answer.body);
        let packet = serde_json::from_slice::<ResponsePacket>(&answer.body);
        let packet = packet.and_then(|packet| match is_to(&packet, &request) {
            true => Ok(packet),
            false => Err(de::Error::custom("the answer is to another call")),
        });
        if (200..300).contains(&answer.status) {
            return packet.map_err(|error| TransportError::deser_err(error, text));
        }
        // A gateway may send the node's JSON-RPC error with a status of failure.
        match packet {
            Ok(packet) if packet.is_error() => Ok(packet),
            _ => Err(TransportErrorKind::http_error(answer.status, text.into_owned())),
        }
    }
}

/// Whether an answer has the id of its call. An error may have no id, if the node could not read
/// the call.
fn is_to(answer: &ResponsePacket, request: &RequestPacket) -> bool {
    match (answer, request) {
        (ResponsePacket::Single(answer), RequestPacket::Single(call)) => {
            answer.id == *call.id() || answer.id.is_none() && answer.is_error()
        }
        _ => false,
    }
}

impl Service<RequestPacket> for Post {
    type Response = ResponsePacket;
    type Error = TransportError;
    type Future = TransportFut<'static>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: RequestPacket) -> Self::Future {
        Box::pin(self.clone().answer(request))
    }
}
