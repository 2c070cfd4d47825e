//! Computes the root of a recipe's state with the changes of blocks. Reads the slots and then the
//! accounts, each in one pass in the order of their hashed keys. So memory follows from the number
//! of contracts, not of rows. `chain.rs`, `rows.rs` and the ledger of `grow.rs` use it.

use std::collections::BTreeMap;

use alloy_primitives::{B256, U256, keccak256};
use trie::{AccountValue, Builder, EMPTY_ROOT, SlotValue};
use workload::{
    AccountState, Genesis, Layout, NetChanges, PartBuffers, RowError, RowSettings, RowStream,
    Table,
    layout::{decode_account, decode_slot},
};

/// A slot by the hashes of its account's address and its key.
type HashedSlot = (B256, B256);

/// The rows of a recipe in the order of hashed keys, as clients have them; the workload may have
/// another layout.
#[derive(Debug)]
pub(super) struct HashedRows<'g> {
    accounts: RowStream<'g>,
    slots: RowStream<'g>,
}

impl<'g> HashedRows<'g> {
    pub(super) fn new(genesis: &'g Genesis, settings: &RowSettings<'g>) -> Result<Self, RowError> {
        let [accounts, slots] = [Table::Accounts, Table::Slots]
            .map(|table| RowStream::new(genesis, Layout::Hashed, table, settings, &|_| {}));
        Ok(Self { accounts: accounts?, slots: slots? })
    }
}

/// Changes by blocks since the genesis, by hashed keys.
#[derive(Debug, Default)]
pub(super) struct Changes {
    accounts: BTreeMap<B256, Option<AccountState>>,
    slots: BTreeMap<HashedSlot, U256>,
}

impl Changes {
    /// Adds the net changes of the next block.
    pub(super) fn add(&mut self, changes: &NetChanges) {
        for (address, account) in &changes.accounts {
            self.accounts.insert(keccak256(address), *account);
        }
        for (address, key, value) in &changes.slots {
            let key = keccak256(key.to_be_bytes::<32>());
            self.slots.insert((keccak256(address), key), *value);
        }
    }

    /// Whether the blocks remove the account with this hash.
    fn removes(&self, account: &B256) -> bool {
        matches!(self.accounts.get(account), Some(None))
    }
}

/// The state root of `rows` under `changes`.
pub(super) fn state_root(rows: &HashedRows<'_>, changes: &Changes) -> Result<B256, RowError> {
    let mut top = Trie::root_only();
    let mut value = Vec::new();
    each_account(rows, changes, |hash, account, storage_root| {
        let AccountState { nonce, balance, code_hash } = *account;
        AccountValue { nonce, balance, storage_root, code_hash }.encode_to(&mut value);
        top.push(hash.as_slice(), &value).expect(SORTED);
        Ok::<_, RowError>(())
    })?;
    Ok(root(top))
}

/// Hands all accounts of `rows` under `changes` to `sink`, by ascending hash of their address, with
/// the root of their storage.
///
/// # Errors
/// The errors of `sink`, and of making the rows.
pub(super) fn each_account<E: From<RowError>>(
    rows: &HashedRows<'_>,
    changes: &Changes,
    mut sink: impl FnMut(&B256, &AccountState, B256) -> Result<(), E>,
) -> Result<(), E> {
    let mut roots = storage_roots(rows, changes)?.into_iter().peekable();
    // Hands an account on with its storage root; `None` if blocks removed it.
    let mut pass = |hash: &B256, account: Option<&AccountState>| {
        let Some(account) = account else { return Ok(()) };
        while roots.next_if(|(of, _)| of < hash).is_some() {}
        let root = roots.next_if(|(of, _)| of == hash);
        sink(hash, account, root.map_or(EMPTY_ROOT, |(_, root)| root))
    };
    let mut changed = changes.accounts.iter().peekable();
    let mut buffers = PartBuffers::default();
    for part in 0..rows.accounts.part_count() {
        rows.accounts.emit(part, &mut buffers, &mut |key, value| {
            let hash = B256::from_slice(key);
            while let Some((before, account)) = changed.next_if(|(at, _)| **at < hash) {
                pass(before, account.as_ref())?;
            }
            match changed.next_if(|(at, _)| **at == hash) {
                Some((_, account)) => pass(&hash, account.as_ref()),
                None => pass(&hash, decode_account(value).as_ref()),
            }
        })?;
    }
    changed.try_for_each(|(hash, account)| pass(hash, account.as_ref()))
}

/// The storage roots of all accounts that have slots, by ascending hash of their address.
fn storage_roots(rows: &HashedRows<'_>, changes: &Changes) -> Result<Vec<(B256, B256)>, RowError> {
    let mut tries = StorageTries::default();
    let mut add = |(account, key): &HashedSlot, value: U256| {
        if let Some(value) = SlotValue::new(&value).filter(|_| !changes.removes(account)) {
            tries.add(*account, key, &value);
        }
    };
    let mut changed = changes.slots.iter().peekable();
    let mut buffers = PartBuffers::default();
    for part in 0..rows.slots.part_count() {
        rows.slots.emit(part, &mut buffers, &mut |key, value| {
            let at = (B256::from_slice(&key[..32]), B256::from_slice(&key[32..]));
            while let Some((before, value)) = changed.next_if(|(slot, _)| **slot < at) {
                add(before, *value);
            }
            match changed.next_if(|(slot, _)| **slot == at) {
                Some((_, value)) => add(&at, *value),
                None => add(&at, decode_slot(value).unwrap_or_default()),
            }
            Ok::<_, RowError>(())
        })?;
    }
    changed.for_each(|(slot, value)| add(slot, *value));
    Ok(tries.finish())
}

/// Builder of a trie's root alone.
type Trie = Builder<()>;

/// Message of panics that cannot happen: rows have ascending keys of one length, and no empty
/// value.
const SORTED: &str = "rows are sorted and their keys are hashes";

fn root(trie: Trie) -> B256 {
    trie.finish().expect("no node is stored").root
}

/// Builds storage tries, one after the other.
#[derive(Default)]
struct StorageTries {
    /// Hashes of addresses, each with the root of its finished trie.
    done: Vec<(B256, B256)>,
    /// The unfinished trie, of the account with this hash.
    open: Option<(B256, Trie)>,
}

impl StorageTries {
    /// Adds the next slot.
    fn add(&mut self, account: B256, key: &B256, value: &SlotValue) {
        if self.open.as_ref().is_some_and(|(of, _)| *of != account) {
            self.close();
        }
        let (_, trie) = self.open.get_or_insert_with(|| (account, Trie::root_only()));
        trie.push(key.as_slice(), value.as_slice()).expect(SORTED);
    }

    fn close(&mut self) {
        if let Some((account, trie)) = self.open.take() {
            self.done.push((account, root(trie)));
        }
    }

    fn finish(mut self) -> Vec<(B256, B256)> {
        self.close();
        self.done
    }
}
