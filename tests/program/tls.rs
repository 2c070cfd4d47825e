//! Nodes behind TLS, over https and wss. Their certificate signs itself, so a client trusts it only
//! by `SSL_CERT_FILE`. The certificate and its key are for these tests alone.

use std::{
    io::Write,
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread,
};

use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use tungstenite::Message;

use crate::{
    machine,
    send::answer_on,
    server::{http, request},
    tool::text,
};

const CERTIFICATE: &str = include_str!("tls/certificate.pem");
const KEY: &str = include_str!("tls/key.pem");

type Encrypted = StreamOwned<ServerConnection, TcpStream>;

/// Serves each encrypted connection by `serve`, and gives the port.
fn server(serve: impl Fn(Encrypted) + Send + 'static) -> u16 {
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(KEY.as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key);
    let config = Arc::new(config.unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            serve(StreamOwned::new(connection, stream.unwrap()));
        }
    });
    port
}

/// A node on chain 1 over https.
fn https() -> String {
    let port = server(|mut stream| {
        let Some(request) = request(&mut stream) else { return };
        let answer = http("200 OK", &answer_on(1, &request.body));
        // A client that does not trust the server has hung up.
        let _ = stream.write_all(answer.as_bytes());
        stream.conn.send_close_notify();
        let _ = stream.flush();
    });
    format!("https://localhost:{port}")
}

/// The same over wss.
fn wss() -> String {
    let port = server(|stream| {
        let Ok(mut socket) = tungstenite::accept(stream) else { return };
        while let Ok(message) = socket.read() {
            let Message::Text(call) = message else { continue };
            if socket.send(Message::text(answer_on(1, &call))).is_err() {
                return;
            }
        }
    });
    format!("wss://localhost:{port}")
}

/// The exit code and the error of a command, which trusts the certificate or does not.
fn ended(args: &[&str], is_trusted: bool) -> (Option<i32>, String) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("certificate.pem");
    std::fs::write(&file, CERTIFICATE).unwrap();
    let mut command = machine::program();
    command.args(args).current_dir(dir.path()).env("STRESS_DATA_DIR", dir.path());
    if is_trusted {
        command.env("SSL_CERT_FILE", file);
    }
    let output = machine::output(&mut command);
    (output.status.code(), text(&output.stderr))
}

#[test]
fn a_load_reaches_a_node_over_https_and_wss_that_it_trusts() {
    for url in [https(), wss()] {
        let load = ["send", "transfers", "--transactions", "10", "--accounts", "2", "--url", &url];
        let (code, error) = ended(&load, true);
        assert_eq!(code, Some(2), "{url}: {error}");
        assert!(error.contains("public chain mainnet"), "{url}: {error}");
        let (code, error) = ended(&load, false);
        assert_eq!(code, Some(6), "{url}: {error}");
        assert!(error.contains("certificate") && !error.contains("mainnet"), "{url}: {error}");
    }
}

#[test]
fn an_import_reaches_a_node_over_https_that_it_trusts() {
    let url = https();
    let import = ["import", "rpc", "--url", &url, "--out", "a.workload"];
    let (code, error) = ended(&import, true);
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("genesis block is not run"), "{error}");
    let (code, error) = ended(&import, false);
    assert_eq!(code, Some(6), "{error}");
    assert!(error.contains("certificate") && !error.contains("genesis"), "{error}");
}
