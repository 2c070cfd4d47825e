//! Laws of the page, the finding and the JSON.

use proptest::prelude::*;
use serde_json::Value;
use unicode_width::UnicodeWidthStr;
use variant::{CacheMode, Design, ReadOrder, ReadTime, StoreKind};

use result::example::{self, Threads};

use super::{Paint, conclusion, json, table};
use result::{
    Cell, Content, Estimate, FrameFacts, IoKind, PrefetchFacts, ProfileFacts, RunResult, Shown,
    Stored,
    gate::{Binary, EffectiveSetting, GateResult, Shift, Verdict},
};

mod answer;
mod certainty;
mod clients;
mod device;
pub(crate) mod keys;
mod stores;
mod sustained;

/// Set `SHOW=1` and `--nocapture` to look at the pages.
#[test]
fn every_line_of_a_typical_page_fits_and_says_what_a_reader_needs() {
    for width in [80, 120] {
        for (result, interval) in [(example::typical(), "n=1"), (example::sampled(8), "4.83–5.00")]
        {
            let text = table(&result, width, Paint::Plain);
            show(&text);
            fits(&text, width);
            let needed = "sload-storm; amsterdam; 640M gas; 128M slots; 2+64io; 4.90; 131; 291k; 0.94; \
                 79; 1.02 ms; proved";
            for words in needed.split("; ").chain([interval]) {
                assert!(text.contains(words), "{words} is missing:\n{text}");
            }
        }
    }
}

#[test]
fn the_best_cell_of_each_design_is_marked() {
    let text = table(&example::sampled(2), 80, Paint::Plain);
    let marked: Vec<&str> = text.lines().filter(|line| line.starts_with("* ")).collect();
    assert_eq!(marked.len(), 3);
    assert!(marked[1].contains(" 64 ") && marked[2].contains("2+64io"), "{marked:?}");
}

#[test]
fn a_wider_terminal_shows_more_columns() {
    let narrow = table(&example::typical(), 80, Paint::Plain);
    let wide = table(&example::typical(), 120, Paint::Plain);
    for words in ["p99", "at once", "bottleneck"] {
        assert!(
            wide.contains(words) && !narrow.lines().any(|line| line.ends_with(words)),
            "{words}"
        );
    }
}

#[test]
fn calls_that_read_no_block_have_no_reads_at_once() {
    let page = |depth: f64| {
        let mut result = example::typical();
        result.cells.iter_mut().for_each(|cell| cell.reads_in_flight = Some(depth));
        table(&result, 160, Paint::Plain)
    };
    assert!(page(0.67).contains("0.670"), "{}", page(0.67));
    assert!(page(0.67).contains("at once") && !page(0.0).contains("at once"), "{}", page(0.0));
}

#[test]
fn columns_without_room_are_counted_with_the_width_that_shows_them() {
    let mut result = example::sampled(8);
    result::ratios::fill(&mut result.cells);
    let at = |width| table(&result, width, Paint::Plain);
    for width in 60..200 {
        let text = at(width);
        let is_head = |line: &&str| line.contains("threads") && line.contains("MGas/s");
        let heads = text.lines().find(is_head).unwrap();
        let [in_order, keys] = ["in order", " keys"].map(|it| heads.contains(it));
        assert!(in_order || !keys && width < 80, "{text}");
        let Some((_, shown_at)) = text.split_once(": COLUMNS=") else { continue };
        let whole: usize = shown_at.lines().next().unwrap().parse().unwrap();
        assert!(whole > width && !at(whole).contains("COLUMNS="), "{text}");
        assert!(at(whole - 1).contains("COLUMNS="), "{text}");
    }
}

