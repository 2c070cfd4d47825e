//! A directory that `stress export` wrote: its blocks, and the calls that give each of their siblings to a
//! client. Calls are read one block at a time: a payload has many megabytes.

pub mod write;

use std::{
    fs::File,
    io::{BufRead, BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use variant::CacheMode;
use workload::{Workload, file};

use crate::client::export::write::{GROWTH, WORKLOAD};

/// Schema of `export.json` that is read.
const SCHEMA: &str = "stress-export/1";
const CALLS: &str = "payloads.txt";
const GENESIS: &str = "genesis.json";
/// The chain's settings where the state is in rows alone.
const SETTINGS: &str = "genesis-without-alloc.json";
/// A file that every export with rows has.
const ROWS: &str = "slots.rows";

/// An export of a block, or of a chain of blocks.
#[derive(Clone, Debug)]
pub struct Export {
    dir: PathBuf,
    manifest: Manifest,
    /// Start and length of each line of the calls.
    lines: Vec<(u64, usize)>,
    /// The same of the blocks that grow the state; none where there are none.
    growth: Vec<(u64, usize)>,
}

/// The read part of `export.json`.
#[derive(Clone, Debug, Deserialize)]
struct Manifest {
    workload: String,
    genesis_hash: String,
    differing_tx_count: u64,
    /// The blocks that grow the state, below `blocks`.
    #[serde(default)]
    grown: Option<GrownBlocks>,
    blocks: Vec<Block>,
    files: Vec<String>,
}

/// The read part of blocks that grow the state.
#[derive(Clone, Debug, Deserialize)]
struct GrownBlocks {
    block_count: usize,
}

#[derive(Clone, Debug, Deserialize)]
struct Block {
    sibling_hashes: Vec<String>,
}

/// The state below the blocks, for those who make a database of it.
#[derive(Clone, Debug)]
pub struct StateFiles {
    /// The directory of the export; absolute.
    pub dir: PathBuf,
    /// Whether `genesis.json` has it; else the file has the chain's settings alone.
    pub has_genesis: bool,
    /// Whether it is there as rows.
    pub has_rows: bool,
}

impl StateFiles {
    /// The file with the chain's settings.
    pub fn genesis(&self) -> PathBuf {
        self.dir.join(if self.has_genesis { GENESIS } else { SETTINGS })
    }
}

/// A block of the chain and one of its siblings, both by their index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The block.
    pub block: usize,
    /// Its sibling.
    pub sibling: usize,
}

/// The calls of one block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calls {
    /// Hash of the block.
    pub hash: String,
    /// The new payload.
    pub new_payload: String,
    /// The update of the fork choice to it.
    pub forkchoice: String,
}

impl Export {
    /// Opens the export in `dir`.
    ///
    /// # Errors
    /// It is none, or lacks the calls or the workload.
    pub fn open(dir: &Path) -> Result<Self> {
        let name = dir.display();
        let text = std::fs::read_to_string(dir.join("export.json")).with_context(|| {
            format!("{name}: there is no export.json; name a directory that `stress export` wrote")
        })?;
        let json: serde_json::Value =
            serde_json::from_str(&text).with_context(|| format!("{name}/export.json"))?;
        let schema = json["schema"].as_str().unwrap_or("none");
        ensure!(schema == SCHEMA, "{name}: schema {schema}, {SCHEMA} is read: export again");
        let manifest: Manifest =
            serde_json::from_value(json).with_context(|| format!("{name}/export.json"))?;
        let lacks = |file: &str| !manifest.files.iter().any(|known| known == file);
        if lacks(CALLS) {
            bail!("{name}: {CALLS} is missing: export with --form engine");
        }
        if lacks(WORKLOAD) {
            bail!("{name}: {WORKLOAD} is missing: export again with this stress");
        }
        let lines = lines(&dir.join(CALLS))?;
        let siblings = manifest.blocks.iter().flat_map(|block| &block.sibling_hashes);
        let mut hashes: Vec<_> = siblings.collect();
        ensure!(
            lines.len() == 2 * hashes.len() && !hashes.is_empty(),
            "{name}/{CALLS}: {} calls for {} blocks, two for each are due: export again",
            lines.len(),
            hashes.len()
        );
        hashes.sort_unstable();
        ensure!(
            hashes.windows(2).all(|pair| pair[0] != pair[1]),
            "{name}: a block is there twice, and the second would be answered without an execution: \
             export again"
        );
        let count = manifest.blocks[0].sibling_hashes.len();
        ensure!(
            manifest.blocks.iter().all(|block| block.sibling_hashes.len() == count),
            "{name}: the blocks have not as many siblings as each other: export again"
        );
        let growth = match &manifest.grown {
            None => Vec::new(),
            Some(_) if lacks(GROWTH) => {
                bail!("{name}: {GROWTH} is missing, by which the state grows: export again")
            }
            Some(grown) => {
                let growth = self::lines(&dir.join(GROWTH))?;
                ensure!(
                    growth.len() == 2 * grown.block_count,
                    "{name}/{GROWTH}: {} calls for {} blocks, two for each are due: export again",
                    growth.len(),
                    grown.block_count
                );
                growth
            }
        };
        Ok(Self { dir: dir.to_owned(), manifest, lines, growth })
    }

