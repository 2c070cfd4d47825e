//! Reads a directory that `stress export` wrote: its blocks, and the calls that send each sibling
//! to a client. Calls are read one block at a time, as a payload has many megabytes. An export may
//! begin with blocks that grow the state: they write the slots that its genesis lacks.

pub mod write;

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use variant::CacheMode;
use workload::{Workload, file};

use write::{CALLS, GENESIS, GROWTH, MANIFEST, SETTINGS, SLOT_ROWS, WORKLOAD};

/// The schema of `export.json` that this program reads.
const SCHEMA: &str = "stress-export/1";

/// An export of a block, or of a chain of blocks.
#[derive(Clone, Debug)]
pub struct Export {
    dir: PathBuf,
    manifest: Manifest,
    calls: CallFile,
    /// Calls of the blocks that grow the state; `None` without such blocks.
    growth: Option<CallFile>,
}

/// A file with two lines for each of its blocks (a sibling is a block), a call in each line.
#[derive(Clone, Debug)]
struct CallFile {
    path: PathBuf,
    /// Start and length of each line, in bytes.
    lines: Vec<(u64, usize)>,
}

/// The fields of `export.json` that this program reads.
#[derive(Clone, Debug, Deserialize)]
struct Manifest {
    workload: String,
    genesis_hash: String,
    differing_tx_count: u64,
    /// The blocks that grow the state, which come before `blocks`.
    #[serde(default)]
    grown: Option<GrownBlocks>,
    blocks: Vec<Block>,
    files: Vec<String>,
}

/// Fields of the blocks that grow the state.
#[derive(Clone, Debug, Deserialize)]
struct GrownBlocks {
    block_count: usize,
}

#[derive(Clone, Debug, Deserialize)]
struct Block {
    sibling_hashes: Vec<String>,
}

/// The files with the state before the first block, from which a client's database is made.
#[derive(Clone, Debug)]
pub struct StateFiles {
    /// The absolute path of the export.
    pub dir: PathBuf,
    /// Whether `genesis.json` holds the state. If not, the file of [`Self::genesis`] has only the
    /// chain's settings.
    pub has_genesis: bool,
    /// Whether the export holds the state as rows.
    pub has_rows: bool,
}

impl StateFiles {
    /// Returns the file with the chain's settings.
    pub fn genesis(&self) -> PathBuf {
        self.dir.join(if self.has_genesis { GENESIS } else { SETTINGS })
    }
}

/// A sibling of a block: a copy with other extra data. A client executes each sibling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiblingId {
    pub block: usize,
    pub sibling: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calls {
    pub hash: String,
    /// The call `engine_newPayload`, as a line of JSON.
    pub new_payload: String,
    /// The call `engine_forkchoiceUpdated` that makes the block the head, as a line of JSON.
    pub forkchoice: String,
}

impl Export {
    /// Opens the export in `dir`.
    ///
    /// # Errors
    /// `dir` is no export, lacks the calls or the workload, or its files contradict each other.
    pub fn open(dir: &Path) -> Result<Self> {
        let name = dir.display();
        let text = fs::read_to_string(dir.join(MANIFEST)).with_context(|| {
            format!("{name}: there is no {MANIFEST}; name a directory that `stress export` wrote")
        })?;
        let json: serde_json::Value =
            serde_json::from_str(&text).with_context(|| format!("{name}/{MANIFEST}"))?;
        let schema = json["schema"].as_str().unwrap_or("none");
        ensure!(schema == SCHEMA, "{name}: schema {schema}, {SCHEMA} is read: export again");
        let manifest: Manifest =
            serde_json::from_value(json).with_context(|| format!("{name}/{MANIFEST}"))?;
        ensure!(manifest.has(CALLS), "{name}: {CALLS} is missing: export with --format engine");
        ensure!(
            manifest.has(WORKLOAD),
            "{name}: {WORKLOAD} is missing: export again with this stress"
        );
        let mut hashes: Vec<_> =
            manifest.blocks.iter().flat_map(|block| &block.sibling_hashes).collect();
        let calls = CallFile::open(dir, CALLS, hashes.len())?;
        hashes.sort_unstable();
        ensure!(
            hashes.windows(2).all(|pair| pair[0] != pair[1]),
            "{name}: a block is there twice, and the second would be answered without an execution: \
             export again"
        );
        // There is at least one block, as a file without calls is an error.
        let count = manifest.blocks[0].sibling_hashes.len();
        ensure!(
            manifest.blocks.iter().all(|block| block.sibling_hashes.len() == count),
            "{name}: the blocks have not as many siblings as each other: export again"
        );
        let growth = match &manifest.grown {
            None => None,
            Some(_) if !manifest.has(GROWTH) => {
                bail!("{name}: {GROWTH} is missing, by which the state grows: export again")
            }
            Some(grown) => Some(CallFile::open(dir, GROWTH, grown.block_count)?),
        };
        Ok(Self { dir: dir.to_owned(), manifest, calls, growth })
    }

    /// Reads the exported workload.
    ///
    /// # Errors
    /// The workload cannot be read, or is not the one of the manifest.
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

    /// Returns the files from which a client makes its database.
    ///
    /// # Errors
    /// The current directory is unknown.
    pub fn state_files(&self) -> Result<StateFiles> {
        let dir = std::path::absolute(&self.dir)?;
        let has_genesis = dir.join(GENESIS).exists();
        let has_rows = self.manifest.has(SLOT_ROWS);
        Ok(StateFiles { dir, has_genesis, has_rows })
    }

