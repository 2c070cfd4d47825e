//! From what a user names to what can be sampled: the workload generated or read, its stores
//! open over their states, the device below them measured, its lists checked, its transactions
//! signed. None of it is on a clock.

mod data_dir;
mod device;
mod lists;
mod request;
mod stores;
mod work;

use executor::state::BuiltState;
use spec::RunSpec;
use variant::ListForm;
use workload::{Workload, signing::TxSignatures};

use result::Device;

use crate::{
    exit::{Code, Failure, OrExit},
    interrupt,
    plan::Machine,
    progress::Progress,
    session::Session,
};

pub use data_dir::{data_dir, data_path};
pub use request::{Request, Size, Source, on_one_database, scenario};
pub use stores::{Databases, InUse, StoreOpener, memory_limit_bytes};
pub use work::{full_lists, generate, generate_by_load, read_workload};

/// How a workload is prepared.
#[derive(Clone, Copy, Debug)]
pub struct Preparation<'a> {
    /// How it is run.
    pub run: &'a RunSpec,
    /// Where its states are.
    pub databases: Databases<'a>,
    /// On which machine.
    pub machine: &'a Machine,
    /// Shows what takes long.
    pub progress: &'a Progress,
}

/// A workload that can be sampled.
#[derive(Debug)]
pub struct Prepared {
    /// It, over its stores, which are open in the run's order.
    pub session: Session,
    /// The device below them; `None` where all are in memory.
    pub device: Option<Device>,
    /// Of all transactions, where their senders are to be recovered.
    pub signatures: Option<Vec<TxSignatures>>,
}

impl Preparation<'_> {
    /// Prepares `workload`.
    ///
    /// # Errors
    /// A store cannot be opened, or a list is wrong.
    pub fn prepare(&self, workload: Workload) -> Result<Prepared, Failure> {
        let mut session = session(workload, self.run, self.progress)?;
        let device = self.open_stores(&mut session)?;
        lists::check_lists(&session, self.run, self.progress)?;
        let core_count = self.machine.core_count;
        let signatures = lists::sign(session.workload(), self.run, core_count, self.progress)?;
        Ok(Prepared { session, device, signatures })
    }

    /// Opens the stores of the run, and measures the device below them.
    fn open_stores(&self, session: &mut Session) -> Result<Option<Device>, Failure> {
        let mut device = None;
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
            let open = opener.open(*store, self.run)?;
            // Once a run: all its stores lie in one directory.
            if let (None, Some(state)) = (&device, open.state()) {
                device = Some(self.measure_device(state));
            }
            session.add(open);
        }
        Ok(device)
    }

    fn measure_device(&self, state: &BuiltState) -> Device {
        let stage = self.progress.stage("measuring the device", 0);
        let device = device::measure(state, interrupt::flag());
        stage.finish();
        device
    }
}

/// A session of `workload` without stores, with all lists that a design of `run` takes.
///
/// # Errors
/// A list of the workload cannot be decoded.
pub fn session(workload: Workload, run: &RunSpec, progress: &Progress) -> Result<Session, Failure> {
    let mut session = Session::new(workload).or_exit(Code::Disagree)?;
    if run.designs.iter().any(|design| design.preset().list == Some(ListForm::Full)) {
        let lists = full_lists(session.workload(), progress)?;
        session.add_full_lists(lists);
    }
    Ok(session)
}
