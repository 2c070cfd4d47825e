//! Formats of stored tries: the rule that selects the nodes that a store keeps in addition to the
//! rows of flat state.

use crate::{error::Error, path::Path, reference::Reference};

/// Largest [`Cut::rows`]: a record has the number of rows in one byte.
const CUT_ROWS_MAX: u8 = 250;

/// Rule that selects the stored nodes. In every format the store also has the rows, as flat state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Branches that have more than [`Cut::rows`] rows below them, with the references of all
    /// children. All other nodes are hashed again from the rows.
    Cut(Cut),
    /// Branches that have a child other than a leaf, with the references of those children. Leaves
    /// are hashed again from the rows.
    RethLike,
    /// All branches, with the references of all children: the same nodes as a cut at one row.
    Branches,
    /// All nodes by their path, as RLP, leaves and extensions included. No row is read.
    All,
}

/// Maximum number of rows of a subtree without a stored branch: 1 to 250.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cut {
    rows: u8,
}

impl Cut {
    /// The number of rows.
    pub const fn rows(self) -> u8 {
        self.rows
    }
}

impl Format {
    /// The format [`Format::Cut`].
    ///
    /// # Errors
    /// When `rows` is 0 or above 250.
    pub const fn cut(rows: u8) -> Result<Self, Error> {
        if rows == 0 || rows > CUT_ROWS_MAX {
            return Err(Error::Cut { rows });
        }
        Ok(Self::Cut(Cut { rows }))
    }

    /// Maximum number of rows that a record may give to a subtree without a stored branch.
    pub(crate) const fn small_rows_max(self) -> u8 {
        match self {
            Self::Cut(cut) => cut.rows,
            // A branch whose children are all leaves is not stored; it has up to 16 rows.
            Self::RethLike => 16,
            Self::Branches => 1,
            Self::All => 0,
        }
    }

    /// Whether a record has the reference of a child with `rows` rows and no stored branch.
    pub(crate) const fn keeps_reference(self, rows: u8) -> bool {
        !matches!(self, Self::RethLike) || rows > 1
    }

    /// Whether a branch over children of these weights has a record of its own.
    pub(crate) fn is_stored(self, mut children: impl Iterator<Item = Weight>) -> bool {
        match self {
            Self::Cut(_) | Self::Branches => {
                Weight::row_sum(children) > u16::from(self.small_rows_max())
            }
            Self::RethLike => children.any(|weight| weight.rows() > 1),
            Self::All => true,
        }
    }
}

/// Weight of a child: decides whether its parent is stored, and is in the parent's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// A subtree without a stored branch, with its number of rows.
    Small(u8),
    /// The topmost branch below the child is stored.
    Stored,
}

impl Weight {
    /// Number of rows; for a stored branch, a number above every limit.
    fn rows(self) -> u16 {
        match self {
            Self::Small(rows) => u16::from(rows),
            Self::Stored => u16::MAX,
        }
    }

    /// Weight of a branch that is not stored, from the weights of its children.
    pub(crate) fn sum(children: impl Iterator<Item = Self>) -> Self {
        Self::Small(u8::try_from(Self::row_sum(children)).unwrap_or(u8::MAX))
    }

    fn row_sum(children: impl Iterator<Item = Self>) -> u16 {
        children.map(Self::rows).fold(0, u16::saturating_add)
    }
}

/// A child as its parent's stored node describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Child {
    /// A subtree without stored branches.
    Small { rows: u8, reference: Option<Reference> },
    /// A stored branch: its path below the child's own, and its reference.
    Stored { extension: Path, reference: Reference },
    /// A node of [`Format::All`], of a kind that the parent does not record.
    Node(Reference),
}

impl Child {
    pub(crate) const fn weight(&self) -> Weight {
        match self {
            Self::Small { rows, .. } => Weight::Small(*rows),
            Self::Stored { .. } => Weight::Stored,
            Self::Node(_) => Weight::Small(u8::MAX),
        }
    }
}
