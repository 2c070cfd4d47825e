//! Blocks of a running node by JSON-RPC: headers, transactions, receipts, hashes of earlier blocks,
//! and the touched state below the first block. The state comes from the node's tracer
//! (`prestateTracer`), the rest of it from single reads of the parent's state. The caller owns the
//! connection and implements [`Rpc`].

mod ask;
mod below;
mod blocks;
mod fork;
mod replay;
mod trace;
mod witness;

use std::{num::NonZeroU64, str::FromStr};

use alloy_primitives::B256;
use serde_json::Value;
use workload::Fork;

pub use blocks::blocks;
pub use witness::witness;

/// Most blocks in an import.
pub const MAX_BLOCKS: u64 = 1024;

/// A call of a node's interface.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The method.
    pub method: &'static str,
    /// Its parameters, an array.
    pub params: Value,
}

/// A node's answer that is an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The code; -32601 where there is no such method.
    pub code: i64,
    /// The node's answer.
    pub message: String,
}

/// Reason for no answer at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Silence {
    /// The connection, or an answer over it.
    Failed {
        /// The failure.
        what: String,
        /// The remedy.
        remedy: String,
    },
    /// The user does not want to wait for it.
    Stopped,
}

/// A node that answers calls.
pub trait Rpc {
    /// Its name for errors, without the secret parts of its URL.
    fn name(&self) -> &str;

    /// Sends `calls` together; gives an answer each, in order.
    ///
    /// # Errors
    /// [`Silence`] where not all of them are answered.
    fn call(&mut self, calls: &[Call]) -> Result<Vec<Result<Value, Refusal>>, Silence>;
}

/// The wanted blocks, and the way to their state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The last block.
    pub last: BlockName,
    /// Number of consecutive blocks that end with it.
    pub count: NonZeroU64,
    /// The blocks' fork; `None` to ask the node.
    pub fork: Option<Fork>,
}

/// Name of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockName {
    /// The node's newest.
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
        let signed = text.starts_with('+') || text.starts_with("0x+");
        number.filter(|_| !signed).map(Self::Number).ok_or_else(|| {
            "a block is a number (24476005, 0x1757a65), a hash of 32 bytes, or latest".into()
        })
    }
}

/// A number as the interface has it.
fn quantity(number: u64) -> String {
    format!("{number:#x}")
}
