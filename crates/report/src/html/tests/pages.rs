//! Pages of several stores and of sweeps.

use super::{
    history::results,
    sustained::many_blocks,
    sweeps::{over_gas_and_threads, swept},
    *,
};

/// A run on three stores whose throughputs lie far apart.
fn three_stores() -> Shown {
    use variant::StoreKind;
    result(|run| {
        let (own, facts) = (run.cells.clone(), run.stores[0].clone());
        for (store, times) in [(StoreKind::Mdbx, 0.5), (StoreKind::Memory, 30.0)] {
            let mut facts = facts.clone();
            facts.store = store;
            facts.facts.insert("shape".to_owned(), format!("shape of {store}").into());
            run.stores.push(facts);
            run.cells.extend(own.iter().cloned().map(|mut cell| {
                let faster = |figure: &mut Option<f64>| *figure = figure.map(|one| one * times);
                cell.store = store;
                cell.variant = cell.variant.replace("rocksdb", store.name());
                faster(&mut cell.mgas_per_s.median);
                cell.mgas_per_s.ci95 = cell.mgas_per_s.ci95.map(|ends| ends.map(|one| one * times));
                cell
            }));
        }
        run.stores[0].facts.insert("shape".to_owned(), "shape of rocksdb".into());
    })
}

#[test]
fn stores_are_headings_by_their_names_and_far_apart_ones_have_scales_of_their_own() {
    let results = [three_stores()];
    let html = page(&results);
    compared(&elements(&html), &jsons(&results));
    let groups: Vec<&str> = html.split("<p class=\"group\">").skip(1).collect();
    let groups: Vec<&str> =
        groups.iter().filter_map(|rest| Some(rest.split_once('<')?.0)).collect();
    assert_eq!(groups, ["rocksdb", "mdbx", "memory"]);
    assert_eq!(html.matches("aria-label=\"Throughput by variant\"").count(), 3);
    assert!(!html.contains("<p class=\"over\">shape"), "no heading is a store's own fact");
}

#[test]
fn a_sweep_opens_with_its_map_and_the_settings_that_vary_and_has_one_machine_table() {
    let cells = swept(|run| {
        run.warnings = vec![format!("the load average was {}", run.workload.gas)];
    });
    let html = page(&cells);
    let place = |id: &str| html.find(&format!("<section id=\"{id}\"")).expect(id);
    assert!(place("verdict") < place("heat") && place("heat") < place("varied"));
    assert!(place("varied") < place("throughput"));
    let machine = &html[place("environment")..place("results")];
    assert!(machine.contains("<th scope=\"col\">Fact</th><th scope=\"col\">Value</th></tr>"));
    assert_eq!(html[place("warnings")..place("environment")].matches("<li>").count(), 1);
    // Beside a few single runs the map is one figure among others.
    let html = page(&sweep());
    assert!(html.find("id=\"heat\"") > html.find("id=\"throughput\""));
}

#[test]
fn pages_to_look_at_are_written_where_somebody_names_a_folder() {
    let Some(folder) = std::env::var_os("STRESS_PAGES") else { return };
    let folder = std::path::Path::new(&folder);
    let write = |name: &str, page: String| {
        std::fs::write(folder.join(name), page).expect("the folder is there");
    };
    write("run.html", page(&[result(|_| ())]));
    write("stores.html", page(&[three_stores()]));
    write("sweep.html", page(&swept(|_| ())));
    write("axes.html", page(&over_gas_and_threads()));
    write("gate.html", page(&[result_of_gate()]));
    write("blocks.html", page(&[many_blocks(200)]));
    write("history.html", crate::html::history(&results(24, 15)));
    let loads = [example::send::typical(), example::send::troubled()];
    write("loads.html", crate::html::page_of_loads(&loads::loads(loads.to_vec()).0));
}

#[test]
fn the_answer_of_every_store_stands_open() {
    use variant::StoreKind;
    let shown = result(|run| {
        let mut cell = run.cells[4].clone();
        (cell.store, cell.variant) = (StoreKind::Memory, cell.variant.replace("rocksdb", "memory"));
        run.cells.push(cell);
        let mut facts = run.stores[0].clone();
        facts.store = StoreKind::Memory;
        run.stores.push(facts);
    });
    let html = page(&[shown]);
    for store in ["rocksdb", "memory"] {
        let found = format!(">{store}: batched-io 2+64io: ");
        let headline = format!("</span> {store}: batched-io 2+64io: ");
        let count = html.matches(&found).count() + html.matches(&headline).count();
        assert_eq!(count, 1, "{store}");
    }
    assert_eq!(html.matches("<li><b>limit</b> ").count(), 2);
}

#[test]
fn a_share_of_the_disk_that_there_cannot_be_has_its_reason() {
    use variant::CacheMode;
    let of = |want: Option<CacheMode>| {
        page(&[result(|run| {
            for cell in &mut run.cells {
                cell.cache.want = want;
                cell.device_fraction = None;
            }
        })])
    };
    let warm = of(Some(CacheMode::Warm));
    assert!(warm.contains("not applicable: warm"), "{warm}");
    assert!(of(None).contains("not applicable: no device"));
    assert!(!of(Some(CacheMode::Cold)).contains("not applicable"));
}

#[test]
fn reads_of_calls_that_read_no_block_have_no_depth() {
    let run = |depth: f64| {
        result(move |run| run.cells.iter_mut().for_each(|cell| cell.reads_in_flight = Some(depth)))
    };
    assert!(page(&[run(0.67)]).contains("/cells/4/reads_in_flight\""));
    assert!(!page(&[run(0.0)]).contains("/cells/4/reads_in_flight\""));
}
