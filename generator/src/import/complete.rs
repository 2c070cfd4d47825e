//! Runs the reference on imported blocks, compares its outcome with the outcome that the source
//! states, and fills in the expected outcome. `chain_import.rs` compares the blocks that it runs by
//! itself through [`Comparison`].

use std::{fmt::Display, num::NonZeroUsize};

use alloy_consensus::{Header, proofs};
use alloy_eips::{eip4844::DATA_GAS_PER_BLOB, eip7685::Requests};
use alloy_primitives::{Address, hex, keccak256};
use workload::{Batch, Block, GenesisAccount, StepKind, TxOutcome, TxStatus, Workload};

use super::{
    ImportError, Imported, ImportedBlock, InvalidBlock, Source, StatedReceipt, exceptions,
    state::ChainState,
};
use crate::{
    receipts::Receipts,
    reference::{self, BatchReference, ReferenceError, ReferenceRun, StopAnswer},
};

/// Maximal number of a list's bytes that an error shows, from the first different byte on.
const SHOWN_BYTES: usize = 16;

/// Runs the reference on `imported`, compares the outcome with the facts of the source, and fills
/// in the expected outcome. Returns the names of the compared values. `on_tx` is called after each
/// transaction and may stop the run.
///
/// # Errors
/// [`ImportError::Differs`] at the first difference; [`ImportError::Transaction`],
/// [`ImportError::Block`] or [`ImportError::Reference`] if the blocks cannot be run. `imported` is
/// then unchanged.
pub fn complete<A: StopAnswer>(
    imported: &mut Imported,
    mut on_tx: impl FnMut() -> A,
) -> Result<Vec<&'static str>, ImportError> {
    let made = compare(imported, &mut on_tx)?;
    let mut compared = made.comparison.compared;
    for invalid in &imported.invalid {
        check_refused(imported, invalid, &mut on_tx)?;
        push_once(&mut compared, "refused blocks");
    }
    for (batch, made) in imported.workload.batches.iter_mut().zip(made.batches) {
        (batch.list, batch.list_sizes, batch.expected) =
            (made.list, made.list_sizes, made.expected);
    }
    Ok(compared)
}

/// Joins every `count` consecutive batches of `workload` into one batch, and fills in the expected
/// outcomes. The genesis must have explicit accounts alone: the joined batches have no plan, which
/// families need. `on_tx` is called after each transaction and may stop the run.
///
/// # Errors
/// [`ReferenceError`]; the workload is then unchanged.
pub fn in_batches<A: StopAnswer>(
    workload: &mut Workload,
    count: NonZeroUsize,
    on_tx: impl FnMut() -> A,
) -> Result<(), ReferenceError> {
    let joined = workload.batches.chunks(count.get()).map(|batches| Batch {
        blocks: batches.iter().flat_map(|batch| batch.blocks.iter().cloned()).collect(),
        ..Batch::default()
    });
    let mut joined = Workload { batches: joined.collect(), ..workload.clone() };
    reference::complete(&mut joined, on_tx)?;
    *workload = joined;
    Ok(())
}

/// The reference's outcome of all blocks, after its comparison with the source.
struct ComparedOutcome {
    batches: Vec<BatchReference>,
    comparison: Comparison,
}

/// Runs the valid blocks, and compares their outcome with the facts of the source.
fn compare<A: StopAnswer>(
    imported: &Imported,
    on_tx: &mut impl FnMut() -> A,
) -> Result<ComparedOutcome, ImportError> {
    let workload = &imported.workload;
    let compared = imported.compared.clone();
    let mut comparison = Comparison { block: 0, source: imported.source, compared };
    let mut run = ReferenceRun::new(workload)?;
    let mut batches = Vec::new();
    let mut state = ChainState::new(workload.genesis.accounts.iter().cloned());
    for (index, (batch, said)) in workload.batches.iter().zip(&imported.blocks).enumerate() {
        comparison.block = batch.blocks[0].env.number;
        let mut receipts = Receipts::default();
        let made = run.next_batch_with_txs(|ran| {
            let tx = &batch.blocks[ran.block].transactions[receipts.len()];
            receipts.add(tx.tx_type, &ran.outcome, ran.logs);
            on_tx()
        });
        let Some(made) = made else { break };
        let made = made.map_err(|error| with_position(workload, error))?;
        let has_room = made.check_item_count(index, batch, &workload.rules);
        has_room.map_err(|error| with_position(workload, error))?;
        comparison.compare(&batch.blocks[0], said, &made, &receipts)?;
        state.apply(&made.changes);
        if let Some(said) = said.state_root {
            comparison.equal("state root", Some(said), Some(state.root()))?;
        }
        let hash = said.header.as_ref().map(Header::hash_slow);
        comparison.equal("block hash", said.hash, hash)?;
        said.compared.iter().for_each(|what| push_once(&mut comparison.compared, what));
        batches.push(made);
    }
    if let Some(said) = &imported.post_state {
        comparison.post_state(said, &state.into_accounts())?;
    }
    Ok(ComparedOutcome { batches, comparison })
}

