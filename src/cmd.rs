//! Verbs, one file each.

pub mod compare;
pub mod doctor;
pub mod generate;
pub mod import;
pub mod run;
pub mod scenarios;
pub mod state;
