//! Describes the contents of a workload before any variant runs it, for `stress describe` and
//! others: the keys that its transactions touch and share. They come from the reference run, never
//! from a planner.
//!
//! A key is an account's row (balance, nonce, code) or a slot, as a state database has them. The
//! row of a block's beneficiary is left out: every transaction pays it, and clients do not
//! serialize transactions for that. System calls and withdrawals are not transactions.

mod graph;

pub use graph::{Access, Accesses, Component, ConflictCounts, ConflictGraph, HottestKey};

use alloy_primitives::{Address, U256};
use evm::{StepWrites, TxGas};
use revm::state::EvmState;
use workload::{
    Batch, Workload,
    list::{AccountId, ListBounds, ListIndex, SlotId},
};

use crate::reference::{ReferenceError, ReferenceRun, StopAnswer};

/// Number of keys that one transaction touches, by kind. A written key also counts as read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TxKeys {
    /// Number of accounts.
    pub account_count: u32,
    /// Number of slots.
    pub slot_count: u32,
    /// Number of accounts whose balance, nonce or code the transaction changes.
    pub written_account_count: u32,
    /// Number of slots whose value the transaction changes.
    pub written_slot_count: u32,
}

/// The name of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyName {
    /// The account.
    pub address: Address,
    /// The slot; `None` for the account's own row.
    pub slot: Option<U256>,
}

/// The amount of detail that a description keeps of each batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The conflict graph.
    Graphs,
    /// The conflict graph and all accesses, which take 8 bytes of memory each.
    Accesses,
}

/// The contents of one batch.
#[derive(Clone, Debug)]
pub struct BatchDescription {
    /// The keys that each transaction touches, each by its index: accounts first, then slots, in
    /// the order of the batch's list. Keys that no transaction writes are included. Empty unless
    /// accesses are kept.
    pub accesses: Accesses,
    /// Conflicts of the batch's transactions.
    pub graph: ConflictGraph,
    /// The name of the key of [`ConflictGraph::hottest`].
    pub hottest: Option<KeyName>,
}

/// The contents of a workload.
#[derive(Clone, Debug, Default)]
pub struct Description {
    /// Number of keys that each transaction touches, through all batches in order.
    pub transactions: Vec<TxKeys>,
    /// Gas of each transaction.
    pub gas: Vec<TxGas>,
    /// The description of each batch, in order.
    pub batches: Vec<BatchDescription>,
}

/// Runs the reference over `workload`, whose lists and outcomes are the reference's own
/// ([`crate::generate`], [`crate::reference::verify`]), and describes it. `on_tx` is called
/// after each transaction and may stop the run.
///
/// # Errors
/// [`ReferenceError`], also where a list lacks a key that a transaction touches.
pub fn describe<A: StopAnswer>(
    workload: &Workload,
    on_tx: impl FnMut() -> A,
) -> Result<Description, ReferenceError> {
    describe_with_detail(workload, Detail::Graphs, on_tx)
}

/// Describes `workload` as [`describe`] does, and keeps `detail` of each batch.
///
/// # Errors
/// The errors of [`describe`].
pub fn describe_with_detail<A: StopAnswer>(
    workload: &Workload,
    detail: Detail,
    mut on_tx: impl FnMut() -> A,
) -> Result<Description, ReferenceError> {
    let mut run = ReferenceRun::new(workload)?;
    let mut out = Description::default();
    for (index, batch) in workload.batches.iter().enumerate() {
        let mut census = Census::new(index, batch, workload)?;
        let ran =
            run.next_batch_with_states(|_| on_tx(), |block, state| census.add(batch, block, state));
        let Some(ran) = ran else { break };
        let tx_gas = ran?.tx_gas;
        census.end(tx_gas.iter().map(|gas| gas.receipt_gas).collect(), detail, &mut out)?;
        out.gas.extend(tx_gas);
    }
    Ok(out)
}

/// The keys that the transactions of a batch touch, as they are counted.
struct Census {
    /// Index of the batch, for errors.
    batch: usize,
    list: ListIndex,
    accesses: Accesses,
    transactions: Vec<TxKeys>,
    /// The first key that the list lacks.
    missing: Option<KeyName>,
}

