//! The server of a shard (`stress shard serve`): keeps one workload, and executes the shard's part
//! of its batches for one coordinator at a time.

use std::{
    fmt,
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use alloy_primitives::B256;
use executor::{
    engine::{EngineError, run_optimistic_shard, run_shard},
    shards::{Assignment, ShardError},
};
use tokio::{net::TcpListener, sync::mpsc, task::JoinHandle};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{
    Request, Response, Status, Streaming,
    metadata::MetadataMap,
    service::interceptor::InterceptedService,
    transport::{Server, server::TcpIncoming},
};
use workload::{Steps, Workload, file, list::ListBounds};

use crate::{
    list_link::ListLink,
    list_messages,
    optimistic_link::OptimisticLink,
    optimistic_messages,
    wire::{
        CONNECTION_WINDOW_BYTES, COORDINATOR_KEY, ExecutionMode, FRAME_BYTES, MESSAGE_BYTES_MAX,
        PROGRAM_KEY, PROTOCOL, STREAM_WINDOW_BYTES, THREAD_COUNT_MAX, TOKEN_KEY, WINDOW,
        WORKLOAD_BYTES_MAX,
        proto::{
            Begin, Fault, FromCoordinator, FromShard, HelloAnswer, HelloRequest, Loaded, Piece,
            from_coordinator,
            from_shard::Message,
            shard_server::{Shard, ShardServer},
        },
    },
};

/// Time without a message of the coordinator after which it is pinged (HTTP/2). Also the time limit
/// of its answer, so a coordinator may be silent for twice this time.
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// Settings of a shard's server.
#[derive(Clone)]
pub struct ServerInput {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// The token that callers must have; `None` if they need no token.
    pub token: Option<String>,
    /// Name and version of this program. Callers must have the same.
    pub program: String,
}

/// Leaves out the token.
impl fmt::Debug for ServerInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { listen, program, token: _ } = self;
        let mut out = f.debug_struct("ServerInput");
        out.field("listen", listen).field("program", program).finish_non_exhaustive()
    }
}

/// Serves until `is_over` returns true, which is polled at `interval`. Calls `on_listening` with
/// the bound address: the system chooses the port if `input` has port 0.
///
/// # Errors
/// The address cannot be bound, or the server failed.
pub fn serve(
    input: &ServerInput,
    on_listening: impl FnOnce(SocketAddr),
    interval: Duration,
    is_over: impl Fn() -> bool,
) -> Result<(), ShardError> {
    let ServerInput { listen, token, program } = input;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| ShardError(format!("cannot start: {error}")))?;
    let served = runtime.block_on(async {
        let bound = TcpListener::bind(listen).await;
        let bound = bound.and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (address, listener) =
            bound.map_err(|error| ShardError(format!("cannot listen on {listen}: {error}")))?;
        on_listening(address);
        let service =
            Service { program: program.clone(), work: Arc::default(), active: Arc::default() };
        let server = ShardServer::new(service)
            .max_decoding_message_size(MESSAGE_BYTES_MAX)
            .max_encoding_message_size(MESSAGE_BYTES_MAX);
        let token = token.clone();
        let server = InterceptedService::new(server, move |request| authorized(request, &token));
        let end = async {
            while !is_over() {
                tokio::time::sleep(interval).await;
            }
        };
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        // The connection of a coordinator that does not answer a ping is closed.
        let builder = Server::builder()
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .max_frame_size(FRAME_BYTES)
            .http2_keepalive_interval(Some(SILENCE_MAX));
        let served = builder.http2_keepalive_timeout(Some(SILENCE_MAX)).add_service(server);
        let served = served.serve_with_incoming(incoming);
        tokio::select! {
            served = served => {
                served.map_err(|error| ShardError(format!("cannot serve on {listen}: {error}")))
            }
            () = end => Ok(()),
        }
    });
    // This closes the connections. The threads of a batch under way then end by themselves.
    runtime.shutdown_background();
    served
}

/// Returns the request if it has the token, or if no token is needed; else an error.
fn authorized(request: Request<()>, token: &Option<String>) -> Result<Request<()>, Status> {
    let given = request.metadata().get(TOKEN_KEY).map(|value| value.as_bytes());
    match token {
        Some(token) if given != Some(token.as_bytes()) => {
            Err(Status::unauthenticated("the shared token is missing or another one"))
        }
        _ => Ok(request),
    }
}

