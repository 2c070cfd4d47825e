//! Turns the EVM's output of a step into versions that other steps can read, and validates reads.
//! Only accounts and slots that the step changed are published.

use alloy_primitives::{Address, KECCAK256_EMPTY, U256, map::HashSet};
use revm::state::EvmState;
use workload::genesis::AccountState;

use super::{
    cell::Retained,
    memory::{Account, CellId, Memory, SeenAccount},
    shared::Log,
    task::Finality,
    view::StepView,
};
use crate::shards::versions::{Reads, VersionWrites};

impl StepView<'_> {
    /// Adds the writes of one part of the step, such as one system call, to the step's writes.
    pub(super) fn add_writes(&mut self, state: &EvmState) {
        if let Some(written) = self.shared.written {
            written.add(state);
        }
        for (address, account) in state {
            if account.is_touched() {
                self.add_account_writes(address, account);
            }
        }
    }

    fn add_account_writes(&mut self, address: &Address, account: &revm::state::Account) {
        // A contract that destroys itself in the transaction that created it leaves nothing, not
        // even storage (EIP-6780).
        let is_gone = account.is_selfdestructed();
        let has_slots = !account.storage.is_empty();
        let is_new = account.is_changed() || account.is_created();
        if !is_gone && !is_new && !has_slots {
            return;
        }
        let id = self.account_id(address);
        if is_gone || is_new {
            let info = &account.info;
            self.has_new_code |=
                self.shared.is_on_shard() && info.code_hash != account.original_info().code_hash;
            let after = AccountState {
                nonce: info.nonce,
                balance: info.balance,
                code_hash: info.code_hash,
            };
            // An empty account does not exist (EIP-161).
            let state = (!is_gone && after != AccountState::default()).then_some(after);
            let has_code = state.is_some() && info.code_hash != KECCAK256_EMPTY;
            let code = info.code.clone().filter(|_| has_code);
            let is_born = account.is_created() || self.is_born(id);
            self.accounts.push((id, Account { state, code, is_born }));
        }
        for (key, slot) in &account.storage {
            let value = if is_gone { U256::ZERO } else { slot.present_value() };
            if slot.original_value() != value {
                let slot = self.shared.memory.slots.id(&(id, *key));
                self.slots.push((slot, value));
            }
        }
    }

    /// Returns the step's writes for the coordinator, each key once, with the codes that the step
    /// created.
    pub(super) fn writes(&self) -> VersionWrites {
        let memory = self.shared.memory;
        let mut writes = VersionWrites::default();
        let mut seen = HashSet::<CellId>::default();
        // The last write of a key counts, if several parts of the step wrote it.
        for (id, account) in self.accounts.iter().rev() {
            if !seen.insert(*id) {
                continue;
            }
            writes.accounts.push((memory.address(*id), SeenAccount::from(account)));
            if let (true, Some(state), Some(code)) =
                (self.has_new_code, account.state, &account.code)
                && writes.codes.iter().all(|(hash, _)| *hash != state.code_hash)
            {
                writes.codes.push((state.code_hash, code.original_bytes()));
            }
        }
        seen.clear();
        for (id, value) in self.slots.iter().rev() {
            if seen.insert(*id) {
                let (address, key) = memory.slot(*id);
                writes.slots.push((address, key, *value));
            }
        }
        writes
    }

    /// Lets other steps read the step's writes, in place of those of its last run, which left the
    /// log `before`. Returns the highest step that may have read another value.
    pub(super) fn publish(&mut self, incarnation: u32, before: &Log) -> Option<u32> {
        let memory = self.shared.memory;
        let index = self.index;
        let committed = self.shared.scheduler.committed();
        // On a shard, a final run may be validated again, because writes of lower steps on other
        // shards can come late.
        let is_last = self.finality == Finality::Final && !self.shared.is_on_shard();
        let retained = if is_last { Retained::None } else { Retained::From(committed) };
        let mut last_reader = None;
        for (id, account) in self.accounts.drain(..) {
            let mut cell = memory.accounts.cell(id);
            last_reader = last_reader.max(cell.cell.write(index, incarnation, account, retained));
            self.log.written_accounts.push(id);
        }
        for (id, value) in self.slots.drain(..) {
            let mut cell = memory.slots.cell(id);
            last_reader = last_reader.max(cell.cell.write(index, incarnation, value, retained));
            self.log.written_slots.push(id);
        }
        for id in &before.written_accounts {
            let mut cell = memory.accounts.cell(*id);
            last_reader = last_reader.max(cell.cell.remove_older(index, incarnation));
        }
        for id in &before.written_slots {
            let mut cell = memory.slots.cell(*id);
            last_reader = last_reader.max(cell.cell.remove_older(index, incarnation));
        }
        last_reader
    }
}

/// Returns the reads of a run with full keys, for the coordinator.
pub(super) fn reads(memory: &Memory, log: &Log) -> Reads {
    let accounts = log.accounts.iter().map(|(id, seen)| (memory.address(*id), *seen));
    let slots = log.slots.iter().map(|(id, seen)| {
        let (address, key) = memory.slot(*id);
        (address, key, *seen)
    });
    let beneficiaries = log.beneficiaries.iter().map(|(id, seen)| (memory.address(*id), *seen));
    Reads {
        accounts: accounts.collect(),
        slots: slots.collect(),
        beneficiaries: beneficiaries.collect(),
    }
}

/// Returns whether the step at `index`, whose last run left `log`, would now read the same values.
pub(super) fn is_valid(memory: &Memory, index: u32, log: &Log) -> bool {
    let (mut accounts, mut slots) = (log.accounts.iter(), log.slots.iter());
    accounts.all(|(id, seen)| memory.accounts.cell(*id).cell.would_read(index, *seen))
        && slots.all(|(id, seen)| memory.slots.cell(*id).cell.would_read(index, *seen))
}

/// Marks the writes of the last run of the step at `index` as estimates.
pub(super) fn mark_estimates(memory: &Memory, index: u32, log: &Log) {
    for id in &log.written_accounts {
        memory.accounts.cell(*id).cell.mark_estimate(index);
    }
    for id in &log.written_slots {
        memory.slots.cell(*id).cell.mark_estimate(index);
    }
}
