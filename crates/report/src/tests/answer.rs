//! Laws of the answer in the terminal: four lines before any table, each named by a row of it.

use result::{Bottleneck, RunResult, SampleFacts, example};
use variant::{BlockDuty, CacheMode, RootTime};

use super::two_stores;
use crate::{Paint, brief, conclusion, table};

const LABELS: [&str; 4] = ["fastest", "gain", "limit", "trust"];

/// The texts of the lines of the first answer on a page of 120 columns.
fn lines(result: &RunResult) -> [String; 4] {
    let page = table(result, 120, Paint::Plain);
    LABELS.map(|label| {
        let line = page.lines().find_map(|line| line.strip_prefix(label));
        line.unwrap_or_else(|| panic!("no {label}: {page}")).trim().to_owned()
    })
}

#[test]
fn the_first_four_lines_of_a_run_are_its_answer_at_any_width() {
    for result in [with_whole_rows(), with_one_whole_row_each()] {
        for width in [80, 120] {
            let page = table(&result, width, Paint::Plain);
            let first = page.lines().take(5).map(|line| line.split(' ').next().unwrap_or_default());
            assert_eq!(first.collect::<Vec<_>>(), [&LABELS[..], &[""]].concat(), "{page}");
            let quiet = brief(&result, width, Paint::Plain);
            assert!(page.starts_with(&quiet) && quiet.contains("sequential, whole"), "{quiet}");
            let rows = quiet.lines().skip(4).filter(|line| line.contains('–')).count();
            assert_eq!(rows, result.cells.len(), "no row is dropped: {quiet}");
        }
    }
    let expected = [
        "batched-io 2+64io: 5.40 s a block (5.33–5.50), 3.8× in order (3.8–3.8)",
        "15.2 s: reads 15.2",
        "the disk, at 79 % of its rate for these reads; next recovery, 500 ms",
        "8 samples a row, cold proved; tells 5 % apart",
    ];
    assert_eq!(lines(&with_whole_rows()), expected);
}

#[test]
fn a_bottleneck_below_half_of_the_time_is_not_the_limit() {
    let mut result = with_whole_rows();
    for (share, limit) in [(0.5, "the CPU, 50 % of the time at least; "), (0.49, "reads, ")] {
        for cell in &mut result.cells {
            (cell.bottleneck, cell.bottleneck_share) = (Some(Bottleneck::Cpu), Some(share));
        }
        assert!(lines(&result)[2].starts_with(limit), "{:?}", lines(&result));
    }
}

#[test]
fn an_answer_names_a_row_by_the_words_of_its_line_in_the_table() {
    let mut result = example::sampled(8);
    result.cells.reverse();
    while let Some(cell) = result.cells.first() {
        let [design, threads] = [cell.design.name().to_owned(), crate::facts::threads(cell)];
        let page = table(&result, 80, Paint::Plain);
        let (named, _) = page.split_once(':').expect("a row");
        let words = named.trim_start_matches("fastest").split_whitespace().collect::<Vec<_>>();
        let row = [design.as_str(), threads.as_str()];
        assert!(words == row || words == [design.as_str()] && threads == "1", "{page}");
        let has_row = |line: &str| {
            let words = line.trim_start_matches('*').split_whitespace().take(2);
            words.eq(row)
        };
        assert!(page.lines().any(has_row), "{page}");
        result.cells.remove(0);
        result.cells.sort_by(|a, b| {
            a.ms_per_batch.median.unwrap().total_cmp(&b.ms_per_batch.median.unwrap())
        });
    }
}

