//! Transports of the fake node: HTTP with any number of calls on a connection, and WebSocket.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
};

use tungstenite::Message;

/// An answer.
#[derive(Debug)]
pub(super) struct Reply {
    /// The HTTP status.
    pub(super) status: u16,
    pub(super) body: String,
}

/// Answers the calls of an HTTP connection, until `answer` returns `None`.
pub(super) fn serve_http(stream: &TcpStream, answer: impl Fn(&[u8]) -> Option<Reply>) {
    let mut reader = BufReader::new(stream);
    while let Some(body) = request(&mut reader) {
        let Some(Reply { status, body }) = answer(&body) else { return };
        let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n", body.len());
        let mut writer = stream;
        if writer.write_all((head + &body).as_bytes()).is_err() {
            return;
        }
    }
}

/// Answers the calls of a WebSocket, until `answer` returns `None`.
pub(super) fn serve_socket(stream: TcpStream, answer: impl Fn(&[u8]) -> Option<Reply>) {
    let Ok(mut socket) = tungstenite::accept(stream) else { return };
    while let Ok(message) = socket.read() {
        let Message::Text(call) = message else { continue };
        let Some(reply) = answer(call.as_bytes()) else { return };
        if socket.send(Message::text(reply.body)).is_err() {
            return;
        }
    }
}

/// Reads the body of the next request; `None` at the end of the connection.
fn request(reader: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let (name, value) = line.split_once(':').unwrap_or(("", ""));
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok()?;
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(body)
}
