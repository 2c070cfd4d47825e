//! Reads the keys of a list ahead of the transactions, before or while they execute. A policy
//! ([`Prefetch`]) decides the keys of each reading thread, their order, and when the threads stop.
//! Each key is claimed before it is read, so no key is read twice. Also verifies a full list, and
//! warms a sample's caches.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use workload::{Layout, list::ListIndex};

use crate::{engine::tally::Reading, error::StoreError, span::Spans};
use variant::{CodeReads, Phase, Prefetch, ReadTime, ReaderShare, StopRule};

mod batch;
mod chunks;
mod sequence;
#[cfg(test)]
mod tests;

use batch::CallBuffers;
pub(crate) use batch::{Sink, Target};
use chunks::Chunks;
pub(crate) use chunks::Lane;
use sequence::Sequence;

/// The state that the readers of one list share.
#[derive(Debug)]
pub(crate) struct ReadAhead {
    policy: Prefetch,
    layout: Option<Layout>,
    spans: Arc<Spans>,
    /// The order of the keys; `None` if keys are read in the list's order.
    sequence: OnceLock<Option<Sequence>>,
    next_chunk: AtomicUsize,
    executing_count: AtomicUsize,
    has_ended: AtomicBool,
}

impl ReadAhead {
    /// Makes the shared state. `layout` is the order of the store's rows; `None` if they have none.
    /// `executor_count` threads execute transactions.
    pub(crate) const fn new(
        policy: Prefetch,
        layout: Option<Layout>,
        spans: Arc<Spans>,
        executor_count: usize,
    ) -> Self {
        Self {
            policy,
            layout,
            spans,
            sequence: OnceLock::new(),
            next_chunk: AtomicUsize::new(0),
            executing_count: AtomicUsize::new(executor_count),
            has_ended: AtomicBool::new(false),
        }
    }

    /// Records that an executing thread has no step left. After the last one, stops the reading
    /// threads if the policy says so.
    pub(crate) fn executor_ended(&self) {
        let was_last = self.executing_count.fetch_sub(1, Ordering::Relaxed) == 1;
        let stops = self.policy.time == ReadTime::While && self.policy.stop == StopRule::Executed;
        if was_last && stops {
            self.has_ended.store(true, Ordering::Relaxed);
        }
    }

    /// Returns the policy's order of the keys; `None` for the list's own. The first thread that
    /// calls this sorts the keys; the others wait.
    pub(crate) fn arrange(&self, list: &ListIndex) -> Option<&Sequence> {
        let arrange = || {
            let start = self.spans.elapsed();
            let sequence = Sequence::new(self.policy.order, list, self.layout);
            self.spans.close(Phase::Order, start);
            sequence
        };
        self.sequence.get_or_init(arrange).as_ref()
    }

    /// Reads one thread's share of the keys, until no key is left, the policy says to stop, or
    /// `cancel` is set.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(crate) fn read<S: Sink>(
        &self,
        target: Target<'_, S>,
        lane: Lane,
        reading: Reading<'_>,
        cancel: &AtomicBool,
    ) -> Result<(), StoreError> {
        let Reading { reader, tally } = reading;
        let sequence = self.arrange(target.list);
        let chunks = Chunks::new(&self.policy, target.list, reader);
        let mut own_chunks = chunks.of_lane(lane);
        let mut take_chunk = || match self.policy.share {
            ReaderShare::Ranges => own_chunks.next(),
            ReaderShare::Next => {
                let number = self.next_chunk.fetch_add(1, Ordering::Relaxed);
                (number < chunks.count()).then_some(number)
            }
        };
        let has_ended = || self.has_ended.load(Ordering::Relaxed) || target.values.is_full();
        let goes_on = || !cancel.load(Ordering::Relaxed) && !has_ended();
        let mut batch = CallBuffers::new(target, sequence);
        while goes_on()
            && let Some(number) = take_chunk()
        {
            target.values.begin_chunk(number);
            batch.read(chunks.at(number), reader, tally)?;
            if self.policy.codes == CodeReads::WithState {
                batch.read_codes(reader, tally, goes_on)?;
            }
        }
        if self.policy.codes == CodeReads::AfterState {
            batch.read_codes(reader, tally, goes_on)?;
        }
        Ok(())
    }
}
