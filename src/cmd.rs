//! Verbs, one file each.

pub mod calibrate;
pub mod compare;
pub mod describe;
pub mod doctor;
mod drive;
pub mod gate;
pub mod generate;
pub mod help;
pub mod import;
pub mod io;
pub mod kinds;
pub mod new;
pub mod report;
pub mod run;
pub mod scenarios;
pub mod state;
pub mod sweep;
