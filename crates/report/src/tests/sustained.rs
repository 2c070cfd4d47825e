//! Lines on runs over many blocks.

use result::{BatchFigures, SpaceFacts, StoreWriteFacts, WriteFacts, example};
use variant::Phase;

use super::words;
use crate::{Paint, table};

#[test]
fn many_blocks_have_their_percentiles_their_writes_and_the_number_of_the_slowest() {
    let mut run = example::typical();
    run.cells.truncate(1);
    (run.workload.block_count, run.workload.batch_count) = (100, 100);
    let cell = &mut run.cells[0];
    let sample = &mut cell.samples[0];
    sample.batch_ns =
        (1..=100).map(|block| if block == 37 { 900_000_000 } else { block * 1_000_000 }).collect();
    sample.phases_ns[Phase::Settle] = 321_000_000;
    cell.batch_figures = BatchFigures::over(&[&cell.samples[0]]);
    let page = |run: &result::RunResult| words(&table(run, 100, Paint::Plain));
    let text = page(&run);
    let line = "p50 51.0 ms, p90 91.0 ms, p99 -, max 900 ms over 100; number 37 is the slowest";
    assert!(text.contains(&format!("blocks {}: {line}", run.cells[0].variant)), "{text}");
    assert!(!text.contains("the commits"), "nothing is known of writes: {text}");
    run.cells[0].samples[0].writes = Some(WriteFacts {
        committed_bytes: 10_000_000,
        device_write_bytes: Some(41_000_000),
        device_amplification: Some(4.1),
        store: Some(StoreWriteFacts {
            log_bytes: 10_000_000,
            flush_count: 3,
            flush_bytes: 9_000_000,
            compaction_count: 1,
            compaction_write_bytes: 20_000_000,
            stall_ns: 5_000_000,
            ..StoreWriteFacts::default()
        }),
        store_amplification: Some(3.9),
        space: Some(SpaceFacts { before_bytes: 100, peak_bytes: 300, after_bytes: 200 }),
    });
    let text = page(&run);
    let line = "written 4.10 times the commits (by rocksdb 3.90: log 1.00, 3 flushes 0.90, 1 compaction \
                2.00); stalls 5.00 ms; settled in 321 ms; files 100 B before, 300 B at most, 200 B after";
    assert!(text.contains(line), "{text}");
    run.cells[0].samples[0].batch_ns.truncate(19);
    assert!(!page(&run).contains("slowest"), "19 blocks are few");
}
