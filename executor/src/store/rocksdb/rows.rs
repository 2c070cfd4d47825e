//! Iterates over all rows of a column family in the order of their keys, for scans and builds. Each
//! row is borrowed until the next call: an iterator over owned rows would allocate twice for each
//! row.

use ::rocksdb::{ColumnFamily, DB, DBRawIterator, Error, ReadOptions};

/// A row's key and value.
pub(super) type Row<'r> = (&'r [u8], &'r [u8]);

/// The rows within the bounds of the read options, in order.
pub(super) struct Rows<'a> {
    rows: DBRawIterator<'a>,
    /// True if [`Self::next`] has returned the current row of `rows`.
    lent: bool,
}

impl<'a> Rows<'a> {
    /// Makes an iterator that begins at the first row.
    pub(super) fn new(db: &'a DB, family: &ColumnFamily, reads: ReadOptions) -> Self {
        let mut rows = db.raw_iterator_cf_opt(family, reads);
        rows.seek_to_first();
        Self { rows, lent: false }
    }

    /// Reads the next row; `None` after the last one.
    ///
    /// # Errors
    /// RocksDB's error if the next row cannot be read.
    pub(super) fn next(&mut self) -> Result<Option<Row<'_>>, Error> {
        if self.lent {
            self.rows.next();
        }
        self.lent = true;
        match self.rows.item() {
            Some(row) => Ok(Some(row)),
            None => self.rows.status().map(|()| None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::rocksdb::options;

    /// Makes a database with the keys 1 to 6.
    fn database(dir: &std::path::Path) -> DB {
        let settings = options::database_for_building();
        let db = DB::open_cf(&settings, dir, [options::STORAGE]).unwrap();
        let family = db.cf_handle(options::STORAGE).unwrap();
        // The keys are written out of order.
        for key in [4_u8, 1, 6, 3, 2, 5] {
            db.put_cf(family, [key], [key; 3]).unwrap();
        }
        db
    }

    fn keys(db: &DB, reads: ReadOptions) -> Vec<u8> {
        let mut rows = Rows::new(db, db.cf_handle(options::STORAGE).unwrap(), reads);
        let mut keys = Vec::new();
        while let Some((key, value)) = rows.next().unwrap() {
            assert_eq!(value, [key[0]; 3]);
            keys.extend(key);
        }
        // The end stays the end.
        assert!(rows.next().unwrap().is_none());
        keys
    }

    #[test]
    fn each_row_comes_once_in_the_order_of_keys_and_within_the_bounds() {
        let dir = tempfile::tempdir().unwrap();
        let db = database(dir.path());
        assert_eq!(keys(&db, options::scan_reads()), [1, 2, 3, 4, 5, 6]);
        let mut inner = options::scan_reads();
        inner.set_iterate_lower_bound([2_u8]);
        inner.set_iterate_upper_bound([5_u8]);
        assert_eq!(keys(&db, inner), [2, 3, 4]);
        let mut none = options::scan_reads();
        none.set_iterate_lower_bound([7_u8]);
        assert!(keys(&db, none).is_empty());
    }
}
