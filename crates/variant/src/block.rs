//! Duties on a block beside its execution: the work that a client has with a block from the
//! network. Also whole rows, which have all duties.

use std::fmt;

use crate::Phase;

crate::named! {
    /// A duty of a client on a block, beside execution, list, root and commit. Each duty is a phase
    /// of a sample.
    pub enum BlockDuty: "duty on a block" {
        /// Decoding the block and its signed transactions from their bytes.
        BlockDecode = "block-decode",
        /// Recovering the senders of transactions, and the authorities of delegations (EIP-7702),
        /// from their signatures.
        Recover = "recover",
        /// Making receipts with blooms, their root and the block's bloom.
        Receipts = "receipts",
        /// Comparing the header with the block, with the outcome of its execution and with the
        /// list.
        Header = "header",
        /// Making the commit durable: waiting until the device has it, whatever `run.commit` says.
        Sync = "sync",
    }
}

crate::named! {
    /// Rows of a run that execute whole blocks: with all duties, a state root and a synced commit.
    pub enum WholeRows: "choice of whole rows" {
        /// No rows: execution alone.
        Nothing = "none",
        /// One whole row of each design on each store, beside the rows of execution alone.
        One = "one",
        /// A whole row beside each row of execution alone.
        All = "all",
    }
}

impl BlockDuty {
    /// The phase that does the duty.
    pub const fn phase(self) -> Phase {
        match self {
            Self::BlockDecode => Phase::BlockDecode,
            Self::Recover => Phase::Recover,
            Self::Receipts => Phase::Receipts,
            Self::Header => Phase::Header,
            Self::Sync => Phase::Sync,
        }
    }

    /// Duties whose results this duty needs. A set with this duty has them too.
    const fn needs(self) -> &'static [Self] {
        match self {
            Self::BlockDecode | Self::Sync => &[],
            Self::Recover | Self::Receipts => &[Self::BlockDecode],
            Self::Header => &[Self::BlockDecode, Self::Receipts],
        }
    }
}

/// A set of duties on blocks. For each of its duties, it also has the duties that this duty needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BlockDuties(u8);

impl BlockDuties {
    /// No duty.
    pub const NONE: Self = Self(0);

    /// All duties.
    pub fn all() -> Self {
        Self::of(BlockDuty::ALL)
    }

    /// Returns the set of `duties` and of the duties that they need.
    pub fn of(duties: &[BlockDuty]) -> Self {
        let with_needs = duties.iter().flat_map(|duty| duty.needs().iter().chain([duty]));
        Self(with_needs.fold(0, |bits, duty| bits | 1 << *duty as u8))
    }

    /// Whether the set has a duty.
    pub const fn has(self, duty: BlockDuty) -> bool {
        self.0 & 1 << duty as u8 != 0
    }

    /// Whether the set is empty.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// The duties of the set, in the order in which they are done.
    pub fn iter(self) -> impl Iterator<Item = BlockDuty> {
        BlockDuty::ALL.iter().copied().filter(move |duty| self.has(*duty))
    }
}

impl fmt::Display for BlockDuties {
    /// Writes `whole` for all duties, else the names of the duties, such as `block-decode+recover`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::all() {
            return f.write_str("whole");
        }
        let names: Vec<_> = self.iter().map(BlockDuty::name).collect();
        f.write_str(&names.join("+"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_all_that_its_duties_need_and_nothing_else() {
        for duty in BlockDuty::ALL {
            let set = BlockDuties::of(&[*duty]);
            assert!(set.has(*duty));
            assert!(set.iter().all(|of| of == *duty || duty.needs().contains(&of)), "{duty}");
            assert!(set.iter().all(|of| BlockDuties::of(&[of]).iter().all(|need| set.has(need))));
        }
        assert_eq!(BlockDuties::all().iter().count(), BlockDuty::ALL.len());
        assert!(BlockDuties::NONE.iter().next().is_none());
    }

    #[test]
    fn a_set_is_named_by_its_duties() {
        assert_eq!(BlockDuties::all().to_string(), "whole");
        let some = BlockDuties::of(&[BlockDuty::Recover]);
        assert_eq!(some.to_string(), "block-decode+recover");
    }
}
