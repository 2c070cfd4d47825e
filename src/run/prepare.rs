//! Prepares the user's work for samples, outside any clock. It generates or reads the workload,
//! opens the stores over their states, measures the device, and signs transactions. Samples with
//! fresh keys get their work here, too. Runs, workers and simulations call it.

mod data_dir;
mod device;
mod fresh;
mod lists;
mod request;
pub mod shared;
pub mod shared_time;
mod stores;
mod whole;
mod work;

use std::{path::PathBuf, time::Instant};

use executor::{device::Disk, state::BuiltState};
use spec::{RunSpec, Scenario};
use workload::{Workload, signing::TxSignatures};

use result::{Device, Fill, WorkloadFacts};

use crate::{
    figures::facts,
    machine,
    run::{plan::Machine, session::Session, shards::RunningShards},
    terminal::{Code, Failure, Progress, WithExitCode, interrupt},
};

use shared_time::SharedTime;

pub use data_dir::{check_data_dir, data_dir, data_path, known_data_path};
pub use device::{measure_again, short_time as short_device_time};
pub use fresh::{FreshWork, FreshWorks};
pub use lists::check_lists;
pub use request::{
    Request, Size, Source, add_default, claim_not_run, is_smaller_if_quick, require_one_database,
    require_same_keys, scenario, size_key,
};
pub use stores::{Databases, InUse, StoreOpener, StoreSettings};
pub use whole::{too_long, with_whole};
pub use work::{
    FilledWork, generate, generate_by_load, read_unverified, read_workload, write_json,
    write_workload,
};

/// Settings for the preparation of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Preparation<'a> {
    /// The settings of the run.
    pub run: &'a RunSpec,
    /// The scenario from which samples get fresh works; `None`: samples have no fresh works.
    pub scenario: Option<&'a Scenario>,
    /// Seed of the run's own draws.
    pub draw_seed: u64,
    /// The directory of states.
    pub databases: Databases<'a>,
    /// Origin of the device's figures.
    pub device: &'a DeviceFigures,
    /// The machine of the run.
    pub machine: &'a Machine,
    /// Shows the progress of long steps.
    pub progress: &'a Progress,
}

/// Origin of the figures of the device below the stores.
#[derive(Clone, Debug)]
pub enum DeviceFigures {
    /// The run measures the device.
    Measured,
    /// The cells of a sweep share the figures in this file.
    Shared(PathBuf),
    /// Nothing measures the device, and no sample's requests are repeated on it.
    Unmeasured,
}

/// A prepared workload.
#[derive(Debug)]
pub struct Prepared {
    /// The workload over its stores, which are open in the run's order.
    pub session: Session,
    /// The device below the stores; `None` if all stores are in memory or nothing measures it.
    pub device: Option<Device>,
    /// The blocks of the device that were not read yet.
    pub disk: Option<Disk>,
    /// Source of fresh works on the same state; `None` without a scenario.
    pub fresh: Option<FreshWorks>,
    /// Signatures of all transactions, if senders are to be recovered.
    pub signatures: Option<Vec<TxSignatures>>,
    /// Fill of the blocks, if it is known.
    pub fill: Option<Fill>,
}

impl Prepared {
    /// Describes the workload for a result. `overridden`: the keys of the scenario that the user
    /// set.
    pub fn workload_facts(&self, overridden: Vec<String>) -> WorkloadFacts {
        let facts = facts::workload(self.session.workload(), overridden);
        WorkloadFacts { fill: self.fill.clone(), ..facts }
    }
}

impl Preparation<'_> {
    /// Prepares `workload`.
    ///
    /// # Errors
    /// A store cannot be opened, or a list is wrong.
    pub fn prepare(&self, workload: Workload) -> Result<Prepared, Failure> {
        let mut session = session(workload, self.run, self.progress)?;
        let (device, disk) = self.open_stores(&mut session)?.unzip();
        let core_count = self.machine.core_count;
        let signatures = lists::sign(session.workload(), self.run, core_count, self.progress)?;
        let fresh = self.scenario.map(|scenario| FreshWorks {
            scenario: scenario.clone(),
            draw_seed: self.draw_seed,
            core_count,
        });
        Ok(Prepared { session, device, disk: disk.flatten(), fresh, signatures, fill: None })
    }

    /// Opens the stores of the run, and measures the device below them.
    fn open_stores(
        &self,
        session: &mut Session,
    ) -> Result<Option<(Device, Option<Disk>)>, Failure> {
        let mut device = None;
        let mut shared_time = SharedTime::default();
        for store in &self.run.stores {
            let work = session.workload();
            let opener = StoreOpener {
                databases: self.databases,
                genesis: &work.genesis,
                layout: work.layout,
                scenario: &work.scenario,
                machine: self.machine,
                progress: self.progress,
            };
            let (began, began_unix_s) = (Instant::now(), machine::unix_s());
            let open = opener.open(*store, self.run)?;
            let created_unix_s = open.built_state().map(|state| state.manifest().created_unix_s);
            if created_unix_s.is_some_and(|created_unix_s| created_unix_s >= began_unix_s) {
                shared_time.building += began.elapsed();
            }
            // The device is measured once for all stores, as all stores lie in one directory.
            if let (None, Some(state)) = (&device, open.built_state()) {
                let began = Instant::now();
                device = self.device_below(state)?;
                shared_time.measuring += began.elapsed();
            }
            session.add(open);
        }
        if let DeviceFigures::Shared(path) = self.device {
            shared_time::add(path, shared_time);
        }
        Ok(device)
    }

    /// Returns the figures of the device, if there are any. The unread blocks are included if this
    /// run measures the device again at its end.
    fn device_below(&self, state: &BuiltState) -> Result<Option<(Device, Option<Disk>)>, Failure> {
        let path = match self.device {
            DeviceFigures::Unmeasured => return Ok(None),
            DeviceFigures::Measured => None,
            DeviceFigures::Shared(path) => Some(path),
        };
        let known = path.map(|path| shared::read(path)).transpose().with_exit_code(Code::Io)?;
        if let Some(known) = known.flatten() {
            return Ok(Some((shared::for_cell(&known, state), None)));
        }
        let stage = self.progress.stage("measuring the device", 0);
        let (facts, disk) = device::measure(state, self.draw_seed, interrupt::flag());
        stage.finish();
        // An interrupted measurement is not shared.
        let Some(path) = path.filter(|_| !interrupt::happened()) else {
            return Ok(Some((facts, disk)));
        };
        let known = shared::first(facts, disk.as_ref(), state, self.draw_seed);
        shared::write(path, &known).with_exit_code(Code::Io)?;
        Ok(Some((shared::for_cell(&known, state), None)))
    }
}

/// Makes a session of `workload` without stores, with all lists that a design of `run` takes.
///
/// # Errors
/// A list of the workload cannot be decoded.
pub fn session(workload: Workload, run: &RunSpec, progress: &Progress) -> Result<Session, Failure> {
    // Shards start before all long work, so that a missing shard is an error at once.
    let shards = RunningShards::start(run).with_exit_code(Code::Io)?;
    let work = work::with_lists(workload, &run.designs, run.block_duties(), progress)?;
    Ok(Session::new(work).with_shards(shards))
}
