//! Mines the slot keys of deep storage tries: `mine_deep_keys [CANDIDATES [NIBBLES]]`. The
//! arguments are the number of candidate keys and the number of shared nibbles; they default to the
//! constants of `crates/workload/src/deep.rs`. Prints each key with its hash and the number of
//! nibbles that the hash shares with the first key's, and the time of the search.
#![expect(clippy::print_stdout, reason = "an example prints what it mined")]

use std::{env, error::Error, time::Instant};

use alloy_primitives::{B256, U256, keccak256};
use workload::deep::{self, DEEP_CANDIDATE_COUNT, DEEP_NIBBLE_COUNT};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = env::args().skip(1);
    let mut count = |usual: u32| args.next().map_or(Ok(usual), |given| given.parse::<u32>());
    let candidate_count = count(DEEP_CANDIDATE_COUNT)?;
    let nibble_count = count(DEEP_NIBBLE_COUNT)?;
    let start = Instant::now();
    let keys = deep::mine(candidate_count, nibble_count)
        .ok_or("no chain of so many nibbles among these candidates")?;
    let seconds = start.elapsed().as_secs_f64();
    for key in &keys {
        let shared = deep::shared_nibble_count(U256::from(keys[0]), U256::from(*key));
        let hash = keccak256(B256::from(U256::from(*key)));
        println!("{key:>9}  {hash}  shares {shared}");
    }
    println!("{keys:?}");
    println!("{candidate_count} hashes, {seconds:.1} s");
    Ok(())
}
