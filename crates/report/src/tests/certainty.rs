//! Laws of winners: none of one sample, none where intervals overlap.

use result::{
    Cell, RunResult,
    example::{self, client},
};

use variant::CacheMode;

use crate::{Paint, certainty, conclude, table};

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

#[test]
fn intervals_that_overlap_show_no_difference_and_say_how_many_samples_more_would() {
    let mut result = spread(0.1);
    let apart = conclude(&result).unwrap();
    assert!(!apart.contains("no difference") && !apart.contains("more sample"), "{apart}");
    result.cells[2].ms_per_batch.ci95 = Some([4_950.0, 5_300.0]);
    let found = conclude(&result).unwrap();
    // (1.96 × 1.2533 × 0.1069 / 0.03)² = 76.6 samples in all.
    let words = "; no difference shown between batched-io@2+64io and parallel-io@64: about 69 more \
                 samples of each for ±3 %; ";
    assert!(found.contains(words), "{found}");
    let mut steady = example::sampled(8);
    steady.cells[2].ms_per_batch.ci95 = Some([4_950.0, 5_300.0]);
    let found = conclude(&steady).unwrap();
    assert!(found.contains("parallel-io@64: they are known to ±3 %; "), "{found}");
}

#[test]
fn noise_that_no_hundred_samples_average_out_is_named_with_other_ways_to_decide() {
    // (1.96 × 1.2533 × 0.6949 / 0.03)² = 3,238 samples in all; 3 % × √(3,238 / 108) = 16.4 %.
    let mut result = spread(0.65);
    result.cells[2].ms_per_batch.ci95 = Some([4_950.0, 5_300.0]);
    let found = conclude(&result).unwrap();
    let words = "parallel-io@64: samples will not decide on this machine: ±3 % needs about 3.23k more \
                 of each, and 100 more give ±16.4 %; measure on a quieter machine, or claim only a \
                 difference of more than 16.4 %";
    assert!(found.contains(words) && !found.contains("more samples"), "{found}");
    let without_disk = ", or measure without the disk (--cache warm, --store memory)";
    assert!(found.contains(without_disk), "{found}");
    let mut warm = result;
    warm.cells.iter_mut().for_each(|cell| cell.cache.want = Some(CacheMode::Warm));
    let found = conclude(&warm).unwrap();
    assert!(found.contains(words) && !found.contains("--cache warm"), "{found}");
    // The spread of three samples is rough: first those of an interval.
    warm.cells.iter_mut().for_each(|cell| cell.samples.truncate(3));
    let found = conclude(&warm).unwrap();
    assert!(found.contains("3 more samples of each for an interval"), "{found}");
}

#[test]
fn one_sample_has_no_ratio_no_best_and_no_difference() {
    let mut result = example::typical();
    result::ratios::fill(&mut result.cells);
    let text = table(&result, 160, Paint::Plain);
    assert!(!text.lines().any(|line| line.starts_with("* ")), "{text}");
    assert!(!text.contains("in order") && !text.contains("1 thread"), "{text}");
    assert!(text.contains("one sample each: no interval, no ratio, no best"), "{text}");
    let found = conclude(&result).unwrap();
    let words = "; one sample each: no interval yet, 5 more samples of each for an interval; ";
    assert!(found.contains(words), "{found}");
    // The run in order may have one sample; those that are compared with it have more.
    let mut result = example::sampled(8);
    result.cells[0].samples.truncate(1);
    result::ratios::fill(&mut result.cells);
    let text = table(&result, 160, Paint::Plain);
    assert!(text.contains("in order") && text.contains("4.11"), "{text}");
    let mut alone = client::beside_designs();
    alone.clients[0].samples.truncate(1);
    let found = conclude(&alone).unwrap();
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
