//! The coordinator's connections to shards: implements the executor's trait [`Shards`]. The program
//! connects, engines call the trait. Calls block, since an engine has a thread for each shard.

use std::{
    fmt,
    hash::{BuildHasher, Hasher, RandomState},
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use alloy_primitives::{B256, Bytes};
use executor::shards::{self, Assignment, Conversation, ShardError, Shards};
use tokio::{
    runtime::{Builder, Runtime},
    sync::mpsc,
    time::timeout,
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{
    Request,
    metadata::{Ascii, MetadataValue},
    transport::{Channel, Endpoint},
};
use workload::{Workload, file};

use crate::{
    batch_connection::{BatchConnection, Outgoing},
    error::{WaitLimits, ended, root_cause, status_text},
    wire::{
        CONNECT_MAX, CONNECTION_WINDOW_BYTES, COORDINATOR_KEY, ExecutionMode, FRAME_BYTES,
        MESSAGE_BYTES_MAX, PIECE_BYTES, PROGRAM_KEY, PROTOCOL, STREAM_WINDOW_BYTES, TOKEN_KEY,
        WINDOW,
        proto::{
            Begin, HelloAnswer, HelloRequest, Piece, from_coordinator::Message,
            shard_client::ShardClient,
        },
    },
};

/// Settings of the connections to shards.
#[derive(Clone)]
pub struct ClusterInput {
    /// Addresses of the shards, such as `127.0.0.1:7001`.
    pub addresses: Vec<String>,
    /// The shared token; `None` if the shards need no token.
    pub token: Option<String>,
    /// Name and version of this program. Shards must have the same.
    pub program: String,
    /// Longest time for which a shard that executes may send nothing.
    pub deadline: Duration,
}

/// Leaves out the token.
impl fmt::Debug for ClusterInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { addresses, program, deadline, token: _ } = self;
        let mut out = f.debug_struct("ClusterInput");
        out.field("addresses", addresses).field("program", program).field("deadline", deadline);
        out.finish_non_exhaustive()
    }
}

/// Connected shards, which all have this program's version.
pub struct Cluster {
    runtime: Runtime,
    shards: Vec<ConnectedShard>,
    deadline: Duration,
}

/// A shard that has answered the first call.
#[derive(Debug)]
struct ConnectedShard {
    address: String,
    client: ShardClient<Channel>,
    caller: Caller,
    /// Digest of the workload that this coordinator last sent to the shard; `None` before.
    loaded: Mutex<Option<B256>>,
}

/// The metadata of each call, which identifies the coordinator.
#[derive(Clone, Debug)]
struct Caller {
    token: Option<MetadataValue<Ascii>>,
    program: MetadataValue<Ascii>,
    /// A random number, by which shards distinguish coordinators.
    coordinator: MetadataValue<Ascii>,
}

impl Caller {
    fn new(input: &ClusterInput) -> Result<Self, ShardError> {
        let token = input.token.as_deref();
        let token = token.map(|token| metadata(token, "the shared token (STRESS_SHARD_TOKEN)"));
        let mut token = token.transpose()?;
        if let Some(token) = &mut token {
            token.set_sensitive(true);
        }
        let number = format!("{:016x}", RandomState::new().build_hasher().finish());
        let coordinator = metadata(&number, "the coordinator's number")?;
        Ok(Self { token, program: metadata(&input.program, "the program's name")?, coordinator })
    }

    fn request<T>(&self, message: T) -> Request<T> {
        let Self { token, program, coordinator } = self;
        let mut request = Request::new(message);
        let metadata = request.metadata_mut();
        metadata.insert(PROGRAM_KEY, program.clone());
        metadata.insert(COORDINATOR_KEY, coordinator.clone());
        if let Some(token) = token {
            metadata.insert(TOKEN_KEY, token.clone());
        }
        request
    }
}

/// Converts a text to metadata of a call. `what` names the text in the error.
fn metadata(text: &str, what: &str) -> Result<MetadataValue<Ascii>, ShardError> {
    text.parse().map_err(|_| ShardError(format!("{what} has characters that a call cannot carry")))
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster").field("shards", &self.shards).finish_non_exhaustive()
    }
}

