//! Makes a client's database, for `home`. The client's own command reads `genesis.json`. If the
//! state is too large for that file, or the user prefers rows, a `fill` program reads the export's
//! rows.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    process::{Child, ExitStatus},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use rustix::process::Signal;

use super::{
    export::StateFiles,
    start_file::{Placeholders, StartFile},
};
use crate::{
    machine::child::{self, SignalTarget},
    terminal::{Code, Failure, WithExitCode, exit::fail, interrupt},
};

/// Maximal number of characters of a failed command's output that an error shows.
const SHOWN_CHARS: usize = 2_000;
/// Polling interval for the end of a command.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Minimal time between two reads of the command's output.
const READ_INTERVAL: Duration = Duration::from_millis(500);

/// Remedy for a missing client program.
pub const NAME_PROGRAM: &str = "name it by --program, or in the start file (program = …)";
/// Remedy for a missing `fill` program.
const INSTALL_FILLER: &str =
    "install it (docs/import-export.md#rows), or write its path into the start file (fill = …)";

/// A command that makes a database.
struct DatabaseCommand<'a> {
    program: PathBuf,
    arguments: &'a [String],
    /// Whether the command makes the directory of the database itself.
    makes_directory: bool,
    remedy: &'static str,
}

impl<'a> DatabaseCommand<'a> {
    /// Returns the command for `state`; `None` if the client makes its database when it starts.
    fn for_state(start: &'a StartFile, state: &StateFiles) -> Result<Option<Self>> {
        let (name, dir) = (&start.name, state.dir.display());
        if state.has_genesis && !start.init.is_empty() {
            return Ok(Some(Self {
                program: start.program.clone(),
                arguments: &start.init,
                makes_directory: false,
                remedy: NAME_PROGRAM,
            }));
        }
        if let Some((program, arguments)) = start.fill.split_first() {
            ensure!(
                state.has_rows,
                "{dir}: there are no rows, from which {name} makes its database: export again \
                 with --format engine,rows"
            );
            return Ok(Some(Self {
                program: program.into(),
                arguments,
                makes_directory: true,
                remedy: INSTALL_FILLER,
            }));
        }
        ensure!(
            start.init.is_empty(),
            "{dir}: the export has its state in rows alone, and the start file {name} cannot read \
             them: add a command (fill = …), or keep a database of your own in --client-data \
             (docs/import-export.md#real-clients)"
        );
        Ok(None)
    }

    /// Starts the command. Its output goes to the file at `log`.
    fn spawn(
        &self,
        arguments: &[String],
        env: &BTreeMap<String, String>,
        log: &Path,
    ) -> io::Result<Child> {
        let output = fs::File::create(log)?;
        let mut command = child::bound_command(&self.program)?;
        command.args(arguments).envs(env).stdout(output.try_clone()?).stderr(output).spawn()
    }
}

/// Returns the end of a command's output.
fn end_of_output(log: &Path) -> String {
    let output = String::from_utf8_lossy(&fs::read(log).unwrap_or_default()).into_owned();
    let skipped = output.chars().count().saturating_sub(SHOWN_CHARS);
    output.chars().skip(skipped).collect()
}

/// Checks that a database can be made. Errors come before other steps of a run take time.
///
/// # Errors
/// The start file has no command for this export, the export lacks the files that the command
/// reads, or the program is missing.
pub fn check(start: &StartFile, state: &StateFiles) -> Result<(), Failure> {
    match DatabaseCommand::for_state(start, state).with_exit_code(Code::Usage)? {
        Some(command) if child::find_program(&command.program).is_none() => {
            let error = io::ErrorKind::NotFound.into();
            Err(not_started(&command.program, command.remedy, error)).with_exit_code(Code::Io)
        }
        _ => Ok(()),
    }
}

