//! The values of a key, noted as the reader asks for it, so that other texts on the format
//! follow the reader.

/// The values that a key takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Text in quotes.
    Text,
    /// A count, from the least to the most.
    Count(u64, u64),
    /// A list of counts.
    Counts(u64, u64),
    /// A seed.
    Seed,
    /// A number from 0 to 1.
    Share,
    /// A finite number.
    Number,
    /// `true` or `false`.
    Flag,
    /// Bytes, in text with a unit.
    Size,
    /// A time, in text with a unit.
    Duration,
    /// One of these names.
    Name(Vec<&'static str>),
    /// A list of these names.
    Names(Vec<&'static str>),
    /// One of these names, or a list of them.
    NameOrNames(Vec<&'static str>),
}
