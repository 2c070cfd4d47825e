//! The HTTP client of the whole program, with one policy. An answer is bounded in time and size. A
//! redirect stays on its host and keeps its encryption. The root certificates are those of the
//! system and of Mozilla. Knows no JSON-RPC.

use std::{
    error::Error,
    sync::{Arc, OnceLock},
    time::Duration,
};

use reqwest::{
    Client, Method, Url,
    header::{AUTHORIZATION, CONTENT_TYPE},
    redirect::{Action, Attempt, Policy},
};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
// Only to choose its features: `alloy_transport_ws` opens the WebSockets with it.
use tokio_tungstenite as _;

/// Time limit of connecting, unless the limit of the answer is shorter.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Longest time that a connection is kept without a call.
const IDLE_MAX: Duration = Duration::from_secs(15);
/// Maximum number of redirects that a call follows.
const REDIRECT_COUNT_MAX: usize = 10;

/// Bounds of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpLimits {
    /// Maximum time from the call to the answer's last byte.
    pub time: Duration,
    /// Maximum length of the body in bytes, after decompression.
    pub bytes: usize,
}

/// Compression that a server may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// gzip.
    Gzip,
    /// No compression, since compressing costs a measured node CPU time.
    None,
}

/// An HTTP client. Clones share its connections.
#[derive(Clone, Debug)]
pub struct HttpClient {
    client: Client,
    limits: HttpLimits,
}

/// An HTTP client for callers without an async runtime.
#[derive(Debug)]
pub struct BlockingClient {
    runtime: tokio::runtime::Runtime,
    client: HttpClient,
}

/// An answer with any status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpAnswer {
    /// HTTP status.
    pub status: u16,
    /// Body, decompressed.
    pub body: Vec<u8>,
}

/// Reason that a call has no answer. No message shows a URL's path or password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// The connection failed.
    #[error("{0}")]
    NoConnection(String),
    /// The whole answer did not arrive in time.
    #[error("no answer within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// The connection ended before the end of the answer.
    #[error("{0}")]
    CutOff(String),
    /// The answer is longer than the bound in bytes.
    #[error("the answer has more than {0} bytes")]
    TooLong(usize),
    /// The call cannot be made, or a redirect is not followed.
    #[error("{0}")]
    Refused(String),
}

impl HttpClient {
    /// Makes a client whose answers have these bounds. This call sends nothing.
    ///
    /// # Errors
    /// The system has no resources for the client.
    pub fn new(limits: HttpLimits, compression: Compression) -> Result<Self, HttpError> {
        let client = Client::builder()
            .tls_backend_preconfigured(tls().clone())
            .connect_timeout(CONNECT_LIMIT.min(limits.time))
            .timeout(limits.time)
            .pool_idle_timeout(IDLE_MAX)
            .gzip(compression == Compression::Gzip)
            // Only the caller knows whether a call may be made again.
            .retry(reqwest::retry::never())
            .redirect(Policy::custom(redirected))
            .build();
        let client = client.map_err(|error| HttpError::Refused(last_cause(&error)))?;
        Ok(Self { client, limits })
    }

    /// Returns this client with another bound on the length of an answer, in bytes.
    #[must_use]
    pub fn with_max_bytes(self, bytes: usize) -> Self {
        Self { limits: HttpLimits { bytes, ..self.limits }, ..self }
    }

    /// Sends a GET request to `url`.
    ///
    /// # Errors
    /// No whole answer arrived within the bounds.
    pub async fn get(&self, url: &str) -> Result<HttpAnswer, HttpError> {
        self.answer(self.client.request(Method::GET, parsed(url)?)).await
    }

    /// Posts JSON, with a bearer token if `token` is given.
    ///
    /// # Errors
    /// No whole answer arrived within the bounds.
    pub async fn post(
        &self,
        url: &str,
        json: String,
        token: Option<&str>,
    ) -> Result<HttpAnswer, HttpError> {
        let request = self.client.request(Method::POST, parsed(url)?);
        let request = request.header(CONTENT_TYPE, "application/json").body(json);
        self.answer(match token {
            Some(token) => request.header(AUTHORIZATION, format!("Bearer {token}")),
            None => request,
        })
        .await
    }

