//! Joins the results of a sweep into one (`stress.sweep-merged/2`, `docs/sweep.md`). The verb
//! `sweep` calls it. It checks that the results belong together, and adds missing cells, doubts and
//! knees.

use result::{
    Program,
    databases::OnDatabase,
    sweep::{
        self, Keys, LeftOut, MERGED_SCHEMA, MachineKind, Matrix, Merged, MergedCell, Point,
        SweepCounters, SweepDevice, ranges,
    },
};
use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};

use super::{cell::FinishedCell, dir::SweepDir};

use crate::terminal::{Code, Failure, WithExitCode, exit::fail};

/// Joins the cells in `dir`.
///
/// # Errors
/// A result cannot be read ([`Code::Io`]), no cell has run ([`Code::Io`]), or the results do not
/// belong together ([`Code::Usage`]).
pub fn merge(dir: &SweepDir) -> Result<Merged, Failure> {
    let (mut cells, mut missing) = (Vec::new(), Vec::new());
    for index in 0..dir.matrix().cell_count {
        match dir.cell(index).with_exit_code(Code::Io)? {
            Some(cell) => cells.push(cell),
            None if dir.matrix().same_as(index).is_some() => {}
            None => missing.push(index),
        }
    }
    let Some(first) = cells.first() else {
        fail!(Code::Io, "no cell of {} has been run yet", dir.path().display());
    };
    let program = first.file.program.clone();
    same_program(&cells).with_exit_code(Code::Usage)?;
    same_work(dir.matrix(), &cells).with_exit_code(Code::Usage)?;
    let points: Vec<_> = cells.iter().flat_map(FinishedCell::points).collect();
    let machines = machines(&cells);
    let counted = counters(&cells);
    let devices = dir.devices().with_exit_code(Code::Io)?;
    let mut doubts = doubts(dir.matrix(), &machines, &counted);
    doubts.extend(drifts(&devices, &machines));
    let disagreeing = cells.iter().filter(|cell| !cell.agrees());
    Ok(Merged {
        schema: MERGED_SCHEMA,
        sweep: dir.matrix().clone(),
        program,
        missing,
        disagreeing: disagreeing.map(|cell| cell.file.index).collect(),
        doubts,
        machines,
        devices,
        knees: sweep::knees(&points),
        points: with_left_out(dir.matrix(), &cells, points),
        counters: counted.into_iter().map(|counted| counted.counters).collect(),
        cells: cells.into_iter().map(merged_cell).collect(),
    })
}

/// Adds points for cells that were left out, with the figures of the cells that they equal.
fn with_left_out(matrix: &Matrix, cells: &[FinishedCell], mut points: Vec<Point>) -> Vec<Point> {
    let run: BTreeSet<u64> = cells.iter().map(|cell| cell.file.index).collect();
    let mut more = Vec::new();
    for LeftOut { cell, same_as } in &matrix.left_out {
        // A cell that is left out here may have run on another machine.
        if !run.contains(cell) {
            let of_other = points.iter().filter(|point| point.cell == *same_as);
            more.extend(of_other.map(|point| Point {
                cell: *cell,
                same_as: Some(*same_as),
                keys: matrix.keys(*cell),
                ..point.clone()
            }));
        }
    }
    points.extend(more);
    // The sort is stable, so the variants of a cell keep their order.
    points.sort_by_key(|point| point.cell);
    points
}

fn merged_cell(cell: FinishedCell) -> MergedCell {
    MergedCell { index: cell.file.index, keys: cell.file.keys, result: cell.result.result }
}

fn same_program(cells: &[FinishedCell]) -> Result<()> {
    let mut programs: Vec<(&Program, Vec<u64>)> = Vec::new();
    for cell in cells {
        let (program, index) = (&cell.file.program, cell.file.index);
        match programs.iter_mut().find(|(known, _)| known.is_same(program)) {
            Some((_, cells)) => cells.push(index),
            None => programs.push((program, vec![index])),
        }
    }
    if programs.len() == 1 {
        return Ok(());
    }
    let each = programs.iter().map(|(program, cells)| {
        let features = match &program.features {
            Some(features) => format!(", features {}", features.join(" ")),
            None => String::new(),
        };
        format!(
            "stress {}, generator {}{features} made cells {}",
            program.name(),
            program.generator_version,
            ranges(cells)
        )
    });
    let each: Vec<_> = each.collect();
    bail!(
        "the results are of different programs: {}; sweep again with one of them, which runs only \
         the others' cells",
        each.join("; ")
    )
}

/// Checks that cells with equal keys of work have done the same work.
fn same_work(matrix: &Matrix, cells: &[FinishedCell]) -> Result<()> {
    let mut by_keys: BTreeMap<Keys, &FinishedCell> = BTreeMap::new();
    for cell in cells {
        let keys = sweep::work_keys(&matrix.axes, &cell.file.keys);
        let first = *by_keys.entry(keys.clone()).or_insert(cell);
        let (a, b) = (&first.file, &cell.file);
        if a.work_digest != b.work_digest {
            let name = match keys.is_empty() {
                true => String::new(),
                false => format!(" ({})", name_of(&keys)),
            };
            bail!(
                "cells {} and {} should have done the same work{name}, and their workloads are {} \
                 and {}; move the wrong one's directory away and sweep again",
                a.index,
                b.index,
                a.work_digest,
                b.work_digest
            );
        }
    }
    Ok(())
}

