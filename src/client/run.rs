//! Samples all clients in turn (`stress client`). The result has their cells beside the cells of
//! our designs on the same work. The result is written after each sample.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use report::RunDirectory;
use result::{
    CLIENT_DISAGREES, Environment, Expects, RunResult, SCHEMA, WorkloadFacts, ratios,
    stats::INTERVAL_COUNT_MIN,
};
use variant::CacheMode;

use super::{
    database, deadline,
    export::Export,
    leftover::scratch_beside,
    sampled::{Attached, ClientTask, SampledClient},
    start_file::StartFile,
};
use crate::{
    figures::facts,
    machine::{self, environment, scratch::Scratch},
    run::{Finished, RunInput, plan},
    terminal::{self, Code, Failure, Progress, WithExitCode, exit::fail, interrupt},
};

/// Name of the stage that prepares a client.
const MAKING_DATABASE: &str = "making the client's database";

#[derive(Clone, Debug)]
pub enum Clients {
    /// A client that runs already.
    Attached(Attached),
    /// Clients that are started in turn.
    Started {
        starts: Vec<StartFile>,
        /// The directory of their databases; `None`: a directory that is removed after the run.
        datadir: Option<PathBuf>,
    },
}

/// Settings of a run of clients.
#[derive(Clone, Debug)]
pub struct ClientInput {
    pub dir: PathBuf,
    pub clients: Clients,
    /// Number of samples of each client. `None` on a single block: one for each sibling, without
    /// the sibling of the warm-up. `None` on a chain: six, or one if the client runs already.
    pub sample_count: Option<usize>,
    /// Cache state at the start of a sample. `None`: cold if clients are started, or else warm.
    pub cache: Option<CacheMode>,
    /// Maximal time until the answer to a request.
    pub timeout: Duration,
    /// Maximal time of a block; `None` if no deadline is judged.
    pub deadline: Option<Duration>,
    /// The run of our designs on the same work, which comes first; `None`: clients alone.
    pub designs: Option<RunInput>,
    /// The directory of the result; `None` if no file is written.
    pub out: Option<PathBuf>,
    pub command: Vec<String>,
    /// Shows the finished part of the result, if the user interrupts and the run cannot stop in
    /// time.
    pub show_kept: fn(&RunResult),
}

impl ClientInput {
    /// Returns the cache state at the start of a sample.
    fn cache(&self) -> Result<CacheMode, Failure> {
        match (&self.clients, self.cache) {
            (Clients::Attached(_), Some(CacheMode::Cold)) => fail!(
                Code::Usage,
                "--cache cold: a client that runs already is warm: name --client in place of \
                 --url, and it is started for each sample"
            ),
            (Clients::Attached(_), _) => Ok(CacheMode::Warm),
            (Clients::Started { .. }, cache) => Ok(cache.unwrap_or(CacheMode::Cold)),
        }
    }

    fn sample_count(&self, export: &Export, cache: CacheMode) -> Result<usize, Failure> {
        export.check(cache).with_exit_code(Code::Usage)?;
        let warm_up_count = usize::from(cache == CacheMode::Warm);
        if export.is_chain() {
            return self.chain_sample_count(export);
        }
        let available = export.sibling_count().saturating_sub(warm_up_count);
        let wanted = self.sample_count.unwrap_or(available);
        if wanted > available || available == 0 {
            let wanted = wanted.max(1);
            let needed = wanted + warm_up_count;
            fail!(
                Code::Usage,
                "the export has {} of its block, and {cache} cache takes {needed} for {wanted} \
                 samples: export with --siblings {needed}, or take fewer --samples",
                report::units::things(export.sibling_count() as u64, "sibling")
            );
        }
        Ok(wanted)
    }

    /// Returns the number of samples of each client on a chain. A client executes a chain only once
    /// on a database. A client that is started gets a new copy for each sample; one that runs
    /// already takes one sample.
    fn chain_sample_count(&self, export: &Export) -> Result<usize, Failure> {
        let is_attached = matches!(self.clients, Clients::Attached(_));
        let wanted = self.sample_count.unwrap_or(if is_attached { 1 } else { INTERVAL_COUNT_MIN });
        if is_attached && wanted != 1 {
            fail!(
                Code::Usage,
                "a client that runs already takes a chain of {} blocks once: give --samples 1, or \
                 --client in place of --url, which copies its database for each sample",
                export.block_count()
            );
        }
        if wanted == 0 {
            fail!(Code::Usage, "--samples 0: nothing would be measured; give 1 or more");
        }
        Ok(wanted)
    }

