//! The costs that a simulation is made of, from samples on this machine: times of steps from execution on one
//! thread, all others from one shard of one thread.

use std::{num::NonZeroUsize, time::Duration};

use anyhow::anyhow;
use executor::{
    sample::{Keep, Measurement},
    span,
};
use result::{description::Spread, simulation::SimulationCosts, stats};
use variant::{CacheMode, Design, Io, Phase, Sharding, StoreKind, Variant};

use crate::{
    exit::{Code, Failure, OrExit},
    interrupt,
    progress::Progress,
    session::{How, Session},
};

/// The store that is measured on.
pub const MEASURED_STORE: StoreKind = StoreKind::Memory;

/// The measured costs.
#[derive(Clone, Debug, Default)]
pub struct Costs {
    /// All but `send_ns`, which is fitted.
    pub facts: SimulationCosts,
    /// Times of the steps of each batch.
    pub step_times: Vec<Vec<Duration>>,
}

/// Measures the costs by samples of two variants on the session's store.
///
/// # Errors
/// A sample failed or differs from the reference, or the user interrupted.
pub fn measure(
    session: &Session,
    sample_count: u32,
    progress: &Progress,
) -> Result<Costs, Failure> {
    let one = NonZeroUsize::MIN;
    let variant = Variant::of(Design::BatchedIo, one, one);
    let alone = Variant { io: Io::OnDemand, io_thread_count: 0, ..variant };
    let sharded = Variant { sharding: Sharding::on(1), ..alone };
    let total = 2 * u64::from(sample_count);
    let stage = progress.stage("measuring costs", total);
    let mut of_steps = Vec::new();
    let mut of_shard = Vec::new();
    for number in 0..u64::from(sample_count) {
        stage.set(2 * number, total);
        of_steps.push(take(session, alone)?);
        of_shard.push(Sharded::of(&take(session, sharded)?));
    }
    stage.finish();
    let name = |variant: &Variant| format!("{MEASURED_STORE}/{variant}");
    let beside_step_ns = beside_step(&of_steps, session);
    let times: Vec<_> = of_steps.into_iter().map(|sample| sample.executed.step_times).collect();
    let mut step_times = medians_of_steps(&times);
    for time in step_times.iter_mut().flatten() {
        *time += Duration::from_nanos(beside_step_ns);
    }
    let facts = SimulationCosts {
        step_variant: name(&alone),
        shard_variant: name(&sharded),
        sample_count: u64::from(sample_count),
        beside_step_ns,
        ..Sharded::median(&of_shard, session)
    };
    Ok(Costs { facts, step_times }.with_figures(session))
}

impl Costs {
    /// These with the same time for each transaction.
    #[must_use]
    pub fn with_tx_time(mut self, time: Duration, session: &Session) -> Self {
        self.facts.given_tx_ns = Some(ns(time));
        for (batch, times) in session.workload().batches.iter().zip(&mut self.step_times) {
            for (index, step) in workload::Steps::of(batch).iter() {
                if let workload::StepKind::Transaction(_) = step.kind {
                    times[index as usize] = time;
                }
            }
        }
        self.with_figures(session)
    }

