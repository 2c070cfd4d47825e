//! Reads the index of a table file, to find the data block of a key (`places.rs`). RocksDB has no
//! call that tells which block a read uses.
//!
//! The format is that of block-based tables of version 6. A footer of 53 bytes gives the length of
//! the metaindex before it. The metaindex has the positions of the properties and of the index. A
//! block has entries, restart points, and the number of restart points. An entry begins with the
//! lengths of three parts: the prefix shared with the key before, the rest of the key, and the
//! value. Then come the rest of the key and the value. At a restart point, a key is whole. A file
//! of any other form is refused.

use std::{fs::File, io, os::unix::fs::FileExt};

/// Number of bytes of the footer. It has the length of the metaindex at byte 13, the version at
/// byte 41, and the magic number at byte 45.
const FOOTER_BYTES: usize = 53;
/// Number of bytes of type and checksum after each block.
const TRAILER_BYTES: u64 = 5;
const MAGIC: u64 = 0x88e2_41b7_85f4_cff7;
const FORMAT_VERSION: u32 = 6;
/// Flags in the number of restart points.
const RESTART_FLAGS: u32 = 0xf000_0000;
/// Number of bytes of sequence number and kind at the end of an internal key.
const KEY_SUFFIX_BYTES: usize = 8;
const INDEX: &[u8] = b"rocksdb.index";
const PROPERTIES: &[u8] = b"rocksdb.properties";
const USER_KEYS: &[u8] = b"rocksdb.index.key.is.user.key";
const DELTA_VALUES: &[u8] = b"rocksdb.index.value.is.delta.encoded";

/// Position of a block in a file, without the block's trailer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handle {
    pub(super) offset: u64,
    pub(super) byte_count: u64,
}

impl Handle {
    /// Number of bytes to read, trailer included.
    pub(super) const fn read_byte_count(&self) -> u64 {
        self.byte_count + TRAILER_BYTES
    }
}

/// The index of a table file.
#[derive(Debug)]
pub(super) struct SstIndex {
    block: Block,
    /// True if keys end in a sequence number.
    has_suffix: bool,
    values: Values,
}

/// Encoding of the values of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Values {
    /// Each value has its length before it.
    Plain,
    /// Each value is a handle. The first handle after a restart point is stored whole. A later
    /// handle is stored as the difference between its block's size and the size of the block
    /// before.
    Delta,
}

#[derive(Debug)]
struct Block {
    bytes: Vec<u8>,
    /// Start of the restart points.
    restarts_at: usize,
}

impl SstIndex {
    /// Reads the index of `file`.
    ///
    /// # Errors
    /// The read that failed, or the breach of the format.
    pub(super) fn read(file: &File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        let footer_at =
            length.checked_sub(FOOTER_BYTES as u64).ok_or_else(|| wrong("it is too short"))?;
        let mut footer = [0; FOOTER_BYTES];
        file.read_exact_at(&mut footer, footer_at)?;
        let number = |at: usize| footer[at..].first_chunk::<4>().map(|b| u32::from_le_bytes(*b));
        let magic = footer[45..].first_chunk::<8>().map(|b| u64::from_le_bytes(*b));
        if magic != Some(MAGIC) || number(41) != Some(FORMAT_VERSION) {
            return Err(wrong("it has another footer"));
        }
        let meta_bytes = u64::from(number(13).unwrap_or(0));
        let meta_at = footer_at.checked_sub(TRAILER_BYTES + meta_bytes);
        let meta = Handle {
            offset: meta_at.ok_or_else(|| wrong("its metaindex is too long"))?,
            byte_count: meta_bytes,
        };
        let meta = Block::read(file, meta)?;
        let properties = Block::read(file, meta.handle(PROPERTIES)?)?;
        let flag = |name| Ok::<_, io::Error>(properties.number(name)? == Some(1));
        let has_suffix = !flag(USER_KEYS)?;
        let values = if flag(DELTA_VALUES)? { Values::Delta } else { Values::Plain };
        Ok(Self { block: Block::read(file, meta.handle(INDEX)?)?, has_suffix, values })
    }

    /// Returns the block that holds `key` if the file has the key. `None` if the key is above the
    /// last key of the file.
    ///
    /// # Errors
    /// The breach of the format.
    pub(super) fn find(&self, key: &[u8]) -> io::Result<Option<Handle>> {
        // Finds the last restart point whose key is below `key`. The wanted entry follows it.
        let (mut low, mut high) = (0, self.block.restart_count());
        while low < high {
            let middle = low + (high - low) / 2;
            let mut entries = self.block.entries(middle, self.values)?;
            entries.next()?;
            if self.user_key(&entries.key) < key { low = middle + 1 } else { high = middle }
        }
        let mut entries = self.block.entries(low.saturating_sub(1), self.values)?;
        let mut last = None;
        while let Some(value) = entries.next()? {
            let handle = match (self.values, entries.is_whole, last) {
                (Values::Delta, false, Some(last)) => next_handle(last, value)?,
                _ => handle(value)?,
            };
            last = Some(handle);
            if self.user_key(&entries.key) >= key {
                return Ok(Some(handle));
            }
        }
        Ok(None)
    }

    /// Returns the key of an entry without its sequence number.
    fn user_key<'k>(&self, key: &'k [u8]) -> &'k [u8] {
        let suffix_bytes = if self.has_suffix { KEY_SUFFIX_BYTES } else { 0 };
        &key[..key.len().saturating_sub(suffix_bytes)]
    }
}