impl Cluster {
    /// Connects to all shards in parallel, within a second.
    ///
    /// # Errors
    /// A shard cannot be reached, refuses the token, or has another version.
    pub fn connect(input: &ClusterInput) -> Result<Self, ShardError> {
        let caller = Caller::new(input)?;
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.map_err(|error| ShardError(format!("cannot start: {error}")))?;
        let shards = runtime.block_on(async {
            let mut connecting = Vec::new();
            for address in &input.addresses {
                let (address, caller) = (address.clone(), caller.clone());
                connecting.push(tokio::spawn(connect(address, caller, input.program.clone())));
            }
            let mut shards = Vec::new();
            for connected in connecting {
                let connected = connected.await;
                shards.push(connected.map_err(|panic| ShardError(panic.to_string()))??);
            }
            Ok::<_, ShardError>(shards)
        })?;
        Ok(Self { runtime, shards, deadline: input.deadline })
    }
}

/// Returns a remedy for an error: how to start a shard at an address.
fn start_remedy(address: &str) -> String {
    let (host, port) = address.rsplit_once(':').unwrap_or((address, "7001"));
    let is_here = address.parse::<SocketAddr>().is_ok_and(|address| address.ip().is_loopback());
    match host {
        _ if is_here => format!("start it by `stress shard serve --listen {address}`"),
        "localhost" => format!("start it by `stress shard serve --listen 127.0.0.1:{port}`"),
        _ => format!(
            "start it on that host by `STRESS_SHARD_TOKEN=… stress shard serve --listen 0.0.0.0:{port}`, and give \
             the coordinator the same token"
        ),
    }
}

async fn connect(
    address: String,
    caller: Caller,
    program: String,
) -> Result<ConnectedShard, ShardError> {
    let reached =
        timeout(CONNECT_MAX, connect_with_hello(&address, &caller)).await.unwrap_or_else(|_| {
            Err(format!(
                "does not answer within {} ms; {}",
                CONNECT_MAX.as_millis(),
                start_remedy(&address)
            ))
        });
    let (client, answer) =
        reached.map_err(|reason| ShardError(format!("the shard at {address} {reason}")))?;
    if answer.protocol != PROTOCOL || answer.program != program {
        return Err(ShardError(format!(
            "the shard at {address} is of another version: {} with protocol {}, and this is {program} with \
             {PROTOCOL}; start it from this program",
            answer.program, answer.protocol
        )));
    }
    Ok(ConnectedShard { address, client, caller, loaded: Mutex::default() })
}

/// Connects to a shard and sends the first call. Returns the client and the answer, or the reason
/// of a failure.
async fn connect_with_hello(
    address: &str,
    caller: &Caller,
) -> Result<(ShardClient<Channel>, HelloAnswer), String> {
    let endpoint = Endpoint::from_shared(format!("http://{address}"));
    let endpoint = endpoint.map_err(|error| {
        format!("has no valid address: {error}; write HOST:PORT, as in 127.0.0.1:7001")
    })?;
    let endpoint = endpoint.connect_timeout(CONNECT_MAX).tcp_nodelay(true);
    let endpoint = endpoint
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_frame_size(FRAME_BYTES);
    let channel = endpoint.connect().await;
    let channel = channel.map_err(|error| {
        format!("cannot be reached: {}; {}", root_cause(&error), start_remedy(address))
    })?;
    let mut client = ShardClient::new(channel)
        .max_decoding_message_size(MESSAGE_BYTES_MAX)
        .max_encoding_message_size(MESSAGE_BYTES_MAX);
    let program = caller.program.to_str().unwrap_or_default().to_owned();
    let answer = client.hello(caller.request(HelloRequest { protocol: PROTOCOL, program })).await;
    let answer = answer.map_err(|status| match status.code() {
        tonic::Code::Unauthenticated => format!(
            "refuses the call: {}; give both sides the same STRESS_SHARD_TOKEN",
            status.message()
        ),
        _ => format!("does not greet: {}", status_text(&status)),
    })?;
    Ok((client, answer.into_inner()))
}

/// Splits `bytes` into pieces, which share its memory.
fn pieces(bytes: &Bytes) -> impl Iterator<Item = Piece> + '_ {
    let starts = (0..bytes.len()).step_by(PIECE_BYTES);
    starts.map(|start| {
        let end = bytes.len().min(start + PIECE_BYTES);
        Piece { bytes: bytes.slice(start..end).0 }
    })
}

