//! A state in MDBX, open for one sample: an environment over a hard link to the base's file, and
//! the sample's commits. A read transaction holds the base's snapshot, so that MDBX overwrites none
//! of the snapshot's pages. `reader.rs` and `tries.rs` have the sample's reads.

use std::{
    fmt, fs,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use alloy_primitives::{B256, hex};
use signet_libmdbx::{Environment, Ro, RoSync, SyncMode, TransactionKind, tx::Tx};
use workload::{
    Layout, NetChanges, Table,
    layout::{RowKey, encode_account},
};

use super::{
    base::{Base, DATA},
    environment::{self, NAME, Purpose, failed, failed_io},
    format::MdbxFormat,
    tables::{TableKey, Tables},
};
use crate::{
    error::StoreError,
    lock::lock,
    place::AccountKeys,
    state::{BuiltState, SampleDir},
    store::lookup::RowName,
    tries::NodeChanges,
};

/// A state open for one sample.
pub(super) struct MdbxSample<'s> {
    pub(super) base: &'s Base,
    /// Read transaction that holds the base's snapshot. It must end before the environment is
    /// closed.
    pin: Tx<RoSync>,
    environment: Environment,
    tables: Tables,
    /// Number of committed batches. A reader whose transaction began at a smaller number restarts
    /// it.
    commit_count: AtomicU64,
    written: Mutex<WrittenKeys>,
    dir: SampleDir,
}

impl fmt::Debug for MdbxSample<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MdbxSample").field("dir", &self.dir.path()).finish_non_exhaustive()
    }
}

/// Keys that the sample's batches have written.
#[derive(Default)]
struct WrittenKeys {
    accounts: Vec<RowKey>,
    slots: Vec<RowKey>,
    codes: Vec<B256>,
    /// Keys of nodes of tries.
    nodes: Vec<Vec<u8>>,
}

impl WrittenKeys {
    fn keys(&self) -> impl Iterator<Item = TableKey<'_>> {
        let accounts = self.accounts.iter().map(RowKey::as_slice);
        let slots = self.slots.iter().map(RowKey::as_slice);
        let codes = self.codes.iter().map(|hash| hash.as_slice());
        let accounts = accounts.map(|key| TableKey { table: Table::Accounts, key });
        let slots = slots.map(|key| TableKey { table: Table::Slots, key });
        accounts.chain(slots).chain(codes.map(|key| TableKey { table: Table::Codes, key }))
    }
}

impl<'s> MdbxSample<'s> {
    pub(super) fn open(
        state: &BuiltState,
        base: &'s Base,
        format: MdbxFormat,
        sync_mode: SyncMode,
    ) -> Result<Self, StoreError> {
        let dir = state.sample_dir_of(NAME)?;
        let path = dir.path().join(DATA);
        fs::hard_link(&base.path, &path).map_err(failed_io("link the state's file"))?;
        let environment = environment::open(&path, Purpose::Sample(sync_mode))?;
        let tables = Tables::open(&environment, format.form(state.manifest().layout))?;
        let pin = environment.begin_ro_sync().map_err(failed("hold the state's snapshot"))?;
        Ok(Self {
            base,
            pin,
            environment,
            tables,
            commit_count: AtomicU64::new(0),
            written: Mutex::default(),
            dir,
        })
    }

    pub(super) const fn tables(&self) -> &Tables {
        &self.tables
    }

    pub(super) const fn layout(&self) -> Layout {
        self.tables.form().layout
    }

    /// Returns the length of the database file now; `None` if it cannot be read.
    pub(super) fn length(&self) -> Option<u64> {
        Some(fs::metadata(self.dir.path().join(DATA)).ok()?.len())
    }

    /// Begins a read transaction for the calling thread.
    pub(super) fn begin_read(&self) -> Result<Tx<Ro>, StoreError> {
        self.environment.begin_ro_unsync().map_err(failed("begin to read"))
    }

    #[inline]
    pub(super) fn commit_count(&self) -> u64 {
        self.commit_count.load(Ordering::Acquire)
    }

    /// Returns depth, rows and pages of `table` in the base.
    pub(super) fn statistics(&self, table: Table) -> Result<signet_libmdbx::Stat, StoreError> {
        self.pin.db_stat(&self.tables.handle(table)).map_err(failed("look at a table"))
    }

    /// Returns depth, rows and pages of the table of nodes in the base; `None` if the state has no
    /// tries.
    pub(super) fn node_statistics(&self) -> Result<Option<signet_libmdbx::Stat>, StoreError> {
        let nodes = self.tables.nodes();
        let stat = nodes.map(|nodes| self.pin.db_stat(&nodes)).transpose();
        stat.map_err(failed("look at a table"))
    }

    /// Waits until the device has the pages and the meta page of the last transaction.
    pub(super) fn sync_commits(&self) -> Result<(), StoreError> {
        self.environment.sync(true).map(drop).map_err(failed("make the commits durable"))
    }

