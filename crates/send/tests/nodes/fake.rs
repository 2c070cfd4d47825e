//! A node in this process: accounts with nonces, a pool, blocks at a fixed interval, and a script
//! that makes it fail. Tests compare the figures of a load with its chain.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use alloy_consensus::{Transaction as _, TxEnvelope};
use alloy_eips::eip2718::Decodable2718;
use alloy_primitives::{Address, B256, U64, U256, hex, keccak256};
use secp256k1::{
    Message, Secp256k1,
    ecdsa::{RecoverableSignature, RecoveryId},
};
use serde_json::{Value, json};

mod wire;

/// Methods that a load calls under the limit of its connections.
const LOAD_METHODS: [&str; 2] = ["eth_sendRawTransaction", "eth_getTransactionByHash"];
/// Time between two blocks.
pub(crate) const BLOCK_INTERVAL: Duration = Duration::from_millis(120);

/// A fault of a call, chosen by a script.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// Answers with an HTTP status, and does not run the call.
    Status(u16),
    /// Hangs up, and does not run the call.
    HangUp,
    /// Runs the call, and hangs up without an answer.
    HangUpAfter,
    /// Runs the call, and answers after this time.
    Lag(Duration),
    /// Answers with a JSON-RPC error with this message, and does not run the call.
    Refuse(&'static str),
    /// A JSON-RPC error with this code in the body of an HTTP error, as gateways answer.
    Gateway(u16, i64),
}

/// A call as a script sees it.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    /// Number of earlier calls of this method.
    pub(crate) index: u64,
}

#[derive(Clone, Debug)]
struct Pooled {
    hash: B256,
    sender: Address,
    nonce: u64,
    /// Highest cost in wei: gas limit times offer, and value.
    cost: u128,
}

#[derive(Clone, Debug)]
struct Block {
    hash: B256,
    parent: B256,
    txs: Vec<Pooled>,
}

/// The state of the node.
#[derive(Debug, Default)]
pub(crate) struct World {
    pub(crate) chain_id: u64,
    pool: Vec<Pooled>,
    blocks: Vec<Block>,
    nonces: HashMap<Address, u64>,
    call_counts: BTreeMap<String, u64>,
    /// Number of the branch, which is part of its blocks' hashes.
    branch: u64,
    /// Maximum number of transactions of a block.
    pub(crate) block_tx_count: usize,
    /// Maximum number of transactions in the pool.
    pub(crate) pool_size: usize,
    /// Whether transactions whose hash begins with a byte below 64 revert.
    pub(crate) has_reverts: bool,
    /// Hashes that were dropped from the pool.
    dropped: BTreeSet<B256>,
    /// Whether a third of the transactions, by their hashes, is dropped from the pool once each,
    /// when a block is due.
    pub(crate) forgets: bool,
    is_dead: bool,
    /// Whether no block is made while the pool is empty.
    pub(crate) is_lazy: bool,
    /// Number of the load's calls under way now, and at most so far.
    busy_count: usize,
    pub(crate) busy_count_max: usize,
    /// Base fee of blocks, in wei per gas.
    pub(crate) base_fee: u64,
    /// Whether an offer below the base fee is refused.
    pub(crate) checks_base_fee: bool,
    /// Highest offer so far, in wei per gas.
    pub(crate) offer_max: u128,
    /// Balance of each account in wei, which must pay for all its transactions in the pool.
    pub(crate) balance: Option<u128>,
    /// Whether an account lacks funds for a second transaction in the pool.
    pub(crate) pays_one: bool,
    /// Open connections.
    sockets: Vec<TcpStream>,
    /// Number of connections taken so far.
    pub(crate) connection_count: u64,
    /// End of the time in which connections are refused.
    refuses_until: Option<Instant>,
}

impl World {
    fn tip(&self) -> B256 {
        self.blocks.last().map_or(B256::ZERO, |block| block.hash)
    }

    /// Number of calls of a method.
    pub(crate) fn call_count(&self, method: &str) -> u64 {
        self.call_counts.get(method).copied().unwrap_or_default()
    }

