//! The page is compared with the results that it is made of, read back element by element.

use serde_json::Value;

#[path = "../../../../tests/common/page.rs"]
mod page;
#[path = "../../../../tests/common/rendered.rs"]
mod rendered;

mod history;
mod in_a_browser;
mod limits;
mod loads;
mod pages;
mod sustained;
mod sweeps;

use super::{calibration, page};
use crate::{
    Calibrated, UnfinishedWorkload,
    tests::{build, profile, result, shift, shown, shown_gate},
};
use page::{Element, compared, elements};
use result::{ClaimVerdict, Content, RunResult, Shown, example, gate, sweep::Keys};

fn jsons(results: &[Shown]) -> Vec<Value> {
    let json = |shown: &Shown| match &shown.content {
        Content::Run(run) => serde_json::to_value(run),
        Content::Gate(gate) => serde_json::to_value(gate),
    };
    results.iter().map(|shown| json(shown).unwrap()).collect()
}

fn ids(elements: &[Element]) -> Vec<&str> {
    elements.iter().map(|element| element.get("id")).filter(|id| !id.is_empty()).collect()
}

/// Checks that the page has elements with these ids, which spaces part.
fn has_ids(elements: &[Element], all: &str) {
    let ids = ids(elements);
    all.split(' ').for_each(|id| assert!(ids.contains(&id), "{id} is not in {ids:?}"));
}

/// Checks that the page shows the numbers at these places of a result, which white space parts.
fn has_places(places: &[(usize, String)], result: usize, all: &str) {
    for at in all.split_whitespace() {
        assert!(places.contains(&(result, at.to_owned())), "{at} of {result} is not on the page");
    }
}

/// Results of a sweep over gas and threads.
fn sweep() -> Vec<Shown> {
    let mut results = Vec::new();
    for gas in [64_000_000_u64, 640_000_000] {
        for io_threads in [4_u64, 16, 64] {
            results.push(result(|run| {
                run.workload.gas = gas;
                run.workload.digest = format!("0x{gas}");
                let mut cell = run.cells[4].clone();
                cell.io_threads = io_threads;
                cell.variant = format!("rocksdb/batched-io/bal+batched@2+{io_threads}io");
                let speed = io_threads as f64 * 3.5 + gas as f64 / 1e8;
                cell.mgas_per_s.median = Some(speed);
                // Intervals that lie apart.
                let ms = gas as f64 / 1e3 / speed;
                cell.ms_per_batch.median = Some(ms);
                cell.ms_per_batch.ci95 = Some([ms * 0.99, ms * 1.01]);
                run.cells = vec![cell];
            }));
        }
    }
    results
}

#[test]
fn every_number_is_the_one_of_its_result_and_every_cell_is_there() {
    let results = [result(|_| ())];
    let elements = elements(&page(&results));
    let places = compared(&elements, &jsons(&results));
    let of_cell = "/mgas_per_s/median /mgas_per_s/ci95/0 /mgas_per_s/ci95/1 /ms_per_batch/median \
         /ms_per_batch/ci95/1 /tx_latency_ns/p50 /read_latency_ns/p50 /read_latency_ns/p99 \
         /read_latency_ns/max /device_fraction /samples/*/phases_ns/execute /samples/*/wall_ns \
         /samples/*/disk_requests /samples/*/device_read_bytes";
    for cell in 0..5 {
        let keys = of_cell.split(' ').map(|key| format!("/cells/{cell}{key} "));
        has_places(&places, 0, &keys.collect::<String>());
    }
    let has_bucket = |(_, at): &(_, String)| at.ends_with("/tx_latency_histogram/1/count");
    assert!(places.iter().any(has_bucket), "no histogram is on the page");
    let of_result = "/workload/bal/batched_io_bytes /device/ceiling_iops /workload/gas";
    has_places(&places, 0, of_result);
    let sections = "verdict throughput tx-latency read-latency threads io-threads phases list-size \
         warnings environment results";
    has_ids(&elements, sections);
}