#[test]
fn a_result_that_disagrees_says_so_first_and_shows_no_figure() {
    let mut said = example::sampled(8);
    said.agree = Some(false);
    said.disagreements = vec!["rocksdb/x: tx 3: gas 21000, reference 21002".to_owned(); 12];
    let mut seen = example::sampled(8);
    seen.cells[1].samples[3].agree = false;
    for result in [said, seen] {
        let text = table(&result, 80, Paint::Plain);
        show(&text);
        fits(&text, 80);
        assert!(text.starts_with("THE DESIGNS DISAGREE\n"), "{text}");
        for figure in ["MGas/s", "4.90", "5.10", "20.1", "131", "0.94", "s per", "% of"] {
            assert!(!text.contains(figure), "{figure} is shown:\n{text}");
        }
        let found = conclusion(&result).unwrap();
        assert_eq!(found, "the designs disagree: no figure is to be believed");
    }
}

#[test]
fn a_run_without_a_sample_does_not_say_that_anything_agrees() {
    let mut result = example::typical();
    (result.agree, result.interrupted) = (None, true);
    result.cells.clear();
    let text = table(&result, 80, Paint::Plain);
    show(&text);
    fits(&text, 80);
    assert!(text.starts_with("INTERRUPTED before its first sample: nothing was compared\n"));
    assert!(text.contains("nothing was measured") && !text.contains("MGas/s"), "{text}");
    let value: Value = serde_json::from_str(&json(&result).unwrap()).unwrap();
    assert_eq!((&value["agree"], &value["conclusion"]), (&Value::Null, &Value::Null));
}

#[test]
fn colours_carry_nothing_that_the_text_does_not_say() {
    let mut result = example::typical();
    result.warnings = vec!["the CPU was throttled".to_owned()];
    let painted = table(&result, 80, Paint::Ansi);
    assert!(painted.contains("\u{1b}[1m"));
    let mut plain = String::new();
    let mut codes = painted.split('\u{1b}');
    plain.push_str(codes.next().unwrap());
    codes.for_each(|part| plain.push_str(part.split_once('m').unwrap().1));
    assert_eq!(plain, table(&result, 80, Paint::Plain));
}

#[test]
fn a_full_run_concludes_with_its_answer_in_one_line() {
    let expected = "batched-io 2+64io: 4.90 s of execution (one sample); in order 20.1 s; gain 15.2 s: \
                    reads 15.2; limit the disk, at 79 % of its rate for these reads; trust one \
                    sample a row, cold proved; no interval below 6";
    assert_eq!(conclusion(&example::typical()).unwrap(), expected);
}

#[test]
fn full_is_shown_with_and_without_waiting_and_prewarm_with_what_it_found() {
    let mut result = example::typical();
    let mut full = example::cell(Design::Full, Threads { executing: 2, reading: 16 }, 5_000.0);
    full.unverified_ms_per_batch.median = Some(400.0);
    let mut prewarm = example::cell(Design::Prewarm, Threads { executing: 2, reading: 0 }, 6_000.0);
    prewarm.warm_up_found_share = Some(0.987);
    result.cells.extend([full, prewarm]);
    let page = table(&result, 140, Paint::Plain);
    assert!(page.contains("verifying") && page.contains("warm-up"), "{page}");
    fits(&page, 140);
}

#[test]
fn a_run_of_nothing_concludes_nothing() {
    let mut nothing = example::typical();
    nothing.cells.iter_mut().for_each(|cell| {
        cell.samples.clear();
        cell.ms_per_batch = Estimate::default();
    });
    assert_eq!(conclusion(&nothing), None);
    fits(&table(&nothing, 80, Paint::Plain), 80);
    nothing.cells.clear();
    assert_eq!(conclusion(&nothing), None);
    assert!(table(&nothing, 80, Paint::Plain).contains("nothing was measured"));
}

#[test]
fn the_pair_of_equal_depth_is_named_where_the_best_cells_are_not_it() {
    let words = |result: &RunResult| {
        let page = table(result, 120, Paint::Plain);
        page.lines().find_map(|line| line.strip_prefix("depth    ").map(str::to_owned))
    };
    let mut result = example::typical();
    let deepest = example::cell(Design::BatchedIo, Threads { executing: 2, reading: 128 }, 4_800.0);
    result.cells.push(Cell { reads_in_flight: Some(120.0), ..deepest });
    let pair = "equal reads under way: batched-io 2+64io 4.90 s with 56.9, parallel-io 64 5.10 s with 54.7";
    assert_eq!(words(&result).as_deref(), Some(pair));
    // Threads are no depth, and what was measured is.
    result.cells[2].reads_in_flight = Some(30.1);
    assert_eq!(words(&result), None);
    result.cells.retain(|cell| cell.threads != 64);
    assert_eq!(words(&result), None);
}

