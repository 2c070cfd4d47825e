//! The state of one sending account during a load: its nonce, its due transactions and its tries.
//! The driving task sends an account's transactions one after the other, so its nonces have no gap.

use std::collections::VecDeque;

use crate::{account::Signed, error::ErrorKind};

/// A sending account.
#[derive(Debug)]
pub(crate) struct Sender {
    /// Nonce of the account's next transaction.
    pub(crate) nonce: u64,
    /// Due transactions that the node has neither taken nor refused for good. Only the first is
    /// sent.
    pub(crate) due_txs: VecDeque<usize>,
    /// Transactions that the node took, in the order of taking.
    pub(crate) taken: Vec<usize>,
    /// Signed bytes of the first due transaction, once it is signed.
    pub(crate) signed: Option<Signed>,
    /// Maximum fee of the signed bytes, in wei per gas.
    pub(crate) max_fee: u128,
    /// Number of calls that sent these bytes.
    pub(crate) try_count: u32,
    /// Number of the first due transaction's successive refusals with one error kind, and that
    /// kind.
    refusals: (u32, Option<ErrorKind>),
    /// Number of times that the first due transaction was signed anew.
    pub(crate) signed_anew_count: u32,
    /// Whether a call is under way, or the account waits before another try.
    pub(crate) is_busy: bool,
    /// Whether the account is in the queue of accounts that send next.
    pub(crate) is_queued: bool,
}

impl Sender {
    pub(crate) const fn new(nonce: u64) -> Self {
        Self {
            nonce,
            due_txs: VecDeque::new(),
            taken: Vec::new(),
            signed: None,
            max_fee: 0,
            try_count: 0,
            refusals: (0, None),
            signed_anew_count: 0,
            is_busy: false,
            is_queued: false,
        }
    }

    /// Removes the first due transaction, which has been taken or refused for good.
    pub(crate) fn finish(&mut self) -> Option<usize> {
        self.signed = None;
        (self.try_count, self.refusals, self.signed_anew_count) = (0, (0, None), 0);
        self.is_busy = false;
        self.due_txs.pop_front()
    }

    /// Drops the signed bytes, so that the first due transaction is signed anew.
    pub(crate) fn sign_anew(&mut self) {
        self.signed = None;
        (self.try_count, self.refusals) = (0, (0, None));
        self.signed_anew_count += 1;
    }

    /// Notes a refusal of the first due transaction. Returns the number of successive refusals of
    /// this kind. Time-outs and full pools in between neither count nor end the succession.
    pub(crate) fn refused(&mut self, kind: ErrorKind) -> u32 {
        let (count, last) = self.refusals;
        let count = if last == Some(kind) { count + 1 } else { 1 };
        self.refusals = (count, Some(kind));
        count
    }

    /// Number of successive refusals of one kind.
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