    /// Samples the designs and then the clients.
    ///
    /// # Errors
    /// An option or the export is not valid, or nothing could be sampled: there is no result.
    pub fn run(&self) -> Result<Finished, Failure> {
        let export = Export::open(&self.dir).with_exit_code(Code::Usage)?;
        // At an interrupt, started clients get the time to stop, and finished samples are kept.
        let _hold = matches!(self.clients, Clients::Started { .. }).then(interrupt::hold);
        let cache = self.cache()?;
        let sample_count = self.sample_count(&export, cache)?;
        self.check_databases(&export)?;
        let mut out = self.out.as_deref().map(RunDirectory::at).transpose()?;
        let workload = export.workload().with_exit_code(Code::Usage)?;
        let started_unix_s = machine::unix_s();
        let environment = environment::probe(self.data_path());
        let mut base = match &self.designs {
            Some(designs) => {
                // The run of the designs loads the workload itself, and two may not fit into
                // memory.
                drop(workload);
                let mut finished = designs.run()?;
                let result = &finished.result;
                // Clients are not measured beside designs that failed or disagree.
                if finished.failure.is_some() || result.agree != Some(true) || result.interrupted {
                    if let Some(out) = &mut out {
                        finished.written = out.write(result, &[]).with_exit_code(Code::Io)?;
                    }
                    return Ok(finished);
                }
                RunResult { command: self.command.clone(), ..finished.result }
            }
            None => {
                let workload = facts::workload(&workload, Vec::new());
                without_cells(&environment, workload, self.command.clone(), started_unix_s)
            }
        };
        base.warnings.extend(outcome_warning(&export));
        let task = ClientTask {
            export: &export,
            gas: base.workload.gas,
            batch_count: base.workload.batch_count,
            cache,
            timeout: self.timeout,
        };
        let progress = Progress::new(terminal::progress_form());
        let (clients, written) = (Vec::new(), Vec::new());
        let mut run = ClientRun { input: self, environment, base, clients, out, written };
        let scratch = self.scratch()?;
        let prepared = run.prepare(scratch.as_ref().map(Scratch::path), task, &progress);
        let mut failure = prepared.and_then(|()| run.take_rounds(sample_count, &progress)).err();
        interrupt::hold_to_end();
        for client in &mut run.clients {
            failure = failure.or(client.stop().err());
        }
        progress.clear();
        run.finish(failure)
    }

    /// Returns the directory of the clients' databases.
    fn data_path(&self) -> &Path {
        match &self.clients {
            Clients::Started { datadir: Some(dir), .. } => dir,
            _ => &self.dir,
        }
    }

    /// Checks that the missing databases can be made.
    fn check_databases(&self, export: &Export) -> Result<(), Failure> {
        let Clients::Started { starts, datadir } = &self.clients else { return Ok(()) };
        let state = export.state_files().with_exit_code(Code::Io)?;
        let mut missing = starts
            .iter()
            .filter(|start| datadir.as_ref().is_none_or(|dir| !dir.join(&start.name).exists()));
        missing.try_for_each(|start| database::check(start, &state))
    }

    /// Makes a scratch directory for the databases, if the user names no directory.
    fn scratch(&self) -> Result<Option<Scratch>, Failure> {
        match &self.clients {
            Clients::Started { datadir: None, .. } => {
                scratch_beside(&self.dir).map(Some).with_exit_code(Code::Io)
            }
            _ => Ok(None),
        }
    }
}

/// The state of a run of clients.
struct ClientRun<'a> {
    input: &'a ClientInput,
    environment: Environment,
    /// The result without clients.
    base: RunResult,
    clients: Vec<SampledClient<'a>>,
    out: Option<RunDirectory>,
    /// The files of `out`.
    written: Vec<PathBuf>,
}

impl<'a> ClientRun<'a> {
    /// Prepares the clients one after the other, and makes their missing databases. They are in
    /// `scratch` if the user names no directory.
    fn prepare(
        &mut self,
        scratch: Option<&Path>,
        task: ClientTask<'a>,
        progress: &Progress,
    ) -> Result<(), Failure> {
        let (starts, dir) = match &self.input.clients {
            Clients::Attached(attached) => {
                progress.stage(MAKING_DATABASE, 0).finish();
                self.clients.push(SampledClient::attached(attached, task)?);
                return Ok(());
            }
            Clients::Started { starts, datadir } => {
                (starts, datadir.as_deref().or(scratch).unwrap_or(&self.input.dir))
            }
        };
        for start in starts {
            let stage = progress.stage(MAKING_DATABASE, 0);
            let client =
                SampledClient::started(start, dir, task, &|percent| stage.set(percent, 100));
            stage.finish();
            self.clients.push(client?);
        }
        Ok(())
    }