#[test]
fn cells_that_differ_in_their_policy_are_named_by_it() {
    let mut result = example::sampled(2);
    let cell = result.cells.last_mut().unwrap();
    cell.variant = "rocksdb/batched-io/bal+batched-while.listed@2+64io".to_owned();
    cell.io = IoKind::BatchedWhile;
    cell.prefetch = Some(PrefetchFacts {
        time: ReadTime::While,
        order: ReadOrder::Listed,
        ..example::PREFETCH
    });
    let text = table(&result, 100, Paint::Plain);
    show(&text);
    assert!(text.contains("\n  batched  ") && text.contains("\n* while listed  "), "{text}");
    assert!(text.contains("\n* sequential  "), "{text}");
}

#[test]
fn how_cold_it_was_is_never_flattered() {
    let noted = |change: &dyn Fn(&mut RunResult)| {
        let mut result = example::typical();
        change(&mut result);
        let page = table(&result, 120, Paint::Plain);
        let line = page.lines().find_map(|line| line.strip_prefix("cache    "));
        line.unwrap_or_default().to_owned()
    };
    assert_eq!(noted(&|_| ()), "cold: proved in this machine");
    let host = noted(&|result| result.device.as_mut().unwrap().host_cache_ratio = Some(1.9));
    assert_eq!(host, "cold in this machine only: host cache seen");
    let one = noted(&|result| {
        result.cells[0].cache.proved = None;
        result.cells[0].cache.reason = "no counter".to_owned();
    });
    assert_eq!(one, "cold not proved in 1 of 5 cells: no counter");
    let warm = noted(&|result| {
        result.cells.iter_mut().for_each(|cell| cell.cache.want = Some(CacheMode::Warm))
    });
    assert_eq!(warm, "warm: at most 1.13 GB from the device in a sample");
    let unprobed = noted(&|result| {
        let device = result.device.as_mut().unwrap();
        (device.host_cache_ratio, device.state_age_s) = (None, Some(12));
    });
    let words =
        "proved in this machine, host cache not probed; state just built, a host may cache it";
    assert!(unprobed.ends_with(words), "{unprobed}");
    let trust = |change: &dyn Fn(&mut RunResult)| {
        let mut result = example::typical();
        change(&mut result);
        conclusion(&result).unwrap()
    };
    let small = trust(&|result| result.workload.state_slot_count = 100_000);
    assert!(small.contains("cold proved, small state; "), "{small}");
    let scan = trust(&|result| result.cells[0].expected_blocks_per_present_key = Some(0.44));
    assert!(scan.contains(", state small for this gas (0.44 blocks a key); "), "{scan}");
}

#[test]
fn stores_conclude_apart_and_a_store_without_a_device_has_no_disk() {
    let mut result = two_stores();
    result.interrupted = true;
    result.workload.block_count = 20;
    result.workload.batch_count = 2;
    result.workload.blocks_per_batch = 10;
    let found = conclusion(&result).unwrap();
    assert!(
        found.starts_with("interrupted, so far: rocksdb: batched-io 2+64io: 4.90 s"),
        "{found}"
    );
    let text = table(&result, 80, Paint::Plain);
    show(&text);
    fits(&text, 80);
    assert!(text.starts_with("INTERRUPTED"));
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("20 blocks in 2 batches of 10"), "{words}");
    assert!(text.contains("\nmemory\n") && text.contains("batch"));
}

#[test]
fn a_figure_that_is_not_finite_is_refused_by_the_json_and_is_no_text() {
    let mut result = example::typical();
    let text = json(&result).unwrap();
    assert!(text.ends_with("}\n") && text.contains("\"schema\": \"stress.result/3\""));
    result.cells[0].ms_per_batch.ci95 = Some([0.0, f64::INFINITY]);
    let error = json(&result).unwrap_err().to_string();
    assert!(error.contains("cells[0].ms_per_batch.ci95[1] = inf"), "{error}");
    result.cells[0].mgas_per_s.median = Some(f64::NAN);
    result.cells[0].blocks_per_present_key = Some(f64::INFINITY);
    fits(&table(&result, 80, Paint::Plain), 80);
}

