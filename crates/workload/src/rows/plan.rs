//! Cuts a table into parts: several small sources, one bucket of a large source, or a run of a Weyl
//! sequence. While planning, pass 1 of [`super`] scatters large sources without a known order into
//! buckets.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use alloy_primitives::{B256, Bytes, keccak256};

use crate::{
    accounts::CodeHashes,
    genesis::{AccountFamily, Genesis},
    rows::{
        RowProgress, RowSettings,
        error::RowError,
        scatter::{Buckets, Scratch},
        sort::first_of_bin,
        source::{Record, Source},
        weyl::WeylOrder,
    },
};

/// Number of points of a Weyl sequence that are walked between two checks for cancellation.
const WALK_CHECK_POINTS: u64 = 1 << 16;

/// The sources of a table, and its parts.
#[derive(Debug)]
pub(super) struct TablePlan<S> {
    /// Sources by ascending key prefix.
    pub(super) sources: Vec<PlannedSource<S>>,
    pub(super) parts: Vec<Part>,
    pub(super) scratch: Scratch,
}

/// A source, and its buckets where pass 1 scattered it.
#[derive(Debug)]
pub(super) struct PlannedSource<S> {
    pub(super) source: S,
    pub(super) buckets: Option<Buckets>,
}

/// Rows that are emitted together.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) row_count: u64,
    pub(super) kind: PartKind,
}

/// The contents of a part.
#[derive(Debug)]
pub(super) enum PartKind {
    /// Whole sources, one after the other.
    Whole(Range<usize>),
    /// One bucket of a source.
    Bucket { source: usize, bucket: usize },
    /// A run of a Weyl sequence in order, from an index on.
    Run { source: usize, order: WeylOrder, first: u64 },
}

impl<S: Source> TablePlan<S> {
    /// Plans `sources`, which ascend by key prefix. Scatters the large sources without a known
    /// order.
    pub(super) fn new(
        sources: Vec<S>,
        settings: &RowSettings<'_>,
        progress: &(dyn Fn(RowProgress) + Sync),
    ) -> Result<Self, RowError> {
        let part_rows = settings.part_row_count_max.max(1);
        let (mut scanned_rows, mut scattered_rows) = (0, 0);
        for source in sources.iter().filter(|source| source.row_count() > part_rows) {
            scanned_rows += source.row_count();
            if source.known_order().is_none() {
                scattered_rows += source.row_count();
            }
        }
        let done = AtomicU64::new(0);
        let scanned = |rows: u64| {
            let done_row_count = done.fetch_add(rows, Ordering::Relaxed) + rows;
            progress(RowProgress { done_row_count, total_row_count: scanned_rows });
        };
        let scratch = Scratch::new(scattered_rows * S::Record::BYTES as u64, settings)?;
        let mut plan = Self { sources: Vec::with_capacity(sources.len()), parts: vec![], scratch };
        for source in sources {
            let index = plan.sources.len();
            let row_count = source.row_count();
            let mut buckets = None;
            if let Some(order) = source.known_order() {
                plan.add_runs(index, row_count, order, settings, &scanned)?;
            } else if row_count <= part_rows {
                plan.add_whole(index, row_count, part_rows);
            } else {
                // Random keys fill buckets unevenly: counts differ from the mean by a few times its
                // square root. So the mean is 15/16 of the maximum.
                let count = row_count.div_ceil((part_rows - part_rows / 16).max(1));
                // With a multiple of 16 buckets, all keys of a bucket share their first nibble. So
                // each bucket is below one branch of the trie's root.
                let count = count.next_multiple_of(16);
                let made = Buckets::scatter(&source, count, &plan.scratch, settings, &scanned)?;
                plan.parts.extend(made.row_counts().enumerate().map(|(bucket, row_count)| Part {
                    row_count,
                    kind: PartKind::Bucket { source: index, bucket },
                }));
                buckets = Some(made);
            }
            plan.sources.push(PlannedSource { source, buckets });
        }
        Ok(plan)
    }

