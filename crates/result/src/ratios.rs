//! How many times as fast a cell is as execution in order, and as itself on one thread: both stand
//! beside each other, because a design that is slow on one thread scales well for little.

use variant::Design;

use crate::run::{Cell, TimesAsFast};

/// Fills in both ratios of all cells, from the medians of their times.
pub fn fill(cells: &mut [Cell]) {
    let time = |cell: &Cell| cell.ms_per_batch.median.filter(|ms| *ms > 0.0);
    let ratios: Vec<_> = cells
        .iter()
        .map(|cell| {
            let over = |is_it: &dyn Fn(&Cell) -> bool| {
                let base = cells.iter().find(|other| other.store == cell.store && is_it(other))?;
                Some(time(base)? / time(cell)?)
            };
            let in_order = over(&|other| other.design == Design::Sequential);
            let alone = over(&|other| other.threads == 1 && is_twin(other, cell));
            TimesAsFast { in_order, one_thread: alone.filter(|_| cell.threads > 1) }
        })
        .collect();
    for (cell, ratios) in cells.iter_mut().zip(ratios) {
        cell.times = ratios;
    }
}

/// Whether two cells differ in their executing threads at most.
fn is_twin(a: &Cell, b: &Cell) -> bool {
    (a.design, a.list, a.engine, a.io, a.prefetch) == (b.design, b.list, b.engine, b.io, b.prefetch)
        && (a.schedule, a.io_threads) == (b.schedule, b.io_threads)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{self, Threads};

    fn cell(design: Design, executing: u64, reading: u64, ms: f64) -> Cell {
        example::cell(design, Threads { executing, reading }, ms)
    }

    #[test]
    fn a_cell_is_compared_with_the_run_in_order_and_with_itself_on_one_thread() {
        let mut cells = vec![
            cell(Design::Sequential, 1, 0, 900.0),
            cell(Design::BatchedIo, 1, 0, 1_000.0),
            cell(Design::BatchedIo, 2, 0, 500.0),
            cell(Design::BatchedIo, 2, 16, 300.0),
        ];
        fill(&mut cells);
        let ratios: Vec<_> =
            cells.iter().map(|cell| (cell.times.in_order, cell.times.one_thread)).collect();
        let expected = [
            (Some(1.0), None),
            (Some(0.9), None),
            (Some(1.8), Some(2.0)),
            // Nothing was run on one thread with as many readers.
            (Some(3.0), None),
        ];
        assert_eq!(ratios, expected);
        fill(&mut cells[1..]);
        assert_eq!(cells[2].times.in_order, None, "nothing was run in order");
    }
}