/// Checks that the reference accepts the valid blocks before `invalid`, and refuses `invalid` for a
/// reason that its file names.
fn check_refused<A: StopAnswer>(
    imported: &Imported,
    invalid: &InvalidBlock,
    on_tx: &mut impl FnMut() -> A,
) -> Result<(), ImportError> {
    let count = invalid.before_count;
    let reason = match &invalid.read {
        Err(reason) => reason.clone(),
        Ok(read) => {
            let (block, said) = (**read).clone();
            let batch = Batch { blocks: vec![block], ..Batch::default() };
            let mut attempt = Imported {
                blocks: imported.blocks[..count].iter().cloned().chain([said]).collect(),
                post_state: None,
                invalid: Vec::new(),
                ..imported.clone()
            };
            attempt.workload.batches.truncate(count);
            attempt.workload.batches.push(batch);
            match compare(&attempt, on_tx) {
                Ok(_) => "that it is valid".to_owned(),
                Err(error @ ImportError::Reference(ReferenceError::Cancelled)) => {
                    return Err(error);
                }
                Err(error) => error.reason(),
            }
        }
    };
    let (what, reason) = match exceptions::is_expected(&invalid.exception, &reason) {
        Some(true) => return Ok(()),
        Some(false) => ("the fault of a block that must be refused", reason),
        None => ("expectException", "the name of no rule that is checked here".to_owned()),
    };
    let before = imported.workload.batches[..count].last().map(|batch| &batch.blocks[0].env);
    let first = imported.workload.first_hash_number;
    let comparison = Comparison {
        block: before.map_or(first, |env| env.number).saturating_add(1),
        source: imported.source,
        compared: Vec::new(),
    };
    Err(comparison.differs(what, &invalid.exception, reason))
}

/// Returns `error` with the number of its block and, if it is about a transaction, the
/// transaction's index and sender.
pub(super) fn with_position(workload: &Workload, error: ReferenceError) -> ImportError {
    let reason = error.reason();
    let (batch, block, tx_index) = match error {
        ReferenceError::Step { batch, block, kind: StepKind::Transaction(tx_index), .. }
        | ReferenceError::Deposit { batch, block, kind: StepKind::Transaction(tx_index), .. }
        | ReferenceError::CreationOnStorage { batch, block, tx_index, .. }
        | ReferenceError::StorageRemoved { batch, block, tx_index, .. }
        | ReferenceError::Admission { batch, block, tx_index, .. } => {
            (batch, block, Some(tx_index))
        }
        ReferenceError::Rule { batch, block, source } => (batch, block, source.tx_index()),
        ReferenceError::Step { batch, block, .. } => (batch, block, None),
        ReferenceError::ListItems { batch, .. } => (batch, 0, None),
        _ => return error.into(),
    };
    let block = &workload.batches[batch].blocks[block];
    let number = block.env.number;
    let Some(tx_index) = tx_index else { return ImportError::Block { block: number, reason } };
    let sender = block.transactions[tx_index].sender;
    let is_known = workload.genesis.account(&sender).is_some();
    let hint = if is_known { "" } else { "; the sender is not in the state before the block" };
    ImportError::Transaction { block: number, tx_index, sender, reason, hint }
}

/// Returns the account at `address` in `all`, which is sorted by address.
fn account_at(all: &[GenesisAccount], address: Address) -> Option<&GenesisAccount> {
    let index = all.binary_search_by_key(&address, |account| account.address);
    index.ok().map(|index| &all[index])
}

/// Formats an account for an error.
fn shown(account: Option<&GenesisAccount>) -> String {
    account.map_or("absent".to_owned(), |account| {
        let GenesisAccount { nonce, balance, code, storage, .. } = account;
        let (code, slots) = (code.len(), storage.len());
        format!("nonce {nonce}, balance {balance}, {code} bytes of code, {slots} slots")
    })
}

/// Adds the name of a compared value, unless it is there already.
fn push_once(compared: &mut Vec<&'static str>, what: &'static str) {
    if !compared.contains(&what) {
        compared.push(what);
    }
}

/// A comparison of outcomes of stock revm (`made`) with the facts of the source (`said`).
pub(super) struct Comparison {
    /// Number of the block that is compared now, for errors.
    pub(super) block: u64,
    pub(super) source: Source,
    /// Names of the values that were equal so far.
    pub(super) compared: Vec<&'static str>,
}