    /// A lower bound of the keys of a part, above all keys of earlier parts.
    pub(super) fn part_start(&self, part: usize) -> Result<Vec<u8>, RowError> {
        let mut start = [[0; 32]];
        let source = match &self.parts[part].kind {
            PartKind::Whole(sources) => {
                return Ok(self.sources[sources.start].source.key_prefix().to_vec());
            }
            PartKind::Run { source, first, .. } => {
                let (source, mut record) = (&self.sources[*source].source, Vec::new());
                source.records(*first..*first + 1, &mut record)?;
                source.parts(&record, &mut start);
                source
            }
            PartKind::Bucket { source, bucket } => {
                let planned = &self.sources[*source];
                let count = planned.buckets.as_ref().map_or(1, Buckets::count);
                let least = first_of_bin(*bucket as u64, count);
                start[0][..8].copy_from_slice(&least.to_be_bytes());
                &planned.source
            }
        };
        Ok([source.key_prefix(), &start[0][..source.part_bytes()]].concat())
    }

    /// Adds a whole source: to the last part if that has room, else as a new part.
    fn add_whole(&mut self, source: usize, row_count: u64, part_rows: u64) {
        if let Some(Part { row_count: rows, kind: PartKind::Whole(range) }) = self.parts.last_mut()
            && *rows + row_count <= part_rows
        {
            *rows += row_count;
            range.end = source + 1;
            return;
        }
        self.parts.push(Part { row_count, kind: PartKind::Whole(source..source + 1) });
    }

    /// Adds the runs of a Weyl sequence, and walks to the first index of each.
    fn add_runs(
        &mut self,
        source: usize,
        row_count: u64,
        order: WeylOrder,
        settings: &RowSettings<'_>,
        scanned: &dyn Fn(u64),
    ) -> Result<(), RowError> {
        let part_rows = settings.part_row_count_max.max(1);
        let mut index = order.first();
        let mut remaining = row_count;
        while remaining > 0 {
            let run = remaining.min(part_rows);
            let kind = PartKind::Run { source, order, first: index };
            self.parts.push(Part { row_count: run, kind });
            remaining -= run;
            let walk = if remaining > 0 { run } else { 0 };
            for walked in 0..walk {
                if walked.is_multiple_of(WALK_CHECK_POINTS) {
                    settings.check_cancel()?;
                }
                index = order.next(index);
            }
            if row_count > part_rows {
                scanned(run);
            }
        }
        Ok(())
    }
}

/// A code of a recipe.
#[derive(Clone, Copy, Debug)]
pub(super) enum RecipeCode<'a> {
    /// Code of an explicit account.
    Explicit(&'a Bytes),
    /// Generated code of a family, by its index among the family's codes.
    Made(&'a AccountFamily, u64),
}

impl RecipeCode<'_> {
    /// The code's bytes.
    pub(super) fn bytes(&self) -> Bytes {
        match self {
            Self::Explicit(bytes) => (*bytes).clone(),
            Self::Made(family, index) => family.code(*index),
        }
    }
}

/// The codes of all accounts, each once, by ascending hash.
pub(super) fn codes<'a>(genesis: &'a Genesis, made: &CodeHashes) -> Vec<(B256, RecipeCode<'a>)> {
    let accounts = genesis.accounts.iter().filter(|account| !account.code.is_empty());
    let explicit =
        accounts.map(|account| (keccak256(&account.code), RecipeCode::Explicit(&account.code)));
    let families = &genesis.account_families;
    let made =
        made.iter().map(|(hash, family, index)| (hash, RecipeCode::Made(&families[family], index)));
    let mut codes: Vec<_> = explicit.chain(made).collect();
    codes.sort_unstable_by_key(|(hash, _)| *hash);
    codes.dedup_by_key(|(hash, _)| *hash);
    codes
}
