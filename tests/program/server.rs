//! An HTTP server for tests: one request a connection.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    sync::Mutex,
    thread,
    time::Duration,
};

/// A request as the server sees it.
pub(crate) struct Request {
    /// The header of this name, or nothing.
    pub(crate) authorization: String,
    pub(crate) body: String,
}

/// Serves for ever. `answer` gives the whole text of an answer, one request after the other; `None`: the
/// peer waits for a minute, in vain.
pub(crate) fn serve(listener: &TcpListener, answer: impl Fn(&Request) -> Option<String> + Send) {
    let answer = Mutex::new(answer);
    thread::scope(|scope| {
        for stream in listener.incoming() {
            let (mut stream, answer) = (stream.unwrap(), &answer);
            // A client may open a connection more than it needs, on which it says nothing: no other waits for it.
            scope.spawn(move || {
                let Some(request) = request(&stream) else { return };
                let text = answer.lock().unwrap()(&request);
                match text {
                    // A peer that has its answer may hang up.
                    Some(text) => drop(stream.write_all(text.as_bytes())),
                    None => thread::sleep(Duration::from_secs(60)),
                }
            });
        }
    });
}

/// An HTTP answer.
pub(crate) fn http(status: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

/// The next request; `None` of a connection that ends before it.
pub(crate) fn request(stream: impl Read) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let (mut length, mut authorization) = (0, String::new());
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let (name, value) = line.split_once(':').unwrap_or(("", ""));
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap(),
            "authorization" => authorization = value.trim().to_owned(),
            _ => {}
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { authorization, body: String::from_utf8(body).unwrap() })
}
