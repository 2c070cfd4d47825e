//! The driving task's reactions to the answers of the node. After an answer, a transaction is taken
//! by the node, sent again, signed anew, or refused for good.

use std::time::Duration;

use alloy_primitives::B256;
use tokio::task::JoinError;

use super::{
    calls::{Answer, Call, NodeKnowledge, ReminderResult},
    state::Drive,
};
use crate::error::{CallError, ErrorKind, SendError};

/// First wait before the same bytes are sent again, and the longest such wait.
const PAUSE: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// Number of successive refusals of one kind after which the refusal is final, unless time may
/// remedy it (`temporary_refusal_count_max`).
const REFUSALS_MAX: u32 = 3;
/// Maximum number of times that a transaction is signed anew.
const SIGNED_ANEW_MAX: u32 = 8;
/// Interval of searches for forgotten transactions, and the maximum number of transactions that one
/// search finds.
const SEARCH_INTERVAL: Duration = Duration::from_secs(1);
const FOUND_COUNT_MAX: usize = 1_000;

impl Drive<'_> {
    /// Handles the end of a call: its answer, or the panic of its task.
    pub(super) fn receive(&mut self, answer: Result<Answer, JoinError>) -> Result<(), SendError> {
        self.call_count -= 1;
        let answer = answer.map_err(|error| SendError::Fault {
            task: "a call of the node",
            why: error.to_string(),
        });
        match answer? {
            Answer::Sent { sender, result, took } => {
                self.answered(sender, result.map(drop), took);
            }
            Answer::Checked { sender, error, result } => match result {
                Ok(known) => self.checked(sender, &error, known),
                Err(failure) => {
                    self.records.send_failed(&failure);
                    self.try_again(sender);
                }
            },
            Answer::Confirmed { sender, error, result } => match result {
                Ok(true) => self.known(sender),
                Ok(false) => self.unconfirmed(sender, &error),
                Err(failure) => {
                    self.records.send_failed(&failure);
                    self.try_again(sender);
                }
            },
            Answer::Reminded { tx, hash, send_count, result } => {
                self.reminder_count -= 1;
                self.records.reminded(tx, self.began.elapsed());
                self.records.attempts.calls += send_count;
                self.reminded(tx, hash, result);
            }
        }
        Ok(())
    }

    fn answered(&mut self, index: usize, result: Result<(), CallError>, took: Duration) {
        let now = self.now();
        let error = match result {
            Ok(()) => {
                self.records.answered(took, now);
                self.taken(index);
                return;
            }
            Err(error) => error,
        };
        if !error.kind.may_be_earlier_success() {
            self.records.send_failed(&error);
        }
        match error.kind {
            // The node may have taken the transaction: sending the same bytes again can do no harm.
            ErrorKind::Connection
            | ErrorKind::Timeout
            | ErrorKind::HttpStatus
            | ErrorKind::Malformed
            | ErrorKind::RateLimit => return self.try_again(index),
            _ => self.records.answered(took, now),
        }
        match error.kind {
            ErrorKind::PoolFull => self.wait_for_block(index),
            // The costs of the sender's pooled transactions count against its balance, until blocks
            // include them.
            ErrorKind::Funds if self.has_pooled(index) => self.wait_for_block(index),
            ErrorKind::ClaimedKnown => self.confirm(index, error),
            kind => {
                self.senders[index].refused(kind);
                // The node may be behind the blocks that pay a sender. A gateway's internal error
                // may pass, and does not say whether the node has the transaction.
                let may_pass = matches!(kind, ErrorKind::Funds | ErrorKind::Internal);
                if may_pass && self.has_patience(index) {
                    self.try_again(index);
                } else {
                    self.check(index, error);
                }
            }
        }
    }

    /// Sends the same bytes again after a pause. The node takes them only after a block.
    fn wait_for_block(&mut self, index: usize) {
        self.release.pool_was_full();
        self.try_again(index);
    }

    /// Whether the node has transactions of a sender that are in no block.
    fn has_pooled(&self, index: usize) -> bool {
        self.senders[index].taken.iter().any(|tx| self.records.is_pooled(*tx))
    }

    /// Whether the sender's successive refusals are fewer than `temporary_refusal_count_max`.
    fn has_patience(&self, index: usize) -> bool {
        self.senders[index].refusal_count() < self.input.settings.temporary_refusal_count_max
    }

    /// Asks, after a refusal, whether the node knows the first due transaction of a sender.
    fn check(&mut self, index: usize, error: CallError) {
        let account = self.plan.senders[index];
        let Some(signed) = &self.senders[index].signed else { return };
        let hash = signed.hash;
        self.start(Call::Check { sender: index, account, hash, error });
    }

    /// Handles the node's claim that it knows the first due transaction of a sender. Some nodes
    /// claim this of transactions that they have refused or dropped. So unless a block has the
    /// transaction, the node is asked for it.
    fn confirm(&mut self, index: usize, error: CallError) {
        let Some(signed) = &self.senders[index].signed else { return };
        let hash = signed.hash;
        if self.records.is_in_block(hash) {
            self.known(index);
        } else {
            self.start(Call::Confirm { sender: index, hash, error });
        }
    }

    /// Notes that an earlier call has brought the first due transaction of a sender to the node.
    fn known(&mut self, index: usize) {
        self.records.attempts.known += 1;
        self.taken(index);
    }

    /// Handles a wrong claim: the node claimed to know the first due transaction of a sender, and
    /// does not have it. If no block has it by now, it is sent again, since the claim may pass.
    fn unconfirmed(&mut self, index: usize, error: &CallError) {
        let signed = self.senders[index].signed.as_ref();
        if signed.is_some_and(|signed| self.records.is_in_block(signed.hash)) {
            self.known(index);
            return;
        }
        self.records.send_failed(error);
        self.senders[index].refused(error.kind);
        if self.has_patience(index) {
            self.try_again(index);
        } else {
            self.refused(index, error.kind);
        }
    }

    fn taken(&mut self, index: usize) {
        let now = self.now();
        let sender = &mut self.senders[index];
        if let Some(signed) = &sender.signed {
            sender.nonce = signed.nonce.saturating_add(1);
        }
        if let Some(tx) = sender.finish() {
            sender.taken.push(tx);
            self.records.taken(tx, now);
        }
        self.make_ready(index);
    }

    fn refused(&mut self, index: usize, kind: ErrorKind) {
        // The nonce of the refused transaction is not used: the next transaction takes it.
        if let Some(tx) = self.senders[index].finish() {
            self.records.failed(tx, kind);
        }
        self.make_ready(index);
    }

    /// Sends the same bytes again after a pause, which doubles each time up to [`PAUSE_MAX`].
    fn try_again(&mut self, index: usize) {
        let doublings = self.senders[index].try_count.saturating_sub(1).min(16);
        let pause = PAUSE.saturating_mul(1 << doublings).min(PAUSE_MAX);
        self.pause_sender(index, pause);
    }

    /// Handles the refusal `error` of a sender's first due transaction. `known` is the node's
    /// answer to the question whether it knows the transaction.
    fn checked(&mut self, index: usize, error: &CallError, known: NodeKnowledge) {
        match (known.is_known, error.kind.may_be_earlier_success()) {
            (true, true) => return self.known(index),
            (true, false) => return self.taken(index),
            (false, true) => self.records.send_failed(error),
            (false, false) => {}
        }
        let sender = &mut self.senders[index];
        let Some(nonce) = sender.signed.as_ref().map(|signed| signed.nonce) else { return };
        let has_tries = sender.signed_anew_count < SIGNED_ANEW_MAX;
        let can_offer_more = sender.max_fee < self.ready.offers_max[index];
        match error.kind {
            // Another transaction has used the nonce: no block can have these bytes.
            ErrorKind::Nonce if known.next_nonce > nonce && has_tries => {
                sender.nonce = known.next_nonce;
                sender.sign_anew();
                self.records.attempts.nonces_corrected += 1;
                self.records.attempts.signed_anew += 1;
                self.pause_sender(index, Duration::ZERO);
            }
            // Of two transactions with one nonce, the chain takes only one.
            ErrorKind::Underpriced if has_tries && can_offer_more => {
                sender.sign_anew();
                self.ready.fees.raise_above(sender.max_fee);
                self.records.attempts.signed_anew += 1;
                self.pause_sender(index, PAUSE);
            }
            // The node lacks earlier transactions of the sender, which will be sent again.
            ErrorKind::Nonce if known.next_nonce < nonce && self.has_patience(index) => {
                self.try_again(index);
            }
            // The sender cannot offer more. Blocks with less gas make the base fee fall.
            ErrorKind::Underpriced if self.has_patience(index) => self.try_again(index),
            kind if self.senders[index].refusal_count() >= REFUSALS_MAX => {
                self.refused(index, kind);
            }
            _ => self.try_again(index),
        }
    }

    /// Searches for transactions to ask the node for: taken long ago and in no block.
    pub(super) fn find_forgotten(&mut self) {
        let now = self.now();
        if now < self.searched_at + SEARCH_INTERVAL {
            return;
        }
        self.searched_at = now;
        let after = self.input.settings.forgotten_after;
        self.reminders.extend(self.records.forgotten(now, after, FOUND_COUNT_MAX));
    }

    fn reminded(&mut self, tx: usize, hash: B256, result: Result<ReminderResult, CallError>) {
        match result {
            Ok(ReminderResult::Known) => {}
            Ok(ReminderResult::Resent) => self.records.attempts.resent += 1,
            // No block can have these bytes any more. The transaction is signed again with the next
            // nonce.
            Ok(ReminderResult::Dead) => {
                // The answer may be late: the transaction may have other bytes by now.
                if self.records.lost(tx, hash) {
                    let sender = self.plan.calls[tx].sender;
                    self.senders[sender].due_txs.push_back(tx);
                    self.make_ready(sender);
                }
            }
            Err(error) => self.records.send_failed(&error),
        }
    }
}
