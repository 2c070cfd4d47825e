//! Verbs, one file each.

pub mod compare;
pub mod describe;
pub mod doctor;
pub mod generate;
pub mod import;
pub mod io;
pub mod kinds;
pub mod new;
pub mod run;
pub mod scenarios;
pub mod state;
pub mod sweep;
