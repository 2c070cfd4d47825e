//! `docs/scenario.md` tells every key and every metric, which is read as it is written.

use crate::{
    all_paths,
    metric::{Kind, metric},
    shipped,
};

#[test]
fn every_metric_is_read_as_it_is_written() {
    for kind in Kind::ALL {
        let text = kind.example();
        let read = metric(&text).unwrap_or_else(|misfit| panic!("{text}: {misfit:?}"));
        assert_eq!(read.to_string(), text);
    }
}

#[test]
fn every_key_every_metric_and_every_shipped_scenario_is_documented() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scenario.md");
    let page = std::fs::read_to_string(path).expect("docs/scenario.md");
    for key in all_paths() {
        assert!(page.contains(&format!("`{key}`")), "`{key}` is not in docs/scenario.md");
    }
    for kind in Kind::ALL {
        assert!(page.contains(&format!("`{kind}(")), "`{kind}(…)` is not in docs/scenario.md");
    }
    for (name, _) in shipped::all() {
        assert!(page.contains(&format!("`{name}`")), "`{name}` is not in docs/scenario.md");
    }
}
