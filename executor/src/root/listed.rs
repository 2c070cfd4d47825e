//! The root of a batch from its list, beside the batch's execution. Execution checks the list; until
//! it has, the root is worth nothing, and after a rejection nobody asks for it.

use std::{ops::Range, sync::Arc};

use alloy_primitives::Bytes;
use variant::ListForm;
use workload::{
    Batch, Fork, Workload,
    list::{AccountId, FullList, ListBounds, ListError, ListIndex, SlotId},
};

use super::{
    aside::Aside,
    changes::{Change, Changes, Fields},
    compute::{Threads, compute},
    error::RootError,
    known::Known,
    plan::Planned,
    work::Rooted,
};
use crate::{span::Spans, trace::Trace};

/// Behind all steps.
const END: u32 = u32::MAX;

/// Lists of a workload, in the form that the variant takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lists<'a> {
    /// The workload.
    pub(crate) workload: &'a Workload,
    /// A list for each batch.
    pub(crate) lists: &'a [Bytes],
    /// Their form; `None` for a variant that takes none.
    pub(crate) form: Option<ListForm>,
    /// Where the sample is traced, if it is.
    pub(crate) trace: Option<&'a Trace>,
}

impl<'a> Lists<'a> {
    /// The root of a batch, to be computed.
    pub(super) fn job(&self, batch: usize, spans: &Arc<Spans>) -> Result<ListedJob<'a>, RootError> {
        let form = self.form.ok_or(RootError::NoList)?;
        Ok(ListedJob {
            list: &self.lists[batch],
            form,
            batch: &self.workload.batches[batch],
            fork: self.workload.fork(),
            aside: Aside::new(spans, self.trace),
        })
    }
}

/// The root of a batch from its list.
pub(crate) struct ListedJob<'a> {
    list: &'a Bytes,
    form: ListForm,
    batch: &'a Batch,
    fork: Fork,
    pub(super) aside: Aside<'a, Rooted>,
}

impl ListedJob<'_> {
    /// Computes it.
    pub(super) fn run(&self, threads: &Threads<'_>) {
        self.aside.run(|work, clock| {
            let planned = || Planned::new(threads.readers.way, &self.changes()?);
            compute(planned, Known::default(), threads, work, clock)
        });
    }

    fn changes(&self) -> Result<Changes<'static>, ListError> {
        let bounds = ListBounds::new(self.batch, self.fork);
        let list = match self.form {
            ListForm::ParallelIo | ListForm::BatchedIo => ListIndex::decode(self.list, &bounds)?,
            ListForm::Full => FullList::decode(self.list, &bounds)?.into_parts().0,
        };
        Ok(changes(&list))
    }
}

/// The last change of each key.
pub(super) fn changes(list: &ListIndex) -> Changes<'static> {
    let (mut accounts, mut slots) = (Vec::new(), Vec::new());
    for id in (0..list.account_count()).map(AccountId) {
        let address = *list.address(id);
        let first = slots.len();
        let Range { start, end } = list.slots_of(id);
        for slot in (start..end).map(SlotId) {
            if let Some(value) = list.slot_before(slot, END) {
                slots.push((address, list.slot_key(slot), value));
            }
        }
        let fields = Fields {
            nonce: list.nonce_before(id, END),
            balance: list.balance_before(id, END),
            code_hash: list.code_before(id, END).map(|code| code.hash),
        };
        if slots.len() > first || fields != Fields::default() {
            accounts.push((address, Change::Fields(fields), first..slots.len()));
        }
    }
    Changes { accounts, slots: slots.into() }
}
