//! Reads of one thread from Redis: one command for a single key, a pipeline to each node for many
//! keys. Keys that the sample has committed are read from memory. This file also implements
//! [`Sample`] for [`RedisSample`].

use std::fmt;

use alloy_primitives::{Address, B256, Bytes, U256};
use redis::Value;
use workload::{
    AccountState, NetChanges, Table,
    layout::{RowKey, decode_account, decode_slot},
};

use super::{
    error::{damaged, fault},
    pipelines::NodeConnections,
    row::{Key, unsealed},
    sample::{RedisSample, Shared},
};
use crate::{
    error::StoreError,
    place::AccountKeys,
    store::{Background, CallSizes, ReadCounters, Reader, Sample, SlotRow, lookup::CheckedCodes},
};

/// Maximal number of keys in one exchange with all nodes.
const KEYS_PER_CALL: usize = 256;

/// One thread's reads of a sample.
pub(super) struct RedisReader<'a> {
    sample: &'a RedisSample<'a>,
    /// Connections from the store's pool; the drop of the reader gives them back.
    connections: Option<NodeConnections>,
    account_keys: AccountKeys,
    buffers: CallBuffers,
    checked_codes: CheckedCodes,
    counters: ReadCounters,
}

/// Memory for the keys of one exchange.
#[derive(Default)]
struct CallBuffers {
    /// Keys to read, with the caller's indices.
    keys: Vec<(Key, usize)>,
    /// Slots whose row keys are not computed yet.
    slots: Vec<U256>,
    /// The caller's indices of `slots`.
    indices: Vec<usize>,
    /// Memory for the addresses' or slots' parts of row keys.
    parts: Vec<[u8; 32]>,
}

impl fmt::Debug for RedisReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisReader").field("counters", &self.counters).finish_non_exhaustive()
    }
}

impl Drop for RedisReader<'_> {
    fn drop(&mut self) {
        if let Some(connections) = self.connections.take() {
            self.sample.shared.pool.put(connections);
        }
    }
}

/// A function that takes a row: the caller's index, the key, and the value or `None` for an absent
/// row.
type RowSink<'t> = dyn FnMut(usize, &Key, Option<&[u8]>) -> Result<(), StoreError> + 't;

impl<'a> RedisReader<'a> {
    pub(super) fn new(sample: &'a RedisSample<'a>, connections: NodeConnections) -> Self {
        Self {
            sample,
            connections: Some(connections),
            account_keys: AccountKeys::default(),
            buffers: CallBuffers::default(),
            checked_codes: CheckedCodes::default(),
            counters: ReadCounters::default(),
        }
    }

    fn account_key(&mut self, address: &Address) -> RowKey {
        self.account_keys.key(self.sample.shared.layout, address)
    }

    /// Reads the rows of `buffers.keys` and passes each to `sink`. Clears `buffers.keys`.
    fn fetch(&mut self, sink: &mut RowSink<'_>) -> Result<(), StoreError> {
        let (shared, keys) = (&self.sample.shared, &mut self.buffers.keys);
        let Some(connections) = &mut self.connections else { return Ok(()) };
        for (number, (key, _)) in keys.iter().enumerate() {
            let key = key.as_slice();
            let node = &mut connections.nodes[shared.topology.node_of(key)];
            node.add(redis::cmd("GET").arg(key), number);
        }
        let exchanged = connections.exchange(&mut |number, value| {
            let (key, index) = &keys[number];
            let sealed = match value {
                Value::Nil => return sink(*index, key, None),
                Value::BulkString(sealed) => sealed,
                other => return Err(fault("read a row", format!("the server answers {other:?}"))),
            };
            let value = unsealed(key, &sealed)
                .ok_or_else(|| shared.damaged(key, "its checksum is not that of its bytes"))?;
            sink(*index, key, Some(value))
        });
        keys.clear();
        exchanged.inspect_err(|_| self.sample.note_failure())
    }

    /// Reads one row, and decodes its value by `decode`.
    fn get<T>(
        &mut self,
        key: Key,
        decode: impl Fn(&[u8]) -> Option<T>,
    ) -> Result<Option<T>, StoreError> {
        let (mut found, sample) = (None, self.sample);
        self.buffers.keys.clear();
        self.buffers.keys.push((key, 0));
        self.fetch(&mut |_, key, value| {
            let value = value.map(|value| decoded(sample.shared, key, value, &decode));
            found = value.transpose()?;
            Ok(())
        })?;
        Ok(found)
    }

    /// Computes the row keys of `buffers.slots`, slots of `address`, and moves them to
    /// `buffers.keys`.
    fn make_keys(&mut self, address: &Address) {
        if self.buffers.slots.is_empty() {
            return;
        }
        let account = self.account_key(address);
        let layout = self.sample.shared.layout;
        let CallBuffers { keys, slots, indices, parts } = &mut self.buffers;
        parts.resize(slots.len(), [0; 32]);
        layout.slot_key_parts(slots, parts);
        for (part, index) in parts.iter().zip(indices.iter()) {
            let row = layout.slot_key_of_part(&account, part);
            keys.push((Key::of(Table::Slots, row.as_slice()), *index));
        }
        slots.clear();
        indices.clear();
    }

    /// Reads the slots of `buffers.keys` and passes each to `sink`.
    fn fetch_slots(&mut self, sink: &mut dyn FnMut(usize, U256)) -> Result<(), StoreError> {
        let sample = self.sample;
        self.fetch(&mut |index, key, value| {
            let value = value.map(|value| decoded(sample.shared, key, value, decode_slot));
            sink(index, value.transpose()?.unwrap_or_default());
            Ok(())
        })
    }
}