/// A workload with its digest.
#[derive(Debug)]
struct LoadedWorkload {
    digest: B256,
    workload: Workload,
}

#[derive(Debug)]
struct Service {
    program: String,
    work: Arc<Mutex<Option<Arc<LoadedWorkload>>>>,
    active: Arc<Mutex<ActiveCoordinator>>,
}

/// The coordinator whose calls are under way, and the number of these calls.
#[derive(Debug, Default)]
struct ActiveCoordinator {
    coordinator: Vec<u8>,
    call_count: usize,
}

/// Guard of a call that is under way. On drop, the call no longer counts.
#[derive(Debug)]
struct ActiveCall(Arc<Mutex<ActiveCoordinator>>);

impl Drop for ActiveCall {
    fn drop(&mut self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).call_count -= 1;
    }
}

impl Service {
    /// Begins a call to load or execute. Refuses the call if another coordinator has a call under
    /// way: both would share the shard's cores and measure wrong times, without notice.
    fn begin_call(&self, metadata: &MetadataMap) -> Result<ActiveCall, Status> {
        let [program, coordinator] = [PROGRAM_KEY, COORDINATOR_KEY]
            .map(|key| metadata.get(key).map_or(&[][..], |value| value.as_bytes()));
        if program != self.program.as_bytes() {
            // The coordinator compares versions only when it connects. Its connection reaches a
            // shard that was restarted since, without another comparison.
            return Err(Status::failed_precondition(format!(
                "it was started anew, and is another program: {}; run again with shards of one build",
                self.program
            )));
        }
        let mut active = self.active.lock().unwrap_or_else(PoisonError::into_inner);
        if active.call_count > 0 && active.coordinator != coordinator {
            return Err(Status::failed_precondition(
                "another coordinator has a batch under way here; start shards of its own for each run",
            ));
        }
        active.coordinator = coordinator.to_vec();
        active.call_count += 1;
        drop(active);
        Ok(ActiveCall(Arc::clone(&self.active)))
    }
}

/// Appends the next piece to a workload's bytes. Fails if there are more than `bytes_max` bytes.
fn with_piece(mut bytes: Vec<u8>, piece: &[u8], bytes_max: usize) -> Result<Vec<u8>, Status> {
    if bytes.len() + piece.len() > bytes_max {
        return Err(Status::invalid_argument(format!(
            "the workload has more than {bytes_max} bytes, the most that a shard takes; give it a smaller one"
        )));
    }
    bytes.extend_from_slice(piece);
    Ok(bytes)
}

#[tonic::async_trait]
impl Shard for Service {
    type ExecuteStream = ReceiverStream<Result<FromShard, Status>>;

    async fn hello(&self, _: Request<HelloRequest>) -> Result<Response<HelloAnswer>, Status> {
        // The caller compares the versions, since its error can tell the user the remedy.
        Ok(Response::new(HelloAnswer { protocol: PROTOCOL, program: self.program.clone() }))
    }

    async fn load(&self, request: Request<Streaming<Piece>>) -> Result<Response<Loaded>, Status> {
        let _under_way = self.begin_call(request.metadata())?;
        let mut pieces = request.into_inner();
        let mut bytes = Vec::new();
        while let Some(piece) = pieces.message().await? {
            bytes = with_piece(bytes, &piece.bytes, WORKLOAD_BYTES_MAX)?;
        }
        let decoded = tokio::task::spawn_blocking(move || {
            let workload = file::decode(&bytes).map_err(|error| error.to_string())?;
            Ok::<_, String>(LoadedWorkload { digest: workload.digest(), workload })
        });
        let decoded = decoded.await.map_err(|error| error.to_string()).and_then(|work| work);
        let work =
            decoded.map_err(|error| Status::invalid_argument(format!("workload: {error}")))?;
        let digest = work.digest.to_vec();
        *self.work.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(work));
        Ok(Response::new(Loaded { digest }))
    }

    async fn execute(
        &self,
        request: Request<Streaming<FromCoordinator>>,
    ) -> Result<Response<Self::ExecuteStream>, Status> {
        let under_way = self.begin_call(request.metadata())?;
        let work = self.work.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (to, from) = mpsc::channel(WINDOW);
        tokio::spawn(async move {
            let _under_way = under_way;
            if let Err(status) = converse(work, request.into_inner(), &to).await {
                // The send fails if the coordinator is gone, which then needs no status.
                drop(to.send(Err(status)).await);
            }
        });
        Ok(Response::new(ReceiverStream::new(from)))
    }
}

