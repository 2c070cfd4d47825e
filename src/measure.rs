//! One sample of one cell, for a run and for the worker alike: what its schedule must know is
//! measured before, senders are recovered where that is asked for, nothing is drawn meanwhile,
//! and an error is either a difference from the reference or a failure.

use std::{num::NonZeroUsize, time::Duration};

use executor::{
    engine::EngineError,
    recover::{self, RecoverError, Recovered},
    sample::Measurement,
    trace::Trace,
};
use variant::{CacheMode, Schedule, Variant};
use workload::signing::TxSignatures;

use result::Device;

use crate::{
    cells::CellInput,
    facts::AskedKeys,
    interrupt,
    progress::Progress,
    session::{How, Session},
};

/// A variant on an open store, and how samples of it are taken.
#[derive(Clone, Copy, Debug)]
pub struct Measuring<'a> {
    /// The workload over its stores.
    pub session: &'a Session,
    /// Index of the store among the open ones.
    pub store: usize,
    /// The variant.
    pub variant: Variant,
    /// What is in memory when a sample starts.
    pub cache: CacheMode,
    /// Signatures of all transactions, where senders are recovered before the sample, on as many
    /// threads as execute.
    pub signatures: Option<&'a [TxSignatures]>,
    /// Where the sample is traced, if it is.
    pub trace: Option<&'a Trace>,
    /// Cores that may be used.
    pub core_count: NonZeroUsize,
    /// Stays as it is while the sample is taken.
    pub progress: &'a Progress,
}

/// Times of all steps of a cell, by batch, for a schedule that goes by them; empty until they are
/// measured.
pub type KnownCosts = Vec<Vec<Duration>>;

/// A sample that was taken.
#[derive(Debug, Default)]
pub struct Measured {
    /// The sample; `None` where an engine rejected the work.
    pub measurement: Option<Measurement>,
    /// What recovering the senders cost.
    pub recovered: Option<Recovered>,
    /// Where a result is not the reference's, or a list was rejected.
    pub differences: Vec<Difference>,
}

/// A difference from the reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// Of the sample.
    OfSample(String),
    /// Of the sample in block order that measures the costs of the steps.
    OfCosts(String),
}

impl Difference {
    /// One line that begins with `name`.
    pub fn of(&self, name: &str) -> String {
        match self {
            Self::OfSample(text) => format!("{name}: {text}"),
            Self::OfCosts(text) => format!("{name}, in block order: {text}"),
        }
    }
}

/// Why there is no sample.
#[derive(Debug)]
pub enum Unmeasured {
    /// The user interrupted.
    Cancelled,
    /// The store failed, or senders cannot be recovered.
    Failed(anyhow::Error),
}

impl<'a> Measuring<'a> {
    /// What is known of the cell beside its samples.
    pub fn input(&self, keys: AskedKeys, device: Option<&'a Device>) -> CellInput<'a> {
        let store = &self.session.stores()[self.store];
        CellInput {
            store: store.kind(),
            never_cold: store.never_cold(),
            slots_per_block: store.slots_per_block(),
            variant: self.variant,
            cache: self.cache,
            workload: self.session.workload(),
            declared: keys.declared,
            present_share: keys.present_share,
            device,
            core_count: self.core_count.get(),
        }
    }

    /// Takes a sample. `known_costs` are measured before by a sample in block order, which counts
    /// for nothing, where the schedule needs them and they are not there yet.
    ///
    /// # Errors
    /// There is no sample, whatever the work is.
    pub fn measure(&self, known_costs: &mut KnownCosts) -> Result<Measured, Unmeasured> {
        let _paused = self.progress.pause();
        let recovered = self.recover()?;
        let mut measured = Measured { recovered, ..Measured::default() };
        let is_unknown = known_costs.is_empty();
        if self.variant.schedule == Schedule::KnownCost && is_unknown {
            let variant = Variant { schedule: Schedule::BlockOrder, ..self.variant };
            let how = How { variant, known_costs: &[], trace: None };
            let Some(first) = self.take(how, &mut measured)? else { return Ok(measured) };
            let difference = first.disagreement.map(|d| Difference::OfCosts(d.to_string()));
            measured.differences.extend(difference);
            *known_costs = first.executed.step_times;
        }
        let how = How { variant: self.variant, known_costs, trace: self.trace };
        match self.take(how, &mut measured) {
            Ok(Some(measurement)) => {
                let difference = measurement.disagreement.as_ref();
                measured
                    .differences
                    .extend(difference.map(|d| Difference::OfSample(d.to_string())));
                measured.measurement = Some(measurement);
            }
            Ok(None) => {}
            // What is wrong already is not forgotten for a failure after it.
            Err(_) if !measured.differences.is_empty() => {}
            Err(unmeasured) => return Err(unmeasured),
        }
        Ok(measured)
    }

    /// `None` where an engine rejects the work: that is a difference.
    fn take(
        &self,
        how: How<'_>,
        measured: &mut Measured,
    ) -> Result<Option<Measurement>, Unmeasured> {
        match self.session.take(self.store, how, self.cache, interrupt::flag()) {
            Ok(measurement) => Ok(Some(measurement)),
            Err(EngineError::Cancelled) => Err(Unmeasured::Cancelled),
            Err(error @ (EngineError::List { .. } | EngineError::Step { .. })) => {
                measured.differences.push(Difference::OfSample(error.to_string()));
                Ok(None)
            }
            Err(error @ EngineError::Store(_)) => Err(Unmeasured::Failed(error.into())),
        }
    }

    fn recover(&self) -> Result<Option<Recovered>, Unmeasured> {
        let Some(signatures) = self.signatures else { return Ok(None) };
        let (workload, threads) = (self.session.workload(), self.variant.thread_count);
        match recover::recover(workload, signatures, threads, interrupt::flag()) {
            Ok(recovered) => Ok(Some(recovered)),
            Err(RecoverError::Cancelled) => Err(Unmeasured::Cancelled),
            Err(error) => Err(Unmeasured::Failed(error.into())),
        }
    }
}
