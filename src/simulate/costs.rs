//! Measures the costs for a simulation, by samples on this machine. The proportions of the steps'
//! times come from execution on one thread. All other costs come from one shard with one thread.
//! Work is CPU time, as wall time would include waits, and the work of others on the same cores.

use std::{num::NonZeroUsize, time::Duration};

use executor::{
    engine::Executed,
    sample::{Measurement, SampleRecords},
    shards::ShardCpu,
    span,
};
use result::{description::MeanAndMax, simulation::SimulationCosts, stats};
use variant::{CacheMode, Design, Io, Phase, Sharding, StoreKind, Variant};
use workload::{StepKind, Steps, Workload};

use crate::{
    figures::cells::ns,
    run::session::{SampleSettings, Session},
    terminal::{Code, Failure, Progress, WithExitCode, exit::fail, interrupt},
};

/// The store of the measurements.
pub const MEASURED_STORE: StoreKind = StoreKind::Memory;

#[derive(Clone, Debug, Default)]
pub struct Costs {
    /// All costs except the times of single steps.
    pub facts: SimulationCosts,
    /// The times of the steps, by batch.
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
    let (mut times, mut of_shard) = (Vec::new(), Vec::new());
    for number in 0..u64::from(sample_count) {
        stage.set(2 * number, total);
        times.push(take_sample(session, alone)?.executed.step_times);
        of_shard.push(ShardSample::new(&take_sample(session, sharded)?));
    }
    stage.finish();
    let mut step_times = medians_of_steps(&times);
    let facts = SimulationCosts {
        step_variant: format!("{MEASURED_STORE}/{alone}"),
        shard_variant: format!("{MEASURED_STORE}/{sharded}"),
        sample_count: u64::from(sample_count),
        alone_steps_ns: ns(step_times.iter().flatten().sum()),
        ..ShardSample::median_costs(&of_shard, Counts::new(session.workload()))
    };
    // Only the proportions are of one thread alone, which also reads the store and checks writes. A
    // shard does neither, so the sum is the shard's.
    scale_to(&mut step_times, Duration::from_nanos(facts.steps_ns));
    Ok(Costs { facts, step_times }.with_figures(session.workload()))
}

impl Costs {
    /// Returns these costs with the same time for each transaction.
    #[must_use]
    pub fn with_tx_time(mut self, time: Duration, workload: &Workload) -> Self {
        self.facts.given_tx_ns = Some(ns(time));
        for (batch, times) in workload.batches.iter().zip(&mut self.step_times) {
            for (index, step) in Steps::of(batch).iter() {
                if let StepKind::Transaction(_) = step.kind {
                    times[index as usize] = time;
                }
            }
        }
        self.with_figures(workload)
    }

    /// Returns these costs with the figures of their step times.
    fn with_figures(mut self, workload: &Workload) -> Self {
        let mut tx_count = 0_u32;
        let (mut sum, mut most) = (Duration::ZERO, Duration::ZERO);
        for (batch, times) in workload.batches.iter().zip(&self.step_times) {
            for (index, step) in Steps::of(batch).iter() {
                if let StepKind::Transaction(_) = step.kind {
                    tx_count += 1;
                    sum += times[index as usize];
                    most = most.max(times[index as usize]);
                }
            }
        }
        let mean = if tx_count == 0 { 0.0 } else { sum.as_nanos() as f64 / f64::from(tx_count) };
        self.facts.tx_ns = MeanAndMax { mean, max: ns(most) };
        self.facts.steps_ns = ns(self.step_times.iter().flatten().sum());
        self
    }
}

/// Takes a sample of `variant`, which must agree with the reference.
fn take_sample(session: &Session, variant: Variant) -> Result<Measurement, Failure> {
    interrupt::check()?;
    let settings = SampleSettings {
        variant,
        cache: CacheMode::Warm,
        records: SampleRecords::None,
        known_costs: &[],
        trace: None,
    };
    let taken = session.take_sample(session.work(), 0, settings, interrupt::flag());
    let code = if interrupt::happened() { Code::Interrupted } else { Code::Io };
    let measurement = taken.with_exit_code(code)?;
    match &measurement.disagreement {
        Some(difference) => fail!(Code::Disagree, "{variant}: {difference}"),
        None => Ok(measurement),
    }
}

