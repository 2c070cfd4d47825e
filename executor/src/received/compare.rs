//! Compares decoded blocks with the blocks that were executed, outside any clock. Engines execute
//! the workload's own transactions, so only this detects a wrong or skipped decoding or recovery.

use alloy_consensus::{Transaction as _, Typed2718 as _};
use workload::{Batch, Transaction};

use super::{
    bytes::Envelope,
    signers::{DecodedBlocks, TxSigners},
};

/// Returns the first difference between decoded blocks and the executed blocks of `batch`: the
/// block's index and the reason. `None` if they agree.
pub(crate) fn compare(
    batch: &Batch,
    chain_id: u64,
    decoded: &DecodedBlocks,
) -> Option<(usize, String)> {
    let DecodedBlocks { blocks, recovery } = decoded;
    if blocks.len() != batch.blocks.len() {
        return Some((0, format!("{} blocks of {} decoded", blocks.len(), batch.blocks.len())));
    }
    let mut signers = recovery.as_ref().map(|recovery| recovery.signers());
    for (block_index, (block, decoded)) in batch.blocks.iter().zip(blocks.iter()).enumerate() {
        let (executed, body) = (&block.transactions, &decoded.body);
        let (decoded_count, count) = (body.transactions.len(), executed.len());
        if decoded_count != count {
            return Some((block_index, format!("{decoded_count} transactions of {count} decoded")));
        }
        for (tx_index, (tx, envelope)) in executed.iter().zip(&body.transactions).enumerate() {
            let fields = other_field(tx, chain_id, envelope);
            let other = fields.or_else(|| match signers.as_mut()?.next().flatten() {
                Some(signers) => other_signer(tx, signers),
                None => Some("signer, which was not recovered"),
            });
            if let Some(other) = other {
                let reason = format!("transaction {tx_index} was decoded with another {other}");
                return Some((block_index, reason));
            }
        }
        let withdrawals = body.withdrawals.iter().flat_map(|all| all.iter());
        let expected = block.withdrawals.iter().map(|own| (own.address, own.amount_gwei));
        if !withdrawals.map(|decoded| (decoded.address, decoded.amount)).eq(expected) {
            return Some((block_index, "other withdrawals were decoded".to_owned()));
        }
    }
    None
}

/// Returns the name of the first field in which an envelope differs from the transaction; `None` if
/// they agree.
fn other_field(tx: &Transaction, chain_id: u64, envelope: &Envelope) -> Option<&'static str> {
    // The variants of `TxType` are declared in the order of their numbers.
    let type_number = tx.tx_type as u8;
    let list = envelope.access_list().into_iter().flat_map(|list| list.iter());
    let list = list.map(|item| (&item.address, &item.storage_keys));
    let tuples = envelope.authorization_list().unwrap_or_default().iter();
    let tuples = tuples.map(|tuple| (tuple.chain_id, tuple.address, tuple.nonce));
    let own_tuples = tx.authorizations.iter().map(|own| (own.chain_id, own.address, own.nonce));
    let priority_fee = envelope.max_priority_fee_per_gas().unwrap_or_default();
    let hashes = envelope.blob_versioned_hashes().unwrap_or_default();
    let fields = [
        ("type", envelope.ty() == type_number),
        // A legacy transaction before EIP-155 names no chain, and is valid on every chain.
        ("chain", envelope.chain_id().is_none_or(|id| id == chain_id)),
        ("nonce", envelope.nonce() == tx.nonce),
        ("gas limit", envelope.gas_limit() == tx.gas_limit),
        ("most fee per gas", envelope.max_fee_per_gas() == tx.max_fee_per_gas),
        ("priority fee", type_number < 2 || priority_fee == tx.max_priority_fee_per_gas),
        ("callee", envelope.to() == tx.to),
        ("value", envelope.value() == tx.value),
        ("input", *envelope.input() == tx.input),
        ("access list", list.eq(tx.access_list.iter().map(|(address, keys)| (address, keys)))),
        ("blob hash", hashes == tx.blob_hashes),
        (
            "fee per blob gas",
            envelope.max_fee_per_blob_gas().unwrap_or_default() == tx.max_fee_per_blob_gas,
        ),
        ("delegation", tuples.eq(own_tuples)),
    ];
    fields.into_iter().find(|(_, is_same)| !is_same).map(|(name, _)| name)
}

/// Returns the role of the first recovered signer that differs from the transaction's account;
/// `None` if all agree.
fn other_signer(tx: &Transaction, signers: &TxSigners) -> Option<&'static str> {
    if signers.sender != tx.sender {
        return Some("sender");
    }
    let recovered = signers.authorities.iter();
    // Execution skips a tuple without an authority, so any account may be recovered from its
    // signature.
    let mut pairs = tx.authorizations.iter().map(|tuple| tuple.authority).zip(recovered);
    let other = pairs.any(|(own, recovered)| own.is_some() && own != *recovered);
    other.then_some("authority")
}
