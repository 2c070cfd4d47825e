//! Runs a load at one gas limit after the other, until the blocks of each design suffice for its
//! line. `limit` calls it for each load, and the other modules compute figures of its runs.

use std::{collections::BTreeSet, path::Path};

use anyhow::bail;
use result::{
    Cell, Environment, RunResult,
    limit::{LimitBlock, LoadLimits},
    sweep::Axis,
};
use spec::{Override, Scenario};
use variant::Design;

use crate::{
    figures::cells::ns,
    run::prepare::{self, DeviceFigures, Size},
    sweep::{
        cell::FinishedCell,
        dir::SweepDir,
        matrix::{self, MatrixInput},
        running::{AskedBy, CellChoice, OneCell},
    },
    terminal::{Code, Failure, UndecidedCodes, WithExitCode, exit::fail, interrupt},
};

use super::{
    density,
    fit::{self, Parameters},
    input::LimitInput,
    operation::Operation,
};

/// The key of a block's gas limit.
const LIMIT: &str = "block.limit";
/// The key of the designs.
const DESIGNS: &str = "run.designs";
/// Number of digits of the settings' digest in the name of a run's directory.
const DIGEST_LENGTH: usize = 8;

/// A load to find limits for.
#[derive(Clone, Debug)]
pub struct Load {
    /// Name or path of its scenario.
    pub name: String,
    /// The scenario at the largest limit.
    pub scenario: Scenario,
}

impl Load {
    /// Reads the scenario `name` at each limit, and keeps that at the largest.
    ///
    /// # Errors
    /// The scenario, an override or a limit is not valid, or there are several stores.
    pub fn of(name: &str, input: &LimitInput) -> Result<Self, Failure> {
        let mut largest = None;
        for gas in &input.limits {
            let mut overrides = input.fixed.clone();
            overrides.push(Override::new(LIMIT, gas.to_string(), format!("--limits {gas}")));
            largest = Some(prepare::scenario(name, overrides, Size::Stated)?);
        }
        let Some(scenario) = largest else { fail!(Code::Usage, "no limit to try") };
        check(name, &scenario).with_exit_code(Code::Usage)?;
        Ok(Self { name: name.to_owned(), scenario })
    }
}

/// Refuses several stores and several databases: a run must give one row for each design.
fn check(name: &str, scenario: &Scenario) -> anyhow::Result<()> {
    let run = &scenario.run;
    if let [first, second, ..] = run.stores.as_slice() {
        bail!("--store {first},{second}: limits are of one store; give one");
    }
    if run.database_count > 1 {
        bail!("{name}: run.databases = {}: limits are of one database", run.database_count);
    }
    Ok(())
}

/// The limits of a load, and facts of its runs.
#[derive(Debug)]
pub struct Measured {
    pub limits: LoadLimits,
    /// The machine.
    pub environment: Environment,
    /// Names of the states that its runs used.
    pub state_names: BTreeSet<String>,
}

/// The runs of a load so far.
struct Climbing<'a> {
    load: &'a Load,
    /// Gas limits and the results of the runs.
    runs: Vec<(u64, RunResult)>,
    /// The error of the smallest limit that was refused, as a block of its size cannot be made.
    ended: Option<String>,
}

/// Runs loads at the limits that `fit` asks for.
#[derive(Debug)]
pub struct Ladder<'a> {
    input: &'a LimitInput,
    journal: &'a Path,
}

impl<'a> Ladder<'a> {
    /// Prepares the runs. Their results go to the directory `journal`.
    pub const fn new(input: &'a LimitInput, journal: &'a Path) -> Self {
        Self { input, journal }
    }

    /// Finds the limits of `load`. Returns `None` if the user interrupts.
    ///
    /// # Errors
    /// A run fails, or designs disagree.
    pub fn climb(&self, load: &Load) -> Result<Option<Measured>, Failure> {
        let mut climbing = Climbing { load, runs: Vec::new(), ended: None };
        let mut limits = self.input.limits.clone();
        while let Some((gas, designs)) = climbing.next(&limits, self.deadline_ns()) {
            match self.run(load, gas, &designs) {
                Ok(Some(run)) => climbing.runs.push((gas, run)),
                Ok(None) => return Ok(None),
                // A block of this size is refused, so smaller limits must decide.
                Err(failure) if failure.code == Code::Usage && !climbing.runs.is_empty() => {
                    climbing.ended = Some(format!("at {gas} gas: {failure}"));
                    limits.retain(|limit| *limit < gas);
                    let half = gas / 2;
                    limits.extend(limits.last().is_none_or(|last| *last < half).then_some(half));
                }
                Err(failure) => return Err(failure.context(load.name.clone())),
            }
        }
        self.measured(&climbing, &limits).map(Some)
    }

    fn deadline_ns(&self) -> u64 {
        ns(self.input.deadline)
    }

