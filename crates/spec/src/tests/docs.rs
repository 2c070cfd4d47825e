//! `docs/scenario.md` tells every key.

use crate::{all_paths, shipped};

#[test]
fn every_key_and_every_shipped_scenario_is_documented() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scenario.md");
    let page = std::fs::read_to_string(path).expect("docs/scenario.md");
    for key in all_paths() {
        assert!(page.contains(&format!("`{key}`")), "`{key}` is not in docs/scenario.md");
    }
    for (name, _) in shipped::all() {
        assert!(page.contains(&format!("`{name}`")), "`{name}` is not in docs/scenario.md");
    }
}
