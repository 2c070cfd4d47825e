//! Measures the device's rate for the requests of one sample (`trace_blocks_per_s`). A plain ring
//! repeats the sample's requests, from the same files and in the same order. Adjacent blocks are
//! joined into one request where the sample's store joins them. The measured time contains no work
//! of a store or an engine.

use std::{collections::HashSet, path::PathBuf, sync::atomic::AtomicBool, time::Duration};

use crate::{
    device::{self, BLOCK_BYTES, DirectFiles, Extent, MeasureError, ReadRate},
    place::{BlockPlace, Places, RequestedRow},
    store::{Sample, Store, recorded::ReadLog},
};

/// Maximal number of bytes of a joined request.
const JOINED_BYTES_MAX: u64 = 64 << 10;
/// Alignment of offsets and lengths of direct reads: a page, which every file system accepts.
const ALIGNMENT: u64 = BLOCK_BYTES as u64;

/// Blocks that the repeated requests read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayedBlocks {
    /// The same blocks as the sample, for samples that all read the same blocks.
    SameBlocks,
    /// Other blocks of the same files at the same distances, for samples with fresh keys. The host
    /// cache contains the blocks that the sample has just read. The other blocks are as unlikely to
    /// be in that cache as the sample's blocks were before the sample.
    Moved {
        /// Seed that decides the distance by which blocks are shifted.
        seed: u64,
    },
}

/// The requests of a sample to the device.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    /// The files that are read.
    pub files: Vec<PathBuf>,
    /// The range of bytes of each request, in order. An extent names its file by the index in
    /// `files`.
    pub extents: Vec<Extent>,
}

impl Requests {
    /// Finds the requests that a sample of `store` made for the calls in `log`.
    ///
    /// # Errors
    /// A sentence with the reason.
    pub fn find(store: &dyn Store, sample: &dyn Sample, log: &ReadLog) -> Result<Self, String> {
        let is_read = |index: &usize| log.present[*index] || store.reads_absent_rows();
        let requested: Vec<usize> = (0..log.rows.len()).filter(is_read).collect();
        let rows: Vec<RequestedRow> = requested.iter().map(|index| log.rows[*index]).collect();
        let places = sample.locate(&rows)?;
        let blocks = in_order_of_rows(&requested, &places);
        let most = store.merged_block_count_max();
        let mut joined =
            JoinedRequests { keeps_blocks: store.keeps_blocks(), ..JoinedRequests::default() };
        for call in &log.calls {
            let at = |row| blocks.partition_point(|(of, _)| *of < row);
            let of_call = &blocks[at(call.first_row)..at(call.first_row + call.row_count)];
            joined.call(of_call.iter().map(|(_, block)| *block), most);
        }
        Ok(Self { files: places.files, extents: joined.extents })
    }

    /// Returns the number of blocks that the requests read.
    pub fn block_count(&self) -> u64 {
        self.extents.iter().map(|extent| u64::from(extent.block_count)).sum()
    }

    /// Repeats the requests past the page cache, for at most `time`.
    ///
    /// # Errors
    /// [`MeasureError`].
    pub fn replay(
        &self,
        blocks: ReplayedBlocks,
        time: Duration,
        cancel: &AtomicBool,
    ) -> Result<ReadRate, MeasureError> {
        if self.extents.is_empty() {
            return Err(MeasureError::TooSmall { block_count: 0 });
        }
        let files = DirectFiles::open_in_order(&self.files)?;
        match blocks {
            ReplayedBlocks::SameBlocks => device::replay(&files, &self.extents, time, cancel),
            ReplayedBlocks::Moved { seed } => {
                device::replay(&files, &files.moved(&self.extents, seed), time, cancel)
            }
        }
    }
}

/// Returns the blocks in the order in which they are read, each with the index of its row. `requested`
/// has the indices of the located rows, ascending.
fn in_order_of_rows(requested: &[usize], places: &Places) -> Vec<(usize, BlockPlace)> {
    let mut before = places.before.iter().peekable();
    let mut blocks = Vec::with_capacity(requested.len() + places.before.len());
    for (located, (row, own)) in requested.iter().zip(&places.blocks).enumerate() {
        while let Some((_, block)) = before.next_if(|(of, _)| *of == located) {
            blocks.push((*row, *block));
        }
        blocks.extend(own.map(|block| (*row, block)));
    }
    blocks
}

/// Collects requests and joins them. A call reads each block once. If the store keeps blocks, later
/// calls do not read the block again.
#[derive(Default)]
struct JoinedRequests {
    keeps_blocks: bool,
    read: HashSet<(u32, u64)>,
    extents: Vec<Extent>,
}

