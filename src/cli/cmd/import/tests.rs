//! Tests of execution-spec-tests: one case of a file becomes a workload file, or every test of a folder its
//! own. A test of a folder that cannot be imported is named, and the rest goes on.

use std::{
    collections::HashSet,
    fs,
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use anyhow::Context;
use generator::import::{self, Imported, Kind, NamedTest};
use report::{WholeFile, units};

use super::file::{failure, kind, read, write};
use crate::{
    cli::args::OutputArgs,
    client::is_plain,
    terminal::{
        self, Code, Failure, Progress, WithExitCode, exit::fail, interrupt, progress::visible,
    },
};

/// Names of tests that an error shows.
const SHOWN_TESTS: usize = 5;

/// Longest name of a file that is made of a test's name, in bytes; file systems take 255.
const MAX_NAME_BYTES: usize = 200;

/// The test of a file that `case` chooses. Without it, prints the cases of a file with several.
pub(super) fn imported(case: Option<&str>, path: &Path) -> Result<Imported, Failure> {
    let file = read(path)?;
    let mut tests = import::each_blockchain_test(&file.name, &file.content).map_err(failure)?;
    let index = match case {
        Some(case) => index_of(&tests, case).map_err(|why| format!("--case {case}: {why}")),
        None if tests.len() == 1 => Ok(0),
        None => {
            terminal::out(&cases(&tests));
            let count = units::things(tests.len() as u64, "test");
            Err(format!("{} has {count}; choose one by --case", file.name))
        }
    };
    match index {
        Ok(index) => tests.swap_remove(index).1.map_err(failure),
        Err(reason) => fail!(Code::Usage, "{reason}"),
    }
}

/// The place of the test with this name or number, or of the only one with this in its name.
fn index_of(tests: &[NamedTest], case: &str) -> Result<usize, String> {
    if let Some(index) = tests.iter().position(|(name, _)| name == case) {
        return Ok(index);
    }
    if let Ok(number) = case.parse::<usize>() {
        let index = number.checked_sub(1).filter(|index| *index < tests.len());
        return index.ok_or_else(|| format!("the file has cases 1 to {}", tests.len()));
    }
    let found = tests.iter().enumerate().filter(|(_, (name, _))| name.contains(case));
    let found: Vec<_> = found.map(|(index, _)| index).collect();
    match found.as_slice() {
        [index] => Ok(*index),
        [] => {
            let names = shown(tests.iter().map(|(name, _)| name.as_str()).collect());
            Err(format!("no such test; without --case all are listed: {names}"))
        }
        several => {
            let names = shown(several.iter().map(|index| tests[*index].0.as_str()).collect());
            let count = several.len();
            Err(format!("this is in {count} names; write more of one, or its number: {names}"))
        }
    }
}

/// The first of these names.
fn shown(mut names: Vec<&str>) -> String {
    if names.len() > SHOWN_TESTS {
        names.truncate(SHOWN_TESTS);
        names.push("…");
    }
    names.join(", ")
}

/// A line of each test: number, fork, number of blocks, name.
fn cases(tests: &[NamedTest]) -> String {
    let rows = tests.iter().map(|(name, test)| match test {
        Ok(test) => {
            let rules = test.workload.rules.to_string();
            (rules, units::things((test.blocks.len() + test.invalid.len()) as u64, "block"), name)
        }
        Err(_) => ("-".to_owned(), "cannot be read".to_owned(), name),
    });
    let rows: Vec<_> = rows.collect();
    let [rules, blocks] = [
        rows.iter().map(|(rules, _, _)| rules.len()).max().unwrap_or(0),
        rows.iter().map(|(_, blocks, _)| blocks.len()).max().unwrap_or(0),
    ];
    let digits = rows.len().to_string().len();
    let lines = rows.iter().zip(1_usize..).map(|((of, count, name), number)| {
        format!("{number:>digits$}  {of:rules$}  {count:blocks$}  {}\n", visible(name))
    });
    lines.collect()
}

/// The wanted tests of a folder.
#[derive(Debug)]
pub(super) struct TestsInput<'a> {
    /// Part of their names.
    pub(super) case: Option<&'a str>,
    pub(super) batch: NonZeroUsize,
    pub(super) to: &'a OutputArgs,
}

/// Imports all tests of a folder and of the folders below it.
pub(super) fn import_folder(
    folder: &Path,
    input: &TestsInput<'_>,
    progress: &Progress,
) -> Result<Code, Failure> {
    let mut files = Vec::new();
    find(folder, &mut files).with_exit_code(Code::Io)?;
    files.sort();
    let output = &input.to.out;
    let made = fs::create_dir_all(output);
    made.with_context(|| format!("cannot make the folder {}", output.display()))
        .with_exit_code(Code::Io)?;
    let mut import = FolderImport {
        input,
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
        let case = input.case.map_or_else(String::new, |name| format!(" of name {name}"));
        fail!(Code::Usage, "{}: no test{case} in any .json file", folder.display());
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
    input: &'a TestsInput<'a>,
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
    /// Imports the tests of a file, and passes over other files of imports. Only an interruption and a full
    /// disk end it all.
    fn file(&mut self, path: &Path) -> Result<(), Failure> {
        match kind(path) {
            Ok(Kind::Tests) => {}
            Ok(other) => {
                terminal::note(&format!("passed over: {} ({})", path.display(), other.name()));
                return Ok(());
            }
            Err(error) => return self.failed(path, None, error),
        }
        let read = read(path).and_then(|file| {
            import::each_blockchain_test(&file.name, &file.content).map_err(failure)
        });
        let tests = match read {
            Ok(tests) => tests,
            Err(error) => return self.failed(path, None, error),
        };
        let TestsInput { case, batch, to } = *self.input;
        for (name, test) in tests {
            if case.is_some_and(|case| !name.contains(case)) {
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
            match written.and_then(|file| write(test, file, batch, self.progress)) {
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
