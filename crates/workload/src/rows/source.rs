//! Sources of rows: all accounts, or the slots of one account. A source makes records from row
//! indices, and keys and values from records. A record is the small part of a row that pass 1 of
//! the row stream keeps for pass 2. A key is the source's prefix followed by a key part.

use std::ops::Range;

use alloy_primitives::{Address, U256};

use crate::{
    accounts::CodeHashes,
    genesis::{
        AccountFamily, AccountState, Genesis, GenesisAccount, KeyRule, SenderFamily, SlotFamily,
    },
    keccak::{keccak256_many_20, keccak256_many_32},
    layout::{ACCOUNT_VALUE_BYTES, Layout, RowKey, encode_account, encode_slot},
    rows::{
        error::{AccountOrigin, RowError},
        weyl::WeylOrder,
    },
};

/// Number of rows that are made together, in buffers on the stack.
pub(super) const CHUNK: usize = 256;

/// The part of a row that is kept between the passes.
pub(super) trait Record: Copy + Send {
    /// Encoded length in bytes.
    const BYTES: usize;
    /// Appends the encoded record.
    fn put(&self, out: &mut Vec<u8>);
    /// Decodes a record from [`Self::BYTES`] bytes.
    fn get(bytes: &[u8]) -> Self;
}

/// Rows whose keys share a prefix; a part of up to 32 bytes tells the rows apart.
pub(super) trait Source: Sync {
    type Record: Record;
    type Value: AsRef<[u8]> + Copy;
    /// Filler of a buffer of values.
    const NO_VALUE: Self::Value;

    fn row_count(&self) -> u64;
    /// Appends the records of the rows in `range`.
    fn records(&self, range: Range<u64>, out: &mut Vec<Self::Record>) -> Result<(), RowError>;
    /// Writes the records' key parts into `out`, padded with zeros.
    fn parts(&self, records: &[Self::Record], out: &mut [[u8; 32]]);
    /// Writes the values of at most [`CHUNK`] records into `out`.
    fn values(&self, records: &[Self::Record], out: &mut [Self::Value]);
    /// Prefix of all keys.
    fn key_prefix(&self) -> &[u8];
    /// Length of a key part without its padding.
    fn part_bytes(&self) -> usize;
    /// The order of the rows where it is known without sorting.
    fn known_order(&self) -> Option<WeylOrder> {
        None
    }
    /// The error for two rows with the same key.
    fn duplicate(&self, a: &Self::Record, b: &Self::Record) -> RowError;
}

/// The slots of one account; a record is an index.
#[derive(Debug)]
pub(super) struct SlotSource<'a> {
    address: Address,
    layout: Layout,
    pub(super) account_key: RowKey,
    rule: SlotRule<'a>,
}

/// Origin of an account's slots.
#[derive(Clone, Copy, Debug)]
pub(super) enum SlotRule<'a> {
    Family(&'a SlotFamily),
    Explicit(&'a [(U256, U256)]),
}

impl<'a> SlotSource<'a> {
    pub(super) fn new(layout: Layout, address: Address, rule: SlotRule<'a>) -> Self {
        Self { address, layout, account_key: layout.account_key(&address), rule }
    }
}

impl Record for u32 {
    const BYTES: usize = 4;

    #[inline]
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }

    #[inline]
    fn get(bytes: &[u8]) -> Self {
        Self::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    }
}

