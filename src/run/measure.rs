//! Takes one sample of one cell, for runs and workers. First, senders are recovered if requested,
//! and step times are measured if the schedule needs them. The terminal does not change meanwhile.
//! A difference from the reference is part of the outcome; an error means that there is no sample.

use std::{num::NonZeroUsize, time::Duration};

use executor::{
    engine::EngineError,
    recover::{self, RecoverError, Recovered},
    replay::ReplayedBlocks,
    sample::{Measurement, SampleRecords},
    trace::Trace,
};
use variant::{CacheMode, SampleKeys, Schedule, Variant};
use workload::signing::TxSignatures;

use result::Device;

use crate::{
    figures::{cells::CellInput, facts::AskedKeys},
    run::{
        hooks::{self, CommandEnd},
        session::{SampleSettings, Session, Work},
    },
    terminal::{Progress, interrupt},
};

/// Maximal time for repeating a sample's requests.
const REPLAY_TIME_MAX: Duration = Duration::from_secs(1);

/// Maximal difference between the number of blocks that a sample read and the number of blocks of
/// its rows, as a share. A filter may err, and a cache may evict a block.
const OTHER_BLOCKS_MAX: f64 = 0.05;

/// A variant on an open store, and the settings of its samples.
#[derive(Clone, Copy, Debug)]
pub struct Measuring<'a> {
    /// The open stores.
    pub session: &'a Session,
    /// The work: the session's own work, or another work on the same state.
    pub work: &'a Work,
    /// Share of the work's keys that earlier samples asked the store for; `None` if they are not
    /// counted.
    pub asked_before_share: Option<f64>,
    /// Index of the store among the session's stores.
    pub store_index: usize,
    pub variant: Variant,
    /// Cache state at the start of a sample.
    pub cache: CacheMode,
    /// Signatures of all transactions, if senders are recovered before the sample. As many threads
    /// recover as execute.
    pub signatures: Option<&'a [TxSignatures]>,
    /// Receives the trace of the sample; `None` without a trace.
    pub trace: Option<&'a Trace>,
    /// Whether the requests of a cold sample are kept, so that they can be repeated for the
    /// device's rate.
    pub records: SampleRecords,
    /// The user's command before each sample.
    pub prepare: Option<&'a str>,
    /// Number of cores that the process may use.
    pub core_count: NonZeroUsize,
    /// The progress on the terminal. It is paused during the sample.
    pub progress: &'a Progress,
}

/// Times of all steps of a cell, by batch, for a schedule by known costs. Empty until the times are
/// measured.
pub type KnownCosts = Vec<Vec<Duration>>;

/// A sample that was taken.
#[derive(Debug, Default)]
pub struct Measured {
    /// The sample; `None` if an engine rejected the work.
    pub measurement: Option<Measurement>,
    /// Cost of recovering the senders.
    pub recovered: Option<Recovered>,
    /// Block reads a second of a plain ring on the sample's blocks, if the sample's requests were
    /// kept. An error is the reason for an unknown rate.
    pub trace_ceiling: Option<Result<f64, String>>,
    /// Differences from the reference, and rejections of the work.
    pub differences: Vec<Difference>,
}

/// A difference from the reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// A fault of the sample.
    OfSample(String),
    /// A fault of the sample in block order that measures the steps' costs.
    OfCosts(String),
}

impl Difference {
    /// Returns one line that begins with `name`.
    pub fn line(&self, name: &str) -> String {
        match self {
            Self::OfSample(text) => format!("{name}: {text}"),
            Self::OfCosts(text) => format!("{name}, in block order: {text}"),
        }
    }
}

/// Reason for a missing sample.
#[derive(Debug)]
pub enum Unmeasured {
    /// The user interrupted.
    Cancelled,
    /// The store failed, senders cannot be recovered, or the command before the sample failed.
    Failed(anyhow::Error),
}

