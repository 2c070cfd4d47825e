//! Samples of all clients in turn, and the result in which their cells stand beside those of our
//! designs on the same work. It is written after each sample.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::anyhow;
use report::Out;
use result::{
    CLIENT_DISAGREES, Environment, Expects, RunResult, SCHEMA, WorkloadFacts, ratios,
    stats::INTERVAL_COUNT_MIN,
};
use variant::CacheMode;

use super::{
    deadline,
    export::Export,
    making,
    sampled::{SampledClient, Source, Task},
    scratch::scratch_beside,
    start_file::StartFile,
};
use crate::{
    figures::facts,
    machine::{self, environment, scratch::Scratch},
    run::{Finished, RunInput, plan},
    terminal::{
        self,
        exit::{Code, Failure, OrExit, fail},
        interrupt,
        progress::Progress,
    },
};

/// The sampled clients.
#[derive(Clone, Debug)]
pub enum Clients {
    /// One that runs.
    Attached {
        /// Its Engine API.
        url: String,
        /// The file with its secret.
        jwt: PathBuf,
        /// Its process on this machine.
        pid: Option<u32>,
    },
    /// Those that are started in turn.
    Started {
        /// How each is.
        starts: Vec<StartFile>,
        /// Where their databases are kept; for the run alone where it is `None`.
        datadir: Option<PathBuf>,
    },
}

/// A run of clients.
#[derive(Clone, Debug)]
pub struct ClientInput {
    /// The export.
    pub dir: PathBuf,
    /// The clients.
    pub clients: Clients,
    /// Samples of each; as many as the export has where it is `None`.
    pub sample_count: Option<usize>,
    /// Content of memory when a sample starts; cold where clients are started if it is `None`.
    pub cache: Option<CacheMode>,
    /// How long an answer may take.
    pub timeout: Duration,
    /// No block may take longer.
    pub deadline: Option<Duration>,
    /// Our designs on the same work, run first.
    pub designs: Option<RunInput>,
    /// Where the result is written.
    pub out: Option<PathBuf>,
    /// The command line.
    pub command: Vec<String>,
    /// Shows the finished part where the user interrupts and the run cannot stop in time.
    pub show_kept: fn(&RunResult),
}

impl ClientInput {
    /// Content of memory when a sample starts.
    fn cache(&self) -> Result<CacheMode, Failure> {
        match (&self.clients, self.cache) {
            (Clients::Attached { .. }, Some(CacheMode::Cold)) => fail!(
                Code::Usage,
                "--cache cold: only a client that is started anew for each sample is cold: name \
                 --client in place of --url"
            ),
            (Clients::Attached { .. }, _) => Ok(CacheMode::Warm),
            (Clients::Started { .. }, cache) => Ok(cache.unwrap_or(CacheMode::Cold)),
        }
    }

    /// Samples of each client.
    fn sample_count(&self, export: &Export, cache: CacheMode) -> Result<usize, Failure> {
        export.check(cache).or_exit(Code::Usage)?;
        let warm_up_count = usize::from(cache == CacheMode::Warm);
        if export.is_chain() {
            return self.chain_sample_count(export);
        }
        let most = export.sibling_count().saturating_sub(warm_up_count);
        let wanted = self.sample_count.unwrap_or(most);
        if wanted > most || most == 0 {
            fail!(
                Code::Usage,
                "the export has {} of its block, {} cache takes {} of them for {} samples: export with \
                 --siblings {}, or take fewer --samples",
                report::units::things(export.sibling_count() as u64, "sibling"),
                cache,
                wanted.max(1) + warm_up_count,
                wanted.max(1),
                wanted.max(1) + warm_up_count
            );
        }
        Ok(wanted)
    }

    /// Samples of each client on a chain: a client that is started has a copy of its database for each.
    fn chain_sample_count(&self, export: &Export) -> Result<usize, Failure> {
        let is_attached = matches!(self.clients, Clients::Attached { .. });
        let wanted = self.sample_count.unwrap_or(if is_attached { 1 } else { INTERVAL_COUNT_MIN });
        let refused = |words: String| fail!(Code::Usage, words);
        if is_attached && wanted != 1 {
            return refused(format!(
                "a chain of {} blocks: a client that runs takes it once: --samples 1, or name --client in \
                 place of --url, which begins each sample on a copy of the database",
                export.block_count()
            ));
        }
        if wanted == 0 {
            return refused("--samples 0: a sample is wanted at least".to_owned());
        }
        Ok(wanted)
    }

