//! The coordinator's connections to shards. Calls block: each shard has a thread of the engine.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use alloy_primitives::B256;
use executor::shards::{Assignment, Conversation, Ends, ShardError, Shards};
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
    error::{ended, root, silent, within, words},
    talk::{Outgoing, Talk},
    wire::{
        MESSAGE_BYTES_MAX, PIECE_BYTES, PROTOCOL, REACH_MAX, TOKEN_KEY, WINDOW, Way,
        proto::{
            Begin, HelloAnswer, HelloRequest, Piece, from_coordinator::Message,
            shard_client::ShardClient,
        },
    },
};

/// How shards are reached.
#[derive(Clone)]
pub struct Reach {
    /// Addresses, as `127.0.0.1:7001`.
    pub addresses: Vec<String>,
    /// The shared token, where shards ask for one.
    pub token: Option<String>,
    /// Name and version of this program: shards must have the same.
    pub program: String,
    /// Longest silence of a shard that executes.
    pub deadline: Duration,
}

/// Without the token.
impl fmt::Debug for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { addresses, program, deadline, token: _ } = self;
        let mut out = f.debug_struct("Reach");
        out.field("addresses", addresses).field("program", program).field("deadline", deadline);
        out.finish_non_exhaustive()
    }
}

/// Shards that were reached and have this program's version.
pub struct Cluster {
    runtime: Runtime,
    shards: Vec<Connected>,
    deadline: Duration,
}

#[derive(Debug)]
struct Connected {
    address: String,
    client: ShardClient<Channel>,
    token: Option<MetadataValue<Ascii>>,
    /// Digest of the workload that it has.
    loaded: Mutex<Option<B256>>,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster").field("shards", &self.shards).finish_non_exhaustive()
    }
}

impl Cluster {
    /// Connects to all shards, within a second.
    ///
    /// # Errors
    /// A shard cannot be reached, refuses the token, or is of another version.
    pub fn connect(reach: &Reach) -> Result<Self, ShardError> {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.map_err(|error| ShardError(format!("cannot start: {error}")))?;
        let shards = runtime.block_on(async {
            let mut shards = Vec::new();
            for address in &reach.addresses {
                shards.push(connect(address.clone(), reach).await?);
            }
            Ok::<_, ShardError>(shards)
        })?;
        Ok(Self { runtime, shards, deadline: reach.deadline })
    }
}

async fn connect(address: String, reach: &Reach) -> Result<Connected, ShardError> {
    let of = |reason: String| ShardError(format!("the shard at {address} {reason}"));
    let token = reach.token.as_deref().map(str::parse::<MetadataValue<Ascii>>).transpose();
    let mut token = token.map_err(|_| {
        ShardError("the shared token of shards has characters beyond ASCII".to_owned())
    })?;
    if let Some(token) = &mut token {
        token.set_sensitive(true);
    }
    let endpoint = Endpoint::from_shared(format!("http://{address}"));
    let endpoint = endpoint.map_err(|error| {
        of(format!("has no valid address: {error}; write HOST:PORT, as in 127.0.0.1:7001"))
    })?;
    let endpoint = endpoint.connect_timeout(REACH_MAX).tcp_nodelay(true);
    let start = format!("start it by `stress shard --listen {address}`");
    let silent = || of(format!("does not answer within {} ms; {start}", REACH_MAX.as_millis()));
    let channel = timeout(REACH_MAX, endpoint.connect()).await.map_err(|_| silent())?;
    let channel =
        channel.map_err(|error| of(format!("cannot be reached: {}; {start}", root(&error))))?;
    let mut client = ShardClient::new(channel)
        .max_decoding_message_size(MESSAGE_BYTES_MAX)
        .max_encoding_message_size(MESSAGE_BYTES_MAX);
    let hello = HelloRequest { protocol: PROTOCOL, program: reach.program.clone() };
    let hello = with_token(Request::new(hello), token.as_ref());
    let answer = timeout(REACH_MAX, client.hello(hello)).await.map_err(|_| silent())?;
    let HelloAnswer { protocol, program } = answer
        .map_err(|status| match status.code() {
            tonic::Code::Unauthenticated => of(format!(
                "refuses the call: {}; give both sides the same STRESS_SHARD_TOKEN",
                status.message()
            )),
            _ => of(format!("does not greet: {}", words(&status))),
        })?
        .into_inner();
    if protocol != PROTOCOL || program != reach.program {
        return Err(of(format!(
            "is of another version: {program} with protocol {protocol}, and this is {} with \
             {PROTOCOL}; start it from this program",
            reach.program
        )));
    }
    Ok(Connected { address, client, token, loaded: Mutex::default() })
}

