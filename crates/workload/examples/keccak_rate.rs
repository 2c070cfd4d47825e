//! Measures Keccak-256 hashes per second on one thread: eight inputs hashed together, against one
//! input at a time.
#![expect(clippy::print_stdout, reason = "an example prints what it measured")]

use std::{hint::black_box, time::Instant};

use alloy_primitives::keccak256;
use workload::keccak::{keccak256_many_32, keccak256_many_64, keccak256_many_isa};

fn main() {
    let inputs_32: Vec<[u8; 32]> = (0..4096_u32).map(|i| [i as u8; 32]).collect();
    let inputs_64: Vec<[u8; 64]> = (0..4096_u32).map(|i| [i as u8; 64]).collect();
    let mut out = vec![[0; 32]; 4096];
    let rate = |name: &str, work: &mut dyn FnMut()| {
        work();
        let start = Instant::now();
        for _ in 0..500 {
            work();
        }
        let rate = 500.0 * 4096.0 / start.elapsed().as_secs_f64() / 1e6;
        println!("{name}: {rate:.1} M/s");
    };
    println!("instructions: {}", keccak256_many_isa());
    rate("many, 32 bytes", &mut || keccak256_many_32(black_box(&inputs_32), &mut out));
    rate("many, 64 bytes", &mut || keccak256_many_64(black_box(&inputs_64), &mut out));
    rate("one by one, 32 bytes", &mut || {
        for (input, out) in black_box(&inputs_32).iter().zip(&mut out) {
            *out = keccak256(input).0;
        }
    });
}
