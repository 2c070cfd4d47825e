//! Simulates the time of a batch on shards of execution by discrete events, for
//! `stress shard simulate`. Threads of shards take steps and wait for values; each message takes a
//! delay. The coordinator has one thread for each shard. The threads of a host share its cores.
//! `docs/shards.md` lists the effects that the simulation leaves out.
//!
//! ```
//! use partition::simulate::{BatchWork, Costs, Hosts, Knowledge, Setting, StepWork, simulate};
//!
//! // Three steps that need no value, two of them on the first shard.
//! let step = |time_ns| StepWork { time_ns, ..StepWork::default() };
//! let work = BatchWork { keys: Vec::new(), steps: vec![step(5), step(3), step(4)] };
//! let setting = Setting {
//!     shard_count: 2,
//!     thread_count: 1,
//!     hosts: Hosts::Apart { coordinator_core_count: 1 },
//!     delay_ns: 100,
//!     micro_batch_key_count: 256,
//!     knowledge: Knowledge::List,
//!     costs: Costs::default(),
//! };
//! let simulated = simulate(&work, &[0, 1, 0], &setting);
//! assert_eq!(simulated.time_ns, 100.0 + 9.0 + 100.0);
//! ```

mod cpu;
mod input;
mod network;
mod plan;
mod shard;

use std::{cmp::Reverse, collections::VecDeque};

pub use input::{BatchWork, Costs, Hosts, KeyKind, Knowledge, Setting, Simulated, StepWork};

use cpu::Cpu;
use network::{Arrival, Network, Report};
use plan::{Plan, chain_ns};
use shard::{ShardState, Thread, Value};

/// Maximum number of step results in a message of a shard to the coordinator, as in the executor.
const SENT_STEP_COUNT: u64 = 128;
/// Maximum time that a step's result waits for further results before it is sent, as in the
/// executor.
const WAIT_NS: f64 = 500_000.0;

/// Simulates a batch. `shard_of` has the shard of each step.
///
/// # Panics
/// On a step without a shard, a shard that is not below the number of shards, or a key without a
/// kind.
pub fn simulate(work: &BatchWork, shard_of: &[u32], setting: &Setting) -> Simulated {
    assert_eq!(work.steps.len(), shard_of.len(), "a shard for each step");
    let plan = Plan::new(work, shard_of, setting);
    let mut simulation = Simulation::new(work, &plan, setting);
    let end = simulation.run();
    let mut simulated = simulation.simulated;
    let Costs { before_ns, after_ns, .. } = setting.costs;
    let mut loads = vec![0.0; setting.shard_count as usize];
    for (step, shard) in work.steps.iter().zip(shard_of) {
        loads[*shard as usize] += step.time_ns as f64;
    }
    simulated.step_work_ns = loads.iter().sum();
    simulated.fullest_work_ns = loads.into_iter().fold(0.0, f64::max);
    simulated.chain_ns = chain_ns(work, &plan, setting.delay_ns) as f64;
    simulated.time_ns = end + after_ns as f64;
    simulated.busiest_thread_work_ns =
        simulation.coordinator_work_ns.iter().copied().fold(0.0, f64::max);
    let alone = (before_ns + after_ns) as f64;
    simulated.coordinator_work_ns = simulation.coordinator_work_ns.iter().sum::<f64>() + alone;
    simulated
}

/// An activity that occupies a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Actor {
    /// A shard takes in its part of the batch.
    Start(u32),
    /// A thread of a shard executes a step.
    Thread(u32, u32),
    /// A shard sends step results to the coordinator.
    Send(u32),
    /// A shard takes in values that the coordinator has sent.
    ReceiveValues(u32),
    /// The coordinator's thread for a shard takes in a message of that shard.
    Coordinator(u32),
}

struct Simulation<'a> {
    work: &'a BatchWork,
    plan: &'a Plan,
    setting: &'a Setting,
    now: f64,
    network: Network,
    /// The coordinator's processor, then those of the shards. On one host, all share one processor.
    cpus: Vec<Cpu<Actor>>,
    shards: Vec<ShardState>,
    /// For each shard, messages that wait for the coordinator's thread; the first is being taken
    /// in.
    coordinator_queues: Vec<VecDeque<Report>>,
    /// Work that the coordinator's thread for each shard has done so far, in nanoseconds.
    coordinator_work_ns: Vec<f64>,
    /// Number of values and steps that each step still waits for; empty if shards have the list.
    missing: Vec<u32>,
    simulated: Simulated,
}

