//! Arguments that several verbs take, and the plain values that the program makes of them.
//! Arguments of one verb alone are in the verb's file in `cmd/`.

mod args_or_verb;
mod named;
mod option;
mod out;
mod overrides;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use anyhow::anyhow;
use clap::{
    Args, ValueEnum,
    builder::{PathBufValueParser, StyledStr, TypedValueParser},
};
use report::{JsonFile, Paint};
use result::Environment;
use serde::Serialize;
use spec::Override;
use variant::WholeRows;

use crate::{
    figures::cells::ns,
    gate::{
        baselines::{Baselines, Found},
        sampler::SlotSettings,
        work::GateWorkInput,
    },
    machine::{self, environment},
    run::{
        RunInput,
        extras::ExtraSamples,
        hooks::Hooks,
        prepare::{self, DeviceFigures, InUse, Size, Source, check_data_dir},
    },
    terminal::{self, Code, Failure, ProgressForm, UndecidedCodes, WithExitCode, exit::fail},
};

pub use args_or_verb::ArgsOrVerb;
pub use named::{NamedWork, ScenarioArgs, WorkName, work_name};
pub use option::{keys_set_by, option_override};
pub use out::{ForceArgs, OutputArgs, write};
pub use overrides::{HowArgs, WorkArgs, flag_overrides, key_value, name_list};

const DATA_DIR_HELP: &str = "Where state databases and baselines are kept [default: \
    $XDG_CACHE_HOME/stress or ~/.cache/stress]";

/// The data directory of a verb.
#[derive(Debug, Default, Args)]
pub struct DataDirArgs {
    /// Where state databases and baselines are kept.
    #[arg(
        long,
        value_name = "DIR",
        env = "STRESS_DATA_DIR",
        value_parser = PathBufValueParser::new().try_map(check_data_dir),
        help = DATA_DIR_HELP
    )]
    data_dir: Option<PathBuf>,
}

impl DataDirArgs {
    /// Returns the directory that the user names, by the option or the environment.
    pub fn asked(&self) -> Option<&Path> {
        self.data_dir.as_deref()
    }

    /// Finds the result that `given` names: a path, or a baseline in the data directory.
    ///
    /// # Errors
    /// A baseline cannot be read.
    pub fn find_result(&self, given: &Path) -> Result<Found, Failure> {
        match prepare::data_path(self.asked()) {
            Some(data_path) => Baselines::below(&data_path).find(given).with_input_code(),
            None => Ok(Found { path: given.to_owned(), is_baseline: false, note: None }),
        }
    }

    /// Returns the facts of this machine, with those of the device that has the data directory.
    pub fn environment(&self) -> Environment {
        let data_path = prepare::data_path(self.asked());
        environment::probe(data_path.as_deref().unwrap_or(Path::new(".")))
    }
}

/// The work and the settings of a run.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// A shipped scenario's name, or a scenario or workload file
    #[arg(value_name = "NAME|FILE")]
    pub words: Vec<OsString>,
    /// A shipped scenario's name, or the path of a scenario file
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "workload")]
    pub scenario: Option<String>,
    /// A workload file that `stress generate` or `stress import` wrote
    #[arg(long, value_name = "FILE")]
    pub workload: Option<PathBuf>,
    /// Use a small state and block, in seconds; the result says so
    #[arg(long)]
    pub quick: bool,
    /// The workload
    #[command(flatten)]
    pub work: WorkArgs,
    /// How it is run
    #[command(flatten)]
    pub how: HowArgs,
    /// Where its states are
    #[command(flatten)]
    pub databases: DatabaseArgs,
    /// Exit codes of open claims and figures
    #[command(flatten)]
    pub open: OpenArgs,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// Also write the result as JSON and its histograms (HdrHistogram logs) into this directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// A shell command before each sample, outside its clock: --prepare 'sync; fstrim /data'
    #[arg(long, value_name = "COMMAND")]
    pub prepare: Option<String>,
    /// A shell command after the last sample, also where the run fails or is interrupted
    #[arg(long, value_name = "COMMAND")]
    pub cleanup: Option<String>,
    /// When it has ended, write its figures into this file in the text format of Prometheus
    #[arg(long, value_name = "FILE")]
    pub metrics: Option<PathBuf>,
    /// Also save the result as the baseline of this name, for `gate --baseline NAME` and `compare
    /// NAME`: a run of the same build and work is added to it, one of another build replaces it,
    /// and one of other work is refused without --force
    #[arg(long, value_name = "NAME")]
    pub save_baseline: Option<String>,
    /// After the run, take one more sample of the fastest variant and write the timeline of each
    /// thread, for Perfetto (ui.perfetto.dev) or Chrome
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// After the run, take more samples of a variant, or of the fastest of a design, and show which
    /// functions take the CPU's time, with a flame graph (flame-graph-START.svg, in DIR of --out)
    #[arg(long, value_name = "VARIANT|DESIGN")]
    pub profile: Option<String>,
    /// Whether output files are replaced
    #[command(flatten)]
    pub force: ForceArgs,
}

