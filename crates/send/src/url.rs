//! The URL of a node. A path often contains a key, and an authority a password. So only scheme,
//! host and port are shown, and the other parts are removed from messages of errors.

use std::fmt;

variant::named! {
    /// Transport of calls to a node.
    pub enum Transport: "transport" {
        /// HTTP or HTTPS: a request for each call.
        Http = "http",
        /// A WebSocket: all calls on one connection.
        WebSocket = "websocket",
    }
}

/// Schemes of a node's URL, each with its transport.
const SCHEMES: [(&str, Transport); 4] = [
    ("http://", Transport::Http),
    ("https://", Transport::Http),
    ("ws://", Transport::WebSocket),
    ("wss://", Transport::WebSocket),
];

/// Minimum length in bytes of a single part of a path or query that is hidden. A shorter part may
/// be a plain word of a message.
const SECRET_BYTES_MIN: usize = 8;
/// Text in the place of a secret.
const HIDDEN: &str = "…";

impl Transport {
    /// Reads the transport of a URL; `None` if the URL has no scheme of a node.
    pub fn of(url: &str) -> Option<Self> {
        let url = url.to_ascii_lowercase();
        let known = SCHEMES.iter().find(|(scheme, _)| url.starts_with(scheme));
        known.map(|(_, transport)| *transport)
    }
}

/// The URL of a node, or of a service beside it such as its profiler.
#[derive(Clone, PartialEq, Eq)]
pub struct NodeUrl {
    text: String,
    /// Scheme, host and port.
    name: String,
    /// Parts of the URL that are not shown, the longest first.
    secrets: Vec<String>,
}

impl fmt::Debug for NodeUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NodeUrl").field(&self.name).finish()
    }
}

impl NodeUrl {
    /// Makes the URL from the user's text, which need not be valid.
    pub fn new(text: &str) -> Self {
        let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
        let authority_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(authority_end);
        let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        let mut secrets = vec![path.to_owned(), path.trim_start_matches('/').to_owned()];
        secrets.extend(path.split('#').next().map(str::to_owned));
        secrets.extend(path.split(['?', '#']).next().map(str::to_owned));
        secrets.push(user.to_owned());
        secrets.extend(user.split_once(':').map(|(_, password)| password.to_owned()));
        let parts = path.split(['/', '?', '#', '&', '=']).map(str::to_owned);
        secrets.extend(parts.filter(|part| part.len() >= SECRET_BYTES_MIN));
        // A single character occurs in any text.
        secrets.retain(|secret| secret.trim_matches('/').len() > 1 && secret != host);
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        let name =
            if scheme.is_empty() { "(no URL)".to_owned() } else { format!("{scheme}://{host}") };
        Self { text: text.to_owned(), name, secrets }
    }

    /// The whole URL with its secrets, to connect.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Transport of calls to the URL; `None` if its scheme is no scheme of a node.
    pub fn transport(&self) -> Option<Transport> {
        Transport::of(&self.text)
    }

    /// Returns `text` without the URL's secrets.
    pub fn hide(&self, text: &str) -> String {
        let shown = text.replace(&self.text, &self.name);
        self.secrets.iter().fold(shown, |shown, secret| shown.replace(secret, HIDDEN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_the_transport_of_its_scheme() {
        assert_eq!(Transport::of("HTTPS://node/KEY"), Some(Transport::Http));
        assert_eq!(Transport::of("wss://node"), Some(Transport::WebSocket));
        assert_eq!(Transport::of("ftp://node"), None);
        assert_eq!(Transport::of("127.0.0.1:8545"), None);
    }

    #[test]
    fn words_of_a_gateway_show_no_part_of_a_url_but_scheme_host_and_port() {
        let url =
            NodeUrl::new("https://me:PASS@node.example:8545/v3/0123456789KEY?auth=TOKENTOKEN#x");
        for words in [
            "Cannot POST /v3/0123456789KEY",
            "Cannot POST /v3/0123456789KEY?auth=TOKENTOKEN",
            "project 0123456789KEY is over its quota",
            "TOKENTOKEN is not valid, me:PASS",
            "error sending request for url (https://me:PASS@node.example:8545/v3/0123456789KEY?auth=TOKENTOKEN#x)",
        ] {
            let shown = url.hide(words);
            for secret in ["KEY", "TOKEN", "PASS"] {
                assert!(!shown.contains(secret), "{shown}");
            }
        }
        assert_eq!(url.hide("nonce too low: 7"), "nonce too low: 7");
        let debug = format!("{url:?}");
        assert!(debug.contains("https://node.example:8545") && !debug.contains("KEY"), "{debug}");
    }

    #[test]
    fn a_short_path_and_none_leave_words_alone() {
        for url in ["http://127.0.0.1:8545", "ws://127.0.0.1:8545/", "http://"] {
            let words = "execution reverted at 127.0.0.1:8545/a, 50% of b/c";
            assert_eq!(NodeUrl::new(url).hide(words), words, "{url}");
        }
    }
}
