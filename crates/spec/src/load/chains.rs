//! `chains`: transactions that depend on each other by rate and by shape: chains, hotspots and
//! connected groups, beside transactions that stand alone.

use variant::named;

use super::kind::{Around, Kind, check_two_accounts};
use crate::fault::{Fault, Misfit, Remedy};
use crate::fields::{Fields, Range};
use crate::quantity::underscored;

named! {
    /// On whom a transaction of a group depends.
    pub enum Shape: "shape of a group" {
        /// On all before it: they read and write one place in common.
        Shared = "shared",
        /// On the one before it, whose place it reads; it writes its own.
        Relay = "relay",
        /// On one of those before it, which chance names.
        Tree = "tree",
        /// On the first.
        Star = "star",
    }
}

named! {
    /// Where in a block the transactions of a group are.
    pub enum GroupOrder: "order of groups" {
        /// Anywhere.
        Shuffled = "shuffled",
        /// As far from each other as can be: groups take turns.
        Interleaved = "interleaved",
        /// Side by side.
        Together = "together",
    }
}

named! {
    /// The kind of state through which transactions depend on each other.
    pub enum Through: "kind of dependency" {
        /// A storage slot.
        Slot = "slot",
        /// The balance of an account.
        Account = "account",
    }
}

named! {
    /// When a transaction touches the shared state.
    pub enum Touch: "time of the shared access" {
        /// Before its work, which then depends on it.
        First = "first",
        /// After its work, which anybody can do ahead.
        Last = "last",
    }
}

/// Groups of the transactions that conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Groups {
    /// Groups of these lengths, in turn; each has a place of its own.
    Lengths(Vec<u64>),
    /// So many groups of equal length, the same places in every block.
    Hotspots(u64),
}

/// Transactions in groups whose members depend on each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Chains {
    /// Share of the transactions that are in groups; the others depend on none.
    pub conflict_share: f64,
    /// Their groups.
    pub groups: Groups,
    /// On whom each depends.
    pub shape: Shape,
    /// Where in a block they are.
    pub order: GroupOrder,
    /// The kind of state through which they depend on each other.
    pub through: Through,
    /// When they touch it.
    pub touch: Touch,
    /// Hashes that a transaction computes; 0 to 50,000.
    pub work: u64,
}

const UNUSUAL: &str = "the most that is supported";
const LENGTHS: Range =
    Range { least: 1, most: 100_000_000, below: "the shortest group", above: UNUSUAL };
/// Places are slots written out in the state's recipe: their number bounds its memory.
const PLACES_MAX: u64 = 1_000_000;
const WORK: Range = Range { least: 0, most: 50_000, below: "", above: UNUSUAL };
const DEFAULT_LENGTH: u64 = 5;
/// A transaction then uses about 74,000 gas, as one of `dapps`.
const DEFAULT_WORK: u64 = 250;

pub(super) const KIND: Kind<Chains> = Kind {
    name: "chains",
    keys: &["conflict", "lengths", "hotspots", "shape", "order", "through", "touch", "work"],
    read,
};

impl Chains {
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        let groups = match &self.groups {
            Groups::Lengths(lengths) => {
                let lengths: Vec<_> = lengths.iter().map(|length| underscored(*length)).collect();
                ("lengths", format!("[{}]", lengths.join(", ")))
            }
            Groups::Hotspots(count) => ("hotspots", underscored(*count)),
        };
        vec![
            ("conflict", format!("{:?}", self.conflict_share)),
            groups,
            ("shape", format!("\"{}\"", self.shape)),
            ("order", format!("\"{}\"", self.order)),
            ("through", format!("\"{}\"", self.through)),
            ("touch", format!("\"{}\"", self.touch)),
            ("work", underscored(self.work)),
        ]
    }
}

fn read(fields: &Fields<'_>, around: &Around<'_, '_>) -> Result<Chains, Fault> {
    check_two_accounts(around)?;
    let conflict_share = fields.share("conflict")?.unwrap_or(1.0);
    let lengths = fields.count_list("lengths", &LENGTHS)?;
    // Each has the place of an account, which does not send.
    let hotspots = Range {
        least: 1,
        most: around.state.account_count.min(PLACES_MAX).saturating_sub(1).max(1),
        below: "the fewest",
        above: "the accounts, at most 1,000,000, without one that sends",
    };
    let groups = match (lengths, fields.count("hotspots", &hotspots)?) {
        (None, None) => Groups::Lengths(vec![DEFAULT_LENGTH]),
        (Some(lengths), None) => Groups::Lengths(checked(fields, lengths, conflict_share)?),
        (None, Some(count)) => Groups::Hotspots(count),
        _ => return Err(fields.exactly_one(["lengths", "hotspots"], Remedy::text("5"))),
    };
    Ok(Chains {
        conflict_share,
        groups,
        shape: fields.named("shape")?.unwrap_or(Shape::Shared),
        order: fields.named("order")?.unwrap_or(GroupOrder::Shuffled),
        through: fields.named("through")?.unwrap_or(Through::Slot),
        touch: fields.named("touch")?.unwrap_or(Touch::Last),
        work: fields.count("work", &WORK)?.unwrap_or(DEFAULT_WORK),
    })
}

/// Lengths in which somebody meets somebody, if any shall.
fn checked(fields: &Fields<'_>, lengths: Vec<u64>, conflict_share: f64) -> Result<Vec<u64>, Fault> {
    let example = Remedy::list(&["5"]).and("or several, such as 1, 2 and 5, for a mix");
    if lengths.is_empty() {
        return Err(fields.fault("lengths", Misfit::new("the list is empty", example)));
    }
    if conflict_share > 0.0 && lengths.iter().all(|length| *length == 1) {
        let rule = format!("a group of 1 meets nobody, and conflict = {conflict_share} is asked");
        let remedy = example.and("or conflict = 0.0");
        return Err(fields.fault("lengths", Misfit::new(rule, remedy)));
    }
    Ok(lengths)
}
