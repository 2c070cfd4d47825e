//! The reference run of imported blocks: fills in their expected outcome, and compares it with
//! the files.

use std::fmt::Display;

use alloy_eips::eip4844::DATA_GAS_PER_BLOB;
use alloy_primitives::{hex, keccak256};
use workload::{Batch, StepKind, TxStatus, Workload};

use super::{
    ImportError, Imported, ImportedBlock, Source,
    receipt::{Receipt, Receipts},
    roots, state_after,
};
use crate::reference::{Answer, BatchReference, ReferenceError, ReferenceRun};

/// Bytes of a list that differs that an error shows.
const SHOWN_BYTES: usize = 16;

/// Runs the reference on `imported`, fills in the expected outcome, and compares it with the
/// files. Gives the names of the compared values. `on_tx` is called after each transaction and
/// may stop the run.
///
/// # Errors
/// [`ImportError::Differs`] at the first difference; [`ImportError::Transaction`] and
/// [`ImportError::Reference`] where the blocks cannot be run. `imported` is then as before.
pub fn complete<A: Answer>(
    imported: &mut Imported,
    mut on_tx: impl FnMut() -> A,
) -> Result<Vec<&'static str>, ImportError> {
    let workload = &imported.workload;
    let mut comparison = Comparison { block: 0, source: imported.source, compared: Vec::new() };
    let mut run = ReferenceRun::new(workload)?.with_deposit_contract(imported.deposit_contract);
    let mut all = Vec::new();
    for (index, (batch, said)) in workload.batches.iter().zip(&imported.blocks).enumerate() {
        comparison.block = batch.blocks[0].env.number;
        let mut receipts = Receipts::default();
        let made = run.next_batch_seen(|ran| {
            let tx = &batch.blocks[ran.block].transactions[receipts.0.len()];
            receipts.0.push(Receipt {
                tx_type: tx.tx_type,
                status: ran.outcome.status,
                gas_used: ran.outcome.gas_used,
                logs: ran.logs.to_vec(),
            });
            on_tx()
        });
        let Some(made) = made else { break };
        let made = made.map_err(|error| name_place(workload, error))?;
        let has_room = made.check_item_count(index, batch, workload.fork);
        has_room.map_err(|error| name_place(workload, error))?;
        comparison.compare(batch, said, &made, &receipts)?;
        all.push(made);
    }
    if let Some(said) = imported.blocks.last().and_then(|said| said.state_root) {
        let changes: Vec<_> = all.iter().map(|made| made.changes.clone()).collect();
        let made = roots::state_root(&state_after(&workload.genesis, &changes));
        comparison.same("state root", Some(said), Some(made))?;
    }
    for (batch, made) in imported.workload.batches.iter_mut().zip(all) {
        (batch.list, batch.list_sizes, batch.expected) =
            (made.list, made.list_sizes, made.expected);
    }
    Ok(comparison.compared)
}

/// The error with the number of the block that it is about, and with its transaction.
fn name_place(workload: &Workload, error: ReferenceError) -> ImportError {
    let reason = error.reason();
    let (batch, block, tx_index) = match error {
        ReferenceError::Step { batch, block, kind: StepKind::Transaction(tx_index), .. }
        | ReferenceError::Deposit { batch, block, kind: StepKind::Transaction(tx_index), .. }
        | ReferenceError::CreationOnStorage { batch, block, tx_index, .. }
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

/// The values compared so far.
struct Comparison {
    block: u64,
    source: Source,
    compared: Vec<&'static str>,
}

impl Comparison {
    fn compare(
        &mut self,
        batch: &Batch,
        said: &ImportedBlock,
        made: &BatchReference,
        receipts: &Receipts,
    ) -> Result<(), ImportError> {
        let block = &batch.blocks[0];
        let blob_gas = DATA_GAS_PER_BLOB.saturating_mul(block.blob_count());
        let signed = said.signed.as_ref();
        let txs_root = signed.map(|all| roots::list_root(all.iter().map(|tx| tx.to_vec())));
        self.same("transactions root", said.txs_root, txs_root)?;
        self.same("withdrawals root", said.withdrawals_root, said.made_withdrawals_root)?;
        self.same("blob gas", said.blob_gas_used, Some(blob_gas))?;
        self.receipts(said, receipts)?;
        self.same("gas used", said.gas_used, made.expected.header_gas.first().copied())?;
        self.same("receipts root", said.receipts_root, Some(receipts.root()))?;
        self.same("logs hash", said.logs_hash, Some(receipts.logs_hash()))?;
        self.same("logs bloom", said.logs_bloom, Some(receipts.bloom()))?;
        self.list(said, &made.list)?;
        self.same("list hash", said.list_hash, Some(keccak256(&made.list)))
    }

    /// Finds where the list parts from the reference's, where the file has one: more help than a
    /// hash.
    fn list(&mut self, said: &ImportedBlock, made: &[u8]) -> Result<(), ImportError> {
        let Some(said) = &said.list else { return Ok(()) };
        if **said == *made {
            self.compared.push("list");
            return Ok(());
        }
        let same = said.iter().zip(made).take_while(|(said, made)| said == made).count();
        let part = |list: &[u8]| {
            let end = list.len().min(same + SHOWN_BYTES);
            format!("{} bytes, from byte {same} on {}", list.len(), hex::encode(&list[same..end]))
        };
        Err(self.differs("list", part(said), part(made)))
    }

    /// Finds the receipt that differs, where the file has receipts: more help than a root.
    fn receipts(&mut self, said: &ImportedBlock, made: &Receipts) -> Result<(), ImportError> {
        if said.receipts.is_empty() {
            return Ok(());
        }
        let (said_count, made_count) = (said.receipts.len(), made.0.len());
        if said_count != made_count {
            return Err(self.differs("number of receipts", said_count, made_count));
        }
        for (place, (said, made)) in said.receipts.iter().zip(&made.0).enumerate() {
            let has_succeeded = made.status == TxStatus::Success;
            if (said.has_succeeded, said.gas_used) != (has_succeeded, made.gas_used) {
                let words = |status: u8, gas: u64| format!("{gas} gas and status {status}");
                let said = words(said.has_succeeded.into(), said.gas_used);
                let made = words(has_succeeded.into(), made.gas_used);
                return Err(self.differs(&format!("receipt {place}"), said, made));
            }
        }
        self.compared.push("status and gas of receipts");
        Ok(())
    }

    /// Compares where both are known.
    fn same<T: PartialEq + Display>(
        &mut self,
        what: &'static str,
        said: Option<T>,
        made: Option<T>,
    ) -> Result<(), ImportError> {
        let (Some(said), Some(made)) = (said, made) else { return Ok(()) };
        if said != made {
            return Err(self.differs(what, said, made));
        }
        if !self.compared.contains(&what) {
            self.compared.push(what);
        }
        Ok(())
    }
    fn differs(&self, what: &str, said: impl Display, made: impl Display) -> ImportError {
        let (said, made) = (said.to_string(), made.to_string());
        let (block, source_name) = (self.block, self.source);
        ImportError::Differs { source_name, block, what: what.to_owned(), said, made }
    }
}
