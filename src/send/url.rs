//! Shows URLs without secrets: only scheme, host and port. The path of a URL often has a key, and
//! the part before the host a password.

use http::Uri;
use send::NodeUrl;

/// Options whose values are URLs.
const OPTIONS: [&str; 2] = ["--url", "--profile"];
/// Text in place of a text that is not a URL.
const UNREADABLE: &str = "(no URL)";

/// Returns scheme, host and port of a URL.
pub fn name(url: &str) -> String {
    let parsed = url.parse::<Uri>().ok();
    let parts =
        parsed.as_ref().and_then(|url| Some((url.scheme_str()?, url.host()?, url.port_u16())));
    match parts {
        Some((scheme, host, Some(port))) => format!("{scheme}://{host}:{port}"),
        Some((scheme, host, None)) => format!("{scheme}://{host}"),
        None => UNREADABLE.to_owned(),
    }
}

pub fn has_host(url: &NodeUrl) -> bool {
    name(url.as_str()) != UNREADABLE
}

/// Returns a command line whose URLs show only scheme, host and port.
pub fn without_secrets(command: &[String]) -> Vec<String> {
    let mut follows_option = false;
    let shown = command.iter().map(|word| {
        if std::mem::replace(&mut follows_option, OPTIONS.contains(&word.as_str())) {
            return name(word);
        }
        match word.split_once('=') {
            Some((option, url)) if OPTIONS.contains(&option) => format!("{option}={}", name(url)),
            _ => word.clone(),
        }
    });
    shown.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_keeps_no_secret_of_a_url() {
        let words = [
            "stress",
            "send",
            "--url",
            "wss://u:KEY@node.example/KEY",
            "--profile=http://h:6060/KEY?a=KEY",
            "--url",
            "KEY",
        ];
        let shown = without_secrets(&words.map(str::to_owned));
        let expected = [
            "stress",
            "send",
            "--url",
            "wss://node.example",
            "--profile=http://h:6060",
            "--url",
            UNREADABLE,
        ];
        assert_eq!(shown, expected);
    }
}
