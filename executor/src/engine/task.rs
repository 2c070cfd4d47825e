//! What an engine is asked to execute.

use std::{sync::atomic::AtomicBool, time::Duration};

use alloy_primitives::Bytes;
use variant::Variant;
use workload::Workload;

use crate::trace::Trace;

/// What is executed and how.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The workload.
    pub workload: &'a Workload,
    /// Encoded list of each batch, in the form that the variant takes; empty where it takes
    /// none.
    pub lists: &'a [Bytes],
    /// The variant.
    pub variant: Variant,
    /// Set from outside to stop.
    pub cancel: &'a AtomicBool,
    /// Time of each step of each batch, as measured before: what [`Schedule::KnownCost`] goes
    /// by. No other schedule looks at it.
    ///
    /// [`Schedule::KnownCost`]: crate::schedule::Schedule::KnownCost
    pub known_costs: &'a [Vec<Duration>],
    /// Where the threads record what they do; `None` costs nothing.
    pub trace: Option<&'a Trace>,
}

impl<'a> Task<'a> {
    /// A task with no costs known and no trace.
    pub const fn new(
        workload: &'a Workload,
        lists: &'a [Bytes],
        variant: Variant,
        cancel: &'a AtomicBool,
    ) -> Self {
        Self { workload, lists, variant, cancel, known_costs: &[], trace: None }
    }
}
