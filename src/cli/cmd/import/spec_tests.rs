//! Imports tests of execution-spec-tests: one test of a file becomes a workload file, or each test
//! of a folder becomes one. If a test of a folder cannot be imported, a note names it, and the
//! import goes on.

use std::{
    collections::HashSet,
    fs,
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use anyhow::Context;
use generator::import::{self, Imported, InputKind, NamedTest};
use report::{WholeFile, units};

use super::file::{failure, kind, read, write};
use crate::{
    cli::args::OutputArgs,
    client::is_plain,
    terminal::{
        self, Code, Failure, Progress, WithExitCode, exit::fail, interrupt, progress::visible,
    },
};

/// Maximal number of tests whose names an error shows.
const SHOWN_TESTS: usize = 5;

/// Maximal length in bytes of the part of a file's name that is made from a test's name. File
/// systems take names of 255 bytes.
const MAX_NAME_BYTES: usize = 200;

/// Imports the test of a file that `case` chooses. Without `case`, a file with several tests is an
/// error, and its tests are printed.
pub(super) fn import_test(case: Option<&str>, path: &Path) -> Result<Imported, Failure> {
    let file = read(path)?;
    let mut tests = import::each_blockchain_test(&file.name, &file.content).map_err(failure)?;
    let index = match case {
        Some(case) => index_of(&tests, case).map_err(|why| format!("--case {case}: {why}")),
        None if tests.len() == 1 => Ok(0),
        None => {
            terminal::out(&case_table(&tests));
            let count = units::things(tests.len() as u64, "test");
            Err(format!("{} has {count}; choose one by --case", file.name))
        }
    };
    match index {
        Ok(index) => tests.swap_remove(index).1.map_err(failure),
        Err(reason) => fail!(Code::Usage, "{reason}"),
    }
}

/// Returns the index of the test with the name or number `case`, or of the only test whose name
/// contains `case`.
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
            let names = joined(tests.iter().map(|(name, _)| name.as_str()).collect());
            Err(format!("no such test; without --case all are listed: {names}"))
        }
        several => {
            let names = joined(several.iter().map(|index| tests[*index].0.as_str()).collect());
            let count = several.len();
            Err(format!("this is in {count} names; write more of one, or its number: {names}"))
        }
    }
}

/// Joins the first `SHOWN_TESTS` of these names.
fn joined(mut names: Vec<&str>) -> String {
    if names.len() > SHOWN_TESTS {
        names.truncate(SHOWN_TESTS);
        names.push("…");
    }
    names.join(", ")
}

/// Formats a line for each test: number, fork, number of blocks, name.
fn case_table(tests: &[NamedTest]) -> String {
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

/// The wanted tests of a folder, and the settings of their workload files.
#[derive(Debug)]
pub(super) struct TestsInput<'a> {
    /// Text in the names of the wanted tests; `None`: all tests are wanted.
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
    add_json_files(folder, &mut files).with_exit_code(Code::Io)?;
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

/// Adds to `out` the JSON files in `folder` and in the folders below it.
fn add_json_files(folder: &Path, out: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let entries = fs::read_dir(folder);
    for entry in entries.with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry.with_context(|| format!("cannot list {}", folder.display()))?.path();
        // A link to a folder is passed over, as it may lead to a folder above.
        if path.is_dir() && !path.is_symlink() {
            add_json_files(&path, out)?;
        } else if path.extension().is_some_and(|extension| extension == "json") {
            out.push(path);
        }
    }
    Ok(())
}

/// State of the import of a folder.
struct FolderImport<'a> {
    input: &'a TestsInput<'a>,
    progress: &'a Progress,
    /// Names of files that tests of this import have taken.
    taken: HashSet<String>,
    /// Number of written workload files.
    count: u64,
    /// Number of tests whose blocks all must be refused, and were. Nothing is written for them.
    refused_count: u64,
    /// Exit codes of the files and tests that could not be imported.
    failed: Vec<Code>,
}

impl FolderImport<'_> {
    /// Imports the tests of a file. Passes over files of other kinds. Only an interrupt or an I/O
    /// error ends the import of the folder.
    fn file(&mut self, path: &Path) -> Result<(), Failure> {
        match kind(path) {
            Ok(InputKind::Tests) => {}
            Ok(other) => {
                terminal::note(&format!("passed over: {} ({})", path.display(), other.name()));
                return Ok(());
            }
            Err(error) => return self.skip(path, None, error),
        }
        let read = read(path).and_then(|file| {
            import::each_blockchain_test(&file.name, &file.content).map_err(failure)
        });
        let tests = match read {
            Ok(tests) => tests,
            Err(error) => return self.skip(path, None, error),
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
                    self.skip(path, Some(&name), failure(error))?;
                    continue;
                }
            };
            let has_workload = !test.workload.batches.is_empty();
            let output = to.out.join(self.file_name(&name));
            let file = WholeFile::at(&output, "--out", to.force.existing());
            let written = file.map_err(Failure::from);
            match written.and_then(|file| write(test, file, batch, self.progress)) {
                Ok(said) => {
                    self.count += u64::from(has_workload);
                    self.refused_count += u64::from(!has_workload);
                    terminal::out(&said);
                }
                Err(error) => self.skip(path, Some(&name), error)?,
            }
        }
        Ok(())
    }

    /// Notes a file or a test that cannot be imported. An interrupt or an I/O error ends the
    /// import.
    fn skip(&mut self, path: &Path, test: Option<&str>, failure: Failure) -> Result<(), Failure> {
        if matches!(failure.code, Code::Interrupted | Code::Io) {
            return Err(failure);
        }
        let test = test.map_or_else(String::new, |name| format!("{}: {name}: ", path.display()));
        terminal::note(&format!("not imported: {test}{failure}"));
        self.failed.push(failure.code);
        Ok(())
    }

    /// Returns the file's name for a test, different for each test: its letters, digits and `-_.`,
    /// with `_` in the place of any other character.
    fn file_name(&mut self, test: &str) -> String {
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
