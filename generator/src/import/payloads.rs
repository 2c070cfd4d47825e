//! Imports Engine payloads in JSON lines with a genesis: calls of `engine_newPayload`, between
//! other calls of the Engine API, or payloads alone. One line is read at a time.

use std::{
    io::{BufRead, BufReader, Read},
    mem,
    ops::RangeInclusive,
};

use alloy_primitives::B256;
use serde_json::Value;

use super::{
    ImportError, Imported, NamedText,
    chain::{NamedStream, read_genesis},
    chain_import::ChainImport,
    json::Json,
    payload::{self, PAYLOAD_VALUE, PayloadParams},
};
use crate::reference::StopAnswer;

/// Maximal length of a line in bytes. A block in hex takes two digits a byte.
const MAX_LINE_BYTES: u64 = 64 << 20;
/// Maximal number of bytes of all payloads with the same block number together.
const MAX_SIBLING_BYTES: u64 = 256 << 20;

/// Reads payloads in JSON lines on their `genesis.json`. Payloads with the block numbers `wanted`
/// become a workload, whose expected outcome is still empty: see [`super::complete`]. Payloads
/// before them are run by stock revm, and their outcomes are compared at once. `on_tx` is called
/// after each transaction of such a payload, and may stop the import.
///
/// If several payloads have the same number, the parent of the next payload is imported. Of the
/// last number, the last payload is imported.
///
/// # Errors
/// [`ImportError`] with file, line, value and the allowed values.
pub fn payloads<A: StopAnswer>(
    genesis: NamedText<'_>,
    calls: NamedStream<'_>,
    wanted: RangeInclusive<u64>,
    mut on_tx: impl FnMut() -> A,
) -> Result<Imported, ImportError> {
    let on_tx = &mut || on_tx().flow();
    let chain = ChainImport::new(read_genesis(genesis)?, wanted, on_tx);
    let name = calls.name;
    let mut reader = Reader { file: name, chain, siblings: Vec::new(), passed_over_count: 0 };
    let mut lines = Lines { source: BufReader::new(calls.source), number: 0 };
    while !reader.chain.is_done()
        && let Some(line) = lines.next(name)?
    {
        reader.read(line)?;
    }
    reader.finish()
}

/// A line of the file: a payload, or a call.
struct Line {
    /// Number of the line, from 1.
    number: u64,
    /// Length of the line.
    bytes: u64,
    json: Value,
}

impl Line {
    fn node<'a>(&'a self, file: &'a str) -> Json<'a> {
        Json::at(file, format!("line {}", self.number), &self.json)
    }

    /// Returns the payload and the parameters beside it; `None` if the line is a call of another
    /// method of the Engine API.
    fn payload<'a>(
        &'a self,
        file: &'a str,
    ) -> Result<Option<(Json<'a>, PayloadParams<'a>)>, ImportError> {
        let node = self.node(file);
        let Some(method) = node.find(&["method"])? else {
            let payload = node.find(&["executionPayload"])?.unwrap_or_else(|| node.clone());
            return Ok(Some((payload, PayloadParams::from_keys(&node)?)));
        };
        match method.text()? {
            name if name.starts_with("engine_newPayload") => {
                let params = node.get(&["params"], "the parameters of engine_newPayload")?;
                PayloadParams::from_params(&params).map(Some)
            }
            name if name.starts_with("engine_") => Ok(None),
            _ => Err(method.fault("a call of the Engine API, such as engine_newPayloadV4")),
        }
    }
}

/// A payload of the next block number. Several payloads may have this number. The payload with the
/// next number decides which of them is imported, by its parent hash.
struct Sibling {
    line: Line,
    hash: B256,
}

/// Chooses the payloads to import, and imports them.
struct Reader<'a> {
    /// Name of the file, for errors.
    file: &'a str,
    chain: ChainImport<'a>,
    /// Payloads of the next block number.
    siblings: Vec<Sibling>,
    /// Number of payloads that are not imported.
    passed_over_count: u64,
}

