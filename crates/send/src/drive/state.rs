//! The state of a running load, which the driving task owns: due transactions, senders, and calls
//! under way. `answers.rs` changes it after answers of the node.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

use alloy_primitives::Bytes;
use tokio::task::JoinSet;

use super::{
    calls::{Answer, Call},
    records::LoadRecords,
    sender::Sender,
};
use crate::{
    account::TxSigner,
    error::SendError,
    measured::End,
    node::Node,
    pace::{Pace, Release},
    plan::Plan,
    settings::Settings,
    setup::Ready,
    stop,
};

/// Divisor of the number of connections: at most the quotient, rounded up, ask for forgotten
/// transactions at a time.
const REMINDER_DIVISOR: usize = 4;

/// Input of a load that is to be sent.
#[derive(Debug)]
pub(crate) struct DriveInput<'a> {
    pub(crate) node: Node,
    pub(crate) chain_id: u64,
    pub(crate) settings: Settings,
    pub(crate) pace: Pace,
    pub(crate) stop: &'a AtomicBool,
}

/// A running load.
#[derive(Debug)]
pub(super) struct Drive<'a> {
    pub(super) input: DriveInput<'a>,
    pub(super) plan: &'a Plan,
    pub(super) ready: Ready,
    pub(super) began: Instant,
    pub(super) release: Release,
    pub(super) records: LoadRecords,
    pub(super) senders: Vec<Sender>,
    /// Senders that may send a transaction now, each once.
    send_queue: VecDeque<usize>,
    /// Senders that wait before another try, by the end of their wait.
    sleeping: BinaryHeap<Reverse<(Duration, usize)>>,
    pub(super) calls: JoinSet<Answer>,
    /// Number of calls under way.
    pub(super) call_count: usize,
    /// Number of these calls that ask for forgotten transactions.
    pub(super) reminder_count: usize,
    /// Transactions to ask the node for, since it may have forgotten them.
    pub(super) reminders: VecDeque<usize>,
    /// Time of the last search for forgotten transactions.
    pub(super) searched_at: Duration,
}

impl<'a> Drive<'a> {
    pub(super) fn new(input: DriveInput<'a>, plan: &'a Plan, ready: Ready, began: Instant) -> Self {
        Self {
            release: Release::new(input.pace, plan.calls.len()),
            records: LoadRecords::new(plan.calls.len()),
            senders: ready.nonces.iter().map(|nonce| Sender::new(*nonce)).collect(),
            input,
            plan,
            ready,
            began,
            send_queue: VecDeque::new(),
            sleeping: BinaryHeap::new(),
            calls: JoinSet::new(),
            call_count: 0,
            reminder_count: 0,
            reminders: VecDeque::new(),
            searched_at: Duration::ZERO,
        }
    }

    pub(super) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Puts transactions that are due into the queues of their senders, and wakes senders whose
    /// wait has ended.
    pub(super) fn release_due(&mut self) {
        let now = self.now();
        while let Some((tx, due)) = self.release.next(now, self.records.settled_count()) {
            self.records.due(tx, due);
            let sender = self.plan.calls[tx].sender;
            self.senders[sender].due_txs.push_back(tx);
            self.make_ready(sender);
        }
        while self.sleeping.peek().is_some_and(|Reverse((at, _))| *at <= now) {
            if let Some(Reverse((_, sender))) = self.sleeping.pop() {
                self.senders[sender].is_busy = false;
                self.make_ready(sender);
            }
        }
    }

    /// Queues a sender with a transaction to send, unless it is queued or busy.
    pub(super) fn make_ready(&mut self, index: usize) {
        let sender = &mut self.senders[index];
        if !sender.is_busy && !sender.is_queued && !sender.due_txs.is_empty() {
            sender.is_queued = true;
            self.send_queue.push_back(index);
        }
    }

    /// Lets a sender wait before another try.
    pub(super) fn pause_sender(&mut self, index: usize, pause: Duration) {
        self.senders[index].is_busy = true;
        self.sleeping.push(Reverse((self.now() + pause, index)));
    }

    /// Starts calls up to the limit of calls under way.
    pub(super) fn start_calls(&mut self) -> Result<(), SendError> {
        self.start_reminders();
        while self.call_count < self.input.settings.connection_count {
            let Some(index) = self.send_queue.pop_front() else { break };
            self.senders[index].is_queued = false;
            let Some(raw) = self.next_bytes(index)? else { continue };
            self.senders[index].is_busy = true;
            self.start(Call::Send { sender: index, raw });
        }
        Ok(())
    }

    /// Starts calls that ask for forgotten transactions. They take only a part of the connections,
    /// so that sending goes on.
    fn start_reminders(&mut self) {
        let connection_count = self.input.settings.connection_count;
        let most = connection_count.div_ceil(REMINDER_DIVISOR);
        while self.reminder_count < most && self.call_count < connection_count {
            let Some(tx) = self.reminders.pop_front() else { break };
            let Some(signed) = self.records.reminder(tx) else { continue };
            let account = self.plan.senders[self.plan.calls[tx].sender];
            self.reminder_count += 1;
            self.start(Call::Remind { tx, account, signed });
        }
    }

    /// Starts a call.
    pub(super) fn start(&mut self, call: Call) {
        self.call_count += 1;
        self.calls.spawn(call.run(self.input.node.clone()));
    }

    /// Returns the signed bytes that a sender sends next, and notes them as sent. `None` if it has
    /// no due transaction.
    pub(super) fn next_bytes(&mut self, index: usize) -> Result<Option<Bytes>, SendError> {
        let tx_signer = TxSigner { signer: &self.plan.signer, chain_id: self.input.chain_id };
        let sender = &mut self.senders[index];
        let Some(tx) = sender.due_txs.front().copied() else { return Ok(None) };
        if sender.signed.is_none() {
            let content = self.ready.content(self.plan, tx);
            let fees = self.ready.fees.within(self.ready.offers_max[index]);
            let signed = tx_signer.sign(content, sender.nonce, fees)?;
            self.records.signed(tx, &signed);
            (sender.signed, sender.max_fee) = (Some(signed), fees.max);
        }
        let now = self.began.elapsed();
        self.records.sent(tx, now, sender.try_count);
        sender.try_count += 1;
        Ok(sender.signed.as_ref().map(|signed| signed.raw.clone()))
    }

    /// Returns how the load ends, if it ends now: every transaction is settled and confirmed, or
    /// the node makes no more progress.
    pub(super) fn end(&self) -> Option<End> {
        let (now, settings) = (self.now(), &self.input.settings);
        let patience = settings.patience;
        if self.release.is_over() && self.records.is_settled() {
            let wanted = settings.confirmation_count;
            return self.records.is_confirmed(now, wanted, patience).then_some(End::Settled);
        }
        if now > self.records.answered_at.saturating_add(patience) {
            return Some(End::Silent);
        }
        // A full closed loop waits for the node, as does a load whose transactions are all
        // released.
        let waits = self.release.next_due().is_none();
        (waits && now > self.records.progressed_at.saturating_add(patience)).then_some(End::Stuck)
    }

    /// Longest time to wait for a message before the next work.
    pub(super) fn longest_wait(&self) -> Duration {
        let now = self.now();
        let wake = self.sleeping.peek().map(|Reverse((at, _))| *at);
        let next = self.release.next_due().into_iter().chain(wake).min();
        let until = next.map_or(stop::POLL_INTERVAL, |at| at.saturating_sub(now));
        until.min(stop::POLL_INTERVAL)
    }
}