/// Scales the times by one factor, so that their sum is `sum`. Leaves them unchanged if either sum
/// is zero.
fn scale_to(step_times: &mut [Vec<Duration>], sum: Duration) {
    let alone: Duration = step_times.iter().flatten().sum();
    if alone.is_zero() || sum.is_zero() {
        return;
    }
    let factor = sum.as_secs_f64() / alone.as_secs_f64();
    for time in step_times.iter_mut().flatten() {
        *time = time.mul_f64(factor);
    }
}

/// Returns the median time of each step over the samples.
fn medians_of_steps(samples: &[Vec<Vec<Duration>>]) -> Vec<Vec<Duration>> {
    let Some(first) = samples.first() else { return Vec::new() };
    let batches = first.iter().enumerate().map(|(batch_index, steps)| {
        let steps = (0..steps.len()).map(|step_index| {
            let times = samples.iter().map(|times| times[batch_index][step_index]);
            let mut times: Vec<Duration> = times.collect();
            times.sort_unstable();
            times[(times.len() - 1) / 2]
        });
        steps.collect()
    });
    batches.collect()
}

/// Counts of the batches and steps of a workload.
#[derive(Clone, Copy, Debug)]
struct Counts {
    batch_count: f64,
    step_count: f64,
}

impl Counts {
    fn new(workload: &Workload) -> Self {
        let batches = &workload.batches;
        let steps = batches.iter().map(|batch| f64::from(Steps::of(batch).count()));
        Self { batch_count: batches.len() as f64, step_count: steps.sum() }
    }
}

/// Figures of one sample on one shard, in nanoseconds. They are CPU times, except for phases in
/// which one thread computes.
#[derive(Clone, Copy, Debug, Default)]
struct ShardSample {
    wall: f64,
    /// Hash and decoding of the list.
    decode: f64,
    /// Sending the batch to the shard.
    start: f64,
    /// Checks and commit, after execution.
    after: f64,
    /// Number of messages from the shard: requests for values, and results.
    message_count: f64,
    /// Number of values that the shard asked for.
    value_count: f64,
    /// CPU time of all threads of the coordinator.
    coordinator: f64,
    /// Time of the coordinator's decoding, partition, checks and commit. Its leading thread
    /// computes in all of them.
    leading: f64,
    /// Time of the coordinator for answering requests for values.
    answering: f64,
    /// Time of the coordinator for taking results.
    taking: f64,
    /// CPU time of the shard.
    shard: ShardCpu,
}

impl ShardSample {
    fn new(measurement: &Measurement) -> Self {
        let executed = &measurement.executed;
        let decode = time_in(executed, Phase::Hash) + time_in(executed, Phase::Decode);
        let after = time_in(executed, Phase::Validate) + time_in(executed, Phase::Commit);
        let cpu = measurement.process.usage.map_or(0.0, |usage| usage.cpu().as_nanos() as f64);
        let (times, side) = (executed.shard_times, executed.coordinator_times);
        Self {
            wall: float_ns(executed.wall),
            decode,
            start: time_in(executed, Phase::ShardSend),
            after,
            message_count: side.message_count as f64,
            value_count: (times.ahead_key_count + times.demand_request_count) as f64,
            coordinator: cpu,
            leading: decode + time_in(executed, Phase::Partition) + after,
            answering: float_ns(side.answering),
            taking: float_ns(side.taking),
            shard: times.cpu,
        }
    }

    /// Returns the CPU time of the coordinator for messages, without the time for their contents.
    fn carrying(&self) -> f64 {
        (self.coordinator - self.leading - self.answering - self.taking).max(0.0)
    }

    /// Returns the CPU time of the shard for messages, without the time for their contents.
    fn shard_carrying(&self) -> f64 {
        let ShardCpu { executing, sending, asking, all } = self.shard;
        all.saturating_sub(executing + sending + asking).as_nanos() as f64
    }