    /// Makes a block.
    pub(crate) fn mine(&mut self) {
        let mut block = Block { hash: B256::ZERO, parent: self.tip(), txs: Vec::new() };
        self.pool.sort_by_key(|tx| tx.nonce);
        if self.forgets {
            let dropped = &mut self.dropped;
            self.pool.retain(|tx| !(tx.hash[0] % 3 == 0 && dropped.insert(tx.hash)));
        }
        let mut rest = Vec::new();
        for tx in std::mem::take(&mut self.pool) {
            let next = self.nonces.entry(tx.sender).or_default();
            if tx.nonce == *next && block.txs.len() < self.block_tx_count {
                *next += 1;
                block.txs.push(tx);
            } else if tx.nonce >= *next {
                rest.push(tx);
            }
        }
        self.pool = rest;
        let number = self.blocks.len() as u64;
        let text = format!("{} {number} {}", self.branch, block.parent);
        block.hash = keccak256(text);
        self.blocks.push(block);
    }

    /// Replaces the last `count` blocks by one more. Their transactions return to the pool, unless
    /// they are lost.
    pub(crate) fn reorganise(&mut self, count: usize, loss: Loss) {
        self.branch += 1;
        for _ in 0..count.min(self.blocks.len().saturating_sub(2)) {
            let block = self.blocks.pop().unwrap();
            for tx in block.txs.into_iter().rev() {
                *self.nonces.get_mut(&tx.sender).unwrap() -= 1;
                if loss == Loss::None {
                    self.pool.push(tx);
                }
            }
        }
        for _ in 0..=count {
            self.mine();
        }
    }

    /// Forgets the transactions of `sender` in the pool.
    pub(crate) fn forget(&mut self, sender: Address) {
        self.pool.retain(|tx| tx.sender != sender);
    }

    /// Uses a nonce of `sender`, as a transaction from elsewhere does.
    pub(crate) fn use_nonce(&mut self, sender: Address) {
        *self.nonces.entry(sender).or_default() += 1;
    }

    pub(crate) fn die(&mut self) {
        self.is_dead = true;
    }

    /// Cuts all connections, and refuses new ones for a time.
    pub(crate) fn cut(&mut self, time: Duration) {
        for socket in self.sockets.drain(..) {
            let _ = socket.shutdown(Shutdown::Both);
        }
        self.refuses_until = Some(Instant::now() + time);
    }

    /// Loses the pool, cuts all connections, and refuses new ones for a time.
    pub(crate) fn restart(&mut self, time: Duration) {
        self.pool.clear();
        self.cut(time);
    }

    /// Takes a connection, unless connections are refused. Returns whether it took the connection.
    fn takes(&mut self, socket: &TcpStream) -> bool {
        if self.is_dead || self.refuses_until.is_some_and(|until| Instant::now() < until) {
            return false;
        }
        self.connection_count += 1;
        self.sockets.push(socket.try_clone().unwrap());
        true
    }

    /// Number of blocks above the last block with a transaction.
    pub(crate) fn confirmations(&self) -> usize {
        self.blocks.iter().rev().take_while(|block| block.txs.is_empty()).count()
    }

    /// Hashes of the transactions in the chain, with repetitions.
    pub(crate) fn in_chain(&self) -> Vec<B256> {
        self.blocks.iter().flat_map(|block| &block.txs).map(|tx| tx.hash).collect()
    }

    pub(crate) fn reverted_count(&self) -> u64 {
        self.in_chain().iter().filter(|hash| self.reverts(**hash)).count() as u64
    }

    fn reverts(&self, hash: B256) -> bool {
        self.has_reverts && hash[0] < 64
    }

    fn pending_nonce(&self, account: Address) -> u64 {
        let mut next = self.nonces.get(&account).copied().unwrap_or_default();
        while self.pool.iter().any(|tx| tx.sender == account && tx.nonce == next) {
            next += 1;
        }
        next
    }