#[test]
fn what_is_missing_is_told_in_its_place() {
    let [fastest, _, _, trust] = lines(&example::typical());
    assert_eq!(fastest, "batched-io 2+64io: 4.90 s of execution (one sample); in order 20.1 s");
    assert_eq!(trust, "one sample a row, cold proved; no interval below 6");
    let mut one_in_order = example::sampled(8);
    one_in_order.cells[0].samples.truncate(1);
    one_in_order.cells[0].ms_per_batch.ci95 = None;
    let [fastest, _, _, trust] = lines(&one_in_order);
    assert!(fastest.ends_with(", 4.1× in order (one sample in order)"), "{fastest}");
    assert!(trust.starts_with("1 to 8 samples a row, "), "{trust}");
    let mut without = example::sampled(8);
    without.cells.remove(0);
    let [fastest, gain, ..] = lines(&without);
    assert!(fastest.ends_with(", no row in order (--design sequential)"), "{fastest}");
    assert_eq!(gain, "unknown without a row in order");
    let old = |sample: &mut SampleFacts| sample.path_ns = None;
    let mut unsplit = example::sampled(8);
    unsplit.cells.iter_mut().flat_map(|cell| &mut cell.samples).for_each(old);
    assert_eq!(lines(&unsplit)[1], "15.2 s; an older result, without its parts");
}

#[test]
fn execution_in_order_may_be_fastest_and_the_next_design_says_what_it_costs() {
    let mut result = example::sampled(8);
    result.cells[0].ms_per_batch.median = Some(4_000.0);
    let [fastest, gain, ..] = lines(&result);
    assert!(
        fastest.starts_with("sequential: 4.00 s of execution (")
            && fastest.ends_with("), in order")
    );
    assert!(gain.starts_with("none: batched-io 2+64io takes more by 902 ms: "), "{gain}");
    result.cells.truncate(1);
    assert_eq!(lines(&result)[1], "none: no other design was run");
}

#[test]
fn several_stores_have_an_answer_each_and_keep_all_rows() {
    let result = two_stores();
    let page = table(&result, 80, Paint::Plain);
    for label in LABELS {
        let count = page.lines().filter(|line| line.starts_with(label)).count();
        assert_eq!(count, 2, "{label}: {page}");
    }
    assert!(page.starts_with("rocksdb\nfastest  batched-io 2+64io: 4.90 s"), "{page}");
    assert!(page.contains("\nmemory\nfastest  batched-io 2+1io: 312 ms"), "{page}");
    assert_eq!(page.lines().filter(|line| line.contains("io  ")).count(), result.cells.len() - 1);
    let found = conclusion(&result).unwrap();
    let memory = ". memory: batched-io 2+1io: 312 ms of execution";
    assert!(found.starts_with("rocksdb: ") && found.contains(memory), "{found}");
}

#[test]
fn trust_says_how_cold_it_was_whether_the_state_is_small_and_the_machine_busy() {
    let trust = |change: &dyn Fn(&mut RunResult)| {
        let mut result = example::sampled(8);
        change(&mut result);
        lines(&result)[3].split(';').next().unwrap_or_default().to_owned()
    };
    let of = |proved, want| {
        trust(&|result| {
            let cache = &mut result.cells[2].cache;
            (cache.proved, cache.want) = (proved, want);
            if want.is_none_or(|want| want == CacheMode::Warm) {
                result.cells.iter_mut().for_each(|cell| cell.cache.want = want);
            }
        })
    };
    let cold = Some(CacheMode::Cold);
    assert_eq!(of(Some(true), cold), "8 samples a row, cold proved");
    assert_eq!(of(None, cold), "8 samples a row, cold NOT PROVED");
    assert_eq!(of(Some(false), cold), "8 samples a row, NOT COLD");
    assert_eq!(of(None, Some(CacheMode::Warm)), "8 samples a row, warm");
    assert_eq!(of(None, None), "8 samples a row, no device");
    let small = trust(&|result| result.workload.state_slot_count = 100_000);
    assert_eq!(small, "8 samples a row, cold proved, small state");
    let cached = trust(&|result| result.device.as_mut().unwrap().host_cache_ratio = Some(2.0));
    assert_eq!(cached, "8 samples a row, cold here, host cache seen");
    let under_load = |load| {
        trust(&|result| {
            result.environment.cpu.logical_count = Some(2);
            result.environment.host.load_average = Some([load, 0.0, 0.0]);
        })
    };
    assert_eq!(under_load(16.25), "8 samples a row, cold proved, load 16.2 on 2 CPUs");
    assert_eq!(under_load(2.0), "8 samples a row, cold proved");
}

