//! The three tasks that watch the node during a load and report to the driving task. `heads` looks
//! for new blocks and notes their times. `blocks` reads the blocks with their receipts, each once
//! and in order, and finds blocks that a reorganisation removed. `pool` samples the pool. `heads`
//! is apart, so a node that is slow with receipts does not delay the times.

use std::{
    pin::pin,
    time::{Duration, Instant},
};

use alloy_primitives::B256;
use futures::{StreamExt, stream};
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender},
    time::sleep,
};

use crate::{
    error::{CallError, ErrorKind},
    node::{Header, Node, PoolStatus, Receipt},
};

mod chain;

use chain::{Chain, Head, Heads};

/// Polling interval for a new block.
const BLOCK_INTERVAL: Duration = Duration::from_millis(100);
/// Polling interval for the depth of the pool.
const POOL_INTERVAL: Duration = Duration::from_millis(250);
/// Wait after a call that failed.
const PAUSE: Duration = Duration::from_millis(200);
/// Number of blocks below the start of the load whose hashes are read, to find how deep a
/// reorganisation goes.
const ANCESTOR_COUNT: u64 = 32;
/// Maximum number of calls for these hashes under way together.
const READ_COUNT_MAX: usize = 8;

/// An observation of the node.
#[derive(Clone, Debug)]
pub(crate) enum Seen {
    /// The node answers and has no new block.
    Alive,
    /// A block that extends the chain.
    Block(Box<SeenBlock>),
    /// The last reported block is no longer in the chain.
    Removed {
        /// Number of the block.
        number: u64,
    },
    /// The depth of the pool.
    Pool {
        /// Time since the start of the load.
        at: Duration,
        status: PoolStatus,
    },
    /// A call of a watching task failed.
    Failed(CallError),
}

/// A block with the receipts of all its transactions.
#[derive(Clone, Debug)]
pub(crate) struct SeenBlock {
    pub(crate) header: Header,
    /// Time since the start of the load at which the block was first seen.
    pub(crate) at: Duration,
    pub(crate) receipts: Vec<Receipt>,
}

/// Sends each newest block of the node to `heads_out` once, until the receivers are gone. Sends
/// errors, and answers without a new block, to `out`.
pub(crate) async fn heads(
    node: Node,
    began: Instant,
    heads_out: UnboundedSender<Head>,
    out: UnboundedSender<Seen>,
) {
    let mut last = None;
    loop {
        let latest = node.latest().await;
        let at = began.elapsed();
        let (is_received, pause) = match latest {
            Ok(header) if last == Some(header.hash) => {
                (out.send(Seen::Alive).is_ok(), BLOCK_INTERVAL)
            }
            Ok(header) => {
                last = Some(header.hash);
                (heads_out.send(Head { header, at }).is_ok() && !out.is_closed(), BLOCK_INTERVAL)
            }
            Err(error) => (out.send(Seen::Failed(error)).is_ok(), PAUSE),
        };
        if !is_received {
            return;
        }
        sleep(pause).await;
    }
}

/// Sends the blocks after `base`, up to the newest of `heads`, to `out` until the receiver is gone.
pub(crate) async fn blocks(
    node: Node,
    base: Header,
    mut heads: UnboundedReceiver<Head>,
    out: UnboundedSender<Seen>,
) {
    let ancestors = ancestors(&node, &base).await;
    let mut reader = Reader { node, chain: Chain::new(&base, &ancestors), heads: Heads::default() };
    loop {
        if !reader.has_more() {
            let Some(head) = heads.recv().await else { return };
            reader.heads.push(head);
        }
        while let Ok(head) = heads.try_recv() {
            reader.heads.push(head);
        }
        let (seen, pause) = match reader.next().await {
            Ok(Step::Seen(seen)) => (Some(seen), Duration::ZERO),
            Ok(Step::Unreported) => (None, Duration::ZERO),
            Ok(Step::Missing) => (None, BLOCK_INTERVAL),
            Err(error) => (Some(Seen::Failed(error)), PAUSE),
        };
        let is_received = match seen {
            Some(seen) => out.send(seen).is_ok(),
            None => !out.is_closed(),
        };
        if !is_received {
            return;
        }
        sleep(pause).await;
    }
}