/// The shard's side of the connection to the coordinator during one batch.
#[derive(Clone)]
enum CoordinatorLink {
    /// The connection for a batch with a list.
    ByList(Arc<ListLink>),
    /// The connection for a batch without a list.
    Optimistic(Arc<OptimisticLink>),
}

impl CoordinatorLink {
    fn new(mode: ExecutionMode, to: mpsc::Sender<Result<FromShard, Status>>) -> Self {
        match mode {
            ExecutionMode::ByList => Self::ByList(Arc::new(ListLink::new(to))),
            ExecutionMode::Optimistic => Self::Optimistic(Arc::new(OptimisticLink::new(to))),
        }
    }

    /// Executes the shard's part of a batch. Returns the message to send last.
    fn run(
        &self,
        work: &LoadedWorkload,
        assignment: &Assignment,
        stop: &AtomicBool,
    ) -> Result<Message, EngineError> {
        match self {
            Self::ByList(link) => {
                let finished = run_shard(&work.workload, assignment, link.as_ref(), stop)?;
                Ok(Message::Done(list_messages::finished_to_wire(finished)))
            }
            Self::Optimistic(link) => {
                let finished =
                    run_optimistic_shard(&work.workload, assignment, link.as_ref(), stop)?;
                Ok(Message::OptimisticDone(optimistic_messages::finished_to_wire(&finished)))
            }
        }
    }

    /// Processes a message from the coordinator.
    fn take(&self, message: from_coordinator::Message) -> Result<(), String> {
        match (self, message) {
            (Self::ByList(link), from_coordinator::Message::Values(values)) => {
                link.answered(values)
            }
            (Self::Optimistic(link), from_coordinator::Message::Orders(orders)) => {
                link.take(orders)
            }
            _ => Err("another message than values or orders".to_owned()),
        }
    }

    fn close(&self) {
        match self {
            Self::ByList(link) => link.close(),
            Self::Optimistic(link) => link.close(),
        }
    }
}

/// Stops the threads of a batch on drop, also when the server ends.
struct StopOnDrop {
    link: CoordinatorLink,
    stop: Arc<AtomicBool>,
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.link.close();
    }
}

/// Executes the shard's part of a batch: receives the assignment, runs the steps, passes messages
/// to the threads, and sends the last message.
async fn converse(
    work: Option<Arc<LoadedWorkload>>,
    mut incoming: Streaming<FromCoordinator>,
    to: &mpsc::Sender<Result<FromShard, Status>>,
) -> Result<(), Status> {
    let reason = "it has no workload: it was started anew since one was sent; run again";
    let work = work.ok_or_else(|| Status::failed_precondition(reason))?;
    let (assignment, mode) = assignment(&work, &mut incoming).await?;
    let link = CoordinatorLink::new(mode, to.clone());
    let stop = Arc::new(AtomicBool::new(false));
    let stop_on_drop = StopOnDrop { link: link.clone(), stop: Arc::clone(&stop) };
    let running: JoinHandle<Result<Message, EngineError>> = tokio::task::spawn_blocking({
        let (link, stop) = (link.clone(), Arc::clone(&stop));
        move || link.run(&work, &assignment, &stop)
    });
    tokio::pin!(running);
    let ran = loop {
        tokio::select! {
            ran = &mut running => break ran,
            message = incoming.message() => {
                let answered = match message {
                    Ok(Some(FromCoordinator { message: Some(message) })) => link.take(message),
                    Ok(Some(_)) => Err("a message without content".to_owned()),
                    Ok(None) | Err(_) => Err("the coordinator has gone".to_owned()),
                };
                if let Err(reason) = answered {
                    drop(stop_on_drop);
                    drop(running.await);
                    return Err(Status::invalid_argument(reason));
                }
            }
        }
    };
    let message = match ran {
        Ok(Ok(done)) => done,
        Ok(Err(error)) => {
            Message::Fault(Fault { index: error.step_index(), reason: error.to_string() })
        }
        Err(panic) => Message::Fault(Fault { index: None, reason: panic.to_string() }),
    };
    drop(to.send(Ok(FromShard { message: Some(message) })).await);
    Ok(())
}

