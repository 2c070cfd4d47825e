//! Pages of loads on live nodes.

use result::{
    example::send::{troubled, typical},
    send::{SendPool, SendResult},
    stored::StoredLoad,
};

use super::*;
use crate::html::page_of_loads;

pub(super) fn loads(all: Vec<SendResult>) -> (Vec<StoredLoad>, Vec<Value>) {
    let jsons = all.iter().map(|load| serde_json::to_value(load).unwrap()).collect();
    let load = |result| StoredLoad { path: "send.json".into(), result };
    (all.into_iter().map(load).collect(), jsons)
}

#[test]
fn every_number_of_a_load_is_the_one_of_its_result_and_every_chart_is_there() {
    let mut long = troubled();
    let sample = |second: u64| SendPool {
        at_ns: second * 1_000_000_000,
        pending_count: second % 7,
        queued_count: if second == 999 { 5_000 } else { 0 },
    };
    long.pool = (0..1_000).map(sample).collect();
    let (stored, jsons) = loads(vec![typical(), long]);
    let html = page_of_loads(&stored);
    let elements = elements(&html);
    let places = compared(&elements, &jsons);
    let of_typical = "/counts/included_count /included_per_s /blocks/0/own_tx_count \
         /latency/inclusion_ns/p50 /latency/inclusion_histogram/1/count";
    has_places(&places, 0, of_typical);
    let of_long = "/latency/open_histogram/1/count /pool/999/queued_count /attempts/known_count \
         /errors/0/count /read_errors/0/count";
    has_places(&places, 1, of_long);
    let buckets = stored.iter().map(|load| {
        let latency = &load.result.latency;
        latency.inclusion_histogram.len() + latency.open_histogram.len()
    });
    assert_eq!(html.matches("<rect class=\"bin ").count(), buckets.sum::<usize>());
    let drawn = places.iter().filter(|(result, at)| *result == 1 && at.starts_with("/pool/"));
    assert!(drawn.count() <= 2 * 60, "a long load has a mark for several samples");
    has_ids(&elements, "verdict figures blocks inclusion pool calls faults results");
    assert!(html.contains("Transactions are missing or reverted"), "{html}");
}

#[test]
fn a_load_without_blocks_and_pool_has_a_page_and_its_words_are_no_markup() {
    let mut none = troubled();
    (none.blocks, none.pool) = (Vec::new(), Vec::new());
    none.latency = result::send::SendLatency::default();
    none.errors[0].first = "<script>alert(1)</script>".to_owned();
    none.node.version = Some("<b>node</b>".to_owned());
    let (stored, jsons) = loads(vec![none]);
    let html = page_of_loads(&stored);
    compared(&elements(&html), &jsons);
    assert!(!html.contains("<script") && !html.contains("<b>node"), "{html}");
    assert!(!html.contains("id=\"pool\""), "the node tells no pool");
}