    async fn answer(&self, request: reqwest::RequestBuilder) -> Result<HttpAnswer, HttpError> {
        let mut response = request.send().await.map_err(|error| self.failure(&error))?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.failure(&error))? {
            if body.len() + chunk.len() > self.limits.bytes {
                return Err(HttpError::TooLong(self.limits.bytes));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(HttpAnswer { status: response.status().as_u16(), body })
    }

    fn failure(&self, error: &reqwest::Error) -> HttpError {
        if error.is_connect() {
            HttpError::NoConnection(last_cause(error))
        } else if error.is_timeout() {
            HttpError::TimedOut(self.limits.time)
        } else if error.is_redirect() || error.is_builder() {
            HttpError::Refused(last_cause(error))
        } else {
            HttpError::CutOff(last_cause(error))
        }
    }
}

impl BlockingClient {
    /// Makes a client whose answers have these bounds and may be compressed. This call sends
    /// nothing.
    ///
    /// # Errors
    /// The system has no resources for the client.
    pub fn new(limits: HttpLimits) -> Result<Self, HttpError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Ok(Self {
            runtime: runtime.map_err(|error| HttpError::Refused(error.to_string()))?,
            client: HttpClient::new(limits, Compression::Gzip)?,
        })
    }

    /// Sets the bound on the length of later answers, in bytes.
    pub const fn set_max_bytes(&mut self, bytes: usize) {
        self.client.limits.bytes = bytes;
    }

    /// Sends a GET request to `url`.
    ///
    /// # Errors
    /// No whole answer arrived within the bounds.
    pub fn get(&self, url: &str) -> Result<HttpAnswer, HttpError> {
        self.runtime.block_on(self.client.get(url))
    }

    /// Posts JSON, with a bearer token if `token` is given.
    ///
    /// # Errors
    /// No whole answer arrived within the bounds.
    pub fn post(
        &self,
        url: &str,
        json: String,
        token: Option<&str>,
    ) -> Result<HttpAnswer, HttpError> {
        self.runtime.block_on(self.client.post(url, json, token))
    }
}

fn parsed(url: &str) -> Result<Url, HttpError> {
    Url::parse(url).map_err(|error| HttpError::Refused(format!("not a URL: {error}")))
}

/// Follows a redirect on the same host. An answer of another host would not be the answer of the
/// named node. A redirect to a URL without encryption would show the URL's secrets to the network.
fn redirected(attempt: Attempt<'_>) -> Action {
    let from = attempt.previous().last();
    let is_same_host = from.is_some_and(|from| from.host_str() == attempt.url().host_str());
    let is_encrypted = attempt.url().scheme() == "https";
    let was_encrypted = from.is_some_and(|from| from.scheme() == "https");
    let breach = if !is_same_host {
        "to another host"
    } else if was_encrypted && !is_encrypted {
        "to a URL without encryption"
    } else if attempt.previous().len() > REDIRECT_COUNT_MAX {
        "in a circle"
    } else {
        return attempt.follow();
    };
    let text = format!("the server redirects {breach}, which is not followed: give the final URL");
    attempt.error(text)
}

/// Settings of encryption, with the root certificates of the system and of Mozilla. `SSL_CERT_FILE`
/// may replace the system's. A small container without certificates needs Mozilla's.
fn tls() -> &'static ClientConfig {
    static CONFIG: OnceLock<ClientConfig> = OnceLock::new();
    CONFIG.get_or_init(|| {
        let mut roots = RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let provider = Arc::new(ring::default_provider());
        ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring has the versions of TLS that rustls has")
            .with_root_certificates(roots)
            .with_no_client_auth()
    })
}

/// Returns the text of the error's innermost cause. The outer causes repeat the URL.
pub(crate) fn last_cause(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
