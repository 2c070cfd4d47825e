//! Verbs, one file each.

pub mod compare;
pub mod doctor;
pub mod generate;
pub mod help;
pub mod import;
pub mod io;
pub mod report;
pub mod run;
pub mod scenarios;
pub mod state;