    /// These with the figures of their times.
    fn with_figures(mut self, session: &Session) -> Self {
        let mut tx_count = 0_u32;
        let (mut sum, mut most) = (Duration::ZERO, Duration::ZERO);
        for (batch, times) in session.workload().batches.iter().zip(&self.step_times) {
            for (index, step) in workload::Steps::of(batch).iter() {
                if let workload::StepKind::Transaction(_) = step.kind {
                    tx_count += 1;
                    sum += times[index as usize];
                    most = most.max(times[index as usize]);
                }
            }
        }
        let mean = if tx_count == 0 { 0.0 } else { sum.as_nanos() as f64 / f64::from(tx_count) };
        self.facts.tx_ns = Spread { mean, max: ns(most) };
        self.facts.steps_ns = ns(self.step_times.iter().flatten().sum());
        self
    }
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn take(session: &Session, variant: Variant) -> Result<Measurement, Failure> {
    if interrupt::happened() {
        return Err(anyhow!("interrupted")).or_exit(Code::Interrupted);
    }
    let how =
        How { variant, cache: CacheMode::Warm, keep: Keep::Nothing, known_costs: &[], trace: None };
    let taken = session.take(session.work(), 0, how, interrupt::flag());
    let code = if interrupt::happened() { Code::Interrupted } else { Code::Io };
    let measurement = taken.or_exit(code)?;
    match &measurement.disagreement {
        Some(difference) => Err(anyhow!("{variant}: {difference}")).or_exit(Code::Disagree),
        None => Ok(measurement),
    }
}

/// Steps of all batches.
fn step_count(session: &Session) -> f64 {
    let batches = session.workload().batches.iter();
    batches.map(|batch| f64::from(workload::Steps::of(batch).count())).sum()
}

/// Time of a thread for a step beside its execution: checks, and keeping results.
fn beside_step(samples: &[Measurement], session: &Session) -> u64 {
    let of = |sample: &Measurement| {
        let executed = &sample.executed;
        let busy: Duration = executed.step_times.iter().flatten().sum();
        let all = span::total(&executed.spans, Phase::Execute);
        all.saturating_sub(busy).as_nanos() as f64 / step_count(session).max(1.0)
    };
    let values: Vec<f64> = samples.iter().map(of).collect();
    stats::median(&values).unwrap_or(0.0) as u64
}

/// The median time of each step over samples.
fn medians_of_steps(samples: &[Vec<Vec<Duration>>]) -> Vec<Vec<Duration>> {
    let Some(first) = samples.first() else { return Vec::new() };
    let median = |batch: usize, step: usize| {
        let mut times: Vec<Duration> = samples.iter().map(|of| of[batch][step]).collect();
        times.sort_unstable();
        times[(times.len() - 1) / 2]
    };
    let batches = first.iter().enumerate();
    batches
        .map(|(batch, steps)| (0..steps.len()).map(|step| median(batch, step)).collect())
        .collect()
}

/// Figures of one sample on one shard, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Sharded {
    wall: f64,
    /// CPU time of the coordinator's messages, beside their content.
    carrying: f64,
    message_count: f64,
    answering: f64,
    taking: f64,
    decode: f64,
    start: f64,
    after: f64,
    /// Values that were sent.
    value_count: f64,
}

impl Sharded {
    fn of(measurement: &Measurement) -> Self {
        let executed = &measurement.executed;
        let phase = |phase| span::total(&executed.spans, phase).as_nanos() as f64;
        let decode = phase(Phase::Hash) + phase(Phase::Decode);
        let after = phase(Phase::Validate) + phase(Phase::Commit);
        // Phases of the leading thread, which computes all the time.
        let leading = decode + phase(Phase::Partition) + after;
        let cpu = measurement.process.usage.map_or(0.0, |usage| usage.cpu().as_nanos() as f64);
        let (times, side) = (executed.shard_times, executed.side_times);
        let (answering, taking) = (side.answering.as_nanos() as f64, side.taking.as_nanos() as f64);
        Self {
            wall: executed.wall.as_nanos() as f64,
            carrying: (cpu - leading - answering - taking).max(0.0),
            message_count: side.message_count as f64,
            answering,
            taking,
            decode,
            start: phase(Phase::ShardSend),
            after,
            value_count: (times.ahead_key_count + times.demand_request_count) as f64,
        }
    }

    fn median(samples: &[Self], session: &Session) -> SimulationCosts {
        let median = |of: fn(&Self) -> f64| {
            let values: Vec<f64> = samples.iter().map(of).collect();
            stats::median(&values).unwrap_or(0.0)
        };
        let batch_count = session.workload().batches.len().max(1) as f64;
        SimulationCosts {
            decode_ns: median(|of| of.decode) as u64,
            start_ns: (median(|of| of.start) / batch_count) as u64,
            message_ns: median(|of| of.carrying / of.message_count.max(1.0)) as u64,
            value_ns: median(|of| of.answering / of.value_count.max(1.0)) as u64,
            result_ns: (median(|of| of.taking) / step_count(session).max(1.0)) as u64,
            after_ns: median(|of| of.after) as u64,
            one_shard_ns: median(|of| of.wall) as u64,
            ..SimulationCosts::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_step_is_its_median_over_samples() {
        let us = |values: &[u64]| vec![values.iter().copied().map(Duration::from_micros).collect()];
        let samples = [us(&[1, 9]), us(&[3, 7]), us(&[2, 100])];
        assert_eq!(medians_of_steps(&samples), us(&[2, 9]));
        assert_eq!(medians_of_steps(&samples[..2]), us(&[1, 7]));
        assert!(medians_of_steps(&[]).is_empty());
    }
}
