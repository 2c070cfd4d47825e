//! Laws of the page of a run on several databases.

use result::{RunResult, example::pooled};

use crate::{Paint, html, table, tests::shown};

#[test]
fn what_chance_explains_between_databases_is_said_to_be_so() {
    // The same six times on each database, in another order, but for 0.1 %; and databases apart.
    let times = |apart: u64| -> Vec<Vec<u64>> {
        let of =
            |db: u64| (0..6).map(|n| 10_000 + 10 * apart * db + 100 * ((n + db) % 6)).collect();
        (0..4).map(of).collect()
    };
    let p = |result: &RunResult| {
        result.cells[0].databases.as_ref().expect("of several").time_spread.expect("four").between_p
    };
    let (alike, apart) = (pooled(&times(1)), pooled(&times(300)));
    assert!(p(&alike).is_some_and(|p| p > 0.5), "{:?}", p(&alike));
    assert!(p(&apart).is_some_and(|p| p < 1e-6), "{:?}", p(&apart));
    for (result, words) in [(alike, "0.9"), (apart, "<0.01")] {
        let page = table(&result, 120, Paint::Plain);
        assert!(page.contains("chance") && page.contains(words), "{page}");
        let html = html::page(&[shown(result)]);
        assert!(html.contains("By chance") && html.contains("between_p"), "{html}");
    }
}

#[test]
fn a_page_names_the_databases_and_counts_them_and_not_their_samples() {
    let result = pooled(&[vec![10; 9], vec![30; 9], vec![20; 9]]);
    for width in [24, 60, 80, 120] {
        let page = table(&result, width, Paint::Plain);
        let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("3 databases, of seeds 10, 11, 12"), "{page}");
        assert!(page.contains("n=3") || width < 60, "{page}");
        assert!(!page.contains("n=27") && !page.contains("n=9"), "{page}");
    }
    let page = table(&result, 120, Paint::Plain);
    assert!(page.contains("10.0–30.0") && page.contains("10.0 30.0 20.0"), "{page}");
}
