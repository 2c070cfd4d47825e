//! Builds a state in flat files: rows in blocks, in the order of their keys. Scans a built state to
//! check it.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

use alloy_primitives::B256;
use workload::{ContentDigest, Genesis, Layout, Table};

use super::{
    block::{BLOCK_BYTES, Block, RowFormat},
    files::{CodePosition, EXTENSION, Files, RowFile, index_name, rows_name, write_positions},
    index::Index,
    nodes::NodeWriter,
    settings::{NAME, failed_io},
    trie_verify,
};
use crate::{
    state::{
        BuildInput, BuildOutput, BuildPhase, RowCounts, ScanInput, StateError, StateFormat, Watch,
    },
    store::{
        StoreError,
        ordered::{self, SCRATCH_ACCOUNT_BYTES, SCRATCH_SLOT_BYTES},
        trie_stream::{Hashing, TrieStream},
    },
    tries,
};

/// Version of the files. It is hashed into a state's name.
const FORMAT_VERSION: u32 = 1;
/// Buffer size of a file that is written.
const BUFFER_BYTES: usize = 1 << 20;
/// Maximal number of bytes that a node takes in addition to the node itself: its key, its lengths
/// and its part of the index. Only the first node of a trie takes so many. The keys of other nodes
/// share a long prefix with the key before, which is not stored.
const NODE_HEADER_BYTES: u64 = 50;
/// Share of a node block's bytes that is used.
const NODE_FILL: f64 = 0.9;

/// Format of states in flat files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FlatFormat {
    /// Format of the nodes of tries that are stored beside the rows; `None` for a state without
    /// tries.
    pub tries: Option<trie::Format>,
}

impl FlatFormat {
    /// Format of states without tries.
    pub const ROWS: Self = Self { tries: None };

    /// Returns the format with this shape; `None` if no format has it.
    pub fn of_shape(shape: &str) -> Option<Self> {
        tries::all_formats().map(|tries| Self { tries }).find(|format| format.shape() == shape)
    }

    /// Returns an upper estimate of the bytes of the nodes of tries.
    fn node_bytes(self, genesis: &Genesis) -> u64 {
        let Some(format) = self.tries else { return 0 };
        tries::byte_estimate(tries::expected_nodes(format, genesis), NODE_HEADER_BYTES, NODE_FILL)
    }
}

impl StateFormat for FlatFormat {
    fn store(&self) -> &'static str {
        NAME
    }

    fn row_extension(&self) -> &'static str {
        EXTENSION
    }

    fn store_version(&self) -> String {
        format!("{FORMAT_VERSION}")
    }

    fn shape(&self) -> String {
        let rows = format!("version {FORMAT_VERSION}; blocks of {BLOCK_BYTES}, rows of one size");
        rows + &tries::shape_part(self.tries)
    }

    fn byte_estimate(&self, genesis: &Genesis, layout: Layout) -> u64 {
        let rows = [
            (Table::Slots, genesis.slot_count(), SCRATCH_SLOT_BYTES),
            (Table::Accounts, genesis.account_count(), SCRATCH_ACCOUNT_BYTES),
        ];
        let rows = rows.map(|(table, count, scratch_bytes)| {
            let per_block = RowFormat::of(table, layout).rows_per_block() as u64;
            // Each block has an entry of 16 bytes in the index.
            let blocks = count.div_ceil(per_block).saturating_add(1);
            let bytes = blocks.saturating_mul(BLOCK_BYTES as u64 + 16);
            bytes.saturating_add(count.saturating_mul(scratch_bytes))
        });
        let codes = genesis.accounts.iter().map(|account| account.code.len() as u64);
        let codes: u64 = codes.map(|bytes| bytes + 2 * BLOCK_BYTES as u64).sum();
        let parts = rows.into_iter().chain([codes, self.node_bytes(genesis)]);
        parts.fold(0, u64::saturating_add)
    }

    fn build(&self, input: &BuildInput<'_>, watch: &Watch<'_>) -> Result<BuildOutput, StateError> {
        let tries = self.tries.map(|format| {
            let nodes = NodeWriter::create(input.dir).map_err(failed_io("make a file of nodes"))?;
            Ok::<_, StoreError>(TrieStream::new(format, Hashing::Once, nodes))
        });
        let mut tries = tries.transpose()?;
        let mut digest = ContentDigest::default();
        let mut rows = RowCounts::default();
        // Slots come first: an account's leaf contains the root of its slots.
        for table in [Table::Slots, Table::Accounts, Table::Codes] {
            let written = match table {
                Table::Accounts | Table::Slots => write_rows(input, watch, table, tries.as_mut())?,
                Table::Codes => write_codes(input, watch)?,
            };
            digest.merge(&written);
            rows.add(table, written.row_count());
        }
        let tries = tries.map(TrieStream::finish).transpose()?;
        Ok(BuildOutput { content_digest: digest.finish(), rows, tries })
    }

    fn scan(&self, input: &ScanInput<'_>, watch: &Watch<'_>) -> Result<BuildOutput, StateError> {
        let format = Self::of_shape(&input.manifest.shape).ok_or_else(|| input.unknown_shape())?;
        let files = Files::open(input.dir, input.manifest.layout, format.tries)
            .map_err(|error| unreadable(input.name, error))?;
        let mut digest = ContentDigest::default();
        let mut rows = RowCounts::default();
        for file in [&files.accounts, &files.slots] {
            let scanned = scan_rows(file, input, watch)?;
            rows.add(file.table, scanned.row_count());
            digest.merge(&scanned);
        }
        let codes = scan_codes(&files).map_err(|error| unreadable(input.name, error))?;
        rows.add(Table::Codes, codes.row_count());
        digest.merge(&codes);
        let nodes = files.nodes.as_ref();
        let tries = nodes.map(|nodes| trie_verify::verify(input, watch, &files, nodes));
        Ok(BuildOutput { content_digest: digest.finish(), rows, tries: tries.transpose()? })
    }
}

