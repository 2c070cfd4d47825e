//! Sends the transactions of a load. The driving task decides: it releases transactions at the
//! pace, sends each sender's transactions one after the other, and records results. Calls of the
//! node and the reading of blocks run in other tasks, which report by messages. A transaction is
//! signed when it is sent first. A call with an unknown result is repeated with the same bytes, so
//! the chain can take the transaction only once.

use std::time::{Duration, Instant};

use tokio::{
    sync::mpsc::{self, UnboundedReceiver},
    task::JoinSet,
    time::sleep,
};

use crate::{
    drive::state::Drive,
    error::SendError,
    measured::{End, Measured},
    pace::LoadProgress,
    plan::Plan,
    settings::Snapshot,
    setup::Ready,
    stop::{is_stop_requested, unless_stopped},
    watch::{self, Seen},
};

pub(crate) use state::DriveInput;

mod answers;
mod calls;
mod records;
mod sender;
mod state;

/// Shortest time between two reports of progress.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);

/// Sends the transactions of `plan` and waits for their blocks.
///
/// # Errors
/// [`SendError`]: the chain cannot be read at the start, the user interrupts before sending begins,
/// a transaction cannot be signed, or a task panics.
pub(crate) async fn drive(
    input: DriveInput<'_>,
    plan: &Plan,
    ready: Ready,
    on_progress: &dyn Fn(&Snapshot),
) -> Result<Measured, SendError> {
    let remedy = "is the node still up?";
    let base = unless_stopped(input.stop, input.node.latest()).await.ok_or(SendError::Stopped)?;
    let base =
        base.map_err(|error| SendError::Call { method: "eth_getBlockByNumber", error, remedy })?;
    let began = Instant::now();
    let (out, seen) = mpsc::unbounded_channel();
    let (heads_out, heads) = mpsc::unbounded_channel();
    let mut tasks = JoinSet::new();
    tasks.spawn(watch::heads(input.node.clone(), began, heads_out, out.clone()));
    tasks.spawn(watch::blocks(input.node.clone(), base, heads, out.clone()));
    tasks.spawn(watch::pool(input.node.clone(), began, out));
    run(Drive::new(input, plan, ready, began), Watch { tasks, seen }, on_progress).await
}

/// The tasks that watch the node, and the channel of their observations. Dropping it ends the
/// tasks.
struct Watch {
    tasks: JoinSet<()>,
    seen: UnboundedReceiver<Seen>,
}

async fn run(
    mut drive: Drive<'_>,
    watch: Watch,
    on_progress: &dyn Fn(&Snapshot),
) -> Result<Measured, SendError> {
    let Watch { mut tasks, mut seen } = watch;
    let mut reported = Duration::ZERO;
    let end = loop {
        drive.release_due();
        drive.start_calls()?;
        drive.find_forgotten();
        let now = drive.now();
        if now >= reported + REPORT_INTERVAL {
            reported = now;
            on_progress(&drive.records.snapshot(now));
        }
        if is_stop_requested(drive.input.stop) {
            break End::Interrupted;
        }
        if let Some(end) = drive.end() {
            break end;
        }
        let wait = drive.longest_wait();
        tokio::select! {
            Some(answer) = drive.calls.join_next() => drive.receive(answer)?,
            Some(event) = seen.recv() => observe(&mut drive, event),
            // The task that samples the pool ends if the node does not report its depth.
            Some(ended) = tasks.join_next() => ended.map_err(|error| SendError::Fault {
                task: "a task that reads blocks and the pool",
                why: error.to_string(),
            })?,
            () = sleep(wait) => {}
        }
        while let Some(answer) = drive.calls.try_join_next() {
            drive.receive(answer)?;
        }
        while let Ok(event) = seen.try_recv() {
            observe(&mut drive, event);
        }
    };
    let elapsed = drive.now();
    on_progress(&drive.records.snapshot(elapsed));
    let wanted = drive.input.settings.confirmation_count;
    Ok(drive.records.measured(elapsed, end, wanted))
}

fn observe(drive: &mut Drive<'_>, event: Seen) {
    let now = drive.now();
    match event {
        Seen::Block(block) => {
            if let Some(base_fee) = block.header.base_fee_per_gas {
                drive.ready.fees.follow(base_fee.to());
            }
            drive.release.block_seen();
            drive.records.extend(*block, now);
        }
        Seen::Alive => drive.records.answered_at = now,
        Seen::Removed { number } => drive.records.remove(number, now),
        Seen::Pool { at, status } => {
            let depth = status.pending.to::<u64>().saturating_add(status.queued.to());
            drive.records.pool(at, status, now);
            let in_flight = drive.release.count().saturating_sub(drive.records.settled_count());
            let all_wait = drive.call_count >= drive.input.settings.connection_count;
            drive.release.sampled(LoadProgress { depth, in_flight, all_wait });
        }
        Seen::Failed(error) => drive.records.read_failed(&error),
    }
}

#[cfg(test)]
mod tests;