fn with_token<T>(mut request: Request<T>, token: Option<&MetadataValue<Ascii>>) -> Request<T> {
    if let Some(token) = token {
        request.metadata_mut().insert(TOKEN_KEY, token.clone());
    }
    request
}

fn pieces(bytes: &[u8]) -> impl Iterator<Item = Piece> + '_ {
    bytes.chunks(PIECE_BYTES).map(|bytes| Piece { bytes: bytes.to_vec() })
}

impl Shards for Cluster {
    fn count(&self) -> usize {
        self.shards.len()
    }

    fn name(&self, shard: usize) -> String {
        format!("shard {shard} at {}", self.shards[shard].address)
    }

    fn load(&self, shard: usize, workload: &Workload) -> Result<(), ShardError> {
        let Connected { client, token, loaded, .. } = &self.shards[shard];
        let digest = workload.digest();
        let mut loaded = loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if *loaded == Some(digest) {
            return Ok(());
        }
        let bytes = file::encode(workload).map_err(|error| ShardError(error.to_string()))?;
        let pieces: Vec<Piece> = pieces(&bytes).collect();
        let request = with_token(Request::new(tokio_stream::iter(pieces)), token.as_ref());
        let mut client = client.clone();
        // Decoding takes longer than a message of a batch: ten times the patience.
        let sent = within(&self.runtime, 10 * self.deadline, client.load(request));
        let sent =
            sent.ok_or_else(|| ShardError("it does not take the workload in time".to_owned()))?;
        let got = sent.map_err(|status| ShardError(words(&status)))?.into_inner().digest;
        if got != digest.as_slice() {
            return Err(ShardError("it has another workload than was sent".to_owned()));
        }
        *loaded = Some(digest);
        Ok(())
    }

    fn begin(
        &self,
        shard: usize,
        assignment: &Assignment,
    ) -> Result<Box<dyn Conversation + '_>, ShardError> {
        Ok(Box::new(self.talk(shard, assignment, Way::ByList)?))
    }

    fn begin_optimistic(
        &self,
        shard: usize,
        assignment: &Assignment,
    ) -> Result<Ends<'_>, ShardError> {
        Ok(self.talk(shard, assignment, Way::Optimistic)?.into_ends())
    }
}

impl Cluster {
    /// Begins a batch on a shard.
    fn talk(
        &self,
        shard: usize,
        assignment: &Assignment,
        way: Way,
    ) -> Result<Talk<'_>, ShardError> {
        let Connected { client, token, loaded, .. } = &self.shards[shard];
        let digest = loaded.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or_default();
        let (runtime, deadline, delay) = (&self.runtime, self.deadline, assignment.delay);
        let (to, from) = mpsc::channel(WINDOW);
        let to = Outgoing::new(to, delay);
        let mut messages = first_messages(digest, assignment, way);
        // As many as there is room for are under way before the shard has answered the call.
        let waiting = messages.find_map(|message| to.post(message).err());
        let request = with_token(Request::new(ReceiverStream::new(from)), token.as_ref());
        let mut client = client.clone();
        let begun = within(runtime, deadline, client.execute(request));
        let begun = begun.ok_or_else(|| silent(deadline))?;
        let from = begun.map_err(|status| ended(&status))?.into_inner();
        let mut talk = Talk::new(runtime, deadline, to, from, delay);
        waiting.into_iter().chain(messages).try_for_each(|message| talk.send(message))?;
        Ok(talk)
    }
}

/// The assignment, and the list in pieces.
fn first_messages(
    digest: B256,
    assignment: &Assignment,
    way: Way,
) -> impl Iterator<Item = Message> + '_ {
    let begin = Message::Begin(Begin {
        workload_digest: digest.to_vec(),
        batch: assignment.batch as u32,
        thread_count: assignment.thread_count as u32,
        steps: assignment.steps.clone(),
        list_bytes: assignment.list.len() as u64,
        micro_batch_key_count: assignment.micro_batch_key_count,
        is_optimistic: way == Way::Optimistic,
    });
    std::iter::once(begin).chain(pieces(&assignment.list).map(Message::List))
}