    /// Samples the designs and then the clients.
    ///
    /// # Errors
    /// There is no result: nothing could be sampled.
    pub fn run(&self) -> Result<Finished, Failure> {
        let export = Export::open(&self.dir).or_exit(Code::Usage)?;
        // An interrupt stops the clients that were started, and the finished part is kept.
        let _hold = matches!(self.clients, Clients::Started { .. }).then(interrupt::hold);
        let cache = self.cache()?;
        let sample_count = self.sample_count(&export, cache)?;
        self.check_databases(&export)?;
        let mut out = self.out.as_deref().map(Out::at).transpose().or_exit(Code::Io)?;
        let base = match self.base(&export)? {
            Base::Ended(mut finished) => {
                if let Some(out) = &mut out {
                    finished.written = out.write(&finished.result, &[]).or_exit(Code::Io)?;
                }
                return Ok(*finished);
            }
            Base::Ready(base) => *base,
        };
        let Start { environment, result } = base;
        let progress = Progress::new(terminal::look());
        let (gas, batch_count) = (result.workload.gas, result.workload.batch_count);
        let mut course = Course { input: self, environment, base: result, files: Vec::new() };
        let task = Task { export: &export, gas, batch_count, cache, timeout: self.timeout };
        let scratch = self.scratch()?;
        let mut sampled = Vec::new();
        let mut failure = None;
        for source in self.sources(scratch.as_ref().map(Scratch::path)) {
            let stage = progress.stage("making the client's database", 0);
            match SampledClient::new(&source, task, &|percent| stage.set(percent, 100)) {
                Ok(client) => sampled.push(client),
                Err(error) => failure = Some(error),
            }
            stage.finish();
            if failure.is_some() {
                break;
            }
        }
        if failure.is_none() {
            let taken = course.rounds(&mut sampled, sample_count, &progress, &mut out);
            failure = taken.err();
        }
        interrupt::finishing();
        for client in &mut sampled {
            failure = failure.or(client.stop().err());
        }
        progress.clear();
        course.finished(&sampled, failure, out)
    }

    /// The result without clients: that of our designs, or one without cells.
    fn base(&self, export: &Export) -> Result<Base, Failure> {
        let workload = export.workload().or_exit(Code::Usage)?;
        let started_unix_s = machine::unix_s();
        let environment = environment::probe(self.data_path());
        if let Some(designs) = &self.designs {
            drop(workload);
            let finished = designs.run()?;
            let ended = finished.failure.is_some() || finished.result.agree != Some(true);
            if ended || finished.result.interrupted {
                return Ok(Base::Ended(Box::new(finished)));
            }
            let mut result = RunResult { command: self.command.clone(), ..finished.result };
            result.warnings.extend(differing(export));
            return Ok(Base::Ready(Box::new(Start { environment, result })));
        }
        let work = facts::workload(&workload, Vec::new());
        let mut result = empty(&environment, work, self.command.clone(), started_unix_s);
        result.warnings.extend(differing(export));
        Ok(Base::Ready(Box::new(Start { environment, result })))
    }

    /// Where the clients' databases lie.
    fn data_path(&self) -> &Path {
        match &self.clients {
            Clients::Started { datadir: Some(dir), .. } => dir,
            _ => &self.dir,
        }
    }

    /// Looks whether the databases that are not there can be made.
    fn check_databases(&self, export: &Export) -> Result<(), Failure> {
        let Clients::Started { starts, datadir } = &self.clients else { return Ok(()) };
        let state = export.state_files().or_exit(Code::Io)?;
        let is_there =
            |start: &StartFile| datadir.as_ref().is_some_and(|dir| dir.join(&start.name).exists());
        let mut missing = starts.iter().filter(|start| !is_there(start));
        missing.try_for_each(|start| making::check(start, &state))
    }

    /// A directory for databases that nobody wants to keep.
    fn scratch(&self) -> Result<Option<Scratch>, Failure> {
        match &self.clients {
            Clients::Started { datadir: None, .. } => {
                scratch_beside(&self.dir).map(Some).or_exit(Code::Io)
            }
            _ => Ok(None),
        }
    }

    fn sources(&self, scratch: Option<&Path>) -> Vec<Source> {
        match &self.clients {
            Clients::Attached { url, jwt, pid } => {
                vec![Source::Attached { url: url.clone(), jwt: jwt.clone(), pid: *pid }]
            }
            Clients::Started { starts, datadir } => {
                let dir = datadir.as_deref().or(scratch).unwrap_or(&self.dir);
                let source = |start: &StartFile| Source::Started {
                    start: Box::new(start.clone()),
                    dir: dir.to_owned(),
                };
                starts.iter().map(source).collect()
            }
        }
    }
}

/// The outcome of our designs.
enum Base {
    /// They ended the run.
    Ended(Box<Finished>),
    /// A result to which clients are added.
    Ready(Box<Start>),
}

/// A result to which clients are added.
struct Start {
    environment: Environment,
    result: RunResult,
}

/// A run of clients under way.
struct Course<'a> {
    input: &'a ClientInput,
    environment: Environment,
    base: RunResult,
    files: Vec<PathBuf>,
}

