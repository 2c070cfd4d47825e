//! Judges the deadline of a block on our designs and on clients, by the upper end of the 95 %
//! interval of the block's time.

use std::{cmp::Ordering, time::Duration};

use result::{Bound, Claim, ClaimVerdict, ClientCell, Estimate, Expects, RunResult};

use crate::figures::claims;

/// Reason for which a client with too few samples has no interval.
const SAMPLES_NEEDED: &str = "no interval: six samples are needed (--samples 6)";

/// Judges the claims that a block takes at most `most` in each design of `base` and on each
/// client.
pub fn judged(most: Duration, base: &RunResult, clients: &[ClientCell]) -> Expects {
    let mut judged = claims::judge_deadline(most, base);
    let most_ms = most.as_secs_f64() * 1e3;
    judged.count += clients.len() as u64;
    judged.claims.extend(clients.iter().map(|client| claim(client, most_ms)));
    judged.status = claims::worst(&judged.claims).map(|verdict| verdict.name().to_owned());
    judged
}

fn claim(client: &ClientCell, most_ms: f64) -> Claim {
    // The slowest block is the one with the highest upper end. A chain has several blocks.
    let slowest = client.ms_by_block().into_iter().max_by(|a, b| {
        upper_end(a)
            .total_cmp(&upper_end(b))
            .then(a.median.partial_cmp(&b.median).unwrap_or(Ordering::Equal))
    });
    let time = slowest.unwrap_or_default();
    let near_end = time.ci95.map(|[_, high]| high);
    let verdict = match near_end {
        Some(high) if high <= most_ms => ClaimVerdict::Holds,
        Some(_) => ClaimVerdict::Fails,
        None => ClaimVerdict::Inconclusive,
    };
    Claim {
        metric: format!("ms_per_block({})", client.client),
        store: None,
        bound: Bound::Max,
        limit: most_ms,
        value: time.median,
        near_end,
        verdict,
        reason: near_end.is_none().then(|| SAMPLES_NEEDED.to_owned()),
    }
}

/// Returns the upper end of an interval; infinite without an interval.
fn upper_end(time: &Estimate) -> f64 {
    time.ci95.map_or(f64::INFINITY, |[_, high]| high)
}

#[cfg(test)]
mod tests {
    use result::example::{self, client};
    use variant::{BlockDuty, RootTime};

    use super::*;

    #[test]
    fn a_deadline_is_judged_on_each_design_and_each_client_by_the_upper_end() {
        let mut result = client::beside_designs();
        let alone = judged(Duration::from_secs(26), &result, &result.clients);
        assert_eq!(alone.status.as_deref(), Some("not judged"), "no design runs whole blocks");
        for cell in &mut result.cells {
            cell.duties = BlockDuty::ALL.iter().map(|duty| duty.name().to_owned()).collect();
            cell.root = RootTime::After;
        }
        let verdicts = |seconds: f64| {
            let judged = judged(Duration::from_secs_f64(seconds), &result, &result.clients);
            assert_eq!(judged.count, judged.claims.len() as u64);
            let of_client = judged.claims.last().map(|claim| claim.verdict);
            (judged.claims.len(), of_client, judged.status)
        };
        // Three designs and the client; its slowest sample took 25.1 s.
        assert_eq!(verdicts(26.0), (4, Some(ClaimVerdict::Holds), Some("holds".to_owned())));
        assert_eq!(verdicts(25.0), (4, Some(ClaimVerdict::Fails), Some("fails".to_owned())));
    }

    #[test]
    fn the_slowest_block_of_a_chain_decides() {
        let base = result::RunResult { cells: Vec::new(), ..example::typical() };
        let mut cell = client::timed(&[100, 101, 102, 103, 104, 105]);
        for sample in &mut cell.samples {
            let slow = sample.blocks[0].clone();
            sample.blocks.insert(0, slow);
            sample.blocks[0].new_payload_ns *= 2;
        }
        let verdict = |ms| {
            let judged = judged(Duration::from_millis(ms), &base, &[cell.clone()]);
            judged.claims[0].verdict
        };
        assert_eq!((verdict(211), verdict(200)), (ClaimVerdict::Holds, ClaimVerdict::Fails));
    }

    #[test]
    fn a_client_with_few_samples_proves_nothing() {
        let base = result::RunResult { cells: Vec::new(), ..example::typical() };
        let few = [client::timed(&[100, 110])];
        let judged = judged(Duration::from_secs(3), &base, &few);
        assert_eq!((judged.count, judged.claims.len()), (1, 1));
        assert_eq!(judged.claims[0].verdict, ClaimVerdict::Inconclusive);
        assert_eq!(judged.status.as_deref(), Some("inconclusive"));
    }
}
