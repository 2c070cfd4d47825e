//! The description of a storm for its planner (`transactions.rs`): contract, prices, families of
//! keys. `kinds.rs` makes it.

use alloy_primitives::{Address, B256, U256};
use spec::{CalldataByte, Overlap, SlotOrder};
use workload::{Layout, SlotFamily, block::IndexRange};

use crate::{artifact::Contract, meter::Meter};

/// The parts of a storm.
#[derive(Debug)]
pub(crate) struct Parts<'g> {
    /// The contract that transactions call.
    pub(crate) contract: Contract,
    /// Prices of the contract's operations.
    pub(crate) meter: Meter,
    /// Share of existing keys among the accessed keys.
    pub(crate) present_share: f64,
    /// Whether transactions access the same keys.
    pub(crate) overlap: Overlap,
    /// The contracts that transactions call in turn; at least one.
    pub(crate) targets: Vec<Target<'g>>,
    /// Order of the keys; `None` for the order of their indices.
    pub(crate) sorted: Option<RowOrder<'g>>,
    /// The nibble below which the rows of all keys lie, if the scenario sets one.
    pub(crate) below: Option<NibbleSlots<'g>>,
    /// Padding of the calldata, as a share of the most padding that costs the standard price.
    pub(crate) calldata_share: f64,
    /// Content of the padding.
    pub(crate) calldata_byte: CalldataByte,
}

impl<'g> Parts<'g> {
    /// A storm that accesses existing keys, each once, in the order of their indices.
    pub(crate) fn new(contract: Contract, meter: Meter, targets: Vec<Target<'g>>) -> Self {
        Self {
            contract,
            meter,
            present_share: 1.0,
            overlap: Overlap::Nothing,
            targets,
            sorted: None,
            below: None,
            calldata_share: 0.0,
            calldata_byte: CalldataByte::Random,
        }
    }
}

/// The order of a storm's keys by their rows in a store: ascending or descending.
#[derive(Debug)]
pub(crate) struct RowOrder<'g> {
    /// The layout, which gives the keys of rows.
    pub(crate) layout: Layout,
    pub(crate) order: SlotOrder,
    /// The slot family of each target.
    pub(crate) families: Vec<&'g SlotFamily>,
}

impl RowOrder<'_> {
    /// The indices of `ranges` of the family of `target`, in this order.
    pub(super) fn indices(&self, target: usize, ranges: &[IndexRange]) -> Vec<u64> {
        let indices: Vec<u64> =
            ranges.iter().flat_map(|range| range.start..range.start + range.count).collect();
        let mut keys = Vec::new();
        self.families[target].keys(&indices, &mut keys);
        let slots: Vec<U256> = keys.iter().map(|key| U256::from_be_bytes(*key)).collect();
        // All slots are of one account, so only the slots' part of a row's key decides.
        self.layout.slot_key_parts(&slots, &mut keys);
        let mut rows: Vec<_> = keys.into_iter().zip(indices).collect();
        rows.sort_unstable();
        if self.order == SlotOrder::Descending {
            rows.reverse();
        }
        rows.into_iter().map(|(_, index)| index).collect()
    }
}

/// The slots whose hashes begin with one nibble.
#[derive(Debug)]
pub(crate) struct NibbleSlots<'g> {
    /// The nibble, 0 to 15.
    pub(crate) nibble: u8,
    /// The family of each target.
    pub(crate) families: Vec<&'g SlotFamily>,
}

/// A contract that transactions call, and the family whose members it accesses.
#[derive(Clone, Debug)]
pub(crate) struct Target<'g> {
    /// Address of the contract.
    pub(crate) to: Address,
    /// The kind of the family's members.
    pub(crate) member_kind: MemberKind,
    /// Index of the family among the genesis' families of its kind.
    pub(crate) family: u32,
    /// Number of existing members.
    pub(crate) held_count: u64,
    /// The first word of calldata.
    pub(crate) first: FirstWord<'g>,
    /// The words between the first word and the ranges.
    pub(crate) tail: Vec<B256>,
    /// The present index to begin at; `None` if the load's seed decides it.
    pub(crate) start: Option<u64>,
}

impl Target<'_> {
    /// The slot at index `start` of the family that is `ahead` families after the target's.
    pub(super) const fn slot(&self, ahead: u64, start: u64) -> IndexRange {
        IndexRange { family: self.family + ahead as u32, start, count: 1 }
    }
}

/// The kind of a family's members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemberKind {
    /// Slots.
    Slots,
    /// Accounts.
    Accounts,
    /// Slots of `contract_count` families, from the target's family on: index i is slot i /
    /// `contract_count` of family i mod `contract_count`.
    Hops {
        /// Contracts that the chain goes through in turn.
        contract_count: u64,
    },
    /// One slot of each contract. Each contract has a family, from the target's family on: index i
    /// is the slot `slot` of family i.
    Each {
        /// Index of the slot in its family.
        slot: u64,
    },
}

/// The first word of a storm's calldata.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FirstWord<'g> {
    /// The same word for all transactions.
    Word(B256),
    /// The key of the first slot.
    KeyOf(&'g SlotFamily),
    /// The key of the first slot of a chain through these families, in the order of
    /// [`MemberKind::Hops`].
    KeyOfHop(&'g [SlotFamily]),
}
