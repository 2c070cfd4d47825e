//! The input of an execution: a workload, its lists, the variant, and what else a variant may need.
//! Runs and tests make a task for each sample.

use std::{sync::atomic::AtomicBool, time::Duration};

use alloy_primitives::{B256, Bytes, keccak256};
use variant::{ListForm, Variant};
use workload::{ReceivedBlock, Workload};

use super::error::{EngineError, ListFault};
use crate::{received::Received, root::RootInputs, shards::Shards, trace::Trace};

/// The workload, and the way to execute it.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The workload.
    pub workload: &'a Workload,
    /// Encoded list of each batch, in the form that the variant takes; empty if the variant takes
    /// no list.
    pub lists: &'a [Bytes],
    /// Hash of each batch's list in the EIP's form (Keccak-256), as in the block header (EIP-7928).
    /// Inside the clock, it is compared with the hash of the list that the variant takes or builds.
    /// If empty, lists are hashed and not compared.
    pub list_hashes: &'a [B256],
    /// The blocks of each batch as bytes, for variants with duties on blocks; empty for others.
    pub blocks: &'a [Vec<ReceivedBlock>],
    /// The variant.
    pub variant: Variant,
    /// Flag that another thread sets to stop the execution.
    pub cancel: &'a AtomicBool,
    /// Time of each step of each batch, as measured before, for [`Schedule::KnownCost`]. No other
    /// schedule uses it.
    ///
    /// [`Schedule::KnownCost`]: crate::schedule::Schedule::KnownCost
    pub known_costs: &'a [Vec<Duration>],
    /// The trace that gets the reads and steps of all threads; `None` if the sample is not traced.
    pub trace: Option<&'a Trace>,
    /// Shards of execution, for variants that execute on them.
    pub shards: Option<&'a dyn Shards>,
    /// Inputs of state roots. Samples and engines add their own inputs.
    pub root: RootInputs<'a>,
}

impl<'a> Task<'a> {
    /// Makes a task without list hashes, blocks, known costs, trace and shards.
    pub const fn new(
        workload: &'a Workload,
        lists: &'a [Bytes],
        variant: Variant,
        cancel: &'a AtomicBool,
    ) -> Self {
        Self {
            workload,
            lists,
            list_hashes: &[],
            blocks: &[],
            variant,
            cancel,
            known_costs: &[],
            trace: None,
            shards: None,
            root: RootInputs { cached_nodes: None, written: None },
        }
    }

    /// Returns the blocks and the duties on them. A header has the hash of a list in the EIP's
    /// form. So the hashes are left out for engines that take another form.
    pub(super) fn received(&'a self) -> Received<'a> {
        let Self { workload, blocks, variant, cancel, .. } = self;
        let list_hashes = match variant.list {
            Some(ListForm::ParallelIo | ListForm::Full) => &[],
            Some(ListForm::BatchedIo) | None => self.list_hashes,
        };
        Received { workload, blocks, list_hashes, variant, cancel }
    }

    /// Hashes an encoded list of the batch at `index`, and compares with the header's hash, if
    /// there is one.
    ///
    /// # Errors
    /// [`ListFault::WrongHash`].
    pub(super) fn check_hash(&self, index: usize, list: &[u8]) -> Result<(), EngineError> {
        // Every client has to hash the list. So it is hashed even without a hash to compare with.
        let got = std::hint::black_box(keccak256(list));
        match self.list_hashes.get(index) {
            Some(&header) if header != got => {
                Err(EngineError::rejected(index, ListFault::WrongHash { got, header }))
            }
            _ => Ok(()),
        }
    }
}
