//! All transactions at once, each on its own state as of its index, which the block-level
//! access list gives (EIP-7928). Reads on demand or by readers of their own; the result is
//! checked against the list as it comes.

use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use evm::{Runner, StepError, StepWrites};
use workload::{
    Batch, BlockAccessIndex, Steps, TxOutcome,
    list::{ListBounds, ListIndex},
};

use super::{BatchResult, EngineError, Executed, Task, commit};
use crate::{
    check::{self, ListFault},
    crew::Crew,
    join, prefetch,
    prestate::{PreState, Reads},
    process, schedule,
    schedule::Schedule,
    single_flight::SingleFlight,
    span::{Phase, Spans},
    store::{ReadCounters, Reader, Sample, StoreError},
    trace::{Track, What},
    view::{ReadTally, Shared, Touched, View},
};

/// What one step came to.
#[derive(Debug)]
pub(crate) struct StepResult {
    pub(crate) index: BlockAccessIndex,
    pub(crate) outcome: Option<TxOutcome>,
    pub(crate) writes: StepWrites,
    latency: Duration,
}

/// What one worker's part of a batch came to.
#[derive(Debug, Default)]
struct Part {
    steps: Vec<StepResult>,
    touched: Touched,
}

/// What one worker counts over all batches: made before the clock, joined after it.
#[derive(Debug, Default)]
struct Tallies {
    on_demand: ReadTally,
    prefetched: ReadTally,
}

/// What all workers counted.
#[derive(Debug, Default)]
struct Totals {
    tallies: Tallies,
    counters: ReadCounters,
    /// Why a worker could not begin.
    failure: Option<StoreError>,
}

/// A step that failed; the lowest index is reported.
#[derive(Debug)]
struct Failure {
    index: BlockAccessIndex,
    error: EngineError,
}

/// One batch as its workers see it.
#[derive(Debug)]
struct Job<P> {
    shared: Shared<P>,
    steps: Steps,
    /// In which order steps are taken; `None` for that of their indices.
    order: Option<Vec<BlockAccessIndex>>,
    place: usize,
    spans: Arc<Spans>,
    /// Place in the order.
    next_step: AtomicU32,
    next_chunk: AtomicUsize,
    /// Opens when executors may begin.
    gate: Gate,
    parts: Mutex<Vec<Part>>,
    failures: Mutex<Vec<Failure>>,
}

/// Executes all batches in order, the transactions of each at once.
///
/// # Errors
/// [`EngineError`].
pub(super) fn execute<S: Sample, P: PreState>(
    sample: &S,
    task: &Task<'_>,
) -> Result<Executed, EngineError> {
    let size = task.variant.thread_count + task.variant.io_thread_count;
    let stop = AtomicBool::new(false);
    let crew = Crew::<Job<P>>::new(size, &stop, task.cancel);
    let totals = Mutex::new(Totals::default());
    let executed = thread::scope(|scope| {
        let _end = crew.guard();
        for worker in 0..size {
            let (crew, totals, stop) = (&crew, &totals, &stop);
            let begun = thread::Builder::new().spawn_scoped(scope, move || {
                if let Err(error) = work(sample, task, worker, crew, totals, stop) {
                    lock(totals).failure.get_or_insert(error);
                    crew.give_up();
                }
            });
            if let Err(error) = begun {
                lock(totals).failure.get_or_insert_with(|| no_thread(&error));
                crew.give_up();
            }
        }
        run_batches(sample, task, &crew, &stop)
    });
    let totals = totals.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(failure) = totals.failure {
        return Err(EngineError::Store(failure));
    }
    let mut executed = executed?;
    executed.on_demand = totals.tallies.on_demand;
    executed.prefetched = totals.tallies.prefetched;
    executed.counters.add(&totals.counters);
    Ok(executed)
}

fn no_thread(error: &std::io::Error) -> StoreError {
    let action = "start a thread to read and execute with".to_owned();
    StoreError::Failed { store: "bal", action, reason: error.to_string() }
}

