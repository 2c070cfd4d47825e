//! The server of a shard: keeps one workload, and executes parts of its batches.

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
    service::interceptor::InterceptedService,
    transport::{Server, server::TcpIncoming},
};
use workload::{Steps, Workload, file};

use crate::{
    convert,
    link::Link,
    optimistic,
    orders::Orders,
    wire::{
        MESSAGE_BYTES_MAX, PROTOCOL, TOKEN_KEY, WINDOW, Way,
        proto::{
            Begin, Fault, FromCoordinator, FromShard, HelloAnswer, HelloRequest, Loaded, Piece,
            from_coordinator,
            from_shard::Message,
            shard_server::{Shard, ShardServer},
        },
    },
};

/// Longest silence of a coordinator: it answers pings at least.
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// How a shard serves.
#[derive(Clone)]
pub struct Serving {
    /// Where it listens.
    pub listen: SocketAddr,
    /// The token that callers must have; `None`: none is asked for.
    pub token: Option<String>,
    /// Name and version of this program, which callers must have too.
    pub program: String,
}

/// Without the token.
impl fmt::Debug for Serving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { listen, program, token: _ } = self;
        let mut out = f.debug_struct("Serving");
        out.field("listen", listen).field("program", program).finish_non_exhaustive()
    }
}

/// Serves until `ends` returns true, which is asked after each `interval`. `listening` is called with the
/// address that is bound, whose port the system chooses where `serving` has port 0.
///
/// # Errors
/// The address cannot be bound, or the server failed.
pub fn serve(
    serving: &Serving,
    listening: impl FnOnce(SocketAddr),
    interval: Duration,
    ends: impl Fn() -> bool,
) -> Result<(), ShardError> {
    let Serving { listen, token, program } = serving;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| ShardError(format!("cannot start: {error}")))?;
    let served = runtime.block_on(async {
        let cannot = |error| ShardError(format!("cannot listen on {listen}: {error}"));
        let listener = TcpListener::bind(listen).await.map_err(cannot)?;
        listening(listener.local_addr().map_err(cannot)?);
        let service = Service { program: program.clone(), work: Arc::default() };
        let server = ShardServer::new(service)
            .max_decoding_message_size(MESSAGE_BYTES_MAX)
            .max_encoding_message_size(MESSAGE_BYTES_MAX);
        let token = token.clone();
        let server = InterceptedService::new(server, move |request| authorized(request, &token));
        let end = async {
            while !ends() {
                tokio::time::sleep(interval).await;
            }
        };
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        // A coordinator that is silent for longer has gone.
        let builder = Server::builder().http2_keepalive_interval(Some(SILENCE_MAX));
        let served = builder.http2_keepalive_timeout(Some(SILENCE_MAX)).add_service(server);
        let served = served.serve_with_incoming(incoming);
        tokio::select! {
            served = served => {
                served.map_err(|error| ShardError(format!("cannot serve on {listen}: {error}")))
            }
            () = end => Ok(()),
        }
    });
    // Connections end with it, and threads of a batch that is under way by themselves.
    runtime.shutdown_background();
    served
}

/// The request, if it has the token.
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
struct Work {
    digest: B256,
    workload: Workload,
}

#[derive(Debug)]
struct Service {
    program: String,
    work: Arc<Mutex<Option<Arc<Work>>>>,
}

#[tonic::async_trait]
impl Shard for Service {
    type ExecuteStream = ReceiverStream<Result<FromShard, Status>>;

    async fn hello(&self, _: Request<HelloRequest>) -> Result<Response<HelloAnswer>, Status> {
        // The caller compares: it can say what to do.
        Ok(Response::new(HelloAnswer { protocol: PROTOCOL, program: self.program.clone() }))
    }

    async fn load(&self, request: Request<Streaming<Piece>>) -> Result<Response<Loaded>, Status> {
        let mut pieces = request.into_inner();
        let mut bytes = Vec::new();
        while let Some(piece) = pieces.message().await? {
            bytes.extend_from_slice(&piece.bytes);
        }
        let decoded = tokio::task::spawn_blocking(move || {
            let workload = file::decode(&bytes).map_err(|error| error.to_string())?;
            Ok::<_, String>(Work { digest: workload.digest(), workload })
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
        let work = self.work.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (to, from) = mpsc::channel(WINDOW);
        tokio::spawn(async move {
            if let Err(status) = converse(work, request.into_inner(), &to).await {
                // A coordinator that has gone wants no status either.
                drop(to.send(Err(status)).await);
            }
        });
        Ok(Response::new(ReceiverStream::new(from)))
    }
}

/// The coordinator of a batch under way, as its threads see it.
#[derive(Clone)]
enum Side {
    /// Of a batch with a list.
    ByList(Arc<Link>),
    /// Of one without.
    Optimistic(Arc<Orders>),
}

impl Side {
    fn new(way: Way, to: mpsc::Sender<Result<FromShard, Status>>) -> Self {
        match way {
            Way::ByList => Self::ByList(Arc::new(Link::new(to))),
            Way::Optimistic => Self::Optimistic(Arc::new(Orders::new(to))),
        }
    }

    /// Executes the shard's part. Returns its last message.
    fn run(
        &self,
        work: &Work,
        assignment: &Assignment,
        stop: &AtomicBool,
    ) -> Result<Message, EngineError> {
        match self {
            Self::ByList(link) => {
                let finished = run_shard(&work.workload, assignment, link.as_ref(), stop)?;
                Ok(Message::Done(convert::finished_to_wire(finished)))
            }
            Self::Optimistic(orders) => {
                let finished =
                    run_optimistic_shard(&work.workload, assignment, orders.as_ref(), stop)?;
                Ok(Message::OptimisticDone(optimistic::finished_to_wire(&finished)))
            }
        }
    }

    /// Takes a message of the coordinator.
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
            Self::Optimistic(orders) => orders.close(),
        }
    }
}

