//! The program as a user meets it: every test starts it, and reads its output, files and exit code.
//! One binary; `machine.rs` keeps tests that measure apart from the others.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod ci;
mod cli;
mod client;
mod cold;
mod databases;
mod describe;
mod export;
#[path = "../common/exposed.rs"]
mod exposed;
mod formats;
mod found;
mod gate;
mod go;
mod go_worker;
mod hooks;
mod import;
mod import_rpc;
mod interrupted;
mod io;
mod limit;
mod lists;
mod machine;
mod metrics;
mod named;
mod options;
mod output;
#[path = "../common/page.rs"]
mod page;
mod redis;
#[path = "../common/rendered.rs"]
mod rendered;
mod report;
mod schemas;
mod send;
mod server;
mod sharded;
mod short;
mod simulate;
mod states;
mod sweep;
mod terminal;
mod tls;
mod tool;
mod whole;
mod words;