impl Source for SlotSource<'_> {
    type Record = u32;
    type Value = [u8; 32];
    const NO_VALUE: [u8; 32] = [0; 32];

    fn row_count(&self) -> u64 {
        match self.rule {
            SlotRule::Family(family) => family.count,
            SlotRule::Explicit(slots) => slots.len() as u64,
        }
    }

    fn records(&self, range: Range<u64>, out: &mut Vec<u32>) -> Result<(), RowError> {
        // Row counts are at most 2^32: indices fit.
        out.extend(range.map(|index| index as u32));
        Ok(())
    }

    fn parts(&self, records: &[u32], out: &mut [[u8; 32]]) {
        let mut slots = [[0; 32]; CHUNK];
        for (records, out) in records.chunks(CHUNK).zip(out.chunks_mut(CHUNK)) {
            let slots = &mut slots[..records.len()];
            match self.rule {
                SlotRule::Family(family) => {
                    let indices = widen(records);
                    family.fill_keys(&indices[..records.len()], slots);
                }
                SlotRule::Explicit(rows) => {
                    for (slot, record) in slots.iter_mut().zip(records) {
                        *slot = rows[*record as usize].0.to_be_bytes();
                    }
                }
            }
            match self.layout {
                Layout::Hashed => keccak256_many_32(slots, out),
                Layout::Plain => out.copy_from_slice(slots),
            }
        }
    }

    fn values(&self, records: &[u32], out: &mut [[u8; 32]]) {
        match self.rule {
            SlotRule::Family(family) => {
                let indices = widen(records);
                family.fill_values(&indices[..records.len()], out);
            }
            SlotRule::Explicit(rows) => {
                for (out, record) in out.iter_mut().zip(records) {
                    *out = encode_slot(&rows[*record as usize].1);
                }
            }
        }
    }

    fn key_prefix(&self) -> &[u8] {
        self.account_key.as_slice()
    }

    fn part_bytes(&self) -> usize {
        32
    }

    fn known_order(&self) -> Option<WeylOrder> {
        match (self.layout, self.rule) {
            (Layout::Plain, SlotRule::Family(family)) if family.keys == KeyRule::Weyl => {
                Some(WeylOrder::new(&family.seed, family.count))
            }
            _ => None,
        }
    }

    fn duplicate(&self, a: &u32, _b: &u32) -> RowError {
        let slot = match self.rule {
            SlotRule::Family(family) => family.key(u64::from(*a)),
            SlotRule::Explicit(rows) => rows[*a as usize].0,
        };
        RowError::DuplicateSlot { address: self.address, slot }
    }
}

/// The records of at most [`CHUNK`] slots as indices.
fn widen(records: &[u32]) -> [u64; CHUNK] {
    let mut indices = [0; CHUNK];
    for (index, record) in indices.iter_mut().zip(records) {
        *index = u64::from(*record);
    }
    indices
}

/// All accounts: explicit accounts, then sender families, then account families.
#[derive(Debug)]
pub(super) struct AccountSource<'a> {
    layout: Layout,
    accounts: &'a [GenesisAccount],
    members: Vec<Members<'a>>,
    code_hashes: CodeHashes,
    row_count: u64,
}

/// A family of accounts, by its range of indices among all accounts.
#[derive(Debug)]
struct Members<'a> {
    /// Index of the family in its list in the recipe.
    family_index: usize,
    kind: MemberKind<'a>,
    /// Index of the family's first account among all accounts.
    start: u64,
    count: u64,
}

/// The kind of a family. All senders of a family have one value.
#[derive(Debug)]
enum MemberKind<'a> {
    Senders(&'a SenderFamily, [u8; ACCOUNT_VALUE_BYTES]),
    Hashed(&'a AccountFamily),
}

impl Members<'_> {
    fn addresses(&self, range: Range<u64>) -> Result<Vec<Address>, RowError> {
        match self.kind {
            MemberKind::Senders(senders, _) => senders
                .addresses(range)
                .map_err(|source| RowError::Sender { family: self.family_index, source }),
            MemberKind::Hashed(family) => {
                let mut addresses = Vec::new();
                family.addresses(&range.collect::<Vec<_>>(), &mut addresses);
                Ok(addresses)
            }
        }
    }

    fn value(&self, index: u64, code_hashes: &CodeHashes) -> [u8; ACCOUNT_VALUE_BYTES] {
        match self.kind {
            MemberKind::Senders(_, value) => value,
            MemberKind::Hashed(family) => {
                let code_hash = code_hashes.get(self.family_index, family, index);
                encode_account(&family.state(index, code_hash))
            }
        }
    }
}

/// Index and address of an account. The address is kept, since computing it takes as long as many
/// hashes.
#[derive(Clone, Copy, Debug)]
pub(super) struct AccountRecord {
    index: u32,
    address: [u8; 20],
}

impl<'a> AccountSource<'a> {
    pub(super) fn new(layout: Layout, genesis: &'a Genesis, code_hashes: CodeHashes) -> Self {
        let mut start = genesis.accounts.len() as u64;
        let senders = genesis.senders.iter().enumerate().map(|(family_index, family)| {
            let state = AccountState { balance: family.balance, ..AccountState::default() };
            (family_index, MemberKind::Senders(family, encode_account(&state)), family.count)
        });
        let families = genesis.account_families.iter().enumerate();
        let families = families
            .map(|(family_index, family)| (family_index, MemberKind::Hashed(family), family.count));
        let members = senders.chain(families).map(|(family_index, kind, count)| {
            let members = Members { family_index, kind, start, count };
            start += count;
            members
        });
        let members = members.collect();
        Self { layout, accounts: &genesis.accounts, members, code_hashes, row_count: start }
    }