#[test]
fn every_number_of_a_client_is_the_one_of_its_result() {
    let results = [shown(example::client::beside_designs())];
    let elements = elements(&page(&results));
    let places = compared(&elements, &jsons(&results));
    let of_client = "/clients/0/ms_per_batch/median /clients/0/ms_per_batch/ci95/1 \
         /clients/0/mgas_per_s/median /clients/0/own_ms_per_batch/median \
         /clients/0/in_order_ratio /clients/0/samples/*/cpu_ns \
         /clients/0/samples/*/device_read_bytes";
    has_places(&places, 0, of_client);
    has_ids(&elements, "clients");
}

#[test]
fn each_database_is_one_value_of_a_phase_however_many_samples_it_has() {
    let results = [shown(example::pooled(&[vec![1, 1, 1, 1], vec![3, 3], vec![5, 5]]))];
    let elements = elements(&page(&results));
    compared(&elements, &jsons(&results));
    let wall = elements.iter().find(|one| one.get("data-at") == "/cells/0/samples/*/wall_ns");
    assert_eq!(wall.unwrap().get("data-value"), "3000000");
}

#[test]
fn a_number_that_is_not_the_results_is_found() {
    let results = [result(|_| ())];
    let html = page(&results);
    let shown = "data-value=\"290912\"";
    assert!(html.contains(shown));
    let elements = elements(&html.replacen(shown, "data-value=\"290913\"", 1));
    let compared = std::panic::catch_unwind(|| compared(&elements, &jsons(&results)));
    assert!(compared.is_err());
}

#[test]
fn a_sweep_has_heat_maps_and_lines_over_its_results() {
    let results = sweep();
    let html = page(&results);
    let elements = elements(&html);
    compared(&elements, &jsons(&results));
    has_ids(&elements, "heat io-threads");
    let fields: Vec<&Element> =
        elements.iter().filter(|element| element.get("class").starts_with("field")).collect();
    assert_eq!(fields.len(), 6);
    let best: Vec<_> = fields.iter().filter(|field| field.get("class").contains("best")).collect();
    assert_eq!(best.len(), 1);
    assert!(best[0].get("title").ends_with("+64io"), "{best:?}");
}

#[test]
fn a_page_asks_for_nothing_and_runs_nothing() {
    let mut all = vec![result(|run| run.profile = Some(profile()))];
    all.extend(sweep());
    let html = page(&all);
    for word in ["http:", "https:", "<script", "@import", "url(", "<iframe", "<object", " on"] {
        let found =
            html.match_indices(word).find(|(at, _)| word != " on" || is_handler(&html[*at..]));
        assert!(found.is_none(), "{word}");
    }
    for element in elements(&html) {
        assert!(element.get("src").is_empty(), "{element:?}");
        let link = element.get("href");
        assert!(link.is_empty() || link.starts_with('#') || link == "data:,", "{link}");
    }
}

/// ` onclick=`
fn is_handler(text: &str) -> bool {
    let word = text.trim_start().split([' ', '>', '\n']).next().unwrap_or_default();
    word.split_once('=').is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_lowercase()))
}

#[test]
fn text_of_a_result_stays_text() {
    let evil = "</style></title><script>alert(1)</script>\" onload='x' &amp; \u{1b}[31m";
    let results = [
        result(|run| {
            run.workload.scenario = evil.to_owned();
            run.conclusion = Some(evil.to_owned());
            run.warnings = vec![evil.to_owned()];
            run.command = vec![evil.to_owned()];
            run.cells[0].variant = evil.to_owned();
            run.environment.cpu.model = Some(evil.to_owned());
            run.expects.claims[0].metric = evil.to_owned();
            run.stores[0].facts.insert(evil.to_owned(), evil.into());
            let mut profile = profile();
            profile.frames[0].name = evil.to_owned();
            run.profile = Some(profile);
        }),
        result(|run| {
            run.agree = Some(false);
            run.disagreements = vec![evil.to_owned()];
        }),
    ];
    let html = page(&results);
    assert!(!html.contains("<script"));
    assert!(!html.contains('\u{1b}'));
    let elements = elements(&html);
    assert!(elements.iter().all(|element| element.get("onload").is_empty()));
}

