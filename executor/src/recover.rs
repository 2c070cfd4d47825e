//! Measures the recovery of senders as a separate phase, outside the clock of samples
//! (`run.recover_senders`). Transactions are signed beforehand. The signers are then recovered on
//! the variant's number of threads, and compared with the senders of the workload. The work per
//! transaction is that of a client: the signing hash, ECDSA recovery on secp256k1, and Keccak of
//! the public key. Each delegation (EIP-7702) takes the same work.

mod sign;

use std::{
    mem,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use alloy_primitives::{Address, B256, U256, keccak256, uint};
use secp256k1::{
    Message, Secp256k1, VerifyOnly,
    ecdsa::{RecoverableSignature, RecoveryId},
};
use workload::{
    Transaction, Workload,
    senders::SenderError,
    signing::{self, Signature, TxSignatures},
};

use crate::{latency::Latencies, lock::lock, pool::WorkerPool};

pub use sign::sign;

/// Number of transactions that a thread takes at a time.
const CHUNK: usize = 16;
/// Half the order of secp256k1. A greater `s` is invalid (EIP-2).
const HALF_ORDER: U256 =
    uint!(0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0_U256);

/// Failure to sign transactions or to recover signers. A transaction is given by its 0-based index
/// in the whole workload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecoverError {
    /// The secret of an account is not known.
    #[error(
        "transaction {tx}: the secret of {account} is not known: only generated senders can sign; \
         run this workload without recover_senders"
    )]
    UnknownSecret {
        /// Index of the transaction.
        tx: usize,
        /// Sender of the transaction, or authority of one of its delegations.
        account: Address,
    },
    /// A family of senders has no valid secrets.
    #[error(transparent)]
    Senders(#[from] SenderError),
    /// No signer can be recovered from a signature.
    #[error("transaction {tx}: its signature is invalid: {reason}")]
    Invalid {
        /// Index of the transaction.
        tx: usize,
        /// The reason of the recovery's failure.
        reason: String,
    },
    /// The recovered signer differs from the workload's.
    #[error("transaction {tx}: {expected} is said to have signed, recovered is {recovered}")]
    Mismatch {
        /// Index of the transaction.
        tx: usize,
        /// Signer that the workload names.
        expected: Address,
        /// Signer that was recovered.
        recovered: Address,
    },
    /// A thread could not be started.
    #[error("cannot start a thread to recover senders with: {0}")]
    Thread(String),
    /// The run was cancelled.
    #[error("cancelled")]
    Cancelled,
}

/// Cost of recovering all signers of a workload once.
#[derive(Clone, Debug, Default)]
pub struct Recovered {
    /// Time from the start of the first transaction to the end of the last.
    pub wall: Duration,
    /// Time that each transaction took on its thread. The sum is the time of all threads.
    pub latencies: Latencies,
    /// Number of transactions of the workload.
    pub tx_count: u64,
}

/// The curve secp256k1, prepared for the recovery of signers.
#[derive(Debug)]
pub struct Curve(Secp256k1<VerifyOnly>);

impl Default for Curve {
    fn default() -> Self {
        Self(Secp256k1::verification_only())
    }
}

impl Curve {
    /// Recovers the account that has signed `hash`.
    ///
    /// # Errors
    /// The signature is invalid, with the reason.
    pub fn signer(&self, hash: B256, signature: &Signature) -> Result<Address, String> {
        if signature.s > HALF_ORDER {
            return Err("s is above half the order of the curve (EIP-2)".to_owned());
        }
        let mut bytes = [0; 64];
        bytes[..32].copy_from_slice(&signature.r.to_be_bytes::<32>());
        bytes[32..].copy_from_slice(&signature.s.to_be_bytes::<32>());
        let parity = match signature.y_parity {
            0 => RecoveryId::Zero,
            1 => RecoveryId::One,
            other => return Err(format!("y_parity is {other}, not 0 or 1")),
        };
        let signature = RecoverableSignature::from_compact(&bytes, parity)
            .map_err(|error| error.to_string())?;
        let key = self
            .0
            .recover_ecdsa(Message::from_digest(hash.0), &signature)
            .map_err(|error| error.to_string())?;
        Ok(Address::from_slice(&keccak256(&key.serialize_uncompressed()[1..])[12..]))
    }
}

/// Transactions that threads check in chunks, ascending.
#[derive(Debug)]
pub(crate) struct Chunks<E> {
    next_chunk: AtomicUsize,
    /// Index and error of the first transaction that failed.
    pub(crate) failure: Mutex<Option<(usize, E)>>,
}

impl<E> Chunks<E> {
    pub(crate) const fn new() -> Self {
        Self { next_chunk: AtomicUsize::new(0), failure: Mutex::new(None) }
    }

