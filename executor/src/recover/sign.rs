//! Signs a workload's transactions on several threads, outside any clock, for `recover.rs` and for
//! the bytes of blocks.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::ThreadPoolBuilder;
use workload::{
    Workload,
    signing::{SignError, Signer, TxSignatures},
};

use super::RecoverError;
use crate::try_map::try_map;

/// Signs all transactions of `workload` in order, and the delegations in them, on `thread_count`
/// threads.
///
/// # Errors
/// [`RecoverError::UnknownSecret`] for a sender or authority that is in no family of senders, as in
/// imported blocks; [`RecoverError::Cancelled`]. If several transactions fail, the error is that of
/// the first one.
pub fn sign(
    workload: &Workload,
    thread_count: usize,
    cancel: &AtomicBool,
) -> Result<Vec<TxSignatures>, RecoverError> {
    let signer = Signer::new(workload)?;
    let transactions: Vec<_> = workload.blocks().flat_map(|block| &block.transactions).collect();
    let pool = ThreadPoolBuilder::new().num_threads(thread_count.max(1)).build();
    let pool = pool.map_err(|error| RecoverError::Thread(error.to_string()))?;
    pool.install(|| {
        try_map(
            &transactions,
            || (),
            |(), index, tx| {
                if cancel.load(Ordering::Relaxed) {
                    return Err(RecoverError::Cancelled);
                }
                signer.sign(tx, workload.chain_id).map_err(|error| match error {
                    SignError::UnknownSecret(account) => {
                        RecoverError::UnknownSecret { tx: index, account }
                    }
                    SignError::Invalid(reason) => RecoverError::Invalid { tx: index, reason },
                })
            },
        )
    })
}