    fn send(&mut self, raw: &str) -> Result<Value, String> {
        let bytes = hex::decode(raw).map_err(|error| error.to_string())?;
        let tx =
            TxEnvelope::decode_2718(&mut bytes.as_slice()).map_err(|error| error.to_string())?;
        let (hash, nonce) = (*tx.tx_hash(), tx.nonce());
        let sender = signer(&tx);
        if self.pool.iter().any(|known| known.hash == hash) {
            return Err("already known".to_owned());
        }
        if nonce < self.nonces.get(&sender).copied().unwrap_or_default() {
            return Err(format!("nonce too low: tx nonce {nonce}"));
        }
        if self.pool.iter().any(|other| other.sender == sender && other.nonce == nonce) {
            return Err("replacement transaction underpriced".to_owned());
        }
        if self.pool.len() >= self.pool_size {
            return Err("txpool is full".to_owned());
        }
        self.offer_max = self.offer_max.max(tx.max_fee_per_gas());
        if self.checks_base_fee && tx.max_fee_per_gas() < u128::from(self.base_fee) {
            return Err("max fee per gas less than block base fee".to_owned());
        }
        let cost = tx.max_fee_per_gas() * u128::from(tx.gas_limit()) + tx.value().to::<u128>();
        let pooled = || self.pool.iter().filter(|other| other.sender == sender);
        let total_cost = pooled().map(|other| other.cost).sum::<u128>() + cost;
        let is_second = self.pays_one && pooled().count() > 0;
        if is_second || self.balance.is_some_and(|balance| balance < total_cost) {
            return Err("insufficient funds for gas * price + value".to_owned());
        }
        self.pool.push(Pooled { hash, sender, nonce, cost });
        Ok(json!(hash))
    }

    fn receipt(&self, hash: B256) -> Value {
        let status = U64::from(u64::from(!self.reverts(hash)));
        json!({"transactionHash": hash, "status": status, "gasUsed": "0x5208"})
    }

    fn header(&self, number: usize) -> Value {
        let Some(block) = self.blocks.get(number) else { return Value::Null };
        let hashes: Vec<B256> = block.txs.iter().map(|tx| tx.hash).collect();
        json!({
            "number": U64::from(number), "hash": block.hash, "parentHash": block.parent,
            "timestamp": U64::from(number), "gasUsed": U64::from(21_000 * hashes.len()),
            "gasLimit": "0x1c9c380", "baseFeePerGas": U64::from(self.base_fee),
            "transactions": hashes,
        })
    }

    fn answer(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        let text = |index: usize| params[index].as_str().unwrap_or_default().to_owned();
        let account = || text(0).parse::<Address>().unwrap();
        let hash = || text(0).parse::<B256>().unwrap();
        Ok(match method {
            "eth_chainId" => json!(U64::from(self.chain_id)),
            "web3_clientVersion" => json!("Fake/v1"),
            "eth_getBalance" => json!(U256::from(self.balance.unwrap_or((1 << 96) - 1))),
            "eth_getTransactionCount" => match text(1).as_str() {
                "latest" => {
                    json!(U64::from(self.nonces.get(&account()).copied().unwrap_or_default()))
                }
                _ => json!(U64::from(self.pending_nonce(account()))),
            },
            "eth_sendRawTransaction" => return self.send(&text(0)),
            "eth_getTransactionByHash" => {
                let hash = hash();
                let is_known =
                    self.pool.iter().any(|tx| tx.hash == hash) || self.in_chain().contains(&hash);
                if is_known { json!({"hash": hash}) } else { Value::Null }
            }
            "eth_getBlockByNumber" => match text(0).strip_prefix("0x") {
                None => self.header(self.blocks.len() - 1),
                Some(digits) => self.header(usize::from_str_radix(digits, 16).unwrap()),
            },
            "eth_getBlockReceipts" => {
                let block = self.blocks.iter().find(|block| block.hash == hash());
                let receipt = |tx: &Pooled| self.receipt(tx.hash);
                block.map_or(Value::Null, |block| block.txs.iter().map(receipt).collect())
            }
            "txpool_status" => json!({"pending": U64::from(self.pool.len()), "queued": "0x0"}),
            _ => return Err(format!("the method {method} does not exist")),
        })
    }
}

/// Recovers the address of the account that signed.
fn signer(tx: &TxEnvelope) -> Address {
    let signature = tx.signature();
    let parity = RecoveryId::try_from(i32::from(signature.v())).unwrap();
    let signed = RecoverableSignature::from_compact(&signature.as_bytes()[..64], parity).unwrap();
    let message = Message::from_digest(tx.signature_hash().0);
    let key = Secp256k1::verification_only().recover_ecdsa(message, &signed).unwrap();
    Address::from_word(keccak256(&key.serialize_uncompressed()[1..]))
}

/// Whether a reorganisation loses transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    None,
    All,
}

/// A running node. Its block maker ends on drop.
pub(crate) struct Fake {
    pub(crate) url: String,
    world: Arc<Mutex<World>>,
    is_over: Arc<AtomicBool>,
}

