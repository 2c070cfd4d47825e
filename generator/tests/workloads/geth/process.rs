//! go-ethereum as a process: started on a directory of its own and ended with the test.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::{SystemTime, UNIX_EPOCH},
};

use alloy_primitives::hex;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use generator::export::{self, AccountsPlace, Chain};
use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use tempfile::TempDir;

/// The secret of both sides of the Engine API.
const SECRET: [u8; 32] = [7; 32];

/// The path of go-ethereum's `name`; `None`, said aloud, where there is none.
pub(super) fn program(name: &str, variable: &str, version: &str) -> Option<PathBuf> {
    if let Some(path) = std::env::var_os(variable) {
        return Some(path.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|dir| dir.join(name)).find(|at| at.is_file());
    if found.is_none() {
        eprintln!(
            "SKIPPED: there is no {name} on PATH, and {variable} names none; \
             go install github.com/ethereum/go-ethereum/cmd/{name}@{version} brings it"
        );
    }
    found
}

/// A database of geth that holds a chain's genesis.
pub(crate) struct Database {
    program: PathBuf,
    dir: TempDir,
}

impl Database {
    /// Makes it; `None` where there is no geth.
    pub(crate) fn new(chain: &Chain) -> Option<Self> {
        let database = Self {
            program: program("geth", "STRESS_GETH", "v1.17.8")?,
            dir: tempfile::tempdir().unwrap(),
        };
        let genesis = database.path("genesis.json");
        let mut file = fs::File::create(&genesis).unwrap();
        export::genesis(chain, AccountsPlace::Written, &mut file).unwrap();
        database.run(&["init", genesis.to_str().unwrap()]);
        fs::write(database.path("jwt.hex"), hex::encode(SECRET)).unwrap();
        Some(database)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--datadir").arg(self.path("data"));
        command
    }

    /// Runs a subcommand, which must succeed, and gives its output.
    pub(crate) fn run(&self, args: &[&str]) -> String {
        let output = self.command().args(args).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{args:?}: {said}");
        said
    }

    /// Imports a chain as RLP.
    pub(crate) fn import(&self, rlp: &[u8]) -> String {
        let file = self.path("chain.rlp");
        fs::write(&file, rlp).unwrap();
        self.run(&["--syncmode", "full", "import", file.to_str().unwrap()])
    }

    /// Starts the client.
    pub(crate) fn start(&self) -> Geth {
        let args = ["--authrpc.port", "0", "--port", "0", "--nodiscover", "--maxpeers", "0"];
        let more = ["--ipcdisable", "--syncmode", "full", "--cache", "256"];
        let mut process = self
            .command()
            .args(args)
            .args(more)
            .arg("--authrpc.jwtsecret")
            .arg(self.path("jwt.hex"))
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let mut said = String::new();
        let address = lines.by_ref().map_while(Result::ok).find_map(|line| {
            said.push_str(&line);
            said.push('\n');
            let rest = line.split_once("HTTP server started")?.1;
            let endpoint = rest.split_once("endpoint=")?.1.split_whitespace().next()?;
            rest.contains("auth=true").then(|| endpoint.to_owned())
        });
        let address = address.unwrap_or_else(|| panic!("geth does not start:\n{said}"));
        // The node stops when its output is not read.
        thread::spawn(move || lines.for_each(drop));
        Geth { process, address }
    }
}

/// A running geth.
pub(crate) struct Geth {
    process: Child,
    address: String,
}

impl Geth {
    /// The whole answer to a request.
    pub(crate) fn send(&self, request: &str) -> Value {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        // An answer to HTTP/1.0 comes in one piece and ends with the connection.
        let head = format!(
            "POST / HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Authorization: Bearer {}\r\nContent-Length: {}\r\n\r\n",
            token(),
            request.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {head}\n{body}"))
    }

    /// A block by its number or name.
    pub(crate) fn block(&self, name: &str) -> Value {
        let params = json!([name, false]);
        let call = json!({
            "jsonrpc": "2.0", "id": 1, "method": "eth_getBlockByNumber", "params": params,
        });
        self.send(&call.to_string())["result"].clone()
    }
}

impl Drop for Geth {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A token of now (HS256).
fn token() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let part = |json: Value| URL_SAFE_NO_PAD.encode(json.to_string());
    let signed =
        format!("{}.{}", part(json!({"alg": "HS256", "typ": "JWT"})), part(json!({"iat": now})));
    let mut mac = Hmac::<Sha256>::new_from_slice(&SECRET).unwrap();
    mac.update(signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()))
}
