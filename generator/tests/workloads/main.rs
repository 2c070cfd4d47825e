//! The laws of generated, described and imported workloads.

mod blockchain_tests;
mod blocks;
mod chains;
mod compose;
mod describe;
mod everyday;
mod export;
mod fill;
mod generate;
mod geth;
mod graphs;
mod import;
mod limit;
mod lists;
mod loads;
mod nodes;
mod official;
mod receipts;
mod rules;
mod storm_forms;
mod storms;
mod tries;
mod twins;
mod vectors;
mod witness;
