//! `stress import blockchain-test` of a folder: every test of every file in it becomes a workload
//! file of its own. A test that cannot be imported is named, and the rest goes on.

use std::{
    collections::HashSet,
    fs,
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow};
use generator::import;

use super::file::{failure, read, write};
use report::{WholeFile, units};

use crate::{
    cli::args::OutputArgs,
    terminal::{
        self,
        exit::{Code, Failure, OrExit, fail},
        interrupt,
        progress::Progress,
    },
};

/// Longest name of a file that is made of a test's name, in bytes; file systems take 255.
const MAX_NAME_BYTES: usize = 200;

/// A folder that is imported.
#[derive(Clone, Copy, Debug)]
pub(super) struct Folder<'a> {
    /// It.
    pub(super) input: &'a Path,
    /// The folder of the workload files.
    pub(super) to: &'a OutputArgs,
    /// Consecutive blocks that are run as one.
    pub(super) batch: NonZeroUsize,
    /// The only tests that are imported: those of this name.
    pub(super) wanted: Option<&'a str>,
}

impl Folder<'_> {
    /// Imports all tests in it and in the folders below it.
    pub(super) fn import(self, progress: &Progress) -> Result<Code, Failure> {
        let mut files = Vec::new();
        find(self.input, &mut files).or_exit(Code::Io)?;
        files.sort();
        let output = &self.to.output;
        let made = fs::create_dir_all(output);
        made.with_context(|| format!("cannot make the folder {}", output.display()))
            .or_exit(Code::Io)?;
        let mut all =
            All { folder: self, progress, taken: HashSet::new(), count: 0, failed: Vec::new() };
        for path in &files {
            all.file(path)?;
        }
        if all.count == 0 && all.failed.is_empty() {
            let test = self.wanted.map_or_else(String::new, |name| format!(" of name {name}"));
            fail!(Code::Usage, "{}: no test{test} in any .json file", self.input.display());
        }
        let tests = units::things(all.count, "test");
        terminal::out(&format!("{tests} imported to {}\n", output.display()));
        match all.failed.first() {
            None => Ok(Code::Fine),
            Some(code) => {
                let count = units::count(all.failed.len() as u64);
                let error = anyhow!("not all was imported: {count} failed, named above");
                Err(Failure { code: *code, error })
            }
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
struct All<'a> {
    folder: Folder<'a>,
    progress: &'a Progress,
    /// Names of files that are written.
    taken: HashSet<String>,
    count: u64,
    /// Exit codes of the failures.
    failed: Vec<Code>,
}

impl All<'_> {
    /// Imports the tests of a file. Only an interruption and a full disk end it all.
    fn file(&mut self, path: &Path) -> Result<(), Failure> {
        let read = read(path)
            .and_then(|file| import::blockchain_tests(&file.name, &file.content).map_err(failure));
        let tests = match read {
            Ok(tests) => tests,
            Err(error) => return self.failed(path, None, error),
        };
        let is_wanted = |name: &str| self.folder.wanted.is_none_or(|wanted| wanted == name);
        let tests: Vec<_> = tests.into_iter().filter(|test| is_wanted(&test.name)).collect();
        for test in tests {
            if interrupt::happened() {
                fail!(Code::Interrupted, "interrupted; the files written so far are whole");
            }
            let name = test.name.clone();
            let Folder { to, batch, .. } = self.folder;
            let output = to.output.join(self.name_of(&name));
            let file = WholeFile::at(&output, "--output", to.force.existing());
            let written = file.map_err(Failure::from);
            match written.and_then(|file| write(test, file, batch, self.progress)) {
                Ok(said) => {
                    self.count += 1;
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
        let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
        let stem: String = test.chars().map(plain).take(MAX_NAME_BYTES).collect();
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
