//! Predicts times: each batch is partitioned as the engine does it, and then simulated.

use std::{num::NonZeroUsize, time::Instant};

use executor::engine::shard_of_steps;
use generator::describe::Description;
use partition::simulate::{Costs as ModelCosts, Hosts, Knowledge, Setting, Simulated, simulate};
use result::simulation::{SimulatedBound, SimulatedRow, SimulationCosts};
use variant::{PartitionTime, Sharding};
use workload::Workload;

use super::{batch::SimulatedBatch, costs::Costs};
use crate::figures::cells::{ns, ratio_or_zero, sharding_facts};
use crate::terminal::{Code, Failure, WithExitCode, interrupt};

/// Batches with the costs of their simulation.
#[derive(Debug)]
pub struct Predictions<'a> {
    batches: Vec<SimulatedBatch<'a>>,
    costs: SimulationCosts,
}

/// A partition of all batches, and its time.
struct TimedPartition {
    /// The shard of each step, by batch.
    shard_of: Vec<Vec<u32>>,
    partition_ns: u64,
}

impl<'a> Predictions<'a> {
    /// Prepares predictions for a workload. `description` has the keys that its transactions touch.
    ///
    /// # Errors
    /// A list cannot be decoded, or a step has no time.
    pub fn new(
        workload: &'a Workload,
        description: &Description,
        costs: &Costs,
    ) -> Result<Self, Failure> {
        let batches = SimulatedBatch::all(workload, description, &costs.step_times)
            .with_exit_code(Code::Io)?;
        Ok(Self { batches, costs: costs.facts.clone() })
    }

    pub const fn costs(&self) -> &SimulationCosts {
        &self.costs
    }

    /// Partitions all batches, and measures the time.
    fn partition(&self, sharding: &Sharding) -> Result<TimedPartition, Failure> {
        let mut shard_of = Vec::new();
        let start = Instant::now();
        for SimulatedBatch { batch, list, .. } in &self.batches {
            interrupt::check()?;
            shard_of.push(shard_of_steps(batch, list, sharding));
        }
        let partition_ns = ns(start.elapsed());
        Ok(TimedPartition { shard_of, partition_ns })
    }

    /// Returns the setting of a simulation with a list.
    fn setting(
        &self,
        sharding: &Sharding,
        thread_count: u32,
        hosts: Hosts,
        partition: &TimedPartition,
    ) -> Setting {
        let batch_count = self.batches.len().max(1) as u64;
        let facts = &self.costs;
        let partition_ns = match sharding.partition_time {
            PartitionTime::Inside => partition.partition_ns,
            PartitionTime::Before => 0,
        };
        let costs = ModelCosts {
            before_ns: (facts.decode_ns + partition_ns) / batch_count,
            start_ns: facts.start_ns,
            message_ns: facts.message_ns,
            value_ns: facts.value_ns,
            result_ns: facts.result_ns,
            shard_message_ns: facts.shard_message_ns,
            shard_value_ns: facts.shard_value_ns,
            shard_result_ns: facts.shard_result_ns,
            after_ns: facts.after_ns / batch_count,
        };
        Setting {
            shard_count: u32::try_from(sharding.count).unwrap_or(u32::MAX),
            thread_count,
            hosts,
            delay_ns: u64::from(sharding.delay_us) * 1_000,
            micro_batch_key_count: sharding.micro_batch_key_count,
            knowledge: Knowledge::List,
            costs,
        }
    }

    /// Simulates all batches, one after the other.
    fn simulated(&self, partition: &TimedPartition, setting: &Setting) -> Simulated {
        let mut sum = Simulated::default();
        for (batch, shard_of) in self.batches.iter().zip(&partition.shard_of) {
            sum.add(&simulate(&batch.work, shard_of, setting));
        }
        sum
    }

    /// Returns the predictions with a list and without a list.
    ///
    /// # Errors
    /// The user interrupted.
    pub fn rows(
        &self,
        sharding: &Sharding,
        thread_count: u32,
        hosts: Hosts,
    ) -> Result<[SimulatedRow; 2], Failure> {
        let partition = self.partition(sharding)?;
        let with_list = self.setting(sharding, thread_count, hosts, &partition);
        Ok([Knowledge::List, Knowledge::NoList].map(|knowledge| {
            let setting = Setting { knowledge, ..with_list };
            let simulated = self.simulated(&partition, &setting);
            self.row(sharding, &setting, &partition, &simulated)
        }))
    }