impl Shards for Cluster {
    fn count(&self) -> usize {
        self.shards.len()
    }

    fn name(&self, shard: usize) -> String {
        format!("shard {shard} at {}", self.shards[shard].address)
    }

    fn load(&self, shard: usize, workload: &Workload, stop: &AtomicBool) -> Result<(), ShardError> {
        let ConnectedShard { client, caller, loaded, .. } = &self.shards[shard];
        let digest = workload.digest();
        let mut loaded = loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if *loaded == Some(digest) {
            return Ok(());
        }
        let bytes = file::encode(workload).map_err(|error| ShardError(error.to_string()))?;
        let pieces: Vec<Piece> = pieces(&bytes.into()).collect();
        let sent_count = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&sent_count);
        let pieces = pieces.into_iter().inspect(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        let request = caller.request(tokio_stream::iter(pieces));
        let mut client = client.clone();
        // After the last piece, the shard sends nothing while it decodes the workload. So the wait
        // is ten times the deadline.
        let limits = WaitLimits { max_wait: 10 * self.deadline, stop, progress: Some(&sent_count) };
        let sent = limits.wait(&self.runtime, client.load(request))?;
        let got = sent.map_err(|status| ended(&status))?.into_inner().digest;
        if got != digest.as_slice() {
            return Err(ShardError("it has another workload than was sent".to_owned()));
        }
        *loaded = Some(digest);
        Ok(())
    }

    fn begin<'a>(
        &'a self,
        shard: usize,
        assignment: &Assignment,
        stop: &'a AtomicBool,
    ) -> Result<Box<dyn Conversation + 'a>, ShardError> {
        Ok(Box::new(self.begin_batch(shard, assignment, ExecutionMode::ByList, stop)?))
    }

    fn begin_optimistic<'a>(
        &'a self,
        shard: usize,
        assignment: &Assignment,
        stop: &'a AtomicBool,
    ) -> Result<shards::Channel<'a>, ShardError> {
        Ok(self.begin_batch(shard, assignment, ExecutionMode::Optimistic, stop)?.into_channel())
    }
}

impl Cluster {
    /// Makes a shard begin its part of a batch.
    fn begin_batch<'a>(
        &'a self,
        shard: usize,
        assignment: &Assignment,
        mode: ExecutionMode,
        stop: &'a AtomicBool,
    ) -> Result<BatchConnection<'a>, ShardError> {
        let ConnectedShard { client, caller, loaded, .. } = &self.shards[shard];
        let digest = loaded.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or_default();
        let (runtime, delay) = (&self.runtime, assignment.delay);
        let limits = WaitLimits { max_wait: self.deadline, stop, progress: None };
        let (sender, receiver) = mpsc::channel(WINDOW);
        let outgoing = Outgoing::new(sender, delay);
        let mut messages = first_messages(digest, assignment, mode);
        // The channel is filled before the call, so that these messages travel together with the
        // call. The first message without room, and all after it, are sent once the shard reads.
        let unsent = messages.find_map(|message| outgoing.post(message).err());
        let request = caller.request(ReceiverStream::new(receiver));
        let mut client = client.clone();
        let begun = limits.wait(runtime, client.execute(request))?;
        let incoming = begun.map_err(|status| ended(&status))?.into_inner();
        let mut connection = BatchConnection::new(runtime, limits, outgoing, incoming, delay);
        unsent.into_iter().chain(messages).try_for_each(|message| connection.send(message))?;
        Ok(connection)
    }
}

/// Returns the messages that begin a batch: the assignment, and the list in pieces.
fn first_messages(
    digest: B256,
    assignment: &Assignment,
    mode: ExecutionMode,
) -> impl Iterator<Item = Message> + '_ {
    let begin = Message::Begin(Begin {
        workload_digest: digest.to_vec(),
        batch: assignment.batch as u32,
        thread_count: assignment.thread_count as u32,
        steps: assignment.steps.clone(),
        list_bytes: assignment.list.len() as u64,
        micro_batch_key_count: assignment.micro_batch_key_count,
        is_optimistic: mode == ExecutionMode::Optimistic,
    });
    std::iter::once(begin).chain(pieces(&assignment.list).map(Message::List))
}
