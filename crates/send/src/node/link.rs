//! The connection of `Node`: an HTTP client, or a WebSocket. A broken WebSocket fails all calls
//! under way at once, since it is unknown which calls the node took. It is opened again with
//! growing waits, and new calls wait for it. `alloy-pubsub` itself would repeat all calls, also
//! abandoned ones, and wait 30 s between two tries to connect.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use alloy_json_rpc::RpcError;
use alloy_pubsub::{ConnectionHandle, PubSubConnect};
use alloy_rpc_client::{ClientBuilder, RpcClient};
use alloy_transport::{
    TransportError, TransportErrorKind, TransportResult, utils::guess_local_url,
};
use alloy_transport_ws::WsConnect;
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};

use super::post::{self, Post};
use crate::{
    error::{CallError, ErrorKind},
    http::{Compression, HttpClient, HttpLimits},
    url::{NodeUrl, Transport},
};

/// First wait before a broken WebSocket is opened again, and the longest such wait.
const PAUSE: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// The connection to a node.
#[derive(Clone)]
pub(super) enum Link {
    /// HTTP.
    Http(RpcClient),
    /// A WebSocket.
    Socket(Arc<Socket>),
}

/// A WebSocket, open or not.
pub(super) struct Socket {
    url: NodeUrl,
    limit: Duration,
    state: watch::Sender<SocketState>,
}

/// The state of a WebSocket.
struct SocketState {
    /// The client that makes the calls, while the WebSocket is open; else `None`.
    client: Option<RpcClient>,
    /// Index of the current or last connection, from 0.
    index: u64,
    /// Time at which the WebSocket was last opened or broke.
    changed_at: Instant,
    /// The wait before the next try to open it.
    pause: Duration,
    /// Error of the last try to open it, if that failed.
    failure: Option<CallError>,
}

/// An open connection.
pub(super) struct Opened {
    pub(super) client: RpcClient,
    /// [`SocketState::index`] of the connection; 0 over HTTP.
    index: u64,
}

impl Link {
    /// Connects to `url`. Over HTTP, this call sends nothing. `limit` is the time limit of a try to
    /// open a WebSocket, and of a call over HTTP.
    pub(super) async fn connect(url: &NodeUrl, limit: Duration) -> Result<Self, CallError> {
        let client = connect_client(url, limit).await?;
        if url.transport() == Some(Transport::Http) {
            return Ok(Self::Http(client));
        }
        let state = SocketState {
            client: Some(client),
            index: 0,
            changed_at: Instant::now(),
            pause: PAUSE,
            failure: None,
        };
        Ok(Self::Socket(Arc::new(Socket {
            url: url.clone(),
            limit,
            state: watch::channel(state).0,
        })))
    }

    /// Waits for an open connection and returns it.
    pub(super) async fn opened(&self) -> Opened {
        let socket = match self {
            Self::Http(client) => return Opened { client: client.clone(), index: 0 },
            Self::Socket(socket) => socket,
        };
        let mut state = socket.state.subscribe();
        loop {
            let found = {
                let now = state.borrow_and_update();
                now.client.clone().map(|client| Opened { client, index: now.index })
            };
            if let Some(opened) = found {
                return opened;
            }
            // Never fails: the socket keeps the sender of the channel.
            let _ = state.changed().await;
        }
    }

    /// Notes that a call ended with `error`. If the WebSocket broke, it is opened again.
    pub(super) fn failed(&self, opened: &Opened, error: &TransportError) {
        let Self::Socket(socket) = self else { return };
        if matches!(error, RpcError::Transport(TransportErrorKind::BackendGone)) {
            socket.broke(opened.index);
        }
    }

    /// Reason that calls have no answer while the WebSocket is not open; `None` if it is open, and
    /// over HTTP.
    pub(super) fn failure(&self) -> Option<CallError> {
        let Self::Socket(socket) = self else { return None };
        let state = socket.state.borrow();
        if state.client.is_some() {
            return None;
        }
        let last =
            state.failure.as_ref().map_or("it broke off", |failure| failure.message.as_str());
        let closed_s = state.changed_at.elapsed().as_secs_f64();
        let message = format!("no connection to the node for {closed_s:.1} s: {last}");
        Some(CallError { kind: ErrorKind::Connection, message })
    }
}

impl Socket {
    /// Notes that connection `index` broke. Only the first report opens the WebSocket again.
    fn broke(self: &Arc<Self>, index: u64) {
        let is_first = self.state.send_if_modified(|state| {
            let is_first = state.index == index && state.client.take().is_some();
            if is_first {
                // A connection that breaks at once must not be opened again without a wait.
                let has_held = state.changed_at.elapsed() > PAUSE_MAX;
                state.pause = if has_held { PAUSE } else { doubled(state.pause) };
                (state.changed_at, state.failure) = (Instant::now(), None);
            }
            is_first
        });
        if is_first {
            tokio::spawn(Arc::clone(self).open_again());
        }
    }

    async fn open_again(self: Arc<Self>) {
        loop {
            let pause = self.state.borrow().pause;
            sleep(pause).await;
            let tried = connect_client(&self.url, self.limit).await;
            let is_open = tried.is_ok();
            self.state.send_modify(|state| match tried {
                Ok(client) => {
                    state.client = Some(client);
                    state.index += 1;
                    state.changed_at = Instant::now();
                }
                Err(failure) => {
                    state.failure = Some(failure);
                    state.pause = doubled(state.pause);
                }
            });
            if is_open {
                return;
            }
        }
    }
}

fn doubled(pause: Duration) -> Duration {
    pause.saturating_mul(2).min(PAUSE_MAX)
}

/// A WebSocket that alloy opens only once. When it breaks, alloy's service and the calls end.
struct SingleConnection(WsConnect);

impl PubSubConnect for SingleConnection {
    fn is_local(&self) -> bool {
        self.0.is_local()
    }

    fn connect(&self) -> impl Future<Output = TransportResult<ConnectionHandle>> + Send {
        self.0.connect()
    }

    fn try_reconnect(&self) -> impl Future<Output = TransportResult<ConnectionHandle>> + Send {
        std::future::ready(Err(TransportErrorKind::non_retryable_str("it broke off")))
    }
}

async fn connect_client(url: &NodeUrl, limit: Duration) -> Result<RpcClient, CallError> {
    if url.transport() == Some(Transport::WebSocket) {
        let opened =
            ClientBuilder::default().pubsub(SingleConnection(WsConnect::new(url.as_str())));
        let opened = timeout(limit, opened).await.map_err(|_| CallError::timeout(limit))?;
        return opened.map_err(|error| CallError::of(&error, url));
    }
    let limits = HttpLimits { time: limit, bytes: post::ANSWER_BYTES_MAX };
    let client = HttpClient::new(limits, Compression::None);
    let client = client.map_err(|error| CallError::of(&TransportErrorKind::custom(error), url))?;
    Ok(RpcClient::new(Post { client, url: url.clone() }, guess_local_url(url.as_str())))
}
