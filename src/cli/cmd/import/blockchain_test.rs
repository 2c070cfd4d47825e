//! `stress import blockchain-test`: imports one test of a file, or every test of a folder, each
//! into its own workload file. A test of a folder that cannot be imported is named, and the rest
//! goes on.

use std::{
    collections::HashSet,
    fs,
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use anyhow::Context;
use clap::Args;
use generator::import::{self, Imported};
use report::{WholeFile, units};

use super::file::{failure, read, write};
use crate::{
    cli::args::OutputArgs,
    client::is_plain,
    terminal::{self, Code, Failure, Progress, WithExitCode, exit::fail, interrupt},
};

/// Names of tests that an error shows.
const SHOWN_TESTS: usize = 5;

/// Longest name of a file that is made of a test's name, in bytes; file systems take 255.
const MAX_NAME_BYTES: usize = 200;

const EXAMPLES: &str = "\
Examples:
  stress import blockchain-test test.json --out test.workload
  stress import blockchain-test tests/ --out workloads/";

/// Arguments of `stress import blockchain-test`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[command(mut_arg("out", |out| {
    out.help("The workload file to write; of a folder, the folder to write them to")
}))]
pub struct BlockchainTestArgs {
    /// The file, or a folder: then all tests of all files in it are imported
    pub file: PathBuf,
    /// Name of the test, where the file has several
    #[arg(long, value_name = "NAME")]
    pub test: Option<String>,
    /// Consecutive blocks that are run as one
    #[arg(long, value_name = "N", default_value = "1")]
    pub batch: NonZeroUsize,
    /// The file, or the folder
    #[command(flatten)]
    pub to: OutputArgs,
}

/// The test of a file.
pub(super) fn imported(args: &BlockchainTestArgs) -> Result<Imported, Failure> {
    let file = read(&args.file)?;
    let mut tests = import::each_blockchain_test(&file.name, &file.content).map_err(failure)?;
    let index = match &args.test {
        Some(wanted) => tests.iter().position(|(name, _)| name == wanted),
        None => (tests.len() == 1).then_some(0),
    };
    let Some(index) = index else {
        let mut names: Vec<_> =
            tests.iter().take(SHOWN_TESTS).map(|(name, _)| name.as_str()).collect();
        if tests.len() > SHOWN_TESTS {
            names.push("…");
        }
        let asked = args.test.as_ref().map_or_else(
            || {
                format!(
                    "{} has {}; choose one by --test",
                    file.name,
                    units::things(tests.len() as u64, "test")
                )
            },
            |name| format!("--test {name}: {} has no such test", file.name),
        );
        fail!(Code::Usage, "{asked}: {}", names.join(", "));
    };
    tests.swap_remove(index).1.map_err(failure)
}

/// Imports all tests of a folder and of the folders below it.
pub(super) fn import_folder(
    args: &BlockchainTestArgs,
    progress: &Progress,
) -> Result<Code, Failure> {
    let mut files = Vec::new();
    find(&args.file, &mut files).with_exit_code(Code::Io)?;
    files.sort();
    let output = &args.to.out;
    let made = fs::create_dir_all(output);
    made.with_context(|| format!("cannot make the folder {}", output.display()))
        .with_exit_code(Code::Io)?;
    let mut import = FolderImport {
        args,
        progress,
        taken: HashSet::new(),
        count: 0,
        refused_count: 0,
        failed: Vec::new(),
    };
    for path in &files {
        import.file(path)?;
    }
    if import.count + import.refused_count == 0 && import.failed.is_empty() {
        let test = args.test.as_ref().map_or_else(String::new, |name| format!(" of name {name}"));
        fail!(Code::Usage, "{}: no test{test} in any .json file", args.file.display());
    }
    let tests = units::things(import.count, "test");
    let refused = match import.refused_count {
        0 => String::new(),
        count => format!("; {} without a valid block, as must be", units::things(count, "test")),
    };
    terminal::out(&format!("{tests} imported to {}{refused}\n", output.display()));
    match import.failed.first() {
        None => Ok(Code::Fine),
        Some(code) => {
            let count = units::count(import.failed.len() as u64);
            fail!(*code, "not all was imported: {count} failed, named above")
        }
    }
}

/// The JSON files in `folder` and in those below it.
fn find(folder: &Path, out: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let entries = fs::read_dir(folder);
    for entry in entries.with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry.with_context(|| format!("cannot list {}", folder.display()))?.path();
        // A link to a folder is passed over: it may lead back.
        if path.is_dir() && !path.is_symlink() {
            find(&path, out)?;
        } else if path.extension().is_some_and(|extension| extension == "json") {
            out.push(path);
        }
    }
    Ok(())
}

/// The import of a folder as far as it is.
struct FolderImport<'a> {
    args: &'a BlockchainTestArgs,
    progress: &'a Progress,
    /// Names of files that are written.
    taken: HashSet<String>,
    count: u64,
    /// Tests whose blocks all must be refused, and were: nothing is written for them.
    refused_count: u64,
    /// Exit codes of the failures.
    failed: Vec<Code>,
}

impl FolderImport<'_> {
    /// Imports the tests of a file. Only an interruption and a full disk end it all.
    fn file(&mut self, path: &Path) -> Result<(), Failure> {
        let read = read(path).and_then(|file| {
            import::each_blockchain_test(&file.name, &file.content).map_err(failure)
        });
        let tests = match read {
            Ok(tests) => tests,
            Err(error) => return self.failed(path, None, error),
        };
        let BlockchainTestArgs { to, batch, test: wanted, .. } = self.args;
        for (name, test) in tests {
            if wanted.as_ref().is_some_and(|wanted| *wanted != name) {
                continue;
            }
            if interrupt::happened() {
                fail!(Code::Interrupted, "interrupted; the files written so far are whole");
            }
            let test = match test {
                Ok(test) => test,
                Err(error) => {
                    self.failed(path, Some(&name), failure(error))?;
                    continue;
                }
            };
            let has_workload = !test.workload.batches.is_empty();
            let output = to.out.join(self.name_of(&name));
            let file = WholeFile::at(&output, "--out", to.force.existing());
            let written = file.map_err(Failure::from);
            match written.and_then(|file| write(test, file, *batch, self.progress)) {
                Ok(said) => {
                    self.count += u64::from(has_workload);
                    self.refused_count += u64::from(!has_workload);
                    terminal::out(&said);
                }
                Err(error) => self.failed(path, Some(&name), error)?,
            }
        }
        Ok(())
    }

    fn failed(&mut self, path: &Path, test: Option<&str>, failure: Failure) -> Result<(), Failure> {
        if matches!(failure.code, Code::Interrupted | Code::Io) {
            return Err(failure);
        }
        let test = test.map_or_else(String::new, |name| format!("{}: {name}: ", path.display()));
        terminal::note(&format!("not imported: {test}{failure}"));
        self.failed.push(failure.code);
        Ok(())
    }

    /// The file's name for a test: letters, digits and `-_.` of its own, once each.
    fn name_of(&mut self, test: &str) -> String {
        let plain = test.chars().map(|c| if is_plain(c) { c } else { '_' });
        let stem: String = plain.take(MAX_NAME_BYTES).collect();
        let mut name = format!("{stem}.workload");
        for count in 2.. {
            if self.taken.insert(name.clone()) {
                break;
            }
            name = format!("{stem}-{count}.workload");
        }
        name
    }
}
