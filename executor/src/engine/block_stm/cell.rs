//! State of one key: its value before the batch, the writes of the batch's steps, and the highest
//! step that read it. The cell is plain data; `memory.rs` has one lock for each cell.
//!
//! A read and the mark of the reading step are one transition under the lock. A write and the check
//! of that mark are one transition, too. So either the reader sees the write, or the writer sees
//! the reader. A step with a wrong read is always marked as dirty (`scheduler.rs`).

use workload::BlockAccessIndex;

use super::task::Finality;

/// The write of one step to the key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Version<V> {
    index: BlockAccessIndex,
    incarnation: u32,
    /// True if the run that wrote the version was aborted. The value is then unusable, and the
    /// step's next run will probably write another.
    is_estimate: bool,
    value: V,
}

/// The value before the batch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
enum Base<B> {
    #[default]
    Unread,
    /// A worker is reading the value from the store.
    Claimed,
    Known(B),
}

/// The older versions of a key that a write keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retained {
    /// None, because the run that writes is final.
    None,
    /// The versions that this step or a later one may read. All lower steps are committed.
    From(BlockAccessIndex),
}

/// The result of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found<B, V> {
    /// The highest lower step that wrote the key, and the value that it wrote.
    Written(BlockAccessIndex, V),
    /// The last run of the highest lower step that wrote the key was aborted.
    Estimate(BlockAccessIndex),
    /// No lower step wrote the key, and this is the value before the batch.
    Base(B),
    /// No lower step wrote the key, and the caller must read the value from the store.
    ToRead,
    /// No lower step wrote the key, and another worker is reading the value.
    BeingRead,
}

/// A key's state. `B` is the type of its value before the batch, `V` the type of a written value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Cell<B, V> {
    base: Base<B>,
    /// The version of the highest step.
    top: Option<Version<V>>,
    /// The versions of the other steps, by ascending step. Most keys have none.
    lower: Vec<Version<V>>,
    /// The highest step that read the key while lower steps could still write it.
    reader: BlockAccessIndex,
}

impl<B, V> Default for Cell<B, V> {
    fn default() -> Self {
        Self { base: Base::Unread, top: None, lower: Vec::new(), reader: 0 }
    }
}

impl<B: Clone, V: Clone + PartialEq> Cell<B, V> {
    fn below(&self, index: BlockAccessIndex) -> Option<&Version<V>> {
        match &self.top {
            Some(top) if top.index < index => Some(top),
            _ => self.lower.iter().rev().find(|version| version.index < index),
        }
    }

    /// Reads as the step `index`, and marks the step as a reader unless its run is final.
    pub(super) fn read(&mut self, index: BlockAccessIndex, finality: Finality) -> Found<B, V> {
        self.mark_reader(index, finality);
        match self.below(index) {
            Some(version) if version.is_estimate => Found::Estimate(version.index),
            Some(version) => Found::Written(version.index, version.value.clone()),
            None => self.base_or_claim(),
        }
    }

    /// Reads as [`Self::read`] does, on a shard. Writes of other shards arrive together with the
    /// value before the batch. Until it has arrived, a write of another shard may be missing, so no
    /// version is read.
    pub(super) fn read_on_shard(
        &mut self,
        index: BlockAccessIndex,
        finality: Finality,
    ) -> Found<B, V> {
        match self.base_or_claim() {
            Found::Base(_) => self.read(index, finality),
            unknown => {
                self.mark_reader(index, finality);
                unknown
            }
        }
    }

    fn mark_reader(&mut self, index: BlockAccessIndex, finality: Finality) {
        if finality == Finality::Speculative {
            self.reader = self.reader.max(index);
        }
    }

    /// Returns the value before the batch, if it is known. Otherwise claims the read of this value
    /// for the caller, unless another worker has claimed it.
    pub(super) fn base_or_claim(&mut self) -> Found<B, V> {
        match &self.base {
            Base::Known(base) => Found::Base(base.clone()),
            Base::Claimed => Found::BeingRead,
            Base::Unread => {
                self.base = Base::Claimed;
                Found::ToRead
            }
        }
    }

    /// Returns the value that the step `index` wrote, if any.
    pub(super) fn written_by(&self, index: BlockAccessIndex) -> Option<&V> {
        self.versions().find_map(|(step, _, value)| (step == index).then_some(value))
    }