pub(crate) fn profile() -> ProfileFacts {
    let name = "<executor::engine::bal::Worker as Work>::a_function_of_a_long_name::<Store, List>";
    let frame = FrameFacts { name: name.to_owned(), self_share: 0.414, total_share: 0.9 };
    ProfileFacts {
        variant: "rocksdb/none/sequential+on-demand@1".to_owned(),
        sample_count: 3,
        stack_count: 1_200,
        outside_count: 80,
        flame_graph: "flame-graph-1.svg".to_owned(),
        frames: vec![frame],
    }
}

#[test]
fn a_profile_is_a_few_lines_that_fit_and_is_not_shown_of_designs_that_disagree() {
    let mut result = example::sampled(8);
    result.profile = Some(profile());
    for width in [40, 80, 140] {
        let text = table(&result, width, Paint::Plain);
        fits(&text, width);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("1.2k stacks of 3 more samples"), "{text}");
        assert!(words.contains("41 90 <executor::engine::bal"), "{text}");
    }
    result.agree = Some(false);
    assert!(!table(&result, 80, Paint::Plain).contains("stacks"));
}

fn two_stores() -> RunResult {
    let mut result = example::sampled(8);
    let mut stores = result.stores.clone();
    stores[0].store = StoreKind::Memory;
    stores[0].facts = serde_json::Map::new();
    result.stores.extend(stores);
    result.cells.extend([(Design::ParallelIo, 0, 330.0), (Design::BatchedIo, 1, 312.0)].map(
        |(design, reading, ms)| {
            let mut cell = example::cell(design, Threads { executing: 2, reading }, ms);
            cell.store = StoreKind::Memory;
            cell.variant = cell.variant.replace("rocksdb", "memory");
            (cell.device_fraction, cell.blocks_per_present_key, cell.bottleneck) =
                (None, None, None);
            (cell.cache.want, cell.cache.proved) = (None, None);
            cell.cache.reason = "the memory store has no device".to_owned();
            cell
        },
    ));
    result
}

#[expect(clippy::print_stdout, reason = "to look at a page: SHOW=1 cargo test -- --nocapture")]
fn show(text: &str) {
    if std::env::var_os("SHOW").is_some() {
        println!("{text}");
    }
}

pub(crate) fn fits(text: &str, width: usize) {
    for line in text.lines() {
        assert!(line.width() <= width, "{} wide: {line}", line.width());
    }
}

/// The text of a page with single spaces: lines are broken anywhere.
pub(crate) fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The example with eight samples, changed.
pub(crate) fn result(change: impl FnOnce(&mut RunResult)) -> Shown {
    let mut run = example::sampled(8);
    change(&mut run);
    shown(run)
}

pub(crate) fn shown(run: RunResult) -> Shown {
    Stored::new("r.json".into(), run).into()
}

pub(crate) fn shown_gate(result: GateResult) -> Shown {
    Shown::new("gate.json".into(), Content::Gate(Box::new(result)))
}

/// A build with the key, the value and whether it is the default of each of its settings.
pub(crate) fn build(arm: char, settings: &[(&str, &str, bool)]) -> Binary {
    let settings = settings.iter().map(|(key, value, is_default)| EffectiveSetting {
        key: (*key).to_owned(),
        value: (*value).to_owned(),
        is_default: *is_default,
    });
    Binary {
        arm,
        path: "/opt/<stress>".to_owned(),
        program: example::gate::passed().tool.program,
        client: None,
        settings: Vec::new(),
        effective_settings: settings.collect(),
        slow_read_ns: 0,
        reads_one_twice: false,
    }
}

