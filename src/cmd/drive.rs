//! Three processes of two builds on one workload file, for the gate and for calibrating it.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, anyhow};
use generator::scenario::{RunSpec, Scenario};
use tempfile::TempDir;
use workload::file;

use crate::{
    cli::{DriveArgs, RunArgs},
    cmd::run::{self, Request},
    environment::Watch,
    exit::{Code, Failure, OrExit},
    facts,
    gate::{
        Arm,
        measure::{Taken, Taker},
        result::Binary,
    },
    plan::{self, Machine, PlannedCell},
    progress::Progress,
    result::WorkloadFacts,
    worker::{self, Driver, Load, Timeouts},
};

/// How much longer than for a sample a build may take to load: its state may have to be built.
const LOAD_FACTOR: u32 = 20;

/// What all builds run.
pub struct Work {
    file: PathBuf,
    /// Where the file is, unless it is the user's.
    _dir: Option<TempDir>,
    data_dir: Option<PathBuf>,
    /// What is known of it.
    pub facts: WorkloadFacts,
    /// How it is run.
    pub run: RunSpec,
    /// The scenario that it is of, if any.
    pub scenario: Option<Scenario>,
    /// Names of the variants.
    pub variants: Vec<String>,
}

impl Work {
    /// Generates or reads what `args` name, and writes one file for all.
    pub fn of(args: &RunArgs, progress: &Progress) -> Result<Self, Failure> {
        let not_here = [
            ("--trace", args.trace.is_some()),
            ("--samples", args.how.samples.is_some()),
            ("--budget", args.how.budget.is_some()),
            ("--recover-senders", args.how.recover_senders),
        ];
        if let Some((option, _)) = not_here.iter().find(|(_, is_given)| *is_given) {
            let error = anyhow!("{option}: builds are compared in octets of slots; see --slot");
            return Err(error).or_exit(Code::Usage);
        }
        let Request { workload, run, scenario } = run::request(args, progress)?;
        run::on_one_database(&run, "builds are compared")?;
        let overridden = scenario.as_ref().map(|scenario| scenario.overridden.clone());
        let facts = facts::workload(&workload, overridden.unwrap_or_default());
        let (file, dir) = match &args.workload {
            Some(file) => (std::path::absolute(file).or_exit(Code::Io)?, None),
            None => {
                let dir =
                    tempfile::tempdir().context("cannot make a directory").or_exit(Code::Io)?;
                let file = dir.path().join("gate.workload");
                file::write(&file, &workload).or_exit(Code::Io)?;
                (file, Some(dir))
            }
        };
        let data_dir = args.data_dir.as_ref().map(std::path::absolute);
        let data_dir = data_dir.transpose().or_exit(Code::Io)?;
        let cells = plan::cells(&run, &Machine::this());
        let variants = cells.iter().map(PlannedCell::name).collect();
        Ok(Self { file, _dir: dir, data_dir, facts, run, scenario, variants })
    }
}

/// A, B and a second process of A.
pub struct Trio {
    base: Driver,
    new: Driver,
    null: Driver,
    watch: Watch,
}

impl Trio {
    /// Starts all three and lets them load `work`, one after the other: the first builds the
    /// state where there is none.
    pub fn start(
        base: &Path,
        new: &Path,
        args: &DriveArgs,
        work: &Work,
        progress: &Progress,
    ) -> Result<Self, Failure> {
        let sample = facts::duration("--timeout", &args.timeout).or_exit(Code::Usage)?;
        let timeouts = Timeouts { load: sample * LOAD_FACTOR, sample };
        let start = |binary: &Path| {
            let stage = progress.stage(&format!("{} loads", binary.display()), 0);
            let driver = started(binary, timeouts, work);
            stage.finish();
            driver
        };
        Ok(Self { base: start(base)?, new: start(new)?, null: start(base)?, watch: Watch::start() })
    }

    /// Who they are, A and B.
    pub fn binaries(&self) -> Vec<Binary> {
        let binary = |(arm, driver): (Arm, &Driver)| {
            let who = driver.who();
            Binary {
                arm: arm.letter(),
                path: driver.name().to_owned(),
                version: who.program.clone(),
                commit: who.commit.clone(),
                generator_version: who.generator,
                slow_read_ns: who.slow_read_ns,
                reads_one_twice: who.reads_one_twice,
            }
        };
        [(Arm::Base, &self.base), (Arm::New, &self.new)].map(binary).into()
    }

    /// Lets B judge claims on what it sampled.
    pub fn judge(&mut self, expects: Vec<String>) -> Result<serde_json::Value, Failure> {
        self.new.judge(expects)
    }

    /// Ends all three.
    pub fn finish(self) -> Result<(), Failure> {
        let Self { base, new, null, .. } = self;
        [base, new, null].into_iter().try_for_each(Driver::finish)
    }
}

fn started(binary: &Path, timeouts: Timeouts, work: &Work) -> Result<Driver, Failure> {
    let mut driver = Driver::start(binary, timeouts)?;
    let loaded = driver.load(Load {
        protocol: driver.who().protocol,
        workload: work.file.clone(),
        data_dir: work.data_dir.clone(),
        run: worker::of_run(&work.run).or_exit(Code::Usage)?,
    })?;
    let name = binary.display();
    if loaded.digest != work.facts.digest {
        let error = anyhow!(
            "{name} reads the workload file as {}, and it is {}: it would do other work",
            loaded.digest,
            work.facts.digest
        );
        return Err(error).or_exit(Code::Disagree);
    }
    if let Some(missing) = work.variants.iter().find(|variant| !loaded.variants.contains(variant)) {
        let error = anyhow!(
            "{name} has no variant {missing}: it has {}; name designs and threads that both have",
            loaded.variants.join(", ")
        );
        return Err(error).or_exit(Code::Usage);
    }
    Ok(driver)
}

impl Taker for Trio {
    fn take(&mut self, arm: Arm, variant: &str) -> Result<Taken, Failure> {
        let driver = match arm {
            Arm::Base => &mut self.base,
            Arm::New => &mut self.new,
            Arm::Null => &mut self.null,
        };
        let sampled = driver.sample(variant)?;
        let worker::Sampled { wall_ns, cpu_ns, counters, .. } = sampled;
        Ok(Taken { wall_ns, cpu_ns, counters })
    }

    fn disturbances(&mut self) -> Vec<String> {
        std::mem::replace(&mut self.watch, Watch::start()).disturbances()
    }
}

/// Wall time of a slot.
pub fn slot_ns(args: &DriveArgs) -> Result<u64, Failure> {
    let slot: Duration = facts::duration("--slot", &args.slot).or_exit(Code::Usage)?;
    Ok(u64::try_from(slot.as_nanos()).unwrap_or(u64::MAX))
}

/// This program's own file.
pub fn this_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().context("cannot tell where this program is").or_exit(Code::Io)
}