fn machines(cells: &[FinishedCell]) -> Vec<MachineKind> {
    let mut machines: Vec<MachineKind> = Vec::new();
    for cell in cells {
        let environment = &cell.result.result.environment;
        let machine = MachineKind {
            cpu_model: environment.cpu.model.clone(),
            cpu_count: environment.cpu.allowed_count,
            memory_bytes: environment.memory.total_bytes,
            kernel: environment.host.kernel.clone(),
            disk_model: environment.data_dir.model.clone(),
            cells: Vec::new(),
        };
        let is_same =
            |kind: &MachineKind| MachineKind { cells: Vec::new(), ..kind.clone() } == machine;
        let index = cell.file.index;
        match machines.iter_mut().find(|kind| is_same(kind)) {
            Some(kind) => kind.cells.push(index),
            None => machines.push(MachineKind { cells: vec![index], ..machine }),
        }
    }
    machines
}

/// The counters of a variant.
struct Counted {
    counters: SweepCounters,
    /// Whether steps run before their turn. Then the number of reads depends on timing, and may
    /// differ in cells of the same work.
    is_speculative: bool,
}

fn counters(cells: &[FinishedCell]) -> Vec<Counted> {
    let mut all: BTreeMap<(Keys, String), Counted> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| cell.agrees()) {
        for variant_cell in &cell.result.result.cells {
            let variant = variant_cell.variant.clone();
            let keys = sweep::unnamed_keys(&cell.file.keys);
            let counted = all.entry((keys.clone(), variant.clone())).or_insert_with(|| Counted {
                counters: SweepCounters {
                    keys,
                    variant,
                    cells: Vec::new(),
                    gas: BTreeSet::new(),
                    unique_keys: BTreeSet::new(),
                    store_reads: BTreeSet::new(),
                },
                is_speculative: false,
            });
            let counters = &mut counted.counters;
            counters.cells.push(cell.file.index);
            // Databases differ in their keys, but the first is the same in all cells of one work.
            let first = variant_cell.by_database().into_iter().next();
            for sample in first.iter().flat_map(OnDatabase::of_workload) {
                counters.gas.insert(sample.gas);
                counters.unique_keys.insert(sample.unique_keys);
                counters.store_reads.insert(sample.store_reads);
                counted.is_speculative |= sample.speculation.is_some() || sample.warm_up.is_some();
            }
        }
    }
    all.into_values().collect()
}

fn doubts(matrix: &Matrix, machines: &[MachineKind], all: &[Counted]) -> Vec<String> {
    let mut doubts = Vec::new();
    if machines.len() > 1 {
        let kinds = machines.iter().map(|machine| ranges(&machine.cells));
        doubts.push(format!(
            "the cells ran on {} kinds of machine (cells {}): their times are not comparable, nor are \
             knees across them",
            machines.len(),
            kinds.collect::<Vec<_>>().join("; ")
        ));
    }
    let mut by_work: BTreeMap<Keys, [BTreeSet<u64>; 2]> = BTreeMap::new();
    for Counted { counters, is_speculative } in all {
        let [gas, keys] =
            by_work.entry(sweep::work_keys(&matrix.axes, &counters.keys)).or_default();
        gas.extend(&counters.gas);
        keys.extend(&counters.unique_keys);
        if counters.store_reads.len() > 1 && !is_speculative {
            doubts.push(format!(
                "{} made {} store reads in cells {}: they should be the same",
                counters.variant,
                either(&counters.store_reads),
                ranges(&counters.cells)
            ));
        }
    }
    for (keys, [gas, unique]) in by_work {
        for (counter, values) in [("gas", gas), ("keys of the lists", unique)] {
            if values.len() > 1 {
                let (name, values) = (name_of(&keys), either(&values));
                doubts.push(format!("{counter} of the same work ({name}) differ: {values}"));
            }
        }
    }
    doubts
}

/// Reports devices whose rate changed. If all cells ran on one kind of machine, the measurements of
/// all processes are compared with each other, otherwise only those of one process.
fn drifts(devices: &[SweepDevice], machines: &[MachineKind]) -> Vec<String> {
    match machines {
        [_] => sweep::drift(devices).into_iter().collect(),
        _ => devices.iter().filter_map(|one| sweep::drift([one])).collect(),
    }
}

fn either(values: &BTreeSet<u64>) -> String {
    let texts: Vec<_> = values.iter().map(u64::to_string).collect();
    texts.join(" or ")
}

fn name_of(keys: &Keys) -> String {
    let pairs = keys.iter().map(|(key, value)| format!("{key}={value}"));
    pairs.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_told_in_runs() {
        assert_eq!(ranges(&[]), "");
        assert_eq!(ranges(&[4]), "4");
        assert_eq!(ranges(&[0, 1, 2, 3, 7, 9, 10]), "0-3, 7, 9-10");
    }
}
