//! Folds (hashes) parts of tries: whole tries, or shards. If tries have shards, there are as many
//! folding threads as a trie has shards. Each thread takes the next part that is left. The shards
//! of a trie are joined after all parts are folded.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use trie::{Folded, Shard, Update};

use super::{
    error::RootError,
    part::{Extent, Part},
    work::RootWork,
};
use crate::{lock::lock, pool::WorkerPool, process, tries::TrieId};

/// A folded trie or shard.
#[derive(Debug)]
enum FoldedPart {
    Whole(Folded),
    Shard(Shard),
}

/// Folded parts in their order, whose shards are not joined yet.
#[derive(Debug)]
pub(super) struct FoldedParts(Vec<(TrieId, FoldedPart)>);

/// Parts that all threads fold together.
#[derive(Debug)]
pub(crate) struct FoldJob {
    parts: Vec<Mutex<Option<Part<Update>>>>,
    next: AtomicUsize,
    done: Mutex<Done>,
}

#[derive(Debug, Default)]
struct Done {
    /// Folded parts with their indices.
    parts: Vec<(usize, (TrieId, FoldedPart))>,
    cpu: Duration,
    error: Option<trie::Error>,
}

fn fold(part: Part<Update>) -> Result<(TrieId, FoldedPart), trie::Error> {
    let Part { trie, extent, stage } = part;
    let folded = match extent {
        Extent::Whole => FoldedPart::Whole(stage.fold()?),
        Extent::FirstShard | Extent::OtherShard => FoldedPart::Shard(stage.fold_shard()?),
    };
    Ok((trie, folded))
}

/// Calls `run`. Returns its result, and the CPU time that the calling thread spent in it.
fn with_cpu_time<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let start = process::thread_cpu_time();
    let result = run();
    (result, process::thread_cpu_since(start))
}

impl FoldJob {
    fn new(parts: Vec<Part<Update>>) -> Self {
        let parts = parts.into_iter().map(|part| Mutex::new(Some(part))).collect();
        Self { parts, next: AtomicUsize::new(0), done: Mutex::default() }
    }

    /// Folds parts until no part is left.
    pub(super) fn work(&self) {
        let mut parts = Vec::new();
        let (folded, cpu) = with_cpu_time(|| -> Result<(), trie::Error> {
            loop {
                let index = self.next.fetch_add(1, Ordering::Relaxed);
                let Some(part) = self.parts.get(index) else { return Ok(()) };
                if let Some(part) = lock(part).take() {
                    parts.push((index, fold(part)?));
                }
            }
        });
        if folded.is_err() {
            self.next.store(self.parts.len(), Ordering::Relaxed);
        }
        let mut done = lock(&self.done);
        done.parts.extend(parts);
        done.cpu += cpu;
        done.error = done.error.take().or(folded.err());
    }
}

/// The threads that fold. If tries are not divided into shards, there are no such threads, and the
/// calling thread folds.
#[derive(Clone, Copy)]
pub(crate) struct Folders<'a> {
    pub(super) pool: &'a WorkerPool<'a, FoldJob>,
    pub(super) thread_count: usize,
}

impl Folders<'_> {
    /// Folds all parts.
    ///
    /// # Errors
    /// Nodes and rows make no trie, or no thread could begin.
    pub(super) fn fold(
        &self,
        parts: Vec<Part<Update>>,
        work: &mut RootWork,
    ) -> Result<FoldedParts, RootError> {
        if self.thread_count == 0 {
            let (folded, cpu) =
                with_cpu_time(|| parts.into_iter().map(fold).collect::<Result<Vec<_>, _>>());
            work.fold_cpu += cpu;
            return Ok(FoldedParts(folded?));
        }
        let part_count = parts.len();
        self.pool.post(Arc::new(FoldJob::new(parts)));
        let job = self.pool.finish().ok_or(RootError::Cancelled)?;
        let Done { mut parts, cpu, error } = std::mem::take(&mut *lock(&job.done));
        work.fold_cpu += cpu;
        if let Some(error) = error {
            return Err(error.into());
        }
        if parts.len() < part_count {
            return Err(RootError::Cancelled);
        }
        parts.sort_unstable_by_key(|(index, _)| *index);
        Ok(FoldedParts(parts.into_iter().map(|(_, part)| part).collect()))
    }
}

impl FoldedParts {
    /// Returns the tries in their order, with the shards of each trie joined.
    ///
    /// # Errors
    /// The shards make no trie.
    pub(super) fn join(self, work: &mut RootWork) -> Result<Vec<(TrieId, Folded)>, trie::Error> {
        let (joined, cpu) = with_cpu_time(|| {
            let (mut joined, mut shards) = (Vec::new(), Vec::new());
            let mut parts = self.0.into_iter().peekable();
            while let Some((trie, folded)) = parts.next() {
                match folded {
                    FoldedPart::Whole(folded) => joined.push((trie, folded)),
                    FoldedPart::Shard(shard) => {
                        shards.push(shard);
                        if parts.peek().is_none_or(|(next, _)| *next != trie) {
                            joined.push((trie, trie::join(std::mem::take(&mut shards))?));
                        }
                    }
                }
            }
            Ok::<_, trie::Error>(joined)
        });
        work.fold_cpu += cpu;
        let joined = joined?;
        joined.iter().for_each(|(_, folded)| work.add(folded));
        Ok(joined)
    }
}