    /// Returns the step, the incarnation and the value of each version, by ascending step. The
    /// incarnation is the number of the step's run, from 1 on.
    pub(super) fn versions(&self) -> impl Iterator<Item = (BlockAccessIndex, u32, &V)> {
        let all = self.lower.iter().chain(&self.top);
        all.map(|version| (version.index, version.incarnation, &version.value))
    }

    /// Returns the write that the step `index` would read: that of the highest lower step that
    /// wrote the key.
    pub(super) fn written_below(&self, index: BlockAccessIndex) -> Option<(BlockAccessIndex, &V)> {
        self.below(index).map(|version| (version.index, &version.value))
    }

    /// Reads as the step `index`, for a slot whose value before the batch does not count, because
    /// the batch created its account. `None` if no lower step wrote the key. An error names the
    /// step whose last run was aborted.
    pub(super) fn read_written(
        &mut self,
        index: BlockAccessIndex,
        finality: Finality,
    ) -> Result<Option<V>, BlockAccessIndex> {
        self.mark_reader(index, finality);
        match self.below(index) {
            Some(version) if version.is_estimate => Err(version.index),
            version => Ok(version.map(|version| version.value.clone())),
        }
    }

    /// Returns whether the step `index` would now read `seen`; `None` is the value before the
    /// batch.
    pub(super) fn would_read(
        &self,
        index: BlockAccessIndex,
        seen: Option<impl PartialEq<V>>,
    ) -> bool {
        match (self.below(index), seen) {
            (None, None) => true,
            (Some(version), Some(seen)) => !version.is_estimate && seen == version.value,
            _ => false,
        }
    }

    /// Sets the value before the batch, which a worker has read after [`Found::ToRead`].
    pub(super) fn set_base(&mut self, base: B) {
        self.base = Base::Known(base);
    }

    /// Returns the value before the batch, if it is known.
    pub(super) const fn base(&self) -> Option<&B> {
        match &self.base {
            Base::Known(base) => Some(base),
            Base::Unread | Base::Claimed => None,
        }
    }

    /// Returns the write of the highest step that wrote the key.
    pub(super) fn last(&self) -> Option<(BlockAccessIndex, &V)> {
        self.top.as_ref().map(|top| (top.index, &top.value))
    }

    /// Number of versions.
    #[cfg(test)]
    pub(super) fn version_count(&self) -> usize {
        usize::from(self.top.is_some()) + self.lower.len()
    }

    /// Writes as the step `index`, and removes the lower versions that `retained` does not keep.
    /// Returns the highest step that may have read another value.
    pub(super) fn write(
        &mut self,
        index: BlockAccessIndex,
        incarnation: u32,
        value: V,
        retained: Retained,
    ) -> Option<BlockAccessIndex> {
        let new = Version { index, incarnation, is_estimate: false, value };
        let last_reader = (self.reader > index).then_some(self.reader);
        match &mut self.top {
            Some(top) if top.index == index => {
                let is_same = top.value == new.value;
                *top = new;
                last_reader.filter(|_| !is_same)
            }
            Some(top) if top.index < index => {
                let old = std::mem::replace(top, new);
                match retained {
                    Retained::None => self.lower.clear(),
                    Retained::From(committed) => {
                        self.lower.push(old);
                        self.forget(committed);
                    }
                }
                last_reader
            }
            Some(_) => self.write_lower(new, last_reader),
            None => {
                self.top = Some(new);
                last_reader
            }
        }
    }

    fn write_lower(
        &mut self,
        new: Version<V>,
        last_reader: Option<BlockAccessIndex>,
    ) -> Option<BlockAccessIndex> {
        match self.lower.binary_search_by_key(&new.index, |version| version.index) {
            Ok(position) => {
                let is_same = self.lower[position].value == new.value;
                self.lower[position] = new;
                last_reader.filter(|_| !is_same)
            }
            Err(position) => {
                self.lower.insert(position, new);
                last_reader
            }
        }
    }

    /// Removes the versions of committed steps, except the last one. `committed` is the lowest step
    /// that is not committed.
    fn forget(&mut self, committed: BlockAccessIndex) {
        let below = self.lower.iter().take_while(|version| version.index < committed).count();
        if below > 1 {
            self.lower.drain(..below - 1);
        }
    }