/// A change of 2.1 %.
pub(crate) fn shift() -> Shift {
    Shift {
        variant: "memory/x".to_owned(),
        verdict: Verdict::Inconclusive,
        change: Some(0.021),
        lower: Some(-0.01),
        upper: Some(0.01),
        values_to_decide: None,
        delta_to_decide: None,
    }
}

/// Any number a broken run could hold.
fn any_number() -> impl Strategy<Value = Option<f64>> {
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.5, 0.0, 999.5, 99_999.5];
    prop_oneof![
        Just(None),
        proptest::sample::select(special.to_vec()).prop_map(Some),
        (-400.0_f64..400.0).prop_map(|e| Some(10_f64.powf(e / 10.0))),
        any::<f64>().prop_map(Some),
    ]
}

prop_compose! {
    fn any_cell()(
        numbers in proptest::collection::vec(any_number(), 10),
        (threads, io_threads) in (any::<u64>(), any::<u64>()),
        latency in proptest::option::of(any::<u64>()),
        names in (0_usize..4, 0_usize..3),
        sample_count in 0_usize..9,
        of_batches in any::<bool>(),
    ) -> Cell {
        let designs = [Design::Sequential, Design::ParallelIo, Design::BatchedIo, Design::BlockStm];
        let stores = [StoreKind::Rocksdb, StoreKind::Memory, StoreKind::Mdbx];
        let mut cell = example::cell(designs[names.0], Threads { executing: threads, reading: io_threads }, 4_900.0);
        cell.store = stores[names.1];
        cell.cache.want = cell.store.cache_state(CacheMode::Cold);
        cell.io = if of_batches { IoKind::BatchedWhile } else { IoKind::Batched };
        cell.samples = vec![cell.samples[0].clone(); sample_count];
        cell.samples.iter_mut().for_each(|sample| sample.unique_keys = threads);
        let ci95 = numbers[1].zip(numbers[2]).map(Into::into);
        cell.ms_per_batch = Estimate { median: numbers[0], ci95, ..Estimate::default() };
        cell.mgas_per_s.median = numbers[3];
        cell.longest_tx_share = numbers[4];
        cell.device_fraction = numbers[5];
        cell.blocks_per_present_key = numbers[6];
        cell.device_bytes_per_block = numbers[7];
        cell.reads_in_flight = numbers[8];
        cell.cpu_ns_per_read = numbers[9];
        cell.read_latency_ns.p50 = latency;
        cell.read_latency_ns.p99 = latency;
        cell.read_latency_of_batches = of_batches;
        cell
    }
}

proptest! {
    #[test]
    fn no_line_is_wider_than_the_terminal_whatever_the_names_and_numbers(
        cells in proptest::collection::vec(any_cell(), 0..8),
        width in prop_oneof![Just(80_usize), Just(120), 24_usize..300],
        name in "[B-HR-Z漢\u{1b}\n ]{0,200}",
        counts in any::<[u64; 8]>(),
        interrupted in any::<bool>(),
    ) {
        let mut result = example::typical();
        result.cells = cells;
        result.interrupted = interrupted;
        result.workload.scenario = name.clone();
        result.warnings = vec![name.clone()];
        result.workload.overridden = vec![name; 3];
        (result.workload.gas, result.workload.header_gas) = (counts[0], counts[1]);
        (result.workload.tx_count, result.workload.state_slot_count) = (counts[2], counts[3]);
        (result.workload.block_count, result.workload.batch_count) = (counts[4], counts[5]);
        result.workload.bal.full_bytes = counts[6];
        result.workload.seed = counts[7];
        let text = table(&result, width, Paint::Plain);
        fits(&text, width);
        prop_assert!(!text.contains("NaN") && !text.contains("inf "), "{}", text);
        // A written result is read back as the same one.
        match json(&result) {
            Ok(json) => prop_assert_eq!(serde_json::from_str::<RunResult>(&json).unwrap(), result.clone()),
            Err(result::Error::NotFinite { value, .. }) => prop_assert!(!value.is_finite()),
            Err(error) => prop_assert!(false, "{}", error),
        }
        if let Some(found) = conclusion(&result) {
            prop_assert!(!found.contains("NaN") && !found.contains('\n'), "{}", found);
        }
    }
}
