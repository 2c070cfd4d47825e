//! One batch, shared by the workers of the speculative pass: its steps, the cache of rows, and the
//! keys that the workers have read.

use std::sync::{Arc, Mutex, atomic::AtomicU32};

use alloy_primitives::{Address, B256, U256};
use revm::state::Bytecode;
use workload::{Steps, genesis::AccountState};

use crate::{engine::error::EngineError, single_flight::SingleFlight, span::Spans, trace::KeyKind};

/// One batch, shared by the workers of the pass.
#[derive(Debug)]
pub(crate) struct Job {
    pub(super) batch_index: usize,
    pub(super) steps: Steps,
    pub(super) next_step: AtomicU32,
    /// Number of steps that the run in order has finished, or is about to finish. The step with
    /// this index has begun, so workers skip it, too.
    pub(super) passed_count: AtomicU32,
    /// The shared cache, if workers share one.
    pub(super) cache: Option<Cache>,
    pub(super) spans: Arc<Spans>,
    /// Hashes of the keys that each worker read, if they are counted one by one.
    pub(super) read: Mutex<Vec<Vec<u64>>>,
    pub(super) failure: Mutex<Option<EngineError>>,
}

/// Rows of the state before the batch.
#[derive(Debug, Default)]
pub(super) struct Cache {
    pub(super) accounts: SingleFlight<Address, Option<AccountState>>,
    pub(super) slots: SingleFlight<(Address, U256), U256>,
    pub(super) codes: SingleFlight<B256, Bytecode>,
}

/// A key, and the part of the cache that has keys of its kind.
pub(super) struct CacheKey<K, V> {
    pub(super) key: K,
    pub(super) within: fn(&Cache) -> &SingleFlight<K, V>,
}

/// A key of any kind, for counts and traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Account(Address),
    Slot(Address, U256),
    Code(B256),
}

impl Key {
    /// The key's kind in a trace.
    pub(super) const fn kind(self) -> KeyKind {
        match self {
            Self::Account(_) => KeyKind::Account,
            Self::Slot(..) => KeyKind::Slot,
            Self::Code(_) => KeyKind::Code,
        }
    }
}