/// A worker's life: the first threads execute, those behind them only read.
fn work<S: Sample, P: PreState>(
    sample: &S,
    task: &Task<'_>,
    worker: usize,
    crew: &Crew<'_, Job<P>>,
    totals: &Mutex<Totals>,
    stop: &AtomicBool,
) -> Result<(), StoreError> {
    let mut reader = sample.reader()?;
    let mut tallies = Tallies::default();
    let (executors, readers) = (task.variant.thread_count, task.variant.io_thread_count);
    let recorder = || task.trace.map(|trace| trace.recorder(executors + readers));
    (tallies.on_demand.trace, tallies.prefetched.trace) = (recorder(), recorder());
    let executes = worker < executors;
    crew.serve(|job: &Job<P>| {
        let done = match executes {
            true => job.execute(&mut reader, &mut tallies, task, stop),
            false => job.prefetch(&mut reader, &mut tallies, stop),
        };
        if let Err(failure) = done {
            stop.store(true, Ordering::Relaxed);
            lock(&job.failures).push(failure);
        }
    });
    if let Some(trace) = task.trace {
        let reader = || Track::Reader(worker - executors);
        let track = if executes { Track::Executor(worker) } else { reader() };
        trace.give(track, tallies.on_demand.trace.take());
        trace.give(track, tallies.prefetched.trace.take());
    }
    let mut totals = lock(totals);
    totals.tallies.on_demand.merge(&tallies.on_demand);
    totals.tallies.prefetched.merge(&tallies.prefetched);
    totals.counters.add(&reader.counters());
    Ok(())
}

/// The clock runs in here only.
fn run_batches<S: Sample, P: PreState>(
    sample: &S,
    task: &Task<'_>,
    crew: &Crew<'_, Job<P>>,
    stop: &AtomicBool,
) -> Result<Executed, EngineError> {
    let mut reader = sample.reader()?;
    let mut executed = Executed::default();
    crew.wait_idle();
    if stop.load(Ordering::Relaxed) {
        return Err(EngineError::Cancelled);
    }
    let mut known_orders = known_orders(task).into_iter();
    let mut main = task.trace.map(|trace| trace.recorder(usize::MAX));
    let before = process::Snapshot::now();
    let spans = Arc::new(Spans::start());
    for (place, batch) in task.workload.batches.iter().enumerate() {
        let job = Job::new(task, place, batch, &spans, known_orders.next())?;
        let posted = spans.elapsed();
        crew.post(Arc::new(job));
        let job = crew.finish().unwrap_or_else(|| panic!("batch {place} was posted"));
        let start = spans.elapsed();
        if let Some(main) = &mut main {
            main.seldom(What::Threads, spans.at(posted), spans.at(start));
        }
        let result = job.finish(task, &mut reader, stop, &mut executed)?;
        drop(job);
        spans.close(Phase::Validate, start);
        commit(sample, &spans, &result.net_changes)?;
        executed.batches.push(result);
    }
    executed.wall = spans.elapsed();
    executed.process = process::Snapshot::now().since(&before);
    executed.spans = spans.spans();
    if let Some(trace) = task.trace {
        trace.give(Track::Main, main);
        trace.clock(&spans, &[Phase::Decode, Phase::Schedule, Phase::Validate, Phase::Commit]);
    }
    executed.prefetch_reads_together = reader.reads_together();
    executed.counters = reader.counters();
    Ok(executed)
}

/// Orders that no client could know, and so are made before the clock.
fn known_orders(task: &Task<'_>) -> Vec<Vec<BlockAccessIndex>> {
    if task.variant.schedule != Schedule::KnownCost {
        return Vec::new();
    }
    let (given, batches) = (task.known_costs, &task.workload.batches);
    assert_eq!(given.len(), batches.len(), "batches with known costs, and batches");
    let order = |(costs, batch): (&Vec<Duration>, &Batch)| {
        assert_eq!(costs.len(), Steps::of(batch).count() as usize, "known costs, and steps");
        schedule::by_known_cost(costs)
    };
    given.iter().zip(batches).map(order).collect()
}

