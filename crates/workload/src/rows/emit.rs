//! Pass 2: hashes and sorts the rows of one part, and passes them to a sink.

use crate::{
    layout::ACCOUNT_VALUE_BYTES,
    rows::{
        RowSettings,
        error::RowError,
        plan::{PartKind, TablePlan},
        sort::{Sorter, prefix},
        source::{AccountRecord, CHUNK, Record, Source},
        weyl::WeylOrder,
    },
};

/// Buffers of one thread that emits parts; make them once and use them for all parts.
#[derive(Debug, Default)]
pub struct PartBuffers {
    pub(super) slots: Buffers<u32, [u8; 32]>,
    pub(super) accounts: Buffers<AccountRecord, [u8; ACCOUNT_VALUE_BYTES]>,
}

/// Buffers for the rows of one source: the records of a part with their key parts, and the chunk
/// that goes to the sink next.
#[derive(Debug)]
pub(super) struct Buffers<R, V> {
    records: Vec<R>,
    parts: Vec<[u8; 32]>,
    sorter: Sorter,
    chunk: Chunk<R, V>,
}

impl<R, V> Default for Buffers<R, V> {
    fn default() -> Self {
        let (records, parts, sorter) = (Vec::new(), Vec::new(), Sorter::default());
        let chunk = Chunk { records: Vec::new(), parts: Vec::new(), values: Vec::new() };
        Self { records, parts, sorter, chunk }
    }
}

/// Consecutive rows that go to the sink next.
#[derive(Debug)]
struct Chunk<R, V> {
    records: Vec<R>,
    parts: Vec<[u8; 32]>,
    values: Vec<V>,
}

impl<R: Record, V: AsRef<[u8]> + Copy> Buffers<R, V> {
    /// Emits a part of `plan`.
    pub(super) fn emit<S, E>(
        &mut self,
        plan: &TablePlan<S>,
        part: usize,
        settings: &RowSettings<'_>,
        sink: &mut impl FnMut(&[u8], &[u8]) -> Result<(), E>,
    ) -> Result<(), E>
    where
        S: Source<Record = R, Value = V>,
        E: From<RowError>,
    {
        let part = &plan.parts[part];
        match &part.kind {
            PartKind::Whole(sources) => {
                for planned in &plan.sources[sources.clone()] {
                    self.records.clear();
                    let source = &planned.source;
                    source.records(0..source.row_count(), &mut self.records)?;
                    self.emit_sorted(source, 1, settings, sink)?;
                }
                Ok(())
            }
            PartKind::Bucket { source, bucket } => {
                let planned = &plan.sources[*source];
                let Some(buckets) = &planned.buckets else {
                    panic!("source {source} has a part of a bucket, but no buckets")
                };
                self.records.clear();
                buckets.read(*bucket, &plan.scratch, settings, &mut self.records)?;
                self.emit_sorted(&planned.source, buckets.count(), settings, sink)
            }
            PartKind::Run { source, order, first } => {
                let run = Run { order, first: *first, row_count: part.row_count };
                self.emit_run(&plan.sources[*source].source, run, settings, sink)
            }
        }
    }

    /// Emits `self.records` in the order of their keys. All records must be in the same one of
    /// `bucket_count` buckets.
    fn emit_sorted<S, E>(
        &mut self,
        source: &S,
        bucket_count: u64,
        settings: &RowSettings<'_>,
        sink: &mut impl FnMut(&[u8], &[u8]) -> Result<(), E>,
    ) -> Result<(), E>
    where
        S: Source<Record = R, Value = V>,
        E: From<RowError>,
    {
        let count = self.records.len();
        self.parts.resize(count, [0; 32]);
        // Hashes in pieces, so that cancelling does not wait for a million hashes.
        for (records, parts) in
            self.records.chunks(CHUNK * 64).zip(self.parts.chunks_mut(CHUNK * 64))
        {
            settings.check_cancel()?;
            source.parts(records, parts);
        }
        let mut key = RowBuffer::new(source);
        for entries in self.sorter.sort(&self.parts, bucket_count).chunks(CHUNK) {
            settings.check_cancel()?;
            self.chunk.records.clear();
            self.chunk.parts.clear();
            // These reads are at random addresses. They come first, so that their cache misses
            // overlap.
            for entry in entries {
                self.chunk.parts.push(self.parts[entry.index as usize]);
                self.chunk.records.push(self.records[entry.index as usize]);
            }
            self.chunk.emit(source, &mut key, sink)?;
        }
        Ok(())
    }

    /// Emits consecutive points of a Weyl sequence, whose order is known.
    fn emit_run<S, E>(
        &mut self,
        source: &S,
        run: Run<'_>,
        settings: &RowSettings<'_>,
        sink: &mut impl FnMut(&[u8], &[u8]) -> Result<(), E>,
    ) -> Result<(), E>
    where
        S: Source<Record = R, Value = V>,
        E: From<RowError>,
    {
        let mut key = RowBuffer::new(source);
        let (mut index, mut remaining) = (run.first, run.row_count);
        while remaining > 0 {
            settings.check_cancel()?;
            let count = remaining.min(CHUNK as u64);
            self.chunk.records.clear();
            for _ in 0..count {
                source.records(index..index + 1, &mut self.chunk.records)?;
                index = run.order.next(index);
            }
            self.chunk.parts.resize(count as usize, [0; 32]);
            source.parts(&self.chunk.records, &mut self.chunk.parts);
            self.chunk.emit(source, &mut key, sink)?;
            remaining -= count;
        }
        Ok(())
    }
}

/// Consecutive points of a Weyl sequence in ascending order.
struct Run<'a> {
    order: &'a WeylOrder,
    first: u64,
    row_count: u64,
}

/// Buffer of a row's key. The prefix stays, and each row overwrites the part after it. `last` has
/// the part and the record of the row before.
struct RowBuffer<R> {
    bytes: [u8; 64],
    prefix_bytes: usize,
    key_bytes: usize,
    last: Option<([u8; 32], R)>,
}

impl<R> RowBuffer<R> {
    fn new(source: &impl Source<Record = R>) -> Self {
        let prefix = source.key_prefix();
        let mut bytes = [0; 64];
        bytes[..prefix.len()].copy_from_slice(prefix);
        let key_bytes = prefix.len() + source.part_bytes();
        Self { bytes, prefix_bytes: prefix.len(), key_bytes, last: None }
    }
}

impl<R: Record, V: AsRef<[u8]> + Copy> Chunk<R, V> {
    /// Passes the chunk's rows to the sink. Two rows with one key are an error.
    fn emit<S, E>(
        &mut self,
        source: &S,
        key: &mut RowBuffer<R>,
        sink: &mut impl FnMut(&[u8], &[u8]) -> Result<(), E>,
    ) -> Result<(), E>
    where
        S: Source<Record = R, Value = V>,
        E: From<RowError>,
    {
        self.values.resize(self.records.len(), S::NO_VALUE);
        source.values(&self.records, &mut self.values);
        for ((record, part), value) in self.records.iter().zip(&self.parts).zip(&self.values) {
            // Prefixes decide almost always, and are compared faster.
            if let Some((last, before)) = &key.last
                && prefix(last) >= prefix(part)
                && last >= part
            {
                assert!(last == part, "rows are out of order: {last:02x?} before {part:02x?}");
                return Err(source.duplicate(before, record).into());
            }
            key.last = Some((*part, *record));
            key.bytes[key.prefix_bytes..key.key_bytes]
                .copy_from_slice(&part[..key.key_bytes - key.prefix_bytes]);
            sink(&key.bytes[..key.key_bytes], value.as_ref())?;
        }
        Ok(())
    }
}