impl Census {
    fn new(index: usize, batch: &Batch, workload: &Workload) -> Result<Self, ReferenceError> {
        let list = ListIndex::decode(&batch.list, &ListBounds::new(batch, &workload.rules));
        let list = list.map_err(|error| ReferenceError::Differs {
            batch: index,
            part: "the list",
            detail: error.to_string(),
        })?;
        Ok(Self {
            batch: index,
            list,
            accesses: Accesses::default(),
            transactions: Vec::new(),
            missing: None,
        })
    }

    /// Adds a transaction of `block`, which touched the keys in `state`.
    fn add(&mut self, batch: &Batch, block: usize, state: &EvmState) {
        let beneficiary = batch.blocks[block].env.beneficiary;
        let mut written = StepWrites::default();
        written.add(state);
        written.accounts.retain(|write| write.address != beneficiary);
        written.accounts.sort_unstable_by_key(|write| write.address);
        written.slots.sort_unstable_by_key(|(address, key, _)| (*address, *key));
        let mut keys = TxKeys {
            written_account_count: written.accounts.len() as u32,
            written_slot_count: written.slots.len() as u32,
            ..TxKeys::default()
        };
        for (address, account) in state {
            let id = self.list.account_id(address);
            if *address != beneficiary {
                keys.account_count += 1;
                let writes = written.accounts.binary_search_by_key(address, |write| write.address);
                let access = id.map(|id| Access { key: id.0, writes: writes.is_ok() });
                self.touch(KeyName { address: *address, slot: None }, access);
            }
            keys.slot_count += account.storage.len() as u32;
            for key in account.storage.keys() {
                let writes =
                    written.slots.binary_search_by(|(at, slot, _)| (at, slot).cmp(&(address, key)));
                let slot = id.and_then(|id| self.list.slot_id(id, key));
                let access = slot.map(|slot| Access {
                    key: self.list.account_count() + slot.0,
                    writes: writes.is_ok(),
                });
                self.touch(KeyName { address: *address, slot: Some(*key) }, access);
            }
        }
        self.accesses.end_tx();
        self.transactions.push(keys);
    }

    /// Adds an access of the present transaction to the key with this name; `None` if the list
    /// lacks the key.
    fn touch(&mut self, name: KeyName, access: Option<Access>) {
        match access {
            Some(access) => self.accesses.push(access),
            None => self.missing = self.missing.or(Some(name)),
        }
    }

    /// Adds the description of the batch to `out`. `gas` is that of each transaction.
    fn end(
        self,
        gas: Vec<u64>,
        detail: Detail,
        out: &mut Description,
    ) -> Result<(), ReferenceError> {
        if let Some(KeyName { address, slot }) = self.missing {
            let slot = slot.map(|slot| format!("slot {slot:#x} of ")).unwrap_or_default();
            return Err(ReferenceError::Differs {
                batch: self.batch,
                part: "the list",
                detail: format!("it lacks {slot}{address}, which a transaction touches"),
            });
        }
        let key_count = self.list.account_count() as usize + self.list.slot_count() as usize;
        let graph = ConflictGraph::new(gas, &self.accesses, key_count);
        let hottest = graph.hottest().map(|hottest| self.name(hottest.key));
        out.transactions.extend(self.transactions);
        let accesses = match detail {
            Detail::Graphs => Accesses::default(),
            Detail::Accesses => self.accesses,
        };
        out.batches.push(BatchDescription { accesses, graph, hottest });
        Ok(())
    }

    /// The name of the key at this index. Accounts come first, then slots.
    fn name(&self, key: u32) -> KeyName {
        match key.checked_sub(self.list.account_count()) {
            None => KeyName { address: *self.list.address(AccountId(key)), slot: None },
            Some(slot) => {
                let slot = SlotId(slot);
                let address = *self.list.address(self.list.account_of(slot));
                KeyName { address, slot: Some(self.list.slot_key(slot)) }
            }
        }
    }
}