/// Blocks below `base`, newest first, down to the first block that the node does not return.
async fn ancestors(node: &Node, base: &Header) -> Vec<Header> {
    let numbers =
        (1..=ANCESTOR_COUNT).map_while(|depth| base.number.to::<u64>().checked_sub(depth));
    let reads = stream::iter(numbers).map(|number| node.block(number)).buffered(READ_COUNT_MAX);
    let mut reads = pin!(reads);
    let mut found = Vec::new();
    while let Some(Ok(Some(ancestor))) = reads.next().await {
        found.push(ancestor);
    }
    found
}

/// Result of [`Reader::next`].
enum Step {
    /// An event of the chain.
    Seen(Seen),
    /// The chain replaced blocks that were not reported yet, so there is no event.
    Unreported,
    /// There is no event yet: the node has no further block, or does not return it.
    Missing,
}

/// Reads blocks in their order.
struct Reader {
    node: Node,
    chain: Chain,
    heads: Heads,
}

impl Reader {
    /// Whether the newest block of the node differs from the last block that was read.
    fn has_more(&self) -> bool {
        self.heads.newest().is_some_and(|newest| {
            newest.header.number.to::<u64>() > self.chain.tip().number
                || self.chain.is_tip_removed(&newest.header)
        })
    }

    /// Finds the next event of the chain.
    async fn next(&mut self) -> Result<Step, CallError> {
        let Some(newest) = self.heads.newest() else { return Ok(Step::Missing) };
        let Head { header: latest, at: latest_at } = newest.clone();
        if self.chain.is_tip_removed(&latest) {
            return self.go_back().await;
        }
        let tip = self.chain.tip();
        if latest.number.to::<u64>() <= tip.number {
            return Ok(Step::Missing);
        }
        // This block exists, since the newest block has this number or a higher one.
        let number = tip.number.saturating_add(1);
        let header = match latest.number.to::<u64>() == number {
            true => latest,
            false => match self.node.block(number).await? {
                Some(header) => header,
                None => return Ok(Step::Missing),
            },
        };
        if header.parent_hash != tip.hash {
            return self.go_back().await;
        }
        let receipts = match header.transactions.is_empty() {
            true => Vec::new(),
            false => self.node.receipts(&header).await?,
        };
        check_receipts(&header, &receipts)?;
        let at = self.heads.seen_at(&header).unwrap_or(latest_at);
        self.chain.push(&header);
        self.heads.drop_read(number);
        Ok(Step::Seen(Seen::Block(Box::new(SeenBlock { header, at, receipts }))))
    }

    /// Removes the tip. If no block below it is known, the chain restarts one block deeper, since
    /// the new branch may have transactions of the load there.
    async fn go_back(&mut self) -> Result<Step, CallError> {
        self.heads.change_branch();
        if let Some(block) = self.chain.pop() {
            let removed = Seen::Removed { number: block.number };
            return Ok(if block.is_reported { Step::Seen(removed) } else { Step::Unreported });
        }
        let Some(below) = self.chain.tip().number.checked_sub(1) else { return Ok(Step::Missing) };
        let Some(base) = self.node.block(below).await? else { return Ok(Step::Missing) };
        self.chain.restart(&base);
        Ok(Step::Unreported)
    }
}

/// Checks that the receipts belong to the block's transactions.
fn check_receipts(header: &Header, receipts: &[Receipt]) -> Result<(), CallError> {
    let mut received: Vec<B256> = receipts.iter().map(|receipt| receipt.transaction_hash).collect();
    let mut own = header.transactions.clone();
    received.sort_unstable();
    own.sort_unstable();
    if received == own {
        return Ok(());
    }
    let message = format!(
        "block {} has {} transactions, and the {} receipts are not those of them",
        header.number,
        header.transactions.len(),
        receipts.len()
    );
    Err(CallError { kind: ErrorKind::Malformed, message })
}

/// Sends the depth of the pool to `out` until the receiver is gone, or ends if the node does not
/// report it.
pub(crate) async fn pool(node: Node, began: Instant, out: UnboundedSender<Seen>) {
    let mut was_reported = false;
    loop {
        match node.pool_status().await {
            Ok(status) => {
                was_reported = true;
                if out.send(Seen::Pool { at: began.elapsed(), status }).is_err() {
                    return;
                }
            }
            // The node does not know the method.
            Err(error) if !was_reported && error.kind == ErrorKind::Rejected => return,
            Err(error) => {
                if out.send(Seen::Failed(error)).is_err() {
                    return;
                }
            }
        }
        if out.is_closed() {
            return;
        }
        sleep(POOL_INTERVAL).await;
    }
}
