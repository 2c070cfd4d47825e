//! `compute`: work that touches no state.

use super::kind::{Around, Kind};
use crate::fault::Fault;
use crate::fields::{Fields, Range};
use crate::names::Work;
use crate::quantity::underscored;

/// Work without state.
#[derive(Debug, Clone, PartialEq)]
pub struct Compute {
    /// Of which sort.
    pub work: Work,
    /// Rounds of a transaction; as many as its gas allows where it is not said.
    pub round_count: Option<u64>,
}

const ROUNDS: Range =
    Range { least: 1, most: 1_000_000, below: "a round", above: "the most that is supported" };

pub(super) const KIND: Kind<Compute> = Kind { name: "compute", keys: &["work", "rounds"], read };

impl Compute {
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        let work = ("work", format!("\"{}\"", self.work));
        let rounds = self.round_count.map(|count| ("rounds", underscored(count)));
        [work].into_iter().chain(rounds).collect()
    }
}

fn read(fields: &Fields<'_>, _: &Around<'_, '_>) -> Result<Compute, Fault> {
    let work = fields.named("work")?.unwrap_or(Work::Keccak);
    let round_count = fields.count("rounds", &ROUNDS)?;
    Ok(Compute { work, round_count })
}
