//! All transactions at once, each on its own state as of its index, which the block-level
//! access list gives (EIP-7928). Reads on demand, by readers of their own, or not at all where
//! the list has the values, which readers then verify; the result is checked against the list as
//! it comes.

use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use evm::{Runner, StepError, StepWrites};
use workload::{Batch, BlockAccessIndex, Layout, StepKind, Steps, TxOutcome, list::ListBounds};

use super::{BatchResult, EngineError, Executed, Spent, Task, commit};
use crate::{
    check::{self, ListFault},
    crew::Crew,
    feasible::{Feasibility, Untold},
    join,
    prefetch::{Lane, ReadAhead, Target},
    prestate::{PreState, Reads},
    process, schedule,
    schedule::Schedule,
    single_flight::SingleFlight,
    span::{Phase, Spans},
    store::{ReadCounters, Reader, Sample, StoreError},
    trace::{Recorder, Track, What},
    variant::Io,
    verify::{self, Unverified},
    view::{CodeRows, ReadTally, Shared, Touched, View},
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
    verifier_priority: Option<process::Priority>,
    /// Why a worker could not begin.
    failure: Option<StoreError>,
}

/// A step that failed; the lowest index is reported.
#[derive(Debug)]
struct Failure {
    index: BlockAccessIndex,
    error: EngineError,
}

impl Failure {
    /// Which of several is told: a wrong value before what came of it, what was cancelled
    /// because another failed last, and otherwise the lowest index.
    const fn rank(&self) -> (u8, BlockAccessIndex) {
        let kind = match &self.error {
            EngineError::List { fault: ListFault::WrongValue { .. }, .. } => 0,
            EngineError::Cancelled => 2,
            _ => 1,
        };
        (kind, self.index)
    }
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
    ahead: ReadAhead,
    /// What is to be verified next.
    next_chunk: AtomicUsize,
    /// Whether the steps that remain can meet what the list declares.
    feasible: Feasibility,
    /// When the last step ended and when the last value was verified, in nanoseconds since the
    /// start of the clock.
    executed_ns: AtomicU64,
    verified_ns: AtomicU64,
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
    let mut executed =
        executed.map_err(|error| error.spending(|spent| spent.counters.add(&totals.counters)))?;
    executed.verifier_priority = totals.verifier_priority;
    executed.on_demand = totals.tallies.on_demand;
    executed.prefetched = totals.tallies.prefetched;
    executed.counters.add(&totals.counters);
    Ok(executed)
}

fn no_thread(error: &std::io::Error) -> StoreError {
    let action = "start a thread to read and execute with".to_owned();
    StoreError::Failed { store: "bal", action, reason: error.to_string() }
}

