//! Turns the figures of a load, as the crate `send` measured them, into a result.

use std::time::Duration;

use crate::figures::cells::ns;
use result::{
    Environment, Tool,
    send::{
        SendAttempts, SendBlock, SendConfirmations, SendCounts, SendErrors, SendLatency, SendNode,
        SendPool, SendReorgs, SendResult, SendSetup, SendWork,
    },
    stats,
};
use send::{End, ErrorCount, Measured, Pace, SetupFacts};

pub fn setup(facts: SetupFacts) -> SendSetup {
    SendSetup {
        funded_count: facts.funded_count,
        reused_count: facts.reused_count,
        contract_count: facts.contract_count,
        tx_count: facts.tx_count,
        time_ns: ns(facts.time),
    }
}

/// Facts of a load beside its measured figures.
#[derive(Debug)]
pub struct LoadFacts {
    pub tool: Tool,
    pub command: Vec<String>,
    pub started_unix_s: u64,
    pub environment: Environment,
    pub node: SendNode,
    pub work: SendWork,
    pub setup: SendSetup,
}

pub fn result(facts: LoadFacts, measured: &Measured, pace: Pace) -> SendResult {
    let LoadFacts { tool, command, started_unix_s, environment, node, work, setup } = facts;
    let tally = &measured.tally;
    let (pace, pace_value) = match pace {
        Pace::Rate(rate) => ("rate", rate),
        Pace::InFlight(count) => ("in-flight", count as f64),
        Pace::PoolDepth(count) => ("pool-depth", count as f64),
    };
    let own = measured.blocks.iter().filter(|block| block.own_tx_count > 0);
    let until = own.clone().map(|block| block.seen).max().unwrap_or_default();
    // The node reports the gas, which may be any number, so the sum saturates.
    let own_gas = own.fold(0, |sum: u64, block| sum.saturating_add(block.own_gas));
    SendResult {
        schema: result::send::SCHEMA,
        tool,
        command,
        started_unix_s,
        environment,
        node,
        work,
        pace: pace.to_owned(),
        pace_value,
        setup,
        counts: SendCounts {
            planned_count: tally.planned,
            unsent_count: tally.unsent,
            sent_count: tally.sent,
            included_count: tally.included,
            reverted_count: tally.reverted,
            pending_count: tally.pending,
            failed_count: tally.failed,
        },
        elapsed_ns: ns(measured.elapsed),
        sending_ns: ns(measured.sending),
        sent_per_s: rate(tally.sent, measured.sending),
        included_per_s: rate(tally.included, until),
        gas_per_s: rate(own_gas, until),
        latency: latency(measured),
        attempts: attempts(measured),
        errors: errors(&measured.errors),
        read_errors: errors(&measured.read_errors),
        blocks: measured.blocks.iter().map(block).collect(),
        pool: measured
            .pool
            .iter()
            .map(|at| SendPool {
                at_ns: ns(at.at),
                pending_count: at.pending,
                queued_count: at.queued,
            })
            .collect(),
        reorgs: SendReorgs {
            count: measured.reorgs.count,
            removed_block_count: measured.reorgs.removed_block_count,
            undone_count: measured.reorgs.undone_inclusions,
        },
        confirmations: SendConfirmations {
            wanted_count: measured.confirmations.wanted,
            seen_count: measured.confirmations.seen,
        },
        profile: None,
        interrupted: measured.end == End::Interrupted,
        warnings: Vec::new(),
    }
}

/// Returns the count per second; `None` for a time of zero.
fn rate(count: u64, time: Duration) -> Option<f64> {
    (!time.is_zero()).then(|| count as f64 / time.as_secs_f64())
}

fn latency(measured: &Measured) -> SendLatency {
    let latencies = &measured.latencies;
    let open = &latencies.inclusion.open;
    let [delay_ns, acceptance_ns, inclusion_ns] =
        [&latencies.delay, &latencies.acceptance, &latencies.inclusion]
            .map(|waits| stats::percentiles_with_open(&waits.ended, &waits.open));
    SendLatency {
        delay_ns,
        acceptance_ns,
        inclusion_ns,
        open_count: open.len(),
        open_longest_ns: (!open.is_empty()).then(|| open.max()),
        inclusion_histogram: stats::buckets(&latencies.inclusion.ended),
        open_histogram: stats::buckets(open),
        call_ns: stats::percentiles(&latencies.call),
    }
}

const fn attempts(measured: &Measured) -> SendAttempts {
    let attempts = &measured.attempts;
    SendAttempts {
        call_count: attempts.calls,
        retry_count: attempts.retries,
        known_count: attempts.known,
        resent_count: attempts.resent,
        signed_anew_count: attempts.signed_anew,
        nonce_corrected_count: attempts.nonces_corrected,
        twice_count: attempts.double_inclusions,
    }
}

fn errors(counts: &[ErrorCount]) -> Vec<SendErrors> {
    let errors = counts.iter().map(|errors| SendErrors {
        kind: errors.kind.name().to_owned(),
        count: errors.count,
        first: errors.first.clone(),
    });
    errors.collect()
}

fn block(block: &send::Block) -> SendBlock {
    SendBlock {
        number: block.number,
        hash: block.hash.clone(),
        timestamp_unix_s: block.timestamp,
        seen_ns: ns(block.seen),
        tx_count: block.tx_count,
        own_tx_count: block.own_tx_count,
        gas: block.gas,
        own_gas: block.own_gas,
        limit_gas: block.gas_limit,
        base_fee_wei: block.base_fee,
    }
}
