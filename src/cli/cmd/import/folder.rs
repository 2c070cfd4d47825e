//! Directories that `stress import` takes: exports of ours, a chain and its genesis, t8n files. All
//! others are folders of tests.

use std::path::{Path, PathBuf};

use crate::terminal::{Code, Failure, exit::fail};

/// Content of a directory that the user names.
pub(super) enum Folder {
    /// Files that make blocks together.
    Set(Vec<PathBuf>),
    /// Tests, in the JSON files of the directory and of the directories in it.
    Tests,
}

/// Finds the files of `dir` by their usual names. Without such files, `dir` is a folder of tests.
pub(super) fn find(dir: &Path) -> Result<Folder, Failure> {
    let at = |name: &str| Some(dir.join(name)).filter(|path| path.is_file());
    let first = |names: &[&str]| names.iter().find_map(|name| at(name));
    // `payloads.txt` is the calls of an export. Of the files of a chain, the one with lists is read
    // if there is one.
    let blocks = match at("payloads.txt") {
        Some(payloads) => at("grow.txt").into_iter().chain([payloads]).collect(),
        None => Vec::from_iter(first(&["chain-with-lists.rlp", "chain.rlp"])),
    };
    match (at("genesis.json"), blocks.is_empty()) {
        (Some(genesis), false) => return Ok(Folder::Set([vec![genesis], blocks].concat())),
        (None, false) => fail!(
            Code::Usage,
            "{}: {} lacks its genesis.json with all accounts",
            dir.display(),
            blocks[0].display()
        ),
        (_, true) => {}
    }
    let Some((alloc, env)) = at("alloc.json").zip(at("env.json")) else { return Ok(Folder::Tests) };
    let others = [first(&["txs.json", "txs.rlp"]), first(&["result.json", "exp.json"])];
    Ok(Folder::Set([alloc, env].into_iter().chain(others.into_iter().flatten()).collect()))
}