impl<'a> Simulation<'a> {
    fn new(work: &'a BatchWork, plan: &'a Plan, setting: &'a Setting) -> Self {
        let count = setting.shard_count as usize;
        let threads = setting.thread_count.max(1);
        let cpus = match setting.hosts {
            Hosts::One { core_count } => vec![Cpu::new(core_count)],
            Hosts::Apart { coordinator_core_count } => {
                let of_shards = std::iter::repeat_n(Cpu::new(threads), count);
                std::iter::once(Cpu::new(coordinator_core_count)).chain(of_shards).collect()
            }
        };
        Self {
            work,
            plan,
            setting,
            now: 0.0,
            network: Network::default(),
            cpus,
            shards: vec![ShardState::new(threads, work.keys.len()); count],
            coordinator_queues: vec![VecDeque::new(); count],
            coordinator_work_ns: vec![0.0; count],
            missing: Vec::new(),
            simulated: Simulated::default(),
        }
    }

    /// Runs the batch. Returns the time at which the coordinator has taken in the last result.
    fn run(&mut self) -> f64 {
        self.begin();
        // The next event is the next end of an activity or the next arrival; the end, if both are
        // at one time.
        loop {
            let ends = self.cpus.iter().enumerate();
            let end = ends.filter_map(|(index, cpu)| Some((cpu.next_end()?, index))).min();
            match (end, self.network.next()) {
                (Some((at, index)), next) if next.is_none_or(|next| at <= next) => {
                    self.now = self.now.max(at.0);
                    let ended = self.cpus[index].finish(self.now);
                    ended.into_iter().for_each(|actor| self.ended(actor));
                }
                (_, Some(at)) => {
                    let message = self.network.take();
                    if let Some(Arrival::Due(shard)) = message
                        && !self.shards[shard as usize].has_due_results(at.0)
                    {
                        // The unsent results that this event was for were sent before.
                        continue;
                    }
                    self.now = at.0;
                    message.into_iter().for_each(|message| self.arrived(message));
                }
                (_, None) => return self.now,
            }
        }
    }

    /// Sends each shard its part of the batch. Without a list, also counts the values and steps
    /// that each step waits for.
    fn begin(&mut self) {
        self.now = self.setting.costs.before_ns as f64;
        for shard in 0..self.setting.shard_count {
            self.send(Arrival::Part(shard));
        }
        if self.setting.knowledge == Knowledge::List {
            return;
        }
        let Plan { values, dependencies, shard_of, .. } = self.plan;
        for (step, shard) in shard_of.iter().enumerate() {
            let keys = values.row(step);
            self.missing.push((keys.len() + dependencies.row(step).len()) as u32);
            for key in keys {
                let waiting = &mut self.shards[*shard as usize].waiting;
                waiting.entry(*key).or_default().push(step as u32);
            }
        }
    }

    fn send(&mut self, message: Arrival) {
        self.network.send(self.now + self.setting.delay_ns as f64, message);
    }

    fn start(&mut self, shard: u32, work_ns: u64, actor: Actor) {
        let cpu = match (self.setting.hosts, actor) {
            (Hosts::One { .. }, _) | (Hosts::Apart { .. }, Actor::Coordinator(_)) => 0,
            (Hosts::Apart { .. }, _) => 1 + shard as usize,
        };
        self.cpus[cpu].start(self.now, work_ns as f64, actor);
    }

    fn arrived(&mut self, message: Arrival) {
        match message {
            Arrival::Part(shard) => {
                self.start(shard, self.setting.costs.start_ns, Actor::Start(shard));
            }
            Arrival::Report(shard, report) => {
                self.coordinator_queues[shard as usize].push_back(report);
                if self.coordinator_queues[shard as usize].len() == 1 {
                    self.take_in(shard);
                }
            }
            Arrival::Values(shard, keys) => {
                self.shards[shard as usize].answers.push_back(keys);
                if self.shards[shard as usize].answers.len() == 1 {
                    self.take_values_in(shard);
                }
            }
            Arrival::Step(shard, step) => {
                self.step_known(shard, step);
                self.hand_out(shard);
            }
            Arrival::Due(shard) => self.send_results(shard),
        }
    }

