//! What became of a claim.

/// What became of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The near end of the interval keeps the bound.
    Holds,
    /// It does not.
    Fails,
    /// There are too few samples to tell.
    Inconclusive,
    /// The claim is about another store, cache state or design than was run.
    NotJudged,
}

impl Verdict {
    /// Name in a result.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
            Self::Inconclusive => "inconclusive",
            Self::NotJudged => "not judged",
        }
    }
}