impl JoinedRequests {
    /// Adds the blocks of a call. A request joins at most `most` blocks.
    fn call(&mut self, blocks: impl Iterator<Item = BlockPlace>, most: usize) {
        if !self.keeps_blocks {
            self.read.clear();
        }
        let read = &mut self.read;
        let mut new: Vec<_> =
            blocks.filter(|block| read.insert((block.file, block.offset))).collect();
        if most == 1 {
            self.extents.extend(new.iter().map(extent));
            return;
        }
        new.sort_unstable();
        for group in new.chunks(most) {
            let first = self.extents.len();
            for block in group {
                let next = extent(block);
                let last = self.extents[first..].last_mut();
                match last.filter(|last| can_join(last, &next)) {
                    Some(last) => {
                        let end = next.offset + u64::from(next.byte_count);
                        last.byte_count = (end - last.offset) as u32;
                        last.block_count += next.block_count;
                    }
                    None => self.extents.push(next),
                }
            }
        }
    }
}

/// Returns whether `next` is joined to `last`: no byte is between them, and the joined request is
/// not too long. `next` must not begin before `last`.
fn can_join(last: &Extent, next: &Extent) -> bool {
    let end = next.offset + u64::from(next.byte_count);
    last.file == next.file
        && next.offset <= last.offset + u64::from(last.byte_count)
        && end - last.offset <= JOINED_BYTES_MAX
}

/// Returns the whole pages that contain a block, as one request.
fn extent(block: &BlockPlace) -> Extent {
    let start = block.offset / ALIGNMENT * ALIGNMENT;
    let end = (block.offset + u64::from(block.byte_count)).next_multiple_of(ALIGNMENT);
    Extent {
        file: block.file,
        offset: start,
        byte_count: (end - start) as u32,
        block_count: block.block_count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(file: u32, offset: u64) -> BlockPlace {
        BlockPlace { file, offset, byte_count: 4096, block_count: 1 }
    }

    fn joined(calls: &[&[BlockPlace]], most: usize) -> Vec<(u32, u64, u32, u32)> {
        joined_by(JoinedRequests { keeps_blocks: true, ..JoinedRequests::default() }, calls, most)
    }

    fn joined_by(
        mut joined: JoinedRequests,
        calls: &[&[BlockPlace]],
        most: usize,
    ) -> Vec<(u32, u64, u32, u32)> {
        for call in calls {
            joined.call(call.iter().copied(), most);
        }
        let parts =
            |extent: Extent| (extent.file, extent.offset, extent.byte_count, extent.block_count);
        joined.extents.into_iter().map(parts).collect()
    }

    #[test]
    fn a_block_is_read_once_and_in_the_order_of_the_calls() {
        let calls: [&[_]; 3] = [&[block(0, 8192)], &[block(0, 0)], &[block(0, 8192)]];
        assert_eq!(joined(&calls, 1), [(0, 8192, 4096, 1), (0, 0, 4096, 1)]);
    }

    #[test]
    fn a_block_that_is_not_kept_is_read_by_each_call_once() {
        let calls: [&[_]; 2] = [&[block(0, 0), block(0, 0)], &[block(0, 0)]];
        assert_eq!(joined(&calls, 1).len(), 1);
        assert_eq!(joined_by(JoinedRequests::default(), &calls, 1).len(), 2);
    }

    #[test]
    fn blocks_of_a_group_that_touch_are_one_request_and_those_of_two_are_not() {
        let call = [block(0, 4096), block(1, 8192), block(0, 0), block(0, 12_288)];
        let together = [(0, 0, 8192, 2), (0, 12_288, 4096, 1), (1, 8192, 4096, 1)];
        assert_eq!(joined(&[&call], 32), together);
        assert_eq!(joined(&[&call[..2], &call[2..3]], 32).len(), 3);
        assert_eq!(joined(&[&[block(0, 0), block(0, 4096), block(0, 8192)]], 2).len(), 2);
    }

    #[test]
    fn blocks_on_the_way_to_a_row_come_before_its_own() {
        let places = Places {
            blocks: vec![Some(block(0, 0)), None, Some(block(0, 4096))],
            before: vec![(0, block(0, 8192)), (2, block(0, 12_288)), (2, block(0, 16_384))],
            ..Places::default()
        };
        let ordered = in_order_of_rows(&[3, 5, 8], &places);
        let offsets: Vec<_> = ordered.iter().map(|(row, block)| (*row, block.offset)).collect();
        assert_eq!(offsets, [(3, 8192), (3, 0), (8, 12_288), (8, 16_384), (8, 4096)]);
    }

    #[test]
    fn a_block_across_pages_takes_all_of_them() {
        let odd = BlockPlace { file: 0, offset: 4000, byte_count: 4105, block_count: 1 };
        assert_eq!(joined(&[&[odd]], 1), [(0, 0, 8192, 1)]);
        let next = BlockPlace { file: 0, offset: 8105, byte_count: 3900, block_count: 1 };
        assert_eq!(joined(&[&[odd, next]], 32), [(0, 0, 12_288, 2)]);
    }

    #[test]
    fn a_joined_request_is_bounded() {
        let blocks: Vec<_> = (0..32).map(|n| block(0, n * 4096)).collect();
        assert_eq!(joined(&[&blocks], 32), [(0, 0, 65_536, 16), (0, 65_536, 65_536, 16)]);
    }
}