/// Options for the exit codes of claims and figures that are inconclusive, or not judged at all.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct OpenArgs {
    /// Exit with 4 where samples are too few to judge a claim ([[expect]], --deadline) or a figure
    #[arg(long)]
    pub strict: bool,
    /// Exit with 0, not 7, where a claim or times were not judged at all
    #[arg(long)]
    pub accept_not_judged: bool,
}

impl OpenArgs {
    /// Returns the exit codes.
    pub const fn codes(self) -> UndecidedCodes {
        let UndecidedCodes { inconclusive, not_judged } = UndecidedCodes::DEFAULT;
        UndecidedCodes {
            inconclusive: if self.strict { Code::Inconclusive } else { inconclusive },
            not_judged: if self.accept_not_judged { Code::Fine } else { not_judged },
        }
    }
}

/// Options for the state databases of a run.
#[derive(Debug, Default, Args)]
pub struct DatabaseArgs {
    /// Where they are
    #[command(flatten)]
    pub data_dir: DataDirArgs,
    /// Wait while another process uses the state database, instead of ending with 6
    #[arg(long)]
    pub wait: bool,
}

impl DatabaseArgs {
    /// Returns the reaction to a state that another process uses.
    pub const fn in_use(&self) -> InUse {
        if self.wait { InUse::Wait } else { InUse::Refuse }
    }
}

/// Times of a comparison of builds: the least time of a slot, and the timeout of a sample.
#[derive(Debug, Args)]
pub struct DriveArgs {
    /// Least wall time of each slot's samples: short samples are taken in several passes
    #[arg(long, value_name = "TIME", default_value = "200ms")]
    pub slot_time: String,
    /// How long a build may take for a sample before it is stopped
    #[arg(long, value_name = "TIME", default_value = "10m")]
    pub timeout: String,
}

/// Returns the command line as it was typed, for results and errors. The character U+FFFD replaces
/// bytes that are not UTF-8. Other processes get the original words (`std::env::args_os`).
pub fn typed_words() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Prints help, with colours if standard output is a terminal.
pub fn print_help(help: &StyledStr) {
    terminal::out(&match terminal::paint() {
        Paint::Ansi => help.ansi().to_string(),
        Paint::Plain => help.to_string(),
    });
}

/// Format of standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table.
    #[default]
    Table,
    /// The result as JSON.
    Json,
}

/// Where a result goes.
#[derive(Debug, Default, Args)]
pub struct ResultArgs {
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// Also write the result as JSON into this directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

impl ResultArgs {
    /// Returns the file `<stem>.json` in the output directory, after a check that it can be
    /// written.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn json_file(&self, stem: &'static str) -> Result<Option<JsonFile>, Failure> {
        Ok(self.out.as_deref().map(|dir| JsonFile::at(dir, stem)).transpose()?)
    }
}

impl Format {
    /// Returns the form of the progress display while standard output has this format.
    pub fn progress_form(self) -> ProgressForm {
        match self {
            Self::Table => terminal::progress_form(),
            Self::Json => terminal::progress_form_beside_json(),
        }
    }

    /// Prints a result: as the table that `table` makes for this terminal, or as JSON.
    ///
    /// # Errors
    /// A number in the result is not finite.
    pub fn print<T: Serialize>(
        self,
        result: &T,
        table: impl FnOnce(&T, usize, Paint) -> String,
    ) -> Result<(), Failure> {
        terminal::out(&match self {
            Self::Table => table(result, terminal::width(), terminal::paint()),
            Self::Json => report::json(result).with_exit_code(Code::Io)?,
        });
        Ok(())
    }
}

/// Makes the error of `verb` for a command line that names no work. `more` is the end of the
/// command that the error shows as an example.
pub fn nothing_named(verb: &str, more: &str) -> anyhow::Error {
    anyhow!(
        "nothing to run: name a scenario, as in `{verb} --scenario sload-storm {more}`, or a file, as in \
         `{verb} my.toml`; `stress list` shows the scenarios, `{verb} --help` the rest"
    )
}

/// Makes the error for an option of a run that only a comparison with stored results takes.
fn only_with_baseline(option: &str) -> anyhow::Error {
    let instead = match option {
        "--samples" | "--budget" => {
            ": a comparison of builds takes samples until it can decide; --slot-time says how long a slot of \
             them takes at least, --timeout how long one sample may take"
        }
        _ => ": leave it out where builds are compared",
    };
    anyhow!("{option} is only for a gate with --baseline{instead}")
}

impl RunArgs {
    /// Returns the input of the run. `command` is the command line.
    ///
    /// # Errors
    /// No work is named, or an option does not go with a workload file.
    pub fn input(&self, command: Vec<String>) -> Result<RunInput, Failure> {
        let (source, run_overrides) = self.source_and_overrides()?;
        Ok(RunInput {
            source,
            run_overrides,
            command,
            same_work: None,
            data_dir: self.databases.data_dir.asked().map(Path::to_path_buf),
            in_use: self.databases.in_use(),
            open_whole: WholeRows::One,
            open: self.open.codes(),
            device: DeviceFigures::Measured,
            out: self.out.clone(),
            progress_form: self.format.progress_form(),
            extras: ExtraSamples {
                trace: self.trace.clone(),
                profile: self.profile.clone(),
                existing: self.force.existing(),
            },
            hooks: Hooks { prepare: self.prepare.clone(), cleanup: self.cleanup.clone() },
            show_kept: |_| (),
        })
    }

