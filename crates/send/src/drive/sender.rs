//! An account that sends: one transaction after the other, so that no gap of nonces arises.

use std::collections::VecDeque;

use crate::{account::Signed, error::ErrorKind};

/// An account that sends.
#[derive(Debug)]
pub(crate) struct Sender {
    /// Nonce of its next transaction.
    pub(crate) nonce: u64,
    /// Transactions that are due, the one under way first.
    pub(crate) queue: VecDeque<usize>,
    /// Transactions that the node took, in that order.
    pub(crate) taken: Vec<usize>,
    /// The bytes of the first of them, once it is signed.
    pub(crate) signed: Option<Signed>,
    /// The most wei per gas that these offer.
    pub(crate) fees_max: u128,
    /// Calls that handed these over.
    pub(crate) try_count: u32,
    /// Refusals of one kind, one after the other, and that kind.
    refusals: (u32, Option<ErrorKind>),
    /// Times that the first was signed anew.
    pub(crate) anew_count: u32,
    /// Whether a call is under way, or it rests.
    pub(crate) is_busy: bool,
    /// Whether it is in the line of those that send.
    pub(crate) is_waiting: bool,
}

impl Sender {
    pub(crate) const fn new(nonce: u64) -> Self {
        Self {
            nonce,
            queue: VecDeque::new(),
            taken: Vec::new(),
            signed: None,
            fees_max: 0,
            try_count: 0,
            refusals: (0, None),
            anew_count: 0,
            is_busy: false,
            is_waiting: false,
        }
    }

    pub(crate) fn has_work(&self) -> bool {
        !self.queue.is_empty()
    }

    pub(crate) fn next_tx(&self) -> Option<usize> {
        self.queue.front().copied()
    }

    /// The first has been taken or refused for good.
    pub(crate) fn finish(&mut self) -> Option<usize> {
        self.signed = None;
        (self.try_count, self.refusals, self.anew_count) = (0, (0, None), 0);
        self.is_busy = false;
        self.queue.pop_front()
    }

    /// The first is to be signed anew.
    pub(crate) fn sign_anew(&mut self) {
        self.signed = None;
        (self.try_count, self.refusals) = (0, (0, None));
        self.anew_count += 1;
    }

    /// The first was refused. Returns the refusals of this kind so far: time-outs and full pools between them
    /// are none.
    pub(crate) fn refused(&mut self, kind: ErrorKind) -> u32 {
        let (count, last) = self.refusals;
        let count = if last == Some(kind) { count + 1 } else { 1 };
        self.refusals = (count, Some(kind));
        count
    }

    /// Refusals of one kind, one after the other.
    pub(crate) const fn refusal_count(&self) -> u32 {
        self.refusals.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_count_by_kind_and_new_bytes_have_none() {
        let mut sender = Sender::new(0);
        sender.try_count = 10;
        assert_eq!(sender.refused(ErrorKind::Rejected), 1, "calls before it were no refusals");
        assert_eq!(sender.refused(ErrorKind::Rejected), 2);
        assert_eq!(sender.refused(ErrorKind::Funds), 1);
        sender.sign_anew();
        assert_eq!((sender.try_count, sender.refusal_count()), (0, 0));
    }
}
