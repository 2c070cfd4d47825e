//! `stress show --bal`: prints a block-level access list (EIP-7928), or how two lists differ.

mod shown;

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use alloy_primitives::Address;
use anyhow::Context;
use clap::Args;
use generator::import::{self, FoundList};
use workload::{
    ListBounds,
    file::MAGIC,
    list::{LenientList, diff},
};

use super::import::failure;
use crate::{
    cli::args::Format,
    run::prepare,
    terminal::{Code, Failure, Progress, WithExitCode, exit::fail, interrupt, progress},
};
use shown::{Comparison, Side};

/// Maximal size in bytes of a file with lists, about the JSON of a list of 900 Mgas. A workload
/// file may be larger.
const MAX_FILE_BYTES: u64 = 1 << 25;
/// Maximal number of a file's lists that an error names.
const NAMED_LISTS: usize = 5;

/// Arguments of `stress show --bal`.
#[derive(Debug, Args)]
pub struct BalArgs {
    /// Print a block-level access list (EIP-7928), or of two lists how the second differs from the
    /// first: RLP, hex, JSON, a payload, a node's answer, a test, a workload; #N: the N-th in FILE
    #[arg(
        long,
        value_name = "FILE[#N]",
        conflicts_with_all = ["workload", "words", "scenario", "quick", "WorkArgs", "HowArgs"]
    )]
    pub bal: Vec<PathBuf>,
    /// Compare the list with that of this block by the reference: a block of a workload or a test
    #[arg(long, value_name = "FILE[#N]", requires = "bal")]
    pub block: Option<PathBuf>,
    /// Print only these accounts
    #[arg(long, value_name = "ADDRESS", requires = "bal", value_delimiter = ',')]
    pub address: Vec<Address>,
    /// Format of a list or of differences
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

/// A chosen list, not yet decoded, and the name that it is shown with.
struct Chosen {
    name: String,
    path: PathBuf,
    content: Content,
    found: FoundList,
}

/// Content of a file with lists.
enum Content {
    /// A workload file.
    Workload,
    /// The bytes of any other file.
    Bytes(Vec<u8>),
}

/// Prints the list, or the differences between two lists. Differences, and faults of a single list,
/// are no error: the exit code `Code::Disagree` reports them.
pub fn show(args: &BalArgs, format: Format) -> Result<Code, Failure> {
    let (left, right) = match (&args.bal[..], &args.block) {
        ([only], None) => (None, choose(only)?),
        ([only], Some(block)) => (Some(by_reference(block, format)?), choose(only)?),
        ([left, right], None) => (Some(choose(left)?), choose(right)?),
        (all, block) => {
            let count = all.len();
            let block = if block.is_some() { " and --block" } else { "" };
            fail!(
                Code::Usage,
                "--bal {count} times{block}: give one list, two to compare, or one and --block"
            )
        }
    };
    // Both lists are of one block, so bounds that only one file gives hold for both.
    let bounds = left.as_ref().and_then(|left| left.found.bounds).or(right.found.bounds);
    let bounds = bounds.unwrap_or(ListBounds::UNKNOWN);
    let right = decoded(right, &bounds)?;
    let Some(left) = left else { return shown::print_list(&right, &args.address, format) };
    let left = decoded(left, &bounds)?;
    let differences = diff(&left.list, &right.list);
    let comparison = Comparison { left, right, differences };
    shown::print_comparison(&comparison, &args.address, format)
}

/// Decodes the chosen list.
fn decoded(chosen: Chosen, bounds: &ListBounds) -> Result<Side, Failure> {
    let Chosen { name, found, .. } = chosen;
    let remedy = "for a list by the reference give a workload of it: `stress import`";
    let list = found.list.with_context(|| format!("{name}: the block has no list here; {remedy}"));
    let list = LenientList::read(list.with_exit_code(Code::Usage)?, bounds);
    let list = list.with_context(|| name.clone()).with_exit_code(Code::Usage)?;
    Ok(Side { name, list })
}

