//! The conflict graph of transactions that run as one batch. Its nodes are transactions. Two
//! transactions conflict if both touch a key and at least one of them writes the key. Memory and
//! time are linear in the number of accesses.

use std::{cmp::Reverse, collections::BinaryHeap};

/// Stands for no transaction in the fields of a [`KeyState`].
const NO_TX: u32 = u32::MAX;

/// An access of a transaction to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Index of the key.
    pub key: u32,
    /// Whether the transaction changes the key's value; otherwise it only reads the key.
    pub writes: bool,
}

/// The keys that transactions touch, each key once a transaction.
#[derive(Clone, Debug, Default)]
pub struct Accesses {
    /// End of each transaction's accesses in `all`.
    ends: Vec<usize>,
    all: Vec<Access>,
}

impl Accesses {
    /// Adds an access of the transaction that is being added.
    pub fn push(&mut self, access: Access) {
        self.all.push(access);
    }

    /// Ends the transaction that is being added.
    pub fn end_tx(&mut self) {
        self.ends.push(self.all.len());
    }

    /// The accesses of a transaction.
    pub fn of(&self, tx: usize) -> &[Access] {
        let start = if tx == 0 { 0 } else { self.ends[tx - 1] };
        &self.all[start..self.ends[tx]]
    }
}

/// Transactions that are joined by conflicts, directly or through others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Component {
    /// Number of transactions.
    pub tx_count: u64,
    /// Gas of the component's transactions.
    pub gas: u64,
    /// Number of transactions of the longest chain, in which each transaction reads a key that the
    /// one before it wrote.
    pub chain_tx_count: u64,
    /// Gas of the chain with the most gas, which need not be the longest.
    pub chain_gas: u64,
}

/// The key that most transactions touch, among the keys that at least two touch and at least one
/// writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HottestKey {
    /// Index of the key.
    pub key: u32,
    /// Number of transactions that touch the key.
    pub tx_count: u64,
    /// Number of transactions that write the key.
    pub writer_count: u64,
}

/// Size of one kind of conflict: writes with writes, or reads with writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConflictCounts {
    /// Number of transactions with a conflict of this kind.
    pub tx_count: u64,
    /// Number of keys with a conflict of this kind.
    pub key_count: u64,
}

/// The conflicts of a batch.
#[derive(Clone, Debug)]
pub struct ConflictGraph {
    gas: Vec<u64>,
    components: Vec<Component>,
    hottest: Option<HottestKey>,
    write_write: ConflictCounts,
    read_write: ConflictCounts,
    /// End of each transaction's dependencies in `dependencies`.
    dependency_ends: Vec<usize>,
    /// For each transaction, the earlier transactions on which it depends, each once: the last
    /// writer of every key that it touches.
    dependencies: Vec<u32>,
}

/// State of a key while transactions are visited in order.
#[derive(Clone, Copy, Debug)]
struct KeyState {
    /// Whether any transaction writes the key. The fields below count only if so.
    is_written: bool,
    /// First transaction on the key.
    first: u32,
    last_writer: u32,
    /// Number of transactions on the key so far, and of those that write it.
    tx_count: u32,
    writer_count: u32,
}

impl KeyState {
    /// Whether two or more transactions write the key.
    const fn is_written_twice(&self) -> bool {
        self.writer_count > 1
    }

    /// Whether a transaction writes the key and another only reads it.
    const fn is_read_and_written(&self) -> bool {
        self.writer_count > 0 && self.tx_count > self.writer_count
    }
}

impl ConflictGraph {
    /// Builds the graph from the gas and the accesses of each transaction. Indices of keys are
    /// below `key_count`.
    ///
    /// # Panics
    /// Where `gas` and `accesses` differ in the number of transactions, or a key is `key_count` or
    /// more.
    pub fn new(gas: Vec<u64>, accesses: &Accesses, key_count: usize) -> Self {
        assert_eq!(gas.len(), accesses.ends.len(), "gas and accesses of each transaction");
        let unseen = KeyState {
            is_written: false,
            first: NO_TX,
            last_writer: NO_TX,
            tx_count: 0,
            writer_count: 0,
        };
        let mut keys = vec![unseen; key_count];
        for access in accesses.all.iter().filter(|access| access.writes) {
            keys[access.key as usize].is_written = true;
        }
        let mut groups = Groups::new(gas.len());
        let mut graph = Self {
            dependency_ends: Vec::with_capacity(gas.len()),
            gas,
            components: Vec::new(),
            hottest: None,
            write_write: ConflictCounts::default(),
            read_write: ConflictCounts::default(),
            dependencies: Vec::new(),
        };
        for tx in 0..graph.gas.len() {
            graph.add(tx as u32, accesses.of(tx), &mut keys, &mut groups);
        }
        graph.hottest = hottest(&keys);
        let has_two_writers =
            |access: &Access, key: &KeyState| access.writes && key.is_written_twice();
        graph.write_write = ConflictCounts {
            tx_count: txs_where(accesses, &keys, has_two_writers),
            key_count: keys.iter().filter(|key| key.is_written_twice()).count() as u64,
        };
        // Every transaction on such a key counts: a writer conflicts with a reader, and a reader
        // with a writer.
        graph.read_write = ConflictCounts {
            tx_count: txs_where(accesses, &keys, |_, key| key.is_read_and_written()),
            key_count: keys.iter().filter(|key| key.is_read_and_written()).count() as u64,
        };
        graph.components = graph.components_of(&mut groups);
        graph
    }

