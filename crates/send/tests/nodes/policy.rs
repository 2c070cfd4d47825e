//! The policy of HTTP: bounds of an answer, redirects and compression.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    thread,
    time::Duration,
};

use send::{BlockingClient, HttpError, HttpLimits};

/// Maximum number of bytes of an answer in these tests.
const BYTES_MAX: usize = 15;
/// `{"result":true}`, compressed.
const GZIPPED: [u8; 35] = [
    31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 171, 86, 42, 74, 45, 46, 205, 41, 81, 178, 42, 41, 42, 77,
    173, 5, 0, 93, 156, 102, 248, 15, 0, 0, 0,
];

fn client(time: Duration) -> BlockingClient {
    BlockingClient::new(HttpLimits { time, bytes: BYTES_MAX }).unwrap()
}

fn patient() -> BlockingClient {
    client(Duration::from_secs(60))
}

/// Starts a server that answers by the first line of a request; for `None` it stays silent. Returns
/// its port.
fn server(answer: impl Fn(&str) -> Option<Vec<u8>> + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let mut silent = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let Some(Ok(first)) = lines.next() else { continue };
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            match answer(&first) {
                // A client that has enough may hang up.
                Some(answer) => drop(stream.write_all(&answer)),
                None => silent.push(stream),
            }
        }
    });
    port
}

fn http(head: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    [head.as_bytes(), body].concat()
}

#[test]
fn an_answer_longer_than_the_bound_is_not_read_to_its_end() {
    let port = server(|first| {
        Some(match first.contains("/short") {
            true => http("200 OK", &[b'a'; BYTES_MAX]),
            // The answer claims no length and would never end.
            false => [&b"HTTP/1.1 200 OK\r\n\r\n"[..], &[b'a'; BYTES_MAX + 1]].concat(),
        })
    });
    let got = |path| patient().get(&format!("http://127.0.0.1:{port}/{path}"));
    assert_eq!(got("short").unwrap().body.len(), BYTES_MAX);
    assert_eq!(got("long"), Err(HttpError::TooLong(BYTES_MAX)));
}

#[test]
fn a_server_that_does_not_answer_is_left_in_time() {
    let port = server(|_| None);
    let limit = Duration::from_millis(50);
    let got = client(limit).get(&format!("http://127.0.0.1:{port}/"));
    assert_eq!(got, Err(HttpError::TimedOut(limit)));
}

#[test]
fn nobody_who_listens_and_a_broken_answer_are_told_apart() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let got = patient().get(&format!("http://{closed}/KEY"));
    let Err(HttpError::NoConnection(why)) = got else { panic!("{got:?}") };
    assert!(why.contains("refused") && !why.contains("KEY"), "{why}");
    let port = server(|_| Some(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab".to_vec()));
    let got = patient().get(&format!("http://127.0.0.1:{port}/KEY"));
    let Err(HttpError::CutOff(why)) = got else { panic!("{got:?}") };
    assert!(!why.contains("KEY"), "{why}");
    let got = patient().get("127.0.0.1:8545/KEY");
    let Err(HttpError::Refused(why)) = got else { panic!("{got:?}") };
    assert!(!why.contains("KEY"), "{why}");
}

#[test]
fn a_redirect_is_followed_on_its_host_alone() {
    let other = server(|_| Some(http("200 OK", b"other")));
    let port = server(move |first| {
        let to = |place: String| Some(http(&format!("308 Moved\r\nLocation: {place}"), b""));
        match first.split(' ').nth(1).unwrap() {
            "/moved" => to("/there".to_owned()),
            "/there" => Some(http("200 OK", first.as_bytes().get(..4).unwrap())),
            "/circle" => to("/circle".to_owned()),
            _ => to(format!("http://localhost:{other}/")),
        }
    });
    let posted = |path: &str| {
        let url = format!("http://127.0.0.1:{port}{path}");
        patient().post(&url, "{}".to_owned(), Some("TOKEN"))
    };
    assert_eq!(posted("/moved").unwrap().body, b"POST");
    for (path, word) in [("/away", "another host"), ("/circle", "in a circle")] {
        let Err(HttpError::Refused(why)) = posted(path) else { panic!("{path} is followed") };
        assert!(why.contains(word), "{why}");
    }
}

#[test]
fn a_compressed_answer_is_bounded_by_its_plain_bytes() {
    let port = server(|_| Some(http("200 OK\r\nContent-Encoding: gzip", &GZIPPED)));
    let url = format!("http://127.0.0.1:{port}/");
    assert_eq!(patient().get(&url).unwrap().body, br#"{"result":true}"#);
    let limits = HttpLimits { time: Duration::from_secs(60), bytes: BYTES_MAX - 1 };
    let got = BlockingClient::new(limits).unwrap().get(&url);
    assert_eq!(got, Err(HttpError::TooLong(BYTES_MAX - 1)));
}
