//! Reads and writes workload files. A file has one complete, checked workload.
//!
//! ```text
//! magic 8 ‖ format version u32 ‖ body length u64 ‖ body (postcard) ‖ BLAKE3 of the body 32
//! ```
//! Integers are little-endian. The version rises with each change of [`Workload`] or its parts.
//! Other versions are not read, since a workload can be generated again from its scenario.

mod validate;

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use alloy_primitives::B256;
use postcard::ser_flavors::{Flavor, Size};

pub use validate::{FamilyKind, MAX_BLOCK_GAS, WorkloadError, max_block_gas};

use crate::block::Workload;

/// First bytes of every workload file.
pub const MAGIC: [u8; 8] = *b"stresswl";

/// Version of the format this build reads and writes.
pub const FORMAT_VERSION: u32 = 3;

/// Maximum length of the body in bytes: 4 GiB, many times the length of a batch of blocks with ten
/// times today's gas.
pub const MAX_BODY_BYTES: u64 = 1 << 32;

/// Length of the header: magic, version and body length.
const HEADER_BYTES: usize = MAGIC.len() + 4 + 8;
const HASH_BYTES: usize = 32;

/// Reason that a workload file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The operating system refused an operation.
    #[error("cannot {operation} {}", path.display())]
    Io {
        /// The failed operation, as a verb.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file does not begin with [`MAGIC`].
    #[error(
        "this is no workload file, which begins with {:?}; name one that `stress generate` wrote, or a \
         scenario by --scenario",
        "stresswl"
    )]
    NotAWorkload,
    /// A newer build wrote the file.
    #[error(
        "the file has format version {got}, this build reads {FORMAT_VERSION}: update stress, or \
         generate the workload again with this build"
    )]
    NewerVersion {
        /// The file's version.
        got: u32,
    },
    /// An older build wrote the file.
    #[error(
        "the file has format version {got}, this build reads {FORMAT_VERSION}: generate the \
         workload again from its scenario"
    )]
    OlderVersion {
        /// The file's version.
        got: u32,
    },
    /// The end of the file is missing.
    #[error(
        "the file is cut off: {got_bytes} of {expected_bytes} bytes; copy or generate it again"
    )]
    Truncated {
        /// Length of the file.
        got_bytes: u64,
        /// Length of a whole file by its header; where the header is cut off, the length of a
        /// header and a checksum.
        expected_bytes: u64,
    },
    /// The file has more bytes than its header says.
    #[error("the file has {got_bytes} bytes, {expected_bytes} are the workload's")]
    TrailingBytes {
        /// Length of the file.
        got_bytes: u64,
        /// Length of a whole file by its header.
        expected_bytes: u64,
    },
    /// The body is longer than [`MAX_BODY_BYTES`].
    #[error("the workload has {got_bytes} bytes, the bound is {MAX_BODY_BYTES}")]
    TooLarge {
        /// Length of the body.
        got_bytes: u64,
    },
    /// The body does not have the recorded checksum.
    #[error("the file is damaged: its body has BLAKE3 {got}, recorded is {expected}")]
    WrongChecksum {
        /// Checksum of the read body.
        got: B256,
        /// Recorded checksum.
        expected: B256,
    },
    /// The body does not encode a workload, although its checksum is right: the file's writer is at
    /// fault.
    #[error("the body is no workload")]
    Malformed(#[source] postcard::Error),
    /// The body decodes to a workload, but is not the canonical encoding of that workload.
    #[error("the body is not the canonical encoding of its workload")]
    NotCanonical,
    /// The workload contradicts itself.
    #[error("the workload contradicts itself")]
    Inconsistent(#[from] WorkloadError),
}

impl Workload {
    /// Name of the workload: BLAKE3 of its body in a workload file, without the scenario's name and
    /// the signed transactions, which come first there. So the same work has the same digest under
    /// any name and any signatures.
    ///
    /// # Panics
    /// Never: postcard encodes all parts of a workload.
    pub fn digest(&self) -> B256 {
        let before = (&self.scenario, &self.signed_transactions);
        let before = postcard::serialize_with_flavor(&before, Size::default());
        let skip_bytes = before.unwrap_or_else(|error| panic!("texts and bytes encode: {error}"));
        body_hash(self, skip_bytes)
    }
}

/// BLAKE3 of the body of `workload` without its first `skip_bytes`.
fn body_hash(workload: &Workload, skip_bytes: usize) -> B256 {
    let hasher = BodyHasher { skip_bytes, ..BodyHasher::default() };
    let hash = postcard::serialize_with_flavor(workload, hasher);
    hash.unwrap_or_else(|error| panic!("a workload encodes: {error}"))
}

/// Encodes `workload` as the bytes of a workload file.
///
/// # Errors
/// [`FileError::TooLarge`], [`FileError::Inconsistent`].
pub fn encode(workload: &Workload) -> Result<Vec<u8>, FileError> {
    workload.validate()?;
    let mut bytes = Vec::from(MAGIC);
    bytes.extend(FORMAT_VERSION.to_le_bytes());
    bytes.extend([0; 8]);
    let mut bytes = postcard::to_extend(workload, bytes).map_err(FileError::Malformed)?;
    let body_bytes = (bytes.len() - HEADER_BYTES) as u64;
    if body_bytes > MAX_BODY_BYTES {
        return Err(FileError::TooLarge { got_bytes: body_bytes });
    }
    bytes[HEADER_BYTES - 8..HEADER_BYTES].copy_from_slice(&body_bytes.to_le_bytes());
    let hash = blake3::hash(&bytes[HEADER_BYTES..]);
    bytes.extend(hash.as_bytes());
    Ok(bytes)
}

/// Reads the bytes of a workload file. Safe on any bytes: memory stays within a small multiple of
/// their length.
///
/// # Errors
/// Every [`FileError`] except [`FileError::Io`].
pub fn decode(bytes: &[u8]) -> Result<Workload, FileError> {
    let got_bytes = bytes.len() as u64;
    let body_bytes = read_header(bytes)?;
    let expected_bytes = (HEADER_BYTES + HASH_BYTES) as u64 + body_bytes;
    if got_bytes < expected_bytes {
        return Err(FileError::Truncated { got_bytes, expected_bytes });
    }
    if got_bytes > expected_bytes {
        return Err(FileError::TrailingBytes { got_bytes, expected_bytes });
    }
    let (body, recorded) = bytes[HEADER_BYTES..].split_at(bytes.len() - HEADER_BYTES - HASH_BYTES);
    let expected = B256::from_slice(recorded);
    let got = B256::from(*blake3::hash(body).as_bytes());
    if got != expected {
        return Err(FileError::WrongChecksum { got, expected });
    }
    let (workload, rest) =
        postcard::take_from_bytes::<Workload>(body).map_err(FileError::Malformed)?;
    // Postcard also reads integers with padding. Only the canonical encoding has the recorded hash.
    if !rest.is_empty() || body_hash(&workload, 0) != expected {
        return Err(FileError::NotCanonical);
    }
    workload.validate()?;
    Ok(workload)
}

/// Reads the workload file at `path`.
///
/// # Errors
/// Any [`FileError`].
pub fn read(path: &Path) -> Result<Workload, FileError> {
    let io = |operation| move |source| FileError::Io { operation, path: path.into(), source };
    let mut file = File::open(path).map_err(io("open"))?;
    // The header comes first, so that a wrong file of any size is refused unread.
    let mut bytes = Vec::new();
    let header = (&mut file).take(HEADER_BYTES as u64).read_to_end(&mut bytes);
    header.map_err(io("read"))?;
    let body_bytes = read_header(&bytes)?;
    let length = file.metadata().map_err(io("inspect"))?.len();
    let expected_bytes = (HEADER_BYTES + HASH_BYTES) as u64 + body_bytes;
    if length > expected_bytes {
        return Err(FileError::TrailingBytes { got_bytes: length, expected_bytes });
    }
    // One byte more than expected shows that the file grew.
    let rest = expected_bytes - HEADER_BYTES as u64 + 1;
    file.take(rest).read_to_end(&mut bytes).map_err(io("read"))?;
    decode(&bytes)
}

/// Checks the header of a file that begins with `bytes`, and returns the length of its body.
fn read_header(bytes: &[u8]) -> Result<u64, FileError> {
    let cut_off = || FileError::Truncated {
        got_bytes: bytes.len() as u64,
        expected_bytes: (HEADER_BYTES + HASH_BYTES) as u64,
    };
    let magic = &bytes[..bytes.len().min(MAGIC.len())];
    if magic.is_empty() || !MAGIC.starts_with(magic) {
        return Err(FileError::NotAWorkload);
    }
    let rest = bytes.get(MAGIC.len()..).ok_or_else(cut_off)?;
    let (version, rest) = rest.split_first_chunk::<4>().ok_or_else(cut_off)?;
    match u32::from_le_bytes(*version) {
        FORMAT_VERSION => {}
        got if got > FORMAT_VERSION => return Err(FileError::NewerVersion { got }),
        got => return Err(FileError::OlderVersion { got }),
    }
    let (length, _) = rest.split_first_chunk::<8>().ok_or_else(cut_off)?;
    let length = u64::from_le_bytes(*length);
    if length > MAX_BODY_BYTES {
        return Err(FileError::TooLarge { got_bytes: length });
    }
    Ok(length)
}

/// Hashes the bytes that postcard writes, in blocks.
#[derive(Default)]
struct BodyHasher {
    hasher: blake3::Hasher,
    block: Vec<u8>,
    /// Number of bytes at the body's start that are still to be left out of the hash.
    skip_bytes: usize,
}

impl BodyHasher {
    /// Number of bytes that are hashed at a time; BLAKE3 is slow on single bytes.
    const BLOCK_BYTES: usize = 1 << 16;

    /// Hashes the block once it is full.
    fn flush(&mut self) {
        if self.block.len() >= Self::BLOCK_BYTES {
            self.hasher.update(&self.block);
            self.block.clear();
        }
    }
}

impl Flavor for BodyHasher {
    type Output = B256;

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.try_extend(&[byte])
    }

    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        let left_out = self.skip_bytes.min(bytes.len());
        self.skip_bytes -= left_out;
        let bytes = &bytes[left_out..];
        if bytes.len() < Self::BLOCK_BYTES {
            self.block.extend_from_slice(bytes);
            self.flush();
        } else {
            self.hasher.update(&self.block).update(bytes);
            self.block.clear();
        }
        Ok(())
    }

    fn finalize(mut self) -> postcard::Result<B256> {
        self.hasher.update(&self.block);
        Ok(B256::from(*self.hasher.finalize().as_bytes()))
    }
}