    /// Adds the next transaction: its dependencies, and the group that it joins.
    fn add(&mut self, tx: u32, accesses: &[Access], keys: &mut [KeyState], groups: &mut Groups) {
        let first_dependency = self.dependencies.len();
        for access in accesses {
            let key = &mut keys[access.key as usize];
            if !key.is_written {
                continue;
            }
            key.tx_count += 1;
            if key.first == NO_TX {
                key.first = tx;
            } else {
                groups.join(key.first, tx);
            }
            // A write is a read too: the gas of an SSTORE and a new balance depend on the value
            // before.
            if key.last_writer != NO_TX {
                self.dependencies.push(key.last_writer);
            }
            if access.writes {
                key.last_writer = tx;
                key.writer_count += 1;
            }
        }
        // Several keys may have the same last writer.
        self.dependencies[first_dependency..].sort_unstable();
        let mut kept = first_dependency;
        for index in first_dependency..self.dependencies.len() {
            let dependency = self.dependencies[index];
            if kept == first_dependency || self.dependencies[kept - 1] != dependency {
                self.dependencies[kept] = dependency;
                kept += 1;
            }
        }
        self.dependencies.truncate(kept);
        self.dependency_ends.push(kept);
    }

    /// Returns the components of `groups`, the one with the most transactions first.
    fn components_of(&self, groups: &mut Groups) -> Vec<Component> {
        let mut components = vec![Component::default(); self.gas.len()];
        // The longest chain that ends with each transaction, in transactions, and the one with the
        // most gas, in gas.
        let mut chains: Vec<(u64, u64)> = Vec::with_capacity(self.gas.len());
        for (tx, gas) in self.gas.iter().enumerate() {
            let before = self.dependencies_of(tx).iter().map(|earlier| chains[*earlier as usize]);
            let (count, chain_gas) =
                before.fold((0, 0), |most, chain| (most.0.max(chain.0), most.1.max(chain.1)));
            let chain = (count + 1, chain_gas + gas);
            chains.push(chain);
            let component = &mut components[groups.root(tx as u32) as usize];
            component.tx_count += 1;
            component.gas += gas;
            component.chain_tx_count = component.chain_tx_count.max(chain.0);
            component.chain_gas = component.chain_gas.max(chain.1);
        }
        components.retain(|component| component.tx_count > 0);
        components.sort_unstable_by_key(|of| Reverse((of.tx_count, of.gas, of.chain_gas)));
        components
    }

    /// The earlier transactions on which a transaction depends.
    fn dependencies_of(&self, tx: usize) -> &[u32] {
        let start = if tx == 0 { 0 } else { self.dependency_ends[tx - 1] };
        &self.dependencies[start..self.dependency_ends[tx]]
    }

    /// Gas of each transaction.
    pub fn gas(&self) -> &[u64] {
        &self.gas
    }

    /// All components, the one with the most transactions first.
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// The key that most transactions touch; `None` where no two transactions conflict.
    pub const fn hottest(&self) -> Option<HottestKey> {
        self.hottest
    }

    /// Conflicts of writes with writes: two transactions write the same key.
    pub const fn write_write(&self) -> ConflictCounts {
        self.write_write
    }

    /// Conflicts of reads with writes: a transaction only reads a key that another writes.
    pub const fn read_write(&self) -> ConflictCounts {
        self.read_write
    }