    /// Returns the costs of a step, a message, a value and a result. Each is the median over the
    /// samples.
    fn median_costs(samples: &[Self], counts: Counts) -> SimulationCosts {
        SimulationCosts {
            steps_ns: median(samples, |sample| float_ns(sample.shard.executing)),
            decode_ns: median(samples, |sample| sample.decode),
            start_ns: median(samples, |sample| per(sample.start, counts.batch_count)),
            message_ns: median(samples, |sample| per(sample.carrying(), sample.message_count)),
            value_ns: median(samples, |sample| per(sample.answering, sample.value_count)),
            result_ns: median(samples, |sample| per(sample.taking, counts.step_count)),
            shard_message_ns: median(samples, |sample| {
                per(sample.shard_carrying(), sample.message_count)
            }),
            shard_value_ns: median(samples, |sample| {
                per(float_ns(sample.shard.asking), sample.value_count)
            }),
            shard_result_ns: median(samples, |sample| {
                per(float_ns(sample.shard.sending), counts.step_count)
            }),
            after_ns: median(samples, |sample| sample.after),
            one_shard_ns: median(samples, |sample| sample.wall),
            ..SimulationCosts::default()
        }
    }
}

/// Returns the median of a figure, rounded down; 0 without samples.
fn median(samples: &[ShardSample], figure: impl Fn(&ShardSample) -> f64) -> u64 {
    let values: Vec<f64> = samples.iter().map(figure).collect();
    stats::median(&values).unwrap_or(0.0) as u64
}

/// Returns the time of a phase in which one thread computes, in nanoseconds.
fn time_in(executed: &Executed, phase: Phase) -> f64 {
    float_ns(span::total(&executed.spans, phase))
}

fn float_ns(time: Duration) -> f64 {
    time.as_nanos() as f64
}

/// Returns `sum / count`, or `sum` if `count` is below 1.
fn per(sum: f64, count: f64) -> f64 {
    sum / count.max(1.0)
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

    #[test]
    fn times_that_are_scaled_have_the_sum_and_keep_their_proportions() {
        let us = Duration::from_micros;
        let mut times = vec![vec![us(1), us(3)], vec![us(4)]];
        scale_to(&mut times, us(12));
        assert_eq!(times, [vec![us(3) / 2, us(9) / 2], vec![us(6)]]);
        // A system that tells no CPU time.
        scale_to(&mut times, Duration::ZERO);
        assert_eq!(times[1], [us(6)]);
        let mut none = vec![vec![Duration::ZERO]];
        scale_to(&mut none, us(1));
        assert_eq!(none, [[Duration::ZERO]]);
    }

    #[test]
    fn costs_times_their_counts_are_the_cpu_time_of_both_processes() {
        let ns = Duration::from_nanos;
        let shard = ShardCpu {
            executing: ns(9_000),
            sending: ns(600),
            asking: ns(320),
            all: ns(9_000 + 600 + 320 + 160),
        };
        let sample = ShardSample {
            wall: 12_345.0,
            leading: 1_000.0,
            coordinator: 1_000.0 + 640.0 + 900.0 + 80.0,
            answering: 640.0,
            taking: 900.0,
            message_count: 8.0,
            value_count: 32.0,
            shard,
            ..ShardSample::default()
        };
        let costs =
            ShardSample::median_costs(&[sample], Counts { batch_count: 1.0, step_count: 30.0 });
        let SimulationCosts { message_ns, value_ns, result_ns, .. } = costs;
        assert_eq!(message_ns * 8 + value_ns * 32 + result_ns * 30, 80 + 640 + 900);
        let SimulationCosts { shard_message_ns, shard_value_ns, shard_result_ns, .. } = costs;
        let of_messages = shard_message_ns * 8 + shard_value_ns * 32 + shard_result_ns * 30;
        assert_eq!(costs.steps_ns + of_messages, shard.all.as_nanos() as u64);
        // The time of the whole decides none of them.
        let longer = ShardSample { wall: 99_999.0, ..sample };
        let of_longer =
            ShardSample::median_costs(&[longer], Counts { batch_count: 1.0, step_count: 30.0 });
        assert_eq!(SimulationCosts { one_shard_ns: 12_345, ..of_longer }, costs);
    }
}
