//! Finds the blocks of a state's rows by the indices of its table files, for [`Sample::locate`].
//! Refuses a state in which a row may be in several files.
//!
//! [`Sample::locate`]: crate::store::Sample::locate

use std::{fs::File, path::PathBuf};

use ::rocksdb::{DB, LiveFile};
use workload::{Layout, Table};

use super::{format::RocksFormat, options, sst::SstIndex};
use crate::{
    place::{BlockPlace, Places, RequestedRow, keys},
    state::BuiltState,
};
use variant::IndexShape;

/// The table files of a state, and their indices.
#[derive(Debug)]
pub(super) struct Blocks {
    files: Vec<PathBuf>,
    /// The files of each table, in ascending order of keys.
    tables: [Vec<TableFile>; 3],
}

#[derive(Debug)]
struct TableFile {
    /// Index of the file in [`Blocks::files`].
    file: u32,
    first_key: Vec<u8>,
    last_key: Vec<u8>,
    index: SstIndex,
}

impl Blocks {
    /// Reads the indices of all table files of `state`. `db` is open over these files.
    ///
    /// # Errors
    /// The reason, in words.
    pub(super) fn of(state: &BuiltState, format: &RocksFormat, db: &DB) -> Result<Self, String> {
        if format.aged_ppm > 0 {
            return Err("the state is aged: a row may lie in files of several levels".to_owned());
        }
        if format.index == IndexShape::Partitioned {
            return Err("the index is in partitions, which are read like rows".to_owned());
        }
        let live = db.live_files().map_err(|error| error.to_string())?;
        let mut blocks = Self { files: Vec::new(), tables: Default::default() };
        for (table, files) in Table::ALL.into_iter().zip(&mut blocks.tables) {
            let family = options::family_of(table);
            for file in live.iter().filter(|file| file.column_family_name == family) {
                files.push(TableFile::open(state, file, &mut blocks.files)?);
            }
            files.sort_unstable_by(|a, b| a.first_key.cmp(&b.first_key));
            if files.windows(2).any(|pair| pair[0].last_key >= pair[1].first_key) {
                return Err("table files overlap: a row may lie in several".to_owned());
            }
        }
        Ok(blocks)
    }

    /// Returns for each row the block that a read of the row uses. For an absent row, this is the
    /// block that would hold it; a filter mostly prevents that read.
    ///
    /// # Errors
    /// The reason, in words.
    pub(super) fn locate(&self, layout: Layout, rows: &[RequestedRow]) -> Result<Places, String> {
        let blocks = keys(rows, layout).into_iter().map(|(table, key)| {
            self.block_of(table, key.as_slice()).map_err(|error| error.to_string())
        });
        let blocks = blocks.collect::<Result<_, _>>()?;
        Ok(Places { files: self.files.clone(), blocks, ..Places::default() })
    }

    fn block_of(&self, table: Table, key: &[u8]) -> std::io::Result<Option<BlockPlace>> {
        let table_index = Table::ALL.iter().position(|other| *other == table).unwrap_or_default();
        let files = &self.tables[table_index];
        let file_index = files.partition_point(|file| file.last_key.as_slice() < key);
        let Some(file) = files.get(file_index).filter(|file| file.first_key.as_slice() <= key)
        else {
            return Ok(None);
        };
        Ok(file.index.find(key)?.map(|handle| BlockPlace {
            file: file.file,
            offset: handle.offset,
            byte_count: u32::try_from(handle.read_byte_count()).unwrap_or(u32::MAX),
            block_count: 1,
        }))
    }
}

impl TableFile {
    fn open(state: &BuiltState, live: &LiveFile, files: &mut Vec<PathBuf>) -> Result<Self, String> {
        let path = state.dir().join(live.name.trim_start_matches('/'));
        let index = File::open(&path).and_then(|file| SstIndex::read(&file));
        let index = index.map_err(|error| format!("{}: {error}", path.display()))?;
        let file = u32::try_from(files.len()).unwrap_or(u32::MAX);
        files.push(path);
        let [first_key, last_key] =
            [&live.start_key, &live.end_key].map(|key| key.clone().unwrap_or_default());
        Ok(Self { file, first_key, last_key, index })
    }
}