/// Decodes a row's value by `decode`. Names the row's node in an error.
fn decoded<T>(
    shared: &Shared,
    key: &Key,
    value: &[u8],
    decode: impl Fn(&[u8]) -> Option<T>,
) -> Result<T, StoreError> {
    decode(value)
        .ok_or_else(|| shared.damaged(key, "its value has another length than its table's"))
}

impl Sample for RedisSample<'_> {
    fn reader(&self) -> Result<Box<dyn Reader + '_>, StoreError> {
        let connections = self.shared.pool.take(&self.shared.topology);
        Ok(Box::new(RedisReader::new(self, connections.inspect_err(|_| self.note_failure())?)))
    }

    fn commit(&self, changes: &NetChanges) -> Result<(), StoreError> {
        self.overlay.add(changes);
        Ok(())
    }

    fn sync(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn background(&self) -> Option<&dyn Background> {
        None
    }

    fn file_bytes(&self) -> Option<u64> {
        None
    }

    fn close(self: Box<Self>) -> Result<(), StoreError> {
        self.check()
    }
}

impl Reader for RedisReader<'_> {
    fn is_timed(&self) -> bool {
        true
    }

    fn account(&mut self, address: &Address) -> Result<Option<AccountState>, StoreError> {
        self.counters.key_count += 1;
        if let Some(found) = self.sample.overlay.find(|changed| changed.account(address)) {
            return Ok(found);
        }
        let row = self.account_key(address);
        self.get(Key::of(Table::Accounts, row.as_slice()), decode_account)
    }

    fn slot(&mut self, address: &Address, key: &U256) -> Result<U256, StoreError> {
        self.counters.key_count += 1;
        if let Some(value) = self.sample.overlay.find(|changed| changed.slot(address, key)) {
            return Ok(value);
        }
        let account = self.account_key(address);
        let row = self.sample.shared.layout.slot_key(&account, key);
        let value = self.get(Key::of(Table::Slots, row.as_slice()), decode_slot)?;
        Ok(value.unwrap_or_default())
    }

    fn accounts(
        &mut self,
        addresses: &[Address],
        sink: &mut dyn FnMut(usize, Option<AccountState>),
    ) -> Result<(), StoreError> {
        self.counters.key_count += addresses.len() as u64;
        let sample = self.sample;
        let shared = sample.shared;
        for (first, chunk) in (0..).step_by(KEYS_PER_CALL).zip(addresses.chunks(KEYS_PER_CALL)) {
            self.buffers.keys.clear();
            self.buffers.parts.resize(chunk.len(), [0; 32]);
            shared.layout.account_key_parts(chunk, &mut self.buffers.parts);
            for (number, address) in chunk.iter().enumerate() {
                match self.sample.overlay.find(|changed| changed.account(address)) {
                    Some(found) => sink(first + number, found),
                    None => {
                        let row = shared.layout.account_key_of_part(&self.buffers.parts[number]);
                        let key = Key::of(Table::Accounts, row.as_slice());
                        self.buffers.keys.push((key, first + number));
                    }
                }
            }
            self.fetch(&mut |index, key, value| {
                let row = value.map(|value| decoded(shared, key, value, decode_account));
                sink(index, row.transpose()?);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Reads slots of several accounts in one exchange.
    fn slot_rows(
        &mut self,
        rows: &[SlotRow<'_>],
        sink: &mut dyn FnMut(usize, U256),
    ) -> Result<(), StoreError> {
        self.counters.key_count += rows.len() as u64;
        for (first, chunk) in (0..).step_by(KEYS_PER_CALL).zip(rows.chunks(KEYS_PER_CALL)) {
            self.buffers.keys.clear();
            for (number, SlotRow { address, key, row }) in chunk.iter().enumerate() {
                let index = first + number;
                if let Some(value) = self.sample.overlay.find(|changed| changed.slot(address, key))
                {
                    sink(index, value);
                } else if let Some(row) = row {
                    self.buffers.keys.push((Key::of(Table::Slots, row.as_slice()), index));
                } else {
                    self.buffers.slots.push(*key);
                    self.buffers.indices.push(index);
                }
                if chunk.get(number + 1).is_none_or(|next| next.address != *address) {
                    self.make_keys(address);
                }
            }
            self.fetch_slots(sink)?;
        }
        Ok(())
    }

    fn slots(
        &mut self,
        address: &Address,
        keys: &[U256],
        sink: &mut dyn FnMut(usize, U256),
    ) -> Result<(), StoreError> {
        let rows = keys.iter().map(|key| SlotRow { address, key: *key, row: None });
        self.slot_rows(&rows.collect::<Vec<_>>(), sink)
    }

    fn call_sizes(&self) -> CallSizes {
        CallSizes {
            slots_per_call: KEYS_PER_CALL,
            rows_per_call: KEYS_PER_CALL,
            reads_accounts_together: true,
            reads_at_once: Some(KEYS_PER_CALL),
        }
    }

    fn code(&mut self, hash: &B256) -> Result<Option<Bytes>, StoreError> {
        self.counters.key_count += 1;
        let code = match self.sample.overlay.find(|changed| changed.code(hash)) {
            Some(code) => code,
            None => {
                let key = Key::of(Table::Codes, hash.as_slice());
                let code = self.get(key, |code| Some(Bytes::copy_from_slice(code)))?;
                let Some(code) = code else { return Ok(None) };
                code
            }
        };
        self.checked_codes
            .compare(hash, &code)
            .map_err(|reason| damaged(&format!("code {hash}"), "the cluster", &reason))?;
        Ok(Some(code))
    }

    fn counters(&self) -> ReadCounters {
        self.counters
    }
}