#[test]
fn a_whole_block_below_its_own_execution_is_called_noise() {
    let mut result = with_whole_rows();
    let odd = |result: &RunResult| table(result, 80, Paint::Plain).contains("\nodd ");
    assert!(!odd(&result));
    result.cells[2].ms_per_batch.median = Some(5_000.0);
    assert!(odd(&result));
}

/// Rows of a run of whole blocks: those of three designs, and half a second less for execution alone.
fn with_whole_rows() -> RunResult {
    let mut result = example::sampled(8);
    let alone = result.cells.clone();
    for cell in &mut result.cells {
        cell.duties = BlockDuty::ALL.iter().map(|duty| duty.name().to_owned()).collect();
        cell.root = RootTime::After;
        cell.variant = cell.variant.replace('@', "+root-after+whole@");
        cell.ms_per_batch.median = cell.ms_per_batch.median.map(|ms| ms + 500.0);
        cell.ms_per_batch.ci95 = cell.ms_per_batch.ci95.map(|ends| ends.map(|ms| ms + 500.0));
        for sample in &mut cell.samples {
            sample.wall_ns += 500_000_000;
            sample.path_ns.as_mut().unwrap().recovery += 500_000_000;
        }
    }
    result.cells.extend(alone);
    result
}

#[test]
fn the_best_row_of_each_design_is_marked_among_whole_blocks_and_among_execution_alone() {
    let result = with_whole_rows();
    for width in [80, 120] {
        let page = table(&result, width, Paint::Plain);
        let marked: Vec<&str> = page.lines().filter(|line| line.starts_with("* ")).collect();
        assert_eq!(marked.len(), 6, "{page}");
        let whole = marked.iter().filter(|line| line.contains(", whole ")).count();
        assert_eq!(whole, 3, "the best of both: {page}");
    }
}

/// One whole row of each design before those of execution alone, as a run has them by default.
fn with_one_whole_row_each() -> RunResult {
    let mut result = with_whole_rows();
    let mut designs = Vec::new();
    result.cells.reverse();
    result.cells.retain(|cell| {
        let is_first = cell.duties.is_empty() || !designs.contains(&cell.design);
        designs.extend((!cell.duties.is_empty()).then_some(cell.design));
        is_first
    });
    result.cells.reverse();
    result
}

#[test]
fn the_rows_of_all_depths_are_compared_at_equal_depth_and_not_the_whole_ones() {
    let depth = |result: &RunResult| {
        let mut result = result.clone();
        for cell in &mut result.cells {
            // Whole rows wait longer, so that they have other depths.
            let times = if cell.duties.is_empty() { 1.0 } else { 0.5 };
            let threads = if cell.io_threads > 0 { cell.io_threads } else { cell.threads.min(16) };
            cell.reads_in_flight = Some(times * threads as f64);
        }
        let page = table(&result, 80, Paint::Plain);
        page.lines().find(|line| line.starts_with("depth")).map(str::to_owned)
    };
    let alone = depth(&example::sampled(8));
    assert!(alone.is_some());
    assert_eq!(depth(&with_one_whole_row_each()), alone, "of the rows of execution alone");
}

#[test]
fn a_run_that_could_not_be_whole_says_so_in_one_line_with_the_remedy() {
    let reason = "the plain layout has no tries; --set state.layout=hashed";
    let result = RunResult { not_whole: Some(reason.to_owned()), ..example::typical() };
    let page = table(&result, 80, Paint::Plain);
    let line = page.lines().find(|line| line.starts_with("whole")).unwrap_or_default();
    assert!(line.contains("not run: ") && line.ends_with(reason), "{page}");
    assert!(!table(&example::typical(), 80, Paint::Plain).contains("\nwhole"));
}
