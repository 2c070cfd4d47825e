//! Laws of the finding in the terminal: two lines at most, each design once, one claim, one
//! bottleneck.

use variant::{BlockDuty, Design, RootTime, StoreKind};

use result::{
    Cell, RunResult,
    example::{self, Threads},
};

use crate::{Paint, table};

/// The lines of the finding on a page of 80 columns.
fn lines(result: &RunResult) -> Vec<String> {
    let page = table(result, 80, Paint::Plain);
    let mut lines = page.lines().skip_while(|line| !line.starts_with("found "));
    let lines = lines.by_ref().take_while(|line| !line.is_empty());
    lines.map(|line| line[9..].trim().to_owned()).collect()
}

#[test]
fn a_run_of_three_designs_finds_their_times_one_claim_and_the_bottleneck() {
    let times = "batched-io (2+64io) 4.90 s, parallel-io (64) 5.10 s, sequential 20.1 s; ";
    let bottleneck = "; bottleneck device, 84 % of wall";
    let mut overlapping = example::sampled(8);
    overlapping.cells[2].ms_per_batch.ci95 = Some([4_950.0, 5_300.0]);
    for (result, claim) in [
        (example::typical(), "one sample each: no interval yet"),
        (example::sampled(3), "no interval yet"),
        (example::sampled(8), "batched-io is fastest"),
        (overlapping, "no difference from parallel-io shown"),
    ] {
        let lines = lines(&result);
        assert!(lines.len() <= 2, "{lines:?}");
        assert_eq!(lines.join(" "), format!("{times}{claim}{bottleneck}"));
    }
}

#[test]
fn a_finding_names_a_row_by_the_words_of_its_line_in_the_table() {
    let result = example::sampled(8);
    let page = table(&result, 80, Paint::Plain);
    let rows = page.lines().map(|line| {
        let mut words = line.trim_start_matches('*').split_whitespace();
        [words.next(), words.next()]
    });
    let rows: Vec<_> = rows.collect();
    let found = lines(&result).join(" ");
    let times = found.split(';').next().unwrap_or_default();
    for named in times.split(", ") {
        let (design, rest) = named.split_once(' ').expect("a time");
        let threads = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        let threads = threads.map_or("1", |(threads, _)| threads);
        assert!(rows.contains(&[Some(design), Some(threads)]), "{named}: {page}");
    }
    assert_eq!(times.matches(", ").count(), 2, "{found}");
}

#[test]
fn a_finding_of_many_designs_and_stores_has_two_lines_all_the_same() {
    let mut result = example::sampled(8);
    for design in [Design::Full, Design::Prewarm, Design::BlockStm, Design::BareRevm] {
        let threads = Threads { executing: 2, reading: 0 };
        result.cells.push(example::cell(design, threads, 7_000.0));
    }
    let one = lines(&result);
    assert!(one.len() <= 2 && one[0].starts_with("batched-io"), "{one:?}");
    let own = result.cells.clone();
    for store in [StoreKind::Mdbx, StoreKind::Flat, StoreKind::Memory] {
        result.cells.extend(own.iter().cloned().map(|mut cell| {
            cell.store = store;
            cell.variant = cell.variant.replace("rocksdb", store.name());
            cell
        }));
    }
    let four = lines(&result);
    assert!(four.len() <= 2, "{four:?}");
    for store in ["rocksdb: batched-io 4.90 s", "mdbx: ", "flat: ", "memory: "] {
        assert!(four.join(" ").contains(store), "{store}: {four:?}");
    }
}

#[test]
fn the_page_has_the_parts_of_the_finding_that_its_lines_have_no_room_for() {
    let mut result = example::typical();
    result.cells.retain(|cell| cell.threads != 64);
    result.workload.state_slot_count = 100_000;
    result.cells.iter_mut().for_each(|cell| cell.read_latency_of_batches = true);
    let wide = table(&result, 120, Paint::Plain);
    assert!(wide.contains(" 1.02 ms b "), "the mark is no part of the unit: {wide}");
    let page = table(&result, 80, Paint::Plain);
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("depth no two rows had about as many reads under way"), "{page}");
    assert!(words.contains("sure one sample each: no interval yet, 5 more samples of each"));
    assert!(words.contains("small state: not the real thing"), "{page}");
    assert!(words.contains("291k slots + 43 accounts = 291k keys"), "{page}");
}

#[test]
fn a_footnote_stands_only_where_a_figure_has_its_mark() {
    let mut result = example::typical();
    result.cells.iter_mut().for_each(|cell| cell.read_latency_of_batches = true);
    for width in [80, 100, 120, 200] {
        let page = table(&result, width, Paint::Plain);
        let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
        let has_note = words.contains("b: a read’s time is that of the batch");
        assert_eq!(has_note, page.contains(" ms b "), "{width}: {page}");
    }
}

