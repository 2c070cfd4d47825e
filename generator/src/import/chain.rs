//! Imports a chain in RLP with its genesis: block after block, as `geth export`, Hive and reth
//! write it. The file is read as a stream: one block is in memory at a time.

use std::{
    fmt,
    io::{self, Read},
    ops::RangeInclusive,
};

use alloy_consensus::Header;
use alloy_primitives::hex;
use alloy_rlp::EMPTY_LIST_CODE;
use serde_json::Value;

use super::{
    ImportError, Imported, NamedText,
    chain_import::ChainImport,
    genesis::{ChainGenesis, genesis},
    header,
    json::Json,
};
use crate::reference::StopAnswer;

/// Maximal length of a block in bytes, without the head of its RLP list.
const MAX_BLOCK_BYTES: u64 = 128 << 20;
/// First byte of the longest RLP list whose length is encoded in that byte itself.
const SHORT_LIST_CODE_MAX: u8 = 0xf7;
/// Number of first bytes of a block that an error shows.
const SHOWN_BYTES: usize = 16;

/// The content of a file, which is read as a stream, and the name that errors use.
pub struct NamedStream<'a> {
    /// Name of the file, such as its path.
    pub name: &'a str,
    /// Content of the file.
    pub source: &'a mut dyn Read,
}

impl fmt::Debug for NamedStream<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamedStream").field("name", &self.name).finish_non_exhaustive()
    }
}

impl NamedStream<'_> {
    /// Makes the error for a failed read of the stream.
    pub(super) fn fault(&self, source: io::Error) -> ImportError {
        ImportError::Read { file: self.name.to_owned(), source }
    }
}

/// Reads the blocks of a chain in RLP on its `genesis.json`. Blocks from Paris on with the numbers
/// `wanted` become a workload, whose expected outcome is still empty: see [`super::complete`].
/// Blocks before them are run by stock revm, and their outcomes are compared at once. `on_tx` is
/// called after each transaction of such a block, and may stop the import.
///
/// # Errors
/// [`ImportError`] with file, block, byte, value and the allowed values.
pub fn chain<A: StopAnswer>(
    genesis: NamedText<'_>,
    chain: NamedStream<'_>,
    wanted: RangeInclusive<u64>,
    mut on_tx: impl FnMut() -> A,
) -> Result<Imported, ImportError> {
    let on_tx = &mut || on_tx().flow();
    let mut import = ChainImport::new(read_genesis(genesis)?, wanted, on_tx);
    let name = chain.name;
    let mut blocks = Blocks { chain, offset: 0 };
    while !import.is_done()
        && let Some(item) = blocks.next(import.last().number)?
    {
        let shown = Value::String(item.shown);
        let node = Json::at(name, item.path, &shown);
        let block = header::decode_bytes(&node, &item.bytes, import.chain_id())?;
        if !is_genesis(&node, &block.header, import.last())? {
            import.add_rlp(&node, block)?;
        }
    }
    import.finish(name)
}

/// Reads a `genesis.json`.
pub(super) fn read_genesis(text: NamedText<'_>) -> Result<ChainGenesis, ImportError> {
    genesis(&Json::root(text.name, &text.json()?))
}

/// Whether `header`, which comes after the header `last`, is that of block 0. An exported chain may
/// begin with block 0, which must then equal the block of the genesis.
fn is_genesis(node: &Json<'_>, header: &Header, last: &Header) -> Result<bool, ImportError> {
    if last.number > 0 || header.number > 0 {
        return Ok(false);
    }
    match header == last {
        true => Ok(true),
        false => {
            let (made, said) = (last.hash_slow(), header.hash_slow());
            Err(node.fault(format!("block 0 of the genesis, {made}; this one is {said}")))
        }
    }
}

/// The RLP of a block, and its place for errors.
struct Item {
    /// Place of the block in the file, in words.
    path: String,
    bytes: Vec<u8>,
    /// First bytes of the RLP, in hex.
    shown: String,
}

/// The blocks of a file.
struct Blocks<'a> {
    chain: NamedStream<'a>,
    /// Number of bytes that were read so far.
    offset: u64,
}

impl Blocks<'_> {
    /// Reads the RLP of the next block; `None` at the end of the file. Errors name the block
    /// before, whose number is `last`.
    fn next(&mut self, last: u64) -> Result<Option<Item>, ImportError> {
        let offset = self.offset;
        let path = match last {
            0 => format!("the first block, at byte {offset},"),
            last => format!("the block after block {last}, at byte {offset},"),
        };
        let name = self.chain.name;
        let fault = |bytes: &[u8], allowed: String| {
            Json::at(name, path.clone(), &Value::String(shown(bytes))).fault(allowed)
        };
        let mut bytes = self.read(1)?;
        let Some(first) = bytes.first().copied() else { return Ok(None) };
        let length = match first {
            EMPTY_LIST_CODE..=SHORT_LIST_CODE_MAX => u64::from(first - EMPTY_LIST_CODE),
            _ => {
                // The head of a long list is its first byte, and the bytes of its length.
                bytes.extend(self.read(u64::from(first.saturating_sub(SHORT_LIST_CODE_MAX)))?);
                bytes[1..].iter().fold(0, |length, byte| length << 8 | u64::from(*byte))
            }
        };
        if first < EMPTY_LIST_CODE || length > MAX_BLOCK_BYTES {
            return Err(fault(
                &bytes,
                format!("the RLP of a block: a list of at most {MAX_BLOCK_BYTES} bytes"),
            ));
        }
        let head_bytes = bytes.len() as u64;
        bytes.extend(self.read(length)?);
        let got = bytes.len() as u64 - head_bytes;
        if got < length {
            let allowed =
                format!("the RLP of a block of {length} bytes; the file ends after {got}");
            return Err(fault(&bytes, allowed));
        }
        let shown = shown(&bytes);
        Ok(Some(Item { path, bytes, shown }))
    }

    /// Reads the next `count` bytes, or fewer at the end of the file. Memory grows with the bytes
    /// that are read, not with `count`.
    fn read(&mut self, count: u64) -> Result<Vec<u8>, ImportError> {
        let mut bytes = Vec::new();
        let read = (&mut *self.chain.source).take(count).read_to_end(&mut bytes);
        self.offset += read.map_err(|source| self.chain.fault(source))? as u64;
        Ok(bytes)
    }
}

/// Formats the first bytes of `bytes` in hex, for an error.
fn shown(bytes: &[u8]) -> String {
    let more = if bytes.len() > SHOWN_BYTES { "…" } else { "" };
    hex::encode_prefixed(&bytes[..bytes.len().min(SHOWN_BYTES)]) + more
}
