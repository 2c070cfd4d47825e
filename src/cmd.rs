//! Verbs, one file each: its arguments, what they mean as plain values, and what it prints.

pub mod calibrate;
pub mod compare;
pub mod describe;
pub mod doctor;
pub mod export;
pub mod gate;
pub mod generate;
pub mod help;
pub mod import;
pub mod io;
pub mod new;
pub mod report;
pub mod run;
pub mod scenarios;
pub mod state;
pub mod sweep;
