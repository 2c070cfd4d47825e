//! A commented scenario to start from (`stress generate new`): the minimal scenario with given
//! kinds of load. Every key of its work has its default, and its text of `docs/scenario.md` as a
//! comment.

use crate::error::ScenarioError;
use crate::guide;
use crate::keys::{self, Entry, Keys, LEFT_OUT};
use crate::load::KINDS;
use crate::overrides::Override;
use crate::scenario::Scenario;
use crate::write::load_entries;

/// Start of a scenario that runs within seconds, without a database. The loads are appended.
const BASE: &str = "\
schema = 1
name = \"starter\"
seed = 1
[state]
accounts = 10_000
[block]
gas = 30_000_000
[run]
stores = [\"memory\"]
cache = \"warm\"
samples = 3
";
/// A load, before its kind is set.
const LOAD: &str = "[[load]]\nkind = \"sload-storm\"\n";
/// Number of slots of the state, for a load that needs slots.
const SLOTS: &str = "200k";
/// The keys of `[run]` to start with.
const RUN_KEYS: [&str; 4] = ["designs", "stores", "cache", "samples"];
/// Maximum length of a line of a comment, in characters.
const WIDTH: usize = 96;

/// Returns the text of a scenario called `name` with a load of each of `kinds`, which share the
/// block evenly.
///
/// # Errors
/// [`ScenarioError::Invalid`] for an invalid name or an unknown kind; [`ScenarioError::Several`]
/// for several mistakes.
pub fn starter(name: &str, kinds: &[&str]) -> Result<String, ScenarioError> {
    let scenario = minimal(name, kinds)?;
    let mut out = format!(
        "# Describe the effect of {name} on a client here.\n#\n\
         #   stress describe {name}.toml    its keys, conflicts and list sizes\n\
         #   stress {name}.toml             run it\n#\n\
         # All keys of the work are below. Those behind a # are left out: the text is their default.\n\
         # docs/scenario.md explains them.\n\n\
         schema = 1\nname = \"{name}\"\ndescription = \"A scenario to start from: {}.\"\n",
        kinds.join(", ")
    );
    comment(&mut out, "fork", None);
    out.push_str(&format!("fork = \"{}\"\n", scenario.fork.name()));
    comment(&mut out, "seed", None);
    out.push_str(&format!("seed = {}\n", scenario.seed));
    let state = with_all(scenario.state_entries(), keys::STATE);
    table(&mut out, "[state]", "state", &state, None);
    let block = with_all(scenario.block_entries(), keys::BLOCK);
    table(&mut out, "[block]", "block", &block, None);
    out.push_str(match kinds {
        [_, _, ..] => "\n# The loads share the block: each has a share, and they sum to 1.\n",
        _ => "\n# A second [[load]] shares the block: then each has a share, and they sum to 1.\n",
    });
    let all: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
    wrapped(&mut out, &format!("Kinds: {}.", all.join(", ")));
    for load in &scenario.loads {
        let entries = with_all(load_entries(load), keys::LOAD);
        table(&mut out, "[[load]]", "load", &entries, Some(load.kind.name()));
    }
    let (run, others): (Vec<Entry>, Vec<Entry>) =
        Keys::entries(&scenario.run).into_iter().partition(|(key, _)| RUN_KEYS.contains(key));
    table(&mut out, "[run]", "run", &run, None);
    let others = others.into_iter().map(|(key, _)| key).chain(keys::RUN_TABLES.iter().copied());
    let others: Vec<&str> = others.collect();
    wrapped(&mut out, &format!("More keys of a run, each with a default: {}.", others.join(", ")));
    Ok(out)
}

/// Adds an entry without a value for each key of `known` that the entries lack.
fn with_all(mut entries: Vec<Entry>, known: &[&'static str]) -> Vec<Entry> {
    for key in known {
        if !entries.iter().any(|(given, _)| given == key) {
            entries.push((*key, Err(LEFT_OUT)));
        }
    }
    entries
}

/// Returns the minimal scenario of this name and these kinds, with slots if a kind needs them.
fn minimal(name: &str, kinds: &[&str]) -> Result<Scenario, ScenarioError> {
    let mut text = BASE.to_owned();
    let mut overrides = vec![Override::new("name", name, format!("NAME {name}"))];
    for (index, (kind, share)) in kinds.iter().zip(shares(kinds.len())).enumerate() {
        text.push_str(&format!("{LOAD}share = {share:?}\n"));
        let key = format!("load[{index}].kind");
        overrides.push(Override::new(key, *kind, format!("KIND {kind}")));
    }
    let read = Scenario::parse("a scenario to start from", &text, &overrides);
    match read {
        Err(error) if error.diagnostics().iter().any(|fault| fault.key() == "state.slots") => {
            overrides.push(Override::new("state.slots", SLOTS, format!("state.slots = {SLOTS}")));
            Scenario::parse("a scenario to start from", &text, &overrides)
        }
        read => read,
    }
}

/// Returns equal shares in whole hundredths; the last share is the rest.
fn shares(count: usize) -> impl Iterator<Item = f64> {
    let each = 100 / count.max(1);
    let last = 100 - each * count.saturating_sub(1);
    let hundredths = std::iter::repeat_n(each, count.saturating_sub(1)).chain([last]);
    hundredths.map(|share| share as f64 / 100.0)
}

/// Adds a table: each key with its value, below the page's text on the key.
fn table(out: &mut String, header: &str, path: &str, entries: &[Entry], kind: Option<&str>) {
    if !out.ends_with(".\n") {
        out.push('\n');
    }
    out.push_str(header);
    out.push('\n');
    for (key, value) in entries {
        comment(out, &format!("{path}.{key}"), kind);
        match value {
            Ok(value) => out.push_str(&format!("{key} = {value}\n")),
            Err(meaning) => out.push_str(&format!("# {key} = {meaning}\n")),
        }
    }
}

/// Writes the page's text on a key as a comment above it.
fn comment(out: &mut String, path: &str, kind: Option<&str>) {
    if let Some(row) = guide::row(path, kind) {
        wrapped(out, &guide::plain(&format!("{} ({})", row.effect, row.takes)));
    }
}

/// Adds `text` as lines of a comment.
fn wrapped(out: &mut String, text: &str) {
    let mut line = String::from("#");
    for word in text.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            out.push_str(&line);
            out.push('\n');
            line = String::from("#");
        }
        line.push(' ');
        line.push_str(word);
    }
    out.push_str(&line);
    out.push('\n');
}