    /// Returns the input for a comparison of two builds on this work. `settings` are the overrides
    /// of A alone, and of B alone.
    ///
    /// # Errors
    /// The errors of [`RunArgs::input`], or an option does not go with a comparison of builds.
    pub fn gate_work_input(&self, settings: [Vec<Override>; 2]) -> Result<GateWorkInput, Failure> {
        self.refuse_extras("gate").with_exit_code(Code::Usage)?;
        let refused = [
            ("--samples", self.how.samples.is_some()),
            ("--budget", self.how.budget.is_some()),
            ("--whole", self.how.whole.is_some()),
            ("--keys", self.how.keys.is_some()),
        ];
        if let Some((option, _)) = refused.iter().find(|(_, is_given)| *is_given) {
            return Err(only_with_baseline(option)).with_exit_code(Code::Usage);
        }
        if self.databases.wait {
            fail!(
                Code::Usage,
                "--wait: builds are compared on a state that no other process uses; leave it out, \
                 or name another --data-dir"
            );
        }
        let (source, run_overrides) = self.source_and_overrides()?;
        let data_dir = self.databases.data_dir.asked().map(Path::to_path_buf);
        Ok(GateWorkInput { source, run_overrides, settings, data_dir })
    }

    /// Refuses options that only a run uses, and that `verb` would ignore.
    ///
    /// # Errors
    /// The user asks for a trace, a profile, a baseline or a command.
    pub fn refuse_extras(&self, verb: &str) -> Result<(), anyhow::Error> {
        let (samples, commands) = ("takes no extra samples", "runs no command around samples");
        let options = [
            ("--trace", self.trace.is_some(), samples),
            ("--profile", self.profile.is_some(), samples),
            ("--save-baseline", self.save_baseline.is_some(), "saves no baseline"),
            ("--prepare", self.prepare.is_some(), commands),
            ("--cleanup", self.cleanup.is_some(), commands),
        ];
        match options.iter().find(|(_, is_given, _)| *is_given) {
            Some((option, _, reason)) => Err(anyhow!(
                "{option}: `stress {verb}` {reason}; run `stress` with the same work and {option}"
            )),
            None => Ok(()),
        }
    }

    /// Returns the first argument that names the work, or sets a key of the work or the run, as the
    /// user gave it.
    pub fn first_work_argument(&self) -> Option<String> {
        let word = self.words.first().map(|word| word.to_string_lossy().into_owned());
        let scenario = self.scenario.as_ref().map(|name| format!("--scenario {name}"));
        let workload = self.workload.as_ref().map(|path| format!("--workload {}", path.display()));
        let quick = self.quick.then(|| "--quick".to_owned());
        let overrides = self.work.overrides().unwrap_or_default().into_iter();
        let overrides = overrides.chain(self.how.overrides()).map(|given| given.origin);
        [word, scenario, workload, quick].into_iter().flatten().chain(overrides).next()
    }

    /// Returns the source of the work, and the overrides of the run. For a workload file, the
    /// overrides of the run include the keys of `--set`.
    fn source_and_overrides(&self) -> Result<(Source, Vec<Override>), Failure> {
        let mut run_overrides = self.how.overrides();
        let (scenario, workload) = (self.scenario.as_deref(), self.workload.as_deref());
        match work_name(&self.words, scenario, workload).with_exit_code(Code::Usage)? {
            Some(WorkName::Scenario(name)) => {
                let size = if self.quick { Size::Quick } else { Size::Stated };
                let work = self.work.overrides().with_exit_code(Code::Usage)?;
                Ok((Source::Scenario { name, work, size }, run_overrides))
            }
            Some(WorkName::Workload(path)) => {
                if self.quick {
                    fail!(
                        Code::Usage,
                        "--quick: the work of a workload file is fixed; generate another"
                    );
                }
                run_overrides.extend(self.work.beside_file().with_exit_code(Code::Usage)?);
                Ok((Source::File(path), run_overrides))
            }
            None => Err(nothing_named("stress", "--gas 640M")).with_exit_code(Code::Usage),
        }
    }
}

impl DriveArgs {
    /// Returns these arguments as plain values.
    ///
    /// # Errors
    /// A time is not valid.
    pub fn slots(&self) -> Result<SlotSettings, Failure> {
        let slot = spec::duration("--slot-time", &self.slot_time).with_exit_code(Code::Usage)?;
        Ok(SlotSettings {
            slot_ns: ns(slot),
            timeout: spec::duration("--timeout", &self.timeout).with_exit_code(Code::Usage)?,
            coin_seed: machine::fresh_seed(),
        })
    }
}