/// Receives and checks the assignment that begins a batch, and its list.
async fn assignment(
    work: &LoadedWorkload,
    incoming: &mut Streaming<FromCoordinator>,
) -> Result<(Assignment, ExecutionMode), Status> {
    let Some(FromCoordinator { message: Some(from_coordinator::Message::Begin(begin)) }) =
        incoming.message().await?
    else {
        return Err(Status::invalid_argument("a batch begins with its assignment"));
    };
    let Begin { workload_digest, batch, thread_count, steps, list_bytes, .. } = begin;
    let mode = if begin.is_optimistic { ExecutionMode::Optimistic } else { ExecutionMode::ByList };
    if workload_digest != work.digest.as_slice() {
        return Err(Status::failed_precondition(
            "it has another workload than that of the batch: another coordinator has used it since; start \
             shards of its own for each run",
        ));
    }
    let batch = batch as usize;
    let Some(of_workload) = work.workload.batches.get(batch) else {
        return Err(Status::invalid_argument("the workload has no such batch"));
    };
    let count = Steps::of(of_workload).count();
    if !steps.is_sorted_by(|a, b| a < b) || steps.last().is_some_and(|last| *last >= count) {
        return Err(Status::invalid_argument("steps ascend, and are steps of the batch"));
    }
    let list_bytes_max = ListBounds::new(of_workload, &work.workload.rules).max_bytes();
    if list_bytes > list_bytes_max {
        return Err(Status::invalid_argument(format!(
            "a list of {list_bytes} bytes, and one of this batch has {list_bytes_max} at most"
        )));
    }
    if !(1..=THREAD_COUNT_MAX).contains(&thread_count) {
        return Err(Status::invalid_argument(format!(
            "{thread_count} threads, and a shard has 1 to {THREAD_COUNT_MAX}"
        )));
    }
    let mut list = Vec::new();
    while (list.len() as u64) < list_bytes {
        match incoming.message().await? {
            Some(FromCoordinator { message: Some(from_coordinator::Message::List(piece)) }) => {
                list.extend_from_slice(&piece.bytes);
            }
            _ => return Err(Status::invalid_argument("the list is cut off")),
        }
    }
    let assignment = Assignment {
        batch,
        list: list.into(),
        steps,
        thread_count: thread_count as usize,
        micro_batch_key_count: begin.micro_batch_key_count,
        // The coordinator delays the messages of both directions.
        delay: Duration::ZERO,
    };
    Ok((assignment, mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(program: &str, coordinator: &str) -> MetadataMap {
        let mut metadata = MetadataMap::new();
        metadata.insert(PROGRAM_KEY, program.parse().unwrap());
        metadata.insert(COORDINATOR_KEY, coordinator.parse().unwrap());
        metadata
    }

    #[test]
    fn a_shard_serves_one_coordinator_at_a_time_and_one_program() {
        let service =
            Service { program: "this".to_owned(), work: Arc::default(), active: Arc::default() };
        let refused = |program, coordinator| {
            let begun = service.begin_call(&called(program, coordinator));
            begun.unwrap_err().message().to_owned()
        };
        let first = service.begin_call(&called("this", "a")).unwrap();
        let second = service.begin_call(&called("this", "a")).unwrap();
        assert!(refused("this", "b").contains("another coordinator has a batch under way"));
        drop(first);
        assert!(refused("this", "b").contains("another coordinator"), "one batch is left");
        drop(second);
        drop(service.begin_call(&called("this", "b")).unwrap());
        assert!(refused("that", "b").contains("started anew, and is another program: this"));
        assert!(service.begin_call(&MetadataMap::new()).is_err());
    }

    #[test]
    fn a_workload_is_refused_once_it_is_larger_than_a_shard_takes() {
        let bytes = with_piece(vec![1], &[2, 3], 3).unwrap();
        assert_eq!(bytes, [1, 2, 3]);
        let refused = with_piece(bytes, &[4], 3).unwrap_err();
        assert!(refused.message().contains("more than 3 bytes"), "{refused}");
    }
}