    pub fn genesis_hash(&self) -> &str {
        &self.manifest.genesis_hash
    }

    /// Returns the number of transactions with another outcome than in the workload.
    pub const fn differing_tx_count(&self) -> u64 {
        self.manifest.differing_tx_count
    }

    /// Returns the number of sampled blocks: blocks that grow the state, and siblings, are not
    /// counted.
    pub const fn block_count(&self) -> usize {
        self.manifest.blocks.len()
    }

    /// Whether there are several blocks, each the parent of the next.
    pub const fn is_chain(&self) -> bool {
        self.block_count() > 1
    }

    /// Returns the number of siblings of each block. The last sibling is the block itself, the
    /// parent of the next block.
    pub fn sibling_count(&self) -> usize {
        self.manifest.blocks.first().map_or(0, |block| block.sibling_hashes.len())
    }

    /// Refuses warm samples of a chain without siblings. The client executes a sibling of each
    /// block just before the block, which is all that can warm it.
    ///
    /// # Errors
    /// The chain has no siblings, and samples are to be warm.
    pub fn check(&self, cache: CacheMode) -> Result<()> {
        ensure!(
            !self.is_chain() || cache == CacheMode::Cold || self.sibling_count() > 1,
            "{}: a chain of {} blocks without siblings, which warm a client: export with \
             --siblings 2, or start the client cold (--client)",
            self.dir.display(),
            self.block_count()
        );
        Ok(())
    }

    /// Returns the last sibling of a block: the block itself, the parent of the next block.
    pub fn last_sibling(&self, block: usize) -> SiblingId {
        SiblingId { block, sibling: self.sibling_count() - 1 }
    }

    pub fn hash(&self, id: SiblingId) -> &str {
        &self.manifest.blocks[id.block].sibling_hashes[id.sibling]
    }

    /// Returns the calls of a sibling.
    ///
    /// # Errors
    /// The calls cannot be read, or are of another block.
    pub fn calls(&self, id: SiblingId) -> Result<Calls> {
        let hash = self.hash(id).to_owned();
        let index = id.block * self.sibling_count() + id.sibling;
        let [new_payload, forkchoice] = self.calls.read(index)?;
        ensure!(
            new_payload.contains(&hash) && forkchoice.contains(&hash),
            "{}: the calls of block {hash} are of another one: export again",
            self.calls.path.display()
        );
        Ok(Calls { hash, new_payload, forkchoice })
    }

    /// Returns the number of blocks that grow the state, before the sampled blocks.
    pub fn growth_count(&self) -> usize {
        self.growth.as_ref().map_or(0, |growth| growth.lines.len() / 2)
    }

    /// Returns the calls of the block at `index` among the blocks that grow the state.
    ///
    /// # Errors
    /// The calls cannot be read.
    pub fn growth(&self, index: usize) -> Result<Calls> {
        let growth = self.growth.as_ref().context("no block grows the state")?;
        let [new_payload, forkchoice] = growth.read(index)?;
        let call: serde_json::Value =
            serde_json::from_str(&forkchoice).with_context(|| growth.path.display().to_string())?;
        let hash = call["params"][0]["headBlockHash"].as_str().unwrap_or_default().to_owned();
        Ok(Calls { hash, new_payload, forkchoice })
    }
}

impl Manifest {
    fn has(&self, file: &str) -> bool {
        self.files.iter().any(|known| known == file)
    }
}

impl CallFile {
    /// Opens the file of this name in `dir`, which must have the calls of `block_count` blocks.
    fn open(dir: &Path, name: &str, block_count: usize) -> Result<Self> {
        let path = dir.join(name);
        let lines = lines(&path).with_context(|| path.display().to_string())?;
        ensure!(
            lines.len() == 2 * block_count && block_count > 0,
            "{}/{name}: {} calls for {block_count} blocks, two for each are due: export again",
            dir.display(),
            lines.len()
        );
        Ok(Self { path, lines })
    }

    /// Returns the two calls of the block at `index`.
    fn read(&self, index: usize) -> Result<[String; 2]> {
        let lines = [self.lines[2 * index], self.lines[2 * index + 1]];
        texts(&self.path, lines).with_context(|| self.path.display().to_string())
    }
}

/// Returns the path of the workload in the export `dir`.
pub fn workload_path(dir: &Path) -> PathBuf {
    dir.join(WORKLOAD)
}

/// Returns the lines of a file with these starts and lengths.
fn texts(path: &Path, lines: [(u64, usize); 2]) -> Result<[String; 2]> {
    let mut file = File::open(path)?;
    let mut texts = [const { String::new() }; 2];
    for (text, (start, length)) in texts.iter_mut().zip(lines) {
        let mut bytes = vec![0; length];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut bytes)?;
        *text = String::from_utf8(bytes)?;
    }
    Ok(texts)
}

/// Returns start and length of each line of a file.
fn lines(path: &Path) -> io::Result<Vec<(u64, usize)>> {
    let mut reader = BufReader::with_capacity(1 << 20, File::open(path)?);
    let (mut lines, mut start) = (Vec::new(), 0);
    loop {
        let length = reader.skip_until(b'\n')?;
        if length == 0 {
            return Ok(lines);
        }
        lines.push((start, length - 1));
        start += length as u64;
    }
}
