//! Verbs, one file each: its arguments, their plain values, and its output.

pub mod bal;
pub mod baseline;
pub mod client;
pub mod compare;
pub mod describe;
pub mod doctor;
pub mod export;
pub mod gate;
pub mod generate;
pub mod help;
pub mod import;
pub mod io;
pub mod limit;
pub mod new;
pub mod rank;
pub mod report;
pub mod run;
pub mod scenarios;
pub mod schema;
pub mod send;
pub mod shard;
pub mod simulate;
pub mod state;
pub mod sweep;
