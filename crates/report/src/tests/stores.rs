//! Runs over several stores: each fact once, behind the stores that it is of.

use variant::{CacheMode, StoreKind};

use crate::{Paint, facts, formats, table};

use super::{shown, two_stores};

#[test]
fn words_that_stores_share_are_told_once() {
    let mut result = two_stores();
    for cell in &mut result.cells {
        if cell.store == StoreKind::Memory {
            (cell.store, cell.cache.want) = (StoreKind::Mdbx, Some(CacheMode::Cold));
        }
        cell.cache.proved = None;
        cell.cache.reason = "no counter".to_owned();
        cell.samples.truncate(2);
    }
    let text = table(&result, 120, Paint::Plain);
    let count = |words: &str| text.matches(words).count();
    assert_eq!(count("cache    rocksdb, mdbx: cold not proved: no counter"), 1, "{text}");
    assert_eq!(count("\ncache "), 1, "{text}");
    let words = [("a", StoreKind::Rocksdb), ("b", StoreKind::Mdbx), ("a", StoreKind::Flat)];
    let grouped = facts::by_words(words.map(|(words, store)| (store, words.to_owned())));
    let grouped: Vec<_> = grouped.iter().map(|(of, words)| (of.as_str(), words.as_str())).collect();
    assert_eq!(grouped, [("rocksdb, flat", "a"), ("mdbx", "b")]);
}

#[test]
fn a_store_without_a_device_has_no_cold_state_on_any_page() {
    let result = two_stores();
    let text = table(&result, 120, Paint::Plain);
    let words = "memory: no cold state: the memory store has no device";
    assert!(text.contains(words), "{text}");
    assert!(!text.contains("memory: cold"), "{text}");
    let csv = formats::csv(&[shown(result)]);
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().unwrap();
    let column = |name: &str| head.iter().position(|head| *head == name).unwrap();
    let (store, cache) = (column("store"), column("cache"));
    for line in lines {
        let expected = if line[store] == "memory" { "" } else { "cold" };
        assert_eq!(line[cache], expected, "{csv}");
    }
}

#[test]
fn a_state_says_where_its_slots_come_from() {
    let state = |all: u64, sized: Option<u64>| {
        let mut result = two_stores();
        (result.workload.state_slot_count, result.workload.sized_slot_count) = (all, sized);
        let text = table(&result, 120, Paint::Plain);
        text.lines().find(|line| line.starts_with("state ")).expect("a state").to_owned()
    };
    let needed = state(300_000, Some(0));
    assert!(needed.contains("300k slots (as many as the work needs), "), "{needed}");
    let both = state(1_300_000, Some(1_000_000));
    let words = "1.3M slots (1M asked for, 300k that the work needs beside them), ";
    assert!(both.contains(words), "{both}");
    for (all, sized) in [(1_000_000, Some(1_000_000)), (300_000, None), (0, Some(0))] {
        assert!(!state(all, sized).contains('('), "{all} of {sized:?}");
    }
}
