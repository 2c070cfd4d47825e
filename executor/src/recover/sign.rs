//! Signing a workload's transactions, outside any clock. Secrets are known of sender families
//! alone: the secret of sender i is `first_secret` + i (see [`workload::SenderFamily`]).

use std::sync::atomic::{AtomicBool, Ordering};

use alloy_primitives::{Address, B256, U256, map::HashMap};
use rayon::ThreadPoolBuilder;
use secp256k1::{Message, Secp256k1, SecretKey, SignOnly};
use workload::{
    Transaction, Workload,
    signing::{self, Signature},
};

use super::{RecoverError, TxSignatures};
use crate::try_map::try_map;

/// Secrets by address, of all senders that a workload plans to touch.
type Secrets = HashMap<Address, U256>;

/// Signs all transactions of `workload` in order, and the delegations in them, on
/// `thread_count` threads.
///
/// # Errors
/// [`RecoverError::UnknownSecret`] for a sender or authority that is in no sender family, as in
/// blocks that others made; [`RecoverError::Cancelled`]. Of several transactions, the lowest's.
pub fn sign(
    workload: &Workload,
    thread_count: usize,
    cancel: &AtomicBool,
) -> Result<Vec<TxSignatures>, RecoverError> {
    let secrets = secrets(workload)?;
    let transactions: Vec<_> = workload.blocks().flat_map(|block| &block.transactions).collect();
    let curve = Secp256k1::signing_only();
    let pool = ThreadPoolBuilder::new().num_threads(thread_count.max(1)).build();
    let pool = pool.map_err(|error| RecoverError::Thread(error.to_string()))?;
    let sign = |_: &mut (), place: usize, tx: &&Transaction| {
        if cancel.load(Ordering::Relaxed) {
            return Err(RecoverError::Cancelled);
        }
        sign_tx(&curve, place, tx, workload.chain_id, &secrets)
    };
    pool.install(|| try_map(&transactions, || (), sign))
}

fn secrets(workload: &Workload) -> Result<Secrets, RecoverError> {
    let mut secrets = Secrets::default();
    for range in workload.batches.iter().flat_map(|batch| &batch.plan.senders) {
        let Some(family) = workload.genesis.senders.get(range.family as usize) else { continue };
        let indices = range.start..range.start.saturating_add(range.count);
        for (index, address) in indices.clone().zip(family.addresses(indices)?) {
            secrets.insert(address, family.secret(index)?);
        }
    }
    Ok(secrets)
}

fn sign_tx(
    curve: &Secp256k1<SignOnly>,
    place: usize,
    tx: &Transaction,
    chain_id: u64,
    secrets: &Secrets,
) -> Result<TxSignatures, RecoverError> {
    let by = |account: Address, hash: B256| {
        let unknown = RecoverError::UnknownSecret { tx: place, account };
        let secret = secrets.get(&account).ok_or(unknown)?;
        let key = SecretKey::from_byte_array(secret.to_be_bytes::<32>())
            .map_err(|error| RecoverError::Invalid { tx: place, reason: error.to_string() })?;
        let signed = curve.sign_ecdsa_recoverable(Message::from_digest(hash.0), &key);
        let (parity, bytes) = signed.serialize_compact();
        Ok::<_, RecoverError>(Signature {
            y_parity: i32::from(parity).unsigned_abs() as u8,
            r: U256::from_be_slice(&bytes[..32]),
            s: U256::from_be_slice(&bytes[32..]),
        })
    };
    let authorities = tx.authorizations.iter().map(|authorization| match authorization.authority {
        Some(authority) => by(authority, signing::authorization_hash(authorization)),
        None => Ok(Signature::default()),
    });
    let authorities = authorities.collect::<Result<Vec<_>, _>>()?;
    let sender = by(tx.sender, signing::signing_hash(tx, chain_id, &authorities))?;
    Ok(TxSignatures { sender, authorities })
}
