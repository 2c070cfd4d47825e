//! The pages name each design, each store and the values of the other axes, and tell of each phase.

use variant::{
    AccountReads, CacheFill, CacheMode, Checksums, CodeReads, Compaction, Design, Durability,
    FileAccess, FilterKind, IndexShape, ListForm, Named, PartitionTime, Partitioner, Phase,
    ReadMethod, ReadOrder, ReadTime, ReaderShare, RootCache, RootReads, RootTime, Schedule,
    StopRule, StoreKind, TrieForm, WarmCache,
};

fn page(name: &str) -> String {
    let path = format!("{}/../../{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The values that a page does not name, as sentences.
fn unnamed<T: Named>(name: &str) -> Vec<String> {
    let page = page(name);
    let names = T::names().into_iter();
    let missing = names.filter(|value| !page.contains(&format!("`{value}`")));
    missing.map(|value| format!("the {} `{value}` is not in {name}", T::NOUN)).collect()
}

fn assert_named<T: Named>(name: &str) {
    assert_eq!(unnamed::<T>(name), [""; 0]);
}

#[test]
fn every_design_is_in_the_pages_on_scenarios_results_and_methods_and_in_the_readme() {
    let pages = ["docs/scenario.md", "docs/result.md", "docs/methodology.md", "README.md"];
    let unnamed: Vec<_> = pages.into_iter().flat_map(unnamed::<Design>).collect();
    assert_eq!(unnamed, [""; 0]);
}

#[test]
fn every_store_is_in_the_page_on_scenarios_and_in_the_readme() {
    assert_named::<StoreKind>("docs/scenario.md");
    let readme = page("README.md").to_lowercase();
    for store in StoreKind::ALL {
        assert!(readme.contains(store.name()), "the store {store} is not in README.md");
    }
}

#[test]
fn every_value_that_a_scenario_takes_is_in_the_page_on_scenarios() {
    let name = "docs/scenario.md";
    assert_named::<ListForm>(name);
    assert_named::<WarmCache>(name);
    assert_named::<Partitioner>(name);
    assert_named::<PartitionTime>(name);
    assert_named::<Schedule>(name);
    assert_named::<CacheMode>(name);
    assert_named::<Durability>(name);
    assert_named::<Checksums>(name);
    assert_named::<CacheFill>(name);
    assert_named::<Compaction>(name);
    assert_named::<ReadMethod>(name);
    assert_named::<FilterKind>(name);
    assert_named::<IndexShape>(name);
    assert_named::<FileAccess>(name);
    assert_named::<ReadTime>(name);
    assert_named::<ReadOrder>(name);
    assert_named::<AccountReads>(name);
    assert_named::<CodeReads>(name);
    assert_named::<StopRule>(name);
    assert_named::<ReaderShare>(name);
    assert_named::<RootTime>(name);
    assert_named::<RootReads>(name);
    assert_named::<RootCache>(name);
    assert_named::<TrieForm>(name);
}

#[test]
fn every_partitioner_is_in_the_page_on_workloads() {
    assert_named::<Partitioner>("docs/workloads.md");
}

#[test]
fn every_phase_has_its_row_in_the_page_on_methods_and_its_key_in_that_on_results() {
    let (methods, results) = (page("docs/methodology.md"), page("docs/result.md"));
    let clock = methods.split("\n## ").find(|part| part.starts_with("The clock\n"));
    let clock = clock.unwrap_or_else(|| panic!("docs/methodology.md has no part \"The clock\""));
    for phase in Phase::ALL {
        let row = format!("\n| `{phase}` |");
        assert!(clock.contains(&row), "the phase `{phase}` has no row in docs/methodology.md");
        let key = format!("`{}`", phase.name().replace('-', "_"));
        assert!(results.contains(&key), "the key {key} of a phase is not in docs/result.md");
    }
}

#[test]
fn every_phase_is_an_event_in_the_page_on_traces() {
    let page = page("docs/performance.md");
    let row = page.lines().find(|line| line.contains("| `phase` |"));
    let row = row.expect("docs/performance.md has a row of the category `phase`");
    for phase in Phase::ALL {
        assert!(row.contains(&format!("`{phase}`")), "no event `{phase}` in docs/performance.md");
    }
}
