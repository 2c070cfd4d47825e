//! How many samples a variant takes in an octet, for estimates.

use std::time::Duration;

use super::Cell;
use crate::gate::{
    octet,
    steps::{Passes, SampleCounts, shorter_slot_ns},
};

impl Cell {
    /// Samples that count in an octet.
    pub const fn octet_sample_count(&self) -> u64 {
        self.passes_per_octet * self.samples_per_slot * octet::SLOT_COUNT as u64
    }

    /// Samples in an octet, where a slot takes `slot_ns` at least.
    pub fn sample_counts(&self, slot_ns: u64) -> SampleCounts {
        let octet = self.octet_sample_count();
        let of_shorter = shorter_slot_ns(slot_ns).div_ceil(self.sample_ns.max(1)).max(1);
        let of_shorter = octet.min(of_shorter.saturating_mul(octet::SLOT_COUNT as u64));
        let time = Duration::from_nanos(self.sample_ns.saturating_mul(self.samples_per_slot));
        SampleCounts {
            asked: [self.warm_up_sample_count(octet), octet],
            shorter: [self.warm_up_sample_count(of_shorter), of_shorter],
            passes: Passes { count: self.passes_per_octet, time },
        }
    }

    /// Most samples of three new processes before any counts, in an octet of `counted` samples.
    fn warm_up_sample_count(&self, counted: u64) -> u64 {
        let of_each = self.warm_again_count.min(counted / octet::Arm::ALL.len() as u64);
        of_each * octet::Arm::ALL.len() as u64
    }
}
