//! JSON-RPC over HTTP as a transport of alloy's client: a request for each call.

use std::task::{Context, Poll};

use alloy_json_rpc::{RequestPacket, ResponsePacket};
use alloy_transport::{TransportError, TransportErrorKind, TransportFut};
use tower_service::Service;

use crate::{http::HttpClient, url::NodeUrl};

/// Calls of a node over HTTP.
#[derive(Clone, Debug)]
pub(super) struct Post {
    pub(super) client: HttpClient,
    pub(super) url: NodeUrl,
}

impl Post {
    async fn answer(self, request: RequestPacket) -> Result<ResponsePacket, TransportError> {
        let json = serde_json::to_string(&request).map_err(TransportError::ser_err)?;
        let answer = self.client.post(self.url.as_str(), json, None).await;
        let answer = answer.map_err(TransportErrorKind::custom)?;
        let text = || String::from_utf8_lossy(&answer.body).into_owned();
        let packet = serde_json::from_slice::<ResponsePacket>(&answer.body);
        if (200..300).contains(&answer.status) {
            return packet.map_err(|error| TransportError::deser_err(error, text()));
        }
        // A gateway may wrap the node's error.
        match packet {
            Ok(packet) if packet.is_error() => Ok(packet),
            _ => Err(TransportErrorKind::http_error(answer.status, text())),
        }
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