impl Reader<'_> {
    /// Reads the next line of the file. Imports a payload of the number before, if the line's
    /// payload decides which one.
    fn read(&mut self, line: Line) -> Result<(), ImportError> {
        let Some((payload, _)) = line.payload(self.file)? else { return Ok(()) };
        let field = payload.get(&["blockNumber"], PAYLOAD_VALUE)?;
        let parent = payload.get(&["parentHash"], PAYLOAD_VALUE)?;
        let (number, parent_hash) = (field.u64()?, parent.b256()?);
        let hash = payload.get(&["blockHash"], PAYLOAD_VALUE)?.b256()?;
        let next = self.chain.last().number + 1;
        if number < next {
            self.passed_over_count += 1;
        } else if number == next {
            self.add_sibling(Sibling { hash, line })?;
        } else if number == next + 1 && !self.siblings.is_empty() {
            if self.siblings.iter().all(|sibling| sibling.hash != parent_hash) {
                let allowed = format!("the hash of a payload of number {next} before it");
                return Err(parent.fault(allowed));
            }
            self.import_sibling(parent_hash)?;
            self.siblings.push(Sibling { hash, line });
        } else {
            let last = next - u64::from(self.siblings.is_empty());
            return Err(field
                .fault(format!("{:#x}, the number after that of the payload before", last + 1)));
        }
        Ok(())
    }

    /// Adds a payload of the next block number, unless it is there already.
    fn add_sibling(&mut self, sibling: Sibling) -> Result<(), ImportError> {
        if self.siblings.iter().any(|known| known.hash == sibling.hash) {
            self.passed_over_count += 1;
            return Ok(());
        }
        let sibling_bytes = self.siblings.iter().map(|sibling| sibling.line.bytes).sum::<u64>();
        if sibling_bytes + sibling.line.bytes > MAX_SIBLING_BYTES {
            let allowed = format!("at most {MAX_SIBLING_BYTES} bytes of payloads of one number");
            return Err(sibling.line.node(self.file).fault(allowed));
        }
        self.siblings.push(sibling);
        Ok(())
    }

    /// Imports the payload with this hash, and passes over its siblings.
    fn import_sibling(&mut self, hash: B256) -> Result<(), ImportError> {
        let siblings = mem::take(&mut self.siblings);
        self.passed_over_count += siblings.len().saturating_sub(1) as u64;
        let chosen = siblings.into_iter().find(|sibling| sibling.hash == hash);
        let Some(Sibling { line, .. }) = chosen else { return Ok(()) };
        let Some((payload, payload_params)) = line.payload(self.file)? else { return Ok(()) };
        let chain_id = self.chain.chain_id();
        let rules = self.chain.rules(payload::timestamp(&payload)?)?;
        let (block, said) = payload::block(&payload, &payload_params, chain_id, rules)?;
        self.chain.add(block, said)
    }

    fn finish(mut self) -> Result<Imported, ImportError> {
        if let Some(last) = self.siblings.last().map(|sibling| sibling.hash)
            && !self.chain.is_done()
        {
            self.import_sibling(last)?;
        }
        let mut imported = self.chain.finish(self.file)?;
        if self.passed_over_count > 0 {
            imported.notes.push(format!(
                "{} payloads were passed over: siblings of those that were imported, or repeated",
                self.passed_over_count
            ));
        }
        Ok(imported)
    }
}

/// Reads the lines of a file.
struct Lines<'a> {
    source: BufReader<&'a mut dyn Read>,
    /// Number of the last line that was read.
    number: u64,
}

impl Lines<'_> {
    /// Reads the next line that is not empty; `None` at the end of the file.
    fn next(&mut self, file: &str) -> Result<Option<Line>, ImportError> {
        loop {
            self.number += 1;
            let (number, mut text) = (self.number, Vec::new());
            let read = (&mut self.source).take(MAX_LINE_BYTES + 1).read_until(b'\n', &mut text);
            let bytes =
                read.map_err(|source| ImportError::Read { file: file.to_owned(), source })? as u64;
            if bytes == 0 {
                return Ok(None);
            }
            if bytes > MAX_LINE_BYTES {
                let start = Value::String(String::from_utf8_lossy(&text[..16]).into_owned() + "…");
                let node = Json::at(file, format!("line {number}"), &start);
                return Err(node.fault(format!("a line of at most {MAX_LINE_BYTES} bytes")));
            }
            if text.trim_ascii().is_empty() {
                continue;
            }
            let json = serde_json::from_slice(&text).map_err(|source| {
                let file = format!("{file}, line {number} of the file");
                ImportError::Json { file, source }
            })?;
            return Ok(Some(Line { number, bytes, json }));
        }
    }
}
