//! Finds the keys that transactions touch, to partition a batch without a list over shards. Each
//! transaction runs alone on the state before the batch. The transaction's sender gets the nonce
//! and the balance that the transaction needs to begin.
//!
//! The keys are a guess: in the batch, a transaction may touch other keys. They decide only which
//! shard runs a transaction, so the result of the batch does not depend on them.

use std::sync::atomic::{AtomicBool, Ordering};

use alloy_primitives::{
    Address, B256, U256,
    map::{Entry, HashMap},
};
use evm::{Fees, Runner, StepError};
use partition::Access;
use revm::{
    Database,
    state::{AccountInfo, Bytecode, EvmState},
};
use workload::{Batch, StepKind, Steps, Workload, genesis::AccountState};

use crate::{
    engine::{
        error::{EngineError, ViewError},
        row::{self, FundedSender},
    },
    store::Reader,
};

/// An account, or a slot of the account.
type Key = (Address, Option<U256>);

/// A key that a transaction touched.
struct Touch {
    key: Key,
    writes: bool,
}

/// Returns, for each transaction of the batch at `batch_index`, the keys that connect it to other
/// transactions. Several transactions touch such a key, and at least one writes it. The accounts of
/// fee recipients, which all transactions write, are left out.
///
/// # Errors
/// The state cannot be read, or `stop` is set. A failed transaction is not an error.
pub(super) fn shared_accesses(
    workload: &Workload,
    batch_index: usize,
    reader: &mut dyn Reader,
    stop: &AtomicBool,
) -> Result<Vec<Vec<Access>>, EngineError> {
    let batch = &workload.batches[batch_index];
    let mut runner =
        Runner::new(workload, StateBeforeBatch::new(workload, reader)).with_fees(Fees::Apart);
    let mut touched = Vec::new();
    for (index, step) in Steps::of(batch).iter() {
        if stop.load(Ordering::Relaxed) {
            return Err(EngineError::Cancelled);
        }
        let StepKind::Transaction(tx_index) = step.kind else { continue };
        let block = runner.switch_to(&batch.blocks, step.block);
        runner.db().funded_sender = FundedSender::new(&block.transactions[tx_index]);
        let ran = runner.run(block, step.kind, |before, state| before.note_writes(&state));
        // The keys that a failed run touched count, too.
        if let Err(StepError::Database(error)) = ran
            && !matches!(error, ViewError::MissingBlockHash(_))
        {
            return Err(EngineError::of_read(batch_index, index, error));
        }
        touched.push(std::mem::take(&mut runner.db().touched));
    }
    Ok(numbered(batch, touched))
}

/// Numbers the keys that connect transactions, and leaves out all other keys.
fn numbered(batch: &Batch, touched: Vec<Vec<Touch>>) -> Vec<Vec<Access>> {
    #[derive(Default)]
    struct Seen {
        tx_count: u32,
        last_tx: usize,
        is_written: bool,
        number: Option<u32>,
    }
    let recipients: Vec<Address> = batch.blocks.iter().map(|block| block.env.beneficiary).collect();
    let mut keys: HashMap<Key, Seen> = HashMap::default();
    for (tx, touches) in touched.iter().enumerate() {
        for Touch { key, writes } in touches {
            let seen = keys.entry(*key).or_default();
            if seen.tx_count == 0 || seen.last_tx != tx {
                (seen.tx_count, seen.last_tx) = (seen.tx_count + 1, tx);
            }
            seen.is_written |= writes;
        }
    }
    let mut count = 0;
    let mut accesses = Vec::with_capacity(touched.len());
    for touches in touched {
        let mut of_tx = Vec::new();
        for Touch { key, writes } in touches {
            let Some(seen) = keys.get_mut(&key) else { continue };
            let is_recipient = key.1.is_none() && recipients.contains(&key.0);
            if seen.tx_count > 1 && seen.is_written && !is_recipient {
                let key = *seen.number.get_or_insert_with(|| {
                    count += 1;
                    count - 1
                });
                of_tx.push(Access { key, writes });
            }
        }
        accesses.push(of_tx);
    }
    accesses
}

/// The state before the batch, with the sender of the current transaction adjusted.
struct StateBeforeBatch<'a> {
    workload: &'a Workload,
    reader: &'a mut dyn Reader,
    funded_sender: FundedSender,
    touched: Vec<Touch>,
    accounts: HashMap<Address, Option<AccountState>>,
    slots: HashMap<(Address, U256), U256>,
    codes: HashMap<B256, Bytecode>,
}

impl<'a> StateBeforeBatch<'a> {
    fn new(workload: &'a Workload, reader: &'a mut dyn Reader) -> Self {
        Self {
            workload,
            reader,
            funded_sender: FundedSender::default(),
            touched: Vec::new(),
            accounts: HashMap::default(),
            slots: HashMap::default(),
            codes: HashMap::default(),
        }
    }

    fn note_writes(&mut self, state: &EvmState) {
        for (address, account) in state.iter().filter(|(_, account)| account.is_touched()) {
            if account.is_changed() || account.is_created() || account.is_selfdestructed() {
                self.touched.push(Touch { key: (*address, None), writes: true });
            }
            let changed = account.storage.iter().filter(|(_, slot)| slot.is_changed());
            let slots = changed.map(|(key, _)| Touch { key: (*address, Some(*key)), writes: true });
            self.touched.extend(slots);
        }
    }
}

impl Database for StateBeforeBatch<'_> {
    type Error = ViewError;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, ViewError> {
        self.touched.push(Touch { key: (address, None), writes: false });
        let row = match self.accounts.entry(address) {
            Entry::Occupied(row) => *row.get(),
            Entry::Vacant(vacant) => *vacant.insert(self.reader.account(&address)?),
        };
        Ok(self.funded_sender.adjusted(address, row).map(row::info))
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, ViewError> {
        Ok(match self.codes.entry(hash) {
            Entry::Occupied(code) => code.get().clone(),
            Entry::Vacant(vacant) => {
                vacant.insert(row::bytecode(hash, self.reader.code(&hash)?)?).clone()
            }
        })
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, ViewError> {
        self.touched.push(Touch { key: (address, Some(key)), writes: false });
        Ok(match self.slots.entry((address, key)) {
            Entry::Occupied(value) => *value.get(),
            Entry::Vacant(vacant) => *vacant.insert(self.reader.slot(&address, &key)?),
        })
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, ViewError> {
        self.workload.block_hash(number).ok_or(ViewError::MissingBlockHash(number))
    }
}