impl Course<'_> {
    /// Takes this number of samples of each client, in turn.
    fn rounds(
        &mut self,
        sampled: &mut [SampledClient<'_>],
        sample_count: usize,
        progress: &Progress,
        out: &mut Option<Out>,
    ) -> Result<(), Failure> {
        for round in 0..u32::try_from(sample_count).unwrap_or(u32::MAX) {
            let order = plan::order(sampled.len(), round, self.base.workload.seed);
            for (done, index) in (0..).zip(order) {
                let name = sampled[index].name().to_owned();
                let stage = progress.sample(&format!("round {}, {name}", round + 1), None);
                stage.set(done, sampled.len() as u64);
                let paused = progress.pause();
                let taken = sampled[index].sample();
                drop(paused);
                stage.finish();
                if interrupt::happened() {
                    return Ok(());
                }
                taken.map_err(|failure| failure.context(name))?;
                self.keep(sampled, out)?;
            }
        }
        Ok(())
    }

    /// Writes the result so far, and keeps it for a run that cannot stop in time.
    fn keep(
        &mut self,
        sampled: &[SampledClient<'_>],
        out: &mut Option<Out>,
    ) -> Result<(), Failure> {
        let mut result = self.result(sampled, None);
        // The run goes on: if nothing is written after this, it was ended.
        result.interrupted = true;
        self.write(&result, out)?;
        let show = self.input.show_kept;
        interrupt::keep(move || show(&result));
        Ok(())
    }

    fn write(&mut self, result: &RunResult, out: &mut Option<Out>) -> Result<(), Failure> {
        if let Some(out) = out {
            self.files = out.write(result, &[]).or_exit(Code::Io)?;
        }
        Ok(())
    }

    fn finished(
        mut self,
        sampled: &[SampledClient<'_>],
        failure: Option<Failure>,
        mut out: Option<Out>,
    ) -> Result<Finished, Failure> {
        let mut failure = failure.filter(|failure| failure.code != Code::Interrupted);
        let has_samples = sampled.iter().any(|client| !client.is_empty());
        let is_wrong = failure.as_ref().is_some_and(|failure| failure.code == Code::Disagree);
        if !has_samples && !is_wrong && self.base.cells.is_empty() {
            let interrupted = || Failure { code: Code::Interrupted, error: anyhow!("interrupted") };
            return Err(failure.unwrap_or_else(interrupted));
        }
        let mut result = self.result(sampled, failure.as_ref());
        if let Err(error) = self.write(&result, &mut out) {
            let failure = failure.get_or_insert(error);
            result = self.result(sampled, Some(failure));
        }
        // The result names a wrong block.
        let failure = failure.filter(|_| !is_wrong);
        Ok(Finished { result, failure, written: self.files })
    }

    /// The result so far.
    fn result(&self, sampled: &[SampledClient<'_>], failure: Option<&Failure>) -> RunResult {
        let with_samples = sampled.iter().filter(|client| !client.is_empty());
        let mut clients: Vec<_> = with_samples.map(SampledClient::cell).collect();
        ratios::fill_clients(&self.base.cells, &mut clients);
        let is_wrong = failure.is_some_and(|failure| failure.code == Code::Disagree);
        let mut result = RunResult {
            environment: self.environment.at_end(),
            expects: self.expects(&clients),
            interrupted: interrupt::happened() || failure.is_some(),
            clients,
            ..self.base.clone()
        };
        let doubts = sampled.iter().filter_map(SampledClient::doubt);
        result.warnings.extend(doubts.map(str::to_owned));
        match failure {
            Some(failure) if is_wrong => {
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
        result.conclusion = report::conclude(&result);
        result
    }

    /// The deadline, judged on our designs and on the clients.
    fn expects(&self, clients: &[result::ClientCell]) -> Expects {
        let Some(deadline) = self.input.deadline else { return self.base.expects.clone() };
        deadline::judged(deadline, &self.base, clients)
    }
}

/// The doubt of a chain on which transactions end otherwise than in the workload.
fn differing(export: &Export) -> Option<String> {
    let count = Some(export.differing_tx_count()).filter(|count| *count > 0)?;
    Some(format!(
        "{} of the exported chain end otherwise than in the workload that our designs run: a client \
         does not quite the same work (docs/import-export.md)",
        report::units::things(count, "transaction")
    ))
}

/// A result without cells.
fn empty(
    environment: &Environment,
    workload: WorkloadFacts,
    command: Vec<String>,
    started_unix_s: u64,
) -> RunResult {
    let of_machine = environment::warnings(environment);
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
        warnings: of_machine.iter().map(ToString::to_string).collect(),
        cells: Vec::new(),
        clients: Vec::new(),
        databases: Vec::new(),
        profile: None,
        conclusion: None,
    }
}
