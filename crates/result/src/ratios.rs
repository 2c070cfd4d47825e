//! Computes speed-ups of cells: over execution in order, and over the same variant on one thread.
//! Reports show both, because a slow single thread makes it easy to scale well. Called when a run
//! has all its cells.

use variant::{Design, ListDuty};

use crate::{
    clients::ClientCell,
    run::{Cell, SpeedUps},
};

/// Fills in both speed-ups of all cells, from the medians of their times.
pub fn fill(cells: &mut [Cell]) {
    let all: &[Cell] = cells;
    let ratios: Vec<_> = all
        .iter()
        .map(|cell| {
            let is_alone = |other: &Cell| other.threads == 1 && is_twin(other, cell);
            let alone = like(cell, all).find(|other| cell.threads > 1 && is_alone(other));
            SpeedUps {
                in_order: in_order(cell, all).and_then(|base| speed_up(cell, base)),
                one_thread: alone.and_then(|base| speed_up(cell, base)),
            }
        })
        .collect();
    for (cell, ratios) in cells.iter_mut().zip(ratios) {
        cell.times = ratios;
    }
}

/// Finds the execution in order that `cell` is compared with: `sequential` on the same store, with
/// the same duties and list duty. If `cell` has an engine that cannot build a list, any list duty
/// will do.
pub fn in_order<'c>(cell: &Cell, cells: impl IntoIterator<Item = &'c Cell>) -> Option<&'c Cell> {
    like(cell, cells)
        .filter(|other| other.design == Design::Sequential)
        .filter(|other| other.list_duty == cell.list_duty || !cell.engine.builds_lists())
        // The first with the same list duty, else the first.
        .min_by_key(|other| other.list_duty != cell.list_duty)
}

/// Finds the cells with the store and the duties of `cell`.
fn like<'c>(
    cell: &Cell,
    cells: impl IntoIterator<Item = &'c Cell>,
) -> impl Iterator<Item = &'c Cell> {
    let all = cells.into_iter();
    all.filter(|other| other.store == cell.store && other.has_duties_of(cell))
}

/// The speed of `cell` as a multiple of the speed of `base`.
fn speed_up(cell: &Cell, base: &Cell) -> Option<f64> {
    Some(time_ms(base)? / time_ms(cell)?)
}

fn time_ms(cell: &Cell) -> Option<f64> {
    cell.ms_per_batch.median.filter(|ms| *ms > 0.0)
}

/// Fills in the speeds of clients as multiples of the speed in order. Clients have stores of their
/// own, so the base is the first `sequential` cell without a list duty, of any store.
pub fn fill_clients(cells: &[Cell], clients: &mut [ClientCell]) {
    let base = cells
        .iter()
        .find(|cell| cell.design == Design::Sequential && cell.list_duty == ListDuty::Nothing)
        .and_then(|cell| cell.ms_per_batch.median);
    for client in clients {
        let own = client.ms_per_batch.median.filter(|ms| *ms > 0.0);
        client.in_order_ratio = base.zip(own).map(|(base, own)| base / own);
    }
}

/// Returns whether two cells differ in the number of executing threads at most. They must have the
/// same store and duties.
fn is_twin(a: &Cell, b: &Cell) -> bool {
    (a.design, a.list, a.engine, a.io, a.prefetch) == (b.design, b.list, b.engine, b.io, b.prefetch)
        && (a.fibers, a.shards, a.sharding) == (b.fibers, b.shards, b.sharding)
        && (a.schedule, a.io_threads, a.list_duty) == (b.schedule, b.io_threads, b.list_duty)
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
            cell(Design::BareRevm, 1, 0, 1_200.0),
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
            // The speed of a plain loop over revm as a multiple of that of the run in order.
            (Some(0.75), None),
        ];
        assert_eq!(ratios, expected);
        fill(&mut cells[1..]);
        assert_eq!(cells[2].times.in_order, None, "nothing was run in order");
    }

    #[test]
    fn whole_blocks_are_compared_with_whole_blocks() {
        let whole = |cell: Cell| Cell { duties: vec!["recover".to_owned()], ..cell };
        let mut cells = vec![
            cell(Design::Sequential, 1, 0, 900.0),
            whole(cell(Design::Sequential, 1, 0, 1_000.0)),
            cell(Design::BatchedIo, 2, 0, 300.0),
            whole(cell(Design::BatchedIo, 2, 0, 500.0)),
        ];
        fill(&mut cells);
        let ratios = cells.iter().map(|cell| cell.times.in_order);
        assert!(ratios.eq([Some(1.0), Some(1.0), Some(3.0), Some(2.0)]));
    }

    #[test]
    fn a_client_is_compared_with_the_run_in_order_where_there_is_one() {
        let cells = [cell(Design::BatchedIo, 2, 0, 500.0), cell(Design::Sequential, 1, 0, 900.0)];
        let mut clients = vec![example::client::timed(&[1_800])];
        fill_clients(&cells, &mut clients);
        assert_eq!(clients[0].in_order_ratio, Some(0.5));
        fill_clients(&cells[..1], &mut clients);
        assert_eq!(clients[0].in_order_ratio, None);
    }

    #[test]
    fn a_cell_that_builds_the_list_is_compared_with_cells_that_build_it() {
        let building = |design, executing, ms| Cell {
            list_duty: ListDuty::Build,
            ..cell(design, executing, 0, ms)
        };
        let mut cells = vec![
            cell(Design::Sequential, 1, 0, 900.0),
            building(Design::Sequential, 1, 1_200.0),
            cell(Design::Prewarm, 1, 0, 1_000.0),
            building(Design::Prewarm, 1, 1_300.0),
            cell(Design::Prewarm, 2, 0, 500.0),
            building(Design::Prewarm, 2, 650.0),
            cell(Design::ParallelIo, 1, 0, 300.0),
        ];
        fill(&mut cells);
        let ratios = |cell: &Cell| (cell.times.in_order, cell.times.one_thread);
        assert_eq!(ratios(&cells[1]), (Some(1.0), None));
        assert_eq!(ratios(&cells[4]), (Some(900.0 / 500.0), Some(2.0)));
        assert_eq!(ratios(&cells[5]), (Some(1_200.0 / 650.0), Some(2.0)));
        assert_eq!(ratios(&cells[6]), (Some(3.0), None), "as the one that does not build it");
        // Without the first cell there is no run in order of this duty. A cell that cannot build
        // the list is compared with the run in order that builds it. A cell that can build it is
        // not compared.
        fill(&mut cells[1..]);
        assert_eq!(ratios(&cells[6]), (Some(4.0), None));
        assert_eq!(ratios(&cells[4]), (None, Some(2.0)));
    }
}
