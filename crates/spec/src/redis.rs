//! Rules of a run on the store `redis`: addresses of its cluster's nodes, and no tries. `read.rs`
//! calls it.

use crate::fault::{Fault, Remedy, listed};
use crate::fields::Fields;
use crate::scenario::RunSpec;
use variant::{StoreKind, TrieForm};

/// The key with the addresses.
const ADDRESSES: &str = "redis_addresses";

/// Refuses addresses if no store of the run uses them, and `trie` if a store of the run keeps no
/// tries.
pub(crate) fn check(spec: &RunSpec, fields: &Fields<'_>) -> Result<(), Fault> {
    if !spec.redis_addresses.is_empty() && !spec.stores.contains(&StoreKind::Redis) {
        let names: Vec<&str> = spec.stores.iter().map(|store| store.name()).collect();
        let rule = format!(
            "it says where the redis store is, and the stores of the run are {}",
            listed(&names, "and")
        );
        let advice = format!("add redis to run.stores (--store redis), or leave {ADDRESSES} out");
        return Err(fields.refusal(ADDRESSES, rule, Remedy::advice(&advice)));
    }
    let without = spec.stores.iter().find(|store| !store.has_tries());
    let (Some(store), true) = (without, spec.trie != TrieForm::Nothing) else { return Ok(()) };
    let rule = format!("the {store} store keeps no tries, so its rows have no state root");
    let remedy = Remedy::advice("take another store, or write run.trie = \"none\" (--whole none)");
    let key = if fields.get("trie").is_some() { "trie" } else { "stores" };
    Err(fields.refusal(key, rule, remedy))
}