    /// Makes the coordinator's thread for a shard begin to take in the next message.
    fn take_in(&mut self, shard: u32) {
        let Some(report) = self.coordinator_queues[shard as usize].front() else { return };
        let Costs { message_ns, value_ns, result_ns, .. } = self.setting.costs;
        let work_ns = match report {
            Report::Wanted(keys) => message_ns + value_ns * keys.len() as u64,
            Report::Results(count) => message_ns + result_ns * count,
            Report::Done => 0,
        };
        self.coordinator_work_ns[shard as usize] += work_ns as f64;
        self.start(shard, work_ns, Actor::Coordinator(shard));
    }

    /// Makes a shard begin to take in the next answer, which has values.
    fn take_values_in(&mut self, shard: u32) {
        let Some(keys) = self.shards[shard as usize].answers.front() else { return };
        let Costs { shard_message_ns, shard_value_ns, .. } = self.setting.costs;
        let work_ns = shard_message_ns + shard_value_ns * keys.len() as u64;
        self.simulated.shard_message_work_ns += work_ns as f64;
        self.start(shard, work_ns, Actor::ReceiveValues(shard));
    }

    fn ended(&mut self, actor: Actor) {
        match actor {
            Actor::Start(shard) => self.ready(shard),
            Actor::Thread(shard, thread) => self.step_ended(shard, thread),
            Actor::Send(shard) => self.results_sent(shard),
            Actor::ReceiveValues(shard) => {
                if let Some(keys) = self.shards[shard as usize].answers.pop_front() {
                    self.values_arrived(shard, &keys);
                }
                self.take_values_in(shard);
            }
            Actor::Coordinator(shard) => {
                if let Some(Report::Wanted(keys)) =
                    self.coordinator_queues[shard as usize].pop_front()
                {
                    self.send(Arrival::Values(shard, keys));
                }
                self.take_in(shard);
            }
        }
    }

    /// Starts a shard that has its part of the batch. It requests the values that it foresees, and
    /// its threads take steps.
    fn ready(&mut self, shard: u32) {
        let plan = self.plan;
        let part = &plan.shards[shard as usize];
        for keys in &part.ahead {
            for key in keys {
                self.shards[shard as usize].values[*key as usize] = Value::Asked;
            }
            self.simulated.ahead_request_count += 1;
            self.simulated.ahead_key_count += keys.len() as u64;
            self.send(Arrival::Report(shard, Report::Wanted(keys.clone())));
        }
        let steps = part.steps.iter().copied();
        let steps = steps.filter(|step| self.missing.get(*step as usize).is_none_or(|n| *n == 0));
        let runnable = steps.map(Reverse).collect();
        let state = &mut self.shards[shard as usize];
        (state.is_ready, state.runnable) = (true, runnable);
        if part.steps.is_empty() {
            self.send(Arrival::Report(shard, Report::Done));
        }
        self.hand_out(shard);
    }

    /// Gives steps that can begin to the shard's idle threads.
    fn hand_out(&mut self, shard: u32) {
        loop {
            let state = &mut self.shards[shard as usize];
            let Some(thread) = state.idle.pop() else { return };
            let Some(Reverse(step)) = state.runnable.pop() else {
                state.idle.push(thread);
                return;
            };
            state.threads[thread as usize] = Thread { step, value_count: 0, waits_since: self.now };
            self.request_or_execute(shard, thread);
        }
    }

    /// Lets a thread request the values of its step one after the other. The thread executes the
    /// step once all values are present.
    fn request_or_execute(&mut self, shard: u32, thread: u32) {
        let plan = self.plan;
        let state = &mut self.shards[shard as usize];
        let running = &mut state.threads[thread as usize];
        let keys = plan.values.row(running.step as usize);
        while let Some(key) = keys.get(running.value_count) {
            let value = &mut state.values[*key as usize];
            if *value == Value::Here {
                running.value_count += 1;
                continue;
            }
            state.waiting.entry(*key).or_default().push(thread);
            if std::mem::replace(value, Value::Asked) == Value::Unknown {
                self.simulated.demand_request_count += 1;
                self.send(Arrival::Report(shard, Report::Wanted(vec![*key])));
            }
            return;
        }
        self.simulated.value_wait_ns += self.now - running.waits_since;
        let time_ns = self.work.steps[running.step as usize].time_ns;
        self.start(shard, time_ns, Actor::Thread(shard, thread));
    }

