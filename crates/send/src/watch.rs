//! Reads a chain's blocks as they come, each once and in order, and finds those that a reorganisation
//! removed. Also samples the pool.

use std::time::{Duration, Instant};

use tokio::{sync::mpsc::UnboundedSender, time::sleep};

use crate::{
    error::{CallError, ErrorKind},
    node::{Header, Node, PoolStatus, Receipt},
};

/// Polling interval for a new block.
pub(crate) const BLOCK_INTERVAL: Duration = Duration::from_millis(100);
/// Polling interval for the depth of the pool.
const POOL_INTERVAL: Duration = Duration::from_millis(250);
/// Wait after a call that failed.
const PAUSE: Duration = Duration::from_millis(200);

/// Something that was seen on the node.
#[derive(Clone, Debug)]
pub(crate) enum Seen {
    /// A block that extends the chain.
    Block(Box<SeenBlock>),
    /// The last block that was seen is not in the chain any more.
    Removed {
        /// Its number.
        number: u64,
    },
    /// The depth of the pool.
    Pool {
        /// When.
        at: Duration,
        status: PoolStatus,
    },
    /// A call of a watcher that failed.
    Failed(CallError),
}

/// A block with the receipts of all its transactions.
#[derive(Clone, Debug)]
pub(crate) struct SeenBlock {
    pub(crate) header: Header,
    /// When it was seen, since the start.
    pub(crate) at: Duration,
    pub(crate) receipts: Vec<Receipt>,
}

/// The blocks that were seen: their numbers and hashes, behind the block that the load started on.
#[derive(Debug)]
struct Chain {
    /// The block below all others; it is not removed.
    base: Header,
    seen: Vec<Header>,
}

impl Chain {
    fn tip(&self) -> &Header {
        self.seen.last().unwrap_or(&self.base)
    }

    /// The header that was seen at a height.
    fn at(&self, number: u64) -> Option<&Header> {
        let place = number.checked_sub(self.base.number.to::<u64>().checked_add(1)?)?;
        self.seen.get(usize::try_from(place).ok()?)
    }

    /// Whether the tip is no more in the chain whose newest block is `latest`. A node that is behind (one
    /// of several at the same URL) has removed nothing.
    fn is_tip_removed(&self, latest: &Header) -> bool {
        match latest.number.cmp(&self.tip().number) {
            std::cmp::Ordering::Greater => false,
            std::cmp::Ordering::Equal => latest.hash != self.tip().hash,
            std::cmp::Ordering::Less => {
                self.at(latest.number.to()).is_some_and(|seen| seen.hash != latest.hash)
            }
        }
    }
}

/// Sends blocks behind `base` to `out` until nobody receives them.
pub(crate) async fn blocks(node: Node, base: Header, began: Instant, out: UnboundedSender<Seen>) {
    let mut chain = Chain { base, seen: Vec::new() };
    loop {
        let step = next(&node, &mut chain, began).await;
        let pause = match &step {
            Ok(Some(_)) => Duration::ZERO,
            Ok(None) => BLOCK_INTERVAL,
            Err(_) => PAUSE,
        };
        let seen = match step {
            Ok(seen) => seen,
            Err(error) => Some(Seen::Failed(error)),
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

/// The next event of the chain; `None` where there is nothing new.
async fn next(node: &Node, chain: &mut Chain, began: Instant) -> Result<Option<Seen>, CallError> {
    let latest = node.latest().await?;
    if chain.is_tip_removed(&latest) {
        return go_back(node, chain).await;
    }
    if latest.number <= chain.tip().number {
        return Ok(None);
    }
    let number = chain.tip().number.to::<u64>() + 1;
    let header = match latest.number.to::<u64>() == number {
        true => latest,
        false => match node.block(number).await? {
            Some(header) => header,
            None => return Ok(None),
        },
    };
    let at = began.elapsed();
    if header.parent_hash != chain.tip().hash {
        return go_back(node, chain).await;
    }
    let receipts = match header.transactions.is_empty() {
        true => Vec::new(),
        false => node.receipts(&header).await?,
    };
    if receipts.len() != header.transactions.len() {
        let message = format!(
            "block {number} has {} transactions and {} receipts",
            header.transactions.len(),
            receipts.len()
        );
        return Err(CallError { kind: ErrorKind::Malformed, message });
    }
    chain.seen.push(header.clone());
    Ok(Some(Seen::Block(Box::new(SeenBlock { header, at, receipts }))))
}

/// Removes the tip. A reorganisation that goes deeper than the start is followed below it: the new branch
/// may have transactions of the load there.
async fn go_back(node: &Node, chain: &mut Chain) -> Result<Option<Seen>, CallError> {
    if let Some(header) = chain.seen.pop() {
        return Ok(Some(Seen::Removed { number: header.number.to() }));
    }
    if let Some(below) = chain.base.number.to::<u64>().checked_sub(1)
        && let Some(base) = node.block(below).await?
    {
        chain.base = base;
    }
    Ok(None)
}

/// Sends the depth of the pool to `out` until nobody receives it or the node does not tell it.
pub(crate) async fn pool(node: Node, began: Instant, out: UnboundedSender<Seen>) {
    let mut is_told = false;
    loop {
        match node.pool_status().await {
            Ok(status) => {
                is_told = true;
                if out.send(Seen::Pool { at: began.elapsed(), status }).is_err() {
                    return;
                }
            }
            // It does not know the method.
            Err(error) if !is_told && error.kind == ErrorKind::Rejected => return,
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

#[cfg(test)]
mod tests {
    use alloy_primitives::{B256, U64};

    use super::*;

    fn header(number: u64, branch: u8) -> Header {
        let hash = |number: u64| {
            B256::from([branch; 32]) ^ B256::from(alloy_primitives::U256::from(number))
        };
        Header {
            number: U64::from(number),
            hash: hash(number),
            parent_hash: hash(number.saturating_sub(1)),
            timestamp: U64::ZERO,
            gas_used: U64::ZERO,
            gas_limit: U64::ZERO,
            base_fee_per_gas: None,
            transactions: Vec::new(),
            block_access_list_hash: None,
        }
    }

    #[test]
    fn a_node_that_is_behind_has_removed_nothing_and_another_branch_has() {
        let seen = vec![header(6, 1), header(7, 1), header(8, 1)];
        let chain = Chain { base: header(5, 1), seen };
        assert!(!chain.is_tip_removed(&header(8, 1)));
        assert!(!chain.is_tip_removed(&header(7, 1)), "behind");
        assert!(!chain.is_tip_removed(&header(9, 2)), "its parent is asked for first");
        assert!(chain.is_tip_removed(&header(8, 2)));
        assert!(chain.is_tip_removed(&header(6, 2)));
        assert!(!chain.is_tip_removed(&header(3, 2)), "below the start");
    }
}
