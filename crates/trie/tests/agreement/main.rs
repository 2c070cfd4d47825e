//! Tries against `alloy_trie::HashBuilder`, which shares no code with ours: built, updated by random
//! writes in every format and number of shards, with faults planted, and from wrong input.

mod building;
mod faults;
mod nodes;
mod oracle;
mod sizes;
mod updating;
mod vectors;
