//! Imports blocks of a running node by JSON-RPC, and blocks beside a witness. A node gives headers,
//! transactions, receipts, hashes of earlier blocks, and the values of the state before the first
//! block that the blocks touch. These come from its tracer (`prestateTracer`); values that the
//! tracer does not give are read one by one. The caller owns the connection and implements [`Rpc`].

mod blocks;
mod client;
mod fork;
mod replay;
mod state_before;
mod trace;
mod witness;

use std::{num::NonZeroU64, str::FromStr};

use alloy_primitives::B256;
use serde_json::Value;
use workload::Fork;

pub use blocks::blocks;
pub use witness::witness;

/// Maximal number of blocks of an import.
pub const MAX_BLOCKS: u64 = 1024;

/// A call of a node's JSON-RPC interface.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The method.
    pub method: &'static str,
    /// The parameters, an array.
    pub params: Value,
}

/// A node's answer that is an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The error code; -32601 if the node does not know the method.
    pub code: i64,
    /// The node's message.
    pub message: String,
}

/// Reason for a missing answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// The connection failed, or the node sent no answer that can be read.
    Failed {
        /// The failure.
        what: String,
        /// The remedy.
        remedy: String,
    },
    /// The user interrupted.
    Stopped,
}

/// A node that answers calls.
pub trait Rpc {
    /// Returns the node's name for errors, without the secret parts of its URL.
    fn name(&self) -> &str;

    /// Sends `calls` in one request, and returns an answer to each call, in order.
    ///
    /// # Errors
    /// [`NoAnswer`] if a call has no answer.
    fn call(&mut self, calls: &[Call]) -> Result<Vec<Result<Value, Refusal>>, NoAnswer>;
}

/// The wanted blocks of a node, and their fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The last block.
    pub last: BlockName,
    /// Number of consecutive blocks, of which `last` is the last.
    pub count: NonZeroU64,
    /// The fork of the blocks whose fork neither their headers nor the node tell; `None` if the
    /// user names no fork.
    pub fork: Option<Fork>,
}

/// The name by which a node is asked for a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockName {
    /// The node's newest block.
    Latest,
    /// The block's number.
    Number(u64),
    /// The block's hash.
    Hash(B256),
}

impl FromStr for BlockName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        if text == "latest" {
            return Ok(Self::Latest);
        }
        if text.len() == 66 && text.starts_with("0x") {
            return text.parse().map(Self::Hash).map_err(|_| "a hash has hex digits only".into());
        }
        // Rust parses a plus sign too.
        let has_sign = text.starts_with('+') || text.starts_with("0x+");
        number.filter(|_| !has_sign).map(Self::Number).ok_or_else(|| {
            "a block is a number (24476005, 0x1757a65), a hash of 32 bytes, or latest".into()
        })
    }
}

/// Formats a number as JSON-RPC writes it: `0x` and hex digits.
fn quantity(number: u64) -> String {
    format!("{number:#x}")
}