    /// Does a thread's part: calls `check` with indices of transactions, of `tx_count` in all. A
    /// thread stops within a chunk only at a failure. So all transactions before the first failure
    /// are checked, and the reported failure does not depend on timing.
    pub(crate) fn work(
        &self,
        tx_count: usize,
        stop: &AtomicBool,
        mut check: impl FnMut(usize) -> Result<(), E>,
    ) {
        while !stop.load(Ordering::Relaxed) && lock(&self.failure).is_none() {
            let first = self.next_chunk.fetch_add(1, Ordering::Relaxed) * CHUNK;
            if first >= tx_count {
                return;
            }
            for tx in first..(first + CHUNK).min(tx_count) {
                if let Err(error) = check(tx) {
                    let mut failure = lock(&self.failure);
                    if failure.as_ref().is_none_or(|(lowest, _)| tx < *lowest) {
                        *failure = Some((tx, error));
                    }
                    return;
                }
            }
        }
    }
}

/// The recovery of a whole workload, a job that threads share.
struct Job {
    chunks: Chunks<RecoverError>,
    /// Latencies of each thread that is done.
    latencies: Mutex<Vec<Latencies>>,
}

/// Recovers all signers of `workload` on `thread_count` threads. `signatures` has the signatures of
/// each transaction, in order. The threads are started before the clock.
///
/// # Errors
/// [`RecoverError`] of the first transaction that fails, [`RecoverError::Cancelled`], or
/// [`RecoverError::Thread`].
///
/// # Panics
/// The number of signatures differs from the number of transactions.
pub fn recover(
    workload: &Workload,
    signatures: &[TxSignatures],
    thread_count: usize,
    cancel: &AtomicBool,
) -> Result<Recovered, RecoverError> {
    let transactions: Vec<_> = workload.blocks().flat_map(|block| &block.transactions).collect();
    assert_eq!(transactions.len(), signatures.len(), "transactions, and signatures");
    let stop = AtomicBool::new(false);
    // The threads are a pool as for an engine, not rayon's, since the time is measured per thread.
    let pool = WorkerPool::<Job>::new(thread_count.max(1), &stop, cancel);
    let curve = Curve::default();
    let ((job, wall), _) = pool.run(
        |_| "recoverer",
        |error| RecoverError::Thread(error.to_string()),
        |_| {
            let mut latencies = Latencies::ready();
            pool.serve(|job| {
                let mut start = Instant::now();
                job.chunks.work(transactions.len(), &stop, |tx| {
                    check(&curve, tx, transactions[tx], workload.chain_id, &signatures[tx])?;
                    let end = Instant::now();
                    latencies.record(end - start);
                    start = end;
                    Ok(())
                });
                lock(&job.latencies).push(mem::take(&mut latencies));
            });
            Ok(())
        },
        || {
            pool.wait_idle();
            let job = Arc::new(Job { chunks: Chunks::new(), latencies: Mutex::default() });
            let start = Instant::now();
            pool.post(job);
            let job = pool.finish().unwrap_or_else(|| panic!("a job was posted"));
            (job, start.elapsed())
        },
    )?;
    let failure = lock(&job.chunks.failure).take();
    if let Some((_, failure)) = failure {
        return Err(failure);
    }
    if stop.load(Ordering::Relaxed) || cancel.load(Ordering::Relaxed) {
        return Err(RecoverError::Cancelled);
    }
    let mut latencies = Latencies::default();
    lock(&job.latencies).iter().for_each(|of_thread| latencies.merge(of_thread));
    Ok(Recovered { wall, latencies, tx_count: transactions.len() as u64 })
}

/// Recovers the signers of `tx` and of its delegations, and compares them with the workload.
fn check(
    curve: &Curve,
    index: usize,
    tx: &Transaction,
    chain_id: u64,
    signatures: &TxSignatures,
) -> Result<(), RecoverError> {
    let check_signer = |hash, signature, expected: Address| {
        let recovered = curve
            .signer(hash, signature)
            .map_err(|reason| RecoverError::Invalid { tx: index, reason })?;
        match recovered == expected {
            true => Ok(()),
            false => Err(RecoverError::Mismatch { tx: index, expected, recovered }),
        }
    };
    let hash = signing::signing_hash(tx, chain_id, &signatures.authorities);
    check_signer(hash, &signatures.sender, tx.sender)?;
    for (authorization, signature) in tx.authorizations.iter().zip(&signatures.authorities) {
        let hash = signing::authorization_hash(authorization);
        match authorization.authority {
            Some(authority) => check_signer(hash, signature, authority)?,
            // The workload names no authority for a tuple with an invalid signature, which
            // execution skips. The recovery is done all the same, as a client does it.
            None => drop(curve.signer(hash, signature)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