    fn values_arrived(&mut self, shard: u32, keys: &[u32]) {
        let mut waiters = Vec::new();
        let state = &mut self.shards[shard as usize];
        for key in keys {
            state.values[*key as usize] = Value::Here;
            waiters.extend(state.waiting.remove(key).unwrap_or_default());
        }
        for waiter in waiters {
            match self.setting.knowledge {
                Knowledge::List => self.request_or_execute(shard, waiter),
                Knowledge::NoList => self.count_down(waiter),
            }
        }
        self.hand_out(shard);
    }

    /// Notes that a shard knows the end of `step`, which ran on this shard or another. Each step of
    /// the shard that depends on `step` now waits for one step less.
    fn step_known(&mut self, shard: u32, step: u32) {
        let plan = self.plan;
        for dependent in plan.dependents.row(step as usize) {
            if plan.shard_of[*dependent as usize] == shard {
                self.count_down(*dependent);
            }
        }
    }

    fn count_down(&mut self, step: u32) {
        let missing = &mut self.missing[step as usize];
        *missing -= 1;
        let state = &mut self.shards[self.plan.shard_of[step as usize] as usize];
        // Until its shard is ready, a step stays out of `runnable`; the function `ready` adds it.
        if *missing == 0 && state.is_ready {
            state.runnable.push(Reverse(step));
        }
    }

    fn step_ended(&mut self, shard: u32, thread: u32) {
        let plan = self.plan;
        let state = &mut self.shards[shard as usize];
        let step = state.threads[thread as usize].step;
        state.idle.push(thread);
        state.unsent_count += 1;
        state.ended_count += 1;
        if state.unsent_count == 1 {
            self.results_wait(shard);
        }
        self.step_known(shard, step);
        let dependents = plan.dependents.row(step as usize);
        let mut others: Vec<u32> =
            dependents.iter().map(|dependent| plan.shard_of[*dependent as usize]).collect();
        others.sort_unstable();
        others.dedup();
        for other in others.into_iter().filter(|other| *other != shard) {
            self.simulated.shard_message_count += 1;
            self.send(Arrival::Step(other, step));
        }
        self.send_results(shard);
        self.hand_out(shard);
    }

    /// Starts the time that a shard's unsent results may wait.
    fn results_wait(&mut self, shard: u32) {
        let send_at = self.now + WAIT_NS;
        self.shards[shard as usize].send_at = send_at;
        self.network.send(send_at, Arrival::Due(shard));
    }

    /// Starts the sending thread of a shard, if it is free and unsent results are to be sent. They
    /// are sent once they fill a message, have waited long enough, or are the shard's last.
    fn send_results(&mut self, shard: u32) {
        let state = &mut self.shards[shard as usize];
        let are_last = state.ended_count == self.plan.shards[shard as usize].steps.len() as u64;
        let are_due = state.unsent_count >= SENT_STEP_COUNT || state.has_due_results(self.now);
        if state.sending_count > 0 || state.unsent_count == 0 || !(are_last || are_due) {
            return;
        }
        let count = state.unsent_count.min(SENT_STEP_COUNT);
        (state.sending_count, state.unsent_count) = (count, state.unsent_count - count);
        if state.unsent_count > 0 {
            self.results_wait(shard);
        }
        self.simulated.result_message_count += 1;
        let Costs { shard_message_ns, shard_result_ns, .. } = self.setting.costs;
        let work_ns = shard_message_ns + shard_result_ns * count;
        self.simulated.shard_message_work_ns += work_ns as f64;
        self.start(shard, work_ns, Actor::Send(shard));
    }

    fn results_sent(&mut self, shard: u32) {
        let state = &mut self.shards[shard as usize];
        let count = std::mem::take(&mut state.sending_count);
        state.sent_count += count;
        let is_last = state.sent_count == self.plan.shards[shard as usize].steps.len() as u64;
        self.send(Arrival::Report(shard, Report::Results(count)));
        if is_last {
            self.send(Arrival::Report(shard, Report::Done));
        }
        self.send_results(shard);
    }
}