#[test]
fn out_is_no_hint_where_it_was_given() {
    for (words, is_hinted) in [
        (&["stress", "run", "storm.toml"][..], true),
        (&["stress", "run", "--output", "x"], true),
        (&["stress", "run", "--out", "results"], false),
        (&["stress", "run", "--out=results"], false),
    ] {
        for result in [example::typical(), example::sampled(8)] {
            let command = words.iter().map(|word| (*word).to_owned()).collect();
            let page = table(&RunResult { command, ..result }, 80, Paint::Plain);
            assert_eq!(page.contains("--out DIR"), is_hinted, "{words:?}: {page}");
            assert!(page.contains("\ndeeper ") && page.contains("--set KEY=VALUE"), "{page}");
        }
    }
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
    }
    result.cells.extend(alone);
    result
}

#[test]
fn a_finding_is_about_whole_blocks_and_tells_execution_alone_beside_them() {
    let result = with_whole_rows();
    let lines = lines(&result);
    assert!(lines.len() <= 2, "{lines:?}");
    let found = lines.join(" ");
    assert!(found.starts_with("whole: batched-io 5.40 s, "), "{found}");
    assert!(found.contains("alone 4.90 s; "), "{found}");
    let conclusion = crate::conclude(&result).unwrap();
    assert!(conclusion.starts_with("whole: batched-io 5.40 s"), "{conclusion}");
    assert!(conclusion.contains(", execution alone 4.90 s; "), "{conclusion}");
    for width in [80, 120] {
        let page = table(&result, width, Paint::Plain);
        let marked: Vec<&str> = page.lines().filter(|line| line.starts_with("* ")).collect();
        assert_eq!(marked.len(), 6, "{page}");
        let whole = marked.iter().filter(|line| line.contains(", whole ")).count();
        assert_eq!(whole, 3, "the best of both: {page}");
    }
}

#[test]
fn rows_without_an_interval_are_told_apart_by_what_they_are_of() {
    let sure = |truncated: &dyn Fn(&Cell) -> bool| -> Vec<String> {
        let mut result = with_whole_rows();
        for cell in result.cells.iter_mut().filter(|cell| truncated(cell)) {
            cell.samples.truncate(1);
            cell.ms_per_batch.ci95 = None;
        }
        let page = table(&result, 200, Paint::Plain);
        let after = page.split("\nsure").nth(1).unwrap_or_default();
        let lines = after.lines().take_while(|line| !line.is_empty());
        lines.map(|line| line.trim().to_owned()).collect()
    };
    let starts = |lines: &[String], word: &str| lines.iter().all(|line| line.starts_with(word));
    let alone = sure(&|cell| cell.duties.is_empty());
    assert!(alone.len() == 1 && starts(&alone, "alone: one sample each"), "{alone:?}");
    let whole = sure(&|cell| !cell.duties.is_empty());
    assert!(whole.len() == 1 && starts(&whole, "whole: one sample each"), "{whole:?}");
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
fn one_whole_row_each_gives_the_finding_and_the_rows_of_all_depths_give_theirs() {
    let result = with_one_whole_row_each();
    let whole = result.cells.iter().filter(|cell| !cell.duties.is_empty()).count();
    assert_eq!(whole, 3);
    let lines = lines(&result);
    assert!(lines.len() <= 2, "{lines:?}");
    let found = lines.join(" ");
    assert!(found.starts_with("whole: ") && found.contains("alone 4.90 s; "), "{found}");
    for design in [Design::Sequential, Design::ParallelIo, Design::BatchedIo] {
        let named = found.split(';').next().unwrap_or_default().matches(design.name()).count();
        assert_eq!(named, 1, "{design} in {found}");
    }
    let alone = example::sampled(8);
    let depth = |result: &RunResult| {
        let mut result = result.clone();
        for cell in &mut result.cells {
            // Whole rows wait longer, so that they have other depths.
            let times = if cell.duties.is_empty() { 1.0 } else { 0.5 };
            let threads = if cell.io_threads > 0 { cell.io_threads } else { 4 };
            cell.reads_in_flight = Some(times * threads as f64);
        }
        let page = table(&result, 80, Paint::Plain);
        page.lines().find(|line| line.starts_with("depth")).map(str::to_owned)
    };
    assert!(depth(&alone).is_some());
    assert_eq!(depth(&result), depth(&alone), "of the rows of execution alone");
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
