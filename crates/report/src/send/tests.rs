//! Laws of the page of a load on a node.

use result::example::send::{troubled, typical};

use super::*;
use crate::tests::fits;

#[test]
fn a_whole_load_ends_with_its_finding() {
    let page = send_table(&typical(), 80, Paint::Plain);
    for words in
        ["all 20 transactions are in blocks, half of them within 1.10 s", "block 2", "open loop"]
    {
        assert!(page.contains(words), "{words:?} is not in {page}");
    }
    assert!(!page.contains("block 3"), "it has none of the load: {page}");
}

#[test]
fn a_load_that_is_too_small_for_a_median_does_not_say_half() {
    let mut few = typical();
    (few.latency.inclusion_ns.p50, few.latency.inclusion_ns.max) = (None, Some(2_000_000_000));
    let page = send_table(&few, 80, Paint::Plain);
    assert!(page.contains("are in blocks, all within 2.00 s"), "{page}");
}

#[test]
fn what_is_missing_is_counted_and_troubles_are_told() {
    let page = send_table(&troubled(), 160, Paint::Plain);
    for words in [
        "6 of 20 transactions did not succeed: 2 reverted, 2 in no block, 1 refused, 1 never sent",
        "14 included, 2 reverted, 2 in no block, 1 refused, 1 never sent",
        "7 connection while sending; the first: connection reset",
        "1 reorganisation removed 2 blocks and undid 3 inclusions",
        "7 calls repeated with the same bytes, 2 known to the node already, 3 sent again",
        "3 sent again because the node had forgotten them",
    ] {
        assert!(page.contains(words), "{words:?} is not in {page}");
    }
}

#[test]
fn no_line_is_wider_than_the_page() {
    for width in [40, 60, 80, 200] {
        for load in [typical(), troubled()] {
            let page = send_table(&load, width, Paint::Plain);
            fits(&page, width);
        }
    }
}
