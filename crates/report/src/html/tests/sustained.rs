//! Pages of runs over many blocks, and of many samples.

use super::*;
use result::{BatchFigures, Cell, SpaceFacts, StoreWriteFacts, WriteFacts};

/// Times of `count` blocks, one of them far longer than the others.
fn times(count: u64, cell: u64) -> Vec<u64> {
    let time = |block: u64| 20_000_000 + (block * 7_919 + cell * 31) % 9_973 * 1_003;
    (0..count).map(|block| time(block) * if block == 136 { 11 } else { 1 }).collect()
}

/// A run over `count` blocks; the first cell's store counts its writes, the second's counts none.
pub(super) fn many_blocks(count: u64) -> Shown {
    let change = |(place, cell): (u64, &mut Cell)| {
        for sample in &mut cell.samples {
            sample.batch_ns = times(count, place);
            let store = StoreWriteFacts {
                log_bytes: 10_000_000,
                flush_bytes: 9_000_000,
                compaction_write_bytes: 23_000_000,
                stall_ns: 3_456_789,
                ..StoreWriteFacts::default()
            };
            let (before_bytes, peak_bytes, after_bytes) = (150_000_000, 262_000_000, 171_000_000);
            sample.writes = Some(WriteFacts {
                committed_bytes: 11_000_000,
                device_write_bytes: Some(44_000_000),
                device_amplification: Some(4.0),
                store: (place == 0).then_some(store),
                store_amplification: (place == 0).then_some(3.82),
                space: Some(SpaceFacts { before_bytes, peak_bytes, after_bytes }),
            });
        }
        let samples: Vec<_> = cell.samples.iter().collect();
        cell.batch_figures = BatchFigures::over(&samples);
    };
    result(|run| {
        run.cells.truncate(2);
        (run.workload.block_count, run.workload.batch_count) = (count, count);
        (0..).zip(&mut run.cells).for_each(change);
    })
}

#[test]
fn a_run_over_many_blocks_has_a_chart_of_each_variant_with_its_slowest_block() {
    let results = [many_blocks(200)];
    let html = page(&results);
    let elements = elements(&html);
    let places = compared(&elements, &jsons(&results));
    has_ids(&elements, "sustained");
    for cell in 0..2 {
        for at in [
            "samples/0/batch_ns/136",
            "batch_figures/time_ns/p99",
            "samples/*/writes/space/peak_bytes",
        ] {
            let drawn =
                places.iter().filter(|(_, place)| place.starts_with(&format!("/cells/{cell}/")));
            // Any sample may be the one of median wall time.
            let end = at.split_once("samples/0").map_or(at, |(_, end)| end);
            assert!(drawn.into_iter().any(|(_, place)| place.ends_with(end)), "{cell}: {at}");
        }
        let marks = places.iter().filter(|(_, place)| {
            place.starts_with(&format!("/cells/{cell}/")) && place.contains("/batch_ns/")
        });
        assert_eq!(marks.count(), 50, "200 blocks, four to a mark");
    }
    assert!(html.contains("block 137: "), "the slowest block is named");
}

#[test]
fn a_run_over_few_blocks_has_no_such_part() {
    for count in [1, 19] {
        let html = page(&[many_blocks(count)]);
        assert!(!html.contains("id=\"sustained\""), "{count} blocks");
    }
    assert!(page(&[many_blocks(20)]).contains("id=\"sustained\""));
}

#[test]
fn each_sample_is_drawn_and_a_warm_up_is_named_and_joined_to_nothing() {
    let html = page(&[result(|run| {
        run.cells.iter_mut().for_each(|cell| cell.warm_up_sample_count = Some(2));
    })]);
    // Of eight samples of five variants six count.
    assert_eq!(html.matches("<line class=\"single ").count(), 5 * 6);
    let start = html.find("<section id=\"samples\"").expect("the part");
    let part = &html[start..start + html[start..].find("</section>").expect("its end")];
    let series: Vec<&str> = part.split("<g class=\"line ").skip(1).collect();
    assert!(!series.is_empty());
    for series in series {
        let (lines, marks) = series.split_once("</g>").expect("both");
        assert_eq!(lines.matches("<line ").count(), 5, "six samples are joined");
        assert_eq!(marks.matches("<title>").count(), 8);
        assert_eq!(marks.matches("warm-up sample 2: ").count(), 2, "its label and its title");
        assert!(!marks.contains("warm-up sample 3: ") && marks.contains(", sample 3: "));
    }
}

#[test]
fn an_outlier_is_named_by_its_number_on_its_mark_and_in_the_table() {
    let html = page(&[result(|run| {
        for cell in &mut run.cells {
            cell.warm_up_sample_count = Some(1);
            cell.samples[4].wall_ns *= 3;
        }
    })]);
    let start = html.find("<section id=\"samples\"").expect("the part");
    let part = &html[start..start + html[start..].find("</section>").expect("its end")];
    let row_count = part.matches("<td>5</td>").count();
    let mark_count = part.matches(", outlier, sample 5: ").count();
    assert!(row_count > 0 && mark_count == 2 * row_count, "a mark has a label and a title");
}

#[test]
fn a_row_has_its_times_in_order_with_their_interval() {
    let html = page(&[result(|run| {
        for (place, cell) in run.cells.iter_mut().enumerate() {
            let ns = if place == 0 { 12_000_000_000 } else { 4_000_000_000 };
            cell.samples.iter_mut().for_each(|sample| sample.wall_ns = ns);
            cell.ms_per_batch.median = Some(ns as f64 / 1e6);
        }
    })]);
    let count = html.matches("<small>3.0× in order (3.0–3.0)</small>").count();
    assert_eq!(count, 4, "all but the run in order itself");
}