    /// Runs a load at one limit in a sweep of one cell, or reads the result of an earlier process.
    /// Returns `None` if the user interrupts.
    fn run(&self, load: &Load, gas: u64, designs: &[Design]) -> Result<Option<RunResult>, Failure> {
        let mut fixed = self.input.fixed.clone();
        fixed.retain(|given| given.key != DESIGNS);
        let names: Vec<_> = designs.iter().map(|design| design.name()).collect();
        let names = names.join(",");
        fixed.push(Override::new(DESIGNS, names.clone(), format!("--design {names}")));
        let axis = Axis {
            key: LIMIT.to_owned(),
            label: "limit".to_owned(),
            values: vec![gas.to_string()],
        };
        let matrix = matrix::from_input(MatrixInput {
            scenario: load.name.clone(),
            size: Size::Stated,
            fixed,
            axes: vec![axis],
        })?;
        let name = load.scenario.name.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let digest: String = matrix.settings_digest.chars().take(DIGEST_LENGTH).collect();
        let dir = SweepDir::open(&self.journal.join(format!("{name}-{gas}-{digest}")), matrix)?;
        if let Some(cell) = dir.own_cell(0).with_exit_code(Code::Io)? {
            return agreed(cell, &load.name).map(Some);
        }
        let cell = OneCell {
            dir: &dir,
            choice: &CellChoice { index: 0, source: "limit" },
            data_dir: self.input.data_dir.clone(),
            device: DeviceFigures::Unmeasured,
            progress_form: self.input.progress_form,
            open: UndecidedCodes::DEFAULT,
            asked_by: AskedBy::Sweep,
        };
        match cell.run(|_| Ok(())) {
            Err(failure) if failure.code == Code::Interrupted => return Ok(None),
            Ok(Code::Interrupted) => return Ok(None),
            _ if interrupt::happened() => return Ok(None),
            ended => ended?,
        };
        match dir.own_cell(0).with_exit_code(Code::Io)? {
            Some(cell) => agreed(cell, &load.name).map(Some),
            None => fail!(Code::Io, "{}: the run left no result", dir.path().display()),
        }
    }

    fn measured(&self, climbing: &Climbing<'_>, limits: &[u64]) -> Result<Measured, Failure> {
        let scenario = &climbing.load.scenario;
        let Some((_, last)) = climbing.runs.last() else {
            fail!(Code::Usage, "{}: no limit was tried", climbing.load.name);
        };
        let operation = Operation::of(scenario, &last.workload);
        let parameters = Parameters {
            deadline_ns: self.deadline_ns(),
            target_gas: self.input.target_gas,
            gas_per_operation: operation.gas,
        };
        let designs = scenario
            .run
            .designs
            .iter()
            .map(|design| fit::limit(*design, climbing.blocks(*design), limits, &parameters));
        let designs: Vec<_> = designs.collect();
        let states = climbing.runs.iter().flat_map(|(_, run)| &run.stores);
        let state_names =
            states.filter_map(|store| Some(store.facts.get("state")?.as_str()?.to_owned()));
        let limits = LoadLimits {
            scenario: scenario.name.clone(),
            operation: operation.name,
            gas_per_operation: operation.gas,
            blocks_per_present_key: None,
            wanted_slot_count: None,
            ended: climbing.ended.clone(),
            designs,
        };
        Ok(Measured {
            limits: density::with_density(limits, last, scenario.state.slot_count),
            environment: last.environment.clone(),
            state_names: state_names.collect(),
        })
    }
}

impl Climbing<'_> {
    /// Returns the smallest limit at which designs are to run next, and these designs; `None` if
    /// the blocks of all designs suffice.
    fn next(&self, limits: &[u64], deadline_ns: u64) -> Option<(u64, Vec<Design>)> {
        let designs = self.load.scenario.run.designs.iter().copied();
        let next = designs.filter_map(|design| {
            Some((fit::next_gas(&self.blocks(design), limits, deadline_ns)?, design))
        });
        let next: Vec<_> = next.collect();
        let least = next.iter().map(|(gas, _)| *gas).min()?;
        let at_least = next.into_iter().filter(|(gas, _)| *gas == least);
        Some((least, at_least.map(|(_, design)| design).collect()))
    }

    /// Returns the blocks of `design`, by the order of their runs.
    fn blocks(&self, design: Design) -> Vec<LimitBlock> {
        self.runs.iter().filter_map(|(gas, run)| block(run, design, *gas)).collect()
    }
}

/// Returns the sizes and the times of the block of a run in `design`.
fn block(run: &RunResult, design: Design, limit_gas: u64) -> Option<LimitBlock> {
    let cell: &Cell = run.cells.iter().find(|cell| cell.design == design)?;
    let block_ns = cell.counted().into_iter().flatten().map(|sample| sample.wall_ns).collect();
    Some(LimitBlock { limit_gas, header_gas: run.workload.header_gas, block_ns })
}

/// Returns the result of a cell, whose designs must agree.
fn agreed(cell: FinishedCell, name: &str) -> Result<RunResult, Failure> {
    match cell.agrees() {
        true => Ok(cell.result.result),
        false => {
            let path = cell.result.path.display();
            fail!(Code::Disagree, "{name}: the designs disagree: {path}")
        }
    }
}