/// Makes a database at the path in `placeholders`. The command's output goes to the file at `log`.
/// `on_percent` gets the progress that the command prints, in percent.
///
/// # Errors
/// No command makes a database of this export, the command fails, or the user interrupted.
pub fn make(
    start: &StartFile,
    state: &StateFiles,
    placeholders: &Placeholders,
    log: &Path,
    on_percent: &dyn Fn(u64),
) -> Result<(), Failure> {
    let command = DatabaseCommand::for_state(start, state).with_exit_code(Code::Usage)?;
    if command.as_ref().is_none_or(|command| !command.makes_directory) {
        fs::create_dir(&placeholders.datadir).with_exit_code(Code::Io)?;
    }
    let Some(command) = command else { return Ok(()) };
    let arguments = placeholders.filled(command.arguments);
    let child = command.spawn(&arguments, &start.env, log);
    let child = child.map_err(|error| not_started(&command.program, command.remedy, error));
    let status = wait(child.with_exit_code(Code::Io)?, log, on_percent)?;
    if status.success() && placeholders.datadir.is_dir() {
        return Ok(());
    }
    let line = format!("{} {}", command.program.display(), arguments.join(" "));
    let output = end_of_output(log);
    if !status.success() {
        fail!(Code::Io, "{line}: {status}:\n{output}");
    }
    let datadir = placeholders.datadir.display();
    fail!(Code::Io, "{line}: it ended well and made no {datadir}:\n{output}")
}

/// Waits for the end of a command. `on_percent` gets its progress, in percent.
fn wait(mut child: Child, log: &Path, on_percent: &dyn Fn(u64)) -> Result<ExitStatus, Failure> {
    let mut read_at = Instant::now();
    loop {
        if let Some(status) = child.try_wait().with_exit_code(Code::Io)? {
            return Ok(status);
        }
        if interrupt::happened() {
            // An unfinished database is of no use.
            child::send(&child, Signal::KILL, SignalTarget::Group);
            drop(child.wait());
            fail!(Code::Interrupted, "interrupted");
        }
        if read_at.elapsed() >= READ_INTERVAL {
            read_at = Instant::now();
            let output = fs::read(log).unwrap_or_default();
            if let Some(percent) = percent(&String::from_utf8_lossy(&output)) {
                on_percent(percent);
            }
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Returns the percentage in the last line that has one, as in `12 %`.
fn percent(output: &str) -> Option<u64> {
    output.lines().rev().find_map(|line| {
        let (before, _) = line.split_once(" %")?;
        let digits = before.rsplit(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse::<u64>().ok().filter(|percent| *percent <= 100)
    })
}

/// Makes the error for a program that does not start.
pub fn not_started(program: &Path, remedy: &str, error: io::Error) -> anyhow::Error {
    let hint = match error.kind() {
        io::ErrorKind::NotFound => format!("; {remedy}"),
        _ => String::new(),
    };
    anyhow::Error::new(error).context(format!("cannot start {}{hint}", program.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(init: &[&str], fill: &[&str]) -> StartFile {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let shipped = StartFile::load("geth").unwrap();
        StartFile { init: words(init), fill: words(fill), ..shipped }
    }

    fn program(start: &StartFile, has_genesis: bool, has_rows: bool) -> Result<Option<String>> {
        let state = StateFiles { dir: "/export".into(), has_genesis, has_rows };
        let command = DatabaseCommand::for_state(start, &state)?;
        Ok(command.map(|command| command.program.display().to_string()))
    }

    #[test]
    fn rows_are_read_where_there_is_no_genesis_or_no_command_for_one() {
        let both = start(&["init"], &["filler", "{rows}"]);
        let program = |start: &StartFile, genesis: bool, rows: bool| {
            program(start, genesis, rows).map_err(|error| error.to_string())
        };
        assert_eq!(program(&both, true, true), Ok(Some("geth".to_owned())));
        assert_eq!(program(&both, false, true), Ok(Some("filler".to_owned())));
        let filler = start(&[], &["filler", "{rows}"]);
        assert_eq!(program(&filler, true, true), Ok(Some("filler".to_owned())));
        let error = program(&filler, true, false).unwrap_err();
        assert!(error.contains("--format engine,rows"), "{error}");
        let error = program(&start(&["init"], &[]), false, true).unwrap_err();
        assert!(error.contains("rows alone") && error.contains("fill = …"), "{error}");
        assert_eq!(program(&start(&[], &[]), false, true), Ok(None), "it makes its own");
    }

    #[test]
    fn the_last_percent_of_an_output_is_its_progress() {
        assert_eq!(percent("tries: 7 %, about 30s left\ntries: 42 %, about 9s left\n"), Some(42));
        assert_eq!(percent("INFO 100 %\nand a last line"), Some(100));
        assert_eq!(percent("% and 1234 % and x %"), None);
        assert_eq!(percent(""), None);
    }
}