impl<P: PreState> Job<P> {
    fn new(
        task: &Task<'_>,
        place: usize,
        batch: &Batch,
        spans: &Arc<Spans>,
        known_order: Option<Vec<BlockAccessIndex>>,
    ) -> Result<Self, EngineError> {
        let start = spans.elapsed();
        let bounds = ListBounds::of(batch, task.workload.fork);
        let list = ListIndex::decode(&task.lists[place], &bounds)
            .map_err(|fault| EngineError::List { batch: place, fault: fault.into() })?;
        let shared = Shared { pre_state: P::new(&list), list, codes: SingleFlight::default() };
        let steps = Steps::of(batch);
        spans.close(Phase::Decode, start);
        let start = spans.elapsed();
        let order = known_order
            .or_else(|| schedule::order(task.variant.schedule, batch, &steps, &shared.list));
        if order.is_some() {
            spans.close(Phase::Schedule, start);
        }
        Ok(Self {
            shared,
            steps,
            order,
            place,
            spans: Arc::clone(spans),
            next_step: AtomicU32::new(0),
            next_chunk: AtomicUsize::new(0),
            gate: Gate::new(task.variant.prefetching_before()),
            parts: Mutex::default(),
            failures: Mutex::default(),
        })
    }

    fn prefetch<R: Reader>(
        &self,
        reader: &mut R,
        tallies: &mut Tallies,
        stop: &AtomicBool,
    ) -> Result<(), Failure> {
        let _open = self.gate.pass();
        let Some(declared) = self.shared.pre_state.declared() else { return Ok(()) };
        let start = self.spans.elapsed();
        let to = (reader, &mut tallies.prefetched);
        prefetch::run(&self.shared.list, declared, &self.next_chunk, to, stop)
            .map_err(|error| Failure { index: 0, error: EngineError::Store(error) })?;
        let span = self.spans.close(Phase::Prefetch, start);
        if let Some(trace) = &mut tallies.prefetched.trace {
            trace.phase(&self.spans, span);
        }
        Ok(())
    }

    fn execute<R: Reader>(
        &self,
        reader: &mut R,
        tallies: &mut Tallies,
        task: &Task<'_>,
        stop: &AtomicBool,
    ) -> Result<(), Failure> {
        if task.variant.executors_prefetch() {
            self.prefetch(reader, tallies, stop)?;
        }
        let came = tallies.on_demand.trace.is_some().then(Instant::now);
        self.gate.wait();
        if let (Some(trace), Some(came)) = (&mut tallies.on_demand.trace, came) {
            trace.seldom(What::Gate, came, Instant::now());
        }
        let start = self.spans.elapsed();
        let view = View::new(&self.shared, task.workload, stop, (reader, &mut tallies.on_demand));
        let mut runner = Runner::new(task.workload, view);
        let mut steps = Vec::new();
        let mut entered = None;
        while !stop.load(Ordering::Relaxed) {
            let place = self.next_step.fetch_add(1, Ordering::Relaxed);
            if place >= self.steps.count() {
                break;
            }
            let index = self.order.as_ref().map_or(place, |order| order[place as usize]);
            steps.push(self.run_step(&mut runner, task, index, &mut entered)?);
        }
        let span = self.spans.close(Phase::Execute, start);
        if let Some(trace) = runner.db().trace() {
            trace.phase(&self.spans, span);
        }
        let touched = runner.into_db().finish();
        lock(&self.parts).push(Part { steps, touched });
        Ok(())
    }

