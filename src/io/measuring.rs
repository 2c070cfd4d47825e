//! Measures each store in turn: first its device, then the points of the plan, then the device
//! again.

use std::path::{Path, PathBuf};

use executor::{
    raw::{self, RawError, RawReads, SlotSequence},
    state::BuiltState,
    store::Store,
};
use report::JsonFile;
use result::io::{IoDevice, IoResult, IoStore};
use variant::StoreKind;

use super::{
    device::{MeasuredDevice, note_reason},
    plan::IoPlan,
    point,
};
use crate::{
    figures::facts,
    run::{
        plan::Machine,
        prepare::{Databases, InUse, StoreOpener},
    },
    terminal::{Code, Failure, Progress, WithExitCode, interrupt},
};

/// A plan under measurement, and its result so far.
#[derive(Debug)]
pub struct Measuring<'a> {
    pub plan: &'a IoPlan,
    /// The directory of state databases, if the user names one.
    pub data_dir: Option<&'a Path>,
    pub progress: &'a Progress,
    /// The file of the result. It is written again after each point, so an early end of the run
    /// keeps the finished points.
    pub out: Option<JsonFile>,
    pub result: IoResult,
}

impl Measuring<'_> {
    /// Measures all stores, and saves the result after each point.
    ///
    /// # Errors
    /// An interrupt came, a store cannot be opened or read, or the result cannot be written.
    pub fn measure(&mut self) -> Result<(), Failure> {
        for kind in &self.plan.run.stores {
            let store = self.open(*kind)?;
            self.result.stores.push(IoStore::new(facts::store(store.as_ref())));
            self.one_store(store.as_ref())?;
        }
        Ok(())
    }

    /// Opens the store, and builds its state if the state does not exist.
    fn open(&self, kind: StoreKind) -> Result<Box<dyn Store>, Failure> {
        let plan = self.plan;
        let opener = StoreOpener {
            databases: Databases { dir: self.data_dir, in_use: InUse::Refuse },
            genesis: &plan.genesis,
            layout: plan.layout,
            scenario: "stress io",
            machine: &Machine::this(),
            progress: self.progress,
        };
        opener.open(kind, &plan.run)
    }

    /// Measures the device, the points, and the device again.
    fn one_store(&mut self, store: &dyn Store) -> Result<(), Failure> {
        let device = store.built_state().and_then(|state| self.begin_device(state));
        let points = self.points(store);
        let progress = self.progress;
        if let (Some(device), Some(facts), Ok(())) = (device, &mut self.current().device, &points) {
            let stage = progress.stage("measuring the device again", 0);
            if let Err(reason) = device.end(facts, interrupt::flag()) {
                note_reason(facts, reason);
            }
            stage.finish();
        }
        let current = self.current();
        // Some facts of a store are known only after reads, such as the memory of its index.
        current.facts = facts::store(store).facts;
        point::ratio_to_ceiling(current);
        points
    }

    /// Measures the device below `state` before the points; `None` if it cannot be opened.
    fn begin_device(&mut self, state: &BuiltState) -> Option<MeasuredDevice> {
        let mut facts = IoDevice::default();
        let device = MeasuredDevice::open(state, self.plan.time, self.plan.seed)
            .inspect_err(|reason| note_reason(&mut facts, reason))
            .ok();
        if let Some(device) = &device {
            let stage = self.progress.stage("measuring the device", 0);
            let depths = self.plan.device_depths();
            if let Err(reason) = device.begin(&depths, &mut facts, interrupt::flag()) {
                note_reason(&mut facts, reason);
            }
            stage.finish();
        }
        self.current().device = Some(facts);
        device
    }

    /// Measures all points of the plan, and saves the result after each.
    fn points(&mut self, store: &dyn Store) -> Result<(), Failure> {
        let plan = self.plan;
        let family = plan.family();
        let sequence = SlotSequence::new(family, plan.seed, plan.present_share);
        for (point_index, planned) in plan.points.iter().enumerate() {
            let name = format!("{} at depth {}", store.kind(), planned.depth());
            let stage = self.progress.stage(&name, plan.points.len() as u64);
            stage.set(point_index as u64, plan.points.len() as u64);
            let reads = RawReads {
                family,
                sequence: &sequence,
                thread_count: planned.threads,
                slots_per_call: planned.slots_per_call,
                time: plan.time,
                cancel: interrupt::flag(),
            };
            // The draws go on over all points, and pass over all keys again and again.
            let earlier_passes = sequence.draw_count() / sequence.period();
            let paused = self.progress.pause();
            let measured = raw::measure(store, &reads);
            drop(paused);
            stage.finish();
            let measured = measured.map_err(failure)?;
            let current = self.current();
            current.points.push(point::figures(store, planned, earlier_passes, &measured));
            point::ratio_to_ceiling(current);
            self.save()?;
        }
        Ok(())
    }

    /// Writes the result, and returns its path. Returns `None` if the user wants no file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&mut self) -> Result<Option<PathBuf>, Failure> {
        let Some(out) = &mut self.out else { return Ok(None) };
        let json = report::json(&self.result).with_exit_code(Code::Io)?;
        out.write(self.result.started_unix_s, &json).map(Some).with_exit_code(Code::Io)
    }

    /// The store that is being measured.
    fn current(&mut self) -> &mut IoStore {
        let last = self.result.stores.last_mut();
        last.unwrap_or_else(|| panic!("a store is open before it is measured"))
    }
}

/// Adds the exit code to an error of the reads.
fn failure(error: RawError) -> Failure {
    let code = match &error {
        RawError::Cancelled => Code::Interrupted,
        RawError::NotTogether { .. } => Code::Usage,
        RawError::Store(_) | RawError::NoThreads { .. } => Code::Io,
    };
    Failure { code, error: error.into() }
}
