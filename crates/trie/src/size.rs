//! Estimates the number and bytes of the nodes of a trie of hashed keys, for each format. The
//! program checks with it that the disk has room, before a state is built.
//!
//! Hashed keys are uniform, so the number of the n rows below a path of d nibbles is Poisson
//! distributed with mean n / 16^d. The sum over all depths has an error of a few percent for a
//! thousand rows or more.

use crate::format::Format;

/// Number of bytes of a child in a record: one byte for its kind or its number of rows, and its
/// reference.
const CHILD_BYTES: f64 = 34.0;
/// Number of bytes of the mask of a branch's children.
const MASK_BYTES: f64 = 2.0;
/// Number of bytes of a leaf of [`Format::All`] in addition to its path and its value.
const LEAF_BYTES: f64 = 5.0;
/// Number of bytes of a branch of [`Format::All`] without the 32 bytes of each child. They are the
/// list's header, and a byte for each of its 17 items.
const RLP_BRANCH_BYTES: f64 = 20.0;
/// Smallest mean number of rows below a path. The nodes of paths with a smaller mean are neglected.
const MEAN_MIN: f64 = 1e-6;
/// Mean number of rows below a path above which its branch has all 16 children. The path then has
/// more rows than the largest cut of [`Format::Cut`].
const MEAN_FULL: f64 = 600.0;
/// End of the sum over the possible numbers of rows below a path. With a mean up to [`MEAN_FULL`],
/// larger numbers are too rare to count.
const SUMMED_ROW_COUNT_END: i32 = 1_500;

/// Expected nodes of tries.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ExpectedNodes {
    /// Number of nodes.
    pub count: f64,
    /// Number of bytes of the nodes, without keys.
    pub bytes: f64,
}

impl ExpectedNodes {
    /// These nodes plus the nodes of `times` tries or subtrees with `other` nodes each.
    #[must_use]
    pub fn plus(self, times: f64, other: Self) -> Self {
        Self { count: self.count + times * other.count, bytes: self.bytes + times * other.bytes }
    }
}

impl Format {
    /// The nodes of a trie of `row_count` rows with hashed keys and values of `value_bytes` bytes.
    pub fn expected_nodes(self, row_count: u64, value_bytes: u64) -> ExpectedNodes {
        if row_count == 0 {
            return ExpectedNodes::default();
        }
        // All formats except `All` have a record for the top of the trie.
        let mut nodes = match self {
            Self::All => ExpectedNodes::default(),
            _ => ExpectedNodes { count: 1.0, bytes: CHILD_BYTES },
        };
        let mut paths = 1.0;
        for depth in 0..64 {
            let below = RowsBelow::of(row_count as f64 / paths);
            if below.mean < MEAN_MIN {
                break;
            }
            let at_path = match self {
                // The number of rows of the whole trie is known.
                Self::Cut(cut) if depth == 0 => branch_above(row_count, cut.rows()),
                Self::Branches if depth == 0 => branch_above(row_count, 1),
                Self::Cut(cut) => below.cut(cut.rows()),
                Self::RethLike => below.reth_like(),
                Self::Branches => below.cut(1),
                Self::All => below.all(63.0 - f64::from(depth), value_bytes as f64),
            };
            nodes = nodes.plus(paths, at_path);
            paths *= 16.0;
        }
        nodes
    }
}

/// The expected branch above `row_count` rows. No branch is stored for `unstored_row_count_max`
/// rows or fewer.
fn branch_above(row_count: u64, unstored_row_count_max: u8) -> ExpectedNodes {
    if row_count <= u64::from(unstored_row_count_max) {
        return ExpectedNodes::default();
    }
    let rows = row_count.min(u64::from(u16::MAX)) as f64;
    // The chance that the rows are not all below one child.
    let count = 1.0 - (1.0_f64 / 16.0).powf(rows - 1.0);
    let children = 16.0 * (1.0 - (15.0_f64 / 16.0).powf(rows));
    ExpectedNodes { count, bytes: count * (MASK_BYTES + CHILD_BYTES * children) }
}

/// Distribution of the rows below a path over its 16 children.
#[derive(Clone, Copy)]
struct RowsBelow {
    /// Mean number of rows.
    mean: f64,
    /// Chance that a child has no row.
    none: f64,
    /// Chance that a child has one row.
    one: f64,
    /// Chance that a child has several rows.
    several: f64,
}

impl RowsBelow {
    fn of(mean: f64) -> Self {
        let none = (-mean / 16.0).exp();
        let one = mean / 16.0 * none;
        Self { mean, none, one, several: (1.0 - none - one).max(0.0) }
    }

    /// The chance that the 15 other children are not all empty.
    fn has_sibling(&self) -> f64 {
        1.0 - self.none.powi(15)
    }

    /// The expected branch at the path, which is stored if more than `unstored_row_count_max` rows
    /// are below it.
    fn cut(&self, unstored_row_count_max: u8) -> ExpectedNodes {
        if self.mean > MEAN_FULL {
            return ExpectedNodes { count: 1.0, bytes: MASK_BYTES + 16.0 * CHILD_BYTES };
        }
        let mut nodes = ExpectedNodes::default();
        let mut chance = (-self.mean).exp();
        for rows in 0..SUMMED_ROW_COUNT_END {
            if rows > i32::from(unstored_row_count_max) {
                nodes = nodes
                    .plus(chance, branch_above(rows.unsigned_abs().into(), unstored_row_count_max));
            }
            chance *= self.mean / f64::from(rows + 1);
        }
        nodes
    }

    /// The expected branch at the path, which is stored if a child has several rows.
    fn reth_like(&self) -> ExpectedNodes {
        let alone = 16.0 * self.several * self.none.powi(15);
        let count = 1.0 - (1.0 - self.several).powi(16) - alone;
        let stored = self.several * CHILD_BYTES * self.has_sibling();
        let leaves = self.one * (1.0 - (1.0 - self.several).powi(15));
        ExpectedNodes { count, bytes: MASK_BYTES * count + 16.0 * (stored + leaves) }
    }

    /// The expected branch at the path, and the leaves that are its children. The path in a leaf
    /// has `nibbles` nibbles.
    fn all(&self, nibbles: f64, value_bytes: f64) -> ExpectedNodes {
        let child = 1.0 - self.none;
        let branch = 1.0 - self.none.powi(16) - 16.0 * child * self.none.powi(15);
        let children = 16.0 * child * self.has_sibling();
        let leaves = 16.0 * self.one * self.has_sibling();
        let leaf_bytes = LEAF_BYTES + (nibbles / 2.0).floor() + value_bytes;
        let bytes = RLP_BRANCH_BYTES * branch + 32.0 * children + leaf_bytes * leaves;
        ExpectedNodes { count: branch + leaves, bytes }
    }
}