    fn run_step<R: Reader>(
        &self,
        runner: &mut Runner<View<'_, R, P>>,
        task: &Task<'_>,
        index: BlockAccessIndex,
        entered: &mut Option<usize>,
    ) -> Result<StepResult, Failure> {
        let step = self.steps.at(index);
        let block = &task.workload.batches[self.place].blocks[step.block];
        if entered.replace(step.block) != Some(step.block) {
            runner.enter(block);
        }
        runner.db().set_index(index);
        let mut writes = StepWrites::default();
        let mut unasked = Ok(());
        let start = Instant::now();
        let output = runner.run(block, step.kind, |view, state| {
            if unasked.is_ok() {
                unasked = view.mark_unasked(&state);
            }
            writes.add(&state);
        });
        let end = Instant::now();
        let latency = end - start;
        if let Some(trace) = runner.db().trace() {
            let outcome = output.as_ref().ok().and_then(|output| output.outcome);
            let (batch, gas) = (self.place, outcome.map(|outcome| outcome.gas_used));
            trace.seldom(What::Step { batch, index, step, gas }, start, end);
        }
        let output =
            output.and_then(|output| unasked.map(|()| output).map_err(StepError::Database));
        let rejected =
            |fault| Failure { index, error: EngineError::List { batch: self.place, fault } };
        let output = output.map_err(|error| match error {
            StepError::Database(read) if read.is_undeclared() => {
                rejected(ListFault::Undeclared { index, read })
            }
            StepError::Database(read) => {
                Failure { index, error: EngineError::of_read(self.place, index, read) }
            }
            other => rejected(ListFault::InvalidStep { index, reason: other.to_string() }),
        })?;
        check::check_writes(&self.shared.list, index, &writes).map_err(rejected)?;
        Ok(StepResult { index, outcome: output.outcome, writes, latency })
    }

    /// Checks and joins what the workers left.
    fn finish<R: Reader>(
        &self,
        task: &Task<'_>,
        reader: &mut R,
        stop: &AtomicBool,
        executed: &mut Executed,
    ) -> Result<BatchResult, EngineError> {
        let mut failures = std::mem::take(&mut *lock(&self.failures));
        // What was cancelled because another step failed comes last.
        let rank = |f: &Failure| (matches!(f.error, EngineError::Cancelled), f.index);
        failures.sort_by_key(rank);
        if let Some(failure) = failures.into_iter().next() {
            return Err(failure.error);
        }
        if task.cancel.load(Ordering::Relaxed) {
            return Err(EngineError::Cancelled);
        }
        let mut touched = Touched::new(&self.shared.list);
        let mut steps = Vec::with_capacity(self.steps.count() as usize);
        for part in std::mem::take(&mut *lock(&self.parts)) {
            touched.union(&part.touched);
            steps.extend(part.steps);
        }
        if P::READS == Reads::Declared {
            check::check_touched(&self.shared.list, &touched)
                .map_err(|fault| EngineError::List { batch: self.place, fault })?;
        }
        steps.sort_unstable_by_key(|step: &StepResult| step.index);
        let mut longest = Duration::ZERO;
        for step in steps.iter().filter(|step| step.outcome.is_some()) {
            executed.tx_latencies.record(step.latency);
            longest = longest.max(step.latency);
        }
        executed.longest_txs += longest;
        executed.step_times.push(steps.iter().map(|step| step.latency).collect());
        let writes = steps.iter().map(|step| &step.writes);
        let net_changes = join::net_changes(&self.shared, reader, stop, writes)
            .map_err(|error| EngineError::of_read(self.place, self.steps.count(), error))?;
        let outcomes = steps.iter().filter_map(|step| step.outcome).collect();
        Ok(BatchResult { outcomes, net_changes })
    }
}

/// Opens when as many have passed as it was made for.
#[derive(Debug)]
struct Gate {
    missing: Mutex<usize>,
    opened: Condvar,
}

impl Gate {
    const fn new(count: usize) -> Self {
        Self { missing: Mutex::new(count), opened: Condvar::new() }
    }

    /// Counts the caller as passed when the guard goes, in a panic too.
    const fn pass(&self) -> Pass<'_> {
        Pass(self)
    }

    fn wait(&self) {
        let mut missing = lock(&self.missing);
        while *missing > 0 {
            missing = self.opened.wait(missing).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[derive(Debug)]
struct Pass<'a>(&'a Gate);

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let mut missing = lock(&self.0.missing);
        *missing = missing.saturating_sub(1);
        if *missing == 0 {
            self.0.opened.notify_all();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
