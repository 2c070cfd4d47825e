//! A session with a node for one load: connect, set up, drive. It is the interface of this crate
//! for the program, which has no async runtime.

use std::sync::atomic::AtomicBool;

use serde_json::json;
use tokio::runtime::{Builder, Handle, Runtime};

use crate::{
    drive::{self, DriveInput},
    error::{CallError, SendError},
    measured::Measured,
    node::Node,
    pace::Pace,
    plan::Plan,
    public,
    settings::{Funder, NodeFacts, Settings, Snapshot},
    setup::{self, Ready},
    stop::unless_stopped,
};

/// Number of threads of the runtime beside the caller's thread. They encode calls and read answers.
const THREAD_COUNT: usize = 2;

/// Threads of a session. A drop does not wait for calls and name resolutions under way.
#[derive(Debug)]
struct Threads {
    handle: Handle,
    runtime: Option<Runtime>,
}

impl Threads {
    fn start() -> Result<Self, SendError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREAD_COUNT)
            .thread_name("send")
            .enable_all()
            .build()?;
        Ok(Self { handle: runtime.handle().clone(), runtime: Some(runtime) })
    }

    fn block_on<F: Future>(&self, work: F) -> F::Output {
        self.handle.block_on(work)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A session with a node for one load.
#[derive(Debug)]
pub struct Session {
    threads: Threads,
    node: Node,
    facts: NodeFacts,
    settings: Settings,
}

impl Session {
    /// Connects to the node, and reads the facts of its chain.
    ///
    /// # Errors
    /// [`SendError`]: no node answers, or the load is not allowed on its chain.
    pub fn connect(settings: Settings, stop: &AtomicBool) -> Result<Self, SendError> {
        let threads = Threads::start()?;
        let reached = threads.block_on(unless_stopped(stop, connected(&settings)));
        let (node, facts) = reached.unwrap_or(Err(SendError::Stopped))?;
        public::check(facts.chain_id, settings.chain_id)?;
        Ok(Self { threads, node, facts, settings })
    }

    /// Facts of the node.
    pub const fn facts(&self) -> &NodeFacts {
        &self.facts
    }

    /// Checks that the node has the methods that `pace` needs.
    ///
    /// # Errors
    /// [`SendError::NoPoolStatus`], or the user interrupts.
    pub fn check(&self, pace: Pace, stop: &AtomicBool) -> Result<(), SendError> {
        if !matches!(pace, Pace::PoolDepth(_)) {
            return Ok(());
        }
        let asked = self.threads.block_on(unless_stopped(stop, self.node.pool_status()));
        asked.ok_or(SendError::Stopped)?.map_err(SendError::NoPoolStatus).map(drop)
    }

    /// Pays the senders and creates the contracts of `plan`. Calls `on_progress` with two counts of
    /// the setup's transactions: finished ones, and all.
    ///
    /// # Errors
    /// [`SendError`].
    pub fn setup(
        &self,
        plan: &mut Plan,
        funder: &Funder,
        stop: &AtomicBool,
        on_progress: &dyn Fn(u64, u64),
    ) -> Result<Ready, SendError> {
        let run = setup::SetupRun {
            node: &self.node,
            facts: &self.facts,
            patience: self.settings.patience,
            on_progress,
        };
        let work = unless_stopped(stop, run.make(plan, funder));
        self.threads.block_on(work).ok_or(SendError::Stopped)?
    }

    /// Sends the transactions of `plan` at `pace` and waits for their blocks. Reports to
    /// `on_progress`. A load that makes no progress for the time of the user's patience ends, and
    /// so does a load that the user interrupts. Neither is an error: the figures are those until
    /// then.
    ///
    /// # Errors
    /// [`SendError`]: the chain cannot be read at the start, the user interrupts before sending
    /// begins, a transaction cannot be signed, or a task panics.
    pub fn drive(
        self,
        plan: &Plan,
        ready: Ready,
        pace: Pace,
        stop: &AtomicBool,
        on_progress: &dyn Fn(&Snapshot),
    ) -> Result<Measured, SendError> {
        let input = DriveInput {
            node: self.node,
            chain_id: self.facts.chain_id,
            settings: self.settings,
            pace,
            stop,
        };
        self.threads.block_on(drive::drive(input, plan, ready, on_progress))
    }
}

async fn connected(settings: &Settings) -> Result<(Node, NodeFacts), SendError> {
    let Some(transport) = settings.url.transport() else {
        let text = "the URL begins with none of http://, https://, ws:// and wss://";
        return Err(SendError::Connect(text.to_owned()));
    };
    let node = Node::connect(&settings.url, settings.timeout).await?;
    let chain_id = node.chain_id().await.map_err(failed("eth_chainId"))?;
    let latest = node.latest().await.map_err(failed("eth_getBlockByNumber"))?;
    let facts = NodeFacts {
        version: node.client_version().await.ok(),
        chain_id,
        transport,
        has_lists: latest.block_access_list_hash.is_some() || prices_state(&node).await,
        is_developers: public::is_developers(chain_id),
    };
    Ok((node, facts))
}

/// Makes the error for a failed call of `method` while connecting.
fn failed(method: &'static str) -> impl FnOnce(CallError) -> SendError {
    let remedy = "does the node run, and is this the URL of its JSON-RPC interface?";
    move |error| SendError::Call { method, error, remedy }
}

/// Whether the chain has Amsterdam's price for created state (EIP-8037). The creation of a contract
/// with a slot then costs far more gas than under Osaka. This test finds Amsterdam on nodes that do
/// not show the list's hash in headers. False if the node has no account as the sender of the
/// creation.
async fn prices_state(node: &Node) -> bool {
    /// Init code that writes a slot.
    const WRITES_A_SLOT: &str = "0x60015f55";
    /// Twice the gas of this creation on Osaka.
    const LIMIT_GAS: u64 = 150_000;
    let own = node.accounts().await.unwrap_or_default();
    let Some(from) = own.first() else { return false };
    let creation = json!({"from": from, "data": WRITES_A_SLOT});
    node.estimate_gas(creation).await.is_ok_and(|gas| gas > LIMIT_GAS)
}