/// Ends the threads of a batch when dropped, by an end of the server too.
struct Ending {
    side: Side,
    stop: Arc<AtomicBool>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.side.close();
    }
}

/// A batch, from its assignment to its end.
async fn converse(
    work: Option<Arc<Work>>,
    mut incoming: Streaming<FromCoordinator>,
    to: &mpsc::Sender<Result<FromShard, Status>>,
) -> Result<(), Status> {
    let work = work.ok_or_else(|| Status::failed_precondition("no workload was sent before"))?;
    let (assignment, way) = assignment(&work, &mut incoming).await?;
    let side = Side::new(way, to.clone());
    let stop = Arc::new(AtomicBool::new(false));
    let ending = Ending { side: side.clone(), stop: Arc::clone(&stop) };
    let running: JoinHandle<Result<Message, EngineError>> = tokio::task::spawn_blocking({
        let (side, stop) = (side.clone(), Arc::clone(&stop));
        move || side.run(&work, &assignment, &stop)
    });
    tokio::pin!(running);
    let ran = loop {
        tokio::select! {
            ran = &mut running => break ran,
            message = incoming.message() => {
                let answered = match message {
                    Ok(Some(FromCoordinator { message: Some(message) })) => side.take(message),
                    Ok(Some(_)) => Err("a message without content".to_owned()),
                    Ok(None) | Err(_) => Err("the coordinator has gone".to_owned()),
                };
                if let Err(reason) = answered {
                    drop(ending);
                    drop(running.await);
                    return Err(Status::invalid_argument(reason));
                }
            }
        }
    };
    let message = match ran {
        Ok(Ok(done)) => done,
        Ok(Err(error)) => Message::Fault(Fault { index: error.index(), reason: error.to_string() }),
        Err(panic) => Message::Fault(Fault { index: None, reason: panic.to_string() }),
    };
    drop(to.send(Ok(FromShard { message: Some(message) })).await);
    Ok(())
}

/// The assignment that begins a batch.
async fn assignment(
    work: &Work,
    incoming: &mut Streaming<FromCoordinator>,
) -> Result<(Assignment, Way), Status> {
    let wrong = |reason: &str| Status::invalid_argument(reason.to_owned());
    let Some(FromCoordinator { message: Some(from_coordinator::Message::Begin(begin)) }) =
        incoming.message().await?
    else {
        return Err(wrong("a batch begins with its assignment"));
    };
    let Begin { workload_digest, batch, thread_count, steps, list_bytes, .. } = begin;
    let way = if begin.is_optimistic { Way::Optimistic } else { Way::ByList };
    if workload_digest != work.digest.as_slice() {
        return Err(wrong("the batch is of another workload than was sent"));
    }
    let batch = batch as usize;
    let Some(of_workload) = work.workload.batches.get(batch) else {
        return Err(wrong("the workload has no such batch"));
    };
    let count = Steps::of(of_workload).count();
    if !steps.is_sorted_by(|a, b| a < b) || steps.last().is_some_and(|last| *last >= count) {
        return Err(wrong("steps ascend, and are steps of the batch"));
    }
    let mut list = Vec::new();
    while (list.len() as u64) < list_bytes {
        match incoming.message().await? {
            Some(FromCoordinator { message: Some(from_coordinator::Message::List(piece)) }) => {
                list.extend_from_slice(&piece.bytes);
            }
            _ => return Err(wrong("the list is cut off")),
        }
    }
    let assignment = Assignment {
        batch,
        list: list.into(),
        steps,
        thread_count: thread_count as usize,
        micro_batch_key_count: begin.micro_batch_key_count,
        // It is the coordinator's side that holds messages back, in both directions.
        delay: Duration::ZERO,
    };
    Ok((assignment, way))
}
