//! `amm`: swaps at constant-product pairs, one of them hot.

use super::kind::{Around, Crowd, Kind, people};
use crate::fault::Fault;
use crate::fields::{Fields, Range};
use crate::quantity::underscored;
use crate::sizes::{EXPONENT_MAX, no_exponent};

/// Swaps of tokens at pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct Amm {
    /// Pairs of tokens; 1 to 1,000.
    pub pair_count: u64,
    /// Share of the traders that trade at the hot pair; the others are spread over the other pairs.
    pub hot_share: f64,
    /// Zipf's exponent of that spread: the weight of the k-th of the other pairs is k to the power of
    /// minus this; 0 is evenly.
    pub pair_exponent: f64,
    /// Accounts that trade, each at one pair; 1 to the number of accounts.
    pub trader_count: u64,
}

/// Each pair is two contracts written out in the state's recipe: their number bounds its memory.
const PAIRS: Range =
    Range { least: 1, most: 1_000, below: "the hot pair", above: "the most that is supported" };
const DEFAULT_PAIR_COUNT: u64 = 100;
const DEFAULT_HOT_SHARE: f64 = 0.25;
const DEFAULT_TRADER_COUNT: u64 = 20_000;

pub(super) const KIND: Kind<Amm> =
    Kind { name: "amm", keys: &["pairs", "hot", "pair_zipf", "traders"], read };

impl Amm {
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        let mut entries = vec![
            ("pairs", underscored(self.pair_count)),
            ("hot", format!("{:?}", self.hot_share)),
            ("traders", underscored(self.trader_count)),
        ];
        // Left out where it is the default: the work is the same as before there was the key.
        if self.pair_exponent > 0.0 {
            entries.push(("pair_zipf", format!("{:?}", self.pair_exponent)));
        }
        entries
    }
}

fn read(fields: &Fields<'_>, around: &Around<'_, '_>) -> Result<Amm, Fault> {
    let pair_exponent = fields.number("pair_zipf")?.unwrap_or(0.0);
    if !(0.0..=EXPONENT_MAX).contains(&pair_exponent) {
        return Err(no_exponent(fields, "pair_zipf", pair_exponent, "at least 0, which is evenly"));
    }
    Ok(Amm {
        pair_count: fields.count("pairs", &PAIRS)?.unwrap_or(DEFAULT_PAIR_COUNT),
        hot_share: fields.share("hot")?.unwrap_or(DEFAULT_HOT_SHARE),
        pair_exponent,
        trader_count: people(
            fields,
            around,
            &Crowd { key: "traders", least: 1, usual: DEFAULT_TRADER_COUNT },
        )?,
    })
}