#[test]
fn of_designs_that_disagree_no_figure_is_shown() {
    for change in [
        |run: &mut RunResult| run.agree = Some(false),
        |run: &mut RunResult| run.cells[1].samples[3].agree = false,
    ] {
        let results = [result(change), result(|_| ())];
        let html = page(&results);
        assert!(html.contains("class=\"verdict bad\""));
        let places = compared(&elements(&html), &jsons(&results));
        let figures = places.iter().filter(|(result, at)| *result == 0 && at.starts_with("/cells"));
        assert_eq!(figures.count(), 0);
        assert!(places.iter().any(|(result, at)| *result == 1 && at.starts_with("/cells")));
    }
}

#[test]
fn the_verdict_says_what_is_worst() {
    let fails = |run: &mut RunResult| {
        run.expects.status = Some(ClaimVerdict::Fails.name().to_owned());
        run.expects.claims[0].verdict = ClaimVerdict::Fails;
    };
    let gate = result_of_gate();
    for (html, class, words) in [
        (page(&[result(|_| ())]), "good", "</span> batched-io 2+64io: 4.90 s of execution"),
        (page(&[result(|_| ()), result(|_| ())]), "good", "All designs agree in all 2 results"),
        (page(&[result(fails)]), "bad", "Claim fails: bal_bytes(batched-io)"),
        (page(&[result(|_| ()), gate]), "bad", "Gate: regression"),
        (page(&[result(|run| run.interrupted = true)]), "open", "Interrupted"),
    ] {
        assert!(html.contains(&format!("class=\"verdict {class}\"")), "{class}");
        assert!(html.contains(words), "{words}");
    }
}

#[test]
fn whoever_cannot_see_has_the_same() {
    let html = page(&sweep());
    let elements = elements(&html);
    for mark in elements.iter().filter(|element| element.get("role") == "img") {
        assert_eq!(mark.get("tabindex"), "0", "{mark:?}");
        assert!(mark.get("aria-label").len() > 10, "{mark:?}");
        assert!(!mark.get("data-at").is_empty(), "{mark:?}");
    }
    assert!(elements.iter().any(|element| element.get("role") == "img"));
    let ids = ids(&elements);
    let unique: std::collections::BTreeSet<_> = ids.iter().collect();
    assert_eq!(unique.len(), ids.len(), "{ids:?}");
    for element in &elements {
        let by = element.get("aria-labelledby");
        assert!(by.is_empty() || ids.contains(&by), "{by}");
        if let Some(id) = element.get("href").strip_prefix('#') {
            assert!(ids.contains(&id), "{id}");
        }
    }
    // Each number that a mark has stands in a table, too.
    let marks = elements.iter().filter(|element| element.get("role") == "img");
    let told: Vec<_> = elements.iter().filter(|element| element.name == "data").collect();
    for mark in marks {
        let same = |data: &&&Element| {
            ["data-at", "data-result"].iter().all(|key| data.get(key) == mark.get(key))
        };
        assert!(told.iter().find(same).is_some_and(|data| !data.text.is_empty()), "{mark:?}");
    }
}

#[test]
fn a_result_of_nothing_is_a_page_all_the_same() {
    let unknown = |run: &mut RunResult| {
        run.agree = None;
        run.device = None;
        run.conclusion = None;
        run.stores.clear();
    };
    let bare = |run: &mut RunResult| {
        unknown(run);
        run.cells.clear();
    };
    let no_sample = |run: &mut RunResult| {
        unknown(run);
        run.agree = Some(true);
        run.cells.iter_mut().for_each(|cell| cell.samples.clear());
    };
    for results in [[result(unknown)], [result(bare)], [result(no_sample)]] {
        compared(&elements(&page(&results)), &jsons(&results));
    }
}

/// The result of a gate that found a regression, and compared with a stored result, too.
fn result_of_gate() -> Shown {
    let mut result = example::gate::passed();
    result.workload = None;
    result.gate.verdict = Some(gate::Verdict::Regression);
    result.gate.reason = "a <b> takes longer; by <c>".to_owned();
    let cell = &mut result.gate.attempts[0].cells[0];
    cell.counter_changes = vec!["store_reads: 5 → 6".to_owned()];
    let judged = &mut cell.figures[0];
    judged.delta = 0.042;
    let look = gate::LookFacts { change: 0.051, lower: 0.04, upper: 0.07, ..judged.looks[0] };
    judged.looks.push(look);
    result.gate.baseline =
        Some(gate::Compared { ratios: vec![shift()], ..gate::Compared::default() });
    shown_gate(result)
}

