//! Writes the rows of genesis families that a batch may touch as JSON. Keys and values are
//! generated during writing, so a reader of the JSON need not know the families' rules.

use std::{cell::RefCell, collections::BTreeMap};

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use serde::{
    Serialize, Serializer,
    ser::{Error, SerializeSeq, SerializeStruct},
};

use crate::{
    block::{Batch, IndexRange},
    genesis::{AccountFamily, AccountState, Genesis, SlotFamily},
};

/// Number of rows that are generated at a time.
const CHUNK: u64 = 4096;

/// Genesis rows that a batch may touch: those of families in its plan.
pub(super) struct Planned<'a> {
    genesis: &'a Genesis,
    batch: &'a Batch,
}

impl<'a> Planned<'a> {
    pub(super) const fn new(genesis: &'a Genesis, batch: &'a Batch) -> Self {
        Self { genesis, batch }
    }
}

impl Serialize for Planned<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let codes = RefCell::default();
        let mut object = serializer.serialize_struct("state", 3)?;
        object.serialize_field("accounts", &Accounts { planned: self, codes: &codes })?;
        // Writing the accounts has filled `codes`.
        object.serialize_field("codes", &Codes { planned: self, codes: &codes })?;
        object.serialize_field("slots", &Slots { planned: self })?;
        object.end()
    }
}

/// Hashes of the accounts' codes, by the index of the family and the index of the code in the
/// family.
type CodeHashesByIndex = RefCell<BTreeMap<(u32, u64), B256>>;

struct Accounts<'a> {
    planned: &'a Planned<'a>,
    codes: &'a CodeHashesByIndex,
}

#[derive(Serialize)]
struct AccountJson {
    address: Address,
    #[serde(flatten)]
    state: AccountState,
}

impl Serialize for Accounts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (genesis, plan) = (self.planned.genesis, &self.planned.batch.plan);
        let mut out = serializer.serialize_seq(None)?;
        for range in &plan.senders {
            let family = family::<_, S::Error>(&genesis.senders, range)?;
            for indices in chunks(range, family.count) {
                for address in family.addresses(indices).map_err(S::Error::custom)? {
                    let state = AccountState { balance: family.balance, ..Default::default() };
                    out.serialize_element(&AccountJson { address, state })?;
                }
            }
        }
        for range in &plan.accounts {
            let family = family::<_, S::Error>(&genesis.account_families, range)?;
            let mut addresses = Vec::new();
            for indices in chunks(range, family.count) {
                let indices: Vec<u64> = indices.collect();
                family.addresses(&indices, &mut addresses);
                for (index, address) in indices.into_iter().zip(&addresses) {
                    let state = family.state(index, self.code_hash(range, family, index));
                    out.serialize_element(&AccountJson { address: *address, state })?;
                }
            }
        }
        out.end()
    }
}

impl Accounts<'_> {
    /// Returns the hash of an account's code, and keeps it for [`Codes`].
    fn code_hash(&self, range: &IndexRange, family: &AccountFamily, index: u64) -> Option<B256> {
        let code_index = family.code_index(index)?;
        let mut codes = self.codes.borrow_mut();
        let hash = codes.entry((range.family, code_index));
        Some(*hash.or_insert_with(|| keccak256(family.code(code_index))))
    }
}

struct Codes<'a> {
    planned: &'a Planned<'a>,
    codes: &'a CodeHashesByIndex,
}

impl Serialize for Codes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Item {
            hash: B256,
            code: Bytes,
        }
        let families = &self.planned.genesis.account_families;
        let codes = self.codes.borrow();
        serializer.collect_seq(codes.iter().map(|((family, index), hash)| Item {
            hash: *hash,
            code: families[*family as usize].code(*index),
        }))
    }
}

struct Slots<'a> {
    planned: &'a Planned<'a>,
}

/// Slots of one contract.
#[derive(Serialize)]
struct SlotsJson<'a> {
    address: &'a Address,
    slots: Rows<'a>,
}

impl Serialize for Slots<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_seq(None)?;
        for range in &self.planned.batch.plan.slots {
            let family = family::<_, S::Error>(&self.planned.genesis.slots, range)?;
            let slots = Rows { family, range };
            out.serialize_element(&SlotsJson { address: &family.address, slots })?;
        }
        out.end()
    }
}

/// Keys and values of consecutive slots.
struct Rows<'a> {
    family: &'a SlotFamily,
    range: &'a IndexRange,
}

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_seq(None)?;
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for indices in chunks(self.range, self.family.count) {
            let indices: Vec<u64> = indices.collect();
            self.family.keys(&indices, &mut keys);
            self.family.values(&indices, &mut values);
            for (key, value) in keys.iter().zip(&values) {
                let row = [key, value].map(|word| U256::from_be_bytes(*word));
                out.serialize_element(&row)?;
            }
        }
        out.end()
    }
}

/// Returns the family of a range, or an error where the genesis lacks it.
fn family<'a, T, E: Error>(families: &'a [T], range: &IndexRange) -> Result<&'a T, E> {
    let family = families.get(range.family as usize);
    family.ok_or_else(|| E::custom(format!("the genesis has no family {}", range.family)))
}

/// The indices of `range` below `count`, in chunks. Indices from `count` on are absent keys.
fn chunks(range: &IndexRange, count: u64) -> impl Iterator<Item = std::ops::Range<u64>> {
    let end = range.start.saturating_add(range.count).min(count);
    let mut next = range.start.min(end);
    std::iter::from_fn(move || {
        let start = next;
        next = start.saturating_add(CHUNK).min(end);
        (start < next).then_some(start..next)
    })
}