type Script = dyn Fn(&mut World, &Asked) -> Option<Fault> + Send + Sync;

impl Fake {
    /// Starts a node that fails as `script` says, and talks HTTP.
    pub(crate) fn start(
        script: impl Fn(&mut World, &Asked) -> Option<Fault> + Send + Sync + 'static,
    ) -> Self {
        Self::start_on("http", Arc::new(script))
    }

    /// Starts such a node that talks over a WebSocket.
    pub(crate) fn start_socket(
        script: impl Fn(&mut World, &Asked) -> Option<Fault> + Send + Sync + 'static,
    ) -> Self {
        Self::start_on("ws", Arc::new(script))
    }

    fn start_on(scheme: &'static str, script: Arc<Script>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("{scheme}://{}", listener.local_addr().unwrap());
        let (chain_id, block_tx_count, pool_size, base_fee) = (1_337, 1_000, 10_000, 7);
        let world = World { chain_id, block_tx_count, pool_size, base_fee, ..World::default() };
        let world = Arc::new(Mutex::new(world));
        let is_over = Arc::new(AtomicBool::new(false));
        lock(&world).mine();
        let (mined, ended) = (Arc::clone(&world), Arc::clone(&is_over));
        thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                thread::sleep(BLOCK_INTERVAL);
                let mut world = lock(&mined);
                if !world.is_lazy || !world.pool.is_empty() {
                    world.mine();
                }
            }
        });
        let shared = Arc::clone(&world);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (script, world) = (Arc::clone(&script), Arc::clone(&shared));
                let stream = stream.unwrap();
                if !lock(&world).takes(&stream) {
                    continue;
                }
                let end = stream.try_clone().unwrap();
                let answer = move |body: &[u8]| answered(body, &world, &*script);
                thread::spawn(move || {
                    match scheme {
                        "ws" => wire::serve_socket(stream, answer),
                        _ => wire::serve_http(&stream, answer),
                    }
                    // Without this call, the clones of the handle would keep the connection open.
                    let _ = end.shutdown(Shutdown::Both);
                });
            }
        });
        Self { url, world, is_over }
    }

    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        lock(&self.world)
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

fn lock(world: &Mutex<World>) -> MutexGuard<'_, World> {
    world.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the answer to a call, with its HTTP status; `None` if the node hangs up.
fn answered(body: &[u8], world: &Mutex<World>, script: &Script) -> Option<wire::Reply> {
    let call: Value = serde_json::from_slice(body).unwrap();
    let method = call["method"].as_str().unwrap().to_owned();
    let is_of_load = LOAD_METHODS.contains(&method.as_str());
    let (fault, is_dead) = {
        let mut world = lock(world);
        let count = world.call_counts.entry(method.clone()).or_default();
        let index = *count;
        *count += 1;
        world.busy_count += usize::from(is_of_load);
        world.busy_count_max = world.busy_count_max.max(world.busy_count);
        let fault = script(&mut world, &Asked { method: method.clone(), index });
        (fault, world.is_dead)
    };
    let result = match &fault {
        _ if is_dead => return None,
        Some(Fault::HangUp) => return None,
        Some(Fault::Status(_)) => Ok(Value::Null),
        Some(Fault::Gateway(..)) => Err("upstream".to_owned()),
        Some(Fault::Refuse(message)) => Err((*message).to_owned()),
        _ => lock(world).answer(&method, &call["params"]),
    };
    let text = match result {
        Ok(result) => json!({"jsonrpc": "2.0", "id": call["id"], "result": result}),
        Err(message) => {
            let code = if let Some(Fault::Gateway(_, code)) = fault { code } else { -32000 };
            let error = json!({"code": code, "message": message});
            json!({"jsonrpc": "2.0", "id": call["id"], "error": error})
        }
    };
    let (status, body) = match fault {
        Some(Fault::HangUpAfter) => return None,
        Some(Fault::Status(status)) => (status, "out of order".to_owned()),
        Some(Fault::Gateway(status, _)) => (status, text.to_string()),
        Some(Fault::Lag(time)) => {
            thread::sleep(time);
            (200, text.to_string())
        }
        _ => (200, text.to_string()),
    };
    lock(world).busy_count -= usize::from(is_of_load);
    Some(wire::Reply { status, body })
}