#[test]
fn a_gates_own_result_has_its_verdict_and_each_figure_that_it_judged() {
    let results = [result_of_gate()];
    let html = page(&results);
    let elements = elements(&html);
    let places = compared(&elements, &jsons(&results));
    assert!(
        html.contains("class=\"verdict bad\"") && html.contains("Gate: regression: a &lt;b&gt;")
    );
    assert!(!html.contains("Nothing was compared"));
    let of_gate = "/gate/attempts/0/cells/0/figures/0/looks/1/lower \
         /gate/baseline/ratios/0/upper /gate/attempts/0/cells/0/figures/0/delta";
    has_places(&places, 0, of_gate);
    assert!(html.contains("store_reads: 5 → 6") && html.contains("+5.1 %"));
    assert!(html.contains("<th scope=\"col\">Allowed</th>") && html.contains(">4.2 %</data>"));
    assert!(html.contains("a &lt;b&gt; takes longer</h2>"), "the finding alone: {html}");
    assert_eq!(html.matches("a &lt;b&gt; takes longer").count(), 1, "the headline once: {html}");
    assert!(html.contains("</span> by &lt;c&gt;</li>"), "the rest below it: {html}");
}

#[test]
fn a_page_of_a_gate_names_the_builds_and_the_setting_that_was_compared() {
    let mut result = example::gate::passed();
    let of_a = [("run.read", "multi-get", true), ("run.commit", "<all>", false)];
    let of_b = [("run.read", "get", false), ("run.commit", "logged", true)];
    result.binaries = vec![build('A', &of_a), build('B', &of_b)];
    let program = format!("stress {}", result.binaries[0].program.name());
    let html = page(&[shown_gate(result.clone())]);
    for words in [">A</th>", ">B</th>", "/opt/&lt;stress&gt;", &program] {
        assert!(html.contains(words), "{words}: {html}");
    }
    for words in [
        "<code>run.read = multi-get (default), run.commit = &lt;all&gt;</code>",
        "<code>run.read = get, run.commit = logged (default)</code>",
    ] {
        assert!(html.contains(words), "{words}: {html}");
    }
    result.binaries = vec![build('A', &[])];
    let html = page(&[shown_gate(result.clone())]);
    assert!(html.contains(">none</td>"), "{html}");
    result.binaries.clear();
    result.gate.attempts.clear();
    let changes = vec!["rocksdb.checksums: verify → skip".to_owned()];
    result.gate.baseline = Some(gate::Compared {
        path: "main/".to_owned(),
        process_counts: [6, 1],
        setting_changes: changes,
        ..gate::Compared::default()
    });
    let html = page(&[shown_gate(result)]);
    assert!(html.contains("<code>main/</code>") && html.contains("Settings that differ"), "{html}");
    assert!(html.contains("rocksdb.checksums: verify → skip"), "{html}");
}

#[test]
fn a_profile_names_its_functions_and_its_flame_graph() {
    let results = [result(|run| run.profile = Some(profile()))];
    let html = page(&results);
    let places = compared(&elements(&html), &jsons(&results));
    has_places(&places, 0, "/profile/frames/0/self_share");
    assert!(html.contains("flame-graph-1.svg") && html.contains("executor::engine::bal"));
}

#[test]
fn a_calibration_has_the_times_of_its_results_and_those_without_figures() {
    let of = |scenario: &str| {
        let mut run = example::client::beside_designs();
        run.workload.scenario = scenario.to_owned();
        shown(run)
    };
    let results = [of("storm"), of("<chase>"), of("copies")];
    let unfinished =
        [UnfinishedWorkload { scenario: "dapps".to_owned(), reason: "exit code <6>".to_owned() }];
    let page = calibration(&Calibrated { results: &results, unfinished: &unfinished });
    let elements = elements(&page);
    let places = compared(&elements, &jsons(&results));
    for result in 0..3 {
        let times = "/clients/0/ms_per_batch/median /cells/4/ms_per_batch/median";
        has_places(&places, result, times);
    }
    has_ids(&elements, "ranks workloads environment results");
    assert!(page.contains("geth against our designs on 3 workloads"));
    assert!(page.contains("&lt;chase&gt;") && page.contains("exit code &lt;6&gt;"));
}