    /// Marks the write of the step `index` as an estimate.
    pub(super) fn mark_estimate(&mut self, index: BlockAccessIndex) {
        if let Some(version) = self.version_mut(index) {
            version.is_estimate = true;
        }
    }

    /// Removes the write of the step `index`, unless the run `incarnation` of the step made it.
    /// Returns the highest step that may have read the removed write.
    pub(super) fn remove_older(
        &mut self,
        index: BlockAccessIndex,
        incarnation: u32,
    ) -> Option<BlockAccessIndex> {
        if self.version_mut(index).is_none_or(|version| version.incarnation == incarnation) {
            return None;
        }
        match &self.top {
            Some(top) if top.index == index => self.top = self.lower.pop(),
            _ => self.lower.retain(|version| version.index != index),
        }
        (self.reader > index).then_some(self.reader)
    }

    fn version_mut(&mut self, index: BlockAccessIndex) -> Option<&mut Version<V>> {
        match &mut self.top {
            Some(top) if top.index == index => Some(top),
            _ => self.lower.iter_mut().find(|version| version.index == index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Numbers = Cell<u64, u64>;

    #[test]
    fn a_step_reads_the_highest_lower_write_and_never_its_own_or_a_higher_one() {
        let mut cell = Numbers::default();
        assert_eq!(cell.read(5, Finality::Speculative), Found::ToRead);
        assert_eq!(cell.read(5, Finality::Speculative), Found::BeingRead);
        cell.set_base(100);
        assert_eq!(cell.write(7, 1, 70, Retained::From(0)), None);
        assert_eq!(cell.write(3, 1, 30, Retained::From(0)), Some(5));
        assert_eq!(cell.write(5, 1, 50, Retained::From(0)), None);
        let read = |cell: &mut Numbers, index| cell.read(index, Finality::Speculative);
        assert_eq!(read(&mut cell, 3), Found::Base(100));
        assert_eq!(read(&mut cell, 4), Found::Written(3, 30));
        assert_eq!(read(&mut cell, 7), Found::Written(5, 50));
        assert_eq!(read(&mut cell, 8), Found::Written(7, 70));
    }

    #[test]
    fn whoever_read_before_a_write_is_known_to_the_writer() {
        let mut cell = Numbers::default();
        cell.set_base(0);
        cell.read(9, Finality::Final);
        assert_eq!(cell.write(1, 1, 5, Retained::From(0)), None, "a final run cannot be disturbed");
        cell.read(9, Finality::Speculative);
        cell.read(4, Finality::Speculative);
        assert_eq!(cell.write(2, 1, 6, Retained::From(0)), Some(9));
        assert_eq!(cell.write(2, 2, 6, Retained::From(0)), None, "the same again changes nothing");
        assert_eq!(cell.write(2, 3, 7, Retained::From(0)), Some(9));
        assert_eq!(cell.remove_older(2, 3), None);
        assert_eq!(cell.remove_older(2, 4), Some(9));
        assert!(cell.would_read(9, Some(5)));
    }

    #[test]
    fn an_estimate_is_not_a_value_until_it_is_written_again() {
        let mut cell = Numbers::default();
        cell.set_base(0);
        cell.write(2, 1, 6, Retained::From(0));
        cell.mark_estimate(2);
        assert_eq!(cell.read(3, Finality::Speculative), Found::Estimate(2));
        assert_eq!(cell.read_written(3, Finality::Speculative), Err(2));
        assert!(!cell.would_read(3, Some(6)));
        assert_eq!(cell.read(2, Finality::Speculative), Found::Base(0));
        cell.write(2, 2, 6, Retained::From(0));
        assert_eq!(cell.read(3, Finality::Speculative), Found::Written(2, 6));
    }

    #[test]
    fn a_key_that_every_step_writes_keeps_no_more_versions_than_steps_are_uncommitted() {
        let mut cell = Numbers::default();
        for index in 0..1000_u32 {
            let committed = index.saturating_sub(10);
            cell.write(index, 1, u64::from(index), Retained::From(committed));
            assert!(cell.version_count() <= 12, "{}", cell.version_count());
            let seen = cell.read(committed, Finality::Speculative);
            let expected = committed.checked_sub(1).map(|i| Found::Written(i, u64::from(i)));
            assert_eq!(seen, expected.unwrap_or(Found::ToRead));
            cell.base = Base::Unread;
        }
    }
}
