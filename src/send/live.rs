//! Shows the progress of a load on standard error, and finds doubts about its figures.

use report::units;
use result::send::SendResult;
use send::{Confirmations, End, Measured, Settings, Snapshot};

use crate::terminal::{Live, Progress, progress::Stage};

/// Maximal delay of the sender, as a share of the time to inclusion, both at the 90th percentile.
/// With a larger delay the figures are doubtful.
const DELAY_SHARE_MAX: f64 = 0.1;

/// Shows the progress of a load: lines of figures on a terminal, the finished share in a log.
pub struct LiveView<'p> {
    progress: &'p Progress,
    /// The stage of a log; `None` on a terminal.
    stage: Option<Stage<'p>>,
    planned: u64,
}

impl<'p> LiveView<'p> {
    /// Begins a load of `planned` transactions.
    pub fn new(progress: &'p Progress, planned: u64) -> Self {
        let is_log = !progress.wants_live(std::time::Duration::ZERO);
        let stage = is_log.then(|| progress.stage("sending", planned));
        Self { progress, stage, planned }
    }

    pub fn show(&self, at: &Snapshot) {
        let tally = &at.tally;
        let settled = tally.included + tally.reverted + tally.failed;
        match &self.stage {
            Some(stage) => stage.set(settled, self.planned),
            None => {
                let _ = self.progress.sample("sending", Some(lines(at, settled)));
                // Draws the lines if they are due.
                self.progress.advance(0);
            }
        }
    }
}

fn lines(at: &Snapshot, settled: u64) -> Live {
    let tally = &at.tally;
    let counted =
        |count: u64, word: &str| (count > 0).then(|| format!("{} {word}", units::count(count)));
    let head = format!(
        "sent {} of {}, {} in blocks, {}",
        units::count(tally.sent),
        units::count(tally.planned),
        units::count(tally.included + tally.reverted),
        units::time(at.elapsed)
    );
    let pool = at.pool_depth.map(|depth| format!("{} in the pool", units::count(depth)));
    let below = [
        pool,
        counted(at.block_count, "blocks"),
        counted(tally.pending, "pending"),
        counted(tally.reverted, "reverted"),
        counted(tally.failed, "refused"),
        counted(at.error_count, "failed calls"),
    ];
    let below = below.into_iter().flatten().collect::<Vec<_>>().join(", ");
    Live { head, below, position: settled, length: tally.planned.max(1) }
}

/// Returns warnings about the load that follow from its figures.
pub fn doubts(result: &SendResult) -> Vec<String> {
    let mut doubts = Vec::new();
    let latency = &result.latency;
    if let (Some(delay), Some(inclusion)) = (latency.delay_ns.p90, latency.inclusion_ns.p90)
        && delay as f64 > inclusion as f64 * DELAY_SHARE_MAX
    {
        doubts.push(format!(
            "a tenth of the transactions were sent {} or more after their time: the sender or its \
             connections limit the load; give more --connections, more --accounts or a lower \
             --rate",
            units::time_ns(delay as f64)
        ));
    }
    if let (true, Some(longest)) = (latency.open_count > 0, latency.open_longest_ns) {
        doubts.push(format!(
            "in no block at the end: {} of those that were due, after {} at most; percentiles \
             count each as longer than that wait; give more --patience, or a smaller load",
            units::things(latency.open_count, "transaction"),
            units::time_ns(longest as f64)
        ));
    }
    if result.attempts.twice_count > 0 {
        doubts.push(format!(
            "{} of the load are in blocks twice, by two signatures each",
            units::things(result.attempts.twice_count, "transaction")
        ));
    }
    doubts
}

/// Returns a warning about the end of a load: the load was given up, or its last block has too few
/// blocks above it.
pub fn doubt_of_end(measured: &Measured, settings: &Settings) -> Option<String> {
    let patience = units::time(settings.patience);
    let last = measured.last_failure.as_ref();
    let last =
        last.map_or_else(String::new, |failure| format!("; the last failed call: {failure}"));
    let Confirmations { wanted, seen } = measured.confirmations;
    let is_in_blocks = measured.tally.included + measured.tally.reverted > 0;
    match measured.end {
        End::Settled if is_in_blocks && seen < wanted => Some(format!(
            "the last block with transactions of the load has {seen} of {} above it, and no more \
             came: a later reorganisation is not seen (--confirmations 0 waits for none)",
            units::things(wanted, "block"),
        )),
        End::Settled | End::Interrupted => None,
        End::Silent => Some(format!(
            "the load was given up: the node gave no answer for {patience} (--patience){last}"
        )),
        End::Stuck => Some(format!(
            "the load was given up: no transaction was taken or included for {patience} (--patience){last}"
        )),
    }
}