    fn row(
        &self,
        sharding: &Sharding,
        setting: &Setting,
        partition: &TimedPartition,
        simulated: &Simulated,
    ) -> SimulatedRow {
        let tx_count: usize = self.batches.iter().map(SimulatedBatch::tx_count).sum();
        let (bound, bound_ns) = self.bound(setting, simulated);
        SimulatedRow {
            shard_count: u64::from(setting.shard_count),
            thread_count: u64::from(setting.thread_count),
            sharding: sharding_facts(sharding),
            has_list: setting.knowledge == Knowledge::List,
            time_ns: simulated.time_ns as u64,
            tx_per_s: ratio_or_zero(tx_count as f64 * 1e9, simulated.time_ns),
            speedup: None,
            bound,
            bound_share: ratio_or_zero(bound_ns, simulated.time_ns),
            partition_ns: partition.partition_ns,
            imbalance: ratio_or_zero(
                simulated.fullest_work_ns * f64::from(setting.shard_count),
                simulated.step_work_ns,
            ) - 1.0,
            chain_ns: simulated.chain_ns as u64,
            value_wait_ns: simulated.value_wait_ns as u64,
            coordinator_work_ns: simulated.coordinator_work_ns as u64,
            busiest_thread_work_ns: simulated.busiest_thread_work_ns as u64,
            shard_message_work_ns: simulated.shard_message_work_ns as u64,
            ahead_request_count: simulated.ahead_request_count,
            ahead_key_count: simulated.ahead_key_count,
            demand_request_count: simulated.demand_request_count,
            result_message_count: simulated.result_message_count,
            shard_message_count: simulated.shard_message_count,
        }
    }

    /// Returns the largest lower bound of a predicted time, with its nanoseconds.
    fn bound(&self, setting: &Setting, simulated: &Simulated) -> (SimulatedBound, f64) {
        let serial_work_ns = simulated.coordinator_work_ns - self.message_work_ns(simulated);
        let cores = match setting.hosts {
            Hosts::One { core_count } => {
                let work = simulated.step_work_ns
                    + simulated.coordinator_work_ns
                    + simulated.shard_message_work_ns;
                (SimulatedBound::HostCores, work / f64::from(core_count))
            }
            Hosts::Apart { coordinator_core_count } => {
                let work = self.message_work_ns(simulated) / f64::from(coordinator_core_count);
                (SimulatedBound::CoordinatorCores, serial_work_ns + work)
            }
        };
        // Four messages of a batch follow one another: batch, request, values, result.
        let delays = 4.0 * setting.delay_ns as f64 * self.batches.len() as f64;
        let threads = simulated.fullest_work_ns / f64::from(setting.thread_count);
        let bounds = [
            (SimulatedBound::ShardThreads, threads),
            (SimulatedBound::Chain, simulated.chain_ns),
            (SimulatedBound::CoordinatorThread, serial_work_ns + simulated.busiest_thread_work_ns),
            cores,
            (SimulatedBound::Delays, delays),
        ];
        bounds.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or_default()
    }

    /// Returns the work of the coordinator's threads that exchange messages with shards.
    fn message_work_ns(&self, simulated: &Simulated) -> f64 {
        let value_count = simulated.ahead_key_count + simulated.demand_request_count;
        let request_count = simulated.ahead_request_count + simulated.demand_request_count;
        let message_count = simulated.result_message_count + request_count;
        self.costs.result_ns as f64 * self.step_count()
            + self.costs.value_ns as f64 * value_count as f64
            + self.costs.message_ns as f64 * message_count as f64
    }

    fn step_count(&self) -> f64 {
        self.batches.iter().map(|batch| batch.work.steps.len() as f64).sum()
    }
}

/// Returns the setting with all processes on this host.
pub(super) fn one_host(core_count: NonZeroUsize) -> Hosts {
    Hosts::One { core_count: u32::try_from(core_count.get()).unwrap_or(u32::MAX) }
}

/// Returns the assumptions of predictions, for users.
pub fn assumptions(hosts: Hosts) -> Vec<String> {
    let of_hosts = match hosts {
        Hosts::Apart { coordinator_core_count } => format!(
            "each shard has a host of its own with a core for each thread, as fast as those here; the \
             coordinator has one thread for each shard, on {coordinator_core_count} cores"
        ),
        Hosts::One { core_count } => {
            format!("all processes share {core_count} cores equally, as fast as those here")
        }
    };
    [
        of_hosts.as_str(),
        "a step waits for all its values before it computes; the network has no limit but its delay, and a \
         sender never waits for room",
        "messages, values and results do not become dearer with the number of shards, nor steps with the cores \
         that are busy beside them; memory and caches are not shared",
        "with a list: no step waits for another; sending the list costs the coordinator nothing",
        "without a list: every read is known ahead, no execution is aborted, a value goes from shard to shard \
         in one delay and costs them nothing, payments to the fee recipient are deltas; all other costs are \
         those with a list",
    ]
    .map(str::to_owned)
    .to_vec()
}