impl Comparison {
    /// Compares the outcome of a block with the facts that the source gives about it, but for the
    /// state root and the block's hash.
    pub(super) fn compare(
        &mut self,
        block: &Block,
        said: &ImportedBlock,
        made: &BatchReference,
        receipts: &Receipts,
    ) -> Result<(), ImportError> {
        let blob_gas = DATA_GAS_PER_BLOB.saturating_mul(block.blob_count());
        let signed = said.signed.as_ref();
        let txs_root = signed.map(|all| proofs::ordered_trie_root_encoded(all));
        self.equal("transactions root", said.txs_root, txs_root)?;
        self.equal("withdrawals root", said.withdrawals_root, said.computed_withdrawals_root)?;
        self.equal("blob gas", said.blob_gas_used, Some(blob_gas))?;
        self.receipts(said, &made.expected.transactions)?;
        self.equal("gas used", said.gas_used, made.expected.header_gas.first().copied())?;
        self.equal("receipts root", said.receipts_root, Some(receipts.root()))?;
        self.equal("logs hash", said.logs_hash, Some(receipts.logs_hash()))?;
        self.equal("logs bloom", said.logs_bloom, Some(receipts.bloom()))?;
        for list in &said.lists {
            self.list(list, &made.list)?;
        }
        self.equal("list hash", said.list_hash, Some(keccak256(&made.list)))?;
        let requests = Requests::new(made.requests.iter().flatten().cloned().collect());
        self.equal("requests hash", said.requests_hash, Some(requests.requests_hash()))
    }

    /// Compares the accounts after the last block. The error names the first account that differs.
    fn post_state(
        &mut self,
        said: &[GenesisAccount],
        made: &[GenesisAccount],
    ) -> Result<(), ImportError> {
        let address = said
            .iter()
            .find(|account| account_at(made, account.address) != Some(account))
            .or_else(|| made.iter().find(|made| account_at(said, made.address).is_none()))
            .map(|account| account.address);
        if let Some(address) = address {
            let [said, made] = [said, made].map(|all| shown(account_at(all, address)));
            return Err(self.differs(&format!("post state of {address}"), said, made));
        }
        push_once(&mut self.compared, "post state");
        Ok(())
    }

    /// Compares a list with that of the reference. The error shows the first different bytes, which
    /// say more than a hash.
    fn list(&mut self, said: &[u8], made: &[u8]) -> Result<(), ImportError> {
        if *said == *made {
            push_once(&mut self.compared, "list");
            return Ok(());
        }
        let equal_count = said.iter().zip(made).take_while(|(said, made)| said == made).count();
        let [said, made] = [said, made].map(|list| {
            let end = list.len().min(equal_count + SHOWN_BYTES);
            let bytes = hex::encode(&list[equal_count..end]);
            format!("{} bytes, from byte {equal_count} on {bytes}", list.len())
        });
        Err(self.differs("list", said, made))
    }

    /// Compares the receipts, if the source has them. The error names the first receipt that
    /// differs, which says more than a root.
    fn receipts(&mut self, said: &ImportedBlock, made: &[TxOutcome]) -> Result<(), ImportError> {
        let Some(receipts) = &said.receipts else { return Ok(()) };
        let (said_count, made_count) = (receipts.len(), made.len());
        if said_count != made_count {
            return Err(self.differs("number of receipts", said_count, made_count));
        }
        for (index, (said, made)) in receipts.iter().zip(made).enumerate() {
            let has_succeeded = made.status == TxStatus::Success;
            let made = StatedReceipt { has_succeeded, gas_used: made.gas_used };
            if *said != made {
                return Err(self.differs(&format!("receipt {index}"), said, made));
            }
        }
        push_once(&mut self.compared, "status and gas of receipts");
        Ok(())
    }

    /// Compares two values, if both are known.
    pub(super) fn equal<T: PartialEq + Display>(
        &mut self,
        what: &'static str,
        said: Option<T>,
        made: Option<T>,
    ) -> Result<(), ImportError> {
        let (Some(said), Some(made)) = (said, made) else { return Ok(()) };
        if said != made {
            return Err(self.differs(what, said, made));
        }
        push_once(&mut self.compared, what);
        Ok(())
    }

    /// Makes the error for a value of the present block that differs.
    fn differs(&self, what: &str, said: impl Display, made: impl Display) -> ImportError {
        let (said, made) = (said.to_string(), made.to_string());
        let (block, source_name) = (self.block, self.source);
        ImportError::Differs { source_name, block, what: what.to_owned(), said, made }
    }
}