    /// Writes the changes in one transaction: rows in the order of their keys, then nodes of tries
    /// in the order of their keys.
    pub(super) fn write(
        &self,
        changes: &NetChanges,
        nodes: &[NodeChanges],
    ) -> Result<(), StoreError> {
        let layout = self.layout();
        let mut accounts: Vec<_> = changes
            .accounts
            .iter()
            .map(|(address, row)| (layout.account_key(address), row.as_ref()))
            .collect();
        accounts.sort_unstable_by_key(|(key, _)| *key);
        let mut account_keys = AccountKeys::default();
        let slots = changes.slots.iter().map(|(address, slot, value)| {
            (layout.slot_key(&account_keys.key(layout, address), slot), value)
        });
        let mut slots: Vec<_> = slots.collect();
        slots.sort_unstable_by_key(|(key, _)| *key);
        let nodes = sorted_nodes(nodes);
        let tx = self.environment.begin_rw_unsync().map_err(failed("begin a commit"))?;
        for (key, row) in &accounts {
            let row = row.map(encode_account);
            let key = TableKey { table: Table::Accounts, key: key.as_slice() };
            self.tables.write(&tx, key, row.as_ref().map(|row| row.as_slice()))?;
        }
        self.tables.write_slots(&tx, &slots)?;
        for (hash, code) in &changes.codes {
            let key = TableKey { table: Table::Codes, key: hash.as_slice() };
            self.tables.write(&tx, key, Some(code))?;
        }
        nodes.iter().try_for_each(|(key, node)| self.tables.write_node(&tx, key, *node))?;
        tx.commit().map_err(failed("commit"))?;
        self.commit_count.fetch_add(1, Ordering::Release);
        let mut written = lock(&self.written);
        written.accounts.extend(accounts.iter().map(|(key, _)| *key));
        written.slots.extend(slots.iter().map(|(key, _)| *key));
        written.codes.extend(changes.codes.iter().map(|(hash, _)| *hash));
        written.nodes.extend(nodes.into_iter().map(|(key, _)| key));
        Ok(())
    }

    /// Closes the environment and restores the base. Then compares the value of every key that was
    /// committed with the value in the base's snapshot, which is read before.
    pub(super) fn close(self) -> Result<(), StoreError> {
        let Self { base, pin, environment, tables, written, dir, .. } = self;
        let written = written.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut before = Vec::new();
        for key in written.keys() {
            before.push(tables.get(&pin, key, row_name(key), |value| Ok(value.to_vec()))?);
        }
        let nodes_before = nodes_of(&tables, &pin, &written)?;
        drop(pin);
        drop(environment);
        base.restore().map_err(failed_io("put the state back"))?;
        if !before.is_empty() || !nodes_before.is_empty() {
            let path = dir.path().join(DATA);
            environment::remove_lock_file(&path)?;
            let environment = environment::open(&path, Purpose::Check)?;
            let tables = Tables::open(&environment, tables.form())?;
            let tx = environment.begin_ro_unsync().map_err(failed("read the state again"))?;
            for (key, before) in written.keys().zip(before) {
                let now = tables.get(&tx, key, row_name(key), |value| Ok(value.to_vec()))?;
                check_same(|| row_name(key).to_string(), before, now)?;
            }
            let now = nodes_of(&tables, &tx, &written)?;
            for ((key, before), now) in written.nodes.iter().zip(nodes_before).zip(now) {
                check_same(|| format!("node {}", hex::encode_prefixed(key)), before, now)?;
            }
        }
        dir.close(NAME)
    }
}

/// A node's key, and the node to write; `None` deletes the node.
type NodeWrite<'n> = (Vec<u8>, Option<&'n [u8]>);

/// Returns the changes of nodes, sorted by key.
fn sorted_nodes(changes: &[NodeChanges]) -> Vec<NodeWrite<'_>> {
    let mut nodes = Vec::new();
    for NodeChanges { trie, put, deleted } in changes {
        nodes.extend(deleted.iter().map(|key| (trie.slots_first_key(key), None)));
        nodes.extend(put.iter().map(|(key, node)| (trie.slots_first_key(key), Some(node))));
    }
    nodes.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    nodes
}

/// Returns the nodes that the sample has written, as `tx` sees them; `None` for an absent node.
fn nodes_of<K: TransactionKind>(
    tables: &Tables,
    tx: &Tx<K>,
    written: &WrittenKeys,
) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
    let keys = written.nodes.iter();
    keys.map(|key| tables.node(tx, key, |node| node.map(<[u8]>::to_vec))).collect()
}

fn check_same(
    what: impl FnOnce() -> String,
    before: Option<Vec<u8>>,
    now: Option<Vec<u8>>,
) -> Result<(), StoreError> {
    if now == before {
        return Ok(());
    }
    let [before, now] = [before, now].map(|value| value.map_or("absent".into(), hex::encode));
    let reason = format!("it was {before} and is {now}");
    Err(StoreError::NotRestored { store: NAME, what: what(), reason })
}

fn row_name(row: TableKey<'_>) -> RowName<'_> {
    RowName::RowOf(row.table, row.key)
}
