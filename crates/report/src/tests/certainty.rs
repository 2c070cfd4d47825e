//! Laws of winners: none of one sample, none where intervals overlap.

use result::{
    Cell, RunResult,
    example::{self, client},
};

use crate::{Paint, certainty, conclusion, table};

/// Eight samples a cell whose times lie apart by `deviation` to both sides in turn.
fn spread(deviation: f64) -> RunResult {
    let mut result = example::sampled(8);
    for cell in &mut result.cells {
        for (nth, sample) in cell.samples.iter_mut().enumerate() {
            let side = if nth % 2 == 0 { 1.0 } else { -1.0 };
            sample.wall_ns = (sample.wall_ns as f64 * (1.0 + side * deviation)) as u64;
        }
    }
    result
}

/// The end of the trust in an answer.
fn told(result: &RunResult) -> String {
    let found = conclusion(result).unwrap();
    found.rsplit("cold proved; ").next().unwrap_or_default().to_owned()
}

#[test]
fn intervals_that_overlap_show_no_difference_and_say_how_many_samples_would() {
    let mut result = spread(0.05);
    // (1.96 × 1.2533 × 0.05345 / 0.025)² = 27.6 samples in all.
    assert_eq!(told(&result), "telling 5 % apart needs 28");
    result.cells[2].ms_per_batch.ci95 = Some([4_950.0, 5_300.0]);
    assert_eq!(told(&result), "telling 5 % apart needs 28");
    let found = conclusion(&result).unwrap();
    let (fastest, _) = found.split_once("; gain").unwrap();
    assert!(fastest.ends_with(" in order (4.1–4.1); not told from parallel-io 64"), "{fastest}");
    // (1.96 × 1.2533 × 0.6949 / 0.025)² = 4,663 samples in all.
    let noisy = told(&spread(0.65));
    assert_eq!(noisy, "telling 5 % apart needs 4.66k, or a quieter machine");
    assert_eq!(told(&example::sampled(8)), "tells 5 % apart");
    let mut few = spread(0.05);
    few.cells.iter_mut().for_each(|cell| cell.samples.truncate(3));
    assert_eq!(told(&few), "no interval below 6");
}

#[test]
fn the_factor_over_in_order_has_an_interval_of_rounds_where_samples_are_paired() {
    let factor = |result: &RunResult| {
        let found = conclusion(result).unwrap();
        let (_, factor) = found.split_once("), ").unwrap();
        factor.split(';').next().unwrap_or_default().to_owned()
    };
    // Each round is as slow for all: their ratios are the same in all of them.
    let mut result = spread(0.3);
    assert_eq!(factor(&result), "4.1× in order (4.1–4.1)");
    result.cells[0].samples.pop();
    let unpaired = factor(&result);
    assert!(unpaired.starts_with("4.1× in order (2.2–"), "{unpaired}");
    result.cells[0].samples.truncate(5);
    assert_eq!(factor(&result), "4.1× in order (no interval)");
}

#[test]
fn one_sample_has_no_ratio_and_no_best() {
    let mut result = example::typical();
    result::ratios::fill(&mut result.cells);
    let text = table(&result, 160, Paint::Plain);
    assert!(!text.lines().any(|line| line.starts_with("* ")), "{text}");
    assert!(!text.contains("times") && !text.contains("1 thread") && !text.contains('×'), "{text}");
    // The run in order may have one sample; those that are compared with it have more.
    let mut result = example::sampled(8);
    result.cells[0].samples.truncate(1);
    result::ratios::fill(&mut result.cells);
    let text = table(&result, 160, Paint::Plain);
    assert!(text.contains("in order") && text.contains("4.11"), "{text}");
    let mut alone = client::beside_designs();
    alone.clients[0].samples.truncate(1);
    let found = conclusion(&alone).unwrap();
    assert!(found.contains("geth 25.0 s, no interval"), "{found}");
}

#[test]
fn a_cell_is_the_fastest_only_where_its_interval_lies_below_all_others() {
    let result = example::sampled(8);
    let fastest = |cells: &[Cell]| -> Vec<usize> {
        (0..cells.len()).filter(|at| certainty::is_fastest(&cells[*at], cells)).collect()
    };
    assert_eq!(fastest(&result.cells), [4]);
    assert_eq!(fastest(&result.cells[4..]), [0; 0], "there is nothing to be faster than");
    assert_eq!(fastest(&example::typical().cells), [0; 0], "one sample each");
    let mut overlapping = result.cells.clone();
    overlapping[2].ms_per_batch.ci95 = Some([4_950.0, 5_300.0]);
    assert_eq!(fastest(&overlapping), [0; 0]);
    // A single slow sample, as that of the run in order, lies above the interval.
    let mut single = result.cells;
    single[0].samples.truncate(1);
    single[0].ms_per_batch.ci95 = None;
    assert_eq!(fastest(&single), [4]);
}