    /// Takes `sample_count` samples of each client, in turn.
    fn take_rounds(&mut self, sample_count: usize, progress: &Progress) -> Result<(), Failure> {
        for round in 0..u32::try_from(sample_count).unwrap_or(u32::MAX) {
            let order = plan::order(self.clients.len(), round, self.base.workload.seed);
            for (done, index) in (0..).zip(order) {
                let name = self.clients[index].name().to_owned();
                let stage = progress.sample(&format!("round {}, {name}", round + 1), None);
                stage.set(done, self.clients.len() as u64);
                let paused = progress.pause();
                let taken = self.clients[index].sample();
                drop(paused);
                stage.finish();
                if interrupt::happened() {
                    return Ok(());
                }
                taken.map_err(|failure| failure.context(name))?;
                self.keep()?;
            }
        }
        Ok(())
    }

    /// Writes the result so far. Keeps a copy, which is shown if an interrupted run cannot stop in
    /// time.
    fn keep(&mut self) -> Result<(), Failure> {
        let mut result = self.result(None);
        // The run goes on. If it ends before the next write, the file says that it was interrupted.
        result.interrupted = true;
        self.write(&result)?;
        let show = self.input.show_kept;
        interrupt::keep(move || show(&result));
        Ok(())
    }

    fn write(&mut self, result: &RunResult) -> Result<(), Failure> {
        if let Some(out) = &mut self.out {
            self.written = out.write(result, &[]).with_exit_code(Code::Io)?;
        }
        Ok(())
    }

    /// Makes and writes the final result. Returns an error if there is nothing to show.
    fn finish(mut self, failure: Option<Failure>) -> Result<Finished, Failure> {
        let mut failure = failure.filter(|failure| failure.code != Code::Interrupted);
        let has_samples = self.clients.iter().any(|client| !client.is_empty());
        let is_wrong = failure.as_ref().is_some_and(|failure| failure.code == Code::Disagree);
        if !has_samples && !is_wrong && self.base.cells.is_empty() {
            match failure {
                Some(failure) => return Err(failure),
                None => fail!(Code::Interrupted, "interrupted"),
            }
        }
        let mut result = self.result(failure.as_ref());
        if let Err(error) = self.write(&result) {
            let failure = failure.get_or_insert(error);
            result = self.result(Some(failure));
        }
        // A block that a client finds invalid is no failure here: the result names it.
        let failure = failure.filter(|_| !is_wrong);
        Ok(Finished { result, failure, written: self.written })
    }

    /// Returns the result so far. A `failure` becomes a disagreement or a warning.
    fn result(&self, failure: Option<&Failure>) -> RunResult {
        let with_samples = self.clients.iter().filter(|client| !client.is_empty());
        let mut clients: Vec<_> = with_samples.map(SampledClient::cell).collect();
        ratios::fill_clients(&self.base.cells, &mut clients);
        let expects = match self.input.deadline {
            Some(deadline) => deadline::judged(deadline, &self.base, &clients),
            None => self.base.expects.clone(),
        };
        let mut result = RunResult {
            environment: self.environment.at_end(),
            expects,
            interrupted: interrupt::happened() || failure.is_some(),
            clients,
            ..self.base.clone()
        };
        let doubts = self.clients.iter().filter_map(SampledClient::doubt);
        result.warnings.extend(doubts.map(str::to_owned));
        match failure {
            Some(failure) if failure.code == Code::Disagree => {
                result.agree = Some(false);
                result.disagreements.push(format!("{CLIENT_DISAGREES}{failure}"));
            }
            Some(failure) => {
                let ended = facts::doubts([], &[], Some(&failure.error));
                result.warnings.extend(ended.iter().map(ToString::to_string));
            }
            None => {}
        }
        if result.agree.is_none() && !result.clients.is_empty() {
            result.agree = Some(true);
        }
        result.conclusion = report::conclusion(&result);
        result
    }
}

/// Returns a warning if transactions of the exported chain have another outcome than in the
/// workload.
fn outcome_warning(export: &Export) -> Option<String> {
    let count = Some(export.differing_tx_count()).filter(|count| *count > 0)?;
    Some(format!(
        "{} of the exported chain end otherwise than in the workload that our designs run: a client \
         does not quite the same work (docs/import-export.md)",
        report::units::things(count, "transaction")
    ))
}

fn without_cells(
    environment: &Environment,
    workload: WorkloadFacts,
    command: Vec<String>,
    started_unix_s: u64,
) -> RunResult {
    let warnings = environment::warnings(environment);
    RunResult {
        schema: SCHEMA,
        tool: facts::tool(&environment.build),
        command,
        started_unix_s,
        draw_seed: workload.seed,
        workload,
        environment: environment.at_end(),
        device: None,
        stores: Vec::new(),
        choices: Vec::new(),
        not_whole: None,
        prepare: None,
        cleanup: None,
        agree: None,
        disagreements: Vec::new(),
        interrupted: false,
        expects: Expects::default(),
        warnings: warnings.iter().map(ToString::to_string).collect(),
        cells: Vec::new(),
        clients: Vec::new(),
        databases: Vec::new(),
        profile: None,
        conclusion: None,
    }
}