    /// The family that has account `index`; `None` for an explicit account.
    fn family_of(&self, index: u64) -> Option<&Members<'a>> {
        let after = self.members.partition_point(|members| members.start <= index);
        after.checked_sub(1).map(|at| &self.members[at])
    }

    fn origin(&self, index: u64) -> AccountOrigin {
        let Some(members) = self.family_of(index) else { return AccountOrigin::Explicit };
        let (family, index) = (members.family_index, index - members.start);
        match members.kind {
            MemberKind::Senders(..) => AccountOrigin::Sender { family, index },
            MemberKind::Hashed(_) => AccountOrigin::Family { family, index },
        }
    }
}

impl Record for AccountRecord {
    const BYTES: usize = 24;

    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.index.to_le_bytes());
        out.extend_from_slice(&self.address);
    }

    fn get(bytes: &[u8]) -> Self {
        let mut address = [0; 20];
        address.copy_from_slice(&bytes[4..24]);
        Self { index: u32::get(bytes), address }
    }
}

impl Source for AccountSource<'_> {
    type Record = AccountRecord;
    type Value = [u8; ACCOUNT_VALUE_BYTES];
    const NO_VALUE: [u8; ACCOUNT_VALUE_BYTES] = [0; ACCOUNT_VALUE_BYTES];

    fn row_count(&self) -> u64 {
        self.row_count
    }

    fn records(&self, range: Range<u64>, out: &mut Vec<AccountRecord>) -> Result<(), RowError> {
        let mut append = |first: u64, addresses: &mut dyn Iterator<Item = Address>| {
            let records = (first..).zip(addresses);
            out.extend(
                records.map(|(index, a)| AccountRecord { index: index as u32, address: *a.0 }),
            );
        };
        let explicit = self.accounts.len() as u64;
        let written = range.start.min(explicit)..range.end.min(explicit);
        let accounts = &self.accounts[written.start as usize..written.end as usize];
        append(written.start, &mut accounts.iter().map(|account| account.address));
        for members in &self.members {
            let first = range.start.max(members.start);
            let end = range.end.min(members.start + members.count);
            if first < end {
                let addresses = members.addresses(first - members.start..end - members.start)?;
                append(first, &mut addresses.into_iter());
            }
        }
        Ok(())
    }

    fn parts(&self, records: &[AccountRecord], out: &mut [[u8; 32]]) {
        match self.layout {
            Layout::Plain => {
                for (out, record) in out.iter_mut().zip(records) {
                    *out = [0; 32];
                    out[..20].copy_from_slice(&record.address);
                }
            }
            Layout::Hashed => {
                let mut addresses = [[0; 20]; CHUNK];
                for (records, out) in records.chunks(CHUNK).zip(out.chunks_mut(CHUNK)) {
                    for (address, record) in addresses.iter_mut().zip(records) {
                        *address = record.address;
                    }
                    keccak256_many_20(&addresses[..records.len()], out);
                }
            }
        }
    }

    fn values(&self, records: &[AccountRecord], out: &mut [[u8; ACCOUNT_VALUE_BYTES]]) {
        for (out, record) in out.iter_mut().zip(records) {
            let index = u64::from(record.index);
            *out = match self.family_of(index) {
                None => encode_account(&self.accounts[record.index as usize].state()),
                Some(members) => members.value(index - members.start, &self.code_hashes),
            };
        }
    }

    fn key_prefix(&self) -> &[u8] {
        &[]
    }

    fn part_bytes(&self) -> usize {
        match self.layout {
            Layout::Hashed => 32,
            Layout::Plain => 20,
        }
    }

    fn duplicate(&self, a: &AccountRecord, b: &AccountRecord) -> RowError {
        let (low, high) = if a.index <= b.index { (a, b) } else { (b, a) };
        RowError::DuplicateAccount {
            address: Address::from(a.address),
            first: self.origin(u64::from(low.index)),
            second: self.origin(u64::from(high.index)),
        }
    }
}