/// A worker's life: the first threads execute, those behind them only read. Readers that verify
/// must not take the CPU from those that execute.
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
    let verifies = !executes && task.variant.io == Io::FromList;
    let priority = verifies.then(process::lower_priority);
    crew.serve(|job: &Job<P>| {
        let done = match executes {
            true => job.execute(&mut reader, &mut tallies, task, (worker, stop)),
            false => {
                let (number, count) =
                    (worker - task.variant.thread_count, task.variant.io_thread_count);
                job.read(&mut reader, &mut tallies, Lane { number, count }, stop)
            }
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
    totals.verifier_priority = priority.or(totals.verifier_priority);
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
    let known_orders = known_orders(task);
    let mut main = task.trace.map(|trace| trace.recorder(usize::MAX));
    let before = process::Snapshot::now();
    let spans = Arc::new(Spans::start());
    let course = Course { spans: &spans, known_orders, main: main.as_deref_mut() };
    let done = run_all(sample, task, crew, stop, (course, &mut reader, &mut executed));
    executed.wall = spans.elapsed();
    executed.process = process::Snapshot::now().since(&before);
    executed.spans = spans.spans();
    if let Some(trace) = task.trace {
        trace.give(Track::Main, main);
        trace.clock(&spans, &[Phase::Decode, Phase::Schedule, Phase::Validate, Phase::Commit]);
    }
    executed.prefetch_reads_together = reader.reads_together();
    executed.counters = reader.counters();
    match done {
        Ok(()) => Ok(executed),
        Err(error) => Err(error.spending(|spent| {
            let Executed { wall, process, counters, .. } = executed;
            *spent = Spent { wall, process, counters };
        })),
    }
}

/// What the thread that began a sample keeps on its way through the batches.
struct Course<'c> {
    spans: &'c Arc<Spans>,
    /// Of each batch, where steps go by their known cost.
    known_orders: Vec<Vec<BlockAccessIndex>>,
    main: Option<&'c mut Recorder>,
}

fn run_all<S: Sample, P: PreState>(
    sample: &S,
    task: &Task<'_>,
    crew: &Crew<'_, Job<P>>,
    stop: &AtomicBool,
    (course, reader, executed): (Course<'_>, &mut S::Reader<'_>, &mut Executed),
) -> Result<(), EngineError> {
    let Course { spans, known_orders, mut main } = course;
    let mut known_orders = known_orders.into_iter();
    for (place, batch) in task.workload.batches.iter().enumerate() {
        let at = (spans, sample.row_layout());
        let job = Job::new(task, place, batch, at, known_orders.next())?;
        let posted = spans.elapsed();
        crew.post(Arc::new(job));
        let job = crew.finish().unwrap_or_else(|| panic!("batch {place} was posted"));
        let start = spans.elapsed();
        if let Some(main) = &mut main {
            main.seldom(What::Threads, spans.at(posted), spans.at(start));
        }
        let result = job.finish(task, reader, stop, executed)?;
        drop(job);
        spans.close(Phase::Validate, start);
        commit(sample, spans, &result.net_changes)?;
        executed.batches.push(result);
    }
    Ok(())
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
        (spans, layout): (&Arc<Spans>, Option<Layout>),
        known_order: Option<Vec<BlockAccessIndex>>,
    ) -> Result<Self, EngineError> {
        let start = spans.elapsed();
        let bounds = ListBounds::of(batch, task.workload.fork);
        let rejected = |fault| EngineError::rejected(place, fault);
        let (list, pre_state) = P::decode(&task.lists[place], &bounds).map_err(rejected)?;
        let declared_count = u64::from(list.slot_count());
        let feasible = Feasibility::new(declared_count, batch, task.workload.fork, &bounds);
        let steps = Steps::of(batch);
        spans.close(Phase::Decode, start);
        let start = spans.elapsed();
        let order =
            known_order.or_else(|| schedule::order(task.variant.schedule, batch, &steps, &list));
        if order.is_some() {
            spans.close(Phase::Schedule, start);
        }
        Ok(Self {
            feasible: feasible.map_err(rejected)?,
            shared: Shared {
                pre_state,
                list,
                codes: SingleFlight::default(),
                code_rows: CodeRows::default(),
            },
            steps,
            order,
            place,
            spans: Arc::clone(spans),
            next_step: AtomicU32::new(0),
            ahead: ReadAhead::new(
                task.variant.io.prefetch().unwrap_or_default(),
                layout,
                Arc::clone(spans),
                task.variant.thread_count,
            ),
            next_chunk: AtomicUsize::new(0),
            executed_ns: AtomicU64::new(0),
            verified_ns: AtomicU64::new(0),
            gate: Gate::new(task.variant.prefetching_before()),
            parts: Mutex::default(),
            failures: Mutex::default(),
        })
    }

    /// What a thread does that only reads.
    fn read<R: Reader>(
        &self,
        reader: &mut R,
        tallies: &mut Tallies,
        lane: Lane,
        stop: &AtomicBool,
    ) -> Result<(), Failure> {
        match self.shared.pre_state.listed() {
            Some(_) => self.verify(reader, tallies, stop),
            None => self.prefetch(reader, tallies, lane, stop),
        }
    }

    fn verify<R: Reader>(
        &self,
        reader: &mut R,
        tallies: &mut Tallies,
        stop: &AtomicBool,
    ) -> Result<(), Failure> {
        let Some(listed) = self.shared.pre_state.listed() else { return Ok(()) };
        let start = self.spans.elapsed();
        let to = (reader, &mut tallies.prefetched);
        let done = verify::run(&self.shared.list, listed, &self.next_chunk, to, stop);
        self.verified_ns.fetch_max(self.now_ns(), Ordering::Relaxed);
        self.spans.close(Phase::Verify, start);
        done.map_err(|unverified| {
            let error = match unverified {
                Unverified::Fault(fault) => EngineError::rejected(self.place, fault),
                Unverified::Store(error) => EngineError::Store(error),
            };
            Failure { index: 0, error }
        })
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.spans.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn prefetch<R: Reader>(
        &self,
        reader: &mut R,
        tallies: &mut Tallies,
        lane: Lane,
        stop: &AtomicBool,
    ) -> Result<(), Failure> {
        let _open = self.gate.pass();
        let Shared { list, pre_state, code_rows, .. } = &self.shared;
        let Some(values) = pre_state.declared() else { return Ok(()) };
        self.ahead.arrange(list);
        let start = self.spans.elapsed();
        let target = Target { list, values, codes: code_rows };
        self.ahead
            .read(target, lane, (reader, &mut tallies.prefetched), stop)
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
        (worker, stop): (usize, &AtomicBool),
    ) -> Result<(), Failure> {
        if task.variant.executors_prefetch() {
            let lane = Lane { number: worker, count: task.variant.thread_count };
            self.prefetch(reader, tallies, lane, stop)?;
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
        let mut untold = Untold::default();
        while !stop.load(Ordering::Relaxed) {
            let place = self.next_step.fetch_add(1, Ordering::Relaxed);
            if place >= self.steps.count() {
                break;
            }
            let index = self.order.as_ref().map_or(place, |order| order[place as usize]);
            steps.push(self.run_step(&mut runner, task, index, (&mut entered, &mut untold))?);
        }
        self.executed_ns.fetch_max(self.now_ns(), Ordering::Relaxed);
        self.ahead.executed();
        let span = self.spans.close(Phase::Execute, start);
        if let Some(trace) = runner.db().trace() {
            trace.phase(&self.spans, span);
        }
        let touched = runner.into_db().finish();
        lock(&self.parts).push(Part { steps, touched });
        // Values are never left unverified, whoever has to do it.
        if task.variant.io_thread_count == 0 { self.verify(reader, tallies, stop) } else { Ok(()) }
    }

    fn run_step<R: Reader>(
        &self,
        runner: &mut Runner<View<'_, R, P>>,
        task: &Task<'_>,
        index: BlockAccessIndex,
        (entered, untold): (&mut Option<usize>, &mut Untold),
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
        let rejected = |fault| Failure { index, error: EngineError::rejected(self.place, fault) };
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
        if let (Reads::Declared, StepKind::Transaction(tx_index)) = (P::READS, step.kind) {
            let ended = (&block.transactions[tx_index], &output.gas, task.workload.fork);
            let met_count = runner.db().met_slot_count();
            self.feasible.ended(ended, met_count, untold).map_err(rejected)?;
        }
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
        failures.sort_by_key(Failure::rank);
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
                .map_err(|fault| EngineError::rejected(self.place, fault))?;
        }
        let ends = [&self.verified_ns, &self.executed_ns].map(|end| end.load(Ordering::Relaxed));
        executed.verification_wait += Duration::from_nanos(ends[0].saturating_sub(ends[1]));
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