/// Converts the error of a read of state `name`: a failed read, or a damaged file.
fn unreadable(name: &str, error: io::Error) -> StateError {
    match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
            StateError::untrusted(name, error.to_string())
        }
        _ => failed_io("read the rows")(error).into(),
    }
}

fn create(dir: &Path, table: Table) -> Result<BufWriter<File>, StoreError> {
    let file = File::create(dir.join(rows_name(table)));
    Ok(BufWriter::with_capacity(BUFFER_BYTES, file.map_err(failed_io("make a file of rows"))?))
}

/// Writes the rows of `table`, which have one size, and their index. Passes the rows to `tries`,
/// too.
fn write_rows(
    input: &BuildInput<'_>,
    watch: &Watch<'_>,
    table: Table,
    mut tries: Option<&mut TrieStream<NodeWriter>>,
) -> Result<ContentDigest, StateError> {
    let row_format = RowFormat::of(table, input.layout);
    let mut index = Index::new(table, row_format);
    let mut file = create(input.dir, table)?;
    let mut block = Box::new(Block::ZERO);
    let (mut number, mut row_count) = (0, 0);
    let mut write = |block: &mut Block, number: usize, row_count: usize| {
        row_format.seal(block, number as u64, row_count);
        file.write_all(&block.0).map_err(failed_io("write rows"))?;
        *block = Block::ZERO;
        Ok::<_, StoreError>(())
    };
    let phase = match tries {
        Some(_) => BuildPhase::WritingAndHashing,
        None => BuildPhase::Writing,
    };
    let digest = ordered::stream_rows(input, watch, table, phase, &mut |key, value| {
        if row_count == row_format.rows_per_block() {
            write(&mut block, number, row_count)?;
            (number, row_count) = (number + 1, 0);
        }
        index.add(key, number);
        row_format.put(&mut block, row_count, key, value);
        row_count += 1;
        tries.as_mut().map_or(Ok(()), |tries| tries.row(table, key, value))
    })?;
    if row_count > 0 {
        write(&mut block, number, row_count)?;
    }
    file.flush().map_err(failed_io("write rows"))?;
    let path = input.dir.join(index_name(table));
    index.write(&path).map_err(failed_io("write an index"))?;
    Ok(digest)
}

/// Writes the codes, each at the beginning of a block, and their positions.
fn write_codes(input: &BuildInput<'_>, watch: &Watch<'_>) -> Result<ContentDigest, StateError> {
    let mut file = create(input.dir, Table::Codes)?;
    let mut positions = Vec::new();
    let mut offset = 0;
    let phase = BuildPhase::Writing;
    let digest = ordered::stream_rows(input, watch, Table::Codes, phase, &mut |hash, code| {
        positions.push((B256::from_slice(hash), CodePosition { offset, byte_count: code.len() }));
        let padding = code.len().next_multiple_of(BLOCK_BYTES) - code.len();
        let zeros = &Block::ZERO.0[..padding];
        let written = file.write_all(code).and_then(|()| file.write_all(zeros));
        written.map_err(failed_io("write codes"))?;
        offset += (code.len() + padding) as u64;
        Ok(())
    })?;
    file.flush().map_err(failed_io("write codes"))?;
    let path = input.dir.join(index_name(Table::Codes));
    write_positions(&path, &positions).map_err(failed_io("write an index"))?;
    Ok(digest)
}

/// Returns the digest of all rows of a file. Checks that each block is undamaged, that keys ascend,
/// and that the index fits the rows.
fn scan_rows(
    file: &RowFile,
    input: &ScanInput<'_>,
    watch: &Watch<'_>,
) -> Result<ContentDigest, StateError> {
    let (table, name) = (file.table, rows_name(file.table));
    let mut index = Index::new(table, file.row_format);
    let mut digest = ContentDigest::default();
    let (mut last, mut watched) = (Vec::new(), watch.rows());
    let wrong = |reason: String| StateError::untrusted(input.name, reason);
    let unreadable = |error| unreadable(input.name, error);
    file.each_row(unreadable, &mut |number, key, value| {
        if last.as_slice() >= key {
            return Err(wrong(format!("block {number} of {name} is out of order")));
        }
        last.clear();
        last.extend_from_slice(key);
        index.add(key, number);
        digest.add(table, key, value);
        watched.add_one()
    })?;
    match index == file.index {
        true => Ok(digest),
        false => Err(wrong(format!("{} does not fit {name}", index_name(table)))),
    }
}

fn scan_codes(files: &Files) -> io::Result<ContentDigest> {
    use std::os::unix::fs::FileExt;
    let mut digest = ContentDigest::default();
    let file = File::open(files.codes.path())?;
    for (hash, position) in &files.code_positions {
        let mut code = vec![0; position.byte_count];
        file.read_exact_at(&mut code, position.offset)?;
        digest.add(Table::Codes, hash.as_slice(), &code);
    }
    Ok(digest)
}