impl Block {
    fn read(file: &File, at: Handle) -> io::Result<Self> {
        let byte_count = usize::try_from(at.byte_count).map_err(io::Error::other)?;
        let file_bytes = file.metadata()?.len();
        if at.offset.checked_add(at.byte_count).is_none_or(|end| end >= file_bytes) {
            return Err(wrong("a block of its index lies beyond its end"));
        }
        // One more byte gives the block's compression.
        let mut bytes = vec![0; byte_count + 1];
        file.read_exact_at(&mut bytes, at.offset)?;
        if bytes.pop() != Some(0) {
            return Err(wrong("a block of its index is compressed"));
        }
        let packed = bytes.last_chunk::<4>().map(|b| u32::from_le_bytes(*b));
        let count = packed.ok_or_else(|| wrong("a block is empty"))? & !RESTART_FLAGS;
        let tail = (count as usize + 1) * 4;
        let restarts_at = bytes.len().checked_sub(tail);
        let restarts_at =
            restarts_at.ok_or_else(|| wrong("a block has too many restart points"))?;
        Ok(Self { bytes, restarts_at })
    }

    fn restart_count(&self) -> usize {
        (self.bytes.len() - self.restarts_at) / 4 - 1
    }

    fn entries(&self, restart: usize, values: Values) -> io::Result<Entries<'_>> {
        let at = self.restarts_at + 4 * restart;
        let at = self.bytes.get(at..).and_then(<[u8]>::first_chunk::<4>);
        let at = at.map_or(0, |b| u32::from_le_bytes(*b) as usize);
        let rest = self.bytes.get(at..self.restarts_at);
        let rest = rest.ok_or_else(|| wrong("a restart point lies outside its block"))?;
        Ok(Entries { rest, key: Vec::new(), is_whole: true, values })
    }

    /// Returns the value of `key`. Reads entry by entry, since the block has few.
    fn value(&self, key: &[u8]) -> io::Result<Option<&[u8]>> {
        let mut entries = self.entries(0, Values::Plain)?;
        while let Some(value) = entries.next()? {
            if entries.key == key {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    fn handle(&self, name: &[u8]) -> io::Result<Handle> {
        handle(self.value(name)?.ok_or_else(|| wrong("its metaindex lacks a block"))?)
    }

    fn number(&self, name: &[u8]) -> io::Result<Option<u64>> {
        self.value(name)?.map(|mut value| varint(&mut value)).transpose()
    }
}

/// Entries of a block, one after the other.
struct Entries<'b> {
    rest: &'b [u8],
    /// Key of the last entry.
    key: Vec<u8>,
    /// True if the key of the last entry shares no prefix with the key before.
    is_whole: bool,
    values: Values,
}

impl<'b> Entries<'b> {
    /// Returns the next value, and stores its key in `key`.
    fn next(&mut self) -> io::Result<Option<&'b [u8]>> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let (shared, own) = (self.length()?, self.length()?);
        let value_bytes = match self.values {
            Values::Plain => Some(self.length()?),
            Values::Delta => None,
        };
        if shared > self.key.len() {
            return Err(wrong("an entry shares more than the previous key"));
        }
        self.is_whole = shared == 0;
        self.key.truncate(shared);
        let own = self.take(own)?;
        self.key.extend_from_slice(own);
        let value = match value_bytes {
            Some(byte_count) => self.take(byte_count)?,
            // The value has no length before it: it ends after its numbers, two in a whole handle
            // and one in a difference.
            None => {
                let begin = self.rest;
                for _ in 0..=usize::from(self.is_whole) {
                    varint(&mut self.rest)?;
                }
                &begin[..begin.len() - self.rest.len()]
            }
        };
        Ok(Some(value))
    }

    fn length(&mut self) -> io::Result<usize> {
        usize::try_from(varint(&mut self.rest)?).map_err(io::Error::other)
    }

    fn take(&mut self, byte_count: usize) -> io::Result<&'b [u8]> {
        let (taken, rest) = self.rest.split_at_checked(byte_count).ok_or_else(cut_off)?;
        self.rest = rest;
        Ok(taken)
    }
}

fn handle(mut value: &[u8]) -> io::Result<Handle> {
    Ok(Handle { offset: varint(&mut value)?, byte_count: varint(&mut value)? })
}

/// Returns the handle of the block after `last`, from the difference of their sizes, which is a
/// signed number in zigzag encoding.
fn next_handle(last: Handle, mut value: &[u8]) -> io::Result<Handle> {
    let zigzag = varint(&mut value)?;
    let difference = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
    let byte_count = last.byte_count.checked_add_signed(difference);
    Ok(Handle {
        offset: last.offset + last.read_byte_count(),
        byte_count: byte_count.ok_or_else(|| wrong("a block has a negative size"))?,
    })
}

fn varint(from: &mut &[u8]) -> io::Result<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, rest) = from.split_first().ok_or_else(cut_off)?;
        *from = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(wrong("a number is too long"))
}

fn cut_off() -> io::Error {
    wrong("an entry is cut off")
}

fn wrong(reason: &str) -> io::Error {
    let format = "not the format of RocksDB's block-based tables, version 6";
    io::Error::new(io::ErrorKind::InvalidData, format!("{reason}: {format}"))
}
