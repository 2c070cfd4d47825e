//! A planned cell: one row of the result. `plan` makes it; samples and results have its name.

use variant::{ListDuty, StoreKind, Variant};

/// A variant on a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PlannedCell {
    pub store: StoreKind,
    pub variant: Variant,
}

impl PlannedCell {
    /// Returns the name in results: `rocksdb/batched-io/bal+batched@2+64io`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.store.name(), self.variant)
    }

    /// Returns the number of threads that the cell keeps busy.
    pub const fn busy_count(&self) -> usize {
        self.variant.thread_count + self.variant.io_thread_count
    }

    /// Returns the rank of the cell by its reads under way. The parts are compared in order:
    /// whether it builds lists, number of reading threads, number of transactions under way.
    pub(super) fn read_rank(&self) -> (bool, usize, usize) {
        let Variant { list_duty, thread_count, io_thread_count, fiber_count, sharding, .. } =
            self.variant;
        let execute_count = thread_count * fiber_count * sharding.count.max(1);
        (list_duty == ListDuty::Build, io_thread_count, execute_count)
    }
}
