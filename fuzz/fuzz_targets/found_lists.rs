//! Any bytes are a file with lists or an error.
#![no_main]

use generator::import;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| drop(import::lists("file", bytes)));
