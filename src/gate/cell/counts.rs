//! How many samples a variant takes in an octet, for estimates.

use super::Cell;
use crate::gate::octet;

impl Cell {
    /// Samples that count in an octet.
    pub const fn octet_sample_count(&self) -> u64 {
        self.passes_per_octet * self.samples_per_slot * octet::SLOT_COUNT as u64
    }

    /// Most samples of three new processes before any counts.
    pub fn warm_up_sample_count(&self) -> u64 {
        let needed = self.warm_up_counts.into_iter().max().unwrap_or_default();
        let of_each = needed.min(self.octet_sample_count() / octet::Arm::ALL.len() as u64);
        of_each * octet::Arm::ALL.len() as u64
    }
}