impl<'a> Measuring<'a> {
    /// Returns the facts of the cell beside its samples.
    pub fn input(&self, keys: AskedKeys, device: Option<&'a Device>) -> CellInput<'a> {
        let store = &self.session.stores()[self.store_index];
        CellInput {
            store: store.kind(),
            never_cold: store.never_cold_reason(),
            slots_per_block: store.slots_per_block(),
            variant: self.variant,
            cache: self.cache,
            workload: self.work.workload(),
            keys: self.keys(),
            asked_before_share: self.asked_before_share,
            declared: keys.declared,
            present_share: keys.present_share,
            device,
            core_count: self.core_count.get(),
        }
    }

    /// Whether the work is the session's own, or another one with fresh keys.
    fn keys(&self) -> SampleKeys {
        match std::ptr::eq(self.work, self.session.work()) {
            true => SampleKeys::Same,
            false => SampleKeys::Fresh,
        }
    }

    /// Repeats the sample's requests on a plain ring, right after the sample. Returns its rate.
    fn trace_ceiling(&self, measurement: &Measurement) -> Option<Result<f64, String>> {
        let requests = measurement.requests.as_ref()?;
        let blocks = match self.keys() {
            SampleKeys::Fresh => ReplayedBlocks::Moved { seed: self.work.workload().seed },
            SampleKeys::Same => ReplayedBlocks::SameBlocks,
        };
        let read_count = measurement.executed.counters.block_count;
        Some(requests.as_ref().map_err(Clone::clone).and_then(|requests| {
            let located_count = requests.block_count();
            if read_count.abs_diff(located_count) as f64 > OTHER_BLOCKS_MAX * read_count as f64 {
                return Err(format!(
                    "the sample read {read_count} blocks and its rows lie in {located_count}: a ring \
                     would read others"
                ));
            }
            let rate = requests.replay(blocks, REPLAY_TIME_MAX, interrupt::flag());
            let rate = rate.map_err(|reason| reason.to_string())?;
            Ok(rate.block_count as f64 / rate.elapsed.as_secs_f64())
        }))
    }

    /// Takes a sample. If the schedule needs `known_costs` and they are empty, a sample in block
    /// order measures them first. That sample counts for no figure.
    ///
    /// # Errors
    /// There is no sample.
    pub fn measure(&self, known_costs: &mut KnownCosts) -> Result<Measured, Unmeasured> {
        let _paused = self.progress.pause();
        let recovered = self.recover()?;
        let mut measured = Measured { recovered, ..Measured::default() };
        if self.variant.schedule == Schedule::KnownCost && known_costs.is_empty() {
            let variant = Variant { schedule: Schedule::BlockOrder, ..self.variant };
            let settings = SampleSettings {
                variant,
                cache: self.cache,
                records: SampleRecords::None,
                known_costs: &[],
                trace: None,
            };
            let Some(first) = self.take(settings, &mut measured)? else { return Ok(measured) };
            let difference = first.disagreement.map(|d| Difference::OfCosts(d.to_string()));
            measured.differences.extend(difference);
            *known_costs = first.executed.step_times;
        }
        let (variant, cache, trace, records) = (self.variant, self.cache, self.trace, self.records);
        let settings = SampleSettings { variant, cache, records, known_costs, trace };
        match self.take(settings, &mut measured) {
            Ok(Some(measurement)) => {
                let difference = measurement.disagreement.as_ref();
                measured
                    .differences
                    .extend(difference.map(|d| Difference::OfSample(d.to_string())));
                measured.trace_ceiling = self.trace_ceiling(&measurement);
                measured.measurement = Some(measurement);
            }
            Ok(None) => {}
            // A disagreement is kept, even if a failure follows.
            Err(_) if !measured.differences.is_empty() => {}
            Err(unmeasured) => return Err(unmeasured),
        }
        Ok(measured)
    }

    /// Takes a sample. Returns `None` if an engine rejects the work, which is recorded as a
    /// difference.
    fn take(
        &self,
        settings: SampleSettings<'_>,
        measured: &mut Measured,
    ) -> Result<Option<Measurement>, Unmeasured> {
        match self.prepare.map(hooks::prepare).transpose() {
            Ok(None | Some(CommandEnd::Done)) => {}
            Ok(Some(CommandEnd::Stopped)) => return Err(Unmeasured::Cancelled),
            Err(error) => return Err(Unmeasured::Failed(error)),
        }
        match self.session.take_sample(self.work, self.store_index, settings, interrupt::flag()) {
            Ok(measurement) => Ok(Some(measurement)),
            Err(EngineError::Cancelled) => Err(Unmeasured::Cancelled),
            Err(
                error @ (EngineError::List { .. }
                | EngineError::Step { .. }
                | EngineError::Block { .. }
                | EngineError::Root { .. }),
            ) => {
                measured.differences.push(Difference::OfSample(error.to_string()));
                Ok(None)
            }
            Err(error @ (EngineError::Store(_) | EngineError::Shard { .. })) => {
                Err(Unmeasured::Failed(error.into()))
            }
        }
    }

    fn recover(&self) -> Result<Option<Recovered>, Unmeasured> {
        let Some(signatures) = self.signatures else { return Ok(None) };
        let (workload, threads) = (self.work.workload(), self.variant.thread_count);
        match recover::recover(workload, signatures, threads, interrupt::flag()) {
            Ok(recovered) => Ok(Some(recovered)),
            Err(RecoverError::Cancelled) => Err(Unmeasured::Cancelled),
            Err(error) => Err(Unmeasured::Failed(error.into())),
        }
    }
}