    /// Makespan, in gas, of a greedy schedule on `thread_count` threads. It is an upper bound of
    /// the shortest makespan, and at most twice that (Graham 1969). A free thread takes the ready
    /// transaction whose chain of dependents has the most gas. A transaction's gas is its time.
    pub fn makespan_gas(&self, thread_count: usize) -> u64 {
        let (later_ends, later) = self.dependents();
        let ahead = self.gas_ahead();
        // Number of unfinished dependencies of each transaction.
        let mut missing: Vec<usize> =
            (0..self.gas.len()).map(|tx| self.dependencies_of(tx).len()).collect();
        // Each transaction as the heap orders it: the most gas ahead first, then the lowest index.
        let tasks: Vec<_> = ahead.into_iter().zip((0..).map(Reverse)).collect();
        let free = (0..self.gas.len() as u32).filter(|tx| missing[*tx as usize] == 0);
        let mut ready: BinaryHeap<(u64, Reverse<u32>)> =
            free.map(|tx| tasks[tx as usize]).collect();
        let mut running: BinaryHeap<Reverse<(u64, u32)>> = BinaryHeap::new();
        let mut now_gas = 0;
        loop {
            while running.len() < thread_count.max(1) {
                let Some((_, Reverse(tx))) = ready.pop() else { break };
                running.push(Reverse((now_gas + self.gas[tx as usize], tx)));
            }
            let Some(Reverse((end_gas, tx))) = running.pop() else { return now_gas };
            now_gas = end_gas;
            let tx = tx as usize;
            let start = if tx == 0 { 0 } else { later_ends[tx - 1] };
            for dependent in &later[start..later_ends[tx]] {
                missing[*dependent as usize] -= 1;
                if missing[*dependent as usize] == 0 {
                    ready.push(tasks[*dependent as usize]);
                }
            }
        }
    }

    /// Returns the end of each transaction's group of dependents, and all dependents, group after
    /// group.
    fn dependents(&self) -> (Vec<usize>, Vec<u32>) {
        // First the number of dependents in each group, then the group's start.
        let mut ends = vec![0; self.gas.len()];
        for dependency in &self.dependencies {
            ends[*dependency as usize] += 1;
        }
        let mut start = 0;
        for group in &mut ends {
            start += std::mem::replace(group, start);
        }
        // Each dependent moves its group's end on, which was the start.
        let mut later = vec![0; self.dependencies.len()];
        for tx in 0..self.gas.len() {
            for dependency in self.dependencies_of(tx) {
                let end = &mut ends[*dependency as usize];
                later[*end] = tx as u32;
                *end += 1;
            }
        }
        (ends, later)
    }

    /// For each transaction, the most gas of a chain that begins with it.
    fn gas_ahead(&self) -> Vec<u64> {
        let mut ahead = vec![0; self.gas.len()];
        for tx in (0..self.gas.len()).rev() {
            // The dependents come later, so their chains are already computed.
            ahead[tx] += self.gas[tx];
            let of_tx = ahead[tx];
            for dependency in self.dependencies_of(tx) {
                let after = &mut ahead[*dependency as usize];
                *after = of_tx.max(*after);
            }
        }
        ahead
    }
}

/// Counts the transactions with an access for which `is_such` is true.
fn txs_where(
    accesses: &Accesses,
    keys: &[KeyState],
    is_such: impl Fn(&Access, &KeyState) -> bool,
) -> u64 {
    (0..accesses.ends.len())
        .filter(|tx| {
            let mut accesses = accesses.of(*tx).iter();
            accesses.any(|access| is_such(access, &keys[access.key as usize]))
        })
        .count() as u64
}

/// The key that most transactions touch; `None` if no two transactions conflict.
fn hottest(keys: &[KeyState]) -> Option<HottestKey> {
    let shared = keys.iter().enumerate().filter(|(_, key)| key.tx_count > 1);
    // Of equally hot keys the lowest index is taken, so that the result is deterministic.
    let (index, key) =
        shared.max_by_key(|(index, key)| (key.tx_count, key.writer_count, Reverse(*index)))?;
    let (tx_count, writer_count) = (key.tx_count.into(), key.writer_count.into());
    Some(HottestKey { key: index as u32, tx_count, writer_count })
}

/// Disjoint sets of transactions (union-find).
struct Groups {
    /// The parent of each transaction in its set's tree; a root is its own parent.
    parents: Vec<u32>,
}

impl Groups {
    fn new(count: usize) -> Self {
        Self { parents: (0..count as u32).collect() }
    }

    fn root(&mut self, mut at: u32) -> u32 {
        while self.parents[at as usize] != at {
            let above = self.parents[self.parents[at as usize] as usize];
            // Paths are halved on the way, so that later walks are short.
            self.parents[at as usize] = above;
            at = above;
        }
        at
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        // A component's root is its first transaction, so that the result has one order.
        self.parents[a.max(b) as usize] = a.min(b);
    }
}
