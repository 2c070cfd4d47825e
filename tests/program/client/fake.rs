//! A fake client: an Engine API whose answers are a test's own, in the test's process or in one of
//! its own. A fake is right for faults; facts about real clients are tried on go-ethereum.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::server::{self, Request, http};

/// The fake's answer to a request.
pub(crate) enum Reply {
    /// Answers with this result.
    Result(Value),
    /// Answers with this error of JSON-RPC.
    Error(i64, &'static str),
    /// Answers with this status and text.
    Http(&'static str, &'static str),
    /// Ends the connection in the middle of the answer.
    CutOff,
    /// Does not answer.
    Silence,
}

/// A call as the fake sees it.
pub(crate) struct Call {
    pub(crate) method: String,
    /// Hash of the block that it is about.
    pub(crate) hash: String,
    pub(crate) authorization: String,
}

/// Calls so far.
pub(crate) type Calls = Arc<Mutex<Vec<Call>>>;

/// A status of the Engine API.
pub(crate) fn status(of: &str) -> Value {
    json!({"status": of, "latestValidHash": null, "validationError": "a reason of its own"})
}

/// VALID, of the block that the call is about.
pub(crate) fn valid_status(call: &Call) -> Value {
    json!({"status": "VALID", "latestValidHash": call.hash, "validationError": null})
}

/// The reply of a client that is as it should be.
pub(crate) fn valid(call: &Call, genesis_hash: &str) -> Reply {
    Reply::Result(match call.method.as_str() {
        "eth_getBlockByNumber" => json!({"hash": genesis_hash}),
        "eth_getBlockByHash" => Value::Null,
        "engine_getClientVersionV1" => {
            json!([{"code": "FK", "name": "Fake", "version": "v1", "commit": "c0ffee00"}])
        }
        method if method.starts_with("engine_newPayload") => valid_status(call),
        _ => json!({"payloadStatus": valid_status(call), "payloadId": null}),
    })
}

/// Serves on a free port. Gives the URL and the calls that came.
pub(crate) fn serve(reply: impl Fn(&Call) -> Reply + Send + 'static) -> (String, Calls) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let calls = Calls::default();
    let seen = Arc::clone(&calls);
    thread::spawn(move || serve_at(&listener, &seen, reply));
    (url, calls)
}

/// Serves for ever.
pub(crate) fn serve_at(
    listener: &TcpListener,
    calls: &Calls,
    reply: impl Fn(&Call) -> Reply + Send,
) {
    server::serve(listener, move |request| {
        let (call, id) = call(request);
        let reply = reply(&call);
        calls.lock().unwrap().push(call);
        let answer = |of: Value| {
            let mut whole = json!({"jsonrpc": "2.0", "id": id});
            whole.as_object_mut().unwrap().extend(of.as_object().unwrap().clone());
            http("200 OK", &whole.to_string())
        };
        Some(match reply {
            Reply::Result(result) => answer(json!({"result": result})),
            Reply::Error(code, message) => {
                answer(json!({"error": {"code": code, "message": message}}))
            }
            Reply::Http(status, text) => http(status, text),
            Reply::CutOff => {
                "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"jsonrpc\"".to_owned()
            }
            Reply::Silence => return None,
        })
    });
}

/// A call and its number.
fn call(request: &Request) -> (Call, Value) {
    let body: Value = serde_json::from_str(&request.body).unwrap();
    let first = &body["params"][0];
    let hash = first["blockHash"].as_str().or(first["headBlockHash"].as_str()).or(first.as_str());
    let call = Call {
        method: body["method"].as_str().unwrap().to_owned(),
        hash: hash.unwrap_or_default().to_owned(),
        authorization: request.authorization.clone(),
    };
    (call, body["id"].clone())
}

/// The fake as a process, which tests start as a client. Its words say how it misbehaves.
#[test]
#[ignore = "it is the client of other tests, started with a port"]
fn process() {
    let words: Vec<String> = std::env::args().collect();
    let word = |name: &str| {
        let at = words.iter().position(|word| word == name)?;
        words.get(at + 1).cloned()
    };
    let has = |name: &str| words.iter().any(|word| word == name);
    let Some(datadir) = word("datadir").map(PathBuf::from) else { return };
    if let Some(genesis) = word("init") {
        let manifest = fs::read(Path::new(&genesis).with_file_name("export.json")).unwrap();
        let manifest: Value = serde_json::from_slice(&manifest).unwrap();
        fs::write(datadir.join("genesis"), manifest["genesis_hash"].as_str().unwrap()).unwrap();
        return;
    }
    if let Some(rows) = word("fill") {
        println!("rows: 50 %");
        if has("fails") {
            eprintln!("fake: slots.rows is cut off");
            std::process::exit(2);
        }
        let manifest = fs::read(Path::new(&rows).join("export.json")).unwrap();
        let manifest: Value = serde_json::from_slice(&manifest).unwrap();
        fs::create_dir(&datadir).unwrap();
        fs::write(datadir.join("genesis"), manifest["genesis_hash"].as_str().unwrap()).unwrap();
        fs::write(datadir.join("filled"), rows).unwrap();
        return;
    }
    let Some(port) = word("port") else { return };
    let given = words.iter().find_map(|word| word.strip_prefix("genesis="));
    let in_database = || fs::read_to_string(datadir.join("genesis")).unwrap_or_default();
    let genesis = given.map_or_else(in_database, str::to_owned);
    let listener = TcpListener::bind(format!("127.0.0.1:{port}")).unwrap();
    println!("fake is ready");
    if has("busy") {
        thread::spawn(|| while std::hint::black_box(true) {});
    }
    let known = datadir.join("known");
    serve_at(&listener, &Calls::default(), |call| {
        let sent = fs::read_to_string(&known).unwrap_or_default();
        if call.method == "eth_getBlockByHash" && sent.contains(&call.hash) {
            return Reply::Result(json!({"hash": call.hash}));
        }
        if call.method.starts_with("engine_newPayload") {
            if has("dies") {
                eprintln!("fake: out of memory");
                std::process::exit(7);
            }
            if let (Some(marker), true) = (word("hangs"), sent.lines().count() == 2) {
                fs::write(marker, std::process::id().to_string()).unwrap();
                thread::sleep(Duration::from_secs(600));
            }
            if has("slow") {
                thread::sleep(Duration::from_millis(30));
            }
            fs::write(&known, format!("{sent}{}\n", call.hash)).unwrap();
            let told = match has("late") {
                true => sent.lines().last().unwrap_or_default().to_owned(),
                false => call.hash.clone(),
            };
            let block = json!({"hash": told});
            let timing = json!({"total_ms": 1.5, "state_hash_ms": 0.5});
            println!("WARN {}", json!({"msg": "Slow block", "block": block, "timing": timing}));
        }
        valid(call, &genesis)
    });
}

/// The line of a start file by which the fake makes its database from rows, with more words for it.
pub(crate) fn fill(words: &str) -> String {
    let program = std::env::current_exe().unwrap();
    let test = r#""--exact", "client::fake::process", "--ignored", "--nocapture""#;
    format!(
        "fill = [{program:?}, {test}, \"fill\", \"{{rows}}\", \"datadir\", \"{{datadir}}\"{words}]\n"
    )
}

/// Writes a start file of the fake: `first` stands before all tables, `last` after them, and `words` are
/// more words for it.
pub(crate) fn written(dir: &Path, name: &str, first: &str, words: &str, last: &str) -> String {
    let program = std::env::current_exe().unwrap();
    let test = r#""--exact", "client::fake::process", "--ignored", "--nocapture""#;
    let text = format!(
        "name = {name:?}\nprogram = {program:?}\n{first}\
         init = [{test}, \"init\", \"{{genesis}}\", \"datadir\", \"{{datadir}}\"]\n\
         start = [{test}, \"port\", \"{{port}}\", \"datadir\", \"{{datadir}}\", \"{{jwt}}\"{words}]\n\
         ready = [\"fake is ready\"]\n\
         [own_time]\nline = \"Slow block\"\nhash = \"/block/hash\"\njson = \"/timing/total_ms\"\n\
         root = \"/timing/state_hash_ms\"\n{last}"
    );
    let path = dir.join(format!("{name}.toml"));
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}
