//! `amm`: swaps at constant-product pairs, one of them hot.

use super::super::fault::Fault;
use super::super::fields::{Fields, Range};
use super::super::quantity::underscored;
use super::{Around, Kind, LoadKind, people};

/// Swaps of tokens at pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct Amm {
    /// Pairs of tokens; 1 to 1,000.
    pub pair_count: u64,
    /// Share of the traders that trade at the hot pair; the others are spread over the other pairs.
    pub hot_share: f64,
    /// Accounts that trade, each at one pair; 1 to the number of accounts.
    pub trader_count: u64,
}

/// Each pair is two contracts written out in the state's recipe: their number bounds its memory.
const PAIRS: Range =
    Range { least: 1, most: 1_000, below: "the hot pair", above: "the most that is supported" };
const DEFAULT_PAIR_COUNT: u64 = 100;
const DEFAULT_HOT_SHARE: f64 = 0.25;
const DEFAULT_TRADER_COUNT: u64 = 20_000;

pub(super) const KIND: Kind = Kind { name: "amm", keys: &["pairs", "hot", "traders"], read };

impl Amm {
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        vec![
            ("pairs", underscored(self.pair_count)),
            ("hot", format!("{:?}", self.hot_share)),
            ("traders", underscored(self.trader_count)),
        ]
    }
}

fn read(fields: &Fields<'_>, around: &Around<'_, '_>) -> Result<LoadKind, Fault> {
    Ok(LoadKind::Amm(Amm {
        pair_count: fields.count("pairs", &PAIRS)?.unwrap_or(DEFAULT_PAIR_COUNT),
        hot_share: fields.share("hot")?.unwrap_or(DEFAULT_HOT_SHARE),
        trader_count: people(fields, around, "traders", (1, DEFAULT_TRADER_COUNT))?,
    }))
}