    /// The workload that was exported.
    ///
    /// # Errors
    /// It cannot be read, or is another one.
    pub fn workload(&self) -> Result<Workload> {
        let path = workload_path(&self.dir);
        let workload = file::read(&path).with_context(|| path.display().to_string())?;
        let (found, expected) = (workload.digest().to_string(), &self.manifest.workload);
        ensure!(
            found == *expected,
            "{}: workload {found}, the export is of {expected}: export again",
            path.display()
        );
        Ok(workload)
    }

    /// The files that a client begins its database with.
    ///
    /// # Errors
    /// The current directory is unknown.
    pub fn state_files(&self) -> Result<StateFiles> {
        let dir = std::path::absolute(&self.dir)?;
        let has_genesis = dir.join(GENESIS).exists();
        let has_rows = self.manifest.files.iter().any(|file| file == ROWS);
        Ok(StateFiles { dir, has_genesis, has_rows })
    }

    /// Hash of the first block of the chain.
    pub fn genesis_hash(&self) -> &str {
        &self.manifest.genesis_hash
    }

    /// Transactions with another outcome than in the workload.
    pub const fn differing_tx_count(&self) -> u64 {
        self.manifest.differing_tx_count
    }

    /// Blocks of the chain.
    pub const fn block_count(&self) -> usize {
        self.manifest.blocks.len()
    }

    /// Whether there are several blocks, each the parent of the next.
    pub const fn is_chain(&self) -> bool {
        self.block_count() > 1
    }

    /// Siblings of each block, itself included. The last of them is the parent of the next block.
    pub fn sibling_count(&self) -> usize {
        self.manifest.blocks.first().map_or(0, |block| block.sibling_hashes.len())
    }

    /// Refuses a chain whose blocks nothing can warm.
    ///
    /// # Errors
    /// It has no siblings, and samples are to be warm.
    pub fn check(&self, cache: CacheMode) -> Result<()> {
        ensure!(
            !self.is_chain() || cache == CacheMode::Cold || self.sibling_count() > 1,
            "{}: a chain of {} blocks, and samples are warm: a sibling of each block warms the client for \
             it, and there is none: export with --siblings 2, or start the client cold (--client)",
            self.dir.display(),
            self.block_count()
        );
        Ok(())
    }

    /// Hash of a sibling.
    pub fn hash(&self, of: Place) -> &str {
        &self.manifest.blocks[of.block].sibling_hashes[of.sibling]
    }

    /// The calls of a sibling.
    ///
    /// # Errors
    /// They cannot be read, or are of another block.
    pub fn calls(&self, of: Place) -> Result<Calls> {
        let path = self.dir.join(CALLS);
        let hash = self.hash(of).to_owned();
        let index = of.block * self.sibling_count() + of.sibling;
        let [new_payload, forkchoice] = pair(&path, &self.lines, index)?;
        ensure!(
            new_payload.contains(&hash) && forkchoice.contains(&hash),
            "{}: the calls of block {hash} are of another one: export again",
            path.display()
        );
        Ok(Calls { hash, new_payload, forkchoice })
    }

    /// Blocks that grow the state, below those that are sampled.
    pub const fn growth_count(&self) -> usize {
        self.growth.len() / 2
    }

    /// The calls of the block at `index` among those that grow the state.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn growth(&self, index: usize) -> Result<Calls> {
        let path = self.dir.join(GROWTH);
        let [new_payload, forkchoice] = pair(&path, &self.growth, index)?;
        let call: serde_json::Value =
            serde_json::from_str(&forkchoice).with_context(|| path.display().to_string())?;
        let hash = call["params"][0]["headBlockHash"].as_str().unwrap_or_default().to_owned();
        Ok(Calls { hash, new_payload, forkchoice })
    }
}

/// The workload of the export in `dir`.
pub fn workload_path(dir: &Path) -> PathBuf {
    dir.join(WORKLOAD)
}

/// The two calls of the block at `index`, at these places of a file.
fn pair(path: &Path, lines: &[(u64, usize)], index: usize) -> Result<[String; 2]> {
    let name = || path.display().to_string();
    let mut file = File::open(path).with_context(name)?;
    let mut line = |index: usize| -> Result<String> {
        let (start, length) = lines[index];
        let mut text = vec![0; length];
        file.seek(SeekFrom::Start(start)).with_context(name)?;
        file.read_exact(&mut text).with_context(name)?;
        String::from_utf8(text).with_context(name)
    };
    Ok([line(2 * index)?, line(2 * index + 1)?])
}

/// Start and length of each line of a file.
fn lines(path: &Path) -> Result<Vec<(u64, usize)>> {
    let name = || path.display().to_string();
    let mut reader = BufReader::with_capacity(1 << 20, File::open(path).with_context(name)?);
    let (mut lines, mut start) = (Vec::new(), 0);
    loop {
        let length = reader.skip_until(b'\n').with_context(name)?;
        if length == 0 {
            return Ok(lines);
        }
        lines.push((start, length - 1));
        start += length as u64;
    }
}