/// Finds the list that `FILE[#N]` names.
fn choose(given: &Path) -> Result<Chosen, Failure> {
    let (path, number) = split(given);
    let file = path.display().to_string();
    let bytes = read(&path, &file)?;
    let (content, mut all) = if bytes.starts_with(&MAGIC) {
        (Content::Workload, FoundList::of_workload(&prepare::read_unverified(&path)?))
    } else {
        let all = import::lists(&file, &bytes).map_err(failure)?;
        (Content::Bytes(bytes), all)
    };
    let index = index_of(&file, number, &all)?;
    let found = all.swap_remove(index);
    let name = match found.name.as_str() {
        "" => file,
        place => format!("{file}, {place}"),
    };
    Ok(Chosen { name, path, content, found })
}

/// Splits `FILE#N` into the path and the number N. The name of an existing file stays whole, even
/// if it has such an ending.
fn split(given: &Path) -> (PathBuf, Option<usize>) {
    let parts = given.to_str().filter(|_| !given.exists()).and_then(|text| text.rsplit_once('#'));
    let numbered = parts.and_then(|(path, number)| Some((path, number.parse().ok()?)));
    numbered.map_or_else(|| (given.to_owned(), None), |(path, number)| (path.into(), Some(number)))
}

/// Returns the index of the item that the user chose among `all` items of a file: lists, or blocks
/// that may lack a list. Without `number` it is the only item, or the only item with a list.
fn index_of(file: &str, number: Option<usize>, all: &[FoundList]) -> Result<usize, Failure> {
    let with_list: Vec<_> = (0..all.len()).filter(|index| all[*index].list.is_some()).collect();
    let chosen = match (number, all, &with_list[..]) {
        (Some(number), ..) => number.checked_sub(1).filter(|index| *index < all.len()),
        (None, [_], _) => Some(0),
        (None, _, [only]) => Some(*only),
        (None, ..) => None,
    };
    if let Some(index) = chosen {
        return Ok(index);
    }
    let names = all.iter().enumerate().take(NAMED_LISTS).map(|(index, found)| {
        let none = if found.list.is_some() { "" } else { " (without a list)" };
        format!("#{} {}{none}", index + 1, found.name)
    });
    let names: Vec<_> = names.collect();
    let more = if all.len() > NAMED_LISTS { ", …" } else { "" };
    let asked = number.map_or_else(String::new, |number| format!("#{number}"));
    let count = all.len();
    fail!(
        Code::Usage,
        "{file}{asked}: it has {count} lists, of which one is chosen as in {file}#1: {}{more}",
        names.join(", ")
    )
}

/// Makes the list of the block that `given` names, by the reference.
fn by_reference(given: &Path, format: Format) -> Result<Chosen, Failure> {
    let progress = Progress::new(format.progress_form());
    let mut chosen = choose(given)?;
    match &chosen.content {
        // Reading a workload file compares its lists with those of the reference.
        Content::Workload => drop(prepare::read_workload(&chosen.path, &progress)?),
        Content::Bytes(bytes) => {
            let file = chosen.path.display().to_string();
            let text = str::from_utf8(bytes).unwrap_or_default();
            let stage = progress.stage("running the reference", 0);
            let made =
                import::list_by_reference(&file, text, &chosen.found, interrupt::control_flow);
            stage.finish();
            chosen.found = made.map_err(failure)?;
        }
    }
    progress.clear();
    chosen.name += ", by the reference";
    Ok(chosen)
}

/// Reads a file with lists. Of a workload file, which may be larger than `MAX_FILE_BYTES`, it reads
/// only the beginning.
fn read(path: &Path, name: &str) -> Result<Vec<u8>, Failure> {
    let opened = File::open(path).with_context(|| format!("cannot open {name}"));
    let mut bytes = Vec::new();
    let read = opened.with_input_code()?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes);
    read.with_context(|| format!("cannot read {name}")).with_exit_code(Code::Io)?;
    if bytes.len() as u64 > MAX_FILE_BYTES && !bytes.starts_with(&MAGIC) {
        let most = progress::bytes(MAX_FILE_BYTES);
        fail!(
            Code::Usage,
            "{name}: larger than {most}, the most that is read: give the one list or payload alone"
        );
    }
    Ok(bytes)
}
