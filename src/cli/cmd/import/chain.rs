//! Imports a chain with its genesis: blocks in RLP, or Engine payloads. Files are read block by
//! block, but a JSON array of payloads is read whole.

use std::{
    io::{self, BufRead, BufReader, Cursor, Read},
    ops::{ControlFlow, RangeInclusive},
    path::Path,
    str::FromStr,
};

use anyhow::Context;
use generator::import::{self, ImportError, Imported, InputKind, NamedStream};
use serde_json::Value;

use super::file::{Files, failure, open, read};
use crate::terminal::{Code, Failure, Progress, WithExitCode};

/// Range of the numbers of the wanted blocks.
#[derive(Clone, Copy, Debug)]
pub struct BlockRange {
    first: u64,
    last: u64,
}

impl Default for BlockRange {
    /// Returns the range of all blocks but the genesis.
    fn default() -> Self {
        Self { first: 1, last: u64::MAX }
    }
}

impl FromStr for BlockRange {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORMS: &str = "blocks are A..B, A.., ..B or A, with numbers from 1 on and A ≤ B";
        let all = Self::default();
        let (first, last) = text.split_once("..").unwrap_or((text, text));
        if text.is_empty() || text == ".." {
            return Err(FORMS);
        }
        let number = |digits: &str, otherwise| match digits {
            "" => Ok(otherwise),
            signed if signed.starts_with('+') => Err(FORMS),
            digits => digits.parse().map_err(|_| FORMS),
        };
        let (first, last) = (number(first, all.first)?, number(last, all.last)?);
        if first == 0 || first > last { Err(FORMS) } else { Ok(Self { first, last }) }
    }
}

impl From<BlockRange> for RangeInclusive<u64> {
    fn from(BlockRange { first, last }: BlockRange) -> Self {
        first..=last
    }
}

/// Imports the wanted blocks of a chain in RLP.
pub(super) fn import_rlp(
    files: &Files,
    wanted: BlockRange,
    progress: &Progress,
) -> Result<Imported, Failure> {
    let genesis = files.read_required(InputKind::Genesis)?;
    let mut all = files.paths.iter().zip(&files.kinds);
    let (path, (name, _)) =
        all.find(|(_, (_, kind))| *kind == InputKind::Chain).expect("the set has a chain");
    let chain = NamedStream { name, source: &mut BufReader::new(open(path)?) };
    with_progress(progress, |on_block| {
        import::chain(genesis.text(), chain, wanted.into(), on_block)
    })
}

/// Imports the wanted blocks of Engine payloads, from all files of payloads in their order.
pub(super) fn import_payloads(
    files: &Files,
    wanted: BlockRange,
    progress: &Progress,
) -> Result<Imported, Failure> {
    let genesis = files.read_required(InputKind::Genesis)?;
    let mut source: Box<dyn Read> = Box::new(io::empty());
    let mut names = Vec::new();
    for (path, (name, kind)) in files.paths.iter().zip(&files.kinds) {
        if *kind == InputKind::Payloads {
            source = Box::new(source.chain(lines(path)?));
            names.push(name.as_str());
        }
    }
    let calls = NamedStream { name: &names.join(" and "), source: &mut source };
    with_progress(progress, |on_block| {
        import::payloads(genesis.text(), calls, wanted.into(), on_block)
    })
}

/// Calls `import` with a function that counts the blocks before the wanted ones, as they run.
fn with_progress(
    progress: &Progress,
    import: impl FnOnce(&mut dyn FnMut() -> ControlFlow<()>) -> Result<Imported, ImportError>,
) -> Result<Imported, Failure> {
    let stage = progress.stage("running the blocks before", 0);
    let imported = import(&mut stage.counting(0));
    stage.finish();
    imported.map_err(failure)
}

/// Opens a file for reading by lines. If it is a JSON array, each element becomes a line.
fn lines(path: &Path) -> Result<Box<dyn Read>, Failure> {
    let name = path.display();
    let mut file = BufReader::new(open(path)?);
    let start = file.fill_buf().with_context(|| format!("cannot read {name}"));
    if start.with_exit_code(Code::Io)?.trim_ascii_start().first() != Some(&b'[') {
        return Ok(Box::new(file));
    }
    let elements: Vec<Value> = serde_json::from_str(&read(path)?.content)
        .with_context(|| format!("{name}: this is no JSON array (truncated?)"))
        .with_exit_code(Code::Usage)?;
    let lines: String = elements.iter().map(|element| format!("{element}\n")).collect();
    Ok(Box::new(Cursor::new(lines)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_a_first_and_a_last_block_of_which_one_may_be_left_out() {
        for (text, range) in
            [("3..5", 3..=5), ("3..", 3..=u64::MAX), ("..5", 1..=5), ("7", 7..=7), ("1..1", 1..=1)]
        {
            let parsed = text.parse::<BlockRange>().map(RangeInclusive::from);
            assert_eq!(parsed, Ok(range), "{text}");
        }
        for text in ["", "..", "0..5", "5..3", "a..b", "1...3", "-1..2", "1..2..3", "+1", " 1"] {
            let parsed = text.parse::<BlockRange>();
            assert!(parsed.is_err(), "{text}: {parsed:?}");
        }
    }
}
